package dspstage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/dsp"
	"doubletake/ingest/derive"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

const rotorTable = "file,blades,rpm\na.npy,2,3000\nb.npy,2,3010\n"

// sound is a rotor of two blades at 50 rev/s in noise: lines of 0.2 Pa at 100 Hz
// and of 0.02 Pa at 200 Hz.
func sound(seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))

	x := make([]float64, 8000)
	for i := range x {
		s := float64(i) / 1000
		x[i] = 0.2*math.Sin(2*math.Pi*100*s) + 0.02*math.Sin(2*math.Pi*200*s) + 1e-4*rng.NormFloat64()
	}

	return x
}

// The key of a file's task holds the settings that its construction reads, and
// no others.
func TestKeys(t *testing.T) {
	x := npy(sound(1))
	files := map[string]string{"a.npy": x, "b.npy": x, "c.csv": rotorTable}
	common := []string{"triplets", "couples"}
	spectra := []string{
		"segments", "window", "harmonics", "tolerance", "min_bins", "amplitude", "output", "speed",
		"emergence_db", "censored",
	}

	loads := []string{"chord_m", "span_m", "density_kg_m3", "temperature_c", "pressure_pa"}
	for _, c := range []struct {
		ingest, dsp string
		want        []string
	}{
		{`channels: ["1"]`, `triplets: split-half-spectrum, samples: 7`, spectra},
		{`channels: ["1"]`, `triplets: split-half-bands, harmonics: 3`, []string{"segments", "window", "output"}},
		{`channels: ["1"]`, `triplets: repeats, within: {rpm: 20}`, spectra},
		{`columns: {lift_n: "1"}`, `triplets: random-samples, harmonics: 3`, append([]string{"samples", "seed"}, loads...)},
		{`columns: {lift_n: "1"}`, `triplets: split-halves`, loads},
		{`columns: {lift_n: "1"}`, `triplets: repeats, seed: 4`, loads},
	} {
		b := planned(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, `+c.ingest+`}`, `{`+c.dsp+`}`)
		if _, err := Plan(b.Experiment, b.ing); err != nil {
			t.Fatal(err)
		}

		k := slices.IndexFunc(b.Tasks.Plan.Tasks, func(t *engine.Task) bool { return t.ID == "x/dsp/a.npy" })

		var got []string
		for _, kv := range b.Tasks.Plan.Tasks[k].Config {
			if key, ok := strings.CutPrefix(kv.Key, "dsp."); ok {
				got = append(got, key)
			}
		}

		want := append(slices.Clone(common), c.want...)
		slices.Sort(got)
		slices.Sort(want)

		if !slices.Equal(got, want) {
			t.Errorf("%s: key holds %v\nwant %v", c.dsp, got, want)
		}

		join := b.Tasks.Plan.Tasks[len(b.Tasks.Plan.Tasks)-1]
		if join.ID != "x/triplets" || (len(join.Local) > 0) != strings.Contains(c.dsp, "within") {
			t.Errorf("%s: %s with %v", c.dsp, join.ID, join.Local)
		}

		_, spectral := b.Construction.(dsp.OfSpectra)
		if (len(join.Publish) == 2) != spectral {
			t.Errorf("%s: publishes %v", c.dsp, join.Publish)
		}
	}
}

// A construction that needs the shaft's speed is refused without it; one that
// does not is planned.
func TestNeedsShaft(t *testing.T) {
	x := npy(sound(1))
	for _, c := range []struct{ head, dsp, want string }{
		{"file,blades", "triplets: split-half-spectrum", "the shaft speed is not known: expected a condition rpm"},
		{"file,rpm", "triplets: split-half-spectrum", "the number of blades is not known: expected a condition blades"},
		{"file,rpm", "triplets: repeats", "the number of blades is not known"},
		{"file,theta_deg", "triplets: split-half-bands", ""},
		{"file,blades", "triplets: split-half-spectrum, track: {range_hz: [20, 30]}", ""},
		{
			"file,rpm", "triplets: split-half-bands, within: {u: 3}",
			`"u" is not a condition of this experiment, which has [rpm]`,
		},
	} {
		b := planned(t, map[string]string{"a.npy": x, "c.csv": c.head + "\na.npy,2\n"},
			`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{`+c.dsp+`}`)
		_, err := Plan(b.Experiment, b.ing)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s:\n got %v\nwant %s", c.head, c.dsp, err, c.want)
		}
	}

	b := planned(t, map[string]string{"a.npy": x, "c.csv": "file,blades,rpm,rps\na.npy,2,3000,50\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{triplets: split-half-spectrum}`)

	want := "rpm (1/min) and rps (rev/s) are given as conditions; keep one"
	if _, err := Plan(b.Experiment, b.ing); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// The rows of a file of two microphones. Expected: levels of 0.2²/2 and 0.02²/2
// Pa², the columns of a level with its by-products, a spectrum for each half.
func TestFileOfMicrophones(t *testing.T) {
	b := planned(t, map[string]string{"a.npy": npy(sound(1), sound(2)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{triplets: split-half-spectrum, harmonics: 2}`)
	res := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 3000})
	f := &fileTables{src: b.Source, loads: &Loads{Src: b.Source}}

	notes := &FileNotes{}
	if err := f.file(context.Background(), res, b.Files[0].File.Open, notes); err != nil {
		t.Fatal(err)
	}

	if f.trip.Rows() != 2 || f.spec.Rows() != 4 || len(notes.Notes) != 1 || notes.Notes[0].Levels != 8 {
		t.Fatalf("%d triplets, %d spectra, %+v", f.trip.Rows(), f.spec.Rows(), notes)
	}

	for name, want := range map[string]float64{
		"bpf1_db_1": 10 * math.Log10(0.02/4e-10),
		"bpf2_db_2": 10 * math.Log10(0.0002/4e-10),
	} {
		v, err := f.trip.Floats(name)
		if err != nil || math.Abs(v[1]-want) > 0.1 {
			t.Errorf("%s: %v, %v; want %.2f", name, v, err, want)
		}
	}

	var names []string
	for _, c := range f.trip.Columns {
		if strings.HasPrefix(c.Name, "bpf1") {
			names = append(names, strings.TrimPrefix(c.Name, "bpf1_db_"))
		}
	}

	if got := strings.Join(names, " "); got != "1 2 rho_db_1 rho_db_2 sd_1 sd_2 hz_1 hz_2 bound_1 bound_2 emergent" {
		t.Errorf("columns %s", got)
	}

	if c := f.trip.Column("bpf1_db_1"); c.Unit != "dB re 20 µPa" || !strings.HasSuffix(c.Description, ", first half") {
		t.Errorf("%s, %q", c.Unit, c.Description)
	}

	if got := plan.Outcomes(&f.trip); !slices.Equal(got, []string{"bpf1_db", "bpf2_db"}) {
		t.Errorf("outcomes %v", got)
	}

	if c := f.spec.Column("power"); c.Unit != "Pa²" || len(c.Lists[3]) != 251 {
		t.Errorf("spectra in %s with %d bins", c.Unit, len(c.Lists[3]))
	}

	// The same from spectra read before.
	again := &fileTables{src: b.Source, loads: f.loads, reading: ingeststage.NewReading()}
	run := res.Runs[0]
	load, err := b.Construction.(dsp.OfSpectra).Spectra(ingeststage.NewRun(b.Source, res.Info, run.Run, 8000, run.Scale,
		run.Units))
	if err != nil {
		t.Fatal(err)
	}

	an := ingeststage.BorrowAnalyser()
	if err := an.Load(context.Background(), arrays{sound(1), sound(2)}, load); err != nil {
		t.Fatal(err)
	}

	again.reading.SetSpectra(an)

	if err := again.file(context.Background(), res, b.Files[0].File.Open, &FileNotes{}); err != nil {
		t.Fatal(err)
	}

	one, _ := f.trip.Floats("bpf2_db_1")

	two, _ := again.trip.Floats("bpf2_db_1")
	if !slices.Equal(one, two) {
		t.Errorf("%v, read once %v", one, two)
	}

	again.reading.Free()
}

// arrays is a source in memory.
type arrays [][]float64

func (a arrays) Read(channels []int, start int64, dst [][]float64) (int, error) {
	for i, c := range channels {
		copy(dst[i], a[c][start:])
	}
	return len(dst[0]), nil
}

// A run that cannot be analysed names the file and the run; under warn it is
// left out where others remain.
func TestBadRun(t *testing.T) {
	b := planned(t, map[string]string{"a.npy": npy(sound(1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000, on_bad_recording: warn}`,
		`{triplets: split-half-spectrum, harmonics: 2}`)
	res := result(t, b, 0, map[string]float64{"blades": 2.5, "rpm": 3000})
	f := &fileTables{src: b.Source}
	err := f.file(context.Background(), res, b.Files[0].File.Open, &FileNotes{})
	if err == nil || err.Error() != "a.npy: expected a whole number of blades, found blades = 2.5" {
		t.Errorf("%v", err)
	}

	good := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 3000}).Runs[0]
	bad := res.Runs[0]
	bad.Run.ID = "a.npy[0:9]"
	res.Runs = []ingeststage.RunResult{bad, good}

	notes := &FileNotes{}
	if err := f.file(context.Background(), res, b.Files[0].File.Open, notes); err != nil {
		t.Fatal(err)
	}

	if len(notes.Warnings) != 1 || notes.Warnings[0].Code != "left-out" || f.trip.Rows() != 1 {
		t.Errorf("%+v, %d rows", notes.Warnings, f.trip.Rows())
	}
}

// Flags name the channel where there are several, and runs with other outcomes
// are refused.
func TestNotesAndOutcomes(t *testing.T) {
	p := &dsp.Pairs{
		Flags: []dsp.Flag{{Channel: -1, Text: "whole"}, {Channel: 1, Text: "one"}}, Levels: 4, Bounds: 2,
		Near: 1, Dropped: 3,
	}

	var n RunNote
	n.add(p, []string{"channel a", "channel b"})

	if n.Flags[0].Text != "whole" || n.Flags[1].Text != "channel b: one" || n.Levels != 4 || n.Bounds != 2 ||
		n.Near != 1 || n.Dropped != 3 {
		t.Errorf("%+v", n)
	}

	var single RunNote
	single.add(&dsp.Pairs{Flags: []dsp.Flag{{Channel: 0, Text: "one"}}}, []string{"channel a"})

	if single.Flags[0].Text != "one" {
		t.Errorf("%+v", single)
	}

	f := &fileTables{}
	outcomes := func(names ...string) *dsp.Pairs {
		p := &dsp.Pairs{Rows: make([]dsp.Row, 1)}
		for _, n := range names {
			p.Outcomes = append(p.Outcomes, dsp.Outcome{Name: n})
		}

		return p
	}

	if err := f.same(outcomes("a", "b")); err != nil {
		t.Error(err)
	}

	if err := f.same(&dsp.Pairs{}); err != nil {
		t.Errorf("a run that dropped everything: %v", err)
	}

	if err := f.same(outcomes("a")); err == nil || err.Error() != "expected the outcomes of the file's other runs, a, "+
		"b, found a" {
		t.Errorf("%v", err)
	}
}

// The condition that the analysis finds is the mean of the halves' speeds.
func TestWithSpeed(t *testing.T) {
	given := map[string]float64{"blades": 2}

	f := &fileTables{src: &plan.Source{}}
	if got, err := f.withSpeed(given, [2]float64{50, 52}); err != nil || len(got) != 1 {
		t.Errorf("%v", got)
	}

	f.src.DSP.Track = &dsp.Track{RangeHz: []float64{40, 60}}
	if got, err := f.withSpeed(given, [2]float64{50, 52}); err != nil || got["rpm_tracked"] != 3060 || len(given) != 1 {
		t.Errorf("%v of %v", got, given)
	}

	f.src.Derive = speedSquare(t)
	if got, err := f.withSpeed(given, [2]float64{0.5, 0.5}); err != nil || got["square"] != 900 {
		t.Errorf("%v, %v", got, err)
	}

	f.src.In.Tachometer = &config.Tachometer{}
	got, err := f.withSpeed(given, [2]float64{50, 52})
	if err != nil || got["rpm_measured"] != 3060 || got["rpm_tracked"] != 0 {
		t.Errorf("%v", got)
	}

	if got, err := f.withSpeed(given, [2]float64{}); err != nil || len(got) != 1 {
		t.Errorf("a speed nobody found: %v", got)
	}
}

// speedSquare derives a condition of one that is found in the sound.
func speedSquare(t *testing.T) *derive.Set {
	set, err := derive.New([]derive.Definition{{Name: "square", Text: "rpm_tracked^2"}}, nil, []string{"rpm_tracked"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	return set
}

// Repeats: the first run of a pair gives y1, the second y2; names are joined.
// Couples: y2 is y1.
func TestPairRepeatsAndCouple(t *testing.T) {
	tab := &table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"r1", "r2", "r3"}},
		{Name: "recording", Strings: []string{"r1", "r2", "r3"}},
		{Name: "rpm", Floats: []float64{3000, 4000, 3010}},
		{Name: "y_1", Floats: []float64{1, 2, 3}},
		{Name: "y_2", Floats: []float64{1, 2, 3}},
		{Name: "y_bound_1", Bools: []bool{true, false, false}},
		{Name: "y_bound_2", Bools: []bool{true, false, false}},
	}}

	src := &plan.Source{Columns: plan.Columns{Conditions: []string{"rpm", "rpm_tracked"}, Found: []string{"rpm_tracked"}}}
	s := &stage{
		exp: plan.Experiment{File: &config.File{Path: "p.yaml"}, At: "experiments.x"},
		rec: &ingeststage.Recordings{Source: src},
	}

	if _, err := s.pairRepeats(tab); err == nil ||
		!strings.Contains(err.Error(), "expected conditions that were measured more than once, found 3 runs, all at "+
			"different conditions") {
		t.Errorf("%v", err)
	}

	src.DSP.Within = []config.NamedString{{Name: "rpm", Value: "20"}}

	alone, err := s.pairRepeats(tab)
	if err != nil {
		t.Fatal(err)
	}

	if len(alone) != 1 || alone[0].Text != "1 recording without a partner of another run left out: r2" {
		t.Errorf("alone: %+v", alone)
	}

	y1, _ := tab.Floats("y_1")

	y2, _ := tab.Floats("y_2")
	if !slices.Equal(y1, []float64{1}) || !slices.Equal(y2, []float64{3}) || tab.Column("run").Strings[0] != "r1 + r3" {
		t.Errorf("%v, %v of %v", y1, y2, tab.Column("run").Strings)
	}

	if !tab.Column("y_bound_1").Bools[0] || tab.Column("y_bound_2").Bools[0] {
		t.Error("bounds of other runs")
	}

	couple(tab)

	if y2, _ = tab.Floats("y_2"); y2[0] != 1 || !tab.Column("y_bound_2").Bools[0] {
		t.Errorf("couple: %v", y2)
	}
}

// Runs at one set point are repeats: by hand r1 and r3 of 3000, at the mean of their speeds.
func TestPairRepeatsAtSetPoints(t *testing.T) {
	names := []string{"r1", "r2", "r3"}
	tab := &table.Table{Columns: []table.Column{
		{Name: "run", Strings: names},
		{Name: "recording", Strings: names},
		{Name: "rpm", Floats: []float64{2994, 2400, 3008}},
		{Name: "y_1", Floats: []float64{1, 2, 3}},
		{Name: "y_2", Floats: []float64{1, 2, 3}},
	}}

	within := []config.NamedString{{Name: "rpm", Value: "0.5 %"}}
	if err := (plan.Points{}).AddSetPoints(within, tab); err != nil {
		t.Fatal(err)
	}

	s := &stage{
		exp: plan.Experiment{File: &config.File{Path: "p.yaml"}, At: "experiments.x"},
		rec: &ingeststage.Recordings{Source: &plan.Source{Columns: plan.Columns{Conditions: []string{"rpm"}}}},
	}

	alone, err := s.pairRepeats(tab)
	if err != nil || len(alone) != 1 || !strings.Contains(alone[0].Text, "r2") {
		t.Fatalf("%v, %v", alone, err)
	}

	at, _ := tab.Floats("rpm")
	set, _ := tab.Floats("rpm_set")
	if !slices.Equal(at, []float64{3001}) || !slices.Equal(set, []float64{3000}) {
		t.Errorf("pairs at %v of set points %v", at, set)
	}
}

// Runs of one condition are repeats where their labels are equal: by hand r1 and r3 of A, not
// r2 of B.
func TestPairRepeatsOfLabels(t *testing.T) {
	names := []string{"r1", "r2", "r3"}
	tab := &table.Table{Columns: []table.Column{
		{Name: "run", Strings: names},
		{Name: "recording", Strings: names},
		{Name: "rpm", Floats: []float64{3000, 3000, 3000}},
		{Name: "propeller", Strings: []string{"A", "B", "A"}},
		{Name: "y_1", Floats: []float64{1, 2, 3}},
		{Name: "y_2", Floats: []float64{1, 2, 3}},
	}}

	src := &plan.Source{Columns: plan.Columns{Conditions: []string{"rpm"}, Labels: []string{"propeller"}}}
	s := &stage{
		exp: plan.Experiment{File: &config.File{Path: "p.yaml"}, At: "experiments.x"},
		rec: &ingeststage.Recordings{Source: src},
	}

	alone, err := s.pairRepeats(tab)
	if err != nil || len(alone) != 1 || !strings.Contains(alone[0].Text, "r2") {
		t.Fatalf("%v, %v", alone, err)
	}

	if got := fmt.Sprint(tab.Column("run").Strings, tab.Column("propeller").Strings); got != "[r1 + r3] [A]" {
		t.Error(got)
	}
}

// The error for no triplet names the reasons of the first files.
func TestNothingLeft(t *testing.T) {
	skip := func(n int) (out []FileNotes) {
		for range n {
			out = append(out, FileNotes{Skipped: &ingeststage.Skipped{Reason: "bad"}})
		}
		return append(out, FileNotes{})
	}

	for n, want := range map[int]string{
		0: "every recording was dropped", 1: "the one file was left out: bad",
		2: "2 files were left out: bad; bad", 7: "7 files were left out: bad; bad; bad; bad; bad; and 2 more",
	} {
		if got := nothingLeft(skip(n)); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// The recordings of the background that have a channel, in its unit.
func TestBackgroundOf(t *testing.T) {
	bg := &Background{Channels: []backgroundChannel{
		{File: "q1.wav", Name: "m1", Unit: "Pa", Seconds: 3},
		{File: "q2.wav", Name: "m1", Unit: "Pa", Seconds: 5},
		{File: "q1.wav", Name: "m2", Unit: "V"},
	}}

	list, err := bg.Of("m1", "Pa", "a.wav")
	if err != nil || len(list) != 2 || list[1].File != "q2.wav" || list[1].Seconds != 5 {
		t.Errorf("%+v, %v", list, err)
	}

	for want, c := range map[string][2]string{
		`a.wav: channel m2: expected levels in the unit of the background's recording q1.wav, "V", found "Pa"`: {"m2", "Pa"},
		"a.wav: channel m3: expected this channel in the background's recordings, found m1, m2":                {"m3", "Pa"},
	} {
		if _, err := bg.Of(c[0], c[1], "a.wav"); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
