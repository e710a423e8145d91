package table_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
	"doubletake/pipeline/table"
	"doubletake/pipeline/table/tabletest"
)

// jsColumn and jsFile are what testdata/arrowjs/read.mjs prints.
type jsColumn struct {
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Nullable bool        `json:"nullable"`
	Metadata [][2]string `json:"metadata"`
	Values   []any       `json:"values"`
}

type jsFile struct {
	Rows     int         `json:"rows"`
	Batches  int         `json:"batches"`
	Metadata [][2]string `json:"metadata"`
	Columns  []jsColumn  `json:"columns"`
}

// arrowJS opens files with npm apache-arrow.
func arrowJS(t *testing.T, paths ...string) []jsFile {
	t.Helper()
	absent := func(format string, args ...any) {
		t.Helper()

		if os.Getenv("DOUBLETAKE_REQUIRE_NODE") == "1" {
			t.Fatalf("DOUBLETAKE_REQUIRE_NODE=1, but "+format, args...)
		}

		t.Skipf("Arrow JS is not compared: "+format, args...)
	}

	const dir = "testdata/arrowjs"

	node, err := exec.LookPath("node")
	if err != nil {
		absent("node is not installed")
	}

	if _, err := os.Stat(filepath.Join(dir, "node_modules", "apache-arrow", "package.json")); err != nil {
		absent("npm apache-arrow is not installed (npm ci in pipeline/table/%s)", dir)
	}

	cmd := exec.Command(node, append([]string{filepath.Join(dir, "read.mjs")}, paths...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read.mjs: %v\n%s", err, stderr.String())
	}

	var files []jsFile
	if err := json.Unmarshal(out, &files); err != nil {
		t.Fatalf("read.mjs: %v in %.200s", err, out)
	}

	if len(files) != len(paths) {
		t.Fatalf("read.mjs: %d files, expected %d", len(files), len(paths))
	}

	return files
}

// fromGo describes a table as read.mjs should: type names as Arrow JS prints
// them, values to the bit.
func fromGo(t *table.Table) jsFile {
	f := jsFile{Rows: t.Rows(), Metadata: [][2]string{}}
	for _, kv := range t.Meta {
		f.Metadata = append(f.Metadata, [2]string{kv.Key, kv.Value})
	}

	for _, c := range t.Columns {
		j := jsColumn{Name: c.Name, Metadata: [][2]string{}, Values: []any{}}
		if c.Unit != "" {
			j.Metadata = append(j.Metadata, [2]string{"unit", c.Unit})
		}

		if c.Description != "" {
			j.Metadata = append(j.Metadata, [2]string{"description", c.Description})
		}

		switch {
		case c.Strings != nil:
			j.Type = "Utf8"
			for _, v := range c.Strings {
				j.Values = append(j.Values, v)
			}

		case c.Ints != nil:
			j.Type = "Int64"
			for _, v := range c.Ints {
				j.Values = append(j.Values, fmt.Sprint(v))
			}

		case c.Bools != nil:
			j.Type = "Bool"
			for _, v := range c.Bools {
				j.Values = append(j.Values, v)
			}

		case c.Lists != nil:
			j.Type = "List<Float32>"
			for _, l := range c.Lists {
				row := []any{}
				for _, v := range l {
					row = append(row, fmt.Sprintf("%08x", math.Float32bits(v)))
				}

				j.Values = append(j.Values, row)
			}

		default:
			j.Type, j.Nullable = "Float64", true
			for _, v := range c.Floats {
				if v != v {
					j.Values = append(j.Values, nil)
				} else {
					j.Values = append(j.Values, fmt.Sprintf("%016x", math.Float64bits(v)))
				}
			}
		}

		f.Columns = append(f.Columns, j)
	}

	return f
}

// compare names the first difference. Arrow JS keeps metadata in a map: its
// order is not compared.
func compare(t *testing.T, name string, got, want jsFile) {
	t.Helper()

	if got.Rows != want.Rows || len(got.Columns) != len(want.Columns) {
		t.Errorf("%s: Arrow JS sees %d rows of %d columns, expected %d of %d", name, got.Rows, len(got.Columns), want.Rows,
			len(want.Columns))
		return
	}

	same := func(a, b [][2]string) bool {
		order := func(x, y [2]string) int { return strings.Compare(x[0], y[0]) }
		a, b = slices.Clone(a), slices.Clone(b)
		slices.SortFunc(a, order)
		slices.SortFunc(b, order)

		return slices.Equal(a, b)
	}

	if !same(got.Metadata, want.Metadata) {
		t.Errorf("%s: schema metadata: Arrow JS sees\n%q, expected\n%q", name, got.Metadata, want.Metadata)
	}

	for i, w := range want.Columns {
		g := got.Columns[i]
		if g.Name != w.Name || g.Type != w.Type || g.Nullable != w.Nullable || !same(g.Metadata, w.Metadata) {
			t.Errorf("%s: column %d: Arrow JS sees %q, %s, nullable %v, %q; expected %q, %s, nullable %v, %q",
				name, i, g.Name, g.Type, g.Nullable, g.Metadata, w.Name, w.Type, w.Nullable, w.Metadata)
			continue
		}

		if len(g.Values) != len(w.Values) {
			t.Errorf("%s: %s: Arrow JS sees %d values, expected %d", name, w.Name, len(g.Values), len(w.Values))
			continue
		}

		for r := range w.Values {
			if !reflect.DeepEqual(g.Values[r], w.Values[r]) {
				t.Errorf("%s: %s, row %d: Arrow JS sees %v, expected %v", name, w.Name, r, g.Values[r], w.Values[r])
				break
			}
		}
	}
}

// Every column type with the values that break readers; an empty table; a table of several
// batches. Expected values are the Go slices the table was written from.
func TestArrowJSTypes(t *testing.T) {
	dir := t.TempDir()
	tables := tabletest.Tables()
	order := slices.Sorted(maps.Keys(tables))

	var paths []string
	for _, name := range order {
		p := filepath.Join(dir, name+".arrow")
		if _, err := tables[name].WriteFile(p); err != nil {
			t.Fatal(err)
		}

		paths = append(paths, p)
	}

	for i, got := range arrowJS(t, paths...) {
		compare(t, order[i], got, fromGo(tables[order[i]]))
		if order[i] == "long" && got.Batches != 2 {
			t.Errorf("long: Arrow JS sees %d batches, expected 2: 65536 rows and 3", got.Batches)
		}
	}
}

// The tables a user opens: those of a small simulated campaign. What package
// table reads from each file is compared with what Arrow JS reads from it; that
// the tables are the contract's is checked by name, type and unit.
func TestArrowJSCampaign(t *testing.T) {
	dir := t.TempDir()
	err := pipelinetest.Run(dir, map[string]string{"pipeline.yaml": `version: 1
experiments:
  rotor:
    ingest:
      simulate: {campaign: rotor, seed: 1, duration_s: 1, blades: [2, 3, 4], rpm: [4000, 6000], theta_deg: [-30, 0, 30]}
    dsp: {triplets: split-half-spectrum}
    train:
      inputs: [blades, rpm, theta_deg]
      optimizer: {epochs: 2}
      seeds: 1
      splits: {2-blades: {test: {blades: 2}}}
  wing:
    ingest:
      simulate: {campaign: airfoil, seed: 1, duration_s: 1, alpha_deg: [0, 2, 4], u_inf_m_s: [5, 10]}
    dsp: {triplets: random-samples, samples: 20, chord_m: 0.1, span_m: 0.25, density_kg_m3: 1.2}
    train:
      inputs: [alpha_deg, u_inf_m_s]
      optimizer: {epochs: 2}
      seeds: 1
      splits: {steep: {test: {alpha_deg: 4}}}
  toy:
    ingest: {simulate: {campaign: toy, seed: 1, triplets: 40}}
    train: {inputs: [x], standardise: false, optimizer: {epochs: 2}, seeds: 1, splits: {outside: {test: {x: {min: 5}}}}}
`}, pipeline.Options{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}

	root := filepath.Join(dir, "runs")
	var names, paths []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".cache" {
				return fs.SkipDir
			}
			return err
		}

		if strings.HasSuffix(path, ".arrow") {
			rel, _ := filepath.Rel(root, path)
			names, paths = append(names, filepath.ToSlash(rel)), append(paths, path)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	seen := map[string]jsFile{}
	for i, got := range arrowJS(t, paths...) {
		tab, err := table.Read(paths[i])
		if err != nil {
			t.Fatal(err)
		}

		compare(t, names[i], got, fromGo(tab))
		seen[names[i]] = got
	}

	// Rows: 6 rotor runs of 3 microphones, each a recording, a triplet, and a
	// spectrum per half; 6 wing runs of 20 triplets each. Columns after CONTRACT.
	for _, c := range []struct {
		file    string
		rows    int
		columns string // name type unit, …
	}{
		{"rotor/recordings.arrow", 18, "run Utf8, recording Utf8, blades Float64, rpm Float64 1/min, theta_deg Float64 " +
			"deg, rate_hz Float64 Hz, samples Int64, sha256 Utf8"},
		{"rotor/triplets.arrow", 18, "run Utf8, recording Utf8, blades Float64, rpm Float64 1/min, bpf1_db_1 Float64 dB re " +
			"20 µPa, bpf5_db_2 Float64 dB re 20 µPa, bpf1_db_rho_db_1 Float64 dB, bpf1_db_sd_2 Float64 dB, bpf1_db_hz_1 " +
			"Float64 Hz, bpf1_db_emergent Bool"},
		{"rotor/spectra.arrow", 36, "run Utf8, half Int64, bin_hz Float64 Hz, power List<Float32> Pa², line_hz " +
			"List<Float32> Hz"},
		{
			"rotor/splits/2-blades/seed-0/predictions.arrow", 18,
			"set Utf8, bpf1_db_1 Float64 dB re 20 µPa, bpf1_db_mu Float64 dB re 20 µPa, bpf1_db_var Float64 (dB re 20 µPa)², " +
				"bpf1_db_cov_raw Float64 (dB re 20 µPa)², bpf1_db_cov Float64 (dB re 20 µPa)², bpf1_db_delta Float64 dB re 20 " +
				"µPa, bpf1_db_zigzag Float64 dB re 20 µPa",
		},
		{"rotor/splits/2-blades/seed-0/history.arrow", 2, "epoch Int64, loss Float64"},
		{"rotor/report/metrics.arrow", -1, "experiment Utf8, split Utf8, set Utf8, outcome Utf8, metric Utf8, mean " +
			"Float64, std Float64, seeds Int64, undefined Utf8"},
		{"wing/triplets.arrow", 120, "alpha_deg Float64 deg, u_inf_m_s Float64 m/s, cl_1 Float64, cl_2 Float64, cd_1 " +
			"Float64, cd_2 Float64"},
		{"wing/splits/steep/seed-0/predictions.arrow", 120, "cl_mu Float64, cd_zigzag Float64"},
		{"toy/triplets.arrow", 40, "x Float64, y_1 Float64, y_2 Float64"},
	} {
		f, ok := seen[c.file]
		if !ok {
			t.Errorf("%s is not among %q", c.file, names)
			continue
		}

		if c.rows >= 0 && f.Rows != c.rows || f.Rows == 0 {
			t.Errorf("%s: %d rows, expected %d", c.file, f.Rows, c.rows)
		}

		for _, want := range strings.Split(c.columns, ", ") {
			found := false
			for _, col := range f.Columns {
				unit := ""
				for _, kv := range col.Metadata {
					if kv[0] == "unit" {
						unit = kv[1]
					}
				}

				found = found || strings.TrimSpace(col.Name+" "+col.Type+" "+unit) == want
			}

			if !found {
				t.Errorf("%s: no column %q", c.file, want)
			}
		}

		for _, col := range f.Columns {
			if !slices.ContainsFunc(col.Metadata, func(kv [2]string) bool { return kv[0] == "description" && kv[1] != "" }) {
				t.Errorf("%s: column %s has no description", c.file, col.Name)
			}
		}

		for _, key := range []string{"program", "config_digest", "data"} {
			if !slices.ContainsFunc(f.Metadata, func(kv [2]string) bool { return kv[0] == key && kv[1] != "" }) {
				t.Errorf("%s: no %s in the schema metadata", c.file, key)
			}
		}
	}
}
