package predict

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/report/pairs"
)

// This file computes inputs that the configuration of the experiment defines by an expression, such as a tip speed. The
// sources of such an input are the conditions in its expression. The table of the experiment's pairs has the
// expressions.

// derivation says how inputs are computed from conditions that were measured.
type derivation struct {
	set     *derive.Set
	sources []Outcome // what the definitions use, with units
}

// derivation returns how inputs of the models are computed, by the table of triplets beside the models. Without the
// table, or if no input is computed, the set is nil. The table is read once.
func (m *Models) derivation() *derivation {
	if m.derived != nil {
		return m.derived
	}

	m.derived = &derivation{}
	if len(m.Paths) == 0 { // models that were not read from files
		return m.derived
	}

	source := pairs.Source{Path: m.tripletsFile()}
	found, err := source.Open(nil)
	if err != nil { // models can be copied without the table
		return m.derived
	}

	set, sources := found.Derived()
	isDerived := func(name string) bool { return set.Text(name) != "" }
	if !slices.ContainsFunc(m.InputNames(), isDerived) {
		return m.derived
	}

	m.derived.set = set
	for _, name := range sources {
		m.derived.sources = append(m.derived.sources, Outcome{Name: name, Unit: found.Column(name).Unit})
	}

	return m.derived
}

// Sources returns the names of conditions that are not inputs themselves, but from which inputs are computed.
func (m *Models) Sources() []string {
	var names []string
	for _, source := range m.derivation().sources {
		if !slices.Contains(m.InputNames(), source.Name) {
			names = append(names, source.Name)
		}
	}

	return names
}

// statedInputs returns the places of the inputs that a condition states, or that are computed from numbers and names
// that it states. has reports whether it states a name. statedInputs returns an error for a stated source from which no
// input can be computed, because such a number would be ignored.
func (m *Models) statedInputs(has func(name string) bool) ([]int, error) {
	set := m.derivation().set
	isAbsent := func(name string) bool { return !has(name) }
	isUsed := map[string]bool{} // sources of inputs that are stated or computed
	var inputs []int
	for k, name := range m.InputNames() {
		sources := set.Sources(name)
		isComputed := len(sources) > 0 && !slices.ContainsFunc(sources, isAbsent)
		if !isComputed && !has(name) {
			continue
		}

		inputs = append(inputs, k)
		for _, source := range sources {
			isUsed[source] = true
		}
	}

	for _, source := range m.Sources() {
		if has(source) && !isUsed[source] {
			return nil, m.missingSources(source, has)
		}
	}

	return inputs, nil
}

// missingSources returns the error about a condition that states a source, but lacks another one that the computed
// input needs.
func (m *Models) missingSources(source string, has func(name string) bool) error {
	set := m.derivation().set
	isComputed := func(name string) bool { return set.Needs(name, source) }
	names := m.InputNames()
	input := names[slices.IndexFunc(names, isComputed)]
	absent := slices.DeleteFunc(set.Sources(input), has)

	return fmt.Errorf("%s alone gives no input: %s is computed from it and %s, which is missing", source, input,
		strings.Join(absent, ", "))
}

// computeInputs sets the values of the inputs t.Inputs in each row. The table states some of these inputs, and the
// sources from which the others are computed.
func (m *Models) computeInputs(t *Table, cells *pairs.Cells) error {
	var columns []Outcome
	for _, input := range m.Card.Inputs {
		columns = append(columns, Outcome{Name: input.Name, Unit: input.Unit})
	}

	for _, source := range m.derivation().sources {
		if slices.Contains(m.Sources(), source.Name) {
			columns = append(columns, source)
		}
	}

	columns = slices.DeleteFunc(columns, func(column Outcome) bool { return !cells.Has(column.Name) })
	numbers, err := columnsOf(cells, columns)
	if err != nil {
		return err
	}

	for i := range cells.Rows {
		stated := map[string]float64{}
		for k, column := range columns {
			stated[column.Name] = numbers[i*len(columns)+k]
		}

		row, err := m.complete(t.Inputs, stated, t.Things[i])
		if err != nil {
			return fault.In(cells.Path, err)
		}

		t.X = append(t.X, row...)
	}

	return nil
}

// complete returns the values of the given inputs at a condition. The condition states an input itself, or the sources
// from which the input is computed. names are the names of things, by label.
func (m *Models) complete(inputs []int, stated map[string]float64, names map[string]string) ([]float64, error) {
	values := map[string]float64{}
	for name, value := range stated {
		if m.derivation().set.Text(name) == "" {
			values[name] = value
		}
	}

	if err := m.derivation().set.AddConditions(values, names); err != nil {
		return nil, fmt.Errorf("compute the inputs: %w", err)
	}

	var row []float64
	for _, k := range inputs {
		name := m.Card.Inputs[k].Name
		value, isStated := stated[name]
		if !isStated {
			value, isStated = values[name]
		}

		if !isStated {
			return nil, m.missingInput(name)
		}

		row = append(row, value)
	}

	return row, nil
}
