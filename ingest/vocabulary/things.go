package vocabulary

import "regexp"

// Month is the expression of the name of a month, in English or German.
const Month = `(?:jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|märz?|mrz|apr(?:il)?|ma[yi]|jun[ei]?|jul[yi]?|aug(?:ust)?|` +
	`sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)`

// thingWords are words of things of which a campaign may have several.
const thingWords = `prop|propeller|luftschraube|h[ée]lice|elica|wing|motor|airfoil|aerofoil|profile?|modell?|rotor|` +
	`fan|specimen|config|configuration`

// RepeatWords is an expression of words that count the repeats of a recording, for patterns of other packages.
const RepeatWords = `rep|repeat|repetition|wdh|wiederholung`

// Words of things, and words that tell how the number behind them is meant.
var (
	// Things are words of things that numbers may tell apart: prop 2, mic 4.
	Things = Whole(thingWords + `|mic|microphone`)

	// ThingNumber matches headers of numbers of things: Prop ID. Its group is the word that says so, as ID, or empty.
	ThingNumber = Whole(`(?:` + thingWords + `|blade)[ _.-]*(id|nr|no|num|number|nummer|#|code|type|typ)?\.?`)

	// Type matches words of types of things, such as NACA in NACA0012.
	Type = regexp.MustCompile(`^[A-Z]{2,}$`)

	// Months are names of months.
	Months = Whole(Month)

	// Repeats are words of repeats and copies of a recording.
	Repeats = Whole(RepeatWords + `|repeated|retest|again|bis|copy|kopie`)

	// InThousands are words of numbers that people write in thousands: 10k.
	InThousands = Whole(`re|reynolds|rpm|n`)

	// Decimals are words of numbers that are mostly less than one: Mach 0.3.
	Decimals = Whole(`j|ma|mach|mu`)

	// Ratio matches words of ratios, behind whose number an underline stands for a point: J0_5. A small j may be a
	// motor: j1_11.
	Ratio = regexp.MustCompile(`^(?:J|(?i:mu|ma|mach|tsr|lambda))$`)
)
