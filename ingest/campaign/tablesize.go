package campaign

import (
	"bytes"
	"io"
	"os"
)

// sampledBytes is the size of the beginning of a table from which the number of its rows is estimated.
const sampledBytes = 1 << 16

// EstimateRows estimates the number of rows of the table. It returns 0 if no file can be read.
func (t *ResultTable) EstimateRows() float64 {
	columns := len(t.Options.Inputs) + len(t.Options.Y1) + len(t.Options.Y2)
	rows := 0.0
	for _, file := range t.Files {
		rows += estimateRows(file.Path, columns)
	}

	return rows
}

// estimateRows estimates the number of rows of a table: of text by the length of its first lines, otherwise by the
// number of its columns. It returns 0 if the file cannot be read.
func estimateRows(path string, columns int) float64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()

	info, err := file.Stat()
	if err != nil {
		return 0
	}

	sample, err := io.ReadAll(io.LimitReader(file, sampledBytes))
	if err != nil || len(sample) == 0 {
		return 0
	}

	lines := bytes.Count(sample, []byte("\n"))
	isText := lines > 0 && !bytes.Contains(sample, []byte{0})
	if !isText {
		const bytesOfNumber = 8
		return float64(info.Size()) / bytesOfNumber / float64(max(columns, 1))
	}

	return float64(info.Size()) / float64(len(sample)) * float64(lines)
}
