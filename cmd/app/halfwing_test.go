package app

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"doubletake/ingest/table"
)

// coefficients are the true lift and drag of a run.
type coefficients struct{ cl, cd float64 }

// halfWing is a simulated campaign: a half wing of 0.2 m by 0.6 m on the floor of a wind tunnel, on a balance of six
// channels in volts at 1 kHz. Two mountings have two speeds and eight angles each. Only the names of the files state
// the conditions.
type halfWing struct {
	dir    string
	rng    *rand.Rand
	matrix *mat.Dense              // N or N·m per V
	truth  map[string]coefficients // by file
}

// newHalfWing writes the campaign into a folder.
func newHalfWing(t *testing.T, dir string) *halfWing {
	t.Helper()

	w := &halfWing{dir: dir, rng: rand.New(rand.NewPCG(11, 12)), truth: map[string]coefficients{}}
	w.writeMatrix(t)

	for mounting := 1; mounting <= 2; mounting++ {
		zero := make([]float64, 6)
		for i := range zero {
			zero[i] = 0.05 * w.rng.NormFloat64()
		}

		for _, speed := range []float64{20, 30} {
			zero = w.writeSweep(t, mounting, speed, zero)
		}
	}

	return w
}

// writeMatrix makes the balance's matrix, with weak interactions beside its diagonal, and writes it as text.
func (w *halfWing) writeMatrix(t *testing.T) {
	t.Helper()

	diagonal := []float64{40, 40, 60, 8, 8, 8}
	w.matrix = mat.NewDense(6, 6, nil)
	w.matrix.Apply(func(row, column int, _ float64) float64 {
		v := 0.4 * w.rng.NormFloat64()
		if row == column {
			v += diagonal[row]
		}

		return math.Round(1e4*v) / 1e4
	}, w.matrix)

	lines := []string{"\tU1\tU2\tU3\tU4\tU5\tU6"}
	for i, load := range []string{"Fx", "Fy", "Fz", "Mx", "My", "Mz"} {
		line := load
		for _, v := range mat.Row(nil, i, w.matrix) {
			line += fmt.Sprintf("\t%.4f", v)
		}

		lines = append(lines, line)
	}

	put(t, w.dir, "matrix.txt", strings.Join(lines, "\n"))
}

// writeSweep writes the runs at a speed, and recordings without wind before and after them. The zero in volts drifts
// from the one before, which is given, to the one after, which is returned.
func (w *halfWing) writeSweep(t *testing.T, mounting int, speed float64, before []float64) (after []float64) {
	t.Helper()

	after = make([]float64, 6)
	for i := range after {
		after[i] = before[i] + 2e-4*w.rng.NormFloat64()
	}

	conditions := fmt.Sprintf("m%d_u%g", mounting, speed)
	w.writeRecording(t, "tare1_"+conditions+".txt", make([]float64, 6), before)
	w.writeRecording(t, "tare2_"+conditions+".txt", make([]float64, 6), after)

	const density, area = 1.2, 0.2 * 0.6
	q := density * speed * speed / 2 * area // dynamic pressure times area
	angles := []float64{-4, -2, 0, 2, 4, 6, 8, 10}
	for i, alpha := range angles {
		cl := 0.1 + 0.09*alpha
		cd := 0.02 + 0.05*cl*cl
		sin, cos := math.Sincos(alpha * math.Pi / 180)
		loads := []float64{q * (cd*cos - cl*sin), 0, q * (cl*cos + cd*sin), 0.1 * q * cl, -0.01 * q, 0}

		zero := make([]float64, 6)
		for k := range zero {
			zero[k] = before[k] + (after[k]-before[k])*float64(i+1)/float64(len(angles)+1)
		}

		name := fmt.Sprintf("%s_a%g.txt", conditions, alpha)
		w.writeRecording(t, name, loads, zero)
		w.truth[name] = coefficients{cl, cd}
	}

	return after
}

// writeRecording writes 0.6 s of the voltages that loads cause, on top of a zero, in noise.
func (w *halfWing) writeRecording(t *testing.T, name string, loads, zero []float64) {
	t.Helper()

	var inverse mat.Dense
	require.NoError(t, inverse.Inverse(w.matrix))

	volts := mat.NewVecDense(6, nil)
	volts.MulVec(&inverse, mat.NewVecDense(6, loads))

	lines := []string{"Time (s)\tU1 (V)\tU2 (V)\tU3 (V)\tU4 (V)\tU5 (V)\tU6 (V)"}
	for k := range 600 {
		line := fmt.Sprintf("%.3f", float64(k)/1000)
		for i := range 6 {
			line += fmt.Sprintf("\t%.7f", volts.AtVec(i)+zero[i]+2e-5*w.rng.NormFloat64())
		}

		lines = append(lines, line)
	}

	put(t, w.dir, name, strings.Join(lines, "\n"))
}

// A user of the half wing's folder runs init, makes one edit (chord, span and density), and runs. The configuration
// finds matrix, zeros and mountings by itself. The coefficients of every triplet are within 0.001 of the truth.
func TestHalfWing(t *testing.T) {
	dir := t.TempDir()
	truth := newHalfWing(t, dir).truth
	output, err := command(dir, "init").CombinedOutput()
	require.NoError(t, err, "%s", output)

	yaml, err := os.ReadFile(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)
	for _, line := range []string{
		`matrix_file: "matrix.txt"`, `pattern: "m{mounting:text}_u{u_inf_m_s}_a{alpha_deg}.txt"`, `occasions: ["mounting"]`,
		`tare: {file: "tare1_m{mounting:text}_u{u_inf_m_s}.txt", after: "tare2_m{mounting:text}_u{u_inf_m_s}.txt"`,
		"inputs: [u_inf_m_s, alpha_deg]",
	} {
		assert.Contains(t, string(yaml), line)
	}

	assert.NotContains(t, string(yaml), "exclude:", "every file has a use")

	edited := strings.NewReplacer("# chord_m: 0.10", "chord_m: 0.2", "# span_m: 0.25", "span_m: 0.6",
		"# density_kg_m3: 1.204", "density_kg_m3: 1.2").Replace(string(yaml))
	require.NotEqual(t, string(yaml), edited)
	put(t, dir, "pipeline.yaml", edited)

	output, err = command(dir, "run", "--to", "dsp", "--progress", "none").CombinedOutput()
	require.NoError(t, err, "%s", output)

	found, err := filepath.Glob(filepath.Join(dir, "runs", "*", "triplets.arrow"))
	require.NoError(t, err)
	require.Len(t, found, 1)

	tab, err := table.Read(found[0])
	require.NoError(t, err)
	require.GreaterOrEqual(t, tab.Rows(), 2*len(truth))

	seen := map[string]bool{}
	for row, recording := range tab.Column("recording").Strings {
		require.Contains(t, truth, recording, "runs of the campaign")

		want := truth[recording]
		seen[recording] = true
		for _, half := range []string{"_1", "_2"} {
			require.InDelta(t, want.cl, tab.Column("cl" + half).Floats[row], 0.001, "cl%s of %s", half, recording)
			require.InDelta(t, want.cd, tab.Column("cd" + half).Floats[row], 0.001, "cd%s of %s", half, recording)
		}
	}

	assert.Len(t, seen, len(truth), "runs with triplets")
}
