package dsp

import "math"

// The background is subtracted in power, as ISO 3744:2010, 8.2.3, corrects levels: by K1 = −10 lg(1 − 10^(−ΔL/10)) dB
// where the measured level is ΔL above the background. The correction becomes uncertain where ΔL is small. The
// engineering method of ISO 3744 accepts ΔL from 6 dB on, and the survey method of ISO 3746 from 3 dB on, where K1 is 3
// dB. Below that, 3 dB are subtracted, and the result is an upper bound.

// SubtractFromDB is the least distance of a level from the background, in dB, from which the background is subtracted
// without a bound: the level of twice the background's power.
const SubtractFromDB = 3

// leastShare is the share of the measured power that is left at least.
const leastShare = 0.5

// HighDB returns by how much a level reads high if the background is not subtracted: the correction K1 of ISO 3744 for
// a level that is aboveDB above the background. It returns +Inf if the level is not above the background.
func HighDB(aboveDB float64) float64 {
	if !(aboveDB > 0) {
		return math.Inf(1)
	}

	return -10 * math.Log10(1-math.Pow(10, -aboveDB/10))
}

// uncertainPower is a mean square with its uncertainty.
type uncertainPower struct {
	power float64 // mean square, unit²
	sdDB  float64 // standard deviation of its level, dB
}

// subtract returns the mean square without the background, whose mean square is background and whose standard deviation
// relative to that is relativeSD. The errors of both are independent. If the mean square is less than twice the
// background, the result is half of it, an upper bound.
func (m uncertainPower) subtract(background, relativeSD float64) (left uncertainPower, isBound bool) {
	if m.power < background/leastShare {
		return uncertainPower{power: leastShare * m.power, sdDB: m.sdDB}, true
	}

	sd := math.Hypot(m.power*m.sdDB*math.Ln10/10, background*relativeSD)
	left.power = m.power - background
	left.sdDB = 10 / math.Ln10 * sd / left.power

	return left, false
}

// backgroundSD returns the standard deviation of the background's mean square from lo to hi in Hz, relative to that
// mean square. Noise of the bandwidth B over T seconds has 1/√(B·T), where B is at least the noise bandwidth of a bin.
// If the recordings of the background differ by more than that, their scatter counts. list must not be empty.
func backgroundSD(list []BackgroundRecording, lo, hi float64) float64 {
	seconds := 0.0
	sum := 0.0
	sumSquares := 0.0
	bandwidth := math.Inf(1)
	for _, b := range list {
		power := b.MeanSquare(lo, hi)
		seconds += b.Seconds
		sum += b.Seconds * power
		sumSquares += b.Seconds * power * power
		bandwidth = min(bandwidth, max(b.bandwidth(lo, hi), noiseBins*b.BinHz))
	}

	if sum == 0 {
		return 0
	}

	ofNoise := 1 / math.Sqrt(bandwidth*seconds)
	n := float64(len(list))
	if n < 2 {
		return ofNoise
	}

	mean := sum / seconds
	variance := max(0, sumSquares/seconds-mean*mean) * n / (n - 1)

	return max(ofNoise, math.Sqrt(variance/n)/mean)
}

// bandwidth returns the width in Hz of white noise whose power scatters as much, relative to itself, as the
// background's from lo to hi.
func (b *Background) bandwidth(lo, hi float64) float64 {
	sum := 0.0
	squares := 0.0
	for k := max(0, int(lo/b.BinHz+0.5)); k < len(b.Density); k++ {
		lower := b.BinHz * (float64(k) - 0.5)
		upper := b.BinHz * (float64(k) + 0.5)
		if lower >= hi {
			break
		}

		width := max(0, min(hi, upper)-max(lo, lower))
		sum += b.Density[k] * width
		squares += b.Density[k] * b.Density[k] * width
	}

	if squares == 0 {
		return hi - lo
	}

	return sum * sum / squares
}

// tonesBetween returns the mean square of the background's tones from lo to hi in Hz, averaged over the recordings with
// their lengths as weights.
func tonesBetween(list []BackgroundRecording, lo, hi float64) float64 {
	seconds := 0.0
	sum := 0.0
	for _, b := range list {
		seconds += b.Seconds
		for _, tone := range b.Tones {
			if tone.Hz > lo && tone.Hz < hi {
				sum += b.Seconds * tone.MeanSquare
			}
		}
	}

	return sum / seconds
}

// subtractBackground takes the background from both halves of e, if the run wants it and the background is known. band
// has the frequencies of each half.
func (m *sound) subtractBackground(e *estimate, band [2]Band) {
	if !m.r.Subtract || !e.hasBackground {
		return
	}

	if e.bound == nil {
		e.bound = &[2]float64{}
	}

	for h := range e.power {
		relativeSD := backgroundSD(m.mic.Background, band[h].Lo, band[h].Hi)
		left, isBound := uncertainPower{e.power[h], e.sd[h]}.subtract(e.background[h], relativeSD)
		e.power[h] = left.power
		e.sd[h] = left.sdDB
		e.bound[h] = max(e.bound[h], flag(isBound))
	}
}

// subtractLine takes the background from a line, if the run wants it. In an emergent line of several bins the floor is
// subtracted already, which contains the background's noise: only its tones are left to subtract. A line that is
// averaged over the shaft's angle contains no background.
func (m *sound) subtractLine(line *lineLevel, lo, hi float64) {
	amplitude := m.r.Settings.Amplitude
	if !m.r.Subtract || amplitude == "synchronous" {
		return
	}

	background := line.backgroundPart
	if amplitude == "band" && !line.UpperBound {
		background = tonesBetween(m.mic.Background, lo, hi)
	}

	relativeSD := backgroundSD(m.mic.Background, lo, hi)
	left, isBound := uncertainPower{line.Power, line.SDdB}.subtract(background, relativeSD)
	line.Power = left.power
	line.SDdB = left.sdDB
	line.UpperBound = line.UpperBound || isBound
}
