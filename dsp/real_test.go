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

// lcav are the files of ../shared/real/lcav-crazyflie-propeller (2 blades, no
// tachometer) with the mean shaft speed of each half in rev/s. Source: an
// analysis independent of this package, the BPF's peak in windows of 100 ms
// (numpy, Hann, zero-padded to 65 536) averaged over each half.
var lcav = []struct {
	name  string
	shaft [2]float64
}{
	{"40000", [2]float64{327.7, 323.7}}, // its NOTE: 328.7 then 323.4
	{"44000", [2]float64{347.3, 347.1}},
	{"48000", [2]float64{360.4, 358.8}},
	{"52000", [2]float64{376.3, 376.2}},
	{"56000", [2]float64{389.9, 386.3}},
	{"60000", [2]float64{405.5, 404.3}},
	{"64000", [2]float64{405.0, 404.6}},
}

// Expected values: the speeds above within 0.3 %; m·BPF for m = 1 … 5 is
// 14–49 dB above the local median (the data's NOTE), here ρ of every line in
// both halves.
func TestTrackMeasuredRotor(t *testing.T) {
	for _, f := range lcav {
		for _, hold := range [][2]float64{{250, 500}, {150, 900}} {
			t.Run(fmt.Sprintf("%s/%g-%g", f.name, hold[0], hold[1]), func(t *testing.T) {
				x, rate := floatWAV(t, measured(t, "lcav-crazyflie-propeller", "propellers", f.name+".wav"))
				run := analyse(t, memory{x}, rotorAt(memory{x}, rate, 2, 0, tracked(hold[0], hold[1])))
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

// A search of ±1 % around one nominal speed misses what track finds: around
// the median over the files, the lines of all files but those near it; around
// each file's own mean, with the 'peak' amplitude, still levels that are up to
// several dB short, because the line lies partly outside.
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

	assert.GreaterOrEqual(t, missed, total/2, "only %d of %d lines missed", missed, total)
	assert.GreaterOrEqual(t, short, 1.0, "around each file's mean the peak is only %.2f dB short", short)
}

// Expected value: 43000's neighbours among the commands, 324 … 348 rev/s
// (40000 and 44000); four microphones of one motor vote together. The file is
// NPY, float32 (240000, 4), 48 kHz, C order; its header ends at a newline.
func TestTrackFourMicrophones(t *testing.T) {
	b := testfile.Read(t, measured(t, "lcav-crazyflie-propeller", "propellers_only_4mics", "m1.npy"))

	b = b[10+int(binary.LittleEndian.Uint16(b[8:])):]

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

// Real balance data (../shared/real/cyclone-ojf-force-balance): samples are
// correlated over 5–17 of them and half-means differ by up to 8 naive standard
// errors (its NOTE), so the effective number of samples must be well below the
// number, and block means must flag far fewer segments than naive errors do.
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

	var ratio float64
	for at := 0; at+rows <= len(fx); at += rows {
		x := fx[at : at+rows]
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

	require.GreaterOrEqual(t, segments, 5,
		"%d segments, naive %d, flagged %d, n_eff/n %.3f", segments, naive, flagged, ratio/float64(segments))
	require.Less(t, flagged, naive,
		"%d segments, naive %d, flagged %d, n_eff/n %.3f", segments, naive, flagged, ratio/float64(segments))
	assert.LessOrEqual(t, ratio/float64(segments), 0.5,
		"%d segments, naive %d, flagged %d, n_eff/n %.3f", segments, naive, flagged, ratio/float64(segments))
}

// Over a range of more than an octave one half of 40000.wav looks like half its
// speed (163.7 rev/s instead of 324.0, nearly its double): no answer is better
// than one of the two.
func TestTrackedHalvesDisagree(t *testing.T) {
	x, rate := floatWAV(t, measured(t, "lcav-crazyflie-propeller", "propellers", "40000.wav"))
	_, err := NewAnalyser().run(context.Background(), memory{x},
		rotorAt(memory{x}, rate, 2, 0, tracked(20, 500)))

	var e *fault.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "one shaft speed in both halves", e.Want)
}
