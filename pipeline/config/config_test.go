package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"doubletake/dsp"
)

// Every testdata/NAME.bad.yml must give the messages of NAME.bad.txt, written
// by hand from the fault stated in the file's comment.
func TestBadFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.bad.yml")
	if len(files) < 5 {
		t.Fatalf("found %d bad files", len(files))
	}

	for _, p := range files {
		t.Run(filepath.Base(p), func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(p, "yml") + "txt")
			if err != nil {
				t.Fatal(err)
			}

			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}

			_, err = Parse("pipeline.yaml", b)
			if err == nil {
				t.Fatal("no error")
			}

			if got := err.Error() + "\n"; got != string(want) {
				t.Errorf("got:\n%s\nexpected:\n%s", got, want)
			}
		})
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
	if err != nil {
		t.Fatal(err)
	}

	e := f.Experiments[0]

	// Text that YAML 1.1 takes for numbers must stay as written (STYLE §3).
	if e.Ingest.Conditions != "2023_04_11" || e.Ingest.Files[1] != "007.wav" {
		t.Errorf("text changed: %q %q", e.Ingest.Conditions, e.Ingest.Files)
	}

	if e.Train.Optimizer.Batch != 32 || e.DSP.Tolerance != 0.03 || !e.Train.Standardise {
		t.Error("defaults are missing where other keys are given")
	}

	for i, want := range []string{
		"blades = 2", "blades = 2, 3 and rpm ≥ 3000", "u_inf_m_s = 4.7 ± 0.1", "propeller = APC-8x6 and rpm = 3000",
		"day = 2023-04-11, 2023_04_12 and flaps = 7",
	} {
		if got := e.Train.Splits[i].Test.String(); got != want {
			t.Errorf("rule %d: %s, expected %s", i, got, want)
		}
	}

	if got := e.Train.Splits[4].Test.Labels(); !slices.Equal(got, []string{"day", "flaps"}) {
		t.Errorf("names of %v", got)
	}

	for _, test := range []string{
		`{random: most}`, `{propeller: ""}`, `{propeller: [A, ""]}`, `{propeller: [A, {min: 3}]}`,
	} {
		text := strings.Replace(good, "{blades: 2}", test, 1)
		if _, err := Parse("pipeline.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), ".splits.a.test.") {
			t.Errorf("%s: %v", test, err)
		}
	}

	if f.Resolve("runs") != filepath.Join("x", "runs") {
		t.Error("paths do not start at the file's folder")
	}
}

// Which keys exist is part of the slice of configuration: optional sections
// show up only when they are there.
func TestFlatten(t *testing.T) {
	e := defaultExperiment()
	e.DSP.Track = &dsp.Track{RangeHz: []float64{250, 500}}

	var got []string
	for _, kv := range Flatten("dsp", e.DSP) {
		if strings.HasPrefix(kv.Key, "dsp.track") || strings.HasPrefix(kv.Key, "dsp.distance") || kv.Key == "dsp.tolerance" {
			got = append(got, kv.Key+"="+kv.Value)
		}
	}

	if want := []string{"dsp.tolerance=0.03", "dsp.track.range_hz=[250, 500]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

// Parsing must end, with a value or Errors, for any input.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("version: 3.7\nexperiments: {x: {train: {splits: {a: {test: {b: {near: .nan}}}}}}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := Parse("f.yaml", b); err == nil {
			for _, e := range file.Experiments {
				Flatten("", e)
			}
		} else if _, ok := err.(Errors); !ok {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// compare: all takes the methods that the network's settings suffice for; a share
// alone is short for calibration's.
func TestCompareAll(t *testing.T) {
	const text = "version: 1\nexperiments:\n  x:\n    ingest: {simulate: {campaign: toy}}\n    train:\n" +
		"      inputs: [x]\n      splits: {right: {test: {x: {min: 3}}}}\n      "
	f, err := Parse("p.yaml", []byte(text+"compare: all\n      calibration: 0.2\n"))
	if err != nil {
		t.Fatal(err)
	}

	if c := f.Experiments[0].Train.Calibration; c != (Recalibrate{Share: 0.2}) {
		t.Errorf("calibration: %+v", c)
	}

	got := f.Experiments[0].Train.Compare
	if !slices.Contains(got, "ensemble") || !slices.Contains(got, "mc-dropout") || slices.Contains(got, "binned") {
		t.Errorf("all: %v", got)
	}

	for _, gone := range []string{"hmc", "laplace-kronecker", "laplace-full", "laplace-natural"} {
		_, err := Parse("p.yaml", []byte(text+"compare: [gp, "+gone+"]\n"))
		if err == nil || !strings.Contains(err.Error(), gone+" left the program in version 0.2; the research's program") {
			t.Errorf("%s: %v", gone, err)
		}
	}

	if f, err = Parse("p.yaml", []byte(text+"compare: all\n      model: {dropout: 0}\n")); err != nil {
		t.Fatal(err)
	}

	if got := f.Experiments[0].Train.Compare; slices.Contains(got, "mc-dropout") || len(got) < 5 {
		t.Errorf("all without dropout: %v", got)
	}

	for add, want := range map[string]string{
		"compare: [all, gp]\n":                    "alone",
		"calibration: {share: 0.2, kind: beta}\n": "went in 0.2.0",
		"model: {head: jiont}\n":                  "joint",
		"calibration: {share: 0.7}\n":             "from 0 to 0.5",
		"model: {head: joint, feedback: flag}\n":  "belongs to two answers",
	} {
		if _, err := Parse("p.yaml", []byte(text+add)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", add, err)
		}
	}
}

// Every key is documented, and the schema knows exactly the keys the decoder takes.
func TestSchemaAndKeys(t *testing.T) {
	for _, k := range Keys() {
		if k.Doc == "" || k.Type == "" {
			t.Errorf("%s has no documentation", k.Path)
		}
	}

	var walk func(path string, s map[string]any) []string
	walk = func(path string, s map[string]any) []string {
		var out []string
		if one, ok := s["oneOf"].([]any); ok {
			for _, o := range one {
				out = append(out, walk(path, o.(map[string]any))...)
			}
		}

		if a, ok := s["additionalProperties"].(map[string]any); ok && a["properties"] != nil {
			out = append(out, walk(path+".<name>", a)...)
		}

		props, _ := s["properties"].(map[string]any)
		for k, p := range props {
			if path == "" {
				out = append(out, k)
				out = append(out, walk(k, p.(map[string]any))...)
				continue
			}

			out = append(out, path+"."+k)
			out = append(out, walk(path+"."+k, p.(map[string]any))...)
		}

		return out
	}

	inSchema := walk("", Schema())

	inKeys := map[string]bool{}
	for _, k := range Keys() {
		inKeys[k.Path] = true
	}

	for _, p := range inSchema {
		if !inKeys[p] {
			t.Errorf("the schema has %s, the list of keys does not", p)
		}
	}

	if len(inSchema) != len(inKeys) {
		t.Errorf("the schema has %d keys, the list %d", len(inSchema), len(inKeys))
	}
}

// Early stopping needs an input, and does not go with trainings that have all epochs.
func TestEarlyStopping(t *testing.T) {
	for keys, want := range map[string]string{
		"early_stopping: {on: x}":       "",
		"early_stopping: {patience: 5}": "expected on: the input",
		"early_stopping: {on: z}":       "expected one of the inputs x, found \"z\"",
		"early_stopping: {on: x}, honest: {methods: true}, compare: [ensemble]": "does not go with honest: {methods: true}",
	} {
		_, err := Parse("p.yaml", []byte("version: 1\nexperiments:\n  a:\n    ingest: {table: p.csv}\n"+
			"    train: {inputs: [x], "+keys+", splits: {s: {test: {x: 1}}}}\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, expected %q", keys, err, want)
		}
	}
}
