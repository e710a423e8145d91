package pipeline_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/ingest/table"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
)

// growing is a simulated campaign of tiny recordings, to which recordings are added.
type growing struct {
	dir   string
	names []string // names of the recordings, sorted
}

// numberStep is the difference of the numbers of neighbouring recordings, so that others can be added between them.
const numberStep = 1000

// newGrowing returns a campaign of n recordings.
func newGrowing(t *testing.T, n int) *growing {
	t.Helper()

	g := &growing{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(g.dir, "data"), 0o755))
	write(t, g.dir, "pipeline.yaml", `version: 1
experiments:
  fan:
    ingest:
      files: data/*.wav
      pattern: "{number}_{blades}_{rpm}.wav"
      data: simulated
      calibration: {unit: full-scale}
    dsp: {triplets: split-half-spectrum, segments: 4, harmonics: 2}
`)

	for i := range n {
		g.add(t, numberStep*i)
	}

	return g
}

// add adds a recording of half a second. Its name begins with the number, which says where it is among the others.
func (g *growing) add(t *testing.T, number int) {
	t.Helper()

	const rateHz = 4096
	rng := rand.New(rand.NewPCG(1, uint64(number)))
	blades := 2 + rng.IntN(3)
	rpm := 2000 + 500*rng.IntN(10)
	bladePassingHz := float64(blades*rpm) / 60
	samples := make([]int16, rateHz/2)
	for k := range samples {
		samples[k] = int16(3000*math.Sin(2*math.Pi*bladePassingHz*float64(k)/rateHz) + 300*rng.NormFloat64())
	}

	wav := ingesttest.PCM16(1, samples...)
	wav.Rate = rateHz
	name := fmt.Sprintf("data/%08d_%d_%d.wav", number, blades, rpm)
	write(t, g.dir, name, string(wav.Bytes()))

	g.names = append(g.names, name)
	slices.Sort(g.names)
}

// run runs the campaign.
func (g *growing) run(t *testing.T) *pipeline.Result {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(g.dir, "pipeline.yaml"))
	require.NoError(t, err)

	result, err := p.Run(t.Context(), pipeline.Options{Jobs: 2})
	require.NoError(t, err)

	return result
}

// cacheSize returns the number of bytes of the results in the cache.
func (g *growing) cacheSize(t *testing.T) int64 {
	t.Helper()

	size := int64(0)
	objects := filepath.Join(g.dir, "runs/.cache/objects")
	err := filepath.WalkDir(objects, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}

		size += info.Size()

		return nil
	})
	require.NoError(t, err)

	return size
}

// If a campaign grows file by file, each step runs only the tasks of the new file, the joins of its shard and the joins
// of all shards, and the cache grows only by the results of the file. In the end the joined tables are the same, byte
// by byte, as one join of all files' tables. DOUBLETAKE_LONG=all adds 200 files to 5000.
func TestGrowth(t *testing.T) {
	n := 520
	steps := 2
	if longtest.IsStudy() {
		n = 5000
		steps = 200
	}

	g := newGrowing(t, n)
	g.run(t)

	before := g.cacheSize(t)
	began := time.Now()
	cpu := ingesttest.CPU()
	for i := range steps {
		g.add(t, numberStep*(i*(n/steps))+numberStep/2)

		// Two tasks of the file, two joins of all, report, page, and two joins of the file's shard. If the new file cuts
		// the shard into two, there are four joins of shards.
		ran := g.run(t).Ran
		assert.GreaterOrEqual(t, ran, 8, "tasks of step %d", i)
		assert.LessOrEqual(t, ran, 10, "tasks of step %d", i)
	}

	grown := (g.cacheSize(t) - before) / int64(steps)
	t.Logf("%d steps of one file at %d: %.1f s, %.1f s of processor time, %d bytes of cache a step", steps, n,
		time.Since(began).Seconds(), (ingesttest.CPU() - cpu).Seconds(), grown)

	// Twice the results of a file, its share of the joined tables, and room for a longer list.
	ingesttest.ReportBound(t, "bytes by which the cache grows for a file", grown, 2*before/int64(n)+20e3)

	last := g.run(t)
	assert.Zero(t, last.Ran, "tasks of an unchanged campaign")
	g.assertTripletsJoined(t, last)
	g.assertSpectraJoined(t, last)

	recordings := readTable(t, g.dir, "runs/fan/recordings.arrow")
	assert.Equal(t, g.names, recordings.Column("file").Strings, "files in the index of recordings")
}

// output returns the path of a table of a file's results.
func (g *growing) output(t *testing.T, r *pipeline.Result, recording, table string) string {
	t.Helper()

	path, ok := r.Output("fan/dsp/"+recording, table)
	require.True(t, ok, "%s must have a result %s", recording, table)

	return path
}

// assertTripletsJoined compares the joined triplets with the files' triplets, appended in memory.
func (g *growing) assertTripletsJoined(t *testing.T, r *pipeline.Result) {
	t.Helper()

	joined := filepath.Join(g.dir, "runs/fan/triplets.arrow")
	all := &table.Table{Meta: readTable(t, joined).Meta}
	for _, name := range g.names {
		require.NoError(t, all.Append(readTable(t, g.output(t, r, name, "triplets.arrow"))), name)
	}

	var want bytes.Buffer
	require.NoError(t, all.Write(&want))
	assert.True(t, bytes.Equal(want.Bytes(), testfile.Read(t, joined)), "the joined triplets must be those of one join")
}

// assertSpectraJoined compares the joined spectra with one join of the files' spectra.
func (g *growing) assertSpectraJoined(t *testing.T, r *pipeline.Result) {
	t.Helper()

	var spectra []string
	for _, name := range g.names {
		spectra = append(spectra, g.output(t, r, name, "spectra.arrow"))
	}

	joined := filepath.Join(g.dir, "runs/fan/spectra.arrow")
	path := filepath.Join(t.TempDir(), "spectra.arrow")
	_, err := table.Concat(path, readTable(t, joined).Meta, spectra)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(testfile.Read(t, path), testfile.Read(t, joined)),
		"the joined spectra must be those of one join")
}
