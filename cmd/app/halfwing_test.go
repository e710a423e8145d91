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

// coefficients are the truth of a simulated half wing.
type coefficients struct{ cl, cd float64 }

// halfWing writes a simulated campaign into a folder: a half wing of 0.2 m by 0.6 m on the floor of a wind tunnel, on a
// balance of six channels in volts at 1 kHz, with the matrix in a text file. Two mountings have two speeds and eight
// angles each. The zero drifts from a recording without wind before each sweep to one after it. Only the names state
// conditions. It returns the truth by file.
func halfWing(t *testing.T, dir string) map[string]coefficients {
	t.Helper()
	const density = 1.2
	const area = 0.2 * 0.6
	rng := rand.New(rand.NewPCG(11, 12))

	matrix := mat.NewDense(6, 6, nil)
	matrix.Apply(func(i, k int, _ float64) float64 {
		own := 0.0
		if i == k {
			own = []float64{40, 40, 60, 8, 8, 8}[i]
		}

		return math.Round(1e4*(own+0.4*rng.NormFloat64())) / 1e4
	}, matrix)

	var inverse mat.Dense
	require.NoError(t, inverse.Inverse(matrix))

	lines := []string{"\tU1\tU2\tU3\tU4\tU5\tU6"}
	for i, load := range []string{"Fx", "Fy", "Fz", "Mx", "My", "Mz"} {
		line := load
		for _, v := range mat.Row(nil, i, matrix) {
			line += fmt.Sprintf("\t%.4f", v)
		}

		lines = append(lines, line)
	}

	put(t, dir, "matrix.txt", strings.Join(lines, "\n"))

	record := func(name string, loads, zero []float64) {
		volts := mat.NewVecDense(6, nil)
		volts.MulVec(&inverse, mat.NewVecDense(6, loads))
		lines := []string{"Time (s)\tU1 (V)\tU2 (V)\tU3 (V)\tU4 (V)\tU5 (V)\tU6 (V)"}
		for k := range 600 {
			line := fmt.Sprintf("%.3f", float64(k)/1000)
			for i := range 6 {
				line += fmt.Sprintf("\t%.7f", volts.AtVec(i)+zero[i]+2e-5*rng.NormFloat64())
			}

			lines = append(lines, line)
		}

		put(t, dir, name, strings.Join(lines, "\n"))
	}

	truth := map[string]coefficients{}
	angles := []float64{-4, -2, 0, 2, 4, 6, 8, 10}
	for mounting := 1; mounting <= 2; mounting++ {
		before := make([]float64, 6)
		for i := range before {
			before[i] = 0.05 * rng.NormFloat64()
		}

		for _, u := range []float64{20, 30} {
			after := make([]float64, 6)
			for i := range after {
				after[i] = before[i] + 2e-4*rng.NormFloat64()
			}

			conditions := fmt.Sprintf("m%d_u%g", mounting, u)
			record("tare1_"+conditions+".txt", make([]float64, 6), before)
			record("tare2_"+conditions+".txt", make([]float64, 6), after)

			for i, alpha := range angles {
				q := density * u * u / 2 * area
				cl := 0.1 + 0.09*alpha
				cd := 0.02 + 0.05*cl*cl
				sin, cos := math.Sincos(alpha * math.Pi / 180)
				zero := make([]float64, 6)
				for k := range zero {
					zero[k] = before[k] + (after[k]-before[k])*float64(i+1)/float64(len(angles)+1)
				}

				name := fmt.Sprintf("%s_a%g.txt", conditions, alpha)
				record(name, []float64{q * (cd*cos - cl*sin), 0, q * (cl*cos + cd*sin), 0.1 * q * cl, -0.01 * q, 0}, zero)
				truth[name] = coefficients{cl, cd}
			}

			before = after
		}
	}

	return truth
}

// A user of the half wing's folder runs init, makes one edit (chord, span and density), and runs. The configuration
// finds matrix, zeros and mountings by itself. Expected: the coefficients of every triplet within 0.001 of the truth.
func TestHalfWing(t *testing.T) {
	dir := t.TempDir()
	truth := halfWing(t, dir)
	out, err := command(dir, "init").CombinedOutput()
	require.NoError(t, err, "%s", out)

	config := filepath.Join(dir, "pipeline.yaml")
	yaml, err := os.ReadFile(config)
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

	out, err = command(dir, "run", "--to", "dsp", "--progress", "none").CombinedOutput()
	require.NoError(t, err, "%s", out)

	found, err := filepath.Glob(filepath.Join(dir, "runs", "*", "triplets.arrow"))
	require.NoError(t, err)
	require.Len(t, found, 1)

	tab, err := table.Read(found[0])
	require.NoError(t, err)
	require.GreaterOrEqual(t, tab.Rows(), 2*len(truth))

	seen := map[string]bool{}
	for row, recording := range tab.Column("recording").Strings {
		want, isThere := truth[recording]
		require.True(t, isThere, "%s is no run of the campaign", recording)
		seen[recording] = true
		for _, half := range []string{"_1", "_2"} {
			require.InDelta(t, want.cl, tab.Column("cl" + half).Floats[row], 0.001, "cl%s of %s", half, recording)
			require.InDelta(t, want.cd, tab.Column("cd" + half).Floats[row], 0.001, "cd%s of %s", half, recording)
		}
	}

	assert.Len(t, seen, len(truth), "runs with triplets")
}
