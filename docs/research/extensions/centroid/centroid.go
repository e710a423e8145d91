// Package centroid is an outcome of microphones: the mean frequency of a spectrum, weighted
// by power. Limit: the bin of 0 Hz does not count.
package centroid

import "doubletake/dsp"

// Outcome is the spectral centroid in Hz.
var Outcome = dsp.SpectralOutcome{
	Name: "centroid", Column: "centroid_hz", Unit: "Hz", Description: "spectral centroid", Value: value,
}

func value(h dsp.HalfSpectrum) (float64, error) {
	var sum, weighted float64
	for k := 1; k < len(h.Power); k++ {
		sum += h.Power[k]
		weighted += h.Power[k] * float64(k) * h.BinHz
	}

	return weighted / sum, nil
}
