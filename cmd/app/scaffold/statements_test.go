package scaffold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files with one pressure for each tap state the angle and the speed in a comment, and the names only count the files.
// Each writing is one that a program or a person uses; the angle and the speed that conditions.csv must have are the
// ones from which the test writes the header.
func TestSettingsInHeaders(t *testing.T) {
	for name, head := range map[string]string{
		"one line, dash":      "# AoA: %.2f deg - Uinf: %.2f m/s\n",
		"one line, comma":     "# AoA = %.2f, Uinf = %.2f\n",
		"one line, semicolon": "# AoA=%.2f; Uinf=%.2f\n",
		"one line, tab":       "# AoA: %.2f\tUinf: %.2f\n",
		"one line, bar":       "# AoA: %.2f | Uinf: %.2f\n",
		"two lines":           "# AoA: %.2f deg\n# Uinf: %.2f m/s\n",
		"other names":         "%% alpha: %.2f deg\n%% speed: %.2f m/s\n",
		"with a remark":       "# Operator: A. B. - AoA: %.2f deg - Uinf: %.2f m/s\n# Temperature: 12.0\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := "file,alpha_deg,u_inf_m_s\n"
			for i := range 6 {
				alpha := 5 * float64(i%3)
				speed := []float64{11.02, 26.35}[i/3]
				want += fmt.Sprintf("group_test_%d.dat,%g,%g\n", i, alpha, speed)
				write(t, dir, fmt.Sprintf("group_test_%d.dat", i), fmt.Sprintf(head, alpha, speed)+taps(alpha*speed))
			}

			found, err := Look(dir)
			require.NoError(t, err)
			assert.Equal(t, want, found.Conditions)
			assert.Contains(t, found.YAML, `inputs: ["x", "y", "alpha_deg", "u_inf_m_s"]`)
			assert.Contains(t, fmt.Sprint(found.Notes), "the rows are places")
		})
	}
}

// The names of attributes end with units. Expected: the numbers in the units of the columns' names, converted by hand:
// 0.1 rad = 18/π degrees, 36 km/h = 10 m/s.
func TestUnitsOfHeaders(t *testing.T) {
	for _, c := range []struct {
		head, column string
		first        float64 // value of the first file; the second and the third have 2 and 3 in place of 1
		step         float64
	}{
		{"# Speed [rpm]: %d000\n", "rpm", 1000, 1000},
		{"# AoA [rad]: 0.%d\n", "alpha_deg", 18 / math.Pi, 18 / math.Pi},
		{"# AoA (deg): %d\n", "alpha_deg", 1, 1},
		{"# Speed [km/h]: %d8\n", "u_inf_m_s", 5, 1 / 0.36},
		{"# Speed [m/s]: %d km/h\n", "u_inf_m_s", 1 / 3.6, 1 / 3.6},
		{head: "# AoA [kg]: %d\n"},
	} {
		dir := t.TempDir()
		for i := range 6 {
			write(t, dir, fmt.Sprintf("group_test_%d.dat", i), fmt.Sprintf(c.head, i%3+1)+taps(float64(i)))
		}

		found, err := Look(dir)
		require.NoError(t, err, c.head)

		if c.column == "" {
			assert.Empty(t, found.Conditions, c.head)
			continue
		}

		rows := strings.Fields(found.Conditions)
		require.Len(t, rows, 7, c.head)
		assert.Equal(t, "file,"+c.column, rows[0], c.head)

		for i, row := range rows[1:] {
			_, cell, _ := strings.Cut(row, ",")
			value, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err, c.head)
			assert.InEpsilon(t, c.first+float64(i%3)*c.step, value, 1e-14, c.head)
		}
	}
}

// taps returns the rows of a file: three taps on each side at the same x.
func taps(load float64) string {
	var b strings.Builder
	b.WriteString("# x y p_avg\n")
	for _, y := range []float64{0.02, -0.02} {
		for _, x := range []float64{0.01, 0.04, 0.11} {
			fmt.Fprintf(&b, "%g %g %g\n", x, y, 1+load*x*y)
		}
	}

	return b.String()
}

// Two loggers wrote files without a header, one of them with a clock: init names the files of the other kind.
func TestNumberedColumnsNoted(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		for k, row := range []string{"%d,%[1]d00,%d,7.5\n", "%d,%d,7.5\n"} {
			var b strings.Builder
			for n := range 120 {
				fmt.Fprintf(&b, row, n, (n*7919)%101)
			}

			write(t, dir, fmt.Sprintf("wake_alpha%d_set%d.csv", 5*i, k+1), b.String())
		}
	}

	found, err := Look(dir)
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(found.Notes), "3 files (first wake_alpha0_set2.csv): the columns have no names")
}

// A file for each yaw angle is a polar over the angle of attack, and nothing was measured twice: its rows are results,
// and a mean over the polar would be an outcome of no condition. Rows at one angle, rows beside a clock, and many rows
// are samples.
func TestSweepsAreNoSamples(t *testing.T) {
	for _, c := range []struct {
		name, head string
		rows       int
		row        func(k int) string
		isSweep    bool
	}{
		{"polar", "alpha,CL,CL_ci", 15, func(k int) string { return fmt.Sprint(2*k-10, ",", 2*k*k, ",0.01") }, true},
		{"angles as read", "beta,CL", 15, func(k int) string { return fmt.Sprintf("%d.0%d,%d", 2*k-10, k%4, k) }, true},
		{"speeds", "rpm,thrust", 8, func(k int) string { return fmt.Sprint(1000*k+1000, ",", k*k) }, true},
		{"advance ratios", "J,CT,CP", 9, func(k int) string { return fmt.Sprintf("0.%d,%d,%d", k+1, 9-k, 10-k) }, true},
		{"one angle", "alpha,CL", 15, func(k int) string { return fmt.Sprint("5,", k%7) }, false},
		{"a clock", "time,alpha,CL", 15, func(k int) string { return fmt.Sprint(k, ",", 2*k-10, ",", k%7) }, false},
		{"a slow pitch", "alpha,CL", 250, func(k int) string { return fmt.Sprint(k, ",", k%7) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for yaw := range 4 {
				var b strings.Builder
				b.WriteString(c.head + "\n")
				for k := range c.rows {
					b.WriteString(c.row(k) + fmt.Sprintf("%d\n", yaw+1))
				}

				write(t, dir, fmt.Sprintf("wing_yaw%d.csv", 5*yaw), b.String())
			}

			found, err := Look(dir)
			require.NoError(t, err)
			assert.NotContains(t, found.YAML, `"CL_ci"`, "an uncertainty is no outcome")
			if c.isSweep {
				assert.Contains(t, found.YAML, "table:")
				assert.Contains(t, fmt.Sprint(found.Notes), "no mean over them is taken")
			} else {
				assert.Contains(t, found.YAML, "random-samples")
			}
		})
	}
}

// Loggers write samples without names of columns and with a clock that nothing shows. Few values of a coarse converter
// repeat often, but such rows are not results: the counter and the clock must not become outcomes or runs of a table.
func TestNumberedColumnsAreSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 1))
	dir := t.TempDir()
	for alpha := range 3 {
		var b strings.Builder
		for n := range 400 {
			fmt.Fprintf(&b, "%d,%d,%.2f,%.2f\n", n, 14400+16000*n, 63+0.25*float64(rng.IntN(8)), 0.3*float64(rng.IntN(9)))
		}

		write(t, dir, fmt.Sprintf("wing_AoA=%d_w=20.csv", 10*alpha), b.String())
	}

	found, err := Look(dir)
	require.NoError(t, err)
	assert.NotContains(t, found.YAML, "table:")
	assert.Contains(t, found.YAML, `columns: {column_3: "3", column_4: "4"}`)
}
