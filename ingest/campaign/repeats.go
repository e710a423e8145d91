package campaign

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Law states how an outcome depends on a condition: as its power.
type Law struct {
	Condition string
	Power     float64
}

// ParseLaw reads "rpm^2", or "rpm" for the first power.
func ParseLaw(s string) (Law, error) {
	name, power, given := strings.Cut(strings.TrimSpace(s), "^")
	if !given {
		power = "1"
	}

	v, err := strconv.ParseFloat(strings.TrimSpace(power), 64)
	l := Law{Condition: strings.TrimSpace(name), Power: v}
	if err != nil || !finite(v) || l.Condition == "" {
		return l, fmt.Errorf("expected a condition with its power, like rpm^2, found %q", s)
	}

	return l, nil
}

// pair pairs the rows of equal conditions.
func (r *tableReader) pair() {
	s := *r.PairTable
	r.single, r.at = &s, r.atSetPoints(s.X)
	if r.o.Across != "" {
		r.pairAcross()
		return
	}

	r.Run = nil
	var pairs [][2]int
	for g := range r.groups(s.Texts) {
		from := len(pairs)
		pairs = r.pairsOf(pairs, g)
		if n := len(pairs) - from; r.o.AllPairs && n > 0 {
			r.Weight = append(r.Weight, slices.Repeat([]float64{float64(len(g)) / 2 / float64(n)}, n)...)
			if !r.named() {
				g = g[:1]
			}

			r.Run = append(r.Run, slices.Repeat([]string{r.name(g...)}, n)...)
		}
	}

	if r.exact() { // in the order in which the pairs are complete
		slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
	}

	r.Recording = lists.Each(pairs, func(p [2]int) string { return r.name(p[:]...) })
	if !r.o.AllPairs {
		r.Run = slices.Clone(r.Recording)
	}

	first := lists.Each(pairs, func(p [2]int) int { return p[0] })
	second := lists.Each(pairs, func(p [2]int) int { return p[1] })
	r.take(first, second)

	paired := make([]bool, s.N)
	for _, i := range slices.Concat(first, second) {
		paired[i] = true
	}

	alone := lists.Where(s.N, func(i int) bool { return !paired[i] })
	r.Warnings = append(r.Warnings, WarnUnpaired(r.path, "row", len(alone), func(k int) string {
		run, at := r.name(alone[k]), r.place(r.rows[alone[k]])
		return fmt.Sprintf("%s (%s)", run, strings.TrimPrefix(at, run+", ")) // the run may be the file
	})...)
}

// take makes pairs of rows, at the means of their conditions, the outcomes corrected to them by their laws.
func (r *tableReader) take(first, second []int) {
	p, s := r.PairTable, r.single
	p.N, p.Texts = len(first), pick(s.Texts, first)
	p.X = lists.Each(s.X, func(x []float64) []float64 {
		return lists.Make(p.N, func(k int) float64 { return mean(x[first[k]], x[second[k]]) })
	})
	p.Y1, p.Y2 = pick(s.Y1, first), pick(s.Y1, second)
	p.Files = r.filesOf(first, second)
	r.correct(p.Y1, first)
	r.correct(p.Y2, second)
}

// pick returns rows of columns.
func pick[T any](columns [][]T, rows []int) [][]T {
	return lists.Each(columns, func(c []T) []T { return lists.Rows(c, 1, rows) })
}

// reorder puts the rows of columns in another order.
func reorder[T any](columns [][]T, rows []int) {
	for k, c := range columns {
		columns[k] = lists.Rows(c, 1, rows)
	}
}

// correct corrects the outcomes of rows to the conditions of their pairs.
func (r *tableReader) correct(y [][]float64, rows []int) {
	for j, name := range r.Outcomes {
		law, given := r.o.Correct[name]
		i := slices.Index(r.Inputs, law.Condition)
		for k := 0; given && k < len(rows); k++ {
			from, to, at := r.single.X[i][rows[k]], r.X[i][k], r.rows[rows[k]]
			if from == to {
				continue
			}

			v := &y[j][k]
			if *v *= math.Pow(to/from, law.Power); from == 0 || !finite(*v) {
				fault.Raise(fault.At(r.files[at.file].Path, fmt.Sprintf("line %d", at.line),
					"a condition other than 0 to correct "+name, fmt.Sprintf("%s = %g", r.Inputs[i], from), ""))
			}
		}
	}
}

// mean is exact of equal numbers.
func mean(a, b float64) float64 {
	if a == b {
		return a
	}

	return a + (b-a)/2
}

// name is the name of rows: of their runs, else of the conditions, between the first and the last.
func (r *tableReader) name(rows ...int) string {
	if !r.named() {
		first, last := rows[0], rows[len(rows)-1]
		x := lists.Each(r.at, func(x []float64) float64 { return mean(x[first], x[last]) })

		return r.id(x, row(r.single.Texts, first))
	}

	and := " + "
	if r.exact() {
		and = "+"
	}

	return strings.Join(lists.Rows(r.single.Run, 1, rows), and)
}

// exact reports whether rows are paired whose conditions are equal as they are, and each row once.
func (r *tableReader) exact() bool {
	return !r.o.AllPairs && len(r.o.SetPoints)+len(r.o.Within)+len(r.o.Correct) == 0
}

// atSetPoints returns conditions at their set points, where they scatter.
func (r *tableReader) atSetPoints(x [][]float64) [][]float64 {
	return lists.Make(len(x), func(k int) []float64 {
		if t, scatters := r.o.SetPoints[r.Inputs[k]]; scatters {
			return lists.Each(x[k], condition.SetPointsOf(x[k], t).At)
		}

		return x[k]
	})
}

// groups gathers the rows of equal conditions and labels.
func (r *tableReader) groups(labels [][]string) iter.Seq[[]int] {
	within := lists.Each(r.Inputs, func(name string) condition.Tolerance { return r.o.Within[name] })
	return condition.Groups(r.single.N, within, r.at, labels)
}

// mostRepeats bounds a group whose pairs all count: there are half its square.
const mostRepeats = 4096

// pairsOf appends the pairs of a group to out, whose two rows are never of one run: all of
// them, or such that every row is used once.
func (r *tableReader) pairsOf(out [][2]int, group []int) [][2]int {
	if r.o.AllPairs && len(group) > mostRepeats {
		fault.Raise(r.fail(fmt.Sprintf("condition %v", row(r.single.X, group[0])),
			fmt.Sprintf("at most %d repeats, all pairs of which are used", mostRepeats), strconv.Itoa(len(group)),
			"leave out use: all"))
	}

	sameRun := func(i, j int) bool { return r.named() && r.single.Run[i] == r.single.Run[j] }
	var waiting []int // without a partner yet, all of one run
	for k, i := range group {
		switch {
		case r.o.AllPairs:
			for _, j := range group[k+1:] {
				if !sameRun(i, j) {
					out = append(out, [2]int{i, j})
				}
			}

		case len(waiting) > 0 && !sameRun(waiting[0], i):
			out, waiting = append(out, [2]int{waiting[0], i}), waiting[1:]
		default:
			waiting = append(waiting, i)
		}
	}

	return out
}

// pairAcross makes each row the first of a pair across occasions, and its own second until the partners of all
// are chosen. The rows of a condition are one recording, by which they are found.
func (r *tableReader) pairAcross() {
	across := slices.Index(r.Labels, r.o.Across)
	days := r.single.Texts[across]
	equal := lists.Where(len(r.Labels), func(k int) bool {
		within := slices.Contains(r.o.Occasions, r.Labels[k]) && condition.Nested(r.single.Texts[k], days)
		return k != across && !within
	})
	var lone []int // places in order
	order := make([]int, 0, r.N)
	r.Recording = make([]string, 0, r.N)
	for g := range r.groups(lists.Rows(r.single.Texts, 1, equal)) {
		alike := make([]string, len(r.Labels))
		for _, k := range equal {
			alike[k] = r.single.Texts[k][g[0]]
		}

		name := r.id(row(r.at, g[0]), alike)
		several := slices.ContainsFunc(g, func(i int) bool { return days[i] != days[g[0]] })
		for _, i := range g {
			if !several {
				lone = append(lone, len(order))
			}

			order, r.Recording = append(order, i), append(r.Recording, name)
		}
	}

	s := r.single // has the same columns: one at a time is there twice
	r.at, s.Run = nil, nil
	reorder(r.X, order)
	reorder(r.Y1, order)
	reorder(r.Texts, order)
	r.Files = r.filesOf(order, order)
	r.Y2 = r.Y1
	r.Weight = slices.Repeat([]float64{0.5}, r.N)
	if r.Run = lists.Rows(r.Run, 1, order); !r.named() {
		r.Run = lists.Each(r.Texts[across], func(day string) string { return r.names.of([]byte(r.o.Across + "=" + day)) })
	}

	r.Warnings = append(r.Warnings, WarnLone(r.path, "row", r.o.Across, len(lone), r.N, func(i int) string {
		return fmt.Sprintf("%s (%s)", r.Recording[lone[i]], r.place(r.rows[order[lone[i]]]))
	})...)
}

// WarnLone is the warning about n rows or recordings, of so many, at conditions of one occasion, which names the first;
// nil of none, an error where all are.
func WarnLone(path, what, across string, n, of int, name func(i int) string) []ingest.Warning {
	fault.Unless(n < of, fault.At(path, "", "two "+what+"s of equal condition on different "+across,
		"none among "+fault.Plural(int64(of), what), "name inputs that repeat, or leave out across"))
	if n == 0 {
		return nil
	}

	return []ingest.Warning{ingest.Warn(path, "one-occasion",
		"%s measured on one %s only: the second value is of the same %[2]s, that of a single %s its own: %s",
		fault.Plural(int64(n), what), across, what, someOf(n, name))}
}

// WarnUnpaired is the warning about n rows or recordings without a partner, which names the first; nil of none.
func WarnUnpaired(path, what string, n int, name func(i int) string) []ingest.Warning {
	if n == 0 {
		return nil
	}

	return []ingest.Warning{ingest.Warn(path, "unpaired-"+what+"s", "%s without a partner of another run left out: %s",
		fault.Plural(int64(n), what), someOf(n, name))}
}
