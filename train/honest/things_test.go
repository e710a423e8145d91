package honest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"doubletake/internal/lists"
	"doubletake/internal/longtest"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// campaign is a simulated campaign, with the name of the thing and of the day of each row.
type campaign struct {
	triplets.Set
	thing, day []string
}

// simulatedRows collects the rows of a campaign.
type simulatedRows struct {
	x, y1, y2       []float64
	thing, day, run []string
	part            []triplets.Part
}

// add adds a row of inputs x. Both values of the outcome are y with noise of the given deviation. isTest is true for
// a row of the test part.
func (c *simulatedRows) add(r *rand.Rand, thing, day, run string, isTest bool, y, noise float64, x ...float64) {
	part := triplets.Train
	if isTest {
		part = triplets.Test
	}

	c.x = append(c.x, x...)
	c.thing = append(c.thing, thing)
	c.day = append(c.day, day)
	c.run = append(c.run, run)
	c.y1 = append(c.y1, y+noise*r.NormFloat64())
	c.y2 = append(c.y2, y+noise*r.NormFloat64())
	c.part = append(c.part, part)
}

// set returns the campaign of the rows.
func (c *simulatedRows) set(inputs ...string) campaign {
	s := triplets.New(quantities(inputs...), quantities("y"), c.x, c.y1, c.y2)
	s.SetRuns(c.run)
	s.Part = c.part

	return campaign{s, c.thing, c.day}
}

// thingSpeeds are the speeds of simulated propellers in 1/min.
var thingSpeeds = []float64{3000, 3600, 4200, 4800, 5400, 6000}

// level returns the level of a propeller in dB. d and p are its diameter and its pitch in inches.
func level(blades, d, p, rpm, theta float64) float64 {
	tip := math.Pi * d * 0.0254 * rpm / 60 / 343
	cos := max(math.Pow(math.Cos(theta*math.Pi/180), 3), 1e-3)

	return 62 + 52*math.Log10(tip/0.2) + 12*math.Log10(p/4.5) + 10*math.Log10(blades/2) - 3*(blades-2) +
		6*math.Log10(cos) + 0.02*theta
}

// namedPropellers simulates k propellers that teach and eight new ones. Each has an offset of its own, whose
// deviation is offset.
func namedPropellers(seed uint64, k int, offset float64) campaign {
	r := rand.New(rand.NewPCG(seed, 52))
	var c simulatedRows
	for i := range k + 8 {
		b := float64(2 + i%3)
		d := 8 + 2*r.Float64()
		p := 4.2 + r.Float64()
		if i >= k {
			b = float64(2 + r.IntN(3))
		}

		own := offset * r.NormFloat64()
		for _, rpm := range thingSpeeds {
			run := 0.3 * r.NormFloat64()
			for _, theta := range []float64{-50, -35, -20, -5, 5, 20, 35, 50} {
				y := level(b, d, p, rpm, theta) + own + run
				c.add(r, fmt.Sprint(i), "", fmt.Sprint(i, rpm), i >= k, y, 0.2, b, d, p, rpm, theta)
			}
		}
	}

	return c.set("blades", "diameter_in", "pitch_in", "rpm", "theta_deg")
}

// wings simulates the lift over the angle of k wings that teach and eight new ones, which differ by an offset.
func wings(seed uint64, k int, offset float64) campaign {
	r := rand.New(rand.NewPCG(seed, 53))
	a0 := 0.08 + 0.03*r.Float64()
	stall := 9 + 4*r.Float64()
	drop := 0.02 + 0.04*r.Float64()
	var c simulatedRows
	for i := range k + 8 {
		own := offset * r.NormFloat64()
		for a := -6.0; a < 17; a += 2 {
			cl := a0*(a+2) - drop*math.Log1p(math.Exp((a-stall)*1.2)) + own + 0.01*r.NormFloat64()
			c.add(r, fmt.Sprint(i), "", fmt.Sprint(i, a), i >= k, cl, 0.02, a)
		}
	}

	return c.set("alpha_deg")
}

// days simulates four propellers on k days that teach and on four new days. About a third of the runs is made on each
// day. The days are the things of the campaign.
func days(seed uint64, k int, offset float64) campaign {
	r := rand.New(rand.NewPCG(seed, 54))
	var c simulatedRows
	var own [4][3]float64
	for j := range own {
		own[j] = [3]float64{8 + 2*r.Float64(), 4.2 + r.Float64(), 1.2 * r.NormFloat64()}
	}

	for i := range k + 4 {
		day := offset * r.NormFloat64()
		for j, o := range own {
			for _, rpm := range thingSpeeds {
				if r.Float64() > 1.0/3 {
					continue
				}

				b := []float64{2, 3, 4, 2}[j]
				run := 0.15 * r.NormFloat64()
				for _, theta := range []float64{-50, -20, 5, 35} {
					c.add(r, fmt.Sprint(i), fmt.Sprint(j), fmt.Sprint(i, j, rpm), i >= k,
						level(b, o[0], o[1], rpm, theta)+o[2]+day+run, 0.2, b, o[0], o[1], rpm, theta)
				}
			}
		}
	}

	return c.set("blades", "diameter_in", "pitch_in", "rpm", "theta_deg")
}

// calibrate calibrates a process on the things of a campaign, and returns it with its means at the test rows. If
// offsets is true, the names of the things and of the more labels have offsets.
func (c campaign) calibrate(t *testing.T, offsets bool, more ...honest.Label) (*honest.Model, []float64) {
	t.Helper()

	l := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: "thing", Rate: func(name string) bool { return name == "rpm" },
	}
	l.Settings.Labels = true
	l.Names = slices.Compact(slices.Sorted(slices.Values(c.thing)))
	if offsets {
		l.Offsets = append([]honest.Label{{Name: "thing"}}, more...)
	}

	z := lists.Each(c.thing, func(name string) float64 { return float64(slices.Index(l.Names, name)) })
	m, p, err := l.Process(context.Background(), c.Set, z)
	require.NoError(t, err)
	require.Empty(t, m.Absent)

	return m, p.Mu
}

// within returns the rms difference of means and measurements of the held-out rows, after the mean difference of each
// thing was subtracted.
func (c campaign) within(mu []float64) float64 {
	sum := map[string]float64{}
	n := map[string]float64{}
	difference := func(k, i int) float64 { return mu[k] - (c.Y1[i]+c.Y2[i])/2 }
	test := c.RowsOf(triplets.Test)
	for k, i := range test {
		sum[c.thing[i]] += difference(k, i)
		n[c.thing[i]]++
	}

	squares := 0.0
	for k, i := range test {
		d := difference(k, i) - sum[c.thing[i]]/n[c.thing[i]]
		squares += d * d / float64(len(test))
	}

	return math.Sqrt(squares)
}

// dummies predicts the held-out rows of a campaign of days by least squares, with a constant for each propeller and
// each day (dummy variables). A new day has no constant.
func (c campaign) dummies(t *testing.T) (mu []float64) {
	t.Helper()

	row := func(i int, learn bool) []float64 {
		x := c.X[5*i : 5*i+5]
		v := math.Log(x[3]) - 8.4
		a := x[4] / 50
		terms := append([]float64{v, v * v, a, a * a, x[0] * v}, make([]float64, 9)...)
		terms[5+int(c.day[i][0]-'0')] = 1 // the constant of the propeller
		if day := int(c.thing[i][0] - '0'); learn && day > 0 {
			terms[8+day] = 1
		}

		return terms
	}

	train := c.RowsOf(triplets.Train)
	a := mat.NewDense(len(train)+14, 14, nil)
	y := mat.NewVecDense(len(train)+14, nil)
	for k, i := range train {
		a.SetRow(k, row(i, true))
		y.SetVec(k, (c.Y1[i]+c.Y2[i])/2)
	}

	for k := range 14 { // a small ridge, because the constants of days that do not exist have no row
		a.Set(len(train)+k, k, 1e-4)
	}

	var b mat.VecDense
	require.NoError(t, b.SolveVec(a, y))

	for _, i := range c.RowsOf(triplets.Test) {
		mu = append(mu, mat.Dot(&b, mat.NewVecDense(14, row(i, false))))
	}

	return mu
}

// thingsResult has the means of the results on new things over campaigns.
type thingsResult struct {
	at            [4]float64 // coverage at each of interval.Levels
	half, score   float64    // half width and interval score, in deviations
	error, within float64    // rms error, and rms error within a thing
}

// judgeThings calibrates simulated campaigns without and with offsets, and returns the mean results. For days it also
// returns the rms error within a day of least squares with dummies.
func judgeThings(t *testing.T, campaigns []campaign, areDays bool) (without, with thingsResult, dummies float64) {
	t.Helper()

	n := float64(len(campaigns))
	for _, c := range campaigns {
		for _, r := range []*thingsResult{&without, &with} {
			m, mu := c.calibrate(t, r == &with)
			for i, v := range m.Record.At {
				r.at[i] += v / n
			}

			r.half += m.Record.After.Width / 2 / n
			r.score += m.Record.After.Score / n
			r.error += math.Sqrt(max(m.Record.E, 0)) / n
			r.within += c.within(mu) / n
		}

		if areDays {
			dummies += c.within(c.dummies(t)) / n
		}
	}

	return without, with, dummies
}

// Campaigns with new things, as in docs/research/intervals.md. Expected over 40 campaigns, by the marks of the
// prototype of the method: 95 % intervals with offsets cover 92 to 99 % of new wings and propellers, their score is at
// most the given times the score without offsets, and the error within a day is at most 1.1 times the error of least
// squares. Two cases miss the marks: three propellers, which cover more than 99 %, and two and three days, whose score
// is worse than without offsets. Without DOUBLETAKE_LONG=all the test takes one or two campaigns of three things, with
// wider limits. Compared with: the simulation.
func TestThings(t *testing.T) {
	isStudy := longtest.IsStudy()
	count := longtest.Count(1, 2)
	if isStudy {
		count = 40
	}

	for _, c := range []struct {
		name     string
		simulate func(seed uint64, k int, offset float64) campaign
		offset   float64
		things   []int   // numbers of things that teach
		worst    float64 // largest ratio of the mean interval scores with and without offsets
	}{
		{"wings", wings, 0.3, []int{1, 2, 3, 5}, 1},
		{"days", days, 0.8, []int{2, 3, 5}, 1},
		{"propellers", namedPropellers, 1.2, []int{5}, 0.9},
		{"propellers", namedPropellers, 1.2, []int{3, 8}, 1},
		{"propellers without offsets", namedPropellers, 0, []int{5}, 2},
	} {
		for _, k := range c.things {
			isShort := k == 3 && c.offset > 0 // one of the cases without the study
			if !isStudy && !isShort {
				continue
			}

			var campaigns []campaign
			for seed := range count {
				campaigns = append(campaigns, c.simulate(9000+uint64(seed), k, c.offset))
			}

			areDays := c.name == "days"
			without, with, dummies := judgeThings(t, campaigns, areDays)
			t.Logf("%s, %d: without offsets %+.3v, with offsets %+.3v, dummies %.3f", c.name, k, without, with, dummies)

			coverage := with.at[2]
			if !isStudy {
				assert.Greater(t, coverage, 0.8, "coverage at .95, %d %s", k, c.name)
				if areDays {
					assert.Less(t, with.within, 1.3*dummies, "error within a day")
				}

				continue
			}

			assert.LessOrEqual(t, with.score, c.worst*without.score, "interval score, %d %s", k, c.name)
			if areDays && k >= 3 {
				assert.LessOrEqual(t, with.within, 1.1*dummies, "error within a day, %d days", k)
			}

			if !areDays && k > 1 && c.offset > 0 {
				assert.GreaterOrEqual(t, coverage, 0.92, "coverage at .95, %d %s", k, c.name)
				assert.LessOrEqual(t, coverage, 0.99, "coverage at .95, %d %s", k, c.name)
			}
		}
	}
}

// Expected: the interval of a measured wing contains nine tenths of its own lift, and is at most half as wide as the
// interval of a new wing. An unknown name, and no name, are a new wing.
func TestKnownThing(t *testing.T) {
	ctx := context.Background()
	c := wings(3, 3, 0.3)
	m, _ := c.calibrate(t, true)
	train := c.RowsOf(triplets.Train)
	x := c.X[:len(train)]

	var own, other []map[string]string
	for _, i := range train {
		own = append(own, map[string]string{"thing": c.thing[i]})
		other = append(other, map[string]string{"thing": "x"})
	}

	b, err := json.Marshal(m)
	require.NoError(t, err)

	var stored honest.Model
	require.NoError(t, json.Unmarshal(b, &stored))

	known, err := stored.Predict(ctx, x, 0, own)
	require.NoError(t, err)

	unknown, err := stored.Predict(ctx, x, 0, other)
	require.NoError(t, err)

	unnamed, err := m.Predict(ctx, x, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, unnamed.Mu, unknown.Mu, "means without a name, and with an unknown one")
	assert.Equal(t, unnamed.Half, unknown.Half, "half widths without a name, and with an unknown one")

	inside := 0
	for k, i := range train {
		if math.Abs(known.Mu[k]-(c.Y1[i]+c.Y2[i])/2) <= known.Half[k] {
			inside++
		}

		assert.LessOrEqual(t, known.Half[k], 0.5*unknown.Half[k], "half widths of row %d, of the wing and of a new one", k)
	}

	assert.GreaterOrEqual(t, inside, len(train)*9/10, "rows inside the intervals of their own wing, of %d", len(train))
}

// Wings differ by 0.3, but only one was measured. Expected: the half width for a new wing is at least
// 0.3.
// cmd/app has it as case one-wing.
func TestOneThing(t *testing.T) {
	m, _ := wings(3, 1, 0.3).calibrate(t, true)
	assert.GreaterOrEqual(t, m.Record.After.Width/2, 0.3)
}

// The names of wings are exchanged, and the outcomes of new wings are set to a million. Expected: the means stay the
// same to the bit, and the widths up to rounding.
func TestThingsSeeNothingOfTheTest(t *testing.T) {
	c := wings(3, 3, 0.3)
	m, mu := c.calibrate(t, true)
	for i, name := range c.thing {
		c.thing[i] = map[string]string{"0": "2", "1": "0", "2": "1"}[name] + name[len(name)-1:]
	}

	for _, i := range c.RowsOf(triplets.Test) {
		c.Y1[i] = 1e6
		c.Y2[i] = -1e6
	}

	again, muAgain := c.calibrate(t, true)
	assert.Equal(t, mu, muAgain)
	assert.InEpsilon(t, m.Record.After.Width, again.Record.After.Width, 1e-12, "width")
}

// A propeller was measured at all its speeds but one. In a run at the last speed it has a deviation of its own, 0.3
// dB, beside noise of 0.2 dB. Expected with offsets of runs: the simulated shares of both, and an interval that is as
// wide as both require. Runs of one row have no offsets, because the run-to-run variance describes them, and neither
// have runs beside two columns of names.
func TestKnownThingInAnotherRun(t *testing.T) {
	c := namedPropellers(9100, 4, 1.2)
	run := honest.Label{Name: honest.Runs}
	for i, thing := range c.thing {
		run.Names = append(run.Names, c.Runs[c.Run[i]])
		switch {
		case thing == "0" && c.X[5*i+3] == 6000:
			c.Part[i] = triplets.Test
		case thing > "3" || len(thing) > 1:
			c.Part[i] = triplets.Neither
		}
	}

	plain, _ := c.calibrate(t, true)
	m, _ := c.calibrate(t, true, run)
	assert.Len(t, m.Labels[1].Names, 4*6-1, "runs")

	shares := m.Calibration.Things[0]
	assert.InDelta(t, math.Log(0.09/0.04), math.Log(shares.Runs/shares.Noise), 0.7,
		"ln variance from run to run over noise")
	half := m.Record.Outcomes[0].Half
	day := honest.Label{Name: "day", Names: slices.Repeat([]string{"1", "2"}, c.N/2)}
	two, _ := c.calibrate(t, true, day)
	assert.Equal(t, "beside 2 columns of names", two.Calibration.RunsWithout, "why runs have no offsets")
	assert.Empty(t, plain.Calibration.RunsWithout, "why runs have no offsets")

	assert.GreaterOrEqual(t, half, 1.96*math.Hypot(0.3, 0.2), "half width of a new run in dB")
	assert.LessOrEqual(t, half, 1.6, "half width of a new run in dB")
	assert.GreaterOrEqual(t, half, plain.Record.Outcomes[0].Half, "half widths with and without offsets of runs in dB")

	w := wings(3, 3, 0.3)
	run.Names = lists.Pick(w.Runs, w.Run)
	single, _ := w.calibrate(t, true, run)
	assert.Len(t, single.Labels, 1, "labels with runs of one row")
}

// Expected: the values of a condition number things if another input is constant at each value and turns twice, and a
// third input is a setting that varies at each value.
func TestNumbersThings(t *testing.T) {
	angles := []float64{0, 0, 0, 0, 5, 5, 5, 5}
	twice := func(v ...float64) []float64 { return slices.Repeat(v, 2) }
	for _, c := range []struct {
		name   string
		axis   []float64
		inputs [][]float64
		want   bool
	}{
		{"pitch and diameter", twice(9, 8, 10, 11), [][]float64{twice(4, 5, 6, 3), angles}, true},
		{"blades and diameter", twice(8, 9, 10, 11), [][]float64{twice(2, 3, 2, 3), angles}, true},
		{"Reynolds number of a speed", twice(8, 9, 10, 11), [][]float64{twice(1.8, 2, 2.2, 2.4), angles}, false},
		{"distance of microphones on a line", twice(-20, 0, 10, 30), [][]float64{twice(1.1, 1, 1.05, 1.2), angles}, false},
		{"no setting", twice(9, 8, 10, 11), [][]float64{twice(4, 5, 6, 3)}, false},
		{"no property", twice(9, 8, 10, 11), [][]float64{{4, 5, 6, 3, 5, 4, 3, 6}, angles}, false},
	} {
		assert.Equal(t, c.want, honest.NumbersThings(c.axis, c.inputs), c.name)
	}
}

// Things that are numbered 0 and −0 are one thing.
func TestThingsOfMinusZero(t *testing.T) {
	l := honest.Learner{Condition: "day"}
	l.Labels = true
	g := l.Grouping([]float64{1, 0, math.Copysign(0, -1), 1})
	assert.Equal(t, []string{"0", "1"}, g.Names)
	assert.Equal(t, []int{1, 0, 0, 1}, g.Group)
}
