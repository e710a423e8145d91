package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/pipeline"
)

// The layouts of METHOD §7, each by its example's configuration. Files that only
// their own libraries write are those of ingest/testdata/arrays (h5py); the
// others are made here.

func layoutData(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join("..", "ingest", "testdata", "arrays", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ISAE-SUPAERO's spectra: 60 frequencies, 13 polar and 2 azimuthal angles.
// Inspect shows them, the pipeline refuses them by name.
func TestLayoutISAE(t *testing.T) {
	dir := example(t, "isae-spectra", layoutData(t, "ISAE_2_square20_L0.h5"))
	in, err := pipeline.Inspect(context.Background(), filepath.Join(dir, "data", "ISAE_2_square20_L0.h5"), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	spectra := 0
	for _, c := range in.Recording.Channels {
		if strings.Contains(c.Name, "Autopower_RPM_8000_Pa2[") && c.Samples == 60 {
			spectra++
		}
	}
	if spectra != 13*2 {
		t.Errorf("%d spectra of 60 frequencies, expected 26", spectra)
	}
	err = tryIn(dir)
	if err == nil || !strings.Contains(err.Error(), "expected a time series, found a spectrum over /ISAE_2_square20_L0/frequency_Hz (60 frequencies in steps of 25 Hz)") {
		t.Error(err)
	}
}

// A wind tunnel's acquisition: the committed file has 640 samples at 51.2 kHz by
// its period, a tachometer of 400 pulses a second, angle and speed in its name.
// That is too short for spectra: it must be read to the point where the program
// says so, with the rate, and inspected with the values h5py was given.
func TestLayoutTunnel(t *testing.T) {
	dir := example(t, "tunnel-acquisition", layoutData(t, "tunnel_U10_a4.h5"))
	in, err := pipeline.Inspect(context.Background(), filepath.Join(dir, "data", "tunnel_U10_a4.h5"), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range in.Recording.Channels {
		names = append(names, c.Name)
		if c.RateHz != 51200 || c.Samples != 640 || c.Clock != (c.Name == "/Table1/Ds01-Time") {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(names, []string{"/Table1/Ds01-Time", "/Table1/Ds02-TACHO", "/Table1/Ds03-MIC"}) {
		t.Errorf("channels %v", names)
	}
	b, err := os.ReadFile(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// One angle cannot be held out of one.
	if err := tryIn(dir); err == nil || !strings.Contains(err.Error(), "alpha_deg has 1 values, too few to hold out") {
		t.Error(err)
	}
	write(t, dir, "pipeline.yaml", string(b[:strings.Index(string(b), "    train:")]))
	if err := tryIn(dir); err == nil || !strings.Contains(err.Error(), "tunnel_U10_a4.h5") || !strings.Contains(err.Error(), "samples") && !strings.Contains(err.Error(), "revolution") {
		t.Errorf("640 samples: %v", err)
	}
}

// The drone set's layout with 3 blade counts, 2 speeds and 3 angles of the 780
// recordings: levels by closed form, 20 lg(a/√2/20 µPa) of the line each
// microphone was given.
func TestLayoutDrone(t *testing.T) {
	const rate, n = 6400.0, 2 * 6400
	data := t.TempDir()
	amplitude := func(blades, rpm, theta float64) float64 {
		return 0.1 * blades * rpm / 3000 * (1.2 - math.Abs(theta)/100)
	}
	theta := []float64{-60, 0, 60}
	for _, blades := range []float64{2, 3, 4} {
		for _, rpm := range []float64{2400, 3000} {
			var p [][]float64
			for _, th := range theta {
				x := make([]float64, n)
				for i := range x {
					x[i] = amplitude(blades, rpm, th)*math.Sin(2*math.Pi*blades*rpm/60*float64(i)/rate) + 1e-4*math.Sin(float64(i*i))
				}
				p = append(p, x)
			}
			writeNPZ(t, filepath.Join(data, fmt.Sprintf("drone_n%g_rpm%g.npz", blades, rpm)), []string{"fs", "p", "theta_deg"}, [][]float64{{rate}}, p, [][]float64{theta})
		}
	}
	dir := example(t, "drone-set", data)
	b, err := os.ReadFile(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The configuration as it is, up to the training, which takes minutes.
	write(t, dir, "pipeline.yaml", string(b[:strings.Index(string(b), "    train:")]))
	e := runIn(t, dir)["drone"]
	if e.Runs != 6 || e.Recordings != 18 || e.Triplets != 18 {
		t.Errorf("%d runs, %d recordings, %d triplets; expected 6, 18, 18", e.Runs, e.Recordings, e.Triplets)
	}
	tab := readTable(t, dir, "runs", "drone", "triplets.arrow")
	blades, rpm, th, level := column(t, tab, "blades"), column(t, tab, "rpm"), column(t, tab, "theta_deg"), column(t, tab, "bpf1_db_1")
	for i := range level {
		if want := 20 * math.Log10(amplitude(blades[i], rpm[i], th[i])/math.Sqrt2/20e-6); math.Abs(level[i]-want) > 0.05 {
			t.Errorf("%g blades, %g/min, %g°: %.3f dB, expected %.3f", blades[i], rpm[i], th[i], level[i], want)
		}
	}
	// The whole file is valid, splits and all.
	write(t, dir, "pipeline.yaml", string(b))
	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	trainings := 0
	for _, task := range p.Plan.Tasks {
		if task.Stage == "train" {
			trainings++
		}
	}
	if trainings != 2*5 { // two splits, five seeds
		t.Errorf("%d trainings, expected 10", trainings)
	}
}
