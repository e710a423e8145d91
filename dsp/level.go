package dsp

import "math"

// Reference returns what levels of a signal in that unit are relative to, as a
// root mean square, and the levels' unit: 20 µPa for "Pa", the root mean square
// of a full-scale sine for "full-scale" (AES17: a full-scale sine reads 0 dBFS),
// and 1 for any other unit.
func Reference(unit string) (rms float64, levelUnit string) {
	switch unit {
	case "Pa":
		return 20e-6, "dB re 20 µPa"
	case "full-scale":
		return math.Sqrt(0.5), "dBFS"
	}

	return 1, "dB re 1 " + unit
}

// LevelDB returns the level of a mean square against a reference of the same
// unit, 10 log10(p/ref²): dB re 20 µPa for Pa² and 20e-6, dBFS for full-scale²
// and √½. It is −Inf at zero and NaN below.
func LevelDB(meanSquare, reference float64) float64 {
	return 10 * math.Log10(meanSquare/(reference*reference))
}

// DistanceDB is the level difference that refers a level measured at distance r
// to distance r0 under spherical spreading, 20 log10(r/r0)
// (docs/method.md#from-raw-measurements-to-triplets).
func DistanceDB(r, r0 float64) float64 { return 20 * math.Log10(r/r0) }
