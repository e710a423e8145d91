package ingeststage

import (
	"fmt"

	"doubletake/dsp"
	"doubletake/ingest"
)

// A stretch of equal samples is reported from constantSamples on, if it also lasts
// constantS where the rate is known: a gate, a connection that dropped out, a
// logger that repeated its last value. Shorter ones are a quantised signal.
const (
	constantSamples = 100
	constantS       = 0.05
)

// dropouts reports recordings that are constant for a while.
func dropouts(info ingest.Info, run RunResult) []ingest.Warning {
	var out []ingest.Warning

	i := 0
	for _, rec := range run.Run.Recordings {
		for _, c := range rec.Channels {
			s, ch := run.Stats[i], info.Channels[c]
			i++

			if s.Constant < constantSamples || s.Constant >= s.Samples || ch.RateHz > 0 &&
				float64(s.Constant) < constantS*ch.RateHz {
				continue
			}

			what := fmt.Sprintf("%d samples", s.Constant)
			if ch.RateHz > 0 {
				what += fmt.Sprintf(" (%.3g s)", float64(s.Constant)/ch.RateHz)
			}

			out = append(out, ingest.Warning{Path: info.Path, Code: "constant-stretch", Text: fmt.Sprintf(
				"%s: channel %s is constant for %s of %d: a dropout, a noise gate or a stopped logger", run.Run.ID, ch.Name, what,
				s.Samples)})
		}
	}

	return out
}

// integralTimes are the integral time scales of a balance run's channels in s,
// 0 where they are unknown: no rate, too few samples, a constant channel.
func integralTimes(series [][]float64, info ingest.Info, run ingest.Run) []float64 {
	channels := run.Recordings[0].Channels
	out := make([]float64, len(channels))

	rate := info.Channels[channels[0]].RateHz
	if rate <= 0 {
		return out
	}

	c, err := dsp.CheckBalance(series, rate)
	if err != nil {
		return out // the recording is too short
	}

	for i, v := range c.IntegralTimeS {
		if v > 0 && v-v == 0 {
			out[i] = v
		}
	}

	return out
}
