package reportstage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/pipeline/table"
	"doubletake/report"
)

// quality collects the facts about the data in recordings.arrow.
func (d *detail) quality(recs *table.Table, bounds, levels int) {
	add := func(name, value string) { d.d.Quality = append(d.d.Quality, report.Fact{Name: name, Value: value}) }
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	exact := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	n := recs.Rows()
	add("recordings", strconv.Itoa(n))
	if c := recs.Column("sha256"); c != nil {
		files := slices.Clone(c.Strings)
		slices.Sort(files)
		add("raw files", strconv.Itoa(len(slices.Compact(files))))
	}
	over := func(column, name, unit string, list bool) {
		c := recs.Column(column)
		if c == nil || c.Floats == nil {
			return
		}
		var v []float64
		for _, x := range c.Floats {
			if !math.IsNaN(x) {
				v = append(v, x)
			}
		}
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
	unit := ""
	if c := recs.Column("unit"); c != nil && n > 0 {
		u := slices.Clone(c.Strings)
		slices.Sort(u)
		unit = strings.Join(slices.Compact(u), ", ")
		if unit != "" {
			add("unit of the samples", unit)
		}
	}
	over("rms", "root mean square of a recording", unit, false)
	if c := recs.Column("calibration"); c != nil {
		how := slices.Clone(c.Strings)
		slices.Sort(how)
		how = slices.DeleteFunc(slices.Compact(how), func(s string) bool { return s == "" })
		const most = 20
		for i, h := range how {
			if i == most {
				add("calibration", fmt.Sprintf("… and %d more, in recordings.arrow", len(how)-most))
				break
			}
			add("calibration", h)
		}
	}
	over("integral_time_s", "integral time scale of the balance's channels", "s", false)
	over("calibrator_spread_db", "spread of the calibrator's level", "dB", false)
	if c := recs.Column("clipped"); c != nil && c.Ints != nil {
		k := 0
		for _, v := range c.Ints {
			if v > 0 {
				k++
			}
		}
		add("recordings with clipped samples", fmt.Sprintf("%d of %d", k, n))
	}
	if levels > 0 {
		share := 100 * float64(bounds) / float64(levels)
		add("levels under the emergence limit (upper bounds)", fmt.Sprintf("%d of %d (%.1f %%)", bounds, levels, share))
	}
	for k, name := range d.set.OutcomeNames() {
		var v []float64
		for _, h := range []string{"_sd_1", "_sd_2"} {
			if c := d.tab.Column(name + h); c != nil {
				for _, x := range c.Floats {
					if !math.IsNaN(x) {
						v = append(v, x)
					}
				}
			}
		}
		if len(v) > 0 {
			slices.Sort(v)
			add("predicted standard deviation of "+d.d.Outcomes[k].Word()+", median", number(v[len(v)/2])+" dB")
		}
	}
}
