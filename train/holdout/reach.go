package holdout

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Reach describes how far the held-out rows, test, lie from the training rows, train. It returns "interpolation in" the
// conditions of h if all held-out values lie in the range of the training rows, and otherwise "extrapolation in" the
// conditions with values outside. A condition of text is "new" if no training row has a held-out name.
func Reach(h Holdout, rows Rows, train, test []int) (string, error) {
	var interpolated, extrapolated, reach []string
	for _, c := range h.Conditions() {
		if slices.Contains(h.Labels(), c) {
			areNew, err := isNew(rows, c, train, test)
			if err != nil {
				return "", err
			}

			if areNew {
				reach = append(reach, "new "+c)
			}

			continue
		}

		v, err := rows.Floats(c)
		if err != nil {
			return "", err
		}

		if anyBeyond(v, train, test) {
			extrapolated = append(extrapolated, c)
		} else {
			interpolated = append(interpolated, c)
		}
	}

	if len(extrapolated) > 0 {
		reach = append(reach, "extrapolation in "+strings.Join(extrapolated, " and "))
	} else if len(interpolated) > 0 {
		reach = append(reach, "interpolation in "+strings.Join(interpolated, " and "))
	}

	return strings.Join(reach, ", "), nil
}

// anyBeyond reports whether a row of test has a value outside the range of the rows of train.
func anyBeyond(v []float64, train, test []int) bool {
	lo := math.Inf(1)
	hi := math.Inf(-1)
	for _, i := range train {
		lo = min(lo, v[i])
		hi = max(hi, v[i])
	}

	for _, i := range test {
		if v[i] < lo || v[i] > hi {
			return true
		}
	}

	return false
}

// Choices returns a hint for a message about a holdout that holds out no row: the values of the first condition of h of
// which none can be held out, such as "; rpm is one of 1, 2". It returns "" if no such condition exists. It skips
// conditions that cannot be read or have no rows.
func Choices(h Holdout, rows Rows) string {
	for _, c := range h.Conditions() {
		if slices.Contains(h.Labels(), c) {
			names, err := rows.Strings(c)
			if err == nil && len(names) > 0 && !holdsAnyLabel(h, c, names) {
				return fmt.Sprintf("; %s is one of %s", c, Listed(Distinct(names)))
			}

			continue
		}

		values, err := rows.Floats(c)
		if err != nil || len(values) == 0 || holdsAny(h, c, values) {
			continue
		}

		distinct := slices.Compact(slices.Sorted(slices.Values(values)))
		if len(distinct) > mostListed {
			return fmt.Sprintf("; %s lies in %g … %g", c, distinct[0], distinct[len(distinct)-1])
		}

		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(distinct), " ", ", "), "[]")

		return fmt.Sprintf("; %s is one of %s", c, text)
	}

	return ""
}

// mostListed is the largest number of values or names that Choices and Listed list.
const mostListed = 12

// holdsAny reports whether h can hold out rows with one of the values.
func holdsAny(h Holdout, condition string, values []float64) bool {
	for _, v := range values {
		if h.Holds(condition, v) {
			return true
		}
	}

	return false
}

// holdsAnyLabel reports whether h can hold out rows with one of the names.
func holdsAnyLabel(h Holdout, condition string, names []string) bool {
	for _, n := range names {
		if h.HoldsLabel(condition, n) {
			return true
		}
	}

	return false
}
