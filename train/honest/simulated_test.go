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

	"doubletake/dsp"
	"doubletake/ingest/simulate"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples are the samples of a recording, by channel. The channels have equal lengths.
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

// pcm16 reads a simulated WAV file.
func pcm16(t testing.TB, file []byte, channels int) (s samples) {
	t.Helper()

	at := bytes.Index(file, []byte("data"))
	require.GreaterOrEqual(t, at, 0, "no samples in the simulated recording")

	s = make(samples, channels)
	for i, data := 0, file[at+8:]; i+1 < len(data); i += 2 {
		c := i / 2 % channels
		s[c] = append(s[c], float64(int16(binary.LittleEndian.Uint16(data[i:])))/32768)
	}

	return s
}

// record makes a file of a campaign.
func record(t testing.TB, c simulate.Campaign, i int) []byte {
	t.Helper()

	var b bytes.Buffer
	require.NoError(t, c.Write(context.Background(), &b, i))

	return b.Bytes()
}

// quantities are columns without units.
func quantities(names ...string) (list []triplets.Quantity) {
	for _, n := range names {
		list = append(list, triplets.Quantity{Name: n})
	}
	return list
}

// simulatedRotors are the default campaign and the default pairs: 4 rotors, 15 speeds and 13
// angles.
func simulatedRotors(t testing.TB, seed uint64) triplets.Set {
	t.Helper()
	c := simulate.DefaultRotor()
	c.Seed = seed

	return rotorsOf(t, c)
}

// rotorsOf are the pairs of a campaign: levels of five harmonics of both halves of a run.
func rotorsOf(t testing.TB, c simulate.Rotor) triplets.Set {
	t.Helper()

	ctx := context.Background()
	settings := dsp.DefaultSettings()
	construction := dsp.Find("split-half-spectrum", false).(dsp.OfSpectra)
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
			at := r.Microphones[row.Recording].Conditions
			x = append(x, at["blades"], at["rpm"], at["theta_deg"])
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

// simulatedWing is the default campaign: 5 speeds and 45 angles, with 250 pairs of samples
// of lift and drag coefficients each.
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

// heldOut holds out each value of a condition in turn, with the default settings.
func heldOut(t testing.TB, name string, s triplets.Set, condition string) (records []interval.Record) {
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

	values := slices.Clone(z)
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		s.Part = make([]triplets.Part, s.N)
		for i := range s.Part {
			if z[i] == v {
				s.Part[i] = triplets.Test
			}
		}

		m, _, err := l.Process(context.Background(), s, z)
		require.NoError(t, err, "%v, %v", err, m.Absent)
		require.Empty(t, m.Absent, "%v, %v", err, m.Absent)

		logRecord(t, name, strconv.FormatFloat(v, 'g', -1, 64), m.Calibration, *m.Record)
		records = append(records, *m.Record)
	}

	return records
}

// What the tests of simulated campaigns read is the simulation: at 0 degrees the mean of the
// samples is near the truth that it is drawn about, and the second harmonic is weaker.
func TestSimulatedSets(t *testing.T) {
	study(t)

	wing := simulatedWing(t, 1)
	require.Equal(t, 225*250, wing.N, "%d rows, %d conditions", wing.N, wing.Conditions())
	assert.Equal(t, 225, wing.Conditions(), "%d rows, %d conditions", wing.N, wing.Conditions())

	mean := map[float64]float64{}
	n := map[float64]float64{}
	for i := range wing.N {
		if alpha := wing.X[2*i]; wing.X[2*i+1] == wing.X[1] {
			mean[alpha], n[alpha] = mean[alpha]+wing.Y1[2*i]+wing.Y2[2*i], n[alpha]+2
		}
	}

	for _, alpha := range []float64{-4, 0, 6} {
		want, _, _ := simulate.AirfoilMean(alpha, wing.X[1])
		assert.InDelta(t, want, mean[alpha]/n[alpha], 0.05, "lift at %g degrees", alpha)
	}

	rotors := simulatedRotors(t, 1)
	require.Equal(t, 4*15*13, rotors.N, "%d rows of %d outcomes", rotors.N, rotors.Out)
	assert.Equal(t, 5, rotors.Out, "%d rows of %d outcomes", rotors.N, rotors.Out)

	first := 0.0
	second := 0.0
	for i := 0; i < len(rotors.Y1); i += 5 {
		first += rotors.Y1[i] / float64(rotors.N)
		second += rotors.Y1[i+1] / float64(rotors.N)
	}

	assert.True(t, first > second+3 && first > 20 && first < 100, "mean levels %.1f and %.1f dB", first, second)
}
