package pipeline_test

import (
	"context"
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

// counted is a file of three channels.
type counted struct {
	*ingesttest.Memory
	ingest.Source
}

func (c counted) Close() error { return c.Source.Close() }

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

	const files = 3
	folder := func() string {
		dir := t.TempDir()
		for i := range files {
			name := strings.Repeat("1", i+1) + ".cnt"
			write(t, dir, name, "COUNTED "+name)
		}

		write(t, dir, "pipeline.yaml", config)

		return dir
	}

	run := func(dir string, sel engine.Selection) (read int64) {
		p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
		require.NoError(t, err)

		samplesRead.Store(0)

		_, err = p.Run(context.Background(), engine.Options{Jobs: 2, Selection: sel})
		require.NoError(t, err)

		return samplesRead.Load()
	}

	whole := folder()
	staged := folder()
	const each = files * 3 * countedSamples

	// Each of two experiments reads every sample, and on opening some of them to find out whether a channel is a clock.
	const opening = 2 * 2 * files * 1000
	read := run(whole, engine.Selection{To: "dsp"})
	assert.GreaterOrEqual(t, read, int64(2*each), "samples that both stages read together")
	assert.LessOrEqual(t, read, int64(2*each+opening), "samples that both stages read together")

	read = run(staged, engine.Selection{To: "ingest"})
	assert.GreaterOrEqual(t, read, int64(2*each), "samples that ingest reads")
	assert.LessOrEqual(t, read, int64(2*each+opening), "samples that ingest reads")

	// dsp needs two of three channels, and of microphones no tail.
	read = run(staged, engine.Selection{To: "dsp"})
	assert.GreaterOrEqual(t, read, int64(each), "samples that dsp reads")
	assert.LessOrEqual(t, read, int64(2*each), "samples that dsp reads")

	for _, name := range []string{
		"rotor/recordings.arrow", "rotor/triplets.arrow", "rotor/spectra.arrow",
		"forces/recordings.arrow", "forces/triplets.arrow",
	} {
		a := testfile.Read(t, filepath.Join(whole, "runs", name))

		b := testfile.Read(t, filepath.Join(staged, "runs", name))

		assert.Equal(t, b, a, "%s is not the same", name)
	}
}
