package arrays

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// frequencyName matches names of channels that contain frequencies, such as freq or Frequency (Hz).
var frequencyName = regexp.MustCompile(`(?i)^(f|freq|frequency|frequencies|freqs)([ _{(\[-].*)?$`)

// A channel that contains frequencies has at least leastFrequencies values. evenFrom0 looks at the first
// mostFrequencies of them.
const (
	leastFrequencies = 8
	mostFrequencies  = 4096
)

// TimeSeries implements ingest.Spectral. It returns an error if the file has a channel of frequencies that is as long
// as the first of the given channels: then the given channels are spectra. A channel with a name of frequencies counts
// only if its values are evenly spaced and begin at or near 0 Hz.
func (r *Reader) TimeSeries(channels []int) error {
	asked := r.info.Channels[channels[0]]
	for i, channel := range r.info.Channels {
		fits := channel.Samples == asked.Samples && channel.Samples >= leastFrequencies
		if !fits || !frequencyName.MatchString(text.LastPart(channel.Name)) {
			continue
		}

		f := make([]float64, min(channel.Samples, mostFrequencies))
		got, err := r.Read([]int{i}, 0, [][]float64{f})
		failed := err != nil && !errors.Is(err, io.EOF)
		if failed || got < len(f) || !isEvenFromZero(f) {
			continue // a channel that cannot be read does not keep the others from being read
		}

		return fault.At(r.info.Path, "channel "+asked.Name, "a time series",
			fmt.Sprintf("a spectrum over %s (%d frequencies in steps of %g Hz)", channel.Name, channel.Samples, f[1]-f[0]),
			"pipeline inspect shows it; two halves of a recording cannot be had from one spectrum: use the recording it "+
				"was made of")
	}

	return nil
}

// isEvenFromZero reports whether frequencies are evenly spaced, within a thousandth of a step, and begin at most two
// steps above 0 Hz.
func isEvenFromZero(f []float64) bool {
	step := f[1] - f[0]
	beginsNear0 := f[0] >= 0 && f[0] <= 2*step
	if !(step > 0) || !beginsNear0 { // a step of NaN is not above 0 either
		return false
	}

	for k := 1; k < len(f); k++ {
		isEven := math.Abs(f[k]-f[k-1]-step) <= 1e-3*step
		if !isEven {
			return false
		}
	}

	return true
}
