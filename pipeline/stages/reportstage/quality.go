package reportstage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// quality collects the facts about the data in recordings.arrow.
func (d *detail) quality(recs *table.Table, found findings) {
	add := func(name, value string) { d.d.Quality = append(d.d.Quality, report.Fact{Name: name, Value: value}) }
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	exact := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	n := recs.Rows()
	add("recordings", strconv.Itoa(n))

	if recs.Column("sha256") != nil {
		add("raw files", strconv.Itoa(len(distinct(recs, "sha256"))))
	}

	over := func(column, name, unit string, list bool) {
		c := recs.Column(column)
		if c == nil || c.Floats == nil {
			return
		}

		v := defined(c.Floats)
		if len(v) == 0 {
			return
		}

		slices.Sort(v)

		write := number
		if list {
			write = exact
		}

		text := write(v[0])
		if v[0] != v[len(v)-1] {
			text = write(v[0]) + " to " + write(v[len(v)-1])
			if !list {
				text += ", median " + number(v[len(v)/2])
			}
		}

		add(name, strings.TrimSpace(text+" "+unit))
	}

	over("rate_hz", "sampling rate", "Hz", true)
	over("duration_s", "duration of a run", "s", true)

	unit := strings.Join(distinct(recs, "unit"), ", ")
	if unit != "" {
		add("unit of the samples", unit)
	}

	over("rms", "root mean square of a recording", unit, false)

	const most = 20
	for i, how := range distinct(recs, "calibration") {
		if i == most {
			add("calibration", fmt.Sprintf("… and %d more, in recordings.arrow", len(distinct(recs, "calibration"))-most))
			break
		}

		add("calibration", how)
	}

	over("integral_time_s", "integral time scale of the balance's channels", "s", false)
	over("calibrator_spread_db", "spread of the calibrator's level", "dB", false)

	if c := recs.Column("clipped"); c != nil && c.Ints != nil {
		k := len(lists.Keep(c.Ints, func(v int64) bool { return v > 0 }))
		add("recordings with clipped samples", fmt.Sprintf("%d of %d", k, n))
	}

	if found.levels > 0 {
		share := 100 * float64(found.bounds) / float64(found.levels)
		add("levels under the emergence limit (upper bounds)", fmt.Sprintf("%d of %d (%.1f %%)", found.bounds, found.levels,
			share))
	}

	for i, fact := range found.facts {
		if !slices.Contains(found.facts[:i], fact) {
			add(fact.Name, fact.Value)
		}
	}
}

// defined are the numbers of a list that are.
func defined(list []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(list), math.IsNaN)
}

// distinct are the texts of a column, in order, without "".
func distinct(t *table.Table, column string) []string {
	c := t.Column(column)
	if c == nil {
		return nil
	}

	list := slices.Compact(slices.Sorted(slices.Values(c.Strings)))

	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
