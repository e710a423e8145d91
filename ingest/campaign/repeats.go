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

// measurement is a row of single measurements.
type measurement struct {
	x, y   []float64
	at     []float64 // x at its set points
	labels []string
	run    string // "" where nothing names it
	row    rowPlace
}

// measured returns a row of single measurements.
func (r *tableReader) measured(i int) measurement {
	nx, ny, nl := len(r.Inputs), len(r.Outcomes), len(r.Labels)
	s := r.single
	m := measurement{
		x: s.X[i*nx:][:nx], y: s.Y1[i*ny:][:ny], at: r.at[i*nx:][:nx], labels: s.Texts[i*nl:][:nl], row: r.rows[i],
	}
	if r.named() {
		m.run = s.Run[i]
	}

	return m
}

// pair pairs the rows of equal conditions.
func (r *tableReader) pair() {
	for _, name := range r.Outcomes {
		if l, ok := r.o.Correct[name]; ok && !slices.Contains(r.Inputs, l.Condition) {
			fault.Raise(fmt.Errorf("read table %s: correct.%s: %q is not an input", r.path, name, l.Condition))
		}
	}

	s := *r.PairTable
	r.single, r.at = &s, r.atSetPoints(s.X)
	if r.o.Across != "" {
		r.pairAcross()
		return
	}

	r.N, r.X, r.Y1, r.Texts, r.Run = 0, nil, nil, nil, nil
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

	r.grow(len(pairs))
	r.Recording = make([]string, 0, len(pairs))
	paired := make([]bool, s.N)
	for _, p := range pairs {
		paired[p[0]], paired[p[1]] = true, true
		r.addPair(p)
	}

	if !r.o.AllPairs {
		r.Run = slices.Clone(r.Recording)
	}

	r.warnAlone(paired)
}

// cluster is the name of a group whose pairs are all used.
func (r *tableReader) cluster(group []int) string {
	if first := r.measured(group[0]); !r.named() {
		return r.id(first.at, first.labels)
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

	return condition.Groups(r.single.N, within, func(i int) []float64 { return r.measured(i).at }, func(i, j int) int {
		a, b := r.measured(i).labels, r.measured(j).labels
		for k, label := range a {
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
		fault.Raise(r.fail(fmt.Sprintf("condition %v", r.measured(group[0]).x),
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
// are chosen. The rows of a condition are one recording, by which they are found. What was read goes column by column.
func (r *tableReader) pairAcross() {
	across := slices.Index(r.Labels, r.o.Across)
	p, s := r.PairTable, r.single
	order := make([]int, 0, p.N)
	p.Recording = make([]string, 0, p.N)

	var lone []string
	n := 0
	for g := range r.groups() {
		first := r.measured(g[0])
		alike := slices.Clone(first.labels)
		alike[across] = ""
		name := r.id(first.at, alike)
		several := slices.ContainsFunc(g, func(i int) bool { return r.measured(i).labels[across] != first.labels[across] })
		if !several {
			n += len(g)
		}

		for _, i := range g {
			if !several && len(lone) < few {
				lone = append(lone, fmt.Sprintf("%s (%s)", name, r.place(r.rows[i])))
			}

			order, p.Recording = append(order, i), append(p.Recording, name)
		}
	}

	p.X, s.X, r.at = lists.Rows(p.X, len(p.Inputs), order), nil, nil
	p.Y1, s.Y1 = lists.Rows(p.Y1, len(p.Outcomes), order), nil
	p.Texts, s.Texts = lists.Rows(p.Texts, len(p.Labels), order), nil
	p.Run, s.Run = lists.Rows(p.Run, 1, order), nil
	p.Y2, p.Weight = p.Y1, slices.Repeat([]float64{0.5}, p.N)
	p.Files = lists.Each(order, func(i int) [2]int32 { return [2]int32{r.rows[i].file, r.rows[i].file} })
	if names := map[string]string{}; !r.named() {
		p.Run = lists.Make(p.N, func(i int) string {
			label := p.Texts[i*len(p.Labels)+across]
			if names[label] == "" {
				names[label] = r.o.Across + "=" + label
			}

			return names[label]
		})
	}

	r.Warnings = append(r.Warnings, WarnLone(r.path, "row", r.o.Across, n, lone)...)
}

// WarnLone is the warning about n rows or recordings at conditions of one occasion, which names the first; nil of none.
func WarnLone(path, what, across string, n int, first []string) []ingest.Warning {
	if n == 0 {
		return nil
	}

	return []ingest.Warning{ingest.Warn(path, "one-occasion",
		"%s measured on one %s only: the second value is of the same %[2]s, that of a single %s its own: %s",
		fault.Plural(int64(n), what), across, what, someOf(n, first))}
}

// addPair adds a pair at the mean of the two conditions, the outcomes corrected to it by their laws.
func (r *tableReader) addPair(p [2]int) {
	a, b := r.measured(p[0]), r.measured(p[1])
	mean := func(a, b []float64) []float64 {
		return lists.Make(len(a), func(i int) float64 {
			if a[i] == b[i] {
				return a[i]
			}

			return a[i] + (b[i]-a[i])/2
		})
	}

	run := r.id(mean(a.at, b.at), a.labels)
	switch {
	case r.named() && r.exact():
		run = a.run + "+" + b.run
	case r.named():
		run = a.run + " + " + b.run
	}

	x := mean(a.x, b.x)
	r.X, r.Texts, r.Recording = append(r.X, x...), append(r.Texts, a.labels...), append(r.Recording, run)
	r.Y1, r.Y2 = append(r.Y1, r.corrected(a, x)...), append(r.Y2, r.corrected(b, x)...)
	r.Files = append(r.Files, [2]int32{a.row.file, b.row.file})
	r.N++
}

// corrected returns the outcomes of a row at the conditions x.
func (r *tableReader) corrected(m measurement, x []float64) []float64 {
	y := slices.Clone(m.y)
	for k, name := range r.Outcomes {
		law := r.o.Correct[name]
		i := slices.Index(r.Inputs, law.Condition)
		if i < 0 || x[i] == m.x[i] {
			continue
		}

		y[k] *= math.Pow(x[i]/m.x[i], law.Power)
		if m.x[i] == 0 || !finite(y[k]) {
			fault.Raise(fault.At(r.files[m.row.file].Path, fmt.Sprintf("line %d", m.row.line),
				"a condition other than 0 to correct "+name, fmt.Sprintf("%s = %g", r.Inputs[i], m.x[i]), ""))
		}
	}

	return y
}

// warnAlone names the rows that found no partner.
func (r *tableReader) warnAlone(paired []bool) {
	var names []string
	n := 0
	for i, ok := range paired {
		if ok {
			continue
		}

		if n++; n <= few {
			m := r.measured(i)
			names = append(names, fmt.Sprintf("%s (%s)", cmp.Or(m.run, r.id(m.at, m.labels)), r.place(m.row)))
		}
	}

	r.Warnings = append(r.Warnings, WarnUnpaired(r.path, "row", n, names)...)
}

// WarnUnpaired is the warning about n rows or recordings without a partner, which names the first; nil of none.
func WarnUnpaired(path, what string, n int, first []string) []ingest.Warning {
	if n == 0 {
		return nil
	}

	return []ingest.Warning{ingest.Warn(path, "unpaired-"+what+"s", "%s without a partner of another run left out: %s",
		fault.Plural(int64(n), what), someOf(n, first))}
}
