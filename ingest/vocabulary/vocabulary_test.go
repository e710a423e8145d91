package vocabulary_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/vocabulary"
)

func ExampleTermOf() {
	fmt.Println(vocabulary.TermOf("Drehzahl soll", "1/min"))
	fmt.Println(vocabulary.TermOf("Angle of attack", ""))
	fmt.Println(vocabulary.TermOf("speed", "m/s"), vocabulary.TermOf("speed", "1/min"))
	// Output:
	// rpm
	// alpha_deg
	// u_inf_m_s rpm
}

// Without a unit, a letter or a speed of any kind may mean several conditions.
func TestTermOfDoubtfulHeaders(t *testing.T) {
	assert.Equal(t, "", vocabulary.TermOf("n", ""))
	assert.Equal(t, "rpm", vocabulary.TermOf("n_soll", ""))
	assert.Equal(t, "", vocabulary.TermOf("speed", ""))
	assert.Equal(t, "", vocabulary.TermOf("alpha", "m/s"), "the unit contradicts the word")
}

// A single letter counts only as the whole name: the u of u_CL is not a speed.
func TestHasWord(t *testing.T) {
	assert.True(t, vocabulary.HasWord(vocabulary.Inputs, "u", "u"))
	assert.False(t, vocabulary.HasWord(vocabulary.Inputs, "u_CL", "u_CL"))
	assert.True(t, vocabulary.HasWord(vocabulary.Inputs, "pitch_deg", "Pitch"))
	assert.True(t, vocabulary.HasWord(vocabulary.Inputs, "Sollwert", "Sollwert"), "a word for set values")
	assert.True(t, vocabulary.HasWord(vocabulary.Outcomes, "lift_n", "lift (N)"))
}

// The words are those of people's files: an ending that is a unit, a letter whose case counts, and no unit.
func TestUnitOf(t *testing.T) {
	for word, want := range map[string]string{
		"rpm": "rpm", "RPM": "rpm", "deg": "alpha_deg", "K": "temperature_k", "S": "cells", "s": "seconds",
	} {
		meaning, isUnit := vocabulary.UnitOf(word)
		assert.True(t, isUnit, word)
		assert.Equal(t, want, meaning.Condition, word)
	}

	assert.False(t, vocabulary.IsUnit("wing"))
}

// Recordings without wind are of before the runs unless every name tells.
func TestSplitBeforeAfter(t *testing.T) {
	earlier, later := vocabulary.SplitBeforeAfter([]string{"tare1_u20.txt", "tare2_u20.txt"})
	assert.Equal(t, []string{"tare1_u20.txt"}, earlier)
	assert.Equal(t, []string{"tare2_u20.txt"}, later)

	files := []string{"Nullmessung_vor.txt", "Nullmessung_u20.txt"}
	earlier, later = vocabulary.SplitBeforeAfter(files)
	assert.Equal(t, files, earlier)
	assert.Empty(t, later)
}

// A word means the same condition as the header of a column and in the name of a file. Expected: an angle without a
// further word is the angle of attack, and a word that a column knows has its name of files.
func TestWordsOfColumnsAndNames(t *testing.T) {
	for word, want := range map[string]string{
		"Winkel": "alpha_deg", "winkel": "alpha_deg", "Angle": "alpha_deg", "angolo": "alpha_deg", "Ángulo": "alpha_deg",
		"alfa": "alpha_deg", "AoA": "alpha_deg", "Alpha": "alpha_deg", "incidence": "alpha_deg", "theta": "theta_deg",
		"hoek": "alpha_deg", "Anstellwinkel": "alpha_deg", "Polarwinkel": "theta_deg", "Mikrofonwinkel": "theta_deg",
		"mic angle": "theta_deg", "polar angle": "theta_deg", "angle of attack": "alpha_deg",
		"Winkel [°]": "alpha_deg", "angle_meas": "alpha_deg", "phi": "", "Klappenwinkel": "", "yaw angle": "",
	} {
		assert.Equal(t, want, vocabulary.TermOf(word, "deg"), "column %s", word)
	}

	unitOf := map[string]string{
		"alpha_deg": "deg", "theta_deg": "deg", "phi_deg": "deg", "u_inf_m_s": "m/s", "rpm": "1/min",
	}
	known := 0 // words that a column knows
	for word, name := range vocabulary.StandardNames {
		if column := vocabulary.TermOf(word, unitOf[name]); column != "" {
			assert.Equal(t, name, column, "%s as a column and in a name", word)
			known++
		}
	}

	assert.Positive(t, known, "words that a column knows")
}

// Headers of logs and the conditions that they mean. Expected: the meaning in the language of the header.
func TestTermOfHeaders(t *testing.T) {
	for _, c := range []struct{ header, unit, want string }{
		{"n_soll", "", "rpm"},
		{"N_soll", "", "rpm"},
		{"N soll", "1/min", "rpm"},
		{"N", "", ""},
		{"vitesse de l'air", "m/s", "u_inf_m_s"},
		{"vitesse de l’air", "m/s", "u_inf_m_s"},
		{"vitesse d'écoulement", "m/s", "u_inf_m_s"},
		{"Vitesse d’écoulement", "m/s", "u_inf_m_s"},
		{"vitesse du vent", "m/s", "u_inf_m_s"},
		{"velocità dell'aria", "m/s", "u_inf_m_s"},
		{"velocità dell’aria", "m/s", "u_inf_m_s"},
		{"vitesse de l'hélice", "", ""},
		{"vitesse de rotation", "", "rpm"},
		{"V_inf", "m/s", "u_inf_m_s"},
		{"Vinf", "m/s", "u_inf_m_s"},
		{"v∞", "m/s", "u_inf_m_s"},
		{"u_inf", "", "u_inf_m_s"},
		{"freestream velocity", "m/s", "u_inf_m_s"},
		{"Free-stream velocity", "m/s", "u_inf_m_s"},
		{"wind tunnel speed", "m/s", "u_inf_m_s"},
		{"tunnel speed", "m/s", "u_inf_m_s"},
		{"windspeed", "m/s", "u_inf_m_s"},
		{"influx", "m/s", ""},
	} {
		assert.Equal(t, c.want, vocabulary.TermOf(c.header, c.unit), c.header)
	}
}

// Headers of the times between which a row is about its recording. Expected: the meaning of the words.
func TestEdges(t *testing.T) {
	for header, want := range map[string]string{
		"start": "t0_s", "Start time": "t0_s", "start_time": "t0_s", "start_time (s)": "t0_s", "time_start": "t0_s",
		"t0": "t0_s", "t0s": "t0_s", "t_0 [s]": "t0_s", "begin_s": "t0_s", "von": "t0_s", "time start": "t0_s",
		"end": "t1_s", "End time": "t1_s", "end_time": "t1_s", "stop_time [s]": "t1_s", "time_end": "t1_s", "t1": "t1_s",
		"bis (s)": "t1_s", "ends": "", "starts": "", "time": "", "t": "", "tos": "", "run time": "", "start_timer": "",
	} {
		got := ""
		for _, edge := range vocabulary.Edges {
			if edge.Headers.MatchString(header) {
				got = edge.Name
			}
		}

		assert.Equal(t, want, got, header)
	}
}
