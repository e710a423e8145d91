package ingeststage

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
	"doubletake/ingest/stats"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// calibratorJSON is the output of the task that measures the calibrator's
// recordings: a []sensitivity.
const calibratorJSON = "calibrator.json"

// Tone is a calibrator's tone in a channel of its recording.
type Tone struct {
	Unit        string  `json:"unit"`     // of the samples
	LevelDB     float64 `json:"level_db"` // dB re 20 µPa: what the calibrator makes
	FrequencyHz float64 `json:"frequency_hz"`
	RMS         float64 `json:"rms"` // of the tone, in Unit
	PaPerUnit   float64 `json:"pa_per_unit"`
	SpreadDB    float64 `json:"spread_db"` // loudest over quietest block
	Blocks      int     `json:"blocks"`
	BlockS      float64 `json:"block_s"`
	AboveDB     float64 `json:"above_db"` // of the tone over the noise in its third of an octave
}

// Sensitivity is the result of one channel of a calibrator's recording.
type Sensitivity struct {
	// channel of the recordings, by name or number; "": all of them, or the one of that
	// name
	For     string `json:"for"`
	Named   bool   `json:"named"`
	File    string `json:"file"`
	Channel string `json:"channel"`
	SHA256  string `json:"sha256"`
	Tone
	Fault *storedError `json:"fault,omitempty"` // of a channel that may not be in use
}

// storedError is a *fault.Error that can be stored.
type storedError struct{ Path, Place, Want, Found, Hint string }

func (f *storedError) err() error {
	return &fault.Error{Path: f.Path, Place: f.Place, Want: f.Want, Found: f.Found, Hint: f.Hint}
}

// text describes it for tables and the page.
func (s Sensitivity) text() string {
	unit := cmp.Or(s.Unit, "file unit")

	return fmt.Sprintf("calibrator %s, channel %s: %g dB at %.5g Hz is %.6g %s rms, %.6g Pa per %s; spread %.3f dB over "+
		"%d blocks of %.3g s",
		s.File, s.Channel, s.LevelDB, s.FrequencyHz, s.RMS, unit, s.PaPerUnit, unit, s.SpreadDB, s.Blocks, s.BlockS)
}

// calibratorFile is a recording of the calibrator and the channels it is for.
type calibratorFile struct {
	channel string // of the recordings; "" all
	path    string
	own     string // channel of the file; "" found out
}

func calibratorFiles(c *config.Calibrator) []calibratorFile {
	if c.File != "" {
		return []calibratorFile{{path: c.File, own: c.Channel}}
	}

	var out []calibratorFile
	for _, r := range c.Recordings {
		path, own, _ := strings.Cut(r.Value, "#")
		out = append(out, calibratorFile{channel: r.Name, path: path, own: own})
	}

	return out
}

// planCalibrator adds the task that measures the calibrator's recordings, and
// returns its output; nil without a calibrator.
func planCalibrator(exp plan.Experiment, src *plan.Source) *engine.Dep {
	if src.In.Calibration == nil || src.In.Calibration.Calibrator == nil {
		return nil
	}

	c := src.In.Calibration.Calibrator
	files := calibratorFiles(c)
	t := &engine.Task{
		ID: exp.ID("ingest", "calibrator"), Stage: "ingest", Version: version, Weight: 0.02,
		Config: slices.Concat(plan.Settings("ingest.calibration.calibrator", *c), plan.Settings("ingest", struct {
			Format    string        `key:"format"`
			RateHz    float64       `key:"rate_hz"`
			Truncated string        `key:"truncated"`
			Arrays    config.Arrays `key:"arrays"`
			Text      config.Text   `key:"text"`
		}{src.In.Format, src.In.RateHz, src.In.Truncated, src.In.Arrays, src.In.Text}), src.Reader),
	}

	for _, f := range files {
		raw := onDisk(exp, f.path)
		if !slices.Contains(t.Files, *raw.File) {
			raw.Needs(t)
		}
	}

	t.Run = func(ctx context.Context, j *engine.Job) error {
		var all []Sensitivity
		for _, f := range files {
			raw := onDisk(exp, f.path)
			s, err := measureRecording(ctx, raw.Path(j), f, c, src.Options)
			if err != nil {
				return err
			}

			for i := range s {
				s[i].SHA256 = raw.SHA256(j)
			}

			all = append(all, s...)
		}

		return plan.WriteJSON(j, calibratorJSON, all)
	}

	exp.Add(t)

	return &engine.Dep{Task: t.ID, Output: calibratorJSON}
}

// Sensitivities reads the results of the calibrator's recordings, if there are any.
func Sensitivities(s *plan.Source, j *engine.Job) (all []Sensitivity, err error) {
	if s.Calibrator != nil {
		err = plan.ReadJSON(j.Input(s.Calibrator.Task, s.Calibrator.Output), &all)
	}
	return all, err
}

// measureRecording measures the channel of a recording that heard the
// calibrator. Where neither the configuration nor the file names it,
// every channel is measured, for the recordings' channels of the same names.
func measureRecording(ctx context.Context, open string, f calibratorFile, c *config.Calibrator,
	o ingest.Options,
) ([]Sensitivity, error) {
	rd, err := format.Open(open, o.In(ctx))
	if err != nil {
		return nil, Named(err, open, f.path)
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = f.path

	var channels []int
	for i, ch := range info.Channels {
		if ch.Role() == "" {
			channels = append(channels, i)
		}
	}

	one := len(channels) == 1
	if want := cmp.Or(f.own, f.channel); f.own != "" || want != "" && !one {
		k, err := ingest.FindChannel(info, want)
		if err != nil {
			return nil, err
		}

		channels, one = []int{k}, true
	}

	var out []Sensitivity
	for _, k := range channels {
		s := Sensitivity{For: f.channel, File: f.path, Channel: info.Channels[k].Name, Named: !one}

		t, unsteady, err := measureTone(ctx, rd, info, k, c)
		if err == nil {
			err = unsteady
		}

		var d *fault.Error
		switch {
		case err == nil:
			s.Tone = t
		case errors.As(err, &d) && !one:
			s.Fault = &storedError{d.Path, d.Place, d.Want, d.Found, d.Hint}
		default:
			return nil, Named(err, open, f.path)
		}

		out = append(out, s)
	}

	return out, nil
}

// calibratorBlocks are the equal parts of a calibrator's recording whose levels
// are compared: enough to see a drift, each long enough for a level.
const calibratorBlocks = 10

// CalibratorTone is a calibrator's tone, and whether a run would accept it.
type CalibratorTone struct {
	Tone
	UnitPerPa float64 `json:"unit_per_pa"`
	AllowedDB float64 `json:"allowed_db"`
	Accepted  bool    `json:"accepted"`
	Fault     string  `json:"fault,omitempty"` // why it is not accepted
}

// MeasureCalibrator measures channel k of an open recording as the calibrator of
// c is measured by a run. A channel that would be refused is no error: Fault is
// the reason, and the other fields hold the values that could be measured.
func MeasureCalibrator(ctx context.Context, rd ingest.Reader, k int, c config.Calibrator) (CalibratorTone, error) {
	out := CalibratorTone{AllowedDB: c.SpreadDB}
	t, unsteady, err := measureTone(ctx, rd, rd.Info(), k, &c)
	out.Tone = t
	if err == nil {
		out.UnitPerPa = 1 / t.PaPerUnit
		err = unsteady
	}

	var d *fault.Error
	if errors.As(err, &d) {
		out.Fault = d.Error()
		return out, nil
	}

	out.Accepted = err == nil

	return out, err
}

// measureTone measures a channel's tone; unsteady is why it cannot serve for
// calibration. With an error the tone holds what is known without a measurement.
func measureTone(ctx context.Context, rd ingest.Reader, info ingest.Info, k int,
	c *config.Calibrator,
) (s Tone, unsteady, err error) {
	ch := info.Channels[k]
	s = Tone{Unit: ch.Unit, LevelDB: c.LevelDB, Blocks: calibratorBlocks}

	bad := func(want, found, hint string) error {
		return &fault.Error{Path: info.Path, Place: "channel " + ch.Name, Want: want, Found: found, Hint: hint}
	}
	if ch.RateHz <= 0 {
		return s, nil, bad("a sampling rate", "none in the file", "state it in the configuration: ingest: {rate_hz: …}")
	}

	if ch.Unit == "Pa" {
		return s, nil, bad("samples that are still to be calibrated", "a channel in Pa", "leave the calibrator out")
	}

	from, to := int64(math.Ceil(c.FromS*ch.RateHz-1e-6)), ch.Samples
	if c.ToS > 0 {
		to = int64(math.Ceil(c.ToS*ch.RateHz - 1e-6))
	}

	if to > ch.Samples || from >= to {
		return s, nil, bad(fmt.Sprintf("from_s and to_s within its %.6g s", float64(ch.Samples)/ch.RateHz),
			fmt.Sprintf("%g and %g", c.FromS, c.ToS), "")
	}

	_, warnings, err := stats.Scan(ctx, rd, ingest.Run{
		ID: info.Path, Path: info.Path, Row0: from, Row1: to,
		Recordings: []ingest.Recording{{Channels: []int{k}}},
	})
	if err != nil {
		return s, nil, err
	}

	for _, w := range warnings {
		if w.Code == "clipping" {
			return s, nil, bad("a calibrator's tone below full scale", w.Text, "record it again with less gain")
		}
	}

	t, err := dsp.Calibrator(ctx, rd, dsp.CalibratorSettings{
		RateHz: ch.RateHz, Start: from, Samples: to - from,
		Channel: k, FrequencyHz: c.FrequencyHz, Blocks: calibratorBlocks,
	})

	var de *fault.Error
	if errors.As(err, &de) && de.Path == "" {
		return s, nil, bad(de.Want, de.Found, de.Hint)
	}

	if err != nil {
		return s, nil, err
	}

	ref, _ := dsp.Reference("Pa")
	s.FrequencyHz, s.RMS, s.SpreadDB = t.FrequencyHz, t.RMS, t.SpreadDB
	s.PaPerUnit = ref * math.Pow(10, c.LevelDB/20) / t.RMS / math.Pow(10, c.GainDB/20)
	s.BlockS = float64((to-from)/calibratorBlocks) / ch.RateHz
	s.AboveDB = min(t.AboveDB, 300) // without any noise it is infinite, which JSON has no word for
	if t.SpreadDB > c.SpreadDB {
		level := func(rms float64) float64 { return c.LevelDB + 20*math.Log10(rms/t.RMS) }
		lo, hi := slices.Min(t.BlockRMS), slices.Max(t.BlockRMS)
		unsteady = bad(fmt.Sprintf("a calibrator's level that is steady within %g dB", c.SpreadDB),
			fmt.Sprintf("a spread of %.2f dB over %d blocks of %.3g s (block %d: %.2f dB, block %d: %.2f dB)", t.SpreadDB,
				calibratorBlocks, s.BlockS,
				1+slices.Index(t.BlockRMS, lo), level(lo), 1+slices.Index(t.BlockRMS, hi), level(hi)),
			"leave out with from_s and to_s where it was put on and taken off, record it again, or allow more with spread_db")
	}

	return s, unsteady, nil
}

// sensitivityOf finds the sensitivity of a channel.
func sensitivityOf(all []Sensitivity, info ingest.Info, k int) (*Sensitivity, error) {
	ch := info.Channels[k]
	fail := func(want, found, hint string) (*Sensitivity, error) {
		return nil, &fault.Error{Path: info.Path, Place: "channel " + ch.Name, Want: want, Found: found, Hint: hint}
	}
	var s *Sensitivity

	var have []string
	for i := range all {
		e := &all[i]
		switch {
		case e.For != "":
			have = append(have, e.For)
			if c, err := ingest.FindChannel(info, e.For); err != nil || c != k {
				continue
			}

		case e.Named:
			have = append(have, e.Channel)
			if e.Channel != ch.Name {
				continue
			}
		}

		s = e
		break
	}

	switch {
	case s == nil:
		return fail("a calibrator's recording of this channel", "recordings of "+strings.Join(have, ", "),
			"name it in calibration.calibrator.recordings, or name the channels to use")
	case s.Fault != nil:
		return nil, s.Fault.err()
	case s.Unit != ch.Unit:
		return fail(fmt.Sprintf("samples in the unit of the calibrator's recording %s, %q", s.File, s.Unit),
			fmt.Sprintf("%q", ch.Unit), "calibrate with the same chain")
	}

	return s, nil
}

// Scale turns the samples of a channel into its unit.
type Scale struct {
	Factor   float64
	Unit     string  // after multiplication with Factor
	How      string  // where the factor comes from
	SpreadDB float64 // of the calibrator's recording; 0 without one
}

// ScaleOf returns the scale of a channel by the calibrator's recordings, or, without any, by the
// configuration.
func ScaleOf(src *plan.Source, cal []Sensitivity, info ingest.Info, ch int) (Scale, error) {
	if cal != nil {
		s, err := sensitivityOf(cal, info, ch)
		if err != nil {
			return Scale{}, err
		}

		return Scale{Factor: s.PaPerUnit, Unit: "Pa", How: s.text(), SpreadDB: s.SpreadDB}, nil
	}

	before, stated, note := 1.0, info.Channels[ch].Unit, ""
	if !src.Grouping.Together {
		before, stated, note = soundUnit(stated)
	}

	f, unit, err := calibration(src.In.Calibration).Factor(stated)
	if err != nil {
		return Scale{}, &fault.Error{Path: info.Path, Place: "channel " + info.Channels[ch].Name, Found: err.Error()}
	}

	how := strings.Trim(note+"; "+calibrationText(src.In.Calibration), "; ")

	return Scale{Factor: f * before, Unit: unit, How: how}, nil
}

func calibration(c *config.Calibration) ingest.Calibration {
	if c == nil {
		return ingest.Calibration{}
	}

	return ingest.Calibration{
		FullScaleV: c.FullScaleV, Reading: c.Reading, SensitivityVPerPa: c.SensitivityVPerPa,
		GainDB: c.GainDB, PaPerUnit: c.PaPerUnit, Unit: c.Unit,
	}
}

// calibrationText describes how samples become a unit, for recordings.arrow.
func calibrationText(c *config.Calibration) string {
	switch {
	case c == nil:
		return ""
	case c.PaPerUnit > 0:
		return fmt.Sprintf("%g Pa per unit, as configured", c.PaPerUnit)
	case c.Unit != "":
		return "in " + c.Unit + ", as configured"
	}

	var parts []string
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
