package ingeststage

import (
	"fmt"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// Rows lists the conditions of recordings, as far as they are known before any is read, or of the rows of a table,
// which is read for it; those of the simulated toy are made.
func (r *Result) Rows() (_ condition.Rows, err error) {
	defer fault.Catch(&err)
	switch {
	case r.Pairs == nil:
		return r.Known, nil
	case r.Pairs.Toy == nil:
		return rowsOf(readTables(r.Pairs.Files, r.Pairs.Options)), nil
	}

	return lists.Each(r.Pairs.Toy.Inputs(), func(x float64) condition.Values {
		return condition.Values{Numbers: map[string]float64{"x": x}}
	}), nil
}

// rowsOf lists the different conditions of pairs.
func rowsOf(p *campaign.PairTable) (out condition.Rows) {
	nx, nl := len(p.Inputs), len(p.Labels)
	keys := lists.Make(p.N, func(i int) string { return fmt.Sprintf("%v %q", p.X[i*nx:][:nx], p.Texts[i*nl:][:nl]) })
	for _, alike := range lists.Alike(keys) {
		v, i := condition.Values{Numbers: map[string]float64{}, Names: map[string]string{}}, alike[0]
		for k, name := range p.Inputs {
			v.Numbers[name] = p.X[i*nx+k]
		}

		for k, name := range p.Labels {
			v.Names[name] = p.Texts[i*nl+k]
		}

		out = append(out, v)
	}

	return out
}

// Values lists the distinct values of a condition, ascending, as far as they are known before any recording is read.
func (r *Result) Values(condition string) ([]float64, error) {
	rows, err := r.Rows()
	if points, ok := r.Points[condition]; ok && err == nil {
		return points.Nominals(), nil
	}

	v, _ := rows.Floats(condition) // else only the files tell
	slices.Sort(v)

	return slices.Compact(v), err
}

// atSetPoints finds the set points in what is known, and moves Known to them.
func (r *Result) atSetPoints() {
	r.Points = plan.Points{}
	for _, w := range r.Within {
		v := fault.Get(r.Values(w.Name))
		if len(v) == 0 {
			continue // only the files tell
		}

		tolerance, _ := condition.ParseTolerance(w.Value) // checked with the configuration
		points := condition.SetPointsOf(append(v, r.namedPoints(w.Name, tolerance)...), tolerance)
		for _, c := range r.Known {
			if v, known := c.Numbers[w.Name]; known {
				c.Numbers[w.Name] = points.At(v)
			}
		}

		r.Points[w.Name] = points
	}
}

// namedPoints are the values of a condition in the files' names, as far as what is known of the files lies
// within the tolerance of them.
func (r *Result) namedPoints(name string, t condition.Tolerance) (v []float64) {
	if r.Recordings == nil || r.Recordings.Pattern == nil {
		return nil
	}

	for _, f := range r.Recordings.Files {
		named, _ := r.Recordings.Pattern.Match(f.Name)
		known, _ := f.known(r.Recordings.Source)
		for _, n := range named {
			near := func(c condition.Values) bool { return t.Equal(c.Numbers[name], n.Value) }
			if n.Column == name && slices.ContainsFunc(known, near) {
				v = append(v, n.Value)
			}
		}
	}

	return v
}

// Names lists the distinct names of a label, sorted, as Values does.
func (r *Result) Names(label string) ([]string, error) {
	rows, err := r.Rows()
	names, _ := rows.Strings(label)

	return holdout.Distinct(names), err
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
