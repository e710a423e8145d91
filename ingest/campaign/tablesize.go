package campaign

import (
	"bytes"
	"io"
	"os"

	"doubletake/ingest/condition"
)

// typicalRows is a guess for the number of rows of a table that a task writes.
const typicalRows = 1000

// Rows lists the distinct conditions of the table's rows. It reads the table, or computes the conditions of the
// simulated toy.
func (t *ResultTable) Rows() (condition.Rows, error) {
	if t.Toy == nil {
		pairTable, err := t.Read()
		if err != nil {
			return nil, err
		}

		rows := pairTable.Conditions()
		t.conditions = float64(len(rows))
		t.pairs = float64(pairTable.N)

		return rows, nil
	}

	var rows condition.Rows
	for _, x := range t.Toy.Inputs() {
		rows = append(rows, condition.Values{Numbers: map[string]float64{"x": x}})
	}

	return rows, nil
}

// Size returns the numbers of conditions and of pairs of the table. It estimates them if Rows did not read the table.
func (t *ResultTable) Size() (conditions, pairs float64) {
	if t.Toy != nil {
		return float64(t.Toy.N), float64(t.Toy.N)
	}

	if t.conditions == 0 && t.pairs == 0 {
		t.conditions = t.EstimateRows()
		if t.conditions == 0 {
			t.conditions = typicalRows
		}

		t.pairs = t.conditions
	}

	return t.conditions, t.pairs
}

// sampledBytes is the size of the beginning of a table from which the number of its rows is estimated.
const sampledBytes = 1 << 16

// EstimateRows estimates the number of rows of the table. It returns 0 if no file can be read.
func (t *ResultTable) EstimateRows() float64 {
	columns := len(t.Options.Inputs) + len(t.Options.Y1) + len(t.Options.Y2) + len(t.Options.Repeats)
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
