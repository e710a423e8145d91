package form

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The forms of a wing of varying chord. Expected by dimensional analysis: L/(ρu²c²), M/(ρu²c³), P/(ρu³c²), a
// frequency as f·c/u, and an angle as it is.
func TestList(t *testing.T) {
	inputs := []Quantity{
		{Name: "u_m_s", Dimension: Dimension{Length: 1, Time: -1, Known: true}, Positive: true},
		{Name: "chord_m", Dimension: Dimension{Length: 1, Known: true}, Positive: true},
		{Name: "flap_hz", Dimension: Dimension{Time: -1, Known: true}, Positive: true},
		{Name: "alpha_deg"},
	}
	outcomes := []Quantity{
		{Name: "lift_n", Dimension: Dimension{Mass: 1, Length: 1, Time: -2, Known: true}},
		{Name: "moment_nm", Dimension: Dimension{Mass: 1, Length: 2, Time: -2, Known: true}},
		{Name: "power_w", Dimension: Dimension{Mass: 1, Length: 2, Time: -3, Known: true}},
		{Name: "level_db"},
	}

	list := List(inputs, outcomes)
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}

	require.Equal(t, []string{
		"log", "coefficient(u_m_s,chord_m)", "coefficient(u_m_s,chord_m)-",
		"coefficient(flap_hz,chord_m)", "coefficient(flap_hz,chord_m)-", "tip(flap_hz,chord_m)", "reynolds(u_m_s,chord_m)",
	}, names)

	const u, c, flap, alpha = 20, 0.1, 5, -3
	condition := []float64{u, c, flap, alpha}
	bySpeed := list[1]
	x, err := bySpeed.X(condition, len(inputs))
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{math.Log(flap * c / u), alpha, math.Log(u), math.Log(c)}, x, 1e-12)

	factors := bySpeed.LnFactors(condition, len(inputs))
	for j, want := range []float64{u * u * c * c, u * u * c * c * c, u * u * u * c * c, 1} {
		assert.InEpsilon(t, want, math.Exp(factors[j]), 1e-12, "factor of %s", outcomes[j].Name)
	}

	// By a shaft speed n the speed is n·c, and the coefficient of the lift is L/(ρn²c⁴).
	byShaftSpeed := list[3].LnFactors(condition, len(inputs))
	assert.InDelta(t, math.Log(flap*flap*c*c*c*c), byShaftSpeed[0], 1e-12, "ln of the factor of the lift")

	_, err = bySpeed.X([]float64{0, c, flap, alpha}, len(inputs))
	assert.ErrorContains(t, err, "write row 0 in the form coefficient(u_m_s,chord_m)", "a speed of 0 has no logarithm")
}

// A name is Raw, Auto, log, order, or a kind with at most two inputs in brackets; log and kinds may set inputs aside.
func TestNamed(t *testing.T) {
	inputs := []string{"u_m_s", "chord_m", "alpha_deg"}
	for _, name := range []string{
		Raw, Auto, "log", "order", "coefficient(u_m_s)", "ratios(u_m_s,chord_m)-", "tip(u_m_s,chord_m)",
		"log without chord_m,alpha_deg", "reynolds(u_m_s,chord_m) without alpha_deg",
	} {
		assert.True(t, Named(name, inputs), "%q is the name of a form", name)
	}

	for _, name := range []string{
		"", "physics", "coefficient", "coefficient(speed)", "coefficient(u_m_s", "logs(u_m_s)",
		"ratios(u_m_s,chord_m,alpha_deg)", "ratios()", "raw without chord_m", "log without", "log without speed",
	} {
		assert.False(t, Named(name, inputs), "%q is not the name of a form", name)
	}
}

// The form with the largest evidence is chosen among the forms whose error does not exceed the error of raw, if its
// evidence exceeds the evidence of raw by 1 nat, or by 3 nats with fewer than three groups. Otherwise raw is chosen.
// Expected values follow from this rule.
func TestChoose(t *testing.T) {
	raw := Score{Name: Raw, Error: 1, Full: true}
	first := Score{Name: "a", Evidence: 1.5, Error: 0.9, Full: true}
	for _, c := range []struct {
		words  string
		second Score
		groups int
		want   string
	}{
		{"the largest evidence", Score{Name: "b", Evidence: 4, Error: 0.8, Full: true}, 5, "b"},
		{"the error is larger than the error of raw", Score{Name: "b", Evidence: 4, Error: 1.01, Full: true}, 5, "a"},
		{"fitted by the screen alone", Score{Name: "b", Evidence: 4, Error: 0.8}, 5, "a"},
		{"two groups need three nats", Score{Name: "b", Evidence: 2, Error: 0.8, Full: true}, 2, Raw},
		{"two groups, four nats", Score{Name: "b", Evidence: 4, Error: 0.8, Full: true}, 2, "b"},
	} {
		list := []Score{raw, first, c.second}
		assert.Equal(t, c.want, list[Choose(list, c.groups)].Name, c.words)
	}

	assert.Equal(t, 0, Choose([]Score{raw}, 5), "raw alone")
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

// propellerInputs returns the inputs of propellers. The deviation of ln of the pitch is a fifth of the speed's; the
// deviation of ln of the number of blades is equal to the speed's.
func propellerInputs() []Quantity {
	length := Dimension{Length: 1, Known: true}

	return []Quantity{
		{Name: "blades", Dimension: Dimension{Count: true}, Positive: true, OfThing: true, Spread: 0.25},
		{Name: "diameter_in", Dimension: length, Positive: true, OfThing: true, Spread: 0.2},
		{Name: "pitch_in", Dimension: length, Positive: true, OfThing: true, Spread: 0.05},
		{Name: "rpm", Dimension: Dimension{Time: -1, Known: true}, Positive: true, Spread: 0.25},
		{Name: "theta_deg"},
	}
}

// Things have the forms that set some of their properties aside. Expected: the prior odds of docs/method.md, which
// are 5 nats for a tip speed by a diameter, −3 for any form that is not the default, −3 for each wide property that
// is set aside, and −20 for the pitch, a narrow property, in each form that uses it: the square of the speed's
// deviation over its own is (0.25/0.05)² = 25, and 20 is the limit. The pitch makes no tip speed, because another
// length is named a diameter.
func TestListOfThings(t *testing.T) {
	prior := map[string]float64{}  // by name of the form
	aside := map[string][]string{} // by name of the form
	for _, f := range List(propellerInputs(), []Quantity{{Name: "level_db"}}) {
		prior[f.Name] = f.Prior
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
	}, prior)
	assert.InDelta(t, -20, DefaultPrior(propellerInputs()), 1e-12)

	// The diameter counts in the tip speed.
	assert.Equal(t, []string{"blades", "pitch_in"}, aside["tip(rpm,diameter_in) without blades,pitch_in"])
	assert.Equal(t, []string{"diameter_in"}, aside["log without diameter_in"])
}

// A tip speed is the product of speed and diameter, whatever its unit, and a speed in m/s beside it becomes the advance
// ratio: for n = 100, d = 2 and u = 10 they are 200 and 1/20. Without a length named a diameter, any length will do.
func TestTipSpeed(t *testing.T) {
	inputs := []Quantity{
		{Name: "u_m_s", Dimension: Dimension{Length: 1, Time: -1, Known: true}, Positive: true},
		{Name: "d_m", Dimension: Dimension{Length: 1, Known: true}, Positive: true},
		{Name: "rpm", Dimension: Dimension{Time: -1, Known: true}, Positive: true},
	}

	var found []string
	for _, f := range List(inputs, []Quantity{{Name: "level_db"}}) {
		x, err := f.X([]float64{10, 2, 100}, len(inputs))
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

// If the groups are things, the form with the largest sum of evidence and prior is chosen. The errors do not count.
// Expected: the place of the largest sum.
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

// The words name the form, the errors in the unit of the outcome, and the inputs that were set aside. Expected: the
// numbers of the choice, errors with two digits, and the errors of three outcomes at most.
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
	c.Errors = []Error{
		{Outcome: "a", Default: 120, Chosen: 0.0123},
		{Outcome: "b", Unit: "N", Default: 1, Chosen: 2},
		{Outcome: "c", Unit: "N", Default: 1, Chosen: 2},
		{Outcome: "d", Unit: "N", Default: 1, Chosen: 2},
	}
	assert.Equal(t, "coefficients a/b; left-out error 0.012 instead of 120 of a, 2.0 instead of 1.0 N, 2.0 instead of "+
		"1.0 N and of 1 more, which few things may have by chance; chosen among 2 forms by 6 left-out values of propeller, "+
		"ln evidence +1.2", c.Words())

	c.Form = nil
	assert.Empty(t, c.Words())
	assert.Empty(t, (*Choice)(nil).Words())
}
