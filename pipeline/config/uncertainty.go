package config

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Uncertainty contains the parts of a text such as "50.2 m ± 0.1 %, k 2".
type Uncertainty struct {
	Value    float64 // NaN if the text has no value
	Unit     string  // unit of the value and of the width, which must not differ; "" if the text has none
	U        float64 // standard uncertainty: in the unit, or relative to the value if Percent is true
	Percent  bool    // the width is a percentage of the value
	DoF      float64 // degrees of freedom; +Inf if the uncertainty is well known
	Law      string  // normal, rectangular, triangular or U-shaped
	Observed bool    // evaluated from repeated observations (type A of the GUM)
}

// laws contains the ratio of the half width of each distribution to its standard deviation (GUM 4.3). The ratio of a
// normal distribution is 0 here, because the text states it as k.
var laws = map[string]float64{
	"normal": 0, "rectangular": math.Sqrt(3), "triangular": math.Sqrt(6), "U-shaped": math.Sqrt2,
}

// uncertaintyForm describes the texts that ParseUncertainty reads, for messages.
const uncertaintyForm = `"± 0.2, k 2", "± 0.5 %, rectangular" (or triangular, U-shaped) or "u 0.1, dof 12, type A", ` +
	`after a value where one is wanted`

// statement contains the parts of an uncertainty's text that were read so far.
type statement struct {
	Uncertainty         // U is NaN if the text has no standard uncertainty; Law is "" if it has no law
	halfWidth   float64 // the number after ±, as a fraction if it is a percentage; NaN if there is none
	coverage    float64 // the number after k; 0 if there is none
}

// ParseUncertainty parses the text of an uncertainty. Its parts are separated by commas: a value, which comes first, a
// half width after ±, a standard uncertainty after u, k, dof, a law, and "type A".
//
// A % after the width or after u makes the uncertainty relative to the value. A % after the value is the value's unit,
// so that "20 % ± 2, k 2" means 20 % ± 2 percentage points. If both have a %, the statement is ambiguous and refused.
func ParseUncertainty(text string) (Uncertainty, error) {
	s := statement{
		Uncertainty: Uncertainty{Value: math.NaN(), U: math.NaN(), DoF: math.Inf(1)},
		halfWidth:   math.NaN(),
	}

	for i, part := range strings.Split(text, ",") {
		var ok bool
		s, ok = s.with(strings.TrimSpace(part), i == 0)
		if !ok {
			return Uncertainty{}, fmt.Errorf("expected %s, found %q", uncertaintyForm, text)
		}
	}

	if s.Unit == "%" && s.Percent {
		return Uncertainty{}, fmt.Errorf("%q may mean a part of the value or percentage points: write the width without %% "+
			"for percentage points, or leave the unit of the value out", text)
	}

	standard, ok := s.standard()
	if !ok {
		return Uncertainty{}, fmt.Errorf("expected %s, found %q", uncertaintyForm, text)
	}

	s.U = standard
	s.Law = cmp.Or(s.Law, "normal")

	return s.Uncertainty, nil
}

// with returns the statement with a further part of the text. Only the first part may have the value. with returns
// false if it cannot read the part, or if the statement has such a part already.
func (s statement) with(part string, isFirst bool) (extended statement, ok bool) {
	word, rest, _ := strings.Cut(part, " ")
	value, width, hasWidth := strings.Cut(part, "±")
	_, isLaw := laws[part]

	switch {
	case hasWidth:
		extended, ok = s.withHalfWidth(width)
		if ok && strings.TrimSpace(value) != "" {
			extended, ok = extended.withValue(value)
			ok = ok && isFirst
		}

		return extended, ok
	case word == "k":
		isFirstCoverage := s.coverage == 0
		s.coverage, ok = plainNumber(rest)
		return s, ok && s.coverage > 0 && isFirstCoverage
	case word == "u":
		return s.withStandard(rest)
	case word == "dof":
		isFirstDoF := math.IsInf(s.DoF, 1)
		s.DoF, ok = plainNumber(rest)
		return s, ok && s.DoF > 0 && isFirstDoF
	case part == "type A":
		ok = !s.Observed
		s.Observed = true
		return s, ok
	case isLaw:
		ok = s.Law == ""
		s.Law = part
		return s, ok
	}

	extended, ok = s.withValue(part)

	return extended, ok && isFirst
}

// standard returns the standard uncertainty: the one that the text has, or the half width divided by its ratio to the
// standard deviation. It returns false if the parts contradict each other, or do not give a standard uncertainty.
func (s statement) standard() (u float64, ok bool) {
	hasWidth := !math.IsNaN(s.halfWidth)
	hasStandard := !math.IsNaN(s.U)
	hasCoverage := s.coverage > 0
	ratio := cmp.Or(laws[s.Law], s.coverage)
	u = s.U

	switch {
	case hasWidth && hasStandard:
		return 0, false
	case hasWidth && hasCoverage && laws[s.Law] > 0: // the law has a ratio already
		return 0, false
	case hasWidth && ratio == 0:
		return 0, false
	case hasWidth:
		u = s.halfWidth / ratio
	case hasCoverage:
		return 0, false
	case !hasStandard && !math.IsNaN(s.Value): // a value alone is exact
		u = 0
	}

	return u, u >= 0
}

// withValue returns the statement with a value and its unit.
func (s statement) withValue(text string) (statement, bool) {
	number, unit, ok := numberWithUnit(text)
	if !ok {
		return s, false
	}

	s.Value = number

	return s.withUnit(unit)
}

// withHalfWidth returns the statement with a half width, which may be a percentage.
func (s statement) withHalfWidth(text string) (statement, bool) {
	width, extended, ok := s.width(text)
	extended.halfWidth = width

	return extended, ok && math.IsNaN(s.halfWidth)
}

// withStandard returns the statement with a standard uncertainty, which may be a percentage.
func (s statement) withStandard(text string) (statement, bool) {
	width, extended, ok := s.width(text)
	extended.U = width

	return extended, ok && math.IsNaN(s.U)
}

// width parses a half width or a standard uncertainty. It returns a percentage as a fraction, and the statement with
// the unit or with Percent set.
func (s statement) width(text string) (width float64, extended statement, ok bool) {
	number, unit, ok := numberWithUnit(text)
	if !ok {
		return 0, s, false
	}

	if unit == "%" {
		s.Percent = true
		return number / 100, s, true
	}

	extended, ok = s.withUnit(unit)

	return number, extended, ok
}

// withUnit returns the statement with a unit, which may be "". It returns false if the statement has another unit.
func (s statement) withUnit(unit string) (statement, bool) {
	if unit == "" {
		return s, true
	}

	if s.Unit != "" && s.Unit != unit {
		return s, false
	}

	s.Unit = unit

	return s, true
}

// numberWithUnit reads a number and its unit, which may be "". The unit % may follow the number without a space.
func numberWithUnit(text string) (number float64, unit string, ok bool) {
	digits, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	unit = strings.TrimSpace(unit)
	if before, found := strings.CutSuffix(digits, "%"); found && unit == "" {
		digits = before
		unit = "%"
	}

	number, ok = plainNumber(digits)

	return number, unit, ok
}

// plainNumber reads a finite number.
func plainNumber(text string) (number float64, ok bool) {
	number, err := parseFloat(strings.TrimSpace(text))
	if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
		return 0, false
	}

	return number, true
}
