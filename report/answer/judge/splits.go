package judge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/internal/lists"
	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// This file judges the predictions, as splits of a report. The test part has the pairs that are judged, the training
// part the predictions from which intervals are learned (assignParts).

// maxGroups is the largest number of groups that addGroupSplits accepts. It judges each group by all others; for
// maxGroups groups this takes about a minute.
const maxGroups = 100

// addSplits judges the predictions for the test part or, if there is none, the predictions of each group by intervals
// that are learned from the other groups. It adds the splits to the report, and a warning about pairs without a
// prediction.
func (g *given) addSplits(ctx context.Context, judges *judgingPairs, experiment *report.Experiment) error {
	missing := g.assignParts(judges)
	if len(missing) > 0 {
		experiment.Warnings = append(experiment.Warnings,
			fmt.Sprintf("%s not predicted, or without an interval that others have: "+
				"%s", fault.Plural(int64(len(missing)), "condition"), pairs.Some(missing, len(missing))))
	}

	switch {
	case !slices.Contains(g.Part, triplets.Test):
		return g.addGroupSplits(ctx, experiment)
	case judges.split != nil:
		return g.addSplit(ctx, experiment, g.Split, judges.split.Get("held_out"))
	case g.Groups != "":
		return g.addSplit(ctx, experiment, "others", "rows without "+g.Groups)
	}

	return g.addSplit(ctx, experiment, "all", "all predicted pairs")
}

// addSplit judges the test part and adds the split to the report. It learns intervals from the training part if that
// consists of left-out groups.
func (g *given) addSplit(ctx context.Context, experiment *report.Experiment, name, held string) error {
	s := g.judgeTest(name, held)
	if g.Groups != "" && slices.Contains(g.Part, triplets.Train) {
		result, err := g.learn(ctx)
		if err != nil {
			return err
		}

		s.Honest = result
	}

	experiment.Splits = append(experiment.Splits, s)

	return nil
}

// addGroupSplits judges all predictions as the table states them. It then judges the predictions of each group with
// intervals that are learned from the other groups. It returns an error if no groups were left out, or fewer than 2 or
// more than maxGroups.
func (g *given) addGroupSplits(ctx context.Context, experiment *report.Experiment) error {
	if g.Groups == "" {
		return &fault.Error{
			Path: g.Predictions, Want: "predictions of pairs that were not trained on", Found: "none",
			Hint: "are they those of the split's training part, or rows whose set is train?",
		}
	}

	var groups []string // with complete predictions
	for i, part := range g.Part {
		if part == triplets.Train {
			groups = append(groups, g.group[i])
		}
	}

	slices.Sort(groups)
	groups = slices.Compact(groups)
	if len(groups) < 2 || len(groups) > maxGroups {
		hint := "name a column with more groups, or judge by a split"
		if len(groups) > maxGroups {
			hint = "more can be judged by a split, or with rows without a group"
		}

		return &fault.Error{
			Path: g.Predictions, Place: "column " + g.Groups, Found: strconv.Itoa(len(groups)),
			Want: fmt.Sprintf("2 to %d groups, each predicted by a training without it", maxGroups), Hint: hint,
		}
	}

	all := g.testing(func(string) bool { return true })
	if err := all.addSplit(ctx, experiment, "all", "all predicted pairs"); err != nil {
		return err
	}

	for _, name := range groups {
		one := g.testing(func(group string) bool { return group == name })
		others := one.Only(triplets.Train)
		one.Scale = others.OutcomeScale()
		if err := one.addSplit(ctx, experiment, g.Groups+"="+name, g.Groups+" = "+name); err != nil {
			return err
		}
	}

	return nil
}

// testing returns a copy of g in which some training pairs have become test pairs: the pairs of each group for which
// isTest returns true.
func (g *given) testing(isTest func(group string) bool) *given {
	other := *g
	other.Part = slices.Clone(g.Part)
	for i, part := range g.Part {
		if part == triplets.Train && isTest(g.group[i]) {
			other.Part[i] = triplets.Test
		}
	}

	return &other
}

// assignParts stores which pairs are judged (the test part) and from which intervals are learned (the training part),
// and the scale of the outcomes. It returns the conditions that lack a prediction.
//
// If the user names a split, the test part is the test part of the split. Otherwise it has the pairs that are in no
// group and that the table does not mark as trained. The training part has
//   - if the user names groups, the pairs of groups that are not in the test part;
//   - otherwise, if the user names a split, the training part of the split;
//   - otherwise the pairs that the table marks as trained.
//
// Pairs without a complete prediction are in no part, but may be in the training part of a split.
func (g *given) assignParts(judges *judgingPairs) []string {
	g.Part = slices.Repeat([]triplets.Part{triplets.Neither}, g.N)
	seen := map[int]bool{}
	var missing []string
	for i := range g.Part {
		complete := g.complete[i]
		test := complete && !g.trained[i] && g.group[i] == ""
		train := complete && g.trained[i]
		if judges.split != nil {
			set := judges.split.Column("set").Strings[i]
			test = set == triplets.Test.String()
			train = set == triplets.Train.String()
		}

		if g.Groups != "" {
			train = complete && g.group[i] != "" && !test
		}

		switch {
		case test && complete:
			g.Part[i] = triplets.Test
		case train:
			g.Part[i] = triplets.Train
		}

		lacks := !complete && (test || judges.split == nil)
		if lacks && !seen[g.Condition[i]] {
			seen[g.Condition[i]] = true
			missing = append(missing, g.inputsInWords(i))
		}
	}

	rows := g.Only(triplets.Train)
	if rows.N == 0 {
		rows = g.Only(triplets.Test)
	}

	switch {
	case judges.split != nil:
		g.Scale = triplets.Scale{
			Mean: floats(judges.split, "outcome_mean", g.Set), Std: floats(judges.split, "outcome_std", g.Set),
		}
	case rows.N > 0:
		g.Scale = rows.OutcomeScale()
	}

	return missing
}

// inputsInWords returns the names of the inputs and their values in a row.
func (g *given) inputsInWords(i int) string {
	parts := make([]string, g.In)
	for k := range parts {
		parts[k] = g.Inputs[k].Name + " " + strconv.FormatFloat(g.X[i*g.In+k], 'g', 6, 64)
	}

	return strings.Join(parts, ", ")
}

// judgeTest judges the test part as the table states its predictions. name and held describe the split, for people.
// Numbers that need variances which the table does not state are NaN.
func (g *given) judgeTest(name, held string) report.Split {
	split := report.Split{Name: name, HeldOut: held}
	test := score.Judged(g.Set, g.answers, triplets.Test)
	split.Test = report.OverSeeds([]score.Summary{score.Summarise(test)}, g.Outcomes)

	rows := g.answers.Rows(g.RowsOf(triplets.Test), g.Out)
	total := rows.Var
	if total == nil {
		total = slices.Repeat([]float64{math.NaN()}, len(rows.Mu))
	}

	mid, intervals := g.statedIntervals(rows.Mu, total)
	split.Network = score.TrustByOutcome(g.Set, rows.Mu, total, rows.Cov, intervals)
	if g.open { // the widths of intervals with a bound far away mean nothing
		for j := range split.Network {
			split.Network[j].Half = math.Inf(1)
			split.Network[j].ClaimedSigma = math.NaN()
		}
	}

	split.Methods = []report.Compared{{Method: report.AsStated}}
	if rows.Var != nil && !g.open {
		measured := g.Only(triplets.Test)
		level := &interval.Calibration{Level: g.Level, Deviation: g.Scale.Std}
		judged := level.JudgeIntervals(mid, intervals.Half, measured.Y1, measured.Y2)
		values := score.OverSeeds([]score.Numbers{score.Judge(test, test.Var, test.Cov).Numbers})
		split.Methods[0].Values = append(values, score.Keyed{
			Key: report.IntervalScore, Value: score.Mean([]float64{judged.Score}),
		})
	}

	return split
}

// statedIntervals returns the intervals of the test part, and their middles. If the table states no intervals, they are
// normal intervals about the means mu with the variances total. At 68 % they are the stated 68 % intervals, if there
// are any; OneLevel is true if the table states intervals of one level alone.
func (g *given) statedIntervals(mu, total []float64) (mid []float64, intervals *score.Intervals) {
	claimed := score.Claimed(total, g.Level)
	if g.half == nil {
		return mu, claimed
	}

	mid = g.testRows(g.mid)
	intervals = &score.Intervals{
		Level: g.Level, Mid: mid, Half: g.testRows(g.half), At: claimed.At, OneLevel: g.half68 == nil,
	}
	if g.half68 != nil {
		intervals.Mid68 = g.testRows(g.mid68)
		intervals.At[0] = g.testRows(g.half68) // score.Levels begins with 68 %
	}

	return mid, intervals
}

// testRows returns the numbers of the test part, from numbers of all pairs (N×Out).
func (g *given) testRows(v []float64) []float64 { return lists.Rows(v, g.Out, g.RowsOf(triplets.Test)) }

// floats returns the numbers of the set's outcomes in the metadata of a table under a key. A number that is missing is
// NaN.
func floats(t *table.Table, key string, set triplets.Set) []float64 {
	names := strings.Split(t.Get("outcomes"), ",")
	texts := strings.Split(t.Get(key), ",")

	values := make([]float64, set.Out)
	for j, quantity := range set.Outcomes {
		values[j] = math.NaN()
		i := slices.Index(names, quantity.Name)
		if i < 0 || i >= len(texts) {
			continue
		}

		if v, err := strconv.ParseFloat(texts[i], 64); err == nil {
			values[j] = v
		}
	}

	return values
}
