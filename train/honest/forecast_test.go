package honest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"doubletake/train/gp"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is a set of five groups g, each of seven runs at other a with three b. The last
// group is held out; its runs are out of order.
func small() (s triplets.Set, g []float64) {
	rng := rand.New(rand.NewPCG(7, 7))

	var x, y1, y2 []float64
	var runs []string
	for k := range 5 * 7 * 3 {
		group := float64(k / 21)
		a := float64(k / 3 % 7 * 3 % 7)
		b := float64(k % 3)
		x = append(x, group, a, b)
		g = append(g, group)
		runs = append(runs, fmt.Sprint(group, a))

		for _, y := range []float64{math.Sin(group) + math.Sin(a/3) + b/5, 100 + 20*math.Cos(group*a/6)} {
			sd := 0.01 * (1 + y)
			y1 = append(y1, y+sd*rng.NormFloat64())
			y2 = append(y2, y+sd*rng.NormFloat64())
		}
	}

	outcomes := []triplets.Quantity{{Name: "lift", Unit: "N"}, {Name: "level", Unit: "dB"}}
	s = triplets.New(quantities("g", "a", "b"), outcomes, x, y1, y2)
	s.SetRuns(runs)

	s.Part = make([]triplets.Part, s.N)
	for i := range s.Part {
		if g[i] == 4 {
			s.Part[i] = triplets.Test
		}
	}

	return s, g
}

// process is a process of small.
func process(t *testing.T, l honest.Learner, s triplets.Set, g []float64) (*honest.Model, *interval.Prediction) {
	t.Helper()

	l.Settings.Base = "gp"
	l.Condition = "g"
	m, p, err := l.Process(context.Background(), s, g)
	require.NoError(t, err)
	require.Empty(t, m.Absent, "%v, %v", err, m.Absent)

	return m, p
}

// Witness: the runs picked by hand, a = 3 and then 1, 3 and 5, the process with their
// conditions, and the intervals with its claims. Groups are labels: what was learned of
// their scale stays as it is.
func TestForecast(t *testing.T) {
	s, g := small()
	m, p := process(t, honest.Learner{Settings: honest.Settings{Labels: true}}, s, g)

	var x, mu, half []float64
	for _, a := range []float64{0, 2, 4, 6} {
		for b := range 3 {
			x = append(x, 4, a, float64(b))
		}
	}

	for i := 0; i < len(x); i += 3 { // the places of these conditions in the test part
		at := slices.IndexFunc(s.RowsOf(triplets.Test), func(k int) bool { return slices.Equal(s.X[3*k:3*k+3], x[i:i+3]) })
		mu = append(mu, p.Mu[2*at:2*at+2]...)
		half = append(half, p.Half[2*at:2*at+2]...)
	}

	added := []float64{4, 3, 0, 4, 3, 1, 4, 3, 2, 4, 1, 0, 4, 1, 1, 4, 1, 2, 4, 5, 0, 4, 5, 1, 4, 5, 2}

	claims, err := m.Process.ClaimWith(context.Background(), gp.Added{
		X: added, Pairs: slices.Repeat([]float64{1}, 9), Counts: []int{3, 9}, At: x,
	})
	require.NoError(t, err)

	raw, err := m.Process.Predict(context.Background(), x)
	require.NoError(t, err)

	of := func(half []float64, unit int) (mean float64) {
		for k := unit; k < len(half); k += 2 {
			mean += half[k] / float64(len(half)/2)
		}

		return mean
	}

	f := m.Record.Forecast
	if len(f) != 3 || f[0].Runs != 0 || f[1].Runs != 1 || f[2].Runs != 3 {
		t.Fatalf("forecast %+v", f)
	}

	for u, o := range m.Record.Outcomes {
		for i, claim := range claims {
			after := m.Calibration.Predict(x, nil, nil, triplets.Prediction{Mu: mu, Claim: claim, Noise: raw.Noise}).Half
			want := o.Half * of(after, u) / of(half, u)
			if got := f[i+1].Half[u]; math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s, %d runs: ± %v, expected ± %v", o.Unit, f[i+1].Runs, got, want)
			}
		}

		assert.Equal(t, o.Half, f[0].Half[u], "%s: ± %v without more runs, expected ± %v", o.Unit, f[0].Half[u], o.Half)
	}
}

// No held-out outcome enters a forecast; of a value of a condition it is narrower with more
// runs, and it is stored. There is none where no run would be left.
func TestForecastOfValues(t *testing.T) {
	s, g := small()
	m, _ := process(t, honest.Learner{}, s, g)

	list := m.Record.Forecast
	require.Len(t, list, 3, "forecast %+v", list)

	for u := range m.Record.Outcomes {
		assert.True(t, list[1].Half[u] < list[0].Half[u] && list[2].Half[u] < list[1].Half[u], "outcome %d: %+v", u, list)
	}

	other, _ := small()
	for i, p := range other.Part {
		if p == triplets.Test {
			other.Y1[2*i] = 1e6
			other.Y2[2*i+1] = -1e6
		}
	}

	if m, _ := process(t, honest.Learner{}, other, g); !reflect.DeepEqual(m.Record.Forecast, list) {
		t.Errorf("%+v with other outcomes, expected %+v", m.Record.Forecast, list)
	}

	b, err := json.Marshal(m.Record)
	require.NoError(t, err)

	var r interval.Record
	assert.ErrorContains(t, json.Unmarshal([]byte(`{"outcomes": [{}], "forecast": [{"runs": 1, "half_width": []}]}`), &r),
		"expected 1 half widths, found 0")

	if err := json.Unmarshal(b, &r); err != nil || !reflect.DeepEqual(r.Forecast, list) {
		t.Errorf("%+v after reading, %v", r.Forecast, err)
	}

	s.SetRuns(slices.Repeat([]string{"one"}, s.N))
	if m, _ := process(t, honest.Learner{}, s, g); m.Record.Forecast != nil {
		t.Errorf("%+v of a single run", m.Record.Forecast)
	}
}

func TestForecastWords(t *testing.T) {
	s, g := small()
	m, _ := process(t, honest.Learner{}, s, g)

	for u := range 2 {
		for i := range 3 {
			m.Record.Forecast[i].Half[u] = float64(3-i) / float64(u+1)
		}
	}

	words := func() string {
		return m.Record.ForecastWords(func(unit string, low, high float64) string {
			return fmt.Sprint(low, "–", high, " ", unit)
		})
	}

	want := "lift: one run of the new group would make the interval ± 2–2 N instead of ± 3–3 N, three ± 1–1 N; " +
		"level: one run of the new group would make the interval ± 1–1 dB instead of ± 1.5–1.5 dB, three ± 0.5–0.5 dB " +
		"(forecast)"
	assert.Equal(t, want, words())

	m.Record.Outcomes[1].Unit = "N" // outcomes of one unit are one range
	want = "one run of the new group would make the interval ± 1–2 N instead of ± 1.5–3 N, three ± 0.5–1 N (forecast)"
	assert.Equal(t, want, words())

	m.Record.Forecast[2] = m.Record.Forecast[0] // names teach nothing of a new one
	want = "runs of the new group would leave the interval at ± 1.5–3 N (forecast)"
	assert.Equal(t, want, words())

	m.Record.Forecast = nil
	assert.Empty(t, words(), "without a forecast")
}

// What more runs of a rotor buy, against measuring them: they become training rows, and all
// is learned anew. Witness: the simulation. What forecasts do with the distance was chosen on
// these eight rotors.
func TestForecastAgainstMeasuring(t *testing.T) {
	study(t)

	const groups = 8
	at := [3][]int{{}, {7}, {2, 7, 12}} // of the 15 speeds, ascending

	var forecast, found, rmse, covered [3]float64
	for seed := uint64(12); seed <= 13; seed++ {
		s := simulatedRotors(t, seed)

		var blades, rpm []float64
		for i := 0; i < len(s.X); i += s.In {
			blades = append(blades, s.X[i])
			rpm = append(rpm, s.X[i+1])
		}

		l := honest.Learner{
			Settings: honest.DefaultSettings(), Condition: "blades", Rate: func(input string) bool { return input == "rpm" },
		}

		for b := 2.0; b <= 5; b++ {
			var speeds []float64
			for i, v := range rpm {
				if blades[i] == b {
					speeds = append(speeds, v)
				}
			}

			slices.Sort(speeds)
			speeds = slices.Compact(speeds)

			var predicted []interval.Forecast
			for n, measured := range at {
				s.Part = make([]triplets.Part, s.N)
				for i, v := range rpm {
					if blades[i] == b && !slices.ContainsFunc(measured, func(k int) bool { return speeds[k] == v }) {
						s.Part[i] = triplets.Test
					}
				}

				m, _, err := l.Process(context.Background(), s, blades)
				if err != nil || m.Absent != "" {
					t.Fatalf("%v, %v", err, m.Absent)
				}

				if n == 0 {
					predicted = m.Record.Forecast
				}

				f := 0.0
				half := 0.0
				e := 0.0 // means over outcomes
				for j, o := range m.Record.Outcomes {
					out := float64(len(m.Record.Outcomes))
					f += predicted[n].Half[j] / out
					half += o.Half / out
					e += o.RMSE * o.RMSE / out
				}

				t.Logf("seed %d, %g blades, %d runs: forecast ± %.2f dB, found ± %.2f dB, error %.2f dB, %.3f inside",
					seed, b, len(measured), f, half, math.Sqrt(e), m.Record.After.Coverage)

				if f < 0.6*half || f > 1.4*half {
					t.Errorf("seed %d, %g blades, %d runs: forecast ± %.2f dB, found ± %.2f dB", seed, b, len(measured), f, half)
				}

				forecast[n] += f / groups
				found[n] += half / groups
				rmse[n] += math.Sqrt(e) / groups
				covered[n] += m.Record.After.Coverage / groups
			}
		}
	}

	for n, measured := range at {
		t.Logf("%d runs: forecast ± %.2f dB, found ± %.2f dB, error %.2f dB, %.3f inside", len(measured), forecast[n],
			found[n], rmse[n], covered[n])

		require.GreaterOrEqual(t, forecast[n], 0.95*found[n],
			"%d runs: forecast ± %.2f dB, found ± %.2f dB", len(measured), forecast[n], found[n])
		assert.LessOrEqual(t, forecast[n], 1.2*found[n],
			"%d runs: forecast ± %.2f dB, found ± %.2f dB", len(measured), forecast[n], found[n])

		// The error falls as the widths do, and is what they claim or less.
		if rmse[n] > forecast[n]/1.96 || n > 0 && rmse[n]/rmse[n-1] > 1.1*forecast[n]/forecast[n-1] {
			t.Errorf("%d runs: error %.2f dB, forecast ± %.2f dB", len(measured), rmse[n], forecast[n])
		}
	}
}
