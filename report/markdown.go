package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Markdown returns tables.md: the tables of an experiment as GitHub-flavoured
// Markdown, aligned in the source too.
func Markdown(e Experiment) []byte {
	var b bytes.Buffer
	markdown(&b, e, 1)
	return b.Bytes()
}

// RunMarkdown returns runs/report.md: all comparisons of variants and all experiments
// under one title, after the notes, which concern the whole.
func RunMarkdown(experiments []Experiment, sweeps []Sweep, notes ...string) []byte {
	var b bytes.Buffer
	b.WriteString("# doubletake: results\n\n")
	for _, n := range notes {
		b.WriteString(mdEscape(n) + "\n\n")
	}
	if len(experiments)+len(sweeps) == 0 {
		b.WriteString("No experiment has results yet.\n")
	}
	for i, s := range sweeps {
		b.Write(SweepMarkdown(s, 2))
		if i < len(sweeps)-1 || len(experiments) > 0 {
			b.WriteByte('\n')
		}
	}
	for i, e := range experiments {
		if i > 0 {
			b.WriteByte('\n')
		}
		markdown(&b, e, 2)
	}
	return b.Bytes()
}

func markdown(b *bytes.Buffer, e Experiment, level int) {
	fmt.Fprintf(b, "%s %s\n", strings.Repeat("#", level), mdEscape(isolate(shorten(e.title(), 2*longName))))
	if what := e.what(); what != "" {
		fmt.Fprintf(b, "\n%s\n", mdEscape(what))
	}
	if len(e.Splits) == 0 {
		b.WriteString("\nNo split was trained.\n")
	} else {
		for _, s := range e.verdicts() {
			fmt.Fprintf(b, "\n**%s**\n", mdEscape(s))
		}
		for _, t := range slices.Concat(e.tables(), []table{e.perOutcome(), e.sets()}, e.comparisons()) {
			if len(t.labels) > 0 && t.columns() > 0 {
				fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", level+1), mdEscape(t.title))
				mdTable(b, t)
			}
		}
		for _, s := range slices.Concat(e.explanations(), e.intervalWords(), e.comparisonWords(), e.methods()) {
			fmt.Fprintf(b, "\n%s\n", mdEscape(s))
		}
	}
	list := func(title string, items []string) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", level+1), title)
		for _, s := range items {
			fmt.Fprintf(b, "- %s\n", mdEscape(s))
		}
	}
	list("Notes", e.notes())
	list("Diagnostics", e.diagnostics())
	list("Warnings", e.Warnings)
	list(fmt.Sprintf("Left-out recordings (%d)", len(e.Skipped)), e.Skipped)
	if p := e.provenance(); p != "" {
		fmt.Fprintf(b, "\n%s\n", mdEscape(p))
	}
}

func mdTable(b *bytes.Buffer, t table) {
	cols := [][]string{{t.corner}}
	right := []bool{false}
	for _, l := range t.labels {
		cols[0] = append(cols[0], mdCell(l))
	}
	for _, g := range t.groups {
		for _, c := range g.columns {
			head := strings.TrimSpace(c.head)
			if g.head != "" {
				head = g.head + " " + head
			}
			col := []string{mdEscape(head)}
			for _, n := range c.cells {
				if n.text != "" {
					col = append(col, mdCell(n.text))
				} else {
					col = append(col, mdEscape(n.plain()))
				}
			}
			cols, right = append(cols, col), append(right, !c.text)
		}
	}
	widths := make([]int, len(cols))
	for k, col := range cols {
		widths[k] = 3
		for _, s := range col {
			widths[k] = max(widths[k], width(s))
		}
	}
	for i := range cols[0] {
		for k, col := range cols {
			b.WriteString("| " + pad(col[i], widths[k], right[k]) + " ")
		}
		b.WriteString("|\n")
		if i > 0 {
			continue
		}
		for k := range cols {
			dashes := strings.Repeat("-", widths[k])
			if right[k] {
				dashes = dashes[1:] + ":"
			}
			b.WriteString("| " + dashes + " ")
		}
		b.WriteString("|\n")
	}
}

func mdCell(s string) string { return mdEscape(isolate(shorten(clean(s), longName))) }

// mdEscape makes text that means nothing to Markdown or HTML, in a paragraph,
// a list item or a table cell. What could start markup becomes an entity,
// which unlike a backslash holds in every dialect; the pipe alone is escaped as
// tables want it, and since no other backslash is ever written, none can undo
// that. An underscore inside a word starts nothing and stays, for the sake of
// names such as theta_deg.
func mdEscape(s string) string {
	s = cleanKeepIsolates(s)
	runes := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for i, r := range runes {
		entity := false
		switch r {
		case '\\', '`', '<', '>', '&', '*', '[', ']', '~', '$', '@':
			entity = true
		case '|':
			b.WriteByte('\\')
		case '_':
			entity = !word(at(i-1)) || !word(at(i+1))
		case '#', '+', '-', '=':
			// At the start of a line: heading, list, rule.
			entity = i == 0 && !word(at(1))
		case ':':
			// A bare address becomes a link; ":-" alone in a cell a ruler.
			entity = at(i+1) == '/' || i == 0
		case '.', ')':
			// "1. " at the start of a line would be a list; "www." a link.
			entity = at(i+1) == ' ' && allDigits(runes[:i]) || i >= 3 && strings.EqualFold(string(runes[i-3:i]), "www")
		}
		if entity {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cleanKeepIsolates is clean, but keeps the isolates this package put around
// names written from right to left.
func cleanKeepIsolates(s string) string {
	if !strings.ContainsAny(s, "\u2068\u2069") {
		return clean(s)
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "\u2068\u2069")
		if i < 0 {
			b.WriteString(cleanPart(s))
			break
		}
		b.WriteString(cleanPart(s[:i]))
		n := len("\u2068")
		b.WriteString(s[i : i+n])
		s = s[i+n:]
	}
	return strings.TrimSpace(b.String())
}

func allDigits(r []rune) bool {
	for _, c := range r {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(r) > 0
}
