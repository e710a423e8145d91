package plan

import (
	"crypto/sha256"
	"encoding/binary"
)

// manyFiles is the smallest number of files whose results are joined in shards.
const manyFiles = 512

// Shard is a range of consecutive files that a task of its own joins.
type Shard struct {
	Begin int
	End   int // index of the file after the last one
}

// Shards divides n files into about √n ranges of consecutive files, and returns nil if there are few files. A task
// joins each range, so that another file changes one small join, and the join of all reads few parts. The name of a
// file alone decides whether a shard begins with it, so that other shards do not change when files are added or
// removed.
func Shards(names []string) []Shard {
	if len(names) < manyFiles {
		return nil
	}

	mean := uint32(1) // files of a shard: a power of two, which is the same for a wide range of n
	for mean*mean < uint32(len(names)) {
		mean *= 2
	}

	var shards []Shard
	begin := 0
	for i, name := range names {
		sum := sha256.Sum256([]byte(name))
		begins := binary.LittleEndian.Uint32(sum[:])%mean == 0
		if begins && i > 0 {
			shards = append(shards, Shard{Begin: begin, End: i})
			begin = i
		}
	}

	return append(shards, Shard{Begin: begin, End: len(names)})
}
