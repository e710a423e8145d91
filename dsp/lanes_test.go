package dsp

import (
	"io"
	"math"
	"testing"

	"doubletake/dsp/kernel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// power returns the mean of the power spectra of contiguous segments of x. As an Analyser does, it transforms two
// segments at a time if there are lanes for their length.
func power(w *Welch, x []float64, segments int) []float64 {
	dst := make([]float64, w.Bins())
	n := w.n
	if w.lanes != nil {
		sum := make([]float64, n)
		for s := 0; s < segments; s += 2 {
			a := x[s*n : (s+1)*n]
			b := make([]float64, n)
			if s+1 < segments {
				b = x[(s+1)*n : (s+2)*n]
			}

			w.lanes.powers(sum, nil, nil, pairInput(a, b, kernel.Sum(a)/float64(n), kernel.Sum(b)/float64(n), w.lanes.window))
		}

		w.fold(dst, sum, 1/float64(segments))

		return dst
	}

	for s := range segments {
		for k, p := range w.SegmentPower(nil, x[s*n:(s+1)*n]) {
			dst[k] += p / float64(segments)
		}
	}

	return dst
}

// The spectra of two segments in one transform are right. Expected: the spectra of the segments one by one, which
// TestWelchGolden compares with scipy's. Some lengths are odd or need overlapping blocks of lanes, and some numbers of
// segments are odd.
func TestPairsAgreeWithSingles(t *testing.T) {
	for _, n := range []int{64, 72, 81, 100, 360, 1000, 1024, 2025, 3600, 6400} {
		for _, segments := range []int{1, 2, 3, 8} {
			x := noise(n*segments+5, uint64(n))
			for i := range x {
				x[i] += 3 // a mean, which both ways must remove
			}

			w := NewWelch(n)
			require.NotNil(t, w.lanes, "%d points: no lanes", n)

			got := power(w, x, segments)
			want := make([]float64, w.Bins())

			top := 0.0
			for s := range segments {
				for k, p := range w.SegmentPower(nil, x[s*n:(s+1)*n]) {
					want[k] += p / float64(segments)
					top = max(top, want[k])
				}
			}

			for k := range want {
				if !near(got[k], want[k], 1e-13*top) {
					t.Fatalf("%d points, %d segments, bin %d: %g, expected %g", n, segments, k, got[k], want[k])
				}
			}
		}
	}
}

// All sets of kernels give the same bits, so that levels do not depend on the machine.
func TestSetsGiveTheSameBits(t *testing.T) {
	for _, n := range []int{64, 81, 1000, 6000, 51200} {
		x := noise(4*n, 1)

		var want []float64
		for _, set := range kernelSets() {
			t.Setenv(kernel.EnvVar, set.Name)

			got := power(NewWelch(n), x, 4)
			for _, c := range NewFFT(n).Coefficients(nil, x[:n]) {
				got = append(got, real(c), imag(c))
			}

			if want == nil {
				want = got
			}

			for k := range want {
				if math.Float64bits(got[k]) != math.Float64bits(want[k]) {
					t.Fatalf("%d points, %s: number %d is %v, expected %v", n, set.Name, k, got[k], want[k])
				}
			}
		}
	}
}

// memory32 is a Source32 of numbers that are float32.
type memory32 struct {
	memory
	t *testing.T
}

func (m memory32) Exact32() bool { return true }

func (m memory32) Read([]int, int64, [][]float64) (int, error) {
	m.t.Error("read as float64")
	return 0, io.EOF
}

func (m memory32) Read32(channels []int, start int64, dst [][]float32) (int, error) {
	wide := make([][]float64, len(dst))
	for i := range wide {
		wide[i] = make([]float64, len(dst[i]))
	}

	n, err := m.memory.Read(channels, start, wide)

	for i := range wide {
		for k, v := range wide[i] {
			dst[i][k] = float32(v)
		}
	}

	return n, err
}

// A source of float32 samples gives the same results as the same samples read as float64, whether the number of
// segments is even or odd.
func TestFloat32SourceGivesTheSame(t *testing.T) {
	for _, segments := range []int{5, 8} {
		x := memory{spinningRotor{
			rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
			fallDB: 3, sideDB: 20, noise: 0.5, seed: 1,
		}.samples(), spinningRotor{
			rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
			fallDB: 3, sideDB: 10, noise: 0.5, seed: 2,
		}.samples()}
		for _, c := range x {
			for i, v := range c {
				c[i] = float64(float32(v))
			}
		}

		s := rotorAt(x, 6400, 2, 100, func(s *Settings) { s.Segments = segments })
		s.Microphones[1].Scale = 0.3

		want := analyse(t, x, s)

		got, err := NewAnalyser().run(t.Context(), memory32{x, t}, s)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d segments: results differ", segments)
	}
}

// planes is a Source whose channels are stored one after the other. It records the largest number of channels of one
// read.
type planes struct {
	memory
	most *int
}

func (p planes) ByChannel() bool { return true }

func (p planes) Read(channels []int, start int64, dst [][]float64) (int, error) {
	*p.most = max(*p.most, len(channels))
	return p.memory.Read(channels, start, dst)
}

// A source that stores its channels one after the other is read channel by channel. Expected: the results of a source
// that is read with all channels together.
func TestByChannelGivesTheSame(t *testing.T) {
	for _, segments := range []int{1, 5, 8} {
		x := memory{
			spinningRotor{
				rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
				fallDB: 3, sideDB: 20, noise: 0.5, seed: 1,
			}.samples(), spinningRotor{
				rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
				fallDB: 3, sideDB: 10, noise: 0.5, seed: 2,
			}.samples(),
			spinningRotor{
				rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
				fallDB: 3, sideDB: 5, noise: 0.5, seed: 3,
			}.samples(),
		}

		s := rotorAt(x, 6400, 2, 100, func(s *Settings) { s.Segments = segments })
		for i, scale := range []float64{1, 0.3, 2} {
			s.Microphones[i].Channel = (i + 2) % 3
			s.Microphones[i].Scale = scale
		}

		want := analyse(t, x, s)
		most := 0
		got, err := NewAnalyser().run(t.Context(), planes{x, &most}, s)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d segments: results differ", segments)
		assert.Equal(t, 1, most, "%d segments: channels were read at a time", segments)
	}
}

// A segment in which all samples are equal has no power. It shares its transform with a segment of sound, whose
// rounding errors must not appear as power. Nor may the run be flagged as changing.
func TestSilentSegment(t *testing.T) {
	x := spinningRotor{
		rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
		fallDB: 3, sideDB: 20, noise: 0.5, seed: 1,
	}.samples()
	n := len(x) / 16
	for i := 5 * n; i < 6*n; i++ {
		x[i] = 0.125
	}

	a := NewAnalyser()
	run, err := a.run(t.Context(), memory{x}, rotorAt(memory{x}, 6400, 2, 100))
	require.NoError(t, err)

	for k, p := range a.segs[0][5][0] {
		require.Equal(t, float32(0), p, "bin %d of the silent segment", k)
	}

	for _, f := range run.Flags {
		require.NotEqual(t, "harmonic-drift", f.Code, "flagged: %s %s", f.Code, f.Text)
		assert.NotEqual(t, "trend", f.Code, "flagged: %s %s", f.Code, f.Text)
	}
}

// The transform of a pair of segments allocates nothing.
func TestPowerAllocations(t *testing.T) {
	const n = 6400
	p := NewWelch(n).lanes
	x := noise(2*n, 1)
	sum := make([]float64, n)
	assert.Equal(t, 0.0, testing.AllocsPerRun(5, func() {
		p.powers(sum, nil, nil, pairInput(x[:n], x[n:], 0, 0, p.window))
	}), "allocations")
}

// kernelSets returns the sets that run on this machine, the fastest first.
func kernelSets() []*kernel.Set {
	if best := kernel.Best(); best.Name != "portable" {
		return []*kernel.Set{best, kernel.Portable()}
	}

	return []*kernel.Set{kernel.Portable()}
}
