package report

import (
	"slices"
	"strconv"

	"doubletake/train/score"
)

// The tables are laid out once, for all three formats: their contents are
// decided here, their look in terminal.go, markdown.go, latex.go.

// table is rows of named columns, the columns in groups under one heading.
type table struct {
	title  string // a few words; "" without
	corner string // heading of the label column
	labels []string
	groups []group
}

type group struct {
	head    string
	columns []column
}

type column struct {
	head  string
	text  bool // cells are words, set flush left
	cells []number
}

// columns returns how many columns of numbers or words the table has.
func (t table) columns() int {
	n := 0
	for _, g := range t.groups {
		n += len(g.columns)
	}
	return n
}

// quantity is a metric that a table shows.
type quantity struct {
	key         string // of score.Metrics
	train, test bool   // parts it is shown of
	se          string // key of its standard error on the test part, shown next to it; "" when there is none
	symbol      string // "": the metric's own
}

// name is the quantity's symbol.
func (q quantity) name() string {
	if q.symbol != "" {
		return q.symbol
	}
	return score.MetricOf(q.key).Symbol
}

// head is the heading of its column.
func (q quantity) head() string {
	if q.scale() == 100 {
		return q.name() + " ×10⁻²"
	}
	return q.name()
}

// scale is the factor of its cells.
func (q quantity) scale() float64 { return score.MetricOf(q.key).Factor }

func (q quantity) cell(v score.Values) number { return round(v.Get(q.key), q.scale()) }

func (q quantity) seCell(v score.Values) number { return twoDigits(v.Get(q.se), q.scale()) }

// The numbers of the tables: the paper's two, those that E|cov| consists of with
// the measured error, and the identities that one joint law of the two answers
// obeys (docs/method.md#diagnostics).
var (
	papers = []quantity{{key: "r2", train: true, test: true}, {key: "abs_cov", train: true, test: true}}

	partsOfCov = []quantity{
		{key: "cov_centred", train: true, test: true},
		{key: "mu_delta", train: true, test: true},
		{key: "delta", train: true, test: true},
		{key: "e", test: true, se: "e_se"},
		{key: "sum_e_ratio", test: true, se: "sum_e_ratio_se"},
		{key: "noise_ceiling", train: true, test: true},
	}

	identities = []quantity{
		{key: "kappa", train: true, test: true},
		{key: "negative_cov", train: true, test: true},
		{key: "cov_above_var", train: true, test: true},
	}
)

// sets is the table of what each split holds out.
func (e Experiment) sets() table {
	t := table{title: "Held-out sets", corner: "split"}
	held := column{head: "test part", text: true}
	seeds := column{head: "seeds"}
	count := func(n int) number { return number{text: strconv.Itoa(n)} }
	part := func(head string, of func(Split) SetMetrics) group {
		g := group{head: head, columns: []column{{head: "triplets"}, {head: "conditions"}, {head: "runs"}}}
		for _, s := range e.Splits {
			m := of(s)
			for i, n := range []int{m.Rows, m.Conditions, m.Runs} {
				g.columns[i].cells = append(g.columns[i].cells, count(n))
			}
		}
		return g
	}
	for _, s := range e.Splits {
		t.labels = append(t.labels, s.Name)
		held.cells = append(held.cells, number{text: s.HeldOut})
		seeds.cells = append(seeds.cells, count(s.Seeds))
	}
	t.groups = []group{{"", []column{held}}}
	reach := column{head: "is", text: true}
	known := false
	for _, s := range e.Splits {
		reach.cells = append(reach.cells, number{text: s.Reach})
		known = known || s.Reach != ""
	}
	if known {
		t.groups = append(t.groups, group{"", []column{reach}})
	}
	t.groups = append(t.groups,
		group{"", []column{seeds}},
		part("train", func(s Split) SetMetrics { return s.Train }),
		part("test", func(s Split) SetMetrics { return s.Test }))
	return t
}

// fit is the paper's pair of tables: R² and E|cov|, train, test, difference.
func (e Experiment) fit() table {
	t := table{title: "Fit of the mean, and covariance of the two answers", corner: "split"}
	for _, s := range e.Splits {
		t.labels = append(t.labels, s.Name)
	}
	for _, q := range papers {
		g := e.group(q)
		d := column{head: "difference"}
		for _, s := range e.Splits {
			pct, _ := difference(s.Train.Get(q.key), s.Test.Get(q.key))
			d.cells = append(d.cells, percent(pct))
		}
		g.columns = append(g.columns, d)
		t.groups = append(t.groups, g)
	}
	return t
}

// parts is the table of the parts of E|cov| and the measured error.
func (e Experiment) parts() table {
	t := table{title: "Parts of E|cov|, and the measured error", corner: "split"}
	for _, s := range e.Splits {
		t.labels = append(t.labels, s.Name)
	}
	for _, q := range partsOfCov {
		if e.has(q) {
			t.groups = append(t.groups, e.group(q))
		}
	}
	return t
}

// consistent is the table of the identities; empty where κ was not computed.
func (e Experiment) consistent() table {
	t := table{title: "Whether the two answers are one joint law", corner: "split"}
	if !e.has(identities[0]) {
		return t
	}
	for _, s := range e.Splits {
		t.labels = append(t.labels, s.Name)
	}
	for _, q := range identities {
		t.groups = append(t.groups, e.group(q))
	}
	return t
}

// has reports whether any split computed the quantity.
func (e Experiment) has(q quantity) bool {
	for _, s := range e.Splits {
		if q.train && !s.Train.Get(q.key).Absent() || q.test && !s.Test.Get(q.key).Absent() {
			return true
		}
	}
	return false
}

func (e Experiment) group(q quantity) group {
	g := group{head: q.head()}
	if q.train {
		c := column{head: "train"}
		for _, s := range e.Splits {
			c.cells = append(c.cells, q.cell(s.Train.Values))
		}
		g.columns = append(g.columns, c)
	}
	if q.test {
		c := column{head: "test"}
		for _, s := range e.Splits {
			c.cells = append(c.cells, q.cell(s.Test.Values))
		}
		g.columns = append(g.columns, c)
	}
	if q.se != "" {
		c := column{head: "SE"}
		for _, s := range e.Splits {
			c.cells = append(c.cells, q.seCell(s.Test.Values))
		}
		g.columns = append(g.columns, c)
	}
	return g
}

// perOutcome is the table of R² and E|cov| of each outcome; without rows when
// there is one outcome only, because it would repeat the first table.
func (e Experiment) perOutcome() table {
	t := table{title: "Per outcome", corner: "split"}
	name := column{head: "outcome", text: true}
	qs := slices.Concat(papers, []quantity{{key: "e", test: true}})
	groups := make([]group, len(qs))
	for i, q := range qs {
		groups[i].head = q.head()
		if q.train {
			groups[i].columns = append(groups[i].columns, column{head: "train"})
		}
		groups[i].columns = append(groups[i].columns, column{head: "test"})
	}
	for _, s := range e.Splits {
		if len(s.Test.Outcomes) < 2 {
			continue
		}
		for j := range s.Test.Outcomes {
			test := &s.Test.Outcomes[j]
			train := &OutcomeMetrics{}
			if j < len(s.Train.Outcomes) && s.Train.Outcomes[j].Name == test.Name {
				train = &s.Train.Outcomes[j]
			}
			t.labels = append(t.labels, s.Name)
			label := test.Name
			if test.Unit != "" {
				label += " (" + test.Unit + ")"
			}
			name.cells = append(name.cells, number{text: label})
			for i, q := range qs {
				k := 0
				if q.train {
					groups[i].columns[k].cells = append(groups[i].columns[k].cells, q.cell(train.Values))
					k++
				}
				groups[i].columns[k].cells = append(groups[i].columns[k].cells, q.cell(test.Values))
			}
		}
	}
	t.groups = append([]group{{"", []column{name}}}, groups...)
	return t
}
