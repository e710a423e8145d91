package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// comparedExperiment has two methods on one of two splits. The cells expected
// below are rounded by hand: two digits of the spread.
func comparedExperiment() Experiment {
	v := func(mean, std float64) Value { return Value{Mean: mean, Std: std, N: 5} }
	return Experiment{Name: "wing", Data: "simulated", Splits: []Split{
		{
			Name: "b=1", HeldOut: "b = 1", Reach: "interpolation in b", Seeds: 5,
			Flags: []string{"test: δ = 0 is violated: by 1.2; read C"},
			Methods: []Compared{
				{Method: "pair, C", Scores: []Scored{{"r2", v(0.81234, 0.0123)}, {"sum_e_ratio", v(54.321, 9.27)}, {"sum_e_ratio_se", v(5.21, 1)}}, FitS: v(1.5, 0.1)},
				{Method: "gp", Scores: []Scored{{"r2", v(0.5, 0)}, {"sum_e_ratio", Value{Mean: math.NaN(), N: 5, Undefined: "no v̂"}}}, FitS: v(20, 3)},
			},
		},
		{Name: "b=2", HeldOut: "b = 2", Seeds: 5},
	}}
}

func TestComparison(t *testing.T) {
	e := comparedExperiment()
	md := string(Markdown(e))
	for _, want := range []string{
		"Methods compared on what b=1 holds out: interpolation in b", "0.812 ± 0.012", "54.3 ± 9.3", " 5.2 |", "1.50 ± 0.10",
		"## Diagnostics", "b=1 test: δ = 0 is violated", "| interpolation in b |",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("tables.md lacks %q", want)
		}
	}
	if n := strings.Count(md, "Methods compared"); n != 1 {
		t.Errorf("%d comparison tables, want 1: the other split compared nothing", n)
	}
	var b bytes.Buffer
	if err := Terminal(&b, e, 100, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pair, C ", "check: b=1 test: δ = 0 is violated", "54.3 ± 9.3"} {
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
	if s.Reach != "interpolation in b" || len(s.Diagnostics) != 1 || len(s.Methods) != 2 || s.Methods[1]["method"] != "gp" || doc.Splits[1].Methods != nil {
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
	if got := ComparisonMarkdown(Experiment{Name: "x", Splits: []Split{{Name: "a"}}}, 2); len(got) != 0 {
		t.Errorf("a comparison of nothing: %s", got)
	}
}
