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

// countsCopies reports whether a piece of a name counts copies. The name before the piece must be a name too, and the
// piece must be 2 or b, or come behind another copy in counting.
func (p Piece) countsCopies(name string, isName map[string]bool) bool {
	prefix := name[:p.TextBegin]
	original := strings.TrimRight(prefix, " _-.(#")
	if original == "" || !isName[original] || len(p.Text) != 1 || vocabulary.IsKnown(p.Key) {
		return false
	}

	second := ""
	switch p.Kind {
	case Number:
		second = "2"
	case Word:
		second = "b"
	}

	isCapital := p.Kind == Word && capital.MatchString(p.Text) // of a thing
	if isCapital || p.Kind != Number && !isDigit(original[len(original)-1]) {
		return false
	}

	previous := prefix + string(p.Text[0]-1)

	return p.Text <= second || isName[previous]
}
