package ingest

import (
	"errors"
	"fmt"
	"math"
)

// Calibration is how delivered samples become a physical unit
// (docs/method.md#split-half-spectra). One of three ways, never two: the chain of volts and sensitivity, a
// factor in Pa, or a declared unit.
type Calibration struct {
	FullScaleV        float64 // volts at the recorder's input that give full scale; 0: not stated
	Reading           string  // how FullScaleV was stated: "peak" (default), or "rms" of a full-scale sine
	SensitivityVPerPa float64 // of the microphone (with its amplifier, unless GainDB is given); 0: not stated
	GainDB            float64 // of an amplifier between microphone and recorder
	PaPerUnit         float64 // Pa per delivered unit, where it is known as a whole; 0: not stated
	Unit              string  // "Pa" or "full-scale": what the samples are; "": as the file states
}

// Factor returns what samples of a channel are to be multiplied with, and the
// unit they then have:
//
//	chain:      full scale × FullScaleV (× √2 if stated as rms) / SensitivityVPerPa / 10^(GainDB/20) → Pa
//	            volts / SensitivityVPerPa / 10^(GainDB/20) → Pa
//	            full scale × FullScaleV (× √2) → V, when no sensitivity is given
//	PaPerUnit:  × PaPerUnit → Pa
//	Unit:       × 1 → that unit
//	nothing:    × 1 → the channel's own unit, which may be ""
//
// Settings that contradict each other or the channel's unit are an error.
func (c Calibration) Factor(channelUnit string) (factor float64, unit string, err error) {
	for _, v := range []struct {
		name  string
		value float64
	}{{"full_scale_v", c.FullScaleV}, {"sensitivity_v_per_pa", c.SensitivityVPerPa}, {"pa_per_unit", c.PaPerUnit}} {
		if v.value < 0 || !finite(v.value) {
			return 0, "", fmt.Errorf("calibration: %s is %v: it must be a positive number", v.name, v.value)
		}
	}

	if !finite(c.GainDB) {
		return 0, "", fmt.Errorf("calibration: gain_db is %v: it must be a number", c.GainDB)
	}

	switch c.Reading {
	case "", "peak", "rms":
	default:
		return 0, "", fmt.Errorf(`calibration: reading is %q: it is "peak" or "rms"`, c.Reading)
	}

	switch c.Unit {
	case "", "Pa", "full-scale":
	default:
		return 0, "", fmt.Errorf(`calibration: unit is %q: it is "Pa" or "full-scale"`, c.Unit)
	}

	chain := c.FullScaleV > 0 || c.SensitivityVPerPa > 0
	switch {
	case chain && c.PaPerUnit > 0:
		return 0, "", errors.New("calibration: both a chain (full_scale_v, sensitivity_v_per_pa) and pa_per_unit are " +
			"given: keep one")
	case chain && c.Unit != "":
		return 0, "", fmt.Errorf("calibration: both a chain (full_scale_v, sensitivity_v_per_pa) and unit: %s are given: "+
			"keep one", c.Unit)
	case c.PaPerUnit > 0 && c.Unit != "":
		return 0, "", fmt.Errorf("calibration: both pa_per_unit and unit: %s are given: keep one", c.Unit)
	case c.Reading != "" && c.FullScaleV == 0:
		return 0, "", errors.New("calibration: reading describes full_scale_v, but full_scale_v is missing")
	case c.GainDB != 0 && c.SensitivityVPerPa == 0:
		return 0, "", errors.New("calibration: gain_db is part of a chain, but sensitivity_v_per_pa is missing")
	}

	switch {
	case chain:
		factor = 1
		switch channelUnit {
		case "full-scale":
			if c.FullScaleV == 0 {
				return 0, "", errors.New("calibration: samples are a fraction of full scale: sensitivity_v_per_pa needs " +
					"full_scale_v too")
			}

			factor = c.FullScaleV
			if c.Reading == "rms" {
				factor *= math.Sqrt2 // a sine that fills the scale has this peak
			}

		case "":
			if c.FullScaleV == 0 {
				return 0, "", errors.New("calibration: the file does not state the samples' unit: sensitivity_v_per_pa alone " +
					"would take them as volts; give pa_per_unit")
			}

			// A file without a unit, and volts at full scale stated: integers
			// of any scaling would pass unseen, so this is refused too.
			return 0, "", errors.New("calibration: full_scale_v needs samples that are a fraction of full scale, the file " +
				"does not state the samples' unit; give pa_per_unit")

		case "V":
			if c.FullScaleV > 0 {
				return 0, "", errors.New("calibration: the channel is in V already: leave out full_scale_v")
			}

		default:
			return 0, "", fmt.Errorf("calibration: a chain of volts needs samples in full scale or V, the channel is in %s",
				channelUnit)
		}

		if c.SensitivityVPerPa == 0 {
			return factor, "V", nil
		}

		return factor / c.SensitivityVPerPa / math.Pow(10, c.GainDB/20), "Pa", nil

	case c.PaPerUnit > 0:
		if channelUnit == "Pa" {
			return 0, "", errors.New("calibration: pa_per_unit is given, but the channel is in Pa already")
		}
		return c.PaPerUnit, "Pa", nil

	case c.Unit != "":
		if channelUnit != "" && channelUnit != "full-scale" && channelUnit != c.Unit {
			return 0, "", fmt.Errorf("calibration: unit: %s is declared, but the channel is in %s", c.Unit, channelUnit)
		}
		return 1, c.Unit, nil
	}

	return 1, channelUnit, nil
}
