package report

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"pgregory.net/rapid"
)

var hostile = []string{
	"a|b", `a\|b\\`, "`code`", "```", "<script>alert(1)</script>", "<!-- x", strings.Repeat("long_name_", 30), "שלום|עולם",
	"العربية",
	`\end{tabular}`, `50% & $x_1^2$ #1 ~{}`, "}{", "[x]", "*bold*", "_it_", "__init__", "a\nb", "\x1b[2J", "\u202eevil",
	"nul\x00", "\u009b2J", "next\u0085line", "\u200fmark", "\u2067open", "می\u200cخواهم",
	"羽根の数", "caf\xe9", "e\u0301\u0301",
	"1. one", "- item", "# head", "![i](u)", "[a](http://b.c)", "http://b.c/d", "www.b.c", ":-:", "&amp;", "&lt;b&gt;",
	"--", "| --- |", "", " ", "\\", "$", "a@b.c", "🚁🚁",
}

func hostileExperiment(names []string) Experiment {
	e := rotor()
	s := e.Splits[0]
	e.Name = names[0]
	e.Splits = nil
	e.Inputs = names
	e.Outcomes = names
	e.OutcomeUnits = names
	e.Warnings = names
	e.Skipped = names
	for _, n := range names {
		s.Name = n
		s.HeldOut = n
		s.Test.Outcomes = append([]OutcomeMetrics(nil), s.Test.Outcomes...)
		s.Test.Outcomes[0].Name = n + "1"
		s.Test.Outcomes[0].Unit = n
		s.Test.Notes = []string{n}
		e.Splits = append(e.Splits, s)
	}

	return e
}

// Rows of equal numbers must be equal from the label column on, whatever the label is: that is what aligned means. No
// control character gets through, and no invisible one but the isolates of isolate and the joiners that clean keeps.
func TestTerminalHostile(t *testing.T) {
	for _, columns := range []int{0, 60, 80, 100, 200} {
		var b bytes.Buffer
		require.NoError(t, Terminal(&b, hostileExperiment(hostile), columns, false))

		if columns == 0 {
			columns = 100
		}

		lines := strings.Split(b.String(), "\n")

		tables := 0
		for i, l := range lines {
			if textWidth(l) > columns {
				t.Errorf("%d columns in %d: %q", textWidth(l), columns, l)
			}

			for _, r := range l {
				isHidden := unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
				assert.True(t, !isHidden || strings.ContainsRune("\u2068\u2069\u200c\u200d", r), "%U in %q", r, l)
			}

			if !strings.HasPrefix(l, "───") {
				continue
			}

			tables++

			if i+len(hostile) >= len(lines) {
				t.Fatalf("a table of fewer than %d rows", len(hostile))
			}

			// The numbers follow the label column. One label is longer than a line, so the column takes the largest
			// width, a quarter of the line (labelWidth in terminal.go).
			label := columns / 4

			if strings.Contains(lines[i-1], "test part") {
				continue // its first column differs from row to row
			}

			var first string
			for k, row := range lines[i+1 : i+1+len(hostile)] {
				tail := afterColumn(row, label)
				if k == 0 {
					first = tail
				}

				require.Equal(t, first, tail, "%d columns, row %d", columns, k)
				require.True(t, strings.ContainsAny(tail, "0123456789"), "%d columns, row %d", columns, k)
			}
		}

		assert.GreaterOrEqual(t, tables, 3, "%d tables", tables)
	}
}

// afterColumn returns the text to the right of the given number of display columns.
func afterColumn(s string, columns int) string {
	n := 0
	for i, r := range s {
		if n >= columns && runeWidth(r) > 0 {
			return s[i:]
		}
		n += runeWidth(r)
	}

	return ""
}

var (
	rowRE  = regexp.MustCompile(`(?s)<tr>\s*(.*?)\s*</tr>`)
	cellRE = regexp.MustCompile(`(?s)<t[dh][^>]*>(.*?)</t[dh]>`)
	tagRE  = regexp.MustCompile(`<[^>]*>`)
)

// failer is a test, by rapid or not.
type failer interface {
	require.TestingT
	Fatalf(string, ...any)
}

// parseMarkdown returns the cells of all table rows, read by an independent
// parser of GitHub-flavoured Markdown (goldmark), as the text a browser shows.
func parseMarkdown(t failer, md []byte) (rows [][]string, page string) {
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(md, &out); err != nil {
		t.Fatalf("%v", err)
	}

	page = out.String()
	for _, r := range rowRE.FindAllStringSubmatch(page, -1) {
		var cells []string
		for _, c := range cellRE.FindAllStringSubmatch(r[1], -1) {
			if tag := tagRE.FindString(c[1]); tag != "" {
				t.Fatalf("markup %s in the cell %q", tag, c[1])
			}
			cells = append(cells, html.UnescapeString(c[1]))
		}

		rows = append(rows, cells)
	}

	return rows, page
}

// The first cell of a row of Markdown, read back by another parser, is the name as clean, shorten and isolate make it.
// Runs of blanks count as one.
func TestMarkdownCellRoundTrip(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringMatching(`[a-z_|\\<>&*\[\]()!#$~.:/ -]{0,12}`),
		rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		name := piece.Draw(t, "a") + piece.Draw(t, "b")
		e := rotor()
		e.Splits[1].Name = name
		rows, _ := parseMarkdown(t, Markdown(e))
		want := isolate(shorten(clean(name), longName))
		got := rows[2]

		require.Len(t, got, 7, "%q became %q", want, got)
		require.Equal(t, strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(got[0]), " "),
			"%q became %q", want, got)
	})
}

// checkTeX reads LaTeX as far as tables need it: groups and mathematics must
// close within a cell, every row must have as many cells as the column
// specification, and nothing active may be outside of the report's own markup.
func checkTeX(t failer, tex string) (rows int) {
	for _, tab := range regexp.MustCompile(
		`(?s)\\begin\{tabular\}\{@\{\}(l[lr]+)@\{\}\}\n(.*?)\n\\end\{tabular\}`).FindAllStringSubmatch(tex, -1) {
		body := tab[2]
		mid := strings.Index(body, "\\midrule\n")

		end := strings.Index(body, "\\bottomrule")
		require.GreaterOrEqual(t, mid, 0, "no rules in %q", body)
		require.GreaterOrEqual(t, end, 0, "no rules in %q", body)

		for _, row := range strings.Split(strings.TrimSuffix(body[mid+len("\\midrule\n"):end], "\n"), "\n") {
			rows++

			if !strings.HasSuffix(row, ` \\`) {
				t.Fatalf("row does not end: %q", row)
			}
			require.Equal(t, len(tab[1]), texCells(t, strings.TrimSuffix(row, ` \\`)), "cells for %q: %q", tab[1], row)
		}
	}

	return rows
}

// texCells returns the number of cells of a row of a tabular. It fails the test if the row is not valid LaTeX: an
// active letter, a line break, or a group or formula that a cell leaves open.
func texCells(t failer, row string) int {
	cells := 1
	depth := 0
	inMath := false

	require.False(t, strings.HasPrefix(row, "["), "%q would be an argument of the line break before it", row)
	require.False(t, strings.HasPrefix(row, "*"), "%q would be an argument of the line break before it", row)

	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
			require.False(t, i < len(row) && row[i] == '\\', "line break inside %q", row)

		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				t.Fatalf("unmatched brace: %q", row)
			}

		case '$':
			inMath = !inMath
		case '&':
			require.Equal(t, 0, depth, "cell ends inside a group: %q", row)
			require.False(t, inMath, "cell ends inside a formula: %q", row)
			cells++

		case '#', '%', '~':
			t.Fatalf("active %c in %q", row[i], row)
		case '_', '^':
			require.True(t, inMath, "%c outside mathematics: %q", row[i], row)
		}
	}

	require.Equal(t, 0, depth, "open group: %q", row)
	require.False(t, inMath, "open formula: %q", row)

	return cells
}

func TestLaTeXHostile(t *testing.T) {
	// Each table has a row a split, that of the outcomes one an outcome too; each
	// is split into as many parts as its width needs.
	tex := string(LaTeX(hostileExperiment(hostile)))

	n := len(hostile)
	rows := checkTeX(t, tex)
	assert.Zero(t, rows%n, "%d rows of %d splits", rows, n)
	assert.GreaterOrEqual(t, rows, 5*n, "%d rows of %d splits", rows, n)

	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringMatching(`[\\{}$&#^_%~a-z\[*"-]{0,12}`),
			rapid.String()).Draw(t, "name")
		e := rotor()
		e.Name = name
		e.Splits[0].Name = name
		rows := checkTeX(t, string(LaTeX(e)))
		require.Zero(t, rows%2, "%d rows", rows)
		require.GreaterOrEqual(t, rows, 10, "%d rows", rows)
	})
}

// Expected strings by hand, after the LaTeX companion's list of specials.
func TestTexEscape(t *testing.T) {
	for s, want := range map[string]string{
		`50% & $x_1^2$ #1`: `50\% \& \$x\_\allowbreak{}1\textasciicircum{}2\$ \#1`,
		`a\b{c}`:           `a\textbackslash{}b\{c\}`,
		"[x]":              "{[}x{]}",
		"a--b":             "a-{}-b",
		"θ = 30°":          `$\theta$ = 30$^{\circ}$`,
		"C ×10⁻²":          `C $\times 10^{-2}$`,
		"Prüfstand":        "Prüfstand",
		"Σe/Σv̂":           `$\Sigma$e/$\Sigma$$\hat v$`,
		"羽":                `\dtchar{7FBD}{羽}`,
	} {
		assert.Equal(t, want, texEscape(s), "texEscape(%q)", s)
	}
}
