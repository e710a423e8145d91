package reportstage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// spectrumPoints is the number of intervals of a reduced spectrum.
const spectrumPoints = 160

// spectra reduces every recording's spectrum and keeps one in full.
func (d *detail) spectra(t *table.Table) error {
	power, half := t.Column("power"), t.Column("half")
	if power == nil || half == nil || power.Lists == nil {
		return nil
	}

	bin, err1 := t.Floats("bin_hz")

	shaft, err2 := t.Floats("shaft_hz")
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("read spectra: %w", err)
	}

	blades, _ := t.Floats("blades") // none where no rotor was recorded
	ref, unit := dsp.Reference(strings.TrimSuffix(power.Unit, "²"))
	level := func(p float64) float64 { return dsp.LevelDB(math.Max(p, 1e-30), ref) }
	recordings := t.Column("recording").Strings

	// The recording shown in full: nearest the middle of its campaign.
	best, bestAt := math.Inf(1), -1

	mid := make([]float64, d.set.In)
	for k := range d.set.In {
		v := lists.Column(d.d.X, d.set.In, k)
		slices.Sort(v)
		mid[k] = v[len(v)/2]
	}

	for i := 0; i+1 < t.Rows(); i += 2 {
		row, ok := d.rowOf[recordings[i]]
		if !ok || recordings[i+1] != recordings[i] {
			continue
		}

		c := d.d.Cond[row]
		at := d.d.X[c*d.set.In : (c+1)*d.set.In]

		far := 0.0
		for k := range at {
			far += math.Abs(at[k]-mid[k]) / (1 + math.Abs(mid[k]))
		}

		if far < best {
			best, bestAt = far, i
		}

		halves := [2][]float32{power.Lists[i], power.Lists[i+1]}
		sp := report.Spectrum{Row: row, ToHz: bin[i] * float64(len(halves[0])-1)}
		if l := t.Column("line_hz"); l != nil && len(l.Lists[i]) > 0 && blades != nil {
			sp.ToHz = math.Min((float64(len(l.Lists[i]))+0.75)*blades[i]*(shaft[i]+shaft[i+1])/2, sp.ToHz)
		}

		peak := dsp.PeakSpectrum(halves, sp.ToHz/bin[i]/spectrumPoints, spectrumPoints)
		sp.Peak = lists.Each(peak, func(p float64) float32 { return float32(level(p)) })
		if l := t.Column("line_hz"); l != nil {
			a, b := l.Lists[i], l.Lists[i+1]
			sp.Line = lists.Make(len(a), func(m int) float32 { return (a[m] + b[m]) / 2 })
		}

		d.d.Spectra = append(d.d.Spectra, sp)
	}

	if bestAt >= 0 {
		d.shown(t, bestAt, unit, level)
	}

	return nil
}

func (d *detail) shown(t *table.Table, i int, unit string, level func(float64) float64) {
	bin, _ := t.Floats("bin_hz")
	shaft, _ := t.Floats("shaft_hz")
	blades, _ := t.Floats("blades")
	row := d.rowOf[t.Column("recording").Strings[i]]
	s := &report.SpectrumDetail{
		Recording: t.Column("recording").Strings[i], Unit: unit, BinHz: bin[i], Condition: d.d.Cond[row],
	}

	list := func(name string, i int) []float32 {
		if c := t.Column(name); c != nil && c.Lists != nil {
			return c.Lists[i]
		}
		return nil
	}

	power := t.Column("power").Lists
	for h := range 2 {
		p := power[i+h]
		s.Shaft[h] = shaft[i+h]
		s.Level[h] = make([]float64, len(p))
		for k, v := range p {
			s.Level[h][k] = level(float64(v))
		}

		hz, lp, fl := list("line_hz", i+h), list("line_power", i+h), list("floor", i+h)
		slo, shi := list("search_lo", i+h), list("search_hi", i+h)

		blo, bhi := list("band_lo", i+h), list("band_hi", i+h)
		for m := range hz {
			s.Lines[h] = append(s.Lines[h], report.SpectrumLine{
				Order: float64(m + 1), Hz: float64(hz[m]), Level: level(float64(lp[m])), Floor: level(float64(fl[m])),
				Search: [2]float64{float64(slo[m]) * bin[i], float64(shi[m]) * bin[i]},
				Band:   [2]float64{float64(blo[m]) * bin[i], float64(bhi[m]) * bin[i]},
			})
		}

		order, ohz, op := list("shaft_order", i+h), list("shaft_order_hz", i+h), list("shaft_order_power", i+h)
		for m := range order {
			s.Orders[h] = append(s.Orders[h], report.SpectrumLine{
				Order: float64(order[m]), Hz: float64(ohz[m]), Level: level(float64(op[m])), Floor: math.NaN(),
			})
		}
	}

	// Cut where the last harmonic's neighbourhood ends; the rest is in
	// spectra.arrow.
	last := 0.0
	for _, l := range s.Lines[0] {
		last = math.Max(last, l.Hz)
	}

	if last > 0 && blades != nil {
		if n := int((last + 0.75*blades[i]*s.Shaft[0]) / bin[i]); n < len(s.Level[0]) {
			s.Level[0], s.Level[1] = s.Level[0][:n], s.Level[1][:n]
		}
	}

	mean := dsp.MeanSpectrum([2][]float32{power[i], power[i+1]}, d.noiseBins)
	for _, b := range dsp.ThirdOctaves(bin[i], len(mean)) {
		s.Third = append(s.Third, report.ThirdOctave{
			Lo: b.Lo, Hi: b.Hi, Centre: b.Centre, Level: level(dsp.BandPower(mean, bin[i], b.Lo, b.Hi)),
		})
	}

	d.d.Shown = s
}

// addBackground adds the background's spectrum to the one that is shown, as
// its bins would read it: the mean over the background's recordings, by duration.
func (d *detail) addBackground(bg *dspstage.Background, recs *table.Table) (err error) {
	defer fault.Catch(&err)
	s := d.d.Shown
	if s == nil || recs == nil {
		return nil
	}

	row := slices.Index(recs.Column("recording").Strings, s.Recording)
	if row < 0 {
		return nil
	}

	unit := recs.Column("unit").Strings[row]
	list := bg.Of(recs.Column("channel").Strings[row], unit, s.Recording)
	ref, _ := dsp.Reference(unit)

	s.BackgroundFrom = lists.Each(list, func(c dsp.BackgroundRecording) string { return c.File })
	for k := range s.Level[0] {
		bin := dsp.BackgroundBin(list, float64(k)*s.BinHz, s.BinHz, d.noiseBins)
		s.Background = append(s.Background, dsp.LevelDB(bin, ref))
	}

	return nil
}
