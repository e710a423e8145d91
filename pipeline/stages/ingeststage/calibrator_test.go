package ingeststage

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// tone returns n samples of a sine.
func tone(n int, rate, hz, amplitude float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = amplitude * math.Sin(2*math.Pi*hz*float64(i)/rate)
	}

	return x
}

// Expected: closed form. A sine of amplitude 0.1 is 0.0707 rms; at 94 dB, 1.0024
// Pa, that is 14.176 Pa per unit, and with 20 dB more gain in the recordings a
// tenth.
func TestCalibratorPaPerUnit(t *testing.T) {
	files := map[string]string{
		"a.npy": npy(constant(9, 1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n",
		"cal/one.npy": npy(tone(30000, 10000, 1000, 0.1)),
	}

	b := planned(t, files,
		`{files: "*.npy", conditions: c.csv, rate_hz: 10000, calibration: `+
			`{calibrator: {level_db: 94, file: cal/one.npy, gain_db: 20}}}`, `{triplets: split-half-spectrum}`)
	assert.Equal(t, "x/ingest/calibrator x/ingest/a.npy x/recordings", ids(b), "tasks")

	if b.Recordings.Source.Calibrator == nil || b.Tasks.Plan.Tasks[1].Deps[0] != *b.Recordings.Source.Calibrator {
		t.Errorf("the file's task takes %v", b.Tasks.Plan.Tasks[1].Deps)
	}

	c := b.Ingest.Calibration.Calibrator
	f := calibratorFiles(c)[0]
	open := b.File.Resolve(f.File)
	all, err := measureRecording(context.Background(), open, f, c, b.Recordings.Source.Options)
	require.NoError(t, err)
	require.Len(t, all, 1, "sensitivities")

	want := 20e-6 * math.Pow(10, 94./20) / (0.1 / math.Sqrt2) / 10
	assert.InEpsilon(t, want, all[0].PaPerUnit, 1e-4)
	assert.Empty(t, all[0].Target, "target of a recording for all channels")
	assert.False(t, all[0].Named, "a single channel serves all")
	assert.LessOrEqual(t, all[0].SpreadDB, 0.01)
	assert.InDelta(t, 1000, all[0].FrequencyHz, 1)

	info := ingest.Info{Path: "a.npy", Channels: []ingest.Channel{{Name: "1", Unit: all[0].Unit}}}
	scale, err := ScaleOf(b.Recordings.Source, all, info, 0)
	require.NoError(t, err)
	assert.Equal(t, "Pa", scale.Unit)
	assert.InDelta(t, all[0].PaPerUnit, scale.Factor, 0)
	assert.True(t, strings.HasPrefix(scale.How, "calibrator cal/one.npy, channel "), scale.How)

	info.Channels[0].Unit = "V"
	_, err = ScaleOf(b.Recordings.Source, all, info, 0)
	assert.ErrorContains(t, err, "expected samples in the unit of the calibrator's recording")
}

// A recording of several channels serves those of the same names; a channel
// whose tone cannot be measured is an error only where it is used.
func TestCalibratorChannels(t *testing.T) {
	quiet := make([]float64, 30000)
	for i := range quiet {
		quiet[i] = 1e-3 * math.Sin(float64(i*i))
	}

	files := map[string]string{
		"a.npy": npy(constant(9, 1), constant(9, 1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n",
		"all.npy": npy(tone(30000, 10000, 1000, 0.1), quiet), "two.npy": npy(quiet, tone(30000, 10000, 1000, 0.2)),
	}

	b := planned(t, files,
		`{files: a.npy, conditions: c.csv, rate_hz: 10000, calibration: {calibrator: {level_db: 94, file: all.npy}}}`,
		`{triplets: split-half-spectrum}`)
	c := b.Ingest.Calibration.Calibrator
	all, err := measureRecording(context.Background(), b.File.Resolve("all.npy"), calibratorFiles(c)[0], c,
		b.Recordings.Source.Options)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.True(t, all[0].Named, "channels of a recording of several serve channels of their names")
	require.Nil(t, all[0].Fault, "the channel that has the tone")
	require.NotNil(t, all[1].Fault, "the channel without a tone")

	info := ingest.Info{Path: "a.npy", Channels: []ingest.Channel{
		{Name: all[0].Channel, Unit: all[0].Unit},
		{Name: all[0].Channel + "x"},
	}}

	sensitivity, err := sensitivityOf(all, info, 0)
	require.NoError(t, err)
	require.Equal(t, all[0].PaPerUnit, sensitivity.PaPerUnit, "Pa per unit")

	_, err = sensitivityOf(all, info, 1)
	assert.ErrorContains(t, err, "expected a calibrator's recording of this channel, found recordings of")

	info.Channels[1].Name = all[1].Channel
	_, err = sensitivityOf(all, info, 1)
	assert.ErrorContains(t, err, "dB and more above the noise")

	// NAME#CHANNEL, and a channel of the recordings.
	list := calibratorFiles(&setting.Calibrator{Recordings: []setting.NamedString{
		{Name: "1", Value: "two.npy#2"},
		{Name: "2", Value: "all.npy#1"},
	}})

	require.Len(t, list, 2, "%+v", list)
	assert.Equal(t, (Sensitivity{Target: "1", File: "two.npy", Channel: "2"}), list[0], "%+v", list)

	s, err := measureRecording(context.Background(), b.File.Resolve("two.npy"), list[0], c,
		b.Recordings.Source.Options)
	require.NoError(t, err)
	require.Len(t, s, 1, "%+v", s)
	require.Equal(t, "1", s[0].Target, "%+v", s)
	assert.InDelta(t, 0.2/math.Sqrt2, s[0].RMS, 1e-4, "%+v", s)
}

// The recordings of a calibrator by a pattern of their names are those of the channels in the names, in the order of
// the names, and are no recordings of the campaign. Expected scales: 1.0024 Pa (94 dB) over the rms of each tone.
func TestCalibratorPattern(t *testing.T) {
	files := map[string]string{
		"a_3000.npy": npy(constant(9, 1), constant(9, 1)), "cal/Mikro_2.npy": npy(tone(30000, 10000, 1000, 0.2)),
		"cal/Mikro_01.npy": npy(tone(30000, 10000, 1000, 0.1)), "cal/notes.txt": "",
	}

	const sections = `{files: "%s", pattern: "{_}_{rpm}.npy", rate_hz: 10000, constants: {blades: 2}, calibration: ` +
		`{calibrator: {level_db: 94, pattern: "%s"}}}`
	b := planned(t, files, fmt.Sprintf(sections, "**/*.npy", "cal/Mikro_{channel}.npy"), `{triplets: split-half-spectrum}`)
	assert.Equal(t, []string{"a_3000.npy"}, b.Recordings.names())
	assert.Equal(t, []setting.NamedString{{Name: "01", Value: "cal/Mikro_01.npy"}, {Name: "2", Value: "cal/Mikro_2.npy"}},
		b.Recordings.Ingest.Calibration.Calibrator.Recordings)

	list, err := measureCalibrator(context.Background(), b.Experiment, b.Recordings.Source)
	require.NoError(t, err)

	info := ingest.Info{Path: "a.npy", Channels: []ingest.Channel{{Name: "1"}, {Name: "2"}}}
	for channel, amplitude := range []float64{0.1, 0.2} {
		scale, err := ScaleOf(b.Recordings.Source, list, info, channel)
		require.NoError(t, err)
		assert.InEpsilon(t, 20e-6*math.Pow(10, 94./20)/(amplitude/math.Sqrt2), scale.Factor, 1e-4, "channel %d", channel+1)
	}

	refused(t, files, fmt.Sprintf(sections, "a*.npy", "cal/Mic_{channel}.npy"), `{triplets: split-half-spectrum}`,
		"cal/Mic_*.npy")
	refused(t, files, fmt.Sprintf(sections, "cal/*.npy", "cal/Mikro_{channel}.npy"), `{triplets: split-half-spectrum}`,
		"every recording is one of the calibrator")
}

// A recording that cannot serve is refused with what to do.
func TestCalibratorFaults(t *testing.T) {
	rate := 10000.
	rising := tone(30000, rate, 1000, 0.1)
	for i := range rising {
		rising[i] *= 1 + float64(i)/30000
	}

	for want, c := range map[string]struct {
		x  []float64
		c  setting.Calibrator
		ch ingest.Channel
	}{
		"expected a calibrator's level that is steady within 0.2 dB, found a spread of": {
			rising,
			setting.Calibrator{LevelDB: 94, SpreadDB: 0.2},
			ingest.Channel{RateHz: rate},
		},
		"expected samples that are still to be calibrated, found a channel in Pa": {
			rising,
			setting.Calibrator{LevelDB: 94, SpreadDB: 0.2},
			ingest.Channel{RateHz: rate, Unit: "Pa"},
		},
		"expected a sampling rate, found none in the file": {
			rising,
			setting.Calibrator{LevelDB: 94, SpreadDB: 0.2},
			ingest.Channel{},
		},
		"expected from_s and to_s within its 3 s, found 3 and 0": {
			rising,
			setting.Calibrator{LevelDB: 94, SpreadDB: 0.2, FromS: 3},
			ingest.Channel{RateHz: rate},
		},
	} {
		c.ch.Name, c.ch.Samples = "m1", int64(len(c.x))
		rd := arrays{
			ingest.Info{Path: "cal.wav", Format: "wav", Encoding: "PCM 16", Channels: []ingest.Channel{c.ch}},
			[][]float64{c.x},
		}

		_, err := measureTone(context.Background(), rd, rd.Info(), 0, &c.c)
		assert.ErrorContains(t, err, "cal.wav: channel m1: "+want)
	}

	ok := arrays{
		ingest.Info{Path: "cal.wav", Channels: []ingest.Channel{{Name: "m1", Samples: 30000, RateHz: rate}}},
		[][]float64{tone(30000, rate, 1000, 0.1)},
	}

	c := setting.Calibrator{LevelDB: 114, SpreadDB: 0.2}
	got, err := measureTone(context.Background(), ok, ok.Info(), 0, &c)
	require.NoError(t, err)
	require.LessOrEqual(t, got.AboveDB, 300.0, "%+v", got)
	assert.Greater(t, got.PaPerUnit, 0.0, "%+v", got)
}
