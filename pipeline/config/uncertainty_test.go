package config

import (
	"math"
	"testing"

	"doubletake/internal/must"
)

// Standard uncertainties by hand: half width over k, √3, √6 and √2.
func TestParseUncertainty(t *testing.T) {
	for text, want := range map[string]Uncertainty{
		"0.5 m ± 0.002, k 2":           {Value: 0.5, Unit: "m", U: 0.001, Law: "normal"},
		"± 2 %, rectangular":           {Value: math.NaN(), U: 0.02 / math.Sqrt(3), Percent: true, Law: "rectangular"},
		"± 0.3 dB, triangular":         {Value: math.NaN(), Unit: "dB", U: 0.3 / math.Sqrt(6), Law: "triangular"},
		"1 ± 0.4, U-shaped":            {Value: 1, U: 0.4 / math.Sqrt2, Law: "U-shaped"},
		"u 0.1, dof 12, type A":        {Value: math.NaN(), U: 0.1, DoF: 12, Law: "normal", Observed: true},
		"-3.5":                         {Value: -3.5, Law: "normal"},
		"0 ± 0.05, rectangular, dof 2": {Value: 0, U: 0.05 / math.Sqrt(3), DoF: 2, Law: "rectangular"},
	} {
		got, err := ParseUncertainty(text)
		if want.DoF == 0 {
			want.DoF = math.Inf(1)
		}

		must.Not(t, err != nil || math.Abs(got.U-want.U) > 1e-15 || (got.Value != want.Value && want.Value == want.Value),
			"%s: %+v, %v", text, got, err)

		got.U, got.Value, want.U, want.Value = 0, 0, 0, 0
		must.Equal(t, got, want, "%s", text)
	}

	for _, text := range []string{
		"", "±", "± 2", "± 2, k 0", "1, k 2", "u 1, ± 2, k 2", "1 m ± 2 s, k 2", "± x, k 2", "u -1", "a, b",
	} {
		if u, err := ParseUncertainty(text); err == nil {
			t.Errorf("%q: %+v", text, u)
		}
	}
}

// Any text is refused, or states an uncertainty that is a number and not negative.
func FuzzParseUncertainty(f *testing.F) {
	f.Add("0.5 m ± 0.1 %, k 2, dof 3, type A")
	f.Add("± 2 %, rectangular")
	f.Fuzz(func(t *testing.T, text string) {
		if u, err := ParseUncertainty(text); err == nil && !(u.U >= 0 && u.DoF > 0) {
			t.Errorf("%q: %+v", text, u)
		}
	})
}
