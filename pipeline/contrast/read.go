package contrast

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// row is the outcomes of one unit at one condition.
type row struct {
	side int
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
func parseSide(flag, text string) (list []term, err error) {
	terms, err := kv.Parse(text)
	if err != nil {
		return nil, usage("--%s wants column=value or column=/pattern/: %v", flag, err)
	}

	for _, p := range terms {
		t := term{flag: flag, column: p.Key, value: p.Value}
		if t.pattern, err = pattern(flag, t.value); err != nil {
			return nil, err
		}

		list = append(list, t)
	}

	return list, nil
}

func usage(format string, args ...any) error {
	return &config.UsageError{Text: "pipeline contrast: " + fmt.Sprintf(format, args...)}
}

// pattern reads /pattern/; nil where the text is none.
func pattern(flag, text string) (*regexp.Regexp, error) {
	if len(text) < 3 || text[0] != '/' || text[len(text)-1] != '/' {
		return nil, nil
	}

	p, err := regexp.Compile(text[1 : len(text)-1])
	if err != nil {
		return nil, usage("--%s wants a regular expression between slashes: %v", flag, err)
	}

	return p, nil
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
func (c *comparison) read() (err error) {
	if c.terms[0], err = parseSide("a", c.Options.A); err != nil {
		return err
	}

	if c.terms[1], err = parseSide("b", c.Options.B); err != nil {
		return err
	}

	if c.part, err = pattern("unit", c.Options.Unit); err != nil {
		return err
	}

	c.Result.A, c.Result.B = c.Options.A, c.Options.B
	for k, name := range c.Runs {
		p, err := pairs.Open(name, "", nil)
		if err != nil {
			return err
		}

		if err := c.columns(p); err != nil {
			return err
		}

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
			return &fault.Error{
				Path: c.Runs[side%len(c.Runs)], Want: "rows with " + name, Found: "none",
				Hint: "pipeline inspect lists the values of triplets.arrow",
			}
		}
	}

	return nil
}

// columns checks the columns that are asked for.
func (c *comparison) columns(p *pairs.Pairs) error {
	outcomes := plan.Outcomes(p.Table)
	axes, labels := plan.Conditions(p.Table)
	labels = append([]string{"run", "recording"}, labels...)
	quantities := []quantity{}
	for _, n := range axes {
		quantities = append(quantities, quantity{n, p.Column(n).Unit})
	}

	if c.axes == nil {
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
		if err := p.Need("--"+t.flag, "column", t.column, slices.Concat(labels, axes)); err != nil {
			return fmt.Errorf("%w; a label is carried where a split or honest.groups names it", err)
		}
	}

	for _, n := range c.Options.Outcomes {
		if err := p.Need("--outcome", "outcome", n, outcomes); err != nil {
			return err
		}

		unit := p.Column(n + "_1").Unit
		if first, known := c.unit[n]; known && first != unit {
			return &fault.Error{Path: p.Name, Want: n + " in " + first + ", as in " + c.Runs[0], Found: unit}
		}
		c.unit[n] = unit
	}

	for _, q := range c.axes {
		if !slices.Contains(quantities, q) {
			return &fault.Error{
				Path: p.Name, Want: "a condition " + q.name + ", as in " + c.Runs[0], Found: strings.Join(axes, ", "),
			}
		}
	}

	if kind := p.Get("data"); c.Data == "" || kind == "simulated" {
		c.Data = kind
	}

	return nil
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
		name := t.Column("run").Strings[i]
		runs := strings.Split(name, " + ")
		if len(runs) != 2 {
			runs = []string{name}
		}

		for k, run := range runs {
			if slices.ContainsFunc(c.terms[side], func(term term) bool {
				return term.column == "run" && !term.holds(run) || term.column != "run" && !term.holds(text(term.column, i))
			}) {
				continue
			}

			r := row{side: side, unit: run}
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
				if t.Get("config:ingest.table.across") != "" {
					b = a // of another occasion, where it is the first of a pair too
				}

				r.y = append(r.y, [][]float64{{(a + b) / 2}, {a, b}}[len(runs)-1][k])
			}

			c.rows = append(c.rows, r)
		}
	}
}
