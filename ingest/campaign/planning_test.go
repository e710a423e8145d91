package campaign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	} {
		path := filepath.Join(t.TempDir(), "pairs.csv")

		row := strings.Repeat("1,", strings.Count(c.head, ",")) + "1\n"
		if err := os.WriteFile(path, []byte(c.head+"\n"+row+row), 0o644); err != nil {
			t.Fatal(err)
		}

		o, _, err := ResolveTable(path, TableOptions{})
		if err != nil {
			t.Fatalf("%s: %v", c.head, err)
		}

		if !slices.Equal(o.Inputs, strings.Fields(c.inputs)) || !slices.Equal(o.Y1, strings.Fields(c.y1)) ||
			!slices.Equal(o.Y2, strings.Fields(c.y2)) {
			t.Errorf("%s: inputs %q, first %q, second %q", c.head, o.Inputs, o.Y1, o.Y2)
		}
	}
}
