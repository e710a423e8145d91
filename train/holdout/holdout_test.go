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

// columns are rows with named conditions.
type columns map[string][]float64

func (c columns) Rows() int {
	for _, v := range c {
		return len(v)
	}

	return 0
}

func (c columns) Floats(condition string) ([]float64, error) {
	v, ok := c[condition]
	if !ok {
		return nil, fmt.Errorf("no column %s", condition)
	}

	return v, nil
}

// Strings returns names that stand for the numbers of a column: A, B, ….
func (c columns) Strings(condition string) ([]string, error) {
	v, ok := c[condition]
	if !ok {
		return nil, fmt.Errorf("no column %s", condition)
	}

	out := make([]string, len(v))
	for i, x := range v {
		out[i] = string(rune('A' + int(x)))
	}

	return out, nil
}

// rotor has six rows at two angles.
var rotor = columns{
	"rpm":       {1000, 1000, 2000, 3000, 4000, 5000},
	"blades":    {2, 2, 2, 3, 3, 4},
	"motor":     {0, 1, 2, 0, 1, 2}, // A, B, C
	"theta_deg": {0, 30, 0, 0, 0, 0},
}

func parsed(t *testing.T, text string) Holdout {
	t.Helper()

	h, err := Parse(text)
	require.NoError(t, err)

	return h
}

// rows lists the rows that are held out, and the others.
func rows(t *testing.T, h Holdout) (held, rest []int) {
	t.Helper()

	is, err := h.Held(rotor)
	require.NoError(t, err)

	for i, ok := range is {
		if ok {
			held = append(held, i)
		} else {
			rest = append(rest, i)
		}
	}

	return held, rest
}

// What is held out of the rotor's rows, in words, and by which condition alone.
func TestHoldouts(t *testing.T) {
	for _, c := range []struct {
		h           Holdout
		words       string
		group       string
		held        []int
		blades, rpm bool // 2 blades and 3000/min can be held out
	}{
		{h: Nothing, words: "nothing"},
		{Values("blades", 3), "blades = 3", "blades", []int{3, 4}, false, true},
		{Values("blades", 2, 4), "blades = 2, 4", "blades", []int{0, 1, 2, 5}, true, true},
		{Range("rpm", 3000, math.Inf(1)), "rpm ≥ 3000", "rpm", []int{3, 4, 5}, true, true},
		{Range("rpm", math.Inf(-1), 2000), "rpm ≤ 2000", "rpm", []int{0, 1, 2}, true, false},
		{Range("rpm", 2000, 3000), "2000 ≤ rpm ≤ 3000", "rpm", []int{2, 3}, true, true},
		{Near("rpm", 2500, 500), "rpm = 2500 ± 500", "rpm", []int{2, 3}, true, true},
		{Labels("motor", "B"), "motor = B", "motor", []int{1, 4}, true, true},
		{Labels("motor", "A", "C"), "motor = A, C", "motor", []int{0, 2, 3, 5}, true, true},
		{All(Labels("motor", "B"), Values("rpm", 4000)), "motor = B and rpm = 4000", "", []int{4}, true, false},
		{All(Values("blades", 3), Values("rpm", 3000)), "blades = 3 and rpm = 3000", "", []int{3}, false, true},
	} {
		held, _ := rows(t, c.h)
		if c.h.String() != c.words || c.h.Group() != c.group || !slices.Equal(held, c.held) ||
			c.h.Holds("blades", 2) != c.blades || c.h.Holds("rpm", 3000) != c.rpm {
			t.Errorf("%s: group %q, rows %v; expected %+v", c.h, c.h.Group(), held, c)
		}
	}

	corner := All(Near("rpm", 2500, 500), Values("blades", 2))
	require.Equal(t, 500.0, corner.Within("rpm"), "another tolerance")
	require.Equal(t, 0.0, corner.Within("blades"), "another tolerance")
	assert.Equal(t, 0.0, corner.Within("theta_deg"), "another tolerance")

	if h := All(Labels("motor", "B"), Values("rpm", 4000)); !slices.Equal(h.Labels(), []string{"motor"}) ||
		!h.HoldsLabel("motor", "B") || h.HoldsLabel("motor", "A") || !h.HoldsLabel("rig", "A") {
		t.Error("another label is held out")
	}

	for _, h := range []Holdout{Labels("pitch", "A"), Values("pitch", 1), All(Values("rpm", 1000), Values("pitch", 1))} {
		_, err := h.Held(rotor)
		assert.ErrorContains(t, err, "pitch")
	}
}

// The command line writes values, lists and ranges.
func TestParse(t *testing.T) {
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

	assert.Equal(t, "blades = 2, 3 and 3000 ≤ rpm ≤ 5000", parsed(t, "blades = 2,3; rpm=3000:5000").String(), "got")

	for text, want := range map[string]string{
		"propeller = APC-8x6, Gemfan 5x4": "propeller = APC-8x6, Gemfan 5x4",
		"day=10:30; blades=2":             "10 ≤ day ≤ 30 and blades = 2",
		"rig=a:b":                         "rig = a:b",
	} {
		assert.Equal(t, want, parsed(t, text).String(), "%s", text)
	}

	for _, bad := range []string{"", "blades", "blades=", "blades=2,x", "blades=x,", "rpm=5:3", "rpm=5:x", "random=x"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A split asks for interpolation where held-out values lie between those trained on.
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
		if got, err := Reach(h, rotor, rest, held); err != nil || got != want {
			t.Errorf("%s: %q, %v; expected %q", hold, got, err, want)
		}
	}

	_, err := Reach(Values("pitch", 1), rotor, nil, nil)
	assert.ErrorContains(t, err, "pitch")

	if got, err := Reach(Nothing, rotor, nil, nil); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// Values of a condition that has none of those held out are named, or their range.
func TestChoices(t *testing.T) {
	for hold, want := range map[string]string{
		"blades=7":        "; blades is one of 2, 3, 4",
		"motor=D":         "; motor is one of A, B, C",
		"motor=B; rpm=1":  "; rpm is one of 1000, 2000, 3000, 4000, 5000",
		"blades=4; rpm=1": "; rpm is one of 1000, 2000, 3000, 4000, 5000",
		"blades=4":        "",
	} {
		if h, err := Parse(hold); err == nil && Choices(h, rotor) != want {
			t.Errorf("%s: %q, expected %q", hold, Choices(h, rotor), want)
		}
	}

	many := columns{"x": nil}
	for i := range 13 {
		many["x"] = append(many["x"], float64(100*i))
	}

	assert.Equal(t, "; x lies in 0 … 1200", Choices(Values("x", 7), many), "got")
}

// Blocks of six values: by hand 1, 2 and 3, 5 and 8, 9; of five values 1, 2 and 3, 5, 8.
func TestEach(t *testing.T) {
	names := func(values []float64, blocks int) string {
		var out []string
		for _, e := range Each("x", values, blocks) {
			out = append(out, e.Name+": "+e.String())
		}

		return strings.Join(out, "; ")
	}

	assert.Equal(t, "x=1..2: x = 1, 2; x=3..5: x = 3, 5; x=8..9: x = 8, 9", names([]float64{1, 2, 3, 5, 8, 9}, 3), "got")
	assert.Equal(t, "x=1: x = 1; x=2.5: x = 2.5", names([]float64{1, 2.5}, 0), "got")
}

// Two blades are held out of the rotor's rows.
func ExampleParse() {
	h, _ := Parse("blades=2; rpm=1000:1500")
	held, _ := h.Held(rotor)
	fmt.Println(h, held)
	// Output: blades = 2 and 1000 ≤ rpm ≤ 1500 [true true false false false false]
}

// Each name is a split; what a folder cannot be named is replaced in the split's name, not in
// the rule.
func TestEachLabel(t *testing.T) {
	each := EachLabel("day", Distinct([]string{"4 May", "03/05", "4 May"}))
	if len(each) != 2 || each[0].Name != "day=03_05" || each[0].String() != "day = 03/05" || each[1].Name != "day=4 May" {
		t.Errorf("%v", each)
	}

	if got := Listed(make([]string, 14)); !strings.HasSuffix(got, " and 2 more") {
		t.Error(got)
	}
}

// What Windows' documents say of names of files (Naming Files, Paths, and Namespaces), and hidden names.
func TestFolder(t *testing.T) {
	for name, want := range map[string]string{
		"rpm=3000..5000": "rpm=3000..5000", "größe 3 %": "größe 3 %", "v1.2": "v1.2", "console": "console", "com": "com",
		"speed (m/s)=5": "speed (m_s)=5", `a:b<c>d"e\f|g?h*i`: "a_b_c_d_e_f_g_h_i", "tab\t": "tab_",
		"CON": "_CON", "nul.txt": "_nul.txt", "Com1": "_Com1", "LPT¹": "_LPT¹", "con .x": "_con .x", "com1=2": "com1=2",
		"end.": "end_", "end ": "end_", ".hidden": "_.hidden", "": "_", "..": "_._",
	} {
		assert.Equal(t, want, Folder(name), "%q", name)

		if got := Folder(want); got != want {
			t.Errorf("%q is no name of a folder: %q", want, got)
		}
	}
}

// What is read holds out by the conditions that are named, labels among them, and reads the same
// of its own words where these are of one condition with names.
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
			require.True(t, slices.Contains(h.Conditions(), c), "%q: label %q is none of %q", text, c, h.Conditions())
		}

		l, ok := h.(labels)
		if !ok {
			return
		}

		again, err := Parse(h.String())
		require.NoError(t, err)
		require.Equal(t, h.String(), again.String(), "%q: %v of its words %q, %v", text, again, h, err)
		require.Equal(t, l.names, again.(labels).names, "%q: %v of its words %q, %v", text, again, h, err)
	})
}

// Set points and words by hand: values of 2994 … 3008 are one set point, 3000 ± 8.
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
		"rpm=1000,3000":          "rpm = 1000, 3000", // a value without a set point: as it was written
		"rpm=2900:3100":          "2900 ≤ rpm ≤ 3100",
		"motor=A":                "motor = A",
		"rpm=3001;theta_deg=0":   "rpm = 3000 ± 8 and theta_deg = 0",
		"blades=2;rpm=3000,2999": "blades = 2 and rpm = 3000 ± 8",
	} {
		h := AtSetPoints(parsed(t, text), find)
		assert.Equal(t, want, h.String(), "%s: %q, expected %q", text, h, want)
	}

	h := AtSetPoints(Values("rpm", 2994), find)
	held, err := h.Held(rotor)
	if want := []bool{false, false, false, true, false, false}; err != nil || !slices.Equal(held, want) {
		t.Errorf("%v, %v, expected the rows at 3000", held, err)
	}

	require.Equal(t, "rpm", h.Group(), "a set point is not the group")
	require.True(t, h.Holds("rpm", 3000), "a set point is not the group")
	assert.False(t, h.Holds("rpm", 2994), "a set point is not the group")
}
