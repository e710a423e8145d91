package scaffold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What init proposes for these logs passes check. Their columns have names that the program's tables reserve (power,
// weight, group), the name of an outcome (lift), an uncertainty beside repeats (CL_std), and a thing whose names cannot
// be held out, since an input would be constant without one of them.
func TestProposalsPassCheck(t *testing.T) {
	for head, row := range map[string]func(i int) string{
		"power,weight,lift": func(i int) string { return fmt.Sprintf("%d,%d,%d", i%3, i/3%2, i%4) },
		"rpm,group,CL_std":  func(i int) string { return fmt.Sprintf("%d,%c,0.%d", 1000*(1+i%3), 'A'+i/3%2, i) },
		"rpm,wing,alpha":    func(i int) string { return fmt.Sprintf("%d,%c,%d", i%2, 'A'+i/4, i/8*(1+i%4)) },
	} {
		dir := t.TempDir()
		log := "file," + head + "\n"
		for i := range 12 {
			balance(t, dir, fmt.Sprintf("r%d.txt", i), 60+i)
			log += fmt.Sprintf("r%d.txt,%s\n", i, row(i))
		}

		write(t, dir, "log.csv", log)
		loads(t, dir)
	}
}

// tableOfResults is a simulated table, for which init proposes roles.
type tableOfResults struct {
	name, head string
	rows       int
	row        func(i int) string
	want       string // roles in the order of the columns, separated by blanks
}

// propose writes the table into a folder and compares the roles that init proposes with those that are wanted. It
// returns what check says about the proposal.
func (c tableOfResults) propose(t *testing.T) error {
	t.Helper()

	var b strings.Builder
	b.WriteString(c.head + "\n")

	for i := range c.rows {
		b.WriteString(c.row(i) + "\n")
	}

	dir := t.TempDir()
	write(t, dir, "results.csv", b.String())

	r, err := Look(dir)
	require.NoError(t, err)

	var roles []string
	for _, h := range strings.Split(c.head, ",") {
		_, after, _ := strings.Cut(r.YAML, "      #   "+h+": ")
		roles = append(roles, after[:max(0, strings.IndexAny(after, ",:\n"))])
	}

	assert.Equal(t, c.want, strings.Join(roles, " "), "%v", c.name)

	_, err = checked(t, dir, r, r.YAML)

	return err
}

// What the columns of tables of results are for, as an engineer reads their headers and values. Each table
// is one on which the program went wrong, or its sibling; the numbers are simulated.
func TestRolesOfColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 6))
	noise := func(s float64) float64 { return s * rng.NormFloat64() }
	for _, c := range []tableOfResults{
		{ // case nuisance-columns
			"tunnel speed and density are read, not set", "Run_nr,Alpha,rpm,Rho,CL,CD", 79, func(i int) string {
				a := -5 + 0.6*float64(i%43)
				return fmt.Sprintf("%d,%.1f,%d,%.3f,%.4f,%.4f", i+1, a, 1500+10*rng.IntN(11), 1.19+0.005*float64(rng.IntN(5)),
					0.1*a+noise(0.01), 0.02+0.001*a*a)
			}, "run input remark remark outcome outcome",
		},
		{
			"J scatters about six set points", "run,J,ct", 48, func(i int) string {
				return fmt.Sprintf("r%d,%.4f,%.4f", i, 0.1*float64(1+i%6)+0.003*(2*rng.Float64()-1),
					0.1-0.01*float64(i%6)+noise(0.001))
			}, "run input outcome",
		},
		{
			"letters of a controller", "thrust,P,I,D,rpm", 12, func(i int) string {
				return fmt.Sprintf("%.3f,1,0.1,0.01,%d", 1+float64(i%3)+noise(0.01), 1000*(1+i%3))
			}, "outcome remark remark remark input",
		},
		{
			"a wake", "Z_mm,U,rms", 40, func(i int) string {
				return fmt.Sprintf("%d,%.3f,%.3f", 3*(i%20), 10+noise(0.1), 0.5+noise(0.01))
			}, "input remark outcome",
		},
		{
			"three days", "Day,J,rpm,ct", 108, func(i int) string {
				return fmt.Sprintf("%s,%.1f,%d,%.5f", []string{"Mon", "Tue", "Wed"}[i/36], 0.1*float64(i%6), 2000+500*(i/6%6),
					0.1+noise(0.001))
			}, "day input input outcome",
		},
		{
			"air by its units", "Nr,alpha,U_m_s,T_C,p_hPa,CL", 36, func(i int) string {
				return fmt.Sprintf("%d,%d,%.2f,%.1f,%.1f,%.4f", i+1, -4+2*(i%6), 15+noise(0.05), 20+0.05*float64(i),
					1013+noise(0.2), 0.1*float64(i%6)+noise(0.01))
			}, "run input remark remark remark outcome",
		},
		{
			"the only input is narrow", "U,CL", 12, func(i int) string {
				return fmt.Sprintf("%.1f,%.4f", 20+0.5*float64(i%4), 0.1+noise(0.01))
			}, "input outcome",
		},
		{
			"times of three days, uncertainties, flags", "date,alpha,CL,u_CL,CL ±,flag", 36, func(i int) string {
				return fmt.Sprintf("%d.5.24 %d:00,%d,%.4f,0.0%d,0.%d,%d", 6+i/12, 8+i%12, i%6, noise(1), 10+i, 10+i, i%2)
			}, "day input outcome left out left out remark",
		},
		{
			"four microphones", "rpm,SPL_1,SPL_2,SPL_3,SPL_4", 12, func(i int) string {
				return fmt.Sprintf("%d,%.2f,%.2f,%.2f,%.2f", 1000*(1+i%3), 60+noise(1), 61+noise(1), 62+noise(1), 63+noise(1))
			}, "input outcome outcome outcome outcome",
		},
		{
			"an outcome in coarse steps", "alpha,lift", 15, func(i int) string {
				return fmt.Sprintf("%d,%.1f", 2*(i%5), float64(i%5)+0.1*float64(rng.IntN(2)))
			}, "input outcome",
		},
		{
			"three values a row", "rpm,blades,CT_1,CT_2,CT_3,mean CT", 12, func(i int) string {
				return fmt.Sprintf("%d,%d,%.4f,%.4f,%.4f,%.3f", 1000*(1+i%4), 2+i/4, noise(1), noise(1), noise(1), noise(1))
			}, "input input outcome outcome left out left out",
		},
		{
			"three runs a row", "rpm,blades,SPL run1,SPL run2,SPL run3", 12, func(i int) string {
				return fmt.Sprintf("%d,%d,%.4f,%.4f,%.4f", 1000*(1+i%4), 2+i/4, 60+noise(1), 60+noise(1), 60+noise(1))
			}, "input input outcome outcome left out",
		},
		{
			"German days", "Tag,Profil,Anstellwinkel,q,ca", 24, func(i int) string {
				return fmt.Sprintf("%s,Fl\xfcgel %c,%d,%.1f,%.4f", []string{"Montag", "Dienstag"}[i/12], 'A'+rune(i%3), 2*(i/3%4),
					500+noise(3), 0.1*float64(i/3%4)+noise(0.01))
			}, "day thing input remark outcome",
		},
		{
			"French days", "jour,incidence,Cz", 24, func(i int) string {
				return fmt.Sprintf("%s,%d,%.4f", []string{"lundi", "mardi", "mercredi"}[i/8], 2*(i%8), 0.1*float64(i%8)+noise(0.01))
			}, "day input outcome",
		},
		{
			"a cell that is no number", "rpm,ct,CL,wing,run", 24, func(i int) string {
				return fmt.Sprintf("%d,%.4f,%s,%s,%s", 1000+500*(i%4), noise(1), strings.Replace(fmt.Sprint(5+i), "9", "x", 1),
					[]string{"1", "B"}[i/12], strings.Replace(fmt.Sprint(i), "7", "7b", 1))
			}, "input outcome left out thing run",
		},
		{
			"numbers of things and of settings", "Prop-Nr.,motor,fan,blade,wing_mm,ct", 64, func(i int) string {
				return fmt.Sprintf("%d,%d,%d,%d,%d,%.4f", 11+6*(i%2), 2204+8*(i/2%2), 30+20*(i/4%2), 2+i/8%2, 200+50*(i/16%2),
					noise(1))
			}, "thing thing input input input outcome",
		},
		{
			"things, and names that the tables have", "propeller,wing,set,rpm,power", 36, func(i int) string {
				return fmt.Sprintf("%s,%d,%d,%d,%.4f", []string{"APC", "DJI 9450"}[i%2], 1+i%2, i/18, 3000+1000*(i/2%3), noise(1))
			}, "thing thing left out input outcome",
		},
		{
			"temperatures that were set", "cell,cycle,c_rate,temperature_C,capacity_Ah,channel", 72, func(i int) string {
				return fmt.Sprintf("C%d,%d,%g,%.1f,%.4f,%d", 1+i%4, 1+i/36, []float64{0.5, 1, 2}[i/4%3],
					[]float64{0, 25, 45}[i/12%3]+noise(0.2), 2+noise(0.1), 1+i%2)
			}, "thing remark input input outcome left out",
		},
		{
			"two dynamic pressures, which scatter", "Lfd.,Datum,Anstellwinkel,Staudruck,Lufttemperatur,Auftrieb", 24,
			func(i int) string {
				return fmt.Sprintf("%d,2026-03-0%d,%d,%.1f,%.1f,%.3f", i+1, 1+i/12, 2*(i%6), 200*float64(1+i/6%2)+noise(0.4),
					20+0.1*float64(i), noise(1))
			}, "run day input input remark outcome",
		},
		{
			"forward and back, and a response that scatters", "module,G_W_m2,T_cell_C,Isc_A,scan,FF,Pmax_W", 36,
			func(i int) string {
				g, t := 200*float64(1+i/2%3)*(1+noise(0.002)), 25*float64(1+i/6%2)
				return fmt.Sprintf("PV%d,%.1f,%.2f,%.4f,%s,%.4f,%.2f", i/12, g, t+noise(0.1), 0.009*g+noise(0.002),
					[]string{"fwd", "rev"}[i%2], 0.8+noise(0.002), 0.3*g*(1-0.004*(t-25)))
			}, "thing input input outcome day remark outcome",
		},
		{
			"a survey, in ratios of 2 and more", "Z_mm,x_mm,U_m_s,E_V,Ubat_V", 36, func(i int) string {
				z := float64(i % 6)
				return fmt.Sprintf("%g,%.2f,%.3f,%.3f,%.2f", z, math.Pow(5, float64(i/6%3))*(1+noise(0.004)),
					10-0.1*z*z+noise(0.05), noise(1), 16-0.01*float64(i))
			}, "input input outcome outcome remark",
		},
		{
			"flow, inlet and outlet", "Test No.,m_hot,T_in_C,T_out_C,Q_W", 24, func(i int) string {
				m, t := 0.1*float64(1+i%3)*(1+noise(0.003)), 50+10*float64(i/3%4)+noise(0.1)
				return fmt.Sprintf("%d,%.4f,%.2f,%.2f,%.0f", i+1, m, t, t-5+noise(0.5), 4000*m*(t-20)*(1+noise(0.02)))
			}, "run input input remark outcome",
		},
		{
			"an enumerated setting, a response that scatters", "config,speed,power_W,valve", 30, func(i int) string {
				k := 1 + 0.4*float64(i/10)
				return fmt.Sprintf("%c,%.4f,%.3f,%d", 'A'+i/10, float64(11+i/2%5)*k*(1+noise(0.0005)),
					100*k*float64(1+i/2%5)*(1+noise(0.0005)), 1+i/2%5)
			}, "thing input outcome remark",
		},
		{
			"ageing without repeats", "cell_id,cycle,capacity_Ah", 20, func(i int) string {
				return fmt.Sprintf("C%d,%d,%.4f", i/5, []int{1, 50, 100, 200, 400}[i%5], 2+noise(0.01))
			}, "  ",
		},
		{
			"angles of two things, a speed as set and as measured", "wing angle,prop angle,rpm,rpm_meas,CT", 24,
			func(i int) string {
				return fmt.Sprintf("%d,%d,%d,%.1f,%.4f", 5*(i%2), 10*(i/2%2), 1000*(1+i/4%3), 1000*float64(1+i/4%3)+noise(3),
					noise(1))
			}, "input input input left out outcome",
		},
		{
			"serial numbers, two forces", "S/N,Serial No,serial number,S,T,Serie", 24, func(i int) string {
				return fmt.Sprintf("%d,%d,A%d,%d,%.3f,%d", 10231+7*(i%2), i+1, 5*i, 5*(i/2%4), noise(1), 1+i/8)
			}, "thing run remark input outcome remark",
		},
		{
			"samples of which each has several rows", "sample,load_N,mu", 36, func(i int) string {
				return fmt.Sprintf("%c,%d,%.4f", 'A'+i/12, 5*(1+i%6), noise(1))
			}, "thing input outcome",
		},
	} {
		assert.NoError(t, c.propose(t), "%s", c.name)
	}
}

// Roles are proposed for tables that measure each condition once, too, but check refuses the proposal: there are no
// repeats that make two halves.
func TestRolesWithoutRepeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 7))
	for _, c := range []tableOfResults{
		{
			"each condition once", "prop,J,CT", 24, func(i int) string {
				return fmt.Sprintf("%c,%.2f,%.4f", 'A'+i/8, 0.1*float64(1+i%8), rng.NormFloat64())
			}, "thing input outcome",
		},
		{
			"a design, each condition once", "feed_N,distance_mm,signal", 30, func(i int) string {
				return fmt.Sprintf("%d,%d,%.2f", 1+i/10, 5*(i%10), rng.NormFloat64())
			}, "input input outcome",
		},
	} {
		require.Error(t, c.propose(t), "%s", c.name)
	}
}

// Files next to all recordings state conditions and things: their numbers and texts, by the words of logs.
func TestFilesNextToRecordings(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		balance(t, dir, fmt.Sprintf("take%02d.txt", i), 60+i)
		write(t, dir, fmt.Sprintf("take%02d.json", i), fmt.Sprintf(`{"alpha": %d, "wing": "%c", "motor": {"rpm": %.1f}}`,
			i%3, 'A'+i/3, 2000*float64(1+i%3)+0.5*float64(i/3)))
	}

	contains(t, loads(t, dir).YAML, `things: ["wing"]`, "inputs: [alpha_deg, rpm]", `within: {"rpm": `,
		`sidecar: {ending: .json, values: {alpha_deg: "alpha", wing: "wing", rpm: "motor.rpm"} }`)
}

// filesOfNames says what the files are whose names a test gives.
type filesOfNames int

const (
	tablesOfResults filesOfNames = iota // each file is a table of results
	recordingsInLog                     // each file is a recording with a row in log.csv, which states alpha
	tablesInLog                         // each file is a table of results with a row in log.csv
)

// Parts of file names get a line where there are columns, too: of tables of results, and of a log.
func TestNamesBesideColumns(t *testing.T) {
	for _, c := range []struct {
		kind    filesOfNames
		repeats int    // rows of each setting in a table of results; 0: the files are recordings
		names   string // of the files, without their endings, separated by blanks
		want    [2]string
	}{
		{
			tablesOfResults, 3, "APC_8x6 GWS_9x5 HQ_7x4",
			[2]string{`things: ["thing"]`, `pattern: "{thing:text}_{_}.csv"`},
		},
		{
			tablesOfResults, 2, "A_U10 A_U20 B_U10 B_U20",
			[2]string{"thing: thing: A, B", `pattern: "{thing:text}_U{u_inf_m_s}.csv"`},
		},
		{
			tablesOfResults, 2, "A_U10 A_U20 B_U10 B_U20 A_old",
			[2]string{"thing: thing: A, B", `exclude: ["A_old.csv"]`},
		},
		{tablesOfResults, 1, "2024-05-01 2024-05-02", [2]string{`across: "day"`, `pattern: "{day:text}.csv"`}},
		{tablesOfResults, 1, "Mon Tue Wed", [2]string{`across: "day"`, `pattern: "{day:text}.csv"`}},
		{
			tablesOfResults, 1, "sweep_a sweep_b",
			[2]string{"thing: remark, with it no rows are repeats", `run: "file"`},
		},
		{
			tablesOfResults, 1, "sweep5 sweep5-b",
			[2]string{"copy: remark, with it no rows are repeats", `run: "file"`},
		},
		{
			tablesOfResults, 1, "sweep5 sweep5-rep",
			[2]string{"copy: remark, with it no rows are repeats", `run: "file"`},
		},
		{
			tablesOfResults, 1, "run0503 run0504",
			[2]string{`"0503" is read as 503, not as May 3, or March 5`, `run: "file"`},
		},
		{
			tablesOfResults, 1, "V7_5 V10_5 V12_5",
			[2]string{`"10_5" is read as two numbers, not as one`, "u_inf_m_s: "},
		},
		{tablesOfResults, 1, "run1 run2", [2]string{"run_number (run): run", `run: "file"`}},
		{
			recordingsInLog, 0, "A_U10_1 A_U10_2 B_U20_3 B_U20_4",
			[2]string{"condition: run", `pattern: "{thing:text}_U{u_inf_m_s}_{_}.txt"`},
		},
		{
			recordingsInLog, 0, "APC_1 APC_2 GWS_3 GWS_4",
			[2]string{`things: ["thing"]`, `pattern: "{thing:text}_{_}.txt"`},
		},
		{
			recordingsInLog, 0, "yaw0_x1 x2_yaw9 yaw0_x3 x4_yaw9",
			[2]string{`conditions: "conditions.csv"`, "inputs: [alpha_deg, yaw]"},
		},
		{recordingsInLog, 0, "U5_1 U5_2 U9_3 again", [2]string{`conditions: "log.csv"`, "triplets: random-samples"}},
		{tablesInLog, 4, "A_1 A_2 B_3 B_4", [2]string{`repeats: ["thrust"]`, `inputs: [rpm, alpha_deg] # what`}},
		{
			recordingsInLog, 0, "a0_1 a0_2 a5_3 a10_4",
			[2]string{"inputs: [alpha_deg]", "alpha_deg: left out, a column has its name; a10_4.txt states 10, the column 5:"},
		},
	} {
		dir := t.TempDir()
		log := "file,alpha\n"
		for i, name := range strings.Fields(c.names) {
			log += fmt.Sprintf("%s,%d\n", name, 5*(i/2))
			if c.kind == recordingsInLog {
				balance(t, dir, name+".txt", 60+i)
			} else {
				write(t, dir, name+".csv", thrustRows(i, c.repeats))
			}
		}

		if c.kind != tablesOfResults {
			write(t, dir, "log.csv", log)
		}

		contains(t, loads(t, dir).YAML, c.want[:]...)
	}
}

// thrustRows returns table number n of results: six shaft speeds, each with the given number of rows.
func thrustRows(n, repeats int) string {
	rows := "rpm,thrust (N)\n"
	for k := range 6 * repeats {
		rows += fmt.Sprintf("%d,%.3f\n", 1000+500*(k/repeats), 1+math.Sin(float64(100*n+k)))
	}

	return rows
}
