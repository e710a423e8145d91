package text

import (
	"strings"
	"testing"

	"doubletake/ingest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMidnight reads times of the day that go on over midnight, and siblings that must not: a rate is expected if a
// person would say that the recording goes on. Times are expected in s since the first midnight.
func TestMidnight(t *testing.T) {
	for _, c := range []struct {
		name   string
		times  []string
		rate   float64 // 0: the column is not a clock
		second float64 // the last time
	}{
		{"seconds", []string{"23:59:58", "23:59:59", "00:00:00", "00:00:01"}, 1, 86401},
		{"first sample at midnight", []string{"00:00:00", "00:00:01", "00:00:02"}, 1, 2},
		{"last sample at midnight", []string{"23:59:58", "23:59:59", "00:00:00"}, 1, 86400},
		{"without leading zeros", []string{"23:59:58", "23:59:59", "0:00:00", "0:00:01"}, 1, 86401},
		{"tenths", []string{"23:59:59.8", "23:59:59.9", "00:00:00.0", "00:00:00.1"}, 10, 86400.1},
		{"milliseconds", []string{"23:59:59.998", "23:59:59.999", "00:00:00.000", "00:00:00.001"}, 1000, 86400.001},
		{"steps of 10 s", []string{"23:59:40", "23:59:50", "00:00:00", "00:00:10"}, 0.1, 86410},
		{"steps of a minute", []string{"23:58:00", "23:59:00", "00:00:00", "00:01:00"}, 1. / 60, 86460},
		{"steps of half an hour", []string{"23:00:00", "23:30:00", "00:00:00", "00:30:00"}, 1. / 1800, 88200},
		{"step over midnight", []string{"23:59:57", "23:59:59", "00:00:01", "00:00:03"}, 0.5, 86403},
		{"half a day", []string{"11:59:59 PM", "12:00:00 AM", "12:00:01 AM"}, 1, 86401},
		{"noon", []string{"11:59:59 AM", "12:00:00 PM", "12:00:01 PM"}, 1, 43201},
		{"half a day with tenths", []string{"11:59:59.9 PM", "12:00:00.0 AM", "12:00:00.1 AM"}, 10, 86400.1},
		{
			"with dates",
			[]string{"2024-05-01 23:59:59", "2024-05-02 00:00:00", "2024-05-02 00:00:01"},
			1,
			(31+29+31+30+1)*86400 + 1,
		},
		{
			"with dates of ISO 8601",
			[]string{"2024-05-01T23:59:59Z", "2024-05-02T00:00:00Z", "2024-05-02T00:00:01Z"},
			1,
			(31+29+31+30+1)*86400 + 1,
		},
		{
			"with German dates",
			[]string{"01.05.2024 23:59:59", "02.05.2024 00:00:00", "02.05.2024 00:00:01"},
			1,
			(31+29+31+30+1)*86400 + 1,
		},
		{
			"end of a month",
			[]string{"2023-02-28 23:59:59", "2023-03-01 00:00:00", "2023-03-01 00:00:01"},
			1,
			(31+28)*86400 + 1,
		},
		{"the clock is set back", []string{"12:00:02", "12:00:01", "12:00:03"}, 0, 0},
		{"the clock is set back by an hour", []string{"03:00:00", "03:00:01", "02:00:02", "02:00:03"}, 0, 0},
		{"a gap over midnight", []string{"22:00:00", "22:00:01", "00:30:00", "00:30:01"}, 0, 0},
		{"a time twice", []string{"23:59:59", "23:59:59", "00:00:00"}, 0, 0},
		{"two midnights", []string{"23:30:00", "00:15:00", "23:45:00", "00:10:00"}, 0, 0},
	} {
		text := "Time,F\n"
		for _, cell := range c.times {
			text += cell + ",1\n"
		}

		r, err := openString(text, ingest.Options{})
		require.NoError(t, err, "%s", c.name)

		channels := r.Info().Channels
		if c.rate == 0 {
			assert.Equal(t, "F", strings.Join(r.Info().Names(), " "), "%s: no clock", c.name)
			assert.Zero(t, channels[0].RateHz, "%s", c.name)

			continue
		}

		require.Len(t, channels, 2, "%s", c.name)
		assert.InEpsilon(t, c.rate, channels[1].RateHz, 1e-6, "%s: rate", c.name)

		times := make([]float64, len(c.times))
		_, err = r.Read([]int{0}, 0, [][]float64{times})
		require.NoError(t, err, "%s", c.name)
		assert.InDelta(t, c.second, times[len(times)-1], 1e-6, "%s: the last time", c.name)
	}
}
