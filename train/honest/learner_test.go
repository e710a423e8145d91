package honest

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/train"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speeds simulates pairs at the given speeds and nine angles, of which the speed test is the test part. The lift
// depends on the angle, and its amplitude on the speed. It also returns the speed of each row.
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
	train := s.Only(triplets.Train)
	s.Scale = triplets.ScaleOf(1, train.Y1, train.Y2)

	return s, z
}

// defaults returns a learner with the default settings, whose groups are the speeds.
func defaults() Learner {
	return Learner{
		Settings: DefaultSettings(), Condition: "u_inf_m_s",
		Rate: func(name string) bool { return name == "u_inf_m_s" },
	}
}

// One of five speeds is held out. Expected: the intervals that the other four speeds teach contain at least 90 % of
// its values, since the simulated lift is smooth; and the stored model predicts the same, up to the digits of
// scale.Table.
func TestLearner(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 8)
	m, p, err := defaults().Process(context.Background(), s, z)
	require.NoError(t, err)
	require.Empty(t, m.Absent)
	assert.Equal(t, 4, m.Calibration.K, "left-out groups")
	assert.Equal(t, "additive GP", m.Calibration.Base)
	assert.Equal(t, []bool{false, true}, m.Logarithm, "inputs that enter as logarithms")
	assert.GreaterOrEqual(t, m.Record.After.Coverage, 0.9, "share of the held-out values inside")
	require.Len(t, p.Half, 9, "intervals")
	assert.Equal(t, 9, m.Record.Outcomes[0].Runs, "runs")

	b, err := json.Marshal(m)
	require.NoError(t, err)

	var read Model
	require.NoError(t, json.Unmarshal(b, &read))

	test := s.Only(triplets.Test)
	again, err := read.Predict(context.Background(), test.X, 0, nil)
	require.NoError(t, err)

	for i := range p.Half {
		assert.InEpsilon(t, p.Half[i], again.Half[i], 5e-5, "half width of row %d by the stored model", i)
		assert.InDelta(t, p.Mu[i], again.Mu[i], 1e-9, "mean of row %d by the stored model", i)
	}
}

// The outcomes of the test group are set to a million. Expected: the calibration and the intervals stay the same to
// the bit.
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

	assert.Equal(t, m.Calibration, m2.Calibration)
	assert.Equal(t, p.Mu, p2.Mu)
	assert.Equal(t, p.Half, p2.Half)
}

// smallPairNetworks returns the rises of the groups of a set by small pair networks, which it trains without each
// group.
func smallPairNetworks(t *testing.T, s triplets.Set, g Grouping) *Rises {
	t.Helper()

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
		m, err := e.Fit(t.Context(), s.Select(rows))
		return &Model{Ensemble: m}, err
	}

	full, err := fit(rows)
	require.NoError(t, err)

	r, err := ComputeRises(t.Context(), s, g, full, func(group int) (*Model, error) {
		return fit(held[slices.IndexFunc(held, func(h Held) bool { return h.Group == group })].Rest)
	})
	require.NoError(t, err)

	return r
}

// Expected: the rises of E|cov| stay the same to the bit if the outcomes of the test group are set to a million.
func TestRisesSeeNothingOfTheTest(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 12)
	g := defaults().Grouping(z)
	rises := smallPairNetworks(t, s, g)
	require.Len(t, rises.Left, 4, "rises of the left-out groups")
	assert.Less(t, math.Abs(rises.New), 10.0, "rise of the test group")

	for _, i := range s.RowsOf(triplets.Test) {
		s.Y1[i] = 1e6
		s.Y2[i] = -1e6
	}

	assert.Equal(t, rises, smallPairNetworks(t, s, g))
}

// Expected: without known rises the intervals follow from the left-out groups alone. If the test group has a larger
// rise than the left-out groups, its intervals are wider.
func TestLearnerRises(t *testing.T) {
	s, z := speeds([]float64{4, 6, 8, 10, 12}, 12)
	calibrate := func(r *Rises) (half float64, c *interval.Calibration) {
		l := defaults()
		l.Rises = r
		m, p, err := l.Process(context.Background(), s, z)
		require.NoError(t, err)

		return p.Half[0], m.Calibration
	}

	plain, c := calibrate(nil)
	assert.Nil(t, c.Groups[0].Rise, "rise of a left-out group")

	unknown, c := calibrate(&Rises{New: math.NaN()})
	assert.Nil(t, c.Groups[0].Rise, "rise of a left-out group")
	assert.InEpsilon(t, plain, unknown, 1e-6, "half width with unknown rises")

	larger := &Rises{Left: map[string]float64{"4": 0, "6": 0.1, "8": -0.1, "10": 0}, New: 1}
	wide, c := calibrate(larger)
	assert.NotNil(t, c.Groups[0].Rise, "rise of a left-out group")
	assert.Greater(t, wide, plain, "half width with a larger rise")
}

// Expected: couples have no calibration, because they measure no error, and the model says so.
func TestLearnerAbsent(t *testing.T) {
	couples, z := speeds([]float64{4, 6, 8, 10, 12}, 8)
	couples.Couples = true
	m, p, err := defaults().Process(context.Background(), couples, z)
	require.NoError(t, err)
	assert.Nil(t, p, "prediction")
	assert.Contains(t, m.Absent, "couples")

	zeros := make([]float64, couples.N*couples.Out)
	given, err := defaults().Given(context.Background(), couples, z,
		triplets.Prediction{Mu: couples.Y1, Claim: zeros, Noise: zeros})
	require.NoError(t, err)
	assert.Nil(t, given.Calibration, "calibration of another program's predictions")
	assert.Contains(t, given.Absent, "couples")
}

// Expected: with two training groups the calibration has the level 0.98. With one training group no group can be left
// out. If the level is meant for nearly all groups, it is at least 0.98 with any number of groups.
func TestLearnerLevels(t *testing.T) {
	groups := defaults()
	groups.Hold = "groups"
	more := groups
	more.Level = 0.99

	for _, c := range []struct {
		l      Learner
		speeds []float64
		k      int // left-out groups
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
		require.NoError(t, err)
		require.Empty(t, m.Absent)
		assert.Equal(t, c.k, m.Calibration.K, "left-out groups of %g m/s", c.speeds)
		assert.Equal(t, c.level, m.Calibration.Level, "level of %g m/s", c.speeds)
		assert.Equal(t, c.level, m.Record.Outcomes[0].Level, "level of the record of %g m/s", c.speeds)
		assert.Len(t, p.Half, 9, "intervals of %g m/s", c.speeds)
	}
}

// Expected: the user's own prior if there is one, otherwise the named prior. If the wide prior is named, networks get
// the prior "networks".
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
		assert.Equal(t, c.want, l.ScalePrior().Name, "base %s, prior %q", c.base, c.prior)
	}

	s, z := speeds([]float64{4, 6, 8, 10}, 8)
	l := defaults()
	l.Law = own

	m, _, err := l.Process(context.Background(), s, z)
	require.NoError(t, err)
	assert.Equal(t, own, m.Calibration.Scale.Prior)
}

// Expected: the key of each setting outside its limits, and no key for good settings.
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

// namedQuantities returns quantities with the given names.
func namedQuantities(names []string) []triplets.Quantity {
	var list []triplets.Quantity
	for _, n := range names {
		list = append(list, triplets.Quantity{Name: n})
	}

	return list
}

// Expected: levels of the first harmonics over a number of blades and a shaft speed have the order form. Other
// outcomes, other inputs and a speed of 0 have none.
func TestOrderForm(t *testing.T) {
	set := func(inputs, outcomes []string, x ...float64) triplets.Set {
		zeros := make([]float64, len(x)/len(inputs)*len(outcomes))
		return triplets.New(namedQuantities(inputs), namedQuantities(outcomes), x, zeros, zeros)
	}

	levels := []string{"bpf1_db", "bpf2_db"}
	f, ok := orderForm(set([]string{"theta_deg", "rpm", "blades"}, levels, 0, 3000, 2))
	require.True(t, ok)
	assert.Equal(t, &gp.OrderForm{Columns: 3, Blades: 2, Speed: 1, Harmonics: 2}, f)

	for _, s := range []triplets.Set{
		set([]string{"rpm", "blades"}, []string{"bpf2_db", "bpf1_db"}, 3000, 2),
		set([]string{"rpm", "blades"}, []string{"bpf1_power", "bpf2_power"}, 3000, 2),
		set([]string{"rpm", "theta_deg"}, levels, 3000, 2),
		set([]string{"rpm", "blades"}, levels, 0, 2),
	} {
		_, ok := orderForm(s)
		assert.False(t, ok, "order form of %v over %v", s.OutcomeNames(), s.InputNames())
	}
}

// Expected: inputs that are constant in each group, and differ between groups, are functions of the group.
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
	assert.Equal(t, []bool{true, true, false, false}, fromGroup(s, g))
}

// Expected: each of a few values is a group, and many values are cut into blocks. Values within the tolerance are one
// group.
func TestGrouping(t *testing.T) {
	var many []float64
	for i := range 200 {
		many = append(many, float64(i)/7)
	}

	near := []float64{4.68, 4.71, 7.3, 7.31, 9}
	for _, c := range []struct {
		l    Learner
		z    []float64
		want int // groups
	}{
		{Learner{}, []float64{2, 2, 3, 5}, 3},
		{Learner{}, many, DefaultBlocks},
		{Learner{Settings: Settings{Blocks: 4}}, many, 4},
		{Learner{Tolerance: 0.1}, near, 3},
		{Learner{Settings: Settings{Labels: true}}, near, 5},
	} {
		assert.Len(t, c.l.Grouping(c.z).Names, c.want, "groups of %d values", len(c.z))
	}
}
