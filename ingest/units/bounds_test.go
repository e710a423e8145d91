package units

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBounds: what an engineer says of these values.
func TestBounds(t *testing.T) {
	const fine, odd, impossible = 0, 1, 2
	for _, c := range []struct {
		name    string
		value   float64
		verdict int
		unit    string // that is likelier
	}{
		{"pressure_pa", 101325, fine, ""},
		{"pressure_pa", 1013.3, odd, "hPa?"},
		{"pressure_pa", 101.3, odd, "kPa?"},
		{"pressure_pa", 1.013, impossible, "bar?"},
		{"pressure_pa", 760, odd, "hPa?"},
		{"p_amb_pa", 99000, fine, ""},
		{"pressure_pa", -5, impossible, ""},
		{"pressure_pa", 0, impossible, ""},
		{"temperature_c", 21, fine, ""},
		{"temperature_c", 294.15, odd, "K?"},
		{"temperature_c", -40, fine, ""},
		{"temperature_c", 150, odd, "°F?"},
		{"temperature_c", -270, impossible, ""},
		{"t_air_c", 293, odd, "K?"},
		{"density_kg_m3", 1.19, fine, ""},
		{"density_kg_m3", 998, fine, ""},
		{"density_kg_m3", 0.00119, odd, "g/cm³?"},
		{"rho_kg_m3", 1190, odd, "g/m³?"},
		{"density_kg_m3", 0, impossible, ""},
		{"u_m_s", 20, fine, ""},
		{"u_m_s", 0, fine, ""},
		{"u_m_s", 20000, impossible, "mm/s?"},
		{"u_inf_m_s", 900, odd, "km/h?"},
		{"chord_m", 0.16, fine, ""},
		{"chord_m", 160, impossible, "mm?"},
		{"chord_m", 16, odd, "?"},
		{"span_m", 400, impossible, "mm?"},
		{"span_m", 40, odd, "?"},
		{"span_m", 0.4, fine, ""},
		{"sensitivity_v_per_pa", 0.05, fine, ""},
		{"sensitivity_v_per_pa", 50, impossible, "mV/Pa?"},
		{"sensitivity_v_per_pa", 12.5, odd, "mV/Pa?"},
		{"sensitivity_v_per_pa", 0.001, fine, ""},
		{"distance_m", 1.5, fine, ""},
		{"distance_m", 1500, odd, "mm?"},
		{"gain_db", 20, fine, ""},
		{"gain_db", 0, fine, ""},
		{"gain_db", 1000, impossible, ""},
		{"rpm", 6000, fine, ""},
		{"rpm", 0, fine, ""},
		{"rpm", 2e6, impossible, ""},
		{"motor_rpm", 3e5, odd, ""},
	} {
		b, ok := BoundOf(c.name)
		assert.True(t, ok, "%s", c.name)

		doubt, isImpossible := b.Check(c.value)
		got := fine
		switch {
		case isImpossible:
			got = impossible
		case doubt != "":
			got = odd
		}

		assert.Equal(t, c.verdict, got, "%s = %g: %s", c.name, c.value, doubt)
		assert.Contains(t, doubt, c.unit, "%s = %g", c.name, c.value)
	}

	for _, name := range []string{"alpha_deg", "q_pa", "lift_n", "thrust", "p", "J", "tip_speed"} {
		_, ok := BoundOf(name)
		assert.False(t, ok, "%s", name)
	}
}
