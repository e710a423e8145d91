package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Terminal writes the tables of an experiment for a terminal of so many columns
// (0: 100), with its notes and warnings in words below. A table that does not
// fit is continued in a second one with the same rows; only a width too small
// for a single column is exceeded. With color the title is bold and "warning"
// is yellow; whether the terminal wants colour is the caller's to know.
func Terminal(w io.Writer, e Experiment, width int, color bool) error {
	t := newTerminal(width, color)
	explanations := e.explanations()
	if len(e.Splits) > 0 {
		explanations = append(explanations, moreWords)
	}
	t.experiment(e, explanations)
	_, err := io.WriteString(w, t.b.String())
	if err != nil {
		return fmt.Errorf("write tables of %q: %w", e.Name, err)
	}
	return nil
}

// RunTerminal writes several experiments like Terminal, one after the other;
// the explanations follow once, at the end. One experiment is written as Terminal
// writes it, none as nothing.
func RunTerminal(w io.Writer, experiments []Experiment, width int, color bool) error {
	if len(experiments) == 1 {
		return Terminal(w, experiments[0], width, color)
	}
	t := newTerminal(width, color)
	for i, e := range experiments {
		if i > 0 {
			t.line("")
		}
		t.experiment(e, nil)
	}
	for i, s := range explainAll(experiments) {
		if i == 0 {
			t.line("")
			t.paragraph("What the numbers mean", "", bold)
			t.paragraph(moreWords, "", "")
		}
		t.paragraph(s, "", "")
	}
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

const moreWords = "Every word and symbol: pipeline glossary WORD."

func newTerminal(width int, color bool) *terminal {
	if width <= 0 {
		width = 100
	}
	return &terminal{columns: width, color: color}
}

func (t *terminal) experiment(e Experiment, explanations []string) {
	t.paragraph(e.title(), "", bold)
	if what := e.what(); what != "" {
		t.paragraph(what, "", "")
	}
	if len(e.Splits) == 0 {
		t.line("")
		what := "No split was trained."
		if len(e.Final) > 0 {
			what = "Nothing is held out: nothing says how good the model is."
		}
		t.paragraph(what, "", "")
	} else {
		for i, s := range e.verdicts() {
			if i == 0 {
				t.line("")
			}
			t.paragraph(s, "", bold)
		}
		for _, tab := range slices.Concat(e.tables(), []table{e.sets()}, e.comparisons()) {
			for _, part := range t.split(tab) {
				t.line("")
				t.table(part)
			}
		}
		for i, s := range slices.Concat(explanations, e.intervalWords(), e.methods()) {
			if i == 0 {
				t.line("")
			}
			t.paragraph(s, "", "")
		}
	}
	for i, n := range e.notes() {
		if i == 0 {
			t.line("")
		}
		t.item("note", n, "")
	}
	for i, n := range e.diagnostics() {
		if i == 0 {
			t.line("")
		}
		t.item("check", clean(n), "")
	}
	for i, n := range e.Warnings {
		if i == 0 {
			t.line("")
		}
		t.item("warning", clean(n), yellow)
	}
	if n := len(e.Skipped); n > 0 {
		t.line("")
		t.item("skipped", e.leftOut(), yellow)
		for i, s := range e.Skipped {
			if i == fewSkipped && n > fewSkipped+1 {
				t.paragraph(fmt.Sprintf("… and %d more; metrics.json lists them all.", n-i), "  ", "")
				break
			}
			t.paragraph(clean(s), "  ", "")
		}
	}
	if p := e.provenance(); p != "" {
		t.line("")
		t.paragraph(p, "", "")
	}
}

// fewSkipped is how many skipped recordings are listed outside metrics.json.
const fewSkipped = 10

const (
	bold   = "\x1b[1m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

type terminal struct {
	b       strings.Builder
	columns int
	color   bool
}

func (t *terminal) line(s string) {
	t.b.WriteString(strings.TrimRight(s, " "))
	t.b.WriteByte('\n')
}

func (t *terminal) paint(s, style string) string {
	if !t.color || style == "" {
		return s
	}
	return style + s + plain
}

func (t *terminal) paragraph(text, indent, style string) {
	for _, l := range wrap(text, t.columns-len(indent)) {
		t.line(indent + t.paint(l, style))
	}
}

// item writes "kind: text" with the following lines indented.
func (t *terminal) item(kind, text, style string) {
	indent := strings.Repeat(" ", len(kind)+2)
	for i, l := range wrap(text, t.columns-len(indent)) {
		if i == 0 {
			t.line(t.paint(kind+":", style) + " " + l)
		} else {
			t.line(indent + l)
		}
	}
}

// labelWidth is the width of the label column.
func (t *terminal) labelWidth(tab table) int {
	w := width(tab.corner)
	for _, l := range tab.labels {
		w = max(w, width(clean(l)))
	}
	return min(w, max(12, t.columns/4))
}

const gap = 2 // blanks between columns

// split breaks a table into ones that fit, at groups where possible.
func (t *terminal) split(tab table) []table {
	room := t.columns - t.labelWidth(tab)
	var parts []table
	part, used := table{title: tab.title, corner: tab.corner, labels: tab.labels}, 0
	flush := func() {
		if len(part.groups) > 0 {
			parts = append(parts, part)
			part, used = table{corner: tab.corner, labels: tab.labels}, 0
		}
	}
	for _, g := range tab.groups {
		if w := groupWidth(g); w > room && len(g.columns) > 1 {
			flush()
			for _, c := range g.columns {
				one := group{g.head, []column{c}}
				if w := groupWidth(one); used > 0 && used+w > room {
					flush()
				}
				part.groups, used = append(part.groups, one), used+groupWidth(one)
			}
			continue
		} else if used > 0 && used+w > room {
			flush()
		}
		part.groups, used = append(part.groups, g), used+groupWidth(g)
	}
	flush()
	return parts
}

// columnWidth returns the widths of the texts before and after " ±", of the words
// in the column, and of the whole.
func columnWidth(c column) (left, right, all int) {
	words := width(c.head)
	for _, n := range c.cells {
		if n.text != "" {
			words = max(words, width(cellText(n)))
			continue
		}
		l, r := n.parts()
		left, right = max(left, width(l)), max(right, width(r))
	}
	return left, right, max(words, left+right)
}

// cellText is a cell that holds words.
func cellText(n number) string { return isolate(shorten(clean(n.text), longName)) }

func groupWidth(g group) int {
	w := 0
	for _, c := range g.columns {
		_, _, all := columnWidth(c)
		w += gap + all
	}
	return max(w, gap+width(g.head))
}

func (t *terminal) table(tab table) {
	label := t.labelWidth(tab)
	heads, subs := pad("", label, false), pad(tab.corner, label, false)
	rows := make([]string, len(tab.labels))
	for i, l := range tab.labels {
		rows[i] = pad(isolate(shorten(clean(l), label)), label, false)
	}
	total := label
	for _, g := range tab.groups {
		w := groupWidth(g)
		total += w
		heads += strings.Repeat(" ", gap) + pad(g.head, w-gap, false)
		used := 0
		for k, c := range g.columns {
			left, right, all := columnWidth(c)
			if k == len(g.columns)-1 {
				all = w - used - gap // a heading wider than its columns widens the last
			}
			used += gap + all
			subs += strings.Repeat(" ", gap) + pad(c.head, all, !c.text && right == 0)
			for i, n := range c.cells {
				rows[i] += strings.Repeat(" ", gap) + cell(n, left, right, all, c.text)
			}
		}
	}
	if tab.title != "" {
		for _, l := range wrap(tab.title, t.columns) {
			t.line(t.paint(l, bold))
		}
	}
	if strings.TrimSpace(heads) != "" {
		t.line(heads)
	}
	t.line(subs)
	t.line(strings.Repeat("─", total))
	for _, r := range rows {
		t.line(r)
	}
}

// cell aligns a number at its " ±", and to the right when the column has none.
func cell(n number, left, right, all int, text bool) string {
	switch {
	case text:
		return pad(cellText(n), all, false)
	case n.text != "" && right == 0:
		return pad(cellText(n), all, true)
	case n.text != "":
		return pad(pad(n.text, left, true), all, false)
	}
	l, r := n.parts()
	if right == 0 {
		return pad(l, all, true)
	}
	return pad(pad(l, left, true)+r, all, false)
}
