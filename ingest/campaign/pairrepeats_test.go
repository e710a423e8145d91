package campaign

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/ingesttest"
)

// The thrust follows the square of the speed exactly, and the speeds of repeats differ by less than 1 %. Corrected to
// the mean speed of a pair, both values are the law's value there. Two rows of one motor are never a pair. A row of
// another speed is named.
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
		Within: map[string]condition.Tolerance{"rpm": {Relative: 0.01}}, Correct: map[string]Law{"thrust_n": {"rpm", 2}},
	}

	p, err := readTable(writeFile(t, b.String()), o)
	require.NoError(t, err)

	// By hand: a+b, a+c, b+a, b+c, a+c; not a+a.
	assert.Equal(t, []string{"a + b", "a + c", "b + a", "b + c", "a + c"}, p.Recording)

	for i, x := range flat(p.X) {
		want := 3e-7 * x * x
		assert.InDelta(t, 1.0, flat(p.Y1)[i]/want, 1e-11, "pair %d at %g", i, x)
		assert.InDelta(t, 1.0, flat(p.Y2)[i]/want, 1e-11, "pair %d at %g", i, x)

		assert.InDelta(t, 2.0/5, p.Weight[i], 0, "pair %d", i)
		assert.Equal(t, "a + b + a + c", p.Run[i], "pair %d", i)
	}

	assert.Equal(t, 5015.0, flat(p.X)[0])
	assert.Contains(t, fmt.Sprint(p.Warnings), "1 row without a partner of another run left out: d (line 6)")

	// Disjoint: a 5000 with b, the second a with c.
	o.AllPairs = false
	p, err = readTable(writeFile(t, b.String()), o)
	require.NoError(t, err)
	assert.Equal(t, []string{"a + b", "a + c"}, p.Recording)
	assert.Empty(t, p.Weight)
	assert.Equal(t, []float64{5015, 5015}, flat(p.X))
	law := []float64{3e-7 * 5015 * 5015, 3e-7 * 5015 * 5015}
	assert.InEpsilonSlice(t, law, flat(p.Y1), 1e-11)
	assert.InEpsilonSlice(t, law, flat(p.Y2), 1e-11)

	// All pairs of exact repeats count as their rows.
	o = TableOptions{Inputs: []string{"x"}, Repeats: []string{"y"}, AllPairs: true}
	p, err = readTable(writeFile(t, "x,y\n1,1\n2,1\n1,2\n1,3\n2,2\n3,9\n"), o)
	require.NoError(t, err)
	assert.Equal(t, "4 [0.5 0.5 0.5 1] [x=1 x=1 x=1 x=2]", fmt.Sprint(p.N, p.Weight, p.Run), "all pairs")
}

// Laws are read as a person writes them. Texts of another form are errors.
func TestParseLaw(t *testing.T) {
	for s, want := range map[string]Law{"rpm^2": {"rpm", 2}, "u": {"u", 1}, "u ^ -1.5": {"u", -1.5}} {
		got, err := ParseLaw(s)
		require.NoError(t, err, "%s", s)
		assert.Equal(t, want, got, "%s", s)
	}

	for _, s := range []string{"", "^2", "rpm^", "rpm^x", "rpm^NaN"} {
		_, err := ParseLaw(s)
		assert.Error(t, err, "law %q", s)
	}
}

// Derived outcomes are computed from the conditions of each measurement, before any law
// or mean. Derived conditions are computed from the conditions of each pair. The
// expected values were computed by hand.
func TestDerivedOfRepeats(t *testing.T) {
	path := writeFile(t, "diameter_m,rpm,thrust_n\n0.5,3000,2\n0.5,3030,2.1\n0.5,6000,8\n0.5,6000,9\n")

	set, err := derive.New([]derive.Definition{
		{Name: "ct", Text: "thrust_n/(rho*(rpm/60)^2*diameter_m^4)"}, {Name: "tip_speed_m_s", Text: "pi*diameter_m*rpm/60"},
	}, map[string]float64{"rho": 1.25}, []string{"diameter_m", "rpm"}, nil, []string{"thrust_n"})
	require.NoError(t, err)

	p, err := readTable(path, TableOptions{
		Inputs: []string{"diameter_m", "rpm"}, Repeats: []string{"thrust_n"}, Derive: set,
		Within:  map[string]condition.Tolerance{"rpm": {Relative: 0.02}},
		Correct: map[string]Law{"thrust_n": {Condition: "rpm", Power: 2}},
	})
	require.NoError(t, err)

	ct := func(thrust, rpm float64) float64 { return thrust / (1.25 * (rpm / 60) * (rpm / 60) * 0.0625) }
	wantY1 := []float64{2 * math.Pow(3015./3000, 2), ct(2, 3000), 8, ct(8, 6000)}
	wantY2 := []float64{2.1 * math.Pow(3015./3030, 2), ct(2.1, 3030), 9, ct(9, 6000)}

	wantX := []float64{0.5, 3015, math.Pi * 0.5 * 3015 / 60, 0.5, 6000, math.Pi * 0.5 * 100}
	assert.InEpsilonSlice(t, wantY1, flat(p.Y1), 1e-12)
	assert.InEpsilonSlice(t, wantY2, flat(p.Y2), 1e-12)
	assert.InEpsilonSlice(t, wantX, flat(p.X), 1e-12)

	got := fmt.Sprint(p.Inputs, p.Outcomes, p.Units["tip_speed_m_s"], p.Run[0])
	assert.Equal(t, "[diameter_m rpm tip_speed_m_s] [thrust_n ct]m/sdiameter_m=0.5,rpm=3015", got)

	assert.Equal(t, "derived: pi*diameter_m*rpm/60", p.Converted["tip_speed_m_s"], "conversion")
}

// Of a table of pairs y1 gives the first derived outcome and y2 the second.
func TestDerivedOfPairs(t *testing.T) {
	set, err := derive.New([]derive.Definition{{Name: "ratio", Text: "lift_n/drag_n"}}, nil, []string{"x"}, nil,
		[]string{"lift_n", "drag_n"})
	require.NoError(t, err)

	o := TableOptions{
		Inputs: []string{"x"}, Y1: []string{"lift_n_1", "drag_n_1"}, Y2: []string{"lift_n_2", "drag_n_2"}, Derive: set,
	}
	head := "x,lift_n_1 [N],lift_n_2,drag_n_1,drag_n_2\n"
	p, err := readTable(writeFile(t, head+"1,6,7,3,2\n"), o)
	require.NoError(t, err)

	assert.Equal(t, []float64{6, 3, 2}, flat(p.Y1))
	assert.Equal(t, []float64{7, 2, 3.5}, flat(p.Y2))

	_, err = readTable(writeFile(t, head+"1,6,7,3,2\n1,6,7,3,0\n"), o)
	assert.ErrorContains(t, err,
		"line 3, run x=1: expected a finite number, found ratio = lift_n/drag_n is +Inf with drag_n = 0, "+
			"lift_n = 7")
}

// Tables of 30,000 conditions of two rows, and of one condition of 60,000 rows, are paired in seconds. A time that
// grows with the square of the rows would be 40 s.
func TestLongTable(t *testing.T) {
	const rows = 60000
	for _, c := range []struct {
		name    string
		x       func(row int) int
		firstY2 float64
	}{
		{"conditions", func(row int) int { return row % (rows / 2) }, rows / 2},
		{"repeats", func(int) int { return 1 }, 1},
	} {
		b := []byte("x,rpm,F\n")
		for i := range rows {
			b = fmt.Appendf(b, "%d,%d,%d\n", c.x(i), 5000+i%3, i)
		}

		path := writeFile(t, string(b))
		start := ingesttest.CPU()
		p, err := readTable(path, TableOptions{
			Inputs: []string{"x", "rpm"}, Repeats: []string{"F"}, Within: map[string]condition.Tolerance{"rpm": {Absolute: 5}},
		})
		require.NoError(t, err, c.name)
		ingesttest.ReportBound(t, "processor time of a long table of "+c.name, ingesttest.CPU()-start, 4*time.Second)
		assert.Equal(t, rows/2, p.N, c.name)
		assert.InDelta(t, c.firstY2, flat(p.Y2)[0], 0, c.name)
	}
}

// Rows of 4990 … 5010 have the set point 5000, which names their runs. Pairs take each row once, at the mean of its two
// speeds. The expected values were computed by hand.
func TestRowsAtSetPoints(t *testing.T) {
	path := writeFile(t, "rpm,thrust_n\n4990,1\n8010,5\n5010,2\n5004,3\n8000,6\n4996,4\n9000,7\n")
	o := TableOptions{
		Inputs: []string{"rpm"}, Repeats: []string{"thrust_n"},
		SetPoints: map[string]condition.Tolerance{"rpm": {Relative: 0.005}},
	}

	p, err := readTable(path, o)
	require.NoError(t, err)

	assert.Equal(t, "[5000 5000 8005] [1 3 5] [2 4 6] [rpm=5000 rpm=5000 rpm=8000]",
		fmt.Sprint(flat(p.X), flat(p.Y1), flat(p.Y2), p.Run))
	require.Len(t, p.Warnings, 1)
	assert.Contains(t, p.Warnings[0].Text, "rpm=9000 (line 8)")

	path = writeFile(t, "rpm,a_1,a_2\n4990,1,2\n5010,3,4\n")
	o.Repeats = nil
	o.Y1 = []string{"a_1"}
	o.Y2 = []string{"a_2"}
	p, err = readTable(path, o)
	require.NoError(t, err)
	assert.Equal(t, "[rpm=5000 rpm=5000] [4990 5010]", fmt.Sprint(p.Run, flat(p.X)), "runs")
}

// Repeats on several days: each row is the first of a pair and, until partners are chosen, also its second. The rows of
// a condition are one recording. A warning names conditions that were measured on one day only. By hand; case days.
func TestAcross(t *testing.T) {
	o := TableOptions{Inputs: []string{"x"}, Repeats: []string{"y"}, Labels: []string{"Day", "rig"}, Across: "Day"}

	p, err := readTable(writeFile(t, "x,y,Day,rig\n1,10,Mon,A\n2,20,Mon,A\n1,13,Wed,A\n2,21,Tue,A\n3,30,Mon,A\n"+
		"3,31,Mon,A\n3,32,Tue,B\n"), o)
	require.NoError(t, err)

	got := fmt.Sprint(flat(p.Y1), flat(p.Y2), p.Run, p.Recording, flat(p.Texts)[:4], p.Weight)
	want := "[10 13 20 21 30 31 32] [10 13 20 21 30 31 32] [Day=Mon Day=Wed Day=Mon Day=Tue Day=Mon Day=Mon Day=Tue] " +
		"[x=1,rig=A x=1,rig=A x=2,rig=A x=2,rig=A x=3,rig=A x=3,rig=A x=3,rig=B] [Mon A Wed A] " +
		"[0.5 0.5 0.5 0.5 0.5 0.5 0.5]"
	assert.Equal(t, want, got)

	const text = "3 rows measured on one Day only: their second values are from the same Day, and a single row is its " +
		"own second value: x=3,rig=A (line 6), x=3,rig=A (line 7), x=3,rig=B (line 8)"
	require.Len(t, p.Warnings, 1)
	assert.Equal(t, text, p.Warnings[0].Text)
}

// If a column names the runs, the run of a row is its own, not the day.
func TestAcrossWithRuns(t *testing.T) {
	p, err := readTable(writeFile(t, "x,y,Day,rig,run\n1,10,Mon,A,a\n1,12,Wed,A,b\n"), TableOptions{
		Inputs: []string{"x"}, Repeats: []string{"y"}, Labels: []string{"Day", "rig"}, Across: "Day", Run: "run",
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, p.Run)
}

// Rows of one session are not repeats of each other if they are of different days of the session, because the days lie
// within the sessions: pairs go across the sessions whatever the day. A run belongs to its session, as run 1 of S and
// run 1 of T. A day that is written in two ways has the first writing.
func TestAcrossSessions(t *testing.T) {
	p, err := readTable(writeFile(t, "x,y,Set,Day,run\n1,0,S,1.5.24,1\n2,1,S,2024-05-01,2\n1,3,T,2.5.24,1\n"+
		"2,4,T,3.5.24,2\n"), TableOptions{
		Inputs: []string{"x"}, Repeats: []string{"y"}, Labels: []string{"Set", "Day"}, Across: "Set",
		Occasions: []string{"Set", "Day"}, Run: "run",
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"S/1", "T/1", "S/2", "T/2"}, p.Run)
	assert.Equal(t, []string{"x=1", "x=1", "x=2", "x=2"}, p.Recording)
	assert.Equal(t, []string{"1.5.24", "2.5.24", "1.5.24", "3.5.24"}, p.Texts[1])
}

// Without across, rows of different days are not repeats. The error names the setting that would make them so.
func TestWithoutAcross(t *testing.T) {
	_, err := readTable(writeFile(t, "x,y,Day,rig\n1,10,Mon,A\n1,11,Tue,A\n"), TableOptions{
		Inputs: []string{"x"}, Repeats: []string{"y"}, Labels: []string{"Day", "rig"},
	})
	assert.ErrorContains(t, err, "two rows of equal condition and Day, rig, found none among 2 rows "+
		"(if repeats were measured on several of them, pair across: pairs: {across: Day})")
}

// Pairs of a group as the words say them: each row with the first later one of another run that has no
// partner yet.
func TestPairsOfRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		r := &tableReader{options: TableOptions{Run: "run"}, measured: &PairTable{}}
		var group []int
		for i := range 1 + rng.IntN(9) {
			group = append(group, i)
			r.measured.Run = append(r.measured.Run, strconv.Itoa(rng.IntN(3)))
		}

		var want [][2]int
		used := map[int]bool{}
		for k, i := range group {
			for _, j := range group[k+1:] {
				if !used[i] && !used[j] && r.measured.Run[i] != r.measured.Run[j] {
					used[i] = true
					used[j] = true
					want = append(want, [2]int{i, j})
				}
			}
		}

		assert.Equal(t, want, r.appendPairs(nil, group), "%+v", r.measured.Run)
	}
}

// Random rows are grouped as the comment of condition.Groups says: each row joins the first group all of whose rows it
// equals, by tolerances and labels. Expected: the same search written out row by row.
func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		r := &tableReader{
			PairTable: &PairTable{Inputs: []string{"a", "b"}},
			options:   TableOptions{Within: map[string]condition.Tolerance{}},
		}
		if i%3 > 0 {
			r.options.Within["b"] = condition.Tolerance{Absolute: 2}
		}

		labels := 2 - i%2 // that are compared
		r.measured = &PairTable{N: 1 + rng.IntN(12), Texts: make([][]string, 2)}
		r.setPoints = make([][]float64, 2)
		for range r.measured.N {
			r.setPoints[0] = append(r.setPoints[0], float64(rng.IntN(2))*math.Copysign(1, rng.Float64()-0.5))
			r.setPoints[1] = append(r.setPoints[1], float64(rng.IntN(6)))
			for k := range 2 {
				r.measured.Texts[k] = append(r.measured.Texts[k], strconv.Itoa(rng.IntN(2)))
			}
		}

		equal := func(i, j int) bool {
			a := rowOf(r.setPoints, i)
			b := rowOf(r.setPoints, j)
			c := rowOf(r.measured.Texts, i)
			d := rowOf(r.measured.Texts, j)
			return a[0] == b[0] && r.options.Within["b"].Equal(a[1], b[1]) && slices.Equal(c[:labels], d[:labels])
		}

		var want [][]int
		for i := range r.measured.N {
			n := slices.IndexFunc(want, func(g []int) bool {
				return !slices.ContainsFunc(g, func(j int) bool { return !equal(i, j) })
			})

			if n < 0 {
				n = len(want)
				want = append(want, nil)
			}

			want[n] = append(want[n], i)
		}

		got := slices.Collect(r.groupsOfEqual(r.measured.Texts[:labels]))
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%+v", r.measured)
	}
}
