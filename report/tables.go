package report

import (
	"strconv"
)

// The tables are laid out once, for all three formats: what stands in them is
// decided here, how it looks is decided in terminal.go, markdown.go, latex.go.

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

// percentScale is the factor of the paper's tables, ×10⁻².
const percentScale = 100

// quantity is one number shown: its heading, where it comes from, its factor.
type quantity struct {
	head        string
	key         string
	scale       float64
	train, test bool
	se          string // key of its standard error on the test part, shown beside it; "" when there is none
}

// besides are the numbers beside the paper's two tables.
var besides = []quantity{
	{"C ×10⁻²", "cov_centred", percentScale, true, true, ""},
	{"E|μδ| ×10⁻²", "mu_delta", percentScale, true, true, ""},
	{"E|δ| ×10⁻²", "delta", percentScale, true, true, ""},
	{"e ×10⁻²", "e", percentScale, false, true, "e_se"},
	{"Σe/ΣC", "sum_e_ratio", 1, false, true, "sum_e_ratio_se"},
	{"noise ceiling of R²", "noise_ceiling", 1, true, true, ""},
}

// identities are the numbers that say whether the two answers can be one joint
// law (METHOD §4).
var identities = []quantity{
	{"E|κ|/σ²", "kappa", 1, true, true, ""},
	{"C ≤ 0", "negative_cov", 1, true, true, ""},
	{"C > σ²", "cov_above_var", 1, true, true, ""},
}

// sets is the table of what each split holds out.
func (e Experiment) sets() table {
	t := table{title: "What was held out", corner: "split"}
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
	said := false
	for _, s := range e.Splits {
		reach.cells = append(reach.cells, number{text: s.Reach})
		said = said || s.Reach != ""
	}
	if said {
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
	t := table{title: "How well the mean fits, and how far the two answers go together", corner: "split"}
	for _, s := range e.Splits {
		t.labels = append(t.labels, s.Name)
	}
	for _, q := range []quantity{{"R²", "r2", 1, true, true, ""}, {"E|cov| ×10⁻²", "abs_cov", percentScale, true, true, ""}} {
		g := e.group(q)
		d := column{head: "difference"}
		for _, s := range e.Splits {
			pct, _ := difference(*s.Train.Field(q.key), *s.Test.Field(q.key))
			d.cells = append(d.cells, percent(pct))
		}
		g.columns = append(g.columns, d)
		t.groups = append(t.groups, g)
	}
	return t
}

// beside is the table of the numbers that say what E|cov| consists of.
func (e Experiment) beside() table {
	t := table{title: "What it consists of, and the measured error beside it", corner: "split"}
	for _, s := range e.Splits {
		t.labels = append(t.labels, s.Name)
	}
	for _, q := range besides {
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

// has tells whether any split computed the quantity.
func (e Experiment) has(q quantity) bool {
	for _, s := range e.Splits {
		if q.train && !s.Train.Field(q.key).absent() || q.test && !s.Test.Field(q.key).absent() {
			return true
		}
	}
	return false
}

func (e Experiment) group(q quantity) group {
	g := group{head: q.head}
	if q.train {
		c := column{head: "train"}
		for _, s := range e.Splits {
			c.cells = append(c.cells, round(*s.Train.Field(q.key), q.scale))
		}
		g.columns = append(g.columns, c)
	}
	if q.test {
		c := column{head: "test"}
		for _, s := range e.Splits {
			c.cells = append(c.cells, round(*s.Test.Field(q.key), q.scale))
		}
		g.columns = append(g.columns, c)
	}
	if q.se != "" {
		c := column{head: "SE"}
		for _, s := range e.Splits {
			c.cells = append(c.cells, twoDigits(*s.Test.Field(q.se), q.scale))
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
	qs := []quantity{{"R²", "r2", 1, true, true, ""}, {"E|cov| ×10⁻²", "abs_cov", percentScale, true, true, ""}, {"e ×10⁻²", "e", percentScale, false, true, ""}}
	groups := make([]group, len(qs))
	for i, q := range qs {
		groups[i].head = q.head
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
					groups[i].columns[k].cells = append(groups[i].columns[k].cells, round(*train.Field(q.key), q.scale))
					k++
				}
				groups[i].columns[k].cells = append(groups[i].columns[k].cells, round(*test.Field(q.key), q.scale))
			}
		}
	}
	t.groups = append([]group{{"", []column{name}}}, groups...)
	return t
}
