// Package repeats pairs recordings at equal conditions: of two runs, or across days, sessions and mountings. It works
// on tables of pairs, whose rows are recordings before they are paired.
package repeats

import (
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/report/pairs"
	"doubletake/train/triplets"
)

// Pairing pairs recordings that repeat each other: they are at equal conditions and have equal names.
type Pairing struct {
	Path  string // the file with the settings, for messages
	Place string // the section of Path that asks for repeats, for messages

	Conditions []string                       // conditions that are compared, unless they were measured alongside
	Labels     []string                       // columns of names that are compared
	Tolerances map[string]condition.Tolerance // by condition; a condition without a tolerance must be equal
	Stated     []string                       // conditions that the user names: they were not measured alongside
	Occasions  []string                       // columns of days, sessions and mountings
	Across     string                         // the occasion across which recordings are paired; "": pairs of runs
}

// Choose stores the columns that are compared. Conditions that are found in a run are not among them, and derived
// conditions only if they have a tolerance.
func (p *Pairing) Choose(columns *pairs.Columns) {
	for _, name := range columns.BeforeAnalysis() {
		_, hasTolerance := p.Tolerances[name]
		isDerived := columns.Derive.Text(name) != ""
		if hasTolerance || !isDerived {
			p.Conditions = append(p.Conditions, name)
		}
	}

	for _, label := range columns.Labels {
		if label != p.Across {
			p.Labels = append(p.Labels, label)
		}
	}
}

// Rows are recordings with their conditions and names, which may be known before the recordings are read.
type Rows interface {
	// Rows returns the number of rows.
	Rows() int
	// Floats returns the value of a condition of numbers in every row.
	Floats(condition string) ([]float64, error)
	// Strings returns the text of a condition of text in every row.
	Strings(condition string) ([]string, error)
}

// Check returns an error if none of the known rows repeats another. It returns nil if a condition is known only after
// the recordings are read, and if there are no rows.
func (p *Pairing) Check(known Rows) error {
	n := known.Rows()
	if n == 0 {
		return nil
	}

	groups, err := p.groups(known, nil, nil)
	if err != nil {
		return nil // the error means that a condition is not known yet
	}

	if len(groups) >= n {
		return p.noRepeats(n)
	}

	return nil
}

// noRepeats returns the error about n runs if none of them repeats another.
func (p *Pairing) noRepeats(n int) error {
	return fault.At(p.Path, p.Place, "conditions that were measured more than once",
		fault.Plural(int64(n), "run")+", all at different conditions",
		"allow a tolerance with within: {condition: …}, leave counters out with log: {ignore: […]}, or take same-run pairs")
}

// Pair replaces the rows of a table by pairs of recordings at equal conditions and labels. The first recording
// of a pair gives y1, the second y2. It warns of recordings without a partner.
func (p *Pairing) Pair(tab *table.Table) ([]ingest.Warning, error) {
	runs := tab.Column("run").Strings
	recording := tab.Column("recording").Strings
	groups, err := p.groups(pairs.AtSetPoints{Table: tab}, runs, recording)
	if err != nil {
		return nil, err
	}

	if p.Across != "" {
		return p.pairAcross(tab, groups)
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
		return nil, p.noRepeats(len(runs))
	}

	slices.Sort(alone)
	warnings := campaign.WarnUnpaired(p.Path, "recording", len(alone), func(i int) string {
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
func (p *Pairing) pairAcross(tab *table.Table, groups [][]int) ([]ingest.Warning, error) {
	days, err := tab.Strings(p.Across)
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

	return campaign.WarnLone(p.Path, "recording", p.Across, len(lone), tab.Rows(),
		func(i int) string { return recording[lone[i]] })
}
