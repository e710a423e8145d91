package recording

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/internal/lists"
)

// WarnRates returns a warning if the sampling rates of files differ.
func WarnRates(files []*File) []ingest.Warning {
	var rates []float64
	for _, file := range files {
		rates = append(rates, file.RateHz())
	}

	groups := lists.Alike(rates)
	if len(groups) < 2 {
		return nil
	}

	slices.SortStableFunc(groups, func(a, b []int) int { return len(b) - len(a) })
	var parts []string
	for _, group := range groups {
		first := files[group[0]].Path
		parts = append(parts, fmt.Sprintf("%g Hz in %d (first %s)", rates[group[0]], len(group), first))
	}

	return []ingest.Warning{ingest.Warn(files[groups[1][0]].Path, "rates",
		"the sampling rates of the files differ: %s", strings.Join(parts, ", "))}
}

// lowRateHz is the sampling rate below which a microphone's rate is probably in kHz.
const lowRateHz = 500

// RateHint suggests another unit if the rate is implausible for a microphone, and returns "" otherwise. stated is the
// rate in the configuration, or 0.
func RateHint(rate, stated float64) string {
	if !(rate > 0 && rate < lowRateHz) {
		return ""
	}

	place := "in the file"
	if stated > 0 {
		place = "rate_hz"
	}

	return fmt.Sprintf("a sampling rate of %g Hz (%s) may be meant in kHz: write rate_hz: %g", rate, place, 1000*rate)
}
