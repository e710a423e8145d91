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
	"doubletake/internal/testfile"
	"doubletake/pipeline"
)

// growing is a simulated campaign of tiny recordings.
type growing struct {
	dir   string
	names []string
}

func newGrowing(t *testing.T, n int) *growing {
	g := &growing{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(g.dir, "data"), 0o755))

	const config = `version: 1
experiments:
  fan:
    ingest:
      files: data/*.wav
      pattern: "{number}_{blades}_{rpm}.wav"
      data: simulated
      calibration: {unit: full-scale}
    dsp: {triplets: split-half-spectrum, segments: 4, harmonics: 2}
`
	write(t, g.dir, "pipeline.yaml", config)

	for i := range n {
		g.add(t, 1000*i)
	}

	return g
}

// add adds a recording; its number says where it is among the others.
func (g *growing) add(t *testing.T, number int) {
	rng := rand.New(rand.NewPCG(1, uint64(number)))
	blades := 2 + rng.IntN(3)
	rpm := 2000 + 500*rng.IntN(10)
	x := make([]int16, 2048)
	for k := range x {
		x[k] = int16(3000*math.Sin(2*math.Pi*float64(blades*rpm)/60*float64(k)/4096) + 300*rng.NormFloat64())
	}

	w := ingesttest.PCM16(1, x...)
	w.Rate = 4096
	name := fmt.Sprintf("data/%08d_%d_%d.wav", number, blades, rpm)
	write(t, g.dir, name, string(w.Bytes()))

	g.names = append(g.names, name)
	slices.Sort(g.names)
}

func (g *growing) run(t *testing.T) *pipeline.Result {
	p, err := pipeline.Load(filepath.Join(g.dir, "pipeline.yaml"))
	require.NoError(t, err)

	r, err := p.Run(t.Context(), pipeline.Options{Jobs: 2})
	require.NoError(t, err)

	return r
}

// cache returns the bytes of the results in the cache.
func (g *growing) cache(t *testing.T) (size int64) {
	err := filepath.WalkDir(filepath.Join(g.dir, "runs/.cache/objects"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}

		fi, err := e.Info()
		if err == nil {
			size += fi.Size()
		}

		return err
	})
	require.NoError(t, err)

	return size
}

// A campaign grows file by file: each step makes the file's tasks, the shard it is in and what
// joins all, and the cache grows by what belongs to the file. The joined tables are in the end, byte
// by byte, one whole join of the files' tables. DOUBLETAKE_LONG=all adds 200 files to 5000.
func TestGrowth(t *testing.T) {
	n := 520
	steps := 2
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		n = 5000
		steps = 200
	}

	g := newGrowing(t, n)
	g.run(t)

	before := g.cache(t)
	began := time.Now()
	cpu := ingesttest.CPU()
	for i := range steps {
		g.add(t, 1000*(i*(n/steps))+500)

		// The file's two tasks, two joins of its shard or of the two that it cuts one into, two of all,
		// report and page.
		if r := g.run(t); r.Ran < 8 || r.Ran > 10 {
			t.Errorf("step %d makes %d tasks", i, r.Ran)
		}
	}

	grown := (g.cache(t) - before) / int64(steps)
	t.Logf("%d steps of one file at %d: %.1f s, %.1f s of processor time, %d bytes of cache a step", steps, n,
		time.Since(began).Seconds(), (ingesttest.CPU() - cpu).Seconds(), grown)

	// Twice what a file has of its own, its share of the joined tables, and room for a longer list.
	ingesttest.ReportBound(t, "bytes by which the cache grows for a file", grown, 2*before/int64(n)+20e3)

	g.compare(t, g.run(t))
}

// compare compares the joined tables with one join of the files' tables.
func (g *growing) compare(t *testing.T, r *pipeline.Result) {
	assert.Equal(t, 0, r.Ran, "tasks of an unchanged campaign")

	joined := func(name string) (*table.Table, []byte) {
		path := filepath.Join(g.dir, "runs/fan", name)
		b := testfile.Read(t, path)

		found := readTable(t, path)

		return found, b
	}

	var spectra []string
	found, got := joined("triplets.arrow")
	all := &table.Table{Meta: found.Meta}
	for _, name := range g.names {
		triplets, hasTriplets := r.Output("fan/dsp/"+name, "triplets.arrow")
		spectrum, hasSpectrum := r.Output("fan/dsp/"+name, "spectra.arrow")
		one, err := table.Read(triplets)
		if err == nil {
			err = all.Append(one)
		}

		require.NoError(t, err, "%s", name)
		require.True(t, hasTriplets, "%s", name)
		require.True(t, hasSpectrum, "%s", name)

		spectra = append(spectra, spectrum)
	}

	var want bytes.Buffer
	require.NoError(t, all.Write(&want))

	assert.Equal(t, want.Bytes(), got, "the joined triplets are not those of one join")

	found, got = joined("spectra.arrow")
	path := filepath.Join(t.TempDir(), "spectra.arrow")
	_, err := table.Concat(path, found.Meta, spectra)
	require.NoError(t, err)

	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b) {
		t.Error("the joined spectra are not those of one join", err)
	}

	if found, _ = joined("recordings.arrow"); !slices.Equal(found.Column("file").Strings, g.names) {
		t.Error("the index of recordings has other files")
	}
}
