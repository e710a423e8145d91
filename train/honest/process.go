package honest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// processRows are what a process is fitted to.
type processRows struct {
	Set         triplets.Set // numbers alone
	Group       []int        // of each row, numbered by the groups' first rows
	GroupInputs []int        // inputs that are functions of the group
	Logarithm   []bool       // inputs that enter as their logarithm
	Orders      *gp.OrderForm
	Labels      []Names // labels whose names have offsets
	Level       []int   // rows × labels: the place of the name

	form             *form.Form // in which the process sees Set, instead of logarithms; nil: none
	hyperRows, steps int        // of the search; 0: the usual
}

// processRows decides in which form the process sees the set, and picks rows.
func (l Learner) processRows(s triplets.Set, g Grouping, rows []int) processRows {
	var r processRows
	if o, ok := orderForm(s); ok && l.Form != "conditions" {
		r.Orders = o
	} else {
		r.Logarithm = make([]bool, s.In)
		for k, q := range s.Inputs {
			r.Logarithm[k] = l.Rate != nil && l.Rate(q.Name) && positive(s.X, s.In, k)
		}
	}

	r.Set = Numbers(s, rows)
	r.Group, _ = lists.Index(lists.Rows(g.Of, 1, rows)) // a training stays the same when other groups are added
	r.Labels = lists.Each(l.labels(g), func(label Label) Names { return Names{Name: label.Name} })
	r.Level = levels(r.Labels, l.labels(g), rows, true)

	from := fromGroup(s, g)
	r.GroupInputs = lists.Where(len(from), func(k int) bool { return from[k] })

	return r
}

// Numbers returns the numbers of some rows, without names, runs and parts.
func Numbers(s triplets.Set, rows []int) triplets.Set {
	r := s.Select(rows)
	return triplets.Set{
		N: r.N, In: r.In, Out: r.Out, X: r.X, Y1: r.Y1, Y2: r.Y2, Weight: r.Weight, SetPoints: r.SetPoints,
		Alone: r.Alone,
	}
}

// fit fits the process. Where it cannot, the model states why.
func (r processRows) fit(ctx context.Context) (*Model, *gp.Mapped) {
	m := &Model{Format: Format, Version: Version, Orders: r.Orders, Logarithm: r.Logarithm, Labels: r.Labels}
	o := gp.Options{
		Group: r.Group, GroupInputs: r.GroupInputs, Workers: 1, HyperRows: r.hyperRows, Steps: r.steps, Level: r.Level,
	}
	o.Labels = lists.Each(r.Labels, func(n Names) int { return len(n.Names) })
	if r.Set.N*r.Set.Out > gp.MaxRows { // one such task may be most of a run
		o.Workers = runtime.GOMAXPROCS(0)
	}

	var f gp.Form = logForm(r.Logarithm)
	switch {
	case r.form != nil:
		f = inForm{r.form, r.Set.In}
		o.GroupInputs = nil
		for k, c := range r.form.Columns {
			if slices.ContainsFunc(r.GroupInputs, c.Uses) {
				o.GroupInputs = append(o.GroupInputs, k)
			}

			if c.Slope {
				o.SlopeOnly = append(o.SlopeOnly, k)
			}
		}
	case r.Orders != nil:
		f = *r.Orders
	}

	p, err := gp.FitForm(ctx, r.Set, f, o)

	var tooMany *gp.TooManyGroupsError
	switch {
	case errors.As(err, &tooMany):
		m.Absent = fmt.Sprintf("%v: cut their condition into blocks (train.honest.blocks)", tooMany)
	case err != nil && ctx.Err() != nil:
		fault.Raise(err)
	case err != nil:
		m.Absent = err.Error()
	default:
		m.Process = p.Model
		return m, p
	}

	return m, nil
}

// Limits of the rows of left-out groups that a process of cells predicts: values of all
// outcomes, of a group and of all groups together, and conditions of a group, which the
// scale takes of each.
const (
	leftOutValues     = 2000
	leftOutAll        = 20000
	leftOutConditions = 150
)

// someLeftOut picks of each held-out group as many conditions, evenly, as the limits allow.
// rows are theirs, ascending, and places where these are among the training rows.
func someLeftOut(s triplets.Set, train []int, held []Held) (rows, places []int, some []Held) {
	limit := max(min(leftOutValues, leftOutAll/max(1, len(held)))/s.Out, leftOutConditions)
	for _, h := range held {
		conditions := lists.Alike(lists.Rows(s.Condition, 1, h.Rows))
		drop, n := map[int]bool{}, len(conditions)
		for k, at := range conditions { // one of limit, if the division has another result than that of k − 1
			drop[s.Condition[h.Rows[at[0]]]] = n > limit && k > 0 && k*limit/n == (k-1)*limit/n
		}

		h.Rows = slices.DeleteFunc(slices.Clone(h.Rows), func(i int) bool { return drop[s.Condition[i]] })

		rows, some = append(rows, h.Rows...), append(some, h)
	}

	slices.Sort(rows)

	return rows, placesIn(train, rows), some
}

// orderForm returns the order form of a rotor's levels: the first harmonics of the
// blade passing frequency in dB, over blades and a shaft speed.
func orderForm(s triplets.Set) (*gp.OrderForm, bool) {
	f := &gp.OrderForm{In: s.In, Blades: -1, Speed: -1, Harmonics: s.Out}
	for k, q := range s.Inputs {
		switch q.Name {
		case "blades":
			f.Blades = k
		case "rpm", "rps", "rpm_tracked", "rpm_measured":
			f.Speed = k
		}
	}

	for k, q := range s.Outcomes {
		if q.Name != fmt.Sprintf("bpf%d_db", k+1) {
			return nil, false
		}
	}

	ok := f.Blades >= 0 && f.Speed >= 0 && s.Out > 1 && positive(s.X, s.In, f.Blades) && positive(s.X, s.In, f.Speed)

	return f, ok
}

func positive(x []float64, in, k int) bool {
	return !slices.ContainsFunc(lists.Column(x, in, k), func(v float64) bool { return !(v > 0) })
}

// fromGroup tells which inputs are functions of the group: constant in each group
// and different between some.
func fromGroup(s triplets.Set, g Grouping) []bool {
	x, groups := s.AtSetPoints(), lists.Alike(g.Of)
	same := func(v []float64) bool { return len(v) == 0 || slices.Min(v) == slices.Max(v) }

	return lists.Make(s.In, func(k int) bool {
		column := lists.Column(x, s.In, k)
		varies := func(rows []int) bool { return !same(lists.Rows(column, 1, rows)) }
		return s.Inputs[k].Name == g.Condition || !slices.ContainsFunc(groups, varies) && !same(column)
	})
}
