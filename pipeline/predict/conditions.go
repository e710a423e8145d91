package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pairs"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// ParseAt reads conditions from the command line: "blades=3,rpm=5000", several
// joined by ";". Every input must occur once. The result is row-major in the
// order of InputNames. things are, of each condition, the names of labels of the calibrated model that are
// given ("wing=A"): of that thing its measurements count. A label that is not given is of a new thing.
func (m *Models) ParseAt(s string) (x []float64, things []map[string]string, err error) {
	names := m.InputNames()
	for part := range strings.SplitSeq(s, ";") {
		named, twice := map[string]string{}, ""
		items := slices.DeleteFunc(strings.Split(part, ","), func(item string) bool {
			key, name, _ := strings.Cut(item, "=")
			key = strings.TrimSpace(key)
			if !m.isLabel(key) {
				return false
			}

			if _, known := named[key]; known {
				twice = key
			}

			named[key] = strings.TrimSpace(name)

			return true
		})

		if twice != "" {
			return nil, nil, fmt.Errorf("%s occurs twice", twice)
		}

		axes, err := m.Axes(strings.Join(items, ","))
		if err != nil {
			return nil, nil, err
		}

		values := make([][]float64, len(names))
		for _, a := range axes {
			values[slices.Index(names, a.Name)] = a.Values
		}

		if i := slices.IndexFunc(values, func(v []float64) bool { return v == nil }); i >= 0 {
			return nil, nil, fmt.Errorf("%s is missing; the model's inputs are %s", names[i], strings.Join(names, ", "))
		}

		points := kv.Points(values...)
		x = append(x, slices.Concat(points...)...)
		things = append(things, slices.Repeat([]map[string]string{named}, len(points))...)
	}

	return x, things, nil
}

// isLabel reports whether names of a label have offsets in the calibrated model. What is predicted is of a new run.
func (m *Models) isLabel(name string) bool {
	return m.Honest != nil && name != honest.Runs && !slices.Contains(m.InputNames(), name) &&
		slices.ContainsFunc(m.Honest.Labels, func(l honest.Names) bool { return l.Name == name })
}

// Axes reads "blades=2:5:1,rpm=2000:9000:500", inputs with their values.
func (m *Models) Axes(s string) ([]kv.Axis, error) {
	return kv.Axes(s, func(name string) error {
		_, err := m.Input(name)
		return err
	})
}

// Input returns the place of an input among InputNames.
func (m *Models) Input(name string) (int, error) {
	names := m.InputNames()
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}

	if m.Honest != nil {
		for _, l := range m.Honest.Labels {
			if m.isLabel(l.Name) && l.Name != name {
				names = append(names, l.Name)
			}
		}
	}

	hint := spelling.DidYouMean(name, names)
	if h := m.Honest; h != nil && h.Calibration != nil && h.Condition == name && h.Calibration.Kind == interval.Labels {
		hint = "; the interval is that of any " + name + ", measured or new: leave it out"
	}

	return 0, fmt.Errorf("%q is no input of the model, whose inputs are %s%s", name, strings.Join(names, ", "), hint)
}

// ReadConditions reads a table with a column for each input, in its unit; columns of names of a label of the calibrated
// model say what ParseAt's things do, other columns are left alone. A fault of the file is a *fault.Error.
func (m *Models) ReadConditions(path string) (x []float64, things []map[string]string, err error) {
	columns := lists.Each(m.Card.Inputs, func(in Input) Outcome { return Outcome{Name: in.Name, Unit: in.Unit} })
	c, err := pairs.ReadCells(path)
	if err != nil {
		return nil, nil, err
	}

	things = make([]map[string]string, c.Rows)
	for i := range things {
		things[i] = map[string]string{}
		for _, name := range c.Columns {
			if m.isLabel(name) && c.Text(i, name) != "" {
				things[i][name] = c.Text(i, name)
			}
		}
	}

	x, err = columnsOf(c, columns)

	return x, things, err
}

// ReadOutcomes reads a table with a column for each outcome, as ReadConditions does.
func (m *Models) ReadOutcomes(path string) ([]float64, error) {
	c, err := pairs.ReadCells(path)
	if err != nil {
		return nil, err
	}

	return columnsOf(c, m.Card.Outcomes)
}

// columnsOf are the numbers of columns, row by row.
func columnsOf(c *pairs.Cells, columns []Outcome) ([]float64, error) {
	x := make([]float64, c.Rows*len(columns))
	for j, q := range columns {
		v, err := c.Numbers(q.Name, q.Unit, pairs.Values)
		if err != nil {
			return nil, err
		}

		for i, n := range v {
			if math.IsNaN(n) {
				return nil, c.Fault(i, q.Name, "a number")
			}
			x[i*len(columns)+j] = n
		}
	}

	return x, nil
}
