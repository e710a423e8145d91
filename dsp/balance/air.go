package balance

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// addAir computes the flow and the air density from the columns of the flow's sensors. The flow stays nil if no column
// measures it, and the density stays nil if no column measures the pressure.
func (m *measured) addAir(flow *setting.Flow, columns *runColumns) error {
	if flow.Column != "" {
		sensor := columns.column(flow.Column)
		m.flow = slices.Grow(m.flow, len(sensor))
		for _, v := range sensor {
			x := v - flow.Zero
			if flow.Law == "square-root" {
				x = math.Sqrt(max(0, x)) // noise about zero may be negative, and has no root
			}

			m.flow = append(m.flow, x/flow.DivideBy)
		}
	}

	m.flow = perRun(flow, m.flow)
	if flow.Pressure == "" {
		return nil
	}

	pressure, err := columns.converted(flow.Pressure, "pressure_pa")
	if err != nil {
		return err
	}

	temperature, err := columns.converted(flow.Temperature, "temperature_c")
	if err != nil {
		return err
	}

	pressure = perRun(flow, pressure)
	temperature = perRun(flow, temperature)
	m.density = slices.Grow(m.density, len(pressure))
	for i := range pressure {
		m.density = append(m.density, dsp.AirDensity(pressure[i], temperature[i]))
	}

	return nil
}

// perRun returns the mean of values, as the only element, if the flow is measured per run. Otherwise it returns values.
func perRun(flow *setting.Flow, values []float64) []float64 {
	if flow.Granularity != "run" || len(values) == 0 {
		return values
	}

	sum := 0.0
	for _, v := range values {
		sum += v
	}

	return []float64{sum / float64(len(values))}
}

// dynamicPressure returns the dynamic pressure q of a run in Pa: one value, or one for each sample. It takes the first
// of these that is known: the flow's sensor, which measures q or the speed; the condition q_pa; and the condition
// u_inf_m_s. From a speed it computes ½ρU². It corrects q for the blockage of the tunnel's walls, and returns an error
// if q is not above zero or none of them is known.
func (f *Loads) dynamicPressure(res *recording.File, rec ingest.Recording, run *measured) ([]float64, error) {
	bal := f.Campaign.Balance
	density := run.density
	if density == nil {
		density = []float64{f.density(rec)}
	}

	var pressure []float64
	known, isKnown := rec.Conditions["q_pa"]
	switch {
	case run.flow != nil && bal.Flow.Quantity == "q_pa":
		pressure = slices.Clone(run.flow)
	case run.flow != nil:
		pressure = pressureOf(density, run.flow)
	case isKnown:
		pressure = []float64{known}
	default:
		speed, err := f.need(res.Path, rec, "u_inf_m_s")
		if err != nil {
			return nil, err
		}

		pressure = pressureOf(density, []float64{speed})
	}

	for i := range pressure {
		if bal != nil {
			pressure[i] *= dsp.Blockage(bal.BlockageValue())
		}

		if !(pressure[i] > 0) {
			return nil, fault.At(res.Path, strings.TrimPrefix(rec.ID, res.Path), "a dynamic pressure above zero",
				fmt.Sprintf("%g Pa", pressure[i]), "")
		}
	}

	return pressure, nil
}

// density returns the density of the air in kg/m³. The run's own conditions take precedence over the configuration: its
// density, or its pressure and temperature together. density returns 0 if neither states the air.
func (f *Loads) density(rec ingest.Recording) float64 {
	if own, ok := rec.Conditions["density_kg_m3"]; ok {
		return own
	}

	pressure, hasPressure := rec.Conditions["pressure_pa"]
	temperature, hasTemperature := rec.Conditions["temperature_c"]
	if hasPressure && hasTemperature {
		return dsp.AirDensity(pressure, temperature)
	}

	d := f.Model
	if d.DensityKgM3 == 0 && d.PressurePa > 0 {
		return dsp.AirDensity(d.PressurePa, d.TemperatureC)
	}

	return d.DensityKgM3
}

// pressureOf returns the dynamic pressure ½ρU². density and speed have one value, or one for each sample.
func pressureOf(density, speed []float64) []float64 {
	pressure := make([]float64, max(len(speed), len(density)))
	for i := range pressure {
		pressure[i] = dsp.DynamicPressure(density[min(i, len(density)-1)], speed[min(i, len(speed)-1)])
	}

	return pressure
}
