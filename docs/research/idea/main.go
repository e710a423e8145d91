// Idea draws docs/idea-simulated.svg, the figure of docs/idea.md, from the
// default run of the drone:
//
//	(cd ../.. && go run ./cmd/pipeline run pipeline.yaml)
//	go run ./idea ../../runs/drone > ../idea-simulated.svg
//
// It prints the numbers that the page quotes on the standard error.
package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/table"
	"doubletake/report/figure"
)

const (
	recording = "simulated_rotor_n2_rpm5500.wav#7" // 2 blades, held out, in the rotor plane
	split     = "2-blades"
	outcome   = "bpf2_db"
)

// classes are the colours of the two halves.
var classes = [2]string{"train", "test"}

func main() {
	err := fmt.Errorf("expected one FOLDER, that of the experiment drone of the default run, found %q", os.Args[1:])
	if len(os.Args) == 2 {
		err = run(os.Args[1])
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "idea:", err)
		os.Exit(1)
	}
}

// readColumns reads a table that must have some columns.
func readColumns(path string, names ...string) (*table.Table, error) {
	t, err := table.Read(path)
	if err != nil {
		return nil, err
	}

	for _, name := range names {
		if t.Column(name) == nil {
			return nil, fmt.Errorf("%s: expected a column %s, found none", path, name)
		}
	}

	return t, nil
}

func run(dir string) error {
	wave, err := waveform(dir)
	if err != nil {
		return err
	}

	spectra, err := halves(dir)
	if err != nil {
		return err
	}

	levels, err := pairs(dir)
	if err != nil {
		return err
	}

	f := &figure.Figure{
		ID:      "idea",
		Title:   "Simulated data: one recording, its halves, their levels, and the interval",
		Desc:    "A recording in two halves; the spectra of both; the pairs of levels with the mean and its interval.",
		Note:    "simulated data: a rotor of 2 blades at 5500 1/min; the model has seen rotors of 3, 4 and 5 blades",
		Columns: 3,
		Width:   960,
		Panels:  []figure.Panel{wave, spectra, levels},
	}

	_, err = os.Stdout.Write(figure.Draw(f, figure.Options{Digits: 4}))

	return err
}

// waveform draws the extremes of the recording, 200 pieces a half.
func waveform(dir string) (figure.Panel, error) {
	p := figure.Panel{
		Title:  "1. One recording, two halves",
		X:      figure.Axis{Label: "time (s)"},
		Y:      figure.Axis{Label: "pressure (full scale)"},
		Height: 190,
	}

	r, err := format.Open(filepath.Join(dir, "simulated_rotor", "simulated_rotor_n2_rpm5500.wav"), ingest.Options{})
	if err != nil {
		return p, err
	}
	defer r.Close()

	channel := r.Info().Channels[6]
	x := make([]float64, channel.Samples)
	if _, err := r.Read([]int{6}, 0, [][]float64{x}); err != nil && err != io.EOF {
		return p, err
	}

	const pieces = 200
	for h, class := range classes {
		m := figure.Mark{Kind: figure.Band, Name: fmt.Sprintf("half %d", h+1), Class: class}

		half := x[h*len(x)/2 : (h+1)*len(x)/2]
		for i := range pieces {
			part := half[i*len(half)/pieces : (i+1)*len(half)/pieces]

			lo, hi := math.Inf(1), math.Inf(-1)
			for _, v := range part {
				lo, hi = min(lo, v), max(hi, v)
			}

			m.X = append(m.X, float64(h*len(x)/2+i*len(half)/pieces)/channel.RateHz)
			m.Lo, m.Hi = append(m.Lo, lo), append(m.Hi, hi)
		}

		p.Marks = append(p.Marks, m)
	}

	return p, nil
}

// halves draws the spectra of both halves, and the levels of the second harmonic.
func halves(dir string) (figure.Panel, error) {
	p := figure.Panel{
		Title:  "2. Each half gives a level: y1 and y2",
		X:      figure.Axis{Label: "frequency (Hz)", Max: 1000},
		Y:      figure.Axis{Label: "level (dB re 20 µPa)", Min: 0, Max: 50},
		Height: 190,
	}

	t, err := readColumns(filepath.Join(dir, "spectra.arrow"), "recording", "half", "power", "bin_hz", "line_hz",
		"line_power")
	if err != nil {
		return p, err
	}

	for row, name := range t.Column("recording").Strings {
		if name != recording {
			continue
		}

		h := t.Column("half").Ints[row]
		class := classes[h-1]
		line := figure.Mark{Kind: figure.Line, Name: fmt.Sprintf("half %d", h), Class: class, Thin: true}
		for bin, power := range t.Column("power").Lists[row] {
			if hz := float64(bin) * t.Column("bin_hz").Floats[row]; hz <= p.X.Max && bin > 0 {
				line.X, line.Y = append(line.X, hz), append(line.Y, level(float64(power)))
			}
		}

		hz, power := t.Column("line_hz").Lists[row][1], t.Column("line_power").Lists[row][1]
		p.Marks = append(p.Marks, line, figure.Mark{
			Kind: figure.Points, Name: fmt.Sprintf("y%d", h), Class: class, Size: 5,
			X: []float64{float64(hz)}, Y: []float64{level(float64(power))},
		})
	}

	return p, nil
}

func level(power float64) float64 { return 10 * math.Log10(power/(20e-6*20e-6)) }

// pairs draws the levels of all microphones, and the calibrated mean with its interval.
func pairs(dir string) (figure.Panel, error) {
	p := figure.Panel{
		Title:  "3. Pairs, a prediction and its interval",
		X:      figure.Axis{Label: "angle from the rotor plane (deg)"},
		Y:      figure.Axis{Label: "level of harmonic 2 (dB re 20 µPa)"},
		Height: 190,
	}

	all, err := readColumns(filepath.Join(dir, "triplets.arrow"), "recording", outcome+"_1", outcome+"_2")
	if err != nil {
		return p, err
	}

	said, err := readColumns(filepath.Join(dir, "splits", split, "honest.arrow"), "recording", "rpm", "theta_deg",
		outcome, outcome+"_high")
	if err != nil {
		return p, err
	}

	row := map[string]int{}
	for i, name := range all.Column("recording").Strings {
		row[name] = i
	}

	var y [2]figure.Mark
	for h := range y {
		y[h] = figure.Mark{
			Kind: figure.Points, Shape: "ring", Name: fmt.Sprintf("y%d", h+1), Class: classes[h],
		}
	}

	band := figure.Mark{Kind: figure.Band, Name: "95 % interval", Class: "total"}
	mean := figure.Mark{Kind: figure.Line, Name: "μ", Class: "mean"}

	sum, n, inside := 0.0, 0, 0

	for i, name := range said.Column("recording").Strings {
		if said.Column("rpm").Floats[i] != 5500 {
			continue
		}

		mu, high := said.Column(outcome).Floats[i], said.Column(outcome + "_high").Floats[i]
		half := high - mu
		theta := said.Column("theta_deg").Floats[i]
		mean.X, mean.Y = append(mean.X, theta), append(mean.Y, mu)
		band.X, band.Lo, band.Hi = append(band.X, theta), append(band.Lo, mu-half), append(band.Hi, mu+half)

		e := 1.0
		for h := range y {
			v := all.Column(fmt.Sprintf("%s_%d", outcome, h+1)).Floats[row[name]]
			y[h].X, y[h].Y = append(y[h].X, theta), append(y[h].Y, v)
			e *= v - mu

			if math.Abs(v-mu) < half {
				inside++
			}

			if name == recording {
				fmt.Fprintf(os.Stderr, "%s: y%d %.2f, mean %.2f, half-width %.2f\n", name, h+1, v, mu, half)
			}
		}

		if name == recording {
			fmt.Fprintf(os.Stderr, "%s: e %.2f\n", name, e)
		}

		sum, n = sum+e, n+1
	}

	fmt.Fprintf(os.Stderr, "mean e %.2f of %d, root %.2f; %d of %d inside\n", sum/float64(n), n, math.Sqrt(sum/float64(n)),
		inside, 2*n)

	p.Marks = append(p.Marks, band, mean, y[0], y[1])

	return p, nil
}
