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
		// A counter beside the word of a setting.
		{first: "test section speed: 10 m/s", second: "test section speed: 20 m/s", warns: true},
		{first: "start angle: 5 deg", second: "start angle: 8 deg", warns: true},
		{first: "flow rate: 1.5", second: "flow rate: 2.5", warns: true},
		{first: "Reynolds number: 1e5", second: "Reynolds number: 2e5", warns: true},
		{first: "Number of blades: 2", second: "Number of blades: 3", warns: true},
		{first: "Start: 10.5 s", second: "Start: 11.5 s"},
		{first: "Rate [Hz]: 1000", second: "Rate [Hz]: 2000"},
		{first: "scan rate: 1000", second: "scan rate: 2000"},
		{first: "sampling frequency: 1000", second: "sampling frequency: 2000"},
		{first: "Data set number: 1", second: "Data set number: 2"},
		{first: "Temperature at start position: 20.1", second: "Temperature at start position: 20.4"},
		// Units are compared: 0.5 rad are 28.6479 deg.
		{first: "AoA: 28.6478898 deg", second: "AoA: 0.5 rad"},
		{first: "AoA: 5 deg", second: "AoA: 5 rad", warns: true},
		{first: "AoA: 0 rad", second: "AoA: 0.5 rad", given: []float64{0, 28.64788976}},
		{first: "AoA: 0 rad", second: "AoA: 0.5 rad", given: []float64{0, 0.5}, warns: true},
		{first: "speed: 3 m/s", second: "speed: 5 m/s", given: []float64{3, 5}, warns: true},
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

// The header of the table, in radians, is converted to the name of the input. The values are the angle of each file.
// A row without a value does not count.
func TestStatementsOfColumns(t *testing.T) {
	for _, c := range []struct {
		first, second string // cells of alpha_deg in the two rows of each file
		warns         bool
	}{
		{"0.1 0.1", "0.2 0.2", false},
		{"0.1 0.2", "0.2 0.2", true},
		{"0.1 -9999", "0.2 0.2", false},
	} {
		dir := t.TempDir()
		var files []TableFile
		for i, cells := range []string{c.first, c.second} {
			alpha := strings.Split(cells, " ")
			text := fmt.Sprintf("# AoA: 0.%d rad\nx,alpha_deg [rad],p\n1,%s,10.5\n1,%s,10.7\n", i+1, alpha[0], alpha[1])
			path := filepath.Join(dir, fmt.Sprintf("r%d.dat", i))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			files = append(files, TableFile{Path: path, Name: path})
		}

		table, err := ReadTables(files, TableOptions{
			Inputs: []string{"x", "alpha_deg"}, Repeats: []string{"p"}, Missing: []string{"-9999"},
		})
		require.NoError(t, err, c.first)
		assert.Equal(t, c.warns, strings.Contains(fmt.Sprint(table.Warnings), "count as repeats"), "%q", c.first)
	}
}

// Words that count runs and repeats are not settings in headers of files either. The exceptions begin names of
// settings.
func TestCountersAreNoSettings(t *testing.T) {
	settings := map[string]string{"tow": "tow speed", "take": "take-off angle"}
	words := strings.Split(vocabulary.RunWords+"|"+vocabulary.RepeatWords, "|")
	for _, word := range words {
		assert.Equal(t, settings[word] != "", isSetting(word), word)
	}

	for word, setting := range settings {
		assert.Contains(t, words, word)
		assert.True(t, isSetting(setting), setting)
	}
}

// A polar that was measured once has no repeats: the error says what would make some.
func TestNoRepeatsHint(t *testing.T) {
	path := writeFile(t, "beta,CL\n0,0.1\n2,0.2\n4,0.3\n")
	_, err := readTable(path, TableOptions{Inputs: []string{"beta"}, Repeats: []string{"CL"}})
	assert.ErrorContains(t, err, "none among 3 rows (add rows of a second run")
}
