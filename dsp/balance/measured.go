package balance

import (
	"context"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/recording"
)

// measured contains the quantities of a run after the balance's matrix was applied and the tare subtracted. Lists other
// than series have one value, or one for each sample.
type measured struct {
	series  []dsp.Series // for each entry of the setting columns, in the unit of the file or of the matrix
	angle   []float64    // angle of the balance's arm in degrees; nil if the balance does not state it
	flow    []float64    // dynamic pressure or speed by the flow's sensor; nil without a sensor
	density []float64    // air density by measured pressure and temperature; nil if they are not measured
}

// runColumns contains the columns of a run as they were read, in the order of the source's channels.
type runColumns struct {
	path   string
	names  []string
	units  []string
	values [][]float64
}

// column returns the values of a column.
func (c *runColumns) column(name string) []float64 { return c.values[slices.Index(c.names, name)] }

// converted returns the values of a column in the unit that the name target states.
func (c *runColumns) converted(name, target string) ([]float64, error) {
	i := slices.Index(c.names, name)
	values, _, err := recording.ConvertSeries(c.path, name, target, c.units[i], c.values[i])

	return values, err
}

// series returns column i as a series.
func (c *runColumns) series(i int) dsp.Series {
	return dsp.Series{Unit: c.units[i], Values: c.values[i]}
}

// measure computes the series, the angle, the flow and the air density of a run from its columns. It returns an error
// if the angle is a condition that the recording does not state.
func (f *Loads) measure(ctx context.Context, res *recording.File, rec ingest.Recording,
	values [][]float64,
) (*measured, error) {
	settings := f.Campaign
	columns := &runColumns{path: res.Path, names: f.Channels, values: values}
	for _, ch := range rec.Channels {
		columns.units = append(columns.units, res.Info.Channels[ch].Unit)
	}

	run := &measured{}
	bal := settings.Balance
	if bal == nil {
		for i := range settings.Columns {
			run.series = append(run.series, columns.series(i))
		}

		return run, nil
	}

	if bal.Angle != "" {
		if AngleColumn(bal, f.Conditions) {
			run.angle = degrees(columns.column(bal.Angle), bal.AngleUnit)
		} else {
			angle, err := f.need(res.Path, rec, bal.Angle)
			if err != nil {
				return nil, err
			}

			run.angle = []float64{angle}
		}
	}

	loads := f.Matrix.Loads(values[:len(bal.Voltages)])
	if bal.Tare != nil {
		if err := f.subtractZero(ctx, loads, run.angle); err != nil {
			return nil, err
		}
	}

	for _, column := range settings.Columns {
		run.series = append(run.series, f.loadSeries(column.Value, columns, loads))
	}

	if bal.Flow != nil {
		if err := run.addAir(bal.Flow, columns); err != nil {
			return nil, err
		}
	}

	return run, nil
}

// loadSeries returns the series that a setting such as "-Fz" names: a load of the balance, multiplied by the sign in
// the setting, or a plain column of the file.
func (f *Loads) loadSeries(setting string, columns *runColumns, loads [][]float64) dsp.Series {
	name, sign := Component(setting)
	k := slices.Index(f.Campaign.Balance.Components, name)
	if k < 0 {
		return columns.series(slices.Index(columns.names, setting))
	}

	unit := "N"
	switch {
	case f.Forces:
		unit = columns.units[k] // the columns are forces, and the matrix is the identity
	case strings.HasPrefix(strings.ToUpper(name), "M"):
		unit = "N·m"
	}

	signed := make([]float64, len(loads[k]))
	for i, v := range loads[k] {
		signed[i] = sign * v
	}

	return dsp.Series{Unit: unit, Values: signed}
}

// degrees returns angles in degrees. unit is the unit of the given angles; all units except rad are degrees.
func degrees(angles []float64, unit string) []float64 {
	if unit != "rad" {
		return angles
	}

	converted := make([]float64, len(angles))
	for i, v := range angles {
		converted[i] = v * 180 / math.Pi
	}

	return converted
}
