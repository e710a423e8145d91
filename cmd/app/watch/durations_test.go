package watch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// No duration is written as 0, or with an exponent. Expected texts are rounded by hand.
func TestSeconds(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "less than 0.001 s", 0.00001: "less than 0.001 s", 0.00123: "0.0012 s", 0.123: "0.12 s", 1.6: "1.6 s",
		9.96: "10 s", 14.4: "14 s", 99.4: "99 s", 150: "3 min", 5999: "1 h 40 min", 11000: "3 h 3 min", 1e6: "277 h 47 min",
	} {
		assert.Equal(t, want, Seconds(seconds), "%g s", seconds)
	}
}

// An estimate that would be rounded to zero is an upper bound. Expected texts are rounded by hand.
func TestAbout(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "less than 1 s", 0.999: "less than 1 s", 1: "about 1 s", 14.4: "about 14 s", 150: "about 3 min",
	} {
		assert.Equal(t, want, About(Words(time.Duration(seconds*float64(time.Second)))), "%g s", seconds)
	}

	assert.Equal(t, "less than 0.001 s", About(Seconds(0)))
	assert.Equal(t, "about 0.12 s", About(Seconds(0.123)))
}

// Slow tasks have a rate that is not rounded to zero. Expected texts by hand.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		tasks   int
		seconds float64
		want    string
	}{
		{25, 10, "2.5 tasks/s"},
		{10, 10, "1.0 tasks/s"},
		{1, 10, "6.0 tasks/min"},
		{3, 3600, "3.0 tasks/h"},
		{1, 43200, "0.1 tasks/h"},
	} {
		in := time.Duration(c.seconds * float64(time.Second))
		assert.Equal(t, c.want, Rate(c.tasks, in), "%d tasks in %v", c.tasks, in)
	}
}
