package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sweepFile is an experiment "drone" with a sweep.
func sweepFile(sweep string) string {
	return `version: 1
experiments:
  drone:
    ingest: {simulate: {campaign: rotor}}
    dsp: {triplets: split-half-spectrum, segments: 8}
    train:
      inputs: [blades, rpm]
      seeds: 2
      splits: {two: {test: {blades: 2}}}
    sweep: ` + sweep + "\n"
}

// sweepNames returns the names of the variants of sweepFile, separated by spaces.
func sweepNames(t *testing.T, sweep string) string {
	t.Helper()

	f, err := Parse("pipeline.yaml", []byte(sweepFile(sweep)))
	require.NoError(t, err)

	var names []string
	for _, e := range f.Experiments {
		names = append(names, e.Name)
	}

	return strings.Join(names, " ")
}

// The expected names were written by hand. A mapping gives every combination of its values, in which the last key
// varies fastest. A list gives its entries.
func TestSweepNames(t *testing.T) {
	for sweep, want := range map[string]string{
		"{model.hidden: [[32, 32], [64, 64]], loss.beta: [0, 0.5]}": "drone/hidden=32-32,beta=0 " +
			"drone/hidden=32-32,beta=0.5 " +
			"drone/hidden=64-64,beta=0 drone/hidden=64-64,beta=0.5",
		"{dsp.segments: [4, 8], optimizer.epochs: 50}": "drone/segments=4,epochs=50 drone/segments=8,epochs=50",
		"[{}, {loss.beta: 1, hidden: [8, 8]}]":         "drone/default drone/beta=1,hidden=8-8",
		"{train.model.hidden: [8, [4, 4]]}":            "drone/hidden=8 drone/hidden=4-4",
		"{simulate.seed: [1, 2], model.feedback: [flag, constant]}": "drone/seed=1,feedback=flag " +
			"drone/seed=1,feedback=constant drone/seed=2,feedback=flag drone/seed=2,feedback=constant",
		"{ingest.simulate.rate_hz: [8000, 9000], train.model.dropout: [0, 0.2]}": "drone/rate_hz=8000,dropout=0 " +
			"drone/rate_hz=8000,dropout=0.2 drone/rate_hz=9000,dropout=0 drone/rate_hz=9000,dropout=0.2",
	} {
		assert.Equal(t, want, sweepNames(t, sweep), "%s", sweep)
	}
}

// Results are kept under the settings that they depend on.
func TestSweepOwners(t *testing.T) {
	f, err := Parse("pipeline.yaml", []byte(sweepFile("{loss.beta: [0, 1], dsp.segments: [4, 16]}")))
	require.NoError(t, err)

	e := f.Experiments[3] // the last: beta 1 and 16 segments
	assert.Equal(t, "drone", e.Owner("simulate"))
	assert.Equal(t, "drone", e.Owner("ingest"))
	assert.Equal(t, "drone/segments=16", e.Owner("dsp"))
	assert.Equal(t, "drone/beta=1,segments=16", e.Owner("train"))
	assert.Equal(t, "drone", e.Family())

	assert.Equal(t, 1.0, e.Train.Loss.Beta)
	assert.Equal(t, 16, e.DSP.Segments)
	assert.Equal(t, 2, e.Train.Seeds)
	assert.Equal(t, "simulated", e.Ingest.Data)
}

// A fault is placed where the sweep is written, or where the experiment is, once.
func TestSweepFaults(t *testing.T) {
	for _, c := range []struct{ sweep, want string }{
		{"{model.hiden: [8]}", "10:13: experiments.drone.sweep.model.hiden: unknown key; did you mean \"model.hidden\"?"},
		{"{betta: [8]}", "10:13: experiments.drone.sweep.betta: unknown key; did you mean \"beta\"?"},
		{"{seed: [1, 2]}", "10:13: experiments.drone.sweep.seed: expected a key of the experiment, found the end of " +
			"several: " +
			"ingest.simulate.seed, dsp.seed, train.seed; write more of it"},
		{"{train.seeds: [1, 2]}", "10:13: experiments.drone.sweep.train.seeds: train.seeds cannot be varied: seeds are " +
			"compared pair by pair"},
		{"{loss.beta: [0, x]}", "10:28: experiments.drone/beta=x.train.loss.beta: expected a number, found the text \"x\""},
		{"{loss.beta: [0, 2]}", "10:28: experiments.drone/beta=2.train.loss.beta: expected"},
		{"{loss.beta: [1, 1.0]}", "are the same; leave one out"},
		{
			"[{epochs: 4, beta: 1}, {beta: 1, epochs: 4}]",
			"\"drone/epochs=4,beta=1\" and \"drone/beta=1,epochs=4\" are the same; leave one out",
		},
		{"[{}, {segments: 8}]", "\"drone/default\" and \"drone/segments=8\" are the same; leave one out"},
		{"{loss.beta: []}", "expected at least one value, found an empty list"},
		{"{}", "expected keys with the values to try"},
		{"[{}]", "expected keys with the values to try"},
		{"{loss.beta: 0.5}", "10:12: experiments.drone.sweep: expected two variants or more, found one; add a value, or " +
			"write train.loss.beta into the experiment and leave the sweep out"},
		{"[{batch: 8, epochs: 3}]", "expected two variants or more, found one"},
		{"[3]", "expected the settings of a variant, e.g. {loss.beta: 0.5}, found 3"},
		{"{model: [{dropout: 0.1}]}", "expected a value, or a list of numbers or names, found a mapping; vary the keys of a"},
		{"{ingest.rate_hz: [1, 2], optimizer.learning_rate: [0.1/2]}", "because a folder is named after it, found \"0.1/2\""},
		{"{loss.beta: [0, 1], beta: [0, 1]}", "train.loss.beta is varied twice"},
		{
			"{batch: [" + strings.Repeat("1, ", 20) + "1], epochs: [" + strings.Repeat("1, ", 20) + "1]}",
			"expected up to 200 variants, found at least 441",
		},
	} {
		_, err := Parse("pipeline.yaml", []byte(sweepFile(c.sweep)))
		assert.ErrorContains(t, err, c.want)
	}

	text := strings.Replace(sweepFile("{loss.beta: [0, 1]}"), "sweep:", "select:", 1)
	_, err := Parse("pipeline.yaml", []byte(text))
	require.Error(t, err, "select without a sweep is taken")
}

// A fault that all three variants share is reported once, at its place in the file.
func TestSweepFaultOfExperiment(t *testing.T) {
	whole := sweepFile("{loss.beta: [0, 0.5, 1]}")
	withoutTrain := whole[:strings.Index(whole, "    train:")] + whole[strings.Index(whole, "    sweep:"):]

	for _, c := range []struct{ name, text, place, message string }{
		{
			name: "seeds out of range", text: strings.Replace(whole, "seeds: 2", "seeds: 0", 1),
			place: "pipeline.yaml:8:7: experiments.drone.train.seeds: ", message: "expected 1 to 1000 seeds",
		},
		{
			name: "nothing is trained", text: withoutTrain,
			place:   "pipeline.yaml:6:5: experiments.drone.sweep: ",
			message: "varies train.loss.beta of an experiment that trains nothing",
		},
	} {
		_, err := Parse("pipeline.yaml", []byte(c.text))
		require.Error(t, err, "%s", c.name)
		assert.True(t, strings.HasPrefix(err.Error(), c.place), "%s: %v", c.name, err)
		assert.Equal(t, 1, strings.Count(err.Error(), c.message), "%s: %v", c.name, err)
	}
}

// A sweep over two keys has one variant for each combination of their values. Each variant has the values that its name
// states, and no two variants share a name.
func TestSweepIsFactorial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epochs := rapid.SliceOfNDistinct(rapid.IntRange(1, 999), 1, 5, rapid.ID[int]).Draw(t, "epochs")

		batch := rapid.SliceOfNDistinct(rapid.IntRange(2, 99), 1, 5, rapid.ID[int]).Draw(t, "batch")
		if len(epochs)*len(batch) == 1 {
			batch = append(batch, 100)
		}

		sweep := strings.ReplaceAll(fmt.Sprintf("{epochs: %v, batch: %v}", epochs, batch), " ", ", ")
		sweep = strings.NewReplacer(":,", ":", "],,", "],").Replace(sweep)
		f, err := Parse("pipeline.yaml", []byte(sweepFile(sweep)))
		require.NoError(t, err)

		seen := map[string]bool{}
		for _, e := range f.Experiments {
			o := e.Train.Optimizer
			require.Equal(t, fmt.Sprintf("drone/epochs=%d,batch=%d", o.Epochs, o.Batch), e.Name,
				"has epochs %d, batch %d", o.Epochs, o.Batch)

			seen[e.Name] = true
		}

		require.Len(t, f.Experiments, len(epochs)*len(batch), "variants")
		require.Len(t, seen, len(epochs)*len(batch), "distinct names")
	})
}
