package arrays

import (
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/text"
)

// findClock marks the channel of each group that contains the time, its clock. The channels of the group that are as
// long as the clock take their rate from it if nothing else states their rate. If something does, findClock compares
// one such channel with the clock and warns if they contradict each other.
func (r *Reader) findClock(options ingest.Options) error {
	clocks, err := r.clocks(options)
	if err != nil {
		return err
	}

	// The keys are the numbers of the channels that are clocks.
	rates := map[int]float64{} // rates in Hz that the clocks give
	compared := map[int]bool{} // clocks that were compared with a stated rate
	for i := range r.info.Channels {
		timeChannel, hasClock := clocks[r.places[i].group]

		channel := &r.info.Channels[i]
		if !hasClock || channel.Samples != r.info.Channels[timeChannel].Samples {
			continue
		}

		if channel.RateHz != 0 {
			if i != timeChannel && !compared[timeChannel] {
				r.Warn(clock.Contradiction(r, i, timeChannel)...)
				compared[timeChannel] = true
			}

			continue
		}

		if _, known := rates[timeChannel]; !known {
			rates[timeChannel], err = r.clockRate(timeChannel, options.Text.Time != "")
			if err != nil {
				return err
			}
		}

		channel.RateHz = rates[timeChannel]
	}

	for _, timeChannel := range clocks {
		clock.Mark(&r.info.Channels[timeChannel])
	}

	return nil
}

// clocks returns the number of the channel that contains the time, by group. If the options name the channel, it is the
// only one.
func (r *Reader) clocks(options ingest.Options) (map[string]int, error) {
	clocks := map[string]int{}
	if options.Text.Time != "" {
		c, err := ingest.FindChannel(r.info, options.Text.Time)
		if err != nil {
			return nil, err
		}

		clocks[r.places[c].group] = c

		return clocks, nil
	}

	perPlane := map[int]int{} // number of channels by plane
	for _, p := range r.places {
		perPlane[p.plane]++
	}

	groups := map[string][]int{} // channels that may be a clock, by group: a clock has one channel and several samples
	for i, channel := range r.info.Channels {
		p := r.places[i]
		if perPlane[p.plane] == 1 && channel.Samples > 1 {
			groups[p.group] = append(groups[p.group], i)
		}
	}

	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if c := r.clockOf(groups[group]); c >= 0 {
			clocks[group] = c
		}
	}

	return clocks, nil
}

// clockOf returns the channel that contains the time among the given channels of a group, and −1 if there is none.
func (r *Reader) clockOf(group []int) int {
	for _, i := range group {
		channel := r.info.Channels[i]
		isAxis := channel.Role() == "coordinate" || strings.Contains(channel.Unit, " since ")
		if channel.IsTime() || isAxis && clock.IsUnit(channel.Unit) {
			return i
		}
	}

	found, warnings := clock.Find(r, group, func(c int) []string {
		last := text.LastPart(r.info.Channels[c].Name)
		return []string{last, last[strings.LastIndexByte(last, '-')+1:]} // Time of Ds01-Time
	})
	if found < 0 && r.steady(group[0]) {
		return group[0]
	}

	r.Warn(warnings...)

	return found
}

// steadySamples is the number of samples by which steady recognises a clock, and steadyTolerance the largest deviation
// of a step from the period, in periods.
const (
	steadySamples   = 256
	steadyTolerance = 0.05
)

// steady reports whether a channel with a known rate is the first of its group and ascends by its period from sample to
// sample. Such a channel is the time even if its name does not say so (docs/method.md#layouts-of-published-files: in
// the group Table1 the first dataset is the time).
func (r *Reader) steady(c int) bool {
	ch := r.info.Channels[c]
	isFirst := c == 0 || r.places[c-1].group != r.places[c].group
	if ch.RateHz <= 0 || !isFirst {
		return false
	}

	times := make([]float64, min(ch.Samples, steadySamples))
	if n, err := r.Read([]int{c}, 0, [][]float64{times}); n < len(times) || err != nil {
		return false // reading the samples of the recording returns the error again
	}

	for i := 1; i < len(times); i++ {
		if math.Abs((times[i]-times[i-1])*ch.RateHz-1) > steadyTolerance {
			return false
		}
	}

	return true
}

// clockRate returns the rate in Hz that the steps of a clock give, and 0 if the clock stops or runs backwards. It adds
// warnings if the clock pauses, or if its unit is doubtful. byUser means that the user named the clock, so that its
// unit is not doubtful.
func (r *Reader) clockRate(c int, byUser bool) (float64, error) {
	read, err := clock.Read(r, c, "channel")
	if err != nil {
		return 0, err
	}

	if read.Doubt != "" && !byUser {
		r.Warn(ingest.Warning{Code: "clock-unit", Text: read.Doubt})
	}

	if read.Gaps {
		r.Warn(ingest.Warn("", "clock-gaps",
			"channel %s: its ends give %s Hz, its first steps %s Hz: the recording pauses or changes its rate; "+
				"%[3]s Hz is used", r.info.Channels[c].Name, fault.Digits(read.EndsHz, 4), fault.Digits(read.RateHz, 4)))
	}

	return read.RateHz, nil
}
