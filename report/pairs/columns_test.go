package pairs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/table"
)

// Units of conditions: those in common use, those that endings state, none. By hand.
func TestUnitOf(t *testing.T) {
	for name, want := range map[string]string{
		"rpm_tracked": "1/min", "theta_deg": "deg", "pitch_deg": "deg", "gap_mm": "mm", "blades": "", "J": "", "tab": "",
	} {
		unit, _ := UnitOf(name)
		assert.Equal(t, want, unit, "%s", name)
	}
}

// Outcomes are the pairs NAME_1, NAME_2 of numbers, without by-products of a level.
func TestOutcomes(t *testing.T) {
	tab := &table.Table{}
	for _, n := range []string{
		"rpm", "bpf1_db_1", "bpf1_db_2", "bpf1_db_sd_1", "bpf1_db_sd_2", "bpf1_db_hz_1",
		"bpf1_db_hz_2", "alone_1", "own_sd_1", "own_sd_2",
	} {
		table.AddCell(tab, n, "", "", 1.0)
	}

	table.AddCell(tab, "bpf1_db_bound_1", "", "", true)
	table.AddCell(tab, "bpf1_db_bound_2", "", "", true)

	assert.Equal(t, []string{"bpf1_db", "own_sd"}, Outcomes(tab), "outcomes")
}

// A column belongs to an outcome if one ending, _1 or _2, is behind the name of the outcome. The name may itself end
// so. A column alone_1 without alone_2 is a condition.
func TestConditions(t *testing.T) {
	tab := &table.Table{}
	for _, name := range []string{
		"rpm", "rpm_set", "mic_1_1", "mic_1_2", "mic_2_1", "mic_2_2", "y_2_2_1", "y_2_2_2", "alone_1", "weight",
	} {
		table.AddCell(tab, name, "", "", 1.0)
	}

	for _, name := range []string{"run", "recording", "day"} {
		table.AddCell(tab, name, "", "", "a")
	}

	numbers, texts := Conditions(tab)
	assert.Equal(t, []string{"rpm", "alone_1"}, numbers)
	assert.Equal(t, []string{"day"}, texts)
	assert.Equal(t, []string{"mic_1", "mic_2", "y_2_2"}, Outcomes(tab))
}
