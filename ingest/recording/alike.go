package recording

import (
	"fmt"
)

// MostAlike returns the largest number of recordings of one run that have equal conditions. It is 1 if conditions tell
// all recordings apart.
func MostAlike(runs []Run) int {
	most := 0
	for _, run := range runs {
		alike := map[string]int{}
		for _, rec := range run.Run.Recordings {
			conditions := fmt.Sprint(rec.Conditions)
			alike[conditions]++
			most = max(most, alike[conditions])
		}
	}

	return most
}
