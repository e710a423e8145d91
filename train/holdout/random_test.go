package holdout

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// grid has ten conditions of two inputs, three rows each.
func grid() columns {
	c := columns{"rpm": nil, "blades": nil}
	for row := range 30 {
		c["rpm"] = append(c["rpm"], 1000.5*float64(row%5))
		c["blades"] = append(c["blades"], float64(2+row%10/5))
	}

	return c
}

// heldConditions lists the conditions of a grid that are held out, each with its three rows.
func heldConditions(t *testing.T, h Holdout, c columns) []string {
	t.Helper()

	held, err := h.Held(c)
	require.NoError(t, err)

	rows := map[string]int{}
	for i, isHeld := range held {
		if isHeld {
			rows[fmt.Sprint(c["rpm"][i], c["blades"][i])]++
		}
	}

	for name, n := range rows {
		assert.Equal(t, 3, n, "rows of %s that are held out by %s", name, h)
	}

	return slices.Sorted(maps.Keys(rows))
}

// A share of the conditions is held out with all of their rows. Another split draws others, rows in another order draw
// the same.
func TestRandom(t *testing.T) {
	data := grid()
	inputs := []string{"rpm", "blades"}

	for _, c := range []struct {
		share float64
		n     int
	}{{0.01, 1}, {0.2, 2}, {0.25, 3}, {0.9, 9}} {
		h, err := Of(Random, c.share)
		require.NoError(t, err)

		first := heldConditions(t, For(h, "a", inputs), data)
		assert.Len(t, first, c.n, "a share of %g of 10 conditions", c.share)

		turned := columns{"rpm": slices.Clone(data["rpm"]), "blades": slices.Clone(data["blades"])}
		slices.Reverse(turned["rpm"])
		slices.Reverse(turned["blades"])

		assert.Equal(t, first, heldConditions(t, For(h, "a", inputs), turned), "a share of %g of turned rows", c.share)
	}

	h, err := Of(Random, 0.2)
	require.NoError(t, err)

	draws := map[string]bool{}
	for k := range 20 {
		draws[strings.Join(heldConditions(t, For(h, fmt.Sprint("split ", k), inputs), data), ";")] = true
	}

	assert.GreaterOrEqual(t, len(draws), 10, "different pairs, of 45, that 20 splits draw")
}

// A share of some conditions is rounded up. Fractions of whole numbers give the expected number of conditions: 7 of 100
// for 0.07, although 0.07·100 is above 7 in float64.
func TestDrawRoundsUp(t *testing.T) {
	for _, n := range []int{1, 5, 25, 50, 100, 997} {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}

		for hundredths := 1; hundredths < 100; hundredths++ {
			want := (hundredths*n + 99) / 100
			share := float64(hundredths) / 100
			assert.Len(t, draw("s", names, share), want, "a share of %g of %d", share, n)
		}
	}
}

// −0 and 0 are one condition, which is held out or not for every split.
func TestRandomOfZeros(t *testing.T) {
	for k := range 20 {
		h, err := Of(Random, 0.3)
		require.NoError(t, err)

		held, err := For(h, fmt.Sprint("s", k), []string{"a"}).Held(columns{"a": {0, math.Copysign(0, -1), 1, 2, 3}})
		require.NoError(t, err)
		assert.Equal(t, held[0], held[1], "split s%d", k)
	}
}

// With other conditions it is a share of all conditions, of which those that the others
// hold out too are held out.
func TestRandomAndOthers(t *testing.T) {
	both, err := Parse("random=0.5; blades=2")
	require.NoError(t, err)

	both = For(both, "s", []string{"rpm", "blades"})
	assert.Equal(t, "a random share of 0.5 of the conditions, drawn for s and blades = 2", both.String())
	assert.Empty(t, both.Group())

	data := grid()
	held, err := both.Held(data)
	require.NoError(t, err)

	assert.Contains(t, held, true, "rows that are held out")
	for i, isHeld := range held {
		if isHeld {
			assert.Equal(t, 2.0, data["blades"][i], "blades of row %d, which is held out", i)
		}
	}

	_, err = both.Held(columns{"rpm": {1, 2}})
	assert.ErrorContains(t, err, "blades", "an input that no row has")

	for _, bad := range []string{"random=0", "random=1", "random=-0.1", "random=0.1,0.2"} {
		_, err := Parse(bad)
		assert.ErrorContains(t, err, "expected one share of the conditions")
	}
}
