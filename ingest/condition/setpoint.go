package condition

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// At returns the tolerance of a set point with its middle at v.
func (t Tolerance) At(v float64) float64 { return t.Absolute + t.Relative*math.Abs(v) }

// SetPoint is a value that was set, and the range of the values that were measured about it.
type SetPoint struct {
	Nominal float64 // the number that names it
	Lo, Hi  float64 // least and greatest of its values
}

// String returns "3000 ± 8", or "3000" if all values are 3000.
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

// nominalShare is the part of the tolerance by which the name of a set point may at least lie outside the range of its
// values: values of 2999 and 2999.5 are named 3000 if the tolerance is 50.
const nominalShare = 50

// SetPointsOf returns the set points of values in any order: they are cut at their widest gaps until
// the values of each set point lie within the tolerance of their middle.
func SetPointsOf(values []float64, t Tolerance) SetPoints {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(v)
	v = slices.Compact(v)

	points := SetPoints{Tolerance: t}
	parts := cutAtGaps(v, t)
	for i, part := range parts {
		middle := part[len(part)/2] // the median or just above; it only decides between round numbers
		p := SetPoint{Nominal: middle, Lo: part[0], Hi: part[len(part)-1]}
		lo := math.Inf(-1)
		hi := math.Inf(1)
		if i > 0 {
			lo = math.Nextafter((points.List[i-1].Hi+p.Lo)/2, hi)
		}

		if i+1 < len(parts) {
			hi = (p.Hi + parts[i+1][0]) / 2
		}

		p.Nominal = roundestNear(p, t.At(middle)/nominalShare, lo, hi)
		points.List = append(points.List, p)
	}

	return points
}

// String returns "5 set points, ± 0.3 %", with the widest scatter, or "5 set points, within 0.3 %" if each set point
// has one value.
func (p SetPoints) String() string {
	unit := ""
	if p.Tolerance.Relative > 0 && len(p.List) > 0 {
		unit = " %"
	}

	most := 0.0
	for _, c := range p.List {
		half := (c.Hi - c.Lo) / 2
		if p.Tolerance.Relative > 0 && half > 0 { // a set point of one value, such as 0, does not scatter
			half = half * 100 / math.Abs((c.Hi+c.Lo)/2)
		}

		most = max(most, half)
	}

	if most == 0 {
		return fmt.Sprintf("%d set points, within %s", len(p.List), p.Tolerance)
	}

	return fmt.Sprintf("%d set points, ± %s%s", len(p.List), strconv.FormatFloat(most, 'g', 1, 64), unit)
}

// roundingMargin keeps values that lie exactly at the tolerance together, although their difference is rounded.
const roundingMargin = 1 + 1e-9

// cutAtGaps splits ascending values at their widest gap until each part lies within the tolerance of its middle. If
// several gaps are equally wide, it splits at the first of them.
func cutAtGaps(v []float64, t Tolerance) [][]float64 {
	if len(v) == 0 {
		return nil
	}

	gap := func(i int) float64 { return v[i] - v[i-1] } // below value i
	var widest []int                                    // places of the values behind a gap, the widest gap first
	for i := 1; i < len(v); i++ {
		widest = append(widest, i)
	}

	slices.SortStableFunc(widest, func(i, j int) int { return cmp.Compare(gap(j), gap(i)) })

	cuts := []int{0, len(v)}
	for _, i := range widest {
		k, _ := slices.BinarySearch(cuts, i)
		lo := v[cuts[k-1]]
		hi := v[cuts[k]-1]
		if !((hi-lo)/2 <= t.At((lo+hi)/2)*roundingMargin) {
			cuts = slices.Insert(cuts, k, i)
		}
	}

	parts := make([][]float64, len(cuts)-1)
	for k := range parts {
		parts[k] = v[cuts[k]:cuts[k+1]]
	}

	return parts
}

// floatDigits is the number of decimal digits that identify a float64.
const floatDigits = 17

// roundestNear returns the roundest number near the values of a set point p, whose Nominal is their median. It looks in
// the range of the values, extended at both ends by half its width, but at least by least, and cut to lo … hi. If
// several numbers are equally round, it returns the number nearest to the median. If all values are equal, it returns
// their value.
func roundestNear(p SetPoint, least, lo, hi float64) float64 {
	r := max((p.Hi-p.Lo)/2, least)
	switch {
	case p.Lo == p.Hi:
		return p.Lo
	case p.Lo <= 0 && p.Hi >= 0:
		return 0
	}

	lo = max(p.Lo-r, lo)
	hi = min(p.Hi+r, hi)
	top := int(math.Ceil(math.Log10(max(math.Abs(p.Lo), math.Abs(p.Hi)))))
	for k := top; k > top-floatDigits; k-- {
		for _, share := range []float64{1, 2} { // steps of 10, 5, 1, 0.5 …
			// Products and quotients of exact powers are the numbers that texts have.
			factor := share * math.Pow10(max(-k, 0))
			divisor := math.Pow10(max(k, 0))
			n := math.Round(p.Nominal * factor / divisor)
			n = min(max(n, math.Ceil(lo*factor/divisor)), math.Floor(hi*factor/divisor))
			v := n * divisor / factor
			if n != 0 && v >= lo && v <= hi {
				return v
			}
		}
	}

	return p.Nominal
}

// Find returns the set point of a measured value. A number near a set point finds it too, within the tolerance: 3000
// finds 2995 ± 2 if the tolerance is 0.5 %.
func (p SetPoints) Find(v float64) (SetPoint, bool) {
	above, _ := slices.BinarySearchFunc(p.List, v, func(c SetPoint, v float64) int { return cmp.Compare(c.Hi, v) })

	best := -1
	nearest := math.Inf(1)
	for i := max(above-1, 0); i <= above && i < len(p.List); i++ { // the neighbours
		c := p.List[i]
		distance := max(c.Lo-v, v-c.Hi, 0)
		farthest := max(math.Abs(v-c.Lo), math.Abs(v-c.Hi))
		if distance < nearest && (distance == 0 || farthest <= p.Tolerance.At(v)*(1+1e-9)) {
			best = i
			nearest = distance
		}
	}

	if best < 0 {
		return SetPoint{}, false
	}

	return p.List[best], true
}

// At returns the number that names the set point of a value, or the value itself if it has no set point.
func (p SetPoints) At(v float64) float64 {
	if point, ok := p.Find(v); ok {
		return point.Nominal
	}

	return v
}

// Nominals lists the numbers that name the set points, ascending.
func (p SetPoints) Nominals() []float64 {
	var nominals []float64
	for _, c := range p.List {
		nominals = append(nominals, c.Nominal)
	}

	return nominals
}

const (
	// mostRelative is the greatest relative tolerance that Discover proposes, before it is rounded up.
	mostRelative = 0.02

	// mostAbsolute is the greatest absolute tolerance that Discover proposes, as a part of the range of all values
	// and before it is rounded up. It is multiplied by the mean number of values of a set point, up to
	// mostValues: more values show more surely that they scatter.
	mostAbsolute = 0.005
	mostValues   = 4
)

// separation is how many times the widest scatter the smallest gap between set points must be.
const separation = 5

// Discover proposes a tolerance for values that scatter about set points. It looks for gaps between the values
// that are much wider than the scatter: first in their differences, then in their ratios, if all are positive.
// If several sets of gaps qualify, Discover takes the one with the fewest set points. ok is false if the values
// do not scatter about set points: if no gaps separate them, or if fewer than half of the set points have
// several values.
func Discover(values []float64) (p SetPoints, ok bool) {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(v)
	v = slices.Compact(v)
	if len(v) < 3 {
		return p, false
	}

	p, ok = discoverAt(v, v)
	if ok || v[0] <= 0 {
		return p, ok
	}

	logarithms := make([]float64, len(v))
	for i, x := range v {
		logarithms[i] = math.Log(x)
	}

	return discoverAt(v, logarithms)
}

// discoverAt clusters values by the gaps between their places.
func discoverAt(v, places []float64) (p SetPoints, ok bool) {
	gaps := make([]float64, len(v)-1)
	for i := range gaps {
		gaps[i] = places[i+1] - places[i]
	}

	slices.Sort(gaps)
	gaps = slices.Compact(gaps)
	for k := len(gaps) - 1; k > 0 && !ok; k-- { // cut at gaps[k] and wider
		if gaps[k] >= separation*gaps[k-1] {
			p, ok = proposeClusters(v, places, gaps[k])
		}
	}

	return p, ok
}

// clusters describes values that are cut into clusters at wide gaps.
type clusters struct {
	count    int
	several  int     // clusters of several values
	relative float64 // greatest half range of the values of a cluster, relative to its middle
	scatter  float64 // greatest range of the values of a cluster
	width    float64 // greatest range of the places of a cluster
}

// measureClusters describes the clusters of v between gaps of places of at least the given size.
func measureClusters(v, places []float64, gap float64) clusters {
	var found clusters
	begin := 0 // of the cluster
	for i := 1; i <= len(v); i++ {
		if i < len(v) && places[i]-places[i-1] < gap {
			continue
		}

		found.count++
		if i-begin > 1 {
			found.several++
		}

		lo := v[begin]
		hi := v[i-1]
		found.scatter = max(found.scatter, hi-lo)
		found.width = max(found.width, places[i-1]-places[begin])
		found.relative = max(found.relative, (hi-lo)/math.Abs(hi+lo))
		begin = i
	}

	return found
}

// proposeClusters proposes the clusters of v between gaps of places of at least the given size. ok is false if fewer
// than half of the clusters have several values, if the gaps are not much wider than the clusters, if the values
// scatter too much, or if the tolerance gives other set points than the clusters.
func proposeClusters(v, places []float64, gap float64) (p SetPoints, ok bool) {
	found := measureClusters(v, places, gap)
	if 2*found.several < found.count || gap < separation*found.width {
		return p, false
	}

	t := Tolerance{Relative: roundUp(found.relative)}
	if !(found.relative <= mostRelative) || v[0] <= 0 { // NaN or infinite if a cluster has its middle at 0
		t = Tolerance{Absolute: roundUp(found.scatter / 2)}

		most := mostAbsolute * min(float64(len(v))/float64(found.count), mostValues)
		if found.scatter/2 > most*(v[len(v)-1]-v[0]) {
			return p, false
		}
	}

	p = SetPointsOf(v, t)

	return p, len(p.List) == found.count
}

// roundUp returns 1, 2 or 5 times a power of ten, at least 1.2 times v: later values may scatter
// more.
func roundUp(v float64) float64 {
	k := int(math.Floor(math.Log10(1.2 * v)))
	for _, n := range []float64{1, 2, 5, 10} {
		r := n * math.Pow10(max(k, 0)) / math.Pow10(max(-k, 0))
		if r >= 1.2*v {
			return r
		}
	}

	return 1.2 * v
}

// shortest writes a number with at most 12 digits, and without zeros at the end.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }
