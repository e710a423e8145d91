package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Sizes with one decimal, in powers of 1000. Expected texts are rounded by hand.
func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_951: "1.0 MB", 1_500_000: "1.5 MB",
		2e9: "2.0 GB", 3e12: "3.0 TB", 4e15: "4000.0 TB",
	} {
		assert.Equal(t, want, size(bytes), "%d bytes", bytes)
	}
}
