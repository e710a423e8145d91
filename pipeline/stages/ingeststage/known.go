package ingeststage

import (
	"fmt"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// Rows lists the conditions of recordings, as far as they are known before any is read, or of the rows of a table,
// which is read for it, or raises an error; those of the simulated toy are made.
func (r *Result) Rows() condition.Rows {
	switch {
	case r.Pairs == nil:
		return r.Known
	case r.Pairs.Toy == nil:
		return rowsOf(readTables(r.Pairs.Files, r.Pairs.Options))
	}

	return lists.Each(r.Pairs.Toy.Inputs(), func(x float64) condition.Values {
		return condition.Values{Numbers: map[string]float64{"x": x}}
	})
}

// rowsOf lists the different conditions of pairs.
func rowsOf(p *campaign.PairTable) condition.Rows {
	x := func(i int) []float64 { return lists.Each(p.X, func(c []float64) float64 { return c[i] }) }
	names := func(i int) []string { return lists.Each(p.Texts, func(c []string) string { return c[i] }) }
	keys := lists.Make(p.N, func(i int) string { return fmt.Sprintf("%v %q", x(i), names(i)) })

	return lists.Each(lists.Alike(keys), func(alike []int) condition.Values {
		i := alike[0]
		return condition.Values{Numbers: lists.Map(p.Inputs, x(i)), Names: lists.Map(p.Labels, names(i))}
	})
}

// Values lists the distinct values of a condition, ascending, as far as they are known before any recording is read, or
// raises an error.
func (r *Result) Values(condition string) []float64 {
	if points, ok := r.Points[condition]; ok {
		return points.Nominals()
	}

	v, _ := r.Rows().Floats(condition) // else only the files tell
	slices.Sort(v)

	return slices.Compact(v)
}

// atSetPoints finds the set points in what is known, and moves Known to them.
func (r *Result) atSetPoints() {
	r.Points = plan.Points{}
	for _, w := range r.Within {
		v := r.Values(w.Name)
		if len(v) == 0 {
			continue // only the files tell
		}

		tolerance, _ := condition.ParseTolerance(w.Value) // checked with the configuration
		points := condition.SetPointsOf(append(v, r.named[w.Name]...), tolerance)
		for _, c := range r.Known {
			if v, known := c.Numbers[w.Name]; known {
				c.Numbers[w.Name] = points.At(v)
			}
		}

		r.Points[w.Name] = points
	}
}

// addKnown adds what is known of a file, with the set points in its name that are within the tolerance of it.
func (r *Result) addKnown(f *File) {
	r.Known = append(r.Known, f.known...)
	within := plan.Tolerances(r.Within)
	for _, n := range f.Named {
		near := func(v condition.Values) bool { return within[n.Column].Equal(v.Numbers[n.Column], n.Value) }
		if _, scatters := within[n.Column]; scatters && slices.ContainsFunc(f.known, near) {
			r.named[n.Column] = append(r.named[n.Column], n.Value)
		}
	}
}

// Names lists the distinct names of a label, sorted, as Values does.
func (r *Result) Names(label string) []string {
	names, _ := r.Rows().Strings(label)
	return holdout.Distinct(names)
}

// PairsPerRow returns how many pairs each entry of Known gives at most; 0 where
// only the files tell.
func (r *Result) PairsPerRow() int {
	switch c := r.Construction.(type) {
	case dsp.PerRun:
		return c.PairsPerRun(&r.Recordings.DSP.Settings)

	case dsp.OfSpectra:
		ofAll := func(r campaign.ConditionRow) bool { return r.Channel == "" }
		several := func(f File) bool { return f.Rows == nil || slices.ContainsFunc(f.Rows.Rows, ofAll) }
		if !c.Describe().Repeats && !slices.ContainsFunc(r.Recordings.Files, several) {
			return 1 // every row is one microphone's
		}
	}

	return 0
}

// Guesses while planning: microphones of a run, rows of a table of pairs.
const typicalMicrophones, typicalRows = 12, 1000

// Size estimates the conditions and the pairs that an experiment will have.
func (r *Result) Size() (conditions, pairs float64) {
	if r.Construction == nil {
		return typicalRows, typicalRows
	}

	conditions = float64(max(len(r.Known), 1))
	if _, ok := r.Construction.(dsp.OfSpectra); ok && len(r.Known) <= len(r.Recordings.Files) { // not of single channels
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
