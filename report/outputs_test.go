package report

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"doubletake/train/score"
)

// stripped is a text without blanks, which lines are broken at.
func stripped(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '─' {
			return -1
		}
		return r
	}, s)
}

// shown is what a browser shows of HTML, without blanks.
func shown(page string) string {
	page = regexp.MustCompile(`(?s)<(script|style)[^>]*>.*?</(script|style)>`).ReplaceAllString(page, "")
	return stripped(html.UnescapeString(tagRE.ReplaceAllString(page, "")))
}

// outputExperiments are judged and not, measured and simulated, of several units, with
// methods, events, violated identities, and of nothing.
func outputExperiments() []Experiment {
	all := judged(rotor())
	c := comparedExperiment().Splits[0]
	s := &all.Splits[1]
	s.Methods, s.Flags, s.Reach = c.Methods, c.Flags, c.Reach
	s.Ranking = []Ranked{
		{Method: "gp", CRPS: 0.25, Is: "best"},
		{Method: "pair, C", CRPS: 0.375, Above: 0.125, SE: 0.0125, Is: "worse"},
	}
	s.Events = []Event{{Name: "loud", Text: "bpf1_db > 70", Values: values("claimed", val(0.2312, 0.021))}}
	all.Warnings, all.Skipped = []string{"a level is clipped"}, []string{"x.wav: too short", "y.wav: no samples"}
	all.Splits[0].Test.Notes = []string{"two conditions are few"}
	units := judged(rotor())
	units.Name = "units"
	units.Splits[0].Network = append(units.Splits[0].Network, units.Splits[0].Network[0])
	units.Splits[0].Network[1].Unit, units.Splits[0].Network[1].Outcome = "N", "lift_n"

	return []Experiment{all, propeller(), units, {Name: "empty", Data: "measured"}}
}

// Every output has the title, every verdict, every table with its caption and its units,
// every row with all its numbers, and all that limits the trust in them.
func TestOutputsAreWhole(t *testing.T) {
	for _, e := range outputExperiments() {
		outputs := map[string]string{"page": shown(string(Page([]*Detail{{Experiment: e}})))}
		for _, columns := range []int{60, 100, 200} {
			var b bytes.Buffer
			if err := Terminal(&b, e, columns, false); err != nil {
				t.Fatal(err)
			}

			outputs["terminal of "+strconv.Itoa(columns)] = stripped(b.String())
		}

		_, md := parseMarkdown(t, Markdown(e))
		outputs["Markdown"], outputs["LaTeX"] = shown(md), stripped(string(LaTeX(e)))
		for name, out := range outputs {
			has := func(what, text string) {
				t.Helper()

				if name == "LaTeX" {
					text = texEscape(text)
				}

				if !strings.Contains(out, stripped(text)) {
					t.Errorf("%s of %s lacks the %s %q", name, e.Name, what, text)
				}
			}

			if len(e.Splits) == 0 && name == "LaTeX" {
				continue
			}

			d := e.document()
			if name != "page" {
				has("title", d.title)
			}

			for _, s := range slices.Concat(d.verdicts, d.explained) {
				has("sentence", s)
			}

			for _, tab := range d.tables {
				if tab.Long && strings.HasPrefix(name, "terminal") || name == "LaTeX" && (tab.Title == e.fit().Title ||
					tab.Title == e.parts().Title) {
					continue // in LaTeX these two are explained instead
				}

				has("caption", tab.Title)

				for _, r := range tab.Rows {
					for k, c := range r.Cells {
						switch {
						case name == "LaTeX":
							if !strings.Contains(out, stripped(c.tex())) {
								t.Errorf("LaTeX of %s lacks %s", e.Name, c.tex())
							}

						case name == "page" && !tab.Heads[k].Words:
							has("number", c.Minus())
						default:
							has("cell", c.plain())
						}
					}
				}
			}

			for _, f := range d.findings {
				for _, item := range f.items {
					if name != "LaTeX" && (name != "page" || f.kind != "check") { // the page has checks in parts
						has(f.kind, item)
					}
				}
			}
		}
	}
}

// The numbers of the tables are those of metrics.json, to half of their last digit.
func TestTablesAreTheMetrics(t *testing.T) {
	for _, e := range outputExperiments()[:2] {
		raw, err := e.MetricsJSON()
		if err != nil {
			t.Fatal(err)
		}

		var file struct {
			Splits []map[string]json.RawMessage
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}

		metric := func(split int, part, key string) (mean float64) {
			var set map[string]json.RawMessage
			var v struct{ Mean *float64 }

			if err := json.Unmarshal(file.Splits[split][part], &set); err != nil {
				t.Fatal(err)
			}

			if err := json.Unmarshal(set[key], &v); err != nil || v.Mean == nil {
				return math.NaN()
			}

			return *v.Mean
		}

		n := 0
		for _, list := range [][]quantity{papers, partsOfCov, identities} {
			for _, q := range list {
				q.change = false
				for i, s := range e.Splits {
					cells := q.cells(s.Train.Values, s.Test.Values)
					for _, c := range []struct {
						in        bool
						part, key string
					}{{q.train, "train", q.key}, {q.test, "test", q.key}, {q.se != "", "test", q.se}} {
						if !c.in {
							continue
						}

						want, cell := metric(i, c.part, c.key)*q.scale(), cells[0]
						cells = cells[1:]

						if math.IsNaN(want) != (cell.text == undefinedText) {
							t.Errorf("%s %s %s: %v, shown %s", s.Name, c.part, c.key, want, cell.plain())
						}

						if cell.text != "" {
							continue
						}

						n++
						_, decimals, _ := strings.Cut(cell.mean, ".")
						half := 0.5000001 * math.Pow(10, float64(cell.exp-len(decimals)))

						got, err := strconv.ParseFloat(cell.mean, 64)
						if got *= math.Pow(10, float64(cell.exp)); err != nil || math.Abs(got-want) > half {
							t.Errorf("%s %s %s: %v, shown %s", s.Name, c.part, c.key, want, cell.plain())
						}
					}
				}
			}
		}

		if n < 10 {
			t.Errorf("%d numbers compared", n)
		}
	}
}

// Colour adds nothing but colour: the title and verdicts are bold, warnings yellow.
func TestColour(t *testing.T) {
	e := outputExperiments()[0]

	var plain, colour bytes.Buffer
	if err := Terminal(&plain, e, 60, false); err != nil {
		t.Fatal(err)
	}

	if err := Terminal(&colour, e, 60, true); err != nil {
		t.Fatal(err)
	}

	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colour.String(), ""); got != plain.String() {
		t.Error("another text with colour")
	}

	for _, want := range []string{bold + "drone: simulated data", yellow + "warning:", yellow + "skipped:"} {
		if !strings.Contains(colour.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

// A run's output has every experiment, and what the numbers mean once.
func TestRunOutputs(t *testing.T) {
	list := []Experiment{rotor(), propeller()}

	var b bytes.Buffer
	if err := RunTerminal(&b, list, 100, false); err != nil {
		t.Fatal(err)
	}

	md := string(RunMarkdown(list, nil))
	for _, text := range []string{b.String(), md} {
		for _, want := range []string{"drone: simulated data", "crazyflie: measured data"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q", want)
			}
		}
	}

	if n := strings.Count(b.String(), "E|cov| is the mean size"); n != 1 {
		t.Errorf("explained %d times", n)
	}

	if !strings.Contains(b.String(), "crazyflie: All but R²") { // one seed: another meaning of ±
		t.Error("the spreads are not told apart")
	}

	if !strings.HasPrefix(md, "# doubletake: results\n\n## drone") {
		t.Errorf("%.80s", md)
	}

	if empty := string(RunMarkdown(nil, nil)); !strings.Contains(empty, "No experiment has results yet.") {
		t.Error(empty)
	}

	var v score.Values
	if cell := (quantity{key: "r2", test: true}).cells(nil, v); len(cell) != 1 || cell[0].text != undefinedText {
		t.Errorf("a metric that was not computed is %v", cell)
	}
}
