package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/internal/testfile"
	"doubletake/pipeline/engine/job"
)

// Every testdata/NAME.bad.yml must give the messages of NAME.bad.txt, written
// by hand from the fault stated in the file's comment.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 5, "found %d bad files", len(files))

	for _, p := range files {
		t.Run(filepath.Base(p), func(t *testing.T) {
			want := testfile.Read(t, strings.TrimSuffix(p, "yml")+"txt")

			b := testfile.Read(t, p)

			_, err := Parse("pipeline.yaml", b)
			require.Error(t, err)

			assert.Equal(t, string(want), err.Error()+"\n")
		})
	}
}

// The names of the ends of an interval are not conditions, each alone and together. The names are those of columns of
// the table conditions.
func TestInsideNamesNoIntervals(t *testing.T) {
	for inside, found := range map[string]string{
		"row0: q": "(row0)", "row1: q": "(row1)", "t0_s: q, rpm: speed": "(t0_s)", "t1_s: r, t0_s: q": "(t0_s, t1_s)",
		"row0: q, row1: r": "(row0, row1)", "rpm: speed": "",
	} {
		text := "version: 1\nexperiments:\n  b:\n    ingest: {files: \"*.npz\", inside: {" + inside + "}}\n" +
			"    dsp: {triplets: split-halves}\n"
		_, err := Parse("pipeline.yaml", []byte(text))
		if found == "" {
			require.NoError(t, err, inside)
			continue
		}

		assert.ErrorContains(t, err, "experiments.b.ingest.inside: expected conditions, found the ends of an interval "+
			found, inside)
	}
}

const good = `version: 1
experiments:
  drone:
    ingest:
      files: [a/*.wav, "007.wav"]
      conditions: 2023_04_11
      calibration: {full_scale_v: 10, reading: peak, sensitivity_v_per_pa: 0.05}
    dsp: {triplets: split-half-spectrum}
    train:
      inputs: [blades, rpm]
      optimizer: {learning_rate: 1e-3, epochs: 10}
      splits:
        a: {test: {blades: 2}}
        b: {test: {blades: [2, 3], rpm: {min: 3000}}}
        c: {test: {u_inf_m_s: {near: 4.7, within: 0.1}}}
        d: {test: {propeller: APC-8x6, rpm: 3000}}
        e: {test: {day: [2023-04-11, "2023_04_12"], flaps: "7"}}
`

func TestGood(t *testing.T) {
	f, err := Parse("x/pipeline.yaml", []byte(good))
	require.NoError(t, err)

	e := f.Experiments[0]

	// Text that YAML 1.1 takes for numbers must stay as written.
	require.Equal(t, "2023_04_11", e.Ingest.Conditions, "text changed")
	assert.Equal(t, "007.wav", e.Ingest.Files[1], "text changed")

	require.Equal(t, 32, e.Train.Optimizer.Batch, "defaults are missing where other keys are given")
	require.Equal(t, 0.03, e.DSP.Tolerance, "defaults are missing where other keys are given")
	assert.True(t, e.Train.Standardise, "defaults are missing where other keys are given")

	for i, want := range []string{
		"blades = 2", "blades = 2, 3 and rpm ≥ 3000", "u_inf_m_s = 4.7 ± 0.1", "propeller = APC-8x6 and rpm = 3000",
		"day = 2023-04-11, 2023_04_12 and flaps = 7",
	} {
		assert.Equal(t, want, e.Train.Splits[i].Test.String(), "rule %d", i)
	}

	assert.Equal(t, []string{"day", "flaps"}, e.Train.Splits[4].Test.Labels(), "names")

	for _, test := range []string{
		`{random: most}`, `{propeller: ""}`, `{propeller: [A, ""]}`, `{propeller: [A, {min: 3}]}`,
	} {
		text := strings.Replace(good, "{blades: 2}", test, 1)
		_, err := Parse("pipeline.yaml", []byte(text))
		assert.ErrorContains(t, err, ".splits.a.test.")
	}

	assert.Equal(t, filepath.Join("x", "runs"), f.Resolve("runs"), "paths do not start at the file's folder")
}

// Flatten lists an optional section only if the experiment has it: dsp.track is listed, dsp.distance is not.
func TestFlatten(t *testing.T) {
	e := defaultExperiment()
	e.DSP.Track = &dsp.Track{RangeHz: []float64{250, 500}}

	var got []string
	for _, kv := range Flatten("dsp", e.DSP) {
		if strings.HasPrefix(kv.Key, "dsp.track") || strings.HasPrefix(kv.Key, "dsp.distance") || kv.Key == "dsp.tolerance" {
			got = append(got, kv.Key+"="+kv.Value)
		}
	}

	assert.Equal(t, []string{"dsp.tolerance=0.03", "dsp.track.range_hz=[250, 500]"}, got)
}

// For any input, Parse returns a file or Errors, and Flatten takes each experiment.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("version: 3.7\nexperiments: {x: {train: {splits: {a: {test: {b: {near: .nan}}}}}}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := Parse("f.yaml", b); err == nil {
			for _, e := range file.Experiments {
				Flatten("", e)
			}
		} else {
			require.IsType(t, Errors{}, err)
		}
	})
}

// compare: all takes the methods that the network's settings suffice for.
func TestCompareAll(t *testing.T) {
	const text = "version: 1\nexperiments:\n  x:\n    ingest: {simulate: {campaign: toy}}\n    train:\n" +
		"      inputs: [x]\n      splits: {right: {test: {x: {min: 3}}}}\n      "
	f, err := Parse("p.yaml", []byte(text+"compare: all\n"))
	require.NoError(t, err)

	got := f.Experiments[0].Train.Compare
	assert.Contains(t, got, "ensemble")
	assert.GreaterOrEqual(t, len(got), 5, "all: %v", got)

	for add, want := range map[string]string{
		"compare: [all, gp]\n": "alone",
		"compare: [gp, hmc]\n": `expected some of`,
	} {
		_, err := Parse("p.yaml", []byte(text+add))
		assert.ErrorContains(t, err, want)
	}
}

// Every key is documented, and the schema knows exactly the keys the decoder takes.
func TestSchemaAndKeys(t *testing.T) {
	var paths []string
	for _, k := range Keys() {
		assert.NotEmpty(t, k.Doc, "documentation of %s", k.Path)
		assert.NotEmpty(t, k.Type, "type of %s", k.Path)
		paths = append(paths, k.Path)
	}

	assert.ElementsMatch(t, paths, slices.Collect(maps.Keys(schemasOfKeys(Schema()))))
}

// The schema of a key states the default that the reference states, or none. Expected: the defaults of the reference.
func TestSchemaHasDefaults(t *testing.T) {
	schemas := schemasOfKeys(Schema())
	for _, key := range Keys() {
		text := ""
		value, isStated := schemas[key.Path]["default"]
		switch v := reflect.ValueOf(value); {
		case !isStated:
		case v.Kind() == reflect.Slice:
			text = canonicalList(v)
		default:
			text = canonical(v)
		}

		assert.Equal(t, key.Default, text, key.Path)
	}
}

// A row of a matrix is also a list of rows of one number, so that [1, 2] has two forms. Expected: the schema allows
// several forms of a matrix at once, as the decoder does, and exactly one form of a list of texts.
func TestSchemaOfMatrices(t *testing.T) {
	matrix := schemaOf("", reflect.ValueOf([][]float64(nil)))
	assert.Len(t, matrix["anyOf"], 2, "a matrix")
	list := schemaOf("", reflect.ValueOf([]string(nil)))
	assert.Len(t, list["oneOf"], 2, "a list of texts")
}

// schemasOfKeys returns the schema of each key in a JSON Schema, by the dotted path of the key.
func schemasOfKeys(schema map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}

	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		forms, _ := schema["oneOf"].([]any)
		for _, form := range forms {
			walk(path, form.(map[string]any))
		}

		if named, ok := schema["additionalProperties"].(map[string]any); ok && named["properties"] != nil {
			walk(path+".<name>", named)
		}

		properties, _ := schema["properties"].(map[string]any)
		for key, property := range properties {
			below := join(path, key)
			found[below] = property.(map[string]any)
			walk(below, found[below])
		}
	}

	walk("", schema)

	return found
}

// The trainings' settings replace those of a scheduler one by one; an empty list that is written out is an empty list.
// Kubernetes has the first section that there is.
func TestJobs(t *testing.T) {
	f, err := Parse("pipeline.yaml", []byte(`version: 1
executor:
  sge: {partition: batch, time: 10, mem: 1G, setup: module load gcc}
  pbs: {partition: long}
  train: {time: 4:00:00, cpus: 2, setup: []}
experiments:
  e:
    ingest: {files: "*.wav", conditions: c.csv}
    dsp: {triplets: split-halves}
`))
	require.NoError(t, err)

	sge := job.Settings{Partition: "batch", Time: "10", Mem: "1G", Setup: []string{"module load gcc"}}
	train := job.Settings{Partition: "batch", Time: "4:00:00", Mem: "1G", CPUs: 2, Setup: []string{}}
	pbs := job.Settings{Partition: "long"}

	for name, want := range map[string]job.Settings{"sge": sge, "k8s": sge, "pbs": pbs, "slurm": {}} {
		all, trainings := f.Jobs(name)
		assert.Equal(t, want, all, "%s", name)

		if name == "sge" {
			assert.Equal(t, train, trainings)
		}
	}
}
