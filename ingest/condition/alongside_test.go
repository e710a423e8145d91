package condition

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/vocabulary"
)

// Words of the state of the air in package vocabulary mean the surroundings here too.
func TestAirOfVocabulary(t *testing.T) {
	for _, word := range []string{
		"temp", "temperature", "Temperatur", "Lufttemperatur", "Raumtemperatur", "Luftdruck", "Luftfeuchte", "Feuchte",
		"pressure", "density", "Dichte", "rho", "viscosity", "baro", "barometer", "humidity", "rh", "battery",
	} {
		assert.True(t, vocabulary.Air.MatchString(word), "%s is of the air or the supply", word)
		assert.True(t, ambientWord.MatchString(word), "%s drifts", word)
	}

	for _, differs := range []struct{ word, reason string }{
		{"nu", "it may be a Nusselt number"},
		{"q", "a dynamic pressure may be set"},
	} {
		assert.True(t, vocabulary.Air.MatchString(differs.word), "%s is of the air", differs.word)
		assert.False(t, ambientWord.MatchString(differs.word), "%s: %s", differs.word, differs.reason)
	}
}

// Each case is one column beside rpm, which is set at four values in 40 rows. want tells whether a person would say
// that the column was measured alongside, not set. Columns drift (each value is its own), are quantised (ten values),
// or have three levels.
func TestAlongside(t *testing.T) {
	rpm := make([]float64, 40)
	drifting := make([]float64, 40)
	quantised := make([]float64, 40)
	levels := make([]float64, 40)
	for i := range rpm {
		rpm[i] = float64(1000 * (1 + i/10))
		drifting[i] = rpm[i] + float64(i*37%41)/100
		quantised[i] = 21 + float64(i%10)/10
		levels[i] = float64(i % 3)
	}

	for _, c := range []struct {
		name   string
		values []float64
		want   bool
	}{
		{"rpm_measured", drifting, true},
		{"rpm_measured", rpm, true},
		{"rpm_meas", levels, true},
		{"rpm_ist", drifting, true},
		{"rpm_mean", levels, true},
		{"rpm_actual", drifting, true},
		{"rpm tracked", drifting, true},
		{"measured_rpm", drifting, true},
		{"rpm_act", drifting, true},
		{"temp_c", quantised, true},
		{"temperature", quantised, true},
		{"T_air_c", quantised, true},
		{"p_amb_pa", quantised, true},
		{"humidity_pct", quantised, true},
		{"rho_kg_m3", quantised, true},
		{"voltage_v", quantised, true},
		{"Zeit", quantised, true},
		{"battery", quantised, true},
		{"torque_nm", drifting, true},
		{"sound", drifting, true},
		{"temp_c", levels, false},
		{"u_m_s", levels, false},
		{"theta_deg", quantised, false},
		{"blades", levels, false},
		{"rpm_set", rpm, false},
		{"pitch_meas", levels, false},
		{"spacing_mm", levels, false},
	} {
		got := Alongside([]string{"rpm", c.name}, [][]float64{rpm, c.values}, []string{"rpm"}, nil)
		assert.Equal(t, c.want, len(got) == 1 && got[0] == c.name, "%s", c.name)
	}

	german := Alongside([]string{"rpm_sollwert", "rpm_ist"}, [][]float64{rpm, levels}, nil, nil)
	assert.Equal(t, []string{"rpm_ist"}, german, "beside a set value that its name tells")

	none := Alongside([]string{"temp_c"}, [][]float64{quantised}, nil, nil)
	assert.Empty(t, none, "the only condition")

	stated := Alongside([]string{"rpm", "temp_c"}, [][]float64{rpm, quantised}, []string{"rpm", "temp_c"}, nil)
	assert.Empty(t, stated, "a stated condition")

	beside := Alongside([]string{"rpm", "rpm_measured"}, [][]float64{rpm, drifting}, []string{"rpm", "rpm_measured"}, nil)
	assert.Equal(t, []string{"rpm_measured"}, beside, "a stated condition that was measured beside the one that was set")

	fewRows := Alongside([]string{"rpm", "torque_nm"}, [][]float64{rpm[:4], drifting[:4]}, []string{"rpm"}, nil)
	assert.Empty(t, fewRows, "distinct values in four rows")

	hasSetPoints := func(name string) bool { return name == "rpm_measured" }
	scattering := Alongside([]string{"rpm", "rpm_measured"}, [][]float64{rpm, drifting}, nil, hasSetPoints)
	assert.Empty(t, scattering, "a condition with set points")
}
