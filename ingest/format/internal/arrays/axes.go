package arrays

import (
	"fmt"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/text"
)

// Axes returns the index in dims of the axis that is time. It is the first of these that exists:
//   - the axis that the options name,
//   - the axis whose name says that it is time,
//   - the axis that has as many values as the clock of the array,
//   - the longest axis, if it is the first or the last, or if axes have names.
//
// dims are the lengths of the axes, names their names (nil if unknown), and clockSamples is the number of samples of
// the clock (0 if unknown). If Axes finds no axis, the error says what to write in the configuration.
func Axes(dims []int64, names []string, clockSamples int64, options ingest.ArrayOptions) (axis int, err error) {
	var named []int   // axes with a name of time
	var clocked []int // axes that are as long as the clock

	longAxes := 0  // number of axes with more than one value
	equal := false // two axes have the greatest length; axis is the first of them
	for i, length := range dims {
		if length > 1 {
			longAxes++
		}

		if i < len(names) && IsTime(names[i]) {
			named = append(named, i)
		}

		if length == clockSamples && length > 1 {
			clocked = append(clocked, i)
		}

		switch {
		case i == 0 || length > dims[axis]:
			axis = i
			equal = false
		case length == dims[axis]:
			equal = true
		}
	}

	if longAxes > 1 { // otherwise there is nothing to choose
		switch {
		case options.TimeAxis == "first":
			return 0, nil
		case options.TimeAxis == "last":
			return len(dims) - 1, nil
		case options.TimeAxis == "middle" && len(dims) == 3:
			return 1, nil
		}
	}

	want := ""
	switch {
	case len(named) == 1:
		return named[0], nil
	case longAxes <= 1:
		return axis, nil
	case len(clocked) == 1:
		return clocked[0], nil
	case equal:
		want = "one longest axis, which is time"
	case len(names) == 0 && axis > 0 && axis < len(dims)-1:
		want = "time as the first or the last axis, or a name of each axis"
	default:
		return axis, nil
	}

	return axis, fault.At("", "", want, fmt.Sprintf("shape %v", dims),
		"set arrays: {time_axis: first}, middle or last in the configuration, or name the channels to use if it is none")
}

// IsTime reports whether the name of an array or an axis, or the last name of its path, is a name of time or of the
// number of a sample.
func IsTime(name string) bool {
	last := strings.ToLower(text.LastPart(name))
	_, isTime := clock.Named(last, "")

	return isTime || last == "sample" || last == "samples"
}

// countChannels returns the number of channels of an array whose time runs along the given axis. If there are more than
// maxChannels, it returns a number above maxChannels, which need not be the exact one: the product may not fit.
func countChannels(dims []int64, axis int) int64 {
	channels := int64(1)
	for i, length := range dims {
		if i == axis {
			continue
		}

		if length > maxChannels || channels > maxChannels {
			return math.MaxInt64
		}

		channels *= length
	}

	return channels
}
