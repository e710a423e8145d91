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

// Sections of configurations: an experiment of recordings that a log lists, and one of a table of pairs.
const (
	listedRecordings = `ingest: {files: data/*.wav, conditions: log.csv, calibration: {unit: full-scale}}
    dsp: {triplets: split-half-spectrum}
`
	listedPairs = `ingest: {table: {file: t.csv, inputs: [a], y1: [p1], y2: [p2], pairs: repeat-run}}
`
)

// listing writes a project in which something is listed n times.
type listing struct {
	name  string // what is listed
	n     int    // the smaller number of entries that is timed
	write func(t *testing.T, dir string, n int)

	checksFiles bool // the time includes a check of the files
}

// listings are the lists that a user's files may have.
var listings = []listing{
	{name: "patterns", n: 500, write: func(t *testing.T, dir string, n int) {
		writeRecordings(t, dir, n, "r%d_*.wav,2,%d")
	}},
	{name: "names", n: 500, write: func(t *testing.T, dir string, n int) { writeRecordings(t, dir, n, "r%d_x,2,%d") }},
	{name: "experiments", n: 500, write: writeExperiments},
	{name: "conditions", n: 50, write: writeConstants},
	{name: "rows", n: 5000, write: func(t *testing.T, dir string, n int) {
		writePairs(t, dir, n)
		writeExperiment(t, dir, listedPairs)
	}},
	{name: "tolerances", n: 5000, write: writeTolerances},
	{name: "splits", n: 25, write: func(t *testing.T, dir string, n int) {
		writePairs(t, dir, n)
		writeExperiment(t, dir, listedPairs+
			"    train: {inputs: [a], seeds: 1, honest: {base: none}, splits: {s: {each: a}}}\n")
	}},
	{name: "channels", n: 500, write: writeChannels, checksFiles: true},
}

// writeExperiment writes a configuration of one experiment with the given sections.
func writeExperiment(t *testing.T, dir, sections string) {
	t.Helper()
	write(t, dir, "pipeline.yaml", "version: 1\nexperiments:\n  e:\n    "+sections)
}

// writeRecordings writes n recordings and a log with a line for each. line has places for the number and the speed.
func writeRecordings(t *testing.T, dir string, n int, line string) {
	t.Helper()

	sound := ingesttest.PCM16(1, make([]int16, 64)...)
	sound.Rate = 4096
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))

	log := []string{"file,blades,rpm"}
	for i := range n {
		write(t, dir, fmt.Sprintf("data/r%d_x.wav", i), string(sound.Bytes()))
		log = append(log, fmt.Sprintf(line, i, 3000+i))
	}

	write(t, dir, "log.csv", strings.Join(log, "\n"))
	writeExperiment(t, dir, listedRecordings)
}

// writePairs writes a table of n pairs.
func writePairs(t *testing.T, dir string, n int) {
	t.Helper()

	rows := []string{"a,p1,p2"}
	for i := range n {
		rows = append(rows, fmt.Sprintf("%d,%d,%d", i, i%7, i%5))
	}

	write(t, dir, "t.csv", strings.Join(rows, "\n"))
}

// writeExperiments writes n experiments of one table.
func writeExperiments(t *testing.T, dir string, n int) {
	t.Helper()

	var text strings.Builder
	text.WriteString("version: 1\nexperiments:\n")
	for i := range n {
		fmt.Fprintf(&text, "  e%d:\n    %s", i, listedPairs)
	}

	writePairs(t, dir, 8)
	write(t, dir, "pipeline.yaml", text.String())
}

// writeConstants writes twenty recordings with n constant conditions.
func writeConstants(t *testing.T, dir string, n int) {
	t.Helper()

	var constants []string
	for i := range n {
		constants = append(constants, fmt.Sprintf("c%d: %d", i, i))
	}

	writeRecordings(t, dir, 20, "r%d_x.wav,2,%d")
	section := "}, constants: {" + strings.Join(constants, ", ") + "}}"
	writeExperiment(t, dir, strings.Replace(listedRecordings, "}}", section, 1))
}

// writeTolerances writes a table of n rows. Each row with an even number and the next row repeat each other within the
// tolerance of their condition.
func writeTolerances(t *testing.T, dir string, n int) {
	t.Helper()

	rows := []string{"a,p"}
	for i := range n {
		rows = append(rows, fmt.Sprintf("%d.%d,%d", i/2, i%2, i%7))
	}

	write(t, dir, "t.csv", strings.Join(rows, "\n"))
	writeExperiment(t, dir, "ingest: {table: {file: t.csv, inputs: [a], repeats: [p], pairs: repeat-run}, "+
		"within: {a: 0.2}}\n")
}

// writeChannels writes a file of four samples of n channels.
func writeChannels(t *testing.T, dir string, n int) {
	t.Helper()

	names := []string{"time"}
	values := []string{"0"}
	for i := range n {
		names = append(names, fmt.Sprintf("c%d", i))
		values = append(values, "1")
	}

	samples := strings.Repeat(strings.Join(values, ",")+"\n", 4)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	write(t, dir, "data/a1.csv", strings.Join(names, ",")+"\n"+samples)
	writeExperiment(t, dir, "ingest: {files: data/*.csv, pattern: \"a{alpha_deg}.csv\", rate_hz: 10, "+
		"columns: {lift_n: c0, drag_n: c1}}\n    dsp: {triplets: split-halves}\n")
}

// read reads the project in dir, whose list has any number of entries.
func (l listing) read(t *testing.T, dir string) {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)

	_, err = p.Status()
	require.NoError(t, err)

	if l.checksFiles {
		_, err = p.CheckFiles(t.Context())
		require.NoError(t, err)
	}
}

// processorTime returns the mean processor time of a piece of work that is done several times.
func processorTime(times int, work func()) time.Duration {
	began := ingesttest.CPU()
	for range times {
		work()
	}

	return (ingesttest.CPU() - began) / time.Duration(times)
}

// reportGrowth prints the times of a piece of work for n and 4n entries, and a warning if four times as many entries
// take more than five times as long. few does the work for n entries, and many for 4n.
func reportGrowth(t *testing.T, name string, n int, few, many func()) {
	t.Helper()

	// Other work on the machine makes some times longer, so that the least of three counts. The few are done four
	// times, because a short piece of work finds a quiet moment more easily than a long one.
	timeOfFew := time.Hour
	timeOfMany := time.Hour
	for range 3 {
		timeOfFew = min(timeOfFew, processorTime(4, few))
		timeOfMany = min(timeOfMany, processorTime(1, many))
	}

	t.Logf("%d %s: %v, %d: %v", n, name, timeOfFew.Round(time.Millisecond), 4*n, timeOfMany.Round(time.Millisecond))

	ingesttest.ReportBound(t, fmt.Sprintf("processor time for %d %s, against 5 times that for %d", 4*n, name, n),
		timeOfMany, 5*max(timeOfFew, 10*time.Millisecond))
}

// What a user's files list takes about four times as long for four times as many. The test prints a time that is more
// than five times as long.
func TestNearlyLinear(t *testing.T) {
	longtest.Skip(t, "times lists of n and 4n")

	for _, l := range listings {
		few := t.TempDir()
		many := t.TempDir()
		l.write(t, few, l.n)
		l.write(t, many, 4*l.n)
		reportGrowth(t, l.name, l.n, func() { l.read(t, few) }, func() { l.read(t, many) })
	}
}

// Set points are found in about four times the time among four times as many values.
func TestSetPointsNearlyLinear(t *testing.T) {
	longtest.Skip(t, "times n and 4n set points")

	const n = 10000
	tolerance, err := condition.ParseTolerance("0.5")
	require.NoError(t, err)

	values := make([]float64, 4*n)
	for i := range values {
		values[i] = float64(i)
	}

	reportGrowth(t, "set points", n, func() { condition.SetPointsOf(values[:n], tolerance) },
		func() { condition.SetPointsOf(values, tolerance) })
}
