package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/ingesttest"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// editedProject is a small project of random data, whose configuration and files are edited.
type editedProject struct {
	dir    string
	rng    *rand.Rand
	kind   string         // a key of projects
	config map[string]any // pipeline.yaml
	log    []string       // of the edits

	// Names in the work directory when the lists of published files may have been lost, see loseLists.
	unlisted map[string]bool
}

// quickTraining is a training that takes a moment. Its inputs and its held-out conditions are inserted.
const quickTraining = `
    train:
      inputs: [%s]
      model: {hidden: [4]}
      optimizer: {epochs: 2}
      estimate: {samples: 8}
      seeds: 1
      honest: {base: none}
      splits: {s: {test: {%s}}}
`

// projects are experiments by kind, one of each way to get data.
var projects = map[string]string{
	"table": `
    ingest:
      table: {file: data/*.csv, inputs: [a, b], y1: [p1, q1], y2: [p2, q2], outcomes: [p, q], pairs: repeat-run}
      within: {b: 0.2}
      uncertainty: {p: u 0.1}` + fmt.Sprintf(quickTraining, "a, b", "a: 1"),
	"force": `
    ingest:
      files: data/*.csv
      pattern: force_a{alpha_deg}_n{n}.csv
      columns: {lift_n: Fz, drag_n: Fx}
    dsp: {triplets: split-halves, chord_m: 0.1, span_m: 0.25, density_kg_m3: 1.2}` +
		fmt.Sprintf(quickTraining, "alpha_deg, n", "alpha_deg: 2"),
	"sound": `
    ingest:
      files: data/*.wav
      conditions: log.csv
      calibration: {unit: full-scale}
    dsp: {triplets: split-half-spectrum, segments: 4, harmonics: 2}` + fmt.Sprintf(quickTraining, "rpm", "rpm: 4000"),
	"toy": `
    ingest: {simulate: {campaign: toy, triplets: 40}}` + fmt.Sprintf(quickTraining, "x", "x: {min: 2, max: 4}"),
}

// newEditedProject returns a new project with data of six files.
func newEditedProject(t *testing.T, rng *rand.Rand, kind string) *editedProject {
	t.Helper()

	p := &editedProject{
		dir: t.TempDir(), rng: rng, kind: kind, log: []string{"project " + kind}, unlisted: map[string]bool{},
	}
	p.readConfig(t, []byte("version: 1\nexperiments:\n  e:"+projects[kind]))
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, "data"), 0o755))

	conditions := "file,blades,rpm\n"
	for i := range 6 {
		p.writeData(t, i)
		conditions += fmt.Sprintf("r%d.wav,%d,%d\n", i, soundBlades(i), soundRPM(i))
	}

	write(t, p.dir, "log.csv", conditions)

	return p
}

// soundBlades and soundRPM are the conditions of a file of sound.
func soundBlades(file int) int { return 2 + file%2 }
func soundRPM(file int) int    { return 3000 + 1000*(file/2) }

// writeData writes a file of data, by its number, with random values.
func (p *editedProject) writeData(t *testing.T, file int) {
	t.Helper()

	switch p.kind {
	case "table":
		p.writePairs(t, file)
	case "force":
		p.writeForce(t, file)
	case "sound":
		p.writeSound(t, file)
	}
}

// writePairs writes a table of eight pairs of two outcomes.
func (p *editedProject) writePairs(t *testing.T, file int) {
	t.Helper()

	var text strings.Builder
	text.WriteString("a,b,p1,p2,q1,q2,thing\n")
	for row := range 8 {
		b := 5 + 5*float64(row/4) + 0.1*p.rng.Float64()
		thing := 'x' + rune(row%2)
		fmt.Fprintf(&text, "%d,%.2f,%.2f,%.2f,%.2f,%.2f,%c\n", row%4, b, p.rng.NormFloat64(), p.rng.NormFloat64(),
			p.rng.NormFloat64(), p.rng.NormFloat64(), thing)
	}

	write(t, p.dir, fmt.Sprintf("data/t%d.csv", file), text.String())
}

// writeForce writes a recording of two forces at an angle, which is in the file's name.
func (p *editedProject) writeForce(t *testing.T, file int) {
	t.Helper()

	var text strings.Builder
	text.WriteString("t,Fx,Fz\ns,N,N\n")
	for i := range 20 {
		fmt.Fprintf(&text, "%.1f,%.3f,%.3f\n", 0.1*float64(i), p.rng.Float64(), 2+p.rng.Float64())
	}

	angle := 2 * (file / 2)
	number := 1 + file%2
	write(t, p.dir, fmt.Sprintf("data/force_a%d_n%d.csv", angle, number), text.String())
}

// writeSound writes half a second of a rotor's sound.
func (p *editedProject) writeSound(t *testing.T, file int) {
	t.Helper()

	const rateHz = 4096
	bladePassingHz := float64(soundBlades(file)*soundRPM(file)) / 60
	samples := make([]int16, rateHz/2)
	for i := range samples {
		samples[i] = int16(3000*math.Sin(2*math.Pi*bladePassingHz*float64(i)/rateHz) + 300*p.rng.NormFloat64())
	}

	wav := ingesttest.PCM16(1, samples...)
	wav.Rate = rateHz
	write(t, p.dir, fmt.Sprintf("data/r%d.wav", file), string(wav.Bytes()))
}

// saveConfig writes pipeline.yaml and returns its content.
func (p *editedProject) saveConfig(t *testing.T) []byte {
	t.Helper()

	b, err := yaml.Marshal(p.config)
	require.NoError(t, err)
	write(t, p.dir, "pipeline.yaml", string(b))

	return b
}

// readConfig replaces the configuration.
func (p *editedProject) readConfig(t *testing.T, content []byte) {
	t.Helper()

	p.config = nil
	require.NoError(t, yaml.Unmarshal(content, &p.config))
}

// experiments returns the experiments of the configuration by name.
func (p *editedProject) experiments() map[string]any { return p.config["experiments"].(map[string]any) }

// setKey gives a key of an experiment a value, and removes it if the value is nil. Sections on the way to the key are
// added.
func (p *editedProject) setKey(experiment, path string, value any) {
	section := p.experiments()[experiment].(map[string]any)
	parts := strings.Split(path, ".")
	key := parts[len(parts)-1]
	for _, name := range parts[:len(parts)-1] {
		inner, ok := section[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			section[name] = inner
		}

		section = inner
	}

	if value == nil {
		delete(section, key)
	} else {
		section[key] = value
	}
}

// parseEdit parses an edit, which is the path of a key, a blank and the value in YAML.
func parseEdit(t *testing.T, edit string) (path string, value any) {
	t.Helper()

	path, text, _ := strings.Cut(edit, " ")
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))

	return path, value
}
