package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report/answer/budget"
	"doubletake/report/answer/contrast"
	"doubletake/report/answer/judge"
	"doubletake/report/pairs"
)

// Runs of a balance at equal conditions are paired in the order of their files: at 0° the runs a and b, so that c is
// left without a partner, and at 4° d and e, whose 4.05° is within the tolerance. Outcomes are the means that were
// written.
func TestRepeatsOfABalance(t *testing.T) {
	dir := t.TempDir()
	conditions := "file,alpha_deg\n"
	for _, run := range []struct {
		name        string
		alpha, lift float64
	}{{"a", 0, 1}, {"b", 0, 1.5}, {"c", 0, 2}, {"d", 4, 10}, {"e", 4.05, 11}, {"f", 8, 20}} {
		var text strings.Builder
		text.WriteString("lift (N),drag (N)\n")
		for i := range 40 {
			ripple := 0.25 * float64(1-2*(i%2)) // its mean is 0
			fmt.Fprintf(&text, "%g,%g\n", run.lift+ripple, run.lift/10+ripple)
		}

		write(t, dir, run.name+".csv", text.String())
		conditions += fmt.Sprintf("%s.csv,%g\n", run.name, run.alpha)
	}

	write(t, dir, "conditions.csv", conditions)
	const yaml = `version: 1
experiments:
  wing:
    ingest: {files: "?.csv", conditions: conditions.csv, rate_hz: 10, columns: {lift_n: lift, drag_n: drag}}
    dsp: {triplets: repeats%s}
`

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, ", within: {alpha_deg: 0.1}"))
	assert.Equal(t, "repeat-run", runIn(t, dir)["wing"].Pairs, "pairs")

	tab := readTable(t, dir, "runs", "wing", "triplets.arrow")
	assert.Equal(t, []string{"a.csv + b.csv", "d.csv + e.csv"}, tab.Column("run").Strings, "runs")

	for name, want := range map[string][]float64{
		"lift_n_1": {1, 10}, "lift_n_2": {1.5, 11}, "drag_n_1": {0.1, 1}, "drag_n_2": {0.15, 1.1}, "alpha_deg": {0, 4},
	} {
		assert.InDeltaSlice(t, want, column(t, tab, name), 1e-12, name)
	}

	tab = tripletsOf(t, dir, "wing", fmt.Sprintf(yaml, ""))
	assert.Equal(t, []string{"a.csv + b.csv"}, tab.Column("run").Strings, "runs without a tolerance")

	write(t, dir, "conditions.csv", "file,alpha_deg\na.csv,0\nd.csv,4\nf.csv,8\n")
	assertRefuses(t, dir, strings.Replace(fmt.Sprintf(yaml, ""), `"?.csv"`, "[a.csv, d.csv, f.csv]", 1),
		"expected conditions that were measured more than once, found 3 runs, all at different conditions")
}

// writeLifts writes a recording of lift for each row of a table of conditions, and the table as conditions.csv. Rows
// begin with the recording's name, to which the ending .csv is added. The recording of row i has the samples i and
// i + spread in turn.
func writeLifts(t *testing.T, dir, header string, spread int, rows ...string) {
	t.Helper()

	conditions := header + "\n"
	for i, row := range rows {
		name, values, _ := strings.Cut(row, ",")
		write(t, dir, name+".csv", strings.Repeat(fmt.Sprintf("%d\n%d\n", i, i+spread), 20))
		conditions += name + ".csv," + values + "\n"
	}

	write(t, dir, "conditions.csv", conditions)
}

// acrossYAML pairs recordings across a column of names, which is inserted. Occasions within a day keep none apart.
const acrossYAML = `version: 1
experiments:
  wing:
    ingest: {files: "?.csv", conditions: conditions.csv, rate_hz: 10, columns: {lift_n: "1"}, occasions: [at]}
    dsp: {triplets: repeats, across: %s}
`

// writeDays writes six recordings whose lifts are 1 to 6: three at 0° on three days, two at 4° on one day, and one at
// 8°.
func writeDays(t *testing.T, dir string) {
	t.Helper()
	writeLifts(t, dir, "file,alpha_deg,Day,at", 2,
		"a,0,Mon,1", "b,0,Tue,2", "c,0,Wed,3", "d,4,Mon,1", "e,4,Mon,4", "f,8,Tue,2")
}

// Each recording is the first of one pair. Its partner is of another day (a, b, c), or else of its own day (d, e), or
// else the recording itself (f). The expected pairs are by hand.
func TestRepeatsAcrossDays(t *testing.T) {
	dir := t.TempDir()
	writeDays(t, dir)

	tab := tripletsOf(t, dir, "wing", fmt.Sprintf(acrossYAML, "Day"))
	assert.Equal(t, []string{"a.csv", "b.csv", "c.csv", "d.csv", "e.csv", "f.csv"}, tab.Column("run").Strings)
	assert.Equal(t, []string{"a.csv", "a.csv", "d.csv"}, tab.Column("recording").Strings[1:4])
	assert.Equal(t, []string{"Mon", "Tue", "Wed", "Mon", "Mon", "Tue"}, tab.Column("Day").Strings)
	assertColumn(t, tab, "lift_n_1", []float64{1, 2, 3, 4, 5, 6})
	assertColumn(t, tab, "lift_n_2", []float64{2, 3, 1, 5, 4, 6})
	assertColumn(t, tab, "weight", []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5})

	assertRefuses(t, dir, fmt.Sprintf(acrossYAML, "Tag"),
		`dsp.across: "Tag" is not a column of names of this experiment, which has [`)
}

// Pairs across days go into budget, judge and contrast.
func TestAnswersAcrossDays(t *testing.T) {
	dir := t.TempDir()
	writeDays(t, dir)
	write(t, dir, "pipeline.yaml", fmt.Sprintf(acrossYAML, "Day"))
	tripletsIn(t, dir)

	wing := filepath.Join(dir, "runs", "wing")
	budgets := readBudgets(t, wing, budget.Options{At: "alpha_deg=0"})
	require.NotEmpty(t, budgets)
	assert.Equal(t, "alpha_deg = 0", budgets[0].At)
	assert.Equal(t, "between Day", budgets[0].Quantities[0].Name)

	// Only the pairs of two days count: (1, 2), (2, 3) and (3, 1), which are predicted as 2. The mean product of their
	// errors is (0 + 0 - 1)/3, and the variance of 1 to 6 is 35/12, so that e is (-1/3)/(35/12) = -4/35.
	predictions := filepath.Join(dir, "p.csv")
	write(t, dir, "p.csv", "alpha_deg,lift_n\n0,2\n4,4\n8,6\n")
	judged, err := judge.Judge(t.Context(), judge.Options{
		Predictions: predictions, Against: pairs.FromPath(wing), Level: 0.95,
	})
	require.NoError(t, err)
	assert.InDelta(t, -4/35., judged.Splits[0].Test.Get("e").Mean, 1e-12, "e")

	// Monday has 1 at 0° and 4.5 at 4°. Tuesday has 2 at 0° and 6 at 8°, which is 4 at 4°. Tuesday less Monday goes from
	// 1 at 0° to -0.5 at 4°, and is 0.25 on average.
	compared, err := contrast.Compare(t.Context(), contrast.Options{
		Runs: []pairs.Source{pairs.FromPath(wing)}, A: "Day=Mon", B: "Day=Tue", Unit: "Day", Level: 0.95,
	})
	require.NoError(t, err)
	assert.InDelta(t, 0.25, compared.Outcomes[0].Difference, 1e-12, "Tuesday less Monday")
}

// Runs at one condition are not repeats if a split by name says that they are of two wings: at 0° the runs a and c are
// of the wing W, and b and d of V. Without such a split a and b are repeats.
func TestRepeatsOfNames(t *testing.T) {
	dir := t.TempDir()
	writeLifts(t, dir, "file,alpha_deg,wing,comment", 1,
		"a,0,W,loud", "b,0,V,", "c,0,W,", "d,0,V,", "e,4,W,", "f,4,V,", "g,4,W,", "h,4,V,")

	const yaml = `version: 1
experiments:
  wing:
    ingest: {files: "?.csv", conditions: conditions.csv, rate_hz: 10, columns: {lift_n: "1"}}
    dsp: {triplets: repeats}
    train: {inputs: [alpha_deg], splits: %s}
`

	t.Run("by name", func(t *testing.T) {
		tab := tripletsOf(t, dir, "wing", fmt.Sprintf(yaml, "{each: wing}"))
		assert.Equal(t, []string{"a.csv + c.csv", "b.csv + d.csv", "e.csv + g.csv", "f.csv + h.csv"},
			tab.Column("run").Strings)
		assert.Equal(t, []string{"W", "V", "W", "V"}, tab.Column("wing").Strings)
		assert.Nil(t, tab.Column("comment"), "a column that no split uses")
	})

	t.Run("without names", func(t *testing.T) {
		tab := tripletsOf(t, dir, "wing", fmt.Sprintf(yaml, "{s: {test: none}}"))
		assert.Equal(t, []string{"a.csv + b.csv", "c.csv + d.csv", "e.csv + f.csv", "g.csv + h.csv"},
			tab.Column("run").Strings)
		assert.Nil(t, tab.Column("wing"), "a column that no split uses")
		assert.Nil(t, tab.Column("comment"), "a column that no split uses")
	})
}

// Microphones of repeated runs are paired with microphones of the other run, never with those of their own, which
// would be same-run pairs. With equal conditions a microphone is paired with itself. With an angle for each, which
// changed places between the runs, it is paired with the one at its angle. Levels are those of the amplitudes written.
func TestRepeatsOfMicrophones(t *testing.T) {
	const rate = 6400
	dir := t.TempDir()
	for run, amplitudes := range map[string][]float64{"a.npy": {0.5, 0.1}, "b.npy": {0.6, 0.12}} {
		rng := rand.New(rand.NewPCG(8, uint64(run[0])))
		microphones := make([][]float64, len(amplitudes))
		for i := range 4 * rate {
			for m, amplitude := range amplitudes {
				p := amplitude*math.Sin(2*math.Pi*80*float64(i)/rate) + 0.001*rng.NormFloat64()
				microphones[m] = append(microphones[m], p)
			}
		}

		writeNPY(t, filepath.Join(dir, run), microphones...)
	}

	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  rotor:
    ingest: {files: "*.npy", conditions: conditions.csv, rate_hz: 6400, calibration: {unit: Pa}}
    dsp: {triplets: repeats, harmonics: 1}
`)

	for _, c := range []struct {
		name, conditions string
		first, second    []float64 // amplitudes of both members of the pairs
	}{
		{
			"equal conditions", "file,blades,rpm\na.npy,2,2400\nb.npy,2,2400\n",
			[]float64{0.5, 0.1},
			[]float64{0.6, 0.12},
		},
		{
			"angles", "file,channel,blades,rpm,theta_deg\na.npy,1,2,2400,0\na.npy,2,2,2400,30\n" +
				"b.npy,1,2,2400,30\nb.npy,2,2,2400,0\n",
			[]float64{0.5, 0.1},
			[]float64{0.12, 0.6},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, dir, "conditions.csv", c.conditions)
			assert.Equal(t, "repeat-run", runIn(t, dir)["rotor"].Pairs, "pairs")

			tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
			require.Equal(t, []string{"a.npy + b.npy", "a.npy + b.npy"}, tab.Column("run").Strings, "runs of the pairs")

			for i := range tab.Rows() {
				assert.InDelta(t, soundLevel(c.first[i]), column(t, tab, "bpf1_db_1")[i], 0.05, "pair %d, first: dB", i+1)
				assert.InDelta(t, soundLevel(c.second[i]), column(t, tab, "bpf1_db_2")[i], 0.05, "pair %d, second: dB", i+1)
			}
		})
	}
}
