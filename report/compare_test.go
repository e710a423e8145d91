package report

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"doubletake/train/score"
)

// comparedExperiment has two methods on one of two splits. The cells expected
// below are rounded by hand: two digits of the spread.
func comparedExperiment() Experiment {
	v := func(mean, std float64) score.Value { return score.Value{Mean: mean, Std: std, N: 5} }
	return Experiment{Name: "wing", Data: "simulated", Splits: []Split{
		{
			Name: "b=1", HeldOut: "b = 1", Reach: "interpolation in b", Seeds: 5,
			Flags: []Violation{
				{score.Flag{Code: "kappa", How: "by 20 %", Do: "train longer", Value: 0.2, Limit: 0.1}, "test", 1, 5},
				{score.Flag{Code: "delta", How: "by 0.6", Do: "read C", Value: 0.6, Limit: 0.5}, "train", 2, 5},
				{score.Flag{Code: "delta", How: "by 1.2", Do: "read C", Value: 1.2, Limit: 0.5}, "test", 4, 5},
			},
			Methods: []Compared{
				{Method: "pair, C", Claim: "C", Values: values("r2", v(0.81234, 0.0123), "sum_e_ratio", v(54.321, 9.27),
					"sum_e_ratio_se", v(5.21, 1)), FitS: v(1.5, 0.1)},
				{
					Method: "gp", Claim: "the posterior variance",
					Values: values("r2", v(0.5, 0), "sum_e_ratio", score.Value{Mean: math.NaN(), N: 5, Undefined: "no v̂"}),
					FitS:   v(20, 3),
				},
			},
		},
		{Name: "b=2", HeldOut: "b = 2", Seeds: 5},
	}}
}

// A method whose claim is doubtful says so in its name and in words.
func TestDoubtfulMethod(t *testing.T) {
	e := comparedExperiment()
	m := &e.Splits[0].Methods[1]
	if fine := string(Markdown(e)); strings.Contains(fine, "doubtful") {
		t.Errorf("a warning in\n%s", fine)
	}

	m.Doubt = "1 of 5 seeds: the chains disagree"

	var terminal strings.Builder
	if err := Terminal(&terminal, e, 100, false); err != nil {
		t.Fatal(err)
	}

	for what, text := range map[string]string{
		"page": string(Page([]*Detail{{Experiment: e}})), "Markdown": string(Markdown(e)), "terminal": terminal.String(),
	} {
		if !strings.Contains(text, "gp, doubtful") {
			t.Errorf("%s has no warning:\n%s", what, text)
		}
	}

	want := "gp on b=1 is doubtful in 1 of 5 seeds: the chains disagree."
	if !strings.Contains(string(Markdown(e)), want) {
		t.Errorf("no %q", want)
	}
}

// For a method without scaled numbers the table has a dash, and a sentence below it states the reason.
func TestWithoutScaled(t *testing.T) {
	e := comparedExperiment()
	s := &e.Splits[0]
	s.Ranking = []Ranked{{Method: s.Methods[0].Method}, {Method: "gp"}}
	undefined := score.Value{Mean: math.NaN(), Undefined: "without b 3: c is constant (0)"}
	none := score.Keyed{Key: RatioScaled, Value: undefined}
	s.Methods[1].Values = append(s.Methods[1].Values, none)

	want := "gp on b=1: no scaled number: without b 3: c is constant (0)."
	if md := string(Markdown(e)); !strings.Contains(md, want) || strings.Contains(md, "in 95 % scaled |") {
		t.Errorf("no %q, or an empty column, in\n%s", want, md)
	}

	s.Methods[0].Values = append(s.Methods[0].Values, score.Keyed{Key: RatioScaled, Value: score.Mean([]float64{1.25})})
	md := string(Markdown(e))
	row := regexp.MustCompile(`(?m)^\| gp .*$`).FindString(md)
	if !strings.Contains(md, want) || !strings.Contains(md, "scaled |") || !strings.Contains(row, " – |") {
		t.Errorf("no %q, or no dash in %q, in\n%s", want, row, md)
	}
}

// TestDiagnosticsOnThePage: an identity each, closed, the most serious first,
// with every set it is violated on in its table.
func TestDiagnosticsOnThePage(t *testing.T) {
	page := string(Page([]*Detail{{Experiment: comparedExperiment()}}))
	a := strings.Index(page, "<details class=\"violated\"><summary><b>δ = 0</b> is violated on 2 of 4 sets, most on "+
		"b=1 test, 2.4 times the limit</summary>")

	b := strings.Index(page, "<details class=\"violated\"><summary><b>κ = 0</b>")
	if a < 0 || b < a {
		t.Fatalf("δ at %d, κ at %d of the page", a, b)
	}

	rows := regexp.MustCompile(
		`<td class="text"><bdi>(t\w+)</bdi></td><td class="text">`+
			`<bdi>(\d of \d)</bdi></td><td>([\d.]+)</td>`).FindAllStringSubmatch(page[a:b], -1)
	if len(rows) != 2 || rows[0][1] != "test" || rows[0][3] != "2.4" || rows[1][1] != "train" || rows[1][2] != "2 of 5" ||
		rows[1][3] != "1.2" {
		t.Errorf("rows %q", rows)
	}
}

func TestComparison(t *testing.T) {
	e := comparedExperiment()
	md := string(Markdown(e))
	for _, want := range []string{
		"Methods compared on what b=1 holds out: interpolation in b", "0.812 ± 0.012", "54.3 ± 9.3", " 5.2 |", "1.50 ± 0.10",
		"## Diagnostics", "| interpolation in b |",
		// The most serious first: 1.2/0.5 is 2.4 times the limit, 0.2/0.1 twice.
		"\n- δ = 0 is violated on 2 of 4 sets, most on b=1 test, 2.4 times the limit (4 of 5 seeds, the worst shown): by " +
			"1.2; read C. Also b=1 train 1.2×.\n" +
			"- κ = 0 is violated on b=1 test, 2 times the limit (1 of 5 seeds, the worst shown): by 20 %; train longer.\n",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("tables.md lacks %q", want)
		}
	}

	// A split whose methods were ranked has that table too, the best first.
	e.Splits[0].Ranking = []Ranked{
		{Method: e.Splits[0].Methods[1].Method, CRPS: 0.25, Is: "best"},
		{Method: e.Splits[0].Methods[0].Method, CRPS: 0.375, Above: 0.125, SE: 0.0125, Is: "worse"},
	}

	ranked := strings.Join(strings.Fields(string(Markdown(e))), " ")
	e.Splits[0].Ranking = nil

	a, z := strings.Index(ranked, "| best | "), strings.Index(ranked, "| worse | ")
	if !strings.Contains(ranked, "Methods by CRPS on what b=1 holds out") || a < 0 || z < a ||
		!strings.Contains(ranked[z:], "0.375 | 0.125 | 0.0125 |") {
		t.Errorf("the ranking is missing or out of order: best at %d, worse at %d", a, z)
	}

	if n := strings.Count(md, "Methods compared"); n != 1 {
		t.Errorf("%d comparison tables, want 1: the other split compared nothing", n)
	}

	var b bytes.Buffer
	if err := Terminal(&b, e, 100, false); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"pair, C ", "check: δ = 0 is violated on 2 of 4 sets", "54.3 ± 9.3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the terminal lacks %q", want)
		}
	}

	js, err := e.MetricsJSON()
	if err != nil {
		t.Fatal(err)
	}

	var doc struct {
		Splits []struct {
			Reach       string
			Diagnostics []string
			Methods     []map[string]any
		}
	}

	if err := json.Unmarshal(js, &doc); err != nil {
		t.Fatal(err)
	}

	s := doc.Splits[0]
	if s.Reach != "interpolation in b" || len(s.Diagnostics) != 3 || len(s.Methods) != 2 ||
		s.Methods[1]["method"] != "gp" || doc.Splits[1].Methods != nil {
		t.Errorf("metrics.json: %+v", doc.Splits)
	}

	if r := s.Methods[0]["r2"].(map[string]any); r["mean"] != 0.81234 {
		t.Errorf("r2 %v", r)
	}

	if r := s.Methods[1]["sum_e_ratio"].(map[string]any); r["mean"] != nil || r["undefined"] != "no v̂" {
		t.Errorf("an undefined ratio: %v", r)
	}

	// Times differ from run to run: metrics.json, which must not, has none.
	if strings.Contains(string(js), "seconds") || strings.Contains(string(js), "fit_s") {
		t.Error("metrics.json holds times")
	}

	if got := (Experiment{Name: "x", Splits: []Split{{Name: "a"}}}).comparisons(); len(got) != 0 {
		t.Errorf("a comparison of nothing: %+v", got)
	}
}

// The words below the tables describe v̂ of the methods shown.
func TestClaims(t *testing.T) {
	e := comparedExperiment()
	e.Splits = append(e.Splits, e.Splits[0])
	if c := strings.Join(e.claims(), "; "); c != "pair, C: C; gp: the posterior variance" {
		t.Errorf("%s", c)
	}

	words := strings.Join(e.comparisonWords(), " ")
	if !strings.Contains(words, "a method claims: pair, C: C; gp: the posterior variance. QLIKE") {
		t.Errorf("%s", words)
	}
}
