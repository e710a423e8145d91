package gp

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: the rows written by hand from the definition (speed replaced by its logarithm, then ln(m·n) and m), and an
// error for a speed of 0.
func TestOrderFormRows(t *testing.T) {
	f := OrderForm{Columns: 3, Blades: 1, Speed: 0, Harmonics: 2}
	x, err := f.X([]float64{5000, 3, -20, 4000, 2, 10})
	require.NoError(t, err)

	want := []float64{
		math.Log(5000), 3, -20, math.Log(3), 1, math.Log(5000), 3, -20, math.Log(6), 2,
		math.Log(4000), 2, 10, math.Log(2), 1, math.Log(4000), 2, 10, math.Log(4), 2,
	}

	assert.Equal(t, want, x)

	_, err = f.X([]float64{5000, 3, -20, 0, 2, 10})
	assert.ErrorContains(t, err, "row 1 in order form")
}

// tones simulates pairs of levels of rotors with the given numbers of blades n, at 10 speeds each: the first four
// harmonics m. The true levels depend on the shaft order m·n and the speed alone.
func tones(blades ...float64) (d triplets.Set, truth []float64) {
	rng := rand.New(rand.NewPCG(4, 4))

	d = triplets.Set{In: 2, Out: 4}
	for g, n := range blades {
		for rpm := 2000.0; rpm < 9000; rpm += 700 {
			d.X = append(d.X, n, rpm)
			d.Run = append(d.Run, g)
			d.N++
			for m := 1.0; m <= 4; m++ {
				y := 50*math.Log10(rpm/5000) - 8*math.Log(m*n) + 3*math.Sin(m*n/2)
				truth = append(truth, y)
				d.Y1 = append(d.Y1, y+0.5*rng.NormFloat64())
				d.Y2 = append(d.Y2, y+0.5*rng.NormFloat64())
			}
		}
	}

	return d, truth
}

// A rotor of four blades was not measured, but its shaft orders 4, 8, 12 and 16 were measured with other rotors.
// Expected: the order form predicts its levels, with half of the error at most of a process with one outcome per
// harmonic. Witness: the simulation.
func TestOrderFormCarriesOver(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3, 6, 8)
	test, truth := tones(4)
	o := Options{GroupInputs: []int{0}, Group: d.Run, Workers: 2} // the groups are the rotors, of both fits
	f := OrderForm{Columns: 2, Blades: 0, Speed: 1, Harmonics: 4}
	m, err := FitForm(ctx, d, f, o)
	require.NoError(t, err)

	rms := func(mu []float64) float64 {
		s := 0.0
		for i, v := range mu {
			s += (v - truth[i]) * (v - truth[i]) / float64(len(mu))
		}

		return math.Sqrt(s)
	}

	ordered, err := m.PredictLevels(ctx, test.X, nil)
	require.NoError(t, err)

	plain, err := mustFit(t, d, o).Predict(ctx, test.X)
	require.NoError(t, err)

	require.Len(t, ordered.Mu, 4*test.N, "means")
	require.Len(t, ordered.Claim, 4*test.N, "claims")
	require.Len(t, ordered.Noise, 4*test.N, "noise variances")
	assert.Less(t, rms(ordered.Mu), 1.5, "error in order form, in dB")
	assert.Less(t, rms(ordered.Mu), rms(plain.Mu)/2, "error in order form, and half of the other error")

	// Left-out levels are in the order of the rows, too: on average over the levels, a level is nearer to its own
	// prediction, by a factor of two, than to the prediction of the next level in the list.
	left, err := m.LeaveOut(ctx, nil)
	require.NoError(t, err)
	require.Len(t, left.Mu, 4*d.N, "left-out levels")

	none, err := m.LeaveOut(ctx, []int{})
	require.NoError(t, err)
	assert.Empty(t, none.Mu, "levels of no conditions")

	own := 0.0
	next := 0.0
	for i := range len(left.Mu) - 1 {
		own += math.Abs(left.Mu[i] - d.Y1[i])
		next += math.Abs(left.Mu[i+1] - d.Y1[i])
	}

	assert.Less(t, own, next/2, "distance of levels to their own predictions, and to the next")
}

// Rows and units are left out of a model that was read from a file, in the order form and without a form, and units of
// a model whose conditions were averaged. Expected: errors, as the comments of the methods say.
func TestLeaveOutWithoutRows(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3)
	fitted := mustFit(t, d, Options{})
	data, err := json.Marshal(fitted)
	require.NoError(t, err)

	var stored Model
	require.NoError(t, json.Unmarshal(data, &stored))

	inForm := &Mapped{Form: OrderForm{Columns: 2, Blades: 0, Speed: 1, Harmonics: 4}, Model: &stored}
	averaged := mustFit(t, d, Options{MaxRows: 8})
	units := [][]int{{0, 1}}

	for name, c := range map[string]struct {
		leaveOut func() error
		want     string
	}{
		"rows":                {func() error { _, err := stored.LeaveOut(ctx, nil); return err }, "read from a file"},
		"some rows":           {func() error { _, err := stored.LeaveOut(ctx, []int{0}); return err }, "read from a file"},
		"units":               {func() error { _, err := stored.LeaveOutUnits(ctx, units); return err }, "read from a file"},
		"conditions":          {func() error { _, err := inForm.LeaveOut(ctx, nil); return err }, "read from a file"},
		"some conditions":     {func() error { _, err := inForm.LeaveOut(ctx, []int{0}); return err }, "read from a file"},
		"units of conditions": {func() error { _, err := inForm.LeaveOutUnits(ctx, units); return err }, "read from a file"},
		"units of averages":   {func() error { _, err := averaged.LeaveOutUnits(ctx, units); return err }, "averaged"},
	} {
		assert.ErrorContains(t, c.leaveOut(), c.want, name)
	}
}
