package gp

import (
	"context"
	"math"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A model that factorises its processes anew for each question gives the same bytes as one that keeps the factors, for
// any number of workers, asked together or one by one.
func TestAnswersWithoutFactors(t *testing.T) {
	ctx := context.Background()
	d := rotor(1, 2)
	q := Questions{
		LeaveOut: true, Units: [][][]int{{{0}, {5}, {7, 8}}, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}, X: d.X[:5*d.In],
		Added: &Added{X: d.X[:2*d.In], Pairs: []float64{1, 3}, Counts: []int{0, 2}, At: d.X[2*d.In : 5*d.In]},
	}

	plain := Options{GroupInputs: []int{0, 2}}
	labelled := Options{Labels: []int{4}, Level: d.Run}
	for name, o := range map[string]Options{"plain": plain, "labels": labelled} {
		m := mustFit(t, d, o)
		want, err := m.Answer(ctx, q)
		require.NoError(t, err, name)

		levels := Levels{Asked: []int{EachNew, EachNew, 5}, Measured: []int{4, 4, 5}} // without labels there are none
		posterior, err := m.Posterior(ctx, q.Added.At, 2, levels)
		require.NoError(t, err, name)

		m.process = nil
		for workers := 1; workers <= 3; workers++ {
			m.workers = workers
			got, err := m.Answer(ctx, q)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)

			again, err := m.Posterior(ctx, q.Added.At, 2, levels)
			require.NoError(t, err, name)
			require.Equal(t, posterior, again, name)

			left, err := m.LeaveOut(ctx, nil)
			require.NoError(t, err, name)
			require.Equal(t, want.Left, left, name)
		}
	}
}

// The covariance of measurements without noise need not have a Cholesky factor in floating point. Expected: a model
// that does not keep its factors then looks for the factor at once, and returns an error if there is none, here
// because a hyperparameter is not a number.
func TestCheckFactors(t *testing.T) {
	m := mustFit(t, rotor(1, 2), Options{})
	require.True(t, m.isCertain(0))
	require.NoError(t, m.checkFactors(context.Background()))

	m.Hyper[0].Nugget = 0
	clear(m.Spread)
	for k := range m.Hyper[0].Length {
		m.Hyper[0].Length[k] = 1e5
	}

	require.False(t, m.isCertain(0))

	m.Hyper[0].Constant = math.NaN()
	require.ErrorIs(t, m.checkFactors(context.Background()), errNotPositive)
}

// A caller waits while the limit would be exceeded, and gets its slice once another one was given back. If nothing is
// lent, a slice may exceed the limit.
func TestMatrices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLender()
		limit := lentNumbers * runtime.GOMAXPROCS(0)
		large := l.borrow(limit + 1)
		require.Len(t, large, limit+1)

		var small []float64
		go func() { small = l.borrow(10) }()

		synctest.Wait()
		require.Empty(t, small, "lent beyond the limit")

		l.giveBack(large)
		synctest.Wait()
		require.Len(t, small, 10)
		require.Equal(t, 10, l.lent)

		l.giveBack(small)
		require.Zero(t, l.lent)
	})
}
