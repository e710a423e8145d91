package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Expected values: the bound is 400 MiB, and half as much again as is in use if that is more.
func TestMemoryBound(t *testing.T) {
	for _, c := range []struct{ live, want int64 }{
		{0, 400 << 20}, {200 << 20, 400 << 20}, {300 << 20, 450 << 20}, {2 << 30, 3 << 30},
	} {
		assert.Equal(t, c.want, memoryBound(c.live), "%d bytes in use", c.live)
	}
}
