package honest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"doubletake/ingest/simulate"
	"doubletake/internal/longtest"
	"doubletake/train/gp"
	"doubletake/train/honest"
	"doubletake/train/triplets"
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

// heldOutResult has the results of a process whose held-out group was judged.
type heldOutResult struct {
	held, left triplets.Prediction // of the held-out group, and of the left-out groups
	half       float64             // mean half width of the held-out group
	coverage   float64             // of 95 % intervals of the held-out group
}

// heldOutBy calibrates the process in order form on at most maxRows cells, and judges the held-out group.
func heldOutBy(t testing.TB, s set, group, maxRows int) heldOutResult {
	t.Helper()

	ctx := context.Background()
	d := s.data
	test := make([]bool, d.N)
	var rows []int // of the held-out group
	for i, g := range s.groups.Group {
		if g == group {
			test[i] = true
			rows = append(rows, i)
		}
	}

	train, groups := s.groups.LeaveOneOut(test)

	f := gp.OrderForm{Columns: 3, Blades: 0, Speed: 1, Harmonics: 5}
	o := gp.Options{Group: rowsOf(s.groups.Group, 1, train), GroupInputs: s.groupInputs, Workers: 2, MaxRows: maxRows}
	m, err := gp.FitForm(ctx, d.Select(train), f, o)
	require.NoError(t, err)

	left, err := m.LeaveOut(ctx, nil)
	require.NoError(t, err)

	c, err := honest.Calibrate(d, s.groups, train, honest.LeaveOutRows(d, s.groups, train, groups, left),
		honest.Options{Prior: prior(t, "wide"), SawGroups: true})
	require.NoError(t, err)

	x := rowsOf(d.X, d.In, rows)
	held, err := m.PredictLevels(ctx, x, nil)
	require.NoError(t, err)

	p := c.Predict(x, rowsOf(s.groups.Z, 1, rows), nil, held)
	r := c.Judge(p, held.Noise, rowsOf(d.Y1, d.Out, rows), rowsOf(d.Y2, d.Out, rows), rowsOf(d.Run, 1, rows))

	return heldOutResult{held: held, left: left, half: stat.Mean(p.Half, nil), coverage: r.At[2]}
}

// differences compares a prediction with an exact one. It returns the root mean square of the differences of the
// means, in units of √v̂, and the geometric mean of the ratios of v̂. mu and claim are the means and claims of the
// exact prediction.
func differences(p triplets.Prediction, mu, claim []float64) (mean, ratio float64) {
	n := float64(len(mu))
	squares := 0.0
	logs := 0.0
	for i := range mu {
		squares += (p.Mu[i] - mu[i]) * (p.Mu[i] - mu[i]) / claim[i] / n
		logs += math.Log(p.Claim[i]/claim[i]) / n
	}

	return math.Sqrt(squares), math.Exp(logs)
}

// A process of cells, with five cells for nine rows, is compared with the process of all rows with the same
// hyperparameters. Expected: claims and half widths agree to 3 %, coverage to 1 %, and the means of held-out rotors
// to 0.15 √v̂, or 0.1 √v̂ on average. DOUBLETAKE_LONG=all takes two campaigns of 7,200 rows, and holds each rotor
// out.
func TestCellsAgainstExact(t *testing.T) {
	longtest.Skip(t, "minutes of processor time")

	seeds := uint64(1)
	names := []string{"3"}
	microphones := 10
	if longtest.IsStudy() {
		seeds = 2
		names = []string{"2", "3", "4", "5"}
		microphones = 32
	}

	for seed := range seeds {
		s := largeRotors(t, seed+1, microphones)
		sum := 0.0
		for _, name := range names {
			group := slices.Index(s.groups.Names, name)
			cells := heldOutBy(t, s, group, 125*microphones)
			exact := heldOutBy(t, s, group, 1e6)

			mean, ratio := differences(cells.held, exact.held.Mu, exact.held.Claim)
			leftMean, leftRatio := differences(cells.left, exact.left.Mu, exact.left.Claim)
			t.Logf("seed %d, %s blades: held out %.3f, %.4f; left out %.3f, %.4f; half width %.2f, exact %.2f; "+
				"coverage %.3f, exact %.3f", seed+1, name, mean, ratio, leftMean, leftRatio, cells.half, exact.half,
				cells.coverage, exact.coverage)

			sum += mean
			rotor := fmt.Sprintf("seed %d, %s blades", seed+1, name)
			assert.Less(t, mean, 0.15, "means of the held-out rotor, %s", rotor)
			assert.Less(t, leftMean, 0.2, "means of left-out rotors, %s", rotor)
			assert.InDelta(t, 1, ratio, 0.03, "claims of the held-out rotor, %s", rotor)
			assert.InDelta(t, 1, leftRatio, 0.03, "claims of left-out rotors, %s", rotor)
			assert.InEpsilon(t, exact.half, cells.half, 0.03, "half width, %s", rotor)
			assert.InDelta(t, exact.coverage, cells.coverage, 0.01, "coverage, %s", rotor)
		}

		assert.LessOrEqual(t, sum/float64(len(names)), 0.1, "mean difference of held-out rotors in √v̂, seed %d", seed+1)
	}
}

// stand simulates a table of n conditions: thrust and torque of propellers of 12 diameters at random speeds and
// pitches. Each condition has a deviation of its own.
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

// Tables far above 4,000 conditions are calibrated and judged. Expected: at least 90 % of the held-out group are
// inside 95 % intervals, and half as many cells give the same half widths to 3 %. The test prints time and memory.
func TestManyConditions(t *testing.T) {
	longtest.SkipUnlessStudy(t)

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
		began := time.Now()
		m, p, err := l.Process(ctx, s.data, s.groups.Z)
		require.NoError(t, err)
		require.Empty(t, m.Absent)

		took := time.Since(began)

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

		mean, ratio := differences(raw, p.Mu, p.Claim)
		widths := floats.Sum(m.Calibration.Predict(x, z, nil, raw).Half) / floats.Sum(p.Half)
		t.Logf("%v: %v, %d MB at most; coverage %.3f; by half the cells: means differ by %.3f √v̂, ratio of v̂ %.4f, "+
			"of half widths %.4f", m.Process.Cells(), took, use.Maxrss/1024, m.Record.At[2], mean, ratio, widths)

		assert.GreaterOrEqual(t, m.Record.At[2], 0.9, "coverage of %d conditions", n)
		assert.InDelta(t, 1, widths, 0.03, "ratio of half widths of %d conditions", n)
	}
}

// rowNames returns a name for each of n rows.
func rowNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, strconv.Itoa(i))
	}

	return names
}
