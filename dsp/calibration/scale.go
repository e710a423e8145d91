package calibration

import (
	"fmt"
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
	Relative bool    // the samples are taken as parts of full scale
}

// Chain describes how the samples of a campaign's channels become physical units.
type Chain struct {
	Settings *setting.Calibration             // the chain that all channels have, and gains of single channels; may be nil
	Values   map[string][]setting.NamedNumber // gain_db and sensitivity_v_per_pa of channels, by the table of microphones
	Table    string                           // the table of microphones, for texts
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

	if c.Measured == nil {
		return c.scaleByChain(info, ch, own, channelGain(gainDB))
	}

	measured, err := sensitivityOf(c.Measured, info, ch)
	if err != nil {
		return Scale{}, err
	}

	gain := channelGain(gainDB)

	return Scale{
		Factor: measured.PaPerUnit / gain.factor(), Unit: "Pa", How: measured.text() + gain.text(),
		SpreadDB: measured.SpreadDB,
	}, nil
}

// channelGain is the gain in dB that a channel has besides the gain of all channels.
type channelGain float64

// factor returns the factor of the gain.
func (g channelGain) factor() float64 { return math.Pow(10, float64(g)/20) }

// text returns the end of a text about the scale of a channel, or "" without a gain.
func (g channelGain) text() string {
	if g == 0 {
		return ""
	}
	return fmt.Sprintf("; gain of this channel %g dB", float64(g))
}

// scaleByChain returns the scale of channel ch of a file by the settings and the table of microphones. sensitivity is
// the sensitivity in V/Pa by the table, or 0 if it states none, and gain is the channel's own gain.
func (c *Chain) scaleByChain(info ingest.Info, ch int, sensitivity float64, gain channelGain) (Scale, error) {
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
	if sensitivity > 0 { // the table of microphones wins over the configuration
		chain.SensitivityVPerPa = sensitivity
		how += fmt.Sprintf("; %g V/Pa by %s", sensitivity, c.Table)
	}

	factor, unit, err := chain.Factor(stated)
	if err != nil {
		return Scale{}, fault.At(info.Path, "channel "+info.Channels[ch].Name, "", err.Error(), "")
	}

	how = strings.Trim(note+"; "+how+gain.text(), "; ")

	isRelative := unit == "full-scale" || chain.FullScaleV > 0

	return Scale{Factor: factor * toSound / gain.factor(), Unit: unit, How: how, Relative: isRelative}, nil
}

// gainDB returns the gain of channel ch of a file in dB, or 0 if nothing states one. The table of microphones and the
// configuration may both state a gain: these are amplifiers in a row, so that their gains add up. gainDB returns an
// error if the table has two rows with a gain of the channel, or if the configuration has two gains of it.
func (c *Chain) gainDB(info ingest.Info, ch int) (float64, error) {
	configured, err := onlyValue(c.configuredGains(), info, ch, info.Path, "one gain in channel_gain_db", "key")
	if err != nil {
		return 0, err
	}

	stated, err := onlyValue(c.Values["gain_db"], info, ch, c.Table, "one gain", "row")
	if err != nil {
		return 0, err
	}

	return configured + stated, nil
}

// configuredGains returns the gains of single channels that the configuration states.
func (c *Chain) configuredGains() []setting.NamedNumber {
	if c.Settings == nil {
		return nil
	}

	return c.Settings.ChannelGainDB
}

// sensitivity returns the sensitivity in V/Pa that the table of microphones states for channel ch of a file, or 0 if it
// states none. It returns an error if two rows state one: they may call the channel by its name and by its number.
func (c *Chain) sensitivity(info ingest.Info, ch int) (float64, error) {
	return onlyValue(c.Values["sensitivity_v_per_pa"], info, ch, c.Table, "one sensitivity", "row")
}

// onlyValue returns the value of a list that is stated for channel ch of a file, or 0 if none is. It returns an error
// if two values are stated for the channel, or one for a channel that the file does not have. path is the file that the
// first error names, want describes the value, and place is what states one: a row of a table or a key.
func onlyValue(list []setting.NamedNumber, info ingest.Info, ch int, path, want, place string) (float64, error) {
	var found []setting.NamedNumber // values of the channel
	for _, value := range list {
		k, err := ingest.FindChannel(info, value.Name)
		if err != nil {
			return 0, err
		}

		if k == ch {
			found = append(found, value)
		}
	}

	switch len(found) {
	case 0:
		return 0, nil
	case 1:
		return found[0].Value, nil
	}

	return 0, fault.At(path, "channel "+info.Channels[ch].Name, want,
		fmt.Sprintf("%ss %s and %s with one each", place, found[0].Name, found[1].Name),
		"delete a "+place+", or correct its channel")
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
	gains := slices.Concat(c.configuredGains(), c.Values["gain_db"])
	warnings := implausible(path, "gain_db", gains)

	const sensitivity = "sensitivity_v_per_pa"
	if len(warnings) == 0 {
		warnings = implausible(path, sensitivity, c.Values[sensitivity])
	}

	return warnings
}

// implausible returns a warning about the first of the values with this name that is unlikely or impossible.
func implausible(path, name string, values []setting.NamedNumber) []ingest.Warning {
	bound, known := units.BoundOf(name)
	if !known {
		return nil
	}

	for _, entry := range values {
		if doubt, _ := bound.Check(entry.Value); doubt != "" {
			return []ingest.Warning{ingest.Warn(path, recording.Implausible, "%s of channel %s: %s", name, entry.Name, doubt)}
		}
	}

	return nil
}
