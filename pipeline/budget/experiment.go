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
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
)

// Options say which budgets of an experiment are wanted.
type Options struct {
	At       string   // conditions, as "blades=3,rpm=5000"; of others all values
	Outcomes []string // nil: all
	Above    string   // column of text with a level above the runs, such as the day; "": none
	Pool     string   // conditions, joined by commas; scatter is pooled over those that are equal in them; "": over all
	Config   string   // configuration; "": pipeline.yaml, if there is one
}

// Read makes the budgets of an experiment of the configuration, of its folder or of a table of pairs, by outcome and
// condition. The uncertainties of type B are those that the configuration states.
func Read(name string, o Options) (_ []Budget, err error) {
	defer fault.Catch(&err)
	return Of(fault.Get(pairs.Open(name, o.Config, nil)), o)
}

// campaignOf is the observations of an experiment.
type campaignOf struct {
	Options
	*pairs.Pairs
	at         []kv.Axis
	conditions []string
	texts      []string      // labels of conditions
	pools      []string      // those by which scatter is pooled
	values     [][]float64   // of the conditions, by row
	condition  []int         // of a row, numbered by first appearance
	rows       map[int][]int // of a condition
	units      [][]int       // of an observation: condition, …, run
	names      [][]int       // of the units of each level, the same in all conditions
	levels     []string      // names of the levels below the condition
	of         [][]int       // the values whose mean is an observation: twice their rows, and 1 for second ones
	own        int           // values of a row: 1 where the second is another row's
	differs    string        // why scatter is pooled by pools, where they were not asked for
}

// Of makes the budgets of an experiment's pairs, as Read does.
func Of(p *pairs.Pairs, o Options) (out []Budget, err error) {
	defer fault.Catch(&err)
	c := &campaignOf{Options: o, Pairs: p}
	c.read()
	all := plan.Outcomes(p.Table)
	if o.Outcomes == nil {
		o.Outcomes = all
	}

	for _, outcome := range o.Outcomes {
		fault.Raise(p.Need("--outcome", "outcome", outcome, all))
		out = append(out, c.budgets(outcome)...)
	}

	if len(out) == 0 {
		return nil, &config.UsageError{Text: fmt.Sprintf("--at: no row of %s has these conditions; pipeline inspect "+
			"lists the values of its triplets.arrow", p.Name)}
	}

	return out, nil
}

func (c *campaignOf) read() {
	numbers, texts := plan.Conditions(c.Table)
	c.conditions = numbers
	var usage *config.UsageError
	at, err := kv.Axes(c.At, func(name string) error { return c.Need("--at", "condition", name, numbers) })
	if err != nil && !errors.As(err, &usage) {
		err = &config.UsageError{Text: fmt.Sprintf("--at wants condition=value,…: %v", err)}
	}

	fault.Raise(err)
	c.at = at
	c.pools = strings.FieldsFunc(c.Pool, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range c.pools {
		fault.Raise(c.Need("--pool", "condition", name, numbers))
	}

	var by []string
	if c.own = 2; plan.Across(c.Table) != "" {
		c.own, c.Above = 1, cmp.Or(c.Above, plan.Across(c.Table))
	}

	if c.Above != "" {
		fault.Raise(c.Need("--above", "column of text", c.Above, texts))
		by = c.Column(c.Above).Strings
	}

	set := plan.AtSetPoints{Table: c.Table}
	c.values = lists.Each(numbers, func(n string) []float64 { return fault.Get(set.Floats(n)) })
	c.texts = lists.Keep(texts, func(t string) bool { // of pairs across occasions each condition is a recording
		return t != c.Above && (c.own == 2 || condition.Nested(c.Column("recording").Strings, c.Column(t).Strings))
	})
	c.number(by)
}

// number numbers the units of all levels.
func (c *campaignOf) number(by []string) {
	ids := map[string]int{}
	id := func(key string) int {
		if _, known := ids[key]; !known {
			ids[key] = len(ids)
		}
		return ids[key]
	}

	run := c.Column("run").Strings
	repeats := c.Get("pairs") == "repeat-run"
	c.levels = []string{"runs", "halves of a recording"}
	switch kind := c.Get("construction"); {
	case repeats:
		c.levels = []string{"repeats"} // a value is a run
	case kind == "random-samples":
		c.levels[1] = "samples of a recording"
	case kind == "":
		c.levels[1] = "outcomes of a run"
	}

	if by != nil {
		c.levels = slices.Insert(c.levels, 0, c.Above)
	}

	c.units, c.names, c.rows = make([][]int, len(c.levels)), make([][]int, len(c.levels)), map[int][]int{}
	seen := map[string]int{}
	for i := range c.Rows() {
		key := "c"
		for _, v := range c.values {
			key += " " + strconv.FormatFloat(v[i], 'g', -1, 64)
		}

		for _, t := range c.texts {
			key += "\x00" + c.Column(t).Strings[i]
		}

		at := id(key)
		c.condition = append(c.condition, at)
		c.rows[at] = append(c.rows[at], i)
		names := plan.RunsOf(c.Table, i)
		for k := range c.own {
			name, half := names[min(k, len(names)-1)], ""
			if len(names) == 1 {
				half = "\x01" + strconv.Itoa(k)
			}

			mark := key + "\x01" + name + half
			if repeats { // two runs that have one name together
				name += half
			}

			if at, known := seen[mark]; !known {
				seen[mark] = len(c.of)
			} else { // rows of one run are no repeats; a run that is part of several pairs counts once
				if len(names) == 1 {
					c.of[at] = append(c.of[at], 2*i+k)
				}

				continue
			}

			l, unit := 1, key
			c.units[0] = append(c.units[0], at)
			if by != nil {
				unit += "\x02" + by[i]
				c.units[l], c.names[l-1] = append(c.units[l], id(unit)), append(c.names[l-1], id("\x02"+by[i]))
				l++
			}

			if !repeats {
				c.units[l] = append(c.units[l], id(unit+"\x03"+run[i]))
			}

			c.names[l-1] = append(c.names[l-1], id("\x03"+name))
			c.of = append(c.of, []int{2*i + k})
		}
	}
}

// budgets are those of an outcome at each condition that is wanted.
func (c *campaignOf) budgets(outcome string) (out []Budget) {
	pair := [2][]float64{c.Column(outcome + "_1").Floats, c.Column(outcome + "_2").Floats}
	pools, rows := map[string]*pool{}, map[int][]int{} // rows of a condition, in its pool
	values := make([]float64, len(c.of))
	for k, of := range c.of {
		n := 0.0
		for _, o := range of {
			if v := pair[o%2][o/2]; v-v == 0 {
				values[k], n = values[k]+v, n+1
			}
		}

		values[k] /= n // NaN where none is a number
	}

	if c.Pool == "" {
		c.pools, c.differs = c.alike(values)
	}

	for k, v := range values {
		row := c.of[k][0] / 2
		if v-v != 0 {
			continue
		}

		p := pools[c.pooled(row)]
		if p == nil {
			n := len(c.units)
			p = &pool{units: make([][]int, n), names: make([][]int, n)}
			pools[c.pooled(row)] = p
		}

		at := c.condition[row]
		rows[at] = append(rows[at], len(p.y))
		p.y = append(p.y, v)
		for l := range p.units {
			p.units[l] = append(p.units[l], c.units[l][k])
			if c.names[l] != nil {
				p.names[l] = append(p.names[l], c.names[l][k])
			}
		}
	}

	for _, p := range pools {
		p.nested, p.conditions = Variances(p.y, p.units), len(counts(p.units[0]))
		for l, names := range p.names {
			if names != nil {
				p.nested.Crossed(l, freedom(names, p.units[l]))
			}
		}
	}

	byRow := func(a, b int) int { return c.compare(c.rows[a][0], c.rows[b][0]) }
	for _, at := range slices.SortedFunc(maps.Keys(rows), byRow) {
		row := c.rows[at][0]
		if !c.wanted(row) {
			continue
		}

		p := pools[c.pooled(row)]
		b := Budget{Outcome: outcome, Unit: c.Column(outcome + "_1").Unit}
		b.At = c.words(row)
		mean := 0.0
		for _, i := range rows[at] {
			mean += p.y[i] / float64(len(rows[at]))
		}

		b.naive(c, outcome, at)
		b.observed(c, p, rows[at])
		b.stated(c, outcome, row, mean)
		out = append(out, b)
	}

	return out
}

// pool is observations that scatter alike, with their units.
type pool struct {
	y          []float64
	units      [][]int
	names      [][]int
	nested     Nested
	conditions int
}

// freedom is the number of degrees of freedom of effects by name beside those of the units: names less the sets of
// names that no unit connects.
func freedom(names, units []int) float64 {
	set, first := map[int]int{}, map[int]int{} // one of the set of a name, itself at last
	root := func(n int) int {
		for set[n] != n {
			n = set[n]
		}
		return n
	}

	sets := 0
	for i, n := range names {
		if _, known := set[n]; !known {
			set[n] = n
			sets++
		}

		other, known := first[units[i]]
		if !known {
			first[units[i]] = n
		} else if a, b := root(n), root(other); a != b {
			set[a] = b
			sets--
		}
	}

	return float64(len(set) - sets)
}

// compare orders rows by their conditions.
func (c *campaignOf) compare(a, b int) int {
	for _, v := range c.values {
		if d := cmp.Compare(v[a], v[b]); d != 0 {
			return d
		}
	}

	return cmp.Compare(a, b)
}

// pooled names the pool of a row.
func (c *campaignOf) pooled(row int) (key string) {
	for k, n := range c.conditions {
		if slices.Contains(c.pools, n) {
			key += strconv.FormatFloat(c.values[k][row], 'g', -1, 64) + " "
		}
	}

	return key
}

func (c *campaignOf) wanted(row int) bool {
	for _, a := range c.at {
		have := c.values[slices.Index(c.conditions, a.Name)][row]
		if !slices.ContainsFunc(a.Values, func(want float64) bool {
			return math.Abs(have-want) <= 1e-9*max(math.Abs(have), math.Abs(want))
		}) {
			return false
		}
	}

	return true
}

func (c *campaignOf) words(row int) string {
	parts := lists.Make(len(c.conditions), func(k int) string {
		return c.conditions[k] + " = " + strconv.FormatFloat(c.values[k][row], 'g', 6, 64)
	})
	parts = append(parts, lists.Each(c.texts, func(name string) string { return c.Column(name).Strings[row] })...)

	return strings.Join(parts, ", ")
}

// naive is the standard error of the mean of the levels whose deviation the spectra predict from independent
// segments.
func (b *Budget) naive(c *campaignOf, outcome string, at int) {
	one, two := c.Column(outcome+"_sd_1"), c.Column(outcome+"_sd_2")
	if one == nil || two == nil {
		return
	}

	sum, n := 0.0, 0.0
	for _, i := range c.rows[at] {
		sum += one.Floats[i]*one.Floats[i] + two.Floats[i]*two.Floats[i]
		n += 2
	}

	b.Naive, b.NaiveOf = math.Sqrt(sum)/n, "segments"
}

// observed adds what the repetitions of the campaign show.
func (b *Budget) observed(c *campaignOf, p *pool, rows []int) {
	v := p.nested
	parts, dof := v.OfMean(p.units, rows)
	b.Pooled = fault.Plural(int64(p.conditions), "condition")
	if len(c.pools) > 0 {
		b.Pooled += " of equal " + strings.Join(c.pools, ", ") + c.differs
	}

	b.RepeatedDoF = dof
	for l, name := range c.levels {
		none := map[string]string{
			"runs":    "no repeats of a run: the set-up after mounting again is",
			"repeats": "no repeats of a condition: scatter is",
		}[name]
		switch above := l > 0 && v.Free[l-1] > 0; {
		case v.Free[l] > 0:
			b.Quantities = append(b.Quantities, Quantity{
				Name: "between " + name, Source: name,
				U: math.Sqrt(parts[l]), DoF: v.DoF[l], A: true, Law: "normal", Repeated: true,
			})
		case name != "repeats" || !above: // which has the scatter of single values
			none = cmp.Or(none, "nothing repeats within "+name+": that scatter is")
			b.Unseen = append(b.Unseen, none+" not in this budget")
		}
	}
}

// stated adds what the configuration states, and the model.
func (b *Budget) stated(c *campaignOf, outcome string, row int, mean float64) {
	model := lists.Each(b.Quantities, func(q Quantity) string { return quote(q.Name) })
	model = slices.Insert(model, 0, quote(outcome))
	own := Quantity{Name: outcome, Source: outcome, Value: mean, DoF: math.Inf(1), Law: "normal"}
	if c.Experiment == nil {
		b.Quantities = append(b.Quantities, own)
		b.Model = strings.Join(model, " + ")
		b.Unseen = append(b.Unseen, "no configuration was read: what it states of type B is not in this budget")

		return
	}

	in := c.Experiment.Ingest
	level := units.IsLevel(b.Unit)
	if in.Calibration != nil && (level || strings.HasPrefix(b.Unit, "Pa")) {
		model = append(model, b.chain(in.Calibration.Uncertainty, level)...)
		if len(in.Calibration.Uncertainty) == 0 {
			b.Unseen = append(b.Unseen, "the calibration's uncertainty is not stated (ingest.calibration.uncertainty)")
		}
	}

	statements := c.statements(row)
	if q, ok := statements[outcome]; ok {
		own.U, own.DoF, own.A, own.Law = q.U, q.DoF, q.A, q.Law
		delete(statements, outcome)
	}

	if _, derived := config.Find(in.Derive, outcome); derived {
		own.Name = "measured " + outcome
		model[0] = quote(own.Name)
		model = append(model, b.derived(c, outcome, row, statements))
	} else {
		model[0] += b.coefficient(c, outcome, statements)
	}

	b.Quantities = append(b.Quantities, own)
	b.Model = strings.Join(model, " + ")
}

// quote makes a name one of an expression.
func quote(name string) string { return strconv.Quote(name) }

// chain adds the uncertainties of the calibration, and returns their terms of the model.
func (b *Budget) chain(list []config.NamedString, level bool) (terms []string) {
	for _, n := range list {
		u, _ := config.ParseUncertainty(n.Value) // checked with the configuration
		q := Quantity{
			Name: "calibration " + n.Name, Source: n.Name, U: u.U, DoF: u.DoF, A: u.Observed, Law: u.Law,
		}

		term := quote(q.Name)
		if u.Percent { // of a factor
			q.Value = 1
			term = "20*log10(" + term + ")"
		}

		if !level {
			term = quote(b.Outcome) + "*(10^(" + term + "/20) - 1)"
		}

		b.Quantities, terms = append(b.Quantities, q), append(terms, term)
	}

	return terms
}

// base are the numbers at a condition that no expression gives: constants, conditions, outcomes and the
// references of dsp.
func (c *campaignOf) base(row int) map[string]float64 {
	in, dsp := c.Experiment.Ingest, c.Experiment.DSP
	values := map[string]float64{
		"chord_m": dsp.ChordM, "span_m": dsp.SpanM, "density_kg_m3": dsp.DensityKgM3, "pressure_pa": dsp.PressurePa,
		"temperature_c": dsp.TemperatureC,
	}
	for n, v := range values {
		if v == 0 {
			delete(values, n)
		}
	}

	for _, n := range in.Constants {
		values[n.Name] = n.Value
	}

	for k, n := range c.conditions {
		values[n] = c.values[k][row]
	}

	for _, o := range plan.Outcomes(c.Table) {
		values[o] = c.mean(o, c.condition[row])
	}

	for _, d := range in.Derive {
		delete(values, d.Name)
	}

	return values
}

// mean is that of an outcome at a condition.
func (c *campaignOf) mean(outcome string, at int) float64 {
	one, two := c.Column(outcome+"_1").Floats, c.Column(outcome+"_2").Floats
	sum, n := 0.0, 0.0
	for _, i := range c.rows[at] {
		if v := (one[i] + two[i]) / 2; v == v {
			sum, n = sum+v, n+1
		}
	}

	return sum / n
}

// statements are the uncertainties that ingest.uncertainty states, at a condition.
func (c *campaignOf) statements(row int) map[string]Quantity {
	in, base, out := c.Experiment.Ingest, c.base(row), map[string]Quantity{}
	for _, n := range in.Uncertainty {
		v, known := base[n.Name]
		if _, derived := config.Find(in.Derive, n.Name); derived {
			v, known = c.mean(n.Name, c.condition[row]), c.Column(n.Name+"_1") != nil
		}

		if !known {
			fault.Raise(&config.UsageError{Text: fmt.Sprintf("ingest.uncertainty: expected constants, conditions, outcomes or "+
				"references of %s, found %q%s", c.Experiment.Name, n.Name,
				spelling.DidYouMean(n.Name, slices.Collect(maps.Keys(base))))})
		}

		u, _ := config.ParseUncertainty(n.Value) // checked with the configuration
		q := Quantity{Name: n.Name, Source: n.Name, Value: v, U: u.U, DoF: u.DoF, A: u.Observed, Law: u.Law}
		if u.Percent {
			q.U *= math.Abs(v)
		}
		out[n.Name] = q
	}

	return out
}

// derived adds what an outcome's expression is of, and returns the term by which it changes.
func (b *Budget) derived(c *campaignOf, outcome string, row int, statements map[string]Quantity) string {
	for _, d := range c.Experiment.Ingest.Derive {
		b.Derive = append(b.Derive, derive.Definition{Name: d.Name, Text: d.Value})
	}

	_, labels := plan.Conditions(c.Table)
	b.Names = map[string]string{}
	for _, l := range labels {
		b.Names[l] = c.Column(l).Strings[row]
	}

	base := c.base(row)
	names := slices.Sorted(maps.Keys(base))
	set, err := derive.New(b.Derive, nil, nil, labels, names)
	if err != nil {
		fault.Raise(fmt.Errorf("ingest.derive: %w", err))
	}

	for _, n := range names {
		q, stated := statements[n]
		if !stated {
			q = Quantity{Name: n, Source: n, Value: base[n], DoF: math.Inf(1), Law: "normal"}
		}
		b.Quantities = append(b.Quantities, q)
	}

	if err := set.AddOutcomes(base, b.Names); err != nil {
		fault.Raise(fmt.Errorf("ingest.derive: %w", err))
	}

	return fmt.Sprintf("%s - (%s)", quote(outcome), strconv.FormatFloat(base[outcome], 'g', -1, 64))
}

// references are the quantities that the coefficients of a balance are divided by, with their powers.
var references = map[string]string{
	"chord_m": "%s/%s", "span_m": "%s/%s", "density_kg_m3": "%s/%s", "pressure_pa": "%s/%s", "u_inf_m_s": "(%s/%s)^2",
	"temperature_c": "(273.15 + %[2]s)/(273.15 + %[1]s)",
}

// coefficient adds the references of a balance's coefficient, and returns its factors.
func (b *Budget) coefficient(c *campaignOf, outcome string, statements map[string]Quantity) (factors string) {
	isCoefficient := c.Experiment.DSP.ChordM > 0 && strings.HasPrefix(outcome, "c") && !units.IsLevel(b.Unit)
	for _, n := range slices.Sorted(maps.Keys(statements)) {
		q := statements[n]
		form := references[n]
		if !isCoefficient || form == "" {
			if slices.Contains(c.conditions, n) { // other numbers have no part in what was measured
				b.Unseen = append(b.Unseen, "how "+outcome+" changes with "+n+" is not known: that uncertainty is not in "+
					"this budget")
			}

			continue
		}

		if n == "chord_m" && outcome == "cm" { // a moment's arm is the chord again
			form = "(%s/%s)^2"
		}

		factors += "*" + fmt.Sprintf("("+form+")", strconv.FormatFloat(q.Value, 'g', -1, 64), quote(n))
		b.Quantities = append(b.Quantities, q)
	}

	return factors
}
