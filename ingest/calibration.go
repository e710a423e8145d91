package ingest

import (
	"fmt"
	"math"
	"slices"
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
	fail := func(format string, args ...any) (float64, string, error) {
		return 0, "", fmt.Errorf("calibration: "+format, args...)
	}

	for _, v := range []struct {
		name  string
		value float64
	}{{"full_scale_v", c.FullScaleV}, {"sensitivity_v_per_pa", c.SensitivityVPerPa}, {"pa_per_unit", c.PaPerUnit}} {
		if v.value < 0 || !finite(v.value) {
			return fail("%s is %v: it must be a positive number", v.name, v.value)
		}
	}

	switch chain := c.FullScaleV > 0 || c.SensitivityVPerPa > 0; {
	case !finite(c.GainDB):
		return fail("gain_db is %v: it must be a number", c.GainDB)
	case !slices.Contains([]string{"", "peak", "rms"}, c.Reading):
		return fail(`reading is %q: it is "peak" or "rms"`, c.Reading)
	case !slices.Contains([]string{"", "Pa", "full-scale"}, c.Unit):
		return fail(`unit is %q: it is "Pa" or "full-scale"`, c.Unit)
	case chain && c.PaPerUnit > 0:
		return fail("both a chain (full_scale_v, sensitivity_v_per_pa) and pa_per_unit are given: keep one")
	case chain && c.Unit != "":
		return fail("both a chain (full_scale_v, sensitivity_v_per_pa) and unit: %s are given: keep one", c.Unit)
	case c.PaPerUnit > 0 && c.Unit != "":
		return fail("both pa_per_unit and unit: %s are given: keep one", c.Unit)
	case c.Reading != "" && c.FullScaleV == 0:
		return fail("reading describes full_scale_v, but full_scale_v is missing")
	case c.GainDB != 0 && c.SensitivityVPerPa == 0:
		return fail("gain_db is part of a chain, but sensitivity_v_per_pa is missing")
	case c.PaPerUnit > 0 && channelUnit == "Pa":
		return fail("pa_per_unit is given, but the channel is in Pa already")
	case c.PaPerUnit > 0:
		return c.PaPerUnit, "Pa", nil
	case c.Unit != "" && !slices.Contains([]string{"", "full-scale", c.Unit}, channelUnit):
		return fail("unit: %s is declared, but the channel is in %s", c.Unit, channelUnit)
	case c.Unit != "":
		return 1, c.Unit, nil
	case !chain:
		return 1, channelUnit, nil
	case channelUnit == "full-scale" && c.FullScaleV == 0:
		return fail("samples are a fraction of full scale: sensitivity_v_per_pa needs full_scale_v too")
	case channelUnit == "" && c.FullScaleV == 0:
		return fail("the file does not state the samples' unit: sensitivity_v_per_pa alone would take them as volts; give " +
			"pa_per_unit")
	case channelUnit == "": // integers of any scaling would pass unseen
		return fail("full_scale_v needs samples that are a fraction of full scale, the file does not state the samples' " +
			"unit; give pa_per_unit")
	case channelUnit == "V" && c.FullScaleV > 0:
		return fail("the channel is in V already: leave out full_scale_v")
	case channelUnit != "V" && channelUnit != "full-scale":
		return fail("a chain of volts needs samples in full scale or V, the channel is in %s", channelUnit)
	}

	factor = 1
	if channelUnit == "full-scale" {
		factor = c.FullScaleV
	}

	if c.Reading == "rms" {
		factor *= math.Sqrt2 // a sine that fills the scale has this peak
	}

	if c.SensitivityVPerPa == 0 {
		return factor, "V", nil
	}

	return factor / c.SensitivityVPerPa / math.Pow(10, c.GainDB/20), "Pa", nil
}
