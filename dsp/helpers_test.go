package dsp

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// turns returns the number of repetitions of a simulation: all if DOUBLETAKE_LONG is "all", otherwise fewer.
func turns(all, fewer int) int {
	if longtest.IsStudy() {
		return all
	}
	return fewer
}

// memory is a Source of channels in memory.
type memory [][]float64

func (m memory) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := 0
	for i, c := range channels {
		n = 0
		if start < int64(len(m[c])) {
			n = copy(dst[i], m[c][start:])
		}
	}

	if n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

// microphones returns a run of all channels and samples of src with the default settings, which edit changes.
func microphones(src memory, rateHz float64, edit ...func(*Settings)) *Run {
	s := DefaultSettings()
	for _, e := range edit {
		e(&s)
	}

	r := &Run{RateHz: rateHz, Samples: int64(len(src[0])), Settings: &s}
	for c := range src {
		r.Microphones = append(r.Microphones, Microphone{Channel: c, Scale: 1})
	}

	return r
}

// rotorAt returns a run of microphones near a rotor. shaftHz is its speed in rev/s.
func rotorAt(src memory, rateHz float64, blades int, shaftHz float64, edit ...func(*Settings)) *Run {
	r := microphones(src, rateHz, edit...)
	for i := range r.Microphones {
		r.Microphones[i].Conditions = map[string]float64{"blades": float64(blades), "rps": shaftHz}
	}

	return r
}

// tracked returns an edit of settings: the speed is tracked in a range.
func tracked(loHz, hiHz float64) func(*Settings) {
	return func(s *Settings) { s.Track = &Track{RangeHz: []float64{loHz, hiHz}} }
}

// overlapped returns an edit of settings: segments overlap and have a window.
func overlapped(overlap float64, window string) func(*Settings) {
	return func(s *Settings) {
		s.Overlap = overlap
		s.Window = window
	}
}

// run returns the harmonics of a run.
func (a *Analyser) run(ctx context.Context, src Source, r *Run) (*rotorRun, error) {
	const wantLevels = true
	s, err := newRotor(r, wantLevels)
	if err != nil {
		return nil, err
	}

	if err := a.Load(ctx, src, s.segments); err != nil {
		return nil, err
	}

	return a.harmonics(ctx, src, s)
}

// analyse returns the harmonics of a run, which has no errors.
func analyse(t testing.TB, src memory, r *Run) *rotorRun {
	t.Helper()

	run, err := NewAnalyser().run(context.Background(), src, r)
	require.NoError(t, err)

	return run
}

// segmentsOf returns the segments of a run without a rotor. The Analyser keeps the first keep bins of each segment.
func segmentsOf(t testing.TB, r *Run, keep int) *Segments {
	t.Helper()

	s, err := r.segments(floorMinBins, "")
	require.NoError(t, err)
	s.keep = keep

	return s
}

// readJSON reads a file of testdata into v.
func readJSON(t testing.TB, name string, v any) {
	t.Helper()

	b := testfile.Read(t, filepath.Join("testdata", name))
	require.NoError(t, json.Unmarshal(b, v))
}

// near reports whether got differs from want by at most the tolerance.
func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// measured returns the path of a file of measured data. It skips the test if the file is not here.
func measured(t testing.TB, parts ...string) string {
	t.Helper()

	root := os.Getenv("DOUBLETAKE_REAL")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "real")
	}

	path := filepath.Join(append([]string{root}, parts...)...)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("measured data %s is not here", path)
	}

	return path
}

// floatWAV reads a WAV file of one channel of float32, the only kind in the test data.
func floatWAV(t testing.TB, path string) (x []float64, rate float64) {
	t.Helper()

	b := testfile.Read(t, path)

	for at := 12; at+8 <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[at+4:]))
		body := b[at+8 : min(len(b), at+8+size)]
		switch string(b[at : at+4]) {
		case "fmt ":
			format := binary.LittleEndian.Uint16(body)
			channels := binary.LittleEndian.Uint16(body[2:])
			bits := binary.LittleEndian.Uint16(body[14:])
			require.Equal(t, uint16(3), format, "%s", path)
			require.Equal(t, uint16(1), channels, "%s", path)
			require.Equal(t, uint16(32), bits, "%s", path)

			rate = float64(binary.LittleEndian.Uint32(body[4:]))

		case "data":
			for i := 0; i+4 <= len(body); i += 4 {
				x = append(x, float64(math.Float32frombits(binary.LittleEndian.Uint32(body[i:]))))
			}
		}

		at += 8 + (size+1)/2*2
	}

	return x, rate
}

// outcomesOf runs a construction on all channels of src, which are microphones in Pa at the given conditions. It checks
// the names of the outcomes.
func outcomesOf(t testing.TB, name string, src memory, s Settings, rate float64, conditions map[string]float64) (*Pairs,
	*Analyser, error,
) {
	t.Helper()

	r := &Run{RateHz: rate, Samples: int64(len(src[0])), Settings: &s}
	for c := range src {
		r.Microphones = append(r.Microphones, Microphone{Channel: c, Scale: 1, Unit: "Pa", Conditions: conditions})
	}

	c := Configure(Find(name, Microphones), &s).(OfSpectra)
	load, err := c.Spectra(r)
	if err != nil {
		return nil, nil, err
	}

	require.NoError(t, outcomesAnalyser.Load(t.Context(), src, load))

	p, err := c.Pairs(t.Context(), src, r, outcomesAnalyser)
	if err == nil && len(p.Rows) > 0 {
		p.requireNames(t, OutcomeNames(c, &s, nil))
	}

	return p, outcomesAnalyser, err
}

// requireNames requires that the names of all outcomes are in the list that was made without any data.
func (p *Pairs) requireNames(t testing.TB, announced []string) {
	t.Helper()

	for _, o := range p.Outcomes {
		require.Contains(t, announced, o.Name)
	}
}

// outcomesAnalyser serves all calls of outcomesOf, which saves the time for its plans.
var outcomesAnalyser = NewAnalyser()

// value returns the pair of values of an outcome, and the pair of its by-product with that suffix. The by-product is 0
// if the outcome has none with the suffix.
func (p *Pairs) value(t testing.TB, row int, name, suffix string) (y, byProduct [2]float64) {
	t.Helper()

	for k, o := range p.Outcomes {
		if o.Name != name {
			continue
		}

		for i, b := range o.ByProducts {
			if b.Suffix == suffix {
				byProduct = p.Rows[row].Values[k].ByProducts[i]
			}
		}

		return p.Rows[row].Values[k].Y, byProduct
	}

	require.Failf(t, "no such outcome", "%s", name)

	return y, byProduct
}

// rotorSound returns n samples of white noise with standard deviation 1, and of lines at multiples of the shaft
// frequency. amplitude contains the amplitude of each line by its multiple.
func rotorSound(n int, rate, shaft float64, amplitude map[int]float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 77))

	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		for j, a := range amplitude {
			x[i] += a * math.Sin(2*math.Pi*shaft*float64(j)*float64(i)/rate+float64(j))
		}
	}

	return x
}

// spinningRotor describes the sound of a rotor. The first harmonic of the BPF has 0 dB (amplitude 1).
type spinningRotor struct {
	rate, seconds float64
	blades        int
	shaft         func(t float64) float64 // rev/s at time t
	fallDB        float64                 // how much lower each further harmonic of the BPF is
	sideDB        float64                 // how much lower the other shaft orders are than a harmonic would be there
	noise         float64                 // standard deviation of the white noise
	seed          uint64
}

// samples returns the sound: all shaft orders up to the sixth harmonic of the BPF, unless they are near the Nyquist
// frequency, and white noise.
func (s spinningRotor) samples() []float64 {
	r := rand.New(rand.NewPCG(s.seed, 7))
	x := make([]float64, int(s.rate*s.seconds))
	orders := 6 * s.blades
	amp := make([]float64, orders+1)
	phase := make([]float64, orders+1)
	for j := 1; j <= orders; j++ {
		db := -s.fallDB * (float64(j)/float64(s.blades) - 1)
		if j%s.blades != 0 {
			db -= s.sideDB
		}

		amp[j] = math.Pow(10, db/20)
		phase[j] = 2 * math.Pi * r.Float64()
	}

	turn := 0.0
	for i := range x {
		turn += s.shaft(float64(i)/s.rate) / s.rate
		for j := 1; j <= orders; j++ {
			if float64(j)*s.shaft(0) < s.rate/2.1 {
				x[i] += amp[j] * math.Sin(2*math.Pi*float64(j)*turn+phase[j])
			}
		}

		x[i] += s.noise * r.NormFloat64()
	}

	return x
}

// constant returns the speed of a shaft whose speed is v at all times.
func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }
