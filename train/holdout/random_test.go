package holdout

import (
	"fmt"
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

// A share of the conditions is held out with all of their rows. Another split draws
// others, rows in another order draw the same.
func TestRandom(t *testing.T) {
	data := grid()
	inputs := []string{"rpm", "blades"}
	conditions := func(h Holdout, c columns) (out []string) {
		held, err := h.Held(c)
		require.NoError(t, err)

		rows := map[string]int{}
		for i, is := range held {
			if is {
				rows[fmt.Sprint(c["rpm"][i], c["blades"][i])]++
			}
		}

		for name, n := range rows {
			if out = append(out, name); n != 3 {
				t.Errorf("%s: %d of 3 rows of %s are held out", h, n, name)
			}
		}

		slices.Sort(out)

		return out
	}

	draws := map[string]bool{}

	for _, c := range []struct {
		share float64
		n     int
	}{{0.01, 1}, {0.2, 2}, {0.25, 3}, {0.9, 9}} {
		h, err := Of(Random, c.share)
		require.NoError(t, err)

		first := conditions(For(h, "a", inputs), data)
		assert.Len(t, first, c.n, "%g: of 10 conditions", c.share)

		turned := columns{"rpm": slices.Clone(data["rpm"]), "blades": slices.Clone(data["blades"])}
		slices.Reverse(turned["rpm"])
		slices.Reverse(turned["blades"])

		assert.Equal(t, first, conditions(For(h, "a", inputs), turned), "%g: of the rows in another order", c.share)
	}

	h, _ := Of(Random, 0.2)
	for k := range 20 {
		draws[strings.Join(conditions(For(h, fmt.Sprint("split ", k), inputs), data), ";")] = true
	}

	assert.GreaterOrEqual(t, len(draws), 10, "20 splits draw %d different pairs of conditions of 45", len(draws))
}

// With other conditions it is a share of all conditions, of which those that the others
// hold out too are held out.
func TestRandomAndOthers(t *testing.T) {
	both, err := Parse("random=0.5; blades=2")
	require.NoError(t, err)

	both = For(both, "s", []string{"rpm", "blades"})
	if want := "a random share of 0.5 of the conditions, drawn for s and blades = 2"; both.String() != want {
		t.Errorf("%s, expected %s", both, want)
	}

	data := grid()
	held, err := both.Held(data)
	require.NoError(t, err)
	assert.Empty(t, both.Group(), "%v, group %q", err, both.Group())

	for i, is := range held {
		assert.False(t, is && data["blades"][i] != 2, "row %d of 3 blades is held out", i)
	}

	if _, err := both.Held(columns{"rpm": {1, 2}}); err == nil {
		t.Error("an input that no row has")
	}

	for _, bad := range []string{"random=0", "random=1", "random=-0.1", "random=0.1,0.2"} {
		_, err := Parse(bad)
		assert.ErrorContains(t, err, "expected one share of the conditions")
	}
}
