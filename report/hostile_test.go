package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"pgregory.net/rapid"

	"doubletake/train/score"
)

var hostile = []string{
	"a|b", `a\|b\\`, "`code`", "```", "<script>alert(1)</script>", "<!-- x", strings.Repeat("long_name_", 30), "שלום|עולם",
	"العربية",
	`\end{tabular}`, `50% & $x_1^2$ #1 ~{}`, "}{", "[x]", "*bold*", "_it_", "__init__", "a\nb", "\x1b[2J", "\u202eevil",
	"羽根の数", "caf\xe9", "e\u0301\u0301",
	"1. one", "- item", "# head", "![i](u)", "[a](http://b.c)", "http://b.c/d", "www.b.c", ":-:", "&amp;", "&lt;b&gt;",
	"--", "| --- |", "", " ", "\\", "$", "a@b.c", "🚁🚁",
}

func hostileExperiment(names []string) Experiment {
	e := rotor()
	s := e.Splits[0]
	e.Name, e.Splits = names[0], nil
	e.Inputs, e.Outcomes, e.OutcomeUnits = names, names, names
	e.Warnings, e.Skipped = names, names
	for _, n := range names {
		s.Name, s.HeldOut = n, n
		s.Test.Outcomes = append([]OutcomeMetrics(nil), s.Test.Outcomes...)
		s.Test.Outcomes[0].Name, s.Test.Outcomes[0].Unit = n+"1", n
		s.Test.Notes = []string{n}
		e.Splits = append(e.Splits, s)
	}

	return e
}

// Rows of equal numbers must be equal from the label column on, whatever the
// label is: that is what aligned means. No control character may get through.
func TestTerminalHostile(t *testing.T) {
	for _, columns := range []int{0, 60, 80, 100, 200} {
		var b bytes.Buffer
		if err := Terminal(&b, hostileExperiment(hostile), columns, false); err != nil {
			t.Fatal(err)
		}

		if columns == 0 {
			columns = 100
		}

		lines := strings.Split(b.String(), "\n")

		tables := 0
		for i, l := range lines {
			if width(l) > columns {
				t.Errorf("%d columns in %d: %q", width(l), columns, l)
			}

			if strings.ContainsAny(l, "\x1b\x00\u202e") {
				t.Errorf("control characters: %q", l)
			}

			if !strings.HasPrefix(l, "───") {
				continue
			}

			tables++

			if i+len(hostile) >= len(lines) {
				t.Fatalf("a table of fewer than %d rows", len(hostile))
			}

			// The numbers follow the label column, whose width is that of the
			// second head line: "split", then blanks to the first heading.
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

				if tail != first || !strings.ContainsAny(tail, "0123456789") {
					t.Fatalf("%d columns, row %d: %q, want %q", columns, k, tail, first)
				}
			}
		}

		if tables < 3 {
			t.Errorf("%d tables", tables)
		}
	}
}

// afterColumn returns the text right of so many display columns.
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

// parseMarkdown returns the cells of all table rows, read by an independent
// parser of GitHub-flavoured Markdown (goldmark), as the text a browser shows.
func parseMarkdown(t interface{ Fatalf(string, ...any) }, md []byte) (rows [][]string, page string) {
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

func TestMarkdownHostile(t *testing.T) {
	md := Markdown(hostileExperiment(hostile))
	rows, page := parseMarkdown(t, md)

	// fit, parts, consistent, per outcome (two rows each), sets: a head and a row a split.
	if want := 4*(1+len(hostile)) + 1 + 2*len(hostile); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}

	for i, n := range hostile {
		row := rows[1+i]
		if len(row) != 7 {
			t.Fatalf("%q: %d cells: %q", n, len(row), row)
		}

		if want := isolate(shorten(clean(n), longName)); row[0] != want {
			t.Errorf("%q became %q, want %q", n, row[0], want)
		}

		if row[1] != "0.9913 ± 0.0012" || row[6] != "+168 %" {
			t.Errorf("%q: numbers %q", n, row)
		}
	}

	for _, bad := range []string{"<script", "<em>", "<strong>", "<code>", "<a ", "<img", "<!--", "<hr", "<pre>", "<ol>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
}

// Any name survives the way through Markdown and back.
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

		// HTML shows runs of blanks as one.
		if len(got) != 7 || strings.Join(strings.Fields(got[0]), " ") != strings.Join(strings.Fields(want), " ") {
			t.Fatalf("%q became %q", want, got)
		}
	})
}

// checkTeX reads LaTeX as far as tables need it: groups and mathematics must
// close within a cell, every row must have as many cells as the column
// specification, and nothing active may be outside of the report's own markup.
func checkTeX(t interface{ Fatalf(string, ...any) }, tex string) (rows int) {
	for _, tab := range regexp.MustCompile(
		`(?s)\\begin\{tabular\}\{@\{\}(l[lr]+)@\{\}\}\n(.*?)\n\\end\{tabular\}`).FindAllStringSubmatch(tex, -1) {
		body := tab[2]
		mid := strings.Index(body, "\\midrule\n")

		end := strings.Index(body, "\\bottomrule")
		if mid < 0 || end < 0 {
			t.Fatalf("no rules in %q", body)
		}

		for _, row := range strings.Split(strings.TrimSuffix(body[mid+len("\\midrule\n"):end], "\n"), "\n") {
			rows++

			if !strings.HasSuffix(row, ` \\`) {
				t.Fatalf("row does not end: %q", row)
			}

			if n := texCells(t, strings.TrimSuffix(row, ` \\`)); n != len(tab[1]) {
				t.Fatalf("%d cells for %q: %q", n, tab[1], row)
			}
		}
	}

	return rows
}

func texCells(t interface{ Fatalf(string, ...any) }, row string) int {
	cells, depth, math := 1, 0, false

	if strings.HasPrefix(row, "[") || strings.HasPrefix(row, "*") {
		t.Fatalf("%q would be an argument of the line break before it", row)
	}

	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
			if i < len(row) && row[i] == '\\' {
				t.Fatalf("line break inside %q", row)
			}

		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				t.Fatalf("unmatched brace: %q", row)
			}

		case '$':
			math = !math
		case '&':
			if depth != 0 || math {
				t.Fatalf("cell ends inside a group: %q", row)
			}
			cells++

		case '#', '%', '~':
			t.Fatalf("active %c in %q", row[i], row)
		case '_', '^':
			if !math {
				t.Fatalf("%c outside mathematics: %q", row[i], row)
			}
		}
	}

	if depth != 0 || math {
		t.Fatalf("open group: %q", row)
	}

	return cells
}

func TestLaTeXHostile(t *testing.T) {
	// Each table has a row a split, that of the outcomes one an outcome too; each
	// is split into as many parts as its width needs.
	tex := string(LaTeX(hostileExperiment(hostile)))

	n := len(hostile)
	if rows := checkTeX(t, tex); rows%n != 0 || rows < 5*n {
		t.Errorf("%d rows of %d splits", rows, n)
	}

	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringMatching(`[\\{}$&#^_%~a-z\[*"-]{0,12}`),
			rapid.String()).Draw(t, "name")
		e := rotor()
		e.Name, e.Splits[0].Name = name, name
		if rows := checkTeX(t, string(LaTeX(e))); rows%2 != 0 || rows < 10 {
			t.Fatalf("%d rows", rows)
		}
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
		if got := texEscape(s); got != want {
			t.Errorf("texEscape(%q) = %q, want %q", s, got, want)
		}
	}
}

// metrics.json reads back with an ordinary decoder to the very bits and names
// that went in, with the documented keys.
func TestMetricsJSON(t *testing.T) {
	e := hostileExperiment([]string{"<script>", "a|b", "羽根"})
	third := 1.0 / 3
	e.Splits[1].Test.Values = put(e.Splits[1].Test.Values, "r2", score.Value{Mean: third, Std: 5e-324, N: 5})
	e.Splits[1].Test.Values = put(e.Splits[1].Test.Values, "abs_cov",
		score.Value{Mean: math.Copysign(0, -1), Std: math.NaN(), N: 1})
	e.Splits[2].Test.Values = put(e.Splits[2].Test.Values, "r2", score.Value{Mean: math.Inf(-1), N: 5})
	raw, err := e.MetricsJSON()
	if err != nil {
		t.Fatal(err)
	}

	again, _ := e.MetricsJSON()
	if !bytes.Equal(raw, again) || raw[len(raw)-1] != '\n' || bytes.Contains(raw, []byte("<script")) ||
		bytes.Contains(raw, []byte("-0,")) {
		t.Error("not the same bytes, no newline, HTML or negative zeros")
	}

	type value struct {
		Mean, Std *float64
		N         int
		Undefined string
	}

	type set struct {
		R2       value
		AbsCov   value `json:"abs_cov"`
		E        value
		PairMSE  value `json:"pair_mse"`
		Outcomes map[string]struct {
			Unit string
			R2   value
		}
	}

	var got struct {
		Experiment, Data, Pairs string
		Splits                  []struct {
			Name           string
			HeldOut        string `json:"held_out"`
			Seeds          int
			MCSamples      int `json:"mc_samples"`
			Sampler        string
			Train, Test    set
			DifferencePct  struct{ R2, AbsCov *float64 } `json:"-"`
			RawDifferences map[string]any                `json:"difference_pct"`
		}
	}

	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}

	if got.Experiment != "<script>" || got.Data != "simulated" || got.Pairs != "same-run" || len(got.Splits) != 3 {
		t.Errorf("head %+v", got)
	}

	s := got.Splits[1]
	if s.Name != "a|b" || s.HeldOut != "a|b" || s.Seeds != 5 || s.MCSamples != 1000 || s.Sampler != "antithetic" {
		t.Errorf("split %+v", s)
	}

	if *s.Test.R2.Mean != third || *s.Test.R2.Std != 5e-324 || s.Test.R2.N != 5 {
		t.Errorf("r2 %v ± %v", *s.Test.R2.Mean, *s.Test.R2.Std)
	}

	if *s.Test.AbsCov.Mean != 0 || math.Signbit(*s.Test.AbsCov.Mean) || s.Test.AbsCov.Std != nil {
		t.Errorf("abs_cov %+v", s.Test.AbsCov)
	}

	if s.Train.E.Mean != nil || s.Train.E.Undefined != biased {
		t.Errorf("e on training pairs %+v", s.Train.E)
	}

	if o, ok := s.Test.Outcomes["a|b1"]; !ok || o.Unit != "a|b" {
		t.Errorf("outcomes %+v", s.Test.Outcomes)
	}

	if got.Splits[2].Test.R2.Mean != nil || got.Splits[2].Test.R2.Undefined != "not a finite number" ||
		got.Splits[2].RawDifferences["r2"] != nil {
		t.Errorf("infinite r2 %+v", got.Splits[2].Test.R2)
	}

	// (0.0765 − 0.0285)/0.0285 by hand.
	if d := got.Splits[0].RawDifferences["abs_cov"].(float64); math.Abs(d-168.421052631579) > 1e-9 {
		t.Errorf("difference %v", d)
	}
}

func TestMetricsJSONErrors(t *testing.T) {
	twice := rotor()
	twice.Splits[1].Name = twice.Splits[0].Name
	outcomes := rotor()
	outcomes.Splits[0].Test.Outcomes[1].Name = outcomes.Splits[0].Test.Outcomes[0].Name
	units := rotor()
	units.OutcomeUnits = units.OutcomeUnits[:1]
	for want, e := range map[string]Experiment{
		`write metrics of "drone": two splits are named "2-blades"`:                    twice,
		`write metrics of "drone", split "2-blades": two outcomes are named "bpf1_db"`: outcomes,
		`write metrics of "drone": 1 units for 2 outcomes`:                             units,
	} {
		if _, err := e.MetricsJSON(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Every metric of a part is written under its own key, of a set and of an outcome
// alike.
func TestEveryMetricIsWritten(t *testing.T) {
	var v score.Values
	for i, m := range score.MetricsOf(score.Parts) {
		v = append(v, score.Keyed{Key: m.Key, Value: score.Value{Mean: 1, N: i + 1}})
	}

	e := Experiment{Name: "x", Splits: []Split{{Name: "s", Test: SetMetrics{
		Values: v, Outcomes: []OutcomeMetrics{{Name: "y", Values: v}},
	}}}}
	js, err := e.MetricsJSON()
	if err != nil {
		t.Fatal(err)
	}

	text := strings.Join(strings.Fields(string(js)), "")

	csv := string(MetricsCSV([]Experiment{e}))
	for i, m := range score.MetricsOf(score.Parts) {
		if n := strings.Count(text, fmt.Sprintf(`%q:{"mean":1,"std":0,"n":%d}`, m.Key, i+1)); n != 2 {
			t.Errorf("metrics.json has %s %d times", m.Key, n)
		}

		for _, of := range []string{"all,", "y,"} {
			if row := fmt.Sprintf(",test,%s,%s,1,0,%d,", of, m.Key, i+1); strings.Count(csv, row) != 1 {
				t.Errorf("the CSV has no row %q", row)
			}
		}
	}
}

// The texts that a report must contain.
func TestWords(t *testing.T) {
	render := func(e Experiment) string {
		var b bytes.Buffer
		if err := Terminal(&b, e, 100, false); err != nil {
			t.Fatal(err)
		}

		return strings.Join(strings.Fields(b.String()+string(Markdown(e))+string(LaTeX(e))), " ")
	}

	for _, c := range []struct {
		name string
		set  func(*Experiment)
		want []string
		not  []string
	}{
		{
			"same-run", func(*Experiment) {},
			[]string{"Same-run pairs: both", "simulated data"},
			[]string{"Repeat-run pairs: the", "Couples:"},
		},
		{
			"repeat-run", func(e *Experiment) { e.Pairs = "repeat-run" },
			[]string{"Repeat-run pairs: the"},
			[]string{"Same-run pairs: both"},
		},
		{
			"synthetic", func(e *Experiment) { e.Pairs = "synthetic" },
			[]string{"Synthetic pairs: both"},
			[]string{"Same-run pairs: both"},
		},
		{
			"couples", func(e *Experiment) { e.Couples = true },
			[]string{"Couples: y2 is y1"},
			[]string{"Same-run pairs: both", "e is the measured error"},
		},
		{"measured", func(e *Experiment) { e.Data = "measured" }, []string{"measured data"}, []string{"simulated"}},
		{
			"methods differ", func(e *Experiment) { e.Splits[1].CovMethod = "exact" },
			[]string{"2-blades: E|cov| from 1000", "3-blades: E|cov| from 1000"},
			nil,
		},
	} {
		e := rotor()
		c.set(&e)

		got := render(e)
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing", c.name, w)
			}
		}

		for _, w := range c.not {
			if strings.Contains(got, w) {
				t.Errorf("%s: %q is there", c.name, w)
			}
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestTerminalWriteError(t *testing.T) {
	if err := Terminal(failing{}, rotor(), 100, false); err == nil ||
		!strings.HasPrefix(err.Error(), `write tables: `) {
		t.Errorf("%v", err)
	}
}

func TestLongSkipList(t *testing.T) {
	e := rotor()
	for range 40 {
		e.Skipped = append(e.Skipped, "x.wav: bad")
	}

	var b bytes.Buffer
	if err := Terminal(&b, e, 100, false); err != nil {
		t.Fatal(err)
	}

	if strings.Count(b.String(), "skipped: x.wav: bad") != 10 || !strings.Contains(b.String(), "… and 30 more") {
		t.Error(b.String())
	}

	raw, _ := e.MetricsJSON()
	if n := strings.Count(string(raw), "x.wav: bad"); n != 40 {
		t.Errorf("metrics.json lists %d", n)
	}
}
