package honest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"doubletake/ingest/simulate"
	"doubletake/train/gp"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// largeRotors simulates a campaign of four rotors at 15 speeds, with levels of five harmonics at the given number of
// microphones.
func largeRotors(t testing.TB, seed uint64, microphones int) set {
	t.Helper()

	c := simulate.DefaultRotor()
	c.Seed = seed
	c.DurationS = 4
	c.ThetaDeg = nil
	for k := range microphones {
		c.ThetaDeg = append(c.ThetaDeg, float64(124*k)/float64(microphones-1)-62)
	}

	d := rotorsOf(t, c)
	blades := make([]float64, d.N)
	for i := range blades {
		blades[i] = d.X[3*i]
	}

	return set{fmt.Sprintf("rotors of %d microphones", microphones), d, honest.ByValue("blades", blades, 0), []int{0}}
}

// heldOutBy calibrates the process in order form on at most maxRows cells, and judges the held-out group. It returns
// the process's predictions there and at the left-out groups, the record, and the half width.
func heldOutBy(t testing.TB, s set, group, maxRows int) (held, left [2][]float64, r interval.Record, half float64) {
	t.Helper()

	ctx := context.Background()
	test := make([]bool, s.data.N)
	d := s.data
	for i, g := range s.groups.Group {
		test[i] = g == group
	}

	train, groups := s.groups.LeaveOneOut(test)

	var rows []int
	for i, v := range test {
		if v {
			rows = append(rows, i)
		}
	}

	f := gp.OrderForm{Columns: 3, Blades: 0, Speed: 1, Harmonics: 5}
	o := gp.Options{Group: rowsOf(s.groups.Group, 1, train), GroupInputs: s.groupInputs, Workers: 2, MaxRows: maxRows}
	m, err := gp.FitForm(ctx, d.Select(train), f, o)
	require.NoError(t, err)

	raw, err := m.LeaveOut(ctx, nil)
	require.NoError(t, err)

	left[0] = raw.Mu
	left[1] = raw.Claim
	c, err := honest.Calibrate(d, s.groups, train, honest.LeaveOutRows(d, s.groups, train, groups, raw),
		honest.Options{Prior: prior(t, "wide"), SawGroups: true})
	require.NoError(t, err)

	x := rowsOf(d.X, d.In, rows)
	z := rowsOf(s.groups.Z, 1, rows)
	raw, err = m.PredictLevels(ctx, x, nil)
	require.NoError(t, err)

	held[0] = raw.Mu
	held[1] = raw.Claim
	p := c.Predict(x, z, nil, raw)
	for _, h := range p.Half {
		half += h / float64(len(p.Half))
	}

	r = c.Judge(p, raw.Noise, rowsOf(d.Y1, d.Out, rows), rowsOf(d.Y2, d.Out, rows), rowsOf(d.Run, 1, rows))

	return held, left, r, half
}

// differences are the root mean square of the means' differences in units of √v̂, and the
// geometric mean ratio of v̂, of a process and the exact one.
func differences(a, exact [2][]float64) (mean, ratio float64) {
	n := float64(len(a[0]))
	for i, mu := range exact[0] {
		mean += (a[0][i] - mu) * (a[0][i] - mu) / exact[1][i] / n
		ratio += math.Log(a[1][i]/exact[1][i]) / n
	}

	return math.Sqrt(mean), math.Exp(ratio)
}

// A process of cells, five for nine rows, against the exact one on all rows, with the same
// hyperparameters. Expected: means, claims, half widths and coverage agree; the means of
// held-out rotors to 0.1 √v̂ on average, of one alone to 0.15. With DOUBLETAKE_LONG=all two
// campaigns of 7,200 rows, each rotor held out.
func TestCellsAgainstExact(t *testing.T) {
	long(t)

	seeds := uint64(1)
	names := []string{"3"}
	microphones := 10
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		seeds = 2
		names = []string{"2", "3", "4", "5"}
		microphones = 32
	}

	for seed := range seeds {
		s := largeRotors(t, seed+1, microphones)
		sum := 0.0
		for _, name := range names {
			group := slices.Index(s.groups.Names, name)
			held, left, r, half := heldOutBy(t, s, group, 125*microphones)
			exactHeld, exactLeft, exact, exactHalf := heldOutBy(t, s, group, 1e6)

			mean, ratio := differences(held, exactHeld)
			leftMean, leftRatio := differences(left, exactLeft)
			t.Logf("seed %d, %s blades: held out %.3f, %.4f; left out %.3f, %.4f; half width %.2f, exact %.2f; "+
				"coverage %.3f, exact %.3f", seed+1, name, mean, ratio, leftMean, leftRatio, half, exactHalf,
				r.At[2], exact.At[2])

			sum += mean
			if !(mean < 0.15 && leftMean < 0.2) || math.Abs(ratio-1) > 0.03 || math.Abs(leftRatio-1) > 0.03 ||
				math.Abs(half/exactHalf-1) > 0.03 || math.Abs(r.At[2]-exact.At[2]) > 0.01 {
				t.Errorf("seed %d, %s blades: differ from the exact process", seed+1, name)
			}
		}

		assert.LessOrEqual(t, sum, 0.1*float64(len(names)),
			"seed %d: means of held-out rotors differ by %.3f √v̂ on average", seed+1, sum/float64(len(names)))
	}
}

// stand is a simulated table of n conditions: propellers of 12 diameters at speeds and
// pitches drawn at random, with thrust and torque and a deviation of each run.
func stand(n int) set {
	rng := rand.New(rand.NewPCG(7, uint64(n)))

	const groups = 12
	var amplitude [groups]float64
	for k := range amplitude {
		amplitude[k] = 0.3 * rng.NormFloat64()
	}

	var x, y1, y2, diameter []float64
	for i := range n {
		k := i % groups
		d := 0.1 + 0.045*float64(k)
		u := 5 + 20*rng.Float64()
		p := 25*rng.Float64() - 5
		x = append(x, d, u, p)
		diameter = append(diameter, d)
		thrust := 10*d*(1+0.05*p)*u/10 + amplitude[k]*math.Sin(u/4) + 0.2*math.Sin(p/3)
		torque := 4*d*math.Pow(u/10, 1.5)*(1+0.02*p) + 0.5*amplitude[k]*math.Cos(p/4)
		for _, v := range []float64{thrust, torque} {
			v += 0.03 * rng.NormFloat64()
			y1 = append(y1, v+0.1*rng.NormFloat64())
			y2 = append(y2, v+0.1*rng.NormFloat64())
		}
	}

	s := triplets.New(quantities("diameter_m", "speed_m_s", "pitch_deg"), quantities("thrust", "torque"), x, y1, y2)

	return set{"propeller stand", s, honest.ByValue("diameter_m", diameter, 0), []int{0}}
}

// Tables far above 4,000 conditions, from the fit to the judged intervals. Expected: nine
// tenths of the held-out group within intervals of 95 % at least, as of any group, and by
// cells of half the number the same means and widths. Time and memory are logged.
func TestManyConditions(t *testing.T) {
	study(t)

	ctx := context.Background()
	for _, n := range []int{18182, 109091} {
		s := stand(n)

		var train, test []int
		for i, g := range s.groups.Group {
			if g == 4 {
				s.data.Part = append(s.data.Part, triplets.Test)
				test = append(test, i)
			} else {
				s.data.Part = append(s.data.Part, triplets.Train)
				train = append(train, i)
			}
		}

		s.data.SetRuns(rowNames(n))

		l := honest.Learner{Settings: honest.DefaultSettings(), Condition: "diameter_m"}
		from := time.Now()
		m, p, err := l.Process(ctx, s.data, s.groups.Z)
		require.NoError(t, err, "%v, %v", err, m.Absent)
		require.Empty(t, m.Absent, "%v, %v", err, m.Absent)

		took := time.Since(from)

		var use syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))

		half, err := gp.Fit(ctx, s.data.Select(train), gp.Options{
			Group: rowsOf(s.groups.Group, 1, train), GroupInputs: s.groupInputs, Workers: 2, MaxRows: gp.MaxRows / 2,
		})
		require.NoError(t, err)

		x := rowsOf(s.data.X, s.data.In, test)
		z := rowsOf(s.groups.Z, 1, test)
		raw, err := half.Predict(ctx, x)
		require.NoError(t, err)

		mean, ratio := differences([2][]float64{raw.Mu, raw.Claim}, [2][]float64{p.Mu, p.Claim})
		width := 0.0
		all := 0.0
		for i, h := range m.Calibration.Predict(x, z, nil, raw).Half {
			width += h
			all += p.Half[i]
		}

		t.Logf("%v: %v, %d MB at most; coverage %.3f; by half the cells: means differ by %.3f √v̂, ratio of v̂ %.4f, "+
			"of half widths %.4f", m.Process.Cells(), took, use.Maxrss/1024, m.Record.At[2], mean, ratio, width/all)

		require.GreaterOrEqual(t, m.Record.At[2], 0.9,
			"%d conditions: coverage %.3f, ratio of half widths %.4f", n, m.Record.At[2], width/all)
		assert.InDelta(t, 1, width/all, 0.03,
			"%d conditions: coverage %.3f, ratio of half widths %.4f", n, m.Record.At[2], width/all)
	}
}

func rowNames(n int) (names []string) {
	for i := range n {
		names = append(names, strconv.Itoa(i))
	}
	return names
}
