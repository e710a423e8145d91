package plan

import (
	"crypto/sha256"
	"encoding/binary"
)

// manyFiles is the number of files from which joins are made in shards.
const manyFiles = 512

// Shards cuts many files into runs of consecutive ones, of about √n files: tasks of their own
// join these, so that a file more changes one small join, and the whole one reads few parts. A name
// alone decides whether a shard begins with it: the others stay when files come or go. Few
// files are no shards: nil.
func Shards(names []string) (ranges [][2]int) {
	if len(names) < manyFiles {
		return nil
	}

	mean := uint32(1) // a power of two: the same over a wide range of n
	for mean*mean < uint32(len(names)) {
		mean *= 2
	}

	from := 0
	for i, name := range names {
		sum := sha256.Sum256([]byte(name))
		if begins := binary.LittleEndian.Uint32(sum[:])%mean == 0; begins && i > 0 {
			ranges = append(ranges, [2]int{from, i})
			from = i
		}
	}

	return append(ranges, [2]int{from, len(names)})
}
