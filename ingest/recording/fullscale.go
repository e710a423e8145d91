package recording

import (
	"fmt"
	"math"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// mostFullScale is the largest multiple of full scale that samples may reach. A mix of floating-point samples may be a
// little louder than full scale.
const mostFullScale = 10

// FullScale is the code of warnings about samples that are far above full scale.
const FullScale = "full-scale"

// WarnFullScale returns a warning if the samples of a channel are far above full scale, which is 1. summary describes
// the samples as the file has them.
func WarnFullScale(info ingest.Info, channel int, summary stats.Summary) []ingest.Warning {
	most := max(math.Abs(summary.Min), math.Abs(summary.Max))
	if !(most > mostFullScale) { // NaN of no samples is not
		return nil
	}

	return []ingest.Warning{ingest.Warn(info.Path, FullScale, "channel %s reaches %.6g times full scale, which is 1: %s",
		info.Channels[channel].Name, most, likelyScale(most))}
}

// likelyScale says why samples that reach most are probably above full scale, and what to do.
func likelyScale(most float64) string {
	const least = 1 << 7 // the smallest integers that are taken for samples
	for _, bits := range []int{16, 24, 32} {
		fullScale := math.Ldexp(1, bits-1)
		if most > least && most <= fullScale {
			return fmt.Sprintf("integers of %d bits? divide the samples by %.0f, or state what one is by "+
				"calibration: {pa_per_unit: …}", bits, fullScale)
		}
	}

	return "pascals or volts? state calibration: {unit: Pa}, or {pa_per_unit: …}"
}
