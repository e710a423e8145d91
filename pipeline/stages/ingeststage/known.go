package ingeststage

import (
	"slices"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setpoint"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// Values lists the distinct values of a condition, ascending, as far as
// they are known before any recording is read; a table of pairs is read for it, and
// the simulated toy's is made.
func (r *Result) Values(condition string) ([]float64, error) {
	var v []float64
	switch {
	case r.Pairs == nil:
		for _, c := range r.Known {
			x, ok := c[condition]
			if !ok {
				return nil, nil
			}

			v = append(v, x)
		}

	case r.Pairs.Toy != nil && condition == "x":
		v = r.Pairs.Toy.Inputs()

	case r.Pairs.Table != nil:
		p, err := r.Pairs.read()
		if err != nil {
			return nil, err
		}

		v = column(p.X, p.Inputs, condition)
	}

	if points, ok := r.Points[condition]; ok {
		return points.Nominals(), nil
	}

	slices.Sort(v)

	return slices.Compact(v), nil
}

// atSetPoints finds the set points in what is known, and moves Known to them.
func (r *Result) atSetPoints() error {
	r.Points = plan.Points{}
	for _, w := range r.Within {
		v, err := r.Values(w.Name)
		if err != nil {
			return err
		}

		if len(v) == 0 {
			continue // only the files tell
		}

		tolerance, _ := setpoint.Parse(w.Value) // checked with the configuration
		points := setpoint.Of(append(v, r.namedPoints(w.Name, tolerance)...), tolerance)
		for _, c := range r.Known {
			if at, ok := points.Find(c[w.Name]); ok {
				c[w.Name] = at.Nominal
			}
		}

		r.Points[w.Name] = points
	}

	return nil
}

// namedPoints are the values of a condition in the files' names, as far as what is known of the files lies
// within the tolerance of them.
func (r *Result) namedPoints(condition string, t setpoint.Tolerance) (v []float64) {
	if r.Recordings == nil || r.Recordings.Pattern == nil {
		return nil
	}

	for _, f := range r.Recordings.Files {
		m, _ := r.Recordings.Pattern.Match(f.Name)
		at, ok := m[condition]
		known, _ := f.known(r.Recordings.Source)
		if ok && slices.ContainsFunc(known, func(c map[string]float64) bool { return t.Equal(c[condition], at) }) {
			v = append(v, at)
		}
	}

	return v
}

// Names lists the distinct names of a label, sorted, as Values does.
func (r *Result) Names(label string) ([]string, error) {
	var names []string
	switch {
	case r.Pairs == nil:
		for _, l := range r.KnownLabels {
			names = append(names, l[label])
		}

	case r.Pairs.Table != nil:
		p, err := r.Pairs.read()
		if err != nil {
			return nil, err
		}

		names = column(p.Texts, p.Labels, label)
	}

	return holdout.Distinct(names), nil
}

// read reads the table.
func (p *Pairs) read() (*campaign.PairTable, error) {
	t, err := campaign.ReadTables(p.Table.Files, p.Table.Options)
	if err != nil {
		return nil, NamedTable(err, p.Table.Files)
	}

	return t, nil
}

// column returns the named column of rows; nil where there is none.
func column[T any](rows []T, columns []string, name string) (out []T) {
	j := slices.Index(columns, name)
	for i := j; j >= 0 && i < len(rows); i += len(columns) {
		out = append(out, rows[i])
	}

	return out
}

// PairsPerRow returns how many pairs each entry of Known gives at most; 0 where
// only the files tell.
func (r *Result) PairsPerRow() int {
	switch c := r.Construction.(type) {
	case dsp.PerRun:
		return c.PairsPerRun(&r.Recordings.DSP.Settings)

	case dsp.OfSpectra:
		if c.Describe().Repeats {
			return 0
		}

		for _, f := range r.Recordings.Files {
			if f.Rows == nil || slices.ContainsFunc(f.Rows.Rows, func(r campaign.ConditionRow) bool { return r.Channel == "" }) {
				return 0
			}
		}

		return 1 // every row is one microphone's
	}

	return 0
}

// Guesses while planning: microphones of a run, rows of a table of pairs.
const typicalMicrophones, typicalRows = 12, 1000

// Size estimates the conditions and the pairs that an experiment will have.
func (r *Result) Size() (conditions, pairs float64) {
	conditions = float64(max(len(r.Known), 1))
	switch c := r.Construction.(type) {
	case nil:
		return typicalRows, typicalRows
	case dsp.PerRun:
		return conditions, conditions * float64(c.PairsPerRun(&r.Recordings.DSP.Settings))
	case dsp.OfSpectra:
		if len(r.Known) <= len(r.Recordings.Files) { // they are not those of single channels
			conditions *= typicalMicrophones
		}
	}

	return conditions, conditions
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
