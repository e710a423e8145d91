package dsp

import (
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest/fault"
)

// Band is a band of frequencies in Hz: its edges and its mid-frequency.
type Band struct{ Lo, Centre, Hi float64 }

// FractionalOctave returns band number x of the bands of 1/perOctave octave with base ten
// (IEC 61260-1). The exact mid-frequency is 1000·10^(0.3·x/perOctave) Hz if perOctave is odd, and
// 1000·10^(0.3·(2x + 1)/(2·perOctave)) Hz if it is even. The edges are the mid-frequency times
// 10^(∓0.15/perOctave).
func FractionalOctave(perOctave, x int) Band {
	// Exponents of ten are multiples of 1/(20·perOctave), so that they are exact.
	mid := float64(60*perOctave + 6*x)
	if perOctave%2 == 0 {
		mid += 3
	}

	hz := func(v float64) float64 { return math.Pow(10, v/float64(20*perOctave)) }

	return Band{hz(mid - 3), hz(mid), hz(mid + 3)}
}

// octaveWord returns the name of bands of 1/perOctave octave, or "" if the program has no such bands.
func octaveWord(perOctave int) string {
	switch perOctave {
	case 1:
		return "octave"
	case 3:
		return "one-third-octave"
	case 6:
		return "one-sixth-octave"
	case 12:
		return "one-twelfth-octave"
	default:
		return ""
	}
}

// nominalHz returns the nominal mid-frequency of FractionalOctave(perOctave, x) (IEC 61260-1, annex E).
// For octaves and thirds it comes from a table. For narrower bands it is the exact mid-frequency
// rounded to three digits if the first digit is 1 to 4, and to two digits otherwise.
func nominalHz(perOctave, x int) float64 {
	text := "" // decimal text, so that the result is the float64 nearest to the decimal number
	if perOctave <= 3 {
		third := 30 + 3*x/perOctave // number of the one-third-octave band as in ThirdOctave
		digits := [10]float64{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8}
		decade := int(math.Floor(float64(third) / 10))
		text = fmt.Sprintf("%ge%d", digits[third-10*decade], decade)
	} else {
		text = fmt.Sprintf("%.2e", FractionalOctave(perOctave, x).Centre)
		if text[0] >= '5' {
			text = fmt.Sprintf("%.1e", FractionalOctave(perOctave, x).Centre)
		}
	}

	v, _ := strconv.ParseFloat(text, 64) // cannot fail, as Sprintf wrote the number

	return v
}

// unresolved returns nil if a spectrum resolves the band: the band is minBins (1 or 2) bins wide or more, and lies
// between half a bin above 0 Hz and half a bin above the last bin. Otherwise it returns a *fault.Error at place whose
// hint begins with remedy. The spectrum has that many bins, binHz apart from 0 Hz on. place may be empty.
func unresolved(b Band, binHz float64, bins, minBins int, place, remedy string) error {
	isWide := b.Hi-b.Lo >= float64(minBins)*binHz
	isInside := b.Lo >= binHz/2 && b.Hi <= binHz*(float64(bins)-0.5)
	if isWide && isInside {
		return nil
	}

	wanted := "one bin or more"
	if minBins == 2 {
		wanted = "two bins or more"
	}

	return &fault.Error{
		Place: place,
		Want: fmt.Sprintf("%s of %s Hz in the band, and its upper edge below %s Hz",
			wanted, fault.Digits(binHz, 4), fault.Digits(binHz*(float64(bins)-0.5), 6)),
		Found: fault.Digits(b.Lo, 5) + " to " + fault.Digits(b.Hi, 5) + " Hz",
		Hint:  remedy + ", ask for fewer segments, or record longer or faster",
	}
}

// ThirdOctave returns one-third-octave band number k: the exact mid-frequency
// 10^(k/10) Hz and the edges 10^((k ∓ ½)/10) Hz. The band of 1 kHz is k = 30.
func ThirdOctave(k int) Band { return FractionalOctave(3, k-30) }

// ThirdOctaves returns the one-third-octave bands from 10 Hz on that a spectrum
// of that many bins, binHz apart from 0 Hz on, resolves: at least two bins wide,
// from half a bin above 0 Hz to half a bin above the last bin.
func ThirdOctaves(binHz float64, bins int) []Band {
	var bands []Band
	for k := 10; k <= 60; k++ {
		if b := ThirdOctave(k); unresolved(b, binHz, bins, 2, "", "") == nil {
			bands = append(bands, b)
		}
	}

	return bands
}

// BandPower returns the sum of the spectrum p, with bins binHz apart from 0 Hz on, from lo to
// hi in Hz. A bin extends half a bin to both sides. If an edge cuts a bin, the bin counts with the
// part that lies inside. Bin 0 is left out.
func BandPower(p []float64, binHz, lo, hi float64) float64 {
	sum := 0.0
	for j := max(1, int(lo/binHz-0.5)); j < len(p) && (float64(j)-0.5)*binHz < hi; j++ {
		lower := (float64(j) - 0.5) * binHz
		upper := (float64(j) + 0.5) * binHz
		if w := math.Min(hi, upper) - math.Max(lo, lower); w > 0 {
			sum += p[j] * w / binHz
		}
	}

	return sum
}

// MeanSpectrum returns the mean of the power spectra of a recording's halves, divided by the noise
// bandwidth of their window in bins, so that its sum over bins is a mean square. The spectra are
// equally long.
func MeanSpectrum(halves [2][]float32, noiseBandwidth float64) []float64 {
	mean := make([]float64, len(halves[0]))
	for _, h := range halves {
		for k, v := range h {
			mean[k] += float64(v) / 2 / noiseBandwidth
		}
	}

	return mean
}

// PeakSpectrum reduces the mean power spectrum of a recording's halves to that many points. Each point
// is the largest of its binsPerPoint bins, at least one; binsPerPoint need not be a whole number. Bin 0
// is left out. A point beyond the spectrum is 0.
func PeakSpectrum(halves [2][]float32, binsPerPoint float64, points int) []float64 {
	peaks := make([]float64, points)
	first := halves[0]
	second := halves[1]
	for k := range peaks {
		lo := int(math.Round(float64(k) * binsPerPoint))
		hi := int(math.Round(float64(k+1) * binsPerPoint))
		for j := max(1, lo); j < max(hi, lo+1, 2) && j < len(first); j++ {
			peaks[k] = math.Max(peaks[k], (float64(first[j])+float64(second[j]))/2)
		}
	}

	return peaks
}
