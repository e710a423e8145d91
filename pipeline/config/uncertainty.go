package config

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Uncertainty is what a text such as "50.2 m ± 0.1 %, k 2" states.
type Uncertainty struct {
	Value    float64 // NaN: not stated
	Unit     string  // of value or uncertainty; "": not stated
	U        float64 // standard uncertainty, in the unit; relative to the value where Percent
	Percent  bool
	DoF      float64 // degrees of freedom; +Inf: well known
	Law      string  // normal, rectangular, triangular or U-shaped
	Observed bool    // by repeated observations (type A)
}

// laws are the laws of an uncertainty with half width over standard deviation; 0: k states it.
var laws = map[string]float64{
	"normal": 0, "rectangular": math.Sqrt(3), "triangular": math.Sqrt(6), "U-shaped": math.Sqrt2,
}

const uncertaintyForm = `"± 0.2, k 2", "± 0.5 %, rectangular" (or triangular, U-shaped) or "u 0.1, dof 12, type A", ` +
	`after a value where one is wanted`

// ParseUncertainty reads the statement of an uncertainty.
func ParseUncertainty(text string) (u Uncertainty, err error) {
	u = Uncertainty{Value: math.NaN(), DoF: math.Inf(1), Law: "normal"}
	bad := func() (Uncertainty, error) { return u, fmt.Errorf("expected %s, found %q", uncertaintyForm, text) }

	half, k := math.NaN(), 0.0
	u.U = math.NaN()
	for i, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		word, rest, _ := strings.Cut(part, " ")
		before, after, spread := strings.Cut(part, "±")
		_, law := laws[part]

		ok := true
		switch {
		case spread:
			if ok = u.number(after, &half); ok && strings.TrimSpace(before) != "" {
				ok = i == 0 && u.number(before, &u.Value)
			}
		case word == "k":
			ok = plainNumber(rest, &k) && k > 0
		case word == "u":
			ok = u.number(rest, &u.U)
		case word == "dof":
			ok = plainNumber(rest, &u.DoF) && u.DoF > 0
		case part == "type A":
			u.Observed = true
		case law:
			u.Law = part
		default:
			ok = i == 0 && u.number(part, &u.Value)
		}

		if !ok {
			return bad()
		}
	}

	ratio := cmp.Or(laws[u.Law], k)

	switch stated := half == half; {
	case stated && u.U == u.U, stated && (ratio == 0 || k > 0 && u.Law != "normal"), !stated && k > 0:
		return bad() // two statements, or too few
	case stated:
		u.U = half / ratio
	case u.U != u.U && u.Value == u.Value:
		u.U = 0
	}

	if !(u.U >= 0) {
		return bad()
	}

	return u, nil
}

func plainNumber(text string, v *float64) bool {
	var err error
	*v, err = parseFloat(strings.TrimSpace(text))

	return err == nil && !math.IsInf(*v, 0) && *v == *v
}

// number reads a number with a unit, or %.
func (u *Uncertainty) number(text string, v *float64) bool {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch unit = strings.TrimSpace(unit); {
	case strings.HasSuffix(number, "%") || unit == "%":
		number, u.Percent = strings.TrimSuffix(number, "%"), true
	case unit != "" && u.Unit != "" && unit != u.Unit:
		return false
	case unit != "":
		u.Unit = unit
	}

	if !plainNumber(number, v) {
		return false
	}

	if v != &u.Value && u.Percent {
		*v /= 100
	}

	return true
}
