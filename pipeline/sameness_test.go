package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/pipeline/config"
)

// edited is a small random project, its configuration as a tree, and what is done to it.
type edited struct {
	dir  string
	rng  *rand.Rand
	file map[string]any
	kind string
	log  []string       // of edits
	done map[string]int // edits of each kind
}

const quick = `
    train:
      inputs: [%s]
      model: {hidden: [4]}
      optimizer: {epochs: 2}
      estimate: {samples: 8}
      seeds: 1
      honest: {base: none}
      splits: {s: {test: {%s}}}
`

var projects = map[string]string{
	"table": `
    ingest:
      table: {file: data/*.csv, inputs: [a, b], y1: [p1, q1], y2: [p2, q2], outcomes: [p, q], pairs: repeat-run}
      within: {b: 0.2}
      uncertainty: {p: u 0.1}` + fmt.Sprintf(quick, "a, b", "a: 1"),
	"force": `
    ingest:
      files: data/*.csv
      pattern: force_a{alpha_deg}_n{n}.csv
      columns: {lift_n: Fz, drag_n: Fx}
    dsp: {triplets: split-halves, chord_m: 0.1, span_m: 0.25, density_kg_m3: 1.2}` +
		fmt.Sprintf(quick, "alpha_deg, n", "alpha_deg: 2"),
	"sound": `
    ingest:
      files: data/*.wav
      conditions: log.csv
      calibration: {unit: full-scale}
    dsp: {triplets: split-half-spectrum, segments: 4, harmonics: 2}` + fmt.Sprintf(quick, "rpm", "rpm: 4000"),
	"toy": `
    ingest: {simulate: {campaign: toy, triplets: 40}}` + fmt.Sprintf(quick, "x", "x: {min: 2, max: 4}"),
}

func newEdited(t *testing.T, rng *rand.Rand, kind string) *edited {
	e := &edited{dir: t.TempDir(), rng: rng, kind: kind, done: map[string]int{}}
	require.NoError(t, yaml.Unmarshal([]byte("version: 1\nexperiments:\n  e:"+projects[e.kind]), &e.file))
	require.NoError(t, os.Mkdir(filepath.Join(e.dir, "data"), 0o755))

	log := "file,blades,rpm\n"
	for i := range 6 {
		e.writeData(t, i)
		log += fmt.Sprintf("r%d.wav,%d,%d\n", i, 2+i%2, 3000+1000*(i/2))
	}

	write(t, e.dir, "log.csv", log)
	e.log = append(e.log, "project "+e.kind)

	return e
}

// writeData writes the i-th file of data, with random values.
func (e *edited) writeData(t *testing.T, i int) {
	var b strings.Builder
	switch e.kind {
	case "table":
		b.WriteString("a,b,p1,p2,q1,q2,thing\n")

		for k := range 8 {
			fmt.Fprintf(&b, "%d,%.2f,%.2f,%.2f,%.2f,%.2f,%c\n", k%4, 5+5*float64(k/4)+0.1*e.rng.Float64(),
				e.rng.NormFloat64(), e.rng.NormFloat64(), e.rng.NormFloat64(), e.rng.NormFloat64(), 'x'+rune(k%2))
		}

		write(t, e.dir, fmt.Sprintf("data/t%d.csv", i), b.String())

	case "force":
		b.WriteString("t,Fx,Fz\ns,N,N\n")

		for k := range 20 {
			fmt.Fprintf(&b, "%.1f,%.3f,%.3f\n", 0.1*float64(k), e.rng.Float64(), 2+e.rng.Float64())
		}

		write(t, e.dir, fmt.Sprintf("data/force_a%d_n%d.csv", 2*(i/2), 1+i%2), b.String())

	case "sound":
		x := make([]int16, 2048)
		rev := 2 * math.Pi * float64((2+i%2)*(3000+1000*(i/2))) / 60 / 4096
		for k := range x {
			x[k] = int16(3000*math.Sin(rev*float64(k)) + 300*e.rng.NormFloat64())
		}

		w := ingesttest.PCM16(1, x...)
		w.Rate = 4096
		write(t, e.dir, fmt.Sprintf("data/r%d.wav", i), string(w.Bytes()))
	}
}

// numbers, texts and names are values for keys.
var (
	someNumbers = []string{"0", "1", "2", "3", "4", "8", "0.1", "0.2", "0.25", "0.5", "10", "20", "94", "1000"}
	someTexts   = []string{
		"a", "b", "p", "thing", "alpha_deg", "n", "rpm", "blades", "x", "1", "other words", "data/*",
		"log.csv", "data/*1*", "z/2",
		"0.2", "0.25", "u 0.1", "u 0.2", "1%", "A", "day", "data/force_a0_n1.csv",
	}
)

// value makes a value of a type of the schema.
func (e *edited) value(k config.Key) any {
	pick := func(list []string) string { return list[e.rng.IntN(len(list))] }
	text := func() any {
		if len(k.Choices) > 0 {
			return pick(k.Choices)
		}
		return pick(someTexts)
	}

	number := func() any {
		v, _ := strconv.ParseFloat(pick(someNumbers), 64)
		if v == math.Trunc(v) {
			return int(v)
		}
		return v
	}

	list := func(of func() any) (out []any) {
		for range 1 + e.rng.IntN(2) {
			out = append(out, of())
		}
		return out
	}

	switch k.Type {
	case "text":
		return text()
	case "number", "whole number":
		return number()
	case "true or false":
		return e.rng.IntN(2) == 0
	case "list of texts":
		return list(text)
	case "list of numbers", "list of whole numbers":
		return list(number)
	case "names with texts":
		return map[string]any{pick(someTexts[:9]): text()}
	case "names with numbers":
		return map[string]any{pick(someTexts[:9]): number()}
	case "held-out conditions":
		return map[string]any{pick(someTexts[:9]): number()}
	}

	return nil
}

// set gives a key a value, or takes it away where the value is nil.
func (e *edited) set(experiment, path string, v any) {
	at := e.file["experiments"].(map[string]any)[experiment].(map[string]any)

	parts := strings.Split(path, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[p] = next
		}

		at = next
	}

	if v == nil {
		delete(at, parts[len(parts)-1])
	} else {
		at[parts[len(parts)-1]] = v
	}
}

// useful are edits of keys that go together or whose values a random text never is.
var useful = map[string][]string{
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

// edits of one key, as people make them; | is between edits of the same key, one after the other.
var edits = map[string][]string{
	"table": {
		"ingest.within {b: 0.25}", "ingest.table.file data/t*.csv", "ingest.uncertainty {p: u 0.2}",
		"ingest.derive {c: a*2} | ingest.derive {c: 2*a} | ingest.derive {c: a + a}",
		"ingest.exclude [data/t3.csv] | ingest.exclude [data/t3.csv, data/t4.csv] | ingest.exclude [data/t3*, data/t4*]",
		"ingest.text.columns [a, b, p1, p2, q1, q2, thing]", "ingest.table.units {p: N} | ingest.table.units {p: kN}",
		"train.splits {t: {test: {a: 1}}}", "about {description: words} | about {description: other words}",
	},
	"force": {
		"ingest.files data/force*.csv", "ingest.truncated use", "ingest.format text", "ingest.units {drag_n: N}",
		"ingest.columns {lift_n: Fx, drag_n: Fz}",
		"ingest.uncertainty {chord_m: u 0.001} | ingest.uncertainty {chord_m: u 0.002}",
		"ingest.derive {c: n*2} | ingest.derive {c: 2*n}", "train.splits {t: {test: {alpha_deg: 2}}}",
		"ingest.within {alpha_deg: 0.2} | ingest.within {alpha_deg: 0.25}", "ingest.exclude data/*a4_n1*",
	},
	"sound": {
		"ingest.files data/r*.wav", "ingest.truncated use", "ingest.format wav", "ingest.channels [1]",
		"ingest.exclude data/r5.wav | ingest.exclude [data/r5*]", "train.splits {t: {test: {rpm: 4000}}}",
		"ingest.derive {c: rpm/60} | ingest.derive {c: rpm / 60}", "dsp.within {rpm: 10} | dsp.within {rpm: 20}",
	},
}

// After each of these edits a run gives byte for byte what a fresh folder gives.
func TestEdits(t *testing.T) {
	longtest.Skip(t, "runs three projects 100 times")

	for kind, list := range edits {
		e := newEdited(t, rand.New(rand.NewPCG(54, 1)), kind)
		if kind == "force" {
			e.set("e", "ingest.constants", map[string]any{"u_inf_m_s": 10})
		}

		base := e.save(t)
		assert.Empty(t, first(e.same(t)), "%s as it is", kind)

		for _, one := range list {
			for _, text := range strings.Split(one, " | ") {
				key, text, _ := strings.Cut(text, " ")

				var v any
				require.NoError(t, yaml.Unmarshal([]byte(text), &v))
				e.set("e", key, v)
				e.save(t)

				if failure, _, difference := e.same(t); failure != "" || difference != "" {
					t.Errorf("%s, %s %s: %s, %s", kind, key, text, failure, difference)
				}
			}

			e.file = nil
			require.NoError(t, yaml.Unmarshal(base, &e.file))
		}
	}
}

func first(failure string, _ bool, difference string) string { return failure + difference }

// edit changes one thing. It reports what.
func (e *edited) edit(t *testing.T) string {
	experiments := slices.Sorted(maps.Keys(e.file["experiments"].(map[string]any)))
	name := experiments[e.rng.IntN(len(experiments))]
	files, err := filepath.Glob(filepath.Join(e.dir, "data", "*"))
	require.NoError(t, err)

	some := func() string { return files[e.rng.IntN(len(files))] }
	if len(files) == 0 {
		e.writeData(t, 0)
		return "file written"
	}

	switch k := e.rng.IntN(20); {
	case k < 9:
		list := useful[e.kind]
		key, text, _ := strings.Cut(list[e.rng.IntN(len(list))], " ")

		var v any
		require.NoError(t, yaml.Unmarshal([]byte(text), &v))
		e.set(name, key, v)

		return "key " + key + " " + text

	case k < 14:
		keys := slices.DeleteFunc(config.Keys(), func(k config.Key) bool {
			return !strings.HasPrefix(k.Path, "experiments.<name>.") || e.value(k) == nil
		})
		key := keys[e.rng.IntN(len(keys))]
		path := strings.Replace(strings.TrimPrefix(key.Path, "experiments.<name>."), "<name>", "s", 1)

		v := e.value(key)
		if e.rng.IntN(5) == 0 {
			v = nil
		}

		e.set(name, path, v)

		return fmt.Sprintf("key %s %v", path, v)

	case k == 14: // another name of the experiment, or a second one of it
		all := e.file["experiments"].(map[string]any)
		to := []string{"e", "f", "g"}[e.rng.IntN(3)]

		b, err := yaml.Marshal(all[name])
		require.NoError(t, err)

		if e.rng.IntN(2) == 0 {
			delete(all, name)
		}

		var same map[string]any
		require.NoError(t, yaml.Unmarshal(b, &same))

		all[to] = same

		return fmt.Sprintf("name %s: %s, %d experiments", name, to, len(all))

	case k == 15 && e.rng.IntN(2) == 0:
		require.NoError(t, os.Remove(some()))
		return "file removed"

	case k == 16:
		path := some()
		to := string('a'+rune(e.rng.IntN(26))) + filepath.Base(path)
		require.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(path), to)))
		return "file renamed"

	case k == 17:
		path := some()
		b, err := os.ReadFile(path)
		require.NoError(t, err)

		if len(b) > 0 {
			b[e.rng.IntN(len(b))] ^= 1 << e.rng.IntN(8)
		}

		require.NoError(t, os.WriteFile(path, b, 0o644))

		return "file " + filepath.Base(path) + " changed"

	case k == 18:
		b, err := os.ReadFile(filepath.Join(e.dir, "log.csv"))
		require.NoError(t, err)

		lines := strings.SplitAfter(string(b), "\n")
		i := e.rng.IntN(len(lines))
		write(t, e.dir, "log.csv", strings.Join(slices.Insert(lines, i, lines[e.rng.IntN(len(lines))]), ""))

		return "log changed"

	default:
		e.writeData(t, e.rng.IntN(8))
		return "file written"
	}
}

// harm does what must not matter: kills a run, or damages the cache.
func (e *edited) harm(t *testing.T) string {
	cache := filepath.Join(e.dir, "runs", ".cache")

	var files []string
	_ = filepath.WalkDir(cache, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, p)
		}
		return nil
	})

	objects, err := filepath.Glob(filepath.Join(cache, "objects", "*", "*"))
	require.NoError(t, err)

	switch e.rng.IntN(8) {
	case 0:
		c := exec.Command(os.Args[0], "-test.run=^TestSameness$")
		c.Env = append(os.Environ(), "DOUBLETAKE_KILLED="+e.dir)
		require.NoError(t, c.Start())
		time.Sleep(time.Duration(e.rng.IntN(400)) * time.Millisecond)
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()

		return "killed"

	case 1:
		if len(objects) > 1 {
			i := 1 + e.rng.IntN(len(objects)-1)
			a := objects[i]
			b := objects[e.rng.IntN(i)]
			require.NoError(t, errors.Join(os.Rename(a, a+"-"), os.Rename(b, a), os.Rename(a+"-", b)))
			return "exchanged"
		}

	case 2:
		require.NoError(t, os.RemoveAll(filepath.Join(cache, []string{"index", "published", "objects", ""}[e.rng.IntN(4)])))
		return "part of the cache removed"

	case 3:
		if len(files) > 0 {
			path := files[e.rng.IntN(len(files))]
			b, err := os.ReadFile(path)
			require.NoError(t, err)

			if len(b) > 0 {
				b[e.rng.IntN(len(b))] ^= 1
			}

			fi, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, b, 0o644), os.Chmod(path, fi.Mode())))

			return "bit of " + strings.TrimPrefix(path, cache)
		}
	}

	return ""
}

// runs runs the project and returns its results by name, and the error. refused: the configuration is.
func (e *edited) runs(t *testing.T) (results map[string]string, failure string, refused bool) {
	p, err := pipeline.Load(filepath.Join(e.dir, "pipeline.yaml"))
	if err != nil {
		return nil, err.Error(), true
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	if _, err := p.Run(ctx, pipeline.Options{Jobs: 2, KeepGoing: true}); err != nil {
		return nil, err.Error(), false
	}

	results = map[string]string{}
	root := filepath.Join(e.dir, "runs")

	for name := range e.file["experiments"].(map[string]any) {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, name), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}

			b, err := os.ReadFile(p)
			rel, _ := filepath.Rel(root, p)
			results[rel] = string(b)

			return err
		}))
	}

	for _, n := range []string{"report.md", "report.html"} {
		b, err := os.ReadFile(filepath.Join(root, n))
		require.NoError(t, err)
		results[n] = string(b)
	}

	return results, "", false
}

// same runs the project and tells what differs from a run in a fresh work directory; the former stays.
func (e *edited) same(t *testing.T) (failure string, refused bool, difference string) {
	got, failure, refused := e.runs(t)
	if refused {
		return failure, true, ""
	}

	runs := filepath.Join(e.dir, "runs")
	aside := filepath.Join(e.dir, "aside")
	require.NoError(t, os.Rename(runs, aside))

	want, expected, _ := e.runs(t)
	if failure != expected || !maps.Equal(got, want) {
		difference = fmt.Sprintf("error %q, expected %q; %s", failure, expected, differences(got, want))
	}

	require.NoError(t, errors.Join(os.RemoveAll(runs), os.Rename(aside, runs)))

	return failure, false, difference
}

func (e *edited) save(t *testing.T) []byte {
	b, err := yaml.Marshal(e.file)
	require.NoError(t, err)
	write(t, e.dir, "pipeline.yaml", string(b))

	return b
}

// After whatever edits of keys, files and names, kills and damage of the cache, a run gives byte for byte what a run in
// a fresh work directory gives, or the same error. DOUBLETAKE_LONG=1 takes more steps, DOUBLETAKE_SEED the seed of a
// former run.
func TestSameness(t *testing.T) {
	if dir := os.Getenv("DOUBLETAKE_KILLED"); dir != "" {
		(&edited{dir: dir}).runs(t)
		return
	}

	steps := longtest.Count(15, 2000)
	seed := uint64(54)
	if os.Getenv("DOUBLETAKE_LONG") != "" {
		seed = uint64(time.Now().UnixNano())
	}

	if n, err := strconv.Atoi(os.Getenv("DOUBLETAKE_STEPS")); err == nil {
		steps = n
	}

	if s, err := strconv.ParseUint(os.Getenv("DOUBLETAKE_SEED"), 10, 64); err == nil {
		seed = s
	}

	t.Logf("DOUBLETAKE_SEED=%d, %d steps", seed, steps)

	rng := rand.New(rand.NewPCG(seed, 54))
	done := map[string]int{}
	faults := 0

	var e *edited
	for step := 0; step < steps && faults < 8; step++ {
		if e == nil || len(e.log) > 25 {
			kinds := slices.Sorted(maps.Keys(projects))
			e = newEdited(t, rng, kinds[rng.IntN(len(kinds))])
		}

		before := e.save(t)
		what := e.edit(t)
		e.save(t)

		if h := e.harm(t); h != "" {
			what += "; " + h
		}

		e.log = append(e.log, what)
		kind, _, _ := strings.Cut(what, " ")

		failure, refused, difference := e.same(t)
		if refused {
			done["refused"]++
			e.file = nil
			require.NoError(t, yaml.Unmarshal(before, &e.file))
			continue
		}

		done[kind]++

		if difference != "" {
			faults++
			t.Errorf("step %d: %s\nafter %s", step, difference, strings.Join(e.log, "\n      "))

			e = nil

			continue
		}

		if failure != "" && rng.IntN(4) > 0 {
			done["failed"]++
			e.file = nil
			require.NoError(t, yaml.Unmarshal(before, &e.file))
		}
	}

	t.Logf("%v", done)
}

// differences names the first files that differ, with the place.
func differences(got, want map[string]string) string {
	names := map[string]bool{}
	for n := range got {
		names[n] = true
	}

	for n := range want {
		names[n] = true
	}

	var out []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		a, there := got[n]
		b, wanted := want[n]

		switch i := 0; {
		case !there:
			out = append(out, n+" is missing")
		case !wanted:
			out = append(out, n+" stays")
		case a != b:
			for i < min(len(a), len(b)) && a[i] == b[i] {
				i++
			}

			from := max(i-60, 0)
			out = append(out, fmt.Sprintf("%s: %q, expected %q", n, bytes.ToValidUTF8([]byte(a[from:min(i+60, len(a))]), nil),
				bytes.ToValidUTF8([]byte(b[from:min(i+60, len(b))]), nil)))
		}
	}

	return strings.Join(out[:min(len(out), 6)], "\n   ")
}
