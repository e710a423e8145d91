package ingeststage

import (
	"fmt"
	"math"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/stats"
	"doubletake/internal/lists"
)

// A stretch of equal samples is reported from constantSamples on, if it also lasts
// constantS where the rate is known: a gate, a connection that dropped out, a
// logger that repeated its last value. Shorter ones are a quantised signal.
const (
	constantSamples = 100
	constantS       = 0.05
)

// dropouts reports recordings that are constant for a while.
func dropouts(info ingest.Info, run RunResult) (out []ingest.Warning) {
	for i, c := range run.channels() {
		s, ch := run.Stats[i], info.Channels[c]
		if s.Constant < constantSamples || s.Constant >= s.Samples ||
			ch.RateHz > 0 && float64(s.Constant) < constantS*ch.RateHz {
			continue
		}

		what := fmt.Sprintf("%d samples", s.Constant)
		if ch.RateHz > 0 {
			what += fmt.Sprintf(" (%.3g s)", float64(s.Constant)/ch.RateHz)
		}

		out = append(out, ingest.Warn(info.Path, "constant-stretch",
			"%s: channel %s is constant for %s of %d: a dropout, a noise gate or a stopped logger", run.Run.ID, ch.Name, what,
			s.Samples))
	}

	return out
}

// Limits of apart: the difference of level, that of two microphones alone, and the share of a run's microphones
// that may differ.
const (
	apartDB    = 20
	pairDB     = 60
	apartShare = 3 // a third
)

// apart reports microphones whose level is 20 dB from both that come before and after them in the
// run, or, at an end, from the two nearest: a dead capsule, another gain, a cable that picks up hum. Of two
// microphones it reports the quieter, which may be dead.
func apart(info ingest.Info, run RunResult) []ingest.Warning {
	n := len(run.Stats)
	if n < 2 || len(run.Run.Recordings) != n { // channels of a balance are no neighbours
		return nil
	}

	channels := run.channels()
	name := func(k int) string { return info.Channels[channels[k]].Name }
	level := lists.Each(run.Stats, func(s stats.Summary) float64 { return 20 * math.Log10(s.Std) })

	var out []ingest.Warning
	for i := range level {
		near, least, of := [2]int{i - 1, i + 1}, float64(apartDB), "its neighbours "
		switch {
		case n == 2:
			near, least, of = [2]int{1 - i, 1 - i}, pairDB, "its neighbour "
		case i == 0:
			near[0] = 2
		case i == n-1:
			near[1] = n - 3
		}

		a, b := level[i]-level[near[0]], level[i]-level[near[1]]
		d := math.Min(math.Abs(a), math.Abs(b))
		if !(d >= least) || a*b < 0 || n == 2 && a > 0 || math.IsInf(d, 0) ||
			run.Units[near[0]] != run.Units[i] || run.Units[near[1]] != run.Units[i] {
			continue // constant channels are named as stuck
		}

		side := map[bool]string{true: "below", false: "above"}[a < 0]
		if of += name(near[0]); n > 2 {
			of += " and " + name(near[1])
		}

		out = append(out, ingest.Warn(info.Path, "level-apart", "%s: channel %s is %.0f dB %s %s: check capsule, gain, "+
			"cable and place, and leave it out with channels if it is at fault", run.Run.ID, name(i), d, side, of))
	}

	if apartShare*len(out) > max(n, apartShare) {
		return nil // the levels of this array differ by themselves
	}

	return out
}

// integralTimes are the integral time scales of a balance run's channels in s,
// 0 where they are unknown: no rate, too few samples, a constant channel.
func integralTimes(series [][]float64, info ingest.Info, run ingest.Run) []float64 {
	channels := run.Recordings[0].Channels
	out := make([]float64, len(channels))
	if series == nil {
		return out
	}

	if c, err := dsp.CheckBalance(series, info.Channels[channels[0]].RateHz); err == nil { // else too short, or no rate
		for i, v := range c.IntegralTimeS {
			if v > 0 && v-v == 0 {
				out[i] = v
			}
		}
	}

	return out
}
