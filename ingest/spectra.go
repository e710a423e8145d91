package ingest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
)

// frequencyName is how an axis of frequencies is called, at the end of a path.
var frequencyName = regexp.MustCompile(`(?i)^(f|freq|frequency|frequencies|freqs)([ _{(\[-].*)?$`)

// RefuseSpectra returns a *DataError if the channels of a run hold processed
// spectra: if beside them stands an axis of frequencies of their length, evenly
// spaced from 0 Hz or nearly so. Two halves of a recording cannot be had from one
// spectrum, and a spectrum read as a time series would give wrong numbers.
func RefuseSpectra(r Reader, channels []int) error {
	info := r.Info()
	if _, ok := r.(*arraysReader); !ok || len(channels) == 0 {
		return nil
	}
	n := info.Channels[channels[0]].Samples
	for i, c := range info.Channels {
		leaf := c.Name
		for k := len(leaf) - 1; k >= 0; k-- {
			if leaf[k] == '/' || leaf[k] == '.' {
				leaf = leaf[k+1:]
				break
			}
		}
		if c.Samples != n || n < 8 || !frequencyName.MatchString(leaf) {
			continue
		}
		f := make([]float64, min(n, 4096))
		if got, err := r.Read([]int{i}, 0, [][]float64{f}); got < len(f) || err != nil && !errors.Is(err, io.EOF) {
			continue
		}
		df := f[1] - f[0]
		even := df > 0 && f[0] >= 0 && f[0] <= 2*df
		for k := 1; even && k < len(f); k++ {
			even = math.Abs(f[k]-f[k-1]-df) <= 1e-3*df
		}
		if even {
			return &DataError{
				Path: info.Path, Place: "channel " + info.Channels[channels[0]].Name, Want: "a time series",
				Found: fmt.Sprintf("a spectrum over %s (%d frequencies in steps of %g Hz)", c.Name, n, df),
				Hint:  "pipeline inspect shows it; two halves of a recording cannot be had from one spectrum: use the recording it was made of",
			}
		}
	}
	return nil
}
