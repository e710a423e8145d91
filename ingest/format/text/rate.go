package text

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
)

// rateLine matches a line of a header with a rate or a step of time: fs = 1000 Hz, Sample Interval,CH1:1e-6,
// Abtastrate [kHz]: 51,2. Its groups are the words of a rate ("" if the words are of a step), the unit before the
// number, the number and the unit behind it.
var rateLine = regexp.MustCompile(`(?i)(?:^|[,;\t])[\s"]*(?:(f_?s|sampl(?:e|es|ing)?[ _-]?(?:rate|freq\.?|frequency)|` +
	`samples per sec(?:ond)?|(?:scan|acquisition|daq|mess|abtast)[ _-]?(?:rate|frequenz)|` +
	`fr[ée]quence d.échantillonnage|frecuencia de muestreo|frequenza di campionamento)|` +
	`dt|delta[ _]?t|Δt|[tx]_?inc(?:rement)?|` +
	`(?:sampl(?:e|ing)[ _-]?|time[ _-]?|abtast)(?:intervall?|periode?))` + rateUnit +
	`[\s"]*[:=,;\s][\s":=,;]*(?:CH\d+:)?` + rateNumber + rateUnit + `[\s"]*(?:$|[,;\t(#])`)

// sampledAt matches a rate without the words of rateLine: sampled at 51.2 kHz, 51200 S/s. Two of its four groups are
// the number and the unit; the others are empty.
var sampledAt = regexp.MustCompile(`(?i)(?:(?:^rate|sampled|acquired|recorded)(?: at)?[\s:=]+` +
	rateNumber + `\s*([kM]?Hz)|(?:^|[\s(:=])` +
	rateNumber + `\s*([kM]?(?:Sa?/s|samples/s(?:ec(?:ond)?)?)))[\s"]*(?:$|[,;\t)#])`)

const (
	rateNumber = `(\d{1,3}(?: \d{3})+|[\d.']+(?:,\d+)?(?:e[-+]?\d+)?)`
	rateUnit   = `[\s",;_([]*([kM]?(?:Hz|Sa?/s|sps|samples/s(?:ec(?:ond)?)?)|(?:[mµμu]?s|sec|seconds)\b)?[\s)\]]*`
)

// matchRate returns the match of rateLine in a line with a rate, and nil for another line. The greatest rate of a
// device is not the rate of a recording.
func matchRate(line string) []string {
	if m := sampledAt.FindStringSubmatch(line); m != nil && !strings.Contains(strings.ToLower(line), "max") {
		line = "fs=" + m[1] + m[2] + m[3] + m[4]
	}

	return rateLine.FindStringSubmatch(line)
}

// takeRate takes the rate that a line of the header states, unless the line can be read in two ways.
func (h *header) takeRate(text string, line int64) {
	m := matchRate(text)
	if m == nil {
		return
	}

	rate, other, ok := h.readRate(statedRate{words: m[1], unitBefore: m[2], number: m[3], unitBehind: m[4]})
	if !ok || !(rate > 0) || math.IsInf(rate, 0) {
		return
	}

	switch {
	case other > 0:
		h.warnf("odd-rate", "", "line %d: %q may be %g Hz or %g Hz: it is not used; state rate_hz", line,
			fault.Clip(text), min(rate, other), max(rate, other))
	case h.rateHz == 0:
		h.rateHz = rate
	case math.Abs(rate-h.rateHz) > 1e-3*rate:
		h.warnf("rates-contradict", "", "the header states two rates, %g Hz and %g Hz: the first is used", h.rateHz, rate)
	}
}

// statedRate are the parts of a line with a rate or a step of time; "" is a part that is not there.
type statedRate struct {
	words      string // of a rate; "": the words are of a step
	unitBefore string
	number     string
	unitBehind string
}

// readRate returns a rate in Hz. If the number may also have the other decimal sign, other is its rate with that sign;
// otherwise it is 0. readRate returns false if the number cannot be read.
func (h *header) readRate(stated statedRate) (rate, other float64, ok bool) {
	number, ok := h.readNumber(stated.number)
	if !ok {
		return 0, 0, false
	}

	unit := strings.ToLower(cmp.Or(stated.unitBehind, stated.unitBefore))
	seconds, isStep := clock.Seconds(unit)
	if unit == "" {
		isStep = stated.words == ""
	}

	prefix := unitMultiplier(unit)

	switch {
	case isStep:
		rate = rateOfStep(number.value * seconds)
		if number.isDoubtful && h.decimal == '.' { // 1,000 ms
			other = rateOfStep(number.withComma * seconds)
		}
	case prefix > 1 && number.isDoubtful: // 51.200 kHz is not 51200 kHz
		rate = number.value * prefix / 1e3
	case prefix > 1:
		rate = number.value * prefix
	default:
		rate = number.value
		if h.mayHaveComma(number, unit) {
			other = number.withComma
		}
	}

	return rate, other, true
}

// statedNumber is a number in the header, read with the decimal sign of the rows and with a decimal comma. It is
// doubtful if the sign may part thousands, as in 51,200.
type statedNumber struct {
	value           float64
	isDoubtful      bool
	withComma       float64
	isCommaDoubtful bool
}

// readNumber reads a number of the header. It returns false if the text is not a number.
func (h *header) readNumber(text string) (number statedNumber, ok bool) {
	number.value, number.isDoubtful, ok = Typed([]byte(text), h.decimal)

	var isWithComma bool
	number.withComma, number.isCommaDoubtful, isWithComma = Typed([]byte(text), ',')

	if !ok { // 51.200,00 in the header of rows of whole numbers
		number.value = number.withComma
		number.isDoubtful = number.isCommaDoubtful
		ok = isWithComma
	}

	first, second, _ := strings.Cut(text, ",")
	if first == second && len(first) > 3 { // 1000,1000: of two channels
		number.value, ok = Number([]byte(first), '.')
	}

	return number, ok
}

// mayHaveComma reports whether a number in Hz may have a decimal comma although the rows have a decimal point: 51,200
// without a unit, and 51.200 if the rows are whole numbers, which show no decimal sign.
func (h *header) mayHaveComma(number statedNumber, unit string) bool {
	if h.decimal != '.' {
		return false
	}

	return number.isDoubtful && unit == "" || number.isCommaDoubtful && !h.showsPoint()
}

// rateOfStep returns the rate in Hz of samples that are step seconds apart, without the error of rounding of 1/0.001.
func rateOfStep(step float64) float64 {
	rate := 1 / step
	if whole := math.Round(rate); math.Abs(rate-whole) < 1e-9*rate {
		return whole
	}

	return rate
}

// unitMultiplier returns the factor of the prefix of a unit of a rate, in lower case: 1000 of khz.
func unitMultiplier(unit string) float64 {
	switch {
	case strings.HasPrefix(unit, "k"):
		return 1e3
	case strings.HasPrefix(unit, "m"):
		return 1e6
	}

	return 1
}

// showsPoint reports whether some row has a decimal point.
func (h *header) showsPoint() bool {
	for _, s := range h.lines[h.sampleBegin:] {
		if bytes.IndexByte(s.text, '.') >= 0 {
			return true
		}
	}

	return false
}
