package text

import (
	"fmt"
	"strings"
	"testing"

	"doubletake/ingest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whole numbers without a unit are seconds, unless a rate of the header or of the user shows that they are ms or µs.
// Expected, by hand: a step of 1 is 1 Hz in s, 1000 Hz in ms and 1 MHz in µs. With the pause 6 steps take 5002 ms:
// 6/5.002 s = 1.1995 Hz. A rate of 1015 Hz is within the 2 % by which steps of rounded times may be off.
func TestWholeTimes(t *testing.T) {
	steps := rows(9, xy)
	paused := "0,1\n1,2\n2,3\n3,4\n5000,5\n5001,6\n5002,7\n"
	const pause = "column time: 7 rows in 5.002 s are 1.2 Hz, but steps at the beginning are of "
	for _, c := range []struct {
		name, text string
		userHz     float64
		unit       string
		rateHz     float64
		warning    string
	}{
		{"no rate", "time,F\n" + steps, 0, "s", 1, "column time holds whole numbers and states no unit"},
		{"rate of the user in s", "time,F\n" + steps, 1, "s", 1, ""},
		{"rate of the user in ms", "time,F\n" + steps, 1000, "ms", 1000, ""},
		{"rate of the user in µs", "time,F\n" + steps, 1e6, "us", 1e6, ""},
		{"rate of the header in ms", "# fs = 1000 Hz\ntime,F\n" + steps, 0, "ms", 1000, ""},
		{"rate of the header in µs", "# fs = 1000 kHz\ntime,F\n" + steps, 0, "us", 1e6, ""},
		{"rate of both", "# fs = 1000 Hz\ntime,F\n" + steps, 1000, "ms", 1000, ""},
		{"rate that rounding hides", "time,F\n" + steps, 1015, "ms", 1015, ""},
		{"pause, rate of the user", "time,F\n" + paused, 1000, "ms", 1000, pause},
		{"pause, rate of the header", "# fs = 1000 Hz\ntime,F\n" + paused, 0, "ms", 1000, pause},
	} {
		r, err := openString(c.text, ingest.Options{RateHz: c.userHz})
		require.NoError(t, err, c.name)

		info := r.Info()
		assert.Equal(t, c.unit, info.Channels[0].Unit, c.name)
		for _, ch := range info.Channels {
			assert.InEpsilon(t, c.rateHz, ch.RateHz, 1e-12, "%s: rate of %s", c.name, ch.Name)
		}

		if c.warning == "" {
			assert.Empty(t, info.Warnings, c.name)
			continue
		}

		require.Len(t, info.Warnings, 1, c.name)
		assert.Contains(t, info.Warnings[0].Text, c.warning, c.name)
		if c.warning == pause {
			assert.True(t, strings.HasSuffix(info.Warnings[0].Text, "; 1000 Hz is used"), info.Warnings[0].Text)
		}
	}

	for text, userHz := range map[string]float64{"time (s),F\n" + steps: 1000, "time,F\n" + steps: 500} {
		_, err := openString(text, ingest.Options{RateHz: userHz})
		require.ErrorContains(t, err, "found 1 Hz", "a rate that no unit explains")
	}
}

// If the header states a rate, the first column is looked at as a clock. Expected: a column that is not the time keeps
// its unit, although its counts are days of this century for a spreadsheet.
func TestCountsAreNotDays(t *testing.T) {
	for name, first := range map[string][]float64{
		"up":      {40000, 40003, 39998, 40001, 40002},
		"down":    {40002, 40003, 39998, 40001, 40000},
		"round":   {50000, 50001, 50000, 50001, 50000},
		"by days": {1, 2, 4, 6, 1 + 4*5.0/86400},
	} {
		text := "fs = 1000 Hz\ncounts,force\n"
		for i, v := range first {
			text += fmt.Sprintf("%v,%d\n", v, i*i)
		}

		r, err := openString(text, ingest.Options{})
		require.NoError(t, err, name)

		channel := r.Info().Channels[0]
		assert.Empty(t, channel.Unit, name)
		assert.False(t, channel.IsTime(), name)
		assert.Equal(t, 1000.0, channel.RateHz, name)
	}
}
