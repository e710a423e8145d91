package background

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
)

// tableOf returns a table with columns of numbers.
func tableOf(columns map[string][]float64) *table.Table {
	tab := &table.Table{}
	for name, values := range columns {
		tab.Columns = append(tab.Columns, table.Column{Name: name, Floats: values})
	}

	return tab
}

// Expected: K1 of ISO 3744, which is 3.02 dB for a level 3 dB above the background, 1.26 dB at 6 dB and 0.46 dB at 10
// dB. The median of 3.02, 1.26, 0.46 and 0.46 dB is the mean of the two in the middle, 0.86 dB.
func TestWarnHigh(t *testing.T) {
	levels := map[string][]float64{
		"l_125hz_db_1": {53, 60}, "l_125hz_db_2": {56, 60}, "l_125hz_db_background_1": {50, 50},
		"l_125hz_db_background_2": {50, 50},
	}
	const want = "the background is not subtracted: levels of bands and sums read high by 0.5 to 3.0 dB, in the median " +
		"by 0.9 dB; background: {…, subtract: true} subtracts it"
	warnings := WarnHigh("p.yaml", tableOf(levels))
	require.Len(t, warnings, 1)
	assert.Equal(t, want, warnings[0].Text)
	assert.Equal(t, "background-high", warnings[0].Code)

	levels["l_125hz_db_2"][0] = 49
	warnings = WarnHigh("p.yaml", tableOf(levels))
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].Text, "by 0.5 to 3.0 dB, in the median by 0.5 dB, 1 level not above the background")

	assert.Empty(t, WarnHigh("p.yaml", tableOf(map[string][]float64{
		"l_125hz_db_1": {53}, "l_125hz_db_background_1": {20},
	})), "33 dB above the background")
	assert.Empty(t, WarnHigh("p.yaml", tableOf(map[string][]float64{
		"bpf1_db_1": {53}, "bpf1_db_background_1": {50}, "bpf1_db_rho_db_1": {20},
	})), "lines: their floor is subtracted")

	warnings = WarnHigh("p.yaml", tableOf(map[string][]float64{"oaspl_power_1": {4}, "oaspl_power_background_1": {1}}))
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].Text, "read high by 1.2 to 1.2 dB", "powers: 10 lg(4/3)")
}
