package stages

import (
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/score"
)

// PageData is the output of an experiment's report task that holds its
// report.Detail.
const PageData = "page.gob"

// What the page shows at most; beyond, an even selection (CONTRACT: the page
// stays small whatever the campaign).
const (
	pageConditions = 3000
	pageRows       = 4000
)

// detail makes the plain values of the page from the experiment's tables.
type detail struct {
	b    *builder
	tab  *table.Table // triplets
	d    *report.Detail
	in   []string // names of inputs
	out  []string // names of outcomes
	rows int

	cond  []int          // per row of the table: its distinct condition
	x     []float64      // all distinct conditions
	run   []int          // per row
	keepC map[int]int    // condition → its place in the detail
	rowOf map[string]int // recording → row
}

func newDetail(b *builder, tab *table.Table, outs []string) (*detail, error) {
	d := &detail{b: b, tab: tab, in: b.e.Train.Inputs, out: outs, rows: tab.Rows(), d: &report.Detail{}, keepC: map[int]int{}, rowOf: map[string]int{}}
	if len(d.in) == 0 {
		d.in = b.conditions
	}
	quantity := func(column, name string) report.Quantity {
		c := tab.Column(column)
		return report.Quantity{Name: name, Unit: c.Unit}
	}
	var x [][]float64
	for _, n := range d.in {
		v, err := tab.Floats(n)
		if err != nil {
			return nil, fmt.Errorf("read triplets: %w", err)
		}
		x = append(x, v)
		d.d.Inputs = append(d.d.Inputs, quantity(n, n))
	}
	var y1, y2 [][]float64
	for _, n := range outs {
		a, err1 := tab.Floats(n + "_1")
		c, err2 := tab.Floats(n + "_2")
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read triplets: %w", err)
		}
		y1, y2 = append(y1, a), append(y2, c)
		d.d.Outcomes = append(d.d.Outcomes, quantity(n+"_1", n))
	}
	// Conditions and runs in order of first appearance.
	index := map[string]int{}
	var key []byte
	for i := range d.rows {
		key = key[:0]
		for k := range x {
			key = strconv.AppendFloat(append(key, ','), x[k][i], 'g', -1, 64)
		}
		c, ok := index[string(key)]
		if !ok {
			c = len(index)
			index[string(key)] = c
			for k := range x {
				d.x = append(d.x, x[k][i])
			}
		}
		d.cond = append(d.cond, c)
	}
	conditions := len(index)
	runs := map[string]int{}
	var runNames []string
	for _, r := range tab.Column("run").Strings {
		k, ok := runs[r]
		if !ok {
			k = len(runs)
			runs[r] = k
			runNames = append(runNames, r)
		}
		d.run = append(d.run, k)
	}
	d.d.AllRows, d.d.AllConditions, d.d.Runs = d.rows, conditions, runNames
	// Too many conditions: every so many runs, whole, so that what is shown is
	// shown with all its microphones.
	stride := (conditions + pageConditions - 1) / pageConditions
	if stride > 1 && len(runNames) < 2*stride { // few runs with very many conditions each: thin the conditions
		for c := 0; c < conditions; c += stride {
			d.keepC[c] = -1
		}
	} else {
		for i, c := range d.cond {
			if d.run[i]%max(1, stride) == 0 {
				d.keepC[c] = -1
			}
		}
	}
	var kept []int
	for c := range conditions {
		if _, ok := d.keepC[c]; ok {
			d.keepC[c] = len(kept)
			kept = append(kept, c)
			d.d.X = append(d.d.X, d.x[c*len(d.in):(c+1)*len(d.in)]...)
		}
	}
	perCondition := make([]int, conditions)
	total := 0
	for _, c := range d.cond {
		if _, ok := d.keepC[c]; ok {
			perCondition[c]++
			total++
		}
	}
	every := max(1, (total+pageRows-1)/pageRows)
	seen := make([]int, conditions)
	sum := make([]float64, len(kept)*len(outs))
	recordings := tab.Column("recording").Strings
	anyBound := false
	for i, c := range d.cond {
		at, ok := d.keepC[c]
		if !ok {
			continue
		}
		for k := range outs {
			sum[at*len(outs)+k] += (y1[k][i] + y2[k][i]) / float64(2*perCondition[c])
		}
		seen[c]++
		if (seen[c]-1)%every != 0 {
			continue
		}
		d.rowOf[recordings[i]] = len(d.d.Cond)
		d.d.Cond, d.d.Run = append(d.d.Cond, at), append(d.d.Run, d.run[i])
		for k, n := range outs {
			d.d.Y1, d.d.Y2 = append(d.d.Y1, y1[k][i]), append(d.d.Y2, y2[k][i])
			bound := false
			for _, h := range []string{"_bound_1", "_bound_2"} {
				if c := tab.Column(n + h); c != nil && c.Bools != nil {
					bound = bound || c.Bools[i]
				}
			}
			anyBound = anyBound || bound
			d.d.Bound = append(d.d.Bound, bound)
		}
	}
	d.d.Mean = sum
	if !anyBound {
		d.d.Bound = nil
	}
	d.drift(y1, y2)
	return d, nil
}

// drift collects y2 − y1 per run where the two are halves or repeats in order
// of time; randomly drawn samples have no order.
func (d *detail) drift(y1, y2 [][]float64) {
	if d.b.e.DSP.Triplets != "split-half-spectrum" && d.b.e.DSP.Triplets != "split-halves" || d.b.e.DSP.Couples {
		return
	}
	runs := len(d.d.Runs)
	for k := range d.out {
		n, s, q := make([]float64, runs), make([]float64, runs), make([]float64, runs)
		for i, r := range d.run {
			v := y2[k][i] - y1[k][i]
			n[r]++
			s[r] += v
			q[r] += float64(v * v)
		}
		dr := report.Drift{Outcome: k}
		stride := max(1, runs/600)
		for r := 0; r < runs; r += stride {
			m := s[r] / n[r]
			se := math.NaN()
			if n[r] > 1 {
				se = math.Sqrt(math.Max(0, q[r]-float64(n[r]*m*m))/(n[r]-1)) / math.Sqrt(n[r])
			}
			dr.Run, dr.Mean, dr.SE = append(dr.Run, float64(r+1)), append(dr.Mean, m), append(dr.SE, se)
		}
		d.d.Drift = append(d.d.Drift, dr)
	}
}

// split starts the detail of one split.
func (d *detail) split(s config.Split) *report.SplitDetail {
	d.d.Splits = append(d.d.Splits, report.SplitDetail{Name: s.Name, HeldOut: s.Test.String()})
	return &d.d.Splits[len(d.d.Splits)-1]
}

// seed adds one seed's predictions and training history to a split.
func (d *detail) seed(sp *report.SplitDetail, pred, hist *table.Table, train, test score.Set) error {
	n, outs := len(d.d.X)/len(d.in), len(d.out)
	s := report.SeedDetail{}
	set := pred.Column("set").Strings
	if sp.Test == nil {
		sp.Test = make([]bool, n)
	}
	take := func(dst *[]float64, suffix string) error {
		*dst = make([]float64, n*outs)
		for k, name := range d.out {
			v, err := pred.Floats(name + suffix)
			if err != nil {
				return fmt.Errorf("read predictions: %w", err)
			}
			for i, c := range d.cond {
				if at, ok := d.keepC[c]; ok {
					(*dst)[at*outs+k] = v[i]
				}
			}
		}
		return nil
	}
	if err := errors.Join(take(&s.Mu, "_mu"), take(&s.Var, "_var"), take(&s.Cov, "_cov"), take(&s.Delta, "_delta")); err != nil {
		return err
	}
	for i, c := range d.cond {
		if at, ok := d.keepC[c]; ok && set[i] == "test" {
			sp.Test[at] = true
		}
	}
	loss, err := hist.Floats("loss")
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	s.Loss = loss
	if e := hist.Column("epoch"); e != nil {
		for _, v := range e.Ints {
			s.Epoch = append(s.Epoch, float64(v))
		}
	}
	sp.Seeds = append(sp.Seeds, s)
	if !test.Couples {
		e := score.MeasuredError(test)
		cluster := make([]int, len(e))
		for i := range cluster {
			cluster[i] = test.Run[i/test.Out]
		}
		var bins []report.Bin
		for _, c := range score.CalibrateCov(test.Cov, e, cluster, 0).Bins {
			bins = append(bins, report.Bin{Cov: c.MeanCov, E: c.MeanE, SE: c.SE})
		}
		sp.Bins = append(sp.Bins, bins)
	}
	for i, part := range []score.Set{train, test} {
		sp.Coverage[i].Nominal, sp.Coverage[i].Observed = nominal, append(sp.Coverage[i].Observed, coverage(part))
	}
	return nil
}

// nominal are the probabilities at which coverage is counted.
var nominal = func() []float64 {
	var p []float64
	for k := 1; k < 20; k++ {
		p = append(p, float64(k)/20)
	}
	return append(p, 0.99)
}()

// coverage counts the measured values within μ ± zσ.
func coverage(s score.Set) []float64 {
	out := make([]float64, len(nominal))
	if s.N == 0 {
		return nil
	}
	var z []float64
	for i := range s.Mu {
		sd := math.Sqrt(s.Var[i])
		z = append(z, math.Abs(s.Y1[i]-s.Mu[i])/sd, math.Abs(s.Y2[i]-s.Mu[i])/sd)
	}
	slices.Sort(z)
	for k, p := range nominal {
		limit := math.Sqrt2 * math.Erfinv(p)
		at, _ := slices.BinarySearch(z, math.Nextafter(limit, math.Inf(1)))
		out[k] = float64(at) / float64(len(z))
	}
	return out
}

// curves evaluates the split's models along inputs and over pairs of them.
func (d *detail) curves(ctx context.Context, sp *report.SplitDetail, models []*train.Model) error {
	in := len(d.in)
	values := make([][]float64, in) // distinct values of each input, ascending
	held := make([][]float64, in)   // those of the test part
	for k := range d.in {
		for c := range len(d.d.X) / in {
			v := d.d.X[c*in+k]
			values[k] = append(values[k], v)
			if sp.Test[c] {
				held[k] = append(held[k], v)
			}
		}
		slices.Sort(values[k])
		slices.Sort(held[k])
		values[k], held[k] = slices.Compact(values[k]), slices.Compact(held[k])
	}
	middle := func(v []float64) float64 { return v[len(v)/2] }
	// The held-out rule's own conditions, at the middle of the test part.
	at := make([]float64, in)
	for k := range at {
		at[k] = middle(values[k])
		if len(held[k]) > 0 {
			at[k] = nearest(held[k], middle(values[k]))
		}
	}
	order := make([]int, in) // inputs by number of values, most first
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(values[b]), len(values[a])) })
	angle := slices.IndexFunc(d.in, func(n string) bool { return n == "theta_deg" || n == "phi_deg" })
	if angle < 0 && len(values[order[0]]) > 2 {
		if err := d.profiles(ctx, sp, models, order[0], at, values, held); err != nil {
			return err
		}
	}
	if in < 2 || len(values[order[1]]) < 2 {
		return nil
	}
	type pair struct{ x, y, outcome int }
	pairs := []pair{{order[0], order[1], 0}}
	if in == 2 && len(d.out) > 1 {
		pairs = append(pairs, pair{order[0], order[1], 1})
	}
	if in > 2 && len(values[order[2]]) > 1 {
		pairs = append(pairs, pair{order[0], order[2], 0})
	}
	for i, p := range pairs {
		m := report.Map{XInput: p.x, YInput: p.y, Outcome: p.outcome, At: at}
		m.X, m.Y = span(values[p.x], 24, 0.1), span(values[p.y], 16, 0.1)
		if i > 0 && p.x == pairs[i-1].x && p.y == pairs[i-1].y {
			// Another outcome of the same map: evaluated together below.
			continue
		}
		x := make([]float64, 0, len(m.X)*len(m.Y)*in)
		for _, v := range m.Y {
			for _, u := range m.X {
				row := slices.Clone(at)
				row[p.x], row[p.y] = u, v
				x = append(x, row...)
			}
		}
		sum := make([]float64, len(m.X)*len(m.Y)*len(d.out))
		for _, model := range models {
			_, _, cov, err := answers(ctx, model, x)
			if err != nil {
				return err
			}
			for k, v := range cov {
				sum[k] += v / float64(len(models))
			}
		}
		for _, q := range pairs {
			if q.x != p.x || q.y != p.y {
				continue
			}
			one := m
			one.Outcome = q.outcome
			one.Cov = make([]float64, len(m.X)*len(m.Y))
			for k := range one.Cov {
				one.Cov[k] = sum[k*len(d.out)+q.outcome]
			}
			sp.Maps = append(sp.Maps, one)
		}
	}
	return nil
}

func nearest(list []float64, v float64) float64 {
	best := list[0]
	for _, x := range list {
		if math.Abs(x-v) < math.Abs(best-v) {
			best = x
		}
	}
	return best
}

// span is a grid over the range of v and a fraction of it beyond on each side;
// few whole numbers, such as blade counts, stay themselves.
func span(v []float64, n int, beyond float64) []float64 {
	lo, hi := v[0], v[len(v)-1]
	whole := len(v) <= 8
	for _, x := range v {
		whole = whole && x == math.Trunc(x)
	}
	if whole && hi-lo <= 12 {
		var out []float64
		for x := lo; x <= hi; x++ {
			out = append(out, x)
		}
		return out
	}
	w := hi - lo
	lo, hi = lo-beyond*w, hi+beyond*w
	if v[0] >= 0 {
		lo = math.Max(lo, 0) // speeds and counts do not turn negative
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = lo + (hi-lo)*float64(i)/float64(n-1)
	}
	return out
}

// answers are a model's μ, σ² and C at conditions x, in the outcomes' units.
func answers(ctx context.Context, m *train.Model, x []float64) (mu, variance, cov []float64, err error) {
	est, err := m.Estimate(ctx, x, train.EstimateOptions{Samples: 2})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("evaluate model: %w", err)
	}
	mean, std := m.OutputScale()
	n := len(est.Mu)
	mu, variance, cov = make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		k := i % est.Out
		mu[i] = float64(est.Mu[i]*std[k]) + mean[k]
		variance[i], cov[i] = est.Var[i]*std[k]*std[k], est.Cov[i]*std[k]*std[k]
	}
	return mu, variance, cov, nil
}

// profiles evaluates along input k, the others where something was held out and
// where nothing was.
func (d *detail) profiles(ctx context.Context, sp *report.SplitDetail, models []*train.Model, k int, at []float64, values, held [][]float64) error {
	in := len(d.in)
	places := [][]float64{at}
	if in > 1 { // and a place of the training part: the nearest other values
		other := slices.Clone(at)
		for j := range other {
			if j == k {
				continue
			}
			var free []float64
			for _, v := range values[j] {
				if !slices.Contains(held[j], v) {
					free = append(free, v)
				}
			}
			if len(free) > 0 {
				other[j] = nearest(free, values[j][len(values[j])/2])
			}
		}
		if !slices.Equal(other, at) {
			places = append(places, other)
		}
	}
	grid := span(values[k], 121, 0.15)
	for _, place := range places {
		p := report.Profile{Input: k, At: place, Grid: grid}
		x := make([]float64, 0, len(grid)*in)
		for _, v := range grid {
			row := slices.Clone(place)
			row[k] = v
			x = append(x, row...)
		}
		d.law(&p)
		for _, m := range models {
			mu, variance, cov, err := answers(ctx, m, x)
			if err != nil {
				return err
			}
			p.Mu, p.Var, p.Cov = append(p.Mu, mu), append(p.Var, variance), append(p.Cov, cov)
		}
		// Stretches of neighbouring values that were trained on.
		type point struct {
			v    float64
			test bool
		}
		var here []point
		for c := range len(d.d.X) / in {
			row := d.d.X[c*in : (c+1)*in]
			same := true
			for j := range row {
				same = same && (j == k || row[j] == place[j])
			}
			if same {
				here = append(here, point{row[k], sp.Test[c]})
			}
		}
		slices.SortFunc(here, func(a, b point) int { return cmp.Compare(a.v, b.v) })
		p.HeldOut = len(here) > 0
		for i := 0; i < len(here); {
			if here[i].test {
				i++
				continue
			}
			p.HeldOut = false
			j := i
			for j+1 < len(here) && !here[j+1].test {
				j++
			}
			p.Trained = append(p.Trained, [2]float64{here[i].v, here[j].v})
			i = j + 1
		}
		sp.Profiles = append(sp.Profiles, p)
	}
	return nil
}

// fixed says where inputs stand: "blades = 3, rpm = 5000 1/min".
func fixed(q []report.Quantity, at []float64, but ...int) string {
	var s []string
	for k, v := range q {
		if slices.Contains(but, k) {
			continue
		}
		if v.Name == "blades" {
			s = append(s, strconv.FormatFloat(at[k], 'g', 6, 64)+" blades")
			continue
		}
		t := v.Word() + " " + strconv.FormatFloat(at[k], 'g', 6, 64)
		if v.Unit != "" {
			t += " " + v.Unit
		}
		s = append(s, t)
	}
	return strings.Join(s, ", ")
}

// spectrumPoints is the number of intervals of a reduced spectrum.
const spectrumPoints = 160

// spectra reduces every recording's spectrum and keeps one in full.
func (d *detail) spectra(t *table.Table) error {
	power, half := t.Column("power"), t.Column("half")
	if power == nil || half == nil || power.Lists == nil {
		return nil
	}
	bin, err1 := t.Floats("bin_hz")
	shaft, err2 := t.Floats("shaft_hz")
	blades, err3 := t.Floats("blades")
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("read spectra: %w", err)
	}
	ref, unit := refPa, "dB re 20 µPa"
	switch power.Unit {
	case "Pa²":
	case "full-scale²":
		ref, unit = refFullScale, "dBFS"
	default:
		ref, unit = 1, "dB re 1 "+strings.TrimSuffix(power.Unit, "²")
	}
	level := func(p float64) float64 { return 10 * math.Log10(math.Max(p, 1e-30)/(ref*ref)) }
	recordings := t.Column("recording").Strings
	d.d.Level = make([]float64, len(d.d.Cond))
	for i := range d.d.Level {
		d.d.Level[i] = math.NaN()
	}
	// The recording shown in full: nearest the middle of its campaign.
	best, bestAt := math.Inf(1), -1
	mid := make([]float64, len(d.in))
	for k := range d.in {
		var v []float64
		for c := range len(d.d.X) / len(d.in) {
			v = append(v, d.d.X[c*len(d.in)+k])
		}
		slices.Sort(v)
		mid[k] = v[len(v)/2]
	}
	for i := 0; i+1 < t.Rows(); i += 2 {
		row, ok := d.rowOf[recordings[i]]
		if !ok || recordings[i+1] != recordings[i] {
			continue
		}
		c := d.d.Cond[row]
		at := d.d.X[c*len(d.in) : (c+1)*len(d.in)]
		far := 0.0
		for k := range at {
			far += math.Abs(at[k]-mid[k]) / (1 + math.Abs(mid[k]))
		}
		if far < best {
			best, bestAt = far, i
		}
		a, b := power.Lists[i], power.Lists[i+1]
		harmonics := 1.0
		if l := t.Column("line_hz"); l != nil {
			harmonics = float64(len(l.Lists[i]))
		}
		sp := report.Spectrum{Row: row, ShaftHz: (shaft[i] + shaft[i+1]) / 2}
		sp.ToHz = math.Min((harmonics+0.75)*blades[i]*sp.ShaftHz, bin[i]*float64(len(a)-1))
		width := sp.ToHz / bin[i] / spectrumPoints
		for k := range spectrumPoints {
			lo, hi := int(math.Round(float64(k)*width)), int(math.Round(float64(k+1)*width))
			p := 0.0
			for j := max(1, lo); j < max(hi, lo+1, 2) && j < len(a); j++ { // 0 Hz is left out
				p = math.Max(p, (float64(a[j])+float64(b[j]))/2)
			}
			sp.Peak = append(sp.Peak, float32(level(p)))
		}
		if l := t.Column("line_hz"); l != nil {
			for m := range l.Lists[i] {
				sp.Line = append(sp.Line, (l.Lists[i][m]+l.Lists[i+1][m])/2)
			}
		}
		sum := 0.0
		for j := 1; j < len(a) && j < len(b); j++ {
			// The bins of a Hann window hold 1.5 times the power between them.
			sum += (float64(a[j]) + float64(b[j])) / 2 / 1.5
		}
		d.d.Level[row] = level(sum)
		d.d.Spectra = append(d.d.Spectra, sp)
	}
	if bestAt >= 0 {
		d.shown(t, bestAt, unit, level)
	}
	return nil
}

func (d *detail) shown(t *table.Table, i int, unit string, level func(float64) float64) {
	bin, _ := t.Floats("bin_hz")
	shaft, _ := t.Floats("shaft_hz")
	blades, _ := t.Floats("blades")
	row := d.rowOf[t.Column("recording").Strings[i]]
	c := d.d.Cond[row]
	s := &report.SpectrumDetail{
		Recording: t.Column("recording").Strings[i], Unit: unit, BinHz: bin[i],
		Fixed: fixed(d.d.Inputs, d.d.X[c*len(d.in):(c+1)*len(d.in)]),
	}
	list := func(name string, i int) []float32 {
		if c := t.Column(name); c != nil && c.Lists != nil {
			return c.Lists[i]
		}
		return nil
	}
	var both []float64
	for h := range 2 {
		p := t.Column("power").Lists[i+h]
		s.Shaft[h] = shaft[i+h]
		s.Level[h] = make([]float64, len(p))
		if both == nil {
			both = make([]float64, len(p))
		}
		for k, v := range p {
			s.Level[h][k] = level(float64(v))
			both[k] += float64(v) / 2 / 1.5
		}
		hz, lp, fl := list("line_hz", i+h), list("line_power", i+h), list("floor", i+h)
		slo, shi, blo, bhi := list("search_lo", i+h), list("search_hi", i+h), list("band_lo", i+h), list("band_hi", i+h)
		for m := range hz {
			s.Lines[h] = append(s.Lines[h], report.SpectrumLine{
				Order: float64(m + 1), Hz: float64(hz[m]), Level: level(float64(lp[m])), Floor: level(float64(fl[m])),
				Search: [2]float64{float64(slo[m]) * bin[i], float64(shi[m]) * bin[i]}, Band: [2]float64{float64(blo[m]) * bin[i], float64(bhi[m]) * bin[i]},
			})
		}
		order, ohz, op := list("shaft_order", i+h), list("shaft_order_hz", i+h), list("shaft_order_power", i+h)
		for m := range order {
			s.Orders[h] = append(s.Orders[h], report.SpectrumLine{Order: float64(order[m]), Hz: float64(ohz[m]), Level: level(float64(op[m])), Floor: math.NaN()})
		}
	}
	// Cut where the last harmonic's neighbourhood ends; the rest is in
	// spectra.arrow.
	last := 0.0
	for _, l := range s.Lines[0] {
		last = math.Max(last, l.Hz)
	}
	if n := int((last + 0.75*blades[i]*s.Shaft[0]) / bin[i]); last > 0 && n < len(s.Level[0]) {
		s.Level[0], s.Level[1] = s.Level[0][:n], s.Level[1][:n]
	}
	// One-third-octave bands of base ten (IEC 61260): edges 10^((k ∓ ½)/10);
	// a bin's power is shared by the bands it overlaps.
	for k := 10; ; k++ {
		lo, hi := math.Pow(10, (float64(k)-0.5)/10), math.Pow(10, (float64(k)+0.5)/10)
		if hi > bin[i]*(float64(len(both))-0.5) || k > 60 {
			break
		}
		if lo < bin[i]/2 || hi-lo < 2*bin[i] {
			continue
		}
		sum := 0.0
		for j := max(1, int(lo/bin[i]-0.5)); j < len(both) && (float64(j)-0.5)*bin[i] < hi; j++ {
			a, b := (float64(j)-0.5)*bin[i], (float64(j)+0.5)*bin[i]
			if w := math.Min(hi, b) - math.Max(lo, a); w > 0 {
				sum += both[j] * w / bin[i]
			}
		}
		s.Third = append(s.Third, report.ThirdOctave{Lo: lo, Hi: hi, Centre: math.Pow(10, float64(k)/10), Level: level(sum)})
	}
	d.d.Shown = s
}

// quality collects what recordings.arrow says of the data.
func (d *detail) quality(recs *table.Table, bounds, levels int) {
	add := func(name, value string) { d.d.Quality = append(d.d.Quality, report.Fact{Name: name, Value: value}) }
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	exact := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	n := recs.Rows()
	add("recordings", strconv.Itoa(n))
	if c := recs.Column("sha256"); c != nil {
		files := slices.Clone(c.Strings)
		slices.Sort(files)
		add("raw files", strconv.Itoa(len(slices.Compact(files))))
	}
	over := func(column, name, unit string, list bool) {
		c := recs.Column(column)
		if c == nil || c.Floats == nil {
			return
		}
		var v []float64
		for _, x := range c.Floats {
			if !math.IsNaN(x) {
				v = append(v, x)
			}
		}
		if len(v) == 0 {
			return
		}
		slices.Sort(v)
		write := number
		if list {
			write = exact
		}
		text := write(v[0])
		if v[0] != v[len(v)-1] {
			text = write(v[0]) + " to " + write(v[len(v)-1])
			if !list {
				text += ", median " + number(v[len(v)/2])
			}
		}
		add(name, strings.TrimSpace(text+" "+unit))
	}
	over("rate_hz", "sampling rate", "Hz", true)
	over("duration_s", "duration of a run", "s", true)
	unit := ""
	if c := recs.Column("unit"); c != nil && n > 0 {
		u := slices.Clone(c.Strings)
		slices.Sort(u)
		unit = strings.Join(slices.Compact(u), ", ")
		if unit != "" {
			add("unit of the samples", unit)
		}
	}
	over("rms", "root mean square of a recording", unit, false)
	if c := recs.Column("calibration"); c != nil {
		how := slices.Clone(c.Strings)
		slices.Sort(how)
		how = slices.DeleteFunc(slices.Compact(how), func(s string) bool { return s == "" })
		const most = 20
		for i, h := range how {
			if i == most {
				add("calibration", fmt.Sprintf("… and %d more, in recordings.arrow", len(how)-most))
				break
			}
			add("calibration", h)
		}
	}
	over("integral_time_s", "integral time scale of the balance's channels", "s", false)
	over("calibrator_spread_db", "spread of the calibrator's level", "dB", false)
	if c := recs.Column("clipped"); c != nil && c.Ints != nil {
		k := 0
		for _, v := range c.Ints {
			if v > 0 {
				k++
			}
		}
		add("recordings with clipped samples", fmt.Sprintf("%d of %d", k, n))
	}
	if levels > 0 {
		add("levels under the emergence limit (upper bounds)", fmt.Sprintf("%d of %d (%.1f %%)", bounds, levels, 100*float64(bounds)/float64(levels)))
	}
	for k, name := range d.out {
		var v []float64
		for _, h := range []string{"_sd_1", "_sd_2"} {
			if c := d.tab.Column(name + h); c != nil {
				for _, x := range c.Floats {
					if !math.IsNaN(x) {
						v = append(v, x)
					}
				}
			}
		}
		if len(v) > 0 {
			slices.Sort(v)
			add("predicted standard deviation of "+d.d.Outcomes[k].Word()+", median", number(v[len(v)/2])+" dB")
		}
	}
}

// provenance collects settings and digests.
func (d *detail) provenance(j *engine.Job, deps []engine.Dep, sections ...[]engine.KV) {
	for _, s := range sections {
		for _, kv := range s {
			d.d.Config = append(d.d.Config, report.Fact{Name: kv.Key, Value: kv.Value})
		}
	}
	for _, dep := range deps {
		switch dep.Output {
		case "triplets.arrow", "spectra.arrow", "recordings.arrow", "predictions.arrow":
			name := dep.Output
			if dep.Output == "predictions.arrow" {
				name = strings.TrimPrefix(dep.Task, d.b.e.Name+"/train/") + " " + name
			}
			d.d.Digests = append(d.d.Digests, report.Fact{Name: name, Value: j.InputDigest(dep.Task, dep.Output)})
		}
	}
}

func readModel(path string) (*train.Model, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	m := &train.Model{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("read model %s: %w", path, err)
	}
	return m, nil
}

func writeFigureFiles(j *engine.Job, list []report.FigureFile) error {
	if err := os.MkdirAll(j.Output("figures"), 0o755); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	for _, f := range list {
		name := filepath.Join(j.Output("figures"), f.File)
		if err := errors.Join(os.WriteFile(name+".svg", f.SVG, 0o644), os.WriteFile(name+".csv", f.CSV, 0o644)); err != nil {
			return fmt.Errorf("write figures: %w", err)
		}
	}
	return nil
}

// law adds what the toy's data were made with, which is known in closed form.
func (d *detail) law(p *report.Profile) {
	t := d.toy()
	if t == nil || len(d.out) != 1 {
		return
	}
	for _, x := range p.Grid {
		p.TrueMean, p.TrueSigma = append(p.TrueMean, simulate.ToyMean(x)), append(p.TrueSigma, simulate.ToySigma(x, t.Gamma))
	}
}

// toy is the campaign when the experiment is the toy, else nil.
func (d *detail) toy() *simulate.Toy {
	if t, ok := d.b.campaign.(simulate.Toy); ok {
		t = t.WithDefaults()
		return &t
	}
	return nil
}

// writeFigures draws the experiment's figures as files and keeps what the page
// is made of.
func writeFigures(j *engine.Job, d *report.Detail) error {
	if err := writeFigureFiles(j, report.Figures(d)); err != nil {
		return err
	}
	f, err := os.Create(j.Output(PageData))
	if err != nil {
		return fmt.Errorf("write page data: %w", err)
	}
	if err := errors.Join(gob.NewEncoder(f).Encode(d), f.Close()); err != nil {
		return fmt.Errorf("write page data: %w", err)
	}
	return nil
}

// ReadDetail reads what an experiment's report task kept for the page.
func ReadDetail(path string) (*report.Detail, error) { return readDetail(path) }

func readDetail(path string) (*report.Detail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open page data: %w", err)
	}
	defer f.Close()
	d := &report.Detail{}
	if err := gob.NewDecoder(f).Decode(d); err != nil {
		return nil, fmt.Errorf("read page data %s: %w", path, err)
	}
	return d, nil
}
