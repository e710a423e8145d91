package dsp

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"testing"
	"time"

	"doubletake/dsp/kernel"
)

// Expected values: one-by-one powers, whose spectra the golden test ties to
// scipy; lengths that need overlapping blocks among them, odd ones, and an odd
// number of segments.
func TestPairsAgreeWithSingles(t *testing.T) {
	for _, n := range []int{64, 72, 81, 100, 360, 1000, 1024, 2025, 3600, 6400} {
		for _, segments := range []int{1, 2, 3, 8} {
			x := noise(n*segments+5, uint64(n))
			for i := range x {
				x[i] += 3 // the mean is removed
			}

			w := NewWelch(n)
			if w.lanes == nil {
				t.Fatalf("%d points: no lanes", n)
			}

			got := w.Power(nil, x, segments)
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
					t.Fatalf("%d points, %d segments, bin %d: %g, want %g", n, segments, k, got[k], want[k])
				}
			}
		}
	}
}

// Expected values: the portable set's, to the bit: levels must not depend on
// the machine.
func TestSetsGiveTheSameBits(t *testing.T) {
	for _, n := range []int{64, 81, 1000, 6000, 51200} {
		x := noise(4*n, 1)

		var want []float64
		for _, set := range kernelSets[float64]() {
			t.Setenv(kernel.EnvVar, set.Name)

			got := NewWelch(n).Power(nil, x, 4)
			for _, c := range NewFFT(n).Coefficients(nil, x[:n]) {
				got = append(got, real(c), imag(c))
			}

			if want == nil {
				want = got
			}

			for k := range want {
				if math.Float64bits(got[k]) != math.Float64bits(want[k]) {
					t.Fatalf("%d points, %s: number %d is %v, want %v", n, set.Name, k, got[k], want[k])
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

// Expected values: the run read as float64. Nothing may depend on how samples
// that are float32 come, whatever the number of segments.
func TestFloat32SourceGivesTheSame(t *testing.T) {
	for _, segments := range []int{5, 8} {
		x := memory{spinning(6400, 4, 2, constant(100), 3, 20, 0.5, 1), spinning(6400, 4, 2, constant(100), 3, 10, 0.5, 2)}
		for _, c := range x {
			for i, v := range c {
				c[i] = float64(float32(v))
			}
		}

		s := rotorAt(x, 6400, 2, 100, func(s *Settings) { s.Segments = segments })
		s.Microphones[1].Scale = 0.3

		want := analyse(t, x, s)

		got, err := NewAnalyser().run(t.Context(), memory32{x, t}, s)
		if err != nil {
			t.Fatal(err)
		}

		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d segments: results differ", segments)
		}
	}
}

// planes is a Source whose channels lie one after the other; it counts how many
// are asked for at a time.
type planes struct {
	memory
	most *int
}

func (p planes) ByChannel() bool { return true }

func (p planes) Read(channels []int, start int64, dst [][]float64) (int, error) {
	*p.most = max(*p.most, len(channels))
	return p.memory.Read(channels, start, dst)
}

// Expected values: the run read with all channels together, in blocks of many
// segments. The order of reading changes nothing.
func TestByChannelGivesTheSame(t *testing.T) {
	for _, segments := range []int{1, 5, 8} {
		x := memory{
			spinning(6400, 4, 2, constant(100), 3, 20, 0.5, 1), spinning(6400, 4, 2, constant(100), 3, 10, 0.5, 2),
			spinning(6400, 4, 2, constant(100), 3, 5, 0.5, 3),
		}

		s := rotorAt(x, 6400, 2, 100, func(s *Settings) { s.Segments = segments })
		for i, scale := range []float64{1, 0.3, 2} {
			s.Microphones[i].Channel, s.Microphones[i].Scale = (i+2)%3, scale
		}

		want := analyse(t, x, s)
		most := 0
		got, err := NewAnalyser().run(t.Context(), planes{x, &most}, s)
		if err != nil {
			t.Fatal(err)
		}

		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d segments: results differ", segments)
		}

		if most != 1 {
			t.Errorf("%d segments: %d channels were read at a time", segments, most)
		}
	}
}

// Expected value: no flag of a change, no NaN. A segment without any sound has
// no level; its partner in the transform must not leave it one of rounding.
func TestSilentSegment(t *testing.T) {
	x := spinning(6400, 4, 2, constant(100), 3, 20, 0.5, 1)
	n := len(x) / 16
	for i := 5 * n; i < 6*n; i++ {
		x[i] = 0.125
	}

	a := NewAnalyser()
	run, err := a.run(t.Context(), memory{x}, rotorAt(memory{x}, 6400, 2, 100))
	if err != nil {
		t.Fatal(err)
	}

	for k, p := range a.segs[0][5][0] {
		if p != 0 {
			t.Fatalf("bin %d of the silent segment has %g", k, p)
		}
	}

	for _, f := range run.Flags {
		if f.Code == "harmonic-drift" || f.Code == "trend" {
			t.Errorf("flagged: %s %s", f.Code, f.Text)
		}
	}
}

func TestPowerAllocations(t *testing.T) {
	w, x := NewWelch(6400), noise(4*6400, 1)
	dst := make([]float64, w.Bins())
	if a := testing.AllocsPerRun(5, func() { w.Power(dst, x, 4) }); a != 0 {
		t.Errorf("%g allocations", a)
	}
}

func BenchmarkWelchPower(b *testing.B) {
	const n, segments = 51200, 8
	x := noise(n*segments, 1)
	for _, set := range kernelSets[float64]() {
		b.Run(fmt.Sprintf("%s/%d", set.Name, n), func(b *testing.B) {
			b.Setenv(kernel.EnvVar, set.Name)
			w := NewWelch(n)
			dst := make([]float64, w.Bins())
			b.SetBytes(4 * n * segments) // as float32 files have them
			least(b, segments, func() { w.Power(dst, x, segments) })
		})
	}

	// Two segments, as the Analyser transforms them, without the means.
	narrow := make([]float32, 2*n)
	for i := range narrow {
		narrow[i] = float32(x[i])
	}

	sum := make([]float64, n)
	for _, set := range kernelSets[float32]() {
		p := newLanePairs(n, set)
		b.Run(fmt.Sprintf("single/%s/%d", set.Name, n), func(b *testing.B) {
			least(b, 2, func() { powers(p.lanePlan, sum, nil, nil, narrow[:n], narrow[n:], 0, 0, p.window, false) })
		})
	}
}

// least measures f, and the least time it took for each of so many segments: other work
// on the machine disturbs that less.
func least(b *testing.B, segments int, f func()) {
	b.ReportAllocs()

	best := math.Inf(1)
	for b.Loop() {
		start := time.Now()
		f()
		best = min(best, float64(time.Since(start).Nanoseconds()))
	}

	b.ReportMetric(best/1e3/float64(segments), "least-us/segment")
}

// lines32 are sines between bins, levels in dB, over noise of that level per bin, as
// float32.
func lines32(n int, noiseDB float64, levels ...float64) memory {
	x := noise(16*n, 3)
	for i, v := range x {
		v *= math.Pow(10, noiseDB/20) * math.Sqrt(float64(n)) / 2
		for k, db := range levels {
			v += math.Sqrt2 * math.Pow(10, db/20) * math.Sin(2*math.Pi*(float64(n/20*(k+1))+0.2)*float64(i)/float64(n))
		}

		x[i] = float64(float32(v + 0.3)) // the mean is removed
	}

	return memory{x}
}

// Expected values: the same samples in double precision. Bounds: 0.001 dB for lines
// down to 80 dB below the strongest, 0.01 dB for the floor.
func TestSinglePrecision(t *testing.T) {
	const n = 51200

	levels := []float64{0, -20, -40, -60, -70, -80}
	for _, floor := range []float64{-136, -120, -90}[:turns(3, 1)] {
		x := lines32(n, floor, levels...)
		load := func(precision string) *Analyser {
			a := NewAnalyser()

			s := segmentsOf(t, microphones(x, n, func(s *Settings) { s.Precision = precision }), 3000)
			if err := a.Load(t.Context(), memory32{x, t}, s); err != nil {
				t.Fatal(err)
			}

			return a
		}

		double, single := load(Double), load(Auto)
		if double.inSingle || !single.inSingle {
			t.Fatalf("floor %g dB: precision is not as asked", floor)
		}

		for k := range levels {
			bin := n / 20 * (k + 1)
			d := 10 * math.Log10(single.Power(1, 0)[bin]/double.Power(1, 0)[bin])
			if !near(d, 0, 0.001) {
				t.Errorf("floor %g dB, line at %g dB: off by %g dB", floor, levels[k], d)
			}
		}

		for h := range 2 {
			got, want := single.Power(h, 0)[17000:n/2-10], double.Power(h, 0)[17000:n/2-10]

			if d := 10 * math.Log10(kernel.Sum(got)/kernel.Sum(want)); !near(d, 0, 0.01) {
				t.Errorf("floor %g dB: off by %g dB", floor, d)
			}

			for g, seg := range single.segs[h] {
				for k, p := range seg[0] {
					if w := float64(double.segs[h][g][0][k]); !near(math.Sqrt(float64(p)), math.Sqrt(w), 1e-8+2e-6*math.Sqrt(w)) {
						t.Fatalf("segment %d, bin %d: %g, want %g", g, k, p, w)
					}
				}
			}
		}
	}
}

// Expected: without noise nothing but rounding lies between the lines; Auto takes
// double precision, gives its bits and says so.
func TestAutoPrecision(t *testing.T) {
	x := lines32(6400, -400, 0, -20)
	double, auto := NewAnalyser(), NewAnalyser()
	for a, precision := range map[*Analyser]string{double: Double, auto: Auto} {
		s := segmentsOf(t, microphones(x, 6400, func(s *Settings) { s.Precision = precision }), 1)
		if err := a.Load(t.Context(), memory32{x, t}, s); err != nil {
			t.Fatal(err)
		}
	}

	if !reflect.DeepEqual(auto.mean, double.mean) || !reflect.DeepEqual(auto.segs, double.segs) {
		t.Error("not the spectra of double precision")
	}

	if f := auto.flags(); len(f) != 1 || f[0].Code != "precision" || len(double.flags()) > 0 {
		t.Errorf("flags %v, of double %v", f, double.flags())
	}
}

// Expected values: the portable set's, to the bit.
func TestSinglePrecisionGivesTheSameBits(t *testing.T) {
	for _, n := range []int{256, 400, 1000, 6000, 51200} {
		var want [2][][]float64
		for _, set := range kernelSets[float64]() {
			t.Setenv(kernel.EnvVar, set.Name)
			x := memory{noise(4*n, 1)}
			s := segmentsOf(t, microphones(x, 1, func(s *Settings) { s.Segments, s.Precision = 2, Single }), 9)

			a := NewAnalyser()
			if err := a.Load(t.Context(), memory32{x, t}, s); err != nil {
				t.Fatal(err)
			}

			if want[0] == nil {
				want = a.mean
			}

			if !a.inSingle || !reflect.DeepEqual(a.mean, want) {
				t.Errorf("%d points, %s: other bits", n, set.Name)
			}
		}
	}
}

// kernelSets returns the sets that run on this machine, the fastest first.
func kernelSets[T kernel.Number]() []*kernel.Set[T] {
	if best := kernel.Best[T](); best.Name != "portable" {
		return []*kernel.Set[T]{best, kernel.Portable[T]()}
	}

	return []*kernel.Set[T]{kernel.Portable[T]()}
}
