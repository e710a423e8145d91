package report

import (
	"fmt"
	"io"
	"strings"

	"doubletake/internal/lists"
)

// Terminal writes the tables of an experiment for a terminal of so many columns
// (0: 100), with its notes and warnings in words below. A table that does not
// fit is continued in a second one with the same rows; only a width too small
// for a single column is exceeded. With color the title is bold and "warning"
// is yellow; whether the terminal wants colour is the caller's to know.
func Terminal(w io.Writer, e Experiment, width int, color bool) error {
	d := e.document()
	if len(d.explained) > 0 {
		d.explained = append(d.explained, moreWords)
	}

	return newTerminal(width, color).write(w, d)
}

// RunTerminal writes several experiments like Terminal, one after the other;
// the explanations follow once, at the end. One experiment is written as Terminal
// writes it, none as nothing.
func RunTerminal(w io.Writer, experiments []Experiment, width int, color bool) error {
	if len(experiments) == 1 {
		return Terminal(w, experiments[0], width, color)
	}

	documents := lists.Each(experiments, func(e Experiment) document {
		d := e.document()
		d.explained = nil

		return d
	})
	if all := explainAll(experiments); len(all) > 0 {
		documents = append(documents, document{title: "What the numbers mean", what: moreWords, explained: all})
	}

	return newTerminal(width, color).write(w, documents...)
}

// Summary writes of each experiment the data in a line, the verdicts, one table and at most
// three of the findings; the page and RunTerminal have the rest.
func Summary(w io.Writer, experiments []Experiment, width int, color bool) error {
	return newTerminal(width, color).write(w, lists.Each(experiments, Experiment.summaryDocument)...)
}

// SweepTerminal writes a comparison of variants for a terminal, as Terminal does.
func SweepTerminal(w io.Writer, s Sweep, width int, color bool) error {
	return newTerminal(width, color).write(w, s.document())
}

const moreWords = "Every word and symbol: pipeline glossary WORD."

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

func newTerminal(width int, color bool) *terminal {
	if width <= 0 {
		width = 100
	}
	return &terminal{columns: width, color: color}
}

func (t *terminal) write(w io.Writer, documents ...document) error {
	for i, d := range documents {
		if i > 0 {
			t.line("")
		}
		t.document(d)
	}

	text := strings.ReplaceAll(t.b.String(), "\u00a0", " ") // lines are broken: plain blanks copy and search better
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}

	return nil
}

func (t *terminal) document(d document) {
	t.paragraphs("", bold, d.title)
	t.paragraphs("", "", d.what)

	lines, each := 0, 0
	if d.brief {
		lines, each = 2, 1
	} else if len(d.verdicts) > 0 {
		t.line("")
	}

	for _, v := range d.verdicts {
		for _, l := range cut(v, t.columns, lines) {
			t.line(t.paint(l, bold))
		}
	}

	for _, tab := range d.tables {
		t.line("")
		t.table(tab)
	}

	t.below("", "", append(d.explained, d.words...)...)

	for _, f := range d.findings {
		if !d.brief {
			t.line("")
		}

		t.findings(f, each)
	}

	if d.provenance != "" {
		t.below("", "", d.provenance)
	}
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

func (t *terminal) paragraphs(indent, style string, texts ...string) {
	for _, text := range texts {
		for _, l := range wrap(text, t.columns-len(indent)) {
			t.line(indent + t.paint(l, style))
		}
	}
}

// below writes paragraphs after a blank line; nothing without any.
func (t *terminal) below(indent, style string, texts ...string) {
	if len(texts) > 0 {
		t.line("")
		t.paragraphs(indent, style, texts...)
	}
}

// findings writes each as "kind: text" with the following lines indented, no more than most
// lines of each; 0: all.
func (t *terminal) findings(f findings, most int) {
	style, rest := "", 0
	if f.severe {
		style = yellow
	}

	if n := len(f.items); f.most > 0 && n > f.most+1 {
		rest = n - f.most
	}

	indent := strings.Repeat(" ", len(f.kind)+2)
	for _, text := range f.items[:len(f.items)-rest] {
		for i, l := range cut(clean(text), t.columns-len(indent), most) {
			if i == 0 {
				t.line(t.paint(f.kind+":", style) + " " + l)
			} else {
				t.line(indent + l)
			}
		}
	}

	if rest > 0 {
		t.paragraphs(indent, "", fmt.Sprintf("… and %d more; metrics.json lists them all.", rest))
	}
}

// cut is wrap with no more than most lines; 0: all.
func cut(text string, w, most int) []string {
	lines := wrap(text, w)
	if most > 0 && len(lines) > most {
		lines = lines[:most]
		lines[most-1] = wrap(lines[most-1], w-2)[0] + " …"
	}

	return lines
}

const gap = 2 // blanks between columns

// labelWidth is the width of the column of labels in a table of so many columns of text.
func (t table) labelWidth(columns int) int {
	w := width(t.Corner)
	for _, r := range t.Rows {
		w = max(w, width(clean(r.Label)))
	}

	return min(w, max(12, columns/4))
}

// fit breaks a table into ones that fit so many columns of text.
func (t table) fit(columns int) []table {
	return t.parts(float64(columns-t.labelWidth(columns)), func(part table) float64 {
		w := 0
		for _, m := range part.layout() {
			w += gap + m.all
		}

		return float64(w)
	})
}

// measure is the width of a column: of the texts before and after " ±", and of the
// whole.
type measure struct{ left, right, all int }

func (t table) layout() []measure {
	out := make([]measure, len(t.Heads))
	for k, h := range t.Heads {
		m, texts := &out[k], width(h.Name)
		for _, r := range t.Rows {
			if c := r.Cells[k]; c.text != "" {
				texts = max(texts, width(c.text))
			} else {
				left, right := c.parts()
				m.left, m.right = max(m.left, width(left)), max(m.right, width(right))
			}
		}

		m.all = max(texts, m.left+m.right)
	}

	for _, g := range t.Groups() { // a heading wider than its columns widens the last
		free := width(g.Head)
		for k := range g.Columns {
			free -= out[g.from+k].all + gap
		}

		out[g.from+len(g.Columns)-1].all += max(0, free+gap)
	}

	return out
}

// table writes a table in parts that fit.
func (t *terminal) table(tab table) {
	label := tab.labelWidth(t.columns)
	for i, part := range tab.fit(t.columns) {
		if i > 0 {
			t.line("")
		} else {
			t.paragraphs("", bold, part.Title)
		}

		t.part(part, label)
	}

	t.paragraphs("", "", tab.Below)
}

func (t *terminal) part(tab table, label int) {
	layout := tab.layout()
	blank := strings.Repeat(" ", gap)

	heads, names, total := pad("", label, false), pad(tab.Corner, label, false), label
	for _, g := range tab.Groups() {
		wide := -gap
		for k, h := range g.Columns {
			m := layout[g.from+k]
			names += blank + pad(h.Name, m.all, !h.Words && m.right == 0)
			wide += gap + m.all
		}

		heads += blank + pad(g.Head, wide, false)
		total += gap + wide
	}

	if tab.Grouped() {
		t.line(heads)
	}

	t.line(names)
	if !tab.open {
		t.line(strings.Repeat("─", total))
	}

	for _, r := range tab.Rows {
		line := pad(isolate(shorten(clean(r.Label), label)), label, false)
		for k, c := range r.Cells {
			line += blank + layout[k].cell(c, tab.Heads[k].Words)
		}

		t.line(line)
	}
}

// cell aligns a number at its " ±", and to the right when the column has none.
func (m measure) cell(n number, words bool) string {
	left, right := n.parts()
	switch {
	case words:
		return pad(isolate(left), m.all, false)
	case m.right == 0:
		return pad(left, m.all, true)
	}

	return pad(pad(left, m.left, true)+right, m.all, false)
}
