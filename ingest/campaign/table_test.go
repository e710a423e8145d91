package campaign

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/ingest/ingesttest"
	"doubletake/ingest/setpoint"
)

func writeFile(t testing.TB, text string) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "pairs.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	return path
}

// TestReadTable: what a person reads in these tables.
// readTable is ReadTables of one file.
func readTable(path string, o TableOptions) (*PairTable, error) {
	return ReadTables([]TableFile{{Path: path, Name: path}}, o)
}

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
			if err != nil {
				t.Fatal(err)
			}

			if got := fmt.Sprint(p.N, p.Outcomes, p.X, p.Y1, p.Y2, p.Run); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}

			if got := fmt.Sprint(p.Units); got != c.units {
				t.Errorf("units %s, want %s", got, c.units)
			}

			if ingesttest.Codes(p.Warnings) != c.warns {
				t.Errorf("warnings %v", p.Warnings)
			}
		})
	}
}

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
		{"unknown run", text, func(o *TableOptions) { o.Run = "rnu" }, []string{`a column "rnu"`}},
		{
			"one column twice", text, func(o *TableOptions) { o.Y2 = []string{"y1"}; o.Outcomes = []string{"y"} },
			[]string{"the same column"},
		},
		{"text", strings.Replace(text, "7", "x", 1), nil, []string{`line 3, column 3 (y1): expected a number, found "x"`}},
		{
			"NaN", strings.Replace(text, "7", "nan", 1), nil,
			[]string{"line 3, column 3 (y1): expected a finite number, found NaN"},
		},
		{"ragged", strings.Replace(text, ",8", "", 1), nil, []string{"line 3, column 4 (y2): expected 4 columns, found 3"}},
		{"no rows", "alpha,U,y1,y2\n", nil, []string{"no data rows"}},
		{"empty", "", nil, []string{"empty"}},
		{
			"no repeats", "alpha,U,F\n1,2,3\n4,5,6\n", func(o *TableOptions) { o.Y1, o.Y2, o.Repeats = nil, nil, []string{"F"} },
			[]string{"two rows of equal condition"},
		},
		{
			"repeats of one run", "alpha,U,F,run\n1,2,3,r\n1,2,6,r\n",
			func(o *TableOptions) { o.Y1, o.Y2, o.Repeats, o.Run = nil, nil, []string{"F"}, "run" },
			[]string{"line 3", "from different runs", "run r, as in line 2"},
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

	for name, o := range map[string]TableOptions{
		"no inputs":  {Y1: []string{"a"}, Y2: []string{"b"}},
		"no outcome": {Inputs: []string{"a"}},
		"uneven":     {Inputs: []string{"a"}, Y1: []string{"a"}},
		"both":       {Inputs: []string{"a"}, Y1: []string{"a"}, Y2: []string{"b"}, Repeats: []string{"c"}},
		"names":      {Inputs: []string{"a"}, Y1: []string{"b"}, Y2: []string{"c"}, Outcomes: []string{"x", "y"}},
		"same names": {Inputs: []string{"a"}, Y1: []string{"a_1"}, Y2: []string{"a_2"}},
	} {
		if p, err := readTable("x", o); err == nil || p != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestReadTableLarge reads as many rows as the largest known table has, and
// not in minutes: the bound is a hundred times its time on an idle machine.
func TestReadTableLarge(t *testing.T) {
	var b strings.Builder
	b.WriteString("alpha_deg,U,y1_0,y1_1,y2_0,y2_1\n")
	g := rand.New(rand.NewPCG(1, 1))

	const n = 56250
	for i := range n {
		fmt.Fprintf(&b, "%d,%g,%.9g,%.9g,%.9g,%.9g\n", i/250%75-11, 4.7+float64(i/18750), g.NormFloat64(), g.NormFloat64(),
			g.NormFloat64(), g.NormFloat64())
	}

	path := writeFile(t, b.String())
	start := ingesttest.CPU()
	p, err := readTable(path, TableOptions{
		Inputs: []string{"alpha_deg", "U"}, Y1: []string{"y1_0", "y1_1"},
		Y2: []string{"y2_0", "y2_1"},
	})

	if err != nil || p.N != n {
		t.Fatal(err)
	}

	if d := ingesttest.CPU() - start; d > 10*time.Second {
		t.Errorf("%v for %d rows", d, n)
	}

	distinct := map[string]bool{}
	for _, r := range p.Run {
		distinct[r] = true
	}

	if len(distinct) != 225 {
		t.Errorf("%d runs, want 225", len(distinct))
	}
}

// A Parquet file is a table as its text would be. Expected values are those given
// to parquet-go (ingest/format/parquet/testdata/make.go.txt).
func TestReadTableParquet(t *testing.T) {
	o := TableOptions{Inputs: []string{"time"}, Y1: []string{"Fx"}, Y2: []string{"single"}, Run: "run"}
	p, err := readTable("../format/parquet/testdata/zstd.parquet", o)
	if err != nil {
		t.Fatal(err)
	}

	if p.N != 120 || p.X[8] != 8./1024 || p.Y1[1] != math.Sin(1) || p.Y2[1] != float64(float32(math.Cos(1))) ||
		p.Run[13] != "run 3" || p.Units["Fx"] != "N" {
		t.Errorf("%d pairs, %v %v %v %q %v", p.N, p.X[8], p.Y1[1], p.Y2[1], p.Run[13], p.Units)
	}

	o.Run, o.Labels = "", []string{"run"}
	if p, err = readTable("../format/parquet/testdata/zstd.parquet", o); err != nil || p.Texts[13] != "run 3" {
		t.Errorf("%v, %v", p, err)
	}

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
		Inputs: []string{"rpm"}, Repeats: []string{"T"}, Within: map[string]setpoint.Tolerance{"rpm": {Absolute: 2}},
		Correct: map[string]Law{"T": {"rpm", -1}},
	})

	ingesttest.WantDataError(t, p, err, "rpm")
}

// All pairs of a group are half the square of its rows: there is a bound.
func TestTooManyRepeats(t *testing.T) {
	p, err := readTable(writeFile(t, "x,F\n"+strings.Repeat("1,2\n", mostRepeats+1)), TableOptions{
		Inputs: []string{"x"}, Repeats: []string{"F"}, AllPairs: true,
	})
	ingesttest.WantDataError(t, p, err, "condition [1]", "at most 4096 repeats", "found 4097")
}
