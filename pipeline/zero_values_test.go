package pipeline_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/simulate"
	"doubletake/ingest/table"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/pipelinetest"
)

// A setting of 0 counts as 0, and not as a setting that was left out. Expected: the same
// outcomes as with a number near 0, and other outcomes than with another number, such as the default.
// cmd/app has it as case zero-is-a-value.
func TestZeroIsAValue(t *testing.T) {
	dir := t.TempDir()

	rotor := simulate.DefaultRotor()
	rotor.DurationS = 1
	rotor.Blades = []int{2}
	rotor.RPM = []float64{4000, 5000}
	rotor.ThetaDeg = []float64{0, 30}
	require.NoError(t, simulate.WriteDir(t.Context(), rotor, filepath.Join(dir, "sound"), 1, nil))

	write(t, dir, "force_a1.csv", "U1,U2\nN,V\n1,2\n2,2\n3,3\n4,2\n5,3\n")

	const sound = "ingest: {files: sound/*.wav, conditions: sound/conditions.csv%s}\n" +
		"    dsp: {triplets: split-half-spectrum%s}"

	const force = `ingest: {files: force_*.csv, pattern: "force_a{alpha_deg}.csv", columns: {lift_n: U1}, axes: wind,
      balance: {blockage: none%s}}
    dsp: {triplets: random-samples, samples: 1, chord_m: 0.1, span_m: 0.25%s}`

	tachometer := ", tachometer: {channel: 1, pulses_per_rev: 2, threshold: %s}, channels: [2]"

	// base is completed by the settings of ingest and dsp. One of them contains %s, which is 0, near and other in turn.
	cases := []struct{ key, base, ingest, dsp, near, other string }{
		{"emergence_db", sound, "", ", emergence_db: %s", "1e-9", "6"},
		{"min_bins", sound, "", ", amplitude: peak, speed: nominal, tolerance: 0.0001, min_bins: %s", "0", "2"},
		{"overlap", sound, "", ", overlap: %s", "1e-9", "0.5"},
		// No seed is near 0, and 0 is the default seed. So this row shows only that the seed has an effect.
		{"seed", force, ", flow: {column: U2}", ", density_kg_m3: 1.2, seed: %s", "0", "1"},
		{"threshold", sound, tachometer, "", "1e-9", "0.003"},
		{"zero", force, ", flow: {column: U2, zero: %s}", ", density_kg_m3: 1.2", "1e-9", "0.5"},
		{"temperature_c", force, ", flow: {column: U2}", ", pressure_pa: 101325, temperature_c: %s", "1e-9", "20"},
		{"gain_db", sound, ", calibration: {full_scale_v: 10, sensitivity_v_per_pa: 0.05, gain_db: %s}", "", "1e-9", "20"},
	}

	// All runs are experiments of one configuration, named after the key and the number.
	var experiments strings.Builder
	for _, c := range cases {
		for name, value := range map[string]string{"zero": "0", "near": c.near, "other": c.other} {
			ingest := strings.Replace(c.ingest, "%s", value, 1)
			dsp := strings.Replace(c.dsp, "%s", value, 1)
			fmt.Fprintf(&experiments, "  %s_%s:\n    %s\n", c.key, name, fmt.Sprintf(c.base, ingest, dsp))
		}
	}

	write(t, dir, "pipeline.yaml", "version: 1\nexperiments:\n"+experiments.String())
	tripletsIn(t, dir)

	for _, c := range cases {
		zero := readTable(t, dir, "runs", c.key+"_zero", "triplets.arrow")
		near := readTable(t, dir, "runs", c.key+"_near", "triplets.arrow")
		other := readTable(t, dir, "runs", c.key+"_other", "triplets.arrow")
		assert.True(t, alike(zero, near), "%s: 0 and %s must give the same outcomes", c.key, c.near)
		assert.False(t, alike(zero, other), "%s: 0 and %s must give other outcomes", c.key, c.other)
	}
}

// alike reports whether two tables have the same values up to rounding.
func alike(a, b *table.Table) bool {
	isNear := func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*(1+math.Abs(x)) }

	return slices.EqualFunc(a.Columns, b.Columns, func(x, y table.Column) bool {
		return slices.Equal(x.Bools, y.Bools) && slices.EqualFunc(x.Floats, y.Floats, isNear)
	})
}

// The angle 21° is outside the angles of the tare, 0 to 20°. Expected: a tolerance of 1.5° accepts it, and a
// tolerance of 0 refuses it.
func TestZeroTolerance(t *testing.T) {
	run := func(tolerance string) error {
		return pipelinetest.Run(t.TempDir(), map[string]string{
			"force_a1.csv": "U1,alpha\nV,deg\n1,21\n2,21\n3,21\n4,21\n",
			"tare.csv":     "U1,alpha\nV,deg\n1,0\n1,10\n1,20\n1,15\n",
			"pipeline.yaml": `version: 1
experiments:
  x:
    ingest:
      files: force_*.csv
      pattern: force_a{number}.csv
      columns: {lift_n: Fz}
      balance:
        {voltages: [U1], components: [Fz], matrix: [[1]], angle: alpha, tare: {file: tare.csv},
         tolerance_deg: ` + tolerance + `}
    dsp: {triplets: split-halves}
`,
		}, engine.Options{Jobs: 1, Selection: engine.Selection{To: "dsp"}})
	}

	require.NoError(t, run("1.5"))
	assert.ErrorContains(t, run("0"), "an angle of the tare")
}
