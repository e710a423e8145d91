package dspstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// couple makes every second outcome the first (docs/method.md#synthetic-data-and-couples).
func couple(t *table.Table) {
	for i := range t.Columns {
		if c := &t.Columns[i]; isSecond(t, c.Name) {
			first := t.Column(strings.TrimSuffix(c.Name, "_2") + "_1")
			c.Floats, c.Bools = slices.Clone(first.Floats), slices.Clone(first.Bools)
		}
	}
}

// isSecond reports whether a column has the second outcomes of pairs.
func isSecond(t *table.Table, name string) bool {
	base, ok := strings.CutSuffix(name, "_2")
	return ok && t.Column(base+"_1") != nil
}

// noRepeats is the error of n runs of which none repeats another.
func noRepeats(exp plan.Experiment, n int) error {
	return fault.At(exp.File.Path, exp.At+".dsp", "conditions that were measured more than once",
		fmt.Sprintf("%d runs, all at different conditions", n),
		"allow a tolerance with within: {condition: …}, leave counters out with log: {ignore: […]}, or take same-run pairs")
}

// compared lists the conditions and labels by which runs repeat each other: none that is found of a run, and none
// without a tolerance that is derived of others.
func compared(rec *ingeststage.Recordings) (conditions, labels []string) {
	within := plan.Tolerances(rec.DSP.Within)
	conditions = lists.Keep(rec.Conditions, func(c string) bool {
		_, given := within[c]
		return !slices.Contains(rec.Found, c) && (given || rec.Derive.Text(c) == "")
	})

	return conditions, lists.Keep(rec.Labels, func(c string) bool { return c != rec.DSP.Across })
}

// CheckRepeats raises the error of recordings none of which repeats another, by the conditions that are known
// of them.
func CheckRepeats(exp plan.Experiment, ing ingeststage.Result) {
	rec, n := ing.Recordings, len(ing.Known)
	if rec == nil || !rec.Construction.Describe().Repeats || n == 0 {
		return
	}

	groups := 0
	unknown := fault.Try(func() { groups = len((&stage{exp: exp, rec: rec}).groups(ing.Known, nil, nil)) })
	fault.Unless(unknown != nil || groups < n, noRepeats(exp, n))
}

// checkCopies reports files with the same contents, taken for two runs.
func checkCopies(j *engine.Job, results []engine.Dep) {
	type file struct { // of ingeststage.FileResult
		Path, SHA256 string
		Skipped      *struct{}
	}

	var names, sums []string
	for _, d := range results {
		fault.Raise(plan.EachJSON(j.Input(d.Task, d.Output), func(f *file) {
			if f.Skipped == nil {
				names, sums = append(names, f.Path), append(sums, f.SHA256)
			}
		}))
	}

	ingeststage.CheckCopies(names, sums)
}

// groups gathers the recordings at equal conditions and labels. Where two channels of a run have equal ones, they are
// those of one channel too.
func (s *stage) groups(t holdout.Rows, runs, recordings []string) [][]int {
	n, all := t.Rows(), plan.Tolerances(s.rec.DSP.Within)
	conditions, names := compared(s.rec)
	within := lists.Each(conditions, func(c string) condition.Tolerance { return all[c] })
	cols := lists.Each(conditions, func(c string) []float64 { return fault.Get(t.Floats(c)) })
	across, text := s.rec.DSP.Across, func(c string) []string { return fault.Get(t.Strings(c)) }
	names = lists.Keep(names, func(c string) bool { // days within sessions keep no recordings of two sessions apart
		return across == "" || !slices.Contains(s.rec.In.Occasions, c) || !condition.Nested(text(c), text(across))
	})
	labels := lists.Each(names, text)
	equal := func(i, j int) bool {
		differs := func(k int) bool { return !within[k].Equal(cols[k][i], cols[k][j]) }
		named := func(l []string) bool { return l[i] != l[j] }
		return !slices.ContainsFunc(labels, named) && !slices.ContainsFunc(lists.Numbers(len(within)), differs)
	}

	alike := false
	for i := range runs {
		for k := i - 1; k >= 0 && runs[k] == runs[i] && !alike; k-- {
			alike = equal(k, i)
		}
	}

	if alike {
		labels = append(labels, channels(runs, recordings))
	}

	return slices.Collect(condition.Groups(n, within, cols, labels))
}

// channels are the endings of recordings' names, behind that of their run.
func channels(runs, recordings []string) []string {
	return lists.Make(len(runs), func(i int) string {
		if channel, own := strings.CutPrefix(recordings[i], runs[i]); own {
			return channel
		}

		if k := strings.LastIndexByte(recordings[i], '#'); k >= 0 { // of a run that a condition names
			return recordings[i][k:]
		}

		return ""
	})
}

// pairRepeats joins runs at equal conditions and labels: the first of a pair gives y1, the
// second y2. It warns of runs without a partner.
func (s *stage) pairRepeats(t *table.Table) []ingest.Warning {
	runs, recording := t.Column("run").Strings, t.Column("recording").Strings
	groups := s.groups(plan.AtSetPoints{Table: t}, runs, recording)
	if s.rec.DSP.Across != "" {
		return s.pairAcross(t, groups)
	}

	var first, second, alone []int
	for _, g := range groups {
		for ; len(g) > 1; g = g[2:] {
			if runs[g[0]] == runs[g[1]] { // several files that are one run
				alone = append(alone, g[:2]...)
			} else {
				first, second = append(first, g[0]), append(second, g[1])
			}
		}

		alone = append(alone, g...)
	}

	fault.Unless(first != nil, noRepeats(s.exp, len(runs)))
	slices.Sort(alone)

	warnings := campaign.WarnUnpaired(s.exp.File.Path, "recording", len(alone), func(i int) string {
		return recording[alone[i]]
	})

	// Until here every run's outcome is in both columns of its row.
	one, two := t.Select(first), t.Select(second)
	for i, other := range two.Columns {
		c := &one.Columns[i]
		if isSecond(t, c.Name) {
			*c = other
		}

		for k := range c.Strings {
			if text := other.Strings[k]; text != c.Strings[k] {
				c.Strings[k] += " + " + text
			}
		}

		if (plan.AtSetPoints{Table: t}).Scatters(c.Name) {
			for k := range c.Floats {
				c.Floats[k] = (c.Floats[k] + other.Floats[k]) / 2
			}
		}
	}

	t.Columns = one.Columns

	return warnings
}

// pairAcross makes each recording the first of a pair, whose second is of another occasion where the condition was
// measured on several. The recordings of a condition have the name of the first, by which they are found.
func (s *stage) pairAcross(t *table.Table, groups [][]int) []ingest.Warning {
	day := fault.Get(t.Strings(s.rec.DSP.Across))
	recording := t.Column("recording").Strings
	repeats := slices.Clone(recording)
	var lone []int
	for _, g := range groups {
		several := slices.ContainsFunc(g, func(i int) bool { return day[i] != day[g[0]] })
		for _, i := range g {
			if repeats[i] = recording[g[0]]; !several {
				lone = append(lone, i)
			}
		}
	}

	set := triplets.Set{N: t.Rows()}
	set.SetRuns(t.Column("run").Strings)
	for i, c := range t.Select(set.PairAcross(repeats, day)).Columns {
		if isSecond(t, c.Name) {
			t.Columns[i] = c
		}
	}

	t.Column("recording").Strings = repeats
	t.Make("weight", "", "weight of the pair, by which r repeats count as r runs").Floats = slices.Repeat([]float64{0.5},
		t.Rows())

	return campaign.WarnLone(s.exp.File.Path, "recording", s.rec.DSP.Across, len(lone), t.Rows(), func(i int) string {
		return recording[lone[i]]
	})
}
