package dsp

import (
	"fmt"
	"math"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Atmosphere is the air that levels are corrected to, and the path through it.
type Atmosphere struct {
	// air temperature in °C; not given: 20
	TemperatureC *float64 `key:"temperature_c"`

	// relative humidity in percent; not given: 70
	HumidityPct *float64 `key:"humidity_pct"`

	// static pressure in Pa; not given: 101325
	PressurePa *float64 `key:"pressure_pa"`

	// length of the sound's path in m; with distance leave it out, from_m and to_m are the paths before and
	// after
	PathM float64 `key:"path_m" zero:"unset"`
}

// weather is the state of air.
type weather struct{ temperatureC, humidityPct, pressurePa float64 }

// standard is the air that levels are corrected to where nothing else is stated,
// the reference of ISO 9613-1 with a humidity of 70 %.
var standard = weather{20, 70, 101325}

// Absorption is the attenuation of a pure tone by the air, in dB/m (ISO 9613-1,
// equations 3 to 5 and B.3), for a temperature in °C, a relative humidity in percent
// and a pressure in Pa.
func Absorption(hz, temperatureC, humidityPct, pressurePa float64) float64 {
	const t0, triple, p0 = 293.15, 273.16, 101325
	kelvin := temperatureC + 273.15
	t, p := kelvin/t0, pressurePa/p0
	saturation := math.Pow(10, -6.8346*math.Pow(triple/kelvin, 1.261)+4.6151) // over p0
	h := humidityPct * saturation / p                                         // molar concentration of water, percent
	oxygen := p * (24 + 4.04e4*h*(0.02+h)/(0.391+h))
	nitrogen := p / math.Sqrt(t) * (9 + 280*h*math.Exp(-4.170*(math.Pow(t, -1./3)-1)))
	q := hz * hz

	return 8.686 * q * (1.84e-11/p*math.Sqrt(t) + math.Pow(t, -2.5)*
		(0.01275*math.Exp(-2239.1/kelvin)/(oxygen+q/oxygen)+0.1068*math.Exp(-3352/kelvin)/(nitrogen+q/nitrogen)))
}

// check reports what an Atmosphere cannot be; nil is fine.
func (o *Atmosphere) check(s *Settings, fail Fail) {
	if o == nil {
		return
	}

	for _, v := range []struct {
		key    string
		value  *float64
		lo, hi float64
	}{
		{"temperature_c", o.TemperatureC, minAirC, maxAirC},
		{"humidity_pct", o.HumidityPct, 0, 100},
		{"pressure_pa", o.PressurePa, minAirPa, maxAirPa},
	} {
		if v.value != nil {
			fail.unless(*v.value >= v.lo && *v.value <= v.hi, "atmosphere."+v.key, "expected %g to %g, found %g", v.lo, v.hi,
				*v.value)
		}
	}

	switch {
	case !(o.PathM >= 0 && o.PathM <= maxDistanceM):
		fail("atmosphere.path_m", "expected a length above 0 and up to %g m, found %g", maxDistanceM, o.PathM)
	case (o.PathM > 0) == (s.Distance != nil):
		fail("atmosphere", "expected path_m, the length of the sound's path, or distance; found both or none")
	}
}

// air corrects levels from the air they were measured in to another.
type air struct {
	from, to         weather
	fromPathM, pathM float64
	gain             []float64
}

// air returns the correction for a run's conditions, nil where the settings ask for
// none. Conditions that are missing or impossible raise an error.
func (s *Settings) air(conditions map[string]float64) *air {
	o := s.Atmosphere
	if o == nil {
		return nil
	}

	a := &air{from: standard, to: standard, fromPathM: o.PathM, pathM: o.PathM}
	if s.Distance != nil {
		a.fromPathM, a.pathM = s.Distance.FromM, s.Distance.ToM
	}

	for _, v := range []struct {
		condition string
		from, to  *float64
		stated    *float64
		lo, hi    float64
	}{
		{"temperature_c", &a.from.temperatureC, &a.to.temperatureC, o.TemperatureC, minAirC, maxAirC},
		{"humidity_pct", &a.from.humidityPct, &a.to.humidityPct, o.HumidityPct, 0, 100},
		{"pressure_pa", &a.from.pressurePa, &a.to.pressurePa, o.PressurePa, minAirPa, maxAirPa},
	} {
		if v.stated != nil {
			*v.to = *v.stated
		}

		measured, ok := conditions[v.condition]
		if !ok && v.condition == "pressure_pa" {
			continue // it matters least
		}

		if !ok || !(measured >= v.lo && measured <= v.hi) {
			found := "none"
			if ok {
				found = fmt.Sprint(measured)
			}

			fault.Raise(&fault.Error{
				Want: fmt.Sprintf("a condition %s from %g to %g, which the correction to another atmosphere needs",
					v.condition, v.lo, v.hi),
				Found: found, Hint: "give it with the conditions, or leave atmosphere out",
			})
		}

		*v.from = measured
	}

	return a
}

// db is the correction of a level at hz: the absorption on the path it was measured
// over less that on the path it is corrected to.
func (a *air) db(hz float64) float64 {
	return Absorption(hz, a.from.temperatureC, a.from.humidityPct, a.from.pressurePa)*a.fromPathM -
		Absorption(hz, a.to.temperatureC, a.to.humidityPct, a.to.pressurePa)*a.pathM
}

// gains multiplies the gain of each bin by the correction; gain and the result are
// nil for 1.
func (a *air) gains(gain []float64, bins int, binHz float64) []float64 {
	if a == nil {
		return gain
	}

	for k := len(a.gain); k < bins; k++ {
		a.gain = append(a.gain, math.Pow(10, a.db(float64(k)*binHz)/10))
	}

	if gain == nil {
		return a.gain
	}

	return lists.Make(bins, func(k int) float64 { return gain[k] * a.gain[k] })
}

// words describe the correction.
func (a *air) words() string {
	return fmt.Sprintf("correction to air of %g °C, %g %%, %g Pa on a path of %g m (ISO 9613-1), contained in the level",
		a.to.temperatureC, a.to.humidityPct, a.to.pressurePa, a.pathM)
}
