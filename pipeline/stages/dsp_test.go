package stages

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest/derive"
	"doubletake/ingest/setting"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

const rotorTable = "file,blades,rpm\na.npy,2,3000\nb.npy,2,3010\n"

// sound returns 8 s of a rotor of two blades at 50 rev/s in noise, at 1 kHz: lines of 0.2 Pa at 100 Hz and of 0.02 Pa
// at 200 Hz.
func sound(seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))

	x := make([]float64, 8000)
	for i := range x {
		s := float64(i) / 1000
		x[i] = 0.2*math.Sin(2*math.Pi*100*s) + 0.02*math.Sin(2*math.Pi*200*s) + 1e-4*rng.NormFloat64()
	}

	return x
}

// The key of a file's task has the settings that its construction reads, and no others. The keys are the settings that
// the constructions document.
func TestDSPKeys(t *testing.T) {
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
		b := plannedDSP(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, `+c.ingest+`}`, `{`+c.dsp+`}`)
		_, err := planDSP(b.Experiment, b.ing)
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

		assert.Equal(t, want, got, "%s: settings in the key", c.dsp)

		join := b.Tasks.Plan.Tasks[len(b.Tasks.Plan.Tasks)-1]
		require.Equal(t, "x/triplets", join.ID, "%s", c.dsp)
		assert.Equal(t, strings.Contains(c.dsp, "within"), len(join.Local) > 0,
			"%s: tolerances are in the key of the task that pairs repeats: %v", c.dsp, join.Local)

		tables := 1 // the triplets
		if _, hasSpectra := b.Source.Reading.Construction.(dsp.OfSpectra); hasSpectra {
			tables++
		}

		assert.Len(t, join.Publish, tables, "%s: published tables", c.dsp)
	}
}

// planRun plans a run a.npy whose conditions are all 2. head is the header of the table of conditions.
func planRun(t *testing.T, head, dsp string) error {
	t.Helper()

	row := "\na.npy" + strings.Repeat(",2", strings.Count(head, ",")) + "\n"
	b := plannedDSP(t, map[string]string{"a.npy": npy(sound(1)), "c.csv": head + row},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{`+dsp+`}`)
	_, err := planDSP(b.Experiment, b.ing)

	return err
}

// Bands need no speed of the shaft, and a tracked speed is known.
func TestShaftKnown(t *testing.T) {
	require.NoError(t, planRun(t, "file,theta_deg", "triplets: split-half-bands"))
	require.NoError(t, planRun(t, "file,blades", "triplets: split-half-spectrum, track: {range_hz: [20, 30]}"))
}

// A construction that needs the speed of the shaft or the number of blades is refused without it.
func TestShaftUnknown(t *testing.T) {
	for _, c := range []struct{ head, dsp, want string }{
		{"file,blades", "triplets: split-half-spectrum", "the shaft speed is not known: expected a condition rpm"},
		{"file,rpm", "triplets: split-half-spectrum", "the number of blades is not known: expected a condition blades"},
		{"file,rpm", "triplets: repeats", "the number of blades is not known"},
		{
			"file,rpm", "triplets: split-half-bands, within: {u: 3}",
			`"u" is not a condition of this experiment, which has [rpm]`,
		},
		{
			"file,blades,rpm,rps", "triplets: split-half-spectrum",
			"rpm (1/min) and rps (rev/s) are given as conditions; keep one",
		},
	} {
		assert.ErrorContains(t, planRun(t, c.head, c.dsp), c.want, "%s, %s", c.head, c.dsp)
	}
}

// A file of two microphones has two rows of triplets and a spectrum for each half. The expected levels are those of
// sines of 0.2 and 0.02 Pa, 0.2²/2 and 0.02²/2 Pa². Spectra that stage ingest has read give the same levels.
func TestFileOfMicrophones(t *testing.T) {
	b := plannedDSP(t, map[string]string{"a.npy": npy(sound(1), sound(2)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{triplets: split-half-spectrum, harmonics: 2}`)
	res := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 3000})
	f := analysis.NewRows(b.Source.Reading)

	notes := &analysis.FileNotes{}
	require.NoError(t, f.AddFile(context.Background(), res, b.Files[0].raw.File.Open, notes))

	require.Equal(t, 2, f.Triplets.Rows(), "triplets")
	require.Equal(t, 4, f.Spectra.Rows(), "spectra")
	require.Len(t, notes.Notes, 1, "runs")
	assert.Equal(t, 8, notes.Notes[0].Levels, "two levels of two halves of two microphones")

	for name, want := range map[string]float64{
		"bpf1_db_1": 10 * math.Log10(0.02/4e-10),
		"bpf2_db_2": 10 * math.Log10(0.0002/4e-10),
	} {
		levels, err := f.Triplets.Floats(name)
		require.NoError(t, err)
		assert.InDelta(t, want, levels[1], 0.1, "%s of the second microphone", name)
	}

	var names []string
	for _, c := range f.Triplets.Columns {
		if strings.HasPrefix(c.Name, "bpf1") {
			names = append(names, strings.TrimPrefix(c.Name, "bpf1_db_"))
		}
	}

	assert.Equal(t, "1 2 rho_db_1 rho_db_2 sd_1 sd_2 hz_1 hz_2 bound_1 bound_2 emergent", strings.Join(names, " "),
		"columns")

	first := f.Triplets.Column("bpf1_db_1")
	assert.Equal(t, "dB re 20 µPa", first.Unit)
	assert.True(t, strings.HasSuffix(first.Description, ", first half"), "%q", first.Description)

	assert.Equal(t, []string{"bpf1_db", "bpf2_db"}, pairs.Outcomes(f.Triplets), "outcomes")

	power := f.Spectra.Column("power")
	assert.Equal(t, "Pa²", power.Unit)
	assert.Len(t, power.Lists[3], 251, "bins")

	again := analysis.NewRows(b.Source.Reading)
	again.Loads = f.Loads
	again.Kept = analysis.NewKept()
	run := res.Runs[0]
	asked := b.Source.Reading.Run(res.Info, run.Run, 8000, run.Scale, run.Units)
	load, err := b.Source.Reading.Construction.(dsp.OfSpectra).Spectra(asked)
	require.NoError(t, err)

	an := analysis.BorrowAnalyser()
	require.NoError(t, an.Load(context.Background(), arrays{sound(1), sound(2)}, load))

	again.Kept.SetSpectra(an)

	require.NoError(t, again.AddFile(context.Background(), res, b.Files[0].raw.File.Open, &analysis.FileNotes{}))

	assert.Equal(t, f.Triplets.Column("bpf2_db_1").Floats, again.Triplets.Column("bpf2_db_1").Floats,
		"levels from spectra in memory")

	again.Kept.Free()
}

// arrays is a source of samples in memory, by channel.
type arrays [][]float64

// Read copies samples of channels from start on.
func (a arrays) Read(channels []int, start int64, dst [][]float64) (int, error) {
	for i, c := range channels {
		copy(dst[i], a[c][start:])
	}
	return len(dst[0]), nil
}

// A run that cannot be analysed names the file and the run.
func TestBadRun(t *testing.T) {
	b := plannedDSP(t, map[string]string{"a.npy": npy(sound(1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`,
		`{triplets: split-half-spectrum, harmonics: 2}`)
	res := result(t, b, 0, map[string]float64{"blades": 2.5, "rpm": 3000})
	f := analysis.NewRows(b.Source.Reading)
	err := f.AddFile(context.Background(), res, b.Files[0].raw.File.Open, &analysis.FileNotes{})
	assert.EqualError(t, err, "a.npy: expected a whole number of blades, found blades = 2.5")
}

// speedSquare derives a condition from one that is found in the sound.
func speedSquare(t *testing.T) *derive.Set {
	t.Helper()

	square := []derive.Definition{{Name: "square", Text: "rpm_tracked^2"}}
	set, err := derive.New(square, nil, []string{"rpm_tracked"}, nil, nil)
	require.NoError(t, err)

	return set
}

// Repeats are compared by the conditions that are known before a run is analysed, and by derived conditions only within
// a tolerance.
func TestPairing(t *testing.T) {
	source := &Source{Analysis: &pairs.Analysis{Columns: pairs.Columns{
		Conditions: []string{"rpm", "rpm_tracked", "square"}, Found: []string{"rpm_tracked", "square"},
		Labels: []string{"propeller", "day"}, Derive: speedSquare(t),
	}}}
	source.DSP.Across = "day"
	file := &config.File{Path: "p.yaml", Experiments: make([]config.Experiment, 1)}
	exp := plan.NewExperiment(file, 0, plan.Program{}, nil)

	got := pairing(exp, &Recordings{Source: source})
	assert.Equal(t, []string{"rpm"}, got.Conditions)
	assert.Equal(t, []string{"propeller"}, got.Labels, "recordings are paired across days")

	source.Found = []string{"rpm_tracked"}
	source.DSP.Tolerances = []setting.NamedString{{Name: "square", Value: "1 %"}}
	got = pairing(exp, &Recordings{Source: source})
	assert.Equal(t, []string{"rpm", "square"}, got.Conditions)
}
