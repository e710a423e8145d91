package dsp

import (
	"fmt"

	"github.com/mjibson/go-dsp/window"
)

// DefaultWindow is the window of spectra if the settings name none.
const DefaultWindow = "hann"

// noiseBins is the noise bandwidth of the Hann window in bins.
const noiseBins = 1.5

// windows lists the windows a spectrum may have. All are cosine windows a_0 − a_1·cos + a_2·cos …: with m
// terms the main lobe extends m bins to either side, and the noise bandwidth is
// 1 + (a_1² + a_2² + …)/(2·a_0²) bins.
var windows = []struct {
	name      string
	symmetric func(points int) []float64 // returns the symmetric window
	lobe      int                        // half the width of the main lobe, bins
	noise     float64                    // noise bandwidth, bins
}{
	{DefaultWindow, window.Hann, 2, noiseBins},
	{"hamming", window.Hamming, 2, 1 + 0.46*0.46/(2*0.54*0.54)},
	{"blackman", window.Blackman, 3, 1 + (0.5*0.5+0.08*0.08)/(2*0.42*0.42)},
	{"flattop", window.FlatTop, 5, 1 + (0.41663158*0.41663158+0.277263158*0.277263158+0.083578947*0.083578947+
		0.006947368*0.006947368)/(2*0.21557895*0.21557895)},
}

// windowOf returns the index of a window in windows. "" stands for DefaultWindow. It panics if there is no
// window of that name.
func windowOf(name string) int {
	if name == "" {
		return 0
	}

	for i, w := range windows {
		if w.name == name {
			return i
		}
	}

	panic(fmt.Sprintf("dsp: no window %q", name))
}

// periodic returns the periodic window of n points with that name. Package go-dsp has symmetric windows:
// the periodic window is the symmetric window of n+1 points without its last point.
func periodic(name string, n int) []float64 {
	return windows[windowOf(name)].symmetric(n + 1)[:n]
}

// NoiseBins returns the noise bandwidth in bins of the window with that name. "" stands for DefaultWindow. The sum of a
// power spectrum (Analyser.Power) over its bins is the mean square of the signal times this bandwidth. NoiseBins panics
// if there is no window of that name.
func NoiseBins(name string) float64 { return windows[windowOf(name)].noise }
