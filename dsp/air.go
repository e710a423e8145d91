package dsp

import (
	"fmt"
	"math"

	"doubletake/ingest/fault"
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

// weather is the state of the air: temperature in °C, relative humidity in percent, and
// static pressure in Pa.
type weather struct{ temperatureC, humidityPct, pressurePa float64 }

// standard is the air that levels are corrected to by default: the reference of ISO 9613-1
// with a humidity of 70 %.
var standard = weather{20, 70, 101325}

// Absorption returns the attenuation of a pure tone by the air, in dB/m (ISO 9613-1,
// equations 3 to 5 and B.3), for a temperature in °C, a relative humidity in percent
// and a pressure in Pa. The names of the standard's symbols: t is T/T0, p is pa/pr, h is the
// molar concentration of water vapour in percent, oxygen and nitrogen are the relaxation
// frequencies frO and frN in Hz.
func Absorption(hz, temperatureC, humidityPct, pressurePa float64) float64 {
	const (
		t0     = 293.15 // K
		triple = 273.16 // K, triple point of water
		p0     = 101325 // Pa
	)

	kelvin := temperatureC + 273.15
	t := kelvin / t0
	p := pressurePa / p0
	saturation := math.Pow(10, -6.8346*math.Pow(triple/kelvin, 1.261)+4.6151) // vapour pressure over p0
	h := humidityPct * saturation / p
	oxygen := p * (24 + 4.04e4*h*(0.02+h)/(0.391+h))
	nitrogen := p / math.Sqrt(t) * (9 + 280*h*math.Exp(-4.170*(math.Pow(t, -1./3)-1)))
	q := hz * hz

	return 8.686 * q * (1.84e-11/p*math.Sqrt(t) + math.Pow(t, -2.5)*
		(0.01275*math.Exp(-2239.1/kelvin)/(oxygen+q/oxygen)+0.1068*math.Exp(-3352/kelvin)/(nitrogen+q/nitrogen)))
}

// check calls fail for every value outside its limits. s are the settings that o belongs to.
// If o is nil, check does nothing.
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
			fail.unless(*v.value >= v.lo && *v.value <= v.hi, "atmosphere."+v.key, "expected %g to %g, found %g",
				v.lo, v.hi, *v.value)
		}
	}

	switch {
	case !(o.PathM >= 0 && o.PathM <= maxDistanceM):
		fail("atmosphere.path_m", "expected a length above 0 and up to %g m, found %g", maxDistanceM, o.PathM)
	case (o.PathM > 0) == (s.Distance != nil):
		fail("atmosphere", "expected path_m, the length of the sound's path, or distance; found both or none")
	}
}

// airPath is the path of a sound through air.
type airPath struct {
	weather
	lengthM float64
}

// attenuationDB returns the absorption of a tone at hz on the whole path, in dB.
func (p *airPath) attenuationDB(hz float64) float64 {
	return Absorption(hz, p.temperatureC, p.humidityPct, p.pressurePa) * p.lengthM
}

// airCorrection corrects levels from the air they were measured in to another air.
type airCorrection struct {
	measured airPath   // the path during the recording
	target   airPath   // the path that levels are corrected to
	gain     []float64 // correction factor of each bin's power, for bins of binHz; gains extends it as needed
	binHz    float64
}

// newAirCorrection returns the correction for a microphone's conditions. It returns nil and no error if the settings
// have no Atmosphere. It returns a *fault.Error if a condition is missing or impossible. Only the pressure, which
// matters least, may be missing: newAirCorrection then takes the standard pressure.
func newAirCorrection(s *Settings, conditions map[string]float64) (*airCorrection, error) {
	o := s.Atmosphere
	if o == nil {
		return nil, nil
	}

	a := &airCorrection{measured: airPath{standard, o.PathM}, target: airPath{standard, o.PathM}}
	if s.Distance != nil {
		a.measured.lengthM = s.Distance.FromM
		a.target.lengthM = s.Distance.ToM
	}

	for _, v := range []struct {
		condition        string
		measured, target *float64
		stated           *float64
		lo, hi           float64
	}{
		{"temperature_c", &a.measured.temperatureC, &a.target.temperatureC, o.TemperatureC, minAirC, maxAirC},
		{"humidity_pct", &a.measured.humidityPct, &a.target.humidityPct, o.HumidityPct, 0, 100},
		{"pressure_pa", &a.measured.pressurePa, &a.target.pressurePa, o.PressurePa, minAirPa, maxAirPa},
	} {
		if v.stated != nil {
			*v.target = *v.stated
		}

		measured, known := conditions[v.condition]
		if !known && v.condition == "pressure_pa" {
			continue
		}

		if !known || !(measured >= v.lo && measured <= v.hi) {
			found := "none"
			if known {
				found = fmt.Sprint(measured)
			}

			return nil, &fault.Error{
				Want: fmt.Sprintf("a condition %s from %g to %g, which the correction to another atmosphere needs",
					v.condition, v.lo, v.hi),
				Found: found, Hint: "give it with the conditions, or leave atmosphere out",
			}
		}

		*v.measured = measured
	}

	return a, nil
}

// db returns the correction of a level at hz, in dB: the absorption on the measured path minus the absorption on the
// target path.
func (a *airCorrection) db(hz float64) float64 {
	return a.measured.attenuationDB(hz) - a.target.attenuationDB(hz)
}

// gains returns the gain of each bin times the correction of its power. bins is the number of bins, binHz apart. A nil
// gain means 1 everywhere, in the argument and in the result. If a is nil, gains returns gain.
func (a *airCorrection) gains(gain []float64, bins int, binHz float64) []float64 {
	if a == nil {
		return gain
	}

	if a.binHz != binHz {
		a.binHz = binHz
		a.gain = nil
	}

	for k := len(a.gain); k < bins; k++ {
		a.gain = append(a.gain, math.Pow(10, a.db(float64(k)*binHz)/10))
	}

	if gain == nil {
		return a.gain[:bins]
	}

	product := make([]float64, bins)
	for k := range product {
		product[k] = gain[k] * a.gain[k]
	}

	return product
}

// words describes the correction for people.
func (a *airCorrection) words() string {
	return fmt.Sprintf("correction to air of %g °C, %g %%, %g Pa on a path of %g m (ISO 9613-1), contained in the level",
		a.target.temperatureC, a.target.humidityPct, a.target.pressurePa, a.target.lengthM)
}
