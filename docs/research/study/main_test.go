package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"doubletake/docs/research/methods"
	"doubletake/internal/testfile"
	"doubletake/report"
	"doubletake/train/baseline"
	"doubletake/train/score"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The study's program has the research's methods.
func TestMain(m *testing.M) {
	if err := baseline.Register(methods.All...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	os.Exit(m.Run())
}

const tiny = `version: 1
workdir: runs
experiments:
  toy-1.5:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    train: &small
      inputs: [x]
      standardise: false
      model: {hidden: [16, 16]}
      optimizer: {epochs: 15}
      seeds: 2
      compare: [mc-dropout, ensemble, gp]
      honest: {base: none}
      splits: {outside: {test: {x: {min: 5}}}, gap: {test: {x: {min: 2, max: 4}}}}
  couples-1.5:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    dsp: {couples: true}
    train: *small
  airfoil:
    ingest: {simulate: {campaign: airfoil, seed: 1, duration_s: 1, alpha_deg: [-4, 0, 4, 8], u_inf_m_s: [4.7, 9, 14]}}
    dsp: {triplets: random-samples, samples: 20, chord_m: 0.10, span_m: 0.25, density_kg_m3: 1.204}
    train:
      inputs: [alpha_deg, u_inf_m_s]
      model: {hidden: [16, 16]}
      optimizer: {epochs: 10}
      seeds: 2
      compare: [ensemble, gp]
      honest: {base: none}
      splits: {low-speed: {test: {u_inf_m_s: {near: 4.7, within: 0.1}}}}
`

// small writes a configuration into a folder of its own and returns its path.
func small(t *testing.T, text string) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "small.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))

	return path
}

// made runs a part twice with a small configuration and returns its tables by name. The
// second run must write the same bytes.
func made(t *testing.T, p part, config string) map[string]*sheet {
	t.Helper()
	tables := t.TempDir()
	p.configs = []string{config}

	var first [][]byte
	for range 2 {
		require.NoError(t, p.run(t.Context(), tables, io.Discard))

		var now [][]byte
		for _, name := range append(p.tables, sources) {
			b := testfile.Read(t, filepath.Join(tables, name+".csv"))

			now = append(now, b)
		}

		if first != nil && !slices.EqualFunc(first, now, bytes.Equal) {
			t.Errorf("%s: the second run wrote other tables", p.name)
		}

		first = now
	}

	out := map[string]*sheet{}
	for _, name := range append(p.tables, sources) {
		s, err := readSheet(tables, name)
		require.NoError(t, err)

		out[name] = s
	}

	return out
}

// value is a cell of the rows whose first cells are those given, "" without such a row.
func (s *sheet) value(column string, first ...string) string {
	k := slices.Index(s.head, column)
	for _, r := range s.rows {
		if slices.Equal(r[:len(first)], first) {
			return r[k]
		}
	}

	return ""
}

func named(t *testing.T, name string) part {
	t.Helper()

	i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
	if i < 0 {
		t.Fatalf("no part %s", name)
	}

	return parts[i]
}

// The tables of a small configuration hold the numbers of metrics.json, which is read
// here independently of the generator, and state which configuration they are from.
func TestTables(t *testing.T) {
	config := small(t, tiny)
	got := made(t, named(t, "simulated"), config)

	raw := testfile.Read(t, filepath.Join(filepath.Dir(config), "runs/toy-1.5/report/metrics.json"))

	type value struct{ Mean, Std float64 }
	var m struct {
		Splits []struct {
			Name    string
			Test    struct{ R2 value }
			Methods []struct {
				Method string
				CRPS   value
			}
		}
	}

	if err := json.Unmarshal(raw, &m); err != nil || len(m.Splits) != 2 || len(m.Splits[0].Methods) != 5 {
		t.Fatalf("%v: %s", err, raw)
	}

	near := func(name, cell string, want float64) {
		t.Helper()

		if v, err := strconv.ParseFloat(cell, 64); err != nil || v < want-0.06*max(want, -want) ||
			v > want+0.06*max(want, -want) {
			t.Errorf("%s is %q, expected %v", name, cell, want)
		}
	}

	for _, s := range m.Splits {
		at := cells(score.Value{Mean: s.Test.R2.Mean, Std: s.Test.R2.Std, N: 2})
		if got["simulated"].value("r2_test", "toy-1.5", s.Name) != at[0] ||
			got["simulated"].value("r2_test_sd", "toy-1.5", s.Name) != at[1] {
			t.Errorf("split %s: expected R² %q in\n%q", s.Name, at, got["simulated"].rows)
		}

		for _, method := range s.Methods {
			near(method.Method, got["simulated-methods"].value("crps", "toy-1.5", s.Name, method.Method), method.CRPS.Mean)
		}
	}

	if toy := got["simulated-toy"]; len(toy.rows) != 4 || toy.value("e", "couples-1.5", "test") != "" ||
		toy.value("e", "toy-1.5", "test") == "" {
		t.Errorf("the toys: %q", toy.rows)
	}

	if sum := got[sources].value("sha256", "simulated"); sum != fmt.Sprintf("%x", sha256.Sum256([]byte(tiny))) {
		t.Errorf("sources.csv has the digest %s of the configuration", sum)
	}
}

func TestSuggestTable(t *testing.T) {
	few := []campaign{{
		experiment: "airfoil",
		inputs:     []string{"alpha_deg", "u_inf_m_s"},
		outcomes:   []string{"cl", "cd"},
		chosen:     []string{"alpha_deg", "u_inf_m_s"},
		groups:     "u_inf_m_s",
		perRun:     4,
		start:      4,
		rounds:     1,
		each:       2,
		test:       3,
		repeats:    2,
		seeds:      2,
		epochs:     5,
	}}

	s := made(t, part{name: "suggest", tables: []string{"suggest"}, make: suggestTable(few)}, small(t, tiny))["suggest"]
	if len(s.rows) != 1+len(strategies) {
		t.Fatalf("%q", s.rows)
	}

	for i, r := range s.rows {
		if want := []string{"airfoil", "4", "1", "2", "3", "2", "2"}; !slices.Equal(r[:7], want) || r[8] == "" ||
			(r[13] == "") != (i < 2) {
			t.Errorf("%q", r)
		}
	}
}

// Of the ensembles the deviation between their members is the root of the mean variance
// in ensemble.arrow; here the claim's metric, a mean of roots, is not far from it.
func TestWidths(t *testing.T) {
	s := made(t, named(t, "widths"), small(t, tiny))["widths-ensemble"]
	if len(s.rows) != 10 {
		t.Fatalf("%q", s.rows)
	}

	v, err := strconv.ParseFloat(s.value("deviation_test", "toy-1.5", "gap", "ensemble"), 64)
	if err != nil || v <= 0 || s.value("deviation_test", "toy-1.5", "gap", "pair, C") != "" {
		t.Errorf("%v, %v: %q", v, err, s.rows)
	}
}

// The table of intervals holds the numbers of metrics.json, and names what has none.
func TestIntervals(t *testing.T) {
	const config = `version: 1
workdir: runs
experiments:
  toy1-gp:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [4]}
      optimizer: {epochs: 1}
      seeds: 1
      splits: {outside: {test: {x: {min: 5}}}, gap: {test: {x: {min: 2, max: 4}}}}
  toy1-ensemble:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5, triplets: 150}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [4]}
      optimizer: {epochs: 5}
      seeds: 1
      members: 2
      honest: {base: ensemble, blocks: 3}
      splits: {outside: {test: {x: {min: 2}}}}
`

	path := small(t, config)
	got := made(t, named(t, "intervals"), path)

	raw := testfile.Read(t, filepath.Join(filepath.Dir(path), "runs/toy1-gp/report/metrics.json"))

	var m struct {
		Splits []struct {
			Name   string
			Honest struct {
				Before float64 `json:"coverage_95_before"`
				After  float64 `json:"coverage_95"`
				R2     float64
				K      int
			}
		}
	}

	if err := json.Unmarshal(raw, &m); err != nil || len(m.Splits) != 2 {
		t.Fatalf("%v: %s", err, raw)
	}

	for _, s := range m.Splits {
		h := s.Honest
		want := []string{fmt.Sprint(h.K), digits(h.R2, 4), digits(h.Before, 4), digits(h.After, 4)}
		for i, column := range []string{"k", "r2", "coverage_before", "coverage_95"} {
			assert.Equal(t, want[i], got["intervals"].value(column, "toy1", "gp", s.Name), "%s of %s is", column, s.Name)
		}
	}

	if level := got["intervals"].value("level", "toy1", "ensemble"); level != "0.98" {
		t.Errorf("two groups give intervals of level %s, expected 0.98: %q", level, got["intervals"].rows)
	}

	if sum := got["intervals-summary"]; len(sum.rows) != 2 || sum.value("sets", "toy", "gp") != "2" {
		t.Errorf("the summary: %q", sum.rows)
	}
}

// The table of rises holds the numbers of both variants' metrics.json; three groups take six trainings.
func TestEcov(t *testing.T) {
	const config = `version: 1
workdir: runs
experiments:
  wing:
    ingest: {simulate: {campaign: airfoil, seed: 1, duration_s: 1, alpha_deg: [-4, 0, 4, 8], u_inf_m_s: [4.7, 9, 14]}}
    dsp: {triplets: random-samples, samples: 4, chord_m: 0.10, span_m: 0.25, density_kg_m3: 1.204}
    train:
      inputs: [alpha_deg, u_inf_m_s]
      model: {hidden: [4]}
      optimizer: {epochs: 2}
      seeds: 1
      splits: {each: u_inf_m_s}
    sweep: {honest.scale: [plain, ecov]}
`

	path := small(t, config)
	got := made(t, named(t, "ecov"), path)

	for variant, columns := range map[string][2]string{
		"plain": {"coverage_95", "score"}, "ecov": {"coverage_95_ecov", "score_ecov"},
	} {
		var m report.Metrics
		raw := testfile.Read(t, filepath.Join(filepath.Dir(path), "runs/wing/scale="+variant+"/report/metrics.json"))
		if err := json.Unmarshal(raw, &m); err != nil || len(m.Splits) != 3 {
			t.Fatalf("%v: %s", err, raw)
		}

		for _, s := range m.Splits {
			cell := func(column string) string { return got["ecov"].value(column, "wing", s.Name) }
			assert.Equal(t, digits(s.Honest.At[2], 4), cell(columns[0]), "%s of %s", variant, s.Name)
			assert.Equal(t, digits(s.Honest.After.Score, 5), cell(columns[1]), "%s of %s", variant, s.Name)
			assert.Equal(t, digits(math.Log(s.Test.Get("abs_cov").Mean/s.Train.Get("abs_cov").Mean), 4), cell("rho"),
				"rise of %s", s.Name)
		}
	}

	assert.Equal(t, "6", got["ecov-trainings"].value("trainings", "wing"), "trainings")
	assert.Equal(t, "3", got["ecov-thirds"].value("groups", "false", "all"), "groups")
}

// The committed tables are those of the committed configurations.
func TestCommitted(t *testing.T) {
	s, err := readSheet("../tables", sources)
	require.NoError(t, err)

	for _, p := range parts {
		for _, name := range p.tables {
			for _, config := range p.configs {
				raw := testfile.Read(t, filepath.Join("..", config))

				if s.value("sha256", name, config) != fmt.Sprintf("%x", sha256.Sum256(raw)) {
					t.Errorf("tables/%s.csv was made from another %s: run go run ./study %s", name, config, p.name)
				}
			}
		}
	}
}

func TestUnknownPart(t *testing.T) {
	if err := study(t.Context(), []string{"tables"}, t.TempDir(), io.Discard); err == nil {
		t.Error("a part that is not there was run")
	}
}
