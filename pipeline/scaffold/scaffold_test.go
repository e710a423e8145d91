package scaffold

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/pipeline"
	"doubletake/pipeline/config"
)

// Expected patterns are written by hand from the names.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		files   []string
		pattern string
		names   []string
		odd     []string
	}{
		{
			[]string{"d/naca0012_a-3.5_u9.1.csv", "d/naca0012_a4_u9.1.csv", "d/naca0012_a4_u4.7.csv"},
			"naca0012_a{alpha_deg}_u{u_inf_m_s}.csv",
			[]string{"alpha_deg", "u_inf_m_s"},
			nil,
		},
		{[]string{"40000.wav", "44000.wav"}, "{condition}.wav", []string{"condition"}, nil},
		{
			[]string{"Speed1/angle0.txt", "Speed1/angle10.txt", "Speed2/angle0.txt", "Speed2/notes1.txt"},
			"Speed{speed}/angle{alpha_deg}.txt",
			[]string{"speed", "alpha_deg"},
			[]string{"Speed2/notes1.txt"},
		},
		{[]string{"run-1_rpm2000.wav", "run-2_rpm3000.wav"}, "run-{_}_rpm{rpm}.wav", []string{"rpm"}, nil},
		// Numbers that name a run are no conditions; words after their number are names.
		{
			[]string{"2blades/3000/take1.wav", "2blades/4000/take2.wav", "3blades/3000/take1.wav"},
			"{blades}blades/{condition}/take{_}.wav",
			[]string{"blades", "condition"},
			nil,
		},
		{
			[]string{"B2_3000rpm_rep1.wav", "B3_4000rpm_rep2.wav"},
			"B{blades}_{rpm}rpm_rep{_}.wav",
			[]string{"blades", "rpm"},
			nil,
		},
		{
			[]string{"am5_u14.txt", "a0_u14.txt", "a5_u9.txt"},
			"a{alpha_deg}_u{u_inf_m_s}.txt",
			[]string{"alpha_deg", "u_inf_m_s"},
			nil,
		},
		{[]string{"run_1.wav", "run_2.wav"}, "", nil, nil},
		{
			[]string{"2023-04-11_15-30-12_rpm2000.wav", "2023-04-12_08-01-59_rpm3000.wav"},
			"2023-04-{_}_{_}-{_}-{_}_rpm{rpm}.wav",
			[]string{"rpm"},
			nil,
		},
		{
			[]string{"20230411_153012_a5.wav", "20230412_080159_a-5.wav"},
			"{_}_{_}_a{alpha_deg}.wav",
			[]string{"alpha_deg"},
			nil,
		},
		{[]string{"set1_idx3.wav", "set2_idx4.wav"}, "set{set_number}_idx{_}.wav", []string{"set_number"}, nil},
		{[]string{"a1_a2.wav", "a2_a1.wav"}, "a{alpha_deg}_a{alpha_deg_2}.wav", []string{"alpha_deg", "alpha_deg_2"}, nil},
		{[]string{"x.wav", "y.wav"}, "", nil, nil},
		{[]string{"one1.wav"}, "", nil, nil}, // nothing varies
	} {
		n := naming(c.files)
		p, names, odd := n.text, n.names, n.odd
		if p != c.pattern || !slices.Equal(names, c.names) || !slices.Equal(odd, c.odd) {
			t.Errorf("%v: %q %v %v, expected %q %v %v", c.files, p, names, odd, c.pattern, c.names, c.odd)
			continue
		}

		if p == "" {
			continue
		}

		pat, err := campaign.ParsePattern(p)
		if err != nil {
			t.Error(err)
			continue
		}

		for _, f := range c.files {
			if _, ok := pat.Match(f); ok == slices.Contains(odd, f) {
				t.Errorf("%s matches %q: %v", f, p, ok)
			}
		}
	}
}

// A simulated campaign's folder gives a configuration that is valid, names the
// campaign's conditions, and holds out something training can do without.
func TestLookAtCampaigns(t *testing.T) {
	rotor, airfoil := simulate.DefaultRotor(), simulate.DefaultAirfoil()
	rotor.DurationS, rotor.Blades, rotor.RPM, rotor.ThetaDeg = 1, []int{2, 3, 4}, []float64{3000, 5000}, []float64{0}
	airfoil.DurationS, airfoil.AlphaDeg, airfoil.SpeedMS = 1, []float64{-4, 0, 4}, []float64{7, 9}

	for _, c := range []struct {
		campaign simulate.Campaign
		wants    []string
	}{
		{
			rotor,
			[]string{
				`files: ["*.wav"]`, "data: simulated", `conditions: "conditions.csv"`, "triplets: split-half-spectrum",
				"inputs: [blades, rpm]", "held-out: {test: {blades: 3}}",
			},
		},
		{
			airfoil,
			[]string{
				"data: simulated", `columns: {drag_n: "Fx", lift_n: "Fz"}`, "triplets: random-samples",
				"inputs: [alpha_deg, u_inf_m_s]", "held-out: {test: {alpha_deg: 0}}",
			},
		},
	} {
		dir := t.TempDir()
		if err := simulate.WriteDir(context.Background(), c.campaign, dir, 1, nil); err != nil {
			t.Fatal(err)
		}

		r, err := Look(dir)
		if err != nil {
			t.Fatal(err)
		}

		for _, w := range c.wants {
			if !strings.Contains(r.YAML, w) {
				t.Errorf("%s: %q is missing in\n%s", c.campaign.Kind(), w, r.YAML)
			}
		}

		if _, err := config.Parse("pipeline.yaml", filledIn(r)); err != nil {
			t.Errorf("%s: %v", c.campaign.Kind(), err)
		}
	}
}

func TestLookAtNothing(t *testing.T) {
	dir := t.TempDir()
	r, err := Look(dir)
	if err != nil || len(r.Notes) != 1 {
		t.Fatalf("%v, notes %q", err, r.Notes)
	}

	if _, err := config.Parse("pipeline.yaml", filledIn(r)); err != nil {
		t.Error(err)
	}

	write(t, dir, "take.AIFF", "FORM")

	if r, err = Look(dir); err != nil {
		t.Fatal(err)
	}

	contains(t, strings.Join(r.Notes, "\n"), "AIFF files are not read: convert it to WAV")

	write(t, dir, "take.wav", "not a wav")

	if r, err = Look(dir); err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "cannot be read") {
		t.Errorf("a broken recording: %v, notes %q", err, r.Notes)
	}

	if _, err := Look(filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent folder was looked at")
	}
}

// loads writes the result of Look into dir and runs `pipeline check` on it.
func loads(t *testing.T, dir string) *Result {
	t.Helper()

	r, err := Look(dir)
	if err != nil {
		t.Fatal(err)
	}

	yaml, _ := fillIn(r.YAML)
	writeInit(t, dir, r, yaml)
	if _, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml")); err != nil {
		t.Errorf("what init wrote is not valid: %v\n%s", err, yaml)
	}

	return r
}

func filledIn(r *Result) []byte {
	yaml, _ := fillIn(r.YAML)
	return []byte(yaml)
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()

	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

// Every format that is read gives a configuration that can be checked. The
// files are those of ingest's truth matrix, described in ingest/format/testdata.
func TestLookAtEveryFormat(t *testing.T) {
	for _, c := range []struct {
		files []string
		wants []string
	}{
		{[]string{"recording.arrow"}, []string{`files: ["*.arrow"]`}},
		{[]string{"v5.mat"}, []string{`files: ["*.mat"]`}},
		{[]string{"v73.mat"}, []string{`files: ["*.mat"]`}},
		{[]string{"mics.npz"}, []string{`files: ["*.npz"]`}},
		{[]string{"run.tdms"}, []string{`files: ["*.tdms"]`}},
		{[]string{"ISAE_2_square20_L0.h5"}, []string{`files: ["*.h5"]`}},
		{[]string{"tunnel_U10_a4.h5"}, []string{`files: ["*.h5"]`}},
	} {
		t.Run(c.files[0], func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				folder := "testdata/arrays"
				if f == "recording.arrow" {
					folder = "arrow/testdata"
				}

				b, err := os.ReadFile(filepath.Join("..", "..", "ingest", "format", folder, f))
				if err != nil {
					t.Fatal(err)
				}

				write(t, dir, f, string(b))
			}

			contains(t, loads(t, dir).YAML, c.wants...)
		})
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

	f := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(f, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Names built in two ways lose no run: a table holds their conditions, and the
// folder numbers are not taken for metres per second. Expectations by hand.
func TestNamesOfSeveralMakes(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{
		"Speed1/angle0.txt", "Speed1/angle10.txt", "Speed1/angle20.txt", "Speed2/angle0.txt",
		"Speed2/angle10.txt", "Speed2/angle20.txt", "Speed1R/angle0.txt", "Speed1R/angle10.txt", "Speed4/force.txt",
	} {
		balance(t, dir, f, 90)
	}

	balance(t, dir, "Speed1R/angle20.txt", 61) // the shortest

	original, err := os.ReadFile(filepath.Join(dir, "Speed1/angle10.txt"))
	if err == nil { // as somebody did with a measured one: see ../shared/real/princeton-mae224-lift-drag
		err = os.WriteFile(filepath.Join(dir, "Speed1R/angle10.txt"), original, 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}

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
	r := loads(t, dir)
	contains(t, r.YAML, "samples: 200 ", settings)

	if _, err := config.Parse("pipeline.yaml", filledIn(r)); err != nil {
		t.Error(err)
	}
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
	p := plan{Inputs: []string{"b", "a"}}
	p.holdOut([]map[string]float64{
		{"a": 1, "b": 1},
		{"a": 1, "b": 3},
		{"a": 2, "b": 2},
		{"a": 3, "b": 2},
		{"a": 4, "b": 2},
		{"a": 5, "b": 2},
	})

	if p.Held != "a: [2, 3]" {
		t.Errorf("held out %q", p.Held)
	}

	p = plan{Inputs: []string{"angle"}} // read, not set: a range

	var rows []map[string]float64
	for i := range 20 {
		rows = append(rows, map[string]float64{"angle": float64(i) + 0.25})
	}

	if p.holdOut(rows); p.Held != "angle: {min: 8.25, max: 12.25}" {
		t.Errorf("held out %q", p.Held)
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
		if err := simulate.WriteDir(t.Context(), rotor, dir, 1, nil); err != nil {
			t.Fatal(err)
		}

		files, err := filepath.Glob(filepath.Join(dir, "*.wav"))
		if err != nil || len(files) != 3 {
			t.Fatal(files, err)
		}

		text := "file," + c.columns + "\n"
		for i, f := range files {
			text += filepath.Base(f) + "," + fmt.Sprintf(c.row, i+1) + "\n"
		}

		write(t, dir, "conditions.csv", text)

		r := loads(t, dir)
		contains(t, r.YAML, c.wants...)

		if strings.Contains(r.YAML, c.not) {
			t.Errorf("%q in\n%s", c.not, r.YAML)
		}
	}
}

// Arrays with a value for each microphone are proposed as conditions, axes and
// settings are no channels. The files are those of the readers' tests.
func TestPerChannelArrays(t *testing.T) {
	for name, want := range map[string][]string{
		"angles.h5": {
			`inside: {theta_deg: "/mic_theta"}`, `channels: ["/p[1]", "/p[2]",`,
			"/serial has a value for each channel too: name it under inside if it is a condition",
		},
		"scales.nc":    {`inside: {theta_deg: "/mic_theta"}`, `channels: ["/pressure[1]", "/pressure[2]",`},
		"acoular.h5":   {"8 channels of 64 samples at 25600 Hz"},
		"benchmark.h5": {"9 channels of 64 samples at 51200 Hz"},
	} {
		dir := t.TempDir()

		b, err := os.ReadFile(filepath.Join("../../ingest/format/testdata/layouts", name))
		if err != nil {
			t.Fatal(err)
		}

		write(t, dir, name, string(b))

		r, err := Look(dir)
		if err != nil {
			t.Fatal(err)
		}

		text := r.YAML + strings.Join(r.Notes, "\n")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %s in\n%s", name, w, text)
			}
		}
	}
}

// write writes a file into a folder.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
