package scaffold

import (
	"regexp"
	"strings"

	"doubletake/ingest/condition"
)

// standardNames are the names that conditions have in this program, by the words of file names and attributes.
var standardNames = map[string]string{
	"a": "alpha_deg", "alpha": "alpha_deg", "aoa": "alpha_deg", "angle": "alpha_deg", "α": "alpha_deg",
	"winkel": "alpha_deg", "angolo": "alpha_deg", "angulo": "alpha_deg", "ángulo": "alpha_deg", "alfa": "alpha_deg",
	"incidence": "alpha_deg", "u": "u_inf_m_s", "v": "u_inf_m_s", "speed": "u_inf_m_s", "vel": "u_inf_m_s",
	"uinf": "u_inf_m_s", "velocity": "u_inf_m_s", "b": "blades", "blades": "blades", "rpm": "rpm", "theta": "theta_deg",
	"phi": "phi_deg", "alpha_deg": "alpha_deg", "u_inf_m_s": "u_inf_m_s", "theta_deg": "theta_deg", "phi_deg": "phi_deg",
}

// unitMeaning is what a unit behind a number tells about the number.
type unitMeaning struct {
	condition string // name of the condition of a number without a word; "": unknown
	ending    string // of the name of a condition with another word; "": none
}

// unitWords are the units that follow numbers in names. Upper case counts: M is a million, m is a metre.
var unitWords = map[string]unitMeaning{
	"blades": {"blades", ""}, "blade": {"blades", ""}, "bl": {"blades", ""}, "rpm": {"rpm", "rpm"},
	"deg": {"alpha_deg", "deg"}, "degrees": {"alpha_deg", "deg"}, "°": {"alpha_deg", "deg"},
	"ms": {"u_inf_m_s", "m_s"}, "mps": {"u_inf_m_s", "m_s"}, "m_s": {"u_inf_m_s", "m_s"}, "kmh": {"u_inf_km_h", "km_h"},
	"km_h": {"u_inf_km_h", "km_h"}, "kph": {"u_inf_km_h", "km_h"}, "knots": {"u_inf_kt", "kt"}, "krpm": {"rpm", "rpm"},
	"fps": {"u_inf_ft_s", "ft_s"}, "degc": {"temperature_c", "c"}, "hz": {"frequency_hz", "hz"},
	"khz": {"frequency_khz", "khz"}, "mm": {"length_mm", "mm"}, "cm": {"length_cm", "cm"},
	"pct": {"percent", "percent"}, "percent": {"percent", "percent"},
	"%": {"percent", "percent"}, "k": {}, "M": {}, "kn": {"", "kn"}, "v": {"voltage_v", "v"},
	"kt": {"u_inf_kt", "kt"}, "kts": {"u_inf_kt", "kt"}, "mph": {"u_inf_mph", "mph"}, "in": {"length_in", "in"},
	"K": {"temperature_k", "k"}, "C": {"temperature_c", "c"}, "rps": {"rps", "rps"}, "rad": {"alpha_rad", "rad"},
	"s": {"seconds", "s"}, "min": {"minutes", "min"}, "kg": {"mass_kg", "kg"}, "bar": {"pressure_bar", "bar"},
	"db": {"level_db", "db"}, "inch": {"length_in", "in"}, "ft": {"length_ft", "ft"}, "m": {"length_m", "m"},
	"pa": {"pressure_pa", "pa"}, "us": {"pulse_us", "us"}, "µs": {"pulse_us", "us"}, "μs": {"pulse_us", "us"},
	"upm": {"rpm", "rpm"}, "umin": {"rpm", "rpm"}, "trmin": {"rpm", "rpm"}, "S": {"cells", "s"}, "bladed": {"blades", ""},
	"blatt": {"blades", ""}, "度": {"alpha_deg", "deg"}, "grad": {"alpha_deg", "deg"}, "gradi": {"alpha_deg", "deg"},
	"grados": {"alpha_deg", "deg"}, "degrés": {"alpha_deg", "deg"}, "graden": {"alpha_deg", "deg"},
}

// multipliers are the units that multiply a number.
var multipliers = map[string]float64{"k": 1e3, "krpm": 1e3, "kRPM": 1e3, "kRpm": 1e3, "M": 1e6}

// unitBehind returns the meaning of a word behind a number, and whether the word is a unit.
func unitBehind(word string) (meaning unitMeaning, known bool) {
	meaning, known = unitWords[word]
	if !known {
		meaning, known = unitWords[strings.ToLower(word)]
	}

	return meaning, known
}

// isUnitWord reports whether a word behind a number is a unit.
func isUnitWord(word string) bool {
	_, known := unitBehind(word)
	return known
}

// isKnown reports whether a word before a number names its quantity.
func isKnown(word string) bool {
	return standardNames[strings.ToLower(word)] != "" || countWords.MatchString(word) || inputWords.MatchString(word)
}

// thingWords are words for things that a campaign may have several of.
const thingWords = `prop|propeller|luftschraube|h[ée]lice|elica|wing|motor|airfoil|aerofoil|profile?|modell?|rotor|` +
	`fan|specimen|config|configuration`

var (
	thingHead       = lazy(thingWords + `|mic|microphone`)
	thingNumberHead = lazy(`(?:` + thingWords + `|blade)[ _.-]*(id|nr|no|num|number|nummer|#|code|type|typ)?\.?`)
	typeWord        = regexp.MustCompile(`^[A-Z]{2,}$`)

	monthWords  = lazy(condition.Month)
	repeatWords = lazy(`rep|repeat|repeated|retest|again|bis|copy|kopie|wdh|wiederholung`)

	// thousandsWords are words of numbers that people write in thousands: 10k.
	thousandsWords = lazy(`re|reynolds|rpm|n`)
	// decimalWords are words of numbers that are mostly less than one: Mach 0.3.
	decimalWords = lazy(`j|ma|mach|mu`)
	// ratioWord matches words of ratios, whose underline is a point: J0_5. j1_11 may be motor j.
	ratioWord = regexp.MustCompile(`^(?:J|(?i:mu|ma|mach|tsr|lambda))$`)
)
