package recording

import (
	"math"

	"doubletake/ingest"
)

// Limits of DeadMicrophones.
const (
	apartDB    = 20 // smallest difference in dB from both neighbours
	pairDB     = 60 // smallest difference in dB if the run has only two microphones
	apartShare = 3  // several microphones are reported only if at most one in apartShare differs
)

// DeadMicrophones returns warnings about microphones whose level differs by apartDB from their neighbours in the run,
// to the same side: a dead capsule, another gain, or a cable that picks up hum. Of two microphones that differ by
// pairDB it names the quieter, which may be dead.
func DeadMicrophones(info ingest.Info, run Run) []ingest.Warning {
	n := len(run.Stats)
	if n < 2 || len(run.Run.Recordings) != n { // the channels of a balance are one recording, and not neighbours
		return nil
	}

	levels := make([]float64, n)
	for i, summary := range run.Stats {
		levels[i] = 20 * math.Log10(summary.Std)
	}

	channels := run.Channels()
	var warnings []ingest.Warning
	for i := range levels {
		first, second := neighbours(i, n)
		difference := levels[i] - levels[first]
		other := levels[i] - levels[second]
		least := math.Min(math.Abs(difference), math.Abs(other))
		if !isApart(n, difference, other) || run.Units[first] != run.Units[i] || run.Units[second] != run.Units[i] {
			continue
		}

		side := "above"
		if difference < 0 {
			side = "below"
		}

		names := "its neighbour " + info.Channels[channels[first]].Name
		if n > 2 {
			names = "its neighbours " + info.Channels[channels[first]].Name + " and " + info.Channels[channels[second]].Name
		}

		warnings = append(warnings, ingest.Warn(info.Path, "level-apart", "%schannel %s is %.0f dB %s %s: check capsule, "+
			"gain, cable and place; if it is at fault, leave it out here with ingest: {exclude: [{file: %q, channel: %q}]}, or "+
			"everywhere with channels", run.messagePrefix(info), info.Channels[channels[i]].Name, least, side, names, info.Path,
			info.Channels[channels[i]].Name))
	}

	if apartShare*len(warnings) > max(n, apartShare) {
		return nil // the levels of this array differ by themselves; a single microphone is always reported
	}

	return warnings
}

// neighbours returns the two microphones that microphone i of n is compared with: the ones before and after it, or the
// two nearest at an end. If there are only two microphones, it returns the other one twice.
func neighbours(i, n int) (first, second int) {
	switch {
	case n == 2:
		return 1 - i, 1 - i
	case i == 0:
		return 2, 1
	case i == n-1:
		return i - 1, n - 3
	}

	return i - 1, i + 1
}

// isApart reports whether a microphone is apart from its neighbours in a run of n microphones. first and second are its
// levels over its neighbours in dB. A constant channel, whose level is infinite, is not apart: other checks report it.
func isApart(n int, first, second float64) bool {
	least := math.Min(math.Abs(first), math.Abs(second))
	if math.IsInf(least, 0) || first*second < 0 {
		return false
	}

	if n == 2 {
		return first <= 0 && least >= pairDB
	}

	return least >= apartDB
}
