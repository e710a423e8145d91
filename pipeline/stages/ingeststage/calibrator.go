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
	"doubletake/internal/lists"
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
	Fault *fault.Error `json:"fault,omitempty"` // of a channel that may not be in use
}

// text describes it for tables and the page.
func (s Sensitivity) text() string {
	unit := cmp.Or(s.Unit, "file unit")

	return fmt.Sprintf("calibrator %s, channel %s: %g dB at %.5g Hz is %.6g %s rms, %.6g Pa per %s; spread %.3f dB over "+
		"%d blocks of %.3g s",
		s.File, s.Channel, s.LevelDB, s.FrequencyHz, s.RMS, unit, s.PaPerUnit, unit, s.SpreadDB, s.Blocks, s.BlockS)
}

// calibratorFiles are the recordings of the calibrator, before they are measured; Channel "" is to be found out.
func calibratorFiles(c *config.Calibrator) []Sensitivity {
	if c.File != "" {
		return []Sensitivity{{File: c.File, Channel: c.Channel}}
	}

	return lists.Each(c.Recordings, func(r config.NamedString) Sensitivity {
		path, own, _ := strings.Cut(r.Value, "#")
		return Sensitivity{For: r.Name, File: path, Channel: own}
	})
}

// planCalibrator adds the task that measures the calibrator's recordings, and
// returns its output; nil without a calibrator.
func planCalibrator(exp plan.Experiment, src *plan.Source) *engine.Dep {
	if src.In.Calibration == nil || src.In.Calibration.Calibrator == nil {
		return nil
	}

	c := src.In.Calibration.Calibrator
	t := &engine.Task{
		ID: exp.ID("ingest", "calibrator"), Stage: "ingest", Version: version, Weight: 0.02,
		Config: slices.Concat(plan.Settings("ingest.calibration.calibrator", *c),
			plan.Only("ingest", plan.Settings("ingest", src.In), "format", "rate_hz", "truncated", "arrays", "text"),
			src.Reader),
	}

	for _, f := range calibratorFiles(c) {
		raw := exp.Named(f.File)
		if !slices.Contains(t.Files, *raw.File) {
			raw.Needs(t)
		}
	}

	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		all := measureCalibrator(ctx, exp, src)
		for i := range all {
			all[i].SHA256 = exp.OnDisk(all[i].File).SHA256(j)
		}

		return plan.WriteJSON(j, calibratorJSON, all)
	}

	exp.Add(t)

	return &engine.Dep{Task: t.ID, Output: calibratorJSON}
}

// measureCalibrator measures all recordings of the calibrator; it does not state their digests.
func measureCalibrator(ctx context.Context, exp plan.Experiment, src *plan.Source) (all []Sensitivity) {
	c := src.In.Calibration.Calibrator
	for _, f := range calibratorFiles(c) {
		all = append(all, measureRecording(ctx, exp.File.Resolve(f.File), f, c, src.Options)...)
	}

	return all
}

// Sensitivities reads the results of the calibrator's recordings, if there are any, or raises an error.
func Sensitivities(s *plan.Source, j *engine.Job) (all []Sensitivity) {
	if s.Calibrator != nil {
		fault.Raise(plan.ReadJSON(j.Input(s.Calibrator.Task, s.Calibrator.Output), &all))
	}
	return all
}

// measureRecording measures the channel of a recording that heard the
// calibrator. Where neither the configuration nor the file names it,
// every channel is measured, for the recordings' channels of the same names.
func measureRecording(ctx context.Context, open string, f Sensitivity, c *config.Calibrator,
	o ingest.Options,
) (out []Sensitivity) {
	rd, err := format.Open(open, o.In(ctx, f.File))
	fault.Raise(Named(err, f.File))
	defer rd.Close()
	info := rd.Info()

	channels := lists.Where(len(info.Channels), func(i int) bool { return info.Channels[i].Role() == "" })
	one := len(channels) == 1
	if want := cmp.Or(f.Channel, f.For); f.Channel != "" || want != "" && !one {
		channels, one = []int{fault.Get(ingest.FindChannel(info, want))}, true
	}

	for _, k := range channels {
		s := Sensitivity{For: f.For, File: f.File, Channel: info.Channels[k].Name, Named: !one}
		err := fault.Try(func() { s.Tone = measureTone(ctx, rd, info, k, c) })
		if bad, is := errors.AsType[*fault.Error](err); one || !is {
			fault.Raise(Named(err, f.File))
		} else {
			stored := *bad
			stored.Err, s.Fault = nil, &stored
		}

		out = append(out, s)
	}

	return out
}

// calibratorBlocks are the equal parts of a calibrator's recording whose levels
// are compared: enough to see a drift, each long enough for a level. Of short recordings there are fewer.
const calibratorBlocks = 10

// measureTone measures a channel's tone.
func measureTone(ctx context.Context, rd ingest.Reader, info ingest.Info, k int, c *config.Calibrator) Tone {
	ch := info.Channels[k]
	unless := func(ok bool, want, found, hint string) {
		fault.Unless(ok, fault.At(info.Path, "channel "+ch.Name, want, found, hint))
	}
	unless(ch.RateHz > 0, "a sampling rate", "none in the file", "state it in the configuration: ingest: {rate_hz: …}")
	unless(ch.Unit != "Pa", "samples that are still to be calibrated", "a channel in Pa", "leave the calibrator out")

	from, to := int64(math.Ceil(c.FromS*ch.RateHz-1e-6)), ch.Samples
	if c.ToS > 0 {
		to = int64(math.Ceil(c.ToS*ch.RateHz - 1e-6))
	}

	unless(to <= ch.Samples && from < to, fmt.Sprintf("from_s and to_s within its %.6g s", float64(ch.Samples)/ch.RateHz),
		fmt.Sprintf("%g and %g", c.FromS, c.ToS), "")

	_, warnings, err := stats.Scan(ctx, rd, ingest.Run{
		ID: info.Path, Path: info.Path, Row0: from, Row1: to, Recordings: []ingest.Recording{{Channels: []int{k}}},
	})
	fault.Raise(err)
	for _, w := range warnings {
		unless(w.Code != "clipping", "a calibrator's tone below full scale", w.Text, "record it again with less gain")
	}

	t, err := dsp.Calibrator(ctx, rd, dsp.CalibratorSettings{
		RateHz: ch.RateHz, Start: from, Samples: to - from,
		Channel: k, FrequencyHz: c.FrequencyHz, Blocks: calibratorBlocks,
	})

	fault.Raise(Placed(err, info.Path, func(string) string { return "channel " + ch.Name }))
	ref, _ := dsp.Reference("Pa")
	blocks := len(t.BlockRMS)
	blockS := float64((to-from)/int64(blocks)) / ch.RateHz
	block := func(rms float64) string {
		return fmt.Sprintf("block %d: %.2f dB", 1+slices.Index(t.BlockRMS, rms), c.LevelDB+20*math.Log10(rms/t.RMS))
	}
	unless(t.SpreadDB <= c.SpreadDB, fmt.Sprintf("a calibrator's level that is steady within %g dB", c.SpreadDB),
		fmt.Sprintf("a spread of %.2f dB over %d blocks of %.3g s (%s, %s)", t.SpreadDB, blocks, blockS,
			block(slices.Min(t.BlockRMS)), block(slices.Max(t.BlockRMS))),
		"leave out with from_s and to_s where it was put on and taken off, record it again, or allow more with spread_db")

	return Tone{
		Unit: ch.Unit, LevelDB: c.LevelDB, FrequencyHz: t.FrequencyHz, RMS: t.RMS, SpreadDB: t.SpreadDB,
		PaPerUnit: ref * math.Pow(10, c.LevelDB/20) / t.RMS / math.Pow(10, c.GainDB/20),
		Blocks:    blocks, BlockS: blockS,
		AboveDB: min(t.AboveDB, 300), // without any noise it is infinite, which JSON has no word for
	}
}

// sensitivityOf finds the sensitivity of a channel.
func sensitivityOf(all []Sensitivity, info ingest.Info, k int) Sensitivity {
	ch := info.Channels[k]
	unless := func(ok bool, want, found, hint string) {
		fault.Unless(ok, fault.At(info.Path, "channel "+ch.Name, want, found, hint))
	}

	s, found := lists.Find(all, func(e Sensitivity) bool {
		if e.For == "" {
			return !e.Named || e.Channel == ch.Name
		}

		c, err := ingest.FindChannel(info, e.For)

		return err == nil && c == k
	})
	have := lists.Each(all, func(e Sensitivity) string { return cmp.Or(e.For, e.Channel) })
	unless(found, "a calibrator's recording of this channel", "recordings of "+strings.Join(have, ", "),
		"name it in calibration.calibrator.recordings, or name the channels to use")

	fault.Unless(s.Fault == nil, s.Fault)
	unless(s.Unit == ch.Unit, fmt.Sprintf("samples in the unit of the calibrator's recording %s, %q", s.File, s.Unit),
		fmt.Sprintf("%q", ch.Unit), "calibrate with the same chain")

	return s
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
func ScaleOf(src *plan.Source, cal []Sensitivity, info ingest.Info, ch int) (_ Scale, err error) {
	defer fault.Catch(&err)
	gainDB, own := chainOf(src, "gain_db", info, ch), chainOf(src, "sensitivity_v_per_pa", info, ch)
	text, gain := "", math.Pow(10, gainDB/20)
	if gainDB != 0 {
		text = fmt.Sprintf("; gain of this channel %g dB", gainDB)
	}

	if cal != nil {
		s := sensitivityOf(cal, info, ch)
		return Scale{Factor: s.PaPerUnit / gain, Unit: "Pa", How: s.text() + text, SpreadDB: s.SpreadDB}, nil
	}

	before, stated, note := 1.0, info.Channels[ch].Unit, ""
	if !src.Grouping.Together {
		before, stated, note = soundUnit(stated)
	}

	var chain config.Calibration
	if src.In.Calibration != nil {
		chain = *src.In.Calibration
	}

	how := chain.Text()
	if own > 0 {
		chain.SensitivityVPerPa, text = own, fmt.Sprintf("; %g V/Pa by %s", own, src.In.Microphones)+text
	}

	f, unit, err := chain.Factor(stated)
	if err != nil {
		fault.Raise(fault.At(info.Path, "channel "+info.Channels[ch].Name, "", err.Error(), ""))
	}

	return Scale{Factor: f * before / gain, Unit: unit, How: strings.Trim(note+"; "+how+text, "; ")}, nil
}

// chainOf is what the table of microphones and the configuration state of a channel's part of the chain: its
// sensitivity_v_per_pa, or the sum of its gain_db; 0 of none.
func chainOf(src *plan.Source, name string, info ingest.Info, ch int) (sum float64) {
	for _, e := range src.Chains[name] {
		if fault.Get(ingest.FindChannel(info, e.Name)) == ch {
			sum += e.Value
		}
	}

	return sum
}
