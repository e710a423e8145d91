package dsp

import (
	"context"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// broken is a Source that fails, and counts the reads.
type broken struct{ asked int }

func (b *broken) Read([]int, int64, [][]float64) (int, error) {
	b.asked++
	return 0, io.ErrClosedPipe
}

// An error of the source is passed on. A cancelled context ends the analysis before anything is read.
func TestSourceErrorsAndCancel(t *testing.T) {
	s := rotorAt(memory{make([]float64, 51200)}, 6400, 2, 100)
	_, err := NewAnalyser().run(t.Context(), &broken{}, s)
	assert.ErrorIs(t, err, io.ErrClosedPipe)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	src := &broken{}
	_, err = NewAnalyser().run(ctx, src, s)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 0, src.asked)
}

// ordered is a Source that checks how it is read: forwards, each sample once, and two segments at a time.
type ordered struct {
	memory
	t    *testing.T
	next int64 // first sample that was not read yet
	size int   // samples of two segments
}

func (o *ordered) Read(channels []int, start int64, dst [][]float64) (int, error) {
	require.GreaterOrEqual(o.t, start, o.next, "read")
	assert.Len(o.t, dst[0], o.size, "read")

	o.next = start + int64(len(dst[0]))

	return o.memory.Read(channels, start, dst)
}

// A run is an interval of the source: samples before and after it do not change the result. An Analyser gives the same
// result after another run, and that result does not change when the Analyser goes on.
func TestIntervalAndReuse(t *testing.T) {
	x := spinningRotor{
		rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
		fallDB: 3, sideDB: 20, noise: 0.5, seed: 1,
	}.samples()
	cut := memory{x}
	padded := memory{slices.Concat(noise(777, 4), x, noise(999, 5))}
	s := rotorAt(cut, 6400, 2, 100)
	want := analyse(t, cut, s)
	a := NewAnalyser()
	long := rotorAt(cut, 6400, 2, 100, func(s *Settings) { s.Segments = 4 })
	long.Start = 100
	long.Samples = 20000
	_, err := a.run(t.Context(), padded, long)
	require.NoError(t, err)

	s.Start = 777
	got, err := a.run(t.Context(), &ordered{memory: padded, t: t, size: 2 * int(6400/want.BinHz)}, s)
	require.NoError(t, err)
	assert.Equal(t, want, got, "results differ")

	_, err = a.run(t.Context(), padded, long)
	require.NoError(t, err)
	assert.Equal(t, want, got, "a later run changed an earlier result")
}

// The factor to the physical unit multiplies powers by its square, and changes nothing else. With a nominal speed, a
// channel has the same results with and without the other channel.
func TestScaleAndChannels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "log2 scale")) // exact
		seed := rapid.Uint64().Draw(t, "seed")
		src := memory{
			spinningRotor{
				rate: 1600, seconds: 4, blades: 2, shaft: constant(50),
				fallDB: 3, sideDB: 20, noise: 0.3, seed: seed,
			}.samples(), spinningRotor{
				rate: 1600, seconds: 4, blades: 2, shaft: constant(50),
				fallDB: 6, sideDB: 10, noise: 0.6, seed: seed + 1,
			}.samples(),
		}
		s := rotorAt(src, 1600, 2, 50, func(s *Settings) { s.Speed = "nominal" })
		both, err := NewAnalyser().run(context.Background(), src, s)
		require.NoError(t, err)

		s.Microphones = s.Microphones[1:]
		s.Microphones[0].Scale = scale
		alone, err := NewAnalyser().run(context.Background(), src, s)
		require.NoError(t, err)

		for h := range 2 {
			for m, l := range alone.Channels[0].Halves[h].Lines {
				want := both.Channels[1].Halves[h].Lines[m]
				require.InDelta(t, want.Power*scale*scale, l.Power, 0, "half %d, harmonic %d", h, m+1)
				require.InDelta(t, want.Floor*scale*scale, l.Floor, 0, "half %d, harmonic %d", h, m+1)
				require.InDelta(t, want.Rho, l.Rho, 0, "half %d, harmonic %d", h, m+1)
				require.InDelta(t, want.PeakHz, l.PeakHz, 1e-9, "half %d, harmonic %d", h, m+1)
			}
		}
	})
}

// A run without microphones has no segments, and is an error.
func TestSegmentsWithoutMicrophones(t *testing.T) {
	_, err := (&Run{}).segments(floorMinBins, "")
	assert.ErrorContains(t, err, "expected at least one microphone, found none")
}
