package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Samples in another unit are copied before they are converted, and a column in
// the unit of its name is passed on.
func TestConvertSeries(t *testing.T) {
	given := []float64{1, 2}
	v, n, err := ConvertSeries("a.csv", "Fz", "lift_n", "kN", given)
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 2000}, v, "%v %+v, given %v", v, n, given)
	require.Equal(t, "N", n.Unit, "%v %+v, given %v", v, n, given)
	assert.Equal(t, 1.0, given[0], "%v %+v, given %v", v, n, given)

	if v, _, _ := ConvertSeries("a.csv", "Fz", "lift_n", "N", given); &v[0] != &given[0] {
		t.Error("samples in the right unit were copied")
	}

	_, _, err = ConvertSeries("a.csv", "Fz", "lift_n", "V", given)
	assert.ErrorContains(t, err, "a.csv: column Fz: ")
}
