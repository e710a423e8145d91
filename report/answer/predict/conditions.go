package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/kv"
	"doubletake/internal/lists"
	"doubletake/report/pairs"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// This file reads conditions from the command line and from tables. A condition gives values of inputs. Instead of an
// input it may give its sources, which are numbers that the input is computed from (derived.go). It may also name
// things, such as a wing, under labels of the calibrated model.

// ParseAt reads conditions from the command line: "blades=3,rpm=5000", several joined by ";". Every input must occur
// once, or follow from the sources that the condition gives. An input with several values ("rpm=3000:5000:1000") gives
// a condition for each. x is row-major in the order of InputNames, in the units of the inputs.
//
// A condition may also name labels of the calibrated model ("wing=A"). The measurements of a named thing count; a label
// that is not given belongs to a new thing. things has the names of each condition, by label.
func (m *Models) ParseAt(s string) (x []float64, things []map[string]string, err error) {
	for part := range strings.SplitSeq(s, ";") {
		inputs, named, err := m.splitLabels(part)
		if err != nil {
			return nil, nil, err
		}

		rows, err := m.parsePoints(inputs, named)
		if err != nil {
			return nil, nil, err
		}

		x = append(x, slices.Concat(rows...)...)
		things = append(things, slices.Repeat([]map[string]string{named}, len(rows))...)
	}

	return x, things, nil
}

// parsePoints returns the conditions that a text without names of things means, as rows of all inputs. things has the
// names that the text had, by label, because inputs may be computed from them.
func (m *Models) parsePoints(text string, things map[string]string) ([][]float64, error) {
	axes, err := m.axes(text)
	if err != nil {
		return nil, err
	}

	names := m.InputNames()
	order := func(axis kv.Axis) int { // inputs first, in their order
		if i := slices.Index(names, axis.Name); i >= 0 {
			return i
		}

		return len(names)
	}
	slices.SortStableFunc(axes, func(a, b kv.Axis) int { return cmp.Compare(order(a), order(b)) })

	return m.rows(axes, m.allInputs(), things)
}

// axes reads inputs, and sources of inputs, with their values.
func (m *Models) axes(text string) ([]kv.Axis, error) {
	return kv.Axes(text, func(name string) error {
		if slices.Contains(m.Sources(), name) {
			return nil
		}

		_, err := m.Input(name)
		return err
	})
}

// rows returns the values of the given inputs, which are places among InputNames, for each point of a grid. things are
// the names of all points, by label.
func (m *Models) rows(axes []kv.Axis, inputs []int, things map[string]string) ([][]float64, error) {
	rows := gridPoints(axes)
	for i, point := range rows {
		stated := map[string]float64{}
		for k, axis := range axes {
			stated[axis.Name] = point[k]
		}

		row, err := m.complete(inputs, stated, things)
		if err != nil {
			return nil, err
		}

		rows[i] = row
	}

	return rows, nil
}

// allInputs returns the places of all inputs.
func (m *Models) allInputs() []int {
	places := make([]int, len(m.Card.Inputs))
	for k := range places {
		places[k] = k
	}

	return places
}

// missingInput returns the error about a condition that states neither an input nor the sources from which the input is
// computed.
func (m *Models) missingInput(name string) error {
	remedy := ""
	if sources := m.derivation().set.Sources(name); len(sources) > 0 {
		remedy = ", and so is a number that it is computed from: " + strings.Join(sources, ", ")
	}

	names := m.InputNames()

	return fmt.Errorf("%s is missing%s; the model's inputs are %s", name, remedy, strings.Join(names, ", "))
}

// splitLabels divides the text of a condition into its inputs ("rpm=5000") and its names, by label.
func (m *Models) splitLabels(condition string) (inputs string, named map[string]string, err error) {
	named = map[string]string{}
	var items []string
	for item := range strings.SplitSeq(condition, ",") {
		key, name, hasName := strings.Cut(item, "=")
		key = strings.TrimSpace(key)
		if !hasName || !m.isLabel(key) { // a label without "=" is an error, as an input is
			items = append(items, item)
			continue
		}

		if _, known := named[key]; known {
			return "", nil, fmt.Errorf("%s occurs twice", key)
		}

		named[key] = strings.TrimSpace(name)
	}

	return strings.Join(items, ","), named, nil
}

// Labels returns the names of the labels that a condition may name. It returns an empty list, not nil, if there are
// none.
func (m *Models) Labels() []string {
	labels := []string{}
	if m.Honest == nil {
		return labels
	}

	for _, label := range m.Honest.Labels {
		if m.isLabel(label.Name) {
			labels = append(labels, label.Name)
		}
	}

	return labels
}

// isLabel reports whether a condition may name the label: its names have offsets in the calibrated model. Runs cannot
// be named, because predictions are always for a new run.
func (m *Models) isLabel(name string) bool {
	if m.Honest == nil || name == honest.Runs || slices.Contains(m.InputNames(), name) {
		return false
	}

	return slices.ContainsFunc(m.Honest.Labels, func(label honest.Names) bool { return label.Name == name })
}

// Grid holds the conditions of a grid.
type Grid struct {
	Inputs  []int       // places of the stated and the computed inputs among InputNames; first the stated ones, in order
	Rows    [][]float64 // by condition: the values of Inputs
	Sources []string    // stated numbers that inputs are computed from, in the order of the text
	Stated  [][]float64 // by condition: the values of Sources
}

// Grid reads conditions such as "blades=2:5:1,rpm=2000:9000:500", which may lack some inputs, and may state numbers
// that inputs are computed from.
func (m *Models) Grid(text string) (*Grid, error) {
	axes, err := m.axes(text)
	if err != nil {
		return nil, err
	}

	isStated := func(name string) bool {
		return slices.ContainsFunc(axes, func(axis kv.Axis) bool { return axis.Name == name })
	}
	given, err := m.statedInputs(isStated)
	if err != nil {
		return nil, err
	}

	grid := &Grid{}
	names := m.InputNames()
	var places []int // of the sources among the axes
	for i, axis := range axes {
		if k := slices.Index(names, axis.Name); k >= 0 {
			grid.Inputs = append(grid.Inputs, k)
			continue
		}

		grid.Sources = append(grid.Sources, axis.Name)
		places = append(places, i)
	}

	for _, k := range given {
		if !slices.Contains(grid.Inputs, k) {
			grid.Inputs = append(grid.Inputs, k)
		}
	}

	for _, point := range gridPoints(axes) {
		grid.Stated = append(grid.Stated, lists.Pick(point, places))
	}

	grid.Rows, err = m.rows(axes, grid.Inputs, nil)

	return grid, err
}

// gridPoints returns the points of a grid: all combinations of the values of the axes.
func gridPoints(axes []kv.Axis) [][]float64 {
	var values [][]float64
	for _, axis := range axes {
		values = append(values, axis.Values)
	}

	return kv.Points(values...)
}

// Input returns the place of an input among InputNames, or an error that suggests the nearest name.
func (m *Models) Input(name string) (int, error) {
	names := m.InputNames()
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}

	for _, label := range m.Labels() {
		if label != name {
			names = append(names, label)
		}
	}

	hint := spelling.DidYouMean(name, append(slices.Clone(names), m.Sources()...))
	if m.calibratedOver(name) {
		hint = "; the interval is that of any " + name + ", measured or new: leave it out"
	}

	return 0, fmt.Errorf("%q is not an input of the model, whose inputs are %s%s", name, strings.Join(names, ", "), hint)
}

// calibratedOver reports whether the groups of the calibrated model are the names of this label.
func (m *Models) calibratedOver(name string) bool {
	if m.Honest == nil || m.Honest.Calibration == nil {
		return false
	}

	return m.Honest.Condition == name && m.Honest.Calibration.Kind == interval.Labels
}

// Table holds conditions that a file lists.
type Table struct {
	Inputs  []int               // numbers of the inputs that have a column, among InputNames
	Labels  []string            // labels of the calibrated model that have a column
	Sources []string            // numbers that inputs are computed from, which have a column
	Stated  [][]float64         // by row: the values of Sources
	X       []float64           // rows × Inputs, in the units of the inputs
	Things  []map[string]string // by row: its names by label, as ParseAt returns them
}

// ReadConditions reads a table with columns for each input, or for the numbers that it is computed from. Columns named
// after labels of the calibrated model have the names of things, which it returns as ParseAt does. It ignores other
// columns. Errors in the file are *fault.Error.
func (m *Models) ReadConditions(path string) (x []float64, things []map[string]string, err error) {
	cells, err := pairs.ReadCells(path)
	if err != nil {
		return nil, nil, err
	}

	table, err := m.table(cells, m.allInputs())
	if err != nil {
		return nil, nil, err
	}

	return table.X, table.Things, nil
}

// ReadSome reads what ReadConditions reads, from a table that may lack some inputs. It returns an error if no column
// gives an input or a label.
func (m *Models) ReadSome(path string) (*Table, error) {
	cells, err := pairs.ReadCells(path)
	if err != nil {
		return nil, err
	}

	stated, err := m.statedInputs(cells.Has)
	if err != nil {
		return nil, fault.In(path, err)
	}

	table, err := m.table(cells, stated)
	if err != nil {
		return nil, err
	}

	if err := m.addSources(table, cells); err != nil {
		return nil, err
	}

	if len(table.Inputs)+len(table.Labels) == 0 {
		return nil, fault.At(path, "", "a column of an input: "+strings.Join(m.InputNames(), ", "),
			strings.Join(cells.Columns, ", "), "")
	}

	return table, nil
}

// table returns the given inputs and the names of things in a table.
func (m *Models) table(cells *pairs.Cells, inputs []int) (*Table, error) {
	t := &Table{Inputs: inputs, Things: make([]map[string]string, cells.Rows)}
	var columns []Outcome
	for _, k := range inputs {
		columns = append(columns, Outcome{Name: m.Card.Inputs[k].Name, Unit: m.Card.Inputs[k].Unit})
	}

	for _, name := range cells.Columns {
		if m.isLabel(name) {
			t.Labels = append(t.Labels, name)
		}
	}

	for _, label := range t.Labels {
		addNames(t.Things, cells, label)
	}

	isAbsent := func(column Outcome) bool { return !cells.Has(column.Name) }
	if slices.ContainsFunc(columns, isAbsent) && len(m.Sources()) > 0 {
		return t, m.computeInputs(t, cells)
	}

	x, err := columnsOf(cells, columns)
	if err != nil {
		return nil, err
	}

	t.X = x

	return t, nil
}

// addSources adds the columns of a table with numbers that inputs are computed from.
func (m *Models) addSources(t *Table, cells *pairs.Cells) error {
	var columns []Outcome
	for _, source := range m.derivation().sources {
		if slices.Contains(m.Sources(), source.Name) && cells.Has(source.Name) {
			columns = append(columns, source)
			t.Sources = append(t.Sources, source.Name)
		}
	}

	values, err := columnsOf(cells, columns)
	if err != nil {
		return err
	}

	for i := range cells.Rows {
		t.Stated = append(t.Stated, values[i*len(columns):(i+1)*len(columns)])
	}

	return nil
}

// addNames adds the names of a label in the rows of a table.
func addNames(things []map[string]string, cells *pairs.Cells, label string) {
	for i := range things {
		text := cells.Text(i, label)
		if text == "" {
			continue
		}

		if things[i] == nil {
			things[i] = map[string]string{}
		}

		things[i][label] = text
	}
}

// ReadOutcomes reads a table with a column for each outcome, in its unit. Errors in the file are *fault.Error.
func (m *Models) ReadOutcomes(path string) ([]float64, error) {
	cells, err := pairs.ReadCells(path)
	if err != nil {
		return nil, err
	}

	return columnsOf(cells, m.Card.Outcomes)
}

// columnsOf returns the numbers of some columns of a table, rows × columns, in the units of the columns. It returns an
// error if a number is missing.
func columnsOf(cells *pairs.Cells, columns []Outcome) ([]float64, error) {
	x := make([]float64, cells.Rows*len(columns))
	for j, q := range columns {
		v, err := cells.Numbers(q.Name, q.Unit, pairs.Values)
		if err != nil {
			return nil, err
		}

		for i, n := range v {
			if math.IsNaN(n) {
				return nil, cells.Fault(i, q.Name, "a number")
			}
			x[i*len(columns)+j] = n
		}
	}

	return x, nil
}
