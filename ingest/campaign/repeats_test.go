package campaign

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/derive"
	"doubletake/ingest/setpoint"
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
		Within: map[string]setpoint.Tolerance{"rpm": {Relative: 0.01}}, Correct: map[string]Law{"thrust_n": {"rpm", 2}},
	}

	p, err := readTable(writeFile(t, b.String()), o)
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
	p, err = readTable(writeFile(t, b.String()), o)
	if err != nil || !slices.Equal(p.Recording, []string{"a + b", "a + c"}) || p.Weight != nil {
		t.Errorf("%v %v %v", p.Recording, p.Weight, err)
	}

	// All pairs of exact repeats count as their rows.
	o = TableOptions{Inputs: []string{"x"}, Repeats: []string{"y"}, AllPairs: true}
	p, err = readTable(writeFile(t, "x,y\n1,1\n2,1\n1,2\n1,3\n2,2\n3,9\n"), o)
	if err != nil || p.N != 4 || !slices.Equal(p.Weight, []float64{0.5, 0.5, 0.5, 1}) ||
		!slices.Equal(p.Run, []string{"x=1", "x=1", "x=1", "x=2"}) {
		t.Errorf("%+v %v", p, err)
	}
}

func TestParseToleranceAndLaw(t *testing.T) {
	for s, want := range map[string]setpoint.Tolerance{
		"20": {Absolute: 20}, "1 %": {Relative: 0.01}, "0.5%": {Relative: 0.005}, "0": {},
	} {
		if got, err := setpoint.Parse(s); err != nil || got != want {
			t.Errorf("%s: %+v %v", s, got, err)
		}
	}

	for s, want := range map[string]Law{"rpm^2": {"rpm", 2}, "u": {"u", 1}, "u ^ -1.5": {"u", -1.5}} {
		if got, err := ParseLaw(s); err != nil || got != want {
			t.Errorf("%s: %+v %v", s, got, err)
		}
	}

	for _, s := range []string{"", "x", "-1", "1 %%", "Inf", "1e10"} {
		if _, err := setpoint.Parse(s); err == nil {
			t.Errorf("tolerance %q", s)
		}
	}

	for _, s := range []string{"", "^2", "rpm^", "rpm^x", "rpm^NaN"} {
		if _, err := ParseLaw(s); err == nil {
			t.Errorf("law %q", s)
		}
	}
}

// Every measurement gives its derived outcomes by itself, of its own conditions and
// before any law or mean; a derived condition is that of the pair's own conditions. By
// hand.
func TestDerivedOfRepeats(t *testing.T) {
	path := writeFile(t, "diameter_m,rpm,thrust_n\n0.5,3000,2\n0.5,3030,2.1\n0.5,6000,8\n0.5,6000,9\n")

	set, err := derive.New([]derive.Definition{
		{Name: "ct", Text: "thrust_n/(rho*(rpm/60)^2*diameter_m^4)"}, {Name: "tip_speed_m_s", Text: "pi*diameter_m*rpm/60"},
	}, map[string]float64{"rho": 1.25}, []string{"diameter_m", "rpm"}, []string{"thrust_n"})
	if err != nil {
		t.Fatal(err)
	}

	p, err := readTable(path, TableOptions{
		Inputs: []string{"diameter_m", "rpm"}, Repeats: []string{"thrust_n"}, Derive: set,
		Within:  map[string]setpoint.Tolerance{"rpm": {Relative: 0.02}},
		Correct: map[string]Law{"thrust_n": {Condition: "rpm", Power: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}

	ct := func(thrust, rpm float64) float64 { return thrust / (1.25 * (rpm / 60) * (rpm / 60) * 0.0625) }
	wantY1 := []float64{2 * math.Pow(3015./3000, 2), ct(2, 3000), 8, ct(8, 6000)}
	wantY2 := []float64{2.1 * math.Pow(3015./3030, 2), ct(2.1, 3030), 9, ct(9, 6000)}

	wantX := []float64{0.5, 3015, math.Pi * 0.5 * 3015 / 60, 0.5, 6000, math.Pi * 0.5 * 100}
	for _, c := range []struct{ got, want []float64 }{{p.Y1, wantY1}, {p.Y2, wantY2}, {p.X, wantX}} {
		if !slices.EqualFunc(c.got, c.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}

	if got := fmt.Sprint(p.Inputs, p.Outcomes, p.Units["tip_speed_m_s"], p.Run[0]); got !=
		"[diameter_m rpm tip_speed_m_s] [thrust_n ct]m/sdiameter_m=0.5,rpm=3015" {
		t.Error(got)
	}

	if p.Converted["tip_speed_m_s"] != "derived: pi*diameter_m*rpm/60" {
		t.Error(p.Converted)
	}
}

// Of a table of pairs y1 gives the first derived outcome and y2 the second.
func TestDerivedOfPairs(t *testing.T) {
	set, err := derive.New([]derive.Definition{{Name: "ratio", Text: "lift_n/drag_n"}}, nil, []string{"x"},
		[]string{"lift_n", "drag_n"})
	if err != nil {
		t.Fatal(err)
	}

	o := TableOptions{
		Inputs: []string{"x"}, Y1: []string{"lift_n_1", "drag_n_1"}, Y2: []string{"lift_n_2", "drag_n_2"}, Derive: set,
	}
	head := "x,lift_n_1 [N],lift_n_2,drag_n_1,drag_n_2\n"
	p, err := readTable(writeFile(t, head+"1,6,7,3,2\n"), o)
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(p.Y1, []float64{6, 3, 2}) || !slices.Equal(p.Y2, []float64{7, 2, 3.5}) {
		t.Errorf("%v, %v", p.Y1, p.Y2)
	}

	_, err = readTable(writeFile(t, head+"1,6,7,3,2\n1,6,7,3,0\n"), o)
	if want := "line 3, run x=1: expected a finite number, found ratio = lift_n/drag_n is +Inf with drag_n = 0, " +
		"lift_n = 7"; err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// Long tables: 30,000 conditions of two rows, and one condition of 60,000. Both took
// time by the square of the rows, 40 s here.
func TestLongTable(t *testing.T) {
	const rows = 60000
	for name, condition := range map[string]func(int) int{
		"conditions": func(i int) int { return i % (rows / 2) }, "repeats": func(int) int { return 1 },
	} {
		b := []byte("x,rpm,F\n")
		for i := range rows {
			b = fmt.Appendf(b, "%d,%d,%d\n", condition(i), 5000+i%3, i)
		}

		p, err := readTable(writeFile(t, string(b)), TableOptions{
			Inputs: []string{"x", "rpm"}, Repeats: []string{"F"}, Within: map[string]setpoint.Tolerance{"rpm": {Absolute: 5}},
		})
		if err != nil || p.N != rows/2 || p.Y2[0] != map[string]float64{"conditions": rows / 2, "repeats": 1}[name] {
			t.Errorf("%s: %d pairs, first %v, %v", name, p.N, p.Y2[0], err)
		}
	}
}

// Set points by hand: rows of 4990 … 5010 are 5000, which names their runs; pairs take each row
// once, at the mean of its two speeds.
func TestRowsAtSetPoints(t *testing.T) {
	path := writeFile(t, "rpm,thrust_n\n4990,1\n8010,5\n5010,2\n5004,3\n8000,6\n4996,4\n9000,7\n")
	o := TableOptions{
		Inputs: []string{"rpm"}, Repeats: []string{"thrust_n"},
		SetPoints: map[string]setpoint.Tolerance{"rpm": {Relative: 0.005}},
	}

	p, err := readTable(path, o)
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(p.X, []float64{5000, 5000, 8005}) || !slices.Equal(p.Y1, []float64{1, 3, 5}) ||
		!slices.Equal(p.Y2, []float64{2, 4, 6}) || !slices.Equal(p.Run, []string{"rpm=5000", "rpm=5000", "rpm=8000"}) {
		t.Errorf("pairs %v %v at %v of runs %v", p.Y1, p.Y2, p.X, p.Run)
	}

	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, "rpm=9000 (line 8)") {
		t.Errorf("%v", p.Warnings)
	}

	path = writeFile(t, "rpm,a_1,a_2\n4990,1,2\n5010,3,4\n")
	o.Repeats, o.Y1, o.Y2 = nil, []string{"a_1"}, []string{"a_2"}
	if p, err = readTable(path, o); err != nil || !slices.Equal(p.Run, []string{"rpm=5000", "rpm=5000"}) ||
		!slices.Equal(p.X, []float64{4990, 5010}) {
		t.Errorf("runs %v at %v, %v", p.Run, p.X, err)
	}
}
