package holdout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// columns are rows with named conditions. All columns have the same length.
type columns map[string][]float64

// Rows returns the number of rows.
func (c columns) Rows() int {
	for _, v := range c {
		return len(v)
	}

	return 0
}

// Floats returns the values of a condition. The error for an unknown condition names it.
func (c columns) Floats(condition string) ([]float64, error) {
	v, ok := c[condition]
	if !ok {
		return nil, fmt.Errorf("no column %s", condition)
	}

	return v, nil
}

// Strings returns names for the values of a condition: A for 0, B for 1, and so on.
func (c columns) Strings(condition string) ([]string, error) {
	v, ok := c[condition]
	if !ok {
		return nil, fmt.Errorf("no column %s", condition)
	}

	names := make([]string, len(v))
	for i, x := range v {
		names[i] = string(rune('A' + int(x)))
	}

	return names, nil
}

// rotor has six rows at two angles.
var rotor = columns{
	"rpm":       {1000, 1000, 2000, 3000, 4000, 5000},
	"blades":    {2, 2, 2, 3, 3, 4},
	"motor":     {0, 1, 2, 0, 1, 2}, // A, B, C
	"theta_deg": {0, 30, 0, 0, 0, 0},
}

// parsed parses the text of a holdout.
func parsed(t *testing.T, text string) Holdout {
	t.Helper()

	h, err := Parse(text)
	require.NoError(t, err)

	return h
}

// rows returns the rows of rotor that a holdout holds out, and the others.
func rows(t *testing.T, h Holdout) (held, rest []int) {
	t.Helper()

	isHeld, err := h.Held(rotor)
	require.NoError(t, err)

	for i, ok := range isHeld {
		if ok {
			held = append(held, i)
		} else {
			rest = append(rest, i)
		}
	}

	return held, rest
}

// A holdout holds out the right rows of rotor, describes itself in words, and names its condition if it has only one.
// Expected values are written by hand.
func TestHoldouts(t *testing.T) {
	for _, c := range []struct {
		holdout Holdout
		words   string
		group   string
		held    []int
	}{
		{Nothing, "nothing", "", nil},
		{Values("blades", 3), "blades = 3", "blades", []int{3, 4}},
		{Values("blades", 2, 4), "blades = 2, 4", "blades", []int{0, 1, 2, 5}},
		{Range("rpm", 3000, math.Inf(1)), "rpm ≥ 3000", "rpm", []int{3, 4, 5}},
		{Range("rpm", math.Inf(-1), 2000), "rpm ≤ 2000", "rpm", []int{0, 1, 2}},
		{Range("rpm", 2000, 3000), "2000 ≤ rpm ≤ 3000", "rpm", []int{2, 3}},
		{Near("rpm", 2500, 500), "rpm = 2500 ± 500", "rpm", []int{2, 3}},
		{Labels("motor", "B"), "motor = B", "motor", []int{1, 4}},
		{Labels("motor", "A", "C"), "motor = A, C", "motor", []int{0, 2, 3, 5}},
		{All(Labels("motor", "B"), Values("rpm", 4000)), "motor = B and rpm = 4000", "", []int{4}},
		{All(Values("blades", 3), Values("rpm", 3000)), "blades = 3 and rpm = 3000", "", []int{3}},
	} {
		held, _ := rows(t, c.holdout)
		assert.Equal(t, c.words, c.holdout.String())
		assert.Equal(t, c.group, c.holdout.Group(), "the group of %s", c.words)
		assert.Equal(t, c.held, held, "the rows of %s", c.words)
	}
}

// Within returns the tolerance of a condition, and 0 if the holdout gives no tolerance or does not name the condition.
func TestWithin(t *testing.T) {
	corner := All(Near("rpm", 2500, 500), Values("blades", 2))
	assert.Equal(t, 500.0, corner.Within("rpm"))
	assert.Equal(t, 0.0, corner.Within("blades"))
	assert.Equal(t, 0.0, corner.Within("theta_deg"))
}

// Labels returns the conditions of text that a holdout names.
func TestLabelsOfCombination(t *testing.T) {
	assert.Equal(t, []string{"motor"}, All(Labels("motor", "B"), Values("rpm", 4000)).Labels())
}

// A condition that the rows do not have is an error that names it.
func TestHeldOfUnknownCondition(t *testing.T) {
	for _, h := range []Holdout{Labels("pitch", "A"), Values("pitch", 1), All(Values("rpm", 1000), Values("pitch", 1))} {
		_, err := h.Held(rotor)
		assert.ErrorContains(t, err, "pitch")
	}
}

// Holds reports whether a holdout can hold out rows with a value of a condition. A rule about another condition can,
// for any value.
func TestHolds(t *testing.T) {
	assert.False(t, Nothing.Holds("rpm", 3000))
	assert.False(t, Values("blades", 3).Holds("blades", 2))
	assert.True(t, Values("blades", 2, 4).Holds("blades", 2))
	assert.True(t, Values("blades", 3).Holds("rpm", 3000), "another condition")
	assert.True(t, Range("rpm", 3000, math.Inf(1)).Holds("rpm", 3000), "the start of a range")
	assert.True(t, Range("rpm", 2000, 3000).Holds("rpm", 3000), "the end of a range")
	assert.False(t, Range("rpm", math.Inf(-1), 2000).Holds("rpm", 3000))
	assert.True(t, Near("rpm", 2500, 500).Holds("rpm", 3000), "the end of a tolerance")
	assert.True(t, Labels("motor", "B").Holds("rpm", 3000), "another condition")

	both := All(Values("blades", 3), Values("rpm", 3000))
	assert.False(t, both.Holds("blades", 2))
	assert.True(t, both.Holds("rpm", 3000))

	corner := All(Labels("motor", "B"), Values("rpm", 4000))
	assert.True(t, corner.Holds("blades", 2), "another condition")
	assert.False(t, corner.Holds("rpm", 3000))
	assert.True(t, corner.HoldsLabel("motor", "B"))
	assert.False(t, corner.HoldsLabel("motor", "A"))
	assert.True(t, corner.HoldsLabel("rig", "A"), "another condition")
}

// A parsed rule holds out the values that its text lists, or the range that it gives.
func TestParsedValues(t *testing.T) {
	for _, c := range []struct {
		hold string
		v    float64
		want bool
	}{
		{"x=3", 3, true},
		{"x=3", 2, false},
		{"x=2,3", 2, true},
		{"x=3000:5000", 3000, true},
		{"x=3000:5000", 5000.5, false},
		{"x=0.3", 0.1 + 0.2, true}, // a sum that is not 0.3 in binary
	} {
		assert.Equal(t, c.want, parsed(t, c.hold).Holds("x", c.v), "%s holds %g", c.hold, c.v)
	}
}

// A parsed rule describes itself in words. "a:b" is a range only if a and b are numbers.
func TestParsedWords(t *testing.T) {
	for text, want := range map[string]string{
		"blades = 2,3; rpm=3000:5000":     "blades = 2, 3 and 3000 ≤ rpm ≤ 5000",
		"propeller = APC-8x6, Gemfan 5x4": "propeller = APC-8x6, Gemfan 5x4",
		"day=10:30; blades=2":             "10 ≤ day ≤ 30 and blades = 2",
		"rig=a:b":                         "rig = a:b",
	} {
		assert.Equal(t, want, parsed(t, text).String(), "%s", text)
	}
}

// Texts that are not rules are errors. The error for a range says how to write one.
func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{"", "blades", "blades=", "blades=2,x", "blades=x,", "random=x"} {
		_, err := Parse(bad)
		assert.Error(t, err, "%q", bad)
	}

	for _, bad := range []string{"rpm=5:3", "rpm=5:x", "rpm=x:5", "rpm=nan:5", "rpm=5:nan"} {
		_, err := Parse(bad)
		assert.ErrorContains(t, err, "a range from:to of numbers with from ≤ to", "%q", bad)
	}
}

// A key without numbers or names, and with a number that is NaN, is an error, because it would hold out nothing.
func TestNothingToHoldOut(t *testing.T) {
	_, err := Of("rpm")
	assert.ErrorContains(t, err, "found an empty list")

	_, err = OfLabels("motor")
	assert.ErrorContains(t, err, "found an empty list")

	_, err = Of("rpm", 3000, math.NaN())
	assert.ErrorContains(t, err, "expected numbers")

	nan := math.NaN()
	tolerance := 5.0
	_, key, err := Bounds{Near: &nan, Within: &tolerance}.Of("rpm")
	require.ErrorContains(t, err, "expected a number, found NaN")
	assert.Equal(t, "near", key)
}

// A split asks for interpolation if the held-out values lie between values that are trained on, and otherwise for
// extrapolation.
func TestReach(t *testing.T) {
	for hold, want := range map[string]string{
		"rpm=3000":                  "interpolation in rpm",
		"rpm=5000":                  "extrapolation in rpm",
		"blades=2":                  "extrapolation in blades",
		"blades=3":                  "interpolation in blades",
		"blades=3; rpm=3000,4000":   "interpolation in blades and rpm",
		"blades=4; rpm=3000:9000":   "extrapolation in blades and rpm",
		"theta_deg=30; rpm=1000":    "extrapolation in theta_deg", // within the speeds
		"motor=B":                   "new motor",
		"motor=B; rpm=4000":         "interpolation in rpm", // motor B has run at other speeds
		"blades=2; theta_deg=-9:90": "extrapolation in blades and theta_deg",
	} {
		h := parsed(t, hold)
		held, rest := rows(t, h)
		got, err := Reach(h, rotor, rest, held)
		require.NoError(t, err, hold)
		assert.Equal(t, want, got, hold)
	}

	_, err := Reach(Values("pitch", 1), rotor, nil, nil)
	assert.ErrorContains(t, err, "pitch")

	got, err := Reach(Nothing, rotor, nil, nil)
	require.NoError(t, err)
	assert.Empty(t, got, "if nothing is held out")
}

// If a condition has none of the values that a rule holds out, Choices returns the values that it has, or their range
// if they are many.
func TestChoices(t *testing.T) {
	for hold, want := range map[string]string{
		"blades=7":        "; blades is one of 2, 3, 4",
		"motor=D":         "; motor is one of A, B, C",
		"motor=B; rpm=1":  "; rpm is one of 1000, 2000, 3000, 4000, 5000",
		"blades=4; rpm=1": "; rpm is one of 1000, 2000, 3000, 4000, 5000",
		"blades=4":        "",
	} {
		assert.Equal(t, want, Choices(parsed(t, hold), rotor), hold)
	}

	many := columns{"x": nil}
	for i := range 13 {
		many["x"] = append(many["x"], float64(100*i))
	}

	assert.Equal(t, "; x lies in 0 … 1200", Choices(Values("x", 7), many))
	assert.Empty(t, Choices(parsed(t, "motor=D; blades=7"), columns{"motor": nil, "blades": nil}), "without rows")
}

// Each returns a split for each block of neighbouring values, as many blocks as are asked for. With 0 blocks it returns
// a split for each value.
func TestEach(t *testing.T) {
	for _, c := range []struct {
		values []float64
		blocks int
		want   []string
	}{
		{[]float64{1, 2, 3, 5, 8, 9}, 3, []string{"x=1..2: x = 1, 2", "x=3..5: x = 3, 5", "x=8..9: x = 8, 9"}},
		{[]float64{1, 2, 3, 5, 8}, 2, []string{"x=1..2: x = 1, 2", "x=3..8: x = 3, 5, 8"}},
		{[]float64{1, 2.5}, 0, []string{"x=1: x = 1", "x=2.5: x = 2.5"}},
	} {
		var got []string
		for _, split := range Each("x", c.values, c.blocks) {
			got = append(got, split.Name+": "+split.String())
		}

		assert.Equal(t, c.want, got, "%d blocks of %v", c.blocks, c.values)
	}
}

// Two blades at 1000 … 1500/min are held out of the rotor's rows.
func ExampleParse() {
	h, _ := Parse("blades=2; rpm=1000:1500")
	held, _ := h.Held(rotor)
	fmt.Println(h, held)
	// Output: blades = 2 and 1000 ≤ rpm ≤ 1500 [true true false false false false]
}

// Each name is held out by one split. Characters that the name of a folder cannot have are replaced in the name of the
// split, but not in its rule.
func TestEachLabel(t *testing.T) {
	each := EachLabel("day", Distinct([]string{"4 May", "03/05", "4 May"}))
	require.Len(t, each, 2)
	assert.Equal(t, "day=03_05", each[0].Name)
	assert.Equal(t, "day = 03/05", each[0].String())
	assert.Equal(t, "day=4 May", each[1].Name)
	assert.Equal(t, "day = 4 May", each[1].String())
}

// Up to twelve names are listed. Of a longer list, twelve names are listed, and the number of the others.
func TestListed(t *testing.T) {
	assert.Equal(t, "A, B", Listed([]string{"A", "B"}))
	assert.Equal(t, strings.Repeat("x, ", 11)+"x and 2 more", Listed(slices.Repeat([]string{"x"}, 14)))
}

// Names and characters that Windows refuses for files are replaced, and so is a first dot, which would hide the folder.
// A name that was replaced once does not change again. Expected values: "Naming Files, Paths, and Namespaces" of
// Windows' documentation.
func TestFolder(t *testing.T) {
	for name, want := range map[string]string{
		"rpm=3000..5000": "rpm=3000..5000", "größe 3 %": "größe 3 %", "v1.2": "v1.2", "console": "console", "com": "com",
		"speed (m/s)=5": "speed (m_s)=5", `a:b<c>d"e\f|g?h*i`: "a_b_c_d_e_f_g_h_i", "tab\t": "tab_",
		"CON": "_CON", "nul.txt": "_nul.txt", "Com1": "_Com1", "LPT¹": "_LPT¹", "con .x": "_con .x", "com1=2": "com1=2",
		"end.": "end_", "end ": "end_", ".hidden": "_.hidden", "": "_", "..": "_._",
	} {
		assert.Equal(t, want, Folder(name), "%q", name)
		assert.Equal(t, want, Folder(want), "%q is replaced again", want)
	}
}

// For every text that Parse accepts, the conditions with labels are among the conditions of the holdout. A holdout by
// the labels of one condition is parsed from its own words again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"blades=2,3; rpm=3000:5000", "propeller = APC-8x6, Gemfan 5x4", "rig=a:b&x=-1e9", "random=0.5", "x=nan", "=;=,",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			return
		}

		for _, c := range h.Labels() {
			require.True(t, slices.Contains(h.Conditions(), c), "%q: condition %q is among %q", text, c, h.Conditions())
		}

		l, ok := h.(labels)
		if !ok {
			return
		}

		again, err := Parse(h.String())
		require.NoError(t, err)
		require.Equal(t, h.String(), again.String(), "%q", text)
		require.Equal(t, l.names, again.(labels).names, "%q", text)
	})
}

// A value that has a set point is replaced by it: here 2985 to 3015/min have the set point 3000 ± 8. Ranges, names and
// values without a set point stay as they are written.
func TestAtSetPoints(t *testing.T) {
	find := func(condition string, v float64) (float64, string, bool) {
		if condition == "rpm" && math.Abs(v-3000) <= 15 {
			return 3000, "3000 ± 8", true
		}

		return 0, "", false
	}

	for text, want := range map[string]string{
		"rpm=2994":               "rpm = 3000 ± 8",
		"rpm=3000,3008":          "rpm = 3000 ± 8",
		"rpm=1000,3000":          "rpm = 1000, 3000", // 1000 has no set point
		"rpm=2900:3100":          "2900 ≤ rpm ≤ 3100",
		"motor=A":                "motor = A",
		"rpm=3001;theta_deg=0":   "rpm = 3000 ± 8 and theta_deg = 0",
		"blades=2;rpm=3000,2999": "blades = 2 and rpm = 3000 ± 8",
	} {
		assert.Equal(t, want, AtSetPoints(parsed(t, text), find).String(), text)
	}

	h := AtSetPoints(Values("rpm", 2994), find)
	held, _ := rows(t, h)
	assert.Equal(t, []int{3}, held, "the row at 3000")
	assert.Equal(t, "rpm", h.Group())
	assert.True(t, h.Holds("rpm", 3000), "the set point")
	assert.False(t, h.Holds("rpm", 2994), "the value that was written")
}
