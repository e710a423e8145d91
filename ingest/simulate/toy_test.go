package simulate

import (
	"context"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// toyRows returns the rows of a campaign's table: x, y_1 and y_2.
func toyRows(t *testing.T, toy Toy) [][3]float64 {
	t.Helper()

	lines := strings.Split(strings.TrimSuffix(string(record(t, toy, 0)), "\n"), "\n")
	require.Equal(t, "x,y_1,y_2", lines[0])

	var rows [][3]float64
	for _, line := range lines[1:] {
		cells := strings.Split(line, ",")
		require.Len(t, cells, 3, "cells of %q", line)

		var row [3]float64
		for i, cell := range cells {
			v, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)

			row[i] = v
		}

		rows = append(rows, row)
	}

	return rows
}

// Expected: x is uniform in −6…6. At x, y_1 and y_2 are independent normal variables with the mean x·sin x and the
// deviation γ·exp(−x²/2) (docs/method.md#synthetic-data-and-couples). So the mean of their standardised values and of
// their product is 0, and the variance is 1, each within four standard errors. The seed is fixed: the test gives the
// same result each time.
func TestToyLaw(t *testing.T) {
	const (
		n     = 20000
		gamma = 3
	)
	toy := with(DefaultToy(), func(t *Toy) {
		t.N = n
		t.Gamma = gamma
		t.Seed = 4
	})
	rows := toyRows(t, toy)
	require.Len(t, rows, n)

	var sum1, sum2, product, square1, square2 float64
	count := 0.0
	xs := make([]float64, n)
	for i, row := range rows {
		x := row[0]
		xs[i] = x

		// Beyond 5 the deviation is below 1e-5, and rounding would add to the standardised values.
		if math.Abs(x) > 5 {
			continue
		}

		mean := x * math.Sin(x)
		sigma := gamma * math.Exp(-x*x/2)
		z1 := (row[1] - mean) / sigma
		z2 := (row[2] - mean) / sigma
		count++
		sum1 += z1
		sum2 += z2
		product += z1 * z2
		square1 += z1 * z1
		square2 += z2 * z2
	}

	// The standard deviations of z and of z1·z2 are 1, and the standard deviation of z² is √2.
	se := 1 / math.Sqrt(count)
	assert.InDelta(t, 0, sum1/count, 4*se, "mean of y_1")
	assert.InDelta(t, 0, sum2/count, 4*se, "mean of y_2")
	assert.InDelta(t, 0, product/count, 4*se, "mean product of y_1 and y_2")
	assert.InDelta(t, 1, square1/count, 4*math.Sqrt2*se, "variance of y_1")
	assert.InDelta(t, 1, square2/count, 4*math.Sqrt2*se, "variance of y_2")

	slices.Sort(xs)
	assert.GreaterOrEqual(t, xs[0], -6.0, "least x")
	assert.LessOrEqual(t, xs[n-1], 6.0, "largest x")

	uniform := func(x float64) float64 { return (x + 6) / 12 }
	assert.LessOrEqual(t, kolmogorovDistance(xs, uniform), kolmogorovBound(n), "distance of x from uniform")
}

// A campaign without rows, without noise, or with an empty, reversed or infinite range of x is refused by Validate and
// by Write.
func TestToyLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(t *Toy)
	}{
		{"no rows", func(t *Toy) { t.N = 0 }},
		{"no noise", func(t *Toy) { t.Gamma = 0 }},
		{"noise that is not a number", func(t *Toy) { t.Gamma = math.NaN() }},
		{"an empty range", func(t *Toy) { t.Lo = t.Hi }},
		{"a reversed range", func(t *Toy) {
			t.Lo = 2
			t.Hi = -2
		}},
		{"an infinite range", func(t *Toy) { t.Lo = math.Inf(-1) }},
	} {
		bad := with(DefaultToy(), c.edit)
		assert.Error(t, bad.Validate(), c.name)
		assert.Error(t, bad.Write(context.Background(), io.Discard, 0), c.name)
	}
}
