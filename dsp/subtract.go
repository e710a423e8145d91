package dsp

import "math"

// The background is subtracted in power, as ISO 3744:2010, 8.2.3, corrects levels. If the measured level is ΔL above
// the background, the correction is K1 = −10 lg(1 − 10^(−ΔL/10)) dB. It becomes uncertain if ΔL is small. The
// engineering method of ISO 3744 accepts ΔL from 6 dB on, and the survey method of ISO 3746 from 3 dB on, at which K1
// is 3 dB. If ΔL is smaller, 3 dB are subtracted, and the result is an upper bound.

// SubtractFromDB is the least distance of a level from the background, in dB, from which the background is subtracted
// without a bound: the level of twice the background's power.
const SubtractFromDB = 3

// leastShare is the least share of the measured power that a subtraction leaves.
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

// subtract returns the mean square without the background. background is the background's mean square, and relativeSD
// its standard deviation, relative to background. The errors of both mean squares are independent. If m.power is less
// than twice the background, subtract returns half of m.power, which is an upper bound.
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
// mean square. Noise of the bandwidth B over T seconds has the relative standard deviation 1/√(B·T); B is at least the
// noise bandwidth of a bin. If the recordings of the background differ by more, backgroundSD returns their scatter.
// list must not be empty.
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

// bandwidth returns the width in Hz of white noise whose power has the same relative scatter as the background's power
// from lo to hi. It returns hi − lo if the background has no power there.
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
// their lengths as weights. list must not be empty.
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

// subtractBackground subtracts the background from both halves of e. It does nothing if the run does not want it or the
// background is not known. band has the frequencies of each half.
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

// subtractLine subtracts the background from a line that covers lo to hi in Hz, if the run wants it. The level of an
// emergent line of several bins is already without the floor, which contains the background's noise, so subtractLine
// only subtracts the background's tones. A line that is averaged over the shaft's angle contains no background, and is
// left unchanged.
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
