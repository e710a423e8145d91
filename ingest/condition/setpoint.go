package condition

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// Tolerance is how far the values of one condition may lie apart.
type Tolerance struct {
	Absolute float64 // in the condition's unit
	Relative float64 // of the mean of the two values
}

// Equal reports whether two values are equal within the tolerance; a NaN equals nothing.
func (t Tolerance) Equal(a, b float64) bool {
	return math.Abs(a-b) <= t.Absolute+t.Relative*math.Abs(a+b)/2
}

// maxTolerance bounds a tolerance: a larger one is a mistake.
const maxTolerance = 1e9

// ParseTolerance reads "20" or "1 %".
func ParseTolerance(s string) (Tolerance, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil || !(v >= 0 && v <= maxTolerance):
		return Tolerance{}, fmt.Errorf("expected a tolerance like 20 or 1 %%, from 0 to %g, found %q", maxTolerance, s)
	case percent && v >= 200: // a value and its negative are never one condition
		return Tolerance{}, fmt.Errorf("expected a tolerance below 200 %%, found %q", s)
	case percent:
		return Tolerance{Relative: v / 100}, nil
	}

	return Tolerance{Absolute: v}, nil
}

// String writes the tolerance as ParseTolerance reads it.
func (t Tolerance) String() string {
	if t.Relative > 0 {
		return shortest(100*t.Relative) + " %"
	}

	return shortest(t.Absolute)
}

// At is the tolerance of a set point with its middle at v.
func (t Tolerance) At(v float64) float64 { return t.Absolute + t.Relative*math.Abs(v) }

// SetPoint is a set point.
type SetPoint struct {
	Nominal float64 // the number that names it
	Lo, Hi  float64 // range of its values
}

// String is "3000 ± 8", or "3000" where all values are 3000.
func (p SetPoint) String() string {
	half := max(p.Hi-p.Nominal, p.Nominal-p.Lo)
	text := strconv.FormatFloat(half, 'g', 2, 64)
	if half >= 10 {
		text = strconv.FormatFloat(math.Ceil(half), 'f', -1, 64)
	}

	return strings.TrimSuffix(shortest(p.Nominal)+" ± "+text, " ± 0")
}

// SetPoints are the set points of a condition, ascending.
type SetPoints struct {
	Tolerance Tolerance
	List      []SetPoint
}

// SetPointsOf returns the set points of values in any order: they are cut at their widest gaps until
// the values of each set point lie within the tolerance of their middle.
func SetPointsOf(values []float64, t Tolerance) SetPoints {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(v)
	v = slices.Compact(v)

	out, parts := SetPoints{Tolerance: t}, cut(v, t)
	for i, part := range parts {
		middle := part[len(part)/2] // of an odd number the median; it decides between round numbers only
		p := SetPoint{Nominal: middle, Lo: part[0], Hi: part[len(part)-1]}
		lo, hi := math.Inf(-1), math.Inf(1)
		if i > 0 {
			lo = math.Nextafter((out.List[i-1].Hi+p.Lo)/2, hi)
		}

		if i+1 < len(parts) {
			hi = (p.Hi + parts[i+1][0]) / 2
		}

		p.Nominal = nominal(p, t.At(middle)/50, lo, hi)
		out.List = append(out.List, p)
	}

	return out
}

// String is "5 set points, ± 0.3 %", with the widest scatter.
func (p SetPoints) String() string {
	most, unit := 0.0, ""
	for _, c := range p.List {
		half := (c.Hi - c.Lo) / 2
		if p.Tolerance.Relative > 0 {
			half, unit = half*100/math.Abs((c.Hi+c.Lo)/2), " %"
		}

		most = max(most, half)
	}

	return fmt.Sprintf("%d set points, ± %s%s", len(p.List), strconv.FormatFloat(most, 'g', 1, 64), unit)
}

// cut splits ascending values at their widest gap, of equal ones the first, until each part lies
// within the tolerance of its middle.
func cut(v []float64, t Tolerance) [][]float64 {
	if len(v) == 0 {
		return nil
	}

	gap := func(i int) float64 { return v[i] - v[i-1] } // below value i
	widest := lists.Numbers(len(v))[1:]
	slices.SortStableFunc(widest, func(i, j int) int { return cmp.Compare(gap(j), gap(i)) })

	cuts := []int{0, len(v)}
	for _, i := range widest {
		k, _ := slices.BinarySearch(cuts, i)
		lo, hi := v[cuts[k-1]], v[cuts[k]-1]
		if !((hi-lo)/2 <= t.At((lo+hi)/2)*(1+1e-9)) {
			cuts = slices.Insert(cuts, k, i)
		}
	}

	return lists.Make(len(cuts)-1, func(k int) []float64 { return v[cuts[k]:cuts[k+1]] })
}

// nominal is the roundest number in the scatter of p, widened by half of it, at least by so
// much, and limited to lo … hi; of several the one nearest the median.
func nominal(p SetPoint, least, lo, hi float64) float64 {
	r := max((p.Hi-p.Lo)/2, least)
	switch {
	case p.Lo == p.Hi:
		return p.Lo
	case p.Lo <= 0 && p.Hi >= 0:
		return 0
	}

	lo, hi = max(p.Lo-r, lo), min(p.Hi+r, hi)
	top := int(math.Ceil(math.Log10(max(math.Abs(p.Lo), math.Abs(p.Hi)))))
	for k := top; k > top-17; k-- {
		for _, share := range []float64{1, 2} { // steps of 10, 5, 1, 0.5 …
			// Products and quotients of exact powers are the numbers that texts have.
			up, down := share*math.Pow10(max(-k, 0)), math.Pow10(max(k, 0))
			n := math.Round(p.Nominal * up / down)
			n = min(max(n, math.Ceil(lo*up/down)), math.Floor(hi*up/down))
			v := n * down / up
			if n != 0 && v >= lo && v <= hi {
				return v
			}
		}
	}

	return p.Nominal
}

// Find returns the set point of a measured value, or the one whose values a number may
// stand for: 3000 finds 2995 ± 2 where the tolerance is 0.5 %.
func (p SetPoints) Find(v float64) (SetPoint, bool) {
	at, _ := slices.BinarySearchFunc(p.List, v, func(c SetPoint, v float64) int { return cmp.Compare(c.Hi, v) })

	best, gap := -1, math.Inf(1)
	for i := max(at-1, 0); i <= at && i < len(p.List); i++ { // the neighbours
		c := p.List[i]
		d := max(c.Lo-v, v-c.Hi, 0)
		if d < gap && (d == 0 || max(math.Abs(v-c.Lo), math.Abs(v-c.Hi)) <= p.Tolerance.At(v)*(1+1e-9)) {
			best, gap = i, d
		}
	}

	if best < 0 {
		return SetPoint{}, false
	}

	return p.List[best], true
}

// At is the number that names the set point of a value; the value itself where there is none.
func (p SetPoints) At(v float64) float64 {
	if at, ok := p.Find(v); ok {
		return at.Nominal
	}

	return v
}

// Nominals lists the numbers that name the set points, ascending.
func (p SetPoints) Nominals() []float64 {
	return lists.Each(p.List, func(c SetPoint) float64 { return c.Nominal })
}

// A proposed tolerance is of scatter up to such a share of the middle, or of the range of all values: the more
// of them are about each set point, up to four, the surer it is that they scatter.
const mostRelative, mostAbsolute = 0.02, 0.005

// separation is how many times the widest scatter the smallest gap between set points must be.
const separation = 5

// Discover proposes a tolerance for values that scatter about set points. It is not ok where
// they do not: where they are exact, where fewer than half of the set points have several
// values, or where no gaps separate them, of differences or, about set points of several sizes, of
// ratios. The coarsest of the clusterings that do is taken.
func Discover(values []float64) (p SetPoints, ok bool) {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(v)
	v = slices.Compact(v)
	if len(v) < 3 {
		return p, false
	}

	if p, ok = discover(v, v); !ok && v[0] > 0 {
		p, ok = discover(v, lists.Each(v, math.Log))
	}

	return p, ok
}

// discover clusters values by the gaps between their places.
func discover(v, at []float64) (p SetPoints, ok bool) {
	gaps := lists.Make(len(v)-1, func(i int) float64 { return at[i+1] - at[i] })
	slices.Sort(gaps)
	gaps = slices.Compact(gaps)
	for k := len(gaps) - 1; k > 0 && !ok; k-- { // cut at gaps[k] and wider
		if gaps[k] >= separation*gaps[k-1] {
			p, ok = try(v, at, gaps[k])
		}
	}

	return p, ok
}

// try proposes the clusters between gaps of that size and wider.
func try(v, at []float64, gap float64) (p SetPoints, ok bool) {
	var relative, scatter, apart float64

	clusters, several, from := 0, 0, 0
	for i := 1; i <= len(v); i++ {
		if i < len(v) && at[i]-at[i-1] < gap {
			continue
		}

		lo, hi := v[from], v[i-1]
		if clusters++; i-from > 1 {
			several++
		}

		scatter, apart = max(scatter, hi-lo), max(apart, at[i-1]-at[from])
		relative, from = max(relative, (hi-lo)/math.Abs(hi+lo)), i
	}

	if 2*several < clusters || gap < separation*apart {
		return p, false
	}

	t := Tolerance{Relative: roundUp(relative)}
	if !(relative <= mostRelative) || v[0] <= 0 {
		t = Tolerance{Absolute: roundUp(scatter / 2)}
		if most := mostAbsolute * min(float64(len(v))/float64(clusters), 4); scatter/2 > most*(v[len(v)-1]-v[0]) {
			return p, false
		}
	}

	p = SetPointsOf(v, t)

	return p, len(p.List) == clusters
}

// roundUp is 1, 2 or 5 times a power of ten, at least 1.2 times v: later values may scatter
// more.
func roundUp(v float64) float64 {
	k := int(math.Floor(math.Log10(1.2 * v)))
	for _, n := range []float64{1, 2, 5, 10} {
		if r := n * math.Pow10(max(k, 0)) / math.Pow10(max(-k, 0)); r >= 1.2*v {
			return r
		}
	}

	return 1.2 * v
}

func shortest(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }

// Groups gathers n rows of equal conditions, which are columns: each joins the first group whose every member it
// equals, by the tolerance of each condition and by its labels. What is not known, a NaN, equals nothing. Groups come
// in the order of their first rows; all of them are parts of one list, since there may be millions.
func Groups(n int, within []Tolerance, conditions [][]float64, labels [][]string) iter.Seq[[]int] {
	exact := lists.Where(len(within), func(k int) bool { return within[k] == Tolerance{} })
	compare := func(i, j int) int {
		for _, k := range exact {
			if c := cmp.Compare(conditions[k][i], conditions[k][j]); c != 0 {
				return c
			}
		}

		for _, l := range labels {
			if c := cmp.Compare(l[i], l[j]); c != 0 {
				return c
			}
		}

		return 0
	}

	rows := lists.Numbers(n)
	slices.SortFunc(rows, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	var parts [][2]int32 // the places of each group in rows
	for from := 0; from < n; {
		end := from + 1
		for end < n && compare(rows[from], rows[end]) == 0 {
			end++
		}

		unknown := func(c []float64) bool { return math.IsNaN(c[rows[from]]) }
		if len(exact) == len(within) && !slices.ContainsFunc(conditions, unknown) {
			parts, from = append(parts, [2]int32{int32(from), int32(end)}), end
			continue
		}

		for _, g := range near(rows[from:end], within, conditions) {
			n := copy(rows[from:], g)
			parts, from = append(parts, [2]int32{int32(from), int32(from + n)}), from+n
		}
	}

	slices.SortFunc(parts, func(a, b [2]int32) int { return rows[a[0]] - rows[b[0]] })

	return func(yield func([]int) bool) {
		for _, p := range parts {
			if !yield(rows[p[0]:p[1]]) {
				return
			}
		}
	}
}

// near gathers rows by their tolerances: one equals all members of a group where it equals the least and the greatest
// values of its conditions. Groups are sought about its value of the condition with the most.
func near(rows []int, within []Tolerance, conditions [][]float64) (groups [][]int) {
	counts := lists.Each(conditions, func(c []float64) int {
		_, distinct := lists.Index(lists.Rows(c, 1, rows))
		return len(distinct)
	})
	by := slices.Index(counts, slices.Max(counts))

	var low, high [][]float64 // of each group
	var first []float64       // the values of groups' first rows, sorted
	var of []int              // whose they are
	for _, i := range rows {
		at := lists.Each(conditions, func(c []float64) float64 { return c[i] })
		place, _ := slices.BinarySearch(first, at[by])
		n := len(groups)
		for _, step := range []int{1, -1} {
			for p := place - (1-step)/2; p >= 0 && p < len(of) && within[by].Equal(at[by], first[p]); p += step {
				k, g := 0, of[p]
				for k < len(at) && within[k].Equal(at[k], low[g][k]) && within[k].Equal(at[k], high[g][k]) {
					k++
				}

				if k == len(at) {
					n = min(n, g)
				}
			}
		}

		if n == len(groups) {
			groups, low, high = append(groups, nil), append(low, slices.Clone(at)), append(high, slices.Clone(at))
			first, of = slices.Insert(first, place, at[by]), slices.Insert(of, place, n)
		}

		groups[n] = append(groups[n], i)
		for k, v := range at {
			low[n][k], high[n][k] = min(low[n][k], v), max(high[n][k], v)
		}
	}

	return groups
}
