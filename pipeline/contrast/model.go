package contrast

import (
	"context"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/pipeline/predict"
	"doubletake/train/contrast"
)

// model compares the predictions of the calibrated models at the conditions of both sides that are
// within the range of both, corrected by the mean offset of the units. The errors of A and B are taken as independent,
// those of one side at several conditions as equal, and a band as many intervals at once (Bonferroni).
func (c *comparison) model(ctx context.Context) error {
	x := c.places()
	if len(x) == 0 {
		return &fault.Error{Path: c.Dirs[0], Want: "sides whose conditions overlap", Found: "none in common"}
	}

	var now, wide [2]*predict.Recommended
	var units [2][]moved
	var outcomes []predict.Outcome
	for side := range 2 {
		dir := c.Dirs[side%len(c.Dirs)]
		none := &fault.Error{
			Path: dir, Want: "equal conditions on both sides, or a calibrated final model", Found: "neither",
			Hint: "a split {test: none} trains one",
		}

		m, err := predict.Open(dir)
		if err != nil {
			none.Err = err
			return none
		}

		rows, err := c.inputs(m, side, x)
		if err != nil {
			return err
		}

		now[side], err = m.Recommend(ctx, rows, c.Options.Level, true)
		if err == nil && now[side] != nil {
			wide[side], err = m.Recommend(ctx, rows, 1-(1-c.Options.Level)/float64(len(x)), true)
		}

		if err != nil {
			return err
		}

		if now[side] == nil {
			return none
		}

		outcomes = m.Card.Outcomes
		if units[side], err = c.moved(ctx, m, side, outcomes); err != nil {
			return err
		}
	}

	c.note("the sides have no equal conditions: units are moved to common ones by the calibrated model, each by one " +
		"offset; the errors of both sides are taken as independent")

	for j, q := range outcomes {
		if slices.Contains(c.Options.Outcomes, q.Name) {
			c.Result.Outcomes = append(c.Result.Outcomes, c.predicted(x, now, wide, [2]moved{units[0][j], units[1][j]}, j, q))
		}
	}

	return nil
}

// moved is the offsets of the units of a side from the model: their number, mean, and the variance of one.
type moved struct{ n, mean, variance float64 }

// moved takes the offsets of the units of a side, by outcome; of many values a selection.
func (c *comparison) moved(ctx context.Context, m *predict.Models, side int, outcomes []predict.Outcome) (
	[]moved, error,
) {
	var x [][]float64
	var of []row
	for _, r := range c.rows {
		if r.side == side {
			of = append(of, r)
		}
	}

	if n := len(of); n > mostPlaces {
		for i := range mostPlaces {
			of[i] = of[i*n/mostPlaces]
		}
		of = of[:mostPlaces]
	}

	for _, r := range of {
		x = append(x, r.x)
	}

	in, err := c.inputs(m, side, x)
	if err != nil {
		return nil, err
	}

	p, err := m.Recommend(ctx, in, c.Options.Level, true)
	if err != nil {
		return nil, err
	}

	out := make([]moved, len(outcomes))
	for j, q := range outcomes {
		k := slices.Index(c.Options.Outcomes, q.Name)
		if k < 0 {
			continue
		}

		sum, count := map[string]float64{}, map[string]float64{}
		var names []string
		for i, r := range of {
			if d := r.y[k] - p.Mu[i*p.Out+j]; d == d {
				if count[r.unit]++; count[r.unit] == 1 {
					names = append(names, r.unit)
				}
				sum[r.unit] += d
			}
		}

		o := moved{n: float64(len(names))}
		for _, u := range names {
			o.mean += sum[u] / count[u] / o.n
		}

		for _, u := range names {
			d := sum[u]/count[u] - o.mean
			o.variance += d * d / (o.n - 1)
		}
		out[j] = o
	}

	return out, nil
}

// predicted compares an outcome of units that were moved.
func (c *comparison) predicted(x [][]float64, now, wide [2]*predict.Recommended, units [2]moved, j int,
	q predict.Outcome,
) Outcome {
	n := float64(len(x))
	between, unsure := 0.0, 0.0 // variance of the units' means, Σ of its parts' squares over their degrees of freedom
	for side, u := range units {
		if u.n < 2 { // as the other side
			u.variance = units[1-side].variance
			c.note(within)
		}

		if v := u.variance / u.n; v > 0 {
			between, unsure = between+v, unsure+v*v/max(1, u.n-1)
		}
	}

	d, deviation := make([]float64, len(x)), make([]float64, len(x))
	factor, wider := 0.0, 0.0 // of a deviation, for one interval and for a band
	for i := range x {
		k := i*now[0].Out + j
		d[i] = now[1].Mu[k] - now[0].Mu[k] + units[1].mean - units[0].mean
		deviation[i] = math.Sqrt(now[0].Epistemic[k] + now[1].Epistemic[k] + between)
		for side := range 2 {
			u := math.Sqrt(now[side].Total[k])
			factor, wider = max(factor, now[side].Half[k]/u), max(wider, wide[side].Half[k]/u)
		}
	}

	out := Outcome{Name: q.Name, Unit: q.Unit, Curves: []Curve{}}
	se := 0.0
	for i := range x {
		out.Difference += d[i] / n
		se += deviation[i] / n
	}

	df := 1e6
	if unsure > 0 {
		df = min(df, math.Pow(se, 4)/unsure)
	}

	e := contrast.Estimate{Difference: out.Difference, SE: se, DF: df}
	factor = max(factor, e.Within(c.Options.Level).High/se-out.Difference/se)
	wider = max(wider, e.Within(1-(1-c.Options.Level)/n).High/se-out.Difference/se)
	low, high := out.Difference-factor*se, out.Difference+factor*se
	above := e.Above(c.Options.Limit)
	out.SE, out.Low, out.High, out.Above = &se, &low, &high, &above
	out.UnitsA, out.UnitsB = int(units[0].n), int(units[1].n)

	for axis, a := range c.axes {
		curve, count := Curve{Condition: a.name, Unit: a.unit}, map[float64]float64{}
		for i := range x {
			count[x[i][axis]]++
		}

		if len(count) < 2 || len(count) > mostPoints {
			continue
		}

		at := map[float64]*Point{}
		for i := range x {
			v := x[i][axis]
			if at[v] == nil {
				at[v] = &Point{At: v}
			}

			p := at[v]
			p.Difference += d[i] / count[v]
			p.Low += (d[i] - wider*deviation[i]) / count[v]
			p.High += (d[i] + wider*deviation[i]) / count[v]
		}

		for _, p := range at {
			curve.Points = append(curve.Points, *p)
		}

		slices.SortFunc(curve.Points, func(a, b Point) int { return int(math.Copysign(1, a.At-b.At)) })
		out.Curves = append(out.Curves, curve)
	}

	return out
}

// mostPlaces bounds the conditions that models are compared at.
const mostPlaces = 1000

// places are the distinct conditions of both sides within the ranges of both, a selection of many.
func (c *comparison) places() (out [][]float64) {
	low, high := make([]float64, len(c.axes)), make([]float64, len(c.axes))
	for k := range c.axes {
		low[k], high[k] = math.Inf(-1), math.Inf(1)
		for side := range 2 {
			a, b := math.Inf(1), math.Inf(-1)
			for _, r := range c.rows {
				if r.side == side {
					a, b = min(a, r.x[k]), max(b, r.x[k])
				}
			}
			low[k], high[k] = max(low[k], a), min(high[k], b)
		}
	}

	seen := map[string]bool{}
	for _, r := range c.rows {
		inside := !seen[key(r.x)]
		for k, v := range r.x {
			inside = inside && v >= low[k] && v <= high[k]
		}

		if inside {
			seen[key(r.x)] = true
			out = append(out, r.x)
		}
	}

	slices.SortFunc(out, slices.Compare)
	if n := len(out); n > mostPlaces {
		for i := range mostPlaces {
			out[i] = out[i*n/mostPlaces]
		}
		out = out[:mostPlaces]
	}

	return out
}

// inputs are the model's inputs of a side at conditions.
func (c *comparison) inputs(m *predict.Models, side int, x [][]float64) (rows []float64, err error) {
	first := c.rows[slices.IndexFunc(c.rows, func(r row) bool { return r.side == side })]
	for _, t := range c.terms[side] {
		if _, err := m.Input(t.column); err != nil {
			return nil, usage("the sides have no equal conditions, and their models cannot be asked: %v", err)
		}

		if _, err := strconv.ParseFloat(t.value, 64); err != nil {
			return nil, usage("the sides have no equal conditions, and their models want numbers, found %s=%s", t.column,
				t.value)
		}
	}

	for _, at := range x {
		for _, name := range m.InputNames() {
			k := slices.IndexFunc(c.axes, func(q quantity) bool { return q.name == name })
			if k >= 0 {
				rows = append(rows, at[k])
				continue
			}

			if k = slices.IndexFunc(c.all, func(q quantity) bool { return q.name == name }); k < 0 {
				return nil, usage("the model's input %s is no condition of the table", name)
			}

			rows = append(rows, first.all[k])
		}
	}

	return rows, nil
}
