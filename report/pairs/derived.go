package pairs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
)

// Derived returns how conditions of the pairs were computed from others, by the definitions and constants that the
// metadata of the table have. sources are the numbers that these definitions use and a user can state. It returns nil
// if no condition was computed.
func (p *Pairs) Derived() (set *derive.Set, sources []string) {
	var definitions []derive.Definition
	constants := map[string]float64{}
	for _, pair := range p.Meta {
		if name, found := strings.CutPrefix(pair.Key, "config:ingest.derive."); found {
			definitions = append(definitions, derive.Definition{Name: name, Text: pair.Value})
		}

		if name, found := strings.CutPrefix(pair.Key, "config:ingest.constants."); found {
			if value, err := strconv.ParseFloat(pair.Value, 64); err == nil {
				constants[name] = value
			}
		}
	}

	isDefined := func(name string) bool {
		return slices.ContainsFunc(definitions, func(d derive.Definition) bool { return d.Name == name })
	}
	numbers, texts := Conditions(p.Table)
	numbers = slices.DeleteFunc(numbers, isDefined)
	outcomes := slices.DeleteFunc(Outcomes(p.Table), isDefined)
	for _, name := range numbers {
		delete(constants, name) // a condition has its own values
	}

	set, err := derive.New(definitions, constants, numbers, texts, outcomes)
	if err != nil || len(set.Conditions()) == 0 { // a definition may use an outcome that is not a column
		return nil, nil
	}

	for _, number := range numbers {
		isNeeded := func(name string) bool { return set.Needs(name, number) }
		if slices.ContainsFunc(set.Conditions(), isNeeded) {
			sources = append(sources, number)
		}
	}

	return set, sources
}

// Computes reports whether the pairs define a condition that a table lacks, and the table has all columns that the
// condition is computed from.
func (p *Pairs) Computes(name string, cells *Cells) bool {
	set, _ := p.Derived()
	sources := set.Sources(name)
	isAbsent := func(source string) bool { return !cells.Has(source) }

	return !cells.Has(name) && len(sources) > 0 && !slices.ContainsFunc(sources, isAbsent)
}

// Compute returns the values of a condition that Computes accepts, one for each row of the table.
func (p *Pairs) Compute(name string, cells *Cells) ([]float64, error) {
	set, _ := p.Derived()
	numbers := map[string][]float64{}
	var labels []string
	for _, source := range set.Sources(name) {
		column := p.Column(source)
		if column.Strings != nil {
			labels = append(labels, source)
			continue
		}

		values, err := cells.Numbers(source, column.Unit, Values)
		if err != nil {
			return nil, err
		}

		numbers[source] = values
	}

	computed := make([]float64, cells.Rows)
	for i := range computed {
		known := map[string]float64{}
		for source, values := range numbers {
			if math.IsNaN(values[i]) {
				return nil, cells.Fault(i, source, "a number")
			}

			known[source] = values[i]
		}

		names := map[string]string{}
		for _, label := range labels {
			names[label] = cells.Text(i, label)
		}

		if err := set.AddConditions(known, names); err != nil {
			return nil, fault.In(cells.Path, fmt.Errorf("row %d: %w", i+1, err))
		}

		computed[i] = known[name]
	}

	return computed, nil
}
