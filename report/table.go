package report

import (
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// table is rows of cells under named columns. What a table shows is decided in
// tables.go; terminal.go, markdown.go, latex.go and page.html.tmpl write it.
type table struct {
	Title  string // a few words; "" without
	Corner string // heading of the labels
	Heads  []head
	Rows   []row
	Below  string // a sentence; "" without
	open   bool   // in a terminal without a rule below the heads
}

// head is the heading of a column.
type head struct {
	Group string // over neighbouring columns of the same group; "" without
	Name  string
	Words bool // cells are words, set flush left
}

type row struct {
	Label string
	Cells []number // one for each head
}

// numbers adds columns of numbers under the heading of a group.
func (t *table) numbers(group string, names ...string) {
	t.Heads = append(t.Heads, lists.Each(names, func(n string) head { return head{Group: group, Name: n} })...)
}

// words adds columns of words.
func (t *table) words(names ...string) {
	t.Heads = append(t.Heads, lists.Each(names, func(n string) head { return head{Name: n, Words: true} })...)
}

// add adds a row; a long label is cut.
func (t *table) add(label string, cells ...number) {
	t.Rows = append(t.Rows, row{Label: shorten(clean(label), longName), Cells: cells})
}

func (t table) empty() bool { return len(t.Rows) == 0 || len(t.Heads) == 0 }

// words is a cell of foreign words, cut when long.
func words(s string) number { return number{text: shorten(clean(s), longName)} }

func count(n int) number { return number{text: strconv.Itoa(n)} }

// group is a run of columns under one heading, or a column without.
type group struct {
	Head    string
	Columns []head
	from    int
}

// Groups returns the columns in groups.
func (t table) Groups() []group {
	var out []group
	for k, h := range t.Heads {
		if last := len(out) - 1; last >= 0 && h.Group != "" && out[last].Head == h.Group {
			out[last].Columns = append(out[last].Columns, h)
			continue
		}

		out = append(out, group{Head: h.Group, Columns: []head{h}, from: k})
	}

	return out
}

// Grouped reports whether columns have headings of groups.
func (t table) Grouped() bool {
	return slices.ContainsFunc(t.Heads, func(h head) bool { return h.Group != "" })
}

// oneLine is the table with the names of groups before those of their first columns.
func (t table) oneLine() table {
	heads := slices.Clone(t.Heads)
	for _, g := range t.Groups() {
		heads[g.from].Name = strings.TrimSpace(g.Head + " " + heads[g.from].Name)
		for k := range g.Columns {
			heads[g.from+k].Group = ""
		}
	}

	t.Heads = heads

	return t
}

// columns is the table with the columns from and up to before to.
func (t table) columns(from, to int) table {
	t.Heads = t.Heads[from:to]
	t.Rows = lists.Each(t.Rows, func(r row) row { return row{r.Label, r.Cells[from:to]} })

	return t
}

// without is the table without the columns of a name.
func (t table) without(name string) table {
	kept := lists.Where(len(t.Heads), func(k int) bool { return t.Heads[k].Name != name })
	t.Heads = lists.Rows(t.Heads, 1, kept)
	t.Rows = lists.Each(t.Rows, func(r row) row { return row{r.Label, lists.Rows(r.Cells, 1, kept)} })

	return t
}

// parts breaks a table into ones whose columns are no wider than room, at groups
// where possible. Each has the labels.
func (t table) parts(room float64, width func(table) float64) []table {
	var out []table

	from := 0
	for at := 0; at < len(t.Heads); {
		next := at + 1
		for next < len(t.Heads) && t.Heads[at].Group != "" && t.Heads[next].Group == t.Heads[at].Group {
			next++
		}

		if width(t.columns(at, next)) > room {
			next = at + 1
		}

		if from < at && width(t.columns(from, next)) > room {
			out = append(out, t.columns(from, at))
			from = at
		}

		at = next
	}

	return append(out, t.columns(from, len(t.Heads)))
}
