package honest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"doubletake/internal/lists"
	"doubletake/internal/longtest"
	"doubletake/train/honest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// campaign is a simulated campaign, with the name of the thing and of the day of each row.
type campaign struct {
	triplets.Set
	thing, day []string
}

// simulated collects rows of inputs and an outcome whose two values have noise; run names the run.
type simulatedRows struct {
	x, y1, y2       []float64
	thing, day, run []string
	part            []triplets.Part
}

func (c *simulatedRows) add(r *rand.Rand, thing, day, run string, held bool, y, noise float64, x ...float64) {
	part := triplets.Train
	if held {
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

func (c *simulatedRows) set(inputs ...string) campaign {
	s := triplets.New(quantities(inputs...), quantities("y"), c.x, c.y1, c.y2)
	s.SetRuns(c.run)
	s.Part = c.part

	return campaign{s, c.thing, c.day}
}

var thingSpeeds = []float64{3000, 3600, 4200, 4800, 5400, 6000}

// level is the level of a propeller in dB.
func level(blades, d, p, rpm, theta float64) float64 {
	tip := math.Pi * d * 0.0254 * rpm / 60 / 343
	cos := max(math.Pow(math.Cos(theta*math.Pi/180), 3), 1e-3)

	return 62 + 52*math.Log10(tip/0.2) + 12*math.Log10(p/4.5) + 10*math.Log10(blades/2) - 3*(blades-2) +
		6*math.Log10(cos) + 0.02*theta
}

// namedPropellers simulates k propellers that teach and eight new ones, each with an offset of its own.
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

// wings simulates k wings that teach and eight new ones: a name, and lift over angle.
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

// days simulates four propellers on k days that teach and four new ones, a random third of the runs on each.
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

// calibrate is a calibration on things, with the offsets of their names and of more labels or as without.
func (c campaign) calibrate(t *testing.T, offsets bool, more ...honest.Label) (*honest.Model, []float64) {
	t.Helper()

	l := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: "thing", Rate: func(name string) bool { return name == "rpm" },
	}
	l.Settings.Labels, l.Names = true, slices.Compact(slices.Sorted(slices.Values(c.thing)))
	if offsets {
		l.Offsets = append([]honest.Label{{Name: "thing"}}, more...)
	}

	z := lists.Each(c.thing, func(name string) float64 { return float64(slices.Index(l.Names, name)) })
	m, p, err := l.Process(context.Background(), c.Set, z)
	require.NoError(t, err)
	require.Empty(t, m.Absent, "%v, %s", err, m.Absent)

	return m, p.Mu
}

// within is the rms difference of means and measurements of the held-out rows but for an offset of each thing.
func (c campaign) within(mu []float64) float64 {
	sum := map[string]float64{}
	n := map[string]float64{}
	diff := func(k, i int) float64 { return mu[k] - (c.Y1[i]+c.Y2[i])/2 }
	test := c.RowsOf(triplets.Test)
	for k, i := range test {
		sum[c.thing[i]] += diff(k, i)
		n[c.thing[i]]++
	}

	square := 0.0
	for k, i := range test {
		d := diff(k, i) - sum[c.thing[i]]/n[c.thing[i]]
		square += d * d / float64(len(test))
	}

	return math.Sqrt(square)
}

// dummies predicts the held-out rows by least squares with a constant for each propeller and each day.
func (c campaign) dummies(t *testing.T) (mu []float64) {
	t.Helper()

	row := func(i int, learn bool) []float64 {
		x := c.X[5*i : 5*i+5]
		v := math.Log(x[3]) - 8.4
		a := x[4] / 50
		f := make([]float64, 14)
		f[0], f[1], f[2], f[3], f[4] = v, v*v, a, a*a, x[0]*v
		f[5+int(c.day[i][0]-'0')] = 1
		if day := int(c.thing[i][0] - '0'); learn && day > 0 {
			f[8+day] = 1
		}

		return f
	}

	train := c.RowsOf(triplets.Train)
	a := mat.NewDense(len(train)+14, 14, nil)
	y := mat.NewVecDense(len(train)+14, nil)
	for k, i := range train {
		a.SetRow(k, row(i, true))
		y.SetVec(k, (c.Y1[i]+c.Y2[i])/2)
	}

	for k := range 14 { // of days that there are not
		a.Set(len(train)+k, k, 1e-4)
	}

	var b mat.VecDense
	require.NoError(t, b.SolveVec(a, y))

	for _, i := range c.RowsOf(triplets.Test) {
		mu = append(mu, mat.Dot(&b, mat.NewVecDense(14, row(i, false))))
	}

	return mu
}

// The campaigns with new things of docs/research/intervals.md. Witness: the simulation; the marks come from the
// prototype of the method. Over 40 campaigns two cases miss the marks: three propellers, which cover more than .99, and
// two and three days, whose score is worse than without offsets.
func TestThings(t *testing.T) {
	campaigns := uint64(longtest.Count(1, 2))
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		campaigns = 40
	}

	for _, c := range []struct {
		name   string
		make   func(seed uint64, k int, offset float64) campaign
		offset float64
		k      []int
		worst  float64 // ratio of the mean interval score
	}{
		{"wings", wings, 0.3, []int{1, 2, 3, 5}, 1},
		{"days", days, 0.8, []int{2, 3, 5}, 1},
		{"propellers", namedPropellers, 1.2, []int{5}, 0.9},
		{"propellers", namedPropellers, 1.2, []int{3, 8}, 1},
		{"propellers without offsets", namedPropellers, 0, []int{5}, 2},
	} {
		for _, k := range c.k {
			if campaigns < 40 && (k != 3 || c.offset == 0) {
				continue
			}

			var at [2][4]float64
			var half, score, error, inside [2]float64
			dummies := 0.0
			n := float64(campaigns)
			for seed := range campaigns {
				s := c.make(9000+seed, k, c.offset)
				for b, offsets := range []bool{false, true} {
					m, mu := s.calibrate(t, offsets)
					for i, v := range m.Record.At {
						at[b][i] += v / n
					}

					half[b] += m.Record.After.Width / 2 / n
					score[b] += m.Record.After.Score / n
					error[b] += math.Sqrt(max(m.Record.E, 0)) / n
					inside[b] += s.within(mu) / n
				}

				if c.name == "days" {
					dummies += s.within(s.dummies(t)) / n
				}
			}

			t.Logf("%s, %d: at %.3f %.3f, ± %.2f %.2f, score %.3f %.3f, error %.3f %.3f, within %.3f %.3f (dummies %.3f)",
				c.name, k, at[0], at[1], half[0], half[1], score[0], score[1], error[0], error[1], inside[0], inside[1], dummies)

			if campaigns < 40 {
				if !(at[1][2] > 0.8) || dummies > 0 && !(inside[1] < 1.3*dummies) {
					t.Errorf("%s, %d: %.3f inside 95 %% intervals, error within %.3f, of dummies %.3f", c.name, k, at[1][2], inside[1],
						dummies)
				}

				continue
			}

			switch {
			case k > 1 && c.offset > 0 && c.name != "days" && !(at[1][2] >= 0.92 && at[1][2] <= 0.99),
				!(score[1] <= c.worst*score[0]), c.name == "days" && k >= 3 && !(inside[1] <= 1.1*dummies):
				t.Errorf("%s, %d: outside of the marks", c.name, k)
			}
		}
	}
}

// Of a wing that was measured its measurements count: the interval holds its own lift. Any other name is a new one.
// Names that are exchanged and the outcomes of new wings change nothing, and the stored model predicts the same.
func TestKnownThing(t *testing.T) {
	ctx := context.Background()
	c := wings(3, 3, 0.3)
	m, mu := c.calibrate(t, true)
	train := c.RowsOf(triplets.Train)
	x := c.X[:len(train)]

	var own, other []map[string]string
	for _, i := range train {
		own = append(own, map[string]string{"thing": c.thing[i]})
		other = append(other, map[string]string{"thing": "x"})
	}

	b, err := json.Marshal(m)
	var stored honest.Model
	require.NoError(t, errors.Join(err, json.Unmarshal(b, &stored)))

	inside := 0
	known, err1 := stored.Predict(ctx, x, 0, own)
	unknown, err2 := stored.Predict(ctx, x, 0, other)
	unnamed, err3 := m.Predict(ctx, x, 0, nil)
	require.NoError(t, errors.Join(err1, err2, err3))

	for k, i := range train {
		if math.Abs(known.Mu[k]-(c.Y1[i]+c.Y2[i])/2) <= known.Half[k] {
			inside++
		}

		if known.Half[k] > 0.5*unknown.Half[k] || unknown.Half[k] != unnamed.Half[k] || unknown.Mu[k] != unnamed.Mu[k] {
			t.Errorf("row %d: ± %g of the wing, %g of another, %g without a name", k, known.Half[k], unknown.Half[k],
				unnamed.Half[k])
		}
	}

	assert.GreaterOrEqual(t, inside, len(train)*9/10,
		"%d of %d inside the intervals of their own wing", inside, len(train))

	alone, _ := wings(3, 1, 0.3).calibrate(t, true) // case one-wing: wings differ by 0.3, and there is one
	assert.GreaterOrEqual(t, alone.Record.After.Width/2, 0.3, "one wing alone: ± %g", alone.Record.After.Width/2)

	for i, name := range c.thing {
		c.thing[i] = map[string]string{"0": "2", "1": "0", "2": "1"}[name] + name[len(name)-1:]
	}

	for _, i := range c.RowsOf(triplets.Test) {
		c.Y1[i] = 1e6
		c.Y2[i] = -1e6
	}

	again, mu2 := c.calibrate(t, true)
	require.Equal(t, mu2, mu, "widths %g and %g with other names", m.Record.After.Width, again.Record.After.Width)
	assert.InDelta(t, 1, again.Record.After.Width/m.Record.After.Width, 1e-12,
		"widths %g and %g with other names", m.Record.After.Width, again.Record.After.Width)
}

// Beyond its own speeds, a run of a propeller that was measured has a deviation of its own, 0.3 dB beside noise of 0.2
// dB. Witness: the simulation. Runs of one row have no offsets beside the nugget.
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

	require.GreaterOrEqual(t, half, 1.96*math.Hypot(0.3, 0.2),
		"half width of a new run %.2f dB, without offsets of runs %.2f", half, plain.Record.Outcomes[0].Half)
	require.LessOrEqual(t, half, 1.6,
		"half width of a new run %.2f dB, without offsets of runs %.2f", half, plain.Record.Outcomes[0].Half)
	assert.GreaterOrEqual(t, half, plain.Record.Outcomes[0].Half,
		"half width of a new run %.2f dB, without offsets of runs %.2f", half, plain.Record.Outcomes[0].Half)

	w := wings(3, 3, 0.3)
	run.Names = lists.Rows(w.Runs, 1, w.Run)
	single, _ := w.calibrate(t, true, run)
	assert.Len(t, single.Labels, 1, "labels with runs of one row")
}

// Each value of a diameter is one propeller where another property goes up and down with it.
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
		assert.Equal(t, c.want, honest.NumbersThings(c.axis, c.inputs), "%s", c.name)
	}
}
