package ingest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindChannel(t *testing.T) {
	info := ingest.Info{Path: "x", Channels: []ingest.Channel{
		{Name: "Fx"},
		{Name: "FX"},
		{Name: "Time", Attributes: []ingest.Attribute{{"header", "Time (s)"}}},
		{Name: "2"},
		{Name: "D"},
		{Name: "D"},
	}}

	for name, want := range map[string]int{"Fx": 0, "FX": 1, "time": 2, "Time (s)": 2, "2": 3, "3": 2, "6": 5} {
		got, err := ingest.FindChannel(info, name)
		require.NoError(t, err, "%s", name)
		assert.Equal(t, want, got, "channel called %s", name)
	}

	for name, want := range map[string]string{
		"fx": `channels 1 and 2 both match "fx"`, "d": `channels 5 and 6 both match "d"`, "Fzz": "only",
		"7": "only", "0": "only", "Tiem": `is "Time" meant`,
	} {
		got, err := ingest.FindChannel(info, name)
		ingesttest.WantDataError(t, got, err, want)
	}
}

// The error for a missing file names similar files; that for a broken link names its target.
func TestPathError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, errors.Join(os.WriteFile(filepath.Join(dir, "run1.wav"), nil, 0o644),
		os.Symlink("/none/run1.wav", filepath.Join(dir, "run2.wav"))))

	for name, want := range map[string]string{
		"run3.wav": `there is "run1.wav"`, "run2.wav": "it is a link to /none/run1.wav, which is not there",
	} {
		_, err := ingest.OpenSource(filepath.Join(dir, name), "")
		assert.ErrorIs(t, err, fs.ErrNotExist, "%s: %v", name, err)

		ingesttest.WantDataError(t, nil, err, want)
	}
}

// Columns without names are called by their numbers. If a file has too few of them, correcting a header does not help.
func TestNumberedColumns(t *testing.T) {
	numbered := ingest.Info{Path: "x", Format: "text", Channels: []ingest.Channel{{Name: "1"}, {Name: "2"}}}
	assert.True(t, numbered.HasNumberedColumns())

	got, err := ingest.FindChannel(numbered, "3")
	ingesttest.WantDataError(t, got, err, "found 2 columns without names (columns without names are numbered")

	for _, info := range []ingest.Info{
		{Format: "text"},
		{Format: "text", Channels: []ingest.Channel{{Name: "1"}, {Name: "Fx"}}},
		{Format: "mat", Channels: numbered.Channels},
	} {
		assert.False(t, info.HasNumberedColumns())
	}
}
