package filename

import (
	"strings"

	"doubletake/ingest/vocabulary"
)

// markCopies finds the pieces that count copies of a name, and changes them to numbers with the key Copy. V10_2 and
// V10_b are copies of V10, and so is V10_3 if there is V10_2.
func markCopies(names []string, pieces [][]Piece) {
	isName := map[string]bool{}
	for _, name := range names {
		isName[name] = true
	}

	for i, name := range names {
		for k, p := range pieces[i] {
			if p.countsCopies(name, isName) {
				pieces[i][k].Kind = Number
				pieces[i][k].Key = Copy
			}
		}
	}
}

// countsCopies reports whether a piece of a name counts copies. The piece must be one digit or one small letter, and
// the name before it must be a name too. Counting begins with 0, 1, 2, a or b. Any other digit or letter counts copies
// only if there is the name with the digit or letter before it.
func (p Piece) countsCopies(name string, isName map[string]bool) bool {
	prefix := name[:p.TextBegin]
	original := strings.TrimRight(prefix, " _-.(#")
	if original == "" || !isName[original] || len(p.Text) != 1 || vocabulary.IsKnown(p.Key) {
		return false
	}

	isCapital := p.Kind == Word && capital.MatchString(p.Text) // of a thing
	if isCapital || p.Kind != Number && !isDigit(original[len(original)-1]) {
		return false
	}

	beginsCounting := strings.Contains("012ab", p.Text)
	previous := prefix + string(p.Text[0]-1)

	return beginsCounting || isName[previous]
}
