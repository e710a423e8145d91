package pipeline_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"doubletake/pipeline/config"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// editWords and editNumbers are values for random edits of keys. The words are names of columns and conditions of the
// projects, patterns, files and uncertainties.
var (
	editNumbers = []any{0, 1, 2, 3, 4, 8, 0.1, 0.2, 0.25, 0.5, 10, 20, 94, 1000}
	editNames   = []string{"a", "b", "p", "thing", "alpha_deg", "n", "rpm", "blades", "x"}
	editWords   = append(slices.Clone(editNames), "1", "other words", "data/*", "log.csv", "data/*1*", "z/2",
		"0.2", "0.25", "u 0.1", "u 0.2", "1%", "A", "day", "data/force_a0_n1.csv")
)

// likelyEdits are edits by kind of project, a key with its value. A random value would hardly ever be one of them, or
// would not go together with other keys.
var likelyEdits = map[string][]string{
	"table": {
		"ingest.within {b: 0.2}", "ingest.within {b: 0.25}", "ingest.within {b: 0.2, a: 0.1}", "ingest.derive {c: a*2}",
		"ingest.derive {c: 2*a}", "ingest.derive {c: a + a, d: b/a}", "ingest.things [thing]",
		"ingest.table.file data/t*.csv",
		"ingest.table.file [data/t0.csv, data/t1.csv]", "ingest.exclude [data/t3.csv]",
		"ingest.exclude [data/t4.csv, data/nothing]",
		"ingest.uncertainty {p: u 0.2}", "ingest.text.columns [a, b, p1, p2, q1, q2, thing]", "ingest.occasions [thing]",
		"train.splits {s: {test: {a: 2}}}", "train.splits {t: {test: {a: 1}}}", "train.splits {s: {each: a}}",
		"train.splits {s: {test: {thing: x}}}", "train.splits {s: {test: {a: 1}}, all: {test: none}}",
		"train.honest {base: gp}",
		"train.honest {base: pair}", "train.calibration 0.3",
		"ingest.table.units {p: N}", "ingest.table.units {p: kN}", "train.seeds 2", "sweep {train.loss.beta: [0, 0.5]}",
		"sweep {dsp.couples: [true, false]}", "about {description: words}", "about {description: other words}",
		"dsp.couples true", "train.splits {s: {random: 0.3}}",
	},
	"force": {
		"ingest.files data/force*.csv", "ingest.files [data/force_a0*.csv, data/force_a2*.csv]", "ingest.exclude data/*a4*",
		"ingest.exclude data/nothing", "ingest.columns {lift_n: Fz}", "ingest.columns {lift_n: Fx, drag_n: Fz}",
		"ingest.pattern force_a{alpha_deg}_n{m}.csv", "ingest.truncated use", "ingest.format text", "ingest.units {Fz: N}",
		"ingest.derive {c: alpha_deg*2}", "ingest.derive {c: 2*alpha_deg}", "ingest.derive {cr: cl/cd}",
		"ingest.uncertainty {chord_m: u 0.001}", "ingest.uncertainty {chord_m: u 0.002}", "ingest.within {alpha_deg: 0.2}",
		"ingest.within {alpha_deg: 0.25}", "dsp.triplets random-samples", "dsp.triplets repeats", "dsp.density_kg_m3 1.3",
		"train.splits {s: {test: {alpha_deg: 4}}}", "train.splits {t: {test: {alpha_deg: 2}}}", "ingest.axes body",
		"train.honest {base: gp}", "ingest.on_bad_recording skip", "ingest.constants {k: 2}", "ingest.data simulated",
		"train.splits {s: {each: alpha_deg}}", "sweep {dsp.chord_m: [0.1, 0.2]}", "ingest.balance {blockage: none}",
	},
	"sound": {
		"ingest.files data/r*.wav", "ingest.format wav", "ingest.exclude data/r5.wav",
		"ingest.truncated use", "ingest.channels [1]",
		"ingest.calibration {unit: Pa}", "ingest.calibration {pa_per_unit: 2}", "dsp.harmonics 3", "dsp.within {rpm: 10}",
		"dsp.within {rpm: 20}", "dsp.triplets repeats", "dsp.triplets split-half-bands",
		"dsp.window hamming", "dsp.output power",
		"ingest.within {rpm: 0.2}", "ingest.within {rpm: 0.25}", "ingest.derive {c: rpm/60}", "ingest.derive {c: rpm / 60}",
		"train.splits {s: {test: {rpm: 5000}}}", "train.splits {t: {test: {rpm: 4000}}}", "train.honest {base: gp}",
		"ingest.uncertainty {rpm: u 10}", "ingest.log.ignore [x]", "ingest.theta_from axis", "dsp.overall_hz [20, 1000]",
		"dsp.bands_per_octave 3", "ingest.data simulated", "dsp.outcomes [levels]", "dsp.couples true",
	},
	"toy": {
		"ingest.simulate {campaign: toy, triplets: 60}",
		"ingest.simulate {campaign: toy, triplets: 40, seed: 2}", "train.seeds 2",
		"train.seeds 3", "train.calibration 0.3",
		"train.splits {s: {test: {x: {min: 3}}}}", "train.splits {t: {test: {x: {min: 2, max: 4}}}}",
		"train.splits {s: {test: {x: {min: 3}}}, all: {test: none}}", "train.honest {base: gp}", "dsp.couples true",
		"sweep {train.loss.beta: [0, 0.5]}", "sweep {train.loss.beta: [0.5, 1]}", "select {by: crps}",
		"train.model.dropout 0.1",
	},
}

// pick returns a random element.
func (p *editedProject) pick(list []string) string { return list[p.rng.IntN(len(list))] }

// word returns a random word for a key: one of its choices if it has any.
func (p *editedProject) word(k config.Key) any {
	if len(k.Choices) > 0 {
		return p.pick(k.Choices)
	}

	return p.pick(editWords)
}

// number returns a random number.
func (p *editedProject) number() any { return editNumbers[p.rng.IntN(len(editNumbers))] }

// list returns one or two random values.
func (p *editedProject) list(value func() any) []any {
	var list []any
	for range 1 + p.rng.IntN(2) {
		list = append(list, value())
	}

	return list
}

// value returns a random value of the type of a key, and nil for types that it does not know.
func (p *editedProject) value(k config.Key) any {
	switch k.Type {
	case "text":
		return p.word(k)
	case "number", "whole number":
		return p.number()
	case "true or false":
		return p.rng.IntN(2) == 0
	case "list of texts":
		return p.list(func() any { return p.word(k) })
	case "list of numbers", "list of whole numbers":
		return p.list(p.number)
	case "names with texts":
		return map[string]any{p.pick(editNames): p.word(k)}
	case "names with numbers", "held-out conditions":
		return map[string]any{p.pick(editNames): p.number()}
	}

	return nil
}

// edit changes one thing at random and returns its description, which begins with "key", "name", "file" or "log".
// Of 20 edits, nine set a key to one of likelyEdits, five set a random key, one renames or copies an experiment, and
// five change files or the log. A project without files has the first three kinds only.
func (p *editedProject) edit(t *testing.T) string {
	t.Helper()

	names := slices.Sorted(maps.Keys(p.experiments()))
	experiment := p.pick(names)
	files, err := filepath.Glob(filepath.Join(p.dir, "data", "*"))
	require.NoError(t, err)

	kinds := 20
	switch {
	case p.kind == "toy": // it has no files: only its keys and its names are edited
		kinds = 15
	case len(files) == 0:
		p.writeData(t, 0)
		return "file written"
	}

	switch n := p.rng.IntN(kinds); {
	case n < 9:
		edit := p.pick(likelyEdits[p.kind])
		path, value := parseEdit(t, edit)
		p.setKey(experiment, path, value)

		return "key " + edit
	case n < 14:
		return p.editRandomKey(experiment)
	case n == 14:
		return p.renameOrCopy(t, experiment)
	case n == 15 && p.rng.IntN(2) == 0:
		require.NoError(t, os.Remove(p.pick(files)))
		return "file removed"
	case n == 16:
		path := p.pick(files)
		name := string('a'+rune(p.rng.IntN(26))) + filepath.Base(path)
		require.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(path), name)))
		return "file renamed"
	case n == 17:
		path := p.pick(files)
		p.flipBit(t, path, p.rng.IntN(8))
		return "file " + filepath.Base(path) + " changed"
	case n == 18:
		p.repeatCondition(t)
		return "log changed"
	default:
		p.writeData(t, p.rng.IntN(8))
		return "file written"
	}
}

// editRandomKey gives a random key of an experiment a random value, or removes it once in five times.
func (p *editedProject) editRandomKey(experiment string) string {
	const prefix = "experiments.<name>."
	keys := slices.DeleteFunc(config.Keys(), func(k config.Key) bool {
		return !strings.HasPrefix(k.Path, prefix) || p.value(k) == nil
	})
	key := keys[p.rng.IntN(len(keys))]
	path := strings.Replace(strings.TrimPrefix(key.Path, prefix), "<name>", "s", 1) // the split is called s

	value := p.value(key)
	if p.rng.IntN(5) == 0 {
		value = nil
	}

	p.setKey(experiment, path, value)

	return fmt.Sprintf("key %s %v", path, value)
}

// renameOrCopy gives an experiment another name, or adds a copy of it under that name.
func (p *editedProject) renameOrCopy(t *testing.T, experiment string) string {
	t.Helper()

	name := p.pick([]string{"e", "f", "g"})
	b, err := yaml.Marshal(p.experiments()[experiment])
	require.NoError(t, err)

	if p.rng.IntN(2) == 0 {
		delete(p.experiments(), experiment)
	}

	var copied map[string]any
	require.NoError(t, yaml.Unmarshal(b, &copied))

	p.experiments()[name] = copied

	return fmt.Sprintf("name %s: %s, %d experiments", experiment, name, len(p.experiments()))
}

// flipBit changes the given bit of a random byte of a file, which may be read-only. An empty file stays as it is.
func (p *editedProject) flipBit(t *testing.T, path string, bit int) {
	t.Helper()

	content := testfile.Read(t, path)
	if len(content) > 0 {
		content[p.rng.IntN(len(content))] ^= 1 << bit
	}

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o644))
	require.NoError(t, os.WriteFile(path, content, 0o644))
	require.NoError(t, os.Chmod(path, info.Mode()))
}

// repeatCondition inserts a random line of log.csv at a random place of it.
func (p *editedProject) repeatCondition(t *testing.T) {
	t.Helper()

	lines := strings.SplitAfter(string(testfile.Read(t, filepath.Join(p.dir, "log.csv"))), "\n")
	place := p.rng.IntN(len(lines))
	line := p.pick(lines)
	write(t, p.dir, "log.csv", strings.Join(slices.Insert(lines, place, line), ""))
}

// exchange exchanges two files.
func exchange(t *testing.T, a, b string) {
	t.Helper()

	aside := a + "-"
	require.NoError(t, os.Rename(a, aside))
	require.NoError(t, os.Rename(b, a))
	require.NoError(t, os.Rename(aside, b))
}

// filesBelow returns the paths of all files below a folder, which may be missing.
func filesBelow(dir string) []string {
	var files []string
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}

		return nil
	})

	return files
}
