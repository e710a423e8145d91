package honest

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"doubletake/train/triplets"
)

// speeds simulates pairs at the given speeds and nine angles: a lift that depends
// on the angle, with an amplitude that depends on the speed.
func speeds(values []float64, test float64) (triplets.Set, []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x, y1, y2, z []float64
	var runs []string

	var part []triplets.Part
	for _, u := range values {
		for a := range 9 {
			alpha := float64(4*a - 16)
			mean := math.Sin(alpha/20)*(1+0.1*math.Log(u)) + 0.05*math.Sqrt(u)
			x = append(x, alpha, u)
			y1, y2 = append(y1, mean+0.02*rng.NormFloat64()), append(y2, mean+0.02*rng.NormFloat64())
			z = append(z, u)
			runs = append(runs, string(rune('a'+len(runs))))

			p := triplets.Train
			if u == test {
				p = triplets.Test
			}

			part = append(part, p)
		}
	}

	s := triplets.New([]triplets.Quantity{{Name: "alpha_deg"}, {Name: "u_inf_m_s"}}, []triplets.Quantity{{Name: "cl"}}, x,
		y1, y2)
	s.SetRuns(runs)
	s.Recording, s.Part = runs, part
	train := s.Of(triplets.Train)
	s.Scale = triplets.ScaleOf(1, train.Y1, train.Y2)

	return s, z
}

func defaults() Learner {
	return Learner{
		Settings:  Settings{Base: "gp", Form: "auto", Variant: "E", Level: 0.95},
		Condition: "u_inf_m_s", Rate: func(name string) bool { return name == "u_inf_m_s" },
	}
}

// Five speeds, one held out: the intervals learned from the other four cover it.
// Expected: a smooth truth between two measured speeds is inside.
func TestLearner(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 8)
	m, p, err := defaults().Process(context.Background(), s, z)
	if err != nil || m.Absent != "" {
		t.Fatal(err, m.Absent)
	}

	if m.Calibration.K != 4 || m.Calibration.Base != "additive GP" || !slices.Equal(m.Logarithm, []bool{false, true}) {
		t.Errorf("%d groups, %s, logarithms of %v", m.Calibration.K, m.Calibration.Base, m.Logarithm)
	}

	if c := m.Record.After.Student.Coverage; c < 0.9 {
		t.Errorf("%.0f %% of the held-out values inside", 100*c)
	}

	if len(p.Half) != 9 || m.Record.Outcomes[0].Runs != 9 {
		t.Errorf("%d intervals, %d runs", len(p.Half), m.Record.Outcomes[0].Runs)
	}

	// What honest.json holds predicts the same.
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	var read Model
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}

	test := s.Of(triplets.Test)
	again, err := read.Predict(context.Background(), test.X, 0)
	if err != nil {
		t.Fatal(err)
	}

	for i := range p.Half {
		if math.Abs(again.Half[i]-p.Half[i]) > 1e-9 || math.Abs(again.Mu[i]-p.Mu[i]) > 1e-9 {
			t.Errorf("row %d: %g ± %g from the file, %g ± %g before", i, again.Mu[i], again.Half[i], p.Mu[i], p.Half[i])
		}
	}
}

// No outcome of the test group enters: with its outcomes set to a million the
// calibration and the intervals are the same to the bit.
func TestLearnerLeaksNothing(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 12)
	m, p, err := defaults().Process(context.Background(), s, z)
	if err != nil {
		t.Fatal(err)
	}

	for _, i := range s.RowsOf(triplets.Test) {
		s.Y1[i], s.Y2[i] = 1e6, -1e6
	}

	m2, p2, err := defaults().Process(context.Background(), s, z)
	if err != nil {
		t.Fatal(err)
	}

	if !reflect.DeepEqual(m.Calibration, m2.Calibration) || !slices.Equal(p.Mu, p2.Mu) || !slices.Equal(p.Half, p2.Half) {
		t.Error("the calibration depends on the test group's outcomes")
	}
}

// Where there is no calibration the reason is given.
func TestLearnerAbsent(t *testing.T) {
	few, z := speeds([]float64{4, 6, 8}, 8)
	couples, zc := speeds([]float64{4, 6, 8, 10, 12}, 8)
	couples.Couples = true
	for _, c := range []struct {
		s    triplets.Set
		z    []float64
		want string
	}{{few, z, "at least 3 training groups to leave out, found 2"}, {couples, zc, "couples"}} {
		m, p, err := defaults().Process(context.Background(), c.s, c.z)
		if err != nil || p != nil || !strings.Contains(m.Absent, c.want) {
			t.Errorf("%v, %q; expected a reason with %q", err, m.Absent, c.want)
		}
	}
}

// Levels of harmonics over blades and speed take the order form, others do not.
func TestOrderForm(t *testing.T) {
	set := func(inputs, outcomes []string, x ...float64) triplets.Set {
		var in, out []triplets.Quantity
		for _, n := range inputs {
			in = append(in, triplets.Quantity{Name: n})
		}

		for _, n := range outcomes {
			out = append(out, triplets.Quantity{Name: n})
		}

		n := len(x) / len(in)

		return triplets.New(in, out, x, make([]float64, n*len(out)), make([]float64, n*len(out)))
	}

	levels := []string{"bpf1_db", "bpf2_db"}
	f, ok := orderForm(set([]string{"theta_deg", "rpm", "blades"}, levels, 0, 3000, 2))
	if !ok || f.Blades != 2 || f.Speed != 1 || f.Harmonics != 2 || f.In != 3 {
		t.Errorf("%+v, %v", f, ok)
	}

	for _, s := range []triplets.Set{
		set([]string{"rpm", "blades"}, []string{"bpf2_db", "bpf1_db"}, 3000, 2),
		set([]string{"rpm", "blades"}, []string{"bpf1_power", "bpf2_power"}, 3000, 2),
		set([]string{"rpm", "theta_deg"}, levels, 3000, 2),
		set([]string{"rpm", "blades"}, levels, 0, 2),
	} {
		if _, ok := orderForm(s); ok {
			t.Errorf("order form of %v over %v", s.OutcomeNames(), s.InputNames())
		}
	}
}

// Inputs that are constant in each group are functions of the group.
func TestFromGroup(t *testing.T) {
	x := []float64{ // propeller, pitch, rpm, constant
		1, 4, 1000, 7,
		1, 4, 2000, 7,
		2, 5, 1000, 7,
		2, 5, 2000, 7,
	}

	s := triplets.New([]triplets.Quantity{{Name: "propeller"}, {Name: "pitch_in"}, {Name: "rpm"}, {Name: "constant"}},
		[]triplets.Quantity{{Name: "y"}}, x, make([]float64, 4), make([]float64, 4))

	g := Learner{Condition: "propeller", Settings: Settings{Labels: true}}.Grouping([]float64{1, 1, 2, 2})
	if got, want := fromGroup(s, g), []bool{true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

// Few values are groups, many are cut into blocks.
func TestGrouping(t *testing.T) {
	var many []float64
	for i := range 200 {
		many = append(many, float64(i)/7)
	}

	near := []float64{4.68, 4.71, 7.3, 7.31, 9}
	for _, c := range []struct {
		f    Learner
		z    []float64
		want int
	}{
		{Learner{}, []float64{2, 2, 3, 5}, 3},
		{Learner{}, many, DefaultBlocks},
		{Learner{Settings: Settings{Blocks: 4}}, many, 4},
		{Learner{Within: 0.1}, near, 3},
		{Learner{Settings: Settings{Labels: true}}, near, 5},
	} {
		if g := c.f.Grouping(c.z); len(g.Names) != c.want {
			t.Errorf("%+v: %d groups, expected %d", c.f, len(g.Names), c.want)
		}
	}
}
