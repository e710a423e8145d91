package pairs

import (
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/derive"
	"doubletake/pipeline/stages/plan"
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
	numbers, texts := plan.Conditions(p.Table)
	numbers = slices.DeleteFunc(numbers, isDefined)
	outcomes := slices.DeleteFunc(plan.Outcomes(p.Table), isDefined)
	for _, name := range numbers {
		delete(constants, name) // a condition has its own values
	}

	set, err := derive.New(definitions, constants, numbers, texts, outcomes)
	if err != nil || len(set.Conditions()) == 0 { // a definition may use an outcome that is no column
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
