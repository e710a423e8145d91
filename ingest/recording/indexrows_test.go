package recording

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A rate or a duration that is unknown, 0 or infinite, is a missing number in the index.
func TestOrNaN(t *testing.T) {
	assert.Equal(t, 2.0, orNaN(2))
	assert.True(t, math.IsNaN(orNaN(0)), "0 must become NaN")
	assert.True(t, math.IsNaN(orNaN(math.Inf(1))), "infinity must become NaN")
}
