package units

import (
	"fmt"
	"math"
	"regexp"
)

// Bound says which values of a physical quantity are plausible in a measurement in air or water. Values below Least or
// above Most are impossible. Values between Low and High are plausible. All others are possible, but it is likelier
// that they are in another unit.
type Bound struct {
	Quantity    string // in words
	Unit        string
	Least, Most float64
	Low, High   float64
	zero        bool           // 0 is plausible even if it is not between Low and High
	others      []otherUnit    // units that people take for Unit by mistake
	names       *regexp.Regexp // matches the names of columns and settings with the quantity
}

// otherUnit is a unit that people take for the unit of a bound by mistake. A value v in it is v·factor + shift in the
// bound's unit.
type otherUnit struct {
	name          string
	factor, shift float64
}

// bounds has the quantities. Pressures reach from wind tunnels for Mars (1 kPa) to pressurised tunnels, temperatures
// from cryogenic to hot tunnels, densities from thin air to water, speeds from still air to hypersonic flow.
var bounds = []Bound{
	{
		Quantity: "pressure", Unit: "Pa", Least: 50, Most: 2e7, Low: 2e4, High: 1e6,
		others: []otherUnit{
			{"hPa", 100, 0},
			{"kPa", 1e3, 0},
			{"bar", 1e5, 0},
			{"mmHg", torr, 0},
			{"psi", 6894.757, 0},
			{"inHg", 25.4 * torr, 0},
			{"Pa, ten times too much", 0.1, 0},
		},
		names: regexp.MustCompile(`^(?:pressure|p|p_?static|p_?amb|p_?baro?|baro|ambient_pressure|static_pressure|` +
			`p_?inf|p_?atm)_pa$`),
	},
	{
		Quantity: "temperature", Unit: "°C", Least: -260, Most: 2000, Low: -60, High: 90,
		others: []otherUnit{{"K", 1, -273.15}, {"°F", 5.0 / 9, -160.0 / 9}, {"°C, ten times too much", 0.1, 0}},
		names:  regexp.MustCompile(`^(?:temperature|temp|t|t_?air|t_?amb|t_?inf|t_?static|t_?room|air_temperature)_c$`),
	},
	{
		Quantity: "density", Unit: "kg/m³", Least: 1e-3, Most: 2000, Low: 0.1, High: 1100,
		others: []otherUnit{{"g/cm³", 1e3, 0}, {"g/m³", 1e-3, 0}, {"slug/ft³", 515.379, 0}},
		names:  regexp.MustCompile(`^(?:density|rho|rho_?inf|rho_?air|air_density)_kg_m3$`),
	},
	{
		Quantity: "speed of the flow", Unit: "m/s", Least: -3000, Most: 8000, Low: -100, High: 700, zero: true,
		others: []otherUnit{{"km/h", 1 / 3.6, 0}, {"mm/s", 1e-3, 0}, {"ft/s", foot, 0}},
		names:  regexp.MustCompile(`^(?:u|v|u_?inf|v_?inf|speed|wind|wind_speed|airspeed|velocity|q_?speed)_m_s$`),
	},
	{
		Quantity: "chord", Unit: "m", Least: 1e-4, Most: 50, Low: 5e-3, High: 4,
		others: []otherUnit{{"mm", 1e-3, 0}, {"cm", 1e-2, 0}, {"in", inch, 0}},
		names:  regexp.MustCompile(`^chord_m$`),
	},
	{
		Quantity: "span", Unit: "m", Least: 1e-4, Most: 300, Low: 1e-2, High: 20,
		others: []otherUnit{{"mm", 1e-3, 0}, {"cm", 1e-2, 0}, {"in", inch, 0}},
		names:  regexp.MustCompile(`^span_m$`),
	},
	{
		Quantity: "sensitivity of a microphone", Unit: "V/Pa", Least: 1e-7, Most: 20, Low: 1e-4, High: 1.5,
		others: []otherUnit{{"mV/Pa", 1e-3, 0}, {"µV/Pa", 1e-6, 0}},
		names:  regexp.MustCompile(`(?:^|_)v_per_pa$`),
	},
	{
		Quantity: "distance", Unit: "m", Least: 1e-4, Most: 1e5, Low: 5e-3, High: 200,
		others: []otherUnit{{"mm", 1e-3, 0}, {"cm", 1e-2, 0}},
		names:  regexp.MustCompile(`^(?:distance|from|to|r|radius_mic|mic_distance)_m$`),
	},
	{
		Quantity: "voltage at full scale", Unit: "V", Least: 1e-6, Most: 1e4, Low: 0.01, High: 200,
		others: []otherUnit{{"mV", 1e-3, 0}, {"µV", 1e-6, 0}},
		names:  regexp.MustCompile(`^full_scale_v$`),
	},
	{
		Quantity: "level of a calibrator", Unit: "dB re 20 µPa", Least: 20, Most: 200, Low: 70, High: 134,
		names: regexp.MustCompile(`^level_db$`),
	},
	{
		Quantity: "gain", Unit: "dB", Least: -200, Most: 200, Low: -80, High: 100, zero: true,
		names: regexp.MustCompile(`^(?:[a-z]+_)?gain_db$`),
	},
	{
		Quantity: "shaft speed", Unit: "1/min", Least: -1e6, Most: 1e6, Low: -1.5e5, High: 1.5e5, zero: true,
		others: []otherUnit{{"1/h", 1.0 / 60, 0}},
		names:  regexp.MustCompile(`^(?:[a-z]+_)?rpm$`),
	},
}

// BoundOf returns the bound of the quantity in the name of a column or a setting, such as pressure_pa. It returns false
// if the name has no known quantity.
func BoundOf(name string) (Bound, bool) {
	for _, b := range bounds {
		if b.names.MatchString(name) {
			return b, true
		}
	}

	return Bound{}, false
}

// Check returns why a value in the bound's unit is doubtful, for people, and whether the value is impossible. It
// returns "" for a plausible value.
func (b Bound) Check(v float64) (doubt string, isImpossible bool) {
	switch {
	case math.IsNaN(v), b.zero && v == 0, v >= b.Low && v <= b.High:
		return "", false
	case v < b.Least || v > b.Most:
		return fmt.Sprintf("%.6g %s is no %s%s", v, b.Unit, b.Quantity, b.likely(v)), true
	}

	return fmt.Sprintf("%.6g %s is an unlikely %s%s", v, b.Unit, b.Quantity, b.likely(v)), false
}

// likely returns the unit in which a value would be plausible, as a question behind a colon, or "".
func (b Bound) likely(v float64) string {
	for _, other := range b.others {
		converted := v*other.factor + other.shift
		if converted >= b.Low && converted <= b.High {
			return ": " + other.name + "?"
		}
	}

	return ""
}
