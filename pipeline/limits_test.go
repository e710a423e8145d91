package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages"
	"doubletake/pipeline/stages/plan"
)

// Checking and planning leave the configuration as it was read: of every example
// (of most without their data, so that planning ends early), and of one with
// each value that follows from others: the kind of simulated data and of files
// named so, given pairs, splits per value and splits of the command line.
func TestPlanningChangesNothing(t *testing.T) {
	files, err := filepath.Glob("../examples/*/pipeline.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)

	for _, path := range append(files, "../pipeline.yaml") {
		_ = planned(t, path)
	}

	dir := t.TempDir()
	path := filepath.Join(dir, "pipeline.yaml")

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

	require.NoError(t, planned(t, path, "rpm=4000"))
}

// planned plans a configuration and compares it with another reading of it. It
// returns the error of planning.
func planned(t *testing.T, path string, heldOut ...string) error {
	t.Helper()

	var f [2]*config.File
	for i := range f {
		var err error
		f[i], err = config.Load(path)
		require.NoError(t, err)
	}

	extra, err := HeldOut(heldOut)
	require.NoError(t, err)

	_, err = stages.Plan(f[0], plan.Program{Kernels: "portable"}, extra)

	// Functions cannot be compared: of what a split holds out, the words.
	var held [2][]string
	for i := range f {
		for _, e := range f[i].Experiments {
			for k, s := range e.Train.Splits {
				held[i] = append(held[i], fmt.Sprint(s.Test))
				e.Train.Splits[k].Test = nil
			}
		}
	}

	assert.Equal(t, held[1], held[0], "%s: splits were changed by planning", path)

	if !reflect.DeepEqual(f[0], f[1]) {
		t.Errorf("%s was changed by planning:\n%+v\nexpected:\n%+v", path, f[0].Experiments, f[1].Experiments)
	}

	return err
}

// bases are valid configurations that hold every key with a number between them.
// Their data are written by limitData.
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

// limits lists, for every key whose value is a number, values that check refuses
// and values that it takes. Beyond them NaN, infinities, texts and mappings are
// refused for all.
var limits = []struct{ base, key, refused, legal string }{
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
	{"balance", "train.optimizer.batch", "751", "750"},
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

	c := simulate.DefaultRotor()
	c.DurationS = 1
	c.Blades = []int{2}
	c.RPM = []float64{4000, 5000, 6000}
	c.ThetaDeg = []float64{0, 30}
	require.NoError(t, simulate.WriteDir(t.Context(), c, filepath.Join(dir, "sound"), 1, nil))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "force"), 0o700))

	for _, a := range []string{"0", "2", "4", "6"} {
		path := filepath.Join(dir, "force", "force_a"+a+".csv")
		require.NoError(t, os.WriteFile(path, []byte("U1,U2,Fz\nV,V,N\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n"), 0o600))
	}
}

// Every absurd number is refused by loading alone, which is what check does, as a fault of the configuration with its
// place. Values in range pass.
func TestLimitsOfEveryKey(t *testing.T) {
	dir := t.TempDir()
	limitData(t, dir)

	// No key takes any of these; without DOUBLETAKE_LONG=1 each key is given one of them.
	never := []string{".nan", ".inf", "-.inf", "1e400", "text", "{a:{b:1}}"}

	covered := map[string]bool{}
	for _, l := range limits {
		keys := []string{l.key}
		if strings.Contains(l.key, "SECTION") {
			keys = nil
			for _, s := range []string{"slurm", "sge", "pbs", "htcondor", "train"} {
				keys = append(keys, strings.Replace(l.key, "SECTION", s, 1))
			}
		}

		for _, key := range keys {
			covered[key] = true
			if !strings.HasPrefix(l.key, "version") && !strings.HasPrefix(l.key, "executor") {
				key = "experiments.x." + key
			}

			some := never
			if os.Getenv("DOUBLETAKE_LONG") == "" {
				some = never[len(covered)%len(never):][:1]
			}

			for _, v := range append(strings.Fields(l.refused), some...) {
				err := loadWith(t, dir, l.base, key, v)
				var one *config.Error

				var all config.Errors
				if errors.As(err, &all) {
					one = all[0]
				} else if !errors.As(err, &one) {
					t.Errorf("%s: %s: %s was taken, or refused without a place: %v", l.base, key, v, err)
					continue
				}

				status, _ := ExitStatus(err)
				assert.Equal(t, ExitUsage, status, "%s: %s: %s: %v", l.base, key, v, err)
				assert.NotZero(t, one.Line, "%s: %s: %s: %v", l.base, key, v, err)
				assert.NotZero(t, one.Col, "%s: %s: %s: %v", l.base, key, v, err)

				// The fault is placed at the key, in it, around it, or at a neighbour.
				if !strings.HasPrefix(key, one.Key) && !strings.HasPrefix(one.Key, key) {
					around := one.Key[:strings.LastIndexByte(one.Key, '.')]
					assert.True(t, strings.HasPrefix(key, around), "%s: %s: %s: the fault is placed at %s", l.base, key, v, one.Key)
				}
			}

			for _, v := range strings.Fields(l.legal) {
				assert.NoError(t, loadWith(t, dir, l.base, key, v), "%s: %s: %s", l.base, key, v)
			}
		}
	}

	for _, k := range config.Keys() {
		key := strings.TrimPrefix(k.Path, "experiments.<name>.")
		key = strings.Replace(key, "splits.<name>.test", "splits.gap.test", 1)
		key = strings.Replace(key, "splits.<name>.blocks", "splits.each.blocks", 1)
		if strings.Contains(k.Type, "number") || k.Type == "held-out conditions" {
			assert.True(t, covered[key], "%s has no limits in the table", k.Path)
		}
	}
}

// loadWith loads a base with one value changed.
func loadWith(t *testing.T, dir, base, key, value string) error {
	t.Helper()

	_, err := Load(writeWith(t, dir, base, key, value))

	return err
}

// writeWith writes a base with one value changed.
func writeWith(t *testing.T, dir, base, key, value string) (path string) {
	t.Helper()

	var x map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(bases[base]), &x))

	file := map[string]any{"version": 1, "experiments": map[string]any{"x": x}}
	at := file

	parts := strings.Split(key, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[p] = next
		}

		at = next
	}

	var v yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(value, ":", ": ")), &v))

	at[parts[len(parts)-1]] = v.Content[0]

	b, err := yaml.Marshal(file)
	require.NoError(t, err)

	path = filepath.Join(dir, "pipeline.yaml")
	require.NoError(t, os.WriteFile(path, b, 0o600))

	return path
}
