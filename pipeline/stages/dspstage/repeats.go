package dspstage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/setpoint"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/holdout"
)

// couple makes every second outcome the first (docs/method.md#synthetic-data-and-couples).
func couple(t *table.Table) {
	for i := range t.Columns {
		if base, ok := strings.CutSuffix(t.Columns[i].Name, "_2"); ok {
			if first := t.Column(base + "_1"); first != nil {
				c := &t.Columns[i]
				c.Floats, c.Bools = slices.Clone(first.Floats), slices.Clone(first.Bools)
			}
		}
	}
}

// noRepeats is the error of n runs of which none repeats another.
func noRepeats(exp plan.Experiment, n int) error {
	return &fault.Error{
		Path: exp.File.Path, Place: exp.At + ".dsp",
		Want: "conditions that were measured more than once", Found: fmt.Sprintf("%d runs, all at different conditions", n),
		Hint: "allow a tolerance with within: {condition: …}, leave counters out with log: {ignore: […]}, or take " +
			"same-run pairs",
	}
}

// CheckRepeats reports recordings none of which repeats another, by the conditions that are known
// of them.
func CheckRepeats(exp plan.Experiment, ing ingeststage.Result) error {
	rec := ing.Recordings
	if rec == nil || !rec.Construction.Describe().Repeats || len(rec.DSP.Within) > 0 || len(ing.Known) == 0 {
		return nil
	}

	seen := map[string]bool{}
	for i, c := range ing.Known {
		key := ""
		for _, name := range rec.Conditions {
			v, ok := c[name]
			if slices.Contains(rec.Found, name) || rec.Derive.Text(name) != "" || !ok {
				continue
			}

			if at, _, ok := ing.Points.Find(name, v); ok {
				v = at
			}

			key += fmt.Sprint(v, " ")
		}

		for _, name := range rec.Labels {
			key += strconv.Quote(ing.KnownLabels[i][name])
		}

		if seen[key] {
			return nil
		}

		seen[key] = true
	}

	return noRepeats(exp, len(ing.Known))
}

// copies is the error of files with the same contents, taken for two runs.
func copies(j *engine.Job, results []engine.Dep) error {
	var names, sums []string
	for _, d := range results {
		err := plan.EachJSON(j.Input(d.Task, d.Output), func(res *ingeststage.FileResult) {
			if res.Skipped == nil {
				names, sums = append(names, res.Path), append(sums, res.SHA256)
			}
		})
		if err != nil {
			return err
		}
	}

	return ingeststage.Copies(names, sums)
}

// pairRepeats joins runs at equal conditions and labels: the first of a pair gives y1, the
// second y2. It warns of runs without a partner.
func (s *stage) pairRepeats(t *table.Table) ([]ingest.Warning, error) {
	n := t.Rows()
	var tol []setpoint.Tolerance

	var cols [][]float64
	for _, c := range s.rec.Conditions {
		text, given := config.Find(s.rec.DSP.Within, c)
		if slices.Contains(s.rec.Found, c) || !given && s.rec.Derive.Text(c) != "" {
			continue // found of a run, or equal where what it is derived of is equal
		}

		v, err := plan.AtSetPoints{Table: t}.Floats(c)
		if err != nil {
			return nil, fmt.Errorf("pair repeats: %w", err)
		}

		cols = append(cols, v)

		w := setpoint.Tolerance{}
		if given {
			if w, err = setpoint.Parse(text); err != nil {
				return nil, fmt.Errorf("pair repeats: %w", err)
			}
		}

		tol = append(tol, w)
	}

	for _, c := range s.rec.Labels { // by the places of their names
		v, err := t.Strings(c)
		if err != nil {
			return nil, fmt.Errorf("pair repeats: %w", err)
		}

		names, place := holdout.Distinct(v), make([]float64, n)
		for i, name := range v {
			k, _ := slices.BinarySearch(names, name)
			place[i] = float64(k)
		}

		cols, tol = append(cols, place), append(tol, setpoint.Tolerance{})
	}

	x := make([][]float64, n)
	for i := range x {
		for _, c := range cols {
			x[i] = append(x[i], c[i])
		}
	}

	runs, recordings := t.Column("run").Strings, t.Column("recording").Strings

	channels := make([]string, n)
	for i, r := range recordings {
		channels[i] = strings.TrimPrefix(r, runs[i])
	}

	equal := func(k int, a, b float64) bool { return tol[k].Equal(a, b) }
	pairs, alone := dsp.PairRecordings(x, equal, runs, channels)
	if len(pairs) == 0 {
		return nil, noRepeats(s.exp, n)
	}

	var names []string
	for _, i := range alone {
		names = append(names, recordings[i])
	}

	warnings := campaign.WarnUnpaired(s.exp.File.Path, "recording", names)

	// Until here every run's outcome is in both columns of its row.
	for i := range t.Columns {
		c := &t.Columns[i]

		member := 0
		if base, ok := strings.CutSuffix(c.Name, "_2"); ok && t.Column(base+"_1") != nil {
			member = 1
		}

		out := table.Column{Name: c.Name, Unit: c.Unit, Description: c.Description}
		for _, p := range pairs {
			k := p[member]
			switch {
			case c.Strings != nil:
				text := c.Strings[p[0]]
				if other := c.Strings[p[1]]; other != text {
					text += " + " + other
				}

				out.Strings = append(out.Strings, text)

			case c.Floats != nil && plan.AtSetPoints{Table: t}.Scatters(c.Name):
				out.Floats = append(out.Floats, (c.Floats[p[0]]+c.Floats[p[1]])/2)
			case c.Floats != nil:
				out.Floats = append(out.Floats, c.Floats[k])
			case c.Bools != nil:
				out.Bools = append(out.Bools, c.Bools[k])
			}
		}

		t.Columns[i] = out
	}

	return warnings, nil
}
