package calibration

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// Scale turns the samples of a channel into its unit.
type Scale struct {
	Factor   float64
	Unit     string  // after multiplication with Factor
	How      string  // where the factor comes from
	SpreadDB float64 // loudest over quietest block of the calibrator's recording; 0 without a calibrator
}

// Chain describes how the samples of a campaign's channels become physical units.
type Chain struct {
	Settings *setting.Calibration             // the chain that all channels have; nil if it is not known
	Values   map[string][]setting.NamedNumber // gain_db and sensitivity_v_per_pa of single channels
	Table    string                           // the table of microphones that states Values, for texts
	Columns  bool                             // the channels are columns of a balance, whose units are kept
	Measured []Sensitivity                    // by the calibrator's recordings; nil without a calibrator
}

// Scale returns the scale of channel ch of a file. It comes from the calibrator's recordings, or from the settings and
// the table of microphones if there are none. It returns a *fault.Error about a channel whose unit does not fit.
func (c *Chain) Scale(info ingest.Info, ch int) (Scale, error) {
	gainDB, err := c.gainDB(info, ch)
	if err != nil {
		return Scale{}, err
	}

	own, err := c.sensitivity(info, ch)
	if err != nil {
		return Scale{}, err
	}

	gain := math.Pow(10, gainDB/20)
	gainText := ""
	if gainDB != 0 {
		gainText = fmt.Sprintf("; gain of this channel %g dB", gainDB)
	}

	if c.Measured != nil {
		sensitivity, err := sensitivityOf(c.Measured, info, ch)
		if err != nil {
			return Scale{}, err
		}

		return Scale{
			Factor: sensitivity.PaPerUnit / gain, Unit: "Pa", How: sensitivity.text() + gainText, SpreadDB: sensitivity.SpreadDB,
		}, nil
	}

	stated := info.Channels[ch].Unit
	toSound := 1.0 // from the unit of the file to Pa or V
	note := ""
	if !c.Columns {
		toSound, stated, note = soundUnit(stated)
	}

	var chain setting.Calibration
	if c.Settings != nil {
		chain = *c.Settings
	}

	how := chain.Text()
	if own > 0 { // the table of microphones states a sensitivity, which wins over the configuration's
		chain.SensitivityVPerPa = own
		how += fmt.Sprintf("; %g V/Pa by %s", own, c.Table)
	}

	factor, unit, err := chain.Factor(stated)
	if err != nil {
		return Scale{}, fault.At(info.Path, "channel "+info.Channels[ch].Name, "", err.Error(), "")
	}

	return Scale{Factor: factor * toSound / gain, Unit: unit, How: strings.Trim(note+"; "+how+gainText, "; ")}, nil
}

// gainDB returns the gain of channel ch of a file in dB, or 0 if nothing states one. The table of microphones and the
// configuration may both state gains: these are amplifiers in a row, so that their gains add up.
func (c *Chain) gainDB(info ingest.Info, ch int) (float64, error) {
	gains, err := c.channelValues("gain_db", info, ch)
	if err != nil {
		return 0, err
	}

	sum := 0.0
	for _, gain := range gains {
		sum += gain.Value
	}

	return sum, nil
}

// sensitivity returns the sensitivity in V/Pa that the table of microphones states for channel ch of a file, or 0 if it
// states none. It returns an error if two rows state one: they may call the channel by its name and by its number.
func (c *Chain) sensitivity(info ingest.Info, ch int) (float64, error) {
	stated, err := c.channelValues("sensitivity_v_per_pa", info, ch)
	if err != nil || len(stated) == 0 {
		return 0, err
	}

	if len(stated) > 1 {
		first := stated[0].Name
		second := stated[1].Name
		return 0, fault.At(c.Table, "channel "+info.Channels[ch].Name, "one sensitivity",
			fmt.Sprintf("rows %s and %s with one each", first, second),
			"delete a row, or correct its channel")
	}

	return stated[0].Value, nil
}

// channelValues returns the values with a name that are stated for channel ch of a file. It returns an error if a value
// is stated for a channel that the file does not have.
func (c *Chain) channelValues(name string, info ingest.Info, ch int) ([]setting.NamedNumber, error) {
	var values []setting.NamedNumber
	for _, value := range c.Values[name] {
		k, err := ingest.FindChannel(info, value.Name)
		if err != nil {
			return nil, err
		}

		if k == ch {
			values = append(values, value)
		}
	}

	return values, nil
}

// soundUnit converts a microphone's unit. If the stated unit is a unit of pressure or voltage other than Pa and V, such
// as mPa, psi or mV, soundUnit returns the factor to Pa or V, the unit Pa or V, and a text about the conversion.
// Otherwise it returns 1, the stated unit and "".
func soundUnit(stated string) (factor float64, unit, how string) {
	for _, name := range []string{"p_pa", "p_v"} {
		if conversion, err := units.ToName(name, stated); err == nil && conversion.Original != "" {
			return conversion.Scale, conversion.Unit, conversion.String()
		}
	}

	return 1, stated, ""
}

// Implausible returns a warning about the first gain or sensitivity of a microphone that is unlikely or impossible in
// its unit, and nil if all are plausible. path is the file that the warning names.
func (c *Chain) Implausible(path string) []ingest.Warning {
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		bound, known := units.BoundOf(name)
		if !known {
			continue
		}

		for _, entry := range c.Values[name] {
			if doubt, _ := bound.Check(entry.Value); doubt != "" {
				return []ingest.Warning{ingest.Warn(path, recording.Implausible, "%s of channel %s: %s", name, entry.Name, doubt)}
			}
		}
	}

	return nil
}
