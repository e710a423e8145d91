package honest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"doubletake/dsp"
	"doubletake/ingest/simulate"
	"doubletake/internal/lists"
	"doubletake/internal/longtest"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// samples has the samples of a recording, by channel. All channels have the same length.
type samples [][]float64

// Read implements dsp.Source.
func (s samples) Read(channels []int, start int64, dst [][]float64) (n int, err error) {
	for i, c := range channels {
		n = copy(dst[i], s[c][start:])
	}

	if len(dst) > 0 && n < len(dst[0]) {
		err = io.EOF
	}

	return n, err
}

// pcm16 reads the samples of a simulated WAV file.
func pcm16(t testing.TB, file []byte, channels int) samples {
	t.Helper()

	_, chunk, found := bytes.Cut(file, []byte("data"))
	require.True(t, found, "the simulated recording has samples")

	data := chunk[4:] // after the size of the chunk
	s := make(samples, channels)
	for i := 0; i+1 < len(data); i += 2 {
		c := i / 2 % channels
		s[c] = append(s[c], float64(int16(binary.LittleEndian.Uint16(data[i:])))/32768)
	}

	return s
}

// record returns the contents of file i of a campaign.
func record(t testing.TB, c simulate.Campaign, i int) []byte {
	t.Helper()

	var b bytes.Buffer
	require.NoError(t, c.Write(context.Background(), &b, i))

	return b.Bytes()
}

// quantities returns quantities with the given names, without units.
func quantities(names ...string) []triplets.Quantity {
	var list []triplets.Quantity
	for _, n := range names {
		list = append(list, triplets.Quantity{Name: n})
	}

	return list
}

// simulatedRotors returns the default pairs of the default campaign: four rotors at 15 speeds and 13 angles.
func simulatedRotors(t testing.TB, seed uint64) triplets.Set {
	t.Helper()
	c := simulate.DefaultRotor()
	c.Seed = seed

	return rotorsOf(t, c)
}

// rotorsOf returns the pairs of a campaign: the levels of five harmonics in both halves of each run.
func rotorsOf(t testing.TB, c simulate.Rotor) triplets.Set {
	t.Helper()

	ctx := context.Background()
	settings := dsp.DefaultSettings()
	construction := dsp.Find("split-half-spectrum", dsp.Microphones).(dsp.OfSpectra)
	analyser := dsp.NewAnalyser()

	var x, y1, y2 []float64
	var runs []string
	for i, f := range c.Files() {
		s := pcm16(t, record(t, c, i), len(f.ThetaDeg))

		r := &dsp.Run{RateHz: c.RateHz, Samples: int64(len(s[0])), Settings: &settings}
		for channel, theta := range f.ThetaDeg {
			r.Microphones = append(r.Microphones, dsp.Microphone{
				Channel: channel, Scale: 1, Unit: "Pa",
				Conditions: map[string]float64{"blades": f.Conditions["blades"], "rpm": f.Conditions["rpm"], "theta_deg": theta},
			})
		}

		load, err := construction.Spectra(r)
		require.NoError(t, err)
		require.NoError(t, analyser.Load(ctx, s, load))

		pairs, err := construction.Pairs(ctx, s, r, analyser)
		require.NoError(t, err)

		for _, row := range pairs.Rows {
			conditions := r.Microphones[row.Recording].Conditions
			x = append(x, conditions["blades"], conditions["rpm"], conditions["theta_deg"])
			runs = append(runs, f.Name)

			for _, v := range row.Values {
				y1 = append(y1, v.Y[0])
				y2 = append(y2, v.Y[1])
			}
		}
	}

	s := triplets.New(quantities("blades", "rpm", "theta_deg"),
		quantities("bpf1_db", "bpf2_db", "bpf3_db", "bpf4_db", "bpf5_db"), x, y1, y2)
	s.SetRuns(runs)
	s.Recording = runs

	return s
}

// simulatedWing returns the pairs of the default campaign: five speeds at 45 angles, with 250 pairs of samples of
// lift and drag coefficients each.
func simulatedWing(t testing.TB, seed uint64) triplets.Set {
	t.Helper()

	const chord, span, density = 0.10, 0.25, 1.204
	c := simulate.DefaultAirfoil()
	c.Seed = seed

	var x, y1, y2 []float64
	var runs []string
	for i, f := range c.Files() {
		var forces [][2]float64 // lift, drag
		for line := range strings.Lines(string(record(t, c, i))) {
			v := strings.Split(strings.TrimSpace(line), ",")
			if _, err := strconv.ParseFloat(v[0], 64); err == nil {
				forces = append(forces, [2]float64{number(t, v[2]), number(t, v[1])})
			}
		}

		first, second, err := dsp.RandomSamples(len(forces), 250, seed<<16+uint64(i))
		require.NoError(t, err)

		u := f.Conditions["u_inf_m_s"]
		q := density / 2 * u * u * chord * span
		for k := range first {
			x = append(x, f.Conditions["alpha_deg"], u)
			runs = append(runs, f.Name)
			for j := range 2 {
				y1 = append(y1, forces[first[k]][j]/q)
				y2 = append(y2, forces[second[k]][j]/q)
			}
		}
	}

	s := triplets.New(quantities("alpha_deg", "u_inf_m_s"), quantities("cl", "cd"), x, y1, y2)
	s.SetRuns(runs)
	s.Recording = runs

	return s
}

// heldOut holds out each value of a condition in turn, with the default settings, and returns the records.
func heldOut(t testing.TB, name string, s triplets.Set, condition string) []interval.Record {
	t.Helper()

	column := slices.Index(s.InputNames(), condition)

	var z []float64
	for i := column; i < len(s.X); i += s.In {
		z = append(z, s.X[i])
	}

	l := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: condition,
		Rate: func(input string) bool { return input == "rpm" || input == "u_inf_m_s" },
	}

	var records []interval.Record
	for _, v := range slices.Compact(slices.Sorted(slices.Values(z))) {
		s.Part = make([]triplets.Part, s.N)
		for i := range s.Part {
			if z[i] == v {
				s.Part[i] = triplets.Test
			}
		}

		m, _, err := l.Process(context.Background(), s, z)
		require.NoError(t, err)
		require.Empty(t, m.Absent)

		logRecord(t, name, strconv.FormatFloat(v, 'g', -1, 64), m.Calibration, *m.Record)
		records = append(records, *m.Record)
	}

	return records
}

// Expected of the simulated sets: as many rows as the campaigns have, mean lifts near the simulated truth, and a
// second harmonic that is weaker by 3 dB at least.
func TestSimulatedSets(t *testing.T) {
	longtest.SkipUnlessStudy(t)

	wing := simulatedWing(t, 1)
	require.Equal(t, 225*250, wing.N, "rows of the wing")
	assert.Equal(t, 225, wing.Conditions(), "conditions of the wing")

	lift := map[float64][]float64{} // by angle, at the first speed
	for i := range wing.N {
		if wing.X[2*i+1] == wing.X[1] {
			alpha := wing.X[2*i]
			lift[alpha] = append(lift[alpha], wing.Y1[2*i], wing.Y2[2*i])
		}
	}

	for _, alpha := range []float64{-4, 0, 6} {
		want, _, _ := simulate.AirfoilMean(alpha, wing.X[1])
		assert.InDelta(t, want, stat.Mean(lift[alpha], nil), 0.05, "lift at %g degrees", alpha)
	}

	rotors := simulatedRotors(t, 1)
	require.Equal(t, 4*15*13, rotors.N, "rows of the rotors")
	require.Equal(t, 5, rotors.Out, "harmonics")

	first := stat.Mean(lists.Column(rotors.Y1, 5, 0), nil)
	second := stat.Mean(lists.Column(rotors.Y1, 5, 1), nil)
	assert.Greater(t, first, second+3, "mean levels of two harmonics in dB")
	assert.Greater(t, first, 20., "mean level in dB")
	assert.Less(t, first, 100., "mean level in dB")
}
