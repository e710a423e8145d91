package content

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report"
	"doubletake/train/results"
	"doubletake/train/score"
)

// If several seeds violate an identity, the flag with the greatest ratio to its limit is kept, with the number of these
// seeds.
func TestMergeFlags(t *testing.T) {
	flag := func(code string, value float64) score.Flag {
		return score.Flag{Code: code, Value: value, Limit: 0.5, Do: "train longer"}
	}
	seeds := []results.Flags{
		{Test: []score.Flag{flag("kappa", 1), flag("delta", 2)}},
		{Test: []score.Flag{flag("delta", 3)}, Train: []score.Flag{flag("delta", 1)}},
		{Test: []score.Flag{flag("delta", 2.5)}},
	}

	want := []report.Violation{
		{Flag: flag("delta", 1), Part: "train", Seeds: 1, AllSeeds: 3},
		{Flag: flag("kappa", 1), Part: "test", Seeds: 1, AllSeeds: 3},
		{Flag: flag("delta", 3), Part: "test", Seeds: 3, AllSeeds: 3},
	}

	assert.Equal(t, want, mergeFlags(seeds))
}

// A method's scores are averaged over the seeds. A quantile that one of the seeds lacks is undefined.
func TestComparedFinish(t *testing.T) {
	numbers := func(r2 float64) score.Numbers { return score.Numbers{{Key: "r2", Value: r2}} }
	c := &compared{}
	add := func(name, claim string, scores score.Scores) {
		m := c.method(name, claim)
		m.scores = append(m.scores, scores)
	}

	add("b", "B", score.Scores{Numbers: numbers(0.5), Quantiles: []score.QuantilePoint{{Level: 0.05, Observed: 0.1}}})
	add("a", "A", score.Scores{Numbers: numbers(0.25)})
	add("b", "B", score.Scores{Numbers: numbers(1), Quantiles: []score.QuantilePoint{{Level: 0.05, Observed: 0.3}}})
	add("d", "D", score.Scores{Numbers: numbers(1), Quantiles: []score.QuantilePoint{{Level: 0.5, Observed: 0.3}}})
	add("d", "D", score.Scores{Numbers: numbers(1)})
	c.method("b", "").doubts = []string{"the chains disagree"}

	var sp report.Split
	c.finish(&sp)

	require.Len(t, sp.Methods, 3)
	require.Equal(t, "b", sp.Methods[0].Method)
	require.Equal(t, "a", sp.Methods[1].Method)
	require.Equal(t, "A", sp.Methods[1].Claim)

	b, d := sp.Methods[0], sp.Methods[2]
	require.Equal(t, 0.75, b.Values.Get("r2").Mean, "%+v", b)
	assert.InDelta(t, 0.2, b.Values.Get("below_0.05").Mean, 1e-15, "%+v", b)
	require.Equal(t, "1 of 2 seeds: the chains disagree", b.Doubt, "%q, %q", b.Doubt, d.Doubt)
	assert.Empty(t, d.Doubt, "%q, %q", b.Doubt, d.Doubt)

	assert.True(t, math.IsNaN(d.Values.Get("below_0.5").Mean), "a number that the method does not have")
}

// A method whose CRPS is that of the best, but whose NLL is 5.71 instead of 2.28, is not as good.
func TestStandingByNLL(t *testing.T) {
	rows := func(mean float64, period int) [][]float64 {
		values := make([]float64, 40)
		for i := range values {
			values[i] = mean + 0.02*float64(i%period)
		}

		return [][]float64{values}
	}

	c := &compared{}
	for i := range 40 {
		c.run = append(c.run, i)
	}

	for nll, want := range map[float64]string{5.71: "as good, by NLL worse", 2.272: "as good", 1: "as good"} {
		c.methods = []*method{
			{name: "best", crps: rows(0.25, 2), nll: rows(2.28, 2), scores: make([]score.Scores, 1)},
			{name: "other", crps: rows(0.243, 3), nll: rows(nll, 3), scores: make([]score.Scores, 1)},
		}

		var split report.Split
		c.finish(&split)
		require.Len(t, split.Ranking, 2, "NLL %g: %+v, expected %q", nll, split.Ranking, want)
		require.Equal(t, "best", split.Ranking[0].Standing, "NLL %g: %+v, expected %q", nll, split.Ranking, want)
		assert.Equal(t, want, split.Ranking[1].Standing, "NLL %g: %+v, expected %q", nll, split.Ranking, want)
	}
}

// Σe/ΣC of a split is one number wherever it is written, the mean over the seeds, and
// splits are ranked by it as in the table. By hand: 1710 ± 830 with a standard error of
// 400 is 4.3 errors from 1, 51.4 ± 14 with 5.2 is 9.7: by significance the second would
// come first.
func TestOneRatio(t *testing.T) {
	split := func(name string, ratio, std, se float64) report.Split {
		value := func(key string, mean, std float64) score.Keyed {
			return score.Keyed{Key: key, Value: score.Value{Mean: mean, Std: std, N: 5}}
		}
		split := report.Split{Name: name, HeldOut: name, Seeds: 5, Test: report.SetMetrics{Runs: 60, Values: score.Values{
			value("r2", 0.5, 0.1), value("sum_e_ratio", ratio, std), value("sum_e_ratio_se", se, 0.1),
		}}}
		(&compared{}).finish(&split)

		return split
	}

	e := report.Experiment{Name: "drone", Data: "measured", Splits: []report.Split{
		split("3-blades", 51.4, 14, 5.2), split("2-blades", 1710, 830, 400),
	}}
	js, err := e.MetricsJSON()
	require.NoError(t, err)

	var terminal strings.Builder
	require.NoError(t, report.Terminal(&terminal, e, 200, false))

	for _, c := range []struct{ where, text, want string }{
		{"metrics.json", string(js), `"mean": 51.4`},
		{"metrics.json", string(js), "the measured squared error is 51 times C (standard error 5.2)"},
		{"metrics.json", string(js), "the measured squared error is 1710 times C (standard error 400)"},
		{"Markdown", string(report.Markdown(e)), " 51 ± 14 "},
		{"Markdown", string(report.Markdown(e)), "most Σe/ΣC = 1 on 2-blades test"},
		{"Markdown", string(report.Markdown(e)), " 1710 ± 830 "},
		{"terminal", terminal.String(), "51 ± 14"},
	} {
		assert.Contains(t, c.text, c.want)
	}

	// Coverage: the flag states the share of the table, and the split with the smallest comes first.
	e.Splits = []report.Split{split("a", 0.5, 0.1, 0.01), split("b", 0.1, 0.1, 0.01)}
	for i, c := range []float64{0.57, 0.19} {
		e.Splits[i].Network = []score.OutcomeTrust{{Outcome: "y", Trust: score.Trust{
			Level: 0.95, Inside: c, InsideSE: 0.03, Runs: 15, RMSE: 1, ClaimedSigma: 1,
		}}}
		e.Splits[i].Flags = coverageFlags(e.Splits[i].Network)
	}

	text := strings.ReplaceAll(string(report.Markdown(e)), "\u00a0", " ")
	assert.Contains(t, text, "violate 1 identity, most coverage = 0.95 on b test")
	assert.Contains(t, text, " 19 ± 3 % ")
	assert.Contains(t, text, " 57 ± 3 % ")

	// No ratio in the table, none in a check.
	undefined := split("x", math.NaN(), math.NaN(), math.NaN())
	assert.Empty(t, undefined.Flags, "%+v", undefined.Flags)
}
