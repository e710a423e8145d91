package report

import (
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// calibratedDetail is a rotor with two held-out sets, one of them with a calibration.
func calibratedDetail() *Detail {
	d := &Detail{
		Inputs:   []Quantity{{Name: "blades"}, {Name: "theta_deg", Unit: "deg"}},
		Outcomes: []Quantity{{Name: "bpf1_db", Unit: "dB re 20 µPa"}},
		Runs:     []string{"a"}, X: []float64{2, -30, 2, 0, 3, 0, 3, 30, 3, -30}, Mean: []float64{50, 51, 60, 61, 59},
		Cond: []int{0, 1, 2, 3, 4}, Run: make([]int, 5), Y1: []float64{50, 51, 60, 61, 59},
		Y2:      []float64{50.5, 51, 60, 61, 58},
		AllRows: 5, AllConditions: 5,
	}

	nan, se := math.NaN(), [2]float64{0.1, 0.03}
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

// The figures of the calibration hold the numbers they were given, read back from
// their CSV files: written by hand above.
func TestCalibrationFigures(t *testing.T) {
	files := map[string]FigureFile{}
	for _, f := range Figures(calibratedDetail()) {
		if strings.Contains(f.File, "honest-") {
			files[f.File] = f
			if !strings.Contains(string(f.SVG), "Simulated data, drone") {
				t.Errorf("%s does not say that its data are simulated", f.File)
			}
		}
	}

	if len(files) != 4 {
		t.Fatalf("%d figures of the calibration, expected 4", len(files))
	}

	rows := func(file, series string) (out [][]string) {
		all, err := csv.NewReader(strings.NewReader(string(files[file].CSV))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		for _, r := range all[1:] {
			if slices.Contains(r, series) {
				out = append(out, r)
			}
		}

		return out
	}

	holds := func(file, series string, n int, numbers ...float64) {
		t.Helper()

		list := rows(file, series)
		if len(list) != n {
			t.Errorf("%s: %d rows of %q, expected %d", file, len(list), series, n)
		}

		var found []float64
		for _, r := range list {
			for _, c := range r {
				if v, err := strconv.ParseFloat(c, 64); err == nil {
					found = append(found, v)
				}
			}
		}

		for _, want := range numbers {
			if !slices.ContainsFunc(found, func(v float64) bool { return math.Abs(v-want) < 1e-9 }) {
				t.Errorf("%s: %q has no %g among %v", file, series, want, found)
			}
		}
	}

	const left, claims, levels = "3-blades-honest-left-out", "honest-claims", "3-blades-honest-levels"
	holds(left, "left-out training groups, e ± SE", 3, 1.2, 0.4, 0.3, 0.5, 0.6, 0.1, -0.02)
	holds(left, "held-out set, e ± SE", 1, 0.7, 0.3, 0.25, 0.35)
	holds(left, "expected by the other groups", 4, 0.36, 0.18, 0.27, 0.21)
	holds(claims, "calibrated model, before", 2, 10, 0.2, 0.62)
	holds(claims, "calibrated model, after", 2, 0.5, 0.7, 0.99)
	holds(claims, "network, C", 1, 0.1, 0.57) // Σe/ΣC is not defined here
	holds(claims, "mean ± 1.96 deviations, no model", 1, 1, 0.93)
	holds(levels, "95 % interval", 6, 55, 63, 52, 64, 55-1.96, 55+1.96, 54-1.96*2)
	holds(levels, "68 % interval", 6, 58, 60, 58, 62, 54, 56)
	holds("honest-coverage", "3-blades", 4, 0.68, 0.7, 0.9, 0.88, 0.95, 0.99, 0.98, 1)
	holds(levels, "values, held out", 12, 60, 58)
}
