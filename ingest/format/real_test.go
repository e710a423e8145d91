package format

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/stats"
	"doubletake/internal/must"
)

// realData returns a folder of measured data, which is not part of the
// repository, or skips the test by name.
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

// TestRealPrinceton: expected values are from the data's NOTE.md (44 well
// named files, one misnamed, a stuck column, 4 Hz) or were counted with wc.
func TestRealPrinceton(t *testing.T) {
	dir := realData(t, "princeton-mae224-lift-drag")
	_, files, ws, err := campaign.Find([]string{"Speed*/angle*.txt"}, nil, dir)
	must.Do(t, err)

	must.Not(t, len(files) != 44 || files[0] != "Speed1/angle0.txt", "%d files: %v", len(files), files)

	if len(ws) != 1 || ws[0].Code != "misnamed-file" ||
		ws[0].Text != `is not matched by "Speed*/angle*.txt": a dot missing? it is left out` {
		t.Error(ws)
	}

	pat := must.Get(campaign.ParsePattern("Speed{setting}/angle{alpha_deg}.txt"))(t)

	infos := func(p string) (ingest.Info, error) {
		r, err := Open(filepath.Join(dir, p), ingest.Options{})
		if err != nil {
			return ingest.Info{}, err
		}
		defer r.Close()

		return r.Info(), nil
	}

	together := campaign.Grouping{Channels: []string{"lift", "drag"}, Together: true}

	// Speed1R is no number: an error, so the user leaves it out.
	runs, err := assemble(files, infos, nil, pat, together)
	ingesttest.WantDataError(t, runs, err, "Speed1R/angle0.txt", "Speed{setting}/angle{alpha_deg}.txt")

	// Nor is there an angle in Speed4/force.txt.
	_, all, _, err := campaign.Find([]string{"Speed*/*.txt"}, []string{"Speed1R/*"}, dir)
	must.Do(t, err)

	runs, err = assemble(all, infos, nil, pat, together)
	ingesttest.WantDataError(t, runs, err, "Speed4/force.txt", "exclude")

	_, files, _, err = campaign.Find([]string{"Speed*/angle*.txt"}, []string{"Speed1R/*"}, dir)
	must.Do(t, err)

	runs, err = assemble(files, infos, nil, pat, together)
	must.Never(t, err != nil || len(runs) != 30, "%d runs, %v", len(runs), err)

	r := runs[0]
	if r.ID != "Speed1/angle0.txt" || r.Recordings[0].Conditions["alpha_deg"] != 0 ||
		r.Recordings[0].Conditions["setting"] != 1 {
		t.Errorf("%+v", r)
	}

	f := must.Get(Open(filepath.Join(dir, r.Path), ingest.Options{}))(t)
	defer f.Close()

	i := f.Info()
	if ch := i.Channels[3]; ch.Name != "Time" || ch.Unit != "s" || !ch.IsTime() || math.Abs(ch.RateHz-4) > 1e-12 ||
		ch.Samples != 98 {
		t.Errorf("%+v", ch)
	}

	must.Equal(t, i.Channels[0].Unit, "", "the unit of force is not stated")

	s, ws, err := stats.Scan(context.Background(), f, r)
	must.Never(t, err != nil || len(s) != 2 || s[0].Samples != 98, "%v, %v", s, err)

	if len(ws) != 1 || ws[0].Text != "column Velocity is stuck at 48.006121 in all 98 rows: not used as a condition" {
		t.Error(ws)
	}
}

// TestRealCrazyflie: by NOTE.md 5.000 s at 44.1 kHz, float32, and (240000, 4).
func TestRealCrazyflie(t *testing.T) {
	dir := realData(t, "lcav-crazyflie-propeller")
	_, files, _, err := campaign.Find([]string{"propellers/*.wav"}, nil, dir)
	must.Never(t, err != nil || len(files) != 7, "%v, %v", files, err)

	for _, f := range files {
		r := must.Get(Open(filepath.Join(dir, f), ingest.Options{}))(t)

		i := r.Info()
		if ch := i.Channels[0]; len(i.Channels) != 1 || ch.Samples != 220500 || ch.RateHz != 44100 ||
			ch.Unit != "full-scale" || i.Encoding != "IEEE float 32-bit" {
			t.Errorf("%+v", i)
		}

		if s, _, err := stats.Scan(context.Background(), r, ingest.Run{Row1: -1}); err != nil || s[0].RMS <= 0 ||
			s[0].Max > 1 {
			t.Error(s, err)
		}

		r.Close()
	}

	r := must.Get(Open(filepath.Join(dir, "propellers_only_4mics/m1.npy"), ingest.Options{RateHz: 48000}))(t)
	defer r.Close()

	if i := r.Info(); len(i.Channels) != 4 || i.Channels[3].Samples != 240000 || i.Channels[3].RateHz != 48000 ||
		i.Encoding != "float32 little-endian" {
		t.Errorf("%+v", i)
	}
}

// TestRealCyclone: 13 columns without header, about 100 Hz with jitter and pauses
// between the segments, 93 intervals in the conditions table (NOTE.md, wc).
func TestRealCyclone(t *testing.T) {
	dir := realData(t, "cyclone-ojf-force-balance")
	c := must.Get(campaign.ReadLog(filepath.Join(dir, "conditions.csv"), campaign.LogOptions{}))(t)

	if strings.Join(c.Names, " ") != "U_from_sensor_mps arm_angle_deg servo1_us servo2_us motor_us" || len(c.Rows) != 93 {
		t.Fatal(c.Names, len(c.Rows))
	}

	o := ingest.Options{Text: ingest.TextOptions{Columns: []string{
		"time (s)", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
		"s1", "s2", "m1", "m2", "arm (rad)",
	}}}

	open := func(p string) ingest.Reader {
		r := must.Get(Open(filepath.Join(dir, p), o))(t)

		return r
	}

	_, files, _, err := campaign.Find([]string{"17_11_17__*.txt"}, nil, dir)
	must.Never(t, err != nil || len(files) != 5, "%v, %v", files, err)

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
	must.Never(t, err != nil || len(runs) != 93, "%v, %v", len(runs), err)

	for _, run := range runs[:3] {
		r := open(run.Path)
		s, ws, err := stats.Scan(context.Background(), r, run)
		r.Close()
		if err != nil || len(s) != 6 || s[0].Samples != run.Row1-run.Row0 || len(run.Recordings[0].Conditions) != 5 {
			t.Fatal(s, err)
		}

		must.Contain(t, ingesttest.Codes(ws), "jittered-clock")
		must.Equal(t, ingesttest.Codes(r.Info().Warnings), "clock-gaps", "%s", run.Path)

		if rate := r.Info().Channels[0].RateHz; rate < 95 || rate > 105 {
			t.Errorf("%g Hz", rate)
		}
	}
}
