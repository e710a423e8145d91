package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
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

// Sensitivity is the result of one channel of a calibrator's recording.
type Sensitivity struct {
	// channel of the recordings, by name or number; "": all of them, or the one of that
	// name
	For         string       `json:"for"`
	Named       bool         `json:"named"`
	File        string       `json:"file"`
	Channel     string       `json:"channel"`
	SHA256      string       `json:"sha256"`
	Unit        string       `json:"unit"` // of the samples
	LevelDB     float64      `json:"level_db"`
	FrequencyHz float64      `json:"frequency_hz"`
	RMS         float64      `json:"rms"`
	PaPerUnit   float64      `json:"pa_per_unit"`
	SpreadDB    float64      `json:"spread_db"`
	Blocks      int          `json:"blocks"`
	BlockS      float64      `json:"block_s"`
	AboveDB     float64      `json:"above_db"`
	Fault       *storedError `json:"fault,omitempty"` // of a channel that may not be in use
}

// storedError is a *fault.Error that can be stored.
type storedError struct{ Path, Place, Want, Found, Hint string }

func (f *storedError) err() error {
	return &fault.Error{Path: f.Path, Place: f.Place, Want: f.Want, Found: f.Found, Hint: f.Hint}
}

// text describes it for tables and the page.
func (s Sensitivity) text() string {
	unit := s.Unit
	if unit == "" {
		unit = "file unit"
	}
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

// calibrator adds the task that measures the calibrator's recordings, and
// returns its output; nil without a calibrator.
func calibrator(b *plan.Builder, src *plan.Source) *engine.Dep {
	if src.In.Calibration == nil || src.In.Calibration.Calibrator == nil {
		return nil
	}
	c := src.In.Calibration.Calibrator
	files := calibratorFiles(c)
	t := &engine.Task{
		ID: b.ID("ingest", "calibrator"), Stage: "ingest", Version: version, Weight: 0.02,
		Config: append(plan.Settings("ingest.calibration.calibrator", *c), plan.Settings("ingest", struct {
			Format    string        `key:"format"`
			RateHz    float64       `key:"rate_hz"`
			Truncated string        `key:"truncated"`
			Arrays    config.Arrays `key:"arrays"`
			Text      config.Text   `key:"text"`
		}{src.In.Format, src.In.RateHz, src.In.Truncated, src.In.Arrays, src.In.Text})...),
	}
	t.Config = append(t.Config, src.Reader...)
	for _, f := range files {
		p := filepath.ToSlash(f.path)
		if !slices.ContainsFunc(t.Files, func(e engine.File) bool { return e.Path == p }) {
			t.Files = append(t.Files, engine.File{Path: p, Open: b.File.Resolve(f.path)})
		}
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		var all []Sensitivity
		for _, f := range files {
			s, err := measureCalibrator(ctx, b.File.Resolve(f.path), f, c, src.Options)
			if err != nil {
				return err
			}
			for i := range s {
				s[i].SHA256 = j.FileDigest(filepath.ToSlash(f.path))
			}
			all = append(all, s...)
		}
		return plan.WriteJSON(j.Output(calibratorJSON), all)
	}
	b.Add(t)
	return &engine.Dep{Task: t.ID, Output: calibratorJSON}
}

// measureCalibrator measures the channel of a recording that heard the
// calibrator. Where neither the configuration nor the file names it,
// every channel is measured, for the recordings' channels of the same names.
func measureCalibrator(ctx context.Context, open string, f calibratorFile, c *config.Calibrator,
	o ingest.Options,
) ([]Sensitivity, error) {
	rd, err := format.Open(open, o)
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
	if want := f.own; want != "" || !one && f.channel != "" {
		if want == "" {
			want = f.channel
		}
		k, err := ingest.FindChannel(info, want)
		if err != nil {
			return nil, err
		}
		channels, one = []int{k}, true
	}
	var out []Sensitivity
	for _, k := range channels {
		s, err := calibratorChannel(ctx, rd, info, k, c)
		var d *fault.Error
		if errors.As(err, &d) && !one {
			s, err = Sensitivity{Fault: &storedError{d.Path, d.Place, d.Want, d.Found, d.Hint}}, nil
		}
		if err != nil {
			return nil, Named(err, open, f.path)
		}
		s.For, s.File, s.Channel, s.Named = f.channel, f.path, info.Channels[k].Name, !one
		out = append(out, s)
	}
	return out, nil
}

// calibratorBlocks are the equal parts of a calibrator's recording whose levels
// are compared: enough to see a drift, each long enough for a level.
const calibratorBlocks = 10

// CalibratorTone is the measurement of one channel of a calibrator's recording.
type CalibratorTone struct {
	LevelDB     float64 `json:"level_db"` // dB re 20 µPa: what the calibrator makes
	FrequencyHz float64 `json:"frequency_hz"`
	RMS         float64 `json:"rms"` // of the tone, in the channel's unit
	PaPerUnit   float64 `json:"pa_per_unit"`
	UnitPerPa   float64 `json:"unit_per_pa"`
	AboveDB     float64 `json:"above_db"`  // of the tone over the noise in its third of an octave
	SpreadDB    float64 `json:"spread_db"` // loudest over quietest block
	AllowedDB   float64 `json:"allowed_db"`
	Blocks      int     `json:"blocks"`
	BlockS      float64 `json:"block_s"`
	Accepted    bool    `json:"accepted"`
	Fault       string  `json:"fault,omitempty"` // why it is not accepted
}

// MeasureCalibrator measures channel k of an open recording as the calibrator of
// c is measured by a run. A channel that would be refused is no error: Fault is
// the reason, and the other fields hold the values that could be measured.
func MeasureCalibrator(ctx context.Context, rd ingest.Reader, k int, c config.Calibrator) (CalibratorTone, error) {
	out := CalibratorTone{LevelDB: c.LevelDB, AllowedDB: c.SpreadDB, Blocks: calibratorBlocks}
	s, unsteady, err := calibratorTone(ctx, rd, rd.Info(), k, &c)
	if err == nil {
		out.FrequencyHz, out.RMS, out.PaPerUnit, out.UnitPerPa = s.FrequencyHz, s.RMS, s.PaPerUnit, 1/s.PaPerUnit
		out.AboveDB = min(s.AboveDB, 300) // without any noise it is infinite, which JSON has no word for
		out.SpreadDB, out.BlockS = s.SpreadDB, s.BlockS
		err = unsteady
	}
	var d *fault.Error
	switch {
	case err == nil:
		out.Accepted = true
	case errors.As(err, &d):
		out.Fault = d.Error()
	default:
		return out, err
	}
	return out, nil
}

func calibratorChannel(ctx context.Context, rd ingest.Reader, info ingest.Info, k int,
	c *config.Calibrator,
) (Sensitivity, error) {
	s, unsteady, err := calibratorTone(ctx, rd, info, k, c)
	if err == nil {
		err = unsteady
	}
	if err != nil {
		return Sensitivity{}, err
	}
	return s, nil
}

// calibratorTone measures a channel's tone; unsteady is why it cannot serve for
// calibration.
func calibratorTone(ctx context.Context, rd ingest.Reader, info ingest.Info, k int,
	c *config.Calibrator,
) (s Sensitivity, unsteady, err error) {
	ch := info.Channels[k]
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
		return s, nil, bad(de.Want, strings.TrimSuffix(de.Found, "; "+de.Place), de.Hint)
	}
	if err != nil {
		return s, nil, err
	}
	level := func(rms float64) float64 { return c.LevelDB + 20*math.Log10(rms/t.RMS) }
	if t.SpreadDB > c.SpreadDB {
		lo, hi := slices.Min(t.BlockRMS), slices.Max(t.BlockRMS)
		unsteady = bad(fmt.Sprintf("a calibrator's level that is steady within %g dB", c.SpreadDB),
			fmt.Sprintf("a spread of %.2f dB over %d blocks of %.3g s (block %d: %.2f dB, block %d: %.2f dB)", t.SpreadDB,
				calibratorBlocks, float64((to-from)/calibratorBlocks)/ch.RateHz,
				1+slices.Index(t.BlockRMS, lo), level(lo), 1+slices.Index(t.BlockRMS, hi), level(hi)),
			"leave out with from_s and to_s where it was put on and taken off, record it again, or allow more with spread_db")
	}
	ref, _ := dsp.Reference("Pa")
	return Sensitivity{
		Unit: ch.Unit, LevelDB: c.LevelDB, FrequencyHz: t.FrequencyHz, RMS: t.RMS,
		PaPerUnit: ref * math.Pow(10, c.LevelDB/20) / t.RMS / math.Pow(10, c.GainDB/20),
		SpreadDB:  t.SpreadDB, Blocks: calibratorBlocks, BlockS: float64((to-from)/calibratorBlocks) / ch.RateHz,
		AboveDB: t.AboveDB,
	}, unsteady, nil
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
		reading := c.Reading
		if reading == "" {
			reading = "peak"
		}
		parts = append(parts, fmt.Sprintf("%g V (%s) at full scale", c.FullScaleV, reading))
	}
	if c.SensitivityVPerPa > 0 {
		parts = append(parts, fmt.Sprintf("%g V/Pa", c.SensitivityVPerPa))
	}
	if c.GainDB != 0 {
		parts = append(parts, fmt.Sprintf("gain %g dB", c.GainDB))
	}
	return strings.Join(parts, ", ")
}
