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
func Markdown(experiment Experiment) []byte {
	return experiment.document().markdown(1)
}

// SweepMarkdown returns a comparison of variants as Markdown below a heading of the given
// level, from 1 for the title of a file.
func SweepMarkdown(sweep Sweep, level int) []byte {
	return sweep.document().markdown(level)
}

// RunMarkdown returns runs/report.md: all comparisons of variants and all experiments
// under one title.
func RunMarkdown(experiments []Experiment, sweeps []Sweep) []byte {
	head := document{title: "doubletake: results"}
	if len(experiments)+len(sweeps) == 0 {
		head.what = "No experiment has results yet."
	}

	parts := [][]byte{head.markdown(1)}
	for _, sweep := range sweeps {
		parts = append(parts, SweepMarkdown(sweep, 2))
	}

	for _, experiment := range experiments {
		parts = append(parts, experiment.document().markdown(2))
	}

	return bytes.Join(parts, []byte("\n"))
}

// markdownWriter collects the paragraphs of a document.
type markdownWriter struct{ bytes.Buffer }

// writeParagraph writes a text after a blank line. It writes nothing if the text is empty. format has %s for the text,
// and may have marks around it, such as "**%s**".
func (b *markdownWriter) writeParagraph(format, text string) {
	if text == "" {
		return
	}

	if b.Len() > 0 {
		b.WriteByte('\n')
	}

	fmt.Fprintf(b, format+"\n", mdEscape(text))
}

// markdown writes a document below a heading of the given level.
func (d document) markdown(level int) []byte {
	var b markdownWriter
	heading := strings.Repeat("#", level) + " %s"
	section := "#" + heading

	b.writeParagraph(heading, isolate(shorten(d.title, 2*longName)))
	b.writeParagraph("%s", d.what)

	for _, verdict := range d.verdicts {
		b.writeParagraph("**%s**", verdict)
	}

	for _, t := range d.tables {
		b.writeParagraph(section, t.Title)
		b.WriteByte('\n')
		b.writeTable(t)
		b.writeParagraph("%s", t.Below)
	}

	for _, text := range slices.Concat(d.explained, d.words, d.more) {
		b.writeParagraph("%s", text)
	}

	for _, list := range d.findings {
		b.writeParagraph(section, list.title)
		b.WriteByte('\n')

		for _, item := range list.items {
			fmt.Fprintf(&b, "- %s\n", mdEscape(item))
		}
	}

	b.writeParagraph("%s", d.provenance)

	return b.Bytes()
}

// writeTable writes a table whose columns are aligned in the source.
func (b *markdownWriter) writeTable(t table) {
	heads := []string{mdEscape(t.Corner)}
	for _, head := range t.Heads {
		heads = append(heads, mdEscape(strings.TrimSpace(head.Group+" "+head.Name)))
	}

	rules := make([]string, len(heads)) // the line of hyphens between the heads and the rows
	lines := [][]string{heads, rules}
	for _, row := range t.Rows {
		line := []string{mdEscape(isolate(clean(row.Label)))}
		for _, cell := range row.Cells {
			line = append(line, mdEscape(isolate(cell.plain())))
		}

		lines = append(lines, line)
	}

	for k := range heads {
		widest := 3
		for _, line := range lines {
			widest = max(widest, textWidth(line[k]))
		}

		rules[k] = strings.Repeat("-", widest)
		isNumbers := k > 0 && !t.Heads[k-1].Words // column 0 is the labels
		if isNumbers {
			rules[k] = rules[k][1:] + ":" // flush right
		}

		for _, line := range lines {
			line[k] = pad(line[k], widest, isNumbers)
		}
	}

	for _, line := range lines {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
	}
}

// mdEscape escapes a text, so that Markdown and HTML show it as it is, in a paragraph, a
// list item or a table cell. Characters that could start markup become entities, which
// every dialect of Markdown knows, unlike escapes by a backslash. Only the pipe is escaped
// by a backslash, because tables require it. An underscore inside a word starts no markup
// and stays, for the sake of names such as theta_deg.
func mdEscape(text string) string {
	runes := mdText(cleanBut(text, "\u2068\u2069")) // the isolates are this package's own

	var b strings.Builder
	for i, r := range runes {
		switch {
		case runes.startsMarkup(i):
			fmt.Fprintf(&b, "&#%d;", r)
		case r == '|':
			b.WriteString(`\|`)
		default:
			b.WriteRune(r)
		}
	}

	return b.String()
}

// mdText is the characters of a text.
type mdText []rune

// startsMarkup reports whether character i may start markup.
func (t mdText) startsMarkup(i int) bool {
	switch t[i] {
	case '\\', '`', '<', '>', '&', '*', '[', ']', '~', '$', '@':
		return true
	case '_':
		return !t.inWord(i-1) || !t.inWord(i+1)
	case '#', '+', '-', '=':
		// At the start of a line these begin a heading, a list or a rule.
		return i == 0 && !t.inWord(1)
	case ':':
		// "://" makes a link of an address, and ":-" alone in a cell the line below the heads.
		return i == 0 || i+1 < len(t) && t[i+1] == '/'
	case '.', ')':
		// "1. " at the start of a line begins a list, and "www." a link.
		isEndOfWord := i+1 == len(t) || t[i+1] == ' '
		isList := allDigits(t[:i]) && isEndOfWord
		isLink := i >= 3 && strings.EqualFold(string(t[i-3:i]), "www")

		return isList || isLink
	}

	return false
}

// inWord reports whether character i is a letter or a digit.
func (t mdText) inWord(i int) bool {
	return i >= 0 && i < len(t) && (unicode.IsLetter(t[i]) || unicode.IsDigit(t[i]))
}

// allDigits reports whether a text consists of digits. It returns false for an empty text.
func allDigits(text []rune) bool {
	for _, r := range text {
		if r < '0' || r > '9' {
			return false
		}
	}

	return len(text) > 0
}
