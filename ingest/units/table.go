package units

import "math"

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

var symbols = map[string]symbol{
	// SI, with prefixes.
	"g":   {mass, 1e-3, 0, true},
	"m":   {length, 1, 0, true},
	"s":   {duration, 1, 0, true},
	"A":   {current, 1, 0, true},
	"K":   {temperature, 1, 0, true},
	"rad": {angle, 1, 0, true},
	"Hz":  {frequency, 1, 0, true},
	"N":   {force, 1, 0, true},
	"Pa":  {pressure, 1, 0, true},
	"J":   {energy, 1, 0, true},
	"Nm":  {energy, 1, 0, true}, // as torques are written
	"W":   {power, 1, 0, true},
	"V":   {voltage, 1, 0, true},
	"Ω":   {resistance, 1, 0, true},
	"ohm": {resistance, 1, 0, true},
	"bar": {pressure, 1e5, 0, true},
	"l":   {Dimension{0, 3}, 1e-3, 0, true},
	"L":   {Dimension{0, 3}, 1e-3, 0, true},

	// Angles and numbers.
	"deg":   {angle, math.Pi / 180, 0, false},
	"°":     {angle, math.Pi / 180, 0, false},
	"grad":  {angle, math.Pi / 200, 0, false},
	"%":     {number, 1e-2, 0, false},
	"rev":   {number, 1, 0, false},
	"r":     {number, 1, 0, false},
	"count": {number, 1, 0, false},

	// Time and rates.
	"sec": {duration, 1, 0, false},
	"min": {duration, 60, 0, false},
	"h":   {duration, 3600, 0, false},
	"hr":  {duration, 3600, 0, false},
	"d":   {duration, 86400, 0, false},
	"rpm": {frequency, 1.0 / 60, 0, false},
	"RPM": {frequency, 1.0 / 60, 0, false},
	"rps": {frequency, 1, 0, false},

	// Lengths and speeds.
	"in":  {length, inch, 0, false},
	"ft":  {length, foot, 0, false},
	"yd":  {length, 3 * foot, 0, false},
	"mi":  {length, 5280 * foot, 0, false},
	"kmh": {speed, 1.0 / 3.6, 0, false},
	"kph": {speed, 1.0 / 3.6, 0, false},
	"mph": {speed, 5280 * foot / 3600, 0, false},
	"kn":  {speed, 1852.0 / 3600, 0, false},
	"kt":  {speed, 1852.0 / 3600, 0, false},
	"kts": {speed, 1852.0 / 3600, 0, false},
	"fps": {speed, foot, 0, false},

	// Masses and forces.
	"t":   {mass, 1e3, 0, false},
	"lb":  {mass, pound, 0, false},
	"lbm": {mass, pound, 0, false},
	"oz":  {mass, pound / 16, 0, false},
	"gf":  {force, 1e-3 * gravity, 0, false},
	"kgf": {force, gravity, 0, false},
	"kp":  {force, gravity, 0, false},
	"lbf": {force, pound * gravity, 0, false},
	"ozf": {force, pound * gravity / 16, 0, false},
	"dyn": {force, 1e-5, 0, false},

	// Pressures.
	"psi":   {pressure, pound * gravity / (inch * inch), 0, false},
	"atm":   {pressure, 101325, 0, false},
	"Torr":  {pressure, torr, 0, false},
	"mmHg":  {pressure, torr, 0, false},
	"mmH2O": {pressure, gravity, 0, false},
	"inH2O": {pressure, 25.4 * gravity, 0, false},

	// Power and temperature scales.
	"hp":         {power, 550 * foot * pound * gravity, 0, false},
	"PS":         {power, 75 * gravity, 0, false},
	"°C":         {temperature, 1, 273.15, false},
	"degC":       {temperature, 1, 273.15, false},
	"C":          {temperature, 1, 273.15, false},
	"Celsius":    {temperature, 1, 273.15, false},
	"celsius":    {temperature, 1, 273.15, false},
	"°F":         {temperature, 5.0 / 9, 459.67 * 5 / 9, false},
	"degF":       {temperature, 5.0 / 9, 459.67 * 5 / 9, false},
	"F":          {temperature, 5.0 / 9, 459.67 * 5 / 9, false},
	"Fahrenheit": {temperature, 5.0 / 9, 459.67 * 5 / 9, false},
	"fahrenheit": {temperature, 5.0 / 9, 459.67 * 5 / 9, false},

	// Names people write out.
	"degree":  {angle, math.Pi / 180, 0, false},
	"degrees": {angle, math.Pi / 180, 0, false},
	"radian":  {angle, 1, 0, false},
	"radians": {angle, 1, 0, false},
	"newton":  {force, 1, 0, false},
	"Newton":  {force, 1, 0, false},
	"newtons": {force, 1, 0, false},
	"pascal":  {pressure, 1, 0, false},
	"Pascal":  {pressure, 1, 0, false},
	"pascals": {pressure, 1, 0, false},
	"volt":    {voltage, 1, 0, false},
	"Volt":    {voltage, 1, 0, false},
	"volts":   {voltage, 1, 0, false},
	"Volts":   {voltage, 1, 0, false},
	"seconds": {duration, 1, 0, false},
	"second":  {duration, 1, 0, false},
	"meter":   {length, 1, 0, false},
	"metre":   {length, 1, 0, false},
	"meters":  {length, 1, 0, false},
	"metres":  {length, 1, 0, false},
	"hertz":   {frequency, 1, 0, false},
	"Hertz":   {frequency, 1, 0, false},
	"percent": {number, 1e-2, 0, false},
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
	"v": "V", "mv": "mV", "a": "A", "w": "W", "kw": "kW", "j": "J",
	"c": "°C", "k": "K", "f": "°F",
}

// wholeNames are names that are a unit's word and state it.
var wholeNames = map[string]bool{"rpm": true, "rps": true}
