// Package filename splits the names of recordings into pieces: numbers with the words and units around them, texts,
// dates and times of day. The name wingA_aoa5deg_3000rpm_2024-05-03.wav has the text wingA, the number 5 with the word
// aoa and the unit deg, the number 3000 with the unit rpm, and a date.
//
// People write names in many ways, and a single name is often ambiguous: V7_5 may be the speed 7.5, or the fifth run at
// 7. Read therefore looks at the names of all recordings of a campaign together. Package vocabulary has the words.
package filename

import (
	"maps"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// Names are the pieces of the names of some files.
type Names struct {
	Pieces [][]Piece // of each file
	Common []string  // the keys of pieces that most names have, sorted
}

// Read splits the names of files into pieces. A key of a number is the name of its condition, such as rpm, and a second
// number of one condition in a name has the key rpm_2. Texts have no key.
//
// The steps are: restorePoints finds underlines that stand for decimal points, readPieces splits each name, markCopies
// finds the numbers that count copies of a name, and splitNameParts tells numbers that are conditions from numbers in
// names of things.
func Read(files []string) Names {
	bases := make([]string, len(files))
	for i, file := range files {
		bases[i] = strings.TrimSuffix(file, path.Ext(file))
	}

	bases = restorePoints(bases)
	cuts := condition.CutNames(bases)
	dates := shortDates(bases)
	pieces := make([][]Piece, len(files))
	for i := range files {
		pieces[i] = readPieces(bases[i], cuts[i], dates[i])
	}

	markCopies(bases, pieces)
	pieces, count := splitNameParts(files, pieces)

	return Names{Pieces: pieces, Common: commonKeys(count, len(files))}
}

// commonKeys returns the keys that more than half of n names have. Keys of numbers that count are common only if there
// are no others: otherwise a file 3000rpm would be left out beside 3000rpm (2).
func commonKeys(count map[string]int, n int) []string {
	var common, counting []string
	for _, key := range slices.Sorted(maps.Keys(count)) {
		isText := key == "" // texts get their columns later
		if isText || key == "time" || 2*count[key] <= n {
			continue
		}

		if vocabulary.Counters.MatchString(key) {
			counting = append(counting, key)
		} else {
			common = append(common, key)
		}
	}

	if len(common) == 0 {
		return counting
	}

	return common
}
