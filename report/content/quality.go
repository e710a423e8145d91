package content

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/internal/lists"
	"doubletake/report"
	"doubletake/report/findings"
)

// AddQuality adds facts about the recordings: numbers from recordings.arrow, and the facts among the findings.
func (d *Data) AddQuality(recs *table.Table, found findings.Findings) {
	if recs.Column("sha256") != nil {
		d.add("raw files", strconv.Itoa(len(distinct(recs, "sha256"))))
	}

	d.addRange(recs, "rate_hz", "sampling rate", "Hz")
	d.addRange(recs, "duration_s", "duration of a run", "s")

	unit := strings.Join(distinct(recs, "unit"), ", ")
	if unit != "" {
		d.add("unit of the samples", unit)
	}

	d.addSpread(recs, "rms", "root mean square of a recording", unit)
	d.addCalibrations(recs)
	d.addSpread(recs, "integral_time_s", "integral time scale of the balance's channels", "s")
	d.addSpread(recs, "calibrator_spread_db", "spread of the calibrator's level", "dB")

	if column := recs.Column("clipped"); column != nil && column.Ints != nil {
		clipped := 0
		for _, samples := range column.Ints {
			if samples > 0 {
				clipped++
			}
		}

		d.add("recordings with clipped samples", fmt.Sprintf("%d of %d", clipped, recs.Rows()))
	}

	if found.Levels > 0 {
		share := 100 * float64(found.Bounds) / float64(found.Levels)
		d.add("levels under the emergence limit (upper bounds)", fmt.Sprintf("%d of %d (%.1f %%)", found.Bounds, found.Levels,
			share))
	}

	for i, fact := range found.Facts {
		if !slices.Contains(found.Facts[:i], fact) {
			d.add(fact.Name, fact.Value)
		}
	}
}

// mostCalibrations is the largest number of calibrations that the page lists.
const mostCalibrations = 20

// addCalibrations adds the calibrations of the recordings, each once.
func (d *Data) addCalibrations(recs *table.Table) {
	calibrations := distinct(recs, "calibration")
	for _, how := range calibrations[:min(len(calibrations), mostCalibrations)] {
		d.add("calibration", how)
	}

	if more := len(calibrations) - mostCalibrations; more > 0 {
		d.add("calibration", fmt.Sprintf("… and %d more, in recordings.arrow", more))
	}
}

// add adds a fact about the data.
func (d *Data) add(name, value string) {
	d.page.Quality = append(d.page.Quality, report.Fact{Name: name, Value: value})
}

// addRange adds a fact with the exact smallest and greatest value of a column, or nothing if the table does not have
// it.
func (d *Data) addRange(recs *table.Table, column, name, unit string) {
	values := sortedNumbers(recs, column)
	if len(values) == 0 {
		return
	}

	low := strconv.FormatFloat(values[0], 'f', -1, 64)
	high := strconv.FormatFloat(values[len(values)-1], 'f', -1, 64)
	text := low
	if values[0] != values[len(values)-1] {
		text = low + " to " + high
	}

	d.add(name, strings.TrimSpace(text+" "+unit))
}

// addSpread adds a fact with the rounded smallest, greatest and median value of a column, or nothing if the table does
// not have it.
func (d *Data) addSpread(recs *table.Table, column, name, unit string) {
	values := sortedNumbers(recs, column)
	if len(values) == 0 {
		return
	}

	low := values[0]
	high := values[len(values)-1]
	text := rounded(low)
	if low != high {
		text = rounded(low) + " to " + rounded(high) + ", median " + rounded(lists.Median(values))
	}

	d.add(name, strings.TrimSpace(text+" "+unit))
}

// rounded writes a number with four significant digits, or all digits of its whole part.
func rounded(v float64) string { return fault.Digits(v, 4) }

// sortedNumbers returns the numbers of a column that are not NaN in ascending order, or nil if no such column exists.
func sortedNumbers(t *table.Table, column string) []float64 {
	c := t.Column(column)
	if c == nil || c.Floats == nil {
		return nil
	}

	numbers := defined(c.Floats)
	slices.Sort(numbers)

	return numbers
}

// defined returns the numbers of a list that are not NaN.
func defined(list []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(list), math.IsNaN)
}

// distinct returns the distinct texts of a column except "", sorted, or nil if no such column exists.
func distinct(t *table.Table, column string) []string {
	c := t.Column(column)
	if c == nil {
		return nil
	}

	list := slices.Compact(slices.Sorted(slices.Values(c.Strings)))

	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
