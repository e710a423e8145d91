package recording

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// CheckCopies returns an error if files with different names have the same contents, because a copy is not a
// measurement. sums contains the digests of the files.
func CheckCopies(names, sums []string) error {
	first := map[string]string{} // by contents
	original := ""
	var copies []string
	for i, sum := range sums {
		name, known := first[sum]
		if !known {
			first[sum] = names[i]
			continue
		}

		if name == names[i] {
			continue
		}

		if copies == nil {
			original = name
		}

		copies = append(copies, names[i])
	}

	if copies == nil {
		return nil
	}

	quoted := lists.Each(copies, spelling.YAML)

	return fault.At(copies[0], "", "another measurement than "+original, "an exact copy of it (the same sha256)",
		fmt.Sprintf("a copy is no measurement: leave it out with ingest: {exclude: [%s]}", fault.Some(quoted)))
}
