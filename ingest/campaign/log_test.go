package campaign

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/ingesttest"
	"doubletake/ingest/setpoint"
)

var lauf = []string{"raw/lauf_01.wav", "raw/lauf_02.wav", "raw/lauf_03.wav"}

// Logs as programs write them. Expected values are those that make.py.txt gave to Python's csv and
// codecs.
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
			want: "[Speed u_inf_m_s] map[Speed:rpm u_inf_m_s:m/s] [date] Lauf_00.wav [900 0] [11/23/2026 09:10] " +
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
			if err != nil {
				t.Fatal(err)
			}

			got := fmt.Sprint(l.Names, l.Units, l.Labels)
			for _, r := range l.Rows {
				got += fmt.Sprint(" ", r.File[strings.LastIndexByte(r.File, '\\')+1:], " ", r.Values, r.Labels)
			}

			if got = strings.ReplaceAll(got, "][", "] ["); got != strings.ReplaceAll(c.want, "][", "] [") {
				t.Errorf("%s\nwant %s", got, c.want)
			}

			kept, _ := l.Without(lauf, lauf)
			rows, err := kept.ForFiles(lauf)
			for i, r := range rows {
				if want := fmt.Sprintf("_0%d", i+1); len(r.Rows) != 1 || !strings.Contains(r.Rows[0].File, want) {
					t.Errorf("%s has %+v", lauf[i], r.Rows)
				}
			}

			if err != nil {
				t.Error(err)
			}
		})
	}
}

// What a person may write in a cell and in a header, in small.
func TestReadLogCells(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          LogOptions
		want       string
	}{
		{name: "as before", text: "file;a;b\nx;1;1.205\ny;2;1.204\n", want: "[a b] [1 1.205] [2 1.204]"},
		{name: "a comma of doubt", text: "file;a\nx;1,205\ny;1,204\n", want: "[a] [1.205] [1.204]"},
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
		{name: "columns without a name", text: "file,a,,\nx,1,,\ny,2,,\n", want: "[a] [1] [2]"},
	} {
		l, err := parseConditions("c", []byte(c.text), c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}

		got := fmt.Sprint(l.Names)
		for _, r := range l.Rows {
			got += fmt.Sprint(" ", r.Values)
		}

		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}

	l, err := parseConditions("c", []byte("file;a;b\nx;1.200;0,5\ny;2.400;1,5\n"), LogOptions{})
	if err != nil || l.Rows[0].Values[0] != 1200 || len(l.Warnings) != 1 || l.Warnings[0].Text !=
		`line 2, column 2 (a): "1.200" is read as 1200, since the decimal sign is ','` {
		t.Errorf("%+v, %v", l, err)
	}
}

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
		{
			"file;n\nx;1\n",
			LogOptions{Ignore: []string{"Nr"}},
			[]string{`line 1: expected a column "Nr", which log.ignore names, found only "file", "n"`},
		},
		{
			"Titel;\nDatei;n [1/min]\nx;1,5\ny;zwei\n",
			LogOptions{Files: []string{"x.wav", "y.wav"}},
			[]string{`line 4, column 2 (n): expected a number, as in other rows of the column, found "zwei"`},
		},
		{
			"file;a;b\nx;0.5;1,5\ny;1.5;2,5\n",
			LogOptions{},
			[]string{`line 2, column 3 (b): expected a number`, `found "1,5"`, `decimal sign '.'`},
		},
		{"\xff\xfef\x00i", LogOptions{}, []string{"byte 4", "half of one"}},
	} {
		l, err := parseConditions("c", []byte(c.text), c.o)
		ingesttest.WantDataError(t, l, err, c.want...)
	}
}

// A value that is not there is an error where it is used, and another source may give it.
func TestGaps(t *testing.T) {
	const log = "file,rpm,humidity\na-1.wav,1200,n/a\na-2.wav,-,40\na-9.wav,,\n"

	files := []string{"a-1.wav", "a-2.wav"}
	read := func() (*Conditions, string) {
		l, err := parseConditions("log.csv", []byte(log), LogOptions{})
		if err != nil {
			t.Fatal(err)
		}

		kept, w := l.Without(files, files)

		return kept, fmt.Sprint(w)
	}

	l, said := read()
	if len(l.Rows) != 2 || !strings.Contains(said, "1 row of no file left out: a-9.wav (line 4)") {
		t.Errorf("%+v: %s", l.Rows, said)
	}

	uses := func(names ...string) func(string) bool {
		return func(n string) bool { return strings.Contains(strings.Join(names, " "), n) }
	}

	_, err := l.FillGaps(uses("rpm"), nil)
	ingesttest.WantDataError(t, nil, err, `log.csv: line 3, column 2 (rpm): expected a number, since the `+
		`configuration uses rpm, found "-"`, "leave a-2.wav out with exclude")

	l, _ = read()
	w, err := l.FillGaps(uses("rpm"), []string{"rpm"})
	if err != nil || fmt.Sprint(l.Names) != "[rpm]" || len(w) != 1 || !strings.Contains(w[0].Text,
		`line 2, column 3 (humidity): "n/a"; 1 of 2 rows have no number there`) {
		t.Errorf("%v, %v, %v", l.Names, w, err)
	}

	pat, err := ParsePattern("{_}-{rpm}.wav")
	if err != nil {
		t.Fatal(err)
	}

	one := &Conditions{Path: "log.csv", Names: []string{"rpm"}, Rows: []ConditionRow{{
		Line: 2, File: "a-2.wav", Row1: -1,
		Values: []float64{math.NaN()},
	}}}
	runs, _, err := Assemble(files[1:], fakeInfo, one, pat, nil, Grouping{})
	if err != nil || runs[0].Recordings[0].Conditions["rpm"] != 2 {
		t.Errorf("%+v, %v", runs, err)
	}
}

// Names as people type them; the two sides that do not fit are named in full.
func TestTypedNames(t *testing.T) {
	files := []string{"S1/Run_1.WAV", "S1/run_2.wav", "S2/run_2.wav", "v1.5", "v1"}

	x := newFileIndex(files)
	for row, want := range map[string]string{
		"run_1": "[0]", "RUN_1.wav": "[0]", "s1/run_2": "[1]", "run_2": "[1 2]", `C:\lab\s2\Run_2.wav`: "[2]",
		"/lab/run_1": "[0]", "S3/run_2": "[]", "V1": "[4]", "run": "[]", "data/S1/run_2.wav": "[1]",
	} {
		if got := fmt.Sprint(x.of(ConditionRow{File: row})); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}

	l, err := parseConditions("log.csv", []byte("file,U\na1,1\nb7,2\nb8,3\n"), LogOptions{})
	if err != nil {
		t.Fatal(err)
	}

	names := []string{"a1.wav", "c1.wav", "c2.wav"}
	kept, w := l.Without(names, names)
	_, err = kept.ForFiles(names)
	ingesttest.WantDataError(t, nil, err, `line 3`, `found "b7", which is none of the files, as are b8 (line 4)`,
		"files without a row: c1.wav, c2.wav")

	if w != nil {
		t.Errorf("%v", w)
	}

	_, err = (&Conditions{Path: "log.csv", Rows: l.Rows[:1]}).ForFiles(names)
	ingesttest.WantDataError(t, nil, err, "c1.wav: expected a row of log.csv for this file, found none, nor for c2.wav")
}

// A bare number is the only file that has it in its name, whole and without leading zeros; names win.
func TestNumbersOfFiles(t *testing.T) {
	files := []string{"d/rec_0017_20C.wav", "d/rec_0018_20C.wav", "d/rec_0170_20.5C.wav", "d/19.wav", "d/take19b.wav"}
	x := newFileIndex(files)
	for row, want := range map[string]string{
		"17": "[0]", "0018": "[1]", "170": "[2]", "20": "[]", "19": "[3]", "7": "[]", "5": "[]", "17.5": "[]", "-17": "[]",
	} {
		if got := fmt.Sprint(x.of(ConditionRow{File: row})); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
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
		"several files": {"n,file\n1,20\n", "[n] 20 [1]"},
	} {
		l, err := parseConditions("log.csv", []byte(c.text), LogOptions{Files: files[:2]})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		got := fmt.Sprint(l.Names)
		for _, r := range l.Rows {
			got += fmt.Sprint(" ", r.File, " ", r.Values)
		}

		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}

		if _, err = l.ForFiles(files[:2]); (err != nil) != (name == "several files") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A set point in the name and a measured value within the tolerance do not contradict: the measured one holds,
// whichever comes first. Expected values: those of the log, or of the attribute among the constants.
func TestNamesOfSetPoints(t *testing.T) {
	pat, err := ParsePattern("n{rpm}.wav")
	if err != nil {
		t.Fatal(err)
	}

	measured := func(v float64) *Conditions {
		return &Conditions{Path: "log.csv", Names: []string{"rpm"}, Rows: []ConditionRow{{
			Line: 2, File: "n3000.wav", Row1: -1, Values: []float64{v},
		}}}
	}

	g := Grouping{
		Within: map[string]setpoint.Tolerance{"rpm": {Relative: 0.005}}, From: map[string]string{"rpm": "attribute"},
	}
	for _, c := range []struct {
		log       *Conditions
		constants map[string]float64
		want      float64
	}{
		{measured(2997), nil, 2997},
		{nil, map[string]float64{"rpm": 3010}, 3010},
		{measured(2990), map[string]float64{"rpm": 2991}, 2990},
	} {
		runs, _, err := Assemble([]string{"n3000.wav"}, fakeInfo, c.log, pat, c.constants, g)
		if err != nil || runs[0].Recordings[0].Conditions["rpm"] != c.want {
			t.Errorf("expected %g, found %+v, %v", c.want, runs, err)
		}
	}

	for v, tolerance := range map[float64]Grouping{2980: g, 2997: {}} {
		_, _, err := Assemble([]string{"n3000.wav"}, fakeInfo, measured(v), pat, nil, tolerance)
		ingesttest.WantDataError(t, nil, err,
			fmt.Sprintf("expected 3000, as in the file's name, found %g in log.csv, line 2", v))
	}
}
