package config

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

		// A % after the width is a part of the value; a % after the value is the value's unit.
		"20 m ± 2 %, k 2": {Value: 20, Unit: "m", U: 0.01, Percent: true, Law: "normal"},
		"20 ± 2%, k 2":    {Value: 20, U: 0.01, Percent: true, Law: "normal"},
		"20 % ± 2, k 2":   {Value: 20, Unit: "%", U: 1, Law: "normal"},
		"20%, u 2":        {Value: 20, Unit: "%", U: 2, Law: "normal"},
		"20 %":            {Value: 20, Unit: "%", Law: "normal"},
		"20 m, u 2 %":     {Value: 20, Unit: "m", U: 0.02, Percent: true, Law: "normal"},
	} {
		got, err := ParseUncertainty(text)
		if want.DoF == 0 {
			want.DoF = math.Inf(1)
		}

		require.NoError(t, err, "%s", text)
		assert.InDelta(t, want.U, got.U, 1e-15, "%s", text)
		assert.InDelta(t, want.Value, got.Value, 0, "%s", text)

		got.U = 0
		got.Value = 0
		want.U = 0
		want.Value = 0
		assert.Equal(t, want, got, "%s", text)
	}

	for _, text := range []string{
		"", "±", "± 2", "± 2, k 0", "1, k 2", "u 1, ± 2, k 2", "1 m ± 2 s, k 2", "± x, k 2", "u -1", "a, b",
		"20 % ± 2 %, k 2", "20 %, u 2 %", "20 % ± 2 m, k 2", "± 2% m, k 2",

		// A part that is given twice contradicts itself.
		"± 1, ± 2, k 2", "± 0.2, k 2, k 3", "± 1, rectangular, triangular", "± 1, k 2, normal, normal", "u 1, u 2",
		"u 1, dof 3, dof 4", "u 1, type A, type A",
	} {
		_, err := ParseUncertainty(text)
		assert.ErrorContains(t, err, fmt.Sprintf("%q", text))
	}
}

// Any text is refused, or states an uncertainty that is a number and not negative.
func FuzzParseUncertainty(f *testing.F) {
	f.Add("0.5 m ± 0.1 %, k 2, dof 3, type A")
	f.Add("± 2 %, rectangular")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseUncertainty(text)
		if err != nil {
			return
		}

		assert.GreaterOrEqual(t, u.U, 0.0, "standard uncertainty of %q", text) // also fails for NaN
		assert.Greater(t, u.DoF, 0.0, "degrees of freedom of %q", text)
	})
}
