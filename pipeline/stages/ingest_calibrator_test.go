package stages

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// The recordings of a calibrator by a pattern of their names are those of the channels in the names, in the order of
// the names, and are not recordings of the campaign. Expected scales: 1.0024 Pa (94 dB) over the rms of each tone.
func TestCalibratorPattern(t *testing.T) {
	files := map[string]string{
		"a_3000.npy": npyFile(constant(9, 1), constant(9, 1)), "cal/Mikro_2.npy": npyFile(tone(30000, 10000, 1000, 0.2)),
		"cal/Mikro_01.npy": npyFile(tone(30000, 10000, 1000, 0.1)), "cal/notes.txt": "",
	}

	const sections = `{files: "%s", pattern: "{_}_{rpm}.npy", rate_hz: 10000, constants: {blades: 2}, calibration: ` +
		`{calibrator: {level_db: 94, pattern: "%s"}}}`
	b := planFiles(t, files, fmt.Sprintf(sections, "**/*.npy", "cal/Mikro_{channel}.npy"),
		`{triplets: split-half-spectrum}`)
	assert.Equal(t, []string{"a_3000.npy"}, b.Recordings.inventory.Names())
	assert.Equal(t, []setting.NamedString{{Name: "01", Value: "cal/Mikro_01.npy"}, {Name: "2", Value: "cal/Mikro_2.npy"}},
		b.Recordings.Ingest.Calibration.Calibrator.Recordings)

	chain, err := b.Recordings.measureChain(context.Background(), b.Experiment)
	require.NoError(t, err)

	info := ingest.Info{Path: "a.npy", Channels: []ingest.Channel{{Name: "1"}, {Name: "2"}}}
	for channel, amplitude := range []float64{0.1, 0.2} {
		scale, err := chain.Scale(info, channel)
		require.NoError(t, err)
		assert.InEpsilon(t, 20e-6*math.Pow(10, 94./20)/(amplitude/math.Sqrt2), scale.Factor, 1e-4, "channel %d", channel+1)
	}

	refused(t, files, fmt.Sprintf(sections, "a*.npy", "cal/Mic_{channel}.npy"), `{triplets: split-half-spectrum}`,
		"cal/Mic_*.npy")
	refused(t, files, fmt.Sprintf(sections, "cal/*.npy", "cal/Mikro_{channel}.npy"), `{triplets: split-half-spectrum}`,
		"every recording is one of the calibrator")
}

// The calibrator is measured by a task of its own, whose result the task of each file takes.
func TestCalibratorTasks(t *testing.T) {
	files := map[string]string{
		"a.npy": npyFile(constant(9, 1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n",
		"cal/one.npy": npyFile(tone(30000, 10000, 1000, 0.1)),
	}

	b := planFiles(t, files,
		`{files: "*.npy", conditions: c.csv, rate_hz: 10000, calibration: `+
			`{calibrator: {level_db: 94, file: cal/one.npy, gain_db: 20}}}`, `{triplets: split-half-spectrum}`)
	assert.Equal(t, "x/ingest/calibrator x/ingest/a.npy x/recordings", ids(b), "tasks")
	require.NotNil(t, b.Recordings.Source.Calibrator)
	assert.Equal(t, *b.Recordings.Source.Calibrator, b.Tasks.Plan.Tasks[1].Deps[0], "what the file's task takes")
}

// tone returns n samples of a sine.
func tone(n int, rate, hz, amplitude float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = amplitude * math.Sin(2*math.Pi*hz*float64(i)/rate)
	}

	return x
}
