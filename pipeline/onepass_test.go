package pipeline_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// samplesRead counts the samples that Readers of the format "counted" gave away.
var samplesRead atomic.Int64

const (
	countedRate    = 6400
	countedSamples = 2*8*3201 + 5 // segments of a length with a large prime factor, and a tail
)

// counted reads a file of three channels and counts the samples.
type counted struct {
	*ingesttest.Memory
	ingest.Source
}

// Close closes the file. Both embedded types have such a method.
func (c counted) Close() error { return c.Source.Close() }

// Read counts the samples that it reads.
func (c counted) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n, err := c.Memory.Read(channels, start, dst)
	samplesRead.Add(int64(n * len(channels)))
	return n, err
}

func init() {
	err := format.Register(ingest.Format{
		Name: "counted", Magic: []string{"COUNTED"},
		Open: func(src ingest.Source, _ ingest.Options) (ingest.Reader, error) {
			rng := rand.New(rand.NewPCG(1, uint64(len(src.Path))))

			x := make([][]float64, 3)
			for c := range x {
				x[c] = make([]float64, countedSamples)
				for k := range x[c] {
					x[c][k] = math.Sin(2*math.Pi*80*float64(k)/countedRate+float64(c)) + 0.1*rng.NormFloat64()
				}
			}

			m := ingesttest.NewMemory(x...)
			m.Header.Path = src.Path
			m.Header.Format = "counted"
			m.Header.Encoding = "numbers of a test"
			for c := range m.Header.Channels {
				ch := &m.Header.Channels[c]
				ch.Name = fmt.Sprintf("c%d", c+1)
				ch.Unit = "Pa"
				ch.RateHz = countedRate
			}

			return counted{m, src}, nil
		},
	})
	if err != nil {
		panic(err)
	}
}

// If ingest and dsp run together, a file's samples are read once, also those of channels that are not used. If they
// run one by one, each stage reads them. What they make is the same to the byte. The reader itself counts the samples.
func TestOnePass(t *testing.T) {
	config := `version: 1
experiments:
  rotor:
    ingest: {files: "*.cnt", constants: {blades: 2, rpm: 2400}, channels: [c1, c3]}
    dsp: {triplets: split-half-spectrum, harmonics: 2}
  forces:
    ingest: {files: "*.cnt", pattern: "{u_inf_m_s}.cnt", columns: {lift_n: c1, drag_n: c2},
      units: {lift_n: N, drag_n: N}}
    dsp: {triplets: random-samples, samples: 400}
`

	const files, experiments = 3, 2
	folder := func() string {
		dir := t.TempDir()
		for i := range files {
			name := strings.Repeat("1", i+1) + ".cnt"
			write(t, dir, name, "COUNTED "+name)
		}

		write(t, dir, "pipeline.yaml", config)

		return dir
	}

	// samplesOf returns the number of samples that a run up to a stage reads.
	samplesOf := func(dir, lastStage string) int64 {
		p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
		require.NoError(t, err)

		samplesRead.Store(0)

		_, err = p.Run(t.Context(), engine.Options{Jobs: 2, Selection: engine.Selection{To: lastStage}})
		require.NoError(t, err)

		return samplesRead.Load()
	}

	// Each experiment reads every sample of three channels. When a file is opened, some samples are read to find out
	// whether a channel is a clock.
	const once = int64(experiments * files * 3 * countedSamples)
	const opening = int64(experiments * files * 2 * 1000)

	whole := folder()
	read := samplesOf(whole, "dsp")
	assert.GreaterOrEqual(t, read, once, "samples that both stages read together")
	assert.LessOrEqual(t, read, once+opening, "samples that both stages read together")

	staged := folder()
	read = samplesOf(staged, "ingest")
	assert.GreaterOrEqual(t, read, once, "samples that ingest reads")
	assert.LessOrEqual(t, read, once+opening, "samples that ingest reads")

	// dsp needs two of three channels, and of microphones no tail.
	read = samplesOf(staged, "dsp")
	assert.GreaterOrEqual(t, read, once/2, "samples that dsp reads")
	assert.LessOrEqual(t, read, once, "samples that dsp reads")

	for _, name := range []string{
		"rotor/recordings.arrow", "rotor/triplets.arrow", "rotor/spectra.arrow",
		"forces/recordings.arrow", "forces/triplets.arrow",
	} {
		together := testfile.Read(t, filepath.Join(whole, "runs", name))
		oneByOne := testfile.Read(t, filepath.Join(staged, "runs", name))
		assert.True(t, bytes.Equal(oneByOne, together), "%s must be the same", name)
	}
}
