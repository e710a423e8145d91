package campaign

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// tree returns a new folder with empty files.
func tree(t testing.TB, names ...string) string {
	t.Helper()

	dir := t.TempDir()
	for _, n := range names {
		p := filepath.Join(dir, n)
		testfile.Write(t, p, "")
	}

	return dir
}

// Find returns the files that match, without the excluded ones, and warns of files and exclusions that probably have a
// slip. The expected files are chosen by eye from the tree that the test makes.
func TestFind(t *testing.T) {
	dir := tree(t, "S1/angle0.txt", "S1/angle10.txt", "S2/angle30txt", "S2/angle5.txt", "S2/deep/er/angle7.txt",
		"S4/force.txt", "conditions.csv", ".hidden/angle1.txt", "S1/.angle3.txt", "S2/angle5.txt~", "S1/Angle2.txt",
		"S1/angle4.TXT", "S1/angel5.txt", "S1/angle6.tx", "S1/anglle7.txt", "B/take [x].csv", "B/take x.csv", "B/take1.csv")
	for _, c := range []struct {
		patterns, exclude []string
		want              string
		warn              []string
	}{
		{
			[]string{"S2/angle*.txt"},
			nil, "[S2/angle5.txt]",
			[]string{`is not matched by "S2/angle*.txt": a dot missing? it is left out`},
		},
		{[]string{"S*/angle*.txt", "S1/*0.txt"}, nil, "[S1/angle0.txt S1/angle10.txt S2/angle5.txt]", nil},
		{
			[]string{"**/angle*.txt"},
			[]string{"an???le7.txt"},
			"[S1/angle0.txt S1/angle10.txt S2/angle5.txt S2/deep/er/angle7.txt]",
			[]string{"excludes nothing"},
		},
		{[]string{"**/angle*.txt"}, []string{"angle7.txt", "S1/**"}, "[S2/angle5.txt]", nil},
		{[]string{"**"}, []string{"S?/**", "B/**"}, "[conditions.csv]", nil},
		{[]string{"./S4/../S4/force.txt"}, nil, "[S4/force.txt]", nil},
		// A name with brackets is that file, not those that it matches as a glob. cmd/app has it as case brackets.
		{[]string{"B/*.csv"}, []string{"take [x].csv"}, "[B/take x.csv B/take1.csv]", nil},
		{[]string{"B/*.csv"}, []string{"B/take [x].csv"}, "[B/take x.csv B/take1.csv]", nil},
		{[]string{"B/take [x].csv"}, nil, "[B/take [x].csv]", nil},
	} {
		_, got, ws, err := Find(c.patterns, c.exclude, dir)
		require.NoError(t, err, "%v without %v", c.patterns, c.exclude)
		assert.Equal(t, c.want, fmt.Sprint(got), "%v without %v", c.patterns, c.exclude)

		for _, w := range c.warn {
			assert.Contains(t, fmt.Sprint(ws), w)
		}
	}

	_, _, ws, err := Find([]string{"S1/angle*.txt"}, nil, dir)
	require.NoError(t, err)

	var got []string
	for _, w := range ws {
		got = append(got, w.Path+" "+w.Text)
	}

	// Sorted by name within the folder; the backup and the hidden file are not spoken of.
	want := []string{
		`S1/Angle2.txt is not matched by "S1/angle*.txt": other letter case? it is left out`,
		`S1/angle4.TXT is not matched by "S1/angle*.txt": other letter case? it is left out`,
	}

	assert.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))

	// A file that is matched in a folder above is not a misnamed one.
	_, up, ws, err := Find([]string{"../S4/forc*.txt"}, nil, filepath.Join(dir, "S2"))
	require.NoError(t, err)
	assert.Len(t, up, 1)
	assert.Empty(t, ws)

	// Absolute patterns give absolute results.
	_, abs, _, err := Find([]string{filepath.Join(dir, "S4/*.txt")}, nil, "elsewhere")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "S4/force.txt")}, abs)
}

// A pattern that matches nothing is an error that names the nearest files. A malformed pattern is an error too.
func TestFindRefused(t *testing.T) {
	dir := tree(t, "S1/angle0.txt", "S1/angle10.txt", "data/run1.wav", "notes.md")
	for _, c := range []struct {
		pattern string
		exclude []string
		want    []string
	}{
		{"S1/angel*.txt", nil, []string{"S1/angel*.txt: expected files that match, found none", `there is "S1/angle0.txt"`}},
		{"dta/*.wav", nil, []string{`no folder "dta"`, `"data"`}},
		{"S1", nil, []string{"found none"}},
		{"**/*.flac", nil, []string{"**/*.flac: expected files that match"}},
		{"[", nil, []string{"malformed"}},
		{"", nil, []string{"malformed"}},
		{"S1/*.txt", []string{"*.txt"}, []string{"none left: all 2 are excluded"}},
	} {
		_, got, _, err := Find([]string{c.pattern}, c.exclude, dir)
		ingesttest.WantDataError(t, got, err, c.want...)
	}
}

// A pattern with ** matches the paths that its definition matches: byDefinition tries every number of elements for **.
func TestGlobMatch(t *testing.T) {
	var byDefinition func(p, n []string) bool
	byDefinition = func(p, n []string) bool {
		if len(p) == 0 {
			return len(n) == 0
		}

		if p[0] == "**" {
			for k := 0; k <= len(n); k++ {
				if byDefinition(p[1:], n[k:]) {
					return true
				}
			}

			return false
		}

		return len(n) > 0 && matchElement(p[0], n[0]) && byDefinition(p[1:], n[1:])
	}

	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "b", "a*"}), 1, 5).Draw(rt, "p")

		n := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 1, 5).Draw(rt, "n")
		got := matchElements(p, n)
		want := byDefinition(p, n)
		require.Equal(rt, want, got, "%v ~ %v", p, n)
	})
}

// Patterns read conditions and labels from names. The expected values are the numbers in the names, as a person reads
// them.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          string // "" if the pattern does not match
	}{
		{"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "data/naca0012_a-3.5_u4.7.csv", "map[alpha_deg:-3.5 u_inf_m_s:4.7]"},
		{"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "naca0012_a+3_u1e1.csv", "map[alpha_deg:3 u_inf_m_s:10]"},
		{"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "naca0012_a3_ux.csv", ""},
		{"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "naca0012_a3_u1.csvx", ""},
		{"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "xnaca0012_a3_u1.csv", ""},
		{"Speed{setting}/angle{alpha_deg}.txt", "a/b/Speed2/angle30.txt", "map[alpha_deg:30 setting:2]"},
		{"Speed{setting}/angle{alpha_deg}.txt", "Speed1R/angle30.txt", ""},
		{"Speed{setting}/angle{alpha_deg}.txt", "angle30.txt", ""},
		{"Speed{setting}{_}/angle{alpha_deg}.txt", "Speed1R/angle30.txt", "map[alpha_deg:30 setting:1]"},
		{"{*}_{rpm}_{*}.wav", "ISAE_5000_x.wav", "map[rpm:5000]"},
		{"a.{x}", "ab3", ""}, // the dot is a dot
		{"{x}{y}", "12", "map[x:1 y:2]"},
		{"r{x}", "r.5", "map[x:0.5]"},
		{"r{x}.wav", "r5.wav", "map[x:5]"},
		{"r{x}", "r1e999", ""},
	} {
		p, err := ParsePattern(c.pattern)
		require.NoError(t, err)

		m, _, ok := matched(p, c.path)

		got := ""
		if ok {
			got = fmt.Sprint(m)
		}

		assert.Equal(t, c.want, got, "%s ~ %s", c.pattern, c.path)
	}

	for pattern, want := range map[string]string{
		"": "names no condition", "abc": "names no condition", "a{": "never closes", "a}": "never opened", "{}": "no name",
		"{a}{a}": "twice", "{a}_{a:text}": "twice",
		"{a:texts}": "letters", "{:text}": "no name", "{a b}": "letters", "{9}": "letters", "{_}": "names no condition",
	} {
		_, err := ParsePattern(pattern)
		assert.ErrorContains(t, err, want, "%q", pattern)
	}

	// Text within an element, as short as the rest of the pattern allows.
	for _, c := range [][3]string{
		{"{motor:text}{propeller}_{volts}.csv", "data/a7_11.csv", "map[motor:a] map[propeller:7 volts:11]"},
		{"{day:text}/{rig:text}-{n}.wav", "x/4 May/west-rig-3.wav", "map[day:4 May rig:west-rig] map[n:3]"},
		{"{rig:text}.wav", ".wav", "map[] map[]"}, // no name
		{"{rig:text}{n}", "a/5", "map[] map[]"},
	} {
		p, err := ParsePattern(c[0])
		require.NoError(t, err)

		m, names, _ := matched(p, c[1])
		assert.Equal(t, c[2], fmt.Sprint(names, m), "%s ~ %s", c[0], c[1])
	}

	p, _ := ParsePattern("a{z}/{_}b{a}")
	assert.Equal(t, "[z a]", fmt.Sprint(p.Names()))
	assert.Equal(t, "a{z}/{_}b{a}", p.String())
}

// matched returns the numbers and the names that a path states, and whether it follows the pattern.
func matched(p *Pattern, path string) (numbers map[string]float64, names map[string]string, ok bool) {
	named, err := p.Match(path)
	v, _ := condition.Merge(path, nil, named...)

	return v.Numbers, v.Names, err == nil
}

// Any two numbers that are written into a name are read from it.
func TestPatternRoundTrip(t *testing.T) {
	p, err := ParsePattern("{_}/run_a{alpha}_u{u}.csv")
	require.NoError(t, err)

	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.Float64().Draw(rt, "a")
		u := rapid.Float64().Draw(rt, "u")
		m, _, ok := matched(p, fmt.Sprintf("x/y/run_a%v_u%v.csv", a, u))
		require.True(rt, ok)
		require.InDelta(rt, a, m["alpha"], 0)
		require.InDelta(rt, u, m["u"], 0)
	})
}

// A pattern that parses gives every condition and every label that it names, or does not match, for any name.
func FuzzPattern(f *testing.F) {
	f.Add("naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "data/naca0012_a-3.5_u4.7.csv")
	f.Add("Speed{setting}/{_}{*}", "Speed2/angle30.txt")
	f.Add("{x}{y}{_}{z}", "111111111111111111")
	f.Add("{motor:text}{propeller}_{_}.csv", "data/a7_11.csv")
	f.Fuzz(func(t *testing.T, pattern, file string) {
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}

		m, labels, ok := matched(p, file)
		if ok {
			require.Len(t, m, len(p.Names()))
			require.Len(t, labels, len(p.LabelNames()))
		}

		for n, l := range labels {
			require.NotEmpty(t, l, "label %s", n)
			require.NotContains(t, l, "/", "label %s", n)
		}

		for n, v := range m {
			require.True(t, ingest.Finite(v), "%s = %v", n, v)
		}
	})
}

// A link that leads nowhere and a FIFO are found, because they are files that cannot be read, not files that do not
// exist.
func TestFindUnreadable(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "a1.wav"), "x")

	require.NoError(t, os.Symlink("nowhere.wav", filepath.Join(dir, "a2.wav")))

	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "a3.wav"), 0o644))

	require.NoError(t, os.Mkdir(filepath.Join(dir, "a4.wav"), 0o755))

	for pattern, want := range map[string]int{"a*.wav": 3, "**/a*.wav": 3, "a2.wav": 1} {
		_, files, _, err := Find([]string{pattern}, nil, dir)
		require.NoError(t, err, "%s", pattern)
		assert.Len(t, files, want, "%s", pattern)
	}
}

// A folder that cannot be listed is an error, not an empty folder.
func TestFindUnlistable(t *testing.T) {
	defer func() { listDir = os.ReadDir }()
	listDir = func(d string) ([]os.DirEntry, error) {
		if filepath.Base(d) == "closed" {
			return nil, &fs.PathError{Op: "open", Path: d, Err: fs.ErrPermission}
		}
		return os.ReadDir(d)
	}

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0o755))

	for _, p := range []string{"closed/*.wav", "*/x.wav", "*/*.wav", "**/*.wav"} {
		_, files, _, err := Find([]string{p}, nil, dir)
		ingesttest.WantDataError(t, files, err, "closed", "a folder that can be listed", "permission denied")
	}
}

// A quoted cell may continue in the next lines, as spreadsheets write it. A quote that never closes belongs to its
// text.
func TestConditionsQuotedNewline(t *testing.T) {
	c, err := ParseConditions("x", []byte("file,alpha_deg,note\na.wav,1,\"two\nlines, \"\"quoted\"\"\"\r\n"+
		"b.wav,2,plain\nc.wav,3,\"never closes\nd.wav,4,5\" pipe\n"), LogOptions{})
	require.NoError(t, err)
	require.Len(t, c.Rows, 4)

	want := []string{"two\nlines, \"quoted\"", "plain", "\"never closes", "5\" pipe"}

	lines := []int{2, 4, 5, 6}
	for i, r := range c.Rows {
		require.Equal(t, float64(i+1), r.States[0].Value, "row %d: %+v", i, r)
		require.Equal(t, want[i], r.States[1].Name, "row %d: %+v", i, r)
		assert.Equal(t, lines[i], r.Line, "row %d: %+v", i, r)
	}
}

// A number behind a sign of repeats counts the repeats of a condition. The expected runs are what a person reads in the
// names.
func TestCountRepeats(t *testing.T) {
	for _, c := range []struct{ pattern, file, run string }{
		{"a{alpha}_r{run}.csv", "a4_r2.csv", "alpha=4/2"},
		{"a{alpha}r{run}.csv", "a4r2.csv", "alpha=4/2"},
		{"a{alpha}_R{run}.csv", "a4_R2.csv", "alpha=4/2"},
		{"a{alpha}_rep{run}.csv", "a4_rep2.csv", "alpha=4/2"},
		{"a{alpha}_rep-{run}.csv", "a4_rep-2.csv", "alpha=4/2"},
		{"a{alpha}_repeat{run}.csv", "a4_repeat2.csv", "alpha=4/2"},
		{"a{alpha}_repeat_{run}.csv", "a4_repeat_2.csv", "alpha=4/2"},
		{"a{alpha}_repetition{run}.csv", "a4_repetition2.csv", "alpha=4/2"},
		{"a{alpha}_rpt{run}.csv", "a4_rpt2.csv", "alpha=4/2"},
		{"a{alpha}_Wdh{run}.csv", "a4_Wdh2.csv", "alpha=4/2"},
		{"a{alpha}_wdh_{run}.csv", "a4_wdh_2.csv", "alpha=4/2"},
		{"a{alpha}_u{speed}_r{run}.csv", "a4_u20_r2.csv", "alpha=4,speed=20/2"},
		{"r{run}_a{alpha}.csv", "r2_a4.csv", "alpha=4/2"},
		{"r{run}/a{alpha}.csv", "r2/a4.csv", "alpha=4/2"},
		{"a{alpha}_r{run}_{mic:text}.wav", "a4_r2_left.wav", "alpha=4/2"},
		{"a{alpha}_r{run}{_}.csv", "a4_r2x.csv", "alpha=4/2"},
		{"a{alpha}_run{run}.csv", "a4_run2.csv", ""},
		{"run{run}_a{alpha}.csv", "run2_a4.csv", ""},
		{"a{alpha}_{run}.csv", "a4_2.csv", ""},
		{"a{alpha}_Lauf{run}.csv", "a4_Lauf2.csv", ""},
		{"r{run}.csv", "r2.csv", ""},
		{"a{alpha}_star{run}.csv", "a4_star2.csv", ""},
		{"a{alpha}_r{run:text}.csv", "a4_r2.csv", ""},
	} {
		p, err := ParsePattern(c.pattern)
		require.NoError(t, err, "%s", c.pattern)
		assert.Equal(t, c.run != "", p.CountRepeats("run"), "%s", c.pattern)

		conditions, err := p.Match(c.file)
		require.NoError(t, err, "%s", c.pattern)
		k := slices.IndexFunc(conditions, func(cond condition.Condition) bool { return cond.Column == "run" })
		if c.run != "" {
			assert.Equal(t, c.run, conditions[k].Name, "%s", c.pattern)
		}
	}
}
