package clock_test

import (
	"fmt"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rate of a recording with a pause is the rate of its first steps, not of its ends.
func ExampleRead() {
	r := ingesttest.NewMemory([]float64{0, 10, 20, 5000, 5010, 5020})
	r.Header.Channels[0].Unit = "ms"
	t, err := clock.Read(r, 0, "channel")
	fmt.Printf("%g Hz, by its ends %.3g Hz, gaps %t, %v\n", t.RateHz, t.EndsHz, t.Gaps, err)
	// Output: 100 Hz, by its ends 0.996 Hz, gaps true, <nil>
}

// The rate is the inverse of the step of the time, and 0 if there is no step forwards. Another unit is an error.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		unit string
		t    []float64
		want string
	}{
		{"s", []float64{0, 0.25, 0.5}, "4 <nil>"},
		{"", []float64{0, 0.25, 0.5}, "4 <nil>"},
		{"seconds since 2026-11-22 06:00:00", []float64{0, 0.25, 0.5}, "4 <nil>"},
		{"min", []float64{0, 1}, "0.016666666666666666 <nil>"},
		{"s", []float64{1}, "0 <nil>"},
		{"s", []float64{2, 1}, "0 <nil>"},
		{"s", []float64{1, 1}, "0 <nil>"},
		{"N", []float64{0, 1}, `0 m: column 1: expected a unit of time, found "N"`},
	} {
		r := ingesttest.NewMemory(c.t)
		r.Header.Channels[0].Unit = c.unit
		got, err := clock.Read(r, 0, "column")
		assert.Equal(t, c.want, fmt.Sprintf("%g %v", got.RateHz, err), "rate and error of %v in %q", c.t, c.unit)
	}
}

// The unit of whole numbers without a unit is doubtful if their steps are 1 or larger.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		unit string
		t    []float64
		want bool
	}{
		{"", []float64{0, 1, 2}, true},
		{"s", []float64{0, 1, 2}, false},
		{"", []float64{0, 1.5, 3}, false},
		{"", []float64{1, 1, 1, 2}, false},
	} {
		r := ingesttest.NewMemory(c.t)
		r.Header.Channels[0].Unit = c.unit
		got, err := clock.Read(r, 0, "column")
		require.NoError(t, err, "%v in %q", c.t, c.unit)
		assert.Equal(t, c.want, got.Doubt != "", "%v in %q is doubtful: %s", c.t, c.unit, got.Doubt)
	}
}

// A rate outside 0.1 Hz to 10 MHz is implausible. An unknown rate is not.
func TestOdd(t *testing.T) {
	for hz, want := range map[float64]int{0: 0, 0.001: 1, 0.1: 0, 1e7: 0, 1.1e7: 1} {
		assert.Len(t, clock.Odd("m", "channel 1", hz), want, "warnings about %g Hz", hz)
	}
}

// The expected units are what a person reads in these names.
func TestNamed(t *testing.T) {
	for _, c := range []struct{ name, unit, want string }{
		{"Time", "s", "s"},
		{"t", "", ""},
		{"Zeit", "ms", "ms"},
		{"time", "N", "no"},
		{"Fx", "s", "no"},
		{"TIME(S)", "", "s"},
		{"Zeit  1 - Rate", "Sek.", "Sek."},
		// Names that state the unit.
		{"time_ms", "", "ms"},
		{"timestamp_us", "", "us"},
		{"millis", "", "ms"},
		{"t_ms", "", "ms"},
		{"usec", "", "us"},
		{"seconds", "", "s"},
		{"Second", "", "s"},
		{"elapsed-ns", "", "ns"},
		{"Time.sec", "", "sec"},
		{"Elapsed_Time_h", "", "h"},
		{"time_ms", "s", "s"},
		{"time_min", "", "min"},
		{"Time Stamp", "us", "us"},
		{"msec", "", "ms"},
		{"micros", "", "us"},
		// Names and units of other channels.
		{"T", "", "no"},
		{"T", "s", "no"},
		{"T_s", "", "no"},
		{"t_min", "", "no"},
		{"t_max", "", "no"},
		{"time_step", "", "no"},
		{"x", "", "no"},
		{"s", "", "no"},
		{"h", "", "no"},
		{"runtime", "", "no"},
		{"min", "", "no"},
		{"_ms", "", "no"},
		// Axes of oscilloscopes.
		{"x-axis", "s", "s"},
		{"Source", "s", "s"},
		{"X", "ms", "ms"},
		{"X", "m", "no"},
	} {
		got, ok := clock.Named(c.name, c.unit)
		if !ok {
			got = "no"
		}

		assert.Equal(t, c.want, got, "%s in %q", c.name, c.unit)
	}
}

// A marked channel is the time, and has the unit s if it had none.
func TestMark(t *testing.T) {
	c := ingest.Channel{Name: "t"}
	clock.Mark(&c)
	assert.True(t, c.IsTime())
	assert.Equal(t, "s", c.Unit)
}

// Numbers without a unit may show their unit: ms, µs and ns since 1970, and days of a spreadsheet (2024-04-30 is day
// 45412).
func TestUnstated(t *testing.T) {
	for _, c := range []struct {
		from, step float64
		unit       string
		hz         float64
	}{
		{0, 1e-3, "", 1000},
		{1.7e12, 2, "ms", 500},
		{1.7e15, 1000, "us", 1000},
		{1.7e9, 0.5, "", 2},
		{45412.5, 1. / 86400, "day", 1},
		{0.5, 0.1 / 86400, "day", 10},
		{45412.5, 1.7e-5, "day", 1 / (1.7e-5 * 86400)},
		{45412.5, 0.01, "", 100},
		{0, 1. / 51200, "", 51200},
		{0, 1. / 44100, "", 44100},
		{0, 1. / 48000, "", 48000},
	} {
		x := make([]float64, 100)
		for i := range x {
			x[i] = c.from + float64(i)*c.step
		}

		r := ingesttest.NewMemory(x)
		got, err := clock.Read(r, 0, "column")
		require.NoError(t, err, "%g + %g", c.from, c.step)
		assert.Equal(t, c.unit, r.Info().Channels[0].Unit, "%g + %g: unit", c.from, c.step)
		assert.InEpsilon(t, c.hz, got.RateHz, 1e-4, "%g + %g: rate", c.from, c.step)
		assert.Equal(t, c.unit == "day", got.Doubt != "", "%g + %g: doubtful", c.from, c.step)
	}
}

// A channel named by a single letter is the time if no other name is a name of time, and if its steps are even.
func TestFind(t *testing.T) {
	even := []float64{0, 1, 2, 3, 4}
	uneven := []float64{3, 1, 4, 1, 5}
	for _, c := range []struct {
		names []string
		first []float64
		want  int
		warns int
	}{
		{[]string{"t", "F"}, even, 0, 0},
		{[]string{"t", "F"}, uneven, -1, 1},
		{[]string{"T", "F"}, even, -1, 0},
		{[]string{"t", "time_ms"}, even, 1, 0},
		{[]string{"t", "millis"}, uneven, 1, 0},
		{[]string{"T", "t"}, even, 1, 0},
		{[]string{"F", "q"}, even, -1, 0},
	} {
		r := ingesttest.NewMemory(c.first, even)
		for i, n := range c.names {
			r.Header.Channels[i].Name = n
		}

		got, warns := clock.Find(r, []int{0, 1}, func(c int) []string { return []string{r.Header.Channels[c].Name} })
		require.Equal(t, c.want, got, "channel of the time among %v", c.names)
		assert.Len(t, warns, c.warns, "warnings about %v", c.names)
	}
}

// A rate that the file states may contradict the steps of its clock. Factors of 1000 do not: they show that the clock
// is in ms, µs or ns. Expected, by hand: steps of 2e-3 are 500 Hz in s, and 500 kHz in ms.
func TestContradiction(t *testing.T) {
	for hz, want := range map[float64]struct {
		warnings int
		unit     string
	}{500: {0, ""}, 505: {0, ""}, 1000: {1, ""}, 5e5: {0, "ms"}, 5e8: {0, "us"}, 5e11: {0, "ns"}} {
		r := ingesttest.NewMemory([]float64{0, 2e-3, 4e-3, 6e-3}, make([]float64, 4))
		r.Header.Channels[1].RateHz = hz
		assert.Len(t, clock.Contradiction(r, 1, 0), want.warnings, "warnings about %g Hz", hz)
		assert.Equal(t, want.unit, r.Header.Channels[0].Unit, "unit of the clock with %g Hz", hz)
	}
}
