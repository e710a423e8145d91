package dsp

import (
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest/fault"
)

// Band is a band of frequencies in Hz.
type Band struct{ Lo, Centre, Hi float64 }

// FractionalOctave returns band number x of bands of 1/perOctave octave of base ten
// (IEC 61260-1). The exact mid-frequency is 1000·10^(0.3·x/perOctave) Hz, of an even
// perOctave 1000·10^(0.3·(2x + 1)/(2·perOctave)) Hz; the edges are factors of
// 10^(∓0.15/perOctave) away.
func FractionalOctave(perOctave, x int) Band {
	mid := float64(60*perOctave + 6*x)
	if perOctave%2 == 0 {
		mid += 3
	}

	at := func(v float64) float64 { return math.Pow(10, v/float64(20*perOctave)) }

	return Band{at(mid - 3), at(mid), at(mid + 3)}
}

// octaveWord names bands of 1/perOctave octave, "" where there are none.
func octaveWord(perOctave int) string {
	return map[int]string{1: "octave", 3: "one-third-octave", 6: "one-sixth-octave", 12: "one-twelfth-octave"}[perOctave]
}

// nominalHz is the nominal mid-frequency of FractionalOctave: of octaves and thirds
// by the table, of narrower bands the exact one rounded to three digits where the
// first is 1 to 4, else to two (IEC 61260-1, annex E).
func nominalHz(perOctave, x int) float64 {
	text := ""
	if third := 30 + 3*x/perOctave; perOctave <= 3 {
		digits := [10]float64{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8}
		decade := int(math.Floor(float64(third) / 10))
		text = fmt.Sprintf("%ge%d", digits[third-10*decade], decade)
	} else {
		text = fmt.Sprintf("%.2e", FractionalOctave(perOctave, x).Centre)
		if text[0] >= '5' {
			text = fmt.Sprintf("%.1e", FractionalOctave(perOctave, x).Centre)
		}
	}

	v, _ := strconv.ParseFloat(text, 64) // exact decimals

	return v
}

// unresolved returns an *Error where a spectrum of that many bins, binHz apart from
// 0 Hz on, has less than least bins in a band, or ends within it.
func unresolved(b Band, binHz float64, bins, least int, place, remedy string) error {
	if b.Hi-b.Lo >= float64(least)*binHz && b.Lo >= binHz/2 && b.Hi <= binHz*(float64(bins)-0.5) {
		return nil
	}

	return &fault.Error{
		Place: place,
		Want: fmt.Sprintf("%s of %.4g Hz in the band, and its upper edge below %.6g Hz",
			[]string{"", "one bin or more", "two bins or more"}[least], binHz, binHz*(float64(bins)-0.5)),
		Found: fmt.Sprintf("%.5g to %.5g Hz", b.Lo, b.Hi),
		Hint:  remedy + ", ask for fewer segments, or record longer or faster",
	}
}

// ThirdOctave returns one-third-octave band number k: the exact mid-frequency
// 10^(k/10) Hz and the edges 10^((k ∓ ½)/10) Hz. The band of 1 kHz is k = 30.
func ThirdOctave(k int) Band { return FractionalOctave(3, k-30) }

// ThirdOctaves returns the one-third-octave bands from 10 Hz on that a spectrum
// of that many bins, binHz apart from 0 Hz on, resolves: at least two bins wide,
// above half a bin, below half a bin under the last one.
func ThirdOctaves(binHz float64, bins int) (out []Band) {
	for k := 10; k <= 60; k++ {
		if b := ThirdOctave(k); unresolved(b, binHz, bins, 2, "", "") == nil {
			out = append(out, b)
		}
	}

	return out
}

// BandPower sums the spectrum p, with bins binHz apart from 0 Hz on, from lo to
// hi in Hz. A bin extends half a bin to both sides, and a bin that an edge cuts
// counts by the share within. Bin 0 is left out.
func BandPower(p []float64, binHz, lo, hi float64) float64 {
	sum := 0.0
	for j := max(1, int(lo/binHz-0.5)); j < len(p) && (float64(j)-0.5)*binHz < hi; j++ {
		a, b := (float64(j)-0.5)*binHz, (float64(j)+0.5)*binHz
		if w := math.Min(hi, b) - math.Max(lo, a); w > 0 {
			sum += p[j] * w / binHz
		}
	}

	return sum
}

// MeanSpectrum returns the mean of the power spectra of a recording's halves,
// divided by the noise bandwidth of their window, so that a sum over bins is
// a mean square. The spectra are equally long.
func MeanSpectrum(halves [2][]float32, noiseBins float64) []float64 {
	out := make([]float64, len(halves[0]))
	for _, h := range halves {
		for k, v := range h {
			out[k] += float64(v) / 2 / noiseBins
		}
	}

	return out
}

// PeakSpectrum reduces the mean power spectrum of a recording's halves to that
// many points, the largest bin of each; binsPerPoint need not be whole. Bin 0
// is left out. A point without bins is 0.
func PeakSpectrum(halves [2][]float32, binsPerPoint float64, points int) []float64 {
	out := make([]float64, points)

	a, b := halves[0], halves[1]
	for k := range out {
		lo, hi := int(math.Round(float64(k)*binsPerPoint)), int(math.Round(float64(k+1)*binsPerPoint))
		for j := max(1, lo); j < max(hi, lo+1, 2) && j < len(a); j++ {
			out[k] = math.Max(out[k], (float64(a[j])+float64(b[j]))/2)
		}
	}

	return out
}
