package format_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/stats"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realData returns a folder of measured data, or skips the test if there is none: the data are not part of the
// repository.
func realData(t testing.TB, name string) string {
	t.Helper()

	root := os.Getenv("DOUBLETAKE_REAL")
	if root == "" {
		root = "../../../shared/real"
	}

	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("measured data %s are not here", name)
	}

	return dir
}

// TestRealPrinceton compares with NOTE.md of the data (44 files with right names, one with a wrong name, a stuck
// column, 4 Hz) and with counts by wc.
func TestRealPrinceton(t *testing.T) {
	dir := realData(t, "princeton-mae224-lift-drag")
	_, files, ws, err := campaign.Find([]string{"Speed*/angle*.txt"}, nil, dir)
	require.NoError(t, err)

	require.Len(t, files, 44, "files with right names")
	assert.Equal(t, "Speed1/angle0.txt", files[0])

	require.Len(t, ws, 1, "warnings")
	assert.Equal(t, "misnamed-file", ws[0].Code)
	assert.Equal(t, `is not matched by "Speed*/angle*.txt": a dot missing? it is left out`, ws[0].Text)

	pat, err := campaign.ParsePattern("Speed{setting}/angle{alpha_deg}.txt")
	require.NoError(t, err)

	infos := func(p string) (ingest.Info, error) {
		r, err := format.Open(filepath.Join(dir, p), ingest.Options{})
		if err != nil {
			return ingest.Info{}, err
		}
		defer r.Close()

		return r.Info(), nil
	}

	together := campaign.Grouping{Channels: []string{"lift", "drag"}, Together: true}

	// The name Speed1R is not a number: an error that tells the user to leave the folder out.
	runs, err := assemble(files, infos, nil, pat, together)
	ingesttest.WantDataError(t, runs, err, "Speed1R/angle0.txt", "Speed{setting}/angle{alpha_deg}.txt")

	// The name Speed4/force.txt has no angle.
	_, all, _, err := campaign.Find([]string{"Speed*/*.txt"}, []string{"Speed1R/*"}, dir)
	require.NoError(t, err)

	runs, err = assemble(all, infos, nil, pat, together)
	ingesttest.WantDataError(t, runs, err, "Speed4/force.txt", "exclude")

	_, files, _, err = campaign.Find([]string{"Speed*/angle*.txt"}, []string{"Speed1R/*"}, dir)
	require.NoError(t, err)

	runs, err = assemble(files, infos, nil, pat, together)
	require.NoError(t, err)
	require.Len(t, runs, 30, "%d runs, %v", len(runs), err)

	r := runs[0]
	assert.Equal(t, "Speed1/angle0.txt", r.ID)
	assert.Equal(t, 0.0, r.Recordings[0].Conditions["alpha_deg"])
	assert.Equal(t, 1.0, r.Recordings[0].Conditions["setting"])

	f, err := format.Open(filepath.Join(dir, r.Path), ingest.Options{})
	require.NoError(t, err)
	defer f.Close()

	i := f.Info()
	assert.Equal(t, "Time", i.Channels[3].Name)
	assert.Equal(t, "s", i.Channels[3].Unit)
	assert.True(t, i.Channels[3].IsTime())
	assert.InDelta(t, 4, i.Channels[3].RateHz, 1e-12)
	assert.EqualValues(t, 98, i.Channels[3].Samples)

	assert.Empty(t, i.Channels[0].Unit, "the unit of force is not stated")

	s, ws, err := stats.Scan(context.Background(), f, r)
	require.NoError(t, err)
	require.Len(t, s, 2, "recordings")
	require.Equal(t, int64(98), s[0].Samples, "samples")

	require.Len(t, ws, 1, "warnings")
	assert.Equal(t, "column Velocity is stuck at 48.006121 in all 98 rows: not used as a condition", ws[0].Text)
}

// TestRealCrazyflie compares with NOTE.md of the data: 5.000 s at 44.1 kHz in float32, and the shape (240000, 4).
func TestRealCrazyflie(t *testing.T) {
	dir := realData(t, "lcav-crazyflie-propeller")
	_, files, _, err := campaign.Find([]string{"propellers/*.wav"}, nil, dir)
	require.NoError(t, err)
	require.Len(t, files, 7, "%v, %v", files, err)

	for _, f := range files {
		r, err := format.Open(filepath.Join(dir, f), ingest.Options{})
		require.NoError(t, err)

		i := r.Info()
		assert.Equal(t, "IEEE float 32-bit", i.Encoding, "%s", f)
		require.Len(t, i.Channels, 1, "%s: channels", f)
		assert.EqualValues(t, 220500, i.Channels[0].Samples, "%s: samples", f)
		assert.Equal(t, 44100.0, i.Channels[0].RateHz, "%s: rate", f)
		assert.Equal(t, "full-scale", i.Channels[0].Unit, "%s: unit", f)

		s, _, err := stats.Scan(context.Background(), r, ingest.Run{Row1: -1})
		require.NoError(t, err, "%s", f)
		assert.Positive(t, s[0].RMS, "%s: root mean square", f)
		assert.LessOrEqual(t, s[0].Max, 1.0, "%s: greatest sample, of full scale", f)

		r.Close()
	}

	r, err := format.Open(filepath.Join(dir, "propellers_only_4mics/m1.npy"), ingest.Options{RateHz: 48000})
	require.NoError(t, err)
	defer r.Close()

	assert.Equal(t, "float32 little-endian", r.Info().Encoding)
	require.Len(t, r.Info().Channels, 4)
	assert.EqualValues(t, 240000, r.Info().Channels[3].Samples)
	assert.Equal(t, 48000.0, r.Info().Channels[3].RateHz)
}

// TestRealCyclone compares with NOTE.md of the data and counts by wc: 13 columns without a header, about 100 Hz with
// jitter and pauses between the segments, and 93 intervals in the table of conditions.
func TestRealCyclone(t *testing.T) {
	dir := realData(t, "cyclone-ojf-force-balance")
	c, err := campaign.ReadLog(filepath.Join(dir, "conditions.csv"), campaign.LogOptions{})
	require.NoError(t, err)

	require.Equal(t, "U_from_sensor_mps arm_angle_deg servo1_us servo2_us motor_us", strings.Join(c.Names, " "))
	require.Len(t, c.Rows, 93)

	o := ingest.Options{Text: ingest.TextOptions{Columns: []string{
		"time (s)", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
		"s1", "s2", "m1", "m2", "arm (rad)",
	}}}

	open := func(p string) ingest.Reader {
		r, err := format.Open(filepath.Join(dir, p), o)
		require.NoError(t, err)

		return r
	}

	_, files, _, err := campaign.Find([]string{"17_11_17__*.txt"}, nil, dir)
	require.NoError(t, err)
	require.Len(t, files, 5, "%v, %v", files, err)

	infos := func(p string) (ingest.Info, error) {
		r := open(p)
		defer r.Close()
		return r.Info(), nil
	}

	group := campaign.Grouping{Channels: []string{"v1", "v2", "v3", "v4", "v5", "v6"}, Together: true}

	// The gravity polar and the bad run have no rows: they are to be left out.
	have := map[string]bool{}
	for _, r := range c.Rows {
		have[r.File] = true
	}

	if len(have) < len(files) {
		runs, err := assemble(files, infos, c, nil, group)
		ingesttest.WantDataError(t, runs, err, "a row of", "for this file, found none")
	}

	var kept []string
	for _, f := range files {
		if have[f] {
			kept = append(kept, f)
		}
	}

	runs, err := assemble(kept, infos, c, nil, group)
	require.NoError(t, err)
	require.Len(t, runs, 93, "%v, %v", len(runs), err)

	for _, run := range runs[:3] {
		r := open(run.Path)
		s, ws, err := stats.Scan(context.Background(), r, run)
		r.Close()
		require.NoError(t, err, "%s", run.ID)
		require.Len(t, s, 6, "%s: recordings", run.ID)
		require.Equal(t, run.Row1-run.Row0, s[0].Samples, "%s: samples", run.ID)
		require.Len(t, run.Recordings[0].Conditions, 5, "%s: conditions", run.ID)

		assert.Contains(t, ingesttest.Codes(ws), "jittered-clock")
		assert.Equal(t, "clock-gaps", ingesttest.Codes(r.Info().Warnings), "%s", run.Path)

		assert.InDelta(t, 100, r.Info().Channels[0].RateHz, 5, "%s: rate", run.Path)
	}
}
