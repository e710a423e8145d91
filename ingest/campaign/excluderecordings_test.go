package campaign_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Recordings that are left out by what names, tables and the configuration state of them, with a tolerance; a file
// of which some rows are left out; reasons of files.
func TestExcludeRecordings(t *testing.T) {
	x := samples(100, 1, 2)
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
		inventory := settled(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, within: {rpm: 0.1 %}, exclude: `+
			c.exclude+"}", "split-half-spectrum")
		var rows, warnings []string
		known := 0 // rows
		for _, f := range inventory.Files {
			known += len(f.Known)
			rows = append(rows, string(rune('0'+len(f.Rows.Rows))))
		}

		for _, w := range inventory.Warnings {
			if w.Code == "excluded" {
				warnings = append(warnings, w.Path+" "+w.Text)
			} else if strings.HasPrefix(w.Text, `the exclusion "rpm`) {
				warnings = append(warnings, w.Text)
			}
		}

		wantKnown := strings.Count(c.rows, "1") + 2*strings.Count(c.rows, "2")
		assert.Equal(t, c.rows, strings.Join(rows, " "), "%s: rows of the files", c.exclude)
		assert.Equal(t, c.warning, strings.Join(warnings, "; "), "%s: warnings", c.exclude)
		assert.Equal(t, wantKnown, known, "%s: rows in all", c.exclude)
	}

	const rest = `{files: "*.npy", conditions: c.csv, rate_hz: 1000, exclude: `
	for exclude, want := range map[string]string{
		"{prop: APC}": `exclude: "prop" is no condition that is known before the files are opened, which are [rpm ` +
			`comment propeller]`,
		"{propeller: 3}":  "propeller is a column of text: expected names, found numbers; write a name of digits in quotes",
		"{rpm: {min: 1}}": "exclude: all 4 files are excluded",
	} {
		refused(t, files, rest+exclude+"}", "split-half-spectrum", want)
	}
}
