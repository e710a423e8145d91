package units

import (
	"math"
	"strings"
)

// symbol is one entry of the table of units: a value v in it is v·factor + offset
// in SI units.
type symbol struct {
	dim            Dimension
	factor, offset float64
	prefixed       bool // takes SI prefixes
}

// Dimensions of the quantities in the table: mass, length, time, current,
// temperature, angle.
var (
	number      = Dimension{}
	mass        = Dimension{1}
	length      = Dimension{0, 1}
	duration    = Dimension{0, 0, 1}
	current     = Dimension{0, 0, 0, 1}
	temperature = Dimension{0, 0, 0, 0, 1}
	angle       = Dimension{0, 0, 0, 0, 0, 1}
	frequency   = Dimension{0, 0, -1}
	speed       = Dimension{0, 1, -1}
	force       = Dimension{1, 1, -2}
	pressure    = Dimension{1, -1, -2}
	energy      = Dimension{1, 2, -2}
	power       = Dimension{1, 2, -3}
	voltage     = Dimension{1, 2, -3, -1}
	resistance  = Dimension{1, 2, -3, -2}
)

// Exact by definition: standard gravity (3rd CGPM, 1901), the international pound
// and foot (1959 agreement, NIST SP 811 appendix B), the nautical mile (1929), the
// standard atmosphere (10th CGPM, 1954), the conventional millimetre of mercury and
// of water (ISO 80000-4: 133.322 Pa by 101325/760, 9.80665 Pa at 1000 kg/m³).
const (
	gravity = 9.80665
	pound   = 0.45359237
	foot    = 0.3048
	inch    = foot / 12
	torr    = 101325.0 / 760
)

// symbols are the rows of the table by each of their names.
var symbols = func() map[string]symbol {
	all := map[string]symbol{}
	for names, s := range rows {
		for _, name := range strings.Fields(names) {
			all[name] = s
		}
	}

	return all
}()

// rows are the units by the names that people write, separated by blanks.
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
	"J Nm":  {energy, 1, 0, true}, // Nm as torques are written
	"W":     {power, 1, 0, true},
	"V":     {voltage, 1, 0, true},
	"Ω ohm": {resistance, 1, 0, true},
	"bar":   {pressure, 1e5, 0, true},
	"l L":   {Dimension{0, 3}, 1e-3, 0, true},

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

// endings are the ends of column names that state a unit.
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

// wholeNames are names that are a unit's word and state it.
var wholeNames = map[string]bool{"rpm": true, "rps": true}
