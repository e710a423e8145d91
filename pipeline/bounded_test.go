package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
	"doubletake/pipeline"
)

// What a user's files list takes about four times as long for four times as many: patterns and files of a log,
// experiments, rows and columns of conditions, set points, tolerances, channels, splits. The test prints a time that is
// more than five times as long. Times are the processor's, the least of three.
func TestNearlyLinear(t *testing.T) {
	longtest.Skip(t, "times lists of n and 4n")

	sound := ingesttest.PCM16(1, make([]int16, 64)...)
	sound.Rate = 4096

	const (
		recordings = "ingest: {files: data/*.wav, conditions: log.csv, calibration: {unit: full-scale}}\n" +
			"    dsp: {triplets: split-half-spectrum}\n"
		pairs = "ingest: {table: {file: t.csv, inputs: [a], y1: [p1], y2: [p2], pairs: repeat-run}}\n"
	)

	config := func(dir, text string) { write(t, dir, "pipeline.yaml", "version: 1\nexperiments:\n"+text) }
	files := func(dir string, n int, line func(i int) string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))

		log := []string{"file,blades,rpm"}
		for i := range n {
			write(t, dir, fmt.Sprintf("data/r%d_x.wav", i), string(sound.Bytes()))
			log = append(log, line(i))
		}

		write(t, dir, "log.csv", strings.Join(log, "\n"))
		config(dir, "  e:\n    "+recordings)
	}

	table := func(dir string, n int) {
		rows := []string{"a,p1,p2"}
		for i := range n {
			rows = append(rows, fmt.Sprintf("%d,%d,%d", i, i%7, i%5))
		}

		write(t, dir, "t.csv", strings.Join(rows, "\n"))
	}

	for _, c := range []struct {
		name string
		n    int
		make func(dir string, n int)
	}{
		{"patterns", 500, func(dir string, n int) {
			files(dir, n, func(i int) string { return fmt.Sprintf("r%d_*.wav,2,%d", i, 3000+i) })
		}},
		{"names", 500, func(dir string, n int) {
			files(dir, n, func(i int) string { return fmt.Sprintf("r%d_x,2,%d", i, 3000+i) })
		}},
		{"experiments", 500, func(dir string, n int) {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "  e%d:\n    %s", i, pairs)
			}

			table(dir, 8)
			config(dir, b.String())
		}},
		{"conditions", 50, func(dir string, n int) {
			files(dir, 20, func(i int) string { return fmt.Sprintf("r%d_x.wav,2,%d", i, 3000+i) })

			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "      c%d: %d\n", i, i)
			}

			config(dir, "  e:\n    "+strings.Replace(recordings, "}}", "}, constants: {"+
				strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(b.String(), "      ", ""), "\n", ", "), ", ")+"}}", 1))
		}},
		{"rows", 5000, func(dir string, n int) { table(dir, n); config(dir, "  e:\n    "+pairs) }},
		{"tolerances", 5000, func(dir string, n int) {
			rows := []string{"a,p"}
			for i := range n {
				rows = append(rows, fmt.Sprintf("%d.%d,%d", i/2, i%2, i%7))
			}

			write(t, dir, "t.csv", strings.Join(rows, "\n"))
			config(dir, "  e:\n    ingest: {table: {file: t.csv, inputs: [a], repeats: [p], pairs: repeat-run}, "+
				"within: {a: 0.2}}\n")
		}},
		{"splits", 25, func(dir string, n int) {
			table(dir, n)
			config(dir, "  e:\n    "+pairs+
				"    train: {inputs: [a], seeds: 1, honest: {base: none}, splits: {s: {each: a}}}\n")
		}},
		{"channels", 500, func(dir string, n int) {
			head := []string{"time"}
			row := []string{"0"}
			for i := range n {
				head = append(head, fmt.Sprintf("c%d", i))
				row = append(row, "1")
			}

			require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
			write(t, dir, "data/a1.csv", strings.Join(head, ",")+"\n"+strings.Repeat(strings.Join(row, ",")+"\n", 4))
			config(dir, "  e:\n    ingest: {files: data/*.csv, pattern: \"a{alpha_deg}.csv\", rate_hz: 10, "+
				"columns: {lift_n: c0, drag_n: c1}}\n"+
				"    dsp: {triplets: split-halves}\n")
		}},
		{"set points", 10000, nil},
	} {
		took := func(dir string, n, times int) time.Duration {
			began := ingesttest.CPU()

			for range times {
				if c.make == nil {
					v := make([]float64, n)
					for i := range v {
						v[i] = float64(i)
					}

					tolerance, err := condition.ParseTolerance("0.5")
					require.NoError(t, err)
					condition.SetPointsOf(v, tolerance)

					continue
				}

				p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
				require.NoError(t, err)

				_, err = p.Status()
				if err == nil && c.name == "channels" {
					_, err = p.CheckFiles(t.Context())
				}

				require.NoError(t, err)
			}

			return (ingesttest.CPU() - began) / time.Duration(times)
		}

		few := t.TempDir()
		many := t.TempDir()
		if c.make != nil {
			c.make(few, c.n)
			c.make(many, 4*c.n)
		}

		// Other work on the machine makes some times longer, so that the least of three counts. The few are done four
		// times, because a short piece of work finds a quiet moment more easily than a long one.
		a := time.Hour
		b := time.Hour
		for range 3 {
			a = min(a, took(few, c.n, 4))
			b = min(b, took(many, 4*c.n, 1))
		}

		t.Logf("%d %s: %v, %d: %v", c.n, c.name, a.Round(time.Millisecond), 4*c.n, b.Round(time.Millisecond))

		ingesttest.ReportBound(t, fmt.Sprintf("processor time for %d %s, against 5 times that for %d", 4*c.n, c.name, c.n), b,
			5*max(a, 10*time.Millisecond))
	}
}
