package honest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// This file chooses the form in which a process sees inputs and outcomes (train.form). candidates lists the forms that
// the units allow. The default form takes the inputs as they are, or as logarithms if they are rates. best fits a
// process in each form, leaves the training groups out, and lets the evidence of the left-out groups choose. screen
// first narrows a long list by cheap fits. If there are many conditions, some are enough to choose (choiceGroups).

// gpForm returns the form in which a process sees conditions of the given number of inputs: f if it is not nil,
// otherwise orders if it is not nil, otherwise logarithms of the marked inputs.
func gpForm(f *form.Form, orders *gp.OrderForm, logarithm []bool, inputs int) gp.Form {
	switch {
	case f != nil:
		return conditionForm{f, inputs}
	case orders != nil:
		return *orders
	default:
		return logForm(logarithm)
	}
}

// conditionForm adapts a form to gp.Form: a condition is one row.
type conditionForm struct {
	*form.Form
	inputs int // number of inputs of a condition
}

// The methods of gp.Form: the columns of a row, the number of rows of a condition, and ln of the factors of outcomes.

func (f conditionForm) X(x []float64) ([]float64, error) { return f.Form.X(x, f.inputs) }
func (f conditionForm) Each() int                        { return 1 }
func (f conditionForm) LnFactors(x []float64) []float64  { return f.Form.LnFactors(x, f.inputs) }

// logForm is the form in which marked inputs enter as their logarithms. It says for each input whether it is marked.
type logForm []bool

func (logForm) Each() int                     { return 1 }
func (logForm) LnFactors([]float64) []float64 { return nil }

func (f logForm) X(x []float64) ([]float64, error) {
	z := slices.Clone(x)
	for i := range z {
		if f[i%len(f)] {
			z[i] = math.Log(z[i])
		}
	}

	return z, nil
}

// Size of the screen that decides which forms are fitted in full.
const (
	screenRows  = 80 // conditions on which hyperparameters are searched
	screenSteps = 25 // iterations of the search
	screenKeeps = 3  // largest number of forms that are fitted in full, besides the default form
)

// candidate is a form that may be chosen. candidates sets score's names and prior, and rows. Learner.score sets the
// rest; compareWithFirst then changes the score to differences from the first candidate.
type candidate struct {
	score  form.Score
	rows   processRows // training rows in the form
	model  *Model      // nil before fit
	base   *gp.Mapped  // nil before fit, and if the process cannot be fitted in the form
	errors []float64   // by outcome: rms error of the mean on the left-out groups; nil before score
}

// fit fits the process in the form of the candidate. In the default form speeds enter as they are or as logarithms.
func (c *candidate) fit(ctx context.Context) error {
	var err error
	c.model, c.base, err = c.rows.fitPlainOrLog(ctx)

	return err
}

// inputs returns the inputs of a set as forms see them. rows are the training rows. ofThings are the inputs that are
// properties of things; nil: none is.
func (l Learner) inputs(s triplets.Set, rows, ofThings []int) []form.Quantity {
	trained := lists.Rows(s.X, s.In, rows)
	var quantities []form.Quantity
	for k, q := range s.Inputs {
		quantity := form.Quantity{Name: q.Name, Dimension: l.Dimension(q), Positive: positive(s.X, s.In, k)}
		quantity.OfThing = slices.Contains(ofThings, k)
		if quantity.Positive {
			quantity.Spread = spreadOfLogarithms(lists.Column(trained, s.In, k))
		}

		quantities = append(quantities, quantity)
	}

	return quantities
}

// spreadOfLogarithms returns the population standard deviation of ln of positive numbers.
func spreadOfLogarithms(values []float64) float64 {
	mean := 0.0
	n := float64(len(values))
	for _, v := range values {
		mean += math.Log(v) / n
	}

	squares := 0.0
	for _, v := range values {
		d := math.Log(v) - mean
		squares += d * d / n
	}

	return math.Sqrt(squares)
}

// outcomes returns the outcomes of a set as forms see them.
func (l Learner) outcomes(s triplets.Set) []form.Quantity {
	var quantities []form.Quantity
	for _, q := range s.Outcomes {
		quantities = append(quantities, form.Quantity{Name: q.Name, Dimension: l.Dimension(q)})
	}

	return quantities
}

// candidates returns the forms that a set can have, the default form first. For harmonics of a rotor these are the
// order form, which is then the default, and the raw form. rows are the training rows.
func (l Learner) candidates(s triplets.Set, g Grouping, rows []int) []*candidate {
	first := &candidate{score: form.Score{Name: form.Raw}, rows: l.newProcessRows(s, g, rows)}
	if first.rows.Orders != nil {
		first.score.Name = "order"
		l.Form = "conditions"
		raw := &candidate{score: form.Score{Name: form.Raw}, rows: l.newProcessRows(s, g, rows)}

		return []*candidate{first, raw}
	}

	var properties []int
	if l.OfThings() {
		properties = first.rows.GroupInputs
	}

	inputs := l.inputs(s, rows, properties)
	first.score.Prior = form.DefaultPrior(inputs)
	list := []*candidate{first}
	for _, f := range form.List(inputs, l.outcomes(s)) {
		if f.Name == "log" && slices.EqualFunc(f.Columns, first.rows.Logarithm, isLogarithm) {
			continue // the inputs are logarithms by default
		}

		r := first.rows
		r.Logarithm = nil
		r.form = &f
		list = append(list, &candidate{score: form.Score{Name: f.Name, Formula: f.Formula, Prior: f.Prior}, rows: r})
	}

	return list
}

// isLogarithm reports whether the column is a logarithm exactly if log is set.
func isLogarithm(c form.Column, log bool) bool { return log == (c.Powers != nil) }

// CheckForm returns an error if Represent names a form that the units of a set do not allow. It returns nil for "", raw
// and auto, which suit any units.
func (l Learner) CheckForm(s triplets.Set) error {
	if slices.Contains([]string{"", form.Raw, form.Auto}, l.Represent) {
		return nil
	}

	// Forms depend on units alone, so that labels are not needed and any grouping will do.
	l.Offsets = nil
	_, err := l.requested(l.candidates(s, l.Grouping(make([]float64, s.N)), s.RowsOf(triplets.Train)))

	return err
}

// requested returns the candidate that Represent names, or an error if it is not in the list.
func (l Learner) requested(list []*candidate) (*candidate, error) {
	var names []string
	for _, c := range list {
		if c.score.Name == l.Represent {
			return c, nil
		}

		names = append(names, c.score.Name)
	}

	return nil, fmt.Errorf("expected raw, auto or one of %s, which the units of the inputs and outcomes allow, found %s",
		strings.Join(names, ", "), l.Represent)
}

// fitForm fits the process in the form that Learner.Represent asks for. If the data allow no process, the returned
// process is nil and Model.Absent says why.
func (l Learner) fitForm(ctx context.Context, t trainingGroups) (*Model, *gp.Mapped, error) {
	if l.Represent == "" || l.Represent == form.Raw {
		return l.newProcessRows(t.set, t.grouping, t.train).fitPlainOrLog(ctx)
	}

	some := l.choiceGroups(t)
	list := l.candidates(some.set, some.grouping, some.train)
	chosen, choice, err := l.chooseForm(ctx, some, list)
	if err != nil {
		return nil, nil, err
	}

	isPart := len(some.train) < len(t.train)
	if isPart || chosen.model == nil || !chosen.score.Full {
		rows := l.newProcessRows(t.set, t.grouping, t.train)
		rows.form = chosen.rows.form
		rows.Orders = chosen.rows.Orders
		rows.Logarithm = chosen.rows.Logarithm
		chosen.rows = rows
		if err := chosen.fit(ctx); err != nil {
			return nil, nil, err
		}
	}

	choice.Asked = l.Represent
	choice.Condition = t.grouping.Condition
	choice.Groups = len(t.held)
	choice.OfThings = l.OfThings()
	choice.Chosen = chosen.score.Name
	choice.Form = chosen.rows.form
	chosen.model.Representation = &choice

	return chosen.model, chosen.base, nil
}

// choiceConditions is the number of conditions by which forms are chosen. The cost of fitting a form goes with its
// cube.
const choiceConditions = 600

// choiceGroups returns t with at most choiceConditions conditions, evenly chosen in each group, but at least two of
// each group. It returns t itself if there are too few groups for a choice, or if all conditions are kept.
func (l Learner) choiceGroups(t trainingGroups) trainingGroups {
	if len(t.held) < scale.MinGroups {
		return t
	}

	some := t
	some.train = nil
	some.held = nil
	group := map[int]int{} // by row: its group
	limit := max(choiceConditions/len(t.held), 2)
	for _, h := range t.held {
		h.Rows = rowsOfConditions(t.set, h.Rows, limit)
		some.train = append(some.train, h.Rows...)
		some.held = append(some.held, h)
		for _, i := range h.Rows {
			group[i] = h.Group
		}
	}

	if len(some.train) == len(t.train) {
		return t
	}

	slices.Sort(some.train)
	for k, h := range some.held {
		isOwn := func(i int) bool { return group[i] == h.Group }
		some.held[k].Rest = slices.DeleteFunc(slices.Clone(some.train), isOwn)
	}

	return some
}

// chooseForm returns the candidate that Represent names, or the best one, and how it was found. If there are too few
// groups or forms for a choice, it returns the default form. Harmonics of a rotor keep the order form: on simulated and
// measured rotors no other form was ever better.
func (l Learner) chooseForm(ctx context.Context, t trainingGroups, list []*candidate) (*candidate, form.Choice, error) {
	if l.Represent != form.Auto {
		c, err := l.requested(list)
		if err != nil {
			return nil, form.Choice{}, fmt.Errorf("train.form: %w", err)
		}

		return c, form.Choice{}, nil
	}

	hasOrders := list[0].rows.Orders != nil
	if len(t.held) < scale.MinGroups || len(list) < 2 || hasOrders {
		return list[0], form.Choice{}, nil
	}

	return l.best(ctx, t, list)
}

// best returns the best candidate, and how it was found. It scores all by a screen. If the groups are things, the
// screen decides. Otherwise it scores the default form and the best others in full (scoreInFull), and applies the rule
// of package form. If the default form, which is the first, cannot be fitted, there is nothing to compare with, and
// best returns it.
func (l Learner) best(ctx context.Context, t trainingGroups, list []*candidate) (*candidate, form.Choice, error) {
	choice := form.Choice{Screen: len(list)}
	screened, err := l.screen(ctx, t, list)
	if err != nil {
		return nil, choice, err
	}

	if list[0].base != nil && !l.OfThings() {
		choice.Fits, err = l.scoreInFull(ctx, t, list[0], screened)
		if err != nil {
			return nil, choice, err
		}
	}

	if list[0].base == nil {
		return list[0], choice, nil
	}

	var scores []form.Score
	for _, c := range list {
		scores = append(scores, c.score)
	}

	choice.Tried = scores
	if slices.ContainsFunc(scores, isInfinite) { // a form could not be fitted
		choice.Tried = scores[:1] // JSON has no infinite numbers: only the default form is listed
	}

	k := form.Choose(scores, len(t.held))
	if l.OfThings() {
		k = form.ChooseOfThings(scores)
	}

	if k > 0 {
		choice.Errors = errorsInUnits(t.set, list[0], list[k])
	}

	return list[k], choice, nil
}

// isInfinite reports whether a score has no finite evidence.
func isInfinite(s form.Score) bool { return math.IsInf(s.Evidence, 0) || math.IsNaN(s.Evidence) }

// scoreInFull scores the first candidate and the best of the screened ones by full fits, and returns the number of
// fits. Only candidates that the screen found better than the first are fitted. If there is none, it fits nothing.
func (l Learner) scoreInFull(ctx context.Context, t trainingGroups, first *candidate, screened []*candidate) (
	int, error,
) {
	full := []*candidate{first}
	for _, c := range screened[:min(screenKeeps, len(screened))] {
		if c.score.Evidence > 0 {
			full = append(full, c)
		}
	}

	if len(full) == 1 {
		return 0, nil
	}

	for _, c := range full {
		if err := l.score(ctx, t, c); err != nil {
			return 0, err
		}

		c.score.Full = c.base != nil
	}

	compareWithFirst(full)

	return len(full), nil
}

// errorsInUnits returns the errors of the outcomes with the first and with the chosen form.
func errorsInUnits(s triplets.Set, first, chosen *candidate) []form.Error {
	var list []form.Error
	for j, q := range s.Outcomes {
		list = append(list, form.Error{
			Outcome: q.Name, Unit: q.Unit, Default: first.errors[j], Chosen: chosen.errors[j],
		})
	}

	return list
}

// screen sets the scores of all candidates by fits with few conditions and steps, compared with the first. It returns
// the candidates other than the first by falling evidence.
func (l Learner) screen(ctx context.Context, t trainingGroups, list []*candidate) ([]*candidate, error) {
	for _, c := range list {
		c.rows.hyperRows = screenRows
		c.rows.steps = screenSteps
		if err := l.score(ctx, t, c); err != nil {
			return nil, err
		}

		c.rows.hyperRows = 0
		c.rows.steps = 0
	}

	compareWithFirst(list)
	sorted := slices.Clone(list[1:])
	slices.SortStableFunc(sorted, func(a, b *candidate) int { return cmp.Compare(b.score.Evidence, a.score.Evidence) })

	return sorted, nil
}

// compareWithFirst changes the scores of all candidates: the evidence and the prior become the differences from those
// of the first, and the error the ratio to the error of the first.
func compareWithFirst(list []*candidate) {
	first := list[0].score
	for _, c := range list {
		c.score.Evidence -= first.Evidence
		c.score.Prior -= first.Prior
		c.score.Error /= first.Error
	}
}

// score fits the process in the form of c, and sets the evidence and the error of c on the left-out groups. If the
// process cannot be fitted, the evidence is −∞ and the error ∞.
func (l Learner) score(ctx context.Context, t trainingGroups, c *candidate) error {
	c.score.Evidence = math.Inf(-1)
	c.score.Error = math.Inf(1)
	if err := c.fit(ctx); err != nil {
		return err
	}

	if c.base == nil {
		return nil
	}

	left, held, err := leaveOut(ctx, t, c.model, c.base)
	if err != nil {
		return err
	}

	c.score.Evidence = l.evidence(t.set, t.train, left, held, c.rows.form)
	c.errors = leftOutErrors(left, t.set.Out)
	c.score.Error = leftOutError(t.set, t.train, c.errors)

	return nil
}

// leftOutErrors returns, for each outcome in its unit, the rms error of the predicted means of the left-out groups.
func leftOutErrors(left []LeftOut, outcomes int) []float64 {
	squares := make([]float64, outcomes)
	n := 0.0
	for _, l := range left {
		n += float64(l.N)
		for k, mu := range l.Mu {
			d := (l.Y1[k]+l.Y2[k])/2 - mu
			squares[k%outcomes] += d * d
		}
	}

	errors := make([]float64, outcomes)
	for j, sum := range squares {
		errors[j] = math.Sqrt(sum / n)
	}

	return errors
}

// leftOutError returns the rms of the errors of all outcomes, in deviations of the training outcomes.
func leftOutError(s triplets.Set, train []int, errors []float64) float64 {
	_, std := spread(s, train, nil)
	squares := 0.0
	for j, e := range errors {
		squares += e * e / (std[j] * std[j]) / float64(s.Out)
	}

	return math.Sqrt(squares)
}

// evidence returns ln of the evidence of the left-out groups in the form f (nil: outcomes as they are).
//
// The scale of the errors is learned from the outcomes z = y/factor of the form, in deviations of z, so that its
// evidence is a density of these numbers. As forms are compared by the density of y, evidence adds ln|dz/dy| − ln s_z
// for each outcome, with the deviation s_z of z: −ln factor, its mean over the rows of a group, less ln s_z. held are
// the groups with the rows of left.
func (l Learner) evidence(s triplets.Set, train []int, left []LeftOut, held []Held, f *form.Form) float64 {
	lnFactor := make([]float64, s.N*s.Out)
	if f != nil {
		lnFactor = f.LnFactors(s.X, s.In)
	}

	formed := s
	formed.Y1 = divided(s.Y1, lnFactor, 1)
	formed.Y2 = divided(s.Y2, lnFactor, 1)
	_, std := spread(formed, train, nil)

	lnDensity := 0.0
	var groups []scale.Group
	var inForm []LeftOut
	for h, own := range left {
		rows := held[h].Rows
		lnDivisors := lists.Rows(lnFactor, s.Out, rows)
		for k, v := range lnDivisors {
			lnDensity -= v / float64(len(rows))
			if k < s.Out { // once for each outcome
				lnDensity -= math.Log(std[k])
			}
		}

		own.Mu = divided(own.Mu, lnDivisors, 1)
		own.Claim = divided(own.Claim, lnDivisors, 2)
		own.Noise = divided(own.Noise, lnDivisors, 2)
		own.Y1 = divided(own.Y1, lnDivisors, 1)
		own.Y2 = divided(own.Y2, lnDivisors, 1)
		inForm = append(inForm, own)
		groups = append(groups, own.group(std))
	}

	learned, _ := scale.Learn(groups, s.Out, l.ScalePrior(), pairNoise(inForm))

	return lnDensity + learned.LogEvidence
}

// divided returns v·exp(−power·ln), element by element: numbers divided by factors whose logarithms are ln. power is 1
// for outcomes and 2 for variances.
func divided(v, ln []float64, power float64) []float64 {
	list := make([]float64, len(v))
	for k, x := range v {
		list[k] = x * math.Exp(-power*ln[k])
	}

	return list
}
