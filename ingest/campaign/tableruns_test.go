package campaign

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/condition"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pairsOf returns the pairs of outcomes of a table as "1-2 3-4", sorted.
func pairsOf(p *PairTable) string {
	y1 := flat(p.Y1)
	y2 := flat(p.Y2)

	var pairs []string
	for i := range y1 {
		pairs = append(pairs, strconv.FormatFloat(y1[i], 'g', -1, 64)+"-"+strconv.FormatFloat(y2[i], 'g', -1, 64))
	}

	slices.Sort(pairs)

	return strings.Join(pairs, " ")
}

// TestRunsOfTables pairs the rows of tables of repeats, in forms in which people write them. The outcome y numbers the
// rows, so that a pair is two numbers. The pairs are what a person would call repeats: rows of equal conditions from
// different runs, in their order, each used once.
func TestRunsOfTables(t *testing.T) {
	within := map[string]condition.Tolerance{"rpm": {Relative: 0.01}}
	for _, c := range []struct {
		name, text string
		change     func(*TableOptions)
		pairs      string
		runs       int
	}{
		{"no column of runs", "rpm,y\n1,1\n1,2\n2,3\n2,4\n", nil, "1-2 3-4", 2},
		{"another order", "rpm,y\n1,1\n2,2\n1,3\n2,4\n", nil, "1-3 2-4", 2},
		{"falling", "rpm,y\n2,1\n2,2\n1,3\n1,4\n", nil, "1-2 3-4", 2},
		{"an odd row", "rpm,y\n1,1\n1,2\n1,3\n", nil, "1-2", 1},
		{"four rows", "rpm,y\n1,1\n1,2\n1,3\n1,4\n", nil, "1-2 3-4", 1},
		{"a condition once", "rpm,y\n1,1\n1,2\n2,3\n", nil, "1-2", 1},
		{"runs by number", "run,rpm,y\n1,1,1\n2,1,2\n1,2,3\n2,2,4\n", withRun, "1-2 3-4", 1},
		{"runs by name", "run,rpm,y\na,1,1\nb,1,2\na,2,3\nb,2,4\n", withRun, "1-2 3-4", 1},
		{"two rows of a run", "run,rpm,y\na,1,1\na,1,2\nb,1,3\nb,1,4\n", withRun, "1-3 2-4", 1},
		{"a run alone", "run,rpm,y\na,1,1\nb,1,2\nc,2,3\n", withRun, "1-2", 1},
		{"three runs", "run,rpm,y\na,1,1\nb,1,2\nc,1,3\n", withRun, "1-2", 1},
		{"rows of other runs apart", "run,rpm,y\na,1,1\nb,2,2\nb,1,3\na,2,4\n", withRun, "1-3 2-4", 1},
		{"a measured speed", "rpm,rpm_measured,y\n1,1.01,1\n1,1.02,2\n2,2.01,3\n2,2.03,4\n", nil, "1-2 3-4", 2},
		{"a temperature", "rpm,temp_c,y\n1,20.1,1\n1,20.2,2\n2,20.3,3\n2,20.4,4\n", nil, "1-2 3-4", 2},
		{"a remark", "rpm,comment,y\n1,first,1\n1,,2\n2,,3\n2,loud,4\n", nil, "1-2 3-4", 2},
		{"a number of the row", "no,rpm,y\n1,1,1\n2,1,2\n3,2,3\n4,2,4\n", nil, "1-2 3-4", 2},
		{"a tolerance", "rpm,y\n1000,1\n1005,2\n2000,3\n2010,4\n", func(o *TableOptions) { o.Within = within }, "1-2 3-4", 2},
		{
			"out of the tolerance", "rpm,y\n1000,1\n1005,2\n2000,3\n2050,4\n", func(o *TableOptions) { o.Within = within },
			"1-2", 1,
		},
		{
			"two inputs", "rpm,u,y\n1,5,1\n1,6,2\n1,5,3\n1,6,4\n", func(o *TableOptions) { o.Inputs = []string{"rpm", "u"} },
			"1-3 2-4", 2,
		},
		{
			"things", "motor,rpm,y\nA,1,1\nB,1,2\nA,1,3\nB,1,4\n", func(o *TableOptions) { o.Labels = []string{"motor"} },
			"1-3 2-4", 2,
		},
		{"decimal commas", "rpm;y\n1,5;1\n1,5;2\n2,5;3\n2,5;4\n", nil, "1-2 3-4", 2},
		{"units below", "rpm\ty\n1/min\tN\n1\t1\n1\t2\n2\t3\n2\t4\n", nil, "1-2 3-4", 2},
		{"digits that say the same", "rpm,y\n1.0,1\n1,2\n2.00,3\n2e0,4\n", nil, "1-2 3-4", 2},
	} {
		options := TableOptions{Inputs: []string{"rpm"}, Repeats: []string{"y"}}
		if c.change != nil {
			c.change(&options)
		}

		p, err := readTable(writeFile(t, c.text), options)
		require.NoError(t, err, "%s", c.name)
		assert.Equal(t, c.pairs, pairsOf(p), "%s: pairs", c.name)

		runs := slices.Clone(p.Run)
		slices.Sort(runs)
		assert.Len(t, slices.Compact(runs), c.runs, "%s: runs %v", c.name, runs)
	}
}

// withRun takes the runs from the column run.
func withRun(o *TableOptions) { o.Run = "run" }

// TestSpelledNames joins writings of names in a table of conditions. Each row is a file, a writing and the name that a
// person gave it in spellings; writings that are not in spellings stay what they are.
func TestSpelledNames(t *testing.T) {
	spellings := condition.Spellings{
		"apc8x6": "APC 8x6", "Apc-8x6": "APC 8x6", "APC  8x6": "APC 8x6", "apc 8 x 6": "APC 8x6", "APC_8x6": "APC 8x6",
		"8x6": "APC 8x6", "APC 8×6": "APC 8x6", "Flügel A": "wing A", "Fluegel A": "wing A", "WING A": "wing A",
		"8E4": "8e4 inch", "007": "7", "3": "three", "a/b": "ab", "Prop Nr. 4": "prop 4", "prop#4": "prop 4",
		"HQ; 5x4": "HQ 5x4",
	}
	for _, c := range []struct{ writing, want string }{
		{"apc8x6", "APC 8x6"},
		{"Apc-8x6", "APC 8x6"},
		{"APC  8x6", "APC 8x6"},
		{"apc 8 x 6", "APC 8x6"},
		{"APC_8x6", "APC 8x6"},
		{"8x6", "APC 8x6"},
		{"APC 8×6", "APC 8x6"},
		{"APC 8x6", "APC 8x6"},
		{"Flügel A", "wing A"},
		{"Fluegel A", "wing A"},
		{"WING A", "wing A"},
		{"wing A", "wing A"},
		{"8E4", "8e4 inch"},
		{"007", "7"},
		{"3", "three"},
		{"a/b", "ab"},
		{"Prop Nr. 4", "prop 4"},
		{"prop#4", "prop 4"},
		{"HQ; 5x4", "HQ 5x4"},
		{"APC8X6", "APC8X6"}, // nobody said that it is the same
		{"apc8x6 new", "apc8x6 new"},
		{" apc8x6 ", "APC 8x6"},
	} {
		log := "file,rpm,propeller\na,1,\"" + c.writing + "\"\nb,2,HQ\n"
		options := LogOptions{Names: []string{"propeller"}, Spellings: spellings}
		table, err := ParseConditions("log.csv", []byte(log), options)
		require.NoError(t, err, "%s", c.writing)

		name, ok := table.Rows[0].Name("propeller")
		assert.True(t, ok, "%s: a name", c.writing)
		assert.Equal(t, c.want, name, "%s", c.writing)
	}
}
