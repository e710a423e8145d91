package stages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Recordings that are left out by what names, tables and the configuration state of them, with a tolerance; a file
// of which some rows are left out; reasons of files.
func TestExcludeRecordings(t *testing.T) {
	x := npyFile(count(100, 1), count(100, 2))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "c.npy": x, "d [1].npy": x,
		"c.csv": "file,channel,propeller,rpm,comment\na,1,APC,3000,\na,2,APC,3000,loose\nb,1,HQ,4002,\nc,1,HQ,5000,\n" +
			"d [1].npy,1,HQ,6000,\n",
	}

	for _, c := range []struct{ exclude, rows, warning string }{
		{
			`{propeller: APC, rpm: 3000}`, "1 1 1",
			"a.npy (line 2) left out by exclude: propeller = APC and rpm = 3000, also a.npy (line 3)",
		},
		{
			`[{comment: loose, reason: a blade was loose}]`, "1 1 1 1",
			"a.npy (line 3) left out by exclude: comment = loose (a blade was loose)",
		},
		{
			`[{rpm: 4000}, {rpm: {min: 5500}}]`, "2 1",
			"b.npy left out by exclude: rpm = 4000; d [1].npy left out by exclude: rpm ≥ 5500",
		},
		{`[{propeller: HQ, rpm: [4000, 5000]}, "d [1].npy"]`, "2", "d [1].npy left out by exclude; " +
			"b.npy left out by exclude: propeller = HQ and rpm = 4000, 5000, also c.npy"},
		{`[{file: c.npy, reason: wind}, "?.npx"]`, "2 1 1", "c.npy left out by exclude (c.npy: wind)"},
		{
			`[{file: c.npy, reason: wind}, {file: "?.npx", reason: gone}]`, "2 1 1",
			"c.npy left out by exclude (c.npy: wind)",
		},
		// Both exclusions apply to b and c: neither excludes nothing.
		{`[{rpm: [4000, 5000], reason: wind}, {propeller: HQ, rpm: {max: 5500}}]`, "2 1", "b.npy left out by exclude: " +
			"rpm = 4000, 5000 (wind), also c.npy; b.npy left out by exclude: propeller = HQ and rpm ≤ 5500, also c.npy"},
		{`{rpm: 7000}`, "2 1 1 1", `the exclusion "rpm = 7000" excludes nothing`},
	} {
		b := planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, within: {rpm: 0.1 %}, exclude: `+
			c.exclude+"}", "{triplets: split-half-spectrum}")
		var rows, warnings []string
		for _, f := range b.Recordings.Files {
			rows = append(rows, string(rune('0'+len(f.Rows.Rows))))
		}

		for _, w := range b.Warnings {
			if w.Code == "excluded" {
				warnings = append(warnings, w.Path+" "+w.Text)
			} else if strings.HasPrefix(w.Text, `the exclusion "rpm`) {
				warnings = append(warnings, w.Text)
			}
		}

		known := strings.Count(c.rows, "1") + 2*strings.Count(c.rows, "2")
		assert.Equal(t, c.rows, strings.Join(rows, " "), "%s: rows of the files", c.exclude)
		assert.Equal(t, c.warning, strings.Join(warnings, "; "), "%s: warnings", c.exclude)
		assert.Len(t, b.Known, known, "%s: rows in all", c.exclude)
	}

	const rest = `{files: "*.npy", conditions: c.csv, rate_hz: 1000, exclude: `
	for exclude, want := range map[string]string{
		"{prop: APC}": `ingest.exclude: "prop" is no condition that is known before the files are opened, which are [rpm ` +
			`comment propeller]`,
		"{propeller: 3}":  "propeller is a column of text: expected names, found numbers; write a name of digits in quotes",
		"{rpm: {min: 1}}": "ingest.exclude: all 4 files are excluded",
	} {
		refused(t, files, rest+exclude+"}", "{triplets: split-half-spectrum}", want)
	}

	b := planFiles(t, files, rest+"{propeller: APC}}",
		section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: {each: propeller}}"))
	texts, err := b.Names("propeller")
	require.NoError(t, err)
	assert.Equal(t, []string{"HQ"}, texts, "names")
}

// Rows of a table of results, with a tolerance of the set point; and codes of a log and a table that mean no value.
func TestExcludeRows(t *testing.T) {
	x := npyFile(count(100, 1))
	files := map[string]string{
		"t.csv": "propeller,rpm,y_1,y_2\nAPC,3001,1,2\nAPC,4000,-9999,2\nHQ,2999,3,4\nHQ,4000,5,6\n",
		"a.npy": x, "b.npy": x, "c.csv": "file,rpm,p_pa\na,3000,-9999.0\nb,4000,101300\n",
	}

	b := planFiles(t, files, "{table: {file: t.csv, inputs: [rpm]}, within: {rpm: 0.1 %}, missing: [-9999], exclude: "+
		"{propeller: HQ, rpm: 3000, reason: loose}}", "{}")
	p, err := b.Pairs.Read()
	require.NoError(t, err)

	const want = "1 row left out by exclude: propeller = HQ and rpm = 3000 (loose): line 4"
	require.Equal(t, []float64{3001, 4000}, p.X[0], "%v, %v", p.X, p.Warnings)
	require.Len(t, p.Warnings, 2, "%v, %v", p.X, p.Warnings)
	assert.Equal(t, want, p.Warnings[0].Text, "%v, %v", p.X, p.Warnings)

	exclude, ok := value(b.Pairs.Settings, "ingest.exclude")
	require.True(t, ok, "the settings must have ingest.exclude")
	assert.Equal(t, "[propeller = HQ and rpm = 3000 (loose)]", exclude)

	// A code that stands for no value is a number unless the configuration lists it.
	for missing, want := range map[string][]string{"[]": {"p_pa", "rpm"}, "[-9999]": {"rpm"}} {
		b = planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, missing: `+missing+`}`,
			"{triplets: split-half-spectrum}")
		require.Len(t, b.Known, 2, "%v", b.Known)
		assert.Equal(t, want, slices.Sorted(maps.Keys(b.Known[0].Numbers)), "missing: %s", missing)
	}
}
