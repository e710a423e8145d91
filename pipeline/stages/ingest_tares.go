package stages

import (
	"doubletake/ingest/campaign"
	"doubletake/pipeline/stages/plan"
)

// findTares stores the recordings without wind of each file and, if a drift is taken out, the place of its runs between
// them.
func (r *Recordings) findTares(exp plan.Experiment) error {
	if r.tares == nil || r.Ingest.Balance == nil {
		return nil
	}

	r.tares.Convert = r.Convert
	var rows []*campaign.Conditions
	for i := range r.Files {
		file := &r.Files[i]
		names, err := r.tares.NamesFor(file.Name, file.Rows, file.Known)
		if err != nil {
			return err
		}

		for _, name := range names {
			tare, err := exp.Named(name)
			if err != nil {
				return err
			}

			file.Tares = append(file.Tares, tare)
		}

		rows = append(rows, file.Rows)
	}

	for i, share := range r.tares.Shares(r.Table, rows) {
		r.Files[i].Share = share
	}

	return nil
}
