package budget

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/derive"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/report"
	"doubletake/report/pairs"
)

// campaignOf returns the pairs of an experiment.
func campaignOf(columns []table.Column, meta ...kv.Pair) *pairs.Pairs {
	columns = append(columns, table.Column{Name: "recording", Strings: columns[0].Strings})

	return &pairs.Pairs{Table: &table.Table{Columns: columns, Meta: meta}, Source: pairs.Source{Name: "e"}}
}

// Levels of three runs at each of two speeds. By hand: mean squares of halves in runs (y1 − y2)²/2, of runs in
// speeds twice the variance of their means. The calibrator has 0.1 dB, 2 % of the sensitivity, rectangular,
// 20/ln 10·0.02/√3 dB.
func TestLevels(t *testing.T) {
	stated := &Stated{Experiment: "e", IsCalibrated: true, Calibration: []Uncertainty{
		{Name: "calibrator", U: 0.1, DoF: math.Inf(1), Law: "normal"}, // ± 0.2 dB, k 2
		{Name: "sensitivity_v_per_pa", U: 0.02 / math.Sqrt(3), Percent: true, DoF: math.Inf(1), Law: "rectangular"},
	}}
	meta := []kv.Pair{{Key: "pairs", Value: "same-run"}, {Key: "construction", Value: "split-half-spectrum"}}
	p := campaignOf([]table.Column{
		{Name: "run", Strings: []string{"a", "b", "c", "d", "e", "f"}},
		{Name: "rpm", Floats: []float64{1000, 1000, 1000, 2000, 2000, 2000}},
		{Name: "l_db_1", Unit: "dB re 20 µPa", Floats: []float64{60, 61, 63, 70, 71, 71.5}},
		{Name: "l_db_2", Unit: "dB re 20 µPa", Floats: []float64{60.2, 61.4, 62.8, 70.2, 71, 72.1}},
		{Name: "l_db_sd_1", Floats: []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
		{Name: "l_db_sd_2", Floats: []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
	}, meta...)

	list, err := Compute(p, stated, Options{At: "rpm=1000"})
	require.NoError(t, err)
	require.Len(t, list, 1)

	r, err := list[0].Evaluate(0.95, 0)
	require.NoError(t, err)

	within := (0.04 + 0.16 + 0.04 + 0.04 + 0 + 0.36) / 2 / 6
	means := [][]float64{{60.1, 61.2, 62.9}, {70.1, 71, 71.8}}
	between := 0.0
	for _, m := range means {
		mid := (m[0] + m[1] + m[2]) / 3
		for _, v := range m {
			between += 2 * (v - mid) * (v - mid) / 4
		}
	}

	gain := 20 / math.Ln10 * 0.02 / math.Sqrt(3)
	near(t, "value", r.Value, (60.1+61.2+62.9)/3, 1e-9)
	near(t, "u", r.U*r.U, between/6+0.01+gain*gain, 1e-9) // between is of both parts: runs/3 + halves/6
	near(t, "naive", r.Naive, 0.1/math.Sqrt(6), 1e-12)
	for _, c := range r.Components {
		switch c.Name {
		case "between runs":
			near(t, c.Name, c.Contribution, math.Sqrt((between-within)/2/3), 1e-9)
		case "between halves of a recording":
			near(t, c.Name, c.Contribution, math.Sqrt(within/6), 1e-9)
		case "calibration sensitivity_v_per_pa":
			near(t, c.Name, c.Contribution, gain, 1e-9)
		}
	}

	// Welch and Satterthwaite: only the mean square between runs, with 4 degrees of freedom, is uncertain.
	near(t, "degrees of freedom", r.DoF, math.Pow(r.U, 4)/(between*between/36/4), 1e-6)

	var text bytes.Buffer
	sheet := Sheet([]Result{r})
	require.NoError(t, report.Sheets(&text, []report.Sheet{sheet}, 0, false))
	assert.Contains(t, text.String(), "scatter is pooled over 2 conditions")
	assert.Contains(t, text.String(), "l_db = 61.40 dB re 20 µPa, standard uncertainty 0.69")

	doc, err := json.Marshal(JSON([]Result{r}))
	require.NoError(t, err)
	assert.Contains(t, string(doc), `"dof":null`)

	tex := string(report.SheetsLaTeX([]report.Sheet{sheet}))
	assert.Contains(t, tex, `halves of a recording & A & 0 & normal`)

	assert.Len(t, CSV([]Result{r}), 4, "two levels and two uncertainties of the calibration")

	for conditions, want := range map[string]string{"speed=3": "no condition", "rpm=3": "no row", "rpm": "--at wants"} {
		_, err := Compute(p, stated, Options{At: conditions})
		assert.ErrorContains(t, err, want)
	}
}

// Runs are counted, not their rows, and scatter is pooled only by the condition over which it differs. Simulated: three
// runs at each of 9 angles and 5 speeds, 20 rows a run. A half has a deviation of 0.0017. In one kind of campaigns it
// is 0.0033 beyond the stall, at the last three angles. Expected: scatter is pooled by the angle in most campaigns with
// a stall. In campaigns without one this is a mistake, which the test of equal scatter makes in one of twenty; the
// limit is one of ten.
func TestPooledWhereAlike(t *testing.T) {
	meta := []kv.Pair{{Key: "pairs", Value: "same-run"}, {Key: "construction", Value: "random-samples"}}
	stated := &Stated{Experiment: "e"}

	const (
		campaigns = 50
		runs      = 3 * 9 * 5
		usual     = 0.0017 // deviation of a half before the stall
	)

	for _, c := range []struct {
		stall       float64 // deviation of a half beyond the stall
		least, most int     // campaigns whose scatter is pooled by the angle
	}{
		{usual, 0, campaigns / 10},
		{0.0033, campaigns * 6 / 10, campaigns},
	} {
		rng := rand.New(rand.NewPCG(55, 1))
		divided := 0
		for range campaigns {
			var run []string
			var angle, speed, one, two []float64
			for r := range runs {
				sd := usual
				if r%9 > 5 {
					sd = c.stall
				}

				a := sd * rng.NormFloat64()
				b := sd * rng.NormFloat64()
				for range 20 {
					run = append(run, strconv.Itoa(r))
					angle = append(angle, float64(r%9))
					speed = append(speed, float64(r/9%5))
					one = append(one, a)
					two = append(two, b)
				}
			}

			p := campaignOf([]table.Column{
				{Name: "run", Strings: run},
				{Name: "alpha_deg", Floats: angle},
				{Name: "u_m_s", Floats: speed},
				{Name: "cl_1", Floats: one},
				{Name: "cl_2", Floats: two},
			}, meta...)
			list, err := Compute(p, stated, Options{At: "alpha_deg=8,u_m_s=0"})
			require.NoError(t, err)

			if strings.Contains(list[0].Pooled, "of equal alpha_deg") {
				divided++
				continue
			}

			require.LessOrEqual(t, list[0].Quantities[1].DoF, runs+1e-9, "degrees of freedom")
		}

		assert.GreaterOrEqual(t, divided, c.least, "campaigns pooled by the angle, deviation %g beyond the stall", c.stall)
		assert.LessOrEqual(t, divided, c.most, "campaigns pooled by the angle, deviation %g beyond the stall", c.stall)
	}
}

// Three runs that pass all twelve angles are three: what differs between them has two degrees of freedom.
func TestRunsOfManyConditions(t *testing.T) {
	var run []string
	var angle, one, two []float64
	for i := range 36 {
		y := float64(i/12*(i/12)) + 0.01*math.Sin(float64(i*i))
		run = append(run, strconv.Itoa(i/12))
		angle = append(angle, float64(11-i%12))
		one = append(one, y)
		two = append(two, y+0.01*math.Cos(float64(i*i)))
	}

	p := campaignOf([]table.Column{
		{Name: "run", Strings: run},
		{Name: "alpha_deg", Floats: angle},
		{Name: "y_1", Floats: one},
		{Name: "y_2", Floats: two},
	}, kv.Pair{Key: "pairs", Value: "same-run"})
	list, err := Compute(p, &Stated{Experiment: "e"}, Options{})
	require.NoError(t, err)

	near(t, "degrees of freedom", list[0].RepeatedDoF, 2, 0.01)
	require.Equal(t, "alpha_deg = 11", list[11].At, "last")
}

// A coefficient by an expression: 1 % of ρ and 0.5 % of u, both with k = 2, are 0.5 % and 2·0.25 % of it, by hand.
// Its mean stays the measured one.
func TestDerived(t *testing.T) {
	exact := math.Inf(1)
	stated := &Stated{
		Experiment: "e",
		Constants:  map[string]float64{"rho_kg_m3": 1.2, "area_m2": 0.5},
		Derive: []derive.Definition{
			{Name: "q_pa", Text: "rho_kg_m3/2*u_m_s^2"}, {Name: "cl", Text: "lift_n/(q_pa*area_m2)"},
		},
		Uncertainty: []Uncertainty{
			{Name: "rho_kg_m3", U: 0.005, Percent: true, DoF: exact, Law: "normal"}, // ± 1 %, k 2
			{Name: "u_m_s", U: 0.0025, Percent: true, DoF: exact, Law: "normal"},    // ± 0.5 %, k 2
			{Name: "cl", U: 0.001, DoF: exact, Law: "normal"},
		},
	}
	p := campaignOf([]table.Column{
		{Name: "run", Strings: []string{"a + b", "c + d"}},
		{Name: "u_m_s", Floats: []float64{10, 20}},
		{Name: "q_pa", Floats: []float64{60, 240}},
		{Name: "lift_n_1", Unit: "N", Floats: []float64{15, 60}},
		{Name: "lift_n_2", Unit: "N", Floats: []float64{15.6, 61.2}},
		{Name: "cl_1", Floats: []float64{0.5, 0.5}},
		{Name: "cl_2", Floats: []float64{0.52, 0.51}},
	}, kv.Pair{Key: "pairs", Value: "repeat-run"})

	list, err := Compute(p, stated, Options{At: "u_m_s=10", Outcomes: []string{"cl"}})
	require.NoError(t, err)

	r, err := list[0].Evaluate(0.95, 0)
	require.NoError(t, err)

	a := (0.02*0.02 + 0.01*0.01) / 2 / 2 / 2 // of the mean of two repeats
	lift := 0.51
	near(t, "value", r.Value, 0.51, 1e-12)
	near(t, "u", r.U, math.Sqrt(a+0.001*0.001+lift*lift*(0.005*0.005+0.005*0.005)), 1e-9)

	// A derived condition has no outcomes, so that an uncertainty of it cannot be stated.
	unknown := *stated
	unknown.Uncertainty = []Uncertainty{{Name: "q_pa", U: 1, DoF: exact, Law: "normal"}}
	_, err = Compute(p, &unknown, Options{Outcomes: []string{"cl"}})
	assert.ErrorContains(t, err, `found "q_pa"`)

	all, err := Compute(p, stated, Options{Outcomes: []string{"lift_n"}})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Len(t, all[0].Unseen, 1)
	assert.Contains(t, all[0].Unseen[0], "how lift_n changes with")
}

// A stated uncertainty of a reference of 1 % is 1 % of a coefficient that is divided by it once, and 2 % if it is also
// the lever arm of a moment, as dsp/balance computes it. An outcome that only begins like a coefficient has no part in
// it.
func TestReferencesOfCoefficients(t *testing.T) {
	for name, c := range map[string]struct {
		outcome, reference string
		want               float64 // relative standard uncertainty
	}{
		"lift, chord":           {"cl", "chord_m", 0.01},
		"lift, span":            {"cl", "span_m", 0.01},
		"pitching, chord":       {"cm", "chord_m", 0.02},
		"pitching, span":        {"cm", "span_m", 0.01},
		"rolling, span":         {"cl_roll", "span_m", 0.02},
		"yawing, span":          {"cn", "span_m", 0.02},
		"yawing, chord":         {"cn", "chord_m", 0.01},
		"no coefficient: chord": {"cost", "chord_m", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := campaignOf([]table.Column{
				{Name: "run", Strings: []string{"a + b"}},
				{Name: "alpha_deg", Floats: []float64{4}},
				{Name: c.outcome + "_1", Floats: []float64{0.5}},
				{Name: c.outcome + "_2", Floats: []float64{0.5}},
			}, kv.Pair{Key: "pairs", Value: "repeat-run"})
			stated := &Stated{
				Experiment: "e", References: map[string]float64{"chord_m": 0.2, "span_m": 1.5},
				Uncertainty: []Uncertainty{{Name: c.reference, U: 0.01, Percent: true, DoF: math.Inf(1), Law: "normal"}},
			}

			list, err := Compute(p, stated, Options{})
			require.NoError(t, err)

			r, err := list[0].Evaluate(0.95, 0)
			require.NoError(t, err)
			near(t, "relative u", r.U/r.Value, c.want, 1e-9)
		})
	}
}

// Standard errors of independent segments, by hand: the mean of n outcomes of deviation s has s/√n. Rows are pairs of
// halves, so that each row has two outcomes, or pairs across three days, in which the second outcome of a row is the
// first of another row. An outcome does not count if it or its deviation is no number.
func TestNaive(t *testing.T) {
	values := []float64{60, 61, 63}
	deviations := []float64{0.3, 0.3, 0.3}
	oneDay := []string{"1", "1", "1"}
	sameRun := []kv.Pair{{Key: "pairs", Value: "same-run"}}
	for name, c := range map[string]struct {
		meta          []kv.Pair
		days          []string
		values, first []float64 // first outcomes, and their deviations
		want          float64
	}{
		"halves": {sameRun, oneDay, values, deviations, 0.3 / math.Sqrt(6)},
		"across days": {
			[]kv.Pair{{Key: "config:dsp.across", Value: "day"}},
			[]string{"1", "2", "3"},
			values, deviations,
			0.3 / math.Sqrt(3),
		},
		"without a deviation": {sameRun, oneDay, values, []float64{0.3, math.NaN(), 0.3}, 0.3 / math.Sqrt(5)},
		"without an outcome":  {sameRun, oneDay, []float64{60, math.NaN(), 63}, deviations, 0.3 / math.Sqrt(5)},
	} {
		p := campaignOf([]table.Column{
			{Name: "run", Strings: []string{"a", "b", "c"}},
			{Name: "day", Strings: c.days},
			{Name: "l_db_1", Unit: "dB", Floats: c.values},
			{Name: "l_db_2", Unit: "dB", Floats: []float64{61, 63, 60}},
			{Name: "l_db_sd_1", Floats: c.first},
			{Name: "l_db_sd_2", Floats: deviations},
		}, c.meta...)

		list, err := Compute(p, nil, Options{})
		require.NoError(t, err, name)
		near(t, name, list[0].Naive, c.want, 1e-12)
	}
}

// No budget: the conditions have no row, or their outcome has no number. Expected: an error that names which.
func TestNoBudget(t *testing.T) {
	p := campaignOf([]table.Column{
		{Name: "run", Strings: []string{"a", "b"}},
		{Name: "rpm", Floats: []float64{1000, 2000}},
		{Name: "y_1", Floats: []float64{math.NaN(), math.NaN()}},
		{Name: "y_2", Floats: []float64{math.NaN(), math.NaN()}},
	})

	for conditions, want := range map[string]string{
		"rpm=3000": "--at: no row of e has rpm=3000", "rpm=1000": "numbers of y in the wanted rows", "": "numbers of y",
	} {
		_, err := Compute(p, nil, Options{At: conditions})
		assert.ErrorContains(t, err, want, "at %q", conditions)
	}
}

// Runs at 0 and at −0 degrees have one condition: they are repeats.
func TestMinusZeroIsZero(t *testing.T) {
	meta := []kv.Pair{{Key: "pairs", Value: "same-run"}, {Key: "construction", Value: "split-half-spectrum"}}
	p := campaignOf([]table.Column{
		{Name: "run", Strings: []string{"a", "b", "c", "d"}},
		{Name: "alpha_deg", Floats: []float64{0, math.Copysign(0, -1), 4, 4}},
		{Name: "l_db_1", Unit: "dB re 20 µPa", Floats: []float64{60, 61, 70, 71}},
		{Name: "l_db_2", Unit: "dB re 20 µPa", Floats: []float64{60.2, 61.4, 70.2, 71}},
	}, meta...)

	list, err := Compute(p, nil, Options{})
	require.NoError(t, err)

	var at []string
	for _, b := range list {
		at = append(at, b.At)
	}

	assert.Equal(t, []string{"alpha_deg = 0", "alpha_deg = 4"}, at)
}
