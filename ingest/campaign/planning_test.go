package campaign

import (
	"path/filepath"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
)

// Which columns make pairs, by hand from ResolveTable's comment. Numbered
// outcomes must not be taken for the first and second value of one.
func TestResolveTablePairs(t *testing.T) {
	for _, c := range []struct{ head, inputs, y1, y2 string }{
		{"x,y_1,y_2", "x", "y_1", "y_2"},
		{"a,u,cl_1,cl_2,cd_1,cd_2", "a u", "cl_1 cd_1", "cl_2 cd_2"},
		{"a,y1_lift,y1_drag,y2_lift,y2_drag", "a", "y1_lift y1_drag", "y2_lift y2_drag"},
		{"a,U,y1_0,y1_1,y2_0,y2_1", "a U", "y1_0 y1_1", "y2_0 y2_1"},
		{"n,y1_0,y1_1,y1_2,y2_0,y2_1,y2_2", "n", "y1_0 y1_1 y1_2", "y2_0 y2_1 y2_2"},
		{"n,y2_2,y2_1,y1_2,y1_1", "n", "y1_2 y1_1", "y2_2 y2_1"},
		{"n,y1_1,y1_2,y1_3,y2_1,y2_2,y2_3", "n", "y1_1 y1_2 y1_3", "y2_1 y2_2 y2_3"},
		{"n,ct_1,ct_2,ct_3", "pairs.csv: column ct_3: expected two values of ct, found a third", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "pairs.csv")

		row := strings.Repeat("1,", strings.Count(c.head, ",")) + "1\n"
		testfile.Write(t, path, c.head+"\n"+row+row)

		o, _, err := ResolveTable(TableFile{Path: path}, TableOptions{})
		if err != nil {
			assert.Contains(t, err.Error(), c.inputs)
			continue
		}

		assert.Equal(t, strings.Fields(c.inputs), o.Inputs, "%s", c.head)
		assert.Equal(t, strings.Fields(c.y1), o.Y1, "%s", c.head)
		assert.Equal(t, strings.Fields(c.y2), o.Y2, "%s", c.head)
	}
}
