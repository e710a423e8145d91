package campaign

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// Thrust that follows the square of the speed exactly, at speeds within 1 %:
// corrected to the mean speed of a pair, both values are the law's there (closed
// form). Two rows of one motor are never a pair; a row far off is named.
func TestWithinAndCorrect(t *testing.T) {
	var b strings.Builder
	b.WriteString("motor,rpm,thrust_n\n")
	for _, p := range []struct {
		motor string
		rpm   float64
	}{{"a", 5000}, {"b", 5030}, {"a", 5010}, {"c", 5020}, {"d", 9000}} {
		fmt.Fprintf(&b, "%s,%g,%.12g\n", p.motor, p.rpm, 3e-7*p.rpm*p.rpm)
	}
	o := TableOptions{
		Inputs: []string{"rpm"}, Repeats: []string{"thrust_n"}, Run: "motor", AllPairs: true,
		Within: map[string]Tolerance{"rpm": {Relative: 0.01}}, Correct: map[string]Law{"thrust_n": {"rpm", 2}},
	}
	p, err := ReadTable(writeFile(t, b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	// By hand: a+b, a+c, b+a, b+c, a+c; not a+a.
	if want := []string{"a + b", "a + c", "b + a", "b + c", "a + c"}; !slices.Equal(p.Recording, want) {
		t.Errorf("pairs %v, expected %v", p.Recording, want)
	}
	for i, x := range p.X {
		want := 3e-7 * x * x
		if math.Abs(p.Y1[i]/want-1) > 1e-11 || math.Abs(p.Y2[i]/want-1) > 1e-11 {
			t.Errorf("pair %d at %g: %.12g, %.12g, the law gives %.12g", i, x, p.Y1[i], p.Y2[i], want)
		}
		if p.Weight[i] != 2.0/5 || p.Run[i] != "a + b + a + c" {
			t.Errorf("pair %d: weight %g, run %q; expected 4/2/5 and the group", i, p.Weight[i], p.Run[i])
		}
	}
	if p.X[0] != 5015 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text,
		"1 row without a partner of another run left out: d (line 6)") {
		t.Errorf("%v, %v", p.X, p.Warnings)
	}
	// Disjoint: a 5000 with b, the second a with c.
	o.AllPairs = false
	p, err = ReadTable(writeFile(t, b.String()), o)
	if err != nil || !slices.Equal(p.Recording, []string{"a + b", "a + c"}) || p.Weight != nil {
		t.Errorf("%v %v %v", p.Recording, p.Weight, err)
	}
	// All pairs of exact repeats count as their rows.
	o = TableOptions{Inputs: []string{"x"}, Repeats: []string{"y"}, AllPairs: true}
	p, err = ReadTable(writeFile(t, "x,y\n1,1\n2,1\n1,2\n1,3\n2,2\n3,9\n"), o)
	if err != nil || p.N != 4 || !slices.Equal(p.Weight, []float64{0.5, 0.5, 0.5, 1}) ||
		!slices.Equal(p.Run, []string{"x=1", "x=1", "x=1", "x=2"}) {
		t.Errorf("%+v %v", p, err)
	}
}

func TestParseToleranceAndLaw(t *testing.T) {
	for s, want := range map[string]Tolerance{
		"20": {Absolute: 20}, "1 %": {Relative: 0.01}, "0.5%": {Relative: 0.005}, "0": {},
	} {
		if got, err := ParseTolerance(s); err != nil || got != want {
			t.Errorf("%s: %+v %v", s, got, err)
		}
	}
	for s, want := range map[string]Law{"rpm^2": {"rpm", 2}, "u": {"u", 1}, "u ^ -1.5": {"u", -1.5}} {
		if got, err := ParseLaw(s); err != nil || got != want {
			t.Errorf("%s: %+v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "x", "-1", "1 %%", "Inf", "1e10"} {
		if _, err := ParseTolerance(s); err == nil {
			t.Errorf("tolerance %q", s)
		}
	}
	for _, s := range []string{"", "^2", "rpm^", "rpm^x", "rpm^NaN"} {
		if _, err := ParseLaw(s); err == nil {
			t.Errorf("law %q", s)
		}
	}
}
