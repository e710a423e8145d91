package stages

import (
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
)

// Rows lists the conditions of recordings that are known before any recording is read, or the conditions of a table of
// pairs, which it reads.
func (r *ingestResult) Rows() (condition.Rows, error) {
	if r.Pairs != nil {
		return r.Pairs.Rows()
	}

	return r.Known, nil
}

// Size estimates how many conditions and pairs an experiment will have.
func (r *ingestResult) Size() (conditions, pairs float64) {
	if r.Pairs != nil {
		return r.Pairs.Size()
	}

	rec := r.Recordings
	if rec == nil { // a test of one stage has neither
		return float64(len(r.Known)), float64(len(r.Known))
	}

	return rec.Reading.Size(len(rec.Files), len(r.Known), rec.inventory.IsByChannel())
}

// moveToSetPoints finds the set points of the conditions with tolerances and moves the values in Known to them.
func (r *ingestResult) moveToSetPoints() error {
	r.Points = condition.Points{}
	if len(r.Tolerances) == 0 {
		return nil
	}

	rows, err := r.Rows()
	if err != nil {
		return err
	}

	var inventory *campaign.Inventory
	if r.Recordings != nil {
		inventory = r.Recordings.inventory
	}

	r.Points = inventory.SetPoints(rows, r.Tolerances)
	r.Points.Move(r.Known)

	return nil
}
