package setting_test

import (
	"fmt"

	"doubletake/ingest/setting"
)

// ExampleCalibration_Factor computes the pascals of a full-scale sample.
func ExampleCalibration_Factor() {
	// A recorder with ±10 V full scale, a microphone of 50 mV/Pa.
	c := setting.Calibration{FullScaleV: 10, Reading: "peak", SensitivityVPerPa: 0.05}
	factor, unit, err := c.Factor("full-scale")
	fmt.Println(factor, unit, err)
	_, _, err = setting.Calibration{SensitivityVPerPa: 0.05}.Factor("full-scale")
	fmt.Println(err)
	// Output:
	// 200 Pa <nil>
	// calibration: samples are a fraction of full scale: sensitivity_v_per_pa needs full_scale_v too
}
