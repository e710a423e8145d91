package units

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values in the unit of the name. Expected: the definitions of the units.
func TestToName(t *testing.T) {
	for _, c := range []struct {
		name, stated string
		v, want      float64
		unit, text   string
	}{
		{"lift_n", "kN", 1.5, 1500, "N", "converted from kN, × 1000"},
		{"thrust_n", "gf", 1000, 9.80665, "N", "converted from gf, × 0.00980665"},
		{"thrust_n", "lbf", 1, 4.4482216152605, "N", "converted from lbf, × 4.448221615"},
		{"torque_nm", "mN·m", 250, 0.25, "N·m", "converted from mN·m, × 0.001"},
		{"p_pa", "psi", 1, 6894.757293168362, "Pa", "converted from psi, × 6894.757293"},
		{"p_pa", "mbar", 1013.25, 101325, "Pa", "converted from mbar, × 100"},
		{"alpha_deg", "rad", math.Pi, 180, "deg", "converted from rad, × 57.29577951"},
		{"rpm", "Hz", 50, 3000, "1/min", "converted from Hz, × 60"},
		{"u_inf_m_s", "km/h", 36, 10, "m/s", "converted from km/h, × 0.2777777778"},
		{"temperature_c", "°F", 212, 100, "°C", "converted from °F, × 0.5555555556 − 17.77777778"},
		// As they are, with the unit that was stated.
		{"lift_n", "N", 0.1, 0.1, "N", ""},
		{"alpha_deg", "°", 0.1, 0.1, "°", ""},
		{"rpm", "rpm", 0.1, 0.1, "rpm", ""},
		{"lift_n", "", 0.1, 0.1, "", ""},
		{"lift", "kN", 0.1, 0.1, "kN", ""},
		{"kt", "any words", 0.1, 0.1, "any words", ""},
		{"c_n", "-", 0.1, 0.1, "-", ""},
	} {
		n, err := ToName(c.name, c.stated)
		require.NoError(t, err, "%s in %s", c.name, c.stated)
		assert.InDelta(t, c.want, n.Apply(c.v), 1e-12*math.Abs(c.want), "%s in %s: %g", c.name, c.stated, c.v)
		assert.Equal(t, c.unit, n.Unit, "%s in %s: unit", c.name, c.stated)
		assert.Equal(t, c.text, n.String(), "%s in %s", c.name, c.stated)
	}

	for _, c := range [][3]string{
		{"lift_n", "volts", `unit "volts": expected a unit of N (kg·m·s^-2), this one is of kg·m^2·s^-3·A^-1`},
		{"lift_n", "raw counts", `unit "raw counts": expected a unit like N, kN`},
		{"lift_n", "kg", `unit "kg": expected a unit of N`},
		{"alpha_deg", "-", `unit "-": expected a unit of deg`},
	} {
		_, err := ToName(c[0], c[1])
		if c[2] == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c[2])
		}
	}
}

// The factors are exact by definition: 180/π degrees in a radian, 5/9 K in a degree Fahrenheit.
func TestCoherent(t *testing.T) {
	for stated, want := range map[string]string{
		"kN": "N converted from kN, × 1000", "rad": "deg converted from rad, × 57.29577951",
		"N": "", "deg": "", "nonsense": "",
		"-": "", "kg m-3": "", "°F": "°C converted from °F, × 0.5555555556 − 17.77777778",
	} {
		n, ok := Coherent(stated)
		assert.Equal(t, want != "", ok, "%s is converted", stated)
		assert.Equal(t, want, strings.TrimSpace(n.Unit+" "+n.String()), "%s", stated)
	}
}
