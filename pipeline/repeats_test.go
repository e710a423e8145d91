package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report/answer/budget"
	"doubletake/report/answer/contrast"
	"doubletake/report/answer/judge"
	"doubletake/report/pairs"
)

// Runs of a balance at equal conditions are paired in the order of their files,
// within a tolerance; a run without a partner is left. Expected: the means that
// were written, by hand: at 0° runs a, b (c is left), at 4° d and the run at 4.05°.
func TestRepeatsOfABalance(t *testing.T) {
	dir := t.TempDir()

	table := "file,alpha_deg\n"
	for _, r := range []struct {
		name        string
		alpha, lift float64
	}{{"a", 0, 1}, {"b", 0, 1.5}, {"c", 0, 2}, {"d", 4, 10}, {"e", 4.05, 11}, {"f", 8, 20}} {
		var b strings.Builder
		b.WriteString("lift (N),drag (N)\n")

		for i := range 40 {
			d := 0.25 * float64(1-2*(i%2)) // no mean
			fmt.Fprintf(&b, "%g,%g\n", r.lift+d, r.lift/10+d)
		}

		write(t, dir, r.name+".csv", b.String())
		table += fmt.Sprintf("%s.csv,%g\n", r.name, r.alpha)
	}

	write(t, dir, "conditions.csv", table)
	const yaml = `version: 1
experiments:
  wing:
    ingest: {files: "?.csv", conditions: conditions.csv, rate_hz: 10, columns: {lift_n: lift, drag_n: drag}}
    dsp: {triplets: repeats%s}
`

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, ", within: {alpha_deg: 0.1}"))

	e := runIn(t, dir)["wing"]
	assert.Equal(t, "repeat-run", e.Pairs, "pairs")
	assert.Equal(t, 2, e.Triplets, "triplets")

	tab := readTable(t, dir, "runs", "wing", "triplets.arrow")
	assert.Equal(t, []string{"a.csv + b.csv", "d.csv + e.csv"}, tab.Column("run").Strings, "runs")

	for name, want := range map[string][]float64{
		"lift_n_1": {1, 10}, "lift_n_2": {1.5, 11}, "drag_n_1": {0.1, 1}, "drag_n_2": {0.15, 1.1}, "alpha_deg": {0, 4},
	} {
		for i, got := range column(t, tab, name) {
			assert.InDelta(t, want[i], got, 1e-12, "%s, pair %d", name, i+1)
		}
	}

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, ""))

	if e := runIn(t, dir)["wing"]; e.Triplets != 1 {
		t.Errorf("without a tolerance %d triplets, expected that at 0°", e.Triplets)
	}

	write(t, dir, "pipeline.yaml", strings.Replace(fmt.Sprintf(yaml, ""), `"?.csv"`, "[a.csv, d.csv, f.csv]", 1))
	write(t, dir, "conditions.csv", "file,alpha_deg\na.csv,0\nd.csv,4\nf.csv,8\n")

	says(t, tryIn(dir),
		"expected conditions that were measured more than once, found 3 runs, all at different conditions")
}

// Recordings are paired across days, each as the first of a pair: with one of another day where there is one, else
// of its own day, and one alone with itself. Occasions within a day keep none apart. By hand.
func TestRepeatsAcrossDays(t *testing.T) {
	dir := t.TempDir()

	table := "file,alpha_deg,Day,at\n"
	for i, r := range []string{"a,0,Mon,1", "b,0,Tue,2", "c,0,Wed,3", "d,4,Mon,1", "e,4,Mon,4", "f,8,Tue,2"} {
		write(t, dir, r[:1]+".csv", strings.Repeat(fmt.Sprintf("%d\n%d\n", i, i+2), 20))
		table += strings.Replace(r, ",", ".csv,", 1) + "\n"
	}

	write(t, dir, "conditions.csv", table)
	const yaml = `version: 1
experiments:
  wing:
    ingest: {files: "?.csv", conditions: conditions.csv, rate_hz: 10, columns: {lift_n: "1"}, occasions: [at]}
    dsp: {triplets: repeats, across: %s}
`

	tab := tripletsOf(t, dir, "wing", fmt.Sprintf(yaml, "Day"))
	got := fmt.Sprint(tab.Column("run").Strings, column(t, tab, "lift_n_1"), column(t, tab, "lift_n_2"),
		column(t, tab, "weight"), tab.Column("recording").Strings[1:4], tab.Column("Day").Strings)
	if want := "[a.csv b.csv c.csv d.csv e.csv f.csv] [1 2 3 4 5 6] [2 3 1 5 4 6] [0.5 0.5 0.5 0.5 0.5 0.5] " +
		"[a.csv a.csv d.csv] [Mon Tue Wed Mon Mon Tue]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}

	// By hand: 1, 2 and 3 on three days; d, e and f have no partner of another day, and the variance of 1 … 6 is 35/12.
	// Tuesday less Monday, which has 4.5 at 4°, goes from 1 to -0.5 there.
	wing := filepath.Join(dir, "runs", "wing")
	list := readBudgets(t, wing, budget.Options{At: "alpha_deg=0"})
	require.Equal(t, "alpha_deg = 0between Day", fmt.Sprint(list[0].At, list[0].Quantities[0].Name), "budget")

	write(t, dir, "p.csv", "alpha_deg,lift_n\n0,2\n4,4\n8,6\n")
	e, err := judge.Judge(t.Context(), judge.Options{
		Predictions: filepath.Join(dir, "p.csv"), Against: pairs.FromPath(wing), Level: 0.95,
	})
	require.NoError(t, err)
	assert.InDelta(t, -4/35., e.Splits[0].Test.Get("e").Mean, 1e-12, "e")

	c, err := contrast.Compare(t.Context(), contrast.Options{
		Runs: []pairs.Source{pairs.FromPath(wing)}, A: "Day=Mon", B: "Day=Tue", Unit: "Day", Level: 0.95,
	})
	require.NoError(t, err)
	assert.InDelta(t, 0.25, c.Outcomes[0].Difference, 1e-12, "Tuesday - Monday")

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, "Tag"))
	says(t, tryIn(dir), `dsp.across: "Tag" is not a column of names of this experiment, which has [`)
}

// Runs of one condition but of two wings, by their names, are no repeats. By hand: at 0° the runs
// a and c are of the wing W, b and d of V; without a split by name a and b are taken for repeats.
func TestRepeatsOfNames(t *testing.T) {
	dir := t.TempDir()

	table := "file,alpha_deg,wing,comment\n"
	for i, r := range []string{"a,0,W,loud", "b,0,V,", "c,0,W,", "d,0,V,", "e,4,W,", "f,4,V,", "g,4,W,", "h,4,V,"} {
		write(t, dir, r[:1]+".csv", strings.Repeat(fmt.Sprintf("%d\n%d\n", i, i+1), 20))
		table += strings.Replace(r, ",", ".csv,", 1) + "\n"
	}

	write(t, dir, "conditions.csv", table)
	for splits, want := range map[string]string{
		"{each: wing}":      "a.csv + c.csv: W; b.csv + d.csv: V; e.csv + g.csv: W; f.csv + h.csv: V",
		"{s: {test: none}}": "a.csv + b.csv; c.csv + d.csv; e.csv + f.csv; g.csv + h.csv",
	} {
		tab := tripletsOf(t, dir, "wing", `version: 1
experiments:
  wing:
    ingest: {files: "?.csv", conditions: conditions.csv, rate_hz: 10, columns: {lift_n: "1"}}
    dsp: {triplets: repeats}
    train: {inputs: [alpha_deg], splits: `+splits+`}
`)
		got := slices.Clone(tab.Column("run").Strings)
		if c := tab.Column("wing"); c != nil {
			for i, name := range c.Strings {
				got[i] += ": " + name
			}
		}

		if tab.Column("comment") != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s: %s, expected %s", splits, strings.Join(got, "; "), want)
		}
	}
}

// Repeated runs of two microphones with equal conditions: each is paired with
// itself, never the two of one run, which are same-run pairs. With an
// angle for each, which changed places between the runs, the angle pairs them.
// Expected: 20 lg(a/√2/20 µPa) of the amplitudes written.
func TestRepeatsOfMicrophones(t *testing.T) {
	dir := t.TempDir()

	amplitude := [2][2]float64{{0.5, 0.1}, {0.6, 0.12}} // run, channel
	for r, run := range []string{"a.npy", "b.npy"} {
		rng := rand.New(rand.NewPCG(8, uint64(r)))

		x := [2][]float64{}
		for i := range 4 * 6400 {
			for c := range x {
				x[c] = append(x[c], amplitude[r][c]*math.Sin(2*math.Pi*80*float64(i)/6400)+0.001*rng.NormFloat64())
			}
		}

		writeNPY(t, filepath.Join(dir, run), x[:]...)
	}

	level := func(a float64) float64 { return 20 * math.Log10(a/math.Sqrt2/20e-6) }
	for _, c := range []struct {
		table string
		want  [2][2]float64 // pair, member
	}{
		{"file,blades,rpm\na.npy,2,2400\nb.npy,2,2400\n", [2][2]float64{{0.5, 0.6}, {0.1, 0.12}}},
		{
			"file,channel,blades,rpm,theta_deg\na.npy,1,2,2400,0\na.npy,2,2,2400,30\nb.npy,1,2,2400,30\nb.npy,2,2,2400,0\n",
			[2][2]float64{{0.5, 0.12}, {0.1, 0.6}},
		},
	} {
		write(t, dir, "conditions.csv", c.table)
		write(t, dir, "pipeline.yaml", `version: 1
experiments:
  rotor:
    ingest: {files: "*.npy", conditions: conditions.csv, rate_hz: 6400, calibration: {unit: Pa}}
    dsp: {triplets: repeats, harmonics: 1}
`)

		e := runIn(t, dir)["rotor"]

		tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
		if e.Pairs != "repeat-run" || tab.Rows() != 2 {
			t.Fatalf("%s pairs, %d triplets: %v", e.Pairs, tab.Rows(), tab.Column("recording").Strings)
		}

		for i, run := range tab.Column("run").Strings {
			assert.Equal(t, "a.npy + b.npy", run, "pair %d of", i+1)

			for m := range 2 {
				if got, want := column(t, tab, fmt.Sprintf("bpf1_db_%d", m+1))[i], level(c.want[i][m]); math.Abs(got-want) > 0.05 {
					t.Errorf("pair %d (%s), outcome %d: %.3f dB, expected %.3f", i+1, tab.Column("recording").Strings[i], m+1, got,
						want)
				}
			}
		}
	}
}
