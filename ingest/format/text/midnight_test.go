package text

import (
	"strings"
	"testing"
	"time"

	"doubletake/ingest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMidnight reads times of the day that go on over midnight, and siblings that must not: a rate is expected if a
// person would say that the recording goes on. Times are expected in s since the first midnight. Times with dates are
// expected in s since the beginning of the first time's year.
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
		{
			"end of a year",
			[]string{"2023-12-31 23:59:58", "2023-12-31 23:59:59", "2024-01-01 00:00:00", "2024-01-01 00:00:01"},
			1,
			365*86400 + 1,
		},
		{
			"end of a year of ISO 8601, in the time of Berlin",
			[]string{"2023-12-31T23:59:59+01:00", "2024-01-01T00:00:00+01:00", "2024-01-01T00:00:01+01:00"},
			1,
			365*86400 + 1 - 3600,
		},
		{
			"day before month",
			[]string{"05/06/2024 23:59:58", "05/06/2024 23:59:59", "06/06/2024 00:00:00", "06/06/2024 00:00:01"},
			1,
			(31+29+31+30+31+5)*86400 + 1,
		},
		{
			"month before day",
			[]string{"05/06/2024 23:59:58", "05/06/2024 23:59:59", "05/07/2024 00:00:00", "05/07/2024 00:00:01"},
			1,
			(31+29+31+30+6)*86400 + 1,
		},
		{
			"day before month at the end of a year",
			[]string{"31/12/2023 23:59:58", "31/12/2023 23:59:59", "01/01/2024 00:00:00", "01/01/2024 00:00:01"},
			1,
			365*86400 + 1,
		},
		{"midnight in the time of Berlin", []string{"23:59:59+01:00", "00:00:00+01:00", "00:00:01+01:00"}, 1, 86401},
		{
			"a gap over midnight in the time of Berlin",
			[]string{"00:30:00+01:00", "00:30:01+01:00", "00:10:00+01:00", "00:10:01+01:00"},
			0,
			0,
		},
		{"dates that go back by a day", []string{"2024-05-02 00:00:00", "2024-05-01 00:00:01", "2024-05-01 00:00:02"}, 0, 0},
		{"the clock is set back", []string{"12:00:02", "12:00:01", "12:00:03"}, 0, 0},
		{"the clock is set back by an hour", []string{"03:00:00", "03:00:01", "02:00:02", "02:00:03"}, 0, 0},
		{"a gap over midnight", []string{"22:00:00", "22:00:01", "00:30:00", "00:30:01"}, 0, 0},
		{"a time twice", []string{"23:59:59", "23:59:59", "00:00:00"}, 0, 0},
		{"two midnights", []string{"23:30:00", "00:15:00", "23:45:00", "00:10:00"}, 0, 0},
	} {
		r := openTimes(t, c.name, c.times)

		channels := r.Info().Channels
		if c.rate == 0 {
			assert.Equal(t, "F", strings.Join(r.Info().Names(), " "), "%s: no clock", c.name)
			assert.Zero(t, channels[0].RateHz, "%s", c.name)

			continue
		}

		require.Len(t, channels, 2, "%s", c.name)
		assert.InEpsilon(t, c.rate, channels[1].RateHz, 1e-6, "%s: rate", c.name)

		times := make([]float64, len(c.times))
		_, err := r.Read([]int{0}, 0, [][]float64{times})
		require.NoError(t, err, "%s", c.name)
		assert.InDelta(t, c.second, times[len(times)-1], 1e-6, "%s: the last time", c.name)
	}
}

// openTimes opens a text with a column of times and a column of numbers.
func openTimes(t *testing.T, name string, times []string) ingest.Reader {
	t.Helper()
	var text strings.Builder
	text.WriteString("Time,F\n")
	for _, cell := range times {
		text.WriteString(cell + ",1\n")
	}

	r, err := openString(text.String(), ingest.Options{})
	require.NoError(t, err, "%s", name)

	return r
}

// The midnight of a recording of 20,000 s at 1 Hz lies behind the rows from which the layout is found. By hand: the
// seconds since the beginning of the first time's year are the days before it and the time of the day, and the last
// time is 19,999 s later. Package time writes the cells.
func TestMidnightBehindTheSample(t *testing.T) {
	const rows = 20000
	for _, c := range []struct {
		name, layout string
		first        time.Time
		want         float64 // the first time
	}{
		{"end of a year", time.DateTime, time.Date(2023, 12, 31, 23, 0, 0, 0, time.UTC), 364*86400 + 23*3600},
		{
			"day before month, a day that is no month", "02/01/2006 15:04:05",
			time.Date(2024, 6, 12, 23, 0, 0, 0, time.UTC), (152+11)*86400 + 23*3600,
		},
		{
			"day before month, a day that may be a month", "02/01/2006 15:04:05",
			time.Date(2024, 6, 5, 23, 0, 0, 0, time.UTC), (152+4)*86400 + 23*3600,
		},
		{
			"day before month, at the end of a month", "02/01/2006 15:04:05",
			time.Date(2024, 4, 30, 23, 0, 0, 0, time.UTC), 120*86400 + 23*3600,
		},
		{
			"month before day, a day that is no month", "01/02/2006 15:04:05",
			time.Date(2024, 6, 12, 23, 0, 0, 0, time.UTC), (152+11)*86400 + 23*3600,
		},
		{
			"month before day, a day that may be a month", "01/02/2006 03:04:05 PM",
			time.Date(2024, 6, 5, 23, 0, 0, 0, time.UTC), (152+4)*86400 + 23*3600,
		},
	} {
		times := make([]string, rows)
		for i := range times {
			times[i] = c.first.Add(time.Duration(i) * time.Second).Format(c.layout)
		}

		r := openTimes(t, c.name, times)
		channels := r.Info().Channels
		require.Len(t, channels, 2, c.name)
		assert.InEpsilon(t, 1, channels[1].RateHz, 1e-9, c.name)
		assert.Empty(t, r.Info().Warnings, c.name)

		read := make([]float64, rows)
		_, err := r.Read([]int{0}, 0, [][]float64{read})
		require.NoError(t, err, c.name)
		assert.Equal(t, []float64{c.want, c.want + rows - 1}, []float64{read[0], read[rows-1]}, c.name)
	}
}

// The error of a cell that is not a time shows a time of the column.
func TestCellThatIsNoTime(t *testing.T) {
	times := make([]string, 3000) // opening reads the first 1024 and the last
	for i := range times {
		times[i] = time.Date(2024, 5, 1, 12, 0, i, 0, time.UTC).Format(time.DateTime)
	}
	times[2000] = "2024-13-01 12:05:00"

	r := openTimes(t, "a month 13", times)
	_, err := r.Read([]int{0}, 0, [][]float64{make([]float64, len(times))})
	assert.ErrorContains(t, err, `line 2002, column 1 (Time): expected a time in the form of 2024-05-01 12:00:00, found `+
		`"2024-13-01 12:05:00"`)
}
