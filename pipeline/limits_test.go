package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"doubletake/ingest/simulate"
	"doubletake/internal/longtest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages"
	"doubletake/pipeline/stages/plan"
)

// Planning leaves the configuration as it was read. That holds for every example, although most lack their data, so
// that planning ends early. It holds for a configuration with each value that follows from others: the kind of
// simulated data and of files that are named so, given pairs, splits per value and splits of the command line.
func TestPlanningChangesNothing(t *testing.T) {
	examples, err := filepath.Glob("../examples/*/pipeline.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, examples)

	for _, path := range append(examples, "../pipeline.yaml") {
		_ = planUnchanged(t, path) // an error of planning is one of missing data
	}

	dir := t.TempDir()
	for name, text := range map[string]string{
		"simulated_a1.csv": "time_s,Fx,Fz\ns,N,N\n0,1,2\n0.1,1,2\n",
		"simulated_a2.csv": "time_s,Fx,Fz\ns,N,N\n0,1,3\n0.1,1,2\n",
		"pipeline.yaml": `version: 1
experiments:
  toy:
    ingest: {simulate: {campaign: toy, triplets: 60}}
    train: {inputs: [x], splits: {gap: {test: {x: {min: 2, max: 4}}}}}
  rotor:
    ingest: {simulate: {campaign: rotor, duration_s: 1, blades: [2, 3, 4], rpm: [4000, 5000, 6000], theta_deg: [0, 30]}}
    dsp: {triplets: repeats, within: {rpm: 2500}}
    train: {inputs: [blades, rpm, theta_deg], splits: {each: blades}}
  balance:
    ingest: {files: simulated_*.csv, pattern: "simulated_a{alpha_deg}.csv", columns: {lift_n: Fz, drag_n: Fx}}
    dsp: {triplets: split-halves}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}

	require.NoError(t, planUnchanged(t, filepath.Join(dir, "pipeline.yaml"), "rpm=4000"))
}

// planUnchanged plans a configuration with splits of the command line, and asserts that planning changes nothing of it:
// it stays equal to another reading of the same file. planUnchanged returns the error of planning.
func planUnchanged(t *testing.T, path string, heldOut ...string) error {
	t.Helper()

	planned, err := config.Load(path)
	require.NoError(t, err)
	unplanned, err := config.Load(path)
	require.NoError(t, err)

	extra, err := HeldOut(heldOut)
	require.NoError(t, err)

	_, planError := stages.Plan(planned, plan.Program{Kernels: "portable"}, extra)

	assert.Equal(t, removeTests(unplanned), removeTests(planned), "%s: what splits hold out", path)
	assert.Equal(t, unplanned, planned, "%s after planning", path)

	return planError
}

// removeTests returns what the splits of a configuration hold out, in words, and removes it from the configuration,
// because it contains functions, which cannot be compared.
func removeTests(f *config.File) []string {
	var words []string
	for _, e := range f.Experiments {
		for k, split := range e.Train.Splits {
			words = append(words, fmt.Sprint(split.Test))
			e.Train.Splits[k].Test = nil
		}
	}

	return words
}

// bases are valid configurations. Together they have every key whose value is a number. limitData writes their data.
var bases = map[string]string{
	"microphones": `
ingest: {files: sound/*.wav, conditions: sound/conditions.csv, constants: {radius_m: 1}, calibration: {unit: Pa}}
dsp: {triplets: split-half-spectrum}
train: {inputs: [rpm, theta_deg], splits: {fast: {test: {rpm: 6000}}}}`,
	"calibrator": `
ingest:
  files: sound/*.wav
  conditions: sound/conditions.csv
  calibration: {calibrator: {level_db: 94, file: sound/simulated_rotor_n2_rpm4000.wav, channel: 1}}
dsp: {triplets: repeats}`,
	"chain": `
ingest:
  files: sound/*.wav
  conditions: sound/conditions.csv
  calibration: {full_scale_v: 10, reading: peak, sensitivity_v_per_pa: 0.05}
dsp: {triplets: split-half-spectrum}`,
	"distance": `
ingest: {files: sound/*.wav, conditions: sound/conditions.csv}
dsp: {triplets: split-half-spectrum, distance: {from_m: 2, to_m: 1}}`,
	"factor": `
ingest: {files: sound/*.wav, conditions: sound/conditions.csv, calibration: {pa_per_unit: 2}}
dsp: {triplets: split-half-spectrum}`,
	"reader": `
ingest:
  files: sound/*.wav
  conditions: sound/conditions.csv
  reader: {program: [cat, "{file}"]}
dsp: {triplets: split-half-spectrum}`,
	"tachometer": `
ingest: {files: sound/*.wav, conditions: sound/conditions.csv, tachometer: {channel: 1}}
dsp: {triplets: split-half-spectrum}`,
	"balance": `
ingest:
  files: force/*.csv
  pattern: force_a{alpha_deg}.csv
  columns: {fx_n: Fx, fz_n: Fz, my_nm: -Fz}
  axes: body
  balance:
    voltages: [U1, U2]
    components: [Fx, Fz]
    matrix: [[1, 0], [0, 1]]
    angle: alpha_deg
    blockage: none
    tare: {file: force/force_a0.csv, interpolation: mean}
    flow: {column: U1}
dsp: {triplets: random-samples, chord_m: 0.1, span_m: 0.25, density_kg_m3: 1.2}
train: {inputs: [alpha_deg], splits: {each: alpha_deg}}`,
	"rotor": `
ingest: {simulate: {campaign: rotor, blades: [2, 3], rpm: [4000], theta_deg: [0]}}
dsp: {triplets: split-half-spectrum}`,
	"airfoil": `
ingest: {simulate: {campaign: airfoil, alpha_deg: [0, 2], u_inf_m_s: [10]}}
dsp: {triplets: split-halves}`,
	"toy": `
ingest: {simulate: {campaign: toy}}
train: {inputs: [x], splits: {gap: {test: {x: {min: 2, max: 4}}}}}`,
	"blocks": `
ingest: {files: force/*.csv, pattern: "force_a{alpha_deg}.csv", columns: {lift_n: Fz}}
dsp: {triplets: split-halves}
train: {inputs: [alpha_deg], splits: {each: {each: alpha_deg, blocks: 2}}}`,
}

// limit lists values of a key that loading refuses and values that it accepts, separated by blanks. A key contains
// SECTION if it is one of every section in executorSections.
type limit struct{ base, key, refused, legal string }

// executorSections are sections of the executor that have the same keys.
var executorSections = []string{"slurm", "sge", "pbs", "htcondor", "train"}

// keys returns the keys of the limit, one for each section.
func (l limit) keys() []string {
	if !strings.Contains(l.key, "SECTION") {
		return []string{l.key}
	}

	var keys []string
	for _, section := range executorSections {
		keys = append(keys, strings.Replace(l.key, "SECTION", section, 1))
	}

	return keys
}

// pathInFile returns the path of a key in the configurations of writeWith, whose experiment is called x.
func pathInFile(key string) string {
	if strings.HasPrefix(key, "version") || strings.HasPrefix(key, "executor") {
		return key
	}

	return "experiments.x." + key
}

// limitKey returns the key in limits of a documented path. The splits in bases are called gap and each.
func limitKey(path string) string {
	key := strings.TrimPrefix(path, "experiments.<name>.")
	key = strings.Replace(key, "splits.<name>.test", "splits.gap.test", 1)

	return strings.Replace(key, "splits.<name>.blocks", "splits.each.blocks", 1)
}

// limits are the limits of every key whose value is a number. NaN, infinities, texts and mappings are refused for all
// of them.
var limits = []limit{
	{"reader", "ingest.reader.timeout_s", "0 -1 1e7", "1 600"},
	{"toy", "version", "0 -1 2 1.5 1e300", "1"},
	{"toy", "executor.parts", "-1 0 100001 0.5 1e300", "1 100000"},
	{"toy", "executor.SECTION.cpus", "-1 65537 0.5 1e300", "0 1 65536"},
	{"toy", "executor.SECTION.max_running", "-1 1048577 1e300", "0 1 1048576"},

	{"rotor", "ingest.simulate.seed", "-1 0.5 1e300", "0 1 9007199254740992"},
	{"rotor", "ingest.simulate.rate_hz", "-1 0 999 1000001 1000.5 1e300", "10240"},
	{"airfoil", "ingest.simulate.rate_hz", "-1 0 699 1000001 1e300", "1000"},
	{"rotor", "ingest.simulate.duration_s", "-1 0 1e-9 1e6 1e300", "8"},
	{"airfoil", "ingest.simulate.duration_s", "-1 0 1e-9 86401 1e300", "10"},
	{"rotor", "ingest.simulate.blades", "-1 0 0.5 1e300 [2,2] 1000000", "2 [2,5]"},
	{"rotor", "ingest.simulate.rpm", "-1 0 30001 1e300 [4000,4000]", "1 9000"},
	{"rotor", "ingest.simulate.theta_deg", "-181 181 1e300 [0,0]", "-180 0 180"},
	{"airfoil", "ingest.simulate.alpha_deg", "-91 91 1e300 [0,0]", "-90 0 90"},
	{"airfoil", "ingest.simulate.u_inf_m_s", "-1 0 2.9 61 1e300", "3 60"},
	{"toy", "ingest.simulate.triplets", "-1 0 10000001 0.5 1e300", "1000 10000000"},
	{"toy", "ingest.simulate.gamma", "-1 0 1e7 1e300", "0.001 1000000"},
	{
		"microphones", "ingest.constants", "{radius_m:1e300} {radius_m:-1e300} {radius_m:.nan} 3",
		"{radius_m:-1} {radius_m:0} {radius_m:1e9}",
	},
	{"microphones", "ingest.rate_hz", "-1 0 1e10 1e300", "0.1 51200 1e9"},
	{"tachometer", "ingest.tachometer.pulses_per_rev", "-1 0 0.5 100001 1e300", "1 100000"},
	{"tachometer", "ingest.tachometer.threshold", "1e300 -1e300", "-1 0 2.5"},
	{"balance", "ingest.balance.matrix", "[[1,0],[0,1e300]] [[1,0]] [[1],[1]] 3", "[[-1,0],[0,1e9]]"},
	{"balance", "ingest.balance.reference_m", "[1e300,0,0] [0,0] 3", "[0,0,0] [0.1,0,-0.2]"},
	{"balance", "ingest.balance.tare.row0", "-1 0.5 1e300", "0 3"},
	{"balance", "ingest.balance.tare.row1", "-1 0.5 1e300", "0 3"},
	{"balance", "ingest.balance.flow.zero", "1e300 -1e300", "-1 0 2.5"},
	{"balance", "ingest.balance.flow.divide_by", "0 1e300 -1e300 1e-300", "-1 1e-3 2.5"},
	{"balance", "ingest.balance.tolerance_deg", "-1 361 1e300", "0 2 360"},
	{"chain", "ingest.calibration.full_scale_v", "-1 0 1e300", "1e-3 10"},
	{"chain", "ingest.calibration.sensitivity_v_per_pa", "-1 0 1e300", "1e-6 0.05"},
	{"chain", "ingest.calibration.gain_db", "1e300 -1e300 1001", "-20 0 40"},
	{"chain", "ingest.calibration.channel_gain_db", "{1:1e300} {1:-1001} 3", "{1:-6.02} {1:0}"},
	{"factor", "ingest.calibration.pa_per_unit", "-1 0 1e300", "1e-6 2"},
	{"calibrator", "ingest.calibration.calibrator.level_db", "-1 0 19 201 1e300", "20 94 200"},
	{"calibrator", "ingest.calibration.calibrator.frequency_hz", "-1 1e10 1e300", "0 1000"},
	{"calibrator", "ingest.calibration.calibrator.from_s", "-1 1e10 1e300", "0 0.5"},
	{"calibrator", "ingest.calibration.calibrator.to_s", "-1 1e10 1e300", "0 0.5"},
	{"calibrator", "ingest.calibration.calibrator.spread_db", "-1 0 1001 1e300", "0.2 3"},
	{"calibrator", "ingest.calibration.calibrator.gain_db", "1e300 -1e300 1001", "-20 0 40"},

	{"microphones", "dsp.segments", "-1 0 1 1000001 2.5 1e300", "2 8"},
	{"microphones", "dsp.harmonics", "-1 0 101 2.5 1e300", "1 100"},
	{"microphones", "dsp.tolerance", "-1 0 0.5 1e300", "0.001 0.49"},
	{"microphones", "dsp.min_bins", "-1 1000001 0.5 1e300", "0 2"},
	{"microphones", "dsp.track.range_hz", "0 [1] [0,5] [5,1] [-5,5] [1,1e300] [1,2,3]", "[250,500]"},
	{"microphones", "dsp.bands_hz", "5 [9,100] [200,100] [100,1e300] [1,2,3]", "[100,1000]"},
	{"microphones", "dsp.segment_s", "-1 0 10001 1e300", "0.05"},
	{"microphones", "dsp.resolution_hz", "-1 0 1000001 1e300", "20"},
	{"microphones", "dsp.overlap", "-0.1 0.76 1 1e300", "0 0.5 0.75"},
	{"microphones", "dsp.bands_per_octave", "-1 0 2 24 1.5 1e300", "1 3 6 12"},
	{
		"microphones", "dsp.bands", "5 [5] [[5]] [[5,5]] [[9,5]] [[-1,5]] [[1,1e300]] [[1,2,3]]",
		"[[100,200]] [[100,200],[150,900]]",
	},
	{"microphones", "dsp.atmosphere.path_m", "-1 0 1e7 1e300", "2"},
	{"microphones", "dsp.overall_hz", "0 [5] [9,5] [-1,5] [1,1e300] [1,2,3]", "[0,100] [20,10000]"},
	{
		"microphones", "dsp.atmosphere", "{path_m:0} {path_m:-1} {path_m:1e300} {path_m:1,humidity_pct:101} " +
			"{path_m:1,temperature_c:101} {path_m:1,temperature_c:-74} {path_m:1,pressure_pa:0}",
		"{path_m:1} {path_m:1,temperature_c:0,humidity_pct:0,pressure_pa:90000}",
	},
	{"microphones", "dsp.emergence_db", "1001 1e300 -1e300", "-6 0 6"},
	{"distance", "dsp.distance.from_m", "-1 0 1e300", "1"},
	{"distance", "dsp.distance.to_m", "-1 0 1e300", "1"},
	{"balance", "dsp.samples", "-1 0 0.5 100000001 1e300", "1 250"},
	{"balance", "dsp.chord_m", "-1 0 1001 1e300", "0.1"},
	{"balance", "dsp.span_m", "-1 0 1001 1e300", "0.25"},
	{"balance", "dsp.density_kg_m3", "-1 0 10001 1e300", "1.2"},
	{"balance", "dsp.temperature_c", "-274 10001 1e300", ""},
	{"balance", "dsp.pressure_pa", "-1 0 101325 1e300", ""}, // the density is given already
	{"microphones", "dsp.seed", "-1 0.5 1e300", "0 1 9007199254740992"},
	{"rotor", "ingest.within", "{rpm:0} {rpm:-1} {rpm:1e300} {rpm:21%} {rpm:2x} 3", "{rpm:20} {rpm:0.5%} {rpm:20%}"},
	{"calibrator", "dsp.within", "{rpm:-1} {rpm:1e300} 3", "{rpm:0} {rpm:20}"},

	{"toy", "train.model.hidden", "-1 0 4097 0.5 1e300 [] [8,0] [1,1,1,1,1,1,1,1,1]", "1 4096 [16,16]"},
	{"toy", "train.model.dropout", "-1 0.95 1 2 1e300", "0 0.9"},
	{"toy", "train.model.feedback_value", "-1 0 1 1e300", ""}, // belongs to feedback: constant
	{"toy", "train.loss.beta", "-1 1.5 1e300", "0 1"},
	{"toy", "train.optimizer.learning_rate", "-1 0 3 1e300", "1e-6 1"},
	{"toy", "train.optimizer.weight_decay", "-1 1000 1e300", "0 0.01"},
	{"toy", "train.optimizer.batch", "-1 0 0.5 1001 1048577 1e300", "1 1000"},
	{"balance", "train.optimizer.batch", "501", "500"},
	{"microphones", "train.optimizer.batch", "5", "4"},
	{"blocks", "train.optimizer.batch", "3", "2"},
	{"toy", "train.optimizer.epochs", "-1 0 0.5 10000001 1e300", "1 500"},
	{"toy", "train.seeds", "-1 0 0.5 1001 1e300", "1 1000"},
	{"toy", "train.seed", "-1 0.5 1e300", "0 1 9007199254740992"},
	{"toy", "train.estimate.samples", "-1 0 1 0.5 100000001 1e300", "2 1000"},
	{"toy", "train.members", "-1 0 1 0.5 1001 1e300", "2 1000"},
	{
		"toy", "train.splits.gap.test", "{x:.nan} {x:{near:1,within:-1}} {x:{min:2,max:1}} {x:[]} {} 3",
		"{x:{min:2}} {x:{near:1,within:0.5}}",
	},
	{"toy", "train.honest.blocks", "-1 1 0.5 1001 1e300", "0 2"},
	{"toy", "train.honest.level", "-1 0 0.5 1 1.5 1e300", "0.68 0.95"},
	{"blocks", "train.splits.each.blocks", "-1 1 0.5 1001 1e300", "0 2"},
}

// limitData writes the data of bases.
func limitData(t *testing.T, dir string) {
	t.Helper()

	rotor := simulate.DefaultRotor()
	rotor.DurationS = 1
	rotor.Blades = []int{2}
	rotor.RPM = []float64{4000, 5000, 6000}
	rotor.ThetaDeg = []float64{0, 30}
	require.NoError(t, simulate.WriteDir(t.Context(), rotor, filepath.Join(dir, "sound"), 1, nil))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "force"), 0o700))

	for _, angle := range []string{"0", "2", "4", "6"} {
		path := filepath.Join(dir, "force", "force_a"+angle+".csv")
		require.NoError(t, os.WriteFile(path, []byte("U1,U2,Fz\nV,V,N\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n"), 0o600))
	}
}

// Loading a configuration refuses every absurd number, as a fault of the configuration with its place, and accepts
// values in range.
func TestLimitsOfEveryKey(t *testing.T) {
	dir := t.TempDir()
	limitData(t, dir)

	// No key accepts any of these. Without DOUBLETAKE_LONG=1 each key is given one of them.
	absurd := []string{".nan", ".inf", "-.inf", "1e400", "text", "{a:{b:1}}"}

	hasLimit := map[string]bool{}
	for _, l := range limits {
		for _, key := range l.keys() {
			hasLimit[key] = true

			some := absurd
			if !longtest.IsLong() {
				some = []string{absurd[len(hasLimit)%len(absurd)]}
			}

			path := pathInFile(key)
			for _, value := range append(strings.Fields(l.refused), some...) {
				t.Run(l.base+" "+key+" "+value, func(t *testing.T) {
					assertFaultAt(t, path, loadWith(t, dir, l.base, path, value))
				})
			}

			for _, value := range strings.Fields(l.legal) {
				assert.NoError(t, loadWith(t, dir, l.base, path, value), "%s: %s: %s", l.base, key, value)
			}
		}
	}

	for _, k := range config.Keys() {
		if strings.Contains(k.Type, "number") || k.Type == "held-out conditions" {
			assert.True(t, hasLimit[limitKey(k.Path)], "%s must have limits in the table", k.Path)
		}
	}
}

// assertFaultAt asserts that an error is one of the configuration, with a line and a column, and that its place is a
// key, a part of it, a section around it, or another key of its section.
func assertFaultAt(t *testing.T, path string, err error) {
	t.Helper()

	status, _ := ExitStatus(err)
	assert.Equal(t, ExitUsage, status, "exit status of %v", err)

	var first *config.Error
	var several config.Errors
	if errors.As(err, &several) {
		first = several[0]
	} else {
		require.ErrorAs(t, err, &first)
	}

	assert.NotZero(t, first.Line, "line of %v", err)
	assert.NotZero(t, first.Col, "column of %v", err)

	isPartOf := strings.HasPrefix(first.Key, path)
	if !isPartOf {
		section, _, _ := cutLast(first.Key)
		isAround := strings.HasPrefix(path, first.Key)
		isNeighbour := strings.HasPrefix(path, section)
		assert.True(t, isAround || isNeighbour, "the fault is placed at %s", first.Key)
	}
}

// cutLast cuts a path of keys before the last key.
func cutLast(path string) (section, key string, ok bool) {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return "", path, false
	}

	return path[:dot], path[dot+1:], true
}

// loadWith loads a base with one value changed.
func loadWith(t *testing.T, dir, base, path, value string) error {
	t.Helper()

	_, err := Load(writeWith(t, dir, base, path, value))

	return err
}

// writeWith writes a base with one value changed. In the value a colon needs no blank after it.
func writeWith(t *testing.T, dir, base, path, value string) (file string) {
	t.Helper()

	var experiment map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(bases[base]), &experiment))

	content := map[string]any{"version": 1, "experiments": map[string]any{"x": experiment}}
	section := content
	parts := strings.Split(path, ".")
	for _, name := range parts[:len(parts)-1] {
		inner, ok := section[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			section[name] = inner
		}

		section = inner
	}

	var document yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(value, ":", ": ")), &document))

	key := parts[len(parts)-1]
	section[key] = document.Content[0]

	b, err := yaml.Marshal(content)
	require.NoError(t, err)

	file = filepath.Join(dir, "pipeline.yaml")
	require.NoError(t, os.WriteFile(file, b, 0o600))

	return file
}
