package recording

import (
	"slices"

	"doubletake/ingest"
)

// checkedCodes lists the codes of the warnings that a check of files passes on. A check that reads a few samples finds
// the others only by chance.
var checkedCodes = []string{
	"clock-unit", "odd-rate", "rates-contradict", "start-times", "missing-code", "spikes", "alike", "rate-unit",
	"unlisted-channels", "numeric-header", Implausible, SweepCode, FullScale,
}

// FirstOfCodes returns the first warning of each code in checkedCodes.
func FirstOfCodes(warnings []ingest.Warning) []ingest.Warning {
	seen := map[string]bool{}
	var list []ingest.Warning
	for _, warning := range warnings {
		if slices.Contains(checkedCodes, warning.Code) && !seen[warning.Code] {
			seen[warning.Code] = true
			list = append(list, warning)
		}
	}

	return list
}
