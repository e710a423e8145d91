package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
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
		if !inside(b) {
			lost++
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
		Marks: append([]figure.Mark{claimed, mark}, known(median)...),
	}, lost
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

		out = append(out, Bin{Cov: lists.Median(c), E: lists.Median(e)})
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

// most outcomes that one figure shows
const parityOutcomes = 6

// parity draws the means of the outcomes against predicted ones, a square panel each.
func (m *maker) parity(s *SplitDetail) {
	d := m.d
	mu, _ := s.answers()
	parts := s.heldOut(d.conditions(), func(c int) int { return c })
	all := len(parts[0]) + len(parts[1])
	trained := len(parts[1]) == 0

	for i := range parts {
		parts[i] = thin(parts[i], m.limit)
	}

	n := min(parityOutcomes, d.dim())
	f := &figure.Figure{Columns: min(3, n), Width: 720}
	if n == 1 {
		f.Width = 420
	}

	f.Panels = lists.Make(n, func(k int) figure.Panel { return m.parityPanel(s, k, parts, mu) })
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

// parityPanel is the panel of outcome k, of conditions trained on and held out.
func (m *maker) parityPanel(s *SplitDetail, k int, parts [2][]int, mu []float64) figure.Panel {
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

	lo, hi := math.Inf(1), math.Inf(-1)

	var marks []figure.Mark
	for i, mk := range styles {
		for _, c := range parts[i] {
			x, y := mu[c*d.dim()+k], d.Mean[c*d.dim()+k]
			mk.Point(x, y)
			lo, hi = min(lo, x, y), max(hi, x, y)
		}

		marks = append(marks, known(mk)...)
	}

	if !(hi >= lo) {
		return figure.Panel{}
	}

	w := math.Max(0.04*(hi-lo), 1e-12+1e-6*math.Abs(hi))
	axis := func(of string) figure.Axis {
		return figure.Axis{Label: in(of, clean(q.Unit)), Min: lo - w, Max: hi + w}
	}
	ends := []float64{lo - w, hi + w}
	equal := figure.Mark{Kind: figure.Line, Name: "equal", Class: "grey", Dashed: true, X: ends, Y: ends}

	return figure.Panel{
		Title: q.Word(), X: axis("predicted mean μ"), Y: axis(d.data() + " mean"), Square: true,
		Marks: append([]figure.Mark{equal}, marks...),
	}
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
