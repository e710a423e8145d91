package scaffold

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/role"
	"doubletake/ingest/simulate"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/config"
)

// Expected patterns are written by hand from the names. pattern is "" if a table has what the names state, and odd is
// the file whose name states less than the others; "": there is none.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		files   []string
		pattern string
		odd     string
	}{
		{
			[]string{"d/naca0012_a-3.5_u9.1.csv", "d/naca0012_a4_u9.1.csv", "d/naca0012_a4_u4.7.csv"},
			"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv", "",
		},
		{[]string{"40000.wav", "44000.wav"}, "{condition}.wav", ""},
		{
			[]string{"Speed1/angle0.txt", "Speed1/angle10.txt", "Speed2/angle0.txt", "Speed2/notes1.txt"},
			"Speed{speed}/angle{alpha_deg}.txt", "Speed2/notes1.txt",
		},
		{[]string{"run-1_rpm2000.wav", "run-2_rpm3000.wav"}, "run-{_}_rpm{rpm}.wav", ""},
		// Numbers that name a run are not conditions; words after their number are names.
		{
			[]string{"2blades/3000/take1.wav", "2blades/4000/take2.wav", "3blades/3000/take1.wav"},
			"{blades}blades/{condition}/take{_}.wav", "",
		},
		{[]string{"B2_3000rpm_rep1.wav", "B3_4000rpm_rep2.wav"}, "B{blades}_{rpm}rpm_rep{_}.wav", ""},
		{[]string{"am5_u14.txt", "a0_u14.txt", "a5_u9.5.txt"}, "a{alpha_deg}_u{u_inf_m_s}.txt", ""},
		{[]string{"run_1.wav", "run_2.wav"}, "", ""},
		{[]string{"2023-04-11_15-30-12_rpm2000.wav", "2023-04-12_08-01-59_rpm3000.wav"}, "{_}_{_}_rpm{rpm}.wav", ""},
		{[]string{"20230411_153012_a5.wav", "20230412_080159_a-5.wav"}, "{_}_{_}_a{alpha_deg}.wav", ""},
		{[]string{"set1_idx3.wav", "set2_idx4.wav"}, "set{set_number}_idx{_}.wav", ""},
		{[]string{"a1_a2.wav", "a2_a1.wav"}, "a{alpha_deg}_a{alpha_deg_2}.wav", ""},
		{[]string{"x.wav", "y.wav"}, "{thing:text}.wav", ""},
		{[]string{"duct_4000.txt", "duct_5000.txt", "duct2_6000.txt"}, "duct_{duct}.txt", "duct2_6000.txt"},
		{[]string{"u3.txt", "u3_4.txt", "u5_4.txt", "u5_8.txt"}, "u{speed}_{condition}.txt", "u3.txt"},
		{[]string{"one1.wav"}, "", ""},                   // nothing varies
		{[]string{"x/rpm3.wav", "y_z/rpm4.wav"}, "", ""}, // the pattern of the last part lacks what folders state
		{[]string{"u1_rpm3.wav", "u1_rpm4.wav", "u2_rpm3.wav", "rest.wav"}, "u{speed}_rpm{rpm}.wav", "rest.wav"},
	} {
		s := role.ReadNames(c.files)
		p := ""
		if len(s.WithRole(role.Input, role.Thing)) > 0 {
			p = s.Pattern()
		}

		require.Equal(t, c.pattern, p, "%v: %q %v, expected %q %v", c.files, p, s.Lacking, c.pattern, c.odd)
		require.Len(t, s.Lacking, min(1, len(c.odd)), "%v: %q %v, expected %q %v", c.files, p, s.Lacking, c.pattern, c.odd)
		assert.False(t, c.odd != "" && s.Lacking[c.odd] == "",
			"%v: %q %v, expected %q %v", c.files, p, s.Lacking, c.pattern, c.odd)
	}
}

// The values were written down by hand from the names, as an engineer reads them. The names of a folder are parted by
// blanks, and ~ stands for a blank in a name. In parentheses is what init tells people about a reading that is not
// certain. The whole program runs on the cases with a name (case NAME) in cases_test.go of cmd/app.
func TestNamesAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"aoa-10_r1 aoa-05_r1 aoa000_r1 aoa+05_r1 aoa+10_r1", "alpha_deg=-10,-5,0,5,10"}, // case sign-after-word
		{"alpha−4 alpha0", "alpha_deg=-4,0"},
		{"alpha-4 alpha0 alpha4", "alpha_deg=-4,0,4"}, // case sign-hyphen
		{"wing-alpha-0-U-10 wing-alpha-5-U-20", "alpha_deg=0,5 u_inf_m_s=10,20"},
		{"NACA0012_clean_a0 NACA4412_tripped_a5", "thing=NACA0012,NACA4412 thing_2=clean,tripped alpha_deg=0,5"},
		{"AoA5_U10 U20_alpha7", "alpha_deg=5,7 u_inf_m_s=10,20"},
		{"alpha_-4 alpha_-2", "alpha_deg=-4,-2"},
		{"alpham5 alphap5 alpha_neg6 alpha_0 alpha_6", "alpha_deg=-5,5,-6,0,6"},
		{"AoA_neg2.5deg AoA_2.5deg", "alpha_deg=-2.5,2.5"},
		{"alpha1,5deg alpha3deg alpha2p5deg alpha4p0deg", "alpha_deg=1.5,3,2.5,4"},
		{"a1p5_u10 am1p5_u20", "alpha_deg=1.5,-1.5 u_inf_m_s=10,20"},
		{"Re_2.5E+05_a0 Re_5E+05_a5", "re=250000,500000 alpha_deg=0,5"},
		{"5deg 10deg 6°", "alpha_deg=5,10,6"},
		{"wing_5_deg wing_6_deg", "wing_deg=5,6"},
		{"2~rpm3000 2~rpm4000", "rpm=3000,4000"},
		{"theta_30_rpm_3000 theta_60_rpm_4000", "theta_deg=30,60 rpm=3000,4000"},
		{"30_deg_3000_rpm 60_deg_4000_rpm", "alpha_deg=30,60 rpm=3000,4000"},
		{"U10ms_a5 U20ms_a7", "u_inf_m_s=10,20 alpha_deg=5,7"},
		{"alpha5U10 alpha7U20", "alpha_deg=5,7 u_inf_m_s=10,20"},
		{"B2rpm3000 B3rpm4000", "blades=2,3 rpm=3000,4000"},
		{"J0.5_rpm3000 J=0.75,rpm=4000", "j=0.5,0.75 rpm=3000,4000"},
		{"NACA0012_a5 NACA4412_a7", "thing=NACA0012,NACA4412 alpha_deg=5,7"},
		{"naca0012_a5 naca0012_a7", "alpha_deg=5,7"},
		{"NACA~0012~a5 NACA~4412~a7", "thing=NACA 0012,NACA 4412 alpha_deg=5,7"},
		{"NACA0012_a5 ClarkY_a7 SD7003_a5", "thing=NACA0012,ClarkY,SD7003 alpha_deg=5,7,5"},
		{"APC-8x6_3000rpm DJI9450_4000rpm", "thing=APC-8x6,DJI9450 rpm=3000,4000"},
		{"prop1_3000rpm prop2_4000rpm", "thing=prop1,prop2 rpm=3000,4000"},
		{"wingA_a5 wingB_a7", "thing=wingA,wingB alpha_deg=5,7"},
		{
			"2023-04-11_a5 2023-04-11_a7 12.04.2023_a5 12.04.2023_a7 3May2024_a5 3May2024_a7",
			"day=2023-04-11,2023-04-11,12.04.2023,12.04.2023,3May2024,3May2024 alpha_deg=5,7,5,7,5,7",
		},
		{"20230411T1530_a5 20230411T1540_a7", "alpha_deg=5,7"},
		{"17_11_17__14_50_a5 17_11_17__15_10_a7", "alpha_deg=5,7"},
		{"run1_a5 run2_a7", "alpha_deg=5,7"},
		{"a5_r1 a5_r2 a7_r1 a7_r2", "alpha_deg=5,5,7,7"},
		{"Mon_a5 Mon_a7 Tue_a5 Tue_a7", "day=Mon,Mon,Tue,Tue alpha_deg=5,7,5,7"},
		{"U10/a5 U10/a7 U20/a5 U20/a7", "u_inf_m_s=10,10,20,20 alpha_deg=5,7,5,7"},
		{"h50mm_f200Hz h60mm_f300Hz", "h_mm=50,60 f_hz=200,300"},
		{"throttle50% throttle60%", "throttle_percent=50,60"},
		{"u5m_s_a10deg u6m-s_a12deg", "u_inf_m_s=5,6 alpha_deg=10,12"},
		{"20km_h_10kt_h5in 30km_h_20kt_h6in", "u_inf_km_h=20,30 u_inf_kt=10,20 h_in=5,6"},
		{"run12a_Re1.5M_x10y20_AOA_M5 run12b_Re2M_x12y30_AOA_P5", "re=1.5e+06,2e+06 x=10,12 y=20,30 alpha_deg=-5,5"},
		{"NACA-0012_a5 NACA0015_a7", "thing=NACA-0012,NACA0015 alpha_deg=5,7"},
		{"APC_2000 GWS_2000 APC_3000 GWS_3000", "thing=APC,GWS,APC,GWS condition=2000,2000,3000,3000"},
		{"J0_5_2-bladed J1_0_2-bladed", `j=0.5,1 ("0_5" is read as 0.5, not as two numbers)`},
		{"2000rpm 2000rpm~(2) 3000rpm_14h30", "rpm=2000,2000,3000"},
		{
			"03.05.24_01_a1 03.05.24_02_a5 03.05.24_03_a7 4.5.2024_01_a7 4.5.2024_02_a5 4.5.2024_03_a1",
			"day=03.05.24,03.05.24,03.05.24,4.5.2024,4.5.2024,4.5.2024 alpha_deg=1,5,7,7,5,1",
		},
		{"rpm4k rpm4.5k 6krpm 7k_rpm rpm4k5 5'500rpm rpm900", "rpm=4000,4500,6000,7000,4500,5500,900"},
		{"Re500k_a0 Re1M_a5 re600K_a7", "re=500000,1e+06,600000 alpha_deg=0,5,7"},
		{"V7_5_a0 V10_a5 V12_5_a7", `u_inf_m_s=7.5,10,12.5 ("7_5" is read as 7.5, not as two numbers) alpha_deg=0,5,7`},
		{"V=7_5_a0_5 V=10_am1_5 V=12_5_a2", `u_inf_m_s=7.5,10,12.5 ("7_5" is read as 7.5, not as two numbers) ` +
			`alpha_deg=0.5,-1.5,2 ("0_5" is read as 0.5, not as two numbers)`},
		{"a0_25_n4.500 a0_5_n5.500 a0_75_n10.500", `alpha_deg=0.25,0.5,0.75 ("0_25" is read as 0.25, not as two numbers) ` +
			`n=4500,5500,10500 ("4.500" is read as 4500: its mark may be that of decimals or of thousands)`},
		{"V10_0 V10_5 V20_0 V20_5", `u_inf_m_s=10,10,20,20 condition=0,5,0,5 ("10_0" is read as two numbers, not as one)`},
		{"2~000rpm_a0 3~000rpm_a5", "rpm=2000,3000 alpha_deg=0,5"},
		{"4_500rpm_a0 5_500rpm_a5", `rpm=4500,5500 ("4_500" is read as 4500, not as two numbers) alpha_deg=0,5`},
		{"3-5 3-6 4-5 4-6", `condition=3,3,4,4 condition_2=5,6,5,6 ("3-5" is read as two numbers, not as one)`},
		{"M030_a0 M050_a5", `m=30,50 ("030" is read as 30, not as a decimal) alpha_deg=0,5`},
		{"Ma000_a0 Ma050_a0 Ma100_a5", `ma=0,50,100 ("050" is read as 50, not as a decimal) alpha_deg=0,0,5`},
		{"J20_Re1.5x105 J45_Re2x105", `j=20,45 ("20" is read as 20, not as a decimal) re=1.5,2`},
		{"alpha-4 alpha-8", `alpha_deg=-4,-8 ("alpha-4" is read as -4; for 4 write alpha-{alpha_deg} in the pattern)`},
		{"run_-5_2.5kRPM run_7.5_4.5kRPM", "run_number=-5,7.5 rpm=2500,4500"},
		{"data_240503_a1 data_240503_a5 data_240505_a1 data_240505_a5", `day=240503,240503,240505,240505 ("240503" ` +
			"is read as May 3 2024) alpha_deg=1,5,1,5"},
		{"bikeTestV10Yaw00_B2_500rpm bikeTestV20Yaw05_B3_900rpm", "u_inf_m_s=10,20 yaw=0,5 blades=2,3 rpm=500,900"},
		{"V10m-s V20m-s", "u_inf_m_s=10,20"}, // a unit of two words at the end
		{"J02_a0 J10_a5", `j=0.2,1 ("02" is read as 0.2, not as 2) alpha_deg=0,5`},
		{"J.2_a0 J.4_a5", "j=0.2,0.4 alpha_deg=0,5"},
		{
			"0503/a1 0503/a5 0612/a1 0612/a5",
			`alpha_deg=1,5,1,5 day=0503,0503,0612,0612 ("0503" is read as May 3, or March 5)`,
		},
		{
			"050324_a1 050324_a5 130324_a5 130324_a1",
			`alpha_deg=1,5,5,1 day=050324,050324,130324,130324 ("050324" is read as March 5 2024)`,
		},
		{
			"a1_5-3-24 a5_5-3-24 a5_5-7-24 a1_5-7-24",
			`alpha_deg=1,5,5,1 day=5-3-24,5-3-24,5-7-24,5-7-24 ("5-3-24" is read as March 5 2024, or May 3 2024)`,
		},
		{"May3_a1 May3_a5 4May24_a1 4May24_a5", "day=May3,May3,4May24,4May24 alpha_deg=1,5,1,5"},
		{"sep5_a1 sep7_a5", "sep=5,7 alpha_deg=1,5"},
		{"0503_0902_a1 0503_0915_a5", "alpha_deg=1,5"},
		{"2024-05-03_09-02_3000rpm 2024-05-03_09.12.11_4000rpm", "rpm=3000,4000"},
		{"a1_1714991600 a5_1714991700", "alpha_deg=1,5"},
		{"alpha0DegVel10MpsRun1 alpha4DegVel20MpsRun2", "alpha_deg=0,4 u_inf_m_s=10,20"},
		{"tunnelTest1Alpha0 tunnelTest2Alpha4", "alpha_deg=0,4"},
		{"4000rpmA 4000rpmB 5000rpmA", "rpm=4000,4000,5000 thing=A,B,A"},
		{"u3 u3_2 u3_3 u5 u5_rep", "speed=3,3,3,5,5"},
		{"u3 u3_b u3_c u5 u5b", "speed=3,3,3,5,5"},
		{"a0 a5 a0-R a5-R", `alpha_deg=0,5,0,5 variant=0,0,1,1 (0 is "", and then ["R"]: rename it, or take it out)`},
		{"01_a0/1_u15 01_a0/2_u20 02_a5/2_u20", "alpha_deg=0,0,5 u_inf_m_s=15,20,20"},
		{"a0 a5 a7 a0_flap20 a5_flap20", `alpha_deg=0,5,7,0,5 variant=0,0,0,1,1 (0 is "", and then ["flap20"]: ` +
			"rename it, or take it out)"},
		{
			"a0_u15 a5_u20 b5_u15 b7_u20",
			`thing=a0,a5,b5,b7 ("a0" is read as a name, its numbers as no conditions) u_inf_m_s=15,20,15,20`,
		},
		{"A_25% B_25% A_50% B_50%", "percent=25,25,50,50 thing=A,B,A,B"},
		{"AZm30_u15 AZ0_u15 AZ30_u15", "az=-30,0,30"},
		{
			"run-03_aoa-05 run-04_aoa-10",
			`alpha_deg=5,10 ("aoa-05" is read as 5; for -5 write aoa{alpha_deg} in the pattern)`,
		},
	} {
		var files []string
		for _, file := range strings.Fields(c.files) {
			files = append(files, strings.ReplaceAll(file+".wav", "~", " "))
		}

		s := role.ReadNames(files)
		if len(s.Lacking) > 0 {
			t.Errorf("%s: left out %v", c.files, s.Lacking)
			continue
		}

		var got []string
		for _, column := range s.WithRole(role.Input, role.Thing, role.Day) {
			var cells []string
			for i := range files {
				if column.Values != nil {
					cells = append(cells, role.Decimal(column.Values[i]))
				} else {
					cells = append(cells, column.Texts[i])
				}
			}

			text := column.Name + "=" + strings.Join(cells, ",")
			if why := column.Explanation(); why != "" {
				text += " (" + why + ")"
			}

			got = append(got, text)
		}

		slices.Sort(got)
		assert.Equal(t, sorted(c.want), strings.Join(got, " "), "%s, pattern %q", c.files, s.Pattern())
	}
}

// sorted sorts the columns of a text like a=1,2 thing=A 1,B.
func sorted(columns string) string {
	parts := regexp.MustCompile(`\w+=`).FindAllStringIndex(columns, -1)
	var out []string
	for i, p := range parts {
		to := len(columns)
		if i+1 < len(parts) {
			to = parts[i+1][0]
		}

		out = append(out, strings.TrimSpace(columns[p[0]:to]))
	}

	slices.Sort(out)

	return strings.Join(out, " ")
}

// The folder of a simulated campaign gives a configuration that is valid, names the campaign's conditions, and holds
// out values without which every input still varies.
func TestLookAtCampaigns(t *testing.T) {
	rotor := simulate.DefaultRotor()
	rotor.DurationS = 1
	rotor.Blades = []int{2, 3, 4}
	rotor.RPM = []float64{3000, 5000}
	rotor.ThetaDeg = []float64{0}

	airfoil := simulate.DefaultAirfoil()
	airfoil.DurationS = 1
	airfoil.AlphaDeg = []float64{-4, 0, 4}
	airfoil.SpeedMS = []float64{7, 9}

	for _, c := range []struct {
		campaign simulate.Campaign
		wants    []string
	}{
		{rotor, []string{
			`files: ["*.wav"]`, "data: simulated", `conditions: "conditions.csv"`, "triplets: split-half-spectrum",
			"inputs: [blades, rpm]", "held-out: {test: {blades: 3}}",
		}},
		{airfoil, []string{
			"data: simulated", `columns: {drag_n: "Fx", lift_n: "Fz"}`, "triplets: random-samples",
			"inputs: [alpha_deg, u_inf_m_s]", "held-out: {test: {alpha_deg: 0}}",
		}},
	} {
		dir := t.TempDir()
		require.NoError(t, simulate.WriteDir(context.Background(), c.campaign, dir, 1, nil))

		contains(t, loads(t, dir).YAML, c.wants...)
	}
}

func TestLookAtNothing(t *testing.T) {
	dir := t.TempDir()
	r, err := Look(dir)
	require.NoError(t, err)
	require.Len(t, r.Notes, 1, "%v, notes %q", err, r.Notes)

	yaml, _ := fillIn(r.YAML)
	_, err = config.Parse("pipeline.yaml", []byte(yaml))
	require.NoError(t, err)
	write(t, dir, "take.AIFF", "FORM")

	r, err = Look(dir)
	require.NoError(t, err)
	contains(t, strings.Join(r.Notes, "\n"), "1 AIFF file is not read: convert it to WAV")

	write(t, dir, "take.wav", "not a wav")

	if r, err = Look(dir); err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "cannot be read") {
		t.Errorf("a broken recording: %v, notes %q", err, r.Notes)
	}

	if _, err := Look(filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent folder was looked at")
	}

	for _, c := range []struct{ log, text string }{ // files that a column names are no tares of no columns, nor of names
		{"file,alpha_deg,zero\nx.txt,1,y.txt\n", "none\n"}, {"none", "lift,drag\n1,2\n3,4\n"},
	} {
		dir := t.TempDir()
		write(t, dir, "conditions.csv", c.log)
		write(t, dir, "x.txt", c.text)
		write(t, dir, "y.txt", c.text+"5,6\n")
		r, err := Look(dir)
		require.NoError(t, err)
		assert.NotContains(t, r.YAML, "tare:", "%s", r.YAML)
	}
}

// loads writes the result of Look into dir and runs `pipeline check` on it.
func loads(t *testing.T, dir string) *Result {
	t.Helper()

	r, err := Look(dir)
	require.NoError(t, err)

	yaml, _ := fillIn(r.YAML)
	writeInit(t, dir, r, yaml)
	if _, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml")); err != nil {
		t.Errorf("what init wrote is not valid: %v\n%s", err, yaml)
	}

	return r
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()

	for _, word := range wants {
		assert.Contains(t, text, word, "%q is missing in\n%s", word, text)
	}
}

// Every format that is read gives a configuration that can be checked. The
// files are those of ingest's truth matrix, described in ingest/format/testdata.
func TestLookAtEveryFormat(t *testing.T) {
	for _, file := range []string{
		"arrow/testdata/recording.arrow", "testdata/arrays/v5.mat", "testdata/arrays/v73.mat", "testdata/arrays/mics.npz",
		"testdata/arrays/run.tdms", "testdata/arrays/ISAE_2_square20_L0.h5", "testdata/arrays/tunnel_U10_a4.h5",
	} {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "ingest", "format", file))
		require.NoError(t, err)

		dir := t.TempDir()
		write(t, dir, filepath.Base(file), string(b))
		contains(t, loads(t, dir).YAML, `files: ["*`+filepath.Ext(file)+`"]`)
	}
}

// balance writes a text file of n rows of lift and drag.
func balance(t *testing.T, dir, name string, n int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("Lift\tDrag\tTime (s)\n")

	other := int(crc32.ChecksumIEEE([]byte(name)) % 1000) // files differ
	for i := range n {
		fmt.Fprintf(&b, "%d\t%d\t%g\n", i%7, i%5+other, float64(i)/4)
	}

	write(t, dir, name, b.String())
}

// Names built in two ways lose no run: a table holds their conditions, and the
// folder numbers are not taken for metres per second. Expectations by hand.
func TestNamesOfSeveralMakes(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		"Speed1/angle0.txt", "Speed1/angle10.txt", "Speed1/angle20.txt", "Speed2/angle0.txt",
		"Speed2/angle10.txt", "Speed2/angle20.txt", "Speed1R/angle0.txt", "Speed1R/angle10.txt", "Speed4/force.txt",
	} {
		balance(t, dir, file, 90)
	}

	balance(t, dir, "Speed1R/angle20.txt", 61) // the shortest

	original, err := os.ReadFile(filepath.Join(dir, "Speed1/angle10.txt"))
	require.NoError(t, err)
	write(t, dir, "Speed1R/angle10.txt", string(original)) // as in ../shared/real/princeton-mae224-lift-drag

	r := loads(t, dir)
	if want := "file,speed,alpha_deg,variant\nSpeed1/angle0.txt,1,0,0\n"; !strings.HasPrefix(r.Conditions, want) {
		t.Errorf("table %q", r.Conditions)
	}

	contains(t, r.Conditions, "\nSpeed1R/angle10.txt,1,10,1\n", "\nSpeed2/angle20.txt,2,20,0\n")
	contains(t, r.YAML, `files: ["Speed*/*.txt"]`, `exclude: ["Speed4/force.txt", "Speed1R/angle10.txt"]`, "samples: 30 ",
		"inputs: [speed, alpha_deg, variant]", "held-out: {test: {alpha_deg: 10}}")
}

// Many triplets are trained on in larger steps: 100 runs of 400 rows give 200
// pairs each, 20 000 in all; 99 runs stay below.
func TestManyTriplets(t *testing.T) {
	dir := t.TempDir()
	const settings = "optimizer: {batch: 256, epochs: 40, schedule: cosine} # 20000 triplets"

	for i := range 99 {
		balance(t, dir, fmt.Sprintf("a%d.txt", i), 400)
	}

	if r := loads(t, dir); strings.Contains(r.YAML, "optimizer:") {
		t.Errorf("few triplets have\n%s", r.YAML)
	}

	balance(t, dir, "a99.txt", 400)
	contains(t, loads(t, dir).YAML, "samples: 200 ", settings)
}

// A table in the folder defines which files and rows are runs.
func TestRowIntervals(t *testing.T) {
	dir := t.TempDir()
	balance(t, dir, "one.txt", 100)
	balance(t, dir, "idle.txt", 100)

	table := "file,row0,row1,alpha_deg\n"
	for i := range 5 {
		table += fmt.Sprintf("one.txt,%d,%d,%d\n", 20*i, 20*i+20, 2*i)
	}

	write(t, dir, "conditions.csv", table)

	r := loads(t, dir)
	contains(t, r.YAML, `exclude: ["idle.txt"]`, "samples: 10 ", "held-out: {test: {alpha_deg: [2, 4]}}")
}

// A column of text with a few names that repeat is held out name by name. Not so comments, each
// its own, two names, names of files, and a column with an empty cell.
func TestColumnsOfNames(t *testing.T) {
	for column, want := range map[string]bool{
		"A B C A B C": true, "A B C D E F": false, "A B A B A B": false, "A B C A B -": false,
		"r0.txt B C r0.txt B C": false,
	} {
		dir := t.TempDir()
		table := "file,alpha_deg,the wing\n"
		for i, name := range strings.Fields(column) {
			balance(t, dir, fmt.Sprintf("r%d.txt", i), 100)
			table += fmt.Sprintf("r%d.txt,%d,%s\n", i, i, strings.Trim(name, "-"))
		}

		write(t, dir, "conditions.csv", table)

		if r := loads(t, dir); strings.Contains(r.YAML, `each: "the wing" # a split for each name`) != want {
			t.Errorf("%s: %s", column, r.YAML)
		}
	}
}

// Holding out never leaves an input constant. By hand: without b = 2 a does not
// vary any more, so a is held out.
func TestHoldOutLeavesInputsVarying(t *testing.T) {
	held := func(columns map[string][]float64) string {
		p := plan{sheet: &role.Sheet{}}
		for _, name := range []string{"b", "a"} {
			if v := columns[name]; v != nil {
				p.sheet.Rows = len(v)
				p.sheet.Columns = append(p.sheet.Columns, &role.Column{Name: name, Values: v, Role: role.Input})
			}
		}

		p.holdOut()

		return p.HeldOut
	}

	got := held(map[string][]float64{"a": {1, 1, 2, 3, 4, 5}, "b": {1, 3, 2, 2, 2, 2}})
	assert.Equal(t, "a: [2, 3]", got, "held out")

	var angles []float64 // read, not set: a range
	for i := range 20 {
		angles = append(angles, float64(i)+0.25)
	}

	if got = held(map[string][]float64{"a": angles}); got != "a: {min: 8.25, max: 12.25}" {
		t.Errorf("held out %q", got)
	}
}

// A folder without blades and a speed gets outcomes that need none; a speed that is
// the same everywhere is known all the same. Expectations by hand.
func TestOutcomesThatFit(t *testing.T) {
	for _, c := range []struct {
		columns, row string
		wants        []string
		not          string
	}{
		{"u_inf_m_s", "%d0", []string{
			"triplets: split-half-spectrum", "outcomes: [bands, overall]", "inputs: [u_inf_m_s]",
		}, "blades: 2}\n"},
		{"rpm,blades,theta_deg", "3000,2,%d0", []string{"harmonics: 5", "inputs: [theta_deg]"}, "outcomes:"},
	} {
		dir := t.TempDir()

		rotor := simulate.DefaultRotor()
		rotor.DurationS, rotor.Blades, rotor.RPM, rotor.ThetaDeg = 1, []int{2}, []float64{3000, 4000, 5000}, []float64{0}
		require.NoError(t, simulate.WriteDir(t.Context(), rotor, dir, 1, nil))

		files, err := filepath.Glob(filepath.Join(dir, "*.wav"))
		require.NoError(t, err)
		require.Len(t, files, 3)

		text := "file," + c.columns + "\n"
		for i, file := range files {
			name := fmt.Sprintf("simulated_%c.wav", 'a'+i) // states no rpm
			require.NoError(t, os.Rename(file, filepath.Join(dir, name)))
			text += name + "," + fmt.Sprintf(c.row, i+1) + "\n"
		}

		write(t, dir, "conditions.csv", text)

		r := loads(t, dir)
		contains(t, r.YAML, c.wants...)

		assert.NotContains(t, r.YAML, c.not, "%q in\n%s", c.not, r.YAML)
	}
}

// Of columns without names one that rises from row to row is a clock.
func TestRisingColumn(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		rows := ""
		for k := range 50 {
			rows += fmt.Sprintf("%d.25 %.4f %.4f\n", 1510900000+k, math.Sin(float64(k*k+i)), math.Cos(float64(k*k*k)))
		}

		write(t, dir, fmt.Sprintf("a%d.txt", i), rows)
	}

	contains(t, loads(t, dir).YAML, `columns: {column_2: "2", column_3: "3"}`)
}

// Arrays with a value for each microphone are proposed as conditions, axes and
// settings are not channels. The files come from the tests of the readers.
func TestPerChannelArrays(t *testing.T) {
	for name, want := range map[string][]string{
		"../arrays/ISAE_2_square20_L0.h5": {"L0.h5: channel", "a spectrum over /ISAE_2_square20_L0/freq"},
		"angles.h5": {
			`inside: {theta_deg: "/mic_theta"}`, `channels: ["/p[1]", "/p[2]",`,
			"/serial has a value for each channel too: name it under inside if it is a condition",
		},
		"scales.nc":    {`inside: {theta_deg: "/mic_theta"}`, `channels: ["/pressure[1]", "/pressure[2]",`},
		"acoular.h5":   {"8 channels of 64 samples at 25600 Hz"},
		"benchmark.h5": {"8 channels of 64 samples at 51200 Hz", `# tachometer: {channel: "/TachoData/tachoDataV"`},
	} {
		dir := t.TempDir()

		b, err := os.ReadFile(filepath.Join("../../../ingest/format/testdata/layouts", name))
		require.NoError(t, err)

		write(t, dir, filepath.Base(name), string(b))

		r, err := Look(dir)
		require.NoError(t, err)

		text := r.YAML + strings.Join(r.Notes, "\n")
		for _, word := range want {
			if !strings.Contains(text, word) {
				t.Errorf("%s: no %s in\n%s", name, word, text)
			}
		}
	}
}

// The order of the columns of a table means nothing. One column of three is filled in each twentieth row. Expected for
// each of its places: what the table with the sparse column at the end gives, which has 4000 rows at 10 kHz.
func TestSparseColumnInAnyPlace(t *testing.T) {
	for head, isSound := range map[string]bool{
		"temperature (°C),mic1 (Pa),mic2 (Pa)": true, "mic1 (Pa),temperature (°C),mic2 (Pa)": true,
		"mic1 (Pa),mic2 (Pa),temperature (°C)": true, "mic3 (Pa),mic1 (Pa),mic2 (Pa)": true,
		"temperature (°C),Fx (N),Fz (N)": false, "Fx (N),Fz (N),temperature (°C)": false,
	} {
		sparse := max(slices.Index(strings.Split(head, ","), "temperature (°C)"), 0)
		dir := t.TempDir()
		for _, rpm := range []int{3000, 3500, 4000} {
			var rows strings.Builder
			rows.WriteString("time (s)," + head + "\n")
			for k := range 4000 {
				cells := []string{"", "", ""}
				for c := range cells {
					if c != sparse || k%20 == 0 {
						cells[c] = fmt.Sprintf("%.4f", math.Sin(float64(k*k*(c+1)+rpm)))
					}
				}

				fmt.Fprintf(&rows, "%.4f,%s\n", float64(k)/10000, strings.Join(cells, ","))
			}

			write(t, dir, fmt.Sprintf("rpm_%d.csv", rpm), rows.String())
		}

		r, err := Look(dir)
		require.NoError(t, err)
		contains(t, strings.Join(r.Notes, "\n"), "of 4000 samples at 10000 Hz")
		if isSound {
			contains(t, r.YAML, "triplets: split-half-spectrum")
		} else {
			contains(t, r.YAML, "triplets: random-samples", "samples: 250 ") // the usual number
		}
	}
}

// Two arrays that mean one condition. Expected: the first is proposed and the other noted, so that the configuration,
// which has one value for each key, is valid.
func TestTwoArraysOfOneCondition(t *testing.T) {
	dir := t.TempDir()
	angles := []float64{30, 60, 90, 120}
	for _, rpm := range []int{3000, 3500, 4000} {
		sound := make([]float64, 4*2000)
		for k := range sound {
			sound[k] = math.Sin(float64(k*k + rpm))
		}

		archive := npzOf(t, []string{"mic1", "mic2", "mic3", "mic4", "fs", "theta", "theta_deg"}, sound[:2000],
			sound[2000:4000], sound[4000:6000], sound[6000:], []float64{20000}, angles, angles)
		write(t, dir, fmt.Sprintf("rpm_%d.npz", rpm), archive)
	}

	r := loads(t, dir)
	contains(t, r.YAML, `inside: {theta_deg: "theta"}`)
	contains(t, strings.Join(r.Notes, "\n"), "theta_deg has a value for each channel too")
}

// write writes a file into a folder.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	testfile.Write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
}
