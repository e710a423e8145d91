package budget

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/kv"
	"doubletake/report/pairs"
)

// This file computes the budgets of an experiment, in these steps:
//
//  1. campaign.read reads the options and the conditions, and numbers the units of the observations (units.go).
//  2. poolObservations pools the observations of conditions whose scatter is alike, because one condition has few.
//  3. addObserved turns the scatter of each level into a quantity of type A of a condition's budget.
//  4. addStated adds the stated uncertainties as quantities of type B (stated.go).

// Options say which budgets of an experiment are wanted.
type Options struct {
	At       string   // conditions, such as "blades=3,rpm=5000"; conditions that are not named have all values
	Outcomes []string // nil: all
	Above    string   // column of text that names a level above the runs, such as the day; "": none

	// Names of conditions, joined by commas. Scatter is pooled over all conditions that are equal in these. "": alike
	// chooses one.
	Pool string
}

// campaign is the observations of an experiment. A row is a pair of the table: two outcomes at one condition. An
// observation is the outcome of a run, or of a part of a run such as a half of its recording. Conditions and units have
// numbers in the order of their first appearance. read sets the fields up to perRow, and numberUnits the others.
type campaign struct {
	Options
	*pairs.Pairs
	stated *Stated // nil if nothing is stated

	axes       []kv.Axis // the wanted values of conditions
	conditions []string  // names of the conditions that are numbers
	texts      []string  // names of the conditions that are texts
	pools      []string  // conditions within which scatter is pooled; nil: over all
	differs    string    // why scatter is pooled by pools, in words; "" if the options ask for it

	values    [][]float64   // values of each of conditions, by row
	condition []int         // number of the condition of each row
	rows      map[int][]int // rows of each condition
	perRow    int           // outcomes of a row that count: 2, or 1 if the second is the outcome of another row too

	levels []string // names of the levels below the condition, the widest first
	units  [][]int  // by depth, the unit of each observation; depth 0 is the conditions; see Nested

	// By level, the name of each observation's unit. Units of several conditions may share a name. It is nil for a level
	// whose units have no names.
	names [][]int

	cells [][]tableCell // the cells of each observation, which is the mean of their values
}

// tableCell is the place of a value in the table.
type tableCell struct {
	row  int
	half int // 0 is the first outcome of the row, 1 the second
}

// Compute returns the budgets of an experiment's pairs, by outcome and condition. The uncertainties of type B are in
// stated. If stated is nil, the budgets have no uncertainties of type B.
func Compute(table *pairs.Pairs, stated *Stated, o Options) ([]Budget, error) {
	c := &campaign{Options: o, Pairs: table, stated: stated}
	if err := c.read(); err != nil {
		return nil, err
	}

	all := pairs.Outcomes(table.Table)
	wanted := o.Outcomes
	if wanted == nil {
		wanted = all
	}

	var budgets []Budget
	for _, outcome := range wanted {
		if err := table.Need("--outcome", "outcome", outcome, all); err != nil {
			return nil, err
		}

		list, err := c.budgets(outcome)
		if err != nil {
			return nil, err
		}

		budgets = append(budgets, list...)
	}

	if len(budgets) == 0 {
		return nil, c.noBudget(wanted)
	}

	return budgets, nil
}

// noBudget returns the error about outcomes of which no wanted condition has a number.
func (c *campaign) noBudget(outcomes []string) error {
	for row := range c.Rows() {
		if c.isWanted(row) {
			return fault.At(c.Source.Path, "", "numbers of "+strings.Join(outcomes, ", ")+" in the wanted rows", "none",
				"choose others with --outcome or --at")
		}
	}

	if c.At == "" {
		return fault.At(c.Source.Path, "", "rows of pairs", "none", "name the experiment, or its triplets.arrow")
	}

	return &fault.UsageError{Text: fmt.Sprintf("--at: no row of %s has %s; pipeline inspect %s lists the values", c.Name,
		c.At, c.Source.Path)}
}

// read reads the options and the conditions, and numbers the units of the observations.
func (c *campaign) read() error {
	all, _ := pairs.Conditions(c.Table)
	c.conditions = all
	if err := c.readAxes(); err != nil {
		return err
	}

	if err := c.readPools(); err != nil {
		return err
	}

	asked := slices.Clone(c.pools)
	for _, axis := range c.axes {
		asked = append(asked, axis.Name)
	}

	numbers, texts := c.SetConditions(asked...)
	above, err := c.readAbove(texts)
	if err != nil {
		return err
	}

	if err := c.readConditions(numbers, texts); err != nil {
		return err
	}

	c.numberUnits(above)

	return nil
}

// readPools reads the names of the conditions within which scatter is to be pooled. There are none if alike is to
// choose one.
func (c *campaign) readPools() error {
	c.pools = strings.FieldsFunc(c.Pool, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range c.pools {
		if err := c.Need("--pool", "condition", name, c.conditions); err != nil {
			return err
		}
	}

	return nil
}

// readAbove sets perRow and Above, and returns the unit above the runs of each row. It returns nil if there is no such
// unit. If pairs are across occasions, such as days, the occasions are the units above the runs unless the options name
// others. Each outcome is then in two rows, and counts in the row in which it comes first. texts are the columns of
// text.
func (c *campaign) readAbove(texts []string) ([]string, error) {
	c.perRow = 2
	if occasions := pairs.Across(c.Table); occasions != "" {
		c.perRow = 1
		c.Above = cmp.Or(c.Above, occasions)
	}

	if c.Above == "" {
		return nil, nil
	}

	if err := c.Need("--above", "column of text", c.Above, texts); err != nil {
		return nil, err
	}

	return c.Column(c.Above).Strings, nil
}

// readConditions sets the names and the values of the conditions that are numbers, and the names of those that are
// texts. The column of the units above the runs is not a condition.
func (c *campaign) readConditions(numbers, texts []string) error {
	c.conditions = numbers
	set := pairs.AtSetPoints{Table: c.Table}
	for _, name := range numbers {
		v, err := set.Floats(name)
		if err != nil {
			return err
		}

		c.values = append(c.values, v)
	}

	areAcross := c.perRow == 1
	for _, name := range texts {
		// If pairs are across occasions, a text is a condition only if it is the same in all rows of a recording.
		isCondition := !areAcross || condition.Nested(c.Column("recording").Strings, c.Column(name).Strings)
		if name != c.Above && isCondition {
			c.texts = append(c.texts, name)
		}
	}

	return nil
}

// readAxes reads the wanted values of conditions from the options.
func (c *campaign) readAxes() (err error) {
	c.axes, err = kv.Axes(c.At, func(name string) error { return c.Need("--at", "condition", name, c.conditions) })
	if syntax, ok := errors.AsType[*kv.SyntaxError](err); ok {
		return &fault.UsageError{Text: fmt.Sprintf("--at wants condition=value,…, found %q", syntax.Part)}
	}

	var usage *fault.UsageError
	if err != nil && !errors.As(err, &usage) {
		return &fault.UsageError{Text: fmt.Sprintf("--at: %v", err)}
	}

	return err
}

// budgets returns a budget of an outcome for each wanted condition, in the order of the conditions.
func (c *campaign) budgets(outcome string) ([]Budget, error) {
	values := c.observations(outcome)
	if c.Pool == "" {
		c.pools, c.differs = c.alike(values)
	}

	pools, members := c.poolObservations(values)
	byRow := func(a, b int) int { return c.compareRows(c.rows[a][0], c.rows[b][0]) }

	var list []Budget
	for _, id := range slices.SortedFunc(maps.Keys(members), byRow) {
		row := c.rows[id][0]
		if !c.isWanted(row) {
			continue
		}

		p := pools[c.poolKey(row)]
		mean := 0.0 // of the condition's observations
		for _, i := range members[id] {
			mean += p.y[i] / float64(len(members[id]))
		}

		b := Budget{Outcome: outcome, Unit: c.Column(outcome + "_1").Unit, At: c.conditionWords(row)}
		b.setNaive(c, outcome, id)
		b.addObserved(c, p, members[id])
		if err := b.addStated(c, outcome, row, mean); err != nil {
			return nil, err
		}

		list = append(list, b)
	}

	return list, nil
}

// observations returns the observations of an outcome, in its unit. An observation is the mean of its cells that have
// numbers, or NaN if none has.
func (c *campaign) observations(outcome string) []float64 {
	first := c.Column(outcome + "_1").Floats
	second := c.Column(outcome + "_2").Floats
	means := make([]float64, len(c.cells))
	for k, cells := range c.cells {
		n := 0.0
		for _, cell := range cells {
			v := first[cell.row]
			if cell.half == 1 {
				v = second[cell.row]
			}

			if finite(v) {
				means[k] += v
				n++
			}
		}

		means[k] /= n // NaN if n is 0
	}

	return means
}

// scatterPool is observations that scatter alike, with their units.
type scatterPool struct {
	y          []float64
	units      [][]int // as in campaign, of the observations y
	names      [][]int // as in campaign, of the observations y
	nested     Nested  // their variances
	conditions int     // number of conditions
}

// poolObservations returns the pools of the observations by poolKey, and for each condition the indices of its
// observations in their pool. It leaves out observations that are not numbers.
func (c *campaign) poolObservations(values []float64) (pools map[string]*scatterPool, members map[int][]int) {
	pools = map[string]*scatterPool{}
	members = map[int][]int{}
	for k, v := range values {
		if !finite(v) {
			continue
		}

		row := c.cells[k][0].row
		key := c.poolKey(row)
		p := pools[key]
		if p == nil {
			p = &scatterPool{units: make([][]int, len(c.units)), names: make([][]int, len(c.units))}
			pools[key] = p
		}

		id := c.condition[row]
		members[id] = append(members[id], len(p.y))
		p.y = append(p.y, v)
		for depth := range p.units {
			p.units[depth] = append(p.units[depth], c.units[depth][k])
		}

		for level := range p.names {
			if c.names[level] != nil {
				p.names[level] = append(p.names[level], c.names[level][k])
			}
		}
	}

	for _, p := range pools {
		p.nested = Variances(p.y, p.units)
		p.conditions = len(unitSizes(p.units[0]))
		for level, names := range p.names {
			if names != nil {
				before := p.units[depthOf(level)-1]
				p.nested.Crossed(level, crossedFreedom(names, before))
			}
		}
	}

	return pools, members
}

// compareRows orders rows by the values of their conditions.
func (c *campaign) compareRows(a, b int) int {
	for _, v := range c.values {
		if d := cmp.Compare(v[a], v[b]); d != 0 {
			return d
		}
	}

	return cmp.Compare(a, b)
}

// poolKey returns the key of the pool of a row: the values of the conditions in pools.
func (c *campaign) poolKey(row int) (key string) {
	for k, name := range c.conditions {
		if slices.Contains(c.pools, name) {
			key += strconv.FormatFloat(c.values[k][row]+0, 'g', -1, 64) + " " // −0 is 0
		}
	}

	return key
}

// isWanted reports whether the options ask for the conditions of a row.
func (c *campaign) isWanted(row int) bool {
	for _, axis := range c.axes {
		have := c.values[slices.Index(c.conditions, axis.Name)][row]
		isHere := func(want float64) bool { return kv.Same(have, want) }
		if !slices.ContainsFunc(axis.Values, isHere) {
			return false
		}
	}

	return true
}

// conditionWords writes the conditions of a row for people: "blades = 3, rpm = 5000".
func (c *campaign) conditionWords(row int) string {
	var parts []string
	for k, name := range c.conditions {
		parts = append(parts, name+" = "+fault.Digits(c.values[k][row]+0, 6)) // −0 is 0
	}

	for _, name := range c.texts {
		parts = append(parts, c.Column(name).Strings[row])
	}

	return strings.Join(parts, ", ")
}

// setNaive sets the standard error that the mean of the condition with number id would have if the segments of its
// spectra were independent. It sets nothing if the table has no deviations of the outcome.
func (b *Budget) setNaive(c *campaign, outcome string, id int) {
	first := c.Column(outcome + "_sd_1")
	second := c.Column(outcome + "_sd_2")
	if first == nil || second == nil {
		return
	}

	deviations := [][]float64{first.Floats, second.Floats}
	values := [][]float64{c.Column(outcome + "_1").Floats, c.Column(outcome + "_2").Floats}

	sum := 0.0 // of the squared deviations of the outcomes that count
	n := 0.0
	for _, i := range c.rows[id] {
		for k := range c.perRow {
			deviation := deviations[k][i]
			if finite(deviation) && finite(values[k][i]) {
				sum += deviation * deviation
				n++
			}
		}
	}

	b.Naive = math.Sqrt(sum) / n // NaN if n is 0
	b.NaiveOf = "segments"
}

// unseenLevels has for some levels the effect that a budget lacks if nothing repeats at the level, and a verb.
var unseenLevels = map[string]string{
	"runs":    "no repeats of a run: the set-up after mounting again is",
	"repeats": "no repeats of a condition: scatter is",
}

// addObserved adds a quantity for each level that repeats, and a remark for each level that does not. members are the
// indices of the condition's observations in the pool.
func (b *Budget) addObserved(c *campaign, pool *scatterPool, members []int) {
	v := pool.nested
	parts, dof := v.MeanVariances(pool.units, members)
	b.Pooled = fault.Plural(int64(pool.conditions), "condition")
	if len(c.pools) > 0 {
		b.Pooled += " of equal " + strings.Join(c.pools, ", ") + c.differs
	}

	b.RepeatedDoF = dof
	for level, name := range c.levels {
		if v.Free[level] > 0 {
			b.Quantities = append(b.Quantities, Quantity{
				Name: "between " + name, Source: name,
				U: math.Sqrt(parts[level]), DoF: v.DoF[level], A: true, Law: "normal", Repeated: true,
			})
			continue
		}

		// Without repeats within a day, the scatter between days contains the scatter of single values.
		hasScatterAbove := level > 0 && v.Free[level-1] > 0
		if name == "repeats" && hasScatterAbove {
			continue
		}

		lack := cmp.Or(unseenLevels[name], "nothing repeats within "+name+": that scatter is")
		b.Unseen = append(b.Unseen, lack+" not in this budget")
	}
}
