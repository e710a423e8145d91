package dsp

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/fault"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lcav lists the files of the data set lcav-crazyflie-propeller, propellers with 2 blades recorded without a
// tachometer, with the mean shaft speed of each half in rev/s. The speeds come from an analysis that is independent of
// this package: numpy found the peak of the BPF in windows of 100 ms (Hann, zero-padded to 65 536 samples), and
// averaged it over each half.
var lcav = []struct {
	name  string
	shaft [2]float64
}{
	{"40000", [2]float64{327.7, 323.7}}, // the NOTE of the data set states 328.7, then 323.4
	{"44000", [2]float64{347.3, 347.1}},
	{"48000", [2]float64{360.4, 358.8}},
	{"52000", [2]float64{376.3, 376.2}},
	{"56000", [2]float64{389.9, 386.3}},
	{"60000", [2]float64{405.5, 404.3}},
	{"64000", [2]float64{405.0, 404.6}},
}

// Tracking finds the speeds of lcav within 0.3 %, in a narrow and in a wide range. Every harmonic emerges in both
// halves. By the NOTE of the data set, the first five harmonics are 14 to 49 dB above the median of their
// neighbourhood; here ρ may be 1 dB outside.
func TestTrackMeasuredRotor(t *testing.T) {
	for _, f := range lcav {
		for _, rangeHz := range [][2]float64{{250, 500}, {150, 900}} {
			t.Run(fmt.Sprintf("%s/%g-%g", f.name, rangeHz[0], rangeHz[1]), func(t *testing.T) {
				x, rate := floatWAV(t, measured(t, "lcav-crazyflie-propeller", "propellers", f.name+".wav"))
				run := analyse(t, memory{x}, rotorAt(memory{x}, rate, 2, 0, tracked(rangeHz[0], rangeHz[1])))
				for h, want := range f.shaft {
					assert.InDelta(t, want, run.ShaftHz[h], 0.003*want, "half %d: rev/s", h+1)

					for _, l := range run.Channels[0].Halves[h].Lines {
						db := LevelDB(l.Rho, 1)
						require.GreaterOrEqual(t, db, 13.0, "half %d, harmonic %d", h+1, l.Order)
						assert.LessOrEqual(t, db, 50.0, "half %d, harmonic %d", h+1, l.Order)

						assert.False(t, l.UpperBound, "half %d", h+1)
						assert.InDelta(t, l.Hz, l.PeakHz, 0.03*l.Hz, "half %d", h+1)
					}
				}

				for m, e := range run.Channels[0].Emergent {
					assert.True(t, e, "harmonic %d emerges", m+1)
				}
			})
		}
	}
}

// A search within ±1 % of a nominal speed misses lines that tracking finds. If the nominal speed is the median over all
// files, it misses at least half of the lines by 10 dB. If it is the mean speed of the file, some peak is still at
// least 1 dB too low, because the line lies partly outside of the range.
func TestNominalMissesMeasuredRotor(t *testing.T) {
	const median = 376

	missed := 0
	total := 0
	short := 0.0
	for _, f := range lcav {
		x, rate := floatWAV(t, measured(t, "lcav-crazyflie-propeller", "propellers", f.name+".wav"))
		found := analyse(t, memory{x}, rotorAt(memory{x}, rate, 2, 0, tracked(250, 500)))
		nominal := func(s *Settings) {
			s.Speed = "nominal"
			s.Tolerance = 0.01
		}
		fixed := analyse(t, memory{x}, rotorAt(memory{x}, rate, 2, median, nominal))
		own := analyse(t, memory{x}, rotorAt(memory{x}, rate, 2, 0.5*(f.shaft[0]+f.shaft[1]), nominal))
		for h := range 2 {
			for m, l := range found.Channels[0].Halves[h].Lines {
				total++

				if p := fixed.Channels[0].Halves[h].Lines[m]; p.PeakPower < l.PeakPower/10 {
					missed++
				}

				short = max(short, LevelDB(l.PeakPower/own.Channels[0].Halves[h].Lines[m].PeakPower, 1))
			}
		}
	}

	t.Logf("±1 %% around %d rev/s misses %d of %d lines by 10 dB and more; around each file's mean the peak is up to "+
		"%.1f dB short", median, missed, total, short)

	assert.GreaterOrEqual(t, missed, total/2, "lines missed around the median speed, of %d", total)
	assert.GreaterOrEqual(t, short, 1.0, "largest loss of a peak around the mean speed of the file, in dB")
}

// Four microphones recorded one motor at the command 43000, and decide on its speed together. Expected: a speed between
// the speeds at the neighbouring commands 40000 and 44000 in lcav, 324 to 348 rev/s, within 3 %. The file is NPY:
// float32, 240 000 × 4, in C order, at 48 kHz.
func TestTrackFourMicrophones(t *testing.T) {
	b := testfile.Read(t, measured(t, "lcav-crazyflie-propeller", "propellers_only_4mics", "m1.npy"))

	b = b[10+int(binary.LittleEndian.Uint16(b[8:])):] // behind the header, whose length is at byte 8

	x := make(memory, 4)
	for i := 0; i+4 <= len(b); i += 4 {
		x[i/4%4] = append(x[i/4%4], float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))))
	}

	run := analyse(t, x, rotorAt(x, 48000, 2, 0, tracked(250, 500)))
	t.Logf("%.2f rev/s", run.ShaftHz)

	for h, s := range run.ShaftHz {
		require.GreaterOrEqual(t, s, 315.0, "half %d: %.2f rev/s", h+1, s)
		assert.LessOrEqual(t, s, 355.0, "half %d: %.2f rev/s", h+1, s)
	}

	for c, ch := range run.Channels {
		for m, e := range ch.Emergent {
			if m < 3 {
				assert.True(t, e, "microphone %d: harmonic %d emerges", c+1, m+1)
			}
		}
	}
}

// The samples of the data set cyclone-ojf-force-balance are correlated over 5 to 17 samples, and the means of halves
// differ by up to 8 standard errors of independent samples (its NOTE). Expected: the effective number of samples is at
// most half of their number, and block means flag fewer segments than a t test that takes the samples as independent.
func TestMeasuredBalance(t *testing.T) {
	b := testfile.Read(t, measured(t, "cyclone-ojf-force-balance", "17_11_17__14_50.txt"))

	// Row 1 of the calibration matrix of the NOTE: Fx of the six voltages.
	c := [6]float64{0.10573, -0.04946, -0.03339, 6.31374, -0.04072, -6.35659}

	var fx []float64
	for _, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) < 13 {
			continue
		}

		v := 0.0
		for i := range c {
			x, err := strconv.ParseFloat(f[i+1], 64)
			require.NoError(t, err)

			v += c[i] * x
		}

		fx = append(fx, v)
	}

	const rows = 714 // a segment of 7.1 s
	var naive, flagged, segments int

	var ratio float64 // sum of the effective numbers of samples over their numbers
	for start := 0; start+rows <= len(fx); start += rows {
		x := fx[start : start+rows]
		r, err := CheckBalance([][]float64{x}, 100)
		require.NoError(t, err)

		segments++
		ratio += r.NEff[0] / rows

		if slices.ContainsFunc(r.Flags, func(f Flag) bool { return f.Code == "drift" }) {
			flagged++
		}

		if z, _, _, ok := WelchT(x[:rows/2], x[rows/2:]); ok && math.Abs(z) > 1.96 {
			naive++
		}
	}

	t.Logf("%d segments: naive errors reject %d, block means %d; n_eff/n %.3f on average", segments, naive, flagged,
		ratio/float64(segments))

	require.GreaterOrEqual(t, segments, 5, "segments")
	assert.Less(t, flagged, naive, "segments flagged by block means, and by independent samples")
	assert.LessOrEqual(t, ratio/float64(segments), 0.5, "effective number of samples over their number")
}

// In a range of more than an octave, one half of 40000.wav looks as if it had 163.7 rev/s, about half of its true speed
// of 324 rev/s. The halves then disagree, which is an error: no answer is better than a wrong one.
func TestTrackedHalvesDisagree(t *testing.T) {
	x, rate := floatWAV(t, measured(t, "lcav-crazyflie-propeller", "propellers", "40000.wav"))
	_, err := NewAnalyser().run(context.Background(), memory{x},
		rotorAt(memory{x}, rate, 2, 0, tracked(20, 500)))

	var e *fault.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "one shaft speed in both halves", e.Want)
}
