package campaign

import (
	"fmt"

	"doubletake/ingest/condition"
	"doubletake/internal/lists"
)

// Conditions lists the distinct conditions of pairs, in the order of their first pairs.
func (p *PairTable) Conditions() condition.Rows {
	var rows condition.Rows
	known := map[string]bool{}
	for i := range p.N {
		var numbers []float64
		for _, column := range p.X {
			numbers = append(numbers, column[i])
		}

		var names []string
		for _, column := range p.Texts {
			names = append(names, column[i])
		}

		key := fmt.Sprintf("%v %q", numbers, names)
		if !known[key] {
			known[key] = true
			rows = append(rows, condition.Values{
				Numbers: lists.Map(p.Inputs, numbers), Names: lists.Map(p.Labels, names),
			})
		}
	}

	return rows
}
