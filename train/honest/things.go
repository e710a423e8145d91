package honest

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// This file describes the labels of a process: which labels have offsets (labels), the levels of names (levels), and
// how much of the variance of outcomes is between names (things). An offset is a number that a process adds to an
// outcome for each name. The groups are called things if they are the names of a label with offsets.

// Label is a column of names of things or of occasions: propellers, wings, days.
type Label struct {
	Name  string   // name of the column
	Names []string // name in each row
}

// Names are the names of a label that a process was fitted to, in the order of their first rows.
type Names struct {
	Name  string   `json:"label"` // name of the label
	Names []string `json:"names"`
}

// Runs is the name of the label of runs. Runs have offsets because the deviation of a run is common to all its
// conditions, and other runs of a measured thing will have other deviations.
const Runs = "run"

// maxRuns is the largest number of runs that have offsets of their own. The cost is proportional to the cube of the
// number.
const maxRuns = 100

// labels returns the labels whose names have offsets. The label of the groups takes the names of the groups. labels
// leaves out a label with a single name, unless it is the label of the groups. It leaves out runs if there are more
// than maxRuns, or if runs have fewer than two rows on average: then the run-to-run variance of the process describes
// them.
func (l Learner) labels(g Grouping) []Label {
	var list []Label
	for _, label := range l.Offsets {
		if label.Name == g.Condition && g.Kind == interval.Labels {
			label.Names = lists.Pick(g.Names, g.Group)
		}

		n := len(distinctNames(label.Names))
		isAlone := label.Name != g.Condition && n < 2
		areTooManyRuns := label.Name == Runs && n > min(maxRuns, len(label.Names)/2)
		if !isAlone && !areTooManyRuns {
			list = append(list, label)
		}
	}

	return list
}

// OfThings reports whether the groups are things with offsets.
func (l Learner) OfThings() bool {
	return slices.ContainsFunc(l.Offsets, func(k Label) bool { return k.Name == l.Condition })
}

// leastTurns is the number of turns from which on an input is a property of things rather than a consequence of a
// setting. A Reynolds number only rises with the speed; the distance of microphones on a line falls and rises with the
// angle, which is one turn.
const leastTurns = 2

// NumbersThings reports whether the values of a numeric condition number things, as the diameters of propellers may.
// This is so if another input is a property of the things, and a third input is a setting: the property has one value
// at each value of the condition, and turns at least leastTurns times as the condition rises; the setting varies at
// each value of the condition. condition has the value in each row, and inputs are the columns of the other inputs.
func NumbersThings(condition []float64, inputs [][]float64) bool {
	groups := lists.Alike(condition)
	if len(groups) > manyValues {
		return false
	}

	slices.SortFunc(groups, func(a, b []int) int { return cmp.Compare(condition[a[0]], condition[b[0]]) })
	hasProperty := false
	hasSetting := false
	for _, x := range inputs {
		var low, high []float64 // by value of the condition
		variesInAll := true
		for _, rows := range groups {
			v := lists.Pick(x, rows)
			lo := slices.Min(v)
			hi := slices.Max(v)
			low = append(low, lo)
			high = append(high, hi)
			variesInAll = variesInAll && lo < hi
		}

		isConstantInEach := slices.Equal(low, high)
		if isConstantInEach && turns(low) >= leastTurns {
			hasProperty = true
		}

		if variesInAll {
			hasSetting = true
		}
	}

	return hasProperty && hasSetting
}

// turns counts how often a sequence changes from rising to falling or from falling to rising.
func turns(v []float64) int {
	n := 0
	last := 0
	for i := 1; i < len(v); i++ {
		sign := cmp.Compare(v[i], v[i-1])
		if sign*last < 0 {
			n++
		}

		if sign != 0 {
			last = sign
		}
	}

	return n
}

// runsWithout says why runs have no offsets although the names of labels have. It returns "" if runs have offsets. It
// also returns "" if runs need no offsets, because no label has offsets or runs have fewer than two rows on average.
// run is the run of each training row.
func runsWithout(labels []Names, run []int) string {
	_, runs := lists.Index(run)
	haveOffsets := slices.ContainsFunc(labels, Names.areRuns)
	areSingleRows := 2*len(runs) > len(run)
	if len(labels) == 0 || areSingleRows || haveOffsets {
		return ""
	}

	switch {
	case len(labels) > 1:
		return fmt.Sprintf("beside %d columns of names", len(labels))
	case len(runs) > maxRuns:
		return fmt.Sprintf("more than %d runs", maxRuns)
	default:
		return ""
	}
}

// areRuns reports whether the names are names of runs.
func (n Names) areRuns() bool { return n.Name == Runs }

// namesIn returns the names that each label has in the given rows, in the order of their first rows.
func namesIn(labels []Label, rows []int) []Names {
	var names []Names
	for _, label := range labels {
		_, distinct := lists.Index(lists.Pick(label.Names, rows))
		names = append(names, Names{Name: label.Name, Names: distinct})
	}

	return names
}

// levels returns the place of the name of each row in names, rows × labels. Names that are not among them are new, and
// are numbered after them in order of first appearance. labels must contain the labels of names. It returns nil if
// there are no labels or no rows.
func levels(names []Names, labels []Label, rows []int) []int {
	if len(rows)*len(names) == 0 {
		return nil
	}

	level := make([]int, len(rows)*len(names))
	for k, n := range names {
		label := slices.IndexFunc(labels, func(l Label) bool { return l.Name == n.Name })
		own := lists.Pick(labels[label].Names, rows)
		index, _ := lists.Index(slices.Concat(n.Names, own))
		for a, v := range index[len(n.Names):] {
			level[a*len(names)+k] = v
		}
	}

	return level
}

// things returns, for each outcome, the shares of its variance between the names of each label, from run to run, and of
// noise. It returns nil without labels, and in order form, in which the process has other outcomes. byLabel are the
// variances between names by outcome and label.
func (m *Model) things(byLabel [][]gp.Spread) []interval.Thing {
	if m.Process == nil || len(m.Labels) == 0 || m.Orders != nil {
		return nil
	}

	var list []interval.Thing
	for j, outcome := range m.Outcomes {
		spreads := m.withCurves(j, byLabel[j])
		runs, noise := m.Process.Variances(j)
		total := runs + noise
		for k, s := range spreads {
			total += s.Mean
			if m.Labels[k].areRuns() {
				runs += s.Mean
			}
		}

		t := interval.Thing{Outcome: outcome.Name, Runs: runs / total, Noise: noise / total}
		for k, s := range spreads {
			label := m.Labels[k]
			if label.areRuns() || len(label.Names) < scale.MinGroups {
				continue // the share between few names is the prior's
			}

			others := total - s.Mean
			t.Between = append(t.Between, interval.Between{
				Label: label.Name, Names: len(label.Names), Share: s.Mean / total,
				Low: s.Low / (others + s.Low), High: s.High / (others + s.High),
			})
		}

		if t.Between != nil {
			list = append(list, t)
		}
	}

	return list
}

// withCurves returns the variances between the names of each label for outcome j. offsets are the variances of the
// offsets. withCurves adds the variance of the curves to the label whose names have curves of their own (owncurves.go).
func (m *Model) withCurves(j int, offsets []gp.Spread) []gp.Spread {
	k := m.Process.Curves - 1 // the label with curves
	if k < 0 {                // none has
		return offsets
	}

	own := m.Process.Hyper[j].Own * m.Process.Hyper[j].Own
	spreads := slices.Clone(offsets)
	spreads[k].Mean += own
	spreads[k].Low += own
	spreads[k].High += own

	return spreads
}

// BetweenOccasions returns, for each outcome, the share of its variance between occasions if repeats are paired across
// occasions, such as days, with the ends of its 95 % interval by the law of F of a balanced layout. label is the name
// of the occasions. It returns nil if repeats are not paired across occasions.
func BetweenOccasions(s triplets.Set, label string) []interval.Thing {
	o, ok := s.Occasions()
	if !ok {
		return nil
	}

	law := distuv.F{D1: float64(o.N - 1), D2: o.Freedom}
	var list []interval.Thing
	for j, between := range o.Between {
		rest := o.Rest[j]
		if !(between+rest > 0) {
			continue
		}

		total := rest + o.Shared*between
		b := interval.Between{
			Label: label, Names: o.N, Share: between / (between + rest),
			Low:  shareAt(law.Quantile(0.975), total, rest, o.Shared),
			High: shareAt(law.Quantile(0.025), total, rest, o.Shared),
		}
		list = append(list, interval.Thing{
			Outcome: s.Outcomes[j].Name, Noise: rest / (between + rest), Between: []interval.Between{b},
		})
	}

	return list
}

// shareAt returns the share of the variance between occasions for a quantile of the law of F: the share at which the
// ratio of the mean squares, total between the occasions over rest within them, is the quantile times its expectation.
// shared is Occasions.Shared.
func shareAt(quantile, total, rest, shared float64) float64 {
	between := max(0, (total/quantile-rest)/shared)
	return between / (between + rest)
}

// distances returns the distance of each condition of the given levels to the measured groups if the groups are things:
// 1 for a new thing, and scale.Known for a measured one, whose claim by the process counts as it is. It returns nil if
// the groups are not things.
func (m *Model) distances(level []int) []float64 {
	k := slices.IndexFunc(m.Labels, func(n Names) bool { return n.Name == m.Condition })
	if k < 0 {
		return nil
	}

	var list []float64
	for i := k; i < len(level); i += len(m.Labels) {
		distance := 1.0
		if level[i] < len(m.Labels[k].Names) {
			distance = scale.Known
		}

		list = append(list, distance)
	}

	return list
}
