package balance

import (
	"math"

	"doubletake/dsp"
	"doubletake/ingest"
)

// IntegralTimes returns the integral time scales of the channels of a balance's run in s. A time is 0 if it is unknown:
// if series is nil, the file has no rate, there are too few samples, or the channel is constant.
func IntegralTimes(series [][]float64, info ingest.Info, run ingest.Run) []float64 {
	channels := run.Recordings[0].Channels
	times := make([]float64, len(channels))
	if series == nil {
		return times
	}

	c, err := dsp.CheckBalance(series, info.Channels[channels[0]].RateHz)
	if err != nil { // too few samples, or no rate
		return times
	}

	for i, v := range c.IntegralTimeS {
		if v > 0 && !math.IsInf(v, 0) {
			times[i] = v
		}
	}

	return times
}
