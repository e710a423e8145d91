package campaign

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unique"

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

// conditions and labels are those of a row of single measurements, at its set points.
func (r *tableReader) conditions(i int) []float64 { return part(r.at, len(r.Inputs), i) }
func (r *tableReader) labels(i int) []string      { return part(r.single.Texts, len(r.Labels), i) }

// part returns row i of a matrix with so many columns.
func part[T any](v []T, columns, i int) []T { return v[i*columns:][:columns] }

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
	for g := range r.groups() {
		from := len(pairs)
		pairs = r.pairsOf(pairs, g)
		if n := len(pairs) - from; r.o.AllPairs && n > 0 {
			r.Weight = append(r.Weight, slices.Repeat([]float64{float64(len(g)) / 2 / float64(n)}, n)...)
			r.Run = append(r.Run, slices.Repeat([]string{r.cluster(g)}, n)...)
		}
	}

	if r.exact() { // in the order in which the pairs are complete
		slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
	}

	r.Recording = lists.Each(pairs, r.pairName)
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
		i := alone[k]
		if r.named() {
			return fmt.Sprintf("%s (%s)", s.Run[i], r.place(r.rows[i]))
		}

		return fmt.Sprintf("%s (%s)", r.id(r.conditions(i), r.labels(i)), r.place(r.rows[i]))
	})...)
}

// take makes pairs of rows, at the means of their conditions, the outcomes corrected to them by their laws.
func (r *tableReader) take(first, second []int) {
	p, s := r.PairTable, r.single
	nx, ny := len(p.Inputs), len(p.Outcomes)
	p.N, p.Texts = len(first), lists.Rows(s.Texts, len(p.Labels), first)
	p.X = means(lists.Rows(s.X, nx, first), lists.Rows(s.X, nx, second))
	p.Y1, p.Y2 = lists.Rows(s.Y1, ny, first), lists.Rows(s.Y1, ny, second)
	p.Files = lists.Make(p.N, func(k int) [2]int32 { return [2]int32{r.rows[first[k]].file, r.rows[second[k]].file} })
	r.correct(p.Y1, first)
	r.correct(p.Y2, second)
}

// correct corrects the outcomes of rows to the conditions of their pairs.
func (r *tableReader) correct(y []float64, rows []int) {
	nx, ny := len(r.Inputs), len(r.Outcomes)
	for j, name := range r.Outcomes {
		law, given := r.o.Correct[name]
		i := slices.Index(r.Inputs, law.Condition)
		for k := 0; given && k < len(rows); k++ {
			from, to, at := r.single.X[rows[k]*nx+i], r.X[k*nx+i], r.rows[rows[k]]
			if from == to {
				continue
			}

			v := &y[k*ny+j]
			if *v *= math.Pow(to/from, law.Power); from == 0 || !finite(*v) {
				fault.Raise(fault.At(r.files[at.file].Path, fmt.Sprintf("line %d", at.line),
					"a condition other than 0 to correct "+name, fmt.Sprintf("%s = %g", r.Inputs[i], from), ""))
			}
		}
	}
}

// means are those of the elements of two lists.
func means(a, b []float64) []float64 {
	return lists.Make(len(a), func(i int) float64 {
		if a[i] == b[i] {
			return a[i]
		}

		return a[i] + (b[i]-a[i])/2
	})
}

// pairName is the name of a pair: of its runs, else of its conditions.
func (r *tableReader) pairName(p [2]int) string {
	switch a, b := p[0], p[1]; {
	case !r.named():
		return r.id(means(r.conditions(a), r.conditions(b)), r.labels(a))
	case r.exact():
		return r.single.Run[a] + "+" + r.single.Run[b]
	default:
		return r.single.Run[a] + " + " + r.single.Run[b]
	}
}

// cluster is the name of a group whose pairs are all used.
func (r *tableReader) cluster(group []int) string {
	if !r.named() {
		return r.id(r.conditions(group[0]), r.labels(group[0]))
	}

	return strings.Join(lists.Each(group, func(i int) string { return r.single.Run[i] }), " + ")
}

// exact reports whether rows are paired whose conditions are equal as they are, and each row once.
func (r *tableReader) exact() bool {
	return !r.o.AllPairs && len(r.o.SetPoints)+len(r.o.Within)+len(r.o.Correct) == 0
}

// atSetPoints returns the conditions of rows at their set points; x itself where none scatters.
func (r *tableReader) atSetPoints(x []float64) []float64 {
	if len(r.o.SetPoints) == 0 {
		return x
	}

	out, in := slices.Clone(x), len(r.Inputs)
	for k, name := range r.Inputs {
		t, scatters := r.o.SetPoints[name]
		if !scatters {
			continue
		}

		var v []float64
		for i := k; i < len(x); i += in {
			v = append(v, x[i])
		}

		points := condition.SetPointsOf(v, t)
		for i := k; i < len(x); i += in {
			out[i] = points.At(x[i])
		}
	}

	return out
}

// groups gathers the rows of equal conditions and labels, but for the one that pairs go across.
func (r *tableReader) groups() iter.Seq[[]int] {
	within := lists.Each(r.Inputs, func(name string) condition.Tolerance { return r.o.Within[name] })
	across := slices.Index(r.Labels, r.o.Across)

	return condition.Groups(r.single.N, within, r.conditions, func(i, j int) int {
		b := r.labels(j)
		for k, label := range r.labels(i) {
			if c := cmp.Compare(label, b[k]); c != 0 && k != across {
				return c
			}
		}

		return 0
	})
}

// mostRepeats bounds a group whose pairs all count: there are half its square.
const mostRepeats = 4096

// pairsOf appends the pairs of a group to out, whose two rows are never of one run: all of
// them, or such that every row is used once.
func (r *tableReader) pairsOf(out [][2]int, group []int) [][2]int {
	if r.o.AllPairs && len(group) > mostRepeats {
		fault.Raise(r.fail(fmt.Sprintf("condition %v", part(r.single.X, len(r.Inputs), group[0])),
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
	var order, lone []int // lone are places in order
	for g := range r.groups() {
		alike := slices.Clone(r.labels(g[0]))
		day := alike[across]
		alike[across] = ""
		name := r.id(r.conditions(g[0]), alike)
		several := slices.ContainsFunc(g, func(i int) bool { return r.labels(i)[across] != day })
		for _, i := range g {
			if !several {
				lone = append(lone, len(order))
			}

			order, r.Recording = append(order, i), append(r.Recording, name)
		}
	}

	r.take(order, order)
	r.Weight = slices.Repeat([]float64{0.5}, r.N)
	if r.Run = lists.Rows(r.single.Run, 1, order); !r.named() {
		r.Run = lists.Make(r.N, func(i int) string {
			return unique.Make(r.o.Across + "=" + r.Texts[i*len(r.Labels)+across]).Value()
		})
	}

	r.Warnings = append(r.Warnings, WarnLone(r.path, "row", r.o.Across, len(lone), func(i int) string {
		return fmt.Sprintf("%s (%s)", r.Recording[lone[i]], r.place(r.rows[order[lone[i]]]))
	})...)
}

// WarnLone is the warning about n rows or recordings at conditions of one occasion, which names the first; nil of none.
func WarnLone(path, what, across string, n int, name func(i int) string) []ingest.Warning {
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
