package honest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// processRows are the rows that a process is fitted to, and the form in which it sees them. At most one of Logarithm,
// Orders and form is set.
type processRows struct {
	Set         triplets.Set // the rows, without names, runs and parts
	Group       []int        // number of the group of each row, in order of the groups' first rows
	GroupInputs []int        // inputs that are functions of the group
	Labels      []Names      // labels whose names have offsets
	Level       []int        // rows × labels: the place of the row's name in Labels

	Logarithm []bool        // by input: whether it enters as its logarithm
	Orders    *gp.OrderForm // a row for each harmonic of a rotor
	form      *form.Form    // another form of inputs and outcomes

	curves    int  // label whose names have curves of their own, counted from 1; 0: none has
	ofThings  bool // whether the groups are things with offsets
	hyperRows int  // conditions on which hyperparameters are searched; 0: the default of gp
	steps     int  // iterations of the search; 0: the default of gp
}

// newProcessRows returns the given rows of a set as a process sees them by default: in order form if the outcomes are
// harmonics of a rotor, otherwise with logarithms of rates.
func (l Learner) newProcessRows(s triplets.Set, g Grouping, rows []int) processRows {
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
	r.ofThings = l.OfThings()

	// Groups are numbered anew, so that a training stays the same if other groups are added to the set.
	r.Group, _ = lists.Index(lists.Pick(g.Group, rows))

	labels := l.labels(g)
	r.Labels = namesIn(labels, rows)
	r.Level = levels(r.Labels, labels, rows)
	for k, determined := range fromGroup(s, g) {
		if determined {
			r.GroupInputs = append(r.GroupInputs, k)
		}
	}

	return r
}

// Numbers returns some rows of a set with their inputs, outcomes, weights and set points, without names, runs and
// parts.
func Numbers(s triplets.Set, rows []int) triplets.Set {
	r := s.Select(rows)
	return triplets.Set{
		N: r.N, In: r.In, Out: r.Out, X: r.X, Y1: r.Y1, Y2: r.Y2, Weight: r.Weight, SetPoints: r.SetPoints,
		Alone: r.Alone,
	}
}

// fit fits the process. If the data allow no process, the returned process is nil and Model.Absent says why. It returns
// an error only if the context ends.
func (r processRows) fit(ctx context.Context) (*Model, *gp.Mapped, error) {
	m := &Model{
		Format: Format, Version: Version, Orders: r.Orders, Logarithm: r.Logarithm, Labels: r.Labels, trained: r.Level,
	}
	p, err := gp.FitForm(ctx, r.Set, gpForm(r.form, r.Orders, r.Logarithm, r.Set.In), r.options())
	if err == nil {
		m.Process = p.Model
		return m, p, nil
	}

	var tooMany *gp.TooManyGroupsError
	if errors.As(err, &tooMany) {
		m.Absent = fmt.Sprintf("%v: cut their condition into blocks (train.honest.blocks)", tooMany)
		return m, nil, nil
	}

	if ctx.Err() != nil {
		return nil, nil, err
	}

	m.Absent = err.Error()

	return m, nil, nil
}

// plainMargin is the difference of ln evidence above which rates, such as speeds, enter as they are rather than as
// their logarithms. Most laws of speeds depend on ratios of speeds, so the evidence must be larger by a factor of e.
const plainMargin = 1.0

// fitPlainOrLog fits the process with the marked inputs as their logarithms, and with all inputs as they are. It
// returns the process with the larger evidence, see plainMargin. If no input is marked, or the first fit fails, it
// returns the results of fit.
func (r processRows) fitPlainOrLog(ctx context.Context) (*Model, *gp.Mapped, error) {
	m, base, err := r.fit(ctx)
	if err != nil || base == nil || !slices.Contains(r.Logarithm, true) {
		return m, base, err
	}

	r.Logarithm = make([]bool, len(r.Logarithm))
	plain, plainBase, err := r.fit(ctx)
	if err != nil {
		return nil, nil, err
	}

	if plainBase != nil && plain.logEvidence() > m.logEvidence()+plainMargin {
		return plain, plainBase, nil
	}

	return m, base, nil
}

// logEvidence returns ln of the evidence and the prior of the process's hyperparameters, summed over outcomes.
func (m *Model) logEvidence() float64 {
	sum := 0.0
	for _, h := range m.Process.Hyper {
		sum -= h.Objective
	}

	return sum
}

// options returns the options of the process.
func (r processRows) options() gp.Options {
	o := gp.Options{
		Group: r.Group, Workers: 1, HyperRows: r.hyperRows, Steps: r.steps, Level: r.Level,
		Curves: r.curves,
	}
	for _, label := range r.Labels {
		o.Labels = append(o.Labels, len(label.Names))
	}

	if r.Set.N*r.Set.Out > gp.MaxRows { // such a fit can take longer than the rest of the program, which waits for it
		o.Workers = runtime.GOMAXPROCS(0)
	}

	if r.form == nil {
		o.GroupInputs = r.GroupInputs
		return o
	}

	for k, c := range r.form.Columns {
		if r.fromGroup(c) {
			o.GroupInputs = append(o.GroupInputs, k)
		}

		if c.Slope {
			o.SlopeOnly = append(o.SlopeOnly, k)
		}
	}

	return o
}

// fromGroup reports whether a column of the form depends on the group. A column of a numeric group does if it uses an
// input that does. A column of things, such as a tip speed, varies within a thing unless all its inputs are of things.
func (r processRows) fromGroup(c form.Column) bool {
	if !r.ofThings {
		return slices.ContainsFunc(r.GroupInputs, c.Uses)
	}

	for k := range r.Set.In {
		if c.Uses(k) && !slices.Contains(r.GroupInputs, k) {
			return false
		}
	}

	return true
}

// Limits of the conditions of left-out groups that a process of cells predicts, because there may be very many. A cell
// is the average of neighbouring conditions (gp.Cells). A value is an outcome at a condition.
const (
	leftOutValues     = 2000  // values of a group
	leftOutAll        = 20000 // values of all groups together
	leftOutConditions = 150   // conditions of a group that are predicted in any case, since the scale takes as many
)

// someLeftOut returns the held groups with the rows of some of their conditions, as many as the limits allow and evenly
// chosen. rows are all rows of these groups, ascending, and places are the places of rows among the training rows.
func someLeftOut(s triplets.Set, train []int, held []Held) (rows, places []int, some []Held) {
	limit := max(min(leftOutValues, leftOutAll/max(1, len(held)))/s.Out, leftOutConditions)
	for _, h := range held {
		kept := rowsOfConditions(s, h.Rows, limit)
		rows = append(rows, kept...)
		some = append(some, Held{Group: h.Group, Rows: kept, Rest: h.Rest})
	}

	slices.Sort(rows)

	return rows, placesIn(train, rows), some
}

// rowsOfConditions returns the rows of at most limit conditions among the given rows. The conditions are evenly chosen
// in order of first appearance: of n conditions, condition k is kept if k·limit/n, rounded down, is larger than for k
// − 1.
func rowsOfConditions(s triplets.Set, rows []int, limit int) []int {
	conditions := lists.Alike(lists.Pick(s.Condition, rows))
	n := len(conditions)
	if n <= limit {
		return slices.Clone(rows)
	}

	dropped := map[int]bool{}
	for k, places := range conditions {
		condition := s.Condition[rows[places[0]]]
		dropped[condition] = k > 0 && k*limit/n == (k-1)*limit/n
	}

	var kept []int
	for _, i := range rows {
		if !dropped[s.Condition[i]] {
			kept = append(kept, i)
		}
	}

	return kept
}

// orderForm returns the order form of a set, and whether the set has one: its outcomes must be the levels of the first
// harmonics of the blade passing frequency in dB, and its inputs must contain a number of blades and a shaft speed.
func orderForm(s triplets.Set) (*gp.OrderForm, bool) {
	const unknown = -1
	f := &gp.OrderForm{Columns: s.In, Blades: unknown, Speed: unknown, Harmonics: s.Out}
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

	if f.Blades == unknown || f.Speed == unknown || s.Out < 2 {
		return nil, false
	}

	if !positive(s.X, s.In, f.Blades) || !positive(s.X, s.In, f.Speed) {
		return nil, false
	}

	return f, true
}

// positive reports whether all numbers in column k of x, a row-major matrix, are positive.
func positive(x []float64, columns, k int) bool {
	for i := k; i < len(x); i += columns {
		if !(x[i] > 0) {
			return false
		}
	}

	return true
}

// fromGroup reports which inputs are functions of the group: they are constant in each group and differ between some
// groups. The condition of the groups always is.
func fromGroup(s triplets.Set, g Grouping) []bool {
	x := s.AtSetPoints()
	groups := lists.Alike(g.Group)

	determined := make([]bool, s.In)
	for k, q := range s.Inputs {
		column := lists.Column(x, s.In, k)
		isFunction := !same(column) && sameInEach(column, groups)
		determined[k] = q.Name == g.Condition || isFunction
	}

	return determined
}

// same reports whether all numbers are equal. It returns true for none.
func same(v []float64) bool { return len(v) == 0 || slices.Min(v) == slices.Max(v) }

// sameInEach reports whether the numbers are equal within each group of rows.
func sameInEach(v []float64, groups [][]int) bool {
	for _, rows := range groups {
		if !same(lists.Pick(v, rows)) {
			return false
		}
	}

	return true
}
