package filename

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// nameParts are the pieces of all names, and how often each condition occurs.
type nameParts struct {
	files     []string
	pieces    [][]Piece      // of each file
	count     map[string]int // how many numbers each condition has in all names
	mostCount int            // the greatest count

	letters map[string]map[string]bool // the single letters of each condition, in lower case, as a set
}

// newNameParts returns the pieces of the names of files, with the number of times that each condition occurs.
func newNameParts(files []string, pieces [][]Piece) *nameParts {
	names := &nameParts{files: files, pieces: pieces, count: map[string]int{}, letters: map[string]map[string]bool{}}
	for _, p := range slices.Concat(pieces...) {
		if p.Kind == Number {
			name := p.condition()
			names.count[name]++
			names.mostCount = max(names.mostCount, names.count[name])
			if len(p.Key) == 1 {
				letters := names.letters[name]
				if letters == nil {
					letters = map[string]bool{}
					names.letters[name] = letters
				}

				letters[strings.ToLower(p.Key)] = true
			}
		}
	}

	return names
}

// commonPercent is the share of the names from which a condition is common. The numbers of rarer conditions may be
// parts of names of things.
const commonPercent = 80

// isRareCondition reports whether a piece is a number with a word, whose condition many names lack.
func (n *nameParts) isRareCondition(p Piece) bool {
	return p.Kind == Number && p.Key != "" && 100*n.count[p.condition()] < commonPercent*len(n.files)
}

// isMinorCondition reports whether at most half as many names have the condition of a number as have the most frequent
// condition, and the number does not count runs.
func (n *nameParts) isMinorCondition(p Piece) bool {
	return !vocabulary.Counters.MatchString(p.Key) && 2*n.count[p.condition()] <= min(n.mostCount, len(n.files))
}

// isOtherLetter reports whether the word of a number is one of several letters for one condition, of which each name
// has one at most: U10 and V10. Nobody writes one speed with two letters, so that they are of things.
func (n *nameParts) isOtherLetter(p Piece) bool {
	name := p.condition()
	return p.Kind == Number && len(p.Key) == 1 && len(n.letters[name]) > 1 && n.count[name] <= len(n.files)
}

// splitNameParts decides for each number with a word that many names lack whether it is a condition. It returns the
// pieces with the names of their columns as keys, and how often each key occurs.
//
//   - The number and the word become two pieces if the numbers are conditions beside names of things: APC_3000 and
//     GWS_3000.
//   - Otherwise both are the name of a thing: NACA_0012.
func splitNameParts(files []string, pieces [][]Piece) (split [][]Piece, count map[string]int) {
	names := newNameParts(files, pieces)
	areConditions := names.areSpareConditions()
	split = make([][]Piece, len(files))
	count = map[string]int{}
	for i, file := range files {
		numbers := map[string]int{} // of the name, by condition
		for _, p := range pieces[i] {
			isRare := names.isRareCondition(p)
			isUnclear := isRare && (!vocabulary.IsKnown(p.Key) || names.isMinorCondition(p))
			switch {
			case p.Kind != Number:
			case areConditions && isRare && p.isSpare(), names.isOtherLetter(p):
				split[i] = append(split[i], newTextPiece(file, p.Begin, p.Begin+len(p.Key)))
				p.Key = ""
				p.Begin = p.TextBegin
			case p.IsThing(), isUnclear:
				p = newTextPiece(file, p.Begin, p.End)
			}

			if p.Kind == Number {
				key := p.condition()
				numbers[key]++
				p.Key = Nth(key, numbers[key])
			}

			count[p.Key]++
			split[i] = append(split[i], p)
		}
	}

	return split, count
}

// areSpareConditions reports whether the spare numbers (isSpare) are conditions rather than parts of names of things.
// They are if at least two numbers, or all, each come with several words: A_10 and B_10. They also are if they seem
// to number the files, as in APC_1, APC_2, GWS_3, GWS_4: all are different, their range is less than the number of
// files, and there are several words, with two numbers each on average.
func (n *nameParts) areSpareConditions() bool {
	wordsOf := map[string]map[string]bool{} // by number, as a set
	words := map[string]bool{}
	spare := 0
	low := math.Inf(1)
	high := math.Inf(-1)
	for _, p := range slices.Concat(n.pieces...) {
		if !n.isRareCondition(p) || !p.isSpare() {
			continue
		}

		spare++
		words[p.Key] = true
		if wordsOf[p.Text] == nil {
			wordsOf[p.Text] = map[string]bool{}
		}

		wordsOf[p.Text][p.Key] = true
		value, _ := condition.ParseName(p.Text)
		low = min(low, value)
		high = max(high, value)
	}

	shared := 0 // numbers with several words
	for _, w := range wordsOf {
		if len(w) > 1 {
			shared++
		}
	}

	if shared > 1 || shared > 0 && shared == len(wordsOf) {
		return true
	}

	numberFiles := len(wordsOf) == spare && high-low < float64(len(n.files))
	haveSeveralNumbers := len(words) > 1 && 2*len(words) <= spare

	return numberFiles && haveSeveralNumbers
}

// Nth returns the name of the n-th column of a name: alpha_deg, alpha_deg_2.
func Nth(name string, n int) string {
	if n == 1 {
		return name
	}

	return fmt.Sprint(name, "_", n)
}

// isSpare reports whether a number need not be part of the name of a thing: the word before it is a letter, or is a
// text of its own that may be the name of a thing alone.
func (p Piece) isSpare() bool {
	switch {
	case len(p.Key) == 1:
		return true
	case p.Key == "" || vocabulary.IsKnown(p.Key) || vocabulary.Things.MatchString(p.Key):
		return false
	}

	isApart := p.TextBegin > p.Begin+len(p.Key)

	return isApart || !condition.Series.MatchString(p.Key)
}
