package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// calibratedDetail returns a rotor with five conditions: two of 2 blades in training, three of 3 blades held out. Split
// 3-blades has a calibration. Split b has none, for too few groups.
func calibratedDetail() *Detail {
	d := &Detail{
		Inputs:   []Quantity{{Name: "blades"}, {Name: "theta_deg", Unit: "deg"}},
		Outcomes: []Quantity{{Name: "bpf1_db", Unit: "dB re 20 µPa"}},
		Runs:     []string{"a"},
		X: []float64{
			2, -30,
			2, 0,
			3, 0,
			3, 30,
			3, -30,
		},
		Mean: []float64{50, 51, 60, 61, 59},
		Cond: []int{0, 1, 2, 3, 4}, Run: make([]int, 5), Y1: []float64{50, 51, 60, 61, 59},
		Y2:      []float64{50.5, 51, 60, 61, 58},
		AllRows: 5, AllConditions: 5,
	}

	nan := math.NaN()
	se := [2]float64{0.1, 0.03}
	d.Splits = []SplitDetail{{
		Name: "3-blades", HeldOut: "blades = 3", Test: []bool{false, false, true, true, true},
		Seeds: []SeedDetail{{
			Mu: []float64{50, 51, 55, 56, 54}, Var: []float64{1, 1, 1, 1, 4}, Cov: make([]float64, 5),
		}},
		Calibrated: &Intervals{
			Mu: []float64{nan, nan, 59, 60, 58}, Half: []float64{nan, nan, 4, 5, 6}, Half68: []float64{nan, nan, 1, 2, 3},
			Level: 0.95,
		},
	}}

	d.Experiment = Experiment{Name: "drone", Data: "simulated", Outcomes: []string{"bpf1_db"}, Splits: []Split{
		{
			Name: "3-blades", HeldOut: "blades = 3",
			Network: []score.OutcomeTrust{{Trust: score.Trust{Inside: 0.57, WidthOverSpread: 0.1}}},
			Honest: &interval.Result{
				Calibration: &interval.Calibration{
					Condition: "blades", Asked: 0.95, Level: 0.95, K: 3, Deviation: []float64{1, 1},
					Groups: []interval.GroupResult{
						{Name: "5", Distance: 1.2, E: 0.4, ESE: &se[0], Variance: 0.36, Claim: 0.02},
						{Name: "2", Distance: 0.6, E: 0.1, Variance: 0.18, Claim: 0.01},
						{Name: "4", Distance: 0.9, E: -0.02, ESE: &se[1], Variance: 0.27, Claim: 0.03},
					},
				},
				Record: &interval.Record{
					WidthOverSpread: 0.7, Distance: 0.7, E: 0.3, ESE: 0.05, Epistemic: 0.21,
					RatioBefore: 10, RatioAfter: 0.5, At: [4]float64{0.7, 0.88, 0.99, 1},
					Before:    interval.Interval{Coverage: 0.62, Width: 0.8},
					After:     interval.Interval{Coverage: 0.99},
					ModelFree: interval.Interval{Coverage: 0.93, Width: 4},
				},
			},
		},
		{Name: "b", Honest: &interval.Result{Absent: "too few groups"}},
	}}

	return d
}

// figureRows returns the rows of a series in the CSV file of a figure.
func figureRows(t *testing.T, file FigureFile, series string) [][]string {
	t.Helper()

	all, err := csv.NewReader(bytes.NewReader(file.CSV)).ReadAll()
	require.NoError(t, err)

	var rows [][]string
	for _, r := range all[1:] {
		if slices.Contains(r, series) {
			rows = append(rows, r)
		}
	}

	return rows
}

// The CSV files of the figures of the calibration contain the numbers that calibratedDetail and this test set.
func TestCalibrationFigures(t *testing.T) {
	d := calibratedDetail()
	split := &d.Experiment.Splits[0]
	split.Train.Values = score.Values{{Key: "abs_cov", Value: score.Value{Mean: 0.1, N: 1}}}
	split.Test.Values = score.Values{{Key: "abs_cov", Value: score.Value{Mean: 0.2, N: 1}}}

	rise := []float64{0.5, 3, 4}
	for i := range rise {
		split.Honest.Calibration.Groups[i].Rise = &rise[i]
	}

	split.Honest.Calibration.Things = []interval.Thing{{
		Outcome: "bpf1_db", Between: []interval.Between{{Label: "rotor", Names: 3, Share: 0.3, Low: 0.1, High: 0.75}},
		Runs: 0.5, Noise: 0.2,
	}}

	files := map[string]FigureFile{}
	for _, f := range Figures(d) {
		if strings.Contains(f.File, "honest-") {
			files[f.File] = f
			assert.Contains(t, string(f.SVG), "Simulated data, drone")
		}
	}

	require.Len(t, files, 5, "figures of the calibration")

	// holds asserts that a series has n rows, and that each number is in some cell of them.
	holds := func(file, series string, n int, numbers ...float64) {
		t.Helper()

		list := figureRows(t, files[file], series)
		assert.Len(t, list, n, "%s: rows of %q", file, series)

		var found []float64
		for _, r := range list {
			for _, c := range r {
				if v, err := strconv.ParseFloat(c, 64); err == nil {
					found = append(found, v)
				}
			}
		}

		for _, want := range numbers {
			assert.True(t, slices.ContainsFunc(found, func(v float64) bool { return math.Abs(v-want) < 1e-9 }),
				"%s: %q has no %g among %v", file, series, want, found)
		}
	}

	// The panels of the calibrated model and of the network each show the three held-out conditions.
	const levels = "3-blades-honest-levels"
	holds(levels, "95 % interval", 2*3, 59-4, 59+4, 60-5, 60+5, 58-6, 58+6)     // of the calibrated model: Mu ± Half
	holds(levels, "95 % interval", 2*3, 55-1.96, 55+1.96, 54-1.96*2, 54+1.96*2) // of the network: Mu ± 1.96 √Var
	holds(levels, "68 % interval", 2*3, 59-1, 59+1, 60-2, 60+2, 58-3, 58+3)     // of the calibrated model: Mu ± Half68
	holds(levels, "68 % interval", 2*3, 55-1, 55+1, 54-2, 54+2)                 // of the network: Mu ± √Var
	holds(levels, "pairs, held out", 2*3*2, 60, 61, 59, 58)                     // Y1 and Y2 of each condition

	// The held-out group has E|cov| of 0.2, and 0.1 in training: ln(0.2/0.1). The ratio of its record is 10. A left-out
	// group has ln(Rise) and ln(E/Claim): 20 and 10 of the first two groups. The third has E < 0, so it has no point.
	holds("honest-rises", "held-out groups", 1, math.Log(2), math.Log(10))
	holds("honest-rises", "left-out groups", 2, math.Log(0.5), math.Log(20), math.Log(3), math.Log(10))

	// The shares of the variance in percent, each bar on top of the one before. A bar has three rows: two edges and a gap.
	const parts = "3-blades-honest-variance"
	holds(parts, "between rotor", 3, 0, 30)
	holds(parts, "from run to run", 3, 30, 30+50)
	holds(parts, "noise", 3, 80, 80+20)
	holds(parts, "95 % of the share between", 1, 30, 10, 75)
}

// Without networks the figures of the calibrated model are the same, except that no figure compares it with the
// network.
func TestCalibrationFiguresWithoutNetworks(t *testing.T) {
	both := calibratedDetail()
	alone := calibratedDetail()
	alone.Splits[0].Seeds = nil

	var names []string
	for _, file := range Figures(alone) {
		names = append(names, file.File)
		if file.File == "3-blades-honest-outcomes" {
			assert.Len(t, figureRows(t, file, "95 % interval"), 3)
			continue
		}

		assert.Contains(t, Figures(both), file)
	}

	assert.Contains(t, names, "3-blades-honest-outcomes")
	assert.NotContains(t, names, "3-blades-honest-levels")
}

// A figure along many conditions draws at most as many of them as the limit. calibratedDetail has three held-out
// conditions with a pair each.
func TestLimitOfConditions(t *testing.T) {
	for limit, want := range map[int]int{1: 2, 2: 4, 3: 6, filePoints: 6} { // values of a panel
		list := plots(calibratedDetail(), limit, "")
		i := slices.IndexFunc(list, func(f captionedFigure) bool { return f.kind == "honest-levels" })
		require.GreaterOrEqual(t, i, 0)

		values := 0
		for _, mark := range list[i].fig.Panels[0].Marks {
			if mark.Name == "pairs, held out" {
				values += len(mark.X)
			}
		}

		assert.Equal(t, want, values, "values with the limit %d", limit)
	}
}

// A calibration without a record of held-out values has no intervals to judge: every output then judges the network.
func TestCalibrationWithoutRecord(t *testing.T) {
	d := calibratedDetail()
	d.Experiment = judged(rotor())
	d.Experiment.Splits = d.Experiment.Splits[:1]
	d.Experiment.Splits[0].Name = d.Splits[0].Name
	d.Experiment.Splits[0].Honest.Record = nil
	d.Splits[0].Calibrated = nil

	var terminal bytes.Buffer
	require.NoError(t, Terminal(&terminal, d.Experiment, 100, false))
	text := strings.Join(strings.Fields(terminal.String()), " ")
	assert.Contains(t, text, "no calibrated interval (the calibration has no record of held-out values), and the network")

	figures := Figures(d)
	require.NotEmpty(t, figures)
	for _, file := range figures {
		assert.NotContains(t, file.File, "honest", "a figure of calibrated intervals")
	}

	assert.Contains(t, string(Page([]*Detail{d})), "no record of held-out values")
	_, err := d.Experiment.MetricsJSON()
	require.NoError(t, err)
}
