package predict

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values of the second of two inputs at held-out conditions, and a value asked for. Without held-out conditions nothing
// encloses it, however large it is.
func TestEncloses(t *testing.T) {
	for _, c := range []struct {
		held  []float64 // two inputs of each condition
		value float64
		want  bool
	}{
		{[]float64{0, 1, 0, 3}, 2, true},
		{[]float64{0, 1, 0, 3}, 3, true},
		{[]float64{0, 1, 0, 3}, 3.5, false},
		{nil, 2, false},
		{nil, 1e17, false},
	} {
		assert.Equal(t, c.want, heldOutPart{x: c.held}.encloses(1, []float64{0, c.value}), "%g within %v", c.value, c.held)
	}
}
