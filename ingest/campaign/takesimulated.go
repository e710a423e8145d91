package campaign

import (
	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
)

// TakeSimulated stores the files of a simulated campaign, its table of conditions, and the settings that follow from
// it: the calibration of its microphones, or the columns of its balance.
func (v *Inventory) TakeSimulated(simulated simulate.Campaign) error {
	switch c := simulated.(type) {
	case simulate.Rotor:
		v.Settings.Calibration = &setting.Calibration{
			FullScaleV: c.FullScaleV, Reading: "peak",
			SensitivityVPerPa: c.SensitivityVPerPa,
		}

	case simulate.Airfoil:
		v.Settings.Columns = []setting.NamedString{{Name: "lift_n", Value: "Fz"}, {Name: "drag_n", Value: "Fx"}}
	}

	for _, file := range simulated.Files() {
		v.Files = append(v.Files, File{Name: file.Name})
	}

	var err error
	v.Table, err = ParseConditions("conditions.csv", []byte(simulated.Conditions()), LogOptions{})

	return err
}
