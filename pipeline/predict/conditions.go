package predict

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/kv"
	"doubletake/train/honest/interval"
)

// ParseAt reads conditions from the command line: "blades=3,rpm=5000", several
// joined by ";". Every input must occur once. The result is row-major in the
// order of InputNames.
func (m *Models) ParseAt(s string) ([]float64, error) {
	var x []float64

	names := m.InputNames()
	for _, part := range strings.Split(s, ";") {
		row, seen := make([]float64, len(names)), make([]bool, len(names))
		terms, err := kv.Parse(part)
		if err != nil {
			return nil, err
		}

		for _, t := range terms {
			i, err := m.Input(t.Key)
			if err != nil {
				return nil, err
			}

			if seen[i] {
				return nil, fmt.Errorf("%s occurs twice", t.Key)
			}

			if row[i], err = kv.Number(t.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Key, err)
			}

			seen[i] = true
		}

		for i, ok := range seen {
			if !ok {
				return nil, fmt.Errorf("%s is missing; the model's inputs are %s", names[i], strings.Join(names, ", "))
			}
		}

		x = append(x, row...)
	}

	return x, nil
}

// Input returns the place of an input among InputNames.
func (m *Models) Input(name string) (int, error) {
	names := m.InputNames()
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}

	hint := spelling.DidYouMean(name, names)
	if h := m.Honest; h != nil && h.Calibration != nil && h.Condition == name && h.Calibration.Kind == interval.Labels {
		hint = "; the interval is that of any " + name + ", measured or new: leave it out"
	}

	return 0, fmt.Errorf("%q is no input of the model, whose inputs are %s%s", name, strings.Join(names, ", "), hint)
}

// maxTable bounds a table of conditions, which is held in memory.
const maxTable = 64 << 20

// ReadConditions reads a CSV file with a column per input; other columns are
// left alone. A fault of the file is a *fault.Error.
func (m *Models) ReadConditions(path string) ([]float64, error) {
	return readColumns(path, m.InputNames())
}

// ReadOutcomes reads a CSV file with a column per outcome, as ReadConditions does.
func (m *Models) ReadOutcomes(path string) ([]float64, error) {
	var names []string
	for _, o := range m.Card.Outcomes {
		names = append(names, o.Name)
	}

	return readColumns(path, names)
}

func readColumns(path string, names []string) ([]float64, error) {
	const want = "a CSV file with conditions"
	b, err := fault.ReadFile(path, maxTable, want)
	if err != nil && !errors.As(err, new(*fault.Error)) {
		err = &fault.Error{Path: path, Want: want, Found: "none", Err: err}
	}

	if err != nil {
		return nil, err
	}

	x, err := parseConditions(bytes.NewReader(b), names)

	return x, fault.In(path, err)
}

func parseConditions(f io.Reader, names []string) ([]float64, error) {
	r := csv.NewReader(f)
	r.Comment, r.TrimLeadingSpace = '#', true

	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		err = nil
	}

	if head == nil {
		return nil, &fault.Error{Want: "a header with the columns " + strings.Join(names, ", "), Found: "none", Err: err}
	}

	for i, h := range head {
		head[i] = strings.TrimSpace(strings.TrimPrefix(h, "\ufeff"))
	}

	column := make([]int, len(names))
	for i, n := range names {
		column[i] = slices.Index(head, n)
		if column[i] < 0 {
			return nil, &fault.Error{Place: "line 1", Want: "a column " + n, Found: strings.Join(head, ", ")}
		}

		if slices.Contains(head[column[i]+1:], n) {
			return nil, &fault.Error{Place: "line 1", Want: "one column " + n, Found: "two"}
		}
	}

	var x []float64
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, &fault.Error{Want: "rows of equal length", Found: "another", Err: err}
		}

		line, _ := r.FieldPos(0)
		for i, k := range column {
			v, err := kv.Number(rec[k])
			if err != nil {
				return nil, &fault.Error{
					Place: fmt.Sprintf("line %d, column %s", line, names[i]), Want: "a number", Found: strconv.Quote(rec[k]),
				}
			}

			x = append(x, v)
		}
	}

	if len(x) == 0 {
		return nil, &fault.Error{Want: "at least one condition", Found: "a header alone"}
	}

	return x, nil
}
