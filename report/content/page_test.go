package content

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/report"
	"doubletake/report/findings"
	"doubletake/train/holdout"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// details returns the data of a table with the inputs named.
func details(t *testing.T, tab *table.Table, inputs string) *Data {
	t.Helper()
	return NewData(tab, setOf(t, tab, inputs), dsp.NoiseBins(dsp.DefaultWindow))
}

// A small campaign is shown whole: conditions in order of appearance, their means,
// and flags of upper bounds of either half.
func TestDetailRows(t *testing.T) {
	d := details(t, tabletest.MustParse(t, `
run recording rpm[1/min] y_1[dB] y_2[dB] z_1[dB] z_2[dB] z_bound_1 z_bound_2
a   a#1       1000       1       3       10      20      false     false
a   a#2       2000       5       7       30      40      false     true
b   b#1       1000       2       4       50      60      true      false`), "rpm").page

	assert.Equal(t, []float64{1000, 2000}, d.X)
	assert.Equal(t, []int{0, 1, 0}, d.Cond)
	assert.Equal(t, []int{0, 0, 1}, d.Run)
	assert.Equal(t, []string{"a", "b"}, d.Runs)

	// (1+3+2+4)/4 and (10+20+50+60)/4; one pair at 2000/min.
	assert.InDeltaSlice(t, []float64{2.5, 35, 6, 35}, d.Mean, 1e-9)

	assert.Equal(t, []float64{1, 10, 5, 30, 2, 50}, d.Y1)
	assert.Equal(t, []float64{3, 20, 7, 40, 4, 60}, d.Y2)

	// Rows × outcomes, and conditions × outcomes: a mean is a bound if either half of one of its pairs is.
	assert.Equal(t, []bool{false, false, false, false, false, true}, d.Bound1)
	assert.Equal(t, []bool{false, false, false, true, false, false}, d.Bound2)
	assert.Equal(t, []bool{false, true, false, true}, d.MeanBound)

	require.Equal(t, (report.Quantity{Name: "rpm", Unit: "1/min"}), d.Inputs[0], "%+v, %+v", d.Inputs, d.Outcomes)
	assert.Equal(t, "z", d.Outcomes[1].Name, "%+v, %+v", d.Inputs, d.Outcomes)
}

// A seed's answers are shown at each condition, with the shares of the pairs that
// the intervals hold. By hand for σ = 1: residuals 0, 0.5 of the training pair lie
// within 0.674σ (50 %), of the test pair 1 and 3 do not, and 1 within 1.96σ.
func TestDetailSeed(t *testing.T) {
	tab := tabletest.MustParse(t, `
run recording x y_1 y_2
a   a         1 0   0.5
b   b         2 1   3`)

	d := details(t, tab, "x")
	set := d.set
	set.Part = []triplets.Part{triplets.Train, triplets.Test}
	set.Scale = triplets.Identity(1)
	a := triplets.Answers{Mu: []float64{0, 0}, Var: []float64{1, 1}, Cov: []float64{0.5, 0.25}, Delta: []float64{0.125, 0}}
	sp := d.addSplit(Split{Name: "s", Test: holdout.Values("x", 2)})

	part := func(p triplets.Part) score.Set { return score.Judged(set, a, p) }
	d.addSeed(sp, set, a, part(triplets.Train), part(triplets.Test))

	assert.Equal(t, "s", sp.Name)
	assert.Equal(t, "x = 2", sp.HeldOut)
	assert.Equal(t, []bool{false, true}, sp.Test)
	require.Len(t, sp.Seeds, 1)

	s := sp.Seeds[0]
	assert.InDeltaSlice(t, []float64{0.5, 0.25}, s.Cov, 1e-9)

	require.Len(t, nominal, 20)
	assert.Equal(t, 0.5, nominal[9])
	assert.Equal(t, 0.95, nominal[18])
	assert.Equal(t, 0.99, nominal[19])

	train, test := sp.Coverage[0].Observed[0], sp.Coverage[1].Observed[0]
	assert.Equal(t, 1.0, train[9])
	assert.Zero(t, test[9])
	assert.Equal(t, 0.5, test[18])
	assert.Zero(t, test[0])
	assert.Equal(t, 0.5, train[0])

	// One test pair is one bin: its C, and e = 1·3.
	b := sp.Bins[0]
	require.Len(t, b, 1)
	assert.Equal(t, 0.25, b[0].Cov)
	assert.Equal(t, 3.0, b[0].E)
	assert.True(t, math.IsNaN(b[0].SE))
}

// spectraTable holds the spectra of two recordings in both halves: 1 Pa² everywhere,
// 4 Pa² in bin 4 of the second recording's halves, 10 Hz apart.
func spectraTable(t *testing.T) *table.Table {
	t.Helper()

	tab := tabletest.MustParse(t, `
recording half bin_hz shaft_hz blades
a#1       1    10     9        2
a#1       2    10     11       2
b#1       1    10     19       2
b#1       2    10     21       2
zz        1    10     19       2
zz        2    10     21       2`)

	rows := [][]float32{}
	for i := range 6 {
		p := slices.Repeat([]float32{1}, 101)
		if i/2 == 1 {
			p[4] = 4
		}

		rows = append(rows, p)
	}

	lists := func(name string, v ...[]float32) {
		tab.Columns = append(tab.Columns, table.Column{Name: name, Lists: v})
	}
	same := func(v ...float32) [][]float32 { return [][]float32{v, v, v, v, v, v} }
	tab.Columns = append(tab.Columns, table.Column{Name: "power", Unit: "Pa²", Lists: rows})
	lists("line_hz", []float32{20}, []float32{22}, []float32{38}, []float32{42}, []float32{1}, []float32{1})
	lists("line_power", same(2)...)
	lists("floor", same(1)...)
	lists("search_lo", same(3)...)
	lists("search_hi", same(5)...)
	lists("band_lo", same(3)...)
	lists("band_hi", same(4)...)
	lists("shaft_order", same(1)...)
	lists("shaft_order_hz", same(20)...)
	lists("shaft_order_power", same(1)...)

	return tab
}

// level is the level in dB re 20 µPa.
func level(p float64) float64 { return 10 * math.Log10(p/4e-10) }

// Spectra are reduced to their largest bins up to the last harmonic's
// neighbourhood, and the one nearest the middle is kept in full. Expected by hand:
// with 2 blades at 20 Hz the line of 40 Hz is the first, cut at 1.75 times it = 70 Hz.
func TestSpectra(t *testing.T) {
	tab := tabletest.MustParse(t, `
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a#1       600        1       2
b   b#1       1200       1       2
c   c#1       1250       1       2`)

	d := details(t, tab, "rpm")
	require.NoError(t, d.AddSpectra(spectraTable(t)))

	require.Len(t, d.page.Spectra, 2) // zz is not a recording of the triplets, c#1 has no spectrum

	sp := d.page.Spectra[1]
	assert.Equal(t, 1, sp.Row)
	assert.Equal(t, 70.0, sp.ToHz)
	assert.Equal(t, []float32{40}, sp.Line)
	require.Len(t, sp.Peak, spectrumPoints)

	// Point k holds the bins about k·70/10/160: bin 4 begins at point 80.
	high, low := sp.Peak[85], sp.Peak[150]
	assert.InDelta(t, level(4), float64(high), 1e-4)
	assert.InDelta(t, level(1), float64(low), 1e-4)

	s := d.page.Shown
	assert.Equal(t, "b#1", s.Recording)
	assert.Equal(t, "dB re 20 µPa", s.Unit)
	assert.Equal(t, 10.0, s.BinHz)
	assert.Equal(t, 1200.0, d.page.X[s.Condition])
	assert.Equal(t, [2]float64{19, 21}, s.Shaft)

	// Cut at 38 + 0.75·2·19 = 66.5 Hz: bins 0 to 5.
	levels := []float64{level(1), level(1), level(1), level(1), level(4), level(1)}
	assert.InDeltaSlice(t, levels, s.Level[1], 1e-9)

	l := s.Lines[1][0]
	assert.Equal(t, 1.0, l.Order)
	assert.Equal(t, 42.0, l.Hz)
	assert.Equal(t, level(2), l.Level)
	assert.Equal(t, level(1), l.Floor)
	assert.Equal(t, [2]float64{30, 50}, l.Search)
	assert.Equal(t, [2]float64{30, 40}, l.Band)

	o := s.Orders[0][0]
	assert.Equal(t, 1.0, o.Order)
	assert.Equal(t, 20.0, o.Hz)
	assert.True(t, math.IsNaN(o.Floor))

	// The band about 10^2.4 = 251 Hz holds flat noise: its width in bins over 1.5.
	k := slices.IndexFunc(s.Third, func(b report.ThirdOctave) bool { return math.Abs(b.Centre-251.19) < 0.01 })
	require.GreaterOrEqual(t, k, 0, "the third-octave band about 251 Hz is not among %+v", s.Third)
	width := math.Pow(10, 2.45) - math.Pow(10, 2.35)
	assert.InDelta(t, level(width/10/1.5), s.Third[k].Level, 1e-9, "level of the third-octave band about 251 Hz")

	none := details(t, tab, "rpm")
	require.NoError(t, none.AddSpectra(tabletest.MustParse(t, "recording\na#1\na#1")))
	assert.Nil(t, none.page.Shown, "a table without spectra")

	unpaired := spectraTable(t)
	unpaired.Column("recording").Strings[1] = "other"
	assert.ErrorContains(t, details(t, tab, "rpm").AddSpectra(unpaired), "expected two rows")
}

// The background is added to the spectrum that is shown, in its unit. By hand: a
// density of 0.02 Pa²/Hz in bins of 10 Hz reads 0.02·15 Pa² (Hann). The density already contains the tones, so the
// tone in bin 3 adds nothing.
func TestBackground(t *testing.T) {
	tab := tabletest.MustParse(t, "run recording rpm[1/min] y_1 y_2\nb b#1 1200 1 2")
	d := details(t, tab, "rpm")
	recs := tabletest.MustParse(t, "recording\nb#1")
	recs.Columns = append(recs.Columns, table.Column{Name: "unit", Strings: []string{"Pa"}},
		table.Column{Name: "channel", Strings: []string{"mic"}})

	quiet := dsp.Background{
		BinHz: 10, Density: slices.Repeat([]float64{0.02}, 200),
		Tones: []dsp.Tone{{Hz: 30, MeanSquare: 2}, {Hz: 500, MeanSquare: 1}},
	}

	recorded := func(channel, unit, recording string) ([]dsp.BackgroundRecording, error) {
		if unit != "Pa" {
			return nil, fmt.Errorf("%s: levels of channel %s are in Pa", recording, channel)
		}

		return []dsp.BackgroundRecording{{File: "quiet.wav", Seconds: 10, Background: &quiet}}, nil
	}

	require.NoError(t, d.AddBackground(recorded, recs))
	assert.Nil(t, d.page.Shown, "nothing is shown")

	require.NoError(t, d.AddSpectra(spectraTable(t)))
	require.NoError(t, d.AddBackground(recorded, recs))

	s := d.page.Shown
	require.Equal(t, []string{"quiet.wav"}, s.BackgroundFrom, "%+v", s)
	require.Len(t, s.Background, len(s.Level[0]), "%+v", s)

	assert.InDeltaSlice(t, slices.Repeat([]float64{level(0.02 * 15)}, 6), s.Background, 1e-9, "background dB")

	recs.Column("unit").Strings[0] = "full-scale"
	assert.ErrorContains(t, d.AddBackground(recorded, recs), "b#1")

	recs.Column("recording").Strings[0] = "other"
	require.NoError(t, d.AddBackground(recorded, recs))
}

// The facts about the data, as the page lists them.
func TestQuality(t *testing.T) {
	tab := tabletest.MustParse(t, tabletest.Rotor)
	d := details(t, tab, "rpm")
	recs := tabletest.MustParse(t, `
recording rate_hz duration_s rms   integral_time_s
a#1       51200   10         0.5   nan
a#2       51200   20         0.25  nan
b#1       51200   10         1     nan`)

	strs := func(name string, v ...string) {
		recs.Columns = append(recs.Columns, table.Column{Name: name, Strings: v})
	}
	strs("sha256", "1", "1", "2")
	strs("unit", "Pa", "Pa", "Pa")
	strs("calibration", "", "94 dB", "sensitivity")
	recs.Columns = append(recs.Columns, table.Column{Name: "clipped", Ints: []int64{0, 7, 0}})
	d.AddQuality(recs, findings.Findings{Bounds: 3, Levels: 24})

	var got []string
	for _, f := range d.page.Quality {
		got = append(got, f.Name+": "+f.Value)
	}

	want := []string{
		"raw files: 2", "sampling rate: 51200 Hz", "duration of a run: 10 to 20 s",
		"unit of the samples: Pa",
		"root mean square of a recording: 0.25 to 1, median 0.5 Pa", "calibration: 94 dB", "calibration: sensitivity",
		"recordings with clipped samples: 1 of 3",
		"levels under the emergence limit (upper bounds): 3 of 24 (12.5 %)",
	}

	assert.Equal(t, want, got)

	// Of many kinds of calibration twenty are listed.
	many := &table.Table{Columns: []table.Column{{Name: "calibration"}}}
	for i := range 25 {
		many.Columns[0].Strings = append(many.Columns[0].Strings, string(rune('a'+i)))
	}

	d.page.Quality = nil
	d.AddQuality(many, findings.Findings{})

	q := d.page.Quality
	assert.Equal(t, "t", q[19].Value)
	assert.Equal(t, "… and 5 more, in recordings.arrow", q[20].Value)
}

// Tables of spectra that lack the second half of a recording, in the middle or at the end. Expected: an error.
func TestSpectraWithoutHalf(t *testing.T) {
	tab := spectraTable(t)
	whole := tab.Rows()
	require.Positive(t, whole)
	for name, rows := range map[string][]int{"first of a pair": {0, 2, 3}, "end of the table": {0, 1, 2}} {
		d := &Data{page: &report.Detail{}, rowOf: map[string]int{}}
		assert.ErrorContains(t, d.AddSpectra(tab.Select(rows)), "expected two rows", name)
	}
}

// Predictions of another program at a condition with two rows, of which the last has none. Expected: the other one.
func TestReferenceOfSeveralRows(t *testing.T) {
	shown := []float64{math.NaN(), math.NaN()}
	setKnown(shown, []float64{3, 4})
	setKnown(shown, []float64{5, math.NaN()})
	assert.Equal(t, []float64{5, 4}, shown)
}
