package campaign

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeFile writes a table of pairs and returns its path.
func writeFile(t testing.TB, text string) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "pairs.csv")
	testfile.Write(t, path, text)

	return path
}

// readTable reads a table of one file.
func readTable(path string, o TableOptions) (*PairTable, error) {
	return ReadTables([]TableFile{{Path: path, Name: path}}, o)
}

// flat returns the values of columns row by row.
func flat[T any](columns [][]T) (out []T) {
	for i := 0; len(columns) > 0 && i < len(columns[0]); i++ {
		out = append(out, rowOf(columns, i)...)
	}

	return out
}

// The expected pairs are what a person reads in the tables. want has the number of pairs, the outcomes, the inputs pair
// by pair, the first values, the second values, and the runs.
func TestReadTable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          TableOptions
		want       string
		units      string
		warns      string
	}{
		{
			name: "pairs", text: "alpha_deg,U,y1_0,y1_1,y2_0,y2_1\n-11,4.7,1,2,3,4\n-11,4.7,5,6,7,8\n0,4.7,9,10,11,12\n",
			o: TableOptions{Inputs: []string{"alpha_deg", "U"}, Y1: []string{"y1_0", "y1_1"}, Y2: []string{"y2_0", "y2_1"}},
			want: "3 [0 1] [-11 4.7 -11 4.7 0 4.7] [1 2 5 6 9 10] [3 4 7 8 11 12] [alpha_deg=-11,U=4.7 alpha_deg=-11,U=4.7 " +
				"alpha_deg=0,U=4.7]", units: "map[]",
		},
		{
			name: "endings, units, another order", text: "cl_2;cl_1 [-];U (m/s)\n3;1;5\n4;2;-0\n6;5;0\n",
			o:    TableOptions{Inputs: []string{"u"}, Y1: []string{"cl_1"}, Y2: []string{"cl_2"}},
			want: "3 [cl] [5 -0 0] [1 2 5] [3 4 6] [u=5 u=0 u=0]", units: "map[cl:- u:m/s]",
		},
		{
			name: "named outcomes and runs", text: "run,x,a,b\nr 7,1,2,3\nr 8,1,4,5\n",
			o:    TableOptions{Inputs: []string{"x"}, Y1: []string{"a"}, Y2: []string{"b"}, Outcomes: []string{"y"}, Run: "run"},
			want: "2 [y] [1 1] [2 4] [3 5] [r 7 r 8]", units: "map[]",
		},
		{
			name: "other writings of names", text: "x,WIND_speed,a\n1,2,3\n1,2,5\n",
			o:    TableOptions{Inputs: []string{"X", "Wind Speed"}, Repeats: []string{"A"}},
			want: "1 [A] [1 2] [3] [5] [X=1,Wind Speed=2]", units: "map[]",
		},
		{
			name: "y1 alone", text: "x,y1_1,y2_1\n1,2,3\n",
			o:    TableOptions{Inputs: []string{"x"}, Y1: []string{"y1_1"}, Y2: []string{"y2_1"}},
			want: "1 [1] [1] [2] [3] [x=1]", units: "map[]",
		},
		{
			name: "repeats", text: "x,F\n1,10\n2,20\n1,11\n1,12\n2,21\n3,5\n",
			o:    TableOptions{Inputs: []string{"x"}, Repeats: []string{"F"}},
			want: "2 [F] [1 2] [10 20] [11 21] [x=1 x=2]", units: "map[]", warns: "unpaired-rows",
		},
		{
			name: "repeats of named runs", text: "x,F,run\n1,10,a\n1,11,b\n",
			o:    TableOptions{Inputs: []string{"x"}, Repeats: []string{"F"}, Run: "run"},
			want: "1 [F] [1] [10] [11] [a+b]", units: "map[]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := readTable(writeFile(t, c.text), c.o)
			require.NoError(t, err)

			got := fmt.Sprint(p.N, p.Outcomes, flat(p.X), flat(p.Y1), flat(p.Y2), p.Run)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.units, fmt.Sprint(p.Units), "units")
			assert.Equal(t, c.warns, ingesttest.Codes(p.Warnings), "warnings")
		})
	}
}

// Each error names the column or the line of the table, and the expected and the found contents.
func TestReadTableRefused(t *testing.T) {
	text := "alpha,U,y1,y2\n1,2,3,4\n5,6,7,8\n1,2,3,4\n"

	o := TableOptions{Inputs: []string{"alpha", "U"}, Y1: []string{"y1"}, Y2: []string{"y2"}}
	for _, c := range []struct {
		name, text string
		change     func(*TableOptions)
		want       []string
	}{
		{
			"unknown column", text, func(o *TableOptions) { o.Inputs = []string{"alpah"} },
			[]string{`a channel "alpah"`, `"alpha", "U", "y1", "y2"`, `is "alpha" meant?`},
		},
		{"units", "alpha,U,y1,y2,unit\n1,2,3,4,g\n1,2,3,4,N\n", nil, []string{"one unit in all rows", `"g", "N"`}},
		{"a header twice", "alpha,U,y1,y2,y1\n1,2,3,4,5\n", nil, []string{`found "y1" again, as in column 3`}},
		{"unknown run", text, func(o *TableOptions) { o.Run = "rnu" }, []string{`a column "rnu"`}},
		{
			"one column twice", text, func(o *TableOptions) { o.Y2 = []string{"y1"}; o.Outcomes = []string{"y"} },
			[]string{"the same column"},
		},
		{
			"text", strings.Replace(text, "7", "x", 1), nil,
			[]string{`line 3, column 3 (y1): expected a number, as in other rows of the column, found "x"`},
		},
		{
			"NaN", strings.Replace(text, "7", "nan", 1), nil,
			[]string{"line 3, column 3 (y1): expected a finite number, found nan"},
		},
		{
			"a row of means", "r,U,y1,y2\na,2,3,4\nMean,2,3,4\n",
			func(o *TableOptions) {
				o.Run = "r"
				o.Inputs = []string{"U"}
			},
			[]string{"line 3, column 1", "found Mean"},
		},
		{"ragged", strings.Replace(text, ",8", "", 1), nil, []string{"line 3, column 4 (y2): expected 4 columns, found 3"}},
		{"no rows", "alpha,U,y1,y2\n", nil, []string{"no data rows"}},
		{"empty", "", nil, []string{"empty"}},
		{
			"no repeats", "alpha,U,F\n1,2,3\n4,5,6\n", func(o *TableOptions) {
				o.Y1 = nil
				o.Y2 = nil
				o.Repeats = []string{"F"}
			},
			[]string{"two rows of equal condition"},
		},
		{
			"repeats of one run", "alpha,U,F,run\n1,2,3,r\n1,2,6,r\n",
			func(o *TableOptions) {
				o.Y1 = nil
				o.Y2 = nil
				o.Repeats = []string{"F"}
				o.Run = "run"
			},
			[]string{"two rows of equal condition from different runs, found none among 2 rows"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			oo := o
			if c.change != nil {
				c.change(&oo)
			}

			p, err := readTable(writeFile(t, c.text), oo)
			ingesttest.WantDataError(t, p, err, c.want...)
		})
	}
}

// Options that contradict each other are refused before the file is opened: "x" is not a file.
func TestTableOptionsRefused(t *testing.T) {
	for name, o := range map[string]TableOptions{
		"no inputs":  {Y1: []string{"a"}, Y2: []string{"b"}},
		"uneven":     {Inputs: []string{"a"}, Y1: []string{"a"}},
		"both":       {Inputs: []string{"a"}, Y1: []string{"a"}, Y2: []string{"b"}, Repeats: []string{"c"}},
		"names":      {Inputs: []string{"a"}, Y1: []string{"b"}, Y2: []string{"c"}, Outcomes: []string{"x", "y"}},
		"same names": {Inputs: []string{"a"}, Y1: []string{"a_1"}, Y2: []string{"a_2"}},
	} {
		p, err := readTable("x", o)
		require.Error(t, err, "%s", name)
		assert.Nil(t, p, "%s", name)
	}
}

// A Parquet file is a table as its text would be. Expected values are those given to parquet-go
// (ingest/format/parquet/testdata/make.go.txt). A column of text can be the run or a label, and a column with gaps is
// refused as an outcome.
func TestReadTableParquet(t *testing.T) {
	o := TableOptions{Inputs: []string{"time"}, Y1: []string{"Fx"}, Y2: []string{"single"}, Run: "run"}
	p, err := readTable("../format/parquet/testdata/zstd.parquet", o)
	require.NoError(t, err)

	assert.Equal(t, 120, p.N)
	assert.InDelta(t, 8./1024, p.X[0][8], 0)
	assert.InDelta(t, math.Sin(1), p.Y1[0][1], 0)
	assert.InDelta(t, float64(float32(math.Cos(1))), p.Y2[0][1], 0)
	assert.Equal(t, "run 3", p.Run[13])
	assert.Equal(t, "N", p.Units["Fx"])

	o.Run = ""
	o.Labels = []string{"run"}
	p, err = readTable("../format/parquet/testdata/zstd.parquet", o)
	require.NoError(t, err)
	assert.Equal(t, "run 3", flat(p.Texts)[13])

	o.Y2 = []string{"gap"}
	_, err = readTable("../format/parquet/testdata/zstd.parquet", o)
	ingesttest.WantDataError(t, nil, err, "(gap)")
}

// The two columns of an outcome are of one unit, or the outcome's name names it.
func TestUnitsOfAPair(t *testing.T) {
	o := TableOptions{Inputs: []string{"x"}, Y1: []string{"lift_1"}, Y2: []string{"lift_2"}}
	p, err := readTable(writeFile(t, "x,lift_1 (N),lift_2 (kN)\n1,10,0.01\n2,20,0.02\n"), o)
	ingesttest.WantDataError(t, p, err, `unit "N", as of lift_1`, `found unit "kN"`)
}

// A law with a negative power has no value at 0.
func TestLawAtZero(t *testing.T) {
	p, err := readTable(writeFile(t, "rpm,T\n0,10\n1,12\n"), TableOptions{
		Inputs: []string{"rpm"}, Repeats: []string{"T"}, Within: map[string]condition.Tolerance{"rpm": {Absolute: 2}},
		Correct: map[string]Law{"T": {"rpm", -1}},
	})

	ingesttest.WantDataError(t, p, err, "rpm")
}

// A group of n rows has about n²/2 pairs. Therefore the number of its rows is bounded.
func TestTooManyRepeats(t *testing.T) {
	p, err := readTable(writeFile(t, "x,F\n"+strings.Repeat("1,2\n", mostRepeats+1)), TableOptions{
		Inputs: []string{"x"}, Repeats: []string{"F"}, AllPairs: true,
	})
	ingesttest.WantDataError(t, p, err, "condition [1]", "at most 4096 repeats", "found 4097")
}

// The first row is the header even if every cell below it has a unit. The expected values were read by eye.
func TestUnitsInEveryCell(t *testing.T) {
	path := writeFile(t, "v;F\n36 km/h;1 N\n5 m/s;2 N\n36 km/h;3,5 N\n5 m/s;4 N\n")
	o, _, err := ResolveTable(TableFile{Path: path}, TableOptions{Repeats: []string{"F"}})
	require.NoError(t, err)

	p, err := readTable(path, o)
	require.NoError(t, err)
	assert.Equal(t, "[[36 18]] [[1 2]] [[3.5 4]] map[F:N v:km/h]", fmt.Sprint(p.X, p.Y1, p.Y2, p.Units))
}

// Numbers in a table of results are read as people write them, with units and any decimal sign. The expected values
// were read by eye.
func TestTypedResults(t *testing.T) {
	for _, c := range []struct {
		alpha   string // cells
		decimal byte
		want    string
	}{
		{alpha: "5°;6°;-7 °", want: "[alpha_deg u] [] [5 1 6 2 -7 3]"},
		{alpha: "5 deg;6 deg;0.5 rad", want: "[alpha_deg u] [] [5 1 6 2 28.64788975654116 3]"},
		{alpha: "50 %;60 %;70 %", want: "column alpha_deg: expected a unit of deg (rad), this one is of 1, " +
			`found unit "%" (state the unit with units: {alpha_deg: …})`},
		{alpha: "5° a;6 b;7 c", want: "[u] [alpha_deg] [1 2 3] column alpha_deg holds text: it is no channel"},
		{alpha: "A;B;5 V", want: "[u] [alpha_deg] [1 2 3] column alpha_deg holds text: it is no channel"},
		{alpha: "5°;6;seven", want: `line 4, column 1 (alpha_deg): expected a number, as in other rows of the column, ` +
			`found "seven" (correct the cell; name the column under things where its cells are names)`},
		{alpha: "5°;6 m;7°", want: `line 3, column 1 (alpha_deg): expected a number in °, found "6 m" ` +
			`(write all cells of the column in one unit)`},
		{alpha: "5°;6;7", want: `[alpha_deg u] [] [5 1 6 2 7 3] line 3, column 1 (alpha_deg): "6" states no unit, but ` +
			`other cells do: it is read as 6 °`},
		{alpha: "0.5;−6;7", want: "[alpha_deg u] [] [0.5 1 -6 2 7 3]"},
		{alpha: "900;1,200;1,500", want: `line 3, column 1 (alpha_deg): expected a number that can be read in one way, ` +
			`found "1,200", which is 1.2 or 1200, and no other cell shows which (state the decimal sign with log: ` +
			`{decimal: comma} or log: {decimal: point})`},
		{alpha: "900;1,200;1,500", decimal: ',', want: "[alpha_deg u] [] [900 1 1.2 2 1.5 3]"},
		{alpha: "900;1,200;1,500", decimal: '.', want: `[alpha_deg u] [] [900 1 1200 2 1500 3] line 3, column 1 ` +
			`(alpha_deg): "1,200" is read as 1200, since the decimal sign is '.'`},
		{alpha: "900;1,200;1,55", want: "[alpha_deg u] [] [900 1 1.2 2 1.55 3]"},
		{alpha: "900;1\u2009200;1\u202f500", want: "[alpha_deg u] [] [900 1 1200 2 1500 3]"},
		{alpha: "900;;1500", want: `line 3, column 1 (alpha_deg): expected a finite number, found an empty cell ` +
			`(write it, or delete the row; ingest: {missing: [-9999]} leaves out all rows without a value)`},
	} {
		got := typedResults(t, c.alpha, c.decimal)
		assert.Equal(t, c.want, got, c.alpha)
	}
}

// typedResults returns what is read in a table whose column alpha_deg has these cells: the inputs, the columns of text,
// the rows and the warnings, or the error.
func typedResults(t *testing.T, cells string, decimal byte) string {
	t.Helper()

	rows := "alpha_deg;u;y_1;y_2\n"
	for i, cell := range strings.Split(cells, ";") {
		rows += fmt.Sprintf("%s;%d;2;3\n", cell, i+1)
	}

	path := writeFile(t, rows)
	withoutPath := func(err error) string { return strings.TrimPrefix(err.Error(), path+": ") }

	o, texts, err := ResolveTable(TableFile{Path: path}, TableOptions{Decimal: decimal})
	if err != nil {
		return withoutPath(err)
	}

	slices.Sort(o.Inputs)

	p, err := readTable(path, o)
	if err != nil {
		return withoutPath(err)
	}

	got := fmt.Sprint(p.Inputs, " ", texts, " ", flat(p.X))
	for _, w := range p.Warnings {
		got += " " + w.Text
	}

	return got
}

// Rows are left out by conditions, by names and by columns that are not used otherwise, and so are rows with a code for
// a value that is not there, each with a warning. want has the values of rpm in the rows that stay. They were chosen by
// hand. An exclusion by a column that the table does not have is an error.
func TestRowsLeftOut(t *testing.T) {
	path := writeFile(t, "rpm,propeller,flag,note,y_1,y_2\n1000,APC,0,,1,2\n2000,APC,1,loose,3,-9999\n"+
		"3000,HQ,1,,5,6\n4000,HQ,0,x,,8\n")
	by := func(numbers, names []string, holds func(condition.Values) bool) []Exclusion {
		return []Exclusion{{Text: "X", Numbers: numbers, Names: names, Holds: holds}}
	}

	for _, c := range []struct {
		name    string
		exclude []Exclusion
		want    string
		warning string
	}{
		{"nothing", nil, "[1000 3000]", "2 rows without a value left out: line 3 (y_2), line 5 (y_1)"},
		{"inputs and names", by([]string{"rpm"}, []string{"propeller"}, func(v condition.Values) bool {
			return v.Numbers["rpm"] == 3000 && v.Names["propeller"] == "HQ"
		}), "[1000]", "1 row left out by exclude: X: line 4"},
		{"other columns", by([]string{"flag"}, []string{"note"}, func(v condition.Values) bool {
			return v.Numbers["flag"] == 1 && v.Names["note"] == "loose"
		}), "[1000 3000]", "1 row left out by exclude: X: line 3"},
		{
			"outcomes", by([]string{"y_1"}, nil, func(v condition.Values) bool { return v.Numbers["y_1"] > 4 }),
			"[1000]", "1 row left out by exclude: X: line 4",
		},
		{
			"two for one row", slices.Concat(
				by([]string{"rpm"}, nil, func(v condition.Values) bool { return v.Numbers["rpm"] == 3000 }),
				by([]string{"y_1"}, nil, func(v condition.Values) bool { return v.Numbers["y_1"] > 4 }),
			), "[1000]", "1 row left out by exclude: X: line 4\n1 row left out by exclude: X: line 4",
		},
		{
			"none", by([]string{"rpm"}, nil, func(v condition.Values) bool { return v.Numbers["rpm"] > 4000 }),
			"[1000 3000]", `the exclusion "X" excludes nothing`,
		},
	} {
		o := TableOptions{
			Inputs: []string{"rpm"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Missing: []string{"-9999"}, Exclude: c.exclude,
		}
		p, err := readTable(path, o)
		require.NoError(t, err)

		texts := ""
		for _, w := range p.Warnings {
			texts += w.Text + "\n"
		}

		assert.Equal(t, c.want, fmt.Sprint(flat(p.X)), c.name)
		assert.Contains(t, texts, c.warning+"\n", c.name)
	}

	o := TableOptions{
		Inputs: []string{"rpm"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Exclude: by([]string{"rmp"}, nil, nil),
	}
	_, err := readTable(path, o)
	assert.ErrorContains(t, err, `a column "rmp", by which`)
}

// An exclusion compares a column in the unit of its name, whatever the column's use is. By hand: 0.1 and 0.5 rad are
// 5.7 and 28.6 deg, of which the second is excluded. A code of a missing value is not an angle.
func TestRowsLeftOutInUnits(t *testing.T) {
	const text = "rpm,alpha_deg [rad],y_1,y_2\n1000,0.1,1,2\n2000,0.5,3,4\n3000,-99,5,6\n"
	isLeftOut := func(v condition.Values) bool { return v.Numbers["alpha_deg"] > 20 || v.Numbers["alpha_deg"] < -20 }
	exclude := []Exclusion{{Text: "X", Numbers: []string{"alpha_deg"}, Holds: isLeftOut}}
	for _, c := range []struct {
		inputs []string
		head   string // of the column
		units  map[string]string
		want   string
	}{
		{[]string{"rpm"}, "alpha_deg [rad]", nil, "[1000 3000]"},
		{[]string{"rpm"}, "alpha_deg", map[string]string{"alpha_deg": "rad"}, "[1000 3000]"},
		{[]string{"rpm", "alpha_deg"}, "alpha_deg [rad]", nil, "[1000]"}, // a row without an input is left out
		{[]string{"rpm"}, "alpha_deg [deg]", nil, "[1000 2000 3000]"},
	} {
		p, err := readTable(writeFile(t, strings.ReplaceAll(text, "alpha_deg [rad]", c.head)), TableOptions{
			Inputs: c.inputs, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Missing: []string{"-99"}, Units: c.units,
			Exclude: exclude,
		})
		require.NoError(t, err, c.head)
		assert.Equal(t, c.want, fmt.Sprint(p.X[0]), "%v %s %v", c.inputs, c.head, c.units)
	}
}

// An empty cell is an error if no code of missing values is stated.
func TestEmptyCellRefused(t *testing.T) {
	p, err := readTable(writeFile(t, "rpm,y_1,y_2\n1000,1,2\n4000,,8\n"), TableOptions{
		Inputs: []string{"rpm"}, Y1: []string{"y_1"}, Y2: []string{"y_2"},
	})
	ingesttest.WantDataError(t, p, err, "line 3, column 2 (y_1)", "found an empty cell")
}
