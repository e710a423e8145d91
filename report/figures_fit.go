package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
	"doubletake/train/numbers"
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
			Shape: []string{"square", ""}[i], Size: 2,
		}

		for k, z := range c.Nominal {
			lo, hi, mean := spread(c.Observed, k)
			b.Between(z, lo, hi)
			b.Y = append(b.Y, mean)
		}

		if len(c.Observed) > 0 {
			p.Marks = append(p.Marks, b)
		}
	}

	f.Panels = append(f.Panels, p)

	words := map[string]any{"Couples": d.Experiment.Couples}
	if e, lost := m.bins(s); e != nil {
		f.Panels = append(f.Panels, *e)
		words["Bins"], words["Lost"] = len(slices.Concat(s.Bins...)), lost
	} else {
		f.Columns, f.Width = 1, 420
	}

	m.add(plot{
		kind: "calibration", split: s.Name, heading: "Calibration", caption: text("figure-calibration", words), fig: f,
		page: true,
	})
}

// spread is the range and the mean over seeds of the k-th number, NaN without any.
func spread(seeds [][]float64, k int) (lo, hi, mean float64) {
	var of []float64

	sum := 0.0
	for _, s := range seeds {
		if k < len(s) {
			of, sum = append(of, s[k]), sum+s[k]
		}
	}

	if len(of) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}

	return slices.Min(of), slices.Max(of), sum / float64(len(of))
}

// bins draws the covariance against the measured error: the bins of every seed, and
// the median over the seeds of each bin. lost bins have no place on the axes.
func (m *maker) bins(s *SplitDetail) (p *figure.Panel, lost int) {
	all := slices.Concat(s.Bins...)
	if len(all) == 0 {
		return nil, 0
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

		mark.Between(b.Cov, low, b.E+se)

		mark.Y = append(mark.Y, b.E)
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
			median.Point(b.Cov, b.E)
		}
	}

	axis := func(of string) figure.Axis {
		return figure.Axis{Label: "mean " + of + " of the bin (standardised)", Log: log, Min: a, Max: z}
	}
	claimed := figure.Mark{
		Kind: figure.Line, Name: "as claimed", Class: "grey", Dashed: true, X: []float64{a, z}, Y: []float64{a, z},
	}

	return &figure.Panel{
		Title: "Claim: C against the error e", Square: true, X: axis("C"), Y: axis("e"),
		Marks: append([]figure.Mark{claimed, mark}, known(median, missing)...),
	}, len(missing.X) + len(missing.Y)
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
	mu := s.answers().mu
	parts := s.heldOut(d.conditions(), func(c int) int { return c })
	all := len(parts[0]) + len(parts[1])
	trained := len(parts[1]) == 0

	for i := range parts {
		parts[i] = thin(parts[i], m.limit)
	}

	n := min(parityOutcomes, d.dim())
	f := &figure.Figure{Columns: min(3, n), Width: 720, Stacked: true}
	if n == 1 {
		f.Width = 420
	}

	for first := 0; first < n; first += f.Columns {
		above, below := make([]figure.Panel, f.Columns), make([]figure.Panel, f.Columns)
		for k := first; k < min(n, first+f.Columns); k++ {
			above[k-first], below[k-first] = m.parityPanels(s, k, parts, mu)
		}

		f.Panels = slices.Concat(f.Panels, above, below)
	}

	shown := len(parts[0]) + len(parts[1])
	caption := text("figure-parity", map[string]any{
		"Data": d.data(), "Seeds": len(s.Seeds), "RMSE": !d.Experiment.Couples && !trained,
		"Selected": shown < all || d.AllConditions > d.conditions(), "Shown": shown, "Conditions": d.AllConditions,
		"N": n, "Outcomes": d.dim(),
	})

	m.add(plot{
		kind: "parity", split: s.Name, heading: "Predicted and " + d.data() + " outcome", caption: caption, fig: f,
		page: true,
	})
}

// parityPanels are the panel of outcome k and the strip of its residuals, of conditions
// trained on and held out.
func (m *maker) parityPanels(s *SplitDetail, k int, parts [2][]int, mu []float64) (above, below figure.Panel) {
	d := m.d
	q := d.Outcomes[k]

	held := "held out"
	if e := m.rmse(s, k); e > 0 {
		held = strings.TrimSpace(fmt.Sprintf("held out, RMSE %s %s", number2(e), q.difference()))
	}

	styles := [2]figure.Mark{
		{Kind: figure.Points, Name: "trained on", Class: "train", Size: 1.5},
		{Kind: figure.Points, Name: held, Class: "test", Shape: "ring", Size: 2},
	}

	lo, hi, most := math.Inf(1), math.Inf(-1), 0.0

	var marks, strip []figure.Mark
	for i, mk := range styles {
		r := mk
		r.Name, r.Quiet = "residual, "+[]string{"trained on", "held out"}[i], true
		for _, c := range parts[i] {
			x, y := mu[c*d.dim()+k], d.Mean[c*d.dim()+k]
			mk.Point(x, y)
			r.Point(x, y-x)
			lo, hi, most = min(lo, x, y), max(hi, x, y), max(most, math.Abs(y-x))
		}

		marks, strip = append(marks, known(mk)...), append(strip, known(r)...)
	}

	if !(hi >= lo) {
		return figure.Panel{}, figure.Panel{}
	}

	w := math.Max(0.04*(hi-lo), 1e-12+1e-6*math.Abs(hi))
	axis := figure.Axis{Min: lo - w, Max: hi + w}
	x, y := axis, axis
	y.Label = in(d.data()+" mean", clean(q.Unit))
	ends := []float64{lo - w, hi + w}
	equal := figure.Mark{Kind: figure.Line, Name: "equal", Class: "grey", Dashed: true, X: ends, Y: ends}
	above = figure.Panel{Title: q.Word(), X: x, Y: y, Square: true, Marks: append([]figure.Mark{equal}, marks...)}
	x.Label = in("predicted mean μ", clean(q.Unit))
	below = figure.Panel{X: x, Y: figure.Axis{Label: in("residual", q.difference())}, Height: 80}
	if most = 1.08*most + 1e-12; !math.IsInf(most, 0) {
		below.Y.Min, below.Y.Max = -most, most
	}

	below.Marks = append([]figure.Mark{zero()}, strip...)

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
	decimals := numbers.Decimals(v, 2)
	if decimals > 6 || decimals < -5 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}

	return numbers.Fixed(v, max(0, decimals))
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

	parts := []figure.Mark{
		{Kind: figure.Points, Name: "pairs trained on", Class: "train", Shape: "square", Size: 3},
		{Kind: figure.Points, Name: "held-out pairs", Class: "test", Size: 3},
	}

	for i := range parts {
		for k, seed := range s.Seeds {
			if v := m.negativeLog(s, seed, i == 1); !math.IsNaN(v) {
				parts[i].Point(float64(k), v)
			}
		}
	}

	after.Marks = known(parts...)
	f.Panels = append(f.Panels, after)

	stopped := s.Seeds[0].ValidationLoss != nil
	if stopped {
		f.Columns, f.Width = 2, 440
	}

	m.add(plot{
		kind: "training", split: s.Name, heading: "Training", fig: f, page: true,
		caption: text("figure-training", map[string]any{"Stopped": stopped, "Inner": innerGroups(s)}),
	})
}

// innerGroups names the inner groups of the seeds.
func innerGroups(s *SplitDetail) string {
	var names []string
	for _, seed := range s.Seeds {
		names = append(names, clean(seed.InnerGroup))
	}

	slices.Sort(names)

	return strings.Join(slices.Compact(names), ", ")
}

// lossLine is a line through the losses of epochs that are numbers, thinned.
func (m *maker) lossLine(loss []float64) figure.Mark {
	mk := figure.Mark{Kind: figure.Line, Name: "one line per seed", Thin: true}

	var epochs []int
	for i, v := range loss {
		if !math.IsNaN(v) {
			epochs = append(epochs, i)
		}
	}

	every := max(1, len(epochs)/max(1, m.limit))
	for k, i := range epochs {
		if k%every == 0 || k == len(epochs)-1 {
			mk.Point(float64(i+1), loss[i])
		}
	}

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
