package honest

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// Label is a column of names of things or of occasions: propellers, wings, days.
type Label struct {
	Name string
	Of   []string // the name in each row
}

// Names are those of a label that a process was fitted to, in the order of their first rows.
type Names struct {
	Name  string   `json:"label"`
	Names []string `json:"names"`
}

// Runs is the name of the label of runs. Of a thing that was measured others are to come, so that the deviation of one
// run is no noise of each of its conditions.
const Runs = "run"

// maxRuns is the number of runs from which they have no offsets of their own: the cost goes with its cube.
const maxRuns = 100

// labels are those whose names have offsets. That of the groups has the names of the groups. Runs of one row have none:
// the process's nugget is theirs.
func (l Learner) labels(g Grouping) []Label {
	out := slices.Clone(l.Offsets)
	for k := range out {
		if out[k].Name == g.Condition && g.Kind == interval.Labels {
			out[k].Of = lists.Rows(g.Names, 1, g.Of)
		}
	}

	return slices.DeleteFunc(out, func(k Label) bool { // of a single name nothing differs
		n := len(slices.Compact(slices.Sorted(slices.Values(k.Of))))
		return k.Name != g.Condition && n < 2 || k.Name == Runs && n > min(maxRuns, len(k.Of)/2)
	})
}

// OfThings reports whether the groups are things with offsets.
func (l Learner) OfThings() bool {
	return slices.ContainsFunc(l.Offsets, func(k Label) bool { return k.Name == l.Condition })
}

// NumbersThings reports whether each value of a condition of numbers is one thing, as a propeller's diameter may be:
// another input has one value at each and turns at least twice as the condition rises, and a third varies at each.
// What a setting entails does not turn so often: a Reynolds number rises with the speed, the distance of microphones
// on a line falls and rises with the angle. inputs are the columns of the others.
func NumbersThings(condition []float64, inputs [][]float64) bool {
	at := lists.Alike(condition)
	if len(at) > manyValues {
		return false
	}

	slices.SortFunc(at, func(a, b []int) int { return cmp.Compare(condition[a[0]], condition[b[0]]) })
	property, setting := false, false
	for _, x := range inputs {
		low := lists.Each(at, func(rows []int) float64 { return slices.Min(lists.Rows(x, 1, rows)) })
		high := lists.Each(at, func(rows []int) float64 { return slices.Max(lists.Rows(x, 1, rows)) })
		property = property || slices.Equal(low, high) && turns(low) >= 2
		setting = setting || slices.EqualFunc(low, high, func(a, b float64) bool { return a < b })
	}

	return property && setting
}

// turns counts how often a sequence stops rising to fall, or falling to rise.
func turns(v []float64) (n int) {
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

// runsWithout says why runs of several rows have no offsets beside those of labels; "" where they have, or need none.
func runsWithout(labels []Names, run []int) string {
	_, runs := lists.Index(run)
	isRuns := func(n Names) bool { return n.Name == Runs }
	switch {
	case len(labels) == 0, 2*len(runs) > len(run), slices.ContainsFunc(labels, isRuns):
		return ""
	case len(labels) > 1:
		return fmt.Sprintf("beside %d columns of names", len(labels))
	case len(runs) > maxRuns:
		return fmt.Sprintf("more than %d runs", maxRuns)
	}

	return ""
}

// levels returns the places among names of those that rows have, rows × labels. A name that is not among them
// is new: it is added where learn is set, and numbered after them where not.
func levels(names []Names, labels []Label, rows []int, learn bool) []int {
	level := lists.Make(len(rows)*len(names), func(int) int { return 0 })
	for k, n := range names {
		of := labels[slices.IndexFunc(labels, func(l Label) bool { return l.Name == n.Name })].Of
		index, distinct := lists.Index(slices.Concat(n.Names, lists.Rows(of, 1, rows)))
		for a, v := range index[len(n.Names):] {
			level[a*len(names)+k] = v
		}

		if learn {
			names[k].Names = distinct
		}
	}

	return level
}

// things are the shares of each outcome's variance that are between the names of labels, from run to run, and
// noise; nil without labels.
func (m *Model) things() (list []interval.Thing) {
	for j := range m.Outcomes {
		if m.Process == nil || len(m.Labels) == 0 || m.Orders != nil {
			break
		}

		spreads, runs, noise := m.Process.Variances(j)
		rest := runs + noise
		for k, s := range spreads {
			if rest += s.Mean; m.Labels[k].Name == Runs {
				runs += s.Mean
			}
		}

		t := interval.Thing{Outcome: m.Outcomes[j].Name, Runs: runs / rest, Noise: noise / rest}
		for k, s := range spreads {
			others := rest - s.Mean
			if m.Labels[k].Name == Runs || len(m.Labels[k].Names) < scale.MinGroups {
				continue // of few names it is that of the prior
			}

			t.Between = append(t.Between, interval.Between{
				Label: m.Labels[k].Name, Names: len(m.Labels[k].Names), Share: s.Mean / rest,
				Low: s.Low / (others + s.Low), High: s.High / (others + s.High),
			})
		}

		if t.Between != nil {
			list = append(list, t)
		}
	}

	return list
}

// Across are the shares of each outcome's variance between the occasions that repeats are paired across, the label,
// with the ends of 95 % by the law of F of a balanced layout; nil where they are not.
func Across(s triplets.Set, label string) (list []interval.Thing) {
	o, ok := s.Occasions()
	if !ok {
		return nil
	}

	law := distuv.F{D1: float64(o.N - 1), D2: o.Freedom}
	for j, between := range o.Between {
		rest := o.Rest[j]
		if !(between+rest > 0) {
			continue
		}

		end := func(p float64) float64 {
			ratio := max(0, ((rest+o.Shared*between)/law.Quantile(p)-rest)/o.Shared)
			return ratio / (ratio + rest)
		}

		b := interval.Between{Label: label, Names: o.N, Share: between / (between + rest), Low: end(0.975), High: end(0.025)}
		list = append(list, interval.Thing{
			Outcome: s.Outcomes[j].Name, Noise: rest / (between + rest), Between: []interval.Between{b},
		})
	}

	return list
}

// newRuns are levels of n conditions of one new thing, each of a run of its own; nil where runs have no offsets.
func (m *Model) newRuns(n int) (level []int) {
	if !slices.ContainsFunc(m.Labels, func(l Names) bool { return l.Name == Runs }) {
		return nil
	}

	for i := range n {
		for _, l := range m.Labels {
			if level = append(level, len(l.Names)); l.Name == Runs {
				level[len(level)-1] += i
			}
		}
	}

	return level
}

// distances are those of conditions of the given levels to the groups, where they are things: 1 of a new one. Of
// one that was measured the process's own claim holds.
func (m *Model) distances(level []int) (d []float64) {
	k := slices.IndexFunc(m.Labels, func(n Names) bool { return n.Name == m.Condition })
	for i := k; k >= 0 && i < len(level); i += len(m.Labels) {
		if level[i] < len(m.Labels[k].Names) {
			d = append(d, scale.Known)
		} else {
			d = append(d, 1)
		}
	}

	return d
}
