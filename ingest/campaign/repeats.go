package campaign

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/setpoint"
)

// Law states how an outcome depends on a condition: as its power.
type Law struct {
	Condition string
	Power     float64
}

// ParseLaw reads "rpm^2", or "rpm" for the first power.
func ParseLaw(s string) (Law, error) {
	name, power, given := strings.Cut(strings.TrimSpace(s), "^")
	l := Law{Condition: strings.TrimSpace(name), Power: 1}
	if given {
		v, err := strconv.ParseFloat(strings.TrimSpace(power), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return l, fmt.Errorf("expected a condition with its power, like rpm^2, found %q", s)
		}

		l.Power = v
	}

	if l.Condition == "" {
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

// grouped reports whether rows are gathered into groups before they are paired.
func (o TableOptions) grouped() bool {
	return o.AllPairs || len(o.SetPoints) > 0 || len(o.Within) > 0 || len(o.Correct) > 0
}

// pairGroups pairs the rows of equal conditions.
func (r *tableReader) pairGroups() error {
	laws := make([]map[int]float64, len(r.Outcomes)) // by outcome: condition, power
	for k, name := range r.Outcomes {
		laws[k] = map[int]float64{}
		if l, ok := r.o.Correct[name]; ok {
			i := slices.Index(r.Inputs, l.Condition)
			if i < 0 {
				return fmt.Errorf("read table %s: correct.%s: %q is not an input", r.path, name, l.Condition)
			}

			laws[k][i] = l.Power
		}
	}

	var x []float64
	for _, row := range r.rows {
		x = append(x, row.x...)
	}

	for i, at := range slices.Collect(slices.Chunk(r.atSetPoints(x), len(r.Inputs))) {
		r.rows[i].at = at
	}

	groups := r.groups()

	var alone []int
	for _, g := range groups {
		if r.o.AllPairs && len(g) > mostRepeats {
			return &fault.Error{
				Path: r.path, Place: fmt.Sprintf("condition %v", r.rows[g[0]].x),
				Want: fmt.Sprintf("at most %d repeats, all pairs of which are used", mostRepeats), Found: strconv.Itoa(len(g)),
				Hint: "leave out use: all",
			}
		}

		pairs := r.pairsOf(g)
		paired := map[int]bool{}
		weight := float64(len(g)) / 2 / float64(max(len(pairs), 1))

		var names []string
		for _, i := range g {
			names = append(names, r.rows[i].run)
		}

		for _, p := range pairs {
			paired[p[0]], paired[p[1]] = true, true
			if err := r.addPair(r.rows[p[0]], r.rows[p[1]], laws); err != nil {
				return err
			}

			r.Weight = append(r.Weight, weight)
			if r.o.AllPairs { // what is one group is one cluster
				r.Run[r.N-1] = r.ids.of(r.rows[g[0]].at, r.rows[g[0]].labels)
				if r.named() {
					r.Run[r.N-1] = strings.Join(names, " + ")
				}
			}
		}

		for _, i := range g {
			if !paired[i] {
				alone = append(alone, i)
			}
		}
	}

	if !r.o.AllPairs {
		r.Weight = nil // every pair is one of its own rows
	}

	r.warnAlone(alone)

	return nil
}

// atSetPoints returns the conditions of rows at their set points.
func (r *tableReader) atSetPoints(x []float64) []float64 {
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

		points := setpoint.Of(v, t)
		for i := k; i < len(x); i += in {
			p, _ := points.Find(x[i])
			out[i] = p.Nominal
		}
	}

	return out
}

// span is a group of rows and the least and greatest values of their conditions.
type span struct {
	rows      []int
	low, high []float64
}

// groups gathers the rows: each joins the first group whose every member it equals,
// which it does where it equals the least and the greatest. Only groups with its values
// of the conditions without a tolerance, and its labels, are looked at.
func (r *tableReader) groups() (groups [][]int) {
	var spans []*span
	like := map[string][]*span{} // by these values

	within := make([]setpoint.Tolerance, len(r.Inputs))
	for k, name := range r.Inputs {
		within[k] = r.o.Within[name]
	}

	for i, row := range r.rows {
		exact := []byte(strings.Join(row.labels, "\x00"))
		for k, t := range within {
			if t == (setpoint.Tolerance{}) {
				exact = binary.LittleEndian.AppendUint64(exact, math.Float64bits(row.at[k]+0)) // −0 is 0
			}
		}

		candidates := like[string(exact)]
		n := slices.IndexFunc(candidates, func(g *span) bool {
			for k, t := range within {
				if !t.Equal(row.at[k], g.low[k]) || !t.Equal(row.at[k], g.high[k]) {
					return false
				}
			}

			return true
		})

		if n < 0 {
			g := &span{[]int{i}, slices.Clone(row.at), slices.Clone(row.at)}
			like[string(exact)], spans = append(candidates, g), append(spans, g)
			continue
		}

		g := candidates[n]
		g.rows = append(g.rows, i)
		for k, v := range row.at {
			g.low[k], g.high[k] = min(g.low[k], v), max(g.high[k], v)
		}
	}

	for _, g := range spans {
		groups = append(groups, g.rows)
	}

	return groups
}

// mostRepeats bounds a group whose pairs all count: there are half its square.
const mostRepeats = 4096

// pairsOf lists the pairs of a group, whose two rows are never of one run: all of
// them, or such that every row is used once.
func (r *tableReader) pairsOf(group []int) (out [][2]int) {
	used := map[int]bool{}
	for k, i := range group {
		for _, j := range group[k+1:] {
			if !r.o.AllPairs && used[i] {
				break
			}

			if r.named() && r.rows[i].run == r.rows[j].run || !r.o.AllPairs && used[j] {
				continue
			}

			used[i], used[j] = true, true
			out = append(out, [2]int{i, j})
		}
	}

	return out
}

// addPair adds a pair at the mean of the two conditions, the outcomes corrected to
// it by their laws.
func (r *tableReader) addPair(a, b measurement, laws []map[int]float64) error {
	mean := func(a, b []float64) []float64 {
		x := slices.Clone(a)
		for i := range x {
			if b[i] != a[i] {
				x[i] += (b[i] - a[i]) / 2
			}
		}

		return x
	}

	x := mean(a.x, b.x)

	at := func(m measurement) ([]float64, error) {
		y := append([]float64(nil), m.y...)
		for k, law := range laws {
			for i, power := range law {
				if x[i] == m.x[i] {
					continue
				}

				y[k] *= math.Pow(x[i]/m.x[i], power)
				if m.x[i] == 0 || y[k]-y[k] != 0 {
					return nil, &fault.Error{
						Path: r.files[m.row.file].Path, Place: fmt.Sprintf("line %d", m.row.line),
						Want:  "a condition other than 0 to correct " + r.Outcomes[k],
						Found: fmt.Sprintf("%s = %g", r.Inputs[i], m.x[i]),
					}
				}
			}
		}

		return y, nil
	}

	y1, err := at(a)
	if err != nil {
		return err
	}

	y2, err := at(b)
	if err != nil {
		return err
	}

	run := r.ids.of(mean(a.at, b.at), a.labels)
	name := run
	if r.named() {
		name = a.run + " + " + b.run
		run = name
	}

	r.add(x, y1, y2, a.labels, run, [2]rowPlace{a.row, b.row})
	r.Recording = append(r.Recording, name)

	return nil
}

// mostNamed is how many rows without a partner a warning names.
const mostNamed = 10

// warnAlone names the rows that found no partner.
func (r *tableReader) warnAlone(rows []int) {
	var names []string
	for _, i := range rows {
		m := r.rows[i]
		if m.run == "" {
			m.run = r.ids.of(m.at, m.labels)
		}

		names = append(names, fmt.Sprintf("%s (%s)", m.run, r.place(m.row)))
	}

	r.Warnings = append(r.Warnings, WarnUnpaired(r.path, "row", names)...)
}

// WarnUnpaired is the warning about rows or recordings without a partner; nil of none.
func WarnUnpaired(path, what string, names []string) []ingest.Warning {
	n := int64(len(names))
	if n == 0 {
		return nil
	}

	if n > mostNamed {
		names = append(names[:mostNamed:mostNamed], fmt.Sprintf("and %d more", n-mostNamed))
	}

	return []ingest.Warning{{
		Path: path, Code: "unpaired-" + what + "s", Text: fmt.Sprintf("%s without a partner of another run left out: %s",
			fault.Plural(n, what), strings.Join(names, ", ")),
	}}
}
