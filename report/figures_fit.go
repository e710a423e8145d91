package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
)

// calibration draws coverage, and the covariance against the measured error.
func (m *maker) calibration(s *SplitDetail) {
	d := m.d
	f := &figure.Figure{Columns: 2, Width: 720}
	p := figure.Panel{
		Title: "Total: coverage of μ ± zσ", X: figure.Axis{Label: "nominal probability", Min: 0, Max: 1},
		Y: figure.Axis{Label: "share of " + m.d.data() + " values inside", Min: 0, Max: 1}, Square: true,
	}
	p.Marks = append(p.Marks, figure.Mark{
		Kind: figure.Line, Name: "perfect", Class: "grey", Dashed: true,
		X: []float64{0, 1}, Y: []float64{0, 1},
	})
	for i, name := range []string{"training pairs", "held-out pairs"} {
		c := s.Coverage[i]
		b := figure.Mark{
			Kind: figure.Bars, Name: name + ", mean and range over seeds", Class: []string{"train", "test"}[i],
			Shape: []string{"square", ""}[i], X: c.Nominal, Size: 2,
		}
		for k := range c.Nominal {
			lo, hi, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
			for _, o := range c.Observed {
				if k < len(o) {
					lo, hi, sum, n = math.Min(lo, o[k]), math.Max(hi, o[k]), sum+o[k], n+1
				}
			}
			if n == 0 {
				lo, hi, sum, n = math.NaN(), math.NaN(), math.NaN(), 1
			}
			b.Y, b.Lo, b.Hi = append(b.Y, sum/n), append(b.Lo, lo), append(b.Hi, hi)
		}
		if len(c.Observed) > 0 {
			p.Marks = append(p.Marks, b)
		}
	}
	f.Panels = append(f.Panels, p)
	caption := "Left: how many of the outcomes, y1 and y2, lie within μ ± zσ, against the probability of that " +
		"interval; below the diagonal the model is overconfident."
	heading := "Calibration"
	if e, text := m.bins(s); e != nil {
		f.Panels = append(f.Panels, *e)
		caption += " " + text
	} else {
		f.Columns, f.Width = 1, 420
	}
	if d.Experiment.Couples {
		caption += " Couples: no error can be measured, so C is not compared with it."
	}
	m.add(plot{file: "calibration", split: s.Name, heading: heading, caption: caption, fig: f, page: true})
}

// bins draws the covariance against the measured error: the bins of every seed, and
// the median over the seeds of each bin.
func (m *maker) bins(s *SplitDetail) (*figure.Panel, string) {
	all := slices.Concat(s.Bins...)
	if len(all) == 0 {
		return nil, ""
	}
	mark := figure.Mark{Kind: figure.Bars, Name: "bins of C, a set per seed, ± 2 SE", Class: "train", Size: 1.4}
	middle := medians(s.Bins)
	a, z, log := binRange(middle, all)
	inside := func(b Bin) bool { return !log || b.Cov >= a && b.E >= a && b.Cov <= z && b.E <= z }
	below := a / 10
	for _, b := range all {
		for _, v := range []float64{b.Cov, b.E} {
			if v > 0 {
				below = math.Min(below, v/10)
			}
		}
	}
	missing := figure.Mark{
		Kind: figure.Edge, Name: "bins beyond the axes, or ≤ 0", Class: "train", Shape: "cross", Size: 2.2,
	}
	for _, b := range all {
		se := 2 * b.SE
		if math.IsNaN(se) {
			se = 0
		}
		low := b.E - se
		if log && low <= 0 {
			low = below // the bar leaves the panel
		}
		mark.X, mark.Y, mark.Lo, mark.Hi = append(mark.X, b.Cov), append(mark.Y, b.E), append(mark.Lo, low),
			append(mark.Hi, b.E+se)
		switch {
		case inside(b):
		case b.Cov < a || b.Cov > z:
			missing.Y = append(missing.Y, b.E)
		default:
			missing.X = append(missing.X, b.Cov)
		}
	}
	median := figure.Mark{Kind: figure.Points, Name: "median of a bin over seeds", Class: "epi", Shape: "diamond", Size: 3}
	for _, b := range middle {
		if inside(b) {
			median.X, median.Y = append(median.X, b.Cov), append(median.Y, b.E)
		}
	}
	p := &figure.Panel{
		Title: "Claim: C against the error e", Square: true,
		X: figure.Axis{Label: "mean C of the bin (standardised)", Log: log, Min: a, Max: z},
		Y: figure.Axis{Label: "mean e of the bin (standardised)", Log: log, Min: a, Max: z},
		Marks: []figure.Mark{{
			Kind: figure.Line, Name: "as claimed", Class: "grey", Dashed: true, X: []float64{a, z},
			Y: []float64{a, z},
		}, mark},
	}
	for _, k := range []figure.Mark{median, missing} {
		if len(k.X)+len(k.Y) > 0 {
			p.Marks = append(p.Marks, k)
		}
	}
	text := "Right: held-out pairs in bins of equal count by C; e is the product of a pair's two residuals, whose mean " +
		"is the squared error of μ. Large marks: the median of a bin over the seeds. Above the diagonal the error is " +
		"larger than the covariance."
	if lost := len(missing.X) + len(missing.Y); lost > 0 {
		text += fmt.Sprintf(" Crosses at the edge: %d of %d bins, whose C or e is not positive or far from the others; the "+
			"CSV has them.", lost, len(all))
	}
	return p, text
}

// medians are the medians of every bin over the seeds.
func medians(seeds [][]Bin) []Bin {
	var out []Bin
	for i := range slices.MaxFunc(seeds, func(a, b []Bin) int { return len(a) - len(b) }) {
		var c, e []float64
		for _, s := range seeds {
			if i < len(s) {
				c, e = append(c, s[i].Cov), append(e, s[i].E)
			}
		}
		out = append(out, Bin{Cov: median(c), E: median(e)})
	}
	return out
}

// binRange is the range of both axes: whole decades about the medians that are
// positive, or all bins where none is.
func binRange(middle, all []Bin) (a, z float64, log bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, b := range middle {
		if b.Cov > 0 && b.E > 0 {
			lo, hi = math.Min(lo, math.Min(b.Cov, b.E)), math.Max(hi, math.Max(b.Cov, b.E))
		}
	}
	if hi > 0 {
		return math.Pow(10, math.Floor(math.Log10(lo/1.2))), math.Pow(10, math.Ceil(math.Log10(hi*1.2))), true
	}
	for _, b := range all {
		lo, hi = math.Min(lo, math.Min(b.Cov, b.E)), math.Max(hi, math.Max(b.Cov, b.E))
	}
	a, z = lo-0.05*(hi-lo), hi+0.05*(hi-lo)
	if !(z > a) {
		a, z = a-1, z+1
	}
	return a, z, false
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// most outcomes that one figure shows
const parityOutcomes = 6

// parity draws the means of the outcomes against predicted ones, a square panel each,
// with their differences below.
func (m *maker) parity(s *SplitDetail) {
	d := m.d
	mu := s.overSeeds(func(e SeedDetail) []float64 { return e.Mu })
	var train, test []int
	for c := range d.conditions() {
		if s.Test[c] {
			test = append(test, c)
		} else {
			train = append(train, c)
		}
	}
	n := min(parityOutcomes, d.dim())
	f := &figure.Figure{Columns: min(3, n), Width: 720, Stacked: true}
	if n == 1 {
		f.Width = 420
	}
	for first := 0; first < n; first += f.Columns {
		above, below := make([]figure.Panel, f.Columns), make([]figure.Panel, f.Columns)
		for k := first; k < min(n, first+f.Columns); k++ {
			above[k-first], below[k-first] = m.parityPanels(s, k, thin(train, m.limit), thin(test, m.limit), mu)
		}
		f.Panels = slices.Concat(f.Panels, above, below)
	}
	caption := "Predicted mean against the mean of all " + d.data() + " outcomes of the condition, one point per " +
		"condition, on equal axes; below, their difference." + seedsText(s)
	if !d.Experiment.Couples && len(test) > 0 {
		caption += " RMSE: the error of the predicted mean at held-out conditions, the root of the mean e that pairs " +
			"measure, mean over seeds."
	}
	if shown := min(len(train), m.limit) + min(len(test), m.limit); shown < len(train)+len(test) ||
		d.AllConditions > d.conditions() {
		caption += fmt.Sprintf(" Drawn are %d of %d conditions, evenly selected.", shown, d.AllConditions)
	}
	if n < d.dim() {
		caption += fmt.Sprintf(" The first %d of %d outcomes.", n, d.dim())
	}
	m.add(plot{
		file: "parity", split: s.Name, heading: "Predicted and " + d.data() + " outcome", caption: caption, fig: f,
		page: true,
	})
}

// parityPanels are the panel of outcome k and the strip of its residuals.
func (m *maker) parityPanels(s *SplitDetail, k int, train, test []int, mu []float64) (above, below figure.Panel) {
	d := m.d
	q := d.Outcomes[k]
	lo, hi, most := math.Inf(1), math.Inf(-1), 0.0
	var marks, strip []figure.Mark
	for i, list := range [][]int{train, test} {
		mk := figure.Mark{Kind: figure.Points, Name: "trained on", Class: "train", Size: 1.5}
		if i == 1 {
			mk = figure.Mark{Kind: figure.Points, Name: "held out", Class: "test", Shape: "ring", Size: 2}
			if e := m.rmse(s, k); e > 0 {
				mk.Name += in(", RMSE "+number2(e), "")
				if u := q.difference(); u != "" {
					mk.Name += " " + u
				}
			}
		}
		r := mk
		r.Name, r.Quiet = "residual, "+[]string{"trained on", "held out"}[i], true
		for _, c := range list {
			x, y := mu[c*d.dim()+k], d.Mean[c*d.dim()+k]
			mk.X, mk.Y = append(mk.X, x), append(mk.Y, y)
			r.X, r.Y = append(r.X, x), append(r.Y, y-x)
			lo, hi, most = math.Min(lo, math.Min(x, y)), math.Max(hi, math.Max(x, y)), math.Max(most, math.Abs(y-x))
		}
		if len(mk.X) > 0 {
			marks, strip = append(marks, mk), append(strip, r)
		}
	}
	if !(hi >= lo) {
		return figure.Panel{}, figure.Panel{}
	}
	w := math.Max(0.04*(hi-lo), 1e-12+1e-6*math.Abs(hi))
	axis := figure.Axis{Min: lo - w, Max: hi + w}
	x, y := axis, axis
	y.Label = in(d.data()+" mean", clean(q.Unit))
	above = figure.Panel{Title: q.Word(), X: x, Y: y, Square: true}
	above.Marks = append([]figure.Mark{{
		Kind: figure.Line, Name: "equal", Class: "grey", Dashed: true,
		X: []float64{lo - w, hi + w}, Y: []float64{lo - w, hi + w},
	}}, marks...)
	x.Label = in("predicted mean μ", clean(q.Unit))
	below = figure.Panel{X: x, Y: figure.Axis{Label: in("residual", q.difference())}, Height: 80}
	if most = 1.08*most + 1e-12; !math.IsInf(most, 0) {
		below.Y.Min, below.Y.Max = -most, most
	}
	below.Marks = append([]figure.Mark{{Kind: figure.Rule, Class: "grey", Y: []float64{0}, Thin: true}}, strip...)
	return above, below
}

// rmse is the error of the predicted mean of an outcome at the held-out conditions, as
// in the tables: the root of the mean e over pairs, 0 where that is negative, and its
// mean over seeds. It is 0 where it cannot be measured.
func (m *maker) rmse(s *SplitDetail, outcome int) float64 {
	d := m.d
	if d.Experiment.Couples {
		return 0
	}
	mean := 0.0
	for _, seed := range s.Seeds {
		sum, n := 0.0, 0.0
		for i, c := range d.Cond {
			if !s.Test[c] {
				continue
			}
			j, mu := i*d.dim()+outcome, seed.Mu[c*d.dim()+outcome]
			sum += (d.Y1[j] - mu) * (d.Y2[j] - mu)
			n++
		}
		mean += root(sum/math.Max(1, n)) / float64(len(s.Seeds))
	}
	return mean
}

// number2 writes two significant digits.
func number2(v float64) string {
	decimals := 1 - int(math.Floor(math.Log10(v)))
	if decimals > 6 || decimals < -5 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, decimals), 64)
}

// training draws the losses over the epochs, of the pairs trained on and of those held
// out, and how well the trained networks predict both.
func (m *maker) training(s *SplitDetail) {
	f := &figure.Figure{Columns: 3, Width: 660}
	epochs := 0
	for _, seed := range s.Seeds {
		epochs = max(epochs, len(seed.Loss), len(seed.ValidationLoss))
	}
	for _, loss := range []struct {
		title, axis, class string
		of                 func(SeedDetail) []float64
	}{
		{
			"Inner group", "β-NLL, without dropout", "aux", func(s SeedDetail) []float64 { return s.ValidationLoss },
		},
		{"Training pairs", "mean loss, β-NLL", "mean", func(s SeedDetail) []float64 { return s.Loss }},
		{"Held-out pairs", "β-NLL, without dropout", "test", func(s SeedDetail) []float64 { return s.HeldOutLoss }},
	} {
		p := figure.Panel{
			Title: loss.title, X: figure.Axis{Label: "epoch", Max: float64(epochs)},
			Y: figure.Axis{Label: loss.axis}, Height: 160,
		}
		for _, seed := range s.Seeds {
			mk := m.lossLine(loss.of(seed))
			if mk.Class = loss.class; len(mk.X) > 0 {
				p.Marks = append(p.Marks, mk)
			}
		}
		if len(p.Marks) > 0 {
			f.Panels = append(f.Panels, p)
		}
	}
	if len(f.Panels) == 0 {
		return
	}
	after := figure.Panel{
		Title: "Trained", X: figure.Axis{Label: "seed", Min: -0.5, Max: float64(len(s.Seeds)) - 0.5},
		Y: figure.Axis{Label: "mean −log p (nats)"}, Height: 160,
	}
	for k := range s.Seeds {
		after.X.Ticks = append(after.X.Ticks, float64(k))
	}
	for i, held := range []bool{false, true} {
		mk := figure.Mark{
			Kind: figure.Points, Name: []string{"pairs trained on", "held-out pairs"}[i], Class: []string{"train", "test"}[i],
			Shape: []string{"square", ""}[i], Size: 3,
		}
		for k, seed := range s.Seeds {
			if v := m.negativeLog(s, seed, held); !math.IsNaN(v) {
				mk.X, mk.Y = append(mk.X, float64(k)), append(mk.Y, v)
			}
		}
		if len(mk.X) > 0 {
			after.Marks = append(after.Marks, mk)
		}
	}
	f.Panels = append(f.Panels, after)
	stopping := ""
	if s.Seeds[0].ValidationLoss != nil {
		f.Columns, f.Width = 2, 440
		stopping = "Inner group: loss of training pairs that a first training leaves out, here " + innerGroups(s) + ". Its " +
			"lowest point decides after how many epochs the training on all training pairs ends. "
	}
	m.add(plot{
		file: "training", split: s.Name, heading: "Training", fig: f, page: true,
		caption: stopping + "Training pairs: mean loss over the epochs, with dropout. It should have levelled out. " +
			"The β-NLL weighs every pair by its predicted variance to the power of β, so the mean may rise while the " +
			"fit improves: as the network finds out which conditions are noisy, those, with the larger losses, get " +
			"more weight. Held-out pairs: the same loss without dropout, now and then. Where it rises while that of " +
			"the training pairs falls, the network becomes too sure about conditions it has not seen. Held-out pairs " +
			"have no part in the training. Trained: the final networks without weights and dropout, −log of the " +
			"density that the first answer gives to a value in the outcomes' units. Held-out values far above those " +
			"trained on: mean or variance do not hold there.",
	})
}

// innerGroups names the inner groups of the seeds.
func innerGroups(s *SplitDetail) string {
	var names []string
	for _, seed := range s.Seeds {
		if n := clean(seed.InnerGroup); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// lossLine is a line through the losses of epochs that are numbers, thinned.
func (m *maker) lossLine(loss []float64) figure.Mark {
	mk := figure.Mark{Kind: figure.Line, Name: "one line per seed", Thin: true}
	for i, v := range loss {
		if !math.IsNaN(v) {
			mk.X, mk.Y = append(mk.X, float64(i+1)), append(mk.Y, v)
		}
	}
	every := max(1, len(mk.X)/max(1, m.limit))
	n := 0
	for i := range mk.X {
		if i%every == 0 || i == len(mk.X)-1 {
			mk.X[n], mk.Y[n] = mk.X[i], mk.Y[i]
			n++
		}
	}
	mk.X, mk.Y = mk.X[:n], mk.Y[:n]
	return mk
}

// negativeLog is the mean −log density of the outcomes of a part under the normal
// distribution that a seed predicts, NaN without any.
func (m *maker) negativeLog(s *SplitDetail, seed SeedDetail, held bool) float64 {
	d := m.d
	sum, n := 0.0, 0.0
	for i, c := range d.Cond {
		if s.Test[c] != held {
			continue
		}
		for k := range d.dim() {
			mu, v := seed.Mu[c*d.dim()+k], seed.Var[c*d.dim()+k]
			for _, y := range []float64{d.Y1[i*d.dim()+k], d.Y2[i*d.dim()+k]} {
				sum += 0.5*math.Log(2*math.Pi*v) + (y-mu)*(y-mu)/(2*v)
				n++
			}
		}
	}
	return sum / n // 0/0: none
}
