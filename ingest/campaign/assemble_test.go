package campaign

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/lists"
	"doubletake/internal/testfile"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// conds returns the conditions in a text.
func conds(t testing.TB, s string) *Conditions {
	t.Helper()

	c, err := ParseConditions("c.csv", []byte(s), LogOptions{})
	require.NoError(t, err)

	return c
}

// A log as a spreadsheet writes it: a byte order mark, a comment, semicolons, quotes and an empty line. The expected
// rows were read by eye.
func TestReadConditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.csv")

	text := "\xef\xbb\xbf# campaign 3\r\nFile;channel;t0_s;t1_s;alpha (deg);blades;wing\r\na.wav;2;0.5;;3.5;2;\"NACA; " +
		"12\"\r\n\r\nb*.wav;;;;-1e1;3;x\r\n"
	testfile.Write(t, path, text)

	c, err := ReadLog(path, LogOptions{})
	require.NoError(t, err)

	got := fmt.Sprint(c.Names, c.Units, c.Labels)
	for _, r := range c.Rows {
		values, names := r.stated()
		got += fmt.Sprintf("; %d %s %s %v %g:%g", r.Line, r.File, r.Channel, r.Timed, r.Begin, r.End) +
			fmt.Sprint(values, names)
	}

	want := "[alpha blades] map[alpha:deg] [wing]; 3 a.wav 2 true 0.5:+Inf[3.5 2] [NACA; 12]; " +
		"5 b*.wav  true 0:+Inf[-10 3] [x]"
	assert.Equal(t, want, got)

	c, err = ReadLog(path+"x", LogOptions{})
	ingesttest.WantDataError(t, c, err, "no such file", `"c.csv"`)
}

// Each error names the line of the table, and the expected and the found contents.
func TestConditionsRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"c.csv: expected a header and rows, found an empty file"}},
		{"only comments", "# a\n", []string{"only comments"}},
		{"no rows", "file,a\n", []string{"rows below the header"}},
		{"no file column", "name,a\nx,1\n", []string{`line 1: expected a column "file"`, `"name", "a"`}},
		{
			"short row", "file,a,b\nx,1,2\ny,1\n",
			[]string{"c.csv: line 3, column 3 (b): expected 3 columns, found 2 (the row is too short"},
		},
		{"long row", "file,a\nx,1\ny,1,2\n", []string{"line 3, column 3: expected 2 columns, found 3 (the row is too long"}},
		{
			"mixed column", "file,a\nx,1\ny,two\n",
			[]string{`line 3, column 2 (a): expected a number, as in other rows of the column, found "two"`},
		},
		{"infinite", "file,a\nx,1\ny,inf\n", []string{"line 3, column 2 (a): expected a finite number, found inf"}},
		{"empty file", "file,a\nx,1\n\"\",2\n", []string{"line 3, column 1 (file)"}},
		{"empty name", "file,,a\nx,1,2\n", []string{"line 1, column 2", "empty header"}},
		{"names twice", "file,a,a\nx,1,2\n", []string{`"a" again, as in column 2`}},
		{"row0 no number", "file,row0,row1,a\nx,one,2,3\n", []string{`line 2, column 2 (row0)`, `"one"`}},
		{"row0 negative", "file,row0,row1,a\nx,-1,2,3\n", []string{`"-1"`}},
		{"row1 not above row0", "file,row0,row1,a\nx,5,5,3\n", []string{"row0 5 and row1 5"}},
		{"t1 not above t0", "file,t0_s,t1_s,a\nx,5,4,3\n", []string{"t0_s 5 and t1_s 4"}},
		{"both intervals", "file,row0,t0_s,a\nx,5,4,3\n", []string{"both"}},
		{"binary", "file\x00", []string{"binary data"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseConditions("c.csv", []byte(c.text), LogOptions{})
			ingesttest.WantDataError(t, got, err, c.want...)
		})
	}
}

// fakeInfo describes files of 1000 samples at 100 Hz: two channels for .wav,
// a clock, lift and drag for .txt.
func fakeInfo(path string) (ingest.Info, error) {
	i := ingest.Info{Path: path}

	names := []string{"1", "2"}
	if strings.HasSuffix(path, "txt") {
		names = []string{"Time", "Lift", "Drag"}
	}

	for _, n := range names {
		i.Channels = append(i.Channels, ingest.Channel{Name: n, RateHz: 100, Samples: 1000})
	}

	if names[0] == "Time" {
		i.Channels[0].Attributes = []ingest.Attribute{{Name: "role", Value: "time"}}
	}

	return i, nil
}

// show returns runs and their recordings as text.
func show(runs []ingest.Run) string {
	var b strings.Builder
	for _, r := range runs {
		fmt.Fprintf(&b, "%s %s %d:%d\n", r.ID, r.Path, r.Row0, r.Row1)
		for _, rec := range r.Recordings {
			fmt.Fprintf(&b, "  %s %v %v\n", rec.ID, rec.Channels, rec.Conditions)
		}
	}

	return b.String()
}

// assemble returns the runs of several files, with the conditions of a table, of their names and of the configuration.
func assemble(files []string, infos func(string) (ingest.Info, error), c *Conditions, pat *Pattern,
	constants map[string]float64, group Grouping,
) (runs []ingest.Run, warnings []ingest.Warning, err error) {
	rows := make([]*Conditions, len(files))
	if c != nil {
		rows, err = c.ForFiles(files)
		if err != nil {
			return nil, nil, err
		}
	}

	for i, file := range files {
		stated := lists.Each(slices.Sorted(maps.Keys(constants)), func(n string) condition.Condition {
			return condition.Condition{Column: n, Value: constants[n], Origin: condition.Configured}
		})
		if pat != nil {
			named, err := pat.Match(file)
			if err != nil {
				return nil, nil, err
			}

			stated = append(stated, named...)
		}

		info, err := infos(file)
		if err != nil {
			return nil, nil, err
		}

		r, w, err := Assemble(info, rows[i], stated, group)
		if err != nil {
			return nil, nil, err
		}

		runs = append(runs, r...)
		warnings = append(warnings, w...)
	}

	return runs, warnings, nil
}

// Files, rows of the table and the names of files become runs, with the warnings that have the codes warns. want has a
// line for each run, with its file and its
// interval of samples, and below it a line for each recording, with the indices of its channels and its conditions. The
// expected runs follow from the comment of Assemble; −1 is the end of the file.
func TestAssemble(t *testing.T) {
	pat, err := ParsePattern("S{speed}/a{alpha}.txt")
	require.NoError(t, err)

	for _, c := range []struct {
		name      string
		files     []string
		conds     string
		pat       *Pattern
		constants map[string]float64
		group     Grouping
		want      string
		warns     string
	}{
		{
			name: "pattern and constants, channels together", files: []string{"S1/a3.txt", "S2/a-4.txt"}, pat: pat,
			constants: map[string]float64{"rho": 1.2},
			group:     Grouping{Channels: []string{"drag", "Lift"}, Together: true},
			want: "S1/a3.txt S1/a3.txt 0:-1\n  S1/a3.txt [2 1] map[alpha:3 rho:1.2 speed:1]\nS2/a-4.txt S2/a-4.txt 0:-1\n  " +
				"S2/a-4.txt [2 1] map[alpha:-4 rho:1.2 speed:2]\n",
		},
		{
			name: "the clock is no recording", files: []string{"S1/a3.txt"}, pat: pat,
			want: "S1/a3.txt S1/a3.txt 0:-1\n  S1/a3.txt#Lift [1] map[alpha:3 speed:1]\n  S1/a3.txt#Drag [2] map[alpha:3 " +
				"speed:1]\n",
		},
		{
			name: "a row per channel", files: []string{"d/x.wav"},
			conds: "file,channel,rpm,theta\nx.wav,1,5000,-60\nx.wav,2,5000,60\n",
			want:  "d/x.wav d/x.wav 0:-1\n  d/x.wav#1 [0] map[rpm:5000 theta:-60]\n  d/x.wav#2 [1] map[rpm:5000 theta:60]\n",
		},
		{
			name: "one channel of two", files: []string{"d/x.wav"}, conds: "file,channel,theta\nx.wav,1,-60\nx.wav,2,60\n",
			group: Grouping{Channels: []string{"2"}},
			want:  "d/x.wav d/x.wav 0:-1\n  d/x.wav [1] map[theta:60]\n",
		},
		{
			name: "intervals in rows, out of order", files: []string{"x.txt"},
			conds: "file,row0,row1,U\nx.txt,500,,9\nx.txt,0,500,8\n", group: Grouping{Channels: []string{"Lift"}},
			want: "x.txt[0:500] x.txt 0:500\n  x.txt[0:500] [1] map[U:8]\nx.txt[500:] x.txt 500:-1\n  x.txt[500:] [1] " +
				"map[U:9]\n",
		},
		{
			name: "intervals in seconds", files: []string{"x.txt"},
			conds: "file,t0_s,t1_s,U\nx.txt,0.1,0.3,8\nx.txt,0.295,0.5,9\n", group: Grouping{Channels: []string{"2", "3"}},
			want: "x.txt[10:30] x.txt 10:30\n  x.txt[10:30]#Lift [1] map[U:8]\n  x.txt[10:30]#Drag [2] " +
				"map[U:8]\nx.txt[30:50] x.txt 30:50\n  x.txt[30:50]#Lift [1] map[U:9]\n  x.txt[30:50]#Drag [2] map[U:9]\n",
			warns: "",
		},
		{
			name: "overlap", files: []string{"x.txt"}, conds: "file,row0,row1,U\nx.txt,0,500,8\nx.txt,499,1000,9\n",
			group: Grouping{Channels: []string{"Lift"}},
			want: "x.txt[0:500] x.txt 0:500\n  x.txt[0:500] [1] map[U:8]\nx.txt[499:1000] x.txt 499:1000\n  x.txt[499:1000] " +
				"[1] map[U:9]\n",
			warns: "overlapping-intervals",
		},
		{
			name: "globs, exact before trailing, merged with the pattern", files: []string{"S1/a3.txt", "T/S1/a3.txt"}, pat: pat,
			conds: "file,U,alpha\nS1/a3.txt,4.5,3\nT/**,5.5,3\n", group: Grouping{Channels: []string{"Lift"}},
			want: "S1/a3.txt S1/a3.txt 0:-1\n  S1/a3.txt [1] map[U:4.5 alpha:3 speed:1]\nT/S1/a3.txt T/S1/a3.txt 0:-1\n  " +
				"T/S1/a3.txt [1] map[U:5.5 alpha:3 speed:1]\n",
		},
		{
			name: "nothing known", files: []string{"x.wav"}, group: Grouping{Channels: []string{"1"}},
			want: "x.wav x.wav 0:-1\n  x.wav [0] map[]\n", warns: "no-conditions",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cs *Conditions
			if c.conds != "" {
				cs = conds(t, c.conds)
			}

			runs, ws, err := assemble(c.files, fakeInfo, cs, c.pat, c.constants, c.group)
			require.NoError(t, err)

			assert.Equal(t, c.want, show(runs), "runs")
			assert.Equal(t, c.warns, ingesttest.Codes(ws), "warnings")
		})
	}
}

// Conditions that contradict each other, are missing, or do not fit the file, and channels that the file does not have,
// are errors of a file or of a line of the table. want has the parts of each text that say what was expected and found.
func TestAssembleRefused(t *testing.T) {
	pat, err := ParsePattern("S{speed}/a{alpha}.txt")
	require.NoError(t, err)

	for _, c := range []struct {
		name      string
		files     []string
		conds     string
		pat       *Pattern
		constants map[string]float64
		group     Grouping
		want      []string
	}{
		{
			name: "a file without a row", files: []string{"a1.wav", "a2.wav"}, conds: "file,U\na1.wav,1\n",
			want: []string{"a2.wav: expected a row of c.csv for this file, found none", `there are rows for "a1.wav"`},
		},
		{
			name: "a row without a file", files: []string{"d/a1.wav"}, conds: "file,U\na1.wav,1\na7.wav,2\n",
			want: []string{
				`c.csv: line 3: expected the name of a recording, found "a7.wav", which is none of the files`,
				`there is "d/a1.wav"`,
			},
		},
		{
			name: "a glob without a file", files: []string{"a1.wav"}, conds: "file,U\na1.wav,1\nb*.wav,2\n",
			want: []string{`line 3`, `found "b*.wav", which is none of the files`},
		},
		{
			name: "two rows", files: []string{"a1.wav"}, conds: "file,U\na1.wav,1\na*.wav,1\n",
			want: []string{"c.csv: line 3: expected one row for each recording, found a second one for a1.wav#1 (the first is " +
				"in line 2)"},
		},
		{
			name: "two rows of one channel", files: []string{"a1.wav"},
			conds: "file,channel,U\na1.wav,1,1\na1.wav,2,1\na1.wav,1,1\n",
			want:  []string{"line 4", "a second one for a1.wav#1"},
		},
		{
			name: "a channel without a row", files: []string{"a1.wav"}, conds: "file,channel,U\na1.wav,1,1\n",
			want: []string{"a row for channel 2 of a1.wav"},
		},
		{
			name: "an unknown channel", files: []string{"a1.wav"}, conds: "file,channel,U\na1.wav,3,1\n",
			want: []string{"c.csv: line 2", `a channel "3"`, `"1", "2"`},
		},
		{
			name: "channels together and apart", files: []string{"a1.wav"}, conds: "file,channel,U\na1.wav,1,1\n",
			group: Grouping{Together: true}, want: []string{"together are one recording"},
		},
		{
			name: "ambiguous base name", files: []string{"S1/a.wav", "S2/a.wav"}, conds: "file,U\na.wav,1\n",
			want: []string{`line 2: expected one file, found "a.wav" means "S1/a.wav" and "S2/a.wav"`},
		},
		{
			name: "an interval beyond the end", files: []string{"a1.wav"}, conds: "file,row0,row1,U\na1.wav,0,1001,1\n",
			want: []string{"line 2", "within the 1000 samples", "[0:1001]"},
		},
		{
			name: "an interval begins beyond the end", files: []string{"a1.wav"}, conds: "file,row0,row1,U\na1.wav,1000,,1\n",
			want: []string{"line 2", "within the 1000 samples"},
		},
		{
			name: "a time beyond the end", files: []string{"a1.wav"}, conds: "file,t0_s,t1_s,U\na1.wav,0,10.5,1\n",
			want: []string{"line 2", "[0:1050]"},
		},
		{
			name: "no samples between", files: []string{"a1.wav"}, conds: "file,t0_s,t1_s,U\na1.wav,0.001,0.002,1\n",
			want: []string{"an interval with samples"},
		},
		{
			name: "pattern against table", files: []string{"S1/a3.txt"}, pat: pat, conds: "file,alpha\na3.txt,4\n",
			want: []string{"condition alpha: expected 3, as in the file's name, found 4 in c.csv, line 2"},
		},
		{
			name: "pattern against constants", files: []string{"S1/a3.txt"}, pat: pat, constants: map[string]float64{"speed": 2},
			want: []string{"condition speed: expected 2, as in the configuration, found 1 in the file's name"},
		},
		{
			name: "a name the pattern does not know", files: []string{"S1/a3.txt", "S4/force.txt"}, pat: pat,
			want: []string{`S4/force.txt: expected a name like "S{speed}/a{alpha}.txt", found "S4/force.txt"`, "exclude"},
		},
		{
			name: "unknown selection", files: []string{"S1/a3.txt"}, pat: pat, group: Grouping{Channels: []string{"Fx"}},
			want: []string{`a channel "Fx"`, `"Time", "Lift", "Drag"`},
		},
		{
			name: "one channel twice", files: []string{"S1/a3.txt"}, pat: pat, group: Grouping{Channels: []string{"Lift", "2"}},
			want: []string{`"Lift" and "2" are the same channel`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cs *Conditions
			if c.conds != "" {
				cs = conds(t, c.conds)
			}

			runs, _, err := assemble(c.files, fakeInfo, cs, c.pat, c.constants, c.group)
			ingesttest.WantDataError(t, runs, err, c.want...)
		})
	}
}

// An interval in seconds is refused in a file without a sampling rate, and in a file whose clock pauses.
func TestAssembleSecondsRefused(t *testing.T) {
	noRate := func(p string) (ingest.Info, error) {
		return ingest.Info{Path: p, Channels: []ingest.Channel{{Name: "1", Samples: 10}}}, nil
	}
	runs, _, err := assemble([]string{"x"}, noRate, conds(t, "file,t0_s,U\nx,1,2\n"), nil, nil, Grouping{})
	ingesttest.WantDataError(t, runs, err, "line 2", "no sampling rate")

	pauses := func(p string) (ingest.Info, error) {
		i, _ := fakeInfo(p)
		i.Warnings = []ingest.Warning{{Code: "clock-gaps"}}
		return i, nil
	}

	runs, _, err = assemble([]string{"x"}, pauses, conds(t, "file,t0_s,U\nx,1,2\n"), nil, nil, Grouping{})
	ingesttest.WantDataError(t, runs, err, "line 2", "whose clock pauses", "row0")
}

// For any files and rows, each row becomes a run, the IDs are unique, the intervals are within the file, and each
// recording has the one condition of its row.
func TestAssembleUnique(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var files []string

		text := "file,row0,row1,U\n"
		for i := range rapid.IntRange(1, 4).Draw(rt, "files") {
			f := fmt.Sprintf("d%d/x%d.wav", i%2, i)
			files = append(files, f)

			for range rapid.IntRange(1, 3).Draw(rt, "rows") {
				a := rapid.IntRange(0, 998).Draw(rt, "a")
				text += fmt.Sprintf("%s,%d,%d,%d\n", f, a, rapid.IntRange(a+1, 1000).Draw(rt, "b"),
					rapid.IntRange(0, 9).Draw(rt, "U"))
			}
		}

		runs, _, err := assemble(files, fakeInfo, conds(t, text), nil, nil, Grouping{})
		if err != nil {
			if strings.Contains(err.Error(), "one row for each recording") {
				return // the draw gave one interval twice
			}
			rt.Fatal(err)
		}

		require.Len(rt, runs, strings.Count(text, "\n")-1)

		seen := map[string]bool{}
		for _, r := range runs {
			for _, rec := range r.Recordings {
				require.False(rt, seen[rec.ID])
				require.Len(rt, rec.Conditions, 1)
				require.GreaterOrEqual(rt, r.Row0, int64(0))
				require.LessOrEqual(rt, r.Row1, int64(1000))
				require.Less(rt, r.Row0, r.Row1)
				seen[rec.ID] = true
			}
		}
	})
}

// Any bytes give a table or a *fault.Error. If a table assembles with both files, each file has a run.
func FuzzConditions(f *testing.F) {
	f.Add([]byte("file,channel,row0,row1,U\nx.wav,1,0,5,2\nx.wav,2,,,3\n"))
	f.Add([]byte("file;t0_s;t1_s;a (deg);b\n*.wav;0;1;2;x\n"))
	f.Add([]byte("file\tU\n\"x\"\t1e5\n#\n"))
	f.Add([]byte("file,U\n[,1\n"))
	f.Add([]byte("T\xfcr;;\n;;\nDatei;n [1/min];p\n-;1/min;[Pa]\nX;1.200;n/a\ny;2.400,5;#WERT!\n"))
	f.Add([]byte("\xff\xfef\x00i\x00l\x00e\x00\t\x00U\x00\n\x00x\x00\t\x001\x00\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		files := []string{"x.wav", "d/y.wav"}
		c, err := ParseConditions("c", b, LogOptions{Files: files})
		if err != nil {
			require.ErrorAs(t, err, new(*fault.Error))
			return
		}

		require.NotZero(t, len(c.Rows)+c.Others, "no rows and no error")

		for _, r := range c.Rows {
			require.Len(t, r.States, len(c.Names)+len(c.Labels), "ragged")
		}

		runs, _, err := assemble(files, fakeInfo, c, nil, nil, Grouping{})
		if err == nil {
			require.GreaterOrEqual(t, len(runs), 2)
		}
	})
}
