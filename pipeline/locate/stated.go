package locate

import (
	"maps"

	"doubletake/ingest/derive"
	"doubletake/pipeline/config"
	"doubletake/report/answer/budget"
)

// Stated returns what the configuration of an experiment states for budgets of uncertainty. It returns nil if
// experiment is nil.
func Stated(experiment *config.Experiment) *budget.Stated {
	if experiment == nil {
		return nil
	}

	ingest := experiment.Ingest
	dsp := experiment.DSP
	stated := &budget.Stated{
		Experiment: experiment.Name, Uncertainty: uncertainties(ingest.Uncertainty), Constants: map[string]float64{},
		References: map[string]float64{
			"chord_m": dsp.ChordM, "span_m": dsp.SpanM, "density_kg_m3": dsp.DensityKgM3, "pressure_pa": dsp.PressurePa,
			"temperature_c": dsp.TemperatureC,
		},
	}
	maps.DeleteFunc(stated.References, func(_ string, value float64) bool { return value == 0 }) // not set

	if ingest.Calibration != nil {
		stated.IsCalibrated = true
		stated.Calibration = uncertainties(ingest.Calibration.Uncertainty)
	}

	for _, constant := range ingest.Constants {
		stated.Constants[constant.Name] = constant.Value
	}

	for _, definition := range ingest.Derive {
		stated.Derive = append(stated.Derive, derive.Definition{Name: definition.Name, Text: definition.Value})
	}

	return stated
}

// uncertainties returns the uncertainties that a section states.
func uncertainties(section []config.NamedString) []budget.Uncertainty {
	var list []budget.Uncertainty
	for _, entry := range section {
		read, _ := config.ParseUncertainty(entry.Value) // cannot fail: the configuration was checked
		list = append(list, budget.Uncertainty{
			Name: entry.Name, U: read.U, Percent: read.Percent, DoF: read.DoF, Law: read.Law, Observed: read.Observed,
		})
	}

	return list
}
