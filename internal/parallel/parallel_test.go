package parallel_test

import (
	"fmt"
	"testing"

	"doubletake/internal/parallel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Try returns the error of the smallest number that fails, 3, for any number of workers, and nil if no call fails.
func TestTry(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for range 100 {
			err := parallel.Try(workers, 50, func(i int) error {
				if i%7 == 3 {
					return fmt.Errorf("number %d", i)
				}

				return nil
			})
			require.EqualError(t, err, "number 3", "%d workers", workers)
		}

		err := parallel.Try(workers, 50, func(int) error { return nil })
		assert.NoError(t, err, "%d workers", workers)
	}
}
