package contrast

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// row is the outcomes of one unit at one condition.
type row struct {
	side int
	of   int // row of the table, twice, and 1 for the second run of a pair
	unit string
	all  []float64 // the conditions of the table
	x    []float64 // those that the sides are compared at
	y    []float64
}

// term is a column of a side, with its value or pattern.
type term struct {
	flag, column, value string
	pattern             *regexp.Regexp
}

// parseSide reads "blades=2,run=/^a/".
func parseSide(flag, text string) []term {
	terms, err := kv.Parse(text)
	if err != nil {
		fault.Raise(usage("--%s wants column=value or column=/pattern/: %v", flag, err))
	}

	return lists.Each(terms, func(p kv.Pair) term { return term{flag, p.Key, p.Value, pattern(flag, p.Value)} })
}

func usage(format string, args ...any) error {
	return &config.UsageError{Text: "pipeline contrast: " + fmt.Sprintf(format, args...)}
}

// pattern reads /pattern/; nil where the text is none.
func pattern(flag, text string) *regexp.Regexp {
	if len(text) < 3 || text[0] != '/' || text[len(text)-1] != '/' {
		return nil
	}

	p, err := regexp.Compile(text[1 : len(text)-1])
	if err != nil {
		fault.Raise(usage("--%s wants a regular expression between slashes: %v", flag, err))
	}

	return p
}

func (t term) holds(text string) bool {
	if t.pattern != nil {
		return t.pattern.MatchString(text)
	}

	a, err1 := strconv.ParseFloat(t.value, 64)
	b, err2 := strconv.ParseFloat(text, 64)

	return text == t.value || err1 == nil && err2 == nil && math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
}

// read reads the rows of both sides.
func (c *comparison) read() {
	c.terms = [2][]term{parseSide("a", c.Options.A), parseSide("b", c.Options.B)}
	c.part = pattern("unit", c.Options.Unit)
	c.Result.A, c.Result.B = c.Options.A, c.Options.B
	for k, name := range c.Runs {
		p := fault.Get(pairs.Open(name, "", nil))
		c.columns(p)
		sides := []int{0, 1}
		if len(c.Runs) == 2 {
			sides = []int{k}
			title := []*string{&c.Result.A, &c.Result.B}[k]
			*title = strings.TrimSpace(name + " " + *title)
		}

		for _, side := range sides {
			c.add(p.Table, side)
		}
	}

	for side, name := range []string{c.Result.A, c.Result.B} {
		if !slices.ContainsFunc(c.rows, func(r row) bool { return r.side == side }) {
			fault.Raise(fault.At(c.Runs[side%len(c.Runs)], "", "rows with "+name, "none",
				"pipeline inspect lists the values of triplets.arrow"))
		}
	}

	c.apart()
}

// apart raises an error where rows of one table are on both sides, or a unit has no name.
func (c *comparison) apart() {
	on := map[int]int{}
	for _, r := range c.rows {
		if r.unit == "" {
			fault.Raise(usage("--unit: not all runs that are compared have a part like %s", c.Options.Unit))
		}

		if side, known := on[r.of]; known && side != r.side && len(c.Runs) == 1 {
			fault.Raise(usage("--a and --b have rows in common, such as one of %s %s: state sides that exclude each other",
				c.Options.Unit, r.unit))
		}
		on[r.of] = r.side
	}
}

// columns checks the columns that are asked for.
func (c *comparison) columns(p *pairs.Pairs) {
	outcomes := plan.Outcomes(p.Table)
	axes, labels := plan.Conditions(p.Table)
	labels = append([]string{"run", "recording"}, labels...)
	quantities := lists.Each(axes, func(n string) quantity { return quantity{n, p.Column(n).Unit} })

	if c.unit == nil {
		c.axes, c.unit = quantities, map[string]string{}
		if len(c.Options.Outcomes) == 0 {
			c.Options.Outcomes = outcomes
		}
	}

	asked := slices.Concat(c.terms[0], c.terms[1])
	if c.part == nil {
		asked = append(asked, term{flag: "unit", column: c.Options.Unit})
	}

	for _, t := range asked {
		fault.Raise(p.Need("--"+t.flag, "column", t.column, slices.Concat(labels, axes)))
	}

	for _, n := range c.Options.Outcomes {
		fault.Raise(p.Need("--outcome", "outcome", n, outcomes))
		unit := p.Column(n + "_1").Unit
		first, known := c.unit[n]
		fault.Unless(!known || first == unit,
			fault.At(p.Name, "", n+" in "+first+", as in "+c.Runs[0], cmp.Or(unit, "no unit"), "convert one of them"))
		c.unit[n] = unit
	}

	have := lists.Each(quantities, func(q quantity) string { return labelled(q.name, q.unit) })
	for _, q := range c.axes {
		fault.Unless(slices.Contains(quantities, q), fault.At(p.Name, "", "a condition "+labelled(q.name, q.unit)+
			", as in "+c.Runs[0], strings.Join(have, ", "), ""))
	}

	if kind := p.Get("data"); c.Data == "" || kind == "simulated" {
		c.Data = kind
	}
}

// add adds the rows of a side. A pair of two runs is two rows, else the mean of the pair is one.
func (c *comparison) add(t *table.Table, side int) {
	at := plan.AtSetPoints{Table: t}
	text := func(name string, i int) string {
		if v, err := at.Floats(name); err == nil {
			return strconv.FormatFloat(v[i], 'g', -1, 64)
		}
		return t.Column(name).Strings[i]
	}

	for i := range t.Rows() {
		runs := plan.RunsOf(t, i)
		for k, run := range runs {
			if slices.ContainsFunc(c.terms[side], func(term term) bool {
				return term.column == "run" && !term.holds(run) || term.column != "run" && !term.holds(text(term.column, i))
			}) {
				continue
			}

			r := row{side: side, of: 2*i + k, unit: run}
			switch {
			case c.part != nil:
				r.unit = c.part.FindString(run)
			case c.Options.Unit != "run":
				r.unit = text(c.Options.Unit, i)
			case len(c.Runs) == 2: // runs of two directories are never one
				r.unit = strconv.Itoa(side) + run
			}

			for _, q := range c.axes {
				v, _ := at.Floats(q.name) // plan.Conditions lists them
				r.all = append(r.all, v[i])
			}

			for _, o := range c.Options.Outcomes {
				a, b := t.Column(o + "_1").Floats[i], t.Column(o + "_2").Floats[i]
				if plan.Across(t) != "" {
					b = a
				}

				r.y = append(r.y, [][]float64{{(a + b) / 2}, {a, b}}[len(runs)-1][k])
			}

			c.rows = append(c.rows, r)
		}
	}
}
