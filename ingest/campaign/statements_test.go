package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two files of repeats state something in their headers. The reader must warn if the settings differ and no input has
// them; it must not warn of counters, clocks and the state of the air, or if an input states the same.
func TestStatementsOfHeaders(t *testing.T) {
	for _, c := range []struct {
		first, second string
		given         []float64 // the input alpha_deg of each file
		warns         bool
	}{
		{first: "AoA: 0 deg", second: "AoA: 5 deg", warns: true},
		{first: "flap = 0", second: "flap = 20", warns: true},
		{first: "speed: 11.0 m/s", second: "speed: 26.4 m/s", warns: true},
		{first: "AoA: 5 deg", second: "AoA: 5.0 deg"},
		{first: "AoA: 0 deg", second: "AoA: 5 deg", given: []float64{0, 5}},
		{first: "AoA: 0 deg", second: "AoA: 5 deg", given: []float64{0, 7}, warns: true},
		{first: "Run: 1", second: "Run: 2"},
		{first: "Test no.: 1", second: "Test no.: 2"},
		{first: "Versuch: 1", second: "Versuch: 2"},
		{first: "Rep: 1", second: "Rep: 2"},
		{first: "tow speed: 1.0 m/s", second: "tow speed: 1.5 m/s", warns: true},
		{first: "Temperature [C]: 20.1", second: "Temperature [C]: 20.4"},
		{first: "Luftdruck [hPa]: 1013.2", second: "Luftdruck [hPa]: 1014.1"},
		{first: "Operator: A", second: "Operator: B"},
	} {
		dir := t.TempDir()
		options := TableOptions{Inputs: []string{"x"}, Repeats: []string{"p"}}
		if c.given != nil {
			options.Inputs = append(options.Inputs, "alpha_deg")
			options.Given = []string{"alpha_deg"}
		}

		var files []TableFile
		for i, head := range []string{c.first, c.second} {
			path := filepath.Join(dir, fmt.Sprintf("r%d.dat", i))
			text := "# " + head + "\nx,p\n1,10.5\n1,10.7\n2,11.5\n2,11.7\n"
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

			file := TableFile{Path: path, Name: path}
			if c.given != nil {
				file.Values = condition.Values{Numbers: map[string]float64{"alpha_deg": c.given[i]}}
			}

			files = append(files, file)
		}

		table, err := ReadTables(files, options)
		require.NoError(t, err)

		found := fmt.Sprint(table.Warnings)
		if c.warns {
			assert.Contains(t, found, "rows that differ in it count as repeats", c.first)
		} else {
			assert.NotContains(t, found, "count as repeats", c.first)
		}
	}
}

// Words that count runs and repeats are not settings in headers of files either. The exceptions begin names of
// settings.
func TestCountersAreNoSettings(t *testing.T) {
	settings := map[string]string{"tow": "tow speed", "take": "take-off angle"}
	for _, word := range strings.Split(vocabulary.RunWords+"|"+vocabulary.RepeatWords, "|") {
		setting, isException := settings[word]
		assert.Equal(t, !isException, noSetting.MatchString(word), word)
		if isException {
			assert.False(t, noSetting.MatchString(setting), setting)
		}
	}
}

// A polar that was measured once has no repeats: the error says what would make some.
func TestNoRepeatsHint(t *testing.T) {
	path := writeFile(t, "beta,CL\n0,0.1\n2,0.2\n4,0.3\n")
	_, err := readTable(path, TableOptions{Inputs: []string{"beta"}, Repeats: []string{"CL"}})
	assert.ErrorContains(t, err, "none among 3 rows (add rows of a second run")
}
