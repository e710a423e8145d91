package campaign_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tareForms are names of runs and of recordings without wind, as users write them. want has the recordings of each run
// in order. If refusal is set, the campaign is refused with this text.
var tareForms = []struct {
	name        string
	runs, tares string // names without endings
	pattern     string
	file, after string // the settings
	settings    string // other settings of ingest
	want        string // the recordings of each run; two of a run are joined by "+"
	refusal     string
}{
	{
		name: "the speed", runs: "u20_a2 u30_a2", tares: "tare_u20 tare_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", want: "tare_u20 tare_u30",
	},
	{
		name: "the angle", runs: "a-2 a0 a2", tares: "zero_a-2 zero_a0 zero_a2",
		pattern: "a{alpha_deg}", file: "zero_a{alpha_deg}", want: "zero_a-2 zero_a0 zero_a2",
	},
	{
		name: "trailing zeros and decimals", runs: "u20.0_a2 u12.5_a2", tares: "tare_u20 tare_u12.50",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", want: "tare_u20 tare_u12.50",
	},
	{
		name: "leading zeros", runs: "u020_a02 u030_a02", tares: "tare_u20 tare_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", want: "tare_u20 tare_u30",
	},
	{
		name: "a unit behind the number", runs: "20mps_2deg 30mps_2deg", tares: "tare_20mps tare_30mps",
		pattern: "{u_inf_m_s}mps_{alpha_deg}deg", file: "tare_{u_inf_m_s}mps", want: "tare_20mps tare_30mps",
	},
	{
		name: "a mounting as a text", runs: "mA_a2 mB_a2", tares: "tare_mA tare_mB",
		pattern: "m{m:text}_a{alpha_deg}", file: "tare_m{m:text}", want: "tare_mA tare_mB",
	},
	{
		name: "a mounting as a number of both", runs: "m1_a2 m2_a2", tares: "tare_m1 tare_m2",
		pattern: "m{m}_a{alpha_deg}", file: "tare_m{m}", want: "tare_m1 tare_m2",
	},
	{
		name: "a mounting as a text of the runs and a number of the zeros", runs: "m1_a2 m2_a2", tares: "tare_m1 tare_m2",
		pattern: "m{m:text}_a{alpha_deg}", file: "tare_m{m}", want: "tare_m1 tare_m2",
	},
	{
		name: "the day", runs: "20240115_a2 20240116_a2", tares: "20240115_tare 20240116_tare",
		pattern: "{day:text}_a{alpha_deg}", file: "{day:text}_tare", want: "20240115_tare 20240116_tare",
	},
	{
		name: "the day with dashes", runs: "2024-01-15_a2 2024-01-16_a2", tares: "2024-01-15_zero 2024-01-16_zero",
		pattern: "{day:text}_a{alpha_deg}", file: "{day:text}_zero", want: "2024-01-15_zero 2024-01-16_zero",
	},
	{
		name: "words of other languages", runs: "u20_a2 u30_a2", tares: "Nullmessung_u20 Nullmessung_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "Nullmessung_u{u_inf_m_s}", want: "Nullmessung_u20 Nullmessung_u30",
	},
	{
		name: "a repeat that only the runs state", runs: "a2_r1 a2_r2", tares: "tare_a2",
		pattern: "a{alpha_deg}_r{_}", file: "tare_a{alpha_deg}", want: "tare_a2 tare_a2",
	},
	{
		name: "one recording for all", runs: "a2 a4", tares: "tare", pattern: "a{alpha_deg}", file: "tare",
		want: "tare tare",
	},
	{
		name: "before and after by words", runs: "u20_a2 u30_a2",
		tares:   "tare_before_u20 tare_after_u20 tare_before_u30 tare_after_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_before_u{u_inf_m_s}", after: "tare_after_u{u_inf_m_s}",
		want: "tare_before_u20+tare_after_u20 tare_before_u30+tare_after_u30",
	},
	{
		name: "each its own before, one after", runs: "u20_a2 u30_a2", tares: "vor_u20 vor_u30 nach",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "vor_u{u_inf_m_s}", after: "nach",
		want: "vor_u20+nach vor_u30+nach",
	},
	{
		name: "the condition before the word", runs: "u20_a2 u30_a2", tares: "u20_zero u30_zero",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "u{u_inf_m_s}_zero", want: "u20_zero u30_zero",
	},
	{
		name: "another order of conditions", runs: "u20_a2 u20_a4", tares: "tare_a4_u20 tare_a2_u20",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_a{alpha_deg}_u{u_inf_m_s}", want: "tare_a2_u20 tare_a4_u20",
	},
	{
		name: "a decimal comma", runs: "u12,5_a2 u20,0_a2", tares: "tare_u12,5 tare_u20",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", want: "tare_u12,5 tare_u20",
	},
	{
		name: "a p for the decimal point", runs: "u12p5_a2 u20p0_a2", tares: "tare_u12p5 tare_u20p0",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", want: "tare_u12p5 tare_u20p0",
	},
	{
		name: "an m for the minus sign", runs: "am2 a2", tares: "tare_am2 tare_a2",
		pattern: "a{alpha_deg}", file: "tare_a{alpha_deg}", want: "tare_am2 tare_a2",
	},
	{
		name: "a speed in another unit than its name states", runs: "u72_a2 u108_a2", tares: "tare_u72 tare_u108",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", settings: "units: {u_inf_m_s: km/h}, ",
		want: "tare_u72 tare_u108",
	},
	{
		name: "an angle in another unit that is near zero", runs: "a0 a0.1", tares: "tare_a0 tare_a0.1",
		pattern: "a{alpha_deg}", file: "tare_a{alpha_deg}", settings: "units: {alpha_deg: rad}, ",
		want: "tare_a0 tare_a0.1",
	},
	{
		name: "other writings of a name", runs: "mA_a2 mB_a2", tares: "tare_ma tare_mB",
		pattern: "m{m:text}_a{alpha_deg}", file: "tare_m{m:text}", settings: "spellings: {a: A}, ",
		want: "tare_ma tare_mB",
	},
	{
		name: "an additional recording without a run", runs: "u20_a2", tares: "tare_u20 tare_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}", want: "tare_u20",
	},
	{
		name: "a part that does not count", runs: "u20_a2 u30_a2", tares: "tare_x1_u20 tare_x2_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_{_}_u{u_inf_m_s}", want: "tare_x1_u20 tare_x2_u30",
	},
	{
		name: "a run without its recording", runs: "u20_a2 u25_a2", tares: "tare_u20 tare_u30",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_u{u_inf_m_s}",
		refusal: "u25_a2.npy: expected one recording without wind with the conditions of this file, found none",
	},
	{
		name: "two recordings of a condition", runs: "u20_a2", tares: "tare_x1_u20 tare_x2_u20",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_{_}_u{u_inf_m_s}",
		refusal: "state in the pattern what tells them apart",
	},
	{
		name: "a condition that the runs lack", runs: "u20_a2", tares: "tare_m1",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "tare_m{m}", refusal: "found m, which no recording states",
	},
	{
		name: "no such file", runs: "u20_a2", tares: "tare_u20",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "zero_u{u_inf_m_s}",
		refusal: `found none (correct the path; there is "tare_u20.npy"`,
	},
	{
		name: "a pattern of the runs too", runs: "u20_a2", tares: "u30_a2",
		pattern: "u{u_inf_m_s}_a{alpha_deg}", file: "u{u_inf_m_s}_a{alpha_deg}",
		refusal: "every recording is one without wind",
	},
}

// Each form finds the recordings without wind that its names show, or is refused.
func TestTareForms(t *testing.T) {
	require.GreaterOrEqual(t, len(tareForms), 20)
	x := samples(100, 1, 2)
	for _, form := range tareForms {
		t.Run(form.name, func(t *testing.T) {
			files := map[string]string{"m.csv": "Fx,1,2\nFz,3,4\n"}
			for _, name := range strings.Fields(form.runs + " " + form.tares) {
				files[name+".npy"] = x
			}

			constants := ""
			if !strings.Contains(form.pattern, "alpha_deg") {
				constants = "constants: {alpha_deg: 2}, "
			}

			after := ""
			if form.after != "" {
				after = `, after: "` + form.after + `.npy", drift: mean`
			}

			ingest := `{files: "*.npy", pattern: "` + form.pattern + `.npy", ` + constants + form.settings +
				`rate_hz: 1000, columns: {fx_n: Fx, fz_n: Fz}, axes: body, balance: {voltages: ["1", "2"], ` +
				`matrix_file: m.csv, blockage: none, angle: alpha_deg, tare: {interpolation: mean, file: "` + form.file +
				`.npy"` + after + `}}}`
			const halves = "split-halves"
			inventory, err := trySettled(t, files, ingest, halves)
			if form.refusal != "" {
				require.ErrorContains(t, err, form.refusal)
				return
			}

			require.NoError(t, err)
			found := map[string]string{}
			for _, file := range inventory.Files {
				var tares []string
				for _, tare := range file.Tares {
					tares = append(tares, strings.TrimSuffix(tare, ".npy"))
				}

				found[strings.TrimSuffix(file.Name, ".npy")] = strings.Join(tares, "+")
			}

			want := map[string]string{}
			for i, run := range strings.Fields(form.runs) {
				want[run] = strings.Fields(form.want)[i]
			}

			assert.Equal(t, want, found)
		})
	}
}
