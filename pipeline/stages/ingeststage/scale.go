package ingeststage

import (
	"fmt"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// Scale turns the samples of a channel into its unit.
type Scale struct {
	Factor   float64
	Unit     string  // after multiplication with Factor
	How      string  // where the factor comes from
	SpreadDB float64 // loudest over quietest block of the calibrator's recording; 0 without a calibrator
}

// ScaleOf returns the scale of channel ch. It comes from the calibrator's recordings, or from the configuration and the
// table of microphones if calibrations is nil.
func ScaleOf(src *Source, calibrations []Sensitivity, info ingest.Info, ch int) (Scale, error) {
	gainDB, err := chainValue(src, "gain_db", info, ch)
	if err != nil {
		return Scale{}, err
	}

	own, err := chainValue(src, "sensitivity_v_per_pa", info, ch)
	if err != nil {
		return Scale{}, err
	}

	gain := math.Pow(10, gainDB/20)
	gainText := ""
	if gainDB != 0 {
		gainText = fmt.Sprintf("; gain of this channel %g dB", gainDB)
	}

	if calibrations != nil {
		sensitivity, err := sensitivityOf(calibrations, info, ch)
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
	if !src.Grouping.Together {
		toSound, stated, note = soundUnit(stated)
	}

	var chain setting.Calibration
	if src.Ingest.Calibration != nil {
		chain = *src.Ingest.Calibration
	}

	how := chain.Text()
	if own > 0 { // the table of microphones states a sensitivity, which wins over the configuration's
		chain.SensitivityVPerPa = own
		how += fmt.Sprintf("; %g V/Pa by %s", own, src.Ingest.Microphones.File)
	}

	factor, unit, err := chain.Factor(stated)
	if err != nil {
		return Scale{}, fault.At(info.Path, "channel "+info.Channels[ch].Name, "", err.Error(), "")
	}

	return Scale{Factor: factor * toSound / gain, Unit: unit, How: strings.Trim(note+"; "+how+gainText, "; ")}, nil
}

// chainValue returns a value of a channel's measuring chain, as the table of microphones and the configuration state
// it: its sensitivity_v_per_pa, or the sum of its gain_db. It returns 0 if neither states the value.
func chainValue(src *Source, name string, info ingest.Info, ch int) (float64, error) {
	sum := 0.0
	for _, e := range src.Chains[name] {
		k, err := ingest.FindChannel(info, e.Name)
		if err != nil {
			return 0, err
		}

		if k == ch {
			sum += e.Value
		}
	}

	return sum, nil
}
