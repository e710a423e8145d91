package arrays

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
)

// Customary names of attributes that state the rate, the period and the unit, in lower case
// (docs/method.md#layouts-of-published-files).
var (
	rateNames = []string{
		"rate_hz", "fs", "fs_hz", "rate", "sample_rate", "samplerate", "sample_rate_hz",
		"sampling_rate", "samplingrate", "sampling_rate_hz", "sampling_frequency", "samplingfrequency",
		"sampling_frequency_hz", "sr", "sample_freq", "sampleratehz", "data.samplingrate",
	}
	periodNames = []string{
		"channelinformationsamplingperiod", "samplingperiod", "sampling_period", "sampling_period_s",
		"wf_increment", "dt", "dt_s", "x_values.increment", // Siemens Testlab
	}
	unitNames = []string{"unit", "units", "unit_string", "channelinformationunit", "physical_unit", "quantity.label"}
)

// wanted returns the names to look for, in lower case: the configured name, or the customary ones if it is empty.
func wanted(configured string, customary []string) []string {
	if configured != "" {
		return []string{strings.ToLower(configured)}
	}
	return customary
}

// ownAttribute returns the value of the channel's own first attribute with a wanted name, and "" if it has none.
func (r *Reader) ownAttribute(channel int, wanted []string) string {
	for _, attr := range r.info.Channels[channel].Attributes {
		if slices.Contains(wanted, strings.ToLower(attr.Name)) {
			return attr.Value
		}
	}

	return ""
}

// Siemens Testlab exports a signal as a struct with the members x_values, y_values and function_record.
const (
	signalValues   = ".y_values"            // the group of the values, behind the name of the signal
	signalUnit     = "quantity.label"       // the unit of the values, in their group
	signalName     = "function_record.name" // the name that the user gave to the channel, in the group of the signal
	headerOfSignal = "header"               // the attribute by which FindChannel knows a channel
)

// timeseriesUnits has the member of a timeseries of MATLAB, saved as a struct, that states the unit of another member.
var timeseriesUnits = map[string]string{"Data": "DataInfo.Units", "Time": "TimeInfo.Units"}

// readTimeseries takes the unit of a channel from the struct of a timeseries of MATLAB. It changes no other channel.
func (r *Reader) readTimeseries(channel int) {
	group := r.places[channel].group
	c := &r.info.Channels[channel]
	array, _, _ := strings.Cut(c.Name, "[")
	member, isMember := strings.CutPrefix(array, group+".")
	if group == "" || !isMember || c.Unit != "" {
		return
	}

	unitMember := timeseriesUnits[member]
	for _, attr := range r.info.Attributes {
		if unitMember != "" && attr.Name == group+"."+unitMember {
			c.Unit = attr.Value
		}
	}
}

// readSignal takes the unit and the name of a channel that Siemens Testlab exported from the members of its struct. It
// changes no other channel.
func (r *Reader) readSignal(channel int) {
	group := r.places[channel].group
	signal, isSignal := strings.CutSuffix(group, signalValues)
	if !isSignal {
		return
	}

	c := &r.info.Channels[channel]
	for _, attr := range r.info.Attributes {
		switch attr.Name {
		case group + "." + signalUnit:
			if c.Unit == "" {
				c.Unit = attr.Value
			}
		case signal + "." + signalName:
			c.Attributes = append(c.Attributes, ingest.Attribute{Name: headerOfSignal, Value: attr.Value})
		}
	}
}

// Members of a struct that may state the unit of its channels and the name of its only channel, in lower case.
var (
	memberUnits = []string{"unit", "units", "unit_string", "physical_unit"}
	memberNames = []string{"name", "label", "channel", "channel_name", "channelname"}
)

// readMembers takes the unit of a channel, and its name if no other channel is in the struct, from the texts beside the
// channel in its struct: chan(1).unit and chan(1).name beside chan(1).data. It leaves clocks as they are, and takes no
// text as a unit that is not a unit.
func (r *Reader) readMembers(channel int) {
	group := r.places[channel].group
	if group == "" || r.isClockMember(channel) {
		return
	}

	c := &r.info.Channels[channel]
	for _, attr := range r.info.Attributes {
		member, isBeside := strings.CutPrefix(attr.Name, group+".")
		if !isBeside {
			continue
		}

		member = strings.ToLower(member)
		_, err := units.Parse(attr.Value)
		isUnit := err == nil || units.IsLevel(attr.Value)
		switch {
		case c.Unit == "" && isUnit && slices.Contains(memberUnits, member):
			c.Unit = attr.Value
		case slices.Contains(memberNames, member) && attr.Value != "" && r.isAlone(channel):
			c.Attributes = append(c.Attributes, ingest.Attribute{Name: headerOfSignal, Value: attr.Value})
		}
	}
}

// isClockMember reports whether a channel has the name of a clock.
func (r *Reader) isClockMember(channel int) bool {
	c := r.info.Channels[channel]
	_, isTime := clock.Named(text.LastPart(c.Name), c.Unit)

	return isTime
}

// isAlone reports whether a channel is the only one of its group beside clocks.
func (r *Reader) isAlone(channel int) bool {
	for i, p := range r.places {
		if i != channel && p.group == r.places[channel].group && !r.isClockMember(i) {
			return false
		}
	}

	return true
}

// inherited returns the value of the attribute with a wanted name that the channel takes from the groups around it:
// from its own group, from the next larger group, and so on up to the file. It returns "" if there is none.
func (r *Reader) inherited(channel int, wanted []string) string {
	for group := r.places[channel].group; ; group = group[:max(0, strings.LastIndexAny(group, "/."))] {
		marks := []string{"@", "/", "."} // what may be between the name of a group and the name of its attribute
		if group == "" {
			marks = []string{"", "/", "@"}
		}

		for _, w := range wanted {
			for _, attr := range r.info.Attributes {
				rest, inGroup := strings.CutPrefix(strings.ToLower(attr.Name), strings.ToLower(group))
				mark, named := strings.CutSuffix(rest, w)
				if inGroup && named && slices.Contains(marks, mark) {
					return attr.Value
				}
			}
		}

		if group == "" {
			return ""
		}
	}
}

// statement is a way in which a file states the rate of a channel.
type statement struct {
	names      []string // names of attributes, in lower case
	configured string   // the name in the configuration; "" if it names none
	unit       string   // "Hz" for a rate, "s" for a period
}

// number returns the number in a text such as 51,200 Hz or 51.2 kHz, in the statement's unit. It returns NaN if there
// is none.
func (s statement) number(text string) float64 {
	options := condition.ColumnOptions{Unit: s.unit, Decimal: condition.Point}
	column, err := condition.ReadColumn([]string{text}, options)
	if err != nil || column.Values == nil {
		return math.NaN()
	}

	return column.Values[0]
}

// sameRate is the relative difference up to which two statements of a rate or a period agree.
const sameRate = 1e-3

// rate returns the sampling rate of a channel in Hz that attributes with a customary or configured name state, and 0 if
// there are none. It returns an error if a rate and a period contradict each other, and gives a warning if an attribute
// of the channel contradicts one that it would inherit.
func (r *Reader) rate(channel int, options ingest.Options) (float64, error) {
	place := "channel " + r.info.Channels[channel].Name
	statements := []statement{
		{
			names:      wanted(options.Arrays.PeriodAttribute, periodNames),
			configured: options.Arrays.PeriodAttribute,
			unit:       "s",
		},
		{
			names:      wanted(options.Arrays.RateAttribute, rateNames),
			configured: options.Arrays.RateAttribute,
			unit:       "Hz",
		},
	}

	found := 0.0
	for _, s := range statements {
		// The channel's own attribute wins over an attribute of its group, and that wins over one of the file.
		inherited := r.inherited(channel, s.names)
		text := cmp.Or(r.ownAttribute(channel, s.names), inherited)
		if text == "" {
			continue
		}

		v := s.number(text)
		if !(v > 0) || math.IsInf(v, 0) { // NaN is not above 0 either
			if s.configured == "" {
				continue // a customary name is a guess: ignore it if its value is not a number
			}

			return 0, fault.At(r.info.Path, place, fmt.Sprintf("a number above zero in %q", s.configured),
				strconv.Quote(fault.Clip(text)), "")
		}

		other := s.number(inherited)
		if other > 0 && math.Abs(other-v) > sameRate*v && !r.contradicts {
			r.contradicts = true
			r.Warn(ingest.Warn("", "rates-contradict",
				"%s: its own attribute gives %g for the sampling rate or period, its group or the file %g: the first is used",
				place, v, other))
		}

		hz := v
		if s.unit == "s" {
			hz = rateOfPeriod(v)
		}

		if found > 0 && math.Abs(hz-found) > sameRate*found {
			return 0, fault.At(r.info.Path, place, "",
				fmt.Sprintf("two sampling rates, %g Hz and %g Hz, in its attributes", found, hz),
				"name the one that holds in the configuration")
		}

		found = cmp.Or(found, hz)
	}

	return found, nil
}

// rateOfPeriod returns the rate in Hz that belongs to a period in s. The inverse of a period in float64 is not exactly
// the whole number that was meant, so a rate very near a whole number is that number.
func rateOfPeriod(period float64) float64 {
	hz := 1 / period
	if near := math.Round(hz); near > 0 && math.Abs(hz-near) < 1e-9*hz {
		return near
	}

	return hz
}

// warnOdd adds a warning about the first channel with an implausible rate.
func (r *Reader) warnOdd() {
	for _, channel := range r.info.Channels {
		if w := clock.Odd(r.info.Path, "channel "+channel.Name, channel.RateHz); len(w) > 0 {
			r.info.Warnings = append(r.info.Warnings, w...)
			return
		}
	}
}
