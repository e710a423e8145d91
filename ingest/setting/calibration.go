package setting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Calibration describes the chain from samples to pascal.
type Calibration struct {
	// unit of the samples as they are: Pa, or full-scale
	Unit string `key:"unit" enum:"|Pa|full-scale"`

	// voltage of a full-scale sample in V
	FullScaleV float64 `key:"full_scale_v"`

	// whether that voltage is a peak or an rms value
	Reading string `key:"reading" enum:"|peak|rms"`

	// microphone sensitivity in V/Pa
	SensitivityVPerPa float64 `key:"sensitivity_v_per_pa"`

	// amplifier gain in dB between microphone and recorder
	GainDB float64 `key:"gain_db" default:"0"`

	// amplifier gain of single channels in dB, in addition to gain_db or the calibrator's; gain_db: {5: -6.02} is short
	// for it
	ChannelGainDB []NamedNumber `key:"channel_gain_db"`

	// pascal per sample unit, instead of the chain
	PaPerUnit float64 `key:"pa_per_unit"`

	// recording of a sound calibrator with the same chain and gain, instead of the chain's numbers
	Calibrator *Calibrator `key:"calibrator"`

	// uncertainties of the chain for budget, in dB or %, e.g. calibrator: "± 0.2 dB, k 2", sensitivity_v_per_pa: "± 2
	// %, rectangular"
	Uncertainty []NamedString `key:"uncertainty" only:"others"`
}

// Calibrator is a recording of a sound calibrator on each microphone: its tone's
// rms gives the pascal per sample unit.
type Calibrator struct {
	// level of the calibrator's tone in dB re 20 uPa: 94, 114, or the value of its certificate
	LevelDB float64 `key:"level_db"`

	// frequency of the tone in Hz; 0: the strongest line above 20 Hz
	FrequencyHz float64 `key:"frequency_hz" default:"0"`

	// one recording for all channels: a file of one channel, or one whose channels have the names of the
	// recordings' channels
	File string `key:"file" path:"yes"`

	// for file: the channel that recorded the calibrator, by name or number from 1; it then calibrates all channels of
	// the recordings
	Channel string `key:"channel"`

	// instead of file: recordings of single channels by a pattern of their names, e.g. cal/Mikro_{channel}.wav: what
	// takes the place of {channel} is the name of the channel, or its number from 1
	Pattern string `key:"pattern" path:"yes"`

	// instead of file: a recording for each channel (by name or number from 1), e.g. {1: cal/mic1.wav, 2:
	// cal/mic2.wav}. If a recording has several channels, the one with the same name is used, or the one named by
	// #CHANNEL after the file name
	Recordings []NamedString `key:"recordings" path:"yes"`

	// first second of the recording to use
	FromS float64 `key:"from_s" default:"0"`

	// last second of the recording to use; 0: to the end
	ToS float64 `key:"to_s" default:"0"`

	// how steady the level must be: the largest difference in dB between tenths of the recording
	SpreadDB float64 `key:"spread_db"`

	// gain of the recordings minus gain of the calibrator's recording, in dB
	GainDB float64 `key:"gain_db" default:"0"`
}

// SetDefaults stores the default values of the section.
func (c *Calibrator) SetDefaults() { c.SpreadDB = 0.2 }

// Files lists the paths of the calibrator's recordings, as far as they are known: a pattern has none before it is
// searched.
func (c *Calibrator) Files() []string {
	if c.File != "" {
		return []string{c.File}
	}

	var files []string
	for _, recording := range c.Recordings {
		file, _, _ := strings.Cut(recording.Value, "#")
		files = append(files, file)
	}

	return files
}

// ChannelField is the field of a calibrator's pattern that stands for the channel.
const ChannelField = "{channel}"

// Factor returns the factor by which samples of a channel are multiplied, and the
// unit of the product (docs/method.md#split-half-spectra):
//
//	chain:      full scale × full_scale_v (× √2 if stated as rms) / sensitivity_v_per_pa / 10^(gain_db/20) → Pa
//	            volts / sensitivity_v_per_pa / 10^(gain_db/20) → Pa
//	            full scale × full_scale_v (× √2) → V, when no sensitivity is given
//	pa_per_unit: × pa_per_unit → Pa
//	unit:       × 1 → that unit
//	nothing:    × 1 → the channel's own unit, which may be ""
//
// Settings that contradict each other or the channel's unit are an error.
func (c Calibration) Factor(channelUnit string) (factor float64, unit string, err error) {
	fault := cmp.Or(c.Contradiction(), c.misfit(channelUnit))
	switch {
	case fault != "":
		return 0, "", fmt.Errorf("calibration: %s", fault)
	case c.PaPerUnit > 0:
		return c.PaPerUnit, "Pa", nil
	case c.Unit != "":
		return 1, c.Unit, nil
	case !c.hasChain():
		return 1, channelUnit, nil
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

// hasChain reports whether numbers of the chain are given.
func (c Calibration) hasChain() bool { return c.FullScaleV > 0 || c.SensitivityVPerPa > 0 }

// Contradiction describes settings that contradict each other, whatever the unit of a channel is, or returns "".
func (c Calibration) Contradiction() string {
	switch {
	case c.hasChain() && c.PaPerUnit > 0:
		return "both a chain (full_scale_v, sensitivity_v_per_pa) and pa_per_unit are given: keep one"
	case c.hasChain() && c.Unit != "":
		return fmt.Sprintf("both a chain (full_scale_v, sensitivity_v_per_pa) and unit: %s are given: keep one", c.Unit)
	case c.PaPerUnit > 0 && c.Unit != "":
		return fmt.Sprintf("both pa_per_unit and unit: %s are given: keep one", c.Unit)
	case c.Reading != "" && c.FullScaleV == 0:
		return "reading describes full_scale_v, but full_scale_v is missing"
	case c.GainDB != 0 && c.SensitivityVPerPa == 0:
		return "gain_db is part of a chain, but sensitivity_v_per_pa is missing"
	}

	return ""
}

// misfit describes why the settings do not fit a channel with this unit, or returns "".
func (c Calibration) misfit(channelUnit string) string {
	switch {
	case c.PaPerUnit > 0 && channelUnit == "Pa":
		return "pa_per_unit is given, but the channel is in Pa already"
	case c.Unit != "" && !slices.Contains([]string{"", "full-scale", c.Unit}, channelUnit):
		return fmt.Sprintf("unit: %s is declared, but the channel is in %s", c.Unit, channelUnit)
	case !c.hasChain(): // the other settings concern the chain
		return ""
	case channelUnit == "full-scale" && c.FullScaleV == 0:
		return "samples are a fraction of full scale: sensitivity_v_per_pa needs full_scale_v too"
	case channelUnit == "" && c.FullScaleV == 0:
		return "the file does not state the samples' unit: sensitivity_v_per_pa alone would take them as volts; give " +
			"pa_per_unit"
	case channelUnit == "": // integers of any scaling would be taken for fractions of full scale
		return "full_scale_v needs samples that are a fraction of full scale, the file does not state the samples' " +
			"unit; give pa_per_unit"
	case channelUnit == "V" && c.FullScaleV > 0:
		return "the channel is in V already: leave out full_scale_v"
	case channelUnit != "V" && channelUnit != "full-scale":
		return fmt.Sprintf("a chain of volts needs samples in full scale or V, the channel is in %s", channelUnit)
	}

	return ""
}

// Text describes how samples become a unit, for recordings.arrow.
func (c Calibration) Text() string {
	var parts []string
	if c.PaPerUnit > 0 {
		parts = append(parts, fmt.Sprintf("%g Pa per unit, as configured", c.PaPerUnit))
	}

	if c.Unit != "" {
		parts = append(parts, fmt.Sprintf("in %s, as configured", c.Unit))
	}

	if c.FullScaleV > 0 {
		parts = append(parts, fmt.Sprintf("%g V (%s) at full scale", c.FullScaleV, cmp.Or(c.Reading, "peak")))
	}

	if c.SensitivityVPerPa > 0 {
		parts = append(parts, fmt.Sprintf("%g V/Pa", c.SensitivityVPerPa))
	}

	if c.GainDB != 0 {
		parts = append(parts, fmt.Sprintf("gain %g dB", c.GainDB))
	}

	return strings.Join(parts, ", ")
}
