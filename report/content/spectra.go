package content

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/table"
	"doubletake/internal/lists"
	"doubletake/report"
)

// spectrumPoints is the number of intervals of a reduced spectrum.
const spectrumPoints = 160

// beyondHarmonics is how far the page shows a spectrum beyond the last harmonic, in distances of harmonics.
const beyondHarmonics = 0.75

// leastPower replaces a power of zero, whose level is not finite. Its level is far below any measured one.
const leastPower = 1e-30

// AddSpectra adds a reduced spectrum of every recording that the page shows. It adds the full spectrum of one
// recording, which is the nearest to the middle of the campaign. It adds nothing if the table has no spectra of halves,
// and returns an error if a recording does not have two rows, one for each half.
func (d *Data) AddSpectra(t *table.Table) error {
	if t.Column("half") == nil {
		return nil
	}

	s, err := readSpectra(t)
	if s == nil || err != nil {
		return err
	}

	if err := s.checkHalves(); err != nil {
		return err
	}

	nearest := -1 // row of the first half of the recording that is the nearest so far
	least := math.Inf(1)
	middle := d.middle()
	for i := 0; i < t.Rows(); i += 2 { // rows i and i+1 are the two halves of a recording
		row, isShown := d.rowOf[s.recordings[i]]
		if !isShown {
			continue
		}

		if distance := d.distance(d.page.Cond[row], middle); distance < least {
			least = distance
			nearest = i
		}

		d.page.Spectra = append(d.page.Spectra, s.reduced(i, row))
	}

	if nearest >= 0 {
		d.setShown(s, nearest)
	}

	return nil
}

// checkHalves returns an error if a recording does not have two rows, one for each half.
func (s *spectraColumns) checkHalves() error {
	for i := 0; i < len(s.recordings); i += 2 {
		next := "the end of the table"
		if i+1 < len(s.recordings) {
			next = "a row for " + s.recordings[i+1]
		}

		if i+1 == len(s.recordings) || s.recordings[i+1] != s.recordings[i] {
			return fmt.Errorf("read spectra: expected two rows for %s, found one, and then %s", s.recordings[i], next)
		}
	}

	return nil
}

// middle returns the median of each input, or the larger of the two middle values, over the conditions that the page
// shows. It returns nil if the page shows no conditions.
func (d *Data) middle() []float64 {
	if len(d.page.X) == 0 {
		return nil
	}

	middle := make([]float64, d.set.In)
	for k := range middle {
		values := lists.Column(d.page.X, d.set.In, k)
		slices.Sort(values)
		middle[k] = values[len(values)/2]
	}

	return middle
}

// distance returns the distance of a condition that the page shows from a point: the sum over the inputs of the
// difference, divided by one plus the absolute value at the point.
func (d *Data) distance(condition int, point []float64) float64 {
	distance := 0.0
	for k, x := range d.page.X[condition*d.set.In : (condition+1)*d.set.In] {
		distance += math.Abs(x-point[k]) / (1 + math.Abs(point[k]))
	}

	return distance
}

// spectraColumns contains the columns of spectra.arrow, which has two rows for each recording, one for each half.
type spectraColumns struct {
	table      *table.Table
	recordings []string
	power      [][]float32 // power in each bin
	unit       string      // unit of the levels
	ref        float64     // reference root mean square of the levels
	bin        []float64   // width of a bin in Hz
	shaft      []float64   // shaft frequency in Hz
	blades     []float64   // nil if no rotor was recorded
}

// readSpectra reads the columns of spectra, or returns nil if the table has none.
func readSpectra(t *table.Table) (*spectraColumns, error) {
	power := t.Column("power")
	if power == nil || power.Lists == nil {
		return nil, nil
	}

	bin, errBin := t.Floats("bin_hz")
	shaft, errShaft := t.Floats("shaft_hz")
	if err := errors.Join(errBin, errShaft); err != nil {
		return nil, fmt.Errorf("read spectra: %w", err)
	}

	blades, _ := t.Floats("blades") // none if no rotor was recorded
	ref, unit := dsp.Reference(strings.TrimSuffix(power.Unit, "²"))

	return &spectraColumns{
		table: t, recordings: t.Column("recording").Strings, power: power.Lists, unit: unit, ref: ref,
		bin: bin, shaft: shaft, blades: blades,
	}, nil
}

// level returns the level of a power in dB.
func (s *spectraColumns) level(power float64) float64 {
	return dsp.LevelDB(math.Max(power, leastPower), s.ref)
}

// list returns the values of a column of lists in a row, or nil if no such column exists.
func (s *spectraColumns) list(column string, row int) []float32 {
	if c := s.table.Column(column); c != nil && c.Lists != nil {
		return c.Lists[row]
	}

	return nil
}

// reduced returns the spectrum of a recording with spectrumPoints intervals. Row i of the table is the first half of
// the recording; row is the recording's row in the data of the page.
func (s *spectraColumns) reduced(i, row int) report.Spectrum {
	halves := [2][]float32{s.power[i], s.power[i+1]}
	spectrum := report.Spectrum{Row: row, ToHz: s.bin[i] * float64(len(halves[0])-1)}
	lines := s.table.Column("line_hz")
	if lines != nil && len(lines.Lists[i]) > 0 && s.blades != nil {
		orders := float64(len(lines.Lists[i])) + beyondHarmonics
		spectrum.ToHz = math.Min(orders*s.blades[i]*(s.shaft[i]+s.shaft[i+1])/2, spectrum.ToHz)
	}

	for _, p := range dsp.PeakSpectrum(halves, spectrum.ToHz/s.bin[i]/spectrumPoints, spectrumPoints) {
		spectrum.Peak = append(spectrum.Peak, float32(s.level(p)))
	}

	if lines != nil {
		first := lines.Lists[i]
		second := lines.Lists[i+1]
		for m := range first {
			spectrum.Line = append(spectrum.Line, (first[m]+second[m])/2)
		}
	}

	return spectrum
}

// setShown stores the full spectrum of the recording whose first half is in row i. If there are harmonics, it cuts the
// spectrum behind the last one, because spectra.arrow contains the rest.
func (d *Data) setShown(s *spectraColumns, i int) {
	shown := &report.SpectrumDetail{
		Recording: s.recordings[i], Unit: s.unit, BinHz: s.bin[i], Condition: d.page.Cond[d.rowOf[s.recordings[i]]],
	}

	for h := range 2 {
		shown.Shaft[h] = s.shaft[i+h]
		shown.Level[h] = make([]float64, len(s.power[i+h]))
		for k, p := range s.power[i+h] {
			shown.Level[h][k] = s.level(float64(p))
		}

		shown.Lines[h] = s.lines(i+h, s.bin[i])
		shown.Orders[h] = s.orders(i + h)
	}

	last := 0.0
	for _, line := range shown.Lines[0] {
		last = math.Max(last, line.Hz)
	}

	if last > 0 && s.blades != nil {
		n := int((last + beyondHarmonics*s.blades[i]*shown.Shaft[0]) / s.bin[i])
		if n < len(shown.Level[0]) {
			shown.Level[0] = shown.Level[0][:n]
			shown.Level[1] = shown.Level[1][:n]
		}
	}

	mean := dsp.MeanSpectrum([2][]float32{s.power[i], s.power[i+1]}, d.noiseBins)
	for _, b := range dsp.ThirdOctaves(s.bin[i], len(mean)) {
		shown.Third = append(shown.Third, report.ThirdOctave{
			Lo: b.Lo, Hi: b.Hi, Centre: b.Centre, Level: s.level(dsp.BandPower(mean, s.bin[i], b.Lo, b.Hi)),
		})
	}

	d.page.Shown = shown
}

// lines returns the harmonics in a row of the table, with the bands in which they were sought and measured. bin is the
// width of a bin in Hz.
func (s *spectraColumns) lines(row int, bin float64) (lines []report.SpectrumLine) {
	powers := s.list("line_power", row)
	floors := s.list("floor", row)
	searchLow := s.list("search_lo", row)
	searchHigh := s.list("search_hi", row)
	bandLow := s.list("band_lo", row)
	bandHigh := s.list("band_hi", row)
	for m, hz := range s.list("line_hz", row) {
		lines = append(lines, report.SpectrumLine{
			Order: float64(m + 1), Hz: float64(hz),
			Level: s.level(float64(powers[m])), Floor: s.level(float64(floors[m])),
			Search: [2]float64{float64(searchLow[m]) * bin, float64(searchHigh[m]) * bin},
			Band:   [2]float64{float64(bandLow[m]) * bin, float64(bandHigh[m]) * bin},
		})
	}

	return lines
}

// orders returns the tones at multiples of the shaft frequency in a row of the table.
func (s *spectraColumns) orders(row int) (orders []report.SpectrumLine) {
	hz := s.list("shaft_order_hz", row)
	powers := s.list("shaft_order_power", row)
	for m, order := range s.list("shaft_order", row) {
		orders = append(orders, report.SpectrumLine{
			Order: float64(order), Hz: float64(hz[m]), Level: s.level(float64(powers[m])), Floor: math.NaN(),
		})
	}

	return orders
}

// AddBackground adds the background's spectrum to the full spectrum that the page shows, if there is one. It is the
// mean over the background's recordings, weighted by their durations, at the bins of the shown spectrum. recs is the
// index of the recordings. recordings returns the background that a channel recorded, in the unit of its levels.
func (d *Data) AddBackground(
	recordings func(channel, unit, recording string) ([]dsp.BackgroundRecording, error), recs *table.Table,
) error {
	shown := d.page.Shown
	if shown == nil || recs == nil {
		return nil
	}

	row := slices.Index(recs.Column("recording").Strings, shown.Recording)
	if row < 0 {
		return nil
	}

	unit := recs.Column("unit").Strings[row]
	list, err := recordings(recs.Column("channel").Strings[row], unit, shown.Recording)
	if err != nil {
		return err
	}

	ref, _ := dsp.Reference(unit)

	for _, recording := range list {
		shown.BackgroundFrom = append(shown.BackgroundFrom, recording.File)
	}

	for k := range shown.Level[0] {
		power := dsp.BackgroundBin(list, float64(k)*shown.BinHz, shown.BinHz, d.noiseBins)
		shown.Background = append(shown.Background, dsp.LevelDB(power, ref))
	}

	return nil
}
