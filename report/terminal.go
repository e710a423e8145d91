package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"doubletake/train/score"
)

// Terminal writes the tables of an experiment for a terminal with the given number of
// columns (0: 100), and below them notes and warnings in words. A table that is too wide
// is continued in a second table with the same rows. Lines exceed the width only if it is
// too small for a single column. If color is true, titles are bold, "warning" is yellow,
// and grades are green, yellow or red.
func Terminal(w io.Writer, experiment Experiment, width int, color bool) error {
	doc := experiment.document()
	if len(doc.explained) > 0 {
		doc.explained = append(doc.explained, moreWords)
	}

	return newTerminal(width, color).write(w, doc)
}

// RunTerminal writes several experiments like Terminal, one after the other. The
// explanations follow once, at the end. RunTerminal writes nothing if there are no
// experiments.
func RunTerminal(w io.Writer, experiments []Experiment, width int, color bool) error {
	if len(experiments) == 1 {
		return Terminal(w, experiments[0], width, color)
	}

	var documents []document
	for _, experiment := range experiments {
		doc := experiment.document()
		doc.explained = nil

		documents = append(documents, doc)
	}

	if all := explainAll(experiments); len(all) > 0 {
		documents = append(documents, document{title: "What the numbers mean", what: moreWords, explained: all})
	}

	return newTerminal(width, color).write(w, documents...)
}

// Summary writes for each experiment the data in a line, the verdicts, the table of results and the first finding. At
// the end it writes the violated checks of all networks, and what the headings and grades of the tables mean. The page
// and RunTerminal have the rest.
func Summary(w io.Writer, experiments []Experiment, width int, color bool) error {
	var documents []document
	for _, experiment := range experiments {
		documents = append(documents, experiment.summaryDocument())
	}

	closing := document{what: headsExplained(experiments), findings: allChecks(experiments), brief: true}
	if closing.what != "" || len(closing.findings) > 0 {
		documents = append(documents, closing)
	}

	return newTerminal(width, color).write(w, documents...)
}

// SweepTerminal writes a comparison of variants for a terminal, as Terminal does.
func SweepTerminal(w io.Writer, sweep Sweep, width int, color bool) error {
	return newTerminal(width, color).write(w, sweep.document())
}

// moreWords says how to find the meaning of every word.
const moreWords = "Every word and symbol: pipeline glossary WORD."

// Codes that change the style of a terminal.
const (
	bold       = "\x1b[1m"
	red        = "\x1b[31m"
	green      = "\x1b[32m"
	yellow     = "\x1b[33m"
	resetStyle = "\x1b[0m"
)

// gradeStyles are the styles of grades in tables.
var gradeStyles = map[score.Grade]string{
	score.Holds: green, score.Wide: yellow, score.Undecided: yellow, score.Fails: red,
}

// Styles returns all codes with which this package changes the style of a terminal.
func Styles() []string { return []string{bold, red, green, yellow, resetStyle} }

// terminal collects the text of documents.
type terminal struct {
	b       strings.Builder
	columns int  // of a line at most
	color   bool // bold and coloured texts
}

// newTerminal returns a terminal with the given number of columns, or 100 if it is not known.
func newTerminal(width int, color bool) *terminal {
	if width <= 0 {
		width = 100
	}
	return &terminal{columns: width, color: color}
}

// write writes documents, separated by blank lines.
func (t *terminal) write(w io.Writer, documents ...document) error {
	for i, doc := range documents {
		if i > 0 {
			t.writeLine("")
		}
		t.writeDocument(doc)
	}

	// Once lines are broken, plain blanks are better than blanks that keep words together: texts can be copied and
	// searched.
	text := strings.ReplaceAll(t.b.String(), "\u00a0", " ")
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}

	return nil
}

// writeDocument writes the parts of a document in their order.
func (t *terminal) writeDocument(doc document) {
	t.writeParagraphs("", bold, doc.title)
	t.writeParagraphs("", "", doc.what)

	if !doc.brief && len(doc.verdicts) > 0 {
		t.writeLine("")
	}

	t.writeParagraphs("", bold, doc.verdicts...)

	for _, content := range doc.tables {
		if !doc.brief {
			t.writeLine("")
		}

		t.writeTable(content)
	}

	t.writeBelow(append(doc.explained, doc.words...)...)

	for _, list := range doc.findings {
		if !doc.brief {
			t.writeLine("")
		}

		t.writeFindings(list, doc.brief)
	}

	if doc.provenance != "" {
		t.writeBelow(doc.provenance)
	}
}

// writeLine writes a line without blanks at its end.
func (t *terminal) writeLine(text string) {
	t.b.WriteString(strings.TrimRight(text, " "))
	t.b.WriteByte('\n')
}

// paint puts a style around a text if the terminal wants colours.
func (t *terminal) paint(text, style string) string {
	if !t.color || style == "" {
		return text
	}
	return style + text + resetStyle
}

// paintGrade paints a padded cell in the colour of its grade. The blanks around the text keep their style, so that
// those at the end of a line can be cut.
func (t *terminal) paintGrade(padded string, grade score.Grade) string {
	text := strings.TrimSpace(padded)
	style := gradeStyles[grade]
	if text == "" || style == "" {
		return padded
	}

	return strings.Replace(padded, text, t.paint(text, style), 1)
}

// writeParagraphs writes texts, each in as many lines as it needs, with an indent before and a style for every line.
func (t *terminal) writeParagraphs(indent, style string, texts ...string) {
	for _, text := range texts {
		for _, line := range wrap(text, t.columns-len(indent)) {
			t.writeLine(indent + t.paint(line, style))
		}
	}
}

// writeBelow writes paragraphs after a blank line. It writes nothing if there are none.
func (t *terminal) writeBelow(texts ...string) {
	if len(texts) > 0 {
		t.writeLine("")
		t.writeParagraphs("", "", texts...)
	}
}

// writeFindings writes each finding as "kind: text" with the following lines indented. If brief is set, it writes the
// clauses that fit on one line.
func (t *terminal) writeFindings(list findingList, brief bool) {
	style := ""
	if list.severe {
		style = yellow
	}

	rest := 0 // number of findings that are not shown; a single one is shown, because the line about it is as long
	if n := len(list.items); list.most > 0 && n > list.most+1 {
		rest = n - list.most
	}

	indent := strings.Repeat(" ", len(list.kind)+2)
	room := t.columns - len(indent)
	for _, item := range list.items[:len(list.items)-rest] {
		text := clean(item)
		if brief {
			text = firstClauses(text, room-textWidth(list.suffix)) + list.suffix
		}

		for i, line := range wrap(text, room) {
			if i == 0 {
				t.writeLine(t.paint(list.kind+":", style) + " " + line)
			} else {
				t.writeLine(indent + line)
			}
		}
	}

	if rest > 0 {
		t.writeParagraphs(indent, "", fmt.Sprintf("… and %d more; %s lists them all.", rest, MetricsFile))
	}
}

// verbs tell a clause from a name before a colon, such as the name of a run that a finding is about.
var verbs = regexp.MustCompile(` (is|are|was|were|has|have|differs?|violates?) `)

// firstClauses returns the clauses at the beginning of a text that fit the given number of columns, with a full stop. A
// clause ends before ": ", "; " or ", first ", but a name before ": " is not a clause. If the first clause is too long,
// firstClauses returns the whole text.
func firstClauses(text string, columns int) string {
	if textWidth(text) <= columns {
		return text
	}

	end := 0
	for i := range text {
		rest := text[i:]
		endsName := strings.HasPrefix(rest, ": ") && !verbs.MatchString(text[:i])
		endsClause := strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, "; ") || strings.HasPrefix(rest, ", first ")
		isEnd := endsClause && !endsName
		if isEnd && textWidth(text[:i])+1 <= columns {
			end = i
		}
	}

	if end == 0 {
		return text
	}

	return text[:end] + "."
}

const gap = 2 // blanks between the columns of a table

// labelWidth returns the width of the labels if a line has the given number of columns of text: the width of the widest
// label, but at most a quarter of the line, or 12 in lines that are shorter than 48 columns.
func (t table) labelWidth(columns int) int {
	widest := textWidth(t.Corner)
	for _, row := range t.Rows {
		widest = max(widest, textWidth(clean(row.Label)))
	}

	return min(widest, max(12, columns/4))
}

// fitColumns breaks a table into tables that fit the given number of columns of text.
func (t table) fitColumns(columns int) []table {
	return t.breakAtWidth(float64(columns-t.labelWidth(columns)), table.layoutWidth)
}

// layoutWidth returns the width of the columns with the gaps before them.
func (t table) layoutWidth() float64 {
	sum := 0
	for _, column := range t.layout() {
		sum += gap + column.all
	}

	return float64(sum)
}

// columnWidths are the widths of a column of a table, in columns of text.
type columnWidths struct {
	left  int // of the numbers before " ±"
	right int // of the numbers from " ±" on; 0 if no number has a spread
	all   int // of the whole column
}

// layout returns the widths of all columns.
func (t table) layout() []columnWidths {
	layout := make([]columnWidths, len(t.Heads))
	for k := range layout {
		layout[k] = t.measure(k)
	}

	for _, group := range t.Groups() { // a heading that is wider than its columns widens the last column
		free := textWidth(group.Head)
		for k := range group.Columns {
			free -= layout[group.first+k].all + gap
		}

		layout[group.first+len(group.Columns)-1].all += max(0, free+gap)
	}

	return layout
}

// measure returns the widths of column k.
func (t table) measure(k int) columnWidths {
	var m columnWidths
	texts := textWidth(t.Heads[k].Name) // of the heading and the cells that are texts
	for _, row := range t.Rows {
		cell := row.Cells[k]
		if cell.text != "" {
			texts = max(texts, textWidth(cell.text))
			continue
		}

		left, right := cell.splitAtSpread()
		m.left = max(m.left, textWidth(left))
		m.right = max(m.right, textWidth(right))
	}

	m.all = max(texts, m.left+m.right)

	return m
}

// writeTable writes a table, in parts that fit the width, with its title and the sentence below.
func (t *terminal) writeTable(whole table) {
	labelWidth := whole.labelWidth(t.columns)
	for i, part := range whole.fitColumns(t.columns) {
		if i > 0 {
			t.writeLine("")
		} else {
			t.writeParagraphs("", bold, part.Title)
		}

		t.writePart(part, labelWidth)
	}

	t.writeParagraphs("", "", whole.Below)
	t.writeParagraphs("", "", whole.lines...)
}

// writePart writes the heads and the rows of a table that fits the width.
func (t *terminal) writePart(part table, labelWidth int) {
	layout := part.layout()
	blank := strings.Repeat(" ", gap)

	groups := pad("", labelWidth, false)
	names := pad(part.Corner, labelWidth, false)
	total := labelWidth
	for _, group := range part.Groups() {
		groupWidth := -gap
		for k, head := range group.Columns {
			column := layout[group.first+k]
			names += blank + pad(head.Name, column.all, !head.Words && column.right == 0)
			groupWidth += gap + column.all
		}

		groups += blank + pad(group.Head, groupWidth, false)
		total += gap + groupWidth
	}

	if part.Grouped() {
		t.writeLine(groups)
	}

	t.writeLine(names)
	if !part.open {
		t.writeLine(strings.Repeat("─", total))
	}

	for _, row := range part.Rows {
		line := pad(isolate(shorten(clean(row.Label), labelWidth)), labelWidth, false)
		for k, cell := range row.Cells {
			line += blank + t.paintGrade(layout[k].cell(cell, part.Heads[k].Words), cell.grade)
		}

		t.writeLine(line)
	}
}

// cell pads a cell to the width of the column. Words are flush left. Numbers are aligned at " ±", or flush right if no
// number of the column has a spread.
func (m columnWidths) cell(cell number, words bool) string {
	left, right := cell.splitAtSpread()
	switch {
	case words:
		return pad(isolate(left), m.all, false)
	case m.right == 0:
		return pad(left, m.all, true)
	}

	return pad(pad(left, m.left, true)+right, m.all, false)
}
