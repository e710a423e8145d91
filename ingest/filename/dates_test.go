package filename_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/filename"
)

// Dates and numbers with points between them, in any order. Expected: by eye, the pieces of the same names with
// underlines instead of the points behind and before the date.
func TestDatesBesidePoints(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"rotor.2024-05-03.3000rpm", "rotor.2024-05-03.4000rpm", `"rotor" day:2024-05-03 rpm=3000`},
		{"rotor.3000rpm.2024-05-03", "rotor.4000rpm.2024-05-03", `"rotor" rpm=3000 day:2024-05-03`},
		{"rotor.2024.05.03.3000rpm", "rotor.2024.05.03.4000rpm", `"rotor" day:2024.05.03 rpm=3000`},
		{"rotor.03.05.2024.3000rpm", "rotor.03.05.2024.4000rpm", `"rotor" day:03.05.2024 rpm=3000`},
		{"20240503.5deg", "20240503.10deg", "day:20240503 alpha_deg=5"},
		{"2024-05-03_500rpm", "2024-05-03_600rpm", "day:2024-05-03 rpm=500"},
		{"3May2024.3000rpm", "3May2024.4000rpm", "day:3May2024 rpm=3000"},
		{"2024-05-03.1450.V10", "2024-05-03.1450.V12", "day:2024-05-03 time:1450 u_inf_m_s=10"},
		{"2024-05-03.14.50.V10", "2024-05-03.14.50.V12", "day:2024-05-03 time:14.50 u_inf_m_s=10"},
		{"V10.2024-05-03", "V12.2024-05-03", "u_inf_m_s=10 day:2024-05-03"},
		{"V10.20240503", "V12.20240503", "u_inf_m_s=10 day:20240503"},
		{"V10.03.05.2024", "V12.03.05.2024", "u_inf_m_s=10 day:03.05.2024"},
		{"V10.2024.05.03", "V12.2024.05.03", "u_inf_m_s=10 day:2024.05.03"},
		{"V10.2024-05-03.3000rpm", "V12.2024-05-03.3000rpm", "u_inf_m_s=10 day:2024-05-03 rpm=3000"},
		{"V10.5_2024-05-03", "V12.5_2024-05-03", "u_inf_m_s=10.5 day:2024-05-03"},
		{"V10.05_2024.05.03", "V12.05_2024.05.03", "u_inf_m_s=10.05 day:2024.05.03"},
		{"V10_2_2024-05-03", "V12_1_2024-05-03", "u_inf_m_s=10 condition=2 day:2024-05-03"},
		{"V10_03.05.2024_10_15", "V12_03.05.2024_10_25", "u_inf_m_s=10 day:03.05.2024 time:10_15"},
		{"V7.2024", "V8.2025", "u_inf_m_s=7.2024"},
	} {
		names := filename.Read([]string{c.first + ".wav", c.second + ".wav"})
		assert.Equal(t, c.want, shape(names)[0], c.first)
	}
}

// Forms of times of day behind a day. Expected: by eye, 14:50 and the seconds.
func TestTimesOfDay(t *testing.T) {
	for _, clock := range []string{
		"14h50m03s", "14h50m03", "14h50m", "14h50min", "14h50", "145003Z", "145003", "1450Z", "14-50-03",
	} {
		names := filename.Read([]string{"2024-05-03T" + clock + "_V10.wav", "2024-05-03T" + clock + "_V12.wav"})
		want := `day:2024-05-03 "T" time:` + clock + " u_inf_m_s=10"
		assert.Equal(t, want, shape(names)[0], clock)
	}
}
