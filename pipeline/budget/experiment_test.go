package budget

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// finished writes the triplets of an experiment, and its configuration.
func finished(t *testing.T, settings string, columns []table.Column, meta ...kv.Pair) (string, *config.Experiment) {
	t.Helper()

	dir := t.TempDir()
	columns = append(columns, table.Column{Name: "recording", Strings: columns[0].Strings})
	tab := table.Table{Columns: columns, Meta: meta}
	if _, err := tab.WriteFile(filepath.Join(dir, "triplets.arrow")); err != nil {
		t.Fatal(err)
	}

	f, err := config.Parse("pipeline.yaml", []byte("version: 1\nexperiments:\n  e:\n"+settings))
	if err != nil {
		t.Fatal(err)
	}

	return dir, &f.Experiments[0]
}

// Levels of three runs at each of two speeds. By hand: mean squares of halves in runs (y1 − y2)²/2, of runs in
// speeds twice the variance of their means. The calibrator has 0.1 dB, 2 % of the sensitivity, rectangular,
// 20/ln 10·0.02/√3 dB.
func TestLevels(t *testing.T) {
	settings := `
    ingest:
      files: x*.wav
      pattern: "x{rpm}.wav"
      calibration: {unit: Pa, uncertainty: {calibrator: "± 0.2 dB, k 2", sensitivity_v_per_pa: "± 2 %, rectangular"}}
    dsp: {triplets: split-half-spectrum}
`
	meta := []kv.Pair{{Key: "pairs", Value: "same-run"}, {Key: "construction", Value: "split-half-spectrum"}}
	dir, e := finished(t, settings, []table.Column{
		{Name: "run", Strings: []string{"a", "b", "c", "d", "e", "f"}},
		{Name: "rpm", Floats: []float64{1000, 1000, 1000, 2000, 2000, 2000}},
		{Name: "l_db_1", Unit: "dB re 20 µPa", Floats: []float64{60, 61, 63, 70, 71, 71.5}},
		{Name: "l_db_2", Unit: "dB re 20 µPa", Floats: []float64{60.2, 61.4, 62.8, 70.2, 71, 72.1}},
		{Name: "l_db_sd_1", Floats: []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
		{Name: "l_db_sd_2", Floats: []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
	}, meta...)

	list, err := OfExperiment(dir, e, Options{At: "rpm=1000"})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}

	r, err := list[0].Evaluate(0.95, 0)
	if err != nil {
		t.Fatal(err)
	}

	within := (0.04 + 0.16 + 0.04 + 0.04 + 0 + 0.36) / 2 / 6
	means := [][]float64{{60.1, 61.2, 62.9}, {70.1, 71, 71.8}}
	between := 0.0
	for _, m := range means {
		mid := (m[0] + m[1] + m[2]) / 3
		for _, v := range m {
			between += 2 * (v - mid) * (v - mid) / 4
		}
	}

	gain := 20 / math.Ln10 * 0.02 / math.Sqrt(3)
	close(t, "value", r.Value, (60.1+61.2+62.9)/3, 1e-9)
	close(t, "u", r.U*r.U, between/6+0.01+gain*gain, 1e-9) // between is of both parts: runs/3 + halves/6
	close(t, "naive", r.Naive, 0.1/math.Sqrt(6), 1e-12)
	for _, c := range r.Components {
		switch c.Name {
		case "between runs":
			close(t, c.Name, c.Contribution, math.Sqrt((between-within)/2/3), 1e-9)
		case "between halves of a recording":
			close(t, c.Name, c.Contribution, math.Sqrt(within/6), 1e-9)
		case "calibration sensitivity_v_per_pa":
			close(t, c.Name, c.Contribution, gain, 1e-9)
		}
	}

	// Welch and Satterthwaite: only the mean square between runs, with 4 degrees of freedom, is uncertain.
	close(t, "degrees of freedom", r.DoF, math.Pow(r.U, 4)/(between*between/36/4), 1e-6)

	var text bytes.Buffer
	sheet := Sheet([]Result{r})
	if err := report.Sheets(&text, []report.Sheet{sheet}, 0, false); err != nil ||
		!strings.Contains(text.String(), "scatter is pooled over 2 conditions") ||
		!strings.Contains(text.String(), "l_db = 61.40 dB re 20 µPa, standard uncertainty 0.69") {
		t.Error(text.String(), err)
	}

	if doc, err := json.Marshal(JSON([]Result{r})); err != nil || !bytes.Contains(doc, []byte(`"dof":null`)) {
		t.Errorf("%s, %v", doc, err)
	}

	tex := string(report.SheetsLaTeX([]report.Sheet{sheet}))
	if !strings.Contains(tex, `halves of a recording & A & 0 & normal`) {
		t.Error(tex)
	}

	if records := CSV([]Result{r}); len(records) != 4 {
		t.Error(records)
	}

	for at, want := range map[string]string{"speed=3": "no condition", "rpm=3": "no row", "rpm": "--at wants"} {
		if _, err := OfExperiment(dir, e, Options{At: at}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// A coefficient by an expression: 1 % of ρ and 0.5 % of u, both with k = 2, are 0.5 % and 2·0.25 % of it, by hand.
// Its mean stays the measured one.
func TestDerived(t *testing.T) {
	settings := `
    ingest:
      table: {file: pairs.csv, inputs: [u_m_s], repeats: [lift_n], run: run, pairs: repeat-run}
      constants: {rho_kg_m3: 1.2, area_m2: 0.5}
      derive: {q_pa: rho_kg_m3/2*u_m_s^2, cl: lift_n/(q_pa*area_m2)}
      uncertainty: {rho_kg_m3: "± 1 %, k 2", u_m_s: "± 0.5 %, k 2", cl: "u 0.001"}
`
	dir, e := finished(t, settings, []table.Column{
		{Name: "run", Strings: []string{"a + b", "c + d"}},
		{Name: "u_m_s", Floats: []float64{10, 20}},
		{Name: "q_pa", Floats: []float64{60, 240}},
		{Name: "lift_n_1", Unit: "N", Floats: []float64{15, 60}},
		{Name: "lift_n_2", Unit: "N", Floats: []float64{15.6, 61.2}},
		{Name: "cl_1", Floats: []float64{0.5, 0.5}},
		{Name: "cl_2", Floats: []float64{0.52, 0.51}},
	}, kv.Pair{Key: "pairs", Value: "repeat-run"})

	list, err := OfExperiment(dir, e, Options{At: "u_m_s=10", Outcomes: []string{"cl"}})
	if err != nil {
		t.Fatal(err)
	}

	r, err := list[0].Evaluate(0.95, 0)
	if err != nil {
		t.Fatal(err)
	}

	a := (0.02*0.02 + 0.01*0.01) / 2 / 2 / 2 // of the mean of two repeats
	lift := 0.51
	close(t, "value", r.Value, 0.51, 1e-12)
	close(t, "u", r.U, math.Sqrt(a+0.001*0.001+lift*lift*(0.005*0.005+0.005*0.005)), 1e-9)

	all, err := OfExperiment(dir, e, Options{Outcomes: []string{"lift_n"}})
	if err != nil || len(all) != 2 || len(all[0].Unseen) != 1 ||
		!strings.Contains(all[0].Unseen[0], "how lift_n changes with") {
		t.Errorf("%+v, %v", all, err)
	}
}
