package calibration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// A unit of pressure or voltage is converted to Pa or V, with a text about the conversion, and other units stay. The
// expected factors are the definitions of the units.
func TestSoundUnit(t *testing.T) {
	for stated, want := range map[string]struct {
		factor float64
		unit   string
	}{
		"mPa": {1e-3, "Pa"}, "psi": {6894.757293168362, "Pa"}, "mV": {1e-3, "V"}, "Pa": {1, "Pa"}, "V": {1, "V"},
		"full-scale": {1, "full-scale"}, "": {1, ""}, "m/s": {1, "m/s"},
	} {
		factor, unit, how := soundUnit(stated)
		assert.InEpsilon(t, want.factor, factor, 1e-12, "factor of %q", stated)
		assert.Equal(t, want.unit, unit, "unit of %q", stated)
		isConverted := want.factor != 1
		assert.Equal(t, isConverted, how != "", "%q has a text about the conversion", stated)
	}
}

// Rows may call a channel by its number or by its name. The gains of the configuration and of the table add up, and
// each of them states one gain. A microphone has one sensitivity. The expected gain is the sum by hand.
func TestValuesOfOneChannel(t *testing.T) {
	twice := []setting.NamedNumber{{Name: "1", Value: 0.05}, {Name: "mic1", Value: 0.05}}
	info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic1"}, {Name: "mic2"}}}

	gains := []setting.NamedNumber{{Name: "1", Value: 20}, {Name: "mic1", Value: 6}}
	chain := &Chain{
		Settings: &setting.Calibration{ChannelGainDB: gains[:1]},
		Values:   map[string][]setting.NamedNumber{"gain_db": gains[1:]},
	}
	gain, err := chain.gainDB(info, 0)
	require.NoError(t, err)
	require.InDelta(t, 26, gain, 1e-12)

	chain = &Chain{Table: "microphones.csv", Values: map[string][]setting.NamedNumber{"gain_db": gains}}
	_, err = chain.Scale(info, 0)
	require.EqualError(t, err, "microphones.csv: channel mic1: expected one gain, found rows 1 and mic1 with one each "+
		"(delete a row, or correct its channel)")

	chain = &Chain{Settings: &setting.Calibration{ChannelGainDB: gains}}
	_, err = chain.Scale(info, 0)
	require.EqualError(t, err, "a.wav: channel mic1: expected one gain in channel_gain_db, found keys 1 and mic1 with "+
		"one each (delete a key, or correct its channel)")

	chain = &Chain{Table: "microphones.csv", Values: map[string][]setting.NamedNumber{"sensitivity_v_per_pa": twice}}
	_, err = chain.Scale(info, 0)
	require.EqualError(t, err, "microphones.csv: channel mic1: expected one sensitivity, "+
		"found rows 1 and mic1 with one each (delete a row, or correct its channel)")

	own, err := chain.sensitivity(info, 1)
	require.NoError(t, err)
	require.Zero(t, own)
}
