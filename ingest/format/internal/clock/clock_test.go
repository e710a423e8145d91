package clock_test

import (
	"fmt"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/ingesttest"
)

// A recording in two parts: the rate is that of the steps, not of the ends.
func ExampleRead() {
	r := ingesttest.NewMemory([]float64{0, 10, 20, 5000, 5010, 5020})
	r.Header.Channels[0].Unit = "ms"
	t, err := clock.Read(r, 0, "channel")
	fmt.Printf("%g Hz, by its ends %.3g Hz, gaps %t, %v\n", t.RateHz, t.EndsHz, t.Gaps, err)
	// Output: 100 Hz, by its ends 0.996 Hz, gaps true, <nil>
}

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
		if fmt.Sprintf("%g %v", got.RateHz, err) != c.want {
			t.Errorf("%v in %q: %g %v, expected %s", c.t, c.unit, got.RateHz, err, c.want)
		}
	}
}

// Whole numbers without a unit are doubtful unless several are in a second.
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
		if got, err := clock.Read(r, 0, "column"); err != nil || (got.Doubt != "") != c.want {
			t.Errorf("%v in %q: %q, %v", c.t, c.unit, got.Doubt, err)
		}
	}

	for hz, want := range map[float64]int{0: 0, 0.001: 1, 0.1: 0, 1e7: 0, 1.1e7: 1} {
		if w := clock.Odd("m", "channel 1", hz); len(w) != want {
			t.Errorf("%g Hz: %v", hz, w)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		name, unit string
		want       bool
	}{{"Time", "s", true}, {"t", "", true}, {"Zeit", "ms", true}, {"time", "N", false}, {"Fx", "s", false}} {
		if got := clock.Named(c.name, c.unit); got != c.want {
			t.Errorf("%s in %q: %t", c.name, c.unit, got)
		}
	}

	c := ingest.Channel{Name: "t"}
	if clock.Mark(&c); !c.IsTime() || c.Unit != "s" {
		t.Errorf("%+v", c)
	}
}
