package recording

import (
	"fmt"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Limits of a stretch of equal samples that is reported: a noise gate, a connection that dropped out, or a logger that
// repeated its last value. Shorter stretches occur in quantised signals.
const (
	constantSamples = 100  // fewest samples
	constantS       = 0.05 // shortest duration in s, if the rate is known
)

// Dropouts returns warnings about channels that are constant for a while. info is the header of the run's file.
func Dropouts(info ingest.Info, run Run) []ingest.Warning {
	var warnings []ingest.Warning
	for i, c := range run.Channels() {
		summary := run.Stats[i]
		ch := info.Channels[c]
		short := summary.Constant < constantSamples || ch.RateHz > 0 && float64(summary.Constant) < constantS*ch.RateHz
		if short || summary.Constant >= summary.Samples {
			continue
		}

		duration := fmt.Sprintf("%d samples", summary.Constant)
		if ch.RateHz > 0 {
			duration += " (" + fault.Digits(float64(summary.Constant)/ch.RateHz, 3) + " s)"
		}

		warnings = append(warnings, ingest.Warn(info.Path, "constant-stretch",
			"%schannel %s is constant for %s of %d: a dropout, a noise gate or a stopped logger", run.messagePrefix(info),
			ch.Name, duration, summary.Samples))
	}

	return warnings
}
