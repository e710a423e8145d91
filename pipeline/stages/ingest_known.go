package stages

import (
	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// Rows lists the conditions of recordings that are known before any recording is read. For a table of pairs it reads
// the table and lists the distinct conditions of its rows. For the simulated toy it computes the conditions.
func (r *ingestResult) Rows() (condition.Rows, error) {
	switch {
	case r.Pairs == nil:
		return r.Known, nil
	case r.Pairs.Toy == nil:
		pairTable, err := r.Pairs.Read()
		if err != nil {
			return nil, err
		}

		rows := pairTable.Conditions()
		r.Pairs.size = [2]float64{float64(len(rows)), float64(pairTable.N)}

		return rows, nil
	}

	var rows condition.Rows
	for _, x := range r.Pairs.Toy.Inputs() {
		rows = append(rows, condition.Values{Numbers: map[string]float64{"x": x}})
	}

	return rows, nil
}

// Values lists the distinct values of a condition, ascending, or its set points if it has some. It returns nil if only
// the recordings state the condition, and an error if it must read a table and cannot.
func (r *ingestResult) Values(condition string) ([]float64, error) {
	if points, ok := r.Points[condition]; ok {
		return points.Nominals(), nil
	}

	rows, err := r.Rows()
	if err != nil {
		return nil, err
	}

	values, _ := rows.Floats(condition) // otherwise only the files state them

	return holdout.Distinct(values), nil
}

// Names lists the distinct names of a label, sorted. It returns nil if only the recordings state the label, and an
// error if it must read a table and cannot.
func (r *ingestResult) Names(label string) ([]string, error) {
	rows, err := r.Rows()
	if err != nil {
		return nil, err
	}

	names, _ := rows.Strings(label)

	return holdout.Distinct(names), nil
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

// PairsPerRow returns the largest number of pairs that an entry of Known gives, and 0 if the number depends on the
// contents of the files.
func (r *ingestResult) PairsPerRow() int {
	switch c := r.Construction.(type) {
	case dsp.PerRun:
		return c.PairsPerRun(&r.Recordings.DSP.Settings)

	case dsp.OfSpectra:
		if !c.Describe().Repeats && r.Recordings.inventory.IsByChannel() {
			return 1
		}
	}

	return 0
}

// Guesses for sizes that are unknown before files are opened.
const (
	typicalMicrophones = 12   // microphones of a run
	typicalRows        = 1000 // rows of a table of pairs
)

// sizes estimates the numbers of conditions and of pairs of a table that was not read, from its size. If it was read,
// the numbers are known.
func (p *Pairs) sizes() (conditions, pairs float64) {
	if p.Toy != nil {
		n := float64(len(p.Toy.Inputs()))
		return n, n
	}

	if p.size == [2]float64{} {
		rows := p.EstimateRows()
		if rows == 0 { // a table that a task writes
			rows = typicalRows
		}

		p.size = [2]float64{rows, rows}
	}

	return p.size[0], p.size[1]
}

// Size estimates how many conditions and pairs an experiment will have.
func (r *ingestResult) Size() (conditions, pairs float64) {
	if r.Pairs != nil {
		return r.Pairs.sizes()
	}

	if r.Construction == nil {
		return typicalRows, typicalRows
	}

	conditions = float64(max(len(r.Known), 1))
	_, microphones := r.Construction.(dsp.OfSpectra)
	if rowsOfFiles := len(r.Known) <= len(r.Recordings.Files); microphones && rowsOfFiles { // a row is not one channel
		conditions *= typicalMicrophones
	}

	return conditions, conditions * float64(max(r.PairsPerRow(), 1))
}

// pairKind returns the kind of an experiment's pairs: same-run, repeat-run or
// synthetic (docs/method.md#units-of-data). c is nil for pairs of a table.
func pairKind(e plan.Experiment, c dsp.Construction) string {
	switch {
	case e.Ingest.Table != nil:
		return e.Ingest.Table.Pairs
	case c == nil:
		return "synthetic"
	case c.Describe().Repeats:
		return "repeat-run"
	}

	return "same-run"
}
