package text

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

func openString(s string, o ingest.Options) (ingest.Reader, error) {
	return Format.Open(ingesttest.Source([]byte(s)), o)
}

// TestTextLayouts: what a person reads in these texts.
func TestTextLayouts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          ingest.TextOptions
		enc        string
		names      string
		units      string
		data       [][]float64 // by channel
		rate       float64
		warns      string
	}{
		{
			name: "comma", text: "a,b\n1,2\n3,4\n", enc: "comma separated", names: "a b", units: " ",
			data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "empty columns with names at the end", text: "a,b,c,d,\n1,2,,,\n3,4,,,\n5,6,,,\n",
			enc: "comma separated", names: "a b", units: " ", data: [][]float64{{1, 3, 5}, {2, 4, 6}},
			warns: "text-column text-column",
		},
		{
			name: "no header", text: "1,2\n3,4", enc: "comma separated", names: "1 2", units: " ",
			data: [][]float64{{1, 3}, {2, 4}},
		},
		{name: "one row", text: "1,2\n", enc: "comma separated", names: "1 2", units: " ", data: [][]float64{{1}, {2}}},
		{
			name: "header and one row", text: "a,b\n1,2\n", enc: "comma separated", names: "a b", units: " ",
			data: [][]float64{{1}, {2}},
		},
		{
			name: "comma and blanks", text: "a, b\n1, 2\n3, 4\n", enc: "comma separated", names: "a b", units: " ",
			data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "CRLF, BOM, trailing", text: "\xef\xbb\xbfa;b;\r\n1;2;\r\n3;4;\r\n\r\n", enc: "semicolon separated",
			names: "a b", units: " ", data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "decimal comma", text: "a;b\n1,5;2,25\n-3,5e2;4\n", enc: "semicolon separated, decimal comma", names: "a b",
			units: " ", data: [][]float64{{1.5, -350}, {2.25, 4}},
		},
		{
			name: "decimal comma, tabs", text: "1,5\t2,25\n3\t4,125\n", enc: "tab separated, decimal comma", names: "1 2",
			units: " ", data: [][]float64{{1.5, 3}, {2.25, 4.125}},
		},
		{
			name: "blanks", text: "   1.5   2 \n  -3    4\n", enc: "blank separated", names: "1 2", units: " ",
			data: [][]float64{{1.5, -3}, {2, 4}},
		},
		{
			name: "tabs with blanks in names", text: "Lift\tDrag\tTime (s)\n1\t2\t0\n3\t4\t0.25\n5\t6\t0.5\n",
			enc: "tab separated", names: "Lift Drag Time", units: "  s", data: [][]float64{{1, 3, 5}, {2, 4, 6}, {0, .25, .5}},
			rate: 4,
		},
		{
			name: "blanks, units in brackets", text: "Time (s)   Fx [N]\n0 1\n0.5 2\n1 3\n", enc: "blank separated",
			names: "Time Fx", units: "s N", data: [][]float64{{0, .5, 1}, {1, 2, 3}}, rate: 2,
		},
		{
			name: "units row", text: "t,F\nms,N\n0,1\n10,2\n", enc: "comma separated", names: "t F", units: "ms N",
			data: [][]float64{{0, 10}, {1, 2}}, rate: 100,
		},
		{
			name: "units row in brackets", text: "t,F\n[s],[N]\n0,1\n10,2\n", enc: "comma separated", names: "t F", units: "s N",
			data: [][]float64{{0, 10}, {1, 2}}, rate: 0.1,
		},
		{
			name: "comments", text: "# balance: A\n% x\n// y\n! z\n; w\na,b\n1,2\n# pause\n\n3,4\n", enc: "comma separated",
			names: "a b", units: " ", data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "header in a comment", text: "# Fx,Fy\n1,2\n3,4\n", enc: "comma separated", names: "Fx Fy", units: " ",
			data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "preamble", text: "Project: wing\nOperator: me\nSample rate, 1000, Hz, " +
				"x\na,b\n1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n", enc: "comma separated", names: "a b", units: " ",
			data: [][]float64{{1, 3, 5, 7, 9, 11}, {2, 4, 6, 8, 10, 12}},
		},
		{
			name: "quotes", text: "\"a, x\",\"b \"\"q\"\"\"\n\"1\",2\n3,\"4\"\n", enc: "comma separated", names: `a, x b "q"`,
			units: " ", data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "one column", text: "Lift\n1\n2\n3\n", enc: "tab separated", names: "Lift", units: "",
			data: [][]float64{{1, 2, 3}},
		},
		{
			name: "text column", text: "when,F\nmon,1\ntue,2\nwed,3\n", enc: "comma separated", names: "F", units: "",
			data: [][]float64{{1, 2, 3}}, warns: "text-column",
		},
		{
			name: "empty column", text: "a,b,c\n1,,2\n3,,4\n", enc: "comma separated", names: "a c", units: " ",
			data: [][]float64{{1, 3}, {2, 4}}, warns: "text-column",
		},
		{
			name: "names that are numbers", text: "Time,1,2\n0,5,6\n1,7,8\n", enc: "comma separated", names: "Time 1 2",
			units: "s  ", data: [][]float64{{0, 1}, {5, 7}, {6, 8}}, rate: 1, warns: "numeric-header clock-unit",
		},
		{
			name: "columns named", text: "1 2\n3 4\n", o: ingest.TextOptions{Columns: []string{"F [N]", "M"}},
			enc: "blank separated", names: "F M", units: "N ", data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "clock named", text: "1 2\n3 4\n", o: ingest.TextOptions{Time: "2"}, enc: "blank separated", names: "1 2",
			units: " s", data: [][]float64{{1, 3}, {2, 4}}, rate: 0.5,
		},
		{
			name: "clock useless", text: "t,F\n5,1\n5,2\n", enc: "comma separated", names: "t F", units: "s ",
			data: [][]float64{{5, 5}, {1, 2}}, warns: "clock-useless",
		},
		{
			name: "a clock that pauses", text: "t,F\n0,1\n1,2\n2,3\n103,4\n104,5\n105,6\n", enc: "comma separated", names: "t F",
			units: "s ", data: [][]float64{{0, 1, 2, 103, 104, 105}, {1, 2, 3, 4, 5, 6}}, rate: 1,
			warns: "clock-gaps clock-unit",
		},
		{
			name: "delimiter stated", text: "1;2\n3;4\n", o: ingest.TextOptions{Delimiter: "semicolon"},
			enc: "semicolon separated", names: "1 2", units: " ", data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "only delimiters", text: "a,b\n1,2\n,\n , \n3,4\n", enc: "comma separated", names: "a b", units: " ",
			data: [][]float64{{1, 3}, {2, 4}},
		},
		{
			name: "Fortran exponent", text: "1.5D+01 2\n3 4d-1\n", enc: "blank separated", names: "1 2", units: " ",
			data: [][]float64{{15, 3}, {2, .4}},
		},
		{
			name: "DOS end", text: "1,2\r\n3,4\r\n\x1a", enc: "comma separated", names: "1 2", units: " ",
			data: [][]float64{{1, 3}, {2, 4}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openString(c.text, ingest.Options{Text: c.o})
			if err != nil {
				t.Fatal(err)
			}

			info := r.Info()

			var names, units, warns []string
			for _, ch := range info.Channels {
				names, units = append(names, ch.Name), append(units, ch.Unit)
				if ch.RateHz != c.rate {
					t.Errorf("rate %g, want %g", ch.RateHz, c.rate)
				}
			}

			for _, w := range info.Warnings {
				warns = append(warns, w.Code)
			}

			if got := strings.Join(names, " "); got != c.names {
				t.Errorf("names %q, want %q", got, c.names)
			}

			if got := strings.Join(units, " "); got != c.units {
				t.Errorf("units %q, want %q", got, c.units)
			}

			if info.Encoding != c.enc {
				t.Errorf("encoding %q, want %q", info.Encoding, c.enc)
			}

			if got := strings.Join(warns, " "); got != c.warns {
				t.Errorf("warnings %q, want %q (%v)", got, c.warns, info.Warnings)
			}

			if len(info.Channels) != len(c.data) {
				t.Fatalf("%d channels, want %d", len(info.Channels), len(c.data))
			}

			for i, x := range ingesttest.ReadAll(t, r) {
				ingesttest.Equal(t, x, c.data[i])
			}
		})
	}
}

func TestTextAttributes(t *testing.T) {
	r, err := openString("# balance: A 7\nProject = wing\na,b\n1,2\n3,4\n", ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := fmt.Sprint(r.Info().Attributes); got != "[{balance A 7} {Project wing}]" {
		t.Error(got)
	}
}

// TestTextRefused: bad input stops with place, expected and found.
func TestTextRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          ingest.Options
		want       []string
	}{
		{name: "empty", text: "", want: []string{"no data rows"}},
		{name: "blank lines", text: "\n\n  \n", want: []string{"expected rows of numbers, found no data rows"}},
		{name: "only comments", text: "# a\n# b\n", want: []string{"no data rows"}},
		{name: "only a header", text: "a,b\n", want: []string{"line 1", "no data rows"}},
		{name: "only header and units", text: "a,b\ns,N\n", want: []string{"no data rows"}},
		{
			name: "short row", text: "a,b,Fz\n1,2,3\n4,5,6\n7,8\n9,10,11\n",
			want: []string{"x: line 4, column 3 (Fz): expected 3 columns, found 2", "too short"},
		},
		{
			name: "long row", text: "a,b,Fz\n1,2,3\n4,5,6\n7,8,9,10\n9,10,11\n",
			want: []string{"line 4, column 4: expected 3 columns, found 4", "too long"},
		},
		{
			name: "short row of blanks", text: "1 2 3\n4 5 6\n7 8\n9 10 11\n",
			want: []string{"line 3, column 3 (3): expected 3 columns, found 2"},
		},
		{
			name: "long row of blanks", text: "1 2 3\n4 5 6\n7 8 9 10\n9 10 11\n",
			want: []string{"line 3, column 4: expected 3 columns, found 4"},
		},
		{
			name: "text in a number column", text: "a,b,Fz\n1,2,3\n4,off,6\n7,8,9\n7,8,9\n",
			want: []string{`x: line 3, column 2 (b): expected a number, found "off"`},
		},
		{name: "number with a tail", text: "a,b\n1,2\n4,5V\n7,8\n7,8\n", want: []string{`line 3, column 2 (b)`, `"5V"`}},
		{
			name: "empty cell", text: "a,b,c\n1,2,3\n4,,6\n7,8,9\n7,8,9\n",
			want: []string{"line 3, column 2 (b): expected a number, found an empty cell"},
		},
		{
			name: "empty last cell", text: "a,b\n1,2\n4,\n7,8\n7,8\n",
			want: []string{"line 3, column 2 (b): expected a number, found an empty cell"},
		},
		{
			name: "decimal comma between points", text: "a;b\n1.5;2\n1.5;2\n3.5;2\n1,5;2\n",
			want: []string{"line 5, column 1 (a)", "decimal comma"},
		},
		{name: "too large", text: "a,b\n1,2\n4,1e999\n7,8\n7,8\n", want: []string{`"1e999"`}},
		{
			name: "header too short", text: "a,b\n1,2,3\n4,5,6\n",
			want: []string{"line 1: expected a header of 3 names, as the rows have columns, found 2 names"},
		},
		{
			name: "columns miscounted", text: "1 2\n3 4\n", o: ingest.Options{Text: ingest.TextOptions{Columns: []string{"a"}}},
			want: []string{"1 columns as named in the configuration, found 2"},
		},
		{name: "CR alone", text: "1,2\r3,4\r", want: []string{"CR alone"}},
		{name: "zero byte", text: "1,2\n3,\x004\n", want: []string{"byte 6", "a zero byte"}},
		{
			name: "unknown clock", text: "a,b\n1,2\n3,4\n", o: ingest.Options{Text: ingest.TextOptions{Time: "time"}},
			want: []string{`a channel "time"`, `only "a", "b"`},
		},
		{
			name: "clock in newtons", text: "a [N],b\n1,2\n3,4\n", o: ingest.Options{Text: ingest.TextOptions{Time: "a"}},
			want: []string{"a unit of time", `"N"`},
		},
		{
			name: "rate contradicts", text: "t,b\n0,2\n1,4\n", o: ingest.Options{RateHz: 2},
			want: []string{"column t", "expected a rate of 2 Hz as configured, found 1 Hz"},
		},
		{
			name: "another separator", text: strings.Repeat("1,2,3\n", 50) + strings.Repeat("4;5;6\n", 50),
			want: []string{
				"line 1", "expected rows that are semicolon separated", "a row of numbers, comma separated", `"1,2,3"`,
			},
		},
		{
			name: "another separator below a header", text: "a\tb\n" + strings.Repeat("1\t2\n", 5) + strings.Repeat("1,2\n", 6),
			want: []string{"line 2", "comma separated", "tab separated"},
		},
		{
			name: "another decimal sign", text: "1.5;2.5\n3.5;4.5\n1,5;2,5\n3,5;4,5\n",
			want: []string{"line 1", "semicolon separated, decimal comma, found a row of numbers, semicolon separated"},
		},
		{
			name: "one row of samples", text: "0.25" + strings.Repeat(",1.5", 11174) + "\n",
			want: []string{"line 1", "columns of samples", "one row of 11175 numbers", "one number a line"},
		},
		{
			name: "half a character", text: "\xff\xfe1\x00,\x002\x00\n",
			want: []string{"byte 8", "two bytes", "cut short"},
		},
		{
			name: "cut off", text: "a,b,c\n1,2,3\n4,5,6\n7,8",
			want: []string{"line 4, column 3 (c)", "2 columns of 3, then the end of the file", "truncated: use"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openString(c.text, c.o)
			if err == nil { // then reading must fail
				dst := make([][]float64, len(r.Info().Channels))
				chans := make([]int, len(dst))
				for i := range dst {
					dst[i], chans[i] = make([]float64, r.Info().Channels[0].Samples), i
				}

				_, err = r.Read(chans, 0, dst)
			}

			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}
}

// TestTextUTF16 reads UTF-16 in either byte order as Python's codecs write it:
// 'a [°],b\n1,2\n3,4\n'.encode('utf-16').
func TestTextUTF16(t *testing.T) {
	little := "\xff\xfea\x00 \x00[\x00\xb0\x00]\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x003\x00,\x004\x00\n\x00"
	big := []byte(little)
	for i := 0; i < len(big); i += 2 {
		big[i], big[i+1] = big[i+1], big[i]
	}

	// .encode('utf-16-le') and 'utf-16-be' write no mark.
	for _, text := range []string{little, string(big), little[2:], string(big[2:])} {
		r, err := openString(text, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}

		if c := r.Info().Channels; len(c) != 2 || c[0].Name != "a" || c[0].Unit != "°" {
			t.Errorf("%+v", c)
		}

		x := ingesttest.ReadAll(t, r)
		ingesttest.Equal(t, x[0], []float64{1, 3})
		ingesttest.Equal(t, x[1], []float64{2, 4})
	}
}

func TestTextTruncatedUsed(t *testing.T) {
	r, err := openString("a,b,c\n1,2,3\n4,5,6\n7,8", ingest.Options{Truncated: "use"})
	if err != nil {
		t.Fatal(err)
	}

	if w := r.Info().Warnings; len(w) != 1 || w[0].Code != "truncated" || !strings.Contains(w[0].Text, "line 4") {
		t.Error(w)
	}

	ingesttest.Equal(t, ingesttest.ReadAll(t, r)[2], []float64{3, 6})
}

// TestTextRandomAccess reads anywhere in a file long enough to thin out the
// line index twice; each cell contains its row, so no reference is needed.
func TestTextRandomAccess(t *testing.T) {
	rows := 1024*maxMarks*2 + 5000
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		rows = 20000
	}

	var b bytes.Buffer
	for i := range rows {
		if i%10007 == 0 {
			b.WriteString("# pause\n\n")
		}

		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}

	r, err := openString(b.String(), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if n := r.Info().Channels[0].Samples; n != int64(rows) {
		t.Fatalf("%d rows, want %d", n, rows)
	}

	tr := r.(*Reader)
	if len(tr.marks) > maxMarks || cap(tr.cur.buf) > 4*textBlock {
		t.Errorf("%d marks, %d bytes of buffer", len(tr.marks), cap(tr.cur.buf))
	}

	g := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		at := g.IntN(rows)
		x := make([]float64, 1+g.IntN(3000))
		n, err := r.Read([]int{0}, int64(at), [][]float64{x})
		if want := min(len(x), rows-at); n != want || (err == io.EOF) != (n < len(x)) {
			t.Fatalf("Read(%d) = %d, %v; want %d", at, n, err, want)
		}

		for k := range n {
			if x[k] != float64(at+k) {
				t.Fatalf("row %d reads %v", at+k, x[k])
			}
		}
	}
}

// TestTextWide: the time a text takes grows with its columns and no faster. The limit
// is the issue's; the columns took 19 s once. The values are those written.
func TestTextWide(t *testing.T) {
	const columns, rows = 16000, 10

	var b strings.Builder
	for r := range rows {
		for c := range columns {
			fmt.Fprintf(&b, "%d.5,", r*c)
		}
		b.WriteString("1\n")
	}

	best := time.Hour // of three: other work on the machine is not its fault
	for range 3 {
		start := ingesttest.CPU()

		r, err := openString(b.String(), ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}

		x := ingesttest.ReadAll(t, r)
		best = min(best, ingesttest.CPU()-start)

		if len(x) != columns+1 || x[15999][9] != 15999*9+0.5 || x[columns][9] != 1 {
			t.Fatalf("%d columns, %v", len(x), x[15999])
		}
	}

	if best > 500*time.Millisecond {
		t.Errorf("%d columns took %v", columns, best)
	}
}

// TestTextLongLines: lines longer than the buffer are read, absurd ones are
// refused.
func TestTextLongLines(t *testing.T) {
	row := strings.Repeat("1.25\t", 60000) + "2\n"
	r, err := openString(row[:len(row)/2/5*5]+"2\n"+row[:len(row)/2/5*5]+"3\n", ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	x := ingesttest.ReadAll(t, r)
	ingesttest.Equal(t, x[len(x)-1], []float64{2, 3})
	r2, err := openString("1,2\n3,4\n"+strings.Repeat("9", maxLine+100), ingest.Options{})
	ingesttest.WantDataError(t, r2, err, "line 3", "longer than")
}

// TestTextRoundTrip: numbers written with any delimiter, line end, header,
// comments and blank lines come back to the last bit.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delim := rapid.SampledFrom([]string{",", ";", "\t", " ", "  ", ", "}).Draw(rt, "delimiter")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end")
		cols := rapid.IntRange(2, 6).Draw(rt, "columns")
		rows := rapid.IntRange(1, 40).Draw(rt, "rows")
		header, trailing := rapid.Bool().Draw(rt, "header"), rapid.Bool().Draw(rt, "trailing") &&
			strings.TrimSpace(delim) != ""
		var b strings.Builder
		line := func(cells []string) {
			b.WriteString(strings.Join(cells, delim))

			if trailing {
				b.WriteString(strings.TrimSpace(delim))
			}

			b.WriteString(end)
		}

		if header {
			h := make([]string, cols)
			for i := range h {
				h[i] = "c" + strconv.Itoa(i)
			}

			line(h)
		}

		want := make([][]float64, cols)
		for range rows {
			cells := make([]string, cols)
			for c := range cells {
				v := rapid.Float64().Draw(rt, "v")
				cells[c] = strconv.FormatFloat(v, rapid.SampledFrom([]byte("eg")).Draw(rt, "format"), -1, 64)
				want[c] = append(want[c], v)
			}

			if rapid.IntRange(0, 9).Draw(rt, "gap") == 0 {
				b.WriteString("# note" + end + end)
			}

			line(cells)
		}

		r, err := openString(b.String(), ingest.Options{})
		if err != nil {
			rt.Fatal(err)
		}

		x := ingesttest.ReadAll(t, r)
		if len(x) != cols {
			rt.Fatalf("%d columns, want %d in %q", len(x), cols, b.String())
		}

		for c := range x {
			for k := range x[c] {
				if x[c][k] != want[c][k] {
					rt.Fatalf("column %d row %d: %v, want %v", c, k, x[c][k], want[c][k])
				}
			}
		}
	})
}

// Of many columns without numbers some are named and the others counted.
func TestManyEmptyColumns(t *testing.T) {
	r, err := openString(strings.Repeat(";", 30)+"1\n"+strings.Repeat(";", 30)+"2\n", ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	w := r.Info().Warnings
	if len(w) != 21 || w[20].Text != "10 more columns hold text or are empty: they are no channels" {
		t.Errorf("%d warnings, the last %v", len(w), w[len(w)-1])
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"a,b\n1,2\n3,4\n", "1;2\r\n3;4", "# Fx,Fy\n1,2\n", "Time (s)\tF [N]\n0\t1\n1\t2\n", "a;b\n1,5;2,25\n",
		"\"a\",b\n\"1\",2\n",
		"t,F\ns,N\n0,1\n1,2\n", "   1.5   2 \n  -3    4\n", ",,,\n1,2,3\n", "nan,inf\n1,2\n", "; x\n1,2\n", "1,2\n3",
		"\xef\xbb\xbf1 2\n", "x\n\n\n1\n", "T [\xb0C];n\n1.234,5;2\n2.345,5;3\n", "a;b\n1'234;2\n1\u202f235;3\n",
		"1\x00,\x002\x00\n\x003\x00,\x004\x00\n\x00",
	} {
		f.Add([]byte(s))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		ingesttest.Drain(t, Format, b, ingest.Options{}, 1)
		ingesttest.Drain(t, Format, b, ingest.Options{
			Truncated: "use",
			Text:      ingest.TextOptions{Time: "1", Columns: []string{"a", "b"}},
		}, 1)
	})
}

// bigText is what the measured balance files look like: 13 columns, blanks.
func bigText(rows int) []byte {
	g := rand.New(rand.NewPCG(5, 6))

	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, "%f", 1510924907.244811+0.01*float64(i))

		for range 12 {
			fmt.Fprintf(&b, "  %f", g.NormFloat64())
		}

		b.WriteString(" \n")
	}

	return b.Bytes()
}

func BenchmarkText(b *testing.B) {
	text := bigText(40000)
	var csv bytes.Buffer

	g := rand.New(rand.NewPCG(7, 8))
	for range 40000 {
		fmt.Fprintf(&csv, "%v,%v,%v,%v,%v,%v\n", g.NormFloat64(), g.NormFloat64(), g.NormFloat64(), g.NormFloat64(),
			g.NormFloat64(), g.NormFloat64())
	}

	var e18 bytes.Buffer
	for range 40000 {
		fmt.Fprintf(&e18, "%.18e %.18e %.18e\n", g.NormFloat64(), g.NormFloat64(), g.NormFloat64())
	}

	for _, c := range []struct {
		name string
		text []byte
	}{{"blanks6digits", text}, {"comma17digits", csv.Bytes()}, {"savetxt", e18.Bytes()}} {
		b.Run("open/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()

			for b.Loop() {
				if _, err := openString(string(c.text), ingest.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})

		b.Run("read/"+c.name, func(b *testing.B) {
			r, err := openString(string(c.text), ingest.Options{})
			if err != nil {
				b.Fatal(err)
			}

			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			chans := make([]int, len(r.Info().Channels))
			dst := make([][]float64, len(chans))
			for i := range dst {
				chans[i], dst[i] = i, make([]float64, 8192)
			}

			for b.Loop() {
				for at := int64(0); ; at += 8192 {
					if _, err := r.Read(chans, at, dst); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkTextFile writes the file numpy.loadtxt is timed on as well.
func BenchmarkTextFile(b *testing.B) {
	path := b.TempDir() + "/big.txt"

	text := bigText(200000)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		b.Fatal(err)
	}

	b.SetBytes(int64(len(text)))

	for b.Loop() {
		src, err := ingest.OpenSource(path)
		if err != nil {
			b.Fatal(err)
		}

		r, err := Open(src, ingest.Options{})
		if err != nil {
			b.Fatal(err)
		}

		ingesttest.ReadAll(b, r)
		r.Close()
	}
}
