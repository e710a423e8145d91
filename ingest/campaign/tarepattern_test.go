package campaign_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each run takes the recordings without wind whose names state its own mounting and speed. They are no runs themselves.
func TestTarePattern(t *testing.T) {
	x := samples(100, 1, 2)
	files := map[string]string{"m.csv": "Fx,1,2\nFz,3,4\n"}
	for _, name := range []string{
		"a_m1_u20", "a_m1_u30", "a_m2_u20", "tare1_m1_u20", "tare1_m1_u30", "tare1_m2_u20", "tare2_m1_u20", "tare2_m1_u30",
		"tare2_m2_u20",
	} {
		files[name+".npy"] = x
	}

	const sections = `{files: "*.npy", pattern: "{_}_m{m:text}_u{u_inf_m_s}.npy", constants: {alpha_deg: 2}, ` +
		`rate_hz: 1000, columns: {fx_n: Fx, fz_n: Fz}, axes: body, balance: {voltages: ["1", "2"], ` +
		`matrix_file: m.csv, blockage: none, angle: alpha_deg, tare: {interpolation: mean, `
	const halves = "split-halves"
	const both = `file: "tare1_m{m:text}_u{u_inf_m_s}.npy", after: "tare2_m{m}_u{u_inf_m_s}.npy", drift: mean}}}`
	inventory := settled(t, files, sections+both, halves)
	require.Equal(t, []string{"a_m1_u20.npy", "a_m1_u30.npy", "a_m2_u20.npy"}, inventory.Names())
	for _, file := range inventory.Files {
		require.Len(t, file.Tares, 2, file.Name)
		assert.Equal(t, "tare1"+file.Name[1:], file.Tares[0])
		assert.Equal(t, "tare2"+file.Name[1:], file.Tares[1])
		assert.InDelta(t, 0.5, file.Share, 0, "the mean of both zeros")
	}

	// One recording for both speeds of a mounting.
	inventory = settled(t, files,
		sections+`file: "tare1_m{m:text}_u20.npy"}, tolerance_deg: 3}, exclude: ["tare2*", "tare1*u30*"]}`, halves)
	assert.Equal(t, "tare1_m1_u20.npy", inventory.Files[1].Tares[0])

	for tare, want := range map[string]string{
		`file: "tare1_m{m:text}_u30.npy"`:             `a_m2_u20.npy: expected one recording without wind with`,
		`file: "{_}_m{m:text}_u{u_inf_m_s}.npy"`:      "every recording is one without wind",
		`file: "zero_u{u_inf_m_s}.npy"`:               "balance.tare.file: ",
		`file: "tare{number}_m{m:text}_u{speed}.npy"`: "found number, which no recording states",
		`file: "tare{_}_m{m:text}_u{u_inf_m_s}.npy"`:  "state in the pattern what tells them apart",
	} {
		refused(t, files, sections+tare+`}}}`, halves, want)
	}
}

// The unit that the settings state for a condition counts in the names of the recordings without wind too, whether the
// names of the runs or a table state their condition. 72 km/h are 20 m/s.
func TestTareUnits(t *testing.T) {
	x := samples(100, 1, 2)
	files := map[string]string{
		"m.csv": "Fx,1,2\nFz,3,4\n", "a_u72.npy": x, "a_u108.npy": x, "tare_u72.npy": x, "tare_u108.npy": x,
		"conditions.csv": "file,u_inf_m_s\na_u72.npy,72\na_u108.npy,108\n",
		"converted.csv":  "file,u_inf [km/h]\na_u72.npy,72\na_u108.npy,108\n",
	}

	const sections = `files: "*.npy", units: {u_inf_m_s: km/h}, constants: {alpha_deg: 2}, rate_hz: 1000, ` +
		`columns: {fx_n: Fx, fz_n: Fz}, axes: body, balance: {voltages: ["1", "2"], matrix_file: m.csv, ` +
		`blockage: none, angle: alpha_deg, tare: {interpolation: mean, file: "tare_u{u_inf_m_s}.npy"}}}`
	for _, source := range []string{
		`pattern: "{_}_u{u_inf_m_s}.npy"`,
		`conditions: conditions.csv`,
		`conditions: converted.csv, log: {columns: {u_inf_m_s: "u_inf [km/h]"}}`,
	} {
		inventory := settled(t, files, "{"+source+", "+sections, "split-halves")
		for _, file := range inventory.Files {
			require.Len(t, file.Tares, 1, source)
			assert.Equal(t, "tare"+file.Name[1:], file.Tares[0], source)
		}
	}
}

// Recordings without wind may be among the files and are none of the campaign.
func TestTaresAmongFiles(t *testing.T) {
	files := map[string]string{
		"a.csv": "Fx\n1\n2\n", "off1.csv": "Fx\n1\n2\n",
		"c.txt": "file,alpha_deg,tare\na.csv,3,off1.csv\n",
	}

	inventory := settled(t, files,
		`{files: "*.csv", conditions: c.txt, columns: {lift_n: Fx}, balance: {tare: {column: tare, interpolation: mean}}}`,
		"split-halves")
	require.Len(t, inventory.Files, 1, "recordings %v", inventory.Files)
	assert.Equal(t, "a.csv", inventory.Files[0].Name, "recordings %v", inventory.Files)
}
