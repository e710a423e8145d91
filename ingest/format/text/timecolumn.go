package text

import (
	"cmp"
	"math"
	"slices"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
)

const (
	// rateTolerance is the relative difference up to which a rate agrees with the rate of the options. A clock is read,
	// not set: one percent off the nominal rate is not a contradiction.
	rateTolerance = 0.01

	// statedTolerance is the relative difference up to which the steps of the time agree with the rate in the header, and
	// up to which steps in ms or µs without a unit agree with a rate that is stated.
	statedTolerance = 0.02

	// stepTolerance replaces statedTolerance for a column without a name of time: only its steps show that it is the time.
	stepTolerance = 1e-3
)

// findTime finds the channel of the time, its unit, and the rate that it gives. The rate becomes the rate of all
// channels.
func (t *Reader) findTime(o ingest.Options) error {
	if err := t.findTimeChannel(o); err != nil {
		return err
	}

	if t.timeChannel < 0 {
		return nil
	}

	stated := cmp.Or(o.RateHz, t.layout.rateHz)

	read, isStatedBetter, err := t.readTime(stated)
	if err != nil {
		return err
	}

	ch := &t.info.Channels[t.timeChannel]
	clock.Mark(ch)
	if t.rows < 2 {
		return nil
	}

	if read.RateHz == 0 {
		t.warnf("clock-useless", "column %s goes from %v to %v: it gives no sampling rate", ch.Name, read.First, read.Last)
		return nil
	}

	rate := stated
	if !isStatedBetter {
		rate, err = o.Rate(t.path, "column "+ch.Name, read.RateHz, rateTolerance)
		if err != nil {
			return err
		}
	}

	t.warnOfTime(read, rate, o)
	for i := range t.info.Channels {
		t.info.Channels[i].RateHz = rate
	}

	return nil
}

// readTime reads the clock. If the clock has whole numbers without a unit and gives the stated rate in ms or µs,
// readTime takes that unit and returns true: the stated rate is then better than the rate of the rounded times.
func (t *Reader) readTime(stated float64) (read clock.Reading, isStatedBetter bool, err error) {
	read, err = clock.Read(t, t.timeChannel, "column")
	ch := &t.info.Channels[t.timeChannel]
	isWhole := read.Doubt != "" && ch.Unit == ""
	switch {
	case err != nil || !isWhole:
		return read, false, err
	case isNear(1e3*read.RateHz, stated):
		ch.Unit = "ms"
	case isNear(1e6*read.RateHz, stated):
		ch.Unit = "us"
	default:
		return read, false, nil
	}

	read, err = clock.Read(t, t.timeChannel, "column")

	return read, true, err
}

// warnOfTime warns of what is doubtful about the clock and about the rate that is used.
func (t *Reader) warnOfTime(read clock.Reading, rate float64, o ingest.Options) {
	name := t.info.Channels[t.timeChannel].Name
	if read.Gaps {
		t.warnf("clock-gaps", "column %s: %d rows in %s s are %s Hz, but steps at the beginning are of %s Hz: the "+
			"recording pauses or changes its rate; %s Hz is used", name, t.rows, fault.Digits(read.Seconds, 6),
			fault.Digits(read.EndsHz, 4), fault.Digits(read.RateHz, 4), fault.Digits(rate, 4))
	}

	inHeader := t.layout.rateHz
	if o.RateHz == 0 && inHeader > 0 && !isNear(rate, inHeader) {
		t.warnf("rates-contradict", "the header states a rate of %g Hz, the steps of column %s give %.6g Hz: %[3]g Hz is "+
			"used; correct the wrong one", inHeader, name, rate)
	}

	if read.Doubt != "" && o.RateHz == 0 && o.Text.Time == "" {
		t.warnf("clock-unit", "%s", read.Doubt)
	}

	t.info.Warnings = append(t.info.Warnings, clock.Odd(t.path, "column "+name, rate)...)
}

// isNear reports whether a rate agrees with a rate that the header or the user states.
func isNear(rate, stated float64) bool { return math.Abs(rate-stated) <= statedTolerance*stated }

// findTimeChannel sets the channel of the time: the one that the options name, otherwise one with the name of a clock,
// with times of the day, or, in the first column, with steps of the stated rate. There may be none.
func (t *Reader) findTimeChannel(o ingest.Options) error {
	if o.Text.Time != "" {
		channel, err := ingest.FindChannel(t.info, o.Text.Time)
		t.timeChannel = channel

		return err
	}

	all := make([]int, len(t.columnOf))
	for i := range all {
		all[i] = i
	}

	channel, warnings := clock.Find(t, all, func(c int) []string { return []string{t.info.Channels[c].Name} })
	t.timeChannel = channel
	t.info.Warnings = append(t.info.Warnings, warnings...)
	if t.timeChannel < 0 {
		hasTimes := func(col int) bool { return len(t.layout.timeForms[col]) > 0 }
		t.timeChannel = slices.IndexFunc(t.columnOf, hasTimes)
	}

	if t.timeChannel < 0 && len(t.columnOf) > 0 && t.hasStatedSteps() {
		t.timeChannel = 0
	}

	return nil
}

// hasStatedSteps reports whether the first channel has steps of the rate that the header states, if it states one.
func (t *Reader) hasStatedSteps() bool {
	stated := t.layout.rateHz
	if stated == 0 {
		return false
	}

	first := &t.info.Channels[0]
	unit := first.Unit

	// The error of a channel that is not read appears when its samples are read.
	read, err := clock.Read(t, 0, "column")
	hasSteps := err == nil && math.Abs(read.RateHz-stated) <= stepTolerance*stated
	if !hasSteps {
		first.Unit = unit // clock.Read has set a unit of time
	}

	return hasSteps
}

// dateLayouts and timeLayouts are the layouts of cells, as package time has them. A fraction of the second may follow.
var (
	dateLayouts = []string{
		"", "2006-1-2 ", "2006-1-2T", "2006/1/2 ", "2.1.2006 ", "2.1.06 ", "1/2/2006 ", "2/1/2006 ", "2-Jan-2006 ",
	}
	timeLayouts = []string{"15:04:05", "15:04:05Z07:00", "3:04:05 PM"}
)

// timeForm is a way to read a column of times.
type timeForm struct {
	layout  string    // of package time; "": the column has no times
	example string    // the first time of the column
	zero    time.Time // seconds count from it: the beginning of the first time's year, or of its day without dates
	start   float64   // the first time in s; earlier times are of the next day. −Inf: times have dates
}

// seconds reads a cell as a time of the form, in s.
func (f timeForm) seconds(cell []byte) (seconds float64, ok bool) {
	t, err := time.Parse(f.layout, string(cell))
	seconds = t.Sub(f.zero).Seconds()
	if seconds < f.start {
		seconds += secondsOfDay
	}

	return seconds, err == nil
}

// takeClock takes a column of text for the time, and reports whether it does. All cells of the sample must be times of
// the day, each later than the one before. No other column may have such times, and no column of numbers may have a
// name of time. If the dates of the sample may have the day first or the month first, takeClock keeps both forms.
func (h *header) takeClock(col int) bool {
	for i, isNumeric := range h.numeric {
		_, isNamed := clock.Named(h.names[i], h.units[i])
		if isNamed && isNumeric || len(h.timeForms[i]) > 0 {
			return false
		}
	}

	for _, date := range dateLayouts {
		for _, hours := range timeLayouts {
			if form, isRising := h.risingTimes(col, date+hours, date != ""); isRising {
				h.timeForms[col] = append(h.timeForms[col], form)
				h.units[col] = "s"
			}
		}
	}

	return len(h.timeForms[col]) > 0
}

// A recording that goes on over midnight has times of the next day. They count on from its first time, so that it may
// last a day. A step over midnight that is longer than longestStep is taken for a clock that went back.
const (
	secondsOfDay = 24 * 60 * 60
	longestStep  = 60 * 60
)

// risingTimes reports whether all cells of a column in the sample are times of a layout, each later than the one
// before, and returns the form of the times. Times without a date may go on over midnight.
func (h *header) risingTimes(col int, layout string, hasDate bool) (form timeForm, isRising bool) {
	last := math.Inf(-1)
	for _, s := range h.lines[h.firstRow:] {
		cells := h.cut(s.text)
		if len(cells) <= col {
			continue
		}

		if form.layout == "" {
			form = newTimeForm(layout, cells[col], hasDate)
		}

		now, ok := form.seconds(cells[col])
		isBack := now >= secondsOfDay && !hasDate && now-last >= longestStep
		if !ok || now <= last || isBack {
			return timeForm{}, false
		}

		last = now
	}

	return form, form.layout != ""
}

// newTimeForm returns the form of the times of a column whose first time is in the given cell. A cell that is not a
// time of the layout gives a form that does not read it.
func newTimeForm(layout string, first []byte, hasDate bool) timeForm {
	t, _ := time.Parse(layout, string(first))
	form := timeForm{layout: layout, example: string(first), start: math.Inf(-1)}
	if hasDate {
		form.zero = time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		return form
	}

	form.zero = time.Date(t.Year(), 1, 1, 0, 0, 0, 0, t.Location())
	form.start, _ = form.seconds(first)

	return form
}

// chooseTimeForms chooses the form of each column of times: whether 5/6/2024 is in May or in June. The first and the
// last row decide, and the steps at the beginning. If the file can be read with several forms, the form is chosen whose
// steps fill the time from the first row to the last one best, and of equal forms the first.
func (t *Reader) chooseTimeForms() {
	for i, col := range t.columnOf {
		forms := t.layout.timeForms[col]
		if len(forms) < 2 {
			continue
		}

		best := forms[0]
		least := math.Inf(1)
		for _, form := range forms {
			if uneven := t.unevenness(i, form); uneven < least {
				least = uneven
				best = form
			}
		}

		t.layout.timeForms[col] = []timeForm{best}
	}
}

// unevenness sets the form of a channel of times and returns how far the steps at the beginning are from filling the
// time from the first row to the last one, as a share. It returns +Inf for a form that cannot read the channel.
func (t *Reader) unevenness(channel int, form timeForm) float64 {
	t.layout.timeForms[t.columnOf[channel]] = []timeForm{form} // clock.Read reads the channel with it

	// The error of a row that no form reads appears when the row is read.
	read, err := clock.Read(t, channel, "column")
	if err != nil || read.RateHz == 0 {
		return math.Inf(1)
	}

	return math.Abs(read.EndsHz/read.RateHz - 1)
}
