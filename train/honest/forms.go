package honest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// inForm is a form of conditions of so many inputs.
type inForm struct {
	*form.Form
	in int
}

func (f inForm) X(x []float64) ([]float64, error) { return f.Form.X(x, f.in) }
func (f inForm) Each() int                        { return 1 }
func (f inForm) LnFactors(x []float64) []float64  { return f.Form.LnFactors(x, f.in) }

// logForm marks the inputs that enter as their logarithm.
type logForm []bool

func (logForm) Each() int                     { return 1 }
func (logForm) LnFactors([]float64) []float64 { return nil }

func (f logForm) X(x []float64) ([]float64, error) {
	out := slices.Clone(x)
	for i := range out {
		if f[i%len(f)] {
			out[i] = math.Log(out[i])
		}
	}

	return out, nil
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
	rows  processRows
	model *Model
	base  *gp.Mapped
}

// quantities are the columns of a set with the dimensions of their units. values is nil for
// outcomes, of which the sign does not matter.
func (l Learner) quantities(list []triplets.Quantity, values []float64) []form.Quantity {
	return lists.Make(len(list), func(k int) form.Quantity {
		positive := values != nil && positive(values, len(list), k)
		return form.Quantity{Name: list[k].Name, Dimension: l.Dimension(list[k]), Positive: positive}
	})
}

// candidates lists the forms that a set can have, the one that it has anyway first. The
// harmonics of a rotor have the order form or none.
func (l Learner) candidates(s triplets.Set, g Grouping, rows []int) (list []*candidate) {
	usual := &candidate{score: form.Score{Name: form.Raw}, rows: l.processRows(s, g, rows)}
	list = append(list, usual)
	if usual.rows.Orders != nil {
		usual.score.Name = "order"
		l.Form = "conditions"

		return append(list, &candidate{score: form.Score{Name: form.Raw}, rows: l.processRows(s, g, rows)})
	}

	for _, f := range form.List(l.quantities(s.Inputs, s.X), l.quantities(s.Outcomes, nil)) {
		same := func(c form.Column, log bool) bool { return log == (c.Powers != nil) }
		if f.Name == "log" && slices.EqualFunc(f.Columns, usual.rows.Logarithm, same) {
			continue // the inputs are logarithms anyway
		}

		r := usual.rows
		r.Logarithm, r.form = nil, &f
		list = append(list, &candidate{score: form.Score{Name: f.Name, Formula: f.Formula}, rows: r})
	}

	return list
}

// CheckForm returns the error of a form that the units of a set exclude.
func (l Learner) CheckForm(s triplets.Set) error {
	if slices.Contains([]string{"", form.Raw, form.Auto}, l.Represent) {
		return nil
	}

	l.Offsets = nil // and any groups: forms depend on units alone
	_, err := l.asked(l.candidates(s, l.Grouping(make([]float64, s.N)), s.RowsOf(triplets.Train)))

	return err
}

// asked is the place of the form that Represent names.
func (l Learner) asked(list []*candidate) (at int, err error) {
	at = slices.IndexFunc(list, func(c *candidate) bool { return c.score.Name == l.Represent })
	if at < 0 {
		names := lists.Each(list, func(c *candidate) string { return c.score.Name })
		err = fmt.Errorf("expected raw, auto or one of %s, which the units of the inputs and outcomes allow, found %s",
			strings.Join(names, ", "), l.Represent)
	}

	return at, err
}

// fitForm fits the process in the form that Learner.Represent asks for.
func (l Learner) fitForm(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held) (
	*Model, *gp.Mapped,
) {
	if l.Represent == "" || l.Represent == form.Raw {
		return l.processRows(s, g, train).fit(ctx)
	}

	list := l.candidates(s, g, train)
	choice := &form.Choice{Asked: l.Represent, Groups: len(held)}
	at := 0
	switch {
	case l.Represent != form.Auto:
		var err error
		if at, err = l.asked(list); err != nil {
			fault.Raise(fmt.Errorf("train.form: %w", err))
		}

	case len(held) >= scale.MinGroups && len(list) > 1:
		at = l.choose(ctx, s, g, train, held, list, choice)
	} // else nothing to choose by: the form that it has anyway

	c := list[at]
	if c.model == nil {
		c.model, c.base = c.rows.fit(ctx)
	}

	choice.Chosen, choice.Form = c.score.Name, c.rows.form
	c.model.Representation = choice

	return c.model, c.base
}

// choose scores the forms by a screen, the best of them and the first in full, and applies the
// rule of package form.
func (l Learner) choose(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, list []*candidate,
	choice *form.Choice,
) int {
	full := list
	if len(list) > screenKeeps+1 {
		screened := l.screen(ctx, s, g, train, held, list)
		choice.Screen = len(list)
		full = append([]*candidate{list[0]}, screened[:screenKeeps]...)
	}

	for _, c := range full {
		l.score(ctx, s, g, train, held, c)
		c.score.Full = c.base != nil
		choice.Fits++
	}

	relative(full)

	scores := lists.Each(list, func(c *candidate) form.Score { return c.score })
	choice.Tried = scores
	for _, k := range scores {
		if math.IsInf(k.Evidence, 0) || math.IsNaN(k.Evidence) {
			choice.Tried = scores[:1]
		}
	}

	return form.Choose(scores, len(held))
}

// screen scores all forms with few conditions and steps, and returns those other than the
// first by falling evidence.
func (l Learner) screen(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, list []*candidate,
) []*candidate {
	for _, c := range list {
		c.rows.hyperRows, c.rows.steps = screenRows, screenSteps
		l.score(ctx, s, g, train, held, c)
		c.rows.hyperRows, c.rows.steps = 0, 0
	}

	relative(list)
	sorted := slices.Clone(list[1:])
	slices.SortStableFunc(sorted, func(a, b *candidate) int { return cmp.Compare(b.score.Evidence, a.score.Evidence) })

	return sorted
}

// hintConditions bounds what a process may have been trained on for a hint to cost little.
const hintConditions = 600

// hint screens the forms that divide outcomes, where no form is asked for. It is nil unless one of
// them would win by more than form.FewMargin.
func (l Learner) hint(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, m *Model) *form.Hint {
	if l.Represent != "" || l.Dimension == nil || m.Orders != nil || len(held) < scale.MinGroups ||
		m.Process.Conditions() > hintConditions {
		return nil
	}

	list := l.candidates(s, g, train)
	list = slices.DeleteFunc(list, func(c *candidate) bool {
		return c.score.Name != form.Raw && (c.rows.form == nil || !c.rows.form.Divides())
	})

	if len(list) < 2 {
		return nil
	}

	best := l.screen(ctx, s, g, train, held, list)[0]
	if e := best.score.Evidence; !(e > form.FewMargin) || math.IsInf(e, 0) || best.score.Error > 1 {
		return nil
	}

	h := &form.Hint{Condition: g.Condition, Groups: len(held), Score: best.score}
	for k, p := range best.rows.form.Powers {
		if p != nil {
			h.Outcomes = append(h.Outcomes, strings.TrimSpace(s.Outcomes[k].Name+" "+s.Outcomes[k].Unit))
		}
	}

	return h
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
func (l Learner) score(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, c *candidate) {
	c.score.Evidence, c.score.Error = math.Inf(-1), math.Inf(1)
	if c.model, c.base = c.rows.fit(ctx); c.base != nil {
		left, held := leaveOut(ctx, s, g, train, held, c.model, c.base)
		c.score.Evidence, c.score.Error = l.evidence(s, train, left, held, c.rows.form)
	}
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

		by := lists.Rows(factor, s.Out, held[h].Rows)
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
	return lists.Make(len(v), func(k int) float64 { return v[k] * math.Exp(-power*ln[k]) })
}
