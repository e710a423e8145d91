package campaign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names of columns say which make pairs. Numbered outcomes are not taken for the first and the second value of one.
// The expected columns follow by hand from the comment of ResolveTable.
func TestResolveTablePairs(t *testing.T) {
	for _, c := range []struct{ head, inputs, y1, y2 string }{
		{"x,y_1,y_2", "x", "y_1", "y_2"},
		{"a,u,cl_1,cl_2,cd_1,cd_2", "a u", "cl_1 cd_1", "cl_2 cd_2"},
		{"a,y1_lift,y1_drag,y2_lift,y2_drag", "a", "y1_lift y1_drag", "y2_lift y2_drag"},
		{"a,U,y1_0,y1_1,y2_0,y2_1", "a U", "y1_0 y1_1", "y2_0 y2_1"},
		{"n,y1_0,y1_1,y1_2,y2_0,y2_1,y2_2", "n", "y1_0 y1_1 y1_2", "y2_0 y2_1 y2_2"},
		{"n,y2_2,y2_1,y1_2,y1_1", "n", "y1_2 y1_1", "y2_2 y2_1"},
		{"n,y1_1,y1_2,y1_3,y2_1,y2_2,y2_3", "n", "y1_1 y1_2 y1_3", "y2_1 y2_2 y2_3"},
	} {
		row := strings.Repeat("1,", strings.Count(c.head, ",")) + "1\n"
		o, _, err := ResolveTable(TableFile{Path: writeFile(t, c.head+"\n"+row+row)}, TableOptions{})
		require.NoError(t, err, c.head)
		assert.Equal(t, strings.Fields(c.inputs), o.Inputs, c.head)
		assert.Equal(t, strings.Fields(c.y1), o.Y1, c.head)
		assert.Equal(t, strings.Fields(c.y2), o.Y2, c.head)
	}

	_, _, err := ResolveTable(TableFile{Path: writeFile(t, "n,ct_1,ct_2,ct_3\n1,1,1,1\n")}, TableOptions{})
	assert.ErrorContains(t, err, "pairs.csv: column ct_3: expected two values of ct, found a third")
}

// A column called run names the runs and is not an input. A column of names that look like numbers is not an input
// either, and ResolveTable lists it among the columns of text, as a run that is not a number. cmd/app
// has it as case run-column.
func TestRunColumn(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"run,x,y_1,y_2\nq1,1,2,3\n", "run [x] [run]"},
		{"Run,x,y_1,y_2\n1,1,2,3\n", "Run [x] []"},
		{"run_nr,x,y_1,y_2\n1,1,2,3\n", " [run_nr x] []"},
		{"profile,x,y_1,y_2\n0012,1,2,3\n", " [x] [profile]"},
	} {
		o, texts, err := ResolveTable(TableFile{Path: writeFile(t, c.text)}, TableOptions{Names: []string{"profile"}})
		require.NoError(t, err, "%q", c.text)

		got := fmt.Sprint(o.Run, " ", o.Inputs, " ", texts)
		assert.Equal(t, c.want, got, "%q", c.text)
	}
}
