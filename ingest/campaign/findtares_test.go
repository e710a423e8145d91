package campaign

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/internal/testfile"
)

// locate finds a file by its path or by its name without folder and ending, in any letter case. If several files have
// the name, the file in the folder of the run counts, and otherwise locate returns an error. It returns an unknown name
// as it is.
func TestLocate(t *testing.T) {
	finder := &tareFinder{campaign: &setting.Campaign{}}
	files := []string{"a/off1.csv", "b/off1.csv", "zero/Null_A.csv", "c.csv"}
	for _, c := range [][3]string{
		{"off1", "a", "a/off1.csv"},
		{"b/off1.csv", "a", "b/off1.csv"},
		{"null_a", "a", "zero/Null_A.csv"},
		{"none", "a", "none"},
		{" c.csv ", "a", "c.csv"},
	} {
		text, err := finder.locate(tareCell{c[0], c[1]}, "line 2", files)
		require.NoError(t, err)
		assert.Equal(t, c[2], text, "%v", c)
	}

	_, err := finder.locate(tareCell{"off1", "zero"}, "line 2", files)
	assert.ErrorContains(t, err, `line 2: expected one recording without wind, found "a/off1.csv" and "b/off1.csv"`)
}

// The column tare names a recording without wind that has a row of its own, as people write names in a table: with or
// without folder and ending. Expected: the cell becomes the path of the recording, the recording stays among the
// measurements, and a recording without a row of its own does not, even if one with a row has its name.
func TestTakeNamed(t *testing.T) {
	for _, c := range []struct {
		files, rows []string // a row is the cells file and tare
		want        []string
		tares       []string
	}{
		{[]string{"run.csv", "zero.csv"}, []string{"run.csv,zero.csv"}, []string{"run.csv"}, []string{"zero.csv"}},
		{
			[]string{"run.csv", "zero.csv"},
			[]string{"run.csv,zero.csv", "zero.csv,zero.csv"},
			[]string{"run.csv", "zero.csv"},
			[]string{"zero.csv", "zero.csv"},
		},
		{
			[]string{"run.csv", "zero.csv"},
			[]string{"run,zero", "zero,zero"},
			[]string{"run.csv", "zero.csv"},
			[]string{"zero.csv", "zero.csv"},
		},
		{[]string{"run.csv", "zero.csv"}, []string{"*.csv,zero"}, []string{"run.csv"}, []string{"zero.csv"}},
		{
			[]string{"a/run.csv", "a/zero.csv", "b/off.csv", "b/zero.csv"},
			[]string{"a/run.csv,zero", "b/off.csv,zero", "b/zero.csv,zero"},
			[]string{"a/run.csv", "b/off.csv", "b/zero.csv"},
			[]string{"a/zero.csv", "b/zero.csv", "b/zero.csv"},
		},
	} {
		dir := t.TempDir()
		for _, file := range c.files {
			testfile.Write(t, filepath.Join(dir, file), "")
		}

		table := conds(t, "file,tare\n"+strings.Join(c.rows, "\n")+"\n")
		finder := &tareFinder{
			campaign: &setting.Campaign{Balance: &setting.Balance{Tare: &setting.Tare{Column: "tare"}}},
			project:  setting.Project{Dir: dir},
		}

		rest, _, err := finder.takeNamed(table, c.files, c.files)
		require.NoError(t, err)
		assert.Equal(t, c.want, rest, "%v", c.rows)

		var tares []string
		for _, row := range table.Rows {
			tare, _ := row.Name("tare")
			tares = append(tares, tare)
		}

		assert.Equal(t, c.tares, tares, "%v", c.rows)
	}
}

// The table of conditions names the recording without wind of each run. A missing table, column or cell is an error,
// and so are two intervals of a file with different recordings.
func TestOwnTare(t *testing.T) {
	row := func(line int, tare string) ConditionRow {
		return ConditionRow{
			Line: line, File: "a.csv", States: []condition.Condition{{Column: "tare", Name: tare, IsName: true}},
		}
	}
	c := &Conditions{
		Path: "c.csv", Labels: []string{"tare"},
		Rows: []ConditionRow{row(2, " off1.csv "), row(3, "off1.csv")},
	}

	text, err := ownTare("tare", c, "a.csv")
	require.NoError(t, err)
	assert.Equal(t, "off1.csv", text, "own")

	table := func(rows ...ConditionRow) *Conditions {
		return &Conditions{Path: "c.csv", Labels: []string{"tare"}, Rows: rows}
	}
	for _, c := range []struct {
		table *Conditions
		want  string
	}{
		{nil, "a.csv: expected a table of conditions with the column tare, found none"},
		{&Conditions{Path: "c.csv"}, "c.csv: expected a column tare"},
		{
			table(row(2, " ")),
			"c.csv: line 2, column tare: expected the recording without wind of a.csv, found an empty cell",
		},
		{
			table(row(2, "off1.csv"), row(3, "off2.csv")),
			`c.csv: line 3, column tare: expected "off1.csv", as for the other intervals of a.csv, found "off2.csv"`,
		},
	} {
		_, err := ownTare("tare", c.table, "a.csv")
		assert.ErrorContains(t, err, c.want)
	}
}
