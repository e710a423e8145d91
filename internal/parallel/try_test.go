package parallel_test

import (
	"fmt"
	"testing"

	"doubletake/internal/parallel"
)

// The error is that of the smallest number, for any number of workers.
func TestTry(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for range 100 {
			err := parallel.Try(workers, 50, func(i int) error {
				if i%7 == 3 {
					return fmt.Errorf("number %d", i)
				}

				return nil
			})
			if err == nil || err.Error() != "number 3" {
				t.Fatalf("%d workers: %v, expected number 3", workers, err)
			}
		}

		if err := parallel.Try(workers, 50, func(int) error { return nil }); err != nil {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}
