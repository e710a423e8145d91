package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
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
		x := float64(i%12) / 4
		z := float64(i / 12)
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
	require.NoError(t, err)

	return dir
}

// opened opens the models of a split or of a seed.
func opened(t testing.TB, path string) *Models {
	t.Helper()

	m, err := Open(path, nil)
	require.NoError(t, err)

	return m
}

func seedTable(t *testing.T, k int) *table.Table {
	return tabletest.Read(t, filepath.Join(split(t), fmt.Sprintf("seed-%d", k), "predictions.arrow"))
}

// Expected values: the predictions the training stage wrote at the measured
// conditions. One model must give the same bits there; several together give the
// mean, and their mixture's variance, computed here from the tables.
func TestPredictAgreesWithTraining(t *testing.T) {
	dir := split(t)
	tabs := []*table.Table{seedTable(t, 0), seedTable(t, 1), seedTable(t, 2)}
	a := tabletest.Floats(t, tabs[0], "a")
	b := tabletest.Floats(t, tabs[0], "b")

	var x []float64
	for i := range a {
		x = append(x, a[i], b[i])
	}

	one := opened(t, filepath.Join(dir, "seed-0", "model.json"))

	assert.Equal(t, "wing", one.Card.Experiment)
	assert.Equal(t, "b = 3", one.Card.HeldOut)
	assert.Equal(t, "measured", one.Card.Data)
	assert.Equal(t, "deg", one.Card.Inputs[0].Unit)
	assert.Equal(t, 4.0, one.Card.Inputs[1].Max)
	assert.Equal(t, "N", one.Card.Outcomes[0].Unit)
	assert.Equal(t, "drag", one.Card.Outcomes[1].Name)

	p, err := one.Predict(context.Background(), x)
	require.NoError(t, err)

	all := opened(t, dir)

	q, err := all.Predict(context.Background(), x)
	require.NoError(t, err)

	assert.Equal(t, 3, q.Seeds)
	assert.Equal(t, 1, p.Seeds)
	assert.True(t, math.IsNaN(p.Spread[0]), "spread of one network")

	for j, name := range []string{"lift", "drag"} {
		column := func(k int, suffix string) []float64 { return tabletest.Floats(t, tabs[k], name+suffix) }
		for _, c := range []struct {
			suffix   string
			one, all []float64
		}{
			{"_mu", p.Mu, q.Mu},
			{"_cov", p.Cov, q.Cov},
			{"_delta", p.Delta, q.Delta},
			{"_zigzag", p.ZigZag, q.ZigZag},
			{"_cov_raw", p.CovRaw, q.CovRaw},
			{"_var", p.Var, nil},
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
			m := 0.0
			v := 0.0
			s := 0.0
			for k := range 3 {
				m += column(k, "_mu")[i] / 3
				v += column(k, "_var")[i] / 3
			}

			for k := range 3 {
				d := column(k, "_mu")[i] - m
				s += d * d / 2
			}

			k := 2*i + j
			require.InDelta(t, s, q.Spread[k], 1e-9*s, "%s at %v: spread", name, x[2*i:2*i+2])
			require.InDelta(t, v+s*2/3, q.Var[k], 1e-9*q.Var[k], "%s at %v: total", name, x[2*i:2*i+2])
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := split(t)
	bad := t.TempDir()
	write := func(name, body string) string {
		p := filepath.Join(bad, name)
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(body), 0o644)))

		return p
	}

	model := testfile.Read(t, filepath.Join(dir, "seed-0", "model.json"))

	card := testfile.Read(t, filepath.Join(dir, "seed-0", "card.json"))

	write("other/seed-0/model.json", string(model))
	write("other/seed-0/card.json", string(card))
	write("other/seed-1/model.json", string(model))
	write("other/seed-1/card.json", strings.Replace(string(card), "b = 3", "b = 2", 1))
	write("short/model.json", string(model))
	write("bare/model.json", string(model))
	write("two/a/seed-0/model.json", string(model))
	write("two/b/seed-0/model.json", string(model))
	write("short/card.json", `{"format":"doubletake-card","version":1,"inputs":[{"name":"a"}]}`)

	for _, c := range []struct{ path, want string }{
		{filepath.Join(bad, "none"), "pipeline run writes"},
		{
			filepath.Join(bad, "two"),
			"found 2 splits (name one split: " + filepath.Join(bad, "two", "a") + ", " + filepath.Join(bad, "two", "b") +
				"; or add final: {test: none}",
		},
		{t.TempDir(), "pipeline run trains some"},
		{write("text/model.json", "hello"), "trained model"},
		{filepath.Join(bad, "other"), "same inputs"},
		{filepath.Join(bad, "short"), "2 inputs and 2 outcomes"},
		{filepath.Join(bad, "bare"), "expected the card of the model next to it"},
	} {
		_, err := Open(c.path, nil)

		ingesttest.WantDataError(t, nil, err, c.want)
	}
}

func TestParseAt(t *testing.T) {
	m := opened(t, split(t))

	x, _, err := m.ParseAt(" b=3, a=1.5 ; a=-1e2,b=0:1:1")
	require.NoError(t, err)
	assert.Equal(t, []float64{1.5, 3, -100, 0, -100, 1}, x, "conditions")

	for _, c := range [][2]string{
		{"a=1", "b is missing"},
		{"a=1,b=2,c=3", `"c" is not an input`},
		{"a=1,a=2,b=1", "occurs twice"},
		{"a=one,b=2", "expected a number"},
		{"", "a is missing"},
	} {
		_, _, err := m.ParseAt(c[0])
		if c[1] == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c[1])
		}
	}
}

// Conditions of a table, in the units of the model's inputs (a in deg); the numbers are the table's, π/2 rad are 90°.
func TestReadConditions(t *testing.T) {
	m := opened(t, split(t))
	path := filepath.Join(t.TempDir(), "c.csv")
	for text, want := range map[string]string{
		"\ufeffa, other,b\n# a remark\n1,x,2\n -3e2 ,,4\n": "[1 2 -300 4]",
		"a [rad];b\n1.5707963267948966;1\n":                "[90 1]",
		"a [N];b\n1;1\n":                                   "column a: expected a unit that becomes deg, found N",
		"":                                                 "an empty file",
		"a,c\n1,2\n":                                       "expected a column b, found a, c",
		"a,b,a\n1,2,3\n":                                   "expected one column a, found two",
		"a,b\n1,two\n":                                     `row 1, column b: expected a number, found "two"`,
		"a,b\n1,2\n3\n":                                    "line 3, column 2 (b): expected 2 columns, found 1",
		"a,b\n1,NaN\n":                                     `expected a number, found "NaN"`,
		"a,b\n":                                            "no data rows",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

		x, _, err := m.ReadConditions(path)
		if got := fmt.Sprint(x, err); !strings.Contains(got, want) || (err == nil) != strings.HasPrefix(want, "[") {
			t.Errorf("%q: %s, expected %s", text, got, want)
		}
	}
}
