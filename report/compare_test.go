package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
					"sum_e_ratio_se", v(5.21, 1))},
				{
					Method: "gp", Claim: "the posterior variance",
					Values: values("r2", v(0.5, 0), "sum_e_ratio", score.Value{Mean: math.NaN(), N: 5, Undefined: "no v̂"}),
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
	assert.NotContains(t, string(Markdown(e)), "doubtful")

	m.Doubt = "1 of 5 seeds: the chains disagree"

	var terminal strings.Builder
	require.NoError(t, Terminal(&terminal, e, 100, false))

	for _, text := range map[string]string{
		"page": string(Page([]*Detail{{Experiment: e}})), "Markdown": string(Markdown(e)), "terminal": terminal.String(),
	} {
		assert.Contains(t, text, "gp, doubtful")
	}

	want := "gp on b=1 is doubtful in 1 of 5 seeds: the chains disagree."
	assert.Contains(t, string(Markdown(e)), want)
}

func TestComparison(t *testing.T) {
	e := comparedExperiment()
	md := string(Markdown(e))
	assert.Contains(t, md, "Methods compared on what b=1 holds out: interpolation in b")
	assert.Contains(t, md, "54.3 ± 9.3")
	assert.Contains(t, md, "## Checks (paper's network only)")
	assert.Contains(t, md, "| interpolation in b |")
	assert.Contains(t, md,
		"\n- The network's two answers violate 2 identities, most δ = 0 on b=1 test, 2.4 times the limit: read C.\n")

	// A split whose methods were ranked has that table too, the best first.
	e.Splits[0].Ranking = []Ranked{
		{Method: e.Splits[0].Methods[1].Method, CRPS: 0.25, Standing: "best"},
		{Method: e.Splits[0].Methods[0].Method, CRPS: 0.375, Above: 0.125, SE: 0.0125, Standing: "worse"},
	}

	ranked := strings.Join(strings.Fields(string(Markdown(e))), " ")
	e.Splits[0].Ranking = nil

	a := strings.Index(ranked, "| best | ")
	z := strings.Index(ranked, "| worse | ")
	assert.Contains(t, ranked, "Methods compared on what b=1 holds out", "the ranking in its order")
	assert.GreaterOrEqual(t, a, 0, "the ranking in its order")
	assert.GreaterOrEqual(t, z, a, "the ranking in its order")
	assert.Contains(t, ranked[z:], "0.375 | 0.125 | 0.0125 |", "the ranking in its order")

	assert.Equal(t, 1, strings.Count(md, "Methods compared"), "comparison tables: the other split compared nothing")

	var b bytes.Buffer
	require.NoError(t, Terminal(&b, e, 100, false))
	assert.Contains(t, b.String(), "pair, C ")
	assert.Contains(t, b.String(), "check (paper's network only): The network's two answers violate 2 identities")
	assert.Contains(t, b.String(), "54.3 ± 9.3")

	js, err := e.MetricsJSON()
	require.NoError(t, err)

	var doc struct {
		Splits []struct {
			Reach       string
			Diagnostics []string
			Methods     []map[string]any
		}
	}

	require.NoError(t, json.Unmarshal(js, &doc))

	s := doc.Splits[0]
	assert.Equal(t, "interpolation in b", s.Reach)
	require.Len(t, s.Diagnostics, 3)
	require.Len(t, s.Methods, 2)
	assert.Equal(t, "gp", s.Methods[1]["method"])
	assert.Nil(t, doc.Splits[1].Methods)

	assert.Equal(t, 0.81234, s.Methods[0]["r2"].(map[string]any)["mean"])

	r := s.Methods[1]["sum_e_ratio"].(map[string]any)
	assert.Nil(t, r["mean"], "an undefined ratio")
	assert.Equal(t, "no v̂", r["undefined"], "an undefined ratio")

	if got := (Experiment{Name: "x", Splits: []Split{{Name: "a"}}}).methodsTables(); len(got) != 0 {
		t.Errorf("a comparison of nothing: %+v", got)
	}
}

// The words below the tables describe v̂ of the methods shown.
func TestClaims(t *testing.T) {
	e := comparedExperiment()
	e.Splits = append(e.Splits, e.Splits[0])
	assert.Equal(t, "pair, C: C; gp: the posterior variance", strings.Join(e.vHatClaims(), "; "))

	words := strings.Join(e.comparisonWords(), " ")
	assert.Contains(t, words, "a method claims: pair, C: C; gp: the posterior variance.")
}
