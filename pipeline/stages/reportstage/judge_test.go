package reportstage

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train/results"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// rotor has six triplets of five runs, with blade counts and angles.
const rotor = `
run recording rpm[1/min] blades theta_deg[deg] y_1[dB] y_2[dB]
a   a#1       1000       2      0              10      12
a   a#2       1000       2      30             20      22
b   b#1       2000       2      0              30      32
c   c#1       3000       3      0              40      42
d   d#1       4000       3      0              50      52
e   e#1       5000       4      0              60      62`

// cut splits the rotor's triplets by a rule.
func cut(t *testing.T, inputs, rule string) (*stagetest.Experiment, *table.Table, triplets.Set, config.Split) {
	t.Helper()
	tab := tabletest.Parse(rotor)
	b := stagetest.New(t, "{inputs: ["+inputs+"], seeds: 1, splits: {s: {test: "+rule+"}}}", tab)
	set, err := reportSet(b.Experiment, b.Ing.Conditions, tab)
	require.NoError(t, err)

	split := b.Train.Splits[0]
	set, err = trainstage.Split(b.Experiment, set, tab, split)
	require.NoError(t, err)

	return b, tab, set, split
}

// judged gives a part with its answers in standardised units. By hand: with 5000 and
// 4000/min held out the training values 10 … 42 have the mean 26.
func TestJudged(t *testing.T) {
	_, _, set, _ := cut(t, "rpm", "{rpm: {min: 4000}}")
	require.Equal(t, 26.0, set.Scale.Mean[0], "mean")

	sd := set.Scale.Std[0]
	fill := func(v float64) []float64 { return slices.Repeat([]float64{v}, 6) }
	a := triplets.Answers{
		Mu: []float64{1, 2, 3, 4, 26 + sd, 26 - 2*sd}, Var: fill(sd * sd), Cov: fill(2 * sd * sd), Delta: fill(sd),
	}
	got := score.Judged(set, a, triplets.Test)

	near := func(values []float64, want ...float64) bool {
		return slices.EqualFunc(values, want, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 })
	}
	assert.True(t, near(got.Mu, 1, -2))
	assert.True(t, near(got.Var, 1, 1))
	assert.True(t, near(got.Cov, 2, 2))
	assert.True(t, near(got.Delta, 1, 1))
	assert.True(t, near(got.Y1, 24/sd, 34/sd))
	assert.True(t, near(got.Y2, 26/sd, 36/sd))
	assert.Nil(t, got.Kappa)

	part := score.Judged(set, a, triplets.Train)
	assert.Equal(t, 4, part.N)
	assert.True(t, near(part.Mu, -25/sd, -24/sd, -23/sd, -22/sd))
}

// The report shows the network's inputs, and all conditions where nothing is
// trained.
func TestReportSet(t *testing.T) {
	b, tab, set, _ := cut(t, "rpm", "{rpm: 1000}")
	assert.Equal(t, []string{"rpm"}, set.InputNames())
	assert.Equal(t, 5, set.Conditions())

	b.Train.Inputs = nil
	set, err := reportSet(b.Experiment, b.Ing.Conditions, tab)
	require.NoError(t, err)
	assert.Equal(t, []string{"rpm", "blades", "theta_deg"}, set.InputNames())
	assert.Equal(t, 6, set.Conditions())

	b.Train.Outcomes = []string{"z"}
	_, err = reportSet(b.Experiment, b.Ing.Conditions, tab)
	assert.ErrorContains(t, err, `"z" is not an outcome`)
}

// summary makes the summary of one seed with given numbers; others are 0.
func summary(r2, ratio float64, undefined string) score.Summary {
	set := score.Set{Set: triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}},
		[]float64{1, 2}, []float64{1, 2}, []float64{1, 3})}
	set.Mu = []float64{1, 2}
	s := score.Summarise(set)
	for _, list := range []score.Numbers{s.Numbers, s.Outcomes[0]} {
		for i := range list {
			switch list[i].Key {
			case "r2":
				list[i].Value = r2
			case "sum_e_ratio":
				list[i].Value, list[i].Undefined = ratio, undefined
			}
		}
	}

	return s
}

// Numbers are averaged over the seeds, with the sample deviation; one undefined seed
// makes the mean undefined, with its reason.
func TestOverSeeds(t *testing.T) {
	outcomes := []triplets.Quantity{{Name: "y", Unit: "dB"}}
	m := report.OverSeeds([]score.Summary{summary(0.5, 2, ""), summary(0.7, 4, ""), summary(0.9, 9, "")}, outcomes)
	v := m.Get("r2")
	assert.InDelta(t, 0.7, v.Mean, 1e-15)
	assert.InDelta(t, 0.2, v.Std, 1e-15)
	assert.Equal(t, 3, v.N)

	v = m.Get("sum_e_ratio")
	assert.Equal(t, 5.0, v.Mean)
	assert.InDelta(t, math.Sqrt(13), v.Std, 1e-15)

	assert.Equal(t, 2, m.Rows)
	assert.Equal(t, 2, m.Conditions)
	assert.Equal(t, 2, m.Runs)
	require.Len(t, m.Outcomes, 1)
	assert.Equal(t, "y", m.Outcomes[0].Name)
	assert.Equal(t, "dB", m.Outcomes[0].Unit)
	assert.Equal(t, m.Get("r2"), m.Outcomes[0].Get("r2"))

	m = report.OverSeeds([]score.Summary{summary(0.5, 2, ""), summary(0.7, math.NaN(), "no C")}, outcomes)
	v = m.Get("sum_e_ratio")
	assert.False(t, v.Defined())
	assert.Equal(t, "no C", v.Reason())
}

// Of the seeds that violate an identity the worst is kept, by its ratio to the
// limit, with their number.
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

// A method's scores are averaged over the seeds; quantiles that a seed has not are
// undefined, and times are means.
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

	if v := d.Values.Get("below_0.5"); !math.IsNaN(v.Mean) {
		t.Errorf("%+v", v)
	}
}

// A split is warned of where it holds out what the network does not see, if its
// inputs occur on both sides. By hand: 1000/min with 0° and 30° are one condition of
// the input rpm.
func TestSplitWarnings(t *testing.T) {
	for _, c := range []struct{ inputs, rule, want string }{
		{
			"rpm", "{theta_deg: 30}", "split s holds out theta_deg, which is not among the inputs (rpm): 1 of the 1 held-out " +
				"conditions have the same inputs as training conditions",
		},
		{"rpm, theta_deg", "{theta_deg: 30}", ""},
		{"rpm", "{blades: 4}", ""}, // another speed: the inputs differ
		{"rpm", "{blades: 2, theta_deg: 0}", "split s holds out blades and theta_deg, which is not among the inputs (rpm): " +
			"1 of the 2 held-out conditions"},
	} {
		b, tab, _, split := cut(t, c.inputs, c.rule)
		set, err := reportSet(b.Experiment, b.Ing.Conditions, tab)
		require.NoError(t, err)

		got, err := splitWarnings(b.Experiment, b.Ing.Conditions, tab, set, []config.Split{split})
		require.NoError(t, err)

		few := "the whole experiment: "
		if len(got) == 0 || !strings.HasPrefix(got[0], few) || !strings.HasSuffix(got[0], "not a finding") {
			t.Errorf("six conditions: %q", got)
			continue
		}

		rest := strings.Join(got[1:], "")
		assert.True(t, strings.HasPrefix(rest, c.want))
		assert.Equal(t, (rest == ""), (c.want == ""))
	}
}

// Without a network all conditions count but a speed found in the sound.
func TestTooFew(t *testing.T) {
	var text strings.Builder
	text.WriteString("run recording rpm rpm_tracked y_1 y_2\n")

	for i := range 12 {
		text.WriteString(strings.ReplaceAll("r# r# ", "#", string(rune('a'+i))))
		text.WriteString([]string{"1 ", "2 ", "3 "}[i%3])
		text.WriteString([]string{"10", "11", "12", "13"}[i%4] + " 1 2\n")
	}

	tab := tabletest.Parse(text.String())
	b := stagetest.New(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", tab)
	set, err := reportSet(b.Experiment, b.Ing.Conditions, tab)
	require.NoError(t, err)

	got, err := tooFew(b.Ing.Conditions, tab, set, false)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(got, "the whole experiment: three distinct conditions are too few for R²"))
	assert.True(t, strings.HasSuffix(got, "; no split is trained"))

	b.Ing.Conditions = []string{"rpm", "rpm_tracked", "elsewhere"}
	got, err = tooFew(b.Ing.Conditions, tab, set, false)
	require.NoError(t, err)
	assert.Contains(t, got, "three distinct")

	tab.Column("rpm_tracked").Name = "angle"

	b.Ing.Conditions = []string{"rpm", "angle"}
	got, err = tooFew(b.Ing.Conditions, tab, set, false)
	require.NoError(t, err)
	assert.Empty(t, got, "twelve conditions")

	b.Ing.Conditions = nil
	if got, _ := tooFew(b.Ing.Conditions, tab, set, false); !strings.Contains(got, "one distinct condition") {
		t.Errorf("no condition: %q", got)
	}
}

// What the tasks found is read from their outputs.
func TestFindingsRead(t *testing.T) {
	b := planned(t, small, tabletest.Wave())
	for _, k := range b.Tasks.Plan.Tasks {
		if k.ID == "x/ingest" {
			stand := stagetest.New(t, small, nil)
			stand.Output("ingest", "ingest", "recordings.json",
				stagetest.JSON(`{"warnings": [{"path": "pairs.csv", "code": "unit-not-stated", "text": "y has no unit"}]}`))
			k.Run = stand.Tasks.Plan.Tasks[0].Run
		}
	}

	output := made(t, b)
	e, err := readExperiment(output("x/report", PageData))
	require.NoError(t, err)
	require.NotEmpty(t, e.Warnings, "%v, %v", e.Warnings, err)
	assert.Equal(t, "pairs.csv: y has no unit", e.Warnings[0], "%v, %v", e.Warnings, err)

	js, err := os.ReadFile(output("x/report", "metrics.json"))
	require.NoError(t, err)
	assert.Contains(t, string(js), "pairs.csv: y has no unit", "metrics.json has no warning (%v)", err)
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
