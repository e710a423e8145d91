package calibration

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/setting"
	"doubletake/internal/testfile"
)

// tone returns n samples of a sine with the frequency hz, sampled at rate Hz.
func tone(n int, rate, hz, amplitude float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = amplitude * math.Sin(2*math.Pi*hz*float64(i)/rate)
	}

	return x
}

// A recording of the calibrator is refused if its level is not steady, if it is already in Pa, if it has no rate, or if
// the interval from from_s to to_s is not in it. A steady recording without noise is measured, and its level above the
// noise is limited to 300 dB.
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
		rd := &ingesttest.Memory{
			Header: ingest.Info{Path: "cal.wav", Format: "wav", Encoding: "PCM 16", Channels: []ingest.Channel{c.ch}},
			X:      [][]float64{c.x},
		}

		_, err := measureTone(context.Background(), rd, rd.Info(), 0, &c.c)
		assert.ErrorContains(t, err, "cal.wav: channel m1: "+want)
	}

	usable := &ingesttest.Memory{
		Header: ingest.Info{Path: "cal.wav", Channels: []ingest.Channel{{Name: "m1", Samples: 30000, RateHz: rate}}},
		X:      [][]float64{tone(30000, rate, 1000, 0.1)},
	}

	c := setting.Calibrator{LevelDB: 114, SpreadDB: 0.2}
	got, err := measureTone(context.Background(), usable, usable.Info(), 0, &c)
	require.NoError(t, err)
	assert.LessOrEqual(t, got.AboveDB, 300.0, "level above the noise in dB")
	assert.Positive(t, got.PaPerUnit)
}

// By hand, a sine of amplitude 0.1 has the rms 0.0707. At a level of 94 dB, which is 1.0024 Pa, one unit is 14.176 Pa.
// If the campaign's recordings have 20 dB more gain, one unit is a tenth of this. A channel in another unit cannot be
// calibrated with the recording.
func TestCalibratorPaPerUnit(t *testing.T) {
	project := setting.Project{Dir: t.TempDir()}
	testfile.Write(t, project.Resolve("cal/one.npy"), npy(tone(30000, 10000, 1000, 0.1)))

	c := &setting.Calibrator{LevelDB: 94, File: "cal/one.npy", GainDB: 20, SpreadDB: 0.2}
	options := ingest.Options{RateHz: 10000}
	f := unmeasured(c)[0]
	all, err := measureRecording(context.Background(), project.Resolve(f.File), f, c, options)
	require.NoError(t, err)
	require.Len(t, all, 1, "sensitivities")

	want := 20e-6 * math.Pow(10, 94./20) / (0.1 / math.Sqrt2) / 10
	assert.InEpsilon(t, want, all[0].PaPerUnit, 1e-4)
	assert.Empty(t, all[0].Target, "target of a recording for all channels")
	assert.False(t, all[0].Named, "a single channel serves all")
	assert.LessOrEqual(t, all[0].SpreadDB, 0.01)
	assert.InDelta(t, 1000, all[0].FrequencyHz, 1)

	info := ingest.Info{Path: "a.npy", Channels: []ingest.Channel{{Name: "1", Unit: all[0].Unit}}}
	chain := &Chain{Measured: all}
	scale, err := chain.Scale(info, 0)
	require.NoError(t, err)
	assert.Equal(t, "Pa", scale.Unit)
	assert.InDelta(t, all[0].PaPerUnit, scale.Factor, 0)
	assert.True(t, strings.HasPrefix(scale.How, "calibrator cal/one.npy, channel "), scale.How)

	info.Channels[0].Unit = "V"
	_, err = chain.Scale(info, 0)
	assert.ErrorContains(t, err, "expected samples in the unit of the calibrator's recording")
}

// Two recordings of one channel, which one calls by its name and the other by its number, are an error.
func TestTwoRecordingsOfOneChannel(t *testing.T) {
	info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic1"}, {Name: "mic2"}}}
	chain := &Chain{Measured: []Sensitivity{
		{Target: "1", File: "one.wav"}, {Target: "2", File: "two.wav"}, {Target: "mic1", File: "again.wav"},
	}}
	_, err := chain.Scale(info, 0)
	assert.EqualError(t, err, "a.wav: channel mic1: expected one calibrator's recording of this channel, "+
		"found one.wav and again.wav (name the channel once in calibration.calibrator.recordings)")

	_, err = chain.Scale(info, 1)
	assert.NoError(t, err)
}

// A recording of several channels calibrates the channels of the same names. A channel whose tone cannot be measured is
// an error only if it is used. The value FILE#CHANNEL calibrates one channel by a channel of a recording.
func TestCalibratorChannels(t *testing.T) {
	quiet := make([]float64, 30000)
	for i := range quiet {
		quiet[i] = 1e-3 * math.Sin(float64(i*i))
	}

	project := setting.Project{Dir: t.TempDir()}
	testfile.Write(t, project.Resolve("all.npy"), npy(tone(30000, 10000, 1000, 0.1), quiet))
	testfile.Write(t, project.Resolve("two.npy"), npy(quiet, tone(30000, 10000, 1000, 0.2)))

	c := &setting.Calibrator{LevelDB: 94, File: "all.npy", SpreadDB: 0.2}
	options := ingest.Options{RateHz: 10000}
	all, err := measureRecording(context.Background(), project.Resolve("all.npy"), unmeasured(c)[0], c, options)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.True(t, all[0].Named, "the channel calibrates the channel of its name")
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

	// Each recording is stated as FILE#CHANNEL for a channel of the campaign's recordings.
	list := unmeasured(&setting.Calibrator{Recordings: []setting.NamedString{
		{Name: "1", Value: "two.npy#2"},
		{Name: "2", Value: "all.npy#1"},
	}})

	require.Len(t, list, 2)
	assert.Equal(t, (Sensitivity{Target: "1", File: "two.npy", Channel: "2"}), list[0])

	s, err := measureRecording(context.Background(), project.Resolve("two.npy"), list[0], c, options)
	require.NoError(t, err)
	require.Len(t, s, 1)
	assert.Equal(t, "1", s[0].Target)
	assert.InDelta(t, 0.2/math.Sqrt2, s[0].RMS, 1e-4, "rms of the tone")
}

// npy encodes channels of equal length as an NPY file of shape (samples, channels).
func npy(channels ...[]float64) string {
	const fortranOrder = false
	return string(ingesttest.Columns(fortranOrder, channels...))
}
