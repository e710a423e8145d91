// Package calibration turns the samples of channels into physical units: by the numbers of a measuring chain, by a
// table of microphones, or by recordings of a sound calibrator, whose tone it measures. Sound pressures are in Pa,
// levels in dB re 20 µPa.
package calibration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/setting"
	"doubletake/ingest/stats"
)

// Tone is a calibrator's tone in a channel of its recording.
type Tone struct {
	Unit        string  `json:"unit"`     // unit of the samples
	LevelDB     float64 `json:"level_db"` // level that the calibrator makes, dB re 20 µPa
	FrequencyHz float64 `json:"frequency_hz"`
	RMS         float64 `json:"rms"` // rms of the tone in Unit
	PaPerUnit   float64 `json:"pa_per_unit"`
	SpreadDB    float64 `json:"spread_db"` // loudest block over quietest block
	Blocks      int     `json:"blocks"`    // number of equal parts whose levels are compared
	BlockS      float64 `json:"block_s"`   // duration of a block
	AboveDB     float64 `json:"above_db"`  // level of the tone over the noise in its third of an octave
}

// Sensitivity is the result of one channel of a calibrator's recording.
type Sensitivity struct {
	// Target is the channel of the campaign's recordings that was calibrated, by name or number. If it is "", Named
	// decides.
	Target string `json:"for"`
	// Named is true if a Sensitivity without Target belongs to the channel with the name Channel. Otherwise it belongs to
	// all channels.
	Named   bool   `json:"named"`
	File    string `json:"file"`    // the calibrator's recording
	Channel string `json:"channel"` // the channel of File
	SHA256  string `json:"sha256"`  // digest of File
	Tone
	// Fault is the reason why the channel was not measured. Only the use of the channel makes it an error.
	Fault *fault.Error `json:"fault,omitempty"`
}

// unmeasured lists the recordings of the calibrator as the configuration names them, without results. Channel is "" if
// the configuration does not name the channel.
func unmeasured(calibrator *setting.Calibrator) []Sensitivity {
	if calibrator.File != "" {
		return []Sensitivity{{File: calibrator.File, Channel: calibrator.Channel}}
	}

	var files []Sensitivity
	for _, r := range calibrator.Recordings {
		path, own, _ := strings.Cut(r.Value, "#")
		files = append(files, Sensitivity{Target: r.Name, File: path, Channel: own})
	}

	return files
}

// text describes the sensitivity for tables and the page.
func (s Sensitivity) text() string {
	unit := cmp.Or(s.Unit, "file unit")

	return fmt.Sprintf("calibrator %s, channel %s: %g dB at %.5g Hz is %.6g %s rms, %.6g Pa per %s; spread %.3f dB over "+
		"%d blocks of %s s",
		s.File, s.Channel, s.LevelDB, s.FrequencyHz, s.RMS, unit, s.PaPerUnit, unit, s.SpreadDB, s.Blocks,
		fault.Digits(s.BlockS, 3))
}

// Measure measures all recordings of the calibrator. It leaves their digests empty. options says how they are opened.
func Measure(ctx context.Context, calibrator *setting.Calibrator, project setting.Project, options ingest.Options) (
	[]Sensitivity, error,
) {
	var list []Sensitivity
	for _, recording := range unmeasured(calibrator) {
		measured, err := measureRecording(ctx, project.Resolve(recording.File), recording, calibrator, options)
		if err != nil {
			return nil, err
		}

		list = append(list, measured...)
	}

	return list, nil
}

// measureRecording measures the channel of a recording that heard the calibrator. If the configuration does not name
// the channel and the file has several, it measures every channel, for the campaign's channels of the same names.
func measureRecording(ctx context.Context, path string, recording Sensitivity, calibrator *setting.Calibrator,
	o ingest.Options,
) ([]Sensitivity, error) {
	rd, err := format.Open(path, o.In(ctx, recording.File))
	if err != nil {
		return nil, fault.Named(err, recording.File)
	}
	defer rd.Close()

	info := rd.Info()
	channels, err := calibratorChannels(info, recording)
	if err != nil {
		return nil, err
	}

	single := len(channels) == 1
	var list []Sensitivity
	for _, k := range channels {
		sensitivity := Sensitivity{
			Target: recording.Target, File: recording.File, Channel: info.Channels[k].Name, Named: !single,
		}
		sensitivity.Tone, err = measureTone(ctx, rd, info, k, calibrator)
		if err != nil {
			bad, ofData := errors.AsType[*fault.Error](err)
			if single || !ofData {
				return nil, fault.Named(err, recording.File)
			}

			// The experiment may not use this channel. The error is stored without its cause, which JSON cannot encode.
			stored := *bad
			stored.Err = nil
			sensitivity.Fault = &stored
		}

		list = append(list, sensitivity)
	}

	return list, nil
}

// calibratorChannels lists the channels of a recording that may have heard the calibrator.
func calibratorChannels(info ingest.Info, recording Sensitivity) ([]int, error) {
	var channels []int
	for i, channel := range info.Channels {
		if channel.Role() == "" {
			channels = append(channels, i)
		}
	}

	name := cmp.Or(recording.Channel, recording.Target)
	if name == "" || recording.Channel == "" && len(channels) == 1 {
		return channels, nil
	}

	k, err := ingest.FindChannel(info, name)
	if err != nil {
		return nil, err
	}

	return []int{k}, nil
}

// calibratorBlocks is the number of equal parts of a calibrator's recording whose levels are compared. There are enough
// to see a drift, and each is long enough for a level. Short recordings have fewer.
const calibratorBlocks = 10

// maxAboveDB replaces the level of a tone above no noise at all, which is infinite and which JSON cannot encode.
const maxAboveDB = 300

// measureTone measures the calibrator's tone in channel k. It returns an error if the channel cannot be calibrated, if
// it is clipped, or if the tone's level is not steady.
func measureTone(ctx context.Context, rd ingest.Reader, info ingest.Info, k int, calibrator *setting.Calibrator) (Tone,
	error,
) {
	ch := info.Channels[k]
	place := "channel " + ch.Name
	begin, end, err := toneSamples(info, k, calibrator)
	if err != nil {
		return Tone{}, err
	}

	_, warnings, err := stats.Scan(ctx, rd, ingest.Run{
		ID: info.Path, Path: info.Path, Row0: begin, Row1: end, Recordings: []ingest.Recording{{Channels: []int{k}}},
	})
	if err != nil {
		return Tone{}, err
	}

	for _, warning := range warnings {
		if warning.Code == "clipping" {
			return Tone{}, fault.At(info.Path, place, "a calibrator's tone below full scale", warning.Text,
				"record it again with less gain")
		}
	}

	tone, err := dsp.Calibrator(ctx, rd, dsp.CalibratorSettings{
		RateHz: ch.RateHz, Start: begin, Samples: end - begin,
		Channel: k, FrequencyHz: calibrator.FrequencyHz, Blocks: calibratorBlocks,
	})
	if err != nil {
		return Tone{}, fault.Placed(err, info.Path, func(string) string { return place })
	}

	blocks := len(tone.BlockRMS)
	blockS := float64((end-begin)/int64(blocks)) / ch.RateHz
	if !(tone.SpreadDB <= calibrator.SpreadDB) { // also if the spread is NaN
		lowest := describeBlock(tone, slices.Min(tone.BlockRMS), calibrator.LevelDB)
		highest := describeBlock(tone, slices.Max(tone.BlockRMS), calibrator.LevelDB)
		return Tone{}, fault.At(info.Path, place,
			fmt.Sprintf("a calibrator's level that is steady within %g dB", calibrator.SpreadDB),
			fmt.Sprintf("a spread of %.2f dB over %d blocks of %s s (%s, %s)", tone.SpreadDB, blocks,
				fault.Digits(blockS, 3), lowest, highest),
			"leave out with from_s and to_s where it was put on and taken off, record it again, or allow more with spread_db")
	}

	return Tone{
		Unit: ch.Unit, LevelDB: calibrator.LevelDB, FrequencyHz: tone.FrequencyHz, RMS: tone.RMS, SpreadDB: tone.SpreadDB,
		PaPerUnit: pascalsPerUnit(tone.RMS, calibrator),
		Blocks:    blocks, BlockS: blockS,
		AboveDB: min(tone.AboveDB, maxAboveDB),
	}, nil
}

// toneSamples returns the first sample of the calibrator's tone in channel k and the sample behind its last one, by the
// settings from_s and to_s. It returns an error if they are not in the recording, or if the channel has no rate or is
// already in Pa.
func toneSamples(info ingest.Info, k int, calibrator *setting.Calibrator) (begin, end int64, err error) {
	ch := info.Channels[k]
	place := "channel " + ch.Name
	if !(ch.RateHz > 0) {
		return 0, 0, fault.At(info.Path, place, "a sampling rate", "none in the file",
			"state it in the configuration: ingest: {rate_hz: …}")
	}

	if ch.Unit == "Pa" {
		return 0, 0, fault.At(info.Path, place, "samples that are still to be calibrated", "a channel in Pa",
			"leave the calibrator out")
	}

	begin = firstSample(calibrator.FromS, ch.RateHz)
	end = ch.Samples
	if calibrator.ToS > 0 {
		end = firstSample(calibrator.ToS, ch.RateHz)
	}

	if end > ch.Samples || begin >= end {
		return 0, 0, fault.At(info.Path, place,
			fmt.Sprintf("from_s and to_s within its %.6g s", float64(ch.Samples)/ch.RateHz),
			fmt.Sprintf("%g and %g", calibrator.FromS, calibrator.ToS), "")
	}

	return begin, end, nil
}

// pascalsPerUnit returns how many pascals one unit of the samples is in the campaign's recordings. rms is the rms of
// the calibrator's tone in its recording. The campaign's recordings have GainDB more gain than the calibrator's
// recording.
func pascalsPerUnit(rms float64, calibrator *setting.Calibrator) float64 {
	ref, _ := dsp.Reference("Pa")
	return ref * math.Pow(10, calibrator.LevelDB/20) / rms / math.Pow(10, calibrator.GainDB/20)
}

// firstSample returns the number of the first sample at or after t seconds. Because t·rateHz is rounded, a sample also
// counts if it is less than a millionth of a sampling interval before t.
func firstSample(t, rateHz float64) int64 { return int64(math.Ceil(t*rateHz - 1e-6)) }

// describeBlock names the block of a calibrator's tone with the given rms, and its level.
func describeBlock(tone *dsp.CalibratorTone, rms, levelDB float64) string {
	return fmt.Sprintf("block %d: %.2f dB", 1+slices.Index(tone.BlockRMS, rms), levelDB+20*math.Log10(rms/tone.RMS))
}

// sensitivityOf returns the sensitivity in list that belongs to channel k. It returns an error if there is none, if
// there are two, because recordings may call the channel by its name and by its number, if the calibrator could not be
// measured in its recording, or if that recording has another unit.
func sensitivityOf(list []Sensitivity, info ingest.Info, k int) (Sensitivity, error) {
	ch := info.Channels[k]
	place := "channel " + ch.Name
	var own []Sensitivity
	var names []string // of the other channels
	for _, sensitivity := range list {
		if sensitivity.belongsTo(info, k) {
			own = append(own, sensitivity)
		} else {
			names = append(names, cmp.Or(sensitivity.Target, sensitivity.Channel))
		}
	}

	if len(own) == 0 {
		return Sensitivity{}, fault.At(info.Path, place, "a calibrator's recording of this channel",
			"recordings of "+strings.Join(names, ", "),
			"name it in calibration.calibrator.recordings, or name the channels to use")
	}

	if len(own) > 1 {
		return Sensitivity{}, fault.At(info.Path, place, "one calibrator's recording of this channel",
			fmt.Sprintf("%s and %s", own[0].File, own[1].File),
			"name the channel once in calibration.calibrator.recordings")
	}

	only := own[0]
	if only.Fault != nil {
		return Sensitivity{}, only.Fault
	}

	if only.Unit != ch.Unit {
		return Sensitivity{}, fault.At(info.Path, place,
			fmt.Sprintf("samples in the unit of the calibrator's recording %s, %q", only.File, only.Unit),
			fmt.Sprintf("%q", ch.Unit), "calibrate with the same chain")
	}

	return only, nil
}

// belongsTo reports whether the sensitivity was measured for a channel.
func (s Sensitivity) belongsTo(info ingest.Info, k int) bool {
	if s.Target == "" {
		return !s.Named || s.Channel == info.Channels[k].Name
	}

	c, err := ingest.FindChannel(info, s.Target)

	return err == nil && c == k
}
