package pipeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path"
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

// digests are digests of results by file.
type digests map[string]string

// Every result of the default run, of the examples and of the configurations in testdata/pins has the digest that
// testdata/pins.json has for the set of numeric kernels. A refactoring changes none.
//
// Digests cover numbers and names: Arrow tables without their metadata and descriptions, the numbers of metrics.json
// and of the figures' CSV files. Words may change. DOUBLETAKE_LONG=1 runs everything with the kernel set that this
// machine would choose, DOUBLETAKE_LONG=all with every set (ten minutes).
func TestPins(t *testing.T) {
	if !*updatePins {
		longtest.Skip(t, "runs the examples and the default configuration")
	}

	if testing.Short() {
		t.Skip("runs the examples")
	}

	pins := readPins(t)
	runsEverySet := longtest.IsStudy() || *updatePins
	best, err := train.KernelSet("auto")
	require.NoError(t, err)

	for _, c := range configurations {
		for _, set := range kernel.Names() {
			if set != best && !runsEverySet {
				continue
			}

			t.Run(c.name+"/"+set, func(t *testing.T) {
				var dir string
				if runsEverySet {
					dir = c.make(t)
					appendText(t, filepath.Join(dir, "pipeline.yaml"), fmt.Sprintf("\nkernels: %s\n", set))
					runIn(t, dir)
				} else {
					dir, _ = finishedIn(t, c.name)
				}

				found := digestsBelow(t, filepath.Join(dir, "runs"))
				if *updatePins {
					if pins[c.name] == nil {
						pins[c.name] = map[string]digests{}
					}

					pins[c.name][set] = found

					return
				}

				require.Contains(t, pins[c.name], set,
					"%s has no digests of this kernel set: go test ./pipeline -run TestPins -update-pins", pinsFile)
				assertSameDigests(t, pins[c.name][set], found)
			})
		}
	}

	if *updatePins {
		writePins(t, pins)
	}
}

// readPins returns the committed digests by case and kernel set. If the pins are to be updated, the file may be
// missing or damaged.
func readPins(t *testing.T) map[string]map[string]digests {
	t.Helper()

	pins := map[string]map[string]digests{}
	b, err := os.ReadFile(pinsFile)
	if err == nil {
		err = json.Unmarshal(b, &pins)
	}

	if !*updatePins {
		require.NoError(t, err)
	}

	return pins
}

// writePins writes the file of digests.
func writePins(t *testing.T, pins map[string]map[string]digests) {
	t.Helper()

	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(pins))
	require.NoError(t, os.WriteFile(pinsFile, b.Bytes(), 0o644))
}

// appendText appends text to a file.
func appendText(t *testing.T, path, text string) {
	t.Helper()

	content := string(testfile.Read(t, path))
	require.NoError(t, os.WriteFile(path, []byte(content+text), 0o644))
}

// assertSameDigests asserts that two runs have the same files with the same digests. It names each file that differs.
func assertSameDigests(t *testing.T, want, found digests) {
	t.Helper()

	for name, digest := range want {
		assert.Equal(t, digest, found[name], "%s changed: digest", name)
	}

	for name := range found {
		assert.Contains(t, want, name, "%s is new", name)
	}
}

// digestsBelow returns the digests of the published results below a folder: one for each Arrow table, metrics.json and
// model.json, and one for all figures of a folder, under the folder's name.
func digestsBelow(t *testing.T, dir string) digests {
	t.Helper()

	found := digests{}
	figures := map[string][]byte{} // numbers of the figures, by folder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if entry.IsDir() {
			if entry.Name() == ".cache" {
				return fs.SkipDir
			}
			return nil
		}

		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		name := filepath.ToSlash(relative)
		if isNewerThanPins(name) {
			return nil
		}

		switch {
		case filepath.Ext(path) == ".arrow":
			found[name] = tableDigest(t, path)
		case filepath.Ext(path) == ".csv":
			folder := filepath.ToSlash(filepath.Dir(name))
			figures[folder] = append(figures[folder], numbersOfCSV(t, path)...)
		case strings.HasSuffix(name, "metrics.json") || strings.HasSuffix(name, "model.json"):
			found[name] = jsonDigest(t, path)
		}

		return nil
	})
	require.NoError(t, err)

	for folder, numbers := range figures {
		sum := sha256.Sum256(numbers)
		found[folder] = hex.EncodeToString(sum[:])
	}

	return found
}

// isNewerThanPins reports whether a result is of a kind that the program did not make when the digests were taken. The
// tables of metrics and intervals have the numbers of metrics.json and the numbers from which those are computed.
func isNewerThanPins(name string) bool {
	for _, suffix := range []string{"metrics.arrow", "honest.arrow", "left-out.arrow"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}

	isFigure := strings.HasSuffix(name, ".csv")

	return isFigure && strings.Contains(path.Base(name), "honest-")
}

// tableDigest returns the digest of a table, without a column that is newer than the digests.
func tableDigest(t *testing.T, path string) string {
	t.Helper()

	tab, err := table.Read(path)
	require.NoError(t, err)

	tab.Columns = slices.DeleteFunc(tab.Columns, func(c table.Column) bool { return c.Name == "held_out_loss" })

	return tab.Digest()
}

// numbersOfCSV returns the numbers of a CSV file, one a line.
func numbersOfCSV(t *testing.T, path string) []byte {
	t.Helper()

	isSeparator := func(r rune) bool { return r == ',' || r == '\n' }
	var numbers []byte
	for _, field := range strings.FieldsFunc(string(testfile.Read(t, path)), isSeparator) {
		if _, err := strconv.ParseFloat(field, 64); err == nil {
			numbers = append(numbers, field+"\n"...)
		}
	}

	return numbers
}

// jsonDigest returns the digest of the numbers and truth values of a JSON file.
func jsonDigest(t *testing.T, path string) string {
	t.Helper()

	d := json.NewDecoder(bytes.NewReader(testfile.Read(t, path)))
	d.UseNumber()

	var value any
	require.NoError(t, d.Decode(&value))

	h := sha256.New()
	writeNumbers(h, "", value)

	return hex.EncodeToString(h.Sum(nil))
}

// writeNumbers writes every number and truth value of a JSON value with its place, in the order of the keys. Values
// below the keys "honest" and "network" are newer than the digests.
func writeNumbers(h hash.Hash, place string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key != "honest" && key != "network" {
				writeNumbers(h, place+"."+key, value[key])
			}
		}

	case []any:
		for i, element := range value {
			writeNumbers(h, place+"["+strconv.Itoa(i)+"]", element)
		}

	case json.Number, bool:
		fmt.Fprintf(h, "%s=%v\n", place, value)
	}
}
