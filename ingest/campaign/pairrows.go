package campaign

import (
	"fmt"

	"doubletake/ingest/condition"
)

// Conditions lists the distinct conditions of pairs, in the order of their first pairs.
func (p *PairTable) Conditions() condition.Rows {
	var rows condition.Rows
	known := map[string]bool{}
	for i := range p.N {
		key := fmt.Sprintf("%v %q", rowOf(p.X, i), rowOf(p.Texts, i))
		if !known[key] {
			known[key] = true
			rows = append(rows, condition.Values{
				Numbers: namedRow(p.Inputs, p.X, i), Names: namedRow(p.Labels, p.Texts, i),
			})
		}
	}

	return rows
}
