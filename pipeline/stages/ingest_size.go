package stages

import "doubletake/ingest/campaign"

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
			rows += campaign.EstimateRows(file.Path, columns)
		}

		if rows == 0 { // a table that a task writes
			rows = typicalRows
		}

		p.size = [2]float64{rows, rows}
	}

	return p.size[0], p.size[1]
}
