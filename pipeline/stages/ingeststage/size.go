package ingeststage

import (
	"bytes"
	"io"
	"os"
)

// sampledBytes is the size of the beginning of a table from which the number of its rows is estimated.
const sampledBytes = 1 << 16

// sizes estimates the numbers of conditions and of pairs of a table that was not read, from its size. If it was read,
// the numbers are known.
func (p *Pairs) sizes() (conditions, pairs float64) {
	if p.Toy != nil {
		n := float64(len(p.Toy.Inputs()))
		return n, n
	}

	if p.size == [2]float64{} {
		columns := len(p.Options.Inputs) + len(p.Options.Y1) + len(p.Options.Y2)
		rows := 0.0
		for _, file := range p.Files {
			rows += rowsOfFile(file.Path, columns)
		}

		if rows == 0 { // a table that a task writes
			rows = typicalRows
		}

		p.size = [2]float64{rows, rows}
	}

	return p.size[0], p.size[1]
}

// rowsOfFile estimates the number of rows of a table: of text by the length of its first lines, otherwise by the number
// of its columns. It returns 0 if the file cannot be read.
func rowsOfFile(path string, columns int) float64 {
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
