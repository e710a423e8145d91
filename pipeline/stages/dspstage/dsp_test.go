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
	"doubletake/ingest"
	"doubletake/ingest/derive"
	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		_, err := Plan(b.Experiment, b.ing)
		require.NoError(t, err)

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

		assert.Equal(t, want, got, "%s: key holds", c.dsp)

		join := b.Tasks.Plan.Tasks[len(b.Tasks.Plan.Tasks)-1]
		require.Equal(t, "x/triplets", join.ID, "%s: %s with %v", c.dsp, join.ID, join.Local)
		assert.Equal(t, strings.Contains(c.dsp, "within"), len(join.Local) > 0,
			"%s: %s with %v", c.dsp, join.ID, join.Local)

		_, spectral := b.Construction.(dsp.OfSpectra)
		assert.Equal(t, spectral, len(join.Publish) == 2, "%s: publishes %v", c.dsp, join.Publish)
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
		{
			"file,blades,rpm,rps", "triplets: split-half-spectrum",
			"rpm (1/min) and rps (rev/s) are given as conditions; keep one",
		},
	} {
		row := "\na.npy" + strings.Repeat(",2", strings.Count(c.head, ",")) + "\n"
		b := planned(t, map[string]string{"a.npy": x, "c.csv": c.head + row},
			`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{`+c.dsp+`}`)
		_, err := Plan(b.Experiment, b.ing)
		if c.want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
}

// The rows of a file of two microphones. Expected: levels of 0.2²/2 and 0.02²/2
// Pa², the columns of a level with its by-products, a spectrum for each half.
func TestFileOfMicrophones(t *testing.T) {
	b := planned(t, map[string]string{"a.npy": npy(sound(1), sound(2)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{triplets: split-half-spectrum, harmonics: 2}`)
	res := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 3000})
	f := newFileTables(b.Source)

	notes := &FileNotes{}
	require.NoError(t, f.file(context.Background(), res, b.Files[0].File.Open, notes))

	if f.triplets.Rows() != 2 || f.spectra.Rows() != 4 || len(notes.Notes) != 1 || notes.Notes[0].Levels != 8 {
		t.Fatalf("%d triplets, %d spectra, %+v", f.triplets.Rows(), f.spectra.Rows(), notes)
	}

	for name, want := range map[string]float64{
		"bpf1_db_1": 10 * math.Log10(0.02/4e-10),
		"bpf2_db_2": 10 * math.Log10(0.0002/4e-10),
	} {
		v, err := f.triplets.Floats(name)
		require.NoError(t, err, "%s: %v, %v; want %.2f", name, v, err, want)
		assert.InDelta(t, want, v[1], 0.1, "%s: %v, %v; want %.2f", name, v, err, want)
	}

	var names []string
	for _, c := range f.triplets.Columns {
		if strings.HasPrefix(c.Name, "bpf1") {
			names = append(names, strings.TrimPrefix(c.Name, "bpf1_db_"))
		}
	}

	assert.Equal(t, "1 2 rho_db_1 rho_db_2 sd_1 sd_2 hz_1 hz_2 bound_1 bound_2 emergent", strings.Join(names, " "),
		"columns")

	if c := f.triplets.Column("bpf1_db_1"); c.Unit != "dB re 20 µPa" || !strings.HasSuffix(c.Description, ", first half") {
		t.Errorf("%s, %q", c.Unit, c.Description)
	}

	assert.Equal(t, []string{"bpf1_db", "bpf2_db"}, pairs.Outcomes(f.triplets), "outcomes")

	if c := f.spectra.Column("power"); c.Unit != "Pa²" || len(c.Lists[3]) != 251 {
		t.Errorf("spectra in %s with %d bins", c.Unit, len(c.Lists[3]))
	}

	// The same from spectra read before.
	again := newFileTables(b.Source)
	again.loads = f.loads
	again.reading = ingeststage.NewReading()

	run := res.Runs[0]
	load, err := b.Construction.(dsp.OfSpectra).Spectra(ingeststage.NewRun(b.Source, res.Info, run.Run, 8000, run.Scale,
		run.Units))
	require.NoError(t, err)

	an := ingeststage.BorrowAnalyser()
	require.NoError(t, an.Load(context.Background(), arrays{sound(1), sound(2)}, load))

	again.reading.SetSpectra(an)

	require.NoError(t, again.file(context.Background(), res, b.Files[0].File.Open, &FileNotes{}))

	one, _ := f.triplets.Floats("bpf2_db_1")

	two, _ := again.triplets.Floats("bpf2_db_1")
	assert.Equal(t, two, one, "%v, read once %v", one, two)

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

// A run that cannot be analysed names the file and the run.
func TestBadRun(t *testing.T) {
	b := planned(t, map[string]string{"a.npy": npy(sound(1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`,
		`{triplets: split-half-spectrum, harmonics: 2}`)
	res := result(t, b, 0, map[string]float64{"blades": 2.5, "rpm": 3000})
	f := newFileTables(b.Source)
	err := f.file(context.Background(), res, b.Files[0].File.Open, &FileNotes{})
	assert.EqualError(t, err, "a.npy: expected a whole number of blades, found blades = 2.5")
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

	assert.Equal(t, "one", single.Flags[0].Text, "%+v", single)

	f := newFileTables(nil)
	outcomes := func(names ...string) *dsp.Pairs {
		p := &dsp.Pairs{Rows: make([]dsp.Row, 1)}
		for _, n := range names {
			p.Outcomes = append(p.Outcomes, dsp.Outcome{Name: n})
		}

		return p
	}

	require.NoError(t, f.checkOutcomes(outcomes("a", "b")))
	assert.ErrorContains(t, f.checkOutcomes(outcomes("a")), "expected the outcomes of the file's other runs, a, "+
		"b, found a")
}

// The condition that the analysis finds is the mean of the halves' speeds.
func TestWithSpeed(t *testing.T) {
	given := map[string]float64{"blades": 2}
	rec := ingest.Recording{Conditions: given}

	f := newFileTables(&plan.Source{})
	got, err := f.withSpeed(rec, [2]float64{50, 52})
	require.NoError(t, err)
	if len(got) != 1 {
		t.Errorf("%v", got)
	}

	f.src.DSP.Track = &dsp.Track{RangeHz: []float64{40, 60}}
	got, err = f.withSpeed(rec, [2]float64{50, 52})
	require.NoError(t, err)
	if got["rpm_tracked"] != 3060 || len(given) != 1 {
		t.Errorf("%v of %v", got, given)
	}

	f.src.Derive = speedSquare(t)
	got, err = f.withSpeed(rec, [2]float64{0.5, 0.5})
	require.NoError(t, err)
	if got["square"] != 900 {
		t.Errorf("%v", got)
	}

	f.src.Ingest.Tachometer = &config.Tachometer{}
	got, err = f.withSpeed(rec, [2]float64{50, 52})
	require.NoError(t, err)
	require.Equal(t, 3060.0, got["rpm_measured"], "%v", got)
	assert.Equal(t, 0.0, got["rpm_tracked"], "%v", got)

	got, err = f.withSpeed(rec, [2]float64{})
	require.NoError(t, err)
	if len(got) != 1 {
		t.Errorf("a speed nobody found: %v", got)
	}
}

// speedSquare derives a condition of one that is found in the sound.
func speedSquare(t *testing.T) *derive.Set {
	square := []derive.Definition{{Name: "square", Text: "rpm_tracked^2"}}
	set, err := derive.New(square, nil, []string{"rpm_tracked"}, nil, nil)
	require.NoError(t, err)

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

	s := repeats(plan.Columns{Conditions: []string{"rpm", "rpm_tracked"}, Found: []string{"rpm_tracked"}})
	_, err := s.pairRepeats(tab)
	assert.ErrorContains(t, err, "expected conditions that were measured more than once, "+
		"found 3 runs, all at different conditions")

	s.rec.DSP.Tolerances = []config.NamedString{{Name: "rpm", Value: "20"}}

	alone, err := s.pairRepeats(tab)
	require.NoError(t, err)
	require.Len(t, alone, 1, "alone: %+v", alone)
	assert.Equal(t, "1 recording without a partner of another run left out: r2", alone[0].Text, "alone: %+v", alone)

	y1, _ := tab.Floats("y_1")

	y2, _ := tab.Floats("y_2")
	if !slices.Equal(y1, []float64{1}) || !slices.Equal(y2, []float64{3}) || tab.Column("run").Strings[0] != "r1 + r3" {
		t.Errorf("%v, %v of %v", y1, y2, tab.Column("run").Strings)
	}

	require.True(t, tab.Column("y_bound_1").Bools[0], "bounds of other runs")
	assert.False(t, tab.Column("y_bound_2").Bools[0], "bounds of other runs")

	couple(tab)

	if y2, _ = tab.Floats("y_2"); y2[0] != 1 || !tab.Column("y_bound_2").Bools[0] {
		t.Errorf("couple: %v", y2)
	}
}

// Runs at one set point are repeats, by hand r1 and r3 of 3000, at the mean of their speeds; and runs of one condition
// where their labels are equal, by hand r1 and r3 of A, not r2 of B.
func TestPairRepeatsAlike(t *testing.T) {
	for _, c := range []struct {
		rpm, at []float64
		within  []config.NamedString
		labels  []string
		want    string
	}{
		{[]float64{2994, 2400, 3008}, []float64{3001}, []config.NamedString{{Name: "rpm", Value: "0.5 %"}}, nil, "[3000] []"},
		{[]float64{3000, 3000, 3000}, []float64{3000}, nil, []string{"propeller"}, "[] [A]"},
	} {
		names := []string{"r1", "r2", "r3"}
		tab := &table.Table{Columns: []table.Column{
			{Name: "run", Strings: names},
			{Name: "recording", Strings: names},
			{Name: "rpm", Floats: c.rpm},
			{Name: "propeller", Strings: []string{"A", "B", "A"}},
			{Name: "y_1", Floats: []float64{1, 2, 3}},
			{Name: "y_2", Floats: []float64{1, 2, 3}},
		}}
		require.NoError(t, plan.Points{}.AddSetPoints(c.within, tab))

		s := repeats(plan.Columns{Conditions: []string{"rpm"}, Labels: c.labels})
		alone, err := s.pairRepeats(tab)
		require.NoError(t, err)
		require.Len(t, alone, 1, "%v", alone)
		require.Contains(t, alone[0].Text, "r2", "%v", alone)

		set, _ := tab.Floats("rpm_set")
		var named []string
		if c.labels != nil {
			named = tab.Column("propeller").Strings
		}

		assert.Equal(t, "[r1 + r3] "+c.want, fmt.Sprint(tab.Column("run").Strings, set, named), "got")
		assert.Equal(t, c.at, tab.Column("rpm").Floats, "pairs at")
	}
}

// repeats is a stage that pairs repeats of recordings with these columns.
func repeats(c plan.Columns) *stage {
	return &stage{
		exp: plan.Experiment{File: &config.File{Path: "p.yaml"}, Key: "experiments.x"},
		rec: &ingeststage.Recordings{Source: &plan.Source{Columns: c}},
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
		assert.Equal(t, want, nothingLeft(skip(n)), "%d", n)
	}
}

// The recordings of the background that have a channel, in its unit.
func TestBackgroundOf(t *testing.T) {
	bg := &Background{Channels: []backgroundChannel{
		{File: "q1.wav", Name: "m1", Unit: "Pa", Seconds: 3},
		{File: "q2.wav", Name: "m1", Unit: "Pa", Seconds: 5},
		{File: "q1.wav", Name: "m2", Unit: "V"},
	}}

	list, err := bg.Recordings("m1", "Pa", "a.wav")
	require.NoError(t, err)
	require.Len(t, list, 2, "%+v", list)
	require.Equal(t, "q2.wav", list[1].File, "%+v", list)
	assert.Equal(t, 5.0, list[1].Seconds, "%+v", list)

	for want, c := range map[string][2]string{
		`a.wav: channel m2: expected levels in the unit of the background's recording q1.wav, "V", found "Pa"`: {"m2", "Pa"},
		"a.wav: channel m3: expected this channel in the background's recordings, found m1, m2":                {"m3", "Pa"},
	} {
		_, err := bg.Recordings(c[0], c[1], "a.wav")
		assert.ErrorContains(t, err, want)
	}
}
