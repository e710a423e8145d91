package honest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// factorial is a simulated design of three factors whose outcome follows a law, with noise of a known deviation.
type factorial struct {
	name                 string
	law                  func(a, b, c float64) float64
	inputs               []string
	sweep, second, third []float64 // values of the factors a, b and c
	noise                float64
}

// The laws are not those on which anything was chosen: a propeller's thrust, a level in dB that goes with the power of
// a speed, and a wing whose stall moves with the speed.
var factorials = []factorial{
	{
		name: "propeller", inputs: []string{"advance_ratio", "rpm", "pitch_ratio"},
		law: func(j, n, p float64) float64 {
			return 0.12*(p-j/2)*(1-0.6*j*j)*math.Pow(n/5000, 0.12) + 0.004*math.Cos(4*p)
		},
		sweep: evenly(0, 0.06, 11), second: []float64{3000, 4000, 5000, 6000}, third: []float64{0.4, 0.6, 0.8, 1},
		noise: 5e-4,
	},
	{
		name: "level", inputs: []string{"theta_deg", "u_m_s", "flap_deg"},
		law: func(theta, u, flap float64) float64 {
			angle := theta * math.Pi / 180
			return 70 + 50*math.Log10(u/20) + 12*math.Log10(0.15+math.Sin(angle/2)) + 0.15*flap*math.Cos(angle)
		},
		sweep: evenly(30, 10, 13), second: []float64{20, 30, 40, 60}, third: []float64{0, 5, 10, 15}, noise: 0.3,
	},
	{
		name: "wing", inputs: []string{"alpha_deg", "u_m_s", "flap_deg"},
		law: func(alpha, u, flap float64) float64 {
			stall := 1 / (1 + math.Exp((11+0.05*(u-20)-0.1*flap-alpha)/1.4))
			return (0.1*(alpha+1) + 0.02*flap) * (1 + 0.03*math.Log(u/20)) * (1 - 0.35*stall)
		},
		sweep: evenly(-4, 1.5, 13), second: []float64{12, 20, 30}, third: []float64{0, 10, 20, 30}, noise: 0.005,
	},
}

// evenly returns n numbers from the first on.
func evenly(first, step float64, n int) []float64 {
	var list []float64
	for i := range n {
		list = append(list, first+step*float64(i))
	}

	return list
}

// simulate returns pairs of all combinations, of which the rows of one combination of the second and the third factor
// are the test part, and the true outcome of each row.
func (f factorial) simulate(seed uint64) (s triplets.Set, truth []float64) {
	random := rand.New(rand.NewPCG(seed, 66))
	missingSecond := f.second[random.IntN(len(f.second))]
	missingThird := f.third[random.IntN(len(f.third))]
	for _, b := range f.second {
		for _, c := range f.third {
			for _, a := range f.sweep {
				y := f.law(a, b, c)
				truth = append(truth, y)
				s.X = append(s.X, a, b, c)
				s.Y1 = append(s.Y1, y+f.noise*random.NormFloat64())
				s.Y2 = append(s.Y2, y+f.noise*random.NormFloat64())
				part := triplets.Train
				if b == missingSecond && c == missingThird {
					part = triplets.Test
				}

				s.Part = append(s.Part, part)
				s.Run = append(s.Run, s.N)
				s.Runs = append(s.Runs, "")
				s.N++
			}
		}
	}

	s.In = 3
	s.Out = 1
	for _, name := range f.inputs {
		s.Inputs = append(s.Inputs, triplets.Quantity{Name: name})
	}

	s.Outcomes = []triplets.Quantity{{Name: "y"}}
	s.Condition, s.Distinct = triplets.Index(s.X, s.In)

	return s, truth
}

// learnCombination calibrates the training part of a design on the values of the second factor.
func (f factorial) learnCombination(t *testing.T, s triplets.Set) (*honest.Model, *interval.Prediction) {
	t.Helper()

	learner := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: f.inputs[1],
		Rate: func(input string) bool { return input == "rpm" || input == "u_m_s" },
	}

	var z []float64
	for i := 1; i < len(s.X); i += s.In {
		z = append(z, s.X[i])
	}

	m, p, err := learner.Process(context.Background(), s, z)
	require.NoError(t, err)
	require.NotNil(t, m.Calibration, m.Absent)

	return m, p
}

// Expected: intervals of 95 % and 68 % at a combination that was not measured contain about these shares of its values.
// With 36 designs, the share of 68 % intervals has a standard error of about 3 %. Compared with: the simulated laws.
func TestMissingCombination(t *testing.T) {
	inside := 0.0
	inside68 := 0.0
	values := 0.0
	for _, f := range factorials {
		for seed := range uint64(12) {
			s, _ := f.simulate(seed)
			_, p := f.learnCombination(t, s)
			for k, i := range s.RowsOf(triplets.Test) {
				require.Equal(t, interval.Combination, p.Queries[k].Class)
				require.Equal(t, f.inputs[1:], p.Queries[k].Scale.Factors)
				for _, y := range []float64{s.Y1[i], s.Y2[i]} {
					values++
					if math.Abs(y-p.Mu[k]) <= p.Half[k] {
						inside++
					}

					if math.Abs(y-p.Mu[k]) <= p.Half68[k] {
						inside68++
					}
				}
			}
		}
	}

	t.Logf("inside 68 %%: %.3f, inside 95 %%: %.3f of %g values", inside68/values, inside/values, values)
	assert.InDelta(t, 0.69, inside68/values, 0.08, "share inside the 68 percent intervals")
	assert.InDelta(t, 0.955, inside/values, 0.03, "share inside the 95 percent intervals")
}

// The evidence decides whether speeds enter as they are or as logarithms. Expected: the speed of a level enters as its
// logarithm, because the simulated level is linear in it; a speed with linear and periodic effects enters as it is.
func TestSpeedsByEvidence(t *testing.T) {
	linear := factorial{
		inputs: []string{"alpha_deg", "u_m_s", "flap_deg"},
		law: func(alpha, u, flap float64) float64 {
			return 0.1*alpha + 0.02*u + math.Sin(u/8+flap/20)
		},
		sweep: evenly(-4, 2, 9), second: []float64{5, 10, 15, 20, 25, 30, 35, 40}, third: []float64{0, 10, 20}, noise: 0.01,
	}

	for seed := range uint64(3) {
		s, _ := factorials[1].simulate(seed)
		m, _ := factorials[1].learnCombination(t, s)
		assert.True(t, m.Logarithm[1], "the logarithm of a level's speed")

		s, _ = linear.simulate(seed)
		m, _ = linear.learnCombination(t, s)
		assert.False(t, slices.Contains(m.Logarithm, true), "a speed as it is")
	}
}

// Expected: the design and the scales of units stay the same to the bit if the outcomes of the test part are set to a
// million.
func TestUnitsSeeNothingOfTheTest(t *testing.T) {
	f := factorials[2]
	s, _ := f.simulate(7)
	m, _ := f.learnCombination(t, s)

	s.Y1 = slices.Clone(s.Y1)
	for _, i := range s.RowsOf(triplets.Test) {
		s.Y1[i] = 1e6
	}

	other, _ := f.learnCombination(t, s)
	assert.Equal(t, m.Calibration.Units, other.Calibration.Units)
	assert.Equal(t, m.Calibration.Design, other.Calibration.Design)
}

// Compared with: testdata/units.py, which finds λ by numpy: it conditions the process anew on the other rows, for each
// unit.
func TestUnitScalesByNumpy(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
			break
		}
	}

	if python == "" {
		require.Empty(t, os.Getenv("DOUBLETAKE_REQUIRE_SCIPY"), "no python3 has numpy (apt-get install python3-numpy)")
		t.Skip("no python3 has numpy")
	}

	f := factorials[2]
	s, _ := f.simulate(3)
	m, _ := f.learnCombination(t, s)

	trained := s.Only(triplets.Train)
	var x [][]float64
	for i := 0; i < len(trained.X); i += trained.In {
		x = append(x, trained.X[i:i+trained.In])
	}

	input, err := json.Marshal(map[string]any{"model": m, "x": x, "y1": trained.Y1, "y2": trained.Y2})
	require.NoError(t, err)

	command := exec.Command(python, "testdata/units.py")
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	require.NoError(t, err)

	var want [][2]float64 // by set of factors: number of units and λ
	require.NoError(t, json.Unmarshal(output, &want))
	require.Len(t, m.Calibration.Units, len(want))
	compared := 0
	for k, u := range m.Calibration.Units {
		if len(u.Inside) < int(want[k][0]) {
			continue // the program leaves out only some of many units, and numpy all
		}

		assert.InDelta(t, want[k][1], u.Factor[0], 1e-6*want[k][1], "units of %v", u.Factors)
		compared++
	}

	require.GreaterOrEqual(t, compared, 3, "sets of factors that were compared")
}

// Units of two measured campaigns are left out in turn: conditions, values and combinations. Expected: their values are
// inside the intervals about as often as the levels state, and the table of docs/research/intervals.md has the numbers.
// Compared with: the measurements. docs/research/questions compares scikit-learn on these and two other campaigns.
func TestMeasuredUnits(t *testing.T) {
	longtest.Skip(t, "minutes of processor time")
	doc := string(testfile.Read(t, "../../docs/research/intervals.md"))
	for _, c := range []struct {
		set    set
		name   string
		inputs []string // the groups' condition and the others
	}{
		{turbine(t, false), "turbine", []string{"ln of the tow speed", "tsr"}},
		{princeton(t), "wing of Princeton", []string{"angle_deg", "ln of the speed", "second session"}},
	} {
		s := numbered(c.set)
		for _, name := range c.inputs {
			s.data.Inputs = append(s.data.Inputs, triplets.Quantity{Name: name})
		}

		learner := honest.Learner{Settings: honest.DefaultSettings(), Condition: s.groups.Condition}
		m, _, err := learner.Process(context.Background(), s.data, s.groups.Z)
		require.NoError(t, err)
		require.NotNil(t, m.Calibration, m.Absent)

		for _, u := range m.Calibration.Units {
			e := u.Evidence()
			units := cmp.Or(strings.Join(u.Factors, " × "), "single conditions")
			row := fmt.Sprintf("| %s | %s | %d | %.2f, %.2f | %.3f | %.3f |", c.name, units, e.Units, u.Factor[0],
				u.Factor[1], e.Inside68, e.Inside)
			assert.True(t, strings.Contains(doc, row), "the page has %q", row)
			assert.InDelta(t, 0.73, e.Inside68, 0.1, "share inside the 68 percent intervals, %s", units)
			assert.InDelta(t, 0.95, e.Inside, 0.04, "share inside the 95 percent intervals, %s", units)
		}
	}
}
