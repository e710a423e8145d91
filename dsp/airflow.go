package dsp

// DynamicPressure returns ½ρU² in Pa for ρ in kg/m³ and U in m/s.
func DynamicPressure(densityKgM3, speedMS float64) float64 {
	return 0.5 * densityKgM3 * speedMS * speedMS
}

// AirDensity returns the density in kg/m³ of dry air at a static pressure in Pa and
// a temperature in °C, p/(R·T) with R = 287.05 J/(kg·K).
func AirDensity(pressurePa, temperatureC float64) float64 {
	return pressurePa / (287.05 * (temperatureC + 273.15))
}
