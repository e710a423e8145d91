package dsp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
)

// By hand, the first load of the first sample is 2·3 + 0.5·(3·4) + 1·4² − 2·|−1| = 26, and the second load is the
// second voltage. Matrices and terms that do not fit the voltages are errors.
func TestLoadMatrix(t *testing.T) {
	m, err := NewLoadMatrix([][]float64{{2, 0, 0, 0.5, 1, -2}, {0, 1, 0, 0, 0, 0}}, 3, []string{"1*2", "2^2", "|3|"})
	require.NoError(t, err)

	loads := m.Loads([][]float64{{3, 0}, {4, 7}, {-1, 0}})
	assert.Equal(t, [][]float64{{26, 49}, {4, 7}}, loads)

	for _, c := range []struct {
		rows  [][]float64
		terms []string
		want  string
	}{
		{[][]float64{{1, 2}}, nil, "expected 3 coefficients"},
		{nil, nil, "a row for each load"},
		{[][]float64{{1, 2, 3, 4}}, []string{"1*4"}, `the factor "4"`},
		{[][]float64{{1, 2, 3, 4}}, []string{"1^0"}, `the power "0"`},
		{[][]float64{{1, 2, 3, 4}}, []string{""}, `the factor ""`},
	} {
		_, err := NewLoadMatrix(c.rows, 3, c.terms)
		ingesttest.WantDataError(t, nil, err, c.want)
	}
}
