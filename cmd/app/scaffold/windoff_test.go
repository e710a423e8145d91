package scaffold

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/role"
	"doubletake/pipeline/config"
)

// balanceFiles are runs of two speeds and four angles with two channels in volts, and other recordings by their names.
func balanceFiles(unit string, others ...string) map[string]string {
	head := fmt.Sprintf("Time (s)\tU1 (%s)\tU2 (%s)\n", unit, unit)
	series := head
	for k := range 50 {
		series += fmt.Sprintf("%.3f\t%.4f\t%.4f\n", float64(k)/1000, float64(k*k%7), float64(k*k%11))
	}

	files := map[string]string{}
	for _, u := range []int{20, 30} {
		for _, alpha := range []int{0, 2, 4, 6} {
			files[fmt.Sprintf("u%d_a%d.txt", u, alpha)] = series + fmt.Sprintf("0.050\t%d\t%d\n", u, alpha)
		}
	}

	for i, name := range others {
		files[name] = series + fmt.Sprintf("0.050\t%d\t0\n", 100+i)
	}

	return files
}

// lookAt writes files into a folder and returns what init proposes.
func lookAt(t *testing.T, files map[string]string) *Result {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, dir, name, content)
	}

	r, err := Look(dir)
	require.NoError(t, err)

	return r
}

// Recordings without wind become the tare of a balance: one for all runs, one of each speed, or one before and one
// after.
func TestTareByNames(t *testing.T) {
	const matrix = "\tU1\tU2\nFx\t40\t0.1\nFz\t0.2\t60\n"
	for _, c := range []struct {
		others []string
		want   string
	}{
		{[]string{"tare.txt"}, `tare: {file: "tare.txt", interpolation: mean}`},
		{[]string{"zero_u20.txt", "zero_u30.txt"}, `tare: {file: "zero_u{u_inf_m_s}.txt", interpolation: mean}`},
		{
			[]string{"Nullmessung_vor.txt", "Nullmessung_nach.txt"},
			`tare: {file: "Nullmessung_vor.txt", after: "Nullmessung_nach.txt", drift: mean, interpolation: mean}`,
		},
		{
			[]string{"tare1_u20.txt", "tare2_u20.txt", "tare1_u30.txt", "tare2_u30.txt"},
			`tare: {file: "tare1_u{u_inf_m_s}.txt", after: "tare2_u{u_inf_m_s}.txt", drift: mean, interpolation: mean}`,
		},
	} {
		files := balanceFiles("V", c.others...)
		files["matrix.txt"] = matrix
		r := lookAt(t, files)
		assert.Contains(t, r.YAML, c.want)
		assert.NotContains(t, r.YAML, "exclude:", "%v", c.others)
		assert.Contains(t, strings.Join(r.Notes, "\n"), "of the zero without wind, by the names: balance.tare")
	}
}

// Recordings without wind are left out if the names of the recordings before the runs, or after them, are not clear.
func TestTareLeftOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		others []string
		note   string
	}{
		{
			"other conditions than the runs",
			[]string{"tare_x1.txt", "tare_x2.txt"},
			"2 files (first tare_x1.txt): left out, recordings without wind",
		},
		{
			"two after the runs",
			[]string{"tare_before.txt", "tare_after_1.txt", "tare_after_2.txt"},
			"3 files (first tare_after_1.txt): left out, recordings without wind",
		},
		{
			"two before the runs",
			[]string{"tare_before_1.txt", "tare_before_2.txt", "tare_after.txt"},
			"3 files (first tare_after.txt): left out, recordings without wind",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := balanceFiles("V", c.others...)
			files["matrix.txt"] = "\tU1\tU2\nFx\t40\t0.1\nFz\t0.2\t60\n"
			r := lookAt(t, files)
			assert.NotContains(t, r.YAML, "tare: {file")
			assert.Contains(t, r.YAML, "exclude: [")
			assert.Contains(t, strings.Join(r.Notes, "\n"), c.note)
		})
	}
}

// Two channels with one name for an outcome get two outcomes.
func TestFreeNamesOfOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       string
	}{
		{"lift by its word and as Fz", "Fx\tFz\tLift", `columns: {drag: "Fx", lift: "Fz", lift_2: "Lift"}`},
		{
			"two balances", "L/Fz\tR/Fz\tR/Fx",
			`columns: {lift: "L/Fz", lift_2: "R/Fz", drag: "R/Fx"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for _, alpha := range []int{0, 2, 4, 6} {
				text := c.head + "\n"
				for k := range 50 {
					text += fmt.Sprintf("%.4f\t%.4f\t%.4f\n", float64(k*k%7), float64(k*k%11+alpha), float64(k*k%13))
				}

				files[fmt.Sprintf("a%d.txt", alpha)] = text
			}

			assert.Contains(t, lookAt(t, files).YAML, c.want)
		})
	}

	p := &plan{sheet: &role.Sheet{}}
	var names []string
	for _, channel := range []string{"p a", "p-a", "p.a", "p_a", "q"} {
		name := p.outcomeOfChannel(channel)
		p.Columns = append(p.Columns, config.NamedString{Name: name, Value: channel})
		names = append(names, name)
	}

	assert.Equal(t, []string{"p_a", "p_a_2", "p_a_3", "p_a_4", "q"}, names)
}

// A folder of volts without a matrix gives a configuration that asks for the loads, and none that trains on volts.
// Newtons give one that is complete.
func TestVoltsAreNoOutcomes(t *testing.T) {
	r := lookAt(t, balanceFiles("V"))
	assert.Contains(t, r.YAML, "columns: FILL_IN")
	assert.Contains(t, r.YAML, "# balance: {voltages: [")

	r = lookAt(t, balanceFiles("N"))
	assert.NotContains(t, r.YAML, "FILL_IN")
	assert.Contains(t, r.YAML, "columns: {")
}

// The letter m that counts from 1 is an occasion. Mach numbers, and numbers with gaps, are inputs.
func TestMountingsInNames(t *testing.T) {
	names := func(values ...string) (files []string) {
		for _, v := range values {
			for _, alpha := range []int{0, 2, 4} {
				files = append(files, fmt.Sprintf("m%s_a%d.txt", v, alpha))
			}
		}

		return files
	}

	s := role.ReadNames(names("1", "2"))
	assert.Equal(t, role.Day, s.ByName("mounting").Role)
	assert.Equal(t, "m{mounting:text}_a{alpha_deg}.txt", s.Pattern())

	for _, values := range [][]string{{"0.3", "0.5"}, {"2", "4"}, {"10", "20"}} {
		s := role.ReadNames(names(values...))
		assert.Nil(t, s.ByName("mounting"), values)
		assert.Equal(t, role.Input, s.ByName("m").Role, values)
	}
}
