package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"doubletake/pipeline/engine"
	"doubletake/report"
)

// selectConfig is a table of pairs in five groups with two variants, of which one is
// selected by groups of the training set.
const selectConfig = `version: 1
kernels: portable
experiments:
  lab:
    ingest: {table: {file: pairs.csv, inputs: [x, g], y1: [y_1], y2: [y_2]}}
    train:
      inputs: [x, g]
      optimizer: {epochs: 20}
      seeds: SEEDS
      honest: {base: none}
      splits: {last: {test: {g: 5}}}
    sweep: {model.hidden: [1, [16, 16]]}
    select: {by: crps, on: g}
`

// runSelect runs it on pairs of which those of group 5 are shifted.
func runSelect(t *testing.T, shift float64, seeds string) (dir string, s report.Sweep) {
	t.Helper()
	dir = t.TempDir()
	rng := rand.New(rand.NewPCG(8, 8))
	var pairs strings.Builder
	pairs.WriteString("x,g,y_1,y_2\n")

	for i := range 100 {
		x, g := float64(i%20)/5, float64(1+i/20)
		y := math.Sin(2*x) + 0.1*g
		a, b := y+0.1*rng.NormFloat64(), y+0.1*rng.NormFloat64()
		if g == 5 {
			a, b = a+shift, b-shift*x
		}

		fmt.Fprintf(&pairs, "%g,%g,%.9g,%.9g\n", x, g, a, b)
	}

	write(t, dir, "pairs.csv", pairs.String())

	_, p := runCounted(t, dir, strings.Replace(selectConfig, "SEEDS", seeds, 1), engine.Options{Jobs: 2})
	sel := engine.Selection{Stages: []string{"report"}}
	res, err := p.Finished(sel)
	if err != nil {
		t.Fatal(err)
	}

	list, err := p.Sweeps(res, sel)
	if err != nil || len(list) != 1 || len(list[0].Splits) != 1 {
		t.Fatal(list, err)
	}

	return dir, list[0]
}

// The outcomes of what is held out have no part in a selection: when they become
// nonsense, its scores stay the same to the last bit, and those of the held-out set do
// not. The first variant, a single unit, is too small for a sine.
func TestSelectUsesNothingHeldOut(t *testing.T) {
	long(t, "trains networks or runs a campaign")

	_, a := runSelect(t, 0, "2")
	_, b := runSelect(t, 30, "2")

	text := func(c report.Comparison) string { return fmt.Sprintf("%+v", c) }
	if x, y := text(a.Splits[0].Inner), text(b.Splits[0].Inner); x != y || !strings.Contains(x, "Key:ratio") {
		t.Errorf("the left-out groups' scores depend on the held-out group:\n%s\n%s", x, y)
	}

	if text(a.Splits[0].Held) == text(b.Splits[0].Held) {
		t.Error("the held-out scores do not depend on the held-out group")
	}

	if n := a.Splits[0].Groups; n != 4 {
		t.Errorf("%d groups are left out, expected 4 of 5", n)
	}

	if got := a.Variants[a.Splits[0].Inner.Criteria[1].Ranks[0].Variant].Name; got != "lab/hidden=16-16" {
		t.Errorf("%s is selected", got)
	}
}

// scipyPaired reads rows of two lists and prints their paired t-tests.
const scipyPaired = `
import json, sys
from scipy import stats
print(json.dumps([[r.statistic, r.pvalue] for r in (stats.ttest_rel(a, b) for a, b in json.load(sys.stdin))]))
`

// The exported scores, compared by scipy, give the p-values that are printed: of one
// seed, where every row is a run of its own, that is scipy.stats.ttest_rel.
func TestCompareAgainstScipy(t *testing.T) {
	long(t, "trains variants and asks scipy")

	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import scipy.stats").Run(); err != nil {
		t.Skipf("%s with scipy is not here: %v", python, err)
	}

	dir, s := runSelect(t, 0, "1")
	tab := readTable(t, dir, "runs/lab/compare/scores.arrow")

	part, variant, run := tab.Column("part").Strings, tab.Column("variant").Strings, tab.Column("run").Ints

	var pairs [][2][]float64
	for _, c := range s.Splits[0].Held.Criteria {
		v, err := tab.Floats(c.Key)
		if err != nil {
			t.Fatal(err)
		}

		of := map[string][]float64{}

		runs := map[int64]bool{}
		for i := range v {
			if part[i] == "held out" {
				of[variant[i]] = append(of[variant[i]], v[i])
				runs[run[i]] = true
			}
		}

		if len(runs) != 20 {
			t.Fatalf("%d runs, expected one for each of 20 rows", len(runs))
		}

		name := func(k int) string { return strings.TrimPrefix(s.Variants[c.Ranks[k].Variant].Name, "lab/") }
		pairs = append(pairs, [2][]float64{of[name(1)], of[name(0)]})
	}

	in, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(python, "-c", scipyPaired)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()

	var want [][2]float64
	if err == nil {
		err = json.Unmarshal(out, &want)
	}

	if err != nil || len(want) != 4 {
		t.Fatalf("%v: %s", err, out)
	}

	for i, c := range s.Splits[0].Held.Criteria {
		r := c.Ranks[1]
		if math.Abs(r.Above/r.SE-want[i][0]) > 1e-9*math.Abs(want[i][0]) || math.Abs(r.P-want[i][1]) > 1e-9 ||
			r.Holm != r.P || r.Worse != (r.P < 0.05) {
			t.Errorf("%s: t %v, p %v, expected %v", c.Key, r.Above/r.SE, r.P, want[i])
		}
	}
}
