package pairs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A command that reads a table has no keys of a configuration. Its messages name what can be done to the table.
func TestMessagesOfTablesNameNoKeys(t *testing.T) {
	for content, want := range map[string]string{
		"speed,lift\n1,2\n1,3\n": "write the two measurements of an outcome side by side, as OUTCOME_1 and OUTCOME_2; " +
			"or, if the table has one measurement a row, run pipeline init on its folder",
		"speed,lift_1,lift_2,lift_3\n1,2,3,4\n2,3,4,5\n": "write each further pair of values into a row of its own, or " +
			"run pipeline init on the folder of the table",
		"speed,lift_1,lift_2\n1,2,3\n2,,4\n": "(write it, or delete the row)",
		"case,lift_1,lift_2\n8E4,2,3\n9E5,3,4\n10E5,3,4\n": "(write numbers without an exponent, as 80000; " +
			"begin names with",
		"speed;lift_1;lift_2\n900;2;3\n1,200;3;4\n1,500;4;5\n": "(write numbers that can be read in one way only, as 1234.5)",
		"speed,lift_1,lift_2\n1,2,3\n2,3,4\n3,4":               "(complete the last row, or delete it)",
		"speed_m_s [foo],lift_1,lift_2\n1,2,3\n2,3,4\n":        "(correct the unit in the header)",
	} {
		_, err := FromPath(writeTable(t, content)).Open(nil)
		require.ErrorContains(t, err, want, content)
		for _, key := range []string{"with inputs", "with repeats", "ingest:", "units:", "log:", "under ingest"} {
			assert.NotContains(t, err.Error(), key, content)
		}
	}
}

// A column called run, in any case of letters, names the runs of a table, as in a configuration: it is neither a
// condition nor a label. Expected: the cells of the tables.
func TestRunColumn(t *testing.T) {
	for content, want := range map[string]string{
		"run,x,y_1,y_2\n7,1,2,3\n8,2,3,4\n":    "[7 8] [x] []",
		"Run,x,y_1,y_2\n7,1,2,3\n8,2,3,4\n":    "[7 8] [x] []",
		"RUN,x,y_1,y_2\na,1,2,3\nb,2,3,4\n":    "[a b] [x] []",
		"x,y_1,y_2\n1,2,3\n2,3,4\n":            "[x=1 x=2] [x] []",
		"x,rig,y_1,y_2\n1,A,2,3\n2,B,3,4\n":    "[x=1,rig=A x=2,rig=B] [x] [rig]",
		"run_nr,x,y_1,y_2\n7,1,2,3\n8,2,3,4\n": "[run_nr=7,x=1 run_nr=8,x=2] [run_nr x] []",
	} {
		p, err := FromPath(writeTable(t, content)).Open(nil)
		require.NoError(t, err, content)

		numbers, labels := Conditions(p.Table)
		assert.Equal(t, want, fmt.Sprint(p.Column("run").Strings, numbers, labels), content)
	}
}

// A command tells people which numbers of a table it may have misread. A table without doubts has no notes.
func TestNotesOfTables(t *testing.T) {
	for content, want := range map[string][]string{
		"speed,lift_1,lift_2\n1,2,3\n2,3,4\n":   nil,
		"speed,date,lift_1,lift_2\n1,Mon,2,3\n": nil,
		"speed,lift_1,lift_2\n1,2,3\n2,3,4\n3,-9999,5\n4,4,5\n": {
			"line 4, column 2 (lift_1): -9999 is far from all others: if it is a code for no value, delete its row",
		},
		"speed;lift_1;lift_2\n900;2;3\n1.200;3;4\n1.500,5;4;5\n": {
			`line 3, column 1 (speed): "1.200" is read as 1200, since the decimal sign is ','`,
		},
	} {
		path := writeTable(t, content)
		p, err := FromPath(path).Open(nil)
		require.NoError(t, err, content)

		var notes []string
		for _, note := range want {
			notes = append(notes, path+": "+note)
		}

		assert.Equal(t, notes, p.Notes, content)
	}
}

// writeTable writes a table of pairs, and returns its path.
func writeTable(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "pairs.csv")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))

	return path
}
