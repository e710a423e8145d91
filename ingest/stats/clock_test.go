package stats

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// Expected: the warning about a column of time whose steps differ from their mean by more than maxJitter, 5 %, or are
// not positive.
func TestClockWarnings(t *testing.T) {
	for _, c := range []struct{ name, table, want string }{
		{"even steps", "t,F\n0,1\n1,2\n2,3\n3,4\n", ""},
		{"a step longer by 4 %", "t,F\n0,1\n1,2\n2.04,3\n3,4\n", ""},
		{"a step longer by 20 %", "t,F\n0,1\n1,2\n2.2,3\n3,4\n", "jittered-clock"},
		{"a step of 9 ms and a mean of 10 ms", "t (ms),F\n0,1\n9,2\n20,3\n30,4\n", "jittered-clock"},
		{"a step back", "time,F\n0,1\n2,2\n1,3\n3,4\n", "clock-backwards"},
		{"a step of 0", "time,F\n0,1\n1,2\n1,3\n3,4\n", "clock-backwards"},
		{"the same numbers in a column of forces", "F,G\n0,1\n1,2\n1,3\n3,4\n", ""},
	} {
		r, err := openText(c.table)
		require.NoError(t, err, c.name)

		_, w, err := Scan(context.Background(), r, ingest.Run{Row1: -1})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, ingesttest.Codes(w), c.name)
	}
}

// By hand: the steps are 1, 1 and −1. No step leads to a cell without a time, or from it.
func TestStepRange(t *testing.T) {
	var steps stepRange
	steps.add([]float64{0, 1, 2, math.NaN(), 4, 3})

	assert.Equal(t, int64(3), steps.n, "steps")
	assert.InDelta(t, -1, steps.min, 0, "smallest step")
	assert.InDelta(t, 1, steps.max, 0, "largest step")
	assert.InDelta(t, 1, steps.sum, 0, "sum")
}
