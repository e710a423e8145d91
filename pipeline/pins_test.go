package pipeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train"
	"doubletake/train/kernel"
)

var updatePins = flag.Bool("update-pins", false, "write testdata/pins.json from this run")

const pinsFile = "testdata/pins.json"

// TestPins compares digests of every result of the default run, of the examples
// and of the configurations in testdata/pins with those committed in
// testdata/pins.json, per set of numeric kernels. A refactoring changes none.
//
// Digests cover numbers and names: Arrow tables without their metadata and
// descriptions, the numbers of metrics.json and of the figures' CSV files. Words
// may change. DOUBLETAKE_LONG=1 runs everything with the set that this machine would
// choose, DOUBLETAKE_LONG=all with every set (ten minutes).
func TestPins(t *testing.T) {
	if !*updatePins {
		longtest.Skip(t, "runs the examples and the default configuration")
	}

	if testing.Short() {
		t.Skip("runs the examples")
	}

	pins := map[string]map[string]map[string]string{} // case, kernel set, file

	b, err := os.ReadFile(pinsFile)
	if err == nil {
		err = json.Unmarshal(b, &pins)
	}

	if !*updatePins {
		require.NoError(t, err)
	}

	every := os.Getenv("DOUBLETAKE_LONG") == "all" || *updatePins
	best, err := train.KernelSet("auto")
	require.NoError(t, err)

	for _, c := range configurations {
		for _, set := range kernel.Names() {
			if set != best && !every {
				continue
			}

			t.Run(c.name+"/"+set, func(t *testing.T) {
				dir := ""
				if set == best && !every {
					dir, _ = finishedIn(t, c.name)
				} else {
					dir = c.make(t)
					f, err := os.OpenFile(filepath.Join(dir, "pipeline.yaml"), os.O_APPEND|os.O_WRONLY, 0)
					require.NoError(t, err)
					fmt.Fprintf(f, "\nkernels: %s\n", set)
					require.NoError(t, f.Close())

					runIn(t, dir)
				}

				got := pinsOf(t, filepath.Join(dir, "runs"))
				if *updatePins {
					if pins[c.name] == nil {
						pins[c.name] = map[string]map[string]string{}
					}

					pins[c.name][set] = got

					return
				}

				want, ok := pins[c.name][set]
				if !ok {
					t.Fatalf("%s has no digests of this kernel set: go test ./pipeline -run TestPins -update-pins", pinsFile)
				}

				for name, d := range want {
					assert.Equal(t, d, got[name], "%s changed: digest", name)
				}

				for name := range got {
					if _, ok := want[name]; !ok {
						t.Errorf("%s is new", name)
					}
				}
			})
		}
	}

	if *updatePins {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetIndent("", " ")

		require.NoError(t, e.Encode(pins))
		require.NoError(t, os.WriteFile(pinsFile, out.Bytes(), 0o644))
	}
}

func configured(t testing.TB, path string) string {
	t.Helper()

	b := testfile.Read(t, path)

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", string(b))

	return dir
}

// pinsOf digests the published results below dir. Figures are one entry each
// experiment.
func pinsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	figures := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		name = filepath.ToSlash(name)

		if e.IsDir() {
			if e.Name() == ".cache" {
				return fs.SkipDir
			}
			return nil
		}

		switch filepath.Ext(path) {
		case ".arrow":
			if strings.HasSuffix(name, "metrics.arrow") || strings.HasSuffix(name, "honest.arrow") ||
				strings.HasSuffix(name, "left-out.arrow") {
				return nil // the numbers of metrics.json, with words, and what they come from; newer than the digests
			}

			tab, err := table.Read(path)
			if err != nil {
				return err
			}

			tab.Columns = slices.DeleteFunc(tab.Columns, func(c table.Column) bool {
				return c.Name == "held_out_loss" // newer than the digests
			})
			out[name] = tab.Digest()

		case ".csv":
			if strings.Contains(filepath.Base(name), "honest-") {
				return nil // newer than the digests
			}

			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}

			fields := strings.FieldsFunc(string(b), func(r rune) bool { return r == ',' || r == '\n' })
			fields = slices.DeleteFunc(fields, func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err != nil })
			at := filepath.ToSlash(filepath.Dir(name))
			figures[at] = append(figures[at], strings.Join(fields, "\n")+"\n"...)

		case ".json":
			if !strings.HasSuffix(name, "metrics.json") && !strings.HasSuffix(name, "model.json") {
				return nil
			}

			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}

			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()

			var v any
			if err := d.Decode(&v); err != nil {
				return err
			}

			h := sha256.New()
			numbers(h.Write, "", v)
			out[name] = hex.EncodeToString(h.Sum(nil))
		}

		return nil
	})
	require.NoError(t, err)

	for at, b := range figures {
		sum := sha256.Sum256(b)
		out[at] = hex.EncodeToString(sum[:])
	}

	return out
}

// numbers writes every number and truth value of a JSON value with its place.
func numbers(write func([]byte) (int, error), at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}

		slices.Sort(keys)

		for _, k := range keys {
			if k == "honest" || k == "network" {
				continue // newer than the digests
			}
			numbers(write, at+"."+k, v[k])
		}

	case []any:
		for i, x := range v {
			numbers(write, at+"["+strconv.Itoa(i)+"]", x)
		}

	case json.Number, bool:
		_, _ = write(fmt.Appendf(nil, "%s=%v\n", at, v))
	}
}
