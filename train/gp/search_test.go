package gp

import (
	"context"
	"testing"

	"doubletake/internal/parallel"
	"github.com/stretchr/testify/require"
)

// The library of the search calls the evidence on a goroutine of its own. A panic there, which too few noises cause
// here, arrives at the caller with its place.
func TestPanicInSearch(t *testing.T) {
	s := newSearchData([]float64{0, 1, 2, 3}, 1, nil)
	e := &evidence{searchData: s, y: []float64{1, 2, 3, 4}, noise: []float64{1}}

	defer func() {
		p, ok := recover().(*parallel.Panic)
		require.True(t, ok, "climb returned")
		require.Contains(t, p.Place, "gp.(*evidence)")
	}()

	_, _ = e.climb(context.Background(), s.layout.starts()[0]) // panics, and returns nothing
}
