package stats

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/text"
	"doubletake/ingest/format/wav"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func openWAV(w ingesttest.WAV) (ingest.Reader, error) {
	return wav.Format.Open(ingesttest.Source(w.Bytes()), ingest.Options{})
}

func openText(s string) (ingest.Reader, error) {
	return text.Format.Open(ingesttest.Source([]byte(s)), ingest.Options{})
}

// By hand: twice 1.7e308 is more than float64 can hold, so that neither mean nor deviation is known.
func TestScanOfOverflowingSums(t *testing.T) {
	samples := ingesttest.NewMemory([]float64{-1.7e308, 1.7e308, 1.7e308})
	s, _, err := Scan(context.Background(), samples, ingest.Run{Row1: -1})
	require.NoError(t, err)

	assert.False(t, isFinite(s[0].Mean), "mean %g", s[0].Mean)
	assert.True(t, math.IsNaN(s[0].Std), "deviation %g", s[0].Std)
	assert.InEpsilon(t, 1.7e308, s[0].Max, 1e-15)
}

// The expected mean, deviation and rms are computed from sums of 200 bits. The
// offset would cost a naive sum of squares every digit.
func TestScanStatistics(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	for _, offset := range []float64{0, 1, 1e9, -1e9} {
		x := make([]float64, 3*scanBlock+17)
		for i := range x {
			x[i] = offset + g.NormFloat64()
		}

		s, _, err := Scan(context.Background(), ingesttest.NewMemory(x), ingest.Run{Row1: -1})
		require.NoError(t, err)

		f := func(v float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(v) }
		sum := f(0)
		sq := f(0)
		for _, v := range x {
			sum.Add(sum, f(v))
			sq.Add(sq, f(0).Mul(f(v), f(v)))
		}

		n := f(float64(len(x)))
		mean := f(0).Quo(sum, n)
		ms := f(0).Quo(sq, n)
		variance, _ := f(0).Sub(ms, f(0).Mul(mean, mean)).Float64()
		wantMean, _ := mean.Float64()

		rms2, _ := ms.Float64()
		assert.InDelta(t, wantMean, s[0].Mean, 1e-14*(1+math.Abs(offset)), "offset %g", offset)
		assert.InDelta(t, math.Sqrt(variance), s[0].Std, 1e-12, "offset %g", offset)
		assert.InDelta(t, math.Sqrt(rms2), s[0].RMS, 1e-14*(1+math.Abs(offset)), "offset %g", offset)
	}
}

// The expected counts of clipped and of equal samples follow a plain definition.
func TestScanCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "n")
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(rapid.IntRange(-2, 2).Draw(rt, "x"))
		}

		m := ingesttest.NewMemory(x)
		m.Step = 1
		s, _, err := Scan(context.Background(), m, ingest.Run{Row1: -1})
		require.NoError(rt, err)

		lo := x[0]
		hi := x[0]
		for _, v := range x {
			lo = min(lo, v)
			hi = max(hi, v)
		}

		var clipped, longest int64
		for i := 0; i < n; {
			j := i
			for j < n && x[j] == x[i] {
				j++
			}

			longest = max(longest, int64(j-i))

			isStretch := j-i >= 3
			isExtreme := x[i] == lo || x[i] == hi
			if isStretch && isExtreme && lo < hi {
				clipped += int64(j - i)
			}

			i = j
		}

		require.Equal(rt, clipped, s[0].Clipped)
		require.Equal(rt, longest, s[0].Constant)
		require.InDelta(rt, lo, s[0].Min, 0)
		require.InDelta(rt, hi, s[0].Max, 0)
		require.Equal(rt, int64(n), s[0].Samples)
		require.Equal(rt, int64(-1), s[0].FirstNaN)
	})
}

// A sample that is not finite is an error with the channel and the number of the sample in the file. Outside of the
// interval, or in a channel that is not used, it does no harm.
func TestScanNaN(t *testing.T) {
	const badSample = scanBlock + 7 // in the second block
	place := fmt.Sprintf("channel Fx, sample %d", badSample)

	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := make([]float64, scanBlock+100)
		y := make([]float64, scanBlock+100)
		x[badSample] = bad
		m := ingesttest.NewMemory(x, y)
		m.Header.Channels[0].Name = "Fx"
		s, _, err := Scan(context.Background(), m, ingest.Run{Row1: -1})
		ingesttest.WantDataError(t, s, err, place, "a finite number")

		// In a run with an interval, the number counts from the file's first sample, too.
		s, _, err = Scan(context.Background(), m, ingest.Run{
			Row0: badSample - 99, Row1: badSample + 51, Recordings: []ingest.Recording{{Channels: []int{0}}},
		})
		ingesttest.WantDataError(t, s, err, place)

		// The run uses only the other channel.
		_, _, err = Scan(context.Background(), m,
			ingest.Run{Row1: -1, Recordings: []ingest.Recording{{Channels: []int{1}}}})
		assert.NoError(t, err)

		// The interval of the run ends before the sample.
		_, _, err = Scan(context.Background(), m, ingest.Run{Row0: 10, Row1: badSample})
		assert.NoError(t, err)
	}
}

// In a text file, a cell that is not a number does no harm in a column that is not used. In a column that is used it is
// an error with its line. The cell "nan" is a number that is not finite.
func TestScanBadCell(t *testing.T) {
	table := "a,b\n1,2\n3,nan\n5,6\n7,8\n9,1\n"
	r, err := openText(table)
	require.NoError(t, err)

	s, _, err := Scan(context.Background(), r, ingest.Run{Row1: -1})
	ingesttest.WantDataError(t, s, err, "channel b, sample 1", "NaN")

	r, err = openText(strings.Replace(table, "nan", "off", 1))
	require.NoError(t, err)

	s, _, err = Scan(context.Background(), r,
		ingest.Run{Row1: -1, Recordings: []ingest.Recording{{Channels: []int{0}}}})
	require.NoError(t, err)
	assert.InDelta(t, 5.0, s[0].Mean, 0, "mean of 1, 3, 5, 7 and 9")

	s, _, err = Scan(context.Background(), r, ingest.Run{Row1: -1})
	ingesttest.WantDataError(t, s, err, `line 3, column 2 (b): expected a number, found "off"`)
}

// fullScale16 is the largest value of 16-bit samples.
const fullScale16 = math.MaxInt16

// quantum16 is the step of 16-bit samples that are scaled to −1…1.
const quantum16 = 1. / (fullScale16 + 1)

// wholeNoise returns n whole numbers of normal noise with the given deviation.
func wholeNoise(n int, deviation float64) []float64 {
	g := rand.New(rand.NewPCG(9, 9))
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Round(deviation * g.NormFloat64())
	}

	return x
}

// clipped16 returns samples that are clipped at ±limit and scaled to −1…1, as a reader of 16-bit samples does.
func clipped16(x []float64, limit float64) []float64 {
	clipped := make([]float64, len(x))
	for i, v := range x {
		clipped[i] = max(-limit, min(limit, v)) * quantum16
	}

	return clipped
}

// heldValues returns each value the given number of times.
func heldValues(x []float64, times int) []float64 {
	var held []float64
	for _, v := range x {
		held = append(held, slices.Repeat([]float64{v}, times)...)
	}

	return held
}

// Expected: each channel gives the warning that its samples were made for, or none.
func TestWarningsOfSamples(t *testing.T) {
	const n = 4000

	// The deviation of the noise that is clipped. A limit of 4000, or 0.8 deviations, clips 42 % of a normal variable. A
	// limit of 3000 clips 55 %.
	const loud = 5000

	slowWave := make([]float64, n) // near its peaks, many neighbours round to one value
	for i := range slowWave {
		slowWave[i] = math.Round(1000*math.Sin(float64(i)*0.003)) * quantum16
	}

	for _, c := range []struct {
		name, want string
		x          []float64
		step       float64
	}{
		{"noise", "", clipped16(wholeNoise(n, 1000), fullScale16), quantum16},
		{"clipped below full scale", "clipping", clipped16(wholeNoise(n, loud), 4000), quantum16},
		{"a slow wave", "", slowWave, quantum16},
		{"clipped floats", "clipping", clipped16(wholeNoise(n, loud), 4000), 0},
		{"floats", "", wholeNoise(n, loud), 0},
		{"a slow wave of floats", "", slowWave, 0},
		{"stuck", "stuck-column", make([]float64, minStuck), quantum16},
		{"too few to be stuck", "", make([]float64, minStuck-1), 0},
		{"a slow source that holds its values", "", heldValues(wholeNoise(n/100, loud), 100), 0},
		{
			"a slow source of integers", "", heldValues(clipped16(wholeNoise(n/100, 1000), fullScale16), 100),
			quantum16,
		},
		{"whole numbers below 2^53", "", []float64{0, 1<<53 - 1, 3, 7}, 0},
		{"2^53, which may have been 2^53 + 1", "large-integers", []float64{0, 1 << 53, 3, 7}, 0},
		{"clipped half of the time", "clipping", clipped16(wholeNoise(n, loud), 3000), 0},
	} {
		m := ingesttest.NewMemory(c.x)
		m.Step = c.step
		_, w, err := Scan(context.Background(), m, ingest.Run{Row1: -1})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, ingesttest.Codes(w), c.name)
	}
}

// A sine with an amplitude of 50,000 in a WAV file of 16 bits is clipped at the limits of the format. Expected: the
// number of samples at the two limits. They are in stretches of more than minPlateau samples.
func TestClippedWAV(t *testing.T) {
	x := make([]int16, 200)
	clipped := int64(0)
	for i := range x {
		x[i] = int16(max(math.MinInt16, min(fullScale16, math.Round(50000*math.Sin(float64(i)*0.2)))))
		if x[i] == math.MinInt16 || x[i] == fullScale16 {
			clipped++
		}
	}

	r, err := openWAV(ingesttest.PCM16(1, x...))
	require.NoError(t, err)

	s, w, err := Scan(context.Background(), r, ingest.Run{Row1: -1})
	require.NoError(t, err)
	assert.Equal(t, "clipping", ingesttest.Codes(w))
	assert.Equal(t, clipped, s[0].Clipped)
}

// Scan reads the interval and the channels of the run, in the order of the recordings. The expected means were
// computed by hand. Intervals and channels that the file does not have are errors.
func TestScanRun(t *testing.T) {
	m := ingesttest.NewMemory([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, []float64{0, 0, 0, 0})
	s, _, err := Scan(context.Background(), m,
		ingest.Run{Row0: 1, Row1: 3, Recordings: []ingest.Recording{{Channels: []int{1, 0}}}})
	require.NoError(t, err)
	require.Len(t, s, 2)
	assert.InDelta(t, 6.5, s[0].Mean, 0)
	assert.InDelta(t, 2.5, s[1].Mean, 0)
	assert.Equal(t, int64(2), s[0].Samples)

	s, _, err = Scan(context.Background(), m, ingest.Run{Row0: 1, Row1: 5})
	ingesttest.WantDataError(t, s, err, "4 samples")
	s, _, err = Scan(context.Background(), m, ingest.Run{Row0: 4, Row1: -1})
	ingesttest.WantDataError(t, s, err, "at least one sample")
	s, _, err = Scan(context.Background(), m, ingest.Run{Row1: -1, Recordings: []ingest.Recording{{Channels: []int{3}}}})
	ingesttest.WantDataError(t, s, err, "channel 4")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	_, _, err = Scan(ctx, m, ingest.Run{Row1: -1})
	assert.ErrorIs(t, err, context.Canceled)
}

// A scan of float32 samples in vectors agrees with a scan of the same samples as float64, which looks at each sample.
// Counts are equal, and moments agree to rounding.
func TestScanFastAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const (
		chans = 9
		n     = 3*scanBlock + 100
	)
	x := make([][]float64, chans)
	data := make([]byte, 0, 4*n*chans)

	for c := range x {
		x[c] = make([]float64, n)
	}

	for k := range n {
		for c := range x {
			v := float32(rng.NormFloat64())
			if c%3 == 1 { // many equal neighbours
				v = float32(math.Round(2 * float64(v)))
			}

			// Four samples at an extreme, within a block and across the edge of two blocks.
			isInside := c == 2 && k > 9000 && k < 9005
			isOverEdge := c == 5 && k >= scanBlock-2 && k < scanBlock+2
			if isInside || isOverEdge {
				v = 7
			}

			x[c][k] = float64(v)
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}

	rd, err := openWAV(ingesttest.Float32WAV(chans, data))
	require.NoError(t, err)

	got, _, err := Scan(context.Background(), rd, ingest.Run{Row1: -1})
	require.NoError(t, err)

	want, _, err := Scan(context.Background(), ingesttest.NewMemory(x...), ingest.Run{Row1: -1})
	require.NoError(t, err)

	for c := range want {
		g := got[c]
		w := want[c]
		assert.InDelta(t, w.Mean, g.Mean, 1e-14, "channel %d", c)
		assert.InDelta(t, w.Std, g.Std, 1e-14*w.Std, "channel %d", c)
		assert.InDelta(t, w.RMS, g.RMS, 1e-14*w.RMS, "channel %d", c)

		g.Mean = w.Mean
		g.Std = w.Std
		g.RMS = w.RMS
		assert.Equal(t, w, g, "channel %d", c)
	}
}

// Scan does not read channels whose length differs from the length of the run's channels. If the channels of a run have
// different lengths, it returns an error. The expected numbers were computed by hand.
func TestScanLengths(t *testing.T) {
	m := ingesttest.NewMemory([]float64{1, 2}, []float64{3, 4, 5}, []float64{6, 7, 9})
	for c, n := range []int64{2, 3, 3} {
		m.Header.Channels[c].Samples = n
	}

	run := func(channels ...int) ingest.Run {
		return ingest.Run{Row1: -1, Recordings: []ingest.Recording{{Channels: channels}}}
	}
	s, _, err := Scan(t.Context(), m, run(2, 1))
	require.NoError(t, err)
	require.Len(t, s, 2)
	assert.InDelta(t, 9.0, s[0].Max, 0)
	assert.InDelta(t, 4.0, s[1].Mean, 0)
	assert.Equal(t, int64(3), s[1].Samples)

	s, _, err = Scan(t.Context(), m, run(1, 0))
	ingesttest.WantDataError(t, s, err, "one length", "2 samples")
}

// A motor that stands still half of the time gives zeros, and less gain would not change them: the warning asks what
// they are. A signal that rests at another level is clipped.
func TestRestAtZero(t *testing.T) {
	const running = 4000.0 // the mean while the motor runs

	for _, c := range []struct {
		low  float64 // the value of the first half
		want string
	}{
		{0, "was it off, or is it cut off below 0?"},
		{10, "is clipped"},
	} {
		rng := rand.New(rand.NewPCG(68, 5))
		x := make([]float64, 2000)
		for i := range x {
			x[i] = c.low
			if i >= len(x)/2 {
				x[i] = running + 100*rng.NormFloat64()
			}
		}

		_, warnings, err := Scan(context.Background(), ingesttest.NewMemory(x), ingest.Run{Row1: -1})
		require.NoError(t, err)
		assert.Contains(t, fmt.Sprint(warnings), c.want, "low value %g", c.low)
	}
}
