package dspstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// couple replaces the second outcome of each pair by the first (docs/method.md#synthetic-data-and-couples).
func couple(tab *table.Table) {
	for i := range tab.Columns {
		column := &tab.Columns[i]
		if isSecond(tab, column.Name) {
			first := tab.Column(strings.TrimSuffix(column.Name, "_2") + "_1")
			column.Floats = slices.Clone(first.Floats)
			column.Bools = slices.Clone(first.Bools)
		}
	}
}

// isSecond reports whether a column contains the second outcomes of pairs.
func isSecond(tab *table.Table, name string) bool {
	base, ok := strings.CutSuffix(name, "_2")
	return ok && tab.Column(base+"_1") != nil
}

// noRepeats returns the error about n runs of which none repeats another.
func noRepeats(exp plan.Experiment, n int) error {
	return fault.At(exp.File.Path, exp.Key+".dsp", "conditions that were measured more than once",
		fmt.Sprintf("%d runs, all at different conditions", n),
		"allow a tolerance with within: {condition: …}, leave counters out with log: {ignore: […]}, or take same-run pairs")
}

// compared lists the conditions and labels by which runs repeat each other. Conditions that are found in a run are not
// compared, and derived conditions only with a tolerance.
func compared(rec *ingeststage.Recordings) (conditions, labels []string) {
	tolerances := plan.Tolerances(rec.DSP.Tolerances)
	for _, c := range rec.Conditions {
		_, given := tolerances[c]
		derived := rec.Derive.Text(c) != ""
		if !slices.Contains(rec.Found, c) && (given || !derived) {
			conditions = append(conditions, c)
		}
	}

	for _, label := range rec.Labels {
		if label != rec.DSP.Across {
			labels = append(labels, label)
		}
	}

	return conditions, labels
}

// CheckRepeats returns an error if pairs are made of repeats and no recording repeats another, by the conditions that
// ing contains. It returns nil if a condition is known only later.
func CheckRepeats(exp plan.Experiment, ing ingeststage.Result) error {
	rec := ing.Recordings
	n := len(ing.Known)
	if rec == nil || !rec.Construction.Describe().Repeats || n == 0 {
		return nil
	}

	groups, err := (&stage{exp: exp, rec: rec}).groups(ing.Known, nil, nil)
	if err != nil {
		return nil // the error means that a condition is not known yet
	}

	if len(groups) >= n {
		return noRepeats(exp, n)
	}

	return nil
}

// comparison contains the columns by which recordings are compared to find repeats.
type comparison struct {
	conditions [][]float64           // values of each compared condition, by recording
	tolerances []condition.Tolerance // by compared condition
	labels     [][]string            // names of each compared label, by recording
}

// comparison reads the columns by which recordings are compared.
func (s *stage) comparison(rows holdout.Rows) (*comparison, error) {
	c := &comparison{}
	tolerances := plan.Tolerances(s.rec.DSP.Tolerances)
	conditions, labels := compared(s.rec)
	columns := make([][]float64, len(conditions))
	for k, name := range conditions {
		values, err := rows.Floats(name)
		if err != nil {
			return nil, err
		}

		columns[k] = values
	}

	alongside := condition.Alongside(conditions, columns, s.exp.StatedConditions(), func(name string) bool {
		_, hasTolerance := tolerances[name]
		return hasTolerance
	})
	for k, name := range conditions {
		if !slices.Contains(alongside, name) {
			c.tolerances = append(c.tolerances, tolerances[name])
			c.conditions = append(c.conditions, columns[k])
		}
	}

	for _, name := range labels {
		names, err := rows.Strings(name)
		if err != nil {
			return nil, err
		}

		nested, err := s.nested(rows, name, names)
		if err != nil {
			return nil, err
		}

		if !nested {
			c.labels = append(c.labels, names)
		}
	}

	return c, nil
}

// nested reports whether a label is an occasion whose names are parts of the occasions that pairs are made across: days
// within sessions do not keep recordings of two sessions apart.
func (s *stage) nested(rows holdout.Rows, label string, names []string) (bool, error) {
	across := s.rec.DSP.Across
	if across == "" || !slices.Contains(s.rec.Ingest.Occasions, label) {
		return false, nil
	}

	outer, err := rows.Strings(across)
	if err != nil {
		return false, err
	}

	return condition.Nested(names, outer), nil
}

// equal reports whether recordings i and j are at equal conditions and labels.
func (c *comparison) equal(i, j int) bool {
	for _, names := range c.labels {
		if names[i] != names[j] {
			return false
		}
	}

	for k, values := range c.conditions {
		if !c.tolerances[k].Equal(values[i], values[j]) {
			return false
		}
	}

	return true
}

// alikeInRun reports whether two recordings of one run are equal. The recordings of a run must be consecutive.
func (c *comparison) alikeInRun(runs []string) bool {
	for i := range runs {
		for k := i - 1; k >= 0 && runs[k] == runs[i]; k-- {
			if c.equal(k, i) {
				return true
			}
		}
	}

	return false
}

// groups returns the groups of recordings at equal conditions and labels. If two channels of a run are equal, a group
// only has recordings of the same channel.
func (s *stage) groups(rows holdout.Rows, runs, recordings []string) ([][]int, error) {
	c, err := s.comparison(rows)
	if err != nil {
		return nil, err
	}

	if c.alikeInRun(runs) {
		c.labels = append(c.labels, channels(runs, recordings))
	}

	return slices.Collect(condition.Groups(rows.Rows(), c.tolerances, c.conditions, c.labels)), nil
}

// channels returns the ending of each recording's name that names its channel: the part behind the name of its run.
func channels(runs, recordings []string) []string {
	endings := make([]string, len(runs))
	for i, run := range runs {
		if ending, own := strings.CutPrefix(recordings[i], run); own {
			endings[i] = ending
		} else if k := strings.LastIndexByte(recordings[i], '#'); k >= 0 { // the run's name comes from a column
			endings[i] = recordings[i][k:]
		}
	}

	return endings
}

// pairRepeats replaces the rows of a table by pairs of recordings at equal conditions and labels. The first recording
// of a pair gives y1, the second y2. It warns of recordings without a partner.
func (s *stage) pairRepeats(tab *table.Table) ([]ingest.Warning, error) {
	runs := tab.Column("run").Strings
	recording := tab.Column("recording").Strings
	groups, err := s.groups(pairs.AtSetPoints{Table: tab}, runs, recording)
	if err != nil {
		return nil, err
	}

	if s.rec.DSP.Across != "" {
		return s.pairAcross(tab, groups)
	}

	var first, second, alone []int
	for _, group := range groups {
		var waiting []int // recordings without a partner yet, all of one run: files of one run do not repeat each other
		for _, i := range group {
			if len(waiting) > 0 && runs[waiting[0]] != runs[i] {
				first = append(first, waiting[0])
				second = append(second, i)
				waiting = waiting[1:]
			} else {
				waiting = append(waiting, i)
			}
		}

		alone = append(alone, waiting...)
	}

	if first == nil {
		return nil, noRepeats(s.exp, len(runs))
	}

	slices.Sort(alone)
	warnings := campaign.WarnUnpaired(s.exp.File.Path, "recording", len(alone), func(i int) string {
		return recording[alone[i]]
	})

	joinRepeats(tab, first, second)

	return warnings, nil
}

// joinRepeats replaces the rows of a table by pairs of its rows. Before the call, each row has the outcome of its run
// as first and as second outcome. Names of runs and recordings are joined by " + ", and conditions that scatter about
// set points become the mean of the two.
func joinRepeats(tab *table.Table, first, second []int) {
	joined := tab.Select(first)
	for i, other := range tab.Select(second).Columns {
		column := &joined.Columns[i]
		if isSecond(tab, column.Name) {
			*column = other
		}

		for k, text := range other.Strings {
			if text != column.Strings[k] {
				column.Strings[k] += " + " + text
			}
		}

		if (pairs.AtSetPoints{Table: tab}).HasSetPoints(column.Name) {
			for k := range column.Floats {
				column.Floats[k] = (column.Floats[k] + other.Floats[k]) / 2
			}
		}
	}

	tab.Columns = joined.Columns
}

// pairAcross replaces the second outcome of each recording by the outcome of a recording in the same group on another
// occasion, if the group was measured on several. It gives all recordings of a group the name of the first one, by
// which later stages find the group again. It warns of recordings without a partner.
func (s *stage) pairAcross(tab *table.Table, groups [][]int) ([]ingest.Warning, error) {
	days, err := tab.Strings(s.rec.DSP.Across)
	if err != nil {
		return nil, err
	}

	recording := tab.Column("recording").Strings
	repeats := slices.Clone(recording)
	var lone []int
	for _, group := range groups {
		several := slices.ContainsFunc(group, func(i int) bool { return days[i] != days[group[0]] })
		for _, i := range group {
			repeats[i] = recording[group[0]]
			if !several {
				lone = append(lone, i)
			}
		}
	}

	set := triplets.Set{N: tab.Rows()}
	set.SetRuns(tab.Column("run").Strings)
	for i, c := range tab.Select(set.PairAcross(repeats, days)).Columns {
		if isSecond(tab, c.Name) {
			tab.Columns[i] = c
		}
	}

	tab.Column("recording").Strings = repeats
	tab.Make("weight", "", "weight of the pair, by which r repeats count as r runs").Floats = slices.Repeat([]float64{0.5},
		tab.Rows())

	return campaign.WarnLone(s.exp.File.Path, "recording", s.rec.DSP.Across, len(lone), tab.Rows(),
		func(i int) string { return recording[lone[i]] })
}
