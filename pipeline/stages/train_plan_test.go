package stages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/table/tabletest"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/train/holdout"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plannedTrain plans the stage for the rotor's triplets.
func plannedTrain(t *testing.T, train string) *stageTest {
	t.Helper()

	b := newStageTest(t, train, tabletest.MustParse(t, rotor))
	_, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	require.NoError(t, b.Tasks.Plan.Check())

	return b
}

// valueOf returns a setting of a task's key, or "" if the key does not have it.
func valueOf(list []kv.Pair, key string) string {
	for _, p := range list {
		if p.Key == key {
			return p.Value
		}
	}

	return ""
}

// Each split has a task per seed, a task per method and seed, and one that calibrates on left-out groups. All of them
// read the triplets alone.
func TestPlanTasks(t *testing.T) {
	b := plannedTrain(t, "{inputs: [rpm, blades], seeds: 2, compare: [constant], splits: "+
		"{two: {test: {blades: 2}}, corner: {test: {blades: 2, rpm: {max: 2000}}}}}")

	var got []string
	for _, k := range b.Tasks.Plan.Tasks[2:] {
		got = append(got, k.ID)

		assert.Equal(t, "train", k.Stage, "%s", k.ID)
		assert.Equal(t, "x", k.Experiment, "%s", k.ID)
		require.Len(t, k.Deps, 1, "%s", k.ID)
		assert.Equal(t, "x/triplets", k.Deps[0].Task, "%s", k.ID)

		assert.Equal(t, strings.Split(k.ID, "/")[2], k.Split, "%s belongs to split", k.ID)

		if !strings.HasSuffix(k.ID, "/seed-1") || strings.Contains(k.ID, "constant") {
			continue
		}

		var paths []string
		for _, l := range k.Publish {
			paths = append(paths, l.Path)
		}

		dir := "x/splits/" + k.Split + "/seed-1/"
		want := []string{
			dir + "model.json", dir + "card.json", dir + "diagnostics.json", dir + "history.arrow", dir + "predictions.arrow",
		}
		assert.Equal(t, want, paths, "%s publishes", k.ID)
	}

	want := []string{
		"x/train/two/seed-0", "x/train/two/seed-1", "x/train/two/constant/seed-0", "x/train/two/constant/seed-1",
		"x/train/two/honest",
		"x/train/corner/seed-0", "x/train/corner/seed-1", "x/train/corner/constant/seed-0",
		"x/train/corner/constant/seed-1", "x/train/corner/honest",
	}

	assert.Equal(t, want, got)
}

// Without inputs nothing is trained.
func TestPlanWithoutInputs(t *testing.T) {
	b := newStageTest(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", nil)
	b.Train.Inputs = nil
	_, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)
	assert.Empty(t, b.Tasks.Plan.Tasks)
}

// Every training has a seed of its own, derived from its name. The values come from an implementation of FNV-1a in
// Python, for "7 NUL purpose NUL number".
func TestSeeds(t *testing.T) {
	b := plannedTrain(t, "{inputs: [rpm], seed: 7, seeds: 2, compare: [constant], splits: {s: {test: {blades: 2}}}}")
	want := map[string]string{
		"x/train/s/seed-0": "6205285904651141920", "x/train/s/seed-1": "6205287004162770131",
		"x/train/s/constant/seed-0": "12486845637608496021",
	}

	got := map[string]string{}
	for _, k := range b.Tasks.Plan.Tasks {
		if seed := valueOf(k.Local, "seed"); seed != "" {
			got[k.ID] = seed
		}
	}

	for id, seed := range want {
		assert.Equal(t, seed, got[id], "%s", id)
	}

	assert.Equal(t, uint64(17998474354917059471), estimateSeed(b.Experiment, 1), "seed of the estimate")
}

// A setting changes the keys of the tasks that depend on it, and no others. Letters stand for the tasks: n for the
// network, m for a method that is not an ensemble, e for the ensemble, h for the calibration on left-out groups.
func TestTrainKeys(t *testing.T) {
	const base = "{inputs: [rpm, blades], seeds: 1, compare: [constant, ensemble], " +
		"optimizer: {epochs: 50}, estimate: {samples: 8}, loss: {pairs: swap}, model: {dropout: 0.1}, " +
		"honest: {level: 0.9}, members: 3, seed: 1, splits: {s: {test: {blades: 2}}}}"
	before := plannedTrain(t, base).Keys()
	kind := map[string]string{
		"x/train/s/seed-0": "n", "x/train/s/constant/seed-0": "m", "x/train/s/ensemble/seed-0": "e", "x/train/s/honest": "h",
	}
	changed := func(after map[string]string) string {
		letters := ""
		for _, id := range slices.Sorted(maps.Keys(before)) {
			if after[id] != before[id] {
				letters += kind[id]
			}
		}

		return letters
	}

	for _, c := range []struct{ old, change, want string }{
		{"epochs: 50", "epochs: 51", "men"},
		{"dropout: 0.1", "dropout: 0.2", "men"},
		{"inputs: [rpm, blades]", "inputs: [rpm]", "mehn"},
		{"samples: 8", "samples: 16", "n"},
		{"pairs: swap", "pairs: plain", "n"},
		{"dropout: 0.1", "dropout: 0.1, feedback: flag", "n"},
		{"level: 0.9", "level: 0.8", "h"},
		{"members: 3", "members: 4", "e"},
		{"seed: 1", "seed: 2", "men"},
		{"{blades: 2}", "{blades: 3}", "mehn"},
		// Further tasks leave the keys of the present ones as they are.
		{"seeds: 1", "seeds: 3", ""},
		{"constant, ensemble", "constant, ensemble, gp", ""},
		{"s: {test: {blades: 2}}", "s: {test: {blades: 2}}, t: {test: {blades: 3}}", ""},
	} {
		require.Contains(t, base, c.old, "%v", c.old)

		after := plannedTrain(t, strings.Replace(base, c.old, c.change, 1)).Keys()
		assert.Equal(t, c.want, changed(after), "%q: tasks change", c.change)
	}

	for _, c := range []struct {
		what   string
		change func(*stageTest)
		want   string
	}{
		{"the program's version", func(b *stageTest) { b.Program.Version = "v2" }, ""},
		{"the kernels", func(b *stageTest) { b.Program.Kernels = "avx2" }, "mehn"},
		{"couples", func(b *stageTest) { b.DSP.Couples = true }, "men"},
		{"simulated data", func(b *stageTest) { b.Ingest.Data = "simulated" }, "mehn"}, // their tables state it
	} {
		b := newStageTest(t, base, tabletest.MustParse(t, rotor))
		c.change(b)

		_, err := planTrain(b.Experiment, b.Ing, b.Trip)
		require.NoError(t, err)

		assert.Equal(t, c.want, changed(b.Keys()), "%s: tasks change", c.what)
	}
}

// A split of the command line is added if the experiment has its conditions, unless a split of the experiment holds
// out the same rows.
func TestExtraSplits(t *testing.T) {
	b := newStageTest(t, "{inputs: [rpm], seeds: 1, splits: {two: {test: {blades: 2}}}}", tabletest.MustParse(t, rotor))
	b.Asked = []config.Split{
		{Name: "rpm=5000", Test: holdout.Values("rpm", 5000)},
		{Name: "alpha_deg=3", Test: holdout.Values("alpha_deg", 3)}, // another experiment's
		{Name: "two", Test: holdout.Values("blades", 2)},
	}

	before := b.Train.Splits

	r, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)
	assert.Equal(t, "two: blades = 2; rpm=5000: rpm = 5000", taskNames(r.Splits))

	assert.Equal(t, []bool{true, false, true}, r.Fits)
	assert.Len(t, before, 1, "the splits of the configuration are unchanged")

	assert.Equal(t, "x/train/rpm=5000/seed-0", b.Tasks.Plan.Tasks[4].ID, "task")
}

// A method of seven networks has seven times the weight of one network.
func TestWeight(t *testing.T) {
	b := plannedTrain(t, "{inputs: [rpm], seeds: 1, members: 7, compare: [constant, ensemble], "+
		"splits: {s: {test: {blades: 2}}}}")

	weight := map[string]float64{}
	for _, k := range b.Tasks.Plan.Tasks {
		weight[k.ID] = k.Weight
	}

	one := weight["x/train/s/seed-0"]
	assert.Positive(t, one)
	assert.Equal(t, one, weight["x/train/s/constant/seed-0"])
	assert.Equal(t, 7*one, weight["x/train/s/ensemble/seed-0"])
}
