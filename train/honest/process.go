package honest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// ProcessRows are what a process is fitted to.
type ProcessRows struct {
	Set         triplets.Set // numbers alone, with inputs as the process takes them
	Group       []int        // of each row, numbered by the groups' first rows
	GroupInputs []int        // inputs that are functions of the group
	Logarithm   []bool       // inputs that enter as their logarithm
	Orders      *gp.OrderForm

	form             *form.Form // in which the process sees Set, whose inputs are then as they are; nil: none
	hyperRows, steps int        // of the search; 0: the usual
}

// ProcessRows decides in which form the process sees the set, and picks rows.
func (l Learner) ProcessRows(s triplets.Set, g Grouping, rows []int) ProcessRows {
	var r ProcessRows
	if o, ok := orderForm(s); ok && l.Form != "conditions" {
		r.Orders = o
	} else {
		r.Logarithm = make([]bool, s.In)
		for k, q := range s.Inputs {
			r.Logarithm[k] = l.Rate != nil && l.Rate(q.Name) && positive(s.X, s.In, k)
		}
	}

	r.Set = Numbers(s, rows)
	m := &Model{Orders: r.Orders, Logarithm: r.Logarithm}
	if r.Set.X = m.inputs(r.Set.X); r.Set.SetPoints != nil {
		r.Set.SetPoints = m.inputs(r.Set.SetPoints)
	}

	number := map[int]int{} // a training stays the same when other groups are added
	for _, i := range rows {
		if _, known := number[g.Of[i]]; !known {
			number[g.Of[i]] = len(number)
		}
		r.Group = append(r.Group, number[g.Of[i]])
	}

	for k, from := range fromGroup(s, g) {
		if from {
			r.GroupInputs = append(r.GroupInputs, k)
		}
	}

	return r
}

// Numbers returns the numbers of some rows, without names, runs and parts.
func Numbers(s triplets.Set, rows []int) triplets.Set {
	r := s.Select(rows)
	return triplets.Set{
		N: r.N, In: r.In, Out: r.Out, X: r.X, Y1: r.Y1, Y2: r.Y2, Weight: r.Weight, SetPoints: r.SetPoints,
	}
}

// fittedProcess is a fitted process, in order form or not.
type fittedProcess interface {
	Predictor
	LeaveOut(ctx context.Context, rows []int) (mu, claim, noise []float64, err error)
}

// Fit fits the process. Where it cannot, the model states why.
func (r ProcessRows) Fit(ctx context.Context) (*Model, error) {
	m, _, err := r.fit(ctx)
	return m, err
}

func (r ProcessRows) fit(ctx context.Context) (*Model, fittedProcess, error) {
	m := &Model{Format: Format, Version: Version, Orders: r.Orders, Logarithm: r.Logarithm}
	o := gp.Options{Group: r.Group, GroupInputs: r.GroupInputs, Workers: 1, HyperRows: r.hyperRows, Steps: r.steps}
	if r.Set.N*r.Set.Out > gp.MaxRows { // one such task may be most of a run
		o.Workers = runtime.GOMAXPROCS(0)
	}

	var p fittedProcess

	var err error
	if r.form != nil {
		var fitted *formProcess
		if fitted, err = r.fitForm(ctx, o); err == nil {
			p, m.Process = fitted, fitted.model
		}
	} else if r.Orders != nil {
		var fitted *gp.OrderModel
		if fitted, err = gp.FitOrder(ctx, r.Set, *r.Orders, o); err == nil {
			p, m.Process = fitted, fitted.Model
		}
	} else if m.Process, err = gp.Fit(ctx, r.Set, o); err == nil {
		p = m.Process
	}

	var tooMany *gp.TooManyGroupsError
	switch {
	case errors.As(err, &tooMany):
		m.Absent = fmt.Sprintf("%v: cut their condition into blocks (train.honest.blocks)", tooMany)
	case err != nil && ctx.Err() != nil:
		return nil, nil, err
	case err != nil:
		m.Absent = err.Error()
	}

	return m, p, nil
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
		var conditions []int
		index := map[int]int{}
		for _, i := range h.Rows {
			if _, known := index[s.Condition[i]]; !known {
				index[s.Condition[i]] = len(conditions)
				conditions = append(conditions, i)
			}
		}

		n := len(conditions)
		h.Rows = slices.DeleteFunc(slices.Clone(h.Rows), func(i int) bool {
			k := index[s.Condition[i]] // one of limit, if the division has another result than that of k − 1
			return n > limit && k > 0 && k*limit/n == (k-1)*limit/n
		})

		rows, some = append(rows, h.Rows...), append(some, h)
	}

	slices.Sort(rows)
	for _, i := range rows {
		k, _ := slices.BinarySearch(train, i)
		places = append(places, k)
	}

	return rows, places, some
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
	for i := k; i < len(x); i += in {
		if !(x[i] > 0) {
			return false
		}
	}

	return true
}

// fromGroup tells which inputs are functions of the group: constant in each group
// and different between some.
func fromGroup(s triplets.Set, g Grouping) []bool {
	out, x := make([]bool, s.In), s.AtSetPoints()
	for k := range out {
		first := map[int]float64{}

		constant, values := true, map[float64]bool{}
		for i := range s.N {
			v := x[i*s.In+k]
			values[v] = true
			if w, ok := first[g.Of[i]]; ok && w != v {
				constant = false
			}

			first[g.Of[i]] = v
		}

		out[k] = s.Inputs[k].Name == g.Condition || constant && len(values) > 1
	}

	return out
}
