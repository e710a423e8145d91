package simulate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/dsp/fourier"
	"pgregory.net/rapid"

	"doubletake/ingest/ingesttest"
)

// wav holds the contents of a WAV file.
type wav struct {
	tag, channels, bits uint16
	rate                uint32
	comment             string
	fact                uint32
	x                   [][]float64 // [channel][sample], full scale 1
}

// readWAV reads a WAV file. It was written from the RIFF specification and shares nothing with the writer.
func readWAV(b []byte) (*wav, error) {
	le := binary.LittleEndian

	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, errors.New("no RIFF/WAVE")
	}

	if int(le.Uint32(b[4:])) != len(b)-8 {
		return nil, fmt.Errorf("RIFF size %d in a file of %d bytes", le.Uint32(b[4:]), len(b))
	}

	w := new(wav)
	for b = b[12:]; len(b) > 0; {
		if len(b) < 8 {
			return nil, errors.New("trailing bytes")
		}

		id := string(b[:4])
		size := int(le.Uint32(b[4:]))
		if size > len(b)-8 {
			return nil, fmt.Errorf("chunk %s of %d bytes, %d left", id, size, len(b)-8)
		}

		body := b[8 : 8+size]
		b = b[8+size+size%2:]

		switch id {
		case "fmt ":
			if size != 40 || le.Uint16(body) != 0xFFFE || le.Uint16(body[16:]) != 22 {
				return nil, errors.New("fmt is not WAVE_FORMAT_EXTENSIBLE")
			}

			w.channels = le.Uint16(body[2:])
			w.rate = le.Uint32(body[4:])
			w.bits = le.Uint16(body[14:])
			frame := uint32(w.channels) * uint32(w.bits) / 8
			if le.Uint32(body[8:]) != frame*w.rate || uint32(le.Uint16(body[12:])) != frame || le.Uint16(body[18:]) != w.bits {
				return nil, errors.New("fmt contradicts itself")
			}

			// The tail of KSDATAFORMAT_SUBTYPE_* as in Microsoft's mmreg.h.
			if !bytes.Equal(body[26:], []byte{0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71}) {
				return nil, errors.New("unknown subformat")
			}

			w.tag = le.Uint16(body[24:])

		case "LIST":
			_, rest, _ := strings.Cut(string(body), "ICMT")
			w.comment, _, _ = strings.Cut(rest[4:], "\x00")

		case "fact":
			w.fact = le.Uint32(body)

		case "data":
			w.x = make([][]float64, w.channels)
			step := int(w.bits / 8)
			for i := 0; i+step <= size; i += step {
				c := i / step % int(w.channels)

				v := 0.0
				if w.tag == 3 {
					v = float64(math.Float32frombits(le.Uint32(body[i:])))
				} else {
					v = float64(int16(le.Uint16(body[i:]))) / 32768
				}

				w.x[c] = append(w.x[c], v)
			}
		}
	}

	return w, nil
}

// record returns the contents of file i of a campaign.
func record(t testing.TB, c Campaign, i int) []byte {
	t.Helper()

	var b bytes.Buffer
	require.NoError(t, c.Write(context.Background(), &b, i))

	return b.Bytes()
}

// recordWAV returns what readWAV reads in file i of a campaign.
func recordWAV(t testing.TB, c Campaign, i int) *wav {
	t.Helper()

	w, err := readWAV(record(t, c, i))
	require.NoError(t, err)

	return w
}

// The default campaign has the layout of docs/method.md#layouts-of-published-files: 4 numbers of blades, 15 speeds and
// 13 angles, which make 780 recordings.
func TestRotorDefaults(t *testing.T) {
	r := DefaultRotor()
	files := r.Files()
	require.Len(t, files, 60)
	assert.Equal(t, "simulated_rotor_n2_rpm2000.wav", files[0].Name)
	assert.Equal(t, "simulated_rotor_n5_rpm9000.wav", files[59].Name)

	lines := strings.Split(strings.TrimSuffix(r.Conditions(), "\n"), "\n")
	require.Len(t, lines, 781)
	assert.Equal(t, "file,channel,blades,rpm,theta_deg", lines[0])
	assert.Equal(t, "simulated_rotor_n2_rpm2000.wav,1,2,2000,-60", lines[1])
	assert.Equal(t, "simulated_rotor_n5_rpm9000.wav,13,5,9000,60", lines[780])

	require.NoError(t, r.Validate())

	// The comment on FullScaleV says these numbers.
	loudest := 0.0
	for _, n := range r.Blades {
		for _, rpm := range r.RPM {
			loudest = max(loudest, r.peakPa(n, rpm))
		}
	}

	assert.LessOrEqual(t, loudest, 0.65, "Pa, of the loudest run")

	q := r.fullScalePa() / 32768 / math.Sqrt(12)
	assert.GreaterOrEqual(t, 20*math.Log10(microphonePa/q), 13.0, "dB, from the noise of the quantisation")
}

// Expected: the RIFF specification (readWAV), and that both
// encodings hold the same signal to within half a step.
func TestRotorFile(t *testing.T) {
	pcm := with(DefaultRotor(), func(r *Rotor) {
		r.DurationS = 0.7
		r.Seed = 3
	})
	flt := pcm
	flt.Encoding = EncodingFloat32

	const i = 17 // 3 blades, 3000 rpm
	a := recordWAV(t, pcm, i)
	b := recordWAV(t, flt, i)
	assert.Equal(t, uint16(1), a.tag, "tags")
	assert.Equal(t, uint16(16), a.bits, "tags")
	assert.Equal(t, uint16(3), b.tag, "tags")
	assert.Equal(t, uint16(32), b.bits, "tags")
	assert.Equal(t, uint32(7168), b.fact, "tags")

	for _, w := range []*wav{a, b} {
		require.Equal(t, uint16(13), w.channels)
		require.Equal(t, uint32(10240), w.rate)
		require.Len(t, w.x[12], 7168)

		assert.Contains(t, w.comment, "simulated")
		assert.Contains(t, w.comment, "blades=3 rpm=3000")
		assert.Contains(t, w.comment, "full scale 0.05 V peak")
		assert.Contains(t, w.comment, "0.05 V/Pa")
		assert.Contains(t, w.comment, "seed 3")
		assert.Contains(t, w.comment, "theta_deg=-60,-50,")
	}

	for c := range a.x {
		largest := 0.0
		for s := range a.x[c] {
			largest = max(largest, math.Abs(a.x[c][s]-b.x[c][s]))
		}

		require.LessOrEqual(t, largest, 0.5001/32768, "channel %d: the largest difference", c)
	}
}

// Expected: recordings of sim.py, seed 0, summarised in golden.json: octave
// band powers and mean square. Both sides fluctuate (bandwidth·time ≥ 400:
// 0.3 dB; tones with 8 % modulation over 8 s: 0.35 dB for the difference), so
// 1.3 dB is beyond 3.5 standard deviations; their mean over bands must agree
// closer.
func TestRotorSpectrumAgreesWithReference(t *testing.T) {
	g := loadGolden(t)

	r := with(DefaultRotor(), func(r *Rotor) { r.Encoding = EncodingFloat32 })
	for _, c := range g.RotorRecord {
		var b bytes.Buffer
		require.NoError(t, r.write(context.Background(), &b, g.rig(), c.Blades, c.RPM))

		w, err := readWAV(b.Bytes())
		require.NoError(t, err)

		mean := 0.0
		count := 0.0
		for i, ch := range c.Channels {
			x := w.x[ch]
			p := welch(x, 1024, r.RateHz)

			square := 0.0
			for _, v := range x {
				square += v * v / float64(len(x)) // full scale is 1 Pa
			}

			assert.InDelta(t, 0, 10*math.Log10(square/c.Square[i]), 0.8,
				"n=%d rpm=%g channel %d: mean square, dB off", c.Blades, c.RPM, ch)

			for k := range c.Band[i] {
				sum := 0.0
				for j, v := range p {
					if f := float64(j) * r.RateHz / 1024; f >= c.Edges[k] && f < c.Edges[k+1] {
						sum += v * r.RateHz / 1024
					}
				}

				d := 10 * math.Log10(sum/c.Band[i][k])
				mean += d
				count++

				assert.InDelta(t, 0, d, 1.3, "n=%d rpm=%g channel %d, %g–%g Hz", c.Blades, c.RPM, ch, c.Edges[k], c.Edges[k+1])
			}
		}

		assert.InDelta(t, 0, mean/count, 0.2, "n=%d rpm=%g: bands on average, dB off", c.Blades, c.RPM)
	}
}

// welch is the one-sided power density, periodic Hann, half overlap.
func welch(x []float64, n int, rate float64) []float64 {
	fft := fourier.NewFFT(n)
	p := make([]float64, n/2+1)
	seg := make([]float64, n)
	z := make([]complex128, n/2+1)

	segments := 0.0
	w2 := 0.0
	for at := 0; at+n <= len(x); at += n / 2 {
		w2 = 0
		for i := range seg {
			w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(n))
			w2 += w * w
			seg[i] = w * x[at+i]
		}

		fft.Coefficients(z, seg)

		for k, v := range z {
			p[k] += real(v)*real(v) + imag(v)*imag(v)
		}

		segments++
	}

	for k := range p {
		p[k] *= 2 / (rate * w2 * segments)
	}

	p[0] /= 2
	p[n/2] /= 2

	return p
}

// Expected: with a steady shaft and whole revolutions the discrete Fourier
// transform of the recording at order k is TonePower up to the noise in one
// bin, and NoiseDensity between the orders. Two independent routes: the
// formulas on one side, the written file on the other.
func TestRotorTruth(t *testing.T) {
	r := with(DefaultRotor(), func(r *Rotor) {
		r.Encoding = EncodingFloat32
		r.SpeedError = 0
		r.SpeedDrift = 0
		r.SpeedJitter = 0
		r.ToneModulation = 0
		r.Blades = []int{3}
		r.RPM = []float64{6000}
		r.ThetaDeg = []float64{-40, 0, 20}
	})

	w := recordWAV(t, r, 0)
	const (
		n        = 81920
		perOrder = 800
	) // 8 s; 100 Hz
	fft := fourier.NewFFT(n)
	for c, th := range r.ThetaDeg {
		z := fft.Coefficients(nil, w.x[c])
		power := func(k int) float64 { return 2 * (real(z[k])*real(z[k]) + imag(z[k])*imag(z[k])) / n / n }

		tones := r.TonePower(3, 6000, th)
		for k := 1; k <= maxOrder; k++ {
			// An amplitude disturbed by noise of variance d/2 in each part.
			d := r.NoiseDensity(3, 6000, th, float64(k)*100) / 8

			got := math.Sqrt(power(k * perOrder))
			assert.InDelta(t, math.Sqrt(tones[k]), got, 4*math.Sqrt(d), "θ=%g order %d: Pa rms ± %g", th, k, math.Sqrt(d))
		}

		for _, band := range [][2]int{{8, 320}, {900, 1500}, {8100, 8700}, {20100, 20700}, {33700, 34300}, {40300, 40900}} {
			got := 0.0
			want := 0.0
			for k := band[0]; k < band[1]; k++ {
				got += power(k)
				want += r.NoiseDensity(3, 6000, th, float64(k)/8) / 8
			}

			assert.InDelta(t, 1.0, got/want, 4/math.Sqrt(float64(band[1]-band[0])), "θ=%g bins %d: noise", th, band)
		}
	}

	// All of the power together: the closed-form variances.
	for c, th := range r.ThetaDeg {
		want := r.noisePower(3, 6000, th)
		got := 0.0
		for _, p := range r.TonePower(3, 6000, th) {
			want += p
		}

		for _, v := range w.x[c] {
			got += v * v / n
		}

		assert.InDelta(t, want, got, 0.03*want, "θ=%g: mean square", th)
	}

	// An upper rate leaves orders out: at 6000 rpm and 1 kHz those from 495 Hz on.
	slow := with(DefaultRotor(), func(r *Rotor) { r.RateHz = 1000 })
	p := slow.TonePower(3, 6000, 20)
	assert.Greater(t, p[4], 0.0, "order 4")
	assert.Zero(t, p[5], "order 5")
}

// Expected: the modulation's mean square, averaged over runs, raises a blade
// tone's power by am²·slowPower; other orders stay.
func TestRotorModulation(t *testing.T) {
	steady := with(DefaultRotor(), func(r *Rotor) { r.ToneModulation = 0 }).TonePower(2, 5000, 30)

	loose := with(DefaultRotor(), func(r *Rotor) { r.ToneModulation = 0.5 }).TonePower(2, 5000, 30)
	got := loose[2] / steady[2]
	want := 1 + 0.25*slowPower(0.5)
	assert.InDelta(t, want, got, 1e-12, "order 2, a blade tone")
	assert.InDelta(t, steady[3], loose[3], 0, "order 3")

	const (
		runs = 60
		n    = 8000
	)

	sum := 0.0
	square := 0.0
	for seed := range uint64(runs) {
		r := with(DefaultRotor(), func(r *Rotor) {
			r.Seed = seed
			r.RateHz = 2000
			r.DurationS = 4
			r.Encoding = EncodingFloat32
			r.SpeedError = 0
			r.SpeedDrift = 0
			r.SpeedJitter = 0
			r.ToneModulation = 0.4
			r.Blades = []int{2}
			r.RPM = []float64{9000}
			r.ThetaDeg = []float64{60}
		})

		x := recordWAV(t, r, 0).x[0]

		// The tone at order 2 (300 Hz) is demodulated over ±3 Hz and its power
		// set against that run's own unmodulated one.
		z := fourier.NewFFT(n).Coefficients(nil, x)

		p := 0.0
		for k := 1200 - 12; k <= 1200+12; k++ {
			p += 2 * (real(z[k])*real(z[k]) + imag(z[k])*imag(z[k])) / n / n
			p -= r.NoiseDensity(2, 9000, 60, float64(k)/4) / 4
		}

		a := cmplx.Abs(r.Orders(2, 9000, 60)[2])
		q := p / (a * a / 2)
		sum += q / runs
		square += q * q / runs
	}

	se := math.Sqrt((square - sum*sum) / runs)

	// ±3 Hz holds all but 3 % of the modulation (Lorentzian, corner 0.32 Hz,
	// 7 % of 0.16 beyond it).
	want = 1 + 0.16*slowPower(0.5)
	assert.InDelta(t, want, sum, 4*se+0.012, "modulated power over steady power")
	assert.LessOrEqual(t, se, 0.05, "standard error")
}

// Expected: by contract a run depends on seed and condition only.
func TestRotorRunsAreIndependent(t *testing.T) {
	all := with(DefaultRotor(), func(r *Rotor) { r.DurationS = 0.5 })
	want := recordWAV(t, all, 31) // 4 blades, 2500 rpm
	one := with(DefaultRotor(), func(r *Rotor) {
		r.DurationS = 0.5
		r.Blades = []int{4}
		r.RPM = []float64{2500}
		r.ThetaDeg = []float64{10, -60}
	})
	got := recordWAV(t, one, 0)
	for i, c := range []int{7, 0} {
		require.True(t, slices.Equal(want.x[c], got.x[i]), "θ = %g: the samples are the same", one.ThetaDeg[i])
	}

	// A longer recording begins like a shorter one but for the drift, which
	// spans the recording.
	long := with(DefaultRotor(), func(r *Rotor) {
		r.DurationS = 2
		r.SpeedDrift = 0
	})
	short := with(DefaultRotor(), func(r *Rotor) {
		r.DurationS = 0.3
		r.SpeedDrift = 0
	})
	a := recordWAV(t, long, 3)
	b := recordWAV(t, short, 3)
	require.Equal(t, b.x[5], a.x[5][:len(b.x[5])], "the beginning of a longer recording")

	other := with(DefaultRotor(), func(r *Rotor) {
		r.DurationS = 0.5
		r.Seed = 1
	})
	assert.False(t, bytes.Equal(record(t, other, 31), record(t, all, 31)), "recordings of two seeds are equal")
}

// Expected: sim.py's structure: one imbalance per rotor (blade number), rising
// with the square of the speed and cos θ, the same in all its runs.
func TestImbalanceBelongsToRotor(t *testing.T) {
	r := with(DefaultRotor(), func(r *Rotor) { r.Seed = 9 })
	a := r.Orders(3, 3000, 0)
	b := r.Orders(3, 6000, 60)
	for _, k := range []int{1, 2, 4, 29} { // no blade tones
		d := cmplx.Abs(b[k] - a[k]*4*0.5)
		assert.LessOrEqual(t, d, 1e-12*cmplx.Abs(b[k]), "order %d", k)
	}

	c := r.Orders(4, 3000, 0)
	assert.NotEqual(t, a[1], c[1], "imbalances of two rotors")
}

// The defaults, the greatest rate with a long recording, and a sensitive microphone are valid.
func TestRotorValid(t *testing.T) {
	for _, r := range []Rotor{
		DefaultRotor(),
		with(DefaultRotor(), func(r *Rotor) {
			r.RateHz = 51200
			r.DurationS = 16
			r.Encoding = EncodingFloat32
		}),
		with(DefaultRotor(), func(r *Rotor) {
			r.FullScaleV = 0.5
			r.SensitivityVPerPa = 0.5
		}),
	} {
		assert.NoError(t, r.Validate())
	}
}

// Settings that no campaign can have are errors that name each setting and what was expected.
func TestRotorRefused(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		r    Rotor
		want []string
	}{
		{with(DefaultRotor(), func(r *Rotor) { r.RateHz = 10240.5 }), []string{"RateHz", "whole number", "10240.5"}},
		{
			with(DefaultRotor(), func(r *Rotor) {
				r.RateHz = nan
				r.DurationS = -1
			}),
			[]string{"RateHz", "NaN", "DurationS", "-1"},
		},
		{
			with(DefaultRotor(), func(r *Rotor) { r.Encoding = "pcm24" }),
			[]string{"Encoding", "pcm16 or float32", `"pcm24"`},
		},
		{with(DefaultRotor(), func(r *Rotor) { r.Blades = []int{2, 0} }), []string{"Blades[1]", "1 to 30", "found 0"}},
		{
			with(DefaultRotor(), func(r *Rotor) {
				r.Blades = []int{2, 2}
				r.RPM = []float64{-3, nan}
			}),
			[]string{"Blades[1]: expected every number once", "RPM[0]", "RPM[1]"},
		},
		{
			with(DefaultRotor(), func(r *Rotor) { r.RPM = []float64{2000, 2000} }),
			[]string{"RPM[1]: expected every speed once"},
		},
		{
			with(DefaultRotor(), func(r *Rotor) { r.ThetaDeg = []float64{0, 0} }),
			[]string{"ThetaDeg[1]: expected every angle once"},
		},
		{with(DefaultRotor(), func(r *Rotor) { r.ThetaDeg = []float64{181} }), []string{"ThetaDeg[0]"}},
		{
			with(DefaultRotor(), func(r *Rotor) {
				r.FullScaleV = -1
				r.SensitivityVPerPa = math.Inf(1)
			}),
			[]string{"FullScaleV", "SensitivityVPerPa"},
		},
		{
			with(DefaultRotor(), func(r *Rotor) { r.FullScaleV = 0.005 }),
			[]string{"FullScaleV: expected at least", "does not clip", "found 0.005 V"},
		},
		{
			with(DefaultRotor(), func(r *Rotor) { r.Draws = []string{"a"} }),
			[]string{"Draws: expected none, or one for each speed, found 1"},
		},
		{with(DefaultRotor(), func(r *Rotor) { r.SpeedJitter = 2 }), []string{"SpeedJitter", "0 to 0.5"}},
		{with(DefaultRotor(), func(r *Rotor) {
			r.RateHz = 51200
			r.DurationS = 3600
		}), []string{"DurationS: expected at most 3226 s", "4 GiB"}},
		{with(DefaultRotor(), func(r *Rotor) { r.DurationS = 1e-5 }), []string{"at least 2 samples"}},
	} {
		for _, part := range c.want {
			assert.ErrorContains(t, c.r.Validate(), part)
		}
	}
}

// A recording that would clip is an error with its place and never a clipped file. Unusable settings and a cancelled
// context are errors too.
func TestRotorWriteErrors(t *testing.T) {
	loud := with(DefaultRotor(), func(r *Rotor) {
		r.FullScaleV = 0.001
		r.DurationS = 1
	})
	err := loud.Write(context.Background(), io.Discard, 59)
	assert.ErrorContains(t, err, "beyond full scale, 0.02 Pa: raise FullScaleV")

	bad := with(DefaultRotor(), func(r *Rotor) { r.Encoding = "mp3" })
	err = bad.Write(context.Background(), io.Discard, 0)
	assert.Error(t, err, "an unknown encoding")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	err = DefaultRotor().Write(ctx, io.Discard, 0)
	assert.ErrorIs(t, err, context.Canceled, "cancelled")
}

// A campaign has no file behind its last one, and none before its first one.
func TestNoSuchFile(t *testing.T) {
	for _, c := range []Campaign{DefaultRotor(), DefaultAirfoil(), DefaultToy()} {
		last := len(c.Files()) - 1
		for _, i := range []int{-1, last + 1} {
			err := c.Write(context.Background(), io.Discard, i)
			assert.EqualError(t, err, fmt.Sprintf("%s: expected a file from 0 to %d, found %d", c.Kind(), last, i))
		}
	}
}

// Expected: memory does not grow with the recording.
func TestRotorMemoryIsBounded(t *testing.T) {
	allocated := func(duration float64) uint64 {
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)

		r := with(DefaultRotor(), func(r *Rotor) { r.DurationS = duration })
		require.NoError(t, r.Write(context.Background(), io.Discard, 0))

		runtime.ReadMemStats(&b)

		return b.TotalAlloc - a.TotalAlloc
	}

	short := allocated(0.1)
	long := allocated(4)
	ingesttest.ReportBound(t, "bytes allocated for a recording of 4 s", long, short+100_000)
	ingesttest.ReportBound(t, "bytes allocated for a recording of 0.1 s", short, 4<<20)
}

// Any valid small campaign gives well-formed files of the announced size,
// unchanged when made again.
func TestRotorAnyCampaign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := with(DefaultRotor(), func(r *Rotor) {
			r.Seed = rapid.Uint64().Draw(t, "seed")
			r.RateHz = float64(rapid.IntRange(1000, 60000).Draw(t, "rate"))
			r.DurationS = rapid.Float64Range(0.01, 0.03).Draw(t, "duration")
			r.Encoding = rapid.SampledFrom([]string{EncodingPCM16, EncodingFloat32}).Draw(t, "encoding")
			r.Blades = []int{rapid.IntRange(1, 30).Draw(t, "blades")}
			r.RPM = []float64{rapid.Float64Range(1, 12000).Draw(t, "rpm")}
			r.ThetaDeg = steps(-30, float64(-30+5*rapid.IntRange(0, 6).Draw(t, "angles")), 5)
			r.FullScaleV = 10
		})

		require.NoError(t, r.Validate())

		var a, b bytes.Buffer
		require.NoError(t, errors.Join(r.Write(context.Background(), &a, 0), r.Write(context.Background(), &b, 0)))

		require.Equal(t, b.Bytes(), a.Bytes(), "the file made again")

		w, err := readWAV(a.Bytes())
		require.NoError(t, err)

		require.Equal(t, len(r.ThetaDeg), int(w.channels))
		require.Len(t, w.x[len(w.x)-1], int(math.Round(r.RateHz*r.DurationS)))

		for _, x := range w.x {
			largest := 0.0 // NaN if a sample is
			for _, v := range x {
				largest = max(largest, math.Abs(v))
			}

			require.LessOrEqual(t, largest, 1.0, "the largest sample, as a part of full scale")
		}
	})
}
