package honest_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// network trains the repository's own network on standardised pairs.
func network(cfg train.Config) honest.TrainFunc {
	return func(ctx context.Context, d triplets.Set, seed uint64) (honest.Network, error) {
		cfg.Standardise = false
		cfg.Seed = seed
		set := triplets.New(make([]triplets.Quantity, d.In), make([]triplets.Quantity, d.Out), d.X, d.Y1, d.Y2)
		m, _, err := train.FitSingle(ctx, set, cfg, nil)
		return m, err
	}
}

// wave simulates n pairs of a sine over the first of two inputs; the second is constant.
func wave(n int) triplets.Set {
	rng := rand.New(rand.NewPCG(3, 3))

	d := triplets.Set{N: n, In: 2, Out: 1}
	for range n {
		x := 4 * rng.Float64()
		d.X = append(d.X, x, 12)
		d.Y1 = append(d.Y1, 30+5*math.Sin(x)+0.1*rng.NormFloat64())
		d.Y2 = append(d.Y2, 30+5*math.Sin(x)+0.1*rng.NormFloat64())
	}

	return d
}

// fixed is a network that predicts the mean 0 and the variance 1 of its number of outcomes.
type fixed int

func (f fixed) Predict(x []float64) (mu, variance []float64) {
	n := len(x) * int(f)
	mu = make([]float64, n)
	variance = make([]float64, n)
	for i := range variance {
		variance[i] = 1
	}

	return mu, variance
}

// Expected: an error that says what is wrong with the ensemble or the data.
func TestEnsembleRefuses(t *testing.T) {
	ctx := context.Background()
	ok := func(context.Context, triplets.Set, uint64) (honest.Network, error) { return fixed(1), nil }
	flat := wave(5)
	flat.Y1 = make([]float64, 5)
	flat.Y2 = make([]float64, 5)
	same := wave(5)
	same.X = make([]float64, 10)
	for _, c := range []struct {
		e     honest.Ensemble
		d     triplets.Set
		words string
	}{
		{honest.Ensemble{Members: 1, Train: ok}, wave(5), "at least 2 members"},
		{honest.Ensemble{Train: ok}, flat, "outcome column 0 is constant"},
		{honest.Ensemble{Train: ok}, same, "no input varies"},
		{honest.Ensemble{Train: ok}, triplets.Set{In: 1, Out: 1}, "no training rows"},
		{honest.Ensemble{Train: func(context.Context, triplets.Set, uint64) (honest.Network, error) {
			return nil, errors.New("boom")
		}}, wave(5), "member 1 of 5: boom"},
	} {
		_, err := c.e.Fit(ctx, c.d)
		assert.ErrorContains(t, err, c.words)
	}
}

// claiming is a network that claims 0.3 of its variance of 1, and −2 for positive inputs.
type claiming struct{ Out int }

func (c claiming) Predict(x []float64) (mu, variance []float64) { return fixed(c.Out).Predict(x) }

func (c claiming) Claim(_ context.Context, x []float64) ([]float64, error) {
	claims := make([]float64, len(x)*c.Out)
	for i, v := range x {
		claims[i] = 0.3
		if v > 0 {
			claims[i] = -2
		}
	}

	return claims, nil
}

// Expected by hand: the claim of 0.3 of the outcomes' variance is epistemic, and the rest of 0.7 is noise. A negative
// claim counts as 0, and all of the variance is noise.
func TestClaims(t *testing.T) {
	ctx := context.Background()
	d := wave(50)
	e := honest.Ensemble{Members: 1, Claims: true}
	e.Train = func(context.Context, triplets.Set, uint64) (honest.Network, error) { return claiming{1}, nil }
	m, err := e.Fit(ctx, d)
	require.NoError(t, err)
	require.Len(t, m.Members, 1)

	p, err := m.Predict(ctx, []float64{-100, 12, 100, 12})
	require.NoError(t, err)

	std := d.OutcomeScale().Std
	variance := std[0] * std[0]
	assert.InDeltaSlice(t, []float64{0.3 * variance, 0}, p.Claim, 1e-12*variance, "claims")
	assert.InDeltaSlice(t, []float64{0.7 * variance, variance}, p.Noise, 1e-12*variance, "noise")
}

// Expected: a stored ensemble predicts the same bits, and an error names the damage of a damaged one.
func TestEnsembleIsStored(t *testing.T) {
	ctx := context.Background()
	d := wave(40)
	cfg := train.DefaultConfig()
	cfg.Epochs = 2
	cfg.Hidden = []int{6}
	m, err := honest.Ensemble{Members: 4, Seed: 9, Train: network(cfg)}.Fit(ctx, d)
	require.NoError(t, err)

	b, err := json.Marshal(m)
	require.NoError(t, err)

	var again honest.EnsembleModel
	require.NoError(t, json.Unmarshal(b, &again))

	query := []float64{1, 12, 30, 12, -5, 3}
	p, err := m.Predict(ctx, query)
	require.NoError(t, err)

	q, err := again.Predict(ctx, query)
	require.NoError(t, err)
	assert.Equal(t, p, q, "from the file")

	for _, c := range []struct{ old, damaged, words string }{
		{`"version":1`, `"version":7`, `expected format "doubletake-ensemble" version 1`},
		{`"columns":[0]`, `"columns":[5]`, "expected columns below 2, found 5"},
		{`"outcome_mean":[`, `"outcome_mean":[1,`, "scales for 2 inputs and 1 outcomes"},
		{`"network":{`, `"network":{"inputs":"one",`, "member 1"},
		{`{`, `[`, "decode ensemble"},
	} {
		damaged := strings.Replace(string(b), c.old, c.damaged, 1)
		assert.ErrorContains(t, new(honest.EnsembleModel).UnmarshalJSON([]byte(damaged)), c.words, c.damaged)
	}
}
