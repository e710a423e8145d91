package judge

import (
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/report/pairs"
	"doubletake/train/triplets"
)

// This file reads what the other program's table states at each pair: means, and variances or intervals if it has them.
// The columns of an outcome have its name and a suffix, such as "_low" for the lower end of an interval (suffixes).

// predictions is the user's table of predictions, with the row of each pair.
type predictions struct {
	*pairs.Cells
	rows   []int    // by pair: its row of the table; −1 if the table does not predict it
	groups []string // by row of the table: the group that the prediction was trained without; nil without groups
}

// given contains the predictions at the pairs of a set. A list of numbers has N×Out elements, in the outcomes' own
// units. An element is NaN if the table has no prediction for the pair.
type given struct {
	triplets.Set
	Options
	answers  triplets.Answers // means, variances of one measurement, and in Cov epistemic variances; nil if not stated
	mid      []float64        // middles of the stated intervals; nil without intervals
	half     []float64        // half widths of the stated intervals; nil without intervals
	mid68    []float64        // middles of the stated 68 % intervals; nil without such intervals
	half68   []float64        // half widths of the stated 68 % intervals; nil without such intervals
	group    []string         // by pair: the group that the prediction was trained without; "" if there is none
	trained  []bool           // by pair: the table says that the program was trained on it
	complete []bool           // by pair: it has a mean, and the variance, covariance and interval that others have
	unstated bool             // the table states neither variances nor intervals
	open     bool             // some bounds of intervals are infinite, so that their widths mean nothing
}

// kindOf returns the kind of the numbers in columns with a suffix, which decides how their units are converted.
func kindOf(suffix string) pairs.Kind {
	switch {
	case strings.HasPrefix(suffix, "_sd"), suffix == "_delta", suffix == "_zigzag":
		return pairs.Differences
	case suffix == "":
		return pairs.Values
	case suffix == "_low", suffix == "_high", suffix == "_low_68", suffix == "_high_68":
		return pairs.Bounds
	}

	return pairs.Variances
}

// readColumns reads the columns of all outcomes with a suffix, N×Out. The suffix "" means the columns of means. It
// returns nil if an outcome has no such column, and an error if a column has no number or a negative deviation.
func (p *predictions) readColumns(set triplets.Set, suffix string) ([]float64, error) {
	values := make([]float64, set.N*set.Out)
	for j, quantity := range set.Outcomes {
		name := quantity.Name + suffix
		if suffix == "" {
			name = p.Mean(quantity.Name)
		}

		if !p.Has(name) {
			return nil, nil
		}

		v, err := p.Numbers(name, quantity.Unit, kindOf(suffix))
		if err != nil {
			return nil, err
		}

		if !slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) }) {
			return nil, fault.At(p.Path, "column "+name, "numbers", "none in "+fault.Plural(int64(len(v)), "row"),
				"fill it or leave it out")
		}

		negative := slices.IndexFunc(v, func(x float64) bool { return x < 0 })
		if strings.HasPrefix(suffix, "_sd") && negative >= 0 {
			return nil, p.Fault(negative, name, "a deviation that is not negative")
		}

		for i, row := range p.rows {
			values[i*set.Out+j] = math.NaN()
			if row >= 0 {
				values[i*set.Out+j] = v[row]
			}
		}
	}

	return values, nil
}

// suffixes lists the suffixes of an outcome's columns that are read.
func suffixes() []string {
	list := []string{"", "_low", "_high", "_low_68", "_high_68", "_epistemic", "_sd", "_sd_epistemic", "_sd_noise"}
	for _, column := range triplets.AnswerColumns[1:] {
		list = append(list, column.Suffix)
	}

	return list
}

// unused lists the columns that are named like an outcome with a suffix that is not read, such as y_std. A column
// y_b_sd is read if there is an outcome y_b, although an outcome y has no suffix _b_sd.
func (p *predictions) unused(outcomes []string) []string {
	known := slices.Concat(suffixes(), []string{
		"_mu", "_1", "_2", "_sd_claimed", "_largest_left_out", "_no_interval", "_before_measuring",
	})

	var left []string
	for _, name := range p.Columns {
		isOfOne := false  // an outcome has the column, with any suffix
		isOfRead := false // an outcome has the column, with a suffix that is read
		for _, outcome := range outcomes {
			belongs, isRead := belongsTo(name, outcome, known)
			isOfOne = isOfOne || belongs
			isOfRead = isOfRead || isRead
		}

		if isOfOne && !isOfRead {
			left = append(left, name)
		}
	}

	return left
}

// belongsTo reports whether the name of a column consists of an outcome, in any letter case, and a suffix. isRead
// reports whether the letter case is the outcome's and the suffix is a known one.
func belongsTo(name, outcome string, known []string) (belongs, isRead bool) {
	n := len(outcome)
	if len(name) < n || !strings.EqualFold(name[:n], outcome) {
		return false, false
	}

	suffix := name[n:]
	if suffix != "" && suffix[0] != '_' {
		return false, false
	}

	return true, name[:n] == outcome && slices.Contains(known, suffix)
}

// read reads the columns of the outcomes. It also returns notes about columns that are not judged.
func (p *predictions) read(set triplets.Set, o Options) (*given, []string, error) {
	stated, notes, err := p.readAllColumns(set)
	if err != nil {
		return nil, nil, err
	}

	predicted := &given{
		Set: set, Options: o,
		group: make([]string, set.N), trained: make([]bool, set.N), complete: make([]bool, set.N),
	}
	predicted.setAnswers(stated)

	if err := p.checkEnds(set, predicted.half, ""); err != nil {
		return nil, nil, err
	}

	if err := p.checkEnds(set, predicted.half68, "_68"); err != nil {
		return nil, nil, err
	}

	for i, row := range p.rows {
		if row < 0 {
			continue
		}

		predicted.complete[i] = predicted.isComplete(i)
		predicted.trained[i] = p.Has("set") && p.Text(row, "set") != "test"
		if p.groups != nil {
			predicted.group[i] = p.groups[row]
		}
	}

	return predicted, notes, nil
}

// readAllColumns returns the columns of the outcomes by suffix, as readColumns returns them, with notes about columns
// that are not judged.
func (p *predictions) readAllColumns(set triplets.Set) (stated map[string][]float64, notes []string, err error) {
	stated = map[string][]float64{}
	for _, suffix := range suffixes() {
		stated[suffix], err = p.readColumns(set, suffix)
		if err != nil {
			return nil, nil, err
		}

		for _, quantity := range set.Outcomes {
			if suffix != "" && stated[suffix] == nil && p.Has(quantity.Name+suffix) {
				notes = append(notes, quantity.Name+suffix+" is not judged: not all outcomes have such a column")
			}
		}
	}

	for _, level := range []string{"", "_68"} { // suffixes of the ends of an interval
		if (stated["_low"+level] == nil) != (stated["_high"+level] == nil) {
			notes = append(notes, "no"+strings.Replace(level, "_68", " 68 %", 1)+" interval: low and high belong together")
		}
	}

	return stated, notes, nil
}

// setAnswers stores the means, the variances and the intervals that the table states. stated contains the columns by
// suffix.
func (g *given) setAnswers(stated map[string][]float64) {
	for _, column := range triplets.AnswerColumns {
		*column.Field(&g.answers) = stated[column.Suffix]
	}

	g.answers.Mu = stated[""]
	if low, high := stated["_low"], stated["_high"]; low != nil && high != nil {
		g.mid, g.half = g.middles(low, high)
	}

	if low, high := stated["_low_68"], stated["_high_68"]; low != nil && high != nil {
		g.mid68, g.half68 = g.middles(low, high)
	}

	g.setVariances(stated)
}

// checkEnds returns an error if a half width is negative, which means that the ends of the interval are exchanged.
// suffix follows "_low" and "_high" in the names of the columns.
func (p *predictions) checkEnds(set triplets.Set, half []float64, suffix string) error {
	k := slices.IndexFunc(half, func(half float64) bool { return half < 0 })
	if k < 0 {
		return nil
	}

	name := set.Outcomes[k%set.Out].Name

	return p.Fault(p.rows[k/set.Out], name+"_low"+suffix, "at most "+name+"_high"+suffix)
}

// isComplete reports whether pair i has a mean, and a variance, a covariance and an interval if the table states them.
func (g *given) isComplete(i int) bool {
	for _, v := range [][]float64{g.answers.Mu, g.answers.Var, g.answers.Cov, g.half, g.half68} {
		if v != nil && slices.ContainsFunc(v[i*g.Out:(i+1)*g.Out], math.IsNaN) {
			return false
		}
	}

	return true
}

// farAway is the distance at which an infinite bound is taken to be, so that its interval has a middle. It is a
// multiple of the largest absolute value among the pair, its prediction and the other bound, if that is finite.
const farAway = 1e5

// middles returns the middles and the half widths of stated intervals. It takes an infinite bound to be far away.
func (g *given) middles(low, high []float64) (mid, half []float64) {
	for k := range low {
		below := low[k]
		above := high[k]
		far := farAway * max(math.Abs(g.Y1[k]), math.Abs(g.Y2[k]), math.Abs(g.answers.Mu[k]))
		for _, bound := range []float64{below, above} {
			if !math.IsInf(bound, 0) {
				far = max(far, farAway*math.Abs(bound))
			}
		}

		if math.IsInf(below, -1) {
			g.open = true
			below = -far
		}

		if math.IsInf(above, 1) {
			g.open = true
			above = far
		}

		mid = append(mid, (below+above)/2)
		half = append(half, (above-below)/2)
	}

	return mid, half
}

// setVariances stores the variances that the columns and the intervals state. stated contains the columns by suffix.
func (g *given) setVariances(stated map[string][]float64) {
	g.answers.Cov = firstStated(stated["_cov"], stated["_epistemic"], sumOfSquares(stated["_sd_epistemic"]))
	g.answers.Var = firstStated(stated["_var"], sumOfSquares(stated["_sd"]),
		sumOfSquares(stated["_sd_epistemic"], stated["_sd_noise"]), g.halfVariances())
	g.unstated = g.answers.Var == nil && g.answers.Cov == nil
}

// halfVariances returns the variances of normal distributions with the stated intervals, or nil without intervals.
func (g *given) halfVariances() []float64 {
	z := math.Sqrt2 * math.Erfinv(g.Level)
	var variances []float64
	for _, half := range g.half {
		variances = append(variances, half*half/(z*z))
	}

	return variances
}

// sumOfSquares returns the sums of squares of lists, element by element. It returns nil if a list is nil.
func sumOfSquares(deviations ...[]float64) []float64 {
	sum := make([]float64, len(deviations[0]))
	for _, list := range deviations {
		if list == nil {
			return nil
		}

		for k, difference := range list {
			sum[k] += difference * difference
		}
	}

	return sum
}

// firstStated returns the first list that is not nil.
func firstStated(lists ...[]float64) []float64 {
	for _, list := range lists {
		if list != nil {
			return list
		}
	}

	return nil
}
