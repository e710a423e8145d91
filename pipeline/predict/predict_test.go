package predict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/train/score"
)

// trainedSplit is the folder of a split with three small networks, made once by
// the program itself from a table with two inputs and two outcomes; the inputs'
// product grid lacks b = 3, which is held out.
var trainedSplit = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		return "", err
	}

	var b strings.Builder
	b.WriteString("run,a,b,lift_1,drag_1,lift_2,drag_2\n")

	for i, noise := 0, 0.37; i < 60; i++ {
		x, z := float64(i%12)/4, float64(i/12)
		fmt.Fprintf(&b, "r%d,%g,%g", i, x, z)

		for range 2 {
			for _, y := range []float64{math.Sin(x) + z, 100 + 20*x*z} {
				noise = math.Mod(noise*7.13+0.11, 1)
				fmt.Fprintf(&b, ",%g", y+0.2*(noise-0.5))
			}
		}

		b.WriteString("\n")
	}

	cfg := `version: 1
experiments:
  wing:
    ingest: {table: {file: pairs.csv, inputs: [a, b], run: run, units: {a: deg, lift: N}}}
    train:
      inputs: [a, b]
      model: {hidden: [12, 12]}
      optimizer: {epochs: 30}
      seeds: 3
      calibration: 0.25
      estimate: {samples: 50}
      splits: {b3: {test: {b: 3}}}
`

	err = pipelinetest.Run(dir, map[string]string{"pairs.csv": b.String(), "pipeline.yaml": cfg},
		pipeline.Options{Jobs: 2})

	return filepath.Join(dir, "runs/wing/splits/b3"), err
})

func TestMain(m *testing.M) {
	code := m.Run()

	if dir, err := trainedSplit(); err == nil {
		os.RemoveAll(strings.Split(dir, "/runs/")[0])
	}

	os.Exit(code)
}

func split(t *testing.T) string {
	dir, err := trainedSplit()
	if err != nil {
		t.Fatal(err)
	}

	return dir
}

// opened opens the models of a split or of a seed.
func opened(t testing.TB, path string) *Models {
	t.Helper()

	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func seedTable(t *testing.T, k int) *table.Table {
	return stagetest.Read(t, filepath.Join(split(t), fmt.Sprintf("seed-%d", k), "predictions.arrow"))
}

// Expected values: the predictions the training stage wrote at the measured
// conditions. One model must give the same bits there; several together give the
// mean, and their mixture's variance, computed here from the tables.
func TestPredictAgreesWithTraining(t *testing.T) {
	dir := split(t)
	tabs := []*table.Table{seedTable(t, 0), seedTable(t, 1), seedTable(t, 2)}
	a, b := stagetest.Floats(t, tabs[0], "a"), stagetest.Floats(t, tabs[0], "b")

	var x []float64
	for i := range a {
		x = append(x, a[i], b[i])
	}

	one := opened(t, filepath.Join(dir, "seed-0", "model.json"))

	if c := one.Card; c.Experiment != "wing" || c.HeldOut != "b = 3" || c.Inputs[0].Unit != "deg" ||
		c.Outcomes[1].Name != "drag" || c.Outcomes[0].Unit != "N" || c.Data != "measured" || c.Inputs[1].Max != 4 {
		t.Errorf("card %+v", c)
	}

	p, err := one.Predict(context.Background(), x, "")
	if err != nil {
		t.Fatal(err)
	}

	all := opened(t, dir)

	q, err := all.Predict(context.Background(), x, "")
	if err != nil {
		t.Fatal(err)
	}

	if q.Seeds != 3 || p.Seeds != 1 || !math.IsNaN(p.Spread[0]) {
		t.Errorf("%d and %d seeds, spread of one %v", q.Seeds, p.Seeds, p.Spread[0])
	}

	for j, name := range []string{"lift", "drag"} {
		column := func(k int, suffix string) []float64 { return stagetest.Floats(t, tabs[k], name+suffix) }
		for _, c := range []struct {
			suffix   string
			one, all []float64
		}{
			{"_mu", p.Mu, q.Mu},
			{"_cov", p.Cov, q.Cov},
			{"_delta", p.Delta, q.Delta},
			{"_zigzag", p.ZigZag, q.ZigZag},
			{"_cov_raw", p.Raw, q.Raw},
			{"_var", p.Total, nil},
		} {
			w := [][]float64{column(0, c.suffix), column(1, c.suffix), column(2, c.suffix)}
			for i := range a {
				if got := c.one[2*i+j]; got != w[0][i] {
					t.Fatalf("%s%s at %v: %v, training wrote %v", name, c.suffix, x[2*i:2*i+2], got, w[0][i])
				}

				if mean := (w[0][i] + w[1][i] + w[2][i]) / 3; c.all != nil &&
					math.Abs(c.all[2*i+j]-mean) > 1e-12*math.Max(1, math.Abs(mean)) {
					t.Fatalf("%s%s of three at %v: %v, mean %v", name, c.suffix, x[2*i:2*i+2], c.all[2*i+j], mean)
				}
			}
		}

		for i := range a {
			m, v, s := 0.0, 0.0, 0.0
			for k := range 3 {
				m += column(k, "_mu")[i] / 3
				v += column(k, "_var")[i] / 3
			}

			for k := range 3 {
				d := column(k, "_mu")[i] - m
				s += d * d / 2
			}

			if k := 2*i + j; math.Abs(q.Spread[k]-s) > 1e-9*s || math.Abs(q.Total[k]-v-s*2/3) > 1e-9*q.Total[k] {
				t.Fatalf("%s at %v: spread %v, total %v; want %v and %v", name, x[2*i:2*i+2], q.Spread[k], q.Total[k], s, v+s*2/3)
			}
		}
	}
}

// With a calibration, variances are those claimed times the factor in the file.
func TestPredictCalibrated(t *testing.T) {
	dir := filepath.Join(split(t), "seed-1")
	m := opened(t, dir)

	var c score.Recalibration

	raw, err := os.ReadFile(filepath.Join(dir, trainstage.CalibrationJSON))
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}

	if err != nil {
		t.Fatal(err)
	}

	// A quarter of the 48 training runs, one row each, none of them trained on.
	if c.Runs != 12 || c.Rows != 12 || m.Card.Triplets != 36 {
		t.Errorf("%d runs and %d rows set aside, trained on %d", c.Runs, c.Rows, m.Card.Triplets)
	}

	set := seedTable(t, 1).Column("set").Strings
	if n := len(slices.DeleteFunc(slices.Clone(set), func(s string) bool { return s != "calibration" })); n != 12 {
		t.Errorf("%d rows are called calibration", n)
	}

	x := []float64{1, 3, 2.5, 0}
	p, err1 := m.Predict(context.Background(), x, "")

	q, err2 := m.Predict(context.Background(), x, score.Scaled)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}

	for k := range p.Mu {
		want := p.Total[k] * c.Outcomes[k%2].TotalFactor
		if q.Mu[k] != p.Mu[k] || math.Abs(q.Total[k]-want) > 1e-12*want {
			t.Errorf("value %d: %v ± %v, want %v ± %v", k, q.Mu[k], q.Total[k], p.Mu[k], want)
		}
	}
}

// A recalibrated law gives an interval of one measurement: of one model with a map
// of quantiles μ + s(±z)·σ with the map in the file; of several the
// ends below which a mean of 2.5 and 97.5 % of their laws lie.
func TestPredictCalibratedLaw(t *testing.T) {
	dir := split(t)
	m := opened(t, filepath.Join(dir, "seed-1"))

	x := []float64{1, 3, 2.5, 0}
	p, err1 := m.Predict(context.Background(), x, "")

	q, err2 := m.Predict(context.Background(), x, score.Quantile)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}

	const z = 1.959963984540054
	for k := range p.Mu {
		o, sd := m.calibration[0].Outcomes[k%2], math.Sqrt(p.Total[k])

		lo, hi, ok := q.Interval(k, 0.95)
		if tol := 1e-8 * sd; !ok || math.Abs(lo-p.Mu[k]-o.Sigmas(-z)*sd) > tol || math.Abs(hi-p.Mu[k]-o.Sigmas(z)*sd) > tol {
			t.Errorf("value %d: %v … %v about %v ± %v", k, lo, hi, p.Mu[k], sd)
		}
	}

	if _, _, ok := p.Interval(0, 0.95); ok {
		t.Error("an interval of a law that was not recalibrated")
	}

	m = opened(t, dir)

	var err error
	if q, err = m.Predict(context.Background(), x, score.Quantile); err != nil {
		t.Fatal(err)
	}

	for k := range q.Mu {
		lo, hi, _ := q.Interval(k, 0.95)

		var below [2]float64
		for i, net := range m.nets {
			mu, v := net.Predict(x)

			s := net.OutcomeScale().Std[k%2]
			for e, y := range []float64{lo, hi} {
				below[e] += m.calibration[i].Below(k%2, 0, v[k]/(s*s), (y-mu[k])/s) / 3
			}
		}

		if math.Abs(below[0]-0.025) > 1e-6 || math.Abs(below[1]-0.975) > 1e-6 {
			t.Errorf("value %d: %v below %v, %v below %v", k, below[0], lo, below[1], hi)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := split(t)
	bad := t.TempDir()
	write := func(name, body string) string {
		p := filepath.Join(bad, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(body), 0o644)); err != nil {
			t.Fatal(err)
		}

		return p
	}

	model, err := os.ReadFile(filepath.Join(dir, "seed-0", "model.json"))
	if err != nil {
		t.Fatal(err)
	}

	card, err := os.ReadFile(filepath.Join(dir, "seed-0", "card.json"))
	if err != nil {
		t.Fatal(err)
	}

	write("other/seed-0/model.json", string(model))
	write("other/seed-0/card.json", string(card))
	write("other/seed-1/model.json", string(model))
	write("other/seed-1/card.json", strings.Replace(string(card), "b = 3", "b = 2", 1))
	write("short/model.json", string(model))
	write("short/card.json", `{"format":"doubletake-card","version":1,"inputs":[{"name":"a"}]}`)

	for _, c := range []struct{ path, want string }{
		{filepath.Join(bad, "none"), "pipeline run writes"},
		{bad, "name one split"},
		{t.TempDir(), "pipeline run trains some"},
		{filepath.Dir(filepath.Dir(dir)), "name one split: " + dir},
		{write("text/model.json", "hello"), "trained model"},
		{filepath.Join(bad, "other"), "same inputs"},
		{filepath.Join(bad, "short"), "2 inputs and 2 outcomes"},
	} {
		_, err := Open(c.path)

		var data *fault.Error
		if !errors.As(err, &data) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}

	nameless := opened(t, write("bare/model.json", string(model)))

	if len(nameless.Warnings) == 0 || !slices.Equal(nameless.InputNames(), []string{"x1", "x2"}) ||
		nameless.Outside([]float64{1e9, -5}) != nil {
		t.Errorf("a model without a card: %v, %v", nameless.InputNames(), nameless.Warnings)
	}

	if _, err := nameless.Predict(context.Background(), []float64{1, 2}, score.Scaled); err == nil {
		t.Error("a calibration that is not there was applied")
	}
}

func TestParseAt(t *testing.T) {
	m := opened(t, split(t))

	x, err := m.ParseAt(" b=3, a=1.5 ; a=-1e2,b=0")
	if err != nil || !slices.Equal(x, []float64{1.5, 3, -100, 0}) {
		t.Errorf("conditions %v, %v", x, err)
	}

	for _, c := range [][2]string{
		{"a=1", "b is missing"},
		{"a=1,b=2,c=3", `"c" is no input`},
		{"a=1,a=2,b=1", "occurs twice"},
		{"a=one,b=2", "expected a number"},
		{"a=NaN,b=2", "expected a number"},
		{"", "a is missing"},
	} {
		if _, err := m.ParseAt(c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want %q", c[0], err, c[1])
		}
	}
}

// Whatever the text, ParseAt returns whole rows or an error.
func FuzzParseAt(f *testing.F) {
	for _, s := range []string{
		"a=1,b=2", "a=1,b=2;a=0,b=0", "=", "a=1e309,b=1", "a=:,;",
	} {
		f.Add(s)
	}

	dir, err := trainedSplit()
	if err != nil {
		f.Fatal(err)
	}

	m := opened(f, filepath.Join(dir, "seed-0"))

	f.Fuzz(func(t *testing.T, s string) {
		if x, err := m.ParseAt(s); err == nil && (len(x) == 0 || len(x)%2 != 0) {
			t.Errorf("%q: %v", s, x)
		}
	})
}

// A map that was not learned is asked for in vain.
func TestPredictWithoutMap(t *testing.T) {
	m := opened(t, filepath.Join(split(t), "seed-1"))
	for j := range m.calibration[0].Outcomes {
		m.calibration[0].Outcomes[j].QuantileMap = score.Curve{}
	}

	if _, err := m.Predict(context.Background(), []float64{1, 3}, score.Quantile); err == nil ||
		!strings.Contains(err.Error(), "a calibration of kind quantile") {
		t.Error(err)
	}
}
