package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"doubletake/internal/lists"
)

// Markdown returns tables.md: the tables of an experiment as GitHub-flavoured
// Markdown, aligned in the source too.
func Markdown(e Experiment) []byte {
	return e.document().markdown(1)
}

// SweepMarkdown returns a comparison of variants as Markdown below a heading of that
// level.
func SweepMarkdown(s Sweep, level int) []byte {
	return s.document().markdown(level)
}

// RunMarkdown returns runs/report.md: all comparisons of variants and all experiments
// under one title.
func RunMarkdown(experiments []Experiment, sweeps []Sweep) []byte {
	head := document{title: "doubletake: results"}
	if len(experiments)+len(sweeps) == 0 {
		head.what = "No experiment has results yet."
	}

	parts := slices.Concat([][]byte{head.markdown(1)},
		lists.Each(sweeps, func(s Sweep) []byte { return SweepMarkdown(s, 2) }),
		lists.Each(experiments, func(e Experiment) []byte { return e.document().markdown(2) }))

	return bytes.Join(parts, []byte("\n"))
}

// markdown writes a document below a heading of that level.
func (d document) markdown(level int) []byte {
	var b bytes.Buffer
	put := func(format, text string) {
		if text == "" {
			return
		}

		if b.Len() > 0 {
			b.WriteByte('\n')
		}

		fmt.Fprintf(&b, format+"\n", mdEscape(text))
	}

	section := strings.Repeat("#", level+1) + " %s"

	put(section[1:], isolate(shorten(d.title, 2*longName)))
	put("%s", d.what)

	for _, s := range d.verdicts {
		put("**%s**", s)
	}

	for _, t := range d.tables {
		put(section, t.Title)
		b.WriteByte('\n')
		mdTable(&b, t)
		put("%s", t.Below)
	}

	for _, s := range slices.Concat(d.explained, d.words, d.more) {
		put("%s", s)
	}

	for _, f := range d.findings {
		put(section, f.title)
		b.WriteByte('\n')

		for _, s := range f.items {
			fmt.Fprintf(&b, "- %s\n", mdEscape(s))
		}
	}

	put("%s", d.provenance)

	return b.Bytes()
}

func mdTable(b *bytes.Buffer, t table) {
	lines := [][]string{{mdEscape(t.Corner)}, {""}}
	for _, h := range t.Heads {
		lines[0] = append(lines[0], mdEscape(strings.TrimSpace(h.Group+" "+h.Name)))
		lines[1] = append(lines[1], "")
	}

	for _, r := range t.Rows {
		cells := lists.Each(r.Cells, func(c number) string { return mdEscape(isolate(c.plain())) })
		lines = append(lines, append([]string{mdEscape(isolate(clean(r.Label)))}, cells...))
	}

	for k := range lines[0] {
		wide, right := 3, k > 0 && !t.Heads[k-1].Words
		for _, l := range lines {
			wide = max(wide, width(l[k]))
		}

		lines[1][k] = strings.Repeat("-", wide)
		if right {
			lines[1][k] = lines[1][k][1:] + ":"
		}

		for i := range lines {
			lines[i][k] = pad(lines[i][k], wide, right)
		}
	}

	for _, l := range lines {
		b.WriteString("| " + strings.Join(l, " | ") + " |\n")
	}
}

// mdEscape makes text that means nothing to Markdown or HTML, in a paragraph,
// a list item or a table cell. What could start markup becomes an entity,
// which unlike a backslash holds in every dialect; the pipe alone is escaped as
// tables want it, and since no other backslash is ever written, none can undo
// that. An underscore inside a word starts nothing and stays, for the sake of
// names such as theta_deg.
func mdEscape(s string) string {
	runes := []rune(cleanBut(s, "\u2068\u2069")) // the isolates are this package's own
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

func allDigits(r []rune) bool {
	return len(r) > 0 && !slices.ContainsFunc(r, func(c rune) bool { return c < '0' || c > '9' })
}
