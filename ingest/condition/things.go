package condition

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// thingName matches the name of a column whose cells name things, whatever they look like: 8E4 and 10E5 are names of
// propellers, not numbers. A thing is an object that a campaign measures several of, such as a propeller or a sensor.
//
// vocabulary.Things and vocabulary.Objects have more words, such as fan and surface, since package role weighs them
// against the values of the column. Here the name alone decides, so that a word must not also mean a quantity.
// TestThingsOfVocabulary compares the lists.
var thingName = regexp.MustCompile(`(?i)^(?:propellers?|props?|luftschrauben?|h[ée]lices?|elica|wings?|flügel|ailes?|` +
	`airfoils?|aerofoils?|profiles?|profil|motors?|motoren|moteurs?|engines?|models?|modelle?|modèles?|serials?|sn|s/n|` +
	`seriennummer|specimens?|samples?|probe|proben|parts?|devices?|sensors?|esc|batteries|nozzles?|düsen?)` +
	`(?:[ _-]?(?:id|no|nr|num|number|nummer|name|type|typ|model|serial|code))?\.?$`)

// IsThing reports whether a column is called as things are, so that its cells are names.
func IsThing(column string) bool { return thingName.MatchString(strings.TrimSpace(column)) }

// nameLikeNumber matches a name that looks like a power of ten: 8E4, 10E5. Programs write 8e+04 or 8.0E4.
var nameLikeNumber = regexp.MustCompile(`^\d{1,2}[eE]\d{1,2}$`)

// LookLikeNames reports whether all cells that are not empty look like powers of ten that span decades without an
// order, as sizes of propellers do and set points do not.
func LookLikeNames(cells []string) bool {
	low := math.Inf(1)
	high := math.Inf(-1)
	exponents := map[string]bool{}
	mantissas := map[string]bool{}
	for _, cell := range cells {
		if cell == "" {
			continue
		}

		if !nameLikeNumber.MatchString(cell) {
			return false
		}

		mantissa, exponent, _ := strings.Cut(strings.ToUpper(cell), "E")
		mantissas[mantissa] = true
		exponents[exponent] = true
		v, _ := strconv.ParseFloat(cell, 64)
		low = min(low, v)
		high = max(high, v)
	}

	const fewest = 3 // mantissas: the decades of one number, such as 1E4, 1E5, 1E6, have one
	return len(mantissas) >= fewest && len(exponents) > 1 && high >= 10*low
}
