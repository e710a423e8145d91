package vocabulary

import "strings"

// UnitMeaning is what a unit behind a number tells about the number.
type UnitMeaning struct {
	Condition string // the condition of a number without a word; "": unknown
	Ending    string // ending of the name of a condition with another word, as gap_mm; "": none
}

// unitWords are the units that follow numbers in names. Upper case counts: M is a million, m is a metre.
var unitWords = map[string]UnitMeaning{
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

// Multipliers has the factors of the units that multiply a number.
var Multipliers = map[string]float64{"k": 1e3, "krpm": 1e3, "kRPM": 1e3, "kRpm": 1e3, "M": 1e6}

// UnitOf returns the meaning of a word behind a number, and whether the word is a unit. Upper and lower case may differ
// from the list if the list has no unit that is written so.
func UnitOf(word string) (meaning UnitMeaning, known bool) {
	meaning, known = unitWords[word]
	if !known {
		meaning, known = unitWords[strings.ToLower(word)]
	}

	return meaning, known
}

// IsUnit reports whether a word behind a number is a unit.
func IsUnit(word string) bool {
	_, known := UnitOf(word)
	return known
}
