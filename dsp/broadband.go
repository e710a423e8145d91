package dsp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// broadbandLevel makes two outcomes: the overall level without the lines at multiples of the
// shaft's frequency, and the level of these lines (docs/method.md#broadband-and-tonal).
type broadbandLevel struct{}

func (broadbandLevel) describe(*Settings) outcomeFacts {
	return outcomeFacts{
		name: "broadband", words: "broadband and tonal levels", settings: []string{"overall_hz", "weighting"}, rotor: true,
	}
}

func (broadbandLevel) names(s *Settings) []string { return s.weightedNames("broadband", "tonal") }

func (broadbandLevel) check(*Settings, Fail) {} // overallLevel.check checks its settings

func (broadbandLevel) fits(s *Settings, binHz float64, bins int) error {
	return overallLevel{}.fits(s, binHz, bins)
}

func (broadbandLevel) add(m *sound) error {
	b := overallBand(m.r.Settings, m.binHz, len(m.power[0]))
	withoutLines := [2]*cutSpectrum{m.cutLines(0, b.Hi), m.cutLines(1, b.Hi)}

	for _, w := range m.weightings() {
		broad, tonal := m.separate(withoutLines, b, w.gain)

		bands := [2]Band{b, b}
		words := "sum" + w.words + ", without the lines of the shaft's orders"
		if err := m.add("broadband"+w.suffix, words, bands, broad); err != nil {
			return err
		}

		if err := m.add("tonal"+w.suffix, "lines of the shaft's orders"+w.words, bands, tonal); err != nil {
			return err
		}
	}

	return nil
}

// minTonalSD is the least power of the lines that is a level, in standard deviations of the noise. If the lines have
// less power, their level is an upper bound: minTonalSD standard deviations.
const minTonalSD = 2

// separate returns two mean squares in the band b: broad, without the lines of the shaft's orders, and tonal, of these
// lines alone. gain is the factor of each bin's power (nil: 1). withoutLines are the spectra of both halves without
// these lines, as cutLines returns them.
func (m *sound) separate(withoutLines [2]*cutSpectrum, b Band, gain []float64) (broad, tonal estimate) {
	broad = m.sum([2]Band{b, b}, gain) // the whole sum until the loop takes the lines from it
	tonal.bound = &[2]float64{}

	for h, c := range withoutLines {
		gainInAir := m.air.gains(gain, len(c.power), m.binHz)
		total := broad.power[h]
		power, _ := m.averages.level(c.power, m.binHz, b, gainInAir)
		broad.power[h] = power / m.noise
		tonal.power[h] = total - broad.power[h]

		if m.air != nil {
			raw, _ := m.averages.level(c.power, m.binHz, b, gain)
			tonal.air[h] = broad.air[h]
			broad.air[h] = 10 * math.Log10(power/raw)
		}

		broadSD, noiseSD, linesSD := c.scatter(m, b, gainInAir)
		tonalSD := math.Hypot(noiseSD, linesSD)
		if tonal.power[h] < minTonalSD*noiseSD {
			tonal.power[h] = minTonalSD * noiseSD
			tonal.bound[h] = 1
			tonalSD = noiseSD
		}

		broad.sd[h] = 10 / math.Ln10 * broadSD / broad.power[h]
		tonal.sd[h] = 10 / math.Ln10 * tonalSD / tonal.power[h]
	}

	return broad, tonal
}

// cutSpectrum is a power spectrum in which the floor replaces the lines of the shaft's orders. Its
// slices have one value per bin.
type cutSpectrum struct {
	power       []float64 // the spectrum; in the cut bins the floor
	floor       []float64 // the floor in the cut bins; 0 in the others
	floorWeight []float64 // derivative of the sum of floor by the bin's power, for the scatter of that sum
	lines       []Line    // the lines that emerge
}

// cutLines returns the spectrum of half h without the lines of the shaft's orders up to hz. Around each order it cuts
// the bins that the floor leaves out, and all bins that the line covers if the line emerges.
//
// The floor is a median. In a mean of several spectra, the median of noise is below its mean, so cutLines divides the
// floor by the ratio of median to mean. The median of n bins scatters like the mean of 2n/π bins, which floorWeight
// includes.
func (m *sound) cutLines(h int, hz float64) *cutSpectrum {
	p := m.power[h]
	c := &cutSpectrum{power: slices.Clone(p), floor: make([]float64, len(p)), floorWeight: make([]float64, len(p))}
	finder := *m.rotor.finder
	finder.averages = m.averages
	shaft := m.shaftHz[h]
	last := len(p) - 1
	count := m.averages.count()
	bias := distuv.Gamma{Alpha: count, Beta: count}.Quantile(0.5) // median over mean

	for j := 1; float64(j)*shaft < min(hz, float64(last)*m.binHz); j++ {
		order := float64(j) * shaft
		bins, guard := finder.floorBins(nil, order, shaft, float64(m.rotor.blades)*shaft, last)
		floor := finder.floor(p, bins) / bias
		line := finder.measure(p, j, order, shaft, floor)

		hole := finder.bins(order, min(max(1, float64(guard))*m.binHz, shaft/2), last)
		if !line.UpperBound {
			hole[0] = min(hole[0], line.Band[0])
			hole[1] = max(hole[1], line.Band[1])
			c.lines = append(c.lines, line)
		}

		for k := hole[0]; k <= hole[1]; k++ {
			c.power[k] = floor
			c.floor[k] = floor
		}

		for _, k := range bins {
			c.floorWeight[k] += math.Sqrt(math.Pi/2) * float64(hole[1]-hole[0]+1) / float64(len(bins))
		}
	}

	return c
}

// scatter returns the standard deviations of three mean squares in the band b, with each bin's power times gain (nil:
// 1). broadSD belongs to the broadband sum, noiseSD to the sum of the lines if there is only noise, and linesSD to the
// sum of the lines that emerge.
func (c *cutSpectrum) scatter(m *sound, b Band, gain []float64) (broadSD, noiseSD, linesSD float64) {
	if gain == nil {
		gain = slices.Repeat([]float64{1}, len(c.power))
	}

	floorGain := make([]float64, len(c.power))
	broadGain := make([]float64, len(c.power))
	for k, g := range gain {
		floorGain[k] = g * c.floorWeight[k]
		broadGain[k] = g * c.floorWeight[k]
		if c.floor[k] == 0 {
			broadGain[k] += g
		}
	}

	for _, l := range c.lines {
		if l.PeakHz > b.Lo && l.PeakHz < b.Hi {
			g := gain[int(math.Round(l.PeakHz/m.binHz))]
			linesSD = math.Hypot(linesSD, g*l.Power*m.averages.lineSD(l.Rho)*math.Ln10/10)
		}
	}

	broadSD = m.meanSquareSD(c.power, b, broadGain)
	noiseSD = math.Hypot(m.meanSquareSD(c.floor, b, gain), m.meanSquareSD(c.power, b, floorGain))

	return broadSD, noiseSD, linesSD
}

// meanSquareSD returns the standard deviation of the mean square of the spectrum p in a band, with
// each bin's power times gain.
func (m *sound) meanSquareSD(p []float64, b Band, gain []float64) float64 {
	power, db := m.averages.level(p, m.binHz, b, gain)
	if !(power > 0) {
		return 0
	}

	return power * db * math.Ln10 / 10 / m.noise
}
