package form

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The forms of a wing of varying chord: by dimensional analysis L/(ρu²c²), M/(ρu²c³), P/(ρu³c²)
// and a frequency as f·c/u; an angle stays as it is.
func TestList(t *testing.T) {
	in := []Quantity{
		{"u_m_s", Dimension{0, 1, -1, true, false}, true, false, 0},
		{"chord_m", Dimension{0, 1, 0, true, false}, true, false, 0},
		{"flap_hz", Dimension{0, 0, -1, true, false}, true, false, 0},
		{"alpha_deg", Dimension{}, false, false, 0},
	}
	out := []Quantity{
		{"lift_n", Dimension{1, 1, -2, true, false}, false, false, 0},
		{"moment_nm", Dimension{1, 2, -2, true, false}, false, false, 0},
		{"power_w", Dimension{1, 2, -3, true, false}, false, false, 0},
		{"level_db", Dimension{}, false, false, 0},
	}

	list := List(in, out)
	want := []string{
		"log", "coefficient(u_m_s,chord_m)", "coefficient(u_m_s,chord_m)-",
		"coefficient(flap_hz,chord_m)", "coefficient(flap_hz,chord_m)-", "tip(flap_hz,chord_m)", "reynolds(u_m_s,chord_m)",
	}

	for i, f := range list {
		require.Less(t, i, len(want), "form %d is %s, expected %q", i, f.Name, want)
		require.Equal(t, want[i], f.Name, "form %d is %s, expected %q", i, f.Name, want)
	}

	require.Len(t, list, len(want), "forms, expected %q", want)

	const u, c, flap, alpha = 20, 0.1, 5, -3
	f := list[1]
	x, err := f.X([]float64{u, c, flap, alpha}, 4)
	require.NoError(t, err)

	for k, v := range []float64{math.Log(flap * c / u), alpha, math.Log(u), math.Log(c)} {
		assert.InDelta(t, v, x[k], 1e-12, "column %d is", k)
	}

	for j, v := range []float64{u * u * c * c, u * u * c * c * c, u * u * u * c * c, 1} {
		assert.InDelta(t, v, math.Exp(f.LnFactors([]float64{u, c, flap, alpha}, 4)[j]), 1e-12*v, "factor of outcome %d is", j)
	}

	// With a shaft speed, n·c is the speed: lift/(ρn²c⁴).
	at := []float64{u, c, flap, alpha}
	got := f.LnFactors(at, 4)
	v := list[3].LnFactors(at, 4)
	require.InDelta(t, math.Log(flap*flap*c*c*c*c), v[0], 1e-12, "factor of a lift by shaft speed is exp %g", v[0])
	assert.NotEqual(t, v[0], got[0], "factor of a lift by shaft speed is exp %g", v[0])

	if _, err := f.X([]float64{0, c, flap, alpha}, 4); err == nil {
		t.Error("a speed of 0 has a logarithm")
	}
}

func TestNamed(t *testing.T) {
	in := []string{"u_m_s", "chord_m", "alpha_deg"}
	for _, name := range []string{
		Raw, Auto, "log", "order", "coefficient(u_m_s)", "ratios(u_m_s,chord_m)-", "tip(u_m_s,chord_m)",
		"log without chord_m,alpha_deg", "reynolds(u_m_s,chord_m) without alpha_deg",
	} {
		assert.True(t, Named(name, in), "%s is no form", name)
	}

	for _, name := range []string{
		"", "physics", "coefficient", "coefficient(speed)", "coefficient(u_m_s", "logs(u_m_s)",
		"ratios(u_m_s,chord_m,alpha_deg)", "ratios()", "raw without chord_m", "log without", "log without speed",
	} {
		assert.False(t, Named(name, in), "%q is a form", name)
	}
}

// The rule: the form with the largest evidence wins among the forms whose error does not exceed the error of raw, if
// its evidence exceeds that of raw by 1 nat, or by 3 with fewer than three groups. Expected values follow from the
// rule.
func TestChoose(t *testing.T) {
	scores := func(evidence, err float64, full bool) []Score {
		return []Score{
			{Name: Raw, Error: 1, Full: true},
			{Name: "a", Evidence: 1.5, Error: 0.9, Full: true},
			{Name: "b", Evidence: evidence, Error: err, Full: full},
		}
	}

	for _, c := range []struct {
		list   []Score
		groups int
		want   int
	}{
		{scores(4, 0.8, true), 5, 2},
		{scores(4, 1.01, true), 5, 1}, // less evidence, but the error does not grow
		{scores(4, 0.8, false), 5, 1}, // seen by the screen alone
		{scores(2, 0.8, true), 2, 0},  // three nats are needed
		{scores(4, 0.8, true), 2, 2},
		{scores(math.Inf(-1), 1, true)[:1], 5, 0},
	} {
		assert.Equal(t, c.want, Choose(c.list, c.groups), "%+v with %d groups: form", c.list, c.groups)
	}
}

func ExampleChoose() {
	list := []Score{
		{Name: Raw, Full: true, Error: 1},
		{Name: "log", Full: true, Evidence: 5, Error: 1.2}, // a larger error than raw
		{Name: "coefficient(u_m_s)", Full: true, Evidence: 3, Error: 0.8},
	}
	fmt.Println(list[Choose(list, 4)].Name, list[Choose(list, 2)].Name)
	// Output: coefficient(u_m_s) raw
}

// named are the inputs of propellers: the pitch varied a fifth as much as the speed in ln, the number of blades as
// much.
func named() []Quantity {
	length := Dimension{Length: 1, Known: true}

	return []Quantity{
		{Name: "blades", Dimension: Dimension{Count: true}, Positive: true, OfThing: true, Spread: 0.25},
		{Name: "diameter_in", Dimension: length, Positive: true, OfThing: true, Spread: 0.2},
		{Name: "pitch_in", Dimension: length, Positive: true, OfThing: true, Spread: 0.05},
		{Name: "rpm", Dimension: Dimension{Time: -1, Known: true}, Positive: true, Spread: 0.25},
		{Name: "theta_deg"},
	}
}

// Things have the forms that set some of their properties aside, with prior odds by docs/method.md: 5 nats for a tip
// speed by a diameter, −3 for any form that is not the default, −3 for each wide property that is set aside, and for
// each narrow one that counts the square of how often its deviation goes into that of the speed, (0.25/0.05)² = 25, at
// most 20. The pitch makes no tip speed, because another length is named a diameter.
func TestListOfThings(t *testing.T) {
	got := map[string]float64{}
	aside := map[string][]string{}
	for _, f := range List(named(), []Quantity{{Name: "level_db"}}) {
		got[f.Name] = f.Prior
		aside[f.Name] = f.Aside
	}

	assert.Equal(t, map[string]float64{
		"log":                                          -3 - 20,
		"log without blades":                           -3 - 3 - 20,
		"log without diameter_in":                      -3 - 3 - 20,
		"log without pitch_in":                         -3,
		"log without blades,diameter_in":               -3 - 6 - 20,
		"log without blades,pitch_in":                  -3 - 3,
		"log without diameter_in,pitch_in":             -3 - 3,
		"log without blades,diameter_in,pitch_in":      -3 - 6,
		"tip(rpm,diameter_in)":                         5 - 3 - 20,
		"tip(rpm,diameter_in) without blades":          5 - 3 - 3 - 20,
		"tip(rpm,diameter_in) without pitch_in":        5 - 3,
		"tip(rpm,diameter_in) without blades,pitch_in": 5 - 3 - 3,
	}, got)
	assert.InDelta(t, -20, DefaultPrior(named()), 0)

	// The diameter counts in the tip speed.
	assert.Equal(t, []string{"blades", "pitch_in"}, aside["tip(rpm,diameter_in) without blades,pitch_in"])
	assert.Equal(t, []string{"diameter_in"}, aside["log without diameter_in"])
}

// A tip speed is the product of speed and diameter, whatever its unit, and a speed in m/s beside it becomes the advance
// ratio: for n = 100, d = 2 and u = 10 they are 200 and 1/20. Without a length named a diameter, any length will do.
func TestTipSpeed(t *testing.T) {
	in := []Quantity{
		{Name: "u_m_s", Dimension: Dimension{Length: 1, Time: -1, Known: true}, Positive: true},
		{Name: "d_m", Dimension: Dimension{Length: 1, Known: true}, Positive: true},
		{Name: "rpm", Dimension: Dimension{Time: -1, Known: true}, Positive: true},
	}

	var found []string
	for _, f := range List(in, []Quantity{{Name: "level_db"}}) {
		x, err := f.X([]float64{10, 2, 100}, 3)
		require.NoError(t, err)

		switch f.Name {
		case "tip(rpm,d_m)":
			assert.InDeltaSlice(t, []float64{math.Log(1. / 20), math.Log(200)}, x, 1e-12)
			assert.Equal(t, "tip speed d_m·rpm", f.Formula)
			assert.False(t, f.UsesAlone(1))
		case "reynolds(u_m_s,d_m)":
			assert.InDeltaSlice(t, []float64{math.Log(20), math.Log(100)}, x, 1e-12)
			assert.True(t, f.UsesAlone(2))
		default:
			continue
		}

		found = append(found, f.Name)
	}

	assert.Equal(t, []string{"tip(rpm,d_m)", "reynolds(u_m_s,d_m)"}, found)
}

// Of things the sum of evidence and prior decides, whatever the errors are; expected places follow from the sums.
func TestChooseOfThings(t *testing.T) {
	for _, c := range []struct {
		evidence, prior [3]float64
		want            int
	}{
		{[3]float64{0, -1, 2}, [3]float64{0, 2, -3}, 1},
		{[3]float64{0, -3, 2}, [3]float64{0, 2, -3}, 0},
		{[3]float64{0, -3, 6}, [3]float64{0, 2, -3}, 2},
	} {
		var list []Score
		for k := range c.evidence {
			list = append(list, Score{Evidence: c.evidence[k], Prior: c.prior[k], Error: float64(3 - k)})
		}

		assert.Equal(t, c.want, ChooseOfThings(list), "%+v", list)
	}
}

// The words name the form, the errors in the unit of the outcome, and what was set aside; expected by the numbers
// above.
func TestWords(t *testing.T) {
	c := Choice{
		Asked: Auto, Chosen: "tip", Condition: "propeller", Groups: 6, OfThings: true,
		Form:   &Form{Formula: "tip speed", Aside: []string{"pitch_in"}},
		Tried:  []Score{{Name: Raw}, {Name: "tip", Evidence: 1.25, Prior: 7}},
		Errors: []Error{{Outcome: "level", Unit: "dB", Default: 2.349, Chosen: 1.49}},
	}
	assert.Equal(t, "tip speed, without pitch_in; left-out error 1.5 instead of 2.3 dB; chosen among 2 forms by 6 "+
		"left-out values of propeller, ln evidence +1.2, prior +7; pitch_in would count if more values of propeller "+
		"told the effect apart from what else they differ in", c.Words())

	c.OfThings = false
	c.Form = &Form{Formula: "a/b", Powers: [][]float64{{1}}}
	c.Tried[1].Error = 1.5
	c.Errors = []Error{{"a", "", 120, 0.0123}, {"b", "N", 1, 2}, {"c", "N", 1, 2}, {"d", "N", 1, 2}}
	assert.Equal(t, "coefficients a/b; left-out error 0.012 instead of 120 of a, 2.0 instead of 1.0 N, 2.0 instead of "+
		"1.0 N and of 1 more, which few things may have by chance; chosen among 2 forms by 6 left-out values of propeller, "+
		"ln evidence +1.2", c.Words())

	c.Form = nil
	assert.Empty(t, c.Words())
	assert.Empty(t, (*Choice)(nil).Words())
}
