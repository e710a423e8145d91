package background

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/internal/lists"
)

// worthDB is the smallest error of a level in dB that is worth a warning.
const worthDB = 0.1

// WarnHigh returns a warning that says by how much the levels of bands and sums read high because the background is not
// subtracted. It returns nil if all levels are above the background and none reads high by worthDB or more. path is the
// file that the warning names. WarnHigh does not judge lines, because their floor is subtracted and contains the
// background's noise.
func WarnHigh(path string, triplets *table.Table) []ingest.Warning {
	var high []float64 // errors in dB
	hidden := 0        // levels that are not above the background
	for _, column := range triplets.Columns {
		outcome, member, isMember := cutMember(column.Name)
		background := triplets.Column(outcome + "_background_" + member)
		isLine := triplets.Column(outcome+"_rho_db_"+member) != nil // only a line is compared with its floor
		if !isMember || background == nil || isLine {
			continue
		}

		for row, y := range column.Floats {
			above := y - background.Floats[row]
			if strings.HasSuffix(outcome, "_power") {
				above = 10 * math.Log10(y/background.Floats[row])
			}

			if reads := dsp.HighDB(above); math.IsInf(reads, 1) {
				hidden++
			} else {
				high = append(high, reads)
			}
		}
	}

	slices.Sort(high)
	isSmall := len(high) == 0 || high[len(high)-1] < worthDB
	if isSmall && hidden == 0 {
		return nil
	}

	var parts []string
	if !isSmall {
		parts = append(parts, fmt.Sprintf("levels of bands and sums read high by %.1f to %.1f dB, in the median by %.1f dB",
			high[0], high[len(high)-1], lists.Median(high)))
	}

	if hidden > 0 {
		parts = append(parts, fault.Plural(int64(hidden), "level")+" not above the background")
	}

	return []ingest.Warning{ingest.Warn(path, "background-high",
		"the background is not subtracted: %s; background: {…, subtract: true} subtracts it", strings.Join(parts, ", "))}
}

// cutMember splits the name of a column of pairs into the outcome and the member, 1 or 2. ok is false if the name does
// not end in "_1" or "_2".
func cutMember(column string) (outcome, member string, ok bool) {
	i := strings.LastIndexByte(column, '_')
	if i < 0 {
		return "", "", false
	}

	member = column[i+1:]

	return column[:i], member, member == "1" || member == "2"
}
