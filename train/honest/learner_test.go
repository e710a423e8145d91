package honest

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"doubletake/train"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			y1 = append(y1, mean+0.02*rng.NormFloat64())
			y2 = append(y2, mean+0.02*rng.NormFloat64())
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
	s.Recording = runs
	s.Part = part
	train := s.Of(triplets.Train)
	s.Scale = triplets.ScaleOf(1, train.Y1, train.Y2)

	return s, z
}

func defaults() Learner {
	return Learner{
		Settings: DefaultSettings(), Condition: "u_inf_m_s",
		Rate: func(name string) bool { return name == "u_inf_m_s" },
	}
}

// Five speeds, one held out: the intervals learned from the other four cover it.
// Expected: a smooth truth between two measured speeds is inside.
func TestLearner(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 8)
	m, p, err := defaults().Process(context.Background(), s, z)
	require.NoError(t, err)
	require.Empty(t, m.Absent, "%v, %v", err, m.Absent)

	if m.Calibration.K != 4 || m.Calibration.Base != "additive GP" || !slices.Equal(m.Logarithm, []bool{false, true}) {
		t.Errorf("%d groups, %s, logarithms of %v", m.Calibration.K, m.Calibration.Base, m.Logarithm)
	}

	if c := m.Record.After.Coverage; c < 0.9 {
		t.Errorf("%.0f %% of the held-out values inside", 100*c)
	}

	require.Len(t, p.Half, 9, "%d intervals, %d runs", len(p.Half), m.Record.Outcomes[0].Runs)
	assert.Equal(t, 9, m.Record.Outcomes[0].Runs, "%d intervals, %d runs", len(p.Half), m.Record.Outcomes[0].Runs)

	// What honest.json holds predicts the same, half widths as scale.Table gives them.
	b, err := json.Marshal(m)
	require.NoError(t, err)

	var read Model
	require.NoError(t, json.Unmarshal(b, &read))

	test := s.Of(triplets.Test)
	again, err := read.Predict(context.Background(), test.X, 0, nil)
	require.NoError(t, err)

	for i := range p.Half {
		require.InDelta(t, 1, again.Half[i]/p.Half[i], 5e-5,
			"row %d: %g ± %g from the file, %g ± %g before", i, again.Mu[i], again.Half[i], p.Mu[i], p.Half[i])
		assert.InDelta(t, p.Mu[i], again.Mu[i], 1e-9,
			"row %d: %g ± %g from the file, %g ± %g before", i, again.Mu[i], again.Half[i], p.Mu[i], p.Half[i])
	}
}

// No outcome of the test group enters: with its outcomes set to a million the
// calibration and the intervals are the same to the bit.
func TestLearnerLeaksNothing(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 12)
	m, p, err := defaults().Process(context.Background(), s, z)
	require.NoError(t, err)

	for _, i := range s.RowsOf(triplets.Test) {
		s.Y1[i] = 1e6
		s.Y2[i] = -1e6
	}

	m2, p2, err := defaults().Process(context.Background(), s, z)
	require.NoError(t, err)

	if !reflect.DeepEqual(m.Calibration, m2.Calibration) || !slices.Equal(p.Mu, p2.Mu) || !slices.Equal(p.Half, p2.Half) {
		t.Error("the calibration depends on the test group's outcomes")
	}
}

// The rises of E|cov| of networks do not depend on outcomes of the test group: setting these to a million changes no
// bit. The intervals depend on the rises: without rises they follow from the left-out groups alone, and a larger rise
// of the test group widens them.
func TestLearnerRises(t *testing.T) {
	ctx := context.Background()
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 12)
	l := defaults()
	g := l.Grouping(z)

	of := func() *Rises {
		cfg := train.DefaultConfig()
		cfg.Epochs = 3
		cfg.Hidden = []int{8}
		cfg.Standardise = false
		e := Ensemble{Members: 1, Claims: true, Seed: 7}
		e.Train = func(ctx context.Context, d triplets.Set, seed uint64) (Network, error) {
			cfg.Seed = seed
			set := triplets.New(make([]triplets.Quantity, d.In), make([]triplets.Quantity, d.Out), d.X, d.Y1, d.Y2)
			m, _, err := train.FitWith(ctx, set, cfg, train.FitOptions{})
			return PairNetwork{Pair: m}, err
		}

		rows, held := g.LeaveOneOut(outsideTraining(s))
		fit := func(rows []int) (*Model, error) {
			m, err := e.Fit(ctx, s.Select(rows))
			return &Model{Ensemble: m}, err
		}

		full, err := fit(rows)
		require.NoError(t, err)

		r, err := RisesOf(ctx, s, g, full, func(group int) (*Model, error) {
			return fit(held[slices.IndexFunc(held, func(h Held) bool { return h.Group == group })].Rest)
		})
		require.NoError(t, err)

		return r
	}

	half := func(r *Rises) float64 {
		l.Rises = r
		m, p, err := l.Process(ctx, s, z)
		require.NoError(t, err)

		if known := m.Calibration.Groups[0].Rise != nil; known != (r != nil && len(r.Left) > 0) {
			t.Errorf("rise of a left-out group: %v", known)
		}

		return p.Half[0]
	}

	plain := half(nil)
	first := of()
	require.Len(t, first.Left, 4, "%+v", first)
	assert.Less(t, math.Abs(first.New), 10.0, "%+v", first)

	for _, i := range s.RowsOf(triplets.Test) {
		s.Y1[i] = 1e6
		s.Y2[i] = -1e6
	}

	if again := of(); !reflect.DeepEqual(first, again) {
		t.Errorf("%v with other outcomes %v", first, again)
	}

	none := half(&Rises{New: math.NaN()})
	assert.InDelta(t, 1, none/plain, 1e-6, "half width %g without rises, %g by the groups alone", none, plain)

	first.New += 1
	if wide := half(first); !(wide > none) {
		t.Errorf("half width %g with a larger rise, %g without", wide, none)
	}
}

// Couples measure no error: there is no calibration, and the model says why.
func TestLearnerAbsent(t *testing.T) {
	couples, z := speeds([]float64{4, 6, 8, 10, 12}, 8)
	couples.Couples = true
	m, p, err := defaults().Process(context.Background(), couples, z)
	require.NoError(t, err)
	require.Nil(t, p, "%v, %q", err, m.Absent)
	assert.Contains(t, m.Absent, "couples", "%v, %q", err, m.Absent)
}

// With two training groups the calibration has the level 0.98. With one training group none can be left out, and the
// calibration follows from the prior. If nearly all groups are asked for, the level is 0.98 with any number of groups.
func TestLearnerLevels(t *testing.T) {
	groups := defaults()
	groups.Hold = "groups"
	more := groups
	more.Level = 0.99

	for _, c := range []struct {
		l      Learner
		speeds []float64
		k      int
		level  float64
	}{
		{defaults(), []float64{6, 8}, 0, 0.95},
		{defaults(), []float64{4, 6, 8}, 2, 0.98},
		{defaults(), []float64{4, 6, 8, 10}, 3, 0.95},
		{groups, []float64{4, 6, 8, 10}, 3, 0.98},
		{more, []float64{4, 6, 8, 10}, 3, 0.99},
	} {
		s, z := speeds(c.speeds, 8)
		m, p, err := c.l.Process(context.Background(), s, z)
		require.NoError(t, err, "%v, %v", err, m.Absent)
		require.Empty(t, m.Absent, "%v, %v", err, m.Absent)

		if got := m.Calibration; got.K != c.k || got.Level != c.level || m.Record.Outcomes[0].Level != c.level ||
			len(p.Half) != 9 {
			t.Errorf("%g m/s: %d groups, level %g, %d intervals", c.speeds, got.K, got.Level, len(p.Half))
		}
	}
}

// A prior of the user's own counts, then the name; networks have one of their own instead of
// the wide one.
func TestScalePrior(t *testing.T) {
	own := scale.Prior{Name: "mine", M: 1, MStd: 1, Tau: 1, TauStd: 1, Origin: "this test"}
	for _, c := range []struct {
		base, prior string
		law         scale.Prior
		want        string
	}{
		{"gp", "wide", scale.Prior{}, "wide"},
		{"gp", "library", scale.Prior{}, "library"},
		{"ensemble", "wide", scale.Prior{}, "networks"},
		{"pair", "library", scale.Prior{}, "library"},
		{"gp", "mine.json", own, "mine"},
		{"ensemble", "mine.json", own, "mine"},
	} {
		l := Learner{Settings: Settings{Base: c.base, Prior: c.prior}, Law: c.law}
		if got := l.ScalePrior(); got.Name != c.want {
			t.Errorf("%s, %q: %s, expected %s", c.base, c.prior, got.Name, c.want)
		}
	}

	s, z := speeds([]float64{4, 6, 8, 10}, 8)
	l := defaults()
	l.Law = own

	m, _, err := l.Process(context.Background(), s, z)
	require.NoError(t, err)
	assert.Equal(t, own, m.Calibration.Scale.Prior, "%+v, %v", m.Calibration.Scale.Prior, err)
}

// Settings outside their limits are reported with their keys.
func TestSettingsCheck(t *testing.T) {
	for _, c := range []struct {
		setting string
		change  func(*Settings)
	}{
		{"level", func(s *Settings) { s.Level = 0.5 }},
		{"level", func(s *Settings) { s.Level = 1 }},
		{"level", func(s *Settings) { s.Level = math.NaN() }},
		{"blocks", func(s *Settings) { s.Blocks = 1 }},
		{"prior", func(s *Settings) { s.Prior = "" }},
		{"form", func(s *Settings) {
			s.Base = "ensemble"
			s.Form = "orders"
		}},
		{"labels", func(s *Settings) {
			s.Blocks = 3
			s.Labels = true
		}},
		{"", func(s *Settings) {
			s.Level = 0.9
			s.Prior = "library"
			s.Hold = "groups"
		}},
	} {
		s := DefaultSettings()
		c.change(&s)

		found := ""
		s.Check(func(setting, text string) { found += setting })

		assert.Equal(t, c.setting, found, "%+v", s)
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
	if !ok || f.Blades != 2 || f.Speed != 1 || f.Harmonics != 2 || f.Columns != 3 {
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
		{Learner{Tolerance: 0.1}, near, 3},
		{Learner{Settings: Settings{Labels: true}}, near, 5},
	} {
		if g := c.f.Grouping(c.z); len(g.Names) != c.want {
			t.Errorf("%+v: %d groups, expected %d", c.f, len(g.Names), c.want)
		}
	}
}
