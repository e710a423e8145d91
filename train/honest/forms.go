package honest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// formProcess is a process of a form that takes and returns numbers in the data's own units.
type formProcess struct {
	form  *form.Form
	in    int
	model *gp.Model
	x     []float64 // training rows; nil after reading a stored model
}

// fitForm fits a process to the rows in a form.
func (r ProcessRows) fitForm(ctx context.Context, o gp.Options) (*formProcess, error) {
	p := &formProcess{form: r.form, in: r.Set.In, x: r.Set.X}
	d := r.Set
	d.In = len(r.form.Columns)

	var err error
	if d.X, err = r.form.X(r.Set.X, r.Set.In); err != nil {
		return nil, err
	}

	if d.SetPoints != nil {
		if d.SetPoints, err = r.form.X(d.SetPoints, r.Set.In); err != nil {
			return nil, err
		}
	}

	d.Y1, d.Y2 = slices.Clone(d.Y1), slices.Clone(d.Y2)
	for k, f := range r.form.LnFactors(r.Set.X, r.Set.In) {
		d.Y1[k] *= math.Exp(-f)
		d.Y2[k] *= math.Exp(-f)
	}

	o.GroupInputs = nil
	for k, c := range r.form.Columns {
		if slices.ContainsFunc(r.GroupInputs, c.Uses) {
			o.GroupInputs = append(o.GroupInputs, k)
		}

		if c.Slope {
			o.SlopeOnly = append(o.SlopeOnly, k)
		}
	}

	p.model, err = gp.Fit(ctx, d, o)

	return p, err
}

// back maps predictions at x from the form to the data's own units, in place.
func (p *formProcess) back(x, mu, claim, noise []float64) {
	for k, f := range p.form.LnFactors(x, p.in) {
		mu[k] *= math.Exp(f)
		claim[k] *= math.Exp(2 * f)
		noise[k] *= math.Exp(2 * f)
	}
}

func (p *formProcess) Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error) {
	z, err := p.form.X(x, p.in)
	if err != nil {
		return nil, nil, nil, err
	}

	if mu, claim, noise, err = p.model.Predict(ctx, z); err == nil {
		p.back(x, mu, claim, noise)
	}

	return mu, claim, noise, err
}

func (p *formProcess) LeaveOut(ctx context.Context, rows []int) (mu, claim, noise []float64, err error) {
	x := p.x
	if rows != nil {
		x = pick(p.x, p.in, rows)
	}

	if mu, claim, noise, err = p.model.LeaveOut(ctx, rows); err == nil {
		p.back(x, mu, claim, noise)
	}

	return mu, claim, noise, err
}

// ClaimWith is gp.Model's.
func (p *formProcess) ClaimWith(ctx context.Context, added, pairs []float64, counts []int, x []float64) ([][]float64,
	error,
) {
	a, err := p.form.X(added, p.in)
	if err != nil {
		return nil, err
	}

	z, err := p.form.X(x, p.in)
	if err != nil {
		return nil, err
	}

	claims, err := p.model.ClaimWith(ctx, a, pairs, counts, z)
	if err != nil {
		return nil, err
	}

	for k, f := range p.form.LnFactors(x, p.in) {
		for _, c := range claims {
			c[k] *= math.Exp(2 * f)
		}
	}

	return claims, nil
}

// Size of the screen that decides which forms are fitted in full.
const (
	screenRows  = 80
	screenSteps = 25
	screenKeeps = 3
)

// candidate is a form under test; base is nil where it cannot be fitted.
type candidate struct {
	score form.Score
	rows  ProcessRows
	model *Model
	base  fittedProcess
}

// quantities are the columns of a set with the dimensions of their units. values is nil for
// outcomes, of which the sign does not matter.
func (l Learner) quantities(list []triplets.Quantity, values []float64) (out []form.Quantity) {
	for k, q := range list {
		out = append(out, form.Quantity{
			Name: q.Name, Dimension: l.Dimension(q), Positive: values != nil && positive(values, len(list), k),
		})
	}

	return out
}

// candidates lists the forms that a set can have, the one that it has anyway first. The
// harmonics of a rotor have the order form or none.
func (l Learner) candidates(s triplets.Set, g Grouping, rows []int) (list []*candidate) {
	usual := &candidate{score: form.Score{Name: form.Raw}, rows: l.ProcessRows(s, g, rows)}
	list = append(list, usual)
	if usual.rows.Orders != nil {
		usual.score.Name = "order"
		l.Form = "conditions"

		return append(list, &candidate{score: form.Score{Name: form.Raw}, rows: l.ProcessRows(s, g, rows)})
	}

	for _, f := range form.List(l.quantities(s.Inputs, s.X), l.quantities(s.Outcomes, nil)) {
		same := func(c form.Column, log bool) bool { return log == (c.Powers != nil) }
		if f.Name == "log" && slices.EqualFunc(f.Columns, usual.rows.Logarithm, same) {
			continue // the inputs are logarithms anyway
		}

		r := usual.rows
		r.Set.X, r.Logarithm, r.form = pick(s.X, s.In, rows), nil, &f
		list = append(list, &candidate{score: form.Score{Name: f.Name, Formula: f.Formula}, rows: r})
	}

	return list
}

// fitForm fits the process in the form that Learner.Represent asks for.
func (l Learner) fitForm(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held) (*Model,
	fittedProcess, error,
) {
	if l.Represent == "" || l.Represent == form.Raw {
		return l.ProcessRows(s, g, train).fit(ctx)
	}

	list := l.candidates(s, g, train)
	choice := &form.Choice{Asked: l.Represent, Groups: len(held)}
	at := 0
	switch {
	case l.Represent != form.Auto:
		at = slices.IndexFunc(list, func(c *candidate) bool { return c.score.Name == l.Represent })
		if at < 0 {
			return nil, nil, fmt.Errorf("train.form: expected raw, auto or one of %s, which the units of the inputs "+
				"and outcomes allow, found %s", strings.Join(names(list), ", "), l.Represent)
		}

	case len(held) >= scale.MinGroups && len(list) > 1:
		var err error
		if at, err = l.choose(ctx, s, g, train, held, list, choice); err != nil {
			return nil, nil, err
		}
	} // else nothing to choose by: the form that it has anyway

	c := list[at]
	if c.model == nil {
		var err error
		if c.model, c.base, err = c.rows.fit(ctx); err != nil {
			return nil, nil, err
		}
	}

	choice.Chosen, choice.Form = c.score.Name, c.rows.form
	c.model.Representation = choice

	return c.model, c.base, nil
}

func names(list []*candidate) (out []string) {
	for _, c := range list {
		out = append(out, c.score.Name)
	}
	return out
}

// choose scores the forms by a screen, the best of them and the first in full, and applies the
// rule of package form.
func (l Learner) choose(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, list []*candidate,
	choice *form.Choice,
) (int, error) {
	full := list
	if len(list) > screenKeeps+1 {
		screened, err := l.screen(ctx, s, g, train, held, list)
		if err != nil {
			return 0, err
		}

		choice.Screen = len(list)
		full = append([]*candidate{list[0]}, screened[:screenKeeps]...)
	}

	for _, c := range full {
		if err := l.score(ctx, s, g, train, held, c); err != nil {
			return 0, err
		}

		c.score.Full = c.base != nil
		choice.Fits++
	}

	relative(full)

	var scores []form.Score
	for _, c := range list {
		scores = append(scores, c.score)
	}

	choice.Tried = scores
	for _, k := range scores {
		if math.IsInf(k.Evidence, 0) || math.IsNaN(k.Evidence) {
			choice.Tried = scores[:1]
		}
	}

	return form.Choose(scores, len(held)), nil
}

// screen scores all forms with few conditions and steps, and returns those other than the
// first by falling evidence.
func (l Learner) screen(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, list []*candidate) (
	[]*candidate, error,
) {
	for _, c := range list {
		c.rows.hyperRows, c.rows.steps = screenRows, screenSteps
		if err := l.score(ctx, s, g, train, held, c); err != nil {
			return nil, err
		}

		c.rows.hyperRows, c.rows.steps = 0, 0
	}

	relative(list)
	sorted := slices.Clone(list[1:])
	slices.SortStableFunc(sorted, func(a, b *candidate) int { return cmp.Compare(b.score.Evidence, a.score.Evidence) })

	return sorted, nil
}

// hintConditions bounds what a process may have been trained on for a hint to cost little.
const hintConditions = 600

// hint screens the forms that divide outcomes, where no form is asked for. It is nil unless one of
// them would win by more than form.FewMargin.
func (l Learner) hint(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, m *Model) (*form.Hint,
	error,
) {
	if l.Represent != "" || l.Dimension == nil || m.Orders != nil || len(held) < scale.MinGroups ||
		m.Process.Conditions() > hintConditions {
		return nil, nil
	}

	list := l.candidates(s, g, train)
	list = slices.DeleteFunc(list, func(c *candidate) bool {
		return c.score.Name != form.Raw && (c.rows.form == nil || !c.rows.form.Divides())
	})

	if len(list) < 2 {
		return nil, nil
	}

	sorted, err := l.screen(ctx, s, g, train, held, list)
	if err != nil {
		return nil, err
	}

	best := sorted[0]
	if e := best.score.Evidence; !(e > form.FewMargin) || math.IsInf(e, 0) || best.score.Error > 1 {
		return nil, nil
	}

	h := &form.Hint{Condition: g.Condition, Groups: len(held), Score: best.score}
	for k, p := range best.rows.form.Powers {
		if p != nil {
			h.Outcomes = append(h.Outcomes, strings.TrimSpace(s.Outcomes[k].Name+" "+s.Outcomes[k].Unit))
		}
	}

	return h, nil
}

// relative states evidence and error against those of the first.
func relative(list []*candidate) {
	raw := list[0].score
	for _, c := range list {
		c.score.Evidence -= raw.Evidence
		c.score.Error /= raw.Error
	}
}

// score fits a form and sets its evidence and its error on the left-out groups. A form that
// cannot be fitted has no chance.
func (l Learner) score(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, c *candidate) error {
	var err error
	if c.model, c.base, err = c.rows.fit(ctx); err != nil {
		return err
	}

	c.score.Evidence, c.score.Error = math.Inf(-1), math.Inf(1)
	if c.base == nil {
		return nil
	}

	left, held, err := leaveOut(ctx, s, g, train, held, c.model, c.base)
	if err != nil {
		return err
	}

	c.score.Evidence, c.score.Error = l.evidence(s, train, left, held, c.rows.form)

	return nil
}

// evidence returns the logarithm of the evidence of the left-out groups, as a density of
// the outcomes in their own unit, and the rms error of the mean in training deviations.
// The scale of the errors is learned of the outcomes as the form has them.
func (l Learner) evidence(s triplets.Set, train []int, left []LeftOut, held []Held, f *form.Form) (ln, rms float64) {
	factor := make([]float64, s.N*s.Out)
	if f != nil {
		factor = f.LnFactors(s.X, s.In)
	}

	z := s
	z.Y1, z.Y2 = divided(s.Y1, factor, 1), divided(s.Y2, factor, 1)
	_, own := spread(s, train, nil)
	_, std := spread(z, train, nil)

	var groups []scale.Group
	mapped, n := make([]LeftOut, len(left)), 0.0
	for h, o := range left {
		for k, mu := range o.Mu {
			d := ((o.Y1[k]+o.Y2[k])/2 - mu) / own[k%s.Out]
			rms += d * d
			n++
		}

		by := pick(factor, s.Out, held[h].Rows)
		for k, v := range by {
			ln -= v / float64(len(held[h].Rows))
			if k < s.Out {
				ln -= math.Log(std[k])
			}
		}

		o.Mu, o.Claim, o.Noise = divided(o.Mu, by, 1), divided(o.Claim, by, 2), divided(o.Noise, by, 2)
		o.Y1, o.Y2 = divided(o.Y1, by, 1), divided(o.Y2, by, 1)
		mapped[h] = o
		groups = append(groups, o.group(std))
	}

	learned, _ := scale.Learn(groups, s.Out, l.ScalePrior(), pairNoise(mapped))

	return ln + learned.LogEvidence, math.Sqrt(rms / n)
}

// divided returns v·exp(−power·ln).
func divided(v, ln []float64, power float64) []float64 {
	out := make([]float64, len(v))
	for k := range v {
		out[k] = v[k] * math.Exp(-power*ln[k])
	}

	return out
}
