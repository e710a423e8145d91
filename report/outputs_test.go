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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
// methods, violated identities, and of nothing.
func outputExperiments() []Experiment {
	all := judged(rotor())
	c := comparedExperiment().Splits[0]
	s := &all.Splits[1]
	s.Methods = c.Methods
	s.Flags = c.Flags
	s.Reach = c.Reach
	s.Ranking = []Ranked{
		{Method: "gp", CRPS: 0.25, Standing: "best"},
		{Method: "pair, C", CRPS: 0.375, Above: 0.125, SE: 0.0125, Standing: "worse"},
	}
	all.Warnings = []string{"a level is clipped"}
	all.Skipped = []string{"x.wav: too short", "y.wav: no samples"}
	all.Splits[0].Test.Notes = []string{"two conditions are few"}
	units := judged(rotor())
	units.Name = "units"
	units.Splits[0].Network = append(units.Splits[0].Network, units.Splits[0].Network[0])
	units.Splits[0].Network[1].Unit = "N"
	units.Splits[0].Network[1].Outcome = "lift_n"

	return []Experiment{all, propeller(), units, {Name: "empty", Data: "measured"}}
}

// experimentOutput is what one form of output shows of an experiment.
type experimentOutput struct {
	name       string // page, Markdown, LaTeX or terminal of N
	text       string // without blanks
	experiment Experiment
}

// outputsOf returns all outputs of an experiment: the page, Markdown, LaTeX, and terminals of three widths. An
// experiment without splits has no LaTeX.
func outputsOf(t *testing.T, e Experiment) []experimentOutput {
	t.Helper()

	_, markdown := parseMarkdown(t, Markdown(e))
	outputs := []experimentOutput{
		{"page", shown(string(Page([]*Detail{{Experiment: e}}))), e},
		{"Markdown", shown(markdown), e},
	}
	if len(e.Splits) > 0 {
		outputs = append(outputs, experimentOutput{"LaTeX", stripped(string(LaTeX(e))), e})
	}

	for _, columns := range []int{60, 100, 200} {
		var text bytes.Buffer
		require.NoError(t, Terminal(&text, e, columns, false))
		outputs = append(outputs, experimentOutput{"terminal of " + strconv.Itoa(columns), stripped(text.String()), e})
	}

	return outputs
}

// has checks that the output has a text. what names the text.
func (o experimentOutput) has(t *testing.T, what, text string) {
	t.Helper()

	if o.name == "LaTeX" {
		text = texEscape(text)
	}

	assert.Contains(t, o.text, stripped(text), "%s: %s of %s", o.name, what, o.experiment.Name)
}

// sentences returns the sentences that the output must have: what is explained, and the verdicts. The page has the
// parts of each verdict in places of their own.
func (o experimentOutput) sentences() []string {
	if o.name != "page" {
		d := o.experiment.document()
		return slices.Concat(d.verdicts, d.explained)
	}

	var parts []string
	for _, verdict := range newVerdicts(o.experiment) {
		parts = append(parts, verdict.Held, verdict.Found(), verdict.Action)
	}

	return parts
}

// tables returns the tables that the output must have. The page has some of them; the files of the experiment have the
// others.
func (o experimentOutput) tables() []table {
	e := o.experiment
	if o.name != "page" {
		return e.document().tables
	}

	tables := append([]table{resultsTable(e.results())}, e.methodsTables()...)
	if len(e.Splits) == 0 {
		return tables
	}

	return append(tables, notEmptyTables([]table{
		e.fitTable(papers).withoutTrainSpread(), e.identitiesTable().withoutTrainSpread(),
	})...)
}

// checkTable checks that the output has a table with its caption, its labels and all numbers of its rows.
func (o experimentOutput) checkTable(t *testing.T, tab table) {
	t.Helper()

	e := o.experiment
	isExplained := tab.Title == e.fitTable(compared).Title || tab.Title == e.covPartsTable().Title
	if o.name != "LaTeX" || !isExplained { // in LaTeX the captions of these two explain the table instead
		o.has(t, "caption", tab.Title)
	}

	// A row is one text if no table is broken into parts. The page draws bars between the numbers of results.
	isResults := tab.Title == resultsTitle(e.results())
	hasRows := o.name == "terminal of 200" || o.name == "Markdown" || o.name == "page" && !isResults
	for _, r := range tab.Rows {
		o.has(t, "label", r.Label)

		row := r.Label
		for k, c := range r.Cells {
			text := c.plain()
			if o.name == "page" && !tab.Heads[k].Words {
				text = c.Minus()
			}

			row += text
			if o.name == "LaTeX" {
				assert.Contains(t, o.text, stripped(c.tex()))
			} else {
				o.has(t, "cell", text)
			}
		}

		if hasRows {
			o.has(t, "row", row)
		}
	}
}

// Every output has the title, every verdict, every table with its caption and its units,
// every row with all its numbers, and all that limits the trust in them.
func TestOutputsAreWhole(t *testing.T) {
	for _, e := range outputExperiments() {
		d := e.document()
		for _, o := range outputsOf(t, e) {
			if o.name != "page" {
				o.has(t, "title", d.title)
			}

			for _, sentence := range o.sentences() {
				o.has(t, "sentence", sentence)
			}

			for _, tab := range o.tables() {
				o.checkTable(t, tab)
			}

			if o.name == "LaTeX" { // it has no findings
				continue
			}

			for _, f := range d.findings {
				for _, item := range f.items {
					o.has(t, f.kind, item)
				}
			}
		}
	}
}

// The numbers of the tables are those of metrics.json, to half of their last digit.
func TestTablesAreTheMetrics(t *testing.T) {
	for _, e := range outputExperiments()[:2] {
		raw, err := e.MetricsJSON()
		require.NoError(t, err)

		var file struct {
			Splits []map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal(raw, &file))

		metric := func(split int, part, key string) (mean float64) {
			var set map[string]json.RawMessage
			var v struct{ Mean *float64 }

			require.NoError(t, json.Unmarshal(file.Splits[split][part], &set))

			if err := json.Unmarshal(set[key], &v); err != nil || v.Mean == nil {
				return math.NaN()
			}

			return *v.Mean
		}

		compared := 0
		defined := 0 // numbers of metrics.json that a table has
		for _, list := range [][]shownMetric{papers, partsOfCov, identities} {
			for _, q := range list {
				q.change = false
				for i, s := range e.Splits {
					cells := cellsOf([]shownMetric{q}, s.Train.Values, s.Test.Values)
					for _, c := range []struct {
						in        bool
						part, key string
					}{{q.train, "train", q.key}, {q.test, "test", q.key}, {q.errorKey != "", "test", q.errorKey}} {
						if !c.in {
							continue
						}

						want := metric(i, c.part, c.key) * q.scale()
						cell := cells[0]
						cells = cells[1:]

						if math.IsNaN(want) != (cell.text == undefinedText) {
							t.Errorf("%s %s %s: %v, shown %s", s.Name, c.part, c.key, want, cell.plain())
						}

						if !math.IsNaN(want) {
							defined++
						}

						if cell.text != "" {
							continue
						}

						compared++
						_, decimals, _ := strings.Cut(cell.mean, ".")
						half := 0.5000001 * math.Pow(10, float64(cell.exp-len(decimals)))

						got, err := strconv.ParseFloat(cell.mean, 64)
						got *= math.Pow(10, float64(cell.exp))
						require.NoError(t, err)
						assert.InDelta(t, want, got, half, "%s %s %s", s.Name, c.part, c.key)
					}
				}
			}
		}

		assert.Equal(t, defined, compared, "numbers compared")
		assert.GreaterOrEqual(t, compared, 18, "numbers of the smaller experiment")
	}
}

// Colour adds nothing but colour: the title and verdicts are bold, warnings yellow, and grades have their colours.
func TestColour(t *testing.T) {
	e := outputExperiments()[0]

	var plain, colour bytes.Buffer
	require.NoError(t, Terminal(&plain, e, 60, false))
	require.NoError(t, Terminal(&colour, e, 60, true))

	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colour.String(), ""); got != plain.String() {
		t.Error("another text with colour")
	}

	assert.Contains(t, colour.String(), bold+"drone: simulated data")
	assert.Contains(t, colour.String(), yellow+"warning:")
	assert.Contains(t, colour.String(), yellow+"skipped:")
	for grade, style := range map[score.Grade]string{
		score.Holds: "\x1b[32m", score.Wide: "\x1b[33m", score.Undecided: "\x1b[33m", score.Fails: "\x1b[31m",
	} {
		list := Listing{Heads: []string{"outcome", "grade", "record"}, Graded: "grade", Colour: true}
		list.Add("lift", string(grade)+", 0.1 of the spread", "holds")
		list.Grades = []score.Grade{grade}

		var line strings.Builder
		require.NoError(t, list.Write(&line, 100))
		assert.Contains(t, line.String(), "lift     "+style+string(grade)+", 0.1 of the spread\x1b[0m  holds\n")
		assert.Contains(t, Styles(), style)

		list.Colour = false
		line.Reset()
		require.NoError(t, list.Write(&line, 100))
		assert.NotContains(t, line.String(), "\x1b", "a listing without colours")
	}

	for _, split := range e.Splits {
		grade := split.Verdict()
		assert.Contains(t, colour.String(), gradeStyles[grade]+string(grade)+resetStyle, split.Name)
	}
}

// A run's output has every experiment, and what the numbers mean once.
func TestRunOutputs(t *testing.T) {
	list := []Experiment{rotor(), propeller()}

	var b bytes.Buffer
	require.NoError(t, RunTerminal(&b, list, 100, false))

	md := string(RunMarkdown(list, nil))
	for _, text := range []string{b.String(), md} {
		assert.Contains(t, text, "drone: simulated data")
		assert.Contains(t, text, "crazyflie: measured data")
	}

	assert.Equal(t, 1, strings.Count(b.String(), "E|cov| is the mean size"), "explained times")

	if !strings.Contains(b.String(), "crazyflie: All but R²") { // one seed: another meaning of ±
		t.Error("the spreads are not told apart")
	}

	assert.True(t, strings.HasPrefix(md, "# doubletake: results\n\n## drone"), "%.80s", md)
	assert.Contains(t, string(RunMarkdown(nil, nil)), "No experiment has results yet.")

	var v score.Values
	cell := cellsOf([]shownMetric{{key: "r2", test: true}}, nil, v)
	require.Len(t, cell, 1, "a metric that was not computed")
	assert.Equal(t, undefinedText, cell[0].text, "a metric that was not computed")
}
