package form

import (
	"fmt"
	"math"
	"testing"

	"doubletake/internal/must"
)

// The forms of a wing of varying chord: by dimensional analysis L/(ρu²c²), M/(ρu²c³), P/(ρu³c²)
// and a frequency as f·c/u; an angle stays as it is.
func TestList(t *testing.T) {
	in := []Quantity{
		{"u_m_s", Dimension{0, 1, -1, true, false}, true},
		{"chord_m", Dimension{0, 1, 0, true, false}, true},
		{"flap_hz", Dimension{0, 0, -1, true, false}, true},
		{"alpha_deg", Dimension{}, false},
	}
	out := []Quantity{
		{"lift_n", Dimension{1, 1, -2, true, false}, false},
		{"moment_nm", Dimension{1, 2, -2, true, false}, false},
		{"power_w", Dimension{1, 2, -3, true, false}, false},
		{"level_db", Dimension{}, false},
	}

	list := List(in, out)
	want := []string{
		"log", "coefficient(u_m_s,chord_m)", "coefficient(u_m_s,chord_m)-",
		"coefficient(flap_hz,chord_m)", "coefficient(flap_hz,chord_m)-",
	}

	for i, f := range list {
		must.Never(t, i >= len(want) || f.Name != want[i], "form %d is %s, expected %q", i, f.Name, want)
	}

	must.Be(t, len(list), len(want), "forms, expected %q", want)

	const u, c, flap, alpha = 20, 0.1, 5, -3
	f := list[1]
	x := must.Get(f.X([]float64{u, c, flap, alpha}, 4))(t)

	for k, v := range []float64{math.Log(flap * c / u), alpha, math.Log(u), math.Log(c)} {
		must.Near(t, x[k], v, 1e-12, "column %d is", k)
	}

	for j, v := range []float64{u * u * c * c, u * u * c * c * c, u * u * u * c * c, 1} {
		must.Near(t, math.Exp(f.LnFactors([]float64{u, c, flap, alpha}, 4)[j]), v, 1e-12*v, "factor of outcome %d is",
			j)
	}

	// With a shaft speed, n·c is the speed: lift/(ρn²c⁴).
	at := []float64{u, c, flap, alpha}
	got, v := f.LnFactors(at, 4), list[3].LnFactors(at, 4)
	must.Not(t, math.Abs(v[0]-math.Log(flap*flap*c*c*c*c)) > 1e-12 || got[0] == v[0],
		"factor of a lift by shaft speed is exp %g", v[0])

	if _, err := f.X([]float64{0, c, flap, alpha}, 4); err == nil {
		t.Error("a speed of 0 has a logarithm")
	}
}

func TestNamed(t *testing.T) {
	in := []string{"u_m_s", "chord_m", "alpha_deg"}
	for _, name := range []string{Raw, Auto, "log", "order", "coefficient(u_m_s)", "ratios(u_m_s,chord_m)-"} {
		must.Not(t, !Named(name, in), "%s is no form", name)
	}

	for _, name := range []string{
		"", "physics", "coefficient", "coefficient(speed)", "coefficient(u_m_s", "logs(u_m_s)",
		"ratios(u_m_s,chord_m,alpha_deg)", "ratios()",
	} {
		must.Not(t, Named(name, in), "%q is a form", name)
	}
}

// The rule: the largest evidence among those whose error does not exceed that of raw, by 1 nat, or
// 3 with fewer than three groups. Expected values are the rule's own words.
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
		must.Equal(t, Choose(c.list, c.groups), c.want, "%+v with %d groups: form", c.list, c.groups)
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
