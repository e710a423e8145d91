package scaffold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/campaign"
)

// writeAll writes files, by their paths below a folder.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()

	for name, text := range files {
		write(t, dir, name, text)
	}
}

// newPlan returns a plan of a folder that nothing has looked at.
func newPlan(dir string) *plan { return &plan{dir: dir, result: &Result{}} }

// A folder called runs may have recordings. Only a folder with the cache of results is a work directory, whatever its
// name. Folders that are not searched are noted. Expected lists by hand.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{
		"a.wav": "", "runs/run_01.wav": "", "campaign/runs/run_02.wav": "", ".hidden": "", ".git/b.wav": "",
		"results/.cache/objects/x": "", "results/rotor/triplets.arrow": "", "copy/report.html": "", "copy/report.md": "",
		"copy/rotor/triplets.arrow": "", "t.csv": "", "t.csv-metadata.json": "",
		"1/2/3/4/deep.wav": "", "1/2/3/4/5/deeper.wav": "",
	})

	p := newPlan(dir)
	files, err := p.walk()
	require.NoError(t, err)
	assert.Equal(t, []string{"1/2/3/4/deep.wav", "a.wav", "campaign/runs/run_02.wav", "runs/run_01.wav"}, files)
	assert.Equal(t, []string{
		"copy not searched: it has the results of earlier runs",
		"results not searched: it has the results of earlier runs",
		"not searched, because they are more than 4 folders deep: 1/2/3/4/5",
	}, p.result.Notes)
}

// The numbers of files of other kinds are noted, also of formats that are not read. Expected notes by hand.
func TestKeepOneKind(t *testing.T) {
	p := newPlan("")
	kept := p.keepOneKind([]string{"a.wav", "b.WAV", "c.csv", "d.aiff", "e.aif", "f.xls", "g.pdf", "README.txt"})
	assert.Equal(t, []string{"a.wav", "b.WAV"}, kept)

	require.Len(t, p.result.Notes, 3)
	assert.Equal(t, "1 text file is not used: an experiment reads one kind of file", p.result.Notes[0])
	assert.True(t, strings.HasPrefix(p.result.Notes[1], "2 AIFF files are not read: convert"), p.result.Notes[1])
	assert.Equal(t, "1 Excel (.xls) file is not read: save it as CSV", p.result.Notes[2])
}

// Each pattern matches the files that it was made of, also if names of folders have letters with a meaning in patterns.
// Expected patterns by hand.
func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		files, want []string
	}{
		{[]string{"run_1.wav", "run_2.wav"}, []string{"*.wav"}},
		{[]string{"Speed10/a.txt", "Speed20R/b.txt", "Speed30/c.txt"}, []string{"Speed*/*.txt"}},
		{[]string{"Rig [A]/x.wav", "Rig [B]/y.wav"}, []string{"Rig [[]A]/*.wav", "Rig [[]B]/*.wav"}},
		{[]string{"Rig [12]/x.wav"}, []string{"Rig [[]*]/*.wav"}},
		{[]string{"what?/x.wav", "all*/y.wav"}, []string{"what[?]/*.wav", "all[*]/*.wav"}},
	} {
		got := globs(c.files)
		assert.Equal(t, c.want, got)

		dir := t.TempDir()
		for _, file := range c.files {
			write(t, dir, file, "")
		}

		_, found, _, err := campaign.Find(got, nil, dir)
		require.NoError(t, err)
		assert.ElementsMatch(t, c.files, found)
	}
}

// Files are copies only if all their bytes are equal. Triggered recordings may begin and end with the same silence.
func TestEqualFiles(t *testing.T) {
	silence := strings.Repeat("\x00", endsBytes)
	dir := t.TempDir()
	files := map[string]string{
		"a": silence + "first" + silence, "b": silence + "other" + silence, "c": silence + "first" + silence,
		"d": "short", "e": "short", "f": "long", "g": silence, "h": silence + "\x00", "i": silence,
	}
	writeAll(t, dir, files)

	groups := newPlan(dir).equalFiles([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "missing", "gone"})
	assert.Equal(t, [][]string{{"a", "c"}, {"d", "e"}, {"g", "i"}}, groups)
}
