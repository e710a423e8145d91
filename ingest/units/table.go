package units

import (
	"math"
	"strings"
)

// symbol describes a unit of the table. A value v in this unit is v·factor + offset in SI units.
type symbol struct {
	dim            Dimension
	factor, offset float64
	prefixed       bool // it may have an SI prefix
}

// Dimensions of the quantities in the table.
var (
	number      = Dimension{}
	mass        = Dimension{Mass: 1}
	length      = Dimension{Length: 1}
	duration    = Dimension{Time: 1}
	current     = Dimension{Current: 1}
	temperature = Dimension{Temperature: 1}
	angle       = Dimension{Angle: 1}
	frequency   = Dimension{Time: -1}
	speed       = Dimension{Length: 1, Time: -1}
	force       = Dimension{Mass: 1, Length: 1, Time: -2}
	pressure    = Dimension{Mass: 1, Length: -1, Time: -2}
	energy      = Dimension{Mass: 1, Length: 2, Time: -2}
	power       = Dimension{Mass: 1, Length: 2, Time: -3}
	voltage     = Dimension{Mass: 1, Length: 2, Time: -3, Current: -1}
	resistance  = Dimension{Mass: 1, Length: 2, Time: -3, Current: -2}
)

// These factors are exact by definition. The table below also has the nautical mile (1929), the standard
// atmosphere (10th CGPM, 1954) and the conventional millimetre of water (ISO 80000-4: 9.80665 Pa at
// 1000 kg/m³).
const (
	gravity = 9.80665        // m/s², standard gravity (3rd CGPM, 1901)
	pound   = 0.45359237     // kg, international pound (1959 agreement, NIST SP 811 appendix B)
	foot    = 0.3048         // m, international foot (the same)
	inch    = foot / 12      // m
	torr    = 101325.0 / 760 // Pa, conventional millimetre of mercury (ISO 80000-4)
)

// symbols has the rows of the table by each of their names.
var symbols = func() map[string]symbol {
	all := map[string]symbol{}
	for names, s := range rows {
		for _, name := range strings.Fields(names) {
			all[name] = s
		}
	}

	return all
}()

// rows has each unit by its names, as people write them, separated by blanks.
var rows = map[string]symbol{
	// SI, with prefixes.
	"g":     {mass, 1e-3, 0, true},
	"m":     {length, 1, 0, true},
	"s":     {duration, 1, 0, true},
	"A":     {current, 1, 0, true},
	"K":     {temperature, 1, 0, true},
	"rad":   {angle, 1, 0, true},
	"Hz":    {frequency, 1, 0, true},
	"N":     {force, 1, 0, true},
	"Pa":    {pressure, 1, 0, true},
	"J Nm":  {energy, 1, 0, true}, // Nm is how people write torques
	"W":     {power, 1, 0, true},
	"V":     {voltage, 1, 0, true},
	"Ω ohm": {resistance, 1, 0, true},
	"bar":   {pressure, 1e5, 0, true},
	"l L":   {Dimension{Length: 3}, 1e-3, 0, true},

	// The same, written out.
	"radian radians":            {angle, 1, 0, false},
	"newton Newton newtons":     {force, 1, 0, false},
	"pascal Pascal pascals":     {pressure, 1, 0, false},
	"volt Volt volts Volts":     {voltage, 1, 0, false},
	"sec second seconds":        {duration, 1, 0, false},
	"meter metre meters metres": {length, 1, 0, false},
	"hertz Hertz":               {frequency, 1, 0, false},

	// Angles and numbers.
	"deg ° degree degrees Grad degré degrés grados gradi graden": {angle, math.Pi / 180, 0, false},
	"grad":                      {angle, math.Pi / 200, 0, false},
	"% percent":                 {number, 1e-2, 0, false},
	"rev r count U tr omw giri": {number, 1, 0, false},

	// Time and rates.
	"min":     {duration, 60, 0, false},
	"h hr":    {duration, 3600, 0, false},
	"d":       {duration, 86400, 0, false},
	"rpm RPM": {frequency, 1.0 / 60, 0, false},
	"rps":     {frequency, 1, 0, false},

	// Lengths and speeds.
	"in inch inches": {length, inch, 0, false},
	"ft feet":        {length, foot, 0, false},
	"yd":             {length, 3 * foot, 0, false},
	"mi":             {length, 5280 * foot, 0, false},
	"mps":            {speed, 1, 0, false},
	"kmh kph":        {speed, 1.0 / 3.6, 0, false},
	"mph":            {speed, 5280 * foot / 3600, 0, false},
	"kn kt kts":      {speed, 1852.0 / 3600, 0, false},
	"fps":            {speed, foot, 0, false},

	// Masses and forces.
	"t":      {mass, 1e3, 0, false},
	"lb lbm": {mass, pound, 0, false},
	"oz":     {mass, pound / 16, 0, false},
	"gf":     {force, 1e-3 * gravity, 0, false},
	"kgf kp": {force, gravity, 0, false},
	"lbf":    {force, pound * gravity, 0, false},
	"ozf":    {force, pound * gravity / 16, 0, false},
	"dyn":    {force, 1e-5, 0, false},

	// Pressures.
	"psi":       {pressure, pound * gravity / (inch * inch), 0, false},
	"psf":       {pressure, pound * gravity / (foot * foot), 0, false},
	"inHg":      {pressure, 25.4 * torr, 0, false},
	"atm":       {pressure, 101325, 0, false},
	"Torr mmHg": {pressure, torr, 0, false},
	"mmH2O":     {pressure, gravity, 0, false},
	"inH2O":     {pressure, 25.4 * gravity, 0, false},

	// Power and temperature scales.
	"hp":                              {power, 550 * foot * pound * gravity, 0, false},
	"PS":                              {power, 75 * gravity, 0, false},
	"°C degC C Celsius celsius":       {temperature, 1, 273.15, false},
	"°F degF F Fahrenheit fahrenheit": {temperature, 5.0 / 9, 459.67 * 5 / 9, false},
}

// prefixes lists the SI prefixes. "da" comes before "d", as lookUp takes the first that fits.
var prefixes = []struct {
	text   string
	factor float64
}{
	{"da", 1e1},
	{"k", 1e3},
	{"M", 1e6},
	{"G", 1e9},
	{"h", 1e2},
	{"d", 1e-1},
	{"c", 1e-2},
	{"m", 1e-3},
	{"µ", 1e-6},
	{"μ", 1e-6},
	{"u", 1e-6},
	{"n", 1e-9},
	{"p", 1e-12},
}

// endings has the units by the endings of column names: "lift_n" is in N.
var endings = map[string]string{
	"n": "N", "kn": "kN", "mn": "mN", "gf": "gf", "kgf": "kgf", "lbf": "lbf", "nm": "N·m", "n_m": "N·m",
	"pa": "Pa", "kpa": "kPa", "hpa": "hPa", "mbar": "mbar", "bar": "bar", "psi": "psi",
	"m": "m", "mm": "mm", "cm": "cm", "km": "km", "in": "in", "ft": "ft", "m2": "m^2",
	"m_s": "m/s", "km_h": "km/h", "ft_s": "ft/s", "kg_m3": "kg/m^3", "kg": "kg",
	"deg": "deg", "rad": "rad", "s": "s", "ms": "ms", "us": "us", "min": "min",
	"hz": "Hz", "khz": "kHz", "rpm": "1/min", "rps": "1/s", "rad_s": "rad/s", "deg_s": "deg/s",
	"v": "V", "mv": "mV", "v_per_pa": "V/Pa", "a": "A", "w": "W", "kw": "kW", "j": "J",
	"c": "°C", "k": "K", "f": "°F",
}

// wholeNames has the column names that consist of an ending alone and still have its unit.
var wholeNames = map[string]bool{"rpm": true, "rps": true}
