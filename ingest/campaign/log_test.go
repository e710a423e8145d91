package campaign

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"doubletake/ingest/condition"
	"doubletake/ingest/ingesttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stated returns the numbers and the names of a row.
func (r ConditionRow) stated() (values []float64, names []string) {
	for _, c := range r.States {
		if c.IsName {
			names = append(names, c.Name)
		} else {
			values = append(values, c.Value)
		}
	}

	return values, names
}

// lauf are the recordings of the logs in testdata/logs.
var lauf = []string{"raw/lauf_01.wav", "raw/lauf_02.wav", "raw/lauf_03.wav"}

// Logs as programs write them. Expected values: make.py.txt beside the logs wrote them with Python's csv and codecs.
// want has the names, units and labels of the log, and then of each row the file, the numbers and the names.
func TestReadLog(t *testing.T) {
	for _, c := range []struct {
		name, want string
	}{
		{
			name: "excel-german.csv",
			want: "[Nr. Drehzahl Temperatur] map[Drehzahl:1/min Temperatur:°C] [Bemerkung] lauf_01 [1 1200 20.5] [] " +
				"lauf_02 [2 2400.5 NaN] [Tür offen] LAUF_03 [3 NaN 21.25] []",
		},
		{
			name: "notepad-utf16.txt",
			want: "[rpm θ] map[θ:deg] [] lauf_01.wav [1200 -12.5] [] lauf_02.wav [2400.5 0] [] lauf_03.wav [3600 12.5] []",
		},
		{
			name: "no-mark-utf16.csv",
			want: "[rpm alpha_deg] map[] [] lauf_01.wav [1200 -12.5] [] lauf_02.wav [2400.5 0] [] lauf_03.wav [3600 12.5] []",
		},
		{
			name: "labview.txt",
			want: "[Speed u_inf_m_s] map[Speed:rpm u_inf_m_s:m/s] [date] " +
				"Lauf_01.wav [1200 9.75] [11/23/2026 09:15] Lauf_02.wav [2400.5 NaN] [11/23/2026 09:20] " +
				"Lauf_03.wav [3600 10.25] [11/23/2026 09:25]",
		},
		{
			name: "excel-english.csv",
			want: "[rpm Thrust] map[Thrust:N] [] lauf_01.wav [1200 12.5] [] lauf_02.wav [2400.5 NaN] [] " +
				"lauf_03.wav [3600 1012.5] []",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", "logs", c.name)
			l, err := ReadLog(path, LogOptions{Files: lauf})
			require.NoError(t, err)

			kept, _ := l.Without(lauf, lauf)
			got := fmt.Sprint(l.Names, l.Units, l.Labels)
			for _, r := range kept.Rows {
				values, names := r.stated()
				got += fmt.Sprint(" ", r.File[strings.LastIndexByte(r.File, '\\')+1:], " ", values, names)
			}

			got = strings.ReplaceAll(got, "][", "] [")
			assert.Equal(t, strings.ReplaceAll(c.want, "][", "] ["), got)

			rows, err := kept.ForFiles(lauf)
			require.NoError(t, err)
			require.Len(t, rows, len(lauf))
			for i, r := range rows {
				want := fmt.Sprintf("_0%d", i+1)
				require.Len(t, r.Rows, 1, "%s", lauf[i])
				assert.Contains(t, r.Rows[0].File, want, "%s", lauf[i])
			}
		})
	}
}

// Small logs with what people write in cells and headers. want has the names of the conditions, and the numbers of each
// row. The expected values were read by eye.
func TestReadLogCells(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          LogOptions
		want       string
	}{
		{name: "as before", text: "file;a;b\nx;1;1.205\ny;2;1.204\n", want: "[a b] [1 1.205] [2 1.204]"},
		{
			name: "a comma of doubt", text: "file;a\nx;1,205\ny;1,204\n", o: LogOptions{Decimal: ','},
			want: "[a] [1.205] [1.204]",
		},
		{name: "another column shows", text: "file;a;b\nx;1,205;12,5\ny;1,204;13\n", want: "[a b] [1.205 12.5] [1.204 13]"},
		{name: "a sign a column", text: "file;a;b\nx;0.5;1,5\ny;1.5;2,5\n", want: "[a b] [0.5 1.5] [1.5 2.5]"},
		{name: "thousands in quotes", text: "file,a\nx,\"1,205\"\ny,900\n", want: "[a] [1205] [900]"},
		{name: "seconds with commas", text: "file;t0_s;a\nx;0,5;1\ny;1,5;2\n", want: "[a] [1] [2]"},
		{
			name: "a column of names shows nothing", text: "file;t0_s;prop\nx;0,5;1.2\ny;1,5;1.3\n",
			o: LogOptions{Names: []string{"prop"}}, want: "[] [] []",
		},
		{
			name: "units behind", text: "file,alpha_deg,power\nx,5°,50 %\ny,-6 °,60 %\n", // case degree-sign
			want: "[alpha_deg power] [5 50] [-6 60]",
		},
		{name: "a comma of thousands", text: "file;a;b\nx;1,205;0.5\ny;2,204;1.5\n", want: "[a b] [1205 0.5] [2204 1.5]"},
		{name: "marks", text: "file;a\nx;1'234,5\ny;1 234 567,25\n", want: "[a] [1234.5] [1.23456725e+06]"},
		{name: "a minus of print", text: "file,a\nx,−3.5\ny,4\n", want: "[a] [-3.5] [4]"},
		{name: "own missing", text: "file,a\nx,-999\ny,4\n", o: LogOptions{Missing: []string{"-999"}}, want: "[a] [NaN] [4]"},
		{name: "missing first", text: "a,file\n#N/A,x\n# comment,x\n4,y\n", want: "[a] [NaN] [4]"},
		{name: "dates are labels", text: "file;day\nx;12.03.2026\ny;13.03.2026\n", want: "[] [] []"},
		{
			name: "renamed", text: "Take;Drehzahl [1/min]\nx;1\ny;2\n",
			o: LogOptions{Columns: map[string]string{"rpm": "Drehzahl [1/min]", "file": "take"}}, want: "[rpm] [1] [2]",
		},
		{name: "ignored", text: "file,a,b\nx,1,2\ny,2,z\n", o: LogOptions{Ignore: []string{"b"}}, want: "[a] [1] [2]"},
		{name: "a header in two lines", text: "file,\"n\n(rpm)\"\nx,1\ny,2\n", want: "[n] [1] [2]"},
		{name: "a quote that never closes", text: "file,note,a\nx,\"two,1\ny,\"z\",2\n", want: "[a] [1] [2]"},
		{
			name: "line breaks above the known rows", text: "take,note,a\nx,\"b\nc\",1\ny,d,2\n",
			o: LogOptions{Files: []string{"y.wav"}}, want: "[a] [2]",
		},
		{name: "empty cells beyond the columns", text: "file,a\nx,1,,\"\"\ny,2\n", want: "[a] [1] [2]"},
		{name: "lines of old spreadsheets", text: "file,a\rx,1\ry,2\r", want: "[a] [1] [2]"},
		{name: "fixed width", text: "Day 1\n\nfile   a    b\nx    1.5   -2\ny     10    3\n", want: "[a b] [1.5 -2] [10 3]"},
		{name: "marks that nobody sees", text: "file,a\rx,1\u200b\r\n\ufeffy,2\n", want: "[a] [1] [2]"},
		{name: "columns without a name", text: "file,a,,\nx,1,,\ny,2,,\n", want: "[a] [1] [2]"},
		{
			name: "a row of a recording that was not made", text: "file,a\nx1,1\nx7,\nx2,2\nTotal,\n",
			o: LogOptions{Files: []string{"x1.wav", "x2.wav"}}, want: "[a] [1] [2]",
		},
	} {
		l, err := ParseConditions("c", []byte(c.text), c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}

		got := fmt.Sprint(l.Names)
		for _, r := range l.Rows {
			values, _ := r.stated()
			got += fmt.Sprint(" ", values)
		}

		assert.Equal(t, c.want, got, "%s", c.name)
	}
}

// A log warns of comments that contradict each other, and of a number whose decimal sign another column shows. The
// texts were written by hand.
func TestReadLogWarns(t *testing.T) {
	said, err := ParseConditions("c", []byte("# a: 1\nfile;a\n# b = 5\nx;1\n# b = 6\ny;2\n"), LogOptions{})
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(said.Warnings), "line 5: a comment states b as 6, one above as 5")

	// Comments count in every encoding and with every end of line: in UTF-16 as utf16.Encode writes it, in Windows-1252,
	// in which \xf6 is ö, and with the ends of lines of old spreadsheets.
	wide := []byte("\xff\xfe")
	for _, unit := range utf16.Encode([]rune("file;a\n# Höhe = 5\nx;1\n# Höhe = 6\ny;2\n")) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}

	for name, typed := range map[string][]byte{
		"UTF-8":        []byte("file;a\n# Höhe = 5\nx;1\n# Höhe = 6\ny;2\n"),
		"UTF-16":       wide,
		"Windows-1252": []byte("file;a\n# H\xf6he = 5\nx;1\n# H\xf6he = 6\ny;2\n"),
		"CR":           []byte("file;a\r# Höhe = 5\rx;1\r# Höhe = 6\ry;2\r"),
	} {
		said, err := ParseConditions("c", typed, LogOptions{})
		require.NoError(t, err, name)
		assert.Contains(t, fmt.Sprint(said.Warnings), "line 4: a comment states Höhe as 6, one above as 5", name)
	}

	l, err := ParseConditions("c", []byte("file;a;b\nx;1.200;0,5\ny;2.400;1,5\n"), LogOptions{})
	require.NoError(t, err)
	assert.InDelta(t, 1200.0, l.Rows[0].States[0].Value, 0)
	require.Len(t, l.Warnings, 1)
	assert.Equal(t, `line 2, column 2 (a): "1.200" is read as 1200, since the decimal sign is ','`, l.Warnings[0].Text)
}

// Each error names the place in the log, the expected and the found contents, and what to do.
func TestReadLogRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		o    LogOptions
		want []string
	}{
		{
			"Messung;n\nx;1\n",
			LogOptions{Files: []string{"a.wav"}},
			[]string{`a column "file"`, `only "Messung", "n"`, "log: {columns: {file: …}}"},
		},
		{
			"file;n\nx;1\n",
			LogOptions{Columns: map[string]string{"rpm": "Drehzahl"}},
			[]string{`line 1: expected a column "Drehzahl", which log.columns calls rpm, found only "file", "n"`},
		},
		{"file;n\nx;1\n", LogOptions{Ignore: []string{"Nr"}}, []string{
			`line 1: expected a column "Nr", which log.ignore names, found only "file", "n"`,
		}},
		{
			"Titel;\nDatei;n [1/min]\nx;1,5\ny;zwei\n",
			LogOptions{Files: []string{"x.wav", "y.wav"}},
			[]string{`line 4, column 2 (n): expected a number, as in other rows of the column, found "zwei"`},
		},
		{ // case thousands-comma
			"file;rpm\nr1;900\nr2;1,200\nr3;1,500\nr4;2,000\n",
			LogOptions{},
			[]string{`line 3, column 2 (rpm): expected a number that can be read in one way`, `found "1,200", which is 1.2 or ` +
				`1200`, "log: {decimal: comma}"},
		},
		{"file;a\nx;0.5\ny;1,5\n", LogOptions{}, []string{
			`line 3, column 2 (a): expected one decimal sign in a column, as in "0.5" (row 1), found "1,5"`,
		}},
		{"file;U;unit\na;36;km/h\nb;10;m/s\n", LogOptions{}, []string{`column 3 (unit): expected one unit in all rows`}},
		{"file;n\nAPC 8x6;\na;1\nb;2\n", LogOptions{Files: []string{"a.wav", "b.wav"}}, []string{
			`line 2: expected a recording and its conditions, found only "APC 8x6"`,
		}},
		{"file;prop\na;APC\nDay 2\nb;APC\n", LogOptions{}, []string{"line 3", "write a heading as a column"}},
		{"file\tprop\trpm\na\tAPC\t4000\nb\t\"\t\"\n", LogOptions{}, []string{`line 3, column 3 (rpm)`, `found "\""`}},
		{"file;n\na;1\nb\x89\xf1;2\n", LogOptions{}, []string{"line 3", "save the file as UTF-8"}},
		{"a;1\nb;2\n", LogOptions{Files: []string{"a.wav", "b.wav"}}, []string{"line 1: expected a header"}},
		{"\xff\xfef\x00i", LogOptions{}, []string{"byte 4", "half of one"}},
	} {
		l, err := ParseConditions("c", []byte(c.text), c.o)
		ingesttest.WantDataError(t, l, err, c.want...)
	}
}

// A value that is not there is an error where it is used, and another source may give it.
func TestGaps(t *testing.T) {
	const log = "file,rpm,humidity\na-1.wav,1200,n/a\na-2.wav,-,40\na-9.wav,,\n"

	files := []string{"a-1.wav", "a-2.wav"}
	read := func() (*Conditions, string) {
		l, err := ParseConditions("log.csv", []byte(log), LogOptions{Files: files})
		require.NoError(t, err)

		kept, w := l.Without(files, files)

		return kept, fmt.Sprint(w)
	}

	l, said := read()
	require.Len(t, l.Rows, 2, said)
	assert.Contains(t, said, "1 row of no file left out: a-9.wav (line 4)")

	uses := func(names ...string) func(string) bool {
		return func(n string) bool { return strings.Contains(strings.Join(names, " "), n) }
	}

	_, err := l.FillGaps(uses("rpm"), nil)
	ingesttest.WantDataError(t, nil, err, `log.csv: line 3, column 2 (rpm): expected a number, since the `+
		`configuration uses rpm, found "-"`, "leave a-2.wav out with exclude under ingest")

	l, _ = read()
	w, err := l.FillGaps(uses("rpm"), []string{"rpm"})
	require.NoError(t, err)
	assert.Equal(t, "[rpm]", fmt.Sprint(l.Names))
	require.Len(t, w, 1)
	assert.Contains(t, w[0].Text, `line 2, column 3 (humidity): "n/a", of a-1.wav; 1 of 2 rows have no number there`)

	// The only condition of a campaign, case empty-cell.
	only, err := ParseConditions("log.csv", []byte("file,rpm\nr1,1000\nr2,1100\nr3,\nr4,1200\n"), LogOptions{})
	require.NoError(t, err)

	_, err = only.FillGaps(uses(), nil)
	ingesttest.WantDataError(t, nil, err, "log.csv: line 4, column 2 (rpm): expected a number, since no other condition "+
		"is known, found an empty cell", "leave r3 out with exclude under ingest")

	pat, err := ParsePattern("{_}-{rpm}.wav")
	require.NoError(t, err)

	one := &Conditions{Path: "log.csv", Names: []string{"rpm"}, Rows: []ConditionRow{{
		Line: 2, File: "a-2.wav", End: math.Inf(1),
		States: []condition.Condition{{Column: "rpm", Value: math.NaN()}},
	}}}
	runs, _, err := assemble(files[1:], fakeInfo, one, pat, nil, Grouping{})
	require.NoError(t, err)
	assert.Equal(t, 2.0, runs[0].Recordings[0].Conditions["rpm"])
}

// Names of files match as people type them. Rows and files that do not fit are all named.
func TestTypedNames(t *testing.T) {
	files := []string{"S1/Run_1.WAV", "S1/run_2.wav", "S2/run_2.wav", "v1.5", "v1"}

	x := newFileIndex(files)
	for row, want := range map[string]string{
		"run_1": "[0]", "RUN_1.wav": "[0]", "s1/run_2": "[1]", "run_2": "[1 2]", `C:\lab\s2\Run_2.wav`: "[2]",
		"/lab/run_1": "[0]", "S3/run_2": "[]", "V1": "[4]", "run": "[]", "data/S1/run_2.wav": "[1]",
	} {
		assert.Equal(t, want, fmt.Sprint(x.filesFor(row)), "%v", row)
	}

	names := []string{"a1.wav", "c1.wav", "c2.wav"}
	l, err := ParseConditions("log.csv", []byte("file,U\na1,1\nb7,2\nb8,3\n"), LogOptions{Files: names})
	require.NoError(t, err)

	kept, w := l.Without(names, names)
	_, err = kept.ForFiles(names)
	ingesttest.WantDataError(t, nil, err, `line 3`, `found "b7", which is none of the files, also b8 (line 4)`,
		"files without a row: c1.wav, c2.wav")

	assert.Empty(t, w)

	_, err = (&Conditions{Path: "log.csv", Rows: l.Rows[:1]}).ForFiles(names)
	ingesttest.WantDataError(t, nil, err, "c1.wav: expected a row of log.csv for this file, found none, nor for c2.wav")
}

// A bare number stands for the only file that has it in its name, whole, with or without leading zeros. A column with
// names of files is preferred.
func TestNumbersOfFiles(t *testing.T) {
	files := []string{"d/rec_0017_20C.wav", "d/rec_0018_20C.wav", "d/rec_0170_20.5C.wav", "d/19.wav", "d/take19b.wav"}
	x := newFileIndex(files)
	for row, want := range map[string]string{
		"17": "[0]", "0018": "[1]", "170": "[2]", "20": "[]", "19": "[3]", "7": "[]", "5": "[]", "17.5": "[]", "-17": "[]",
	} {
		assert.Equal(t, want, fmt.Sprint(x.filesFor(row)), "%v", row)
	}

	for name, c := range map[string]struct{ text, want string }{
		"counter": {
			"Prüfstand 3;;\nNr.;Drehzahl;T\n-;1/min;°C\n17;2400;20\n18;3000;21\n", "[Drehzahl T] 17 [2400 20] 18 [3000 21]",
		},
		"called file": {"file,rpm\n17,2400\n18,3000\n", "[rpm] 17 [2400] 18 [3000]"},
		"names win": {
			"Nr.,rpm,take\n18,2400,rec_0017_20c\n17,3000,rec_0018_20c\n",
			"[Nr. rpm] rec_0017_20c [18 2400] rec_0018_20c [17 3000]",
		},
		"other column":  {"rpm,n\n2400,17\n3000,18\n", "[rpm] 17 [2400] 18 [3000]"},
		"several files": {"n,file\n1,20\n", "[n]"},
	} {
		l, err := ParseConditions("log.csv", []byte(c.text), LogOptions{Files: files[:2]})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		got := fmt.Sprint(l.Names)
		for _, r := range l.Rows {
			values, _ := r.stated()
			got += fmt.Sprint(" ", r.File, " ", values)
		}

		assert.Equal(t, c.want, got, "%s", name)

		_, err = l.ForFiles(files[:2])
		assert.Equal(t, name == "several files", err != nil, "%s", name)
	}
}
