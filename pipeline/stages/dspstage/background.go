package dspstage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
)

// backgroundData is the output of the task that measures the recordings of the
// background: a *background.
const backgroundData = "background.gob"

func init() { plan.GobTypes(Background{}) }

// Background is what the microphones hear without the source under test.
type Background struct {
	Channels []backgroundChannel
	Warnings []ingest.Warning
}

// backgroundChannel is one channel of one recording, in the unit of the levels.
type backgroundChannel struct {
	File, Name, Unit string
	Seconds          float64
	dsp.Background
}

// measureBackground adds the task that measures them; nil without a background.
func measureBackground(b *plan.Builder, src *plan.Source) *engine.Dep {
	if len(b.Backgrounds) == 0 {
		return nil
	}
	t := &engine.Task{
		ID: b.ID("dsp", "background"), Stage: "dsp", Version: version, Weight: 0.05,
		Config: plan.Without(src.Settings, "ingest.background"),
	}
	for _, r := range b.Backgrounds {
		r.Needs(t)
	}
	if src.Calibrator != nil {
		t.Deps = append(t.Deps, *src.Calibrator)
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		cal, err := ingeststage.Sensitivities(src, j)
		if err != nil {
			return err
		}
		var out Background
		for _, r := range b.Backgrounds {
			if err := out.add(ctx, src, cal, r.Name, r.Path(j)); err != nil {
				return err
			}
		}
		return plan.WriteGob("background", j.Output(backgroundData), &out)
	}
	b.Add(t)
	return &engine.Dep{Task: t.ID, Output: backgroundData}
}

// add measures the microphones of one recording.
func (bg *Background) add(ctx context.Context, src *plan.Source, cal []ingeststage.Sensitivity, name,
	path string,
) error {
	rd, err := format.Open(path, src.Options)
	if err != nil {
		return ingeststage.Named(err, path, name)
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = name
	runs, _, err := campaign.Assemble([]string{name}, func(string) (ingest.Info, error) { return info, nil }, nil, nil,
		nil, src.Grouping)
	if err != nil {
		return ingeststage.Named(err, path, name)
	}
	_, warnings, err := stats.Scan(ctx, rd, runs[0])
	if err != nil {
		return ingeststage.Named(err, path, name)
	}
	for _, w := range append(slices.Clone(info.Warnings), warnings...) {
		w.Path = name
		bg.Warnings = append(bg.Warnings, w)
	}
	type tone struct {
		dsp.Tone
		channel, unit string
	}
	var tones []tone // the loudest channel's, by frequency
	for _, rec := range runs[0].Recordings {
		k := rec.Channels[0]
		ch := info.Channels[k]
		factor, unit, _, _, err := ingeststage.Factor(src, cal, info, k)
		if err != nil {
			return err
		}
		if ch.RateHz <= 0 {
			return &fault.Error{
				Path: name, Want: "a sampling rate", Found: "none in the file",
				Hint: "state it in the configuration: ingest: {rate_hz: …}",
			}
		}
		m, err := dsp.MeasureBackground(ctx, rd, k, 0, ch.Samples, ch.RateHz)
		var de *fault.Error
		if errors.As(err, &de) && de.Path == "" {
			return &fault.Error{Path: name, Place: "channel " + ch.Name, Want: de.Want, Found: de.Found, Hint: de.Hint}
		}
		if err != nil {
			return ingeststage.Named(err, path, name)
		}
		for i := range m.Density {
			m.Density[i] *= factor * factor
		}
		for i := range m.Tones {
			t := &m.Tones[i]
			t.MeanSquare *= factor * factor
			at := slices.IndexFunc(tones, func(s tone) bool { return math.Abs(s.Hz-t.Hz) < 2*m.BinHz })
			switch {
			case at < 0:
				tones = append(tones, tone{*t, ch.Name, unit})
			case t.MeanSquare > tones[at].MeanSquare:
				tones[at] = tone{*t, ch.Name, unit}
			}
		}
		bg.Channels = append(bg.Channels, backgroundChannel{name, ch.Name, unit, float64(ch.Samples) / ch.RateHz, *m})
	}
	if len(tones) == 0 {
		return nil
	}
	slices.SortStableFunc(tones, func(a, b tone) int {
		switch {
		case a.MeanSquare > b.MeanSquare:
			return -1
		case a.MeanSquare < b.MeanSquare:
			return 1
		}
		return 0
	})
	const most = 8
	var parts []string
	for i, t := range tones {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d weaker", len(tones)-most))
			break
		}
		ref, levelUnit := dsp.Reference(t.unit)
		parts = append(parts, fmt.Sprintf("%.4g Hz (%.1f %s, channel %s)", t.Hz, dsp.LevelDB(t.MeanSquare, ref), levelUnit,
			t.channel))
	}
	bg.Warnings = append(bg.Warnings, ingest.Warning{
		Path: name, Code: "background-tones",
		Text: "the background has tones of its own, which are not subtracted: " + strings.Join(parts, ", "),
	})
	return nil
}

// Of returns the recordings of a channel, whose levels are in that unit. path
// names the file that asks for it in errors.
func (bg *Background) Of(name, unit, path string) ([]dsp.BackgroundRecording, error) {
	var out []dsp.BackgroundRecording
	var have []string
	for i := range bg.Channels {
		c := &bg.Channels[i]
		if c.Name != name {
			have = append(have, c.Name)
			continue
		}
		if c.Unit != unit {
			return nil, &fault.Error{
				Path: path, Place: "channel " + name,
				Want:  fmt.Sprintf("levels in the unit of the background's recording %s, %q", c.File, c.Unit),
				Found: fmt.Sprintf("%q", unit),
			}
		}
		out = append(out, dsp.BackgroundRecording{File: c.File, Seconds: c.Seconds, Background: &c.Background})
	}
	if len(out) == 0 {
		return nil, &fault.Error{
			Path: path, Place: "channel " + name,
			Want: "this channel in the background's recordings", Found: strings.Join(slices.Compact(have), ", "),
		}
	}
	return out, nil
}

func ReadBackground(path string) (*Background, error) {
	bg := &Background{}
	return bg, plan.ReadGob("background", path, bg)
}
