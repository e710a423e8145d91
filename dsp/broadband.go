package dsp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// broadbandLevel is the overall level without the lines at multiples of the shaft's
// frequency, and the level of these lines (docs/method.md#broadband-and-tonal).
type broadbandLevel struct{}

func (broadbandLevel) describe(*Settings) outcomeFacts {
	return outcomeFacts{"broadband", "broadband and tonal levels", []string{"overall_hz", "weighting"}, true}
}

func (broadbandLevel) names(s *Settings) []string { return s.weightedNames("broadband", "tonal") }

func (broadbandLevel) check(*Settings, Fail) {} // overallLevel does

func (broadbandLevel) fits(s *Settings, binHz float64, bins int) {
	overallLevel{}.fits(s, binHz, bins)
}

func (broadbandLevel) add(m *sound) {
	b := overallBand(m.r.Settings, m.binHz, len(m.power[0]))
	cuts := [2]*cut{m.cut(0, b.Hi), m.cut(1, b.Hi)}

	m.weighted(func(suffix, words string, gain []float64) {
		broad, tonal := m.sum([2]Band{b, b}, gain), estimate{bound: &[2]float64{}}
		for h, c := range cuts {
			all := m.air.gains(gain, len(c.power), m.binHz)
			total := broad.power[h]
			power, _ := m.averages.level(c.power, m.binHz, b, all)
			broad.power[h] = power / m.noise
			tonal.power[h] = total - broad.power[h]
			if m.air != nil {
				raw, _ := m.averages.level(c.power, m.binHz, b, gain)
				broad.air[h], tonal.air[h] = 10*math.Log10(power/raw), broad.air[h]
			}

			whole, noise, lines := c.scatter(m, b, all)
			spread := math.Hypot(noise, lines)
			if tonal.power[h] < 2*noise {
				tonal.power[h], tonal.bound[h], spread = 2*noise, 1, noise
			}

			broad.sd[h] = 10 / math.Ln10 * whole / broad.power[h]
			tonal.sd[h] = 10 / math.Ln10 * spread / tonal.power[h]
		}

		m.add("broadband"+suffix, "sum"+words+", without the lines of the shaft's orders", broad)

		m.add("tonal"+suffix, "lines of the shaft's orders"+words, tonal)
	})
}

// cut is a spectrum without the lines of the shaft's orders.
type cut struct {
	power []float64 // the floor in the place of lines
	floor []float64 // that floor; 0 elsewhere
	from  []float64 // weight of each bin in the sum of the floors, under no gain
	lines []Line    // that emerge
}

// cut takes out the bins around every shaft order of half h up to hz: those the
// floor leaves out, and all that the line covers where it emerges. The floor's
// median is divided by that of the law of the mean of so many spectra. The median of
// n bins scatters like the mean of 2n/π.
func (m *sound) cut(h int, hz float64) *cut {
	p := m.power[h]
	c := &cut{power: slices.Clone(p), floor: make([]float64, len(p)), from: make([]float64, len(p))}
	lf, shaft, last := *m.rotor.finder, m.shaftHz[h], len(p)-1
	lf.averages = m.averages
	count := m.averages.count()
	bias := distuv.Gamma{Alpha: count, Beta: count}.Quantile(0.5)
	for j := 1; float64(j)*shaft < min(hz, float64(last)*m.binHz); j++ {
		at := float64(j) * shaft
		bins, guard := lf.floorBins(nil, at, shaft, float64(m.rotor.blades)*shaft, last)
		floor := lf.floor(p, bins) / bias
		line := lf.measure(p, j, at, shaft, floor)

		out := lf.bins(at, min(max(1, float64(guard))*m.binHz, shaft/2), last)
		if !line.UpperBound {
			out[0], out[1] = min(out[0], line.Band[0]), max(out[1], line.Band[1])
			c.lines = append(c.lines, line)
		}

		for k := out[0]; k <= out[1]; k++ {
			c.power[k], c.floor[k] = floor, floor
		}

		for _, k := range bins {
			c.from[k] += math.Sqrt(math.Pi/2) * float64(out[1]-out[0]+1) / float64(len(bins))
		}
	}

	return c
}

// scatter returns standard deviations of mean squares under a gain (nil: 1): of the
// broadband sum, of the lines' sum if there is only noise, and of lines that emerge.
func (c *cut) scatter(m *sound, b Band, gain []float64) (whole, noise, lines float64) {
	if gain == nil {
		gain = slices.Repeat([]float64{1}, len(c.power))
	}

	kept, from := make([]float64, len(c.power)), make([]float64, len(c.power))
	for k, g := range gain {
		from[k], kept[k] = g*c.from[k], g*c.from[k]
		if c.floor[k] == 0 {
			kept[k] += g
		}
	}

	sd := func(p, gain []float64) float64 {
		power, db := m.averages.level(p, m.binHz, b, gain)
		if !(power > 0) {
			return 0
		}

		return power * db * math.Ln10 / 10 / m.noise
	}

	for _, l := range c.lines {
		if l.PeakHz > b.Lo && l.PeakHz < b.Hi {
			g := gain[int(math.Round(l.PeakHz/m.binHz))]
			lines = math.Hypot(lines, g*l.Power*m.averages.lineSD(l.Rho)*math.Ln10/10)
		}
	}

	return sd(c.power, kept), math.Hypot(sd(c.floor, gain), sd(c.power, from)), lines
}
