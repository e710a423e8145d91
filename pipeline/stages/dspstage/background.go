package dspstage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
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

// planBackground adds the task that measures them; nil without a background.
func planBackground(exp plan.Experiment, rec *ingeststage.Recordings) *engine.Dep {
	if len(rec.Backgrounds) == 0 {
		return nil
	}

	t := &engine.Task{
		ID: exp.ID("dsp", "background"), Stage: "dsp", Version: version, Weight: 0.05,
		Config: rec.Settings,
	}

	for _, r := range rec.Backgrounds {
		r.Needs(t)
	}

	if rec.Calibrator != nil {
		t.Deps = append(t.Deps, *rec.Calibrator)
	}

	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		cal, out := ingeststage.Sensitivities(rec.Source, j), Background{}
		for _, r := range rec.Backgrounds {
			fault.Raise(ingeststage.Named(out.add(ctx, rec.Source, cal, r.Name, r.Path(j)), r.Name))
		}

		return plan.WriteGob("background", j.Output(backgroundData), &out)
	}

	exp.Add(t)

	return &engine.Dep{Task: t.ID, Output: backgroundData}
}

// add measures the microphones of one recording.
func (bg *Background) add(ctx context.Context, src *plan.Source, cal []ingeststage.Sensitivity, name,
	path string,
) (err error) {
	defer fault.Catch(&err)
	rd := fault.Get(format.Open(path, src.Options.In(ctx, name)))
	defer rd.Close()
	info := rd.Info()
	run := ingeststage.WholeFile(info, src.Grouping)
	_, warnings, err := stats.Scan(ctx, rd, run)
	fault.Raise(err)
	bg.Warnings = slices.Concat(bg.Warnings, info.Warnings, warnings)
	var tones []tone // the loudest channel's, by frequency
	for _, rec := range run.Recordings {
		c := measureChannel(ctx, rd, src, cal, info, rec.Channels[0])
		for _, t := range c.Tones {
			at := slices.IndexFunc(tones, func(s tone) bool { return math.Abs(s.Hz-t.Hz) < 2*c.BinHz })
			switch {
			case at < 0:
				tones = append(tones, tone{t, c.Name, c.Unit})
			case t.MeanSquare > tones[at].MeanSquare:
				tones[at] = tone{t, c.Name, c.Unit}
			}
		}

		bg.Channels = append(bg.Channels, c)
	}

	if len(tones) > 0 {
		bg.Warnings = append(bg.Warnings, ingest.Warning{
			Path: name, Code: "background-tones",
			Text: "the background has tones of its own, which are not subtracted: " + describe(tones),
		})
	}

	return nil
}

// measureChannel measures a channel of a recording, in the unit of the levels.
func measureChannel(ctx context.Context, rd ingest.Reader, src *plan.Source, cal []ingeststage.Sensitivity,
	info ingest.Info, k int,
) backgroundChannel {
	ch := info.Channels[k]
	scale := fault.Get(ingeststage.ScaleOf(src, cal, info, k))
	fault.Unless(ch.RateHz > 0, fault.At(info.Path, "", "a sampling rate", "none in the file",
		"state it in the configuration: ingest: {rate_hz: …}"))

	m, err := dsp.MeasureBackground(ctx, rd, k, 0, ch.Samples, ch.RateHz)
	fault.Raise(ingeststage.Placed(err, info.Path, func(string) string { return "channel " + ch.Name }))
	for i := range m.Density {
		m.Density[i] *= scale.Factor * scale.Factor
	}

	for i := range m.Tones {
		m.Tones[i].MeanSquare *= scale.Factor * scale.Factor
	}

	return backgroundChannel{
		File: info.Path, Name: ch.Name, Unit: scale.Unit, Seconds: float64(ch.Samples) / ch.RateHz, Background: *m,
	}
}

// tone is a tone of the background, in the channel where it is the loudest.
type tone struct {
	dsp.Tone
	channel, unit string
}

// describe lists the loudest tones.
func describe(tones []tone) string {
	slices.SortStableFunc(tones, func(a, b tone) int { return cmp.Compare(b.MeanSquare, a.MeanSquare) })
	const most = 8

	var parts []string
	for _, t := range tones[:min(most, len(tones))] {
		ref, levelUnit := dsp.Reference(t.unit)
		parts = append(parts, fmt.Sprintf("%.4g Hz (%.1f %s, channel %s)", t.Hz, dsp.LevelDB(t.MeanSquare, ref), levelUnit,
			t.channel))
	}

	if n := len(tones) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d weaker", n))
	}

	return strings.Join(parts, ", ")
}

// Of returns the recordings of a channel, whose levels are in that unit. path
// names the file that asks for it in errors, which are raised.
func (bg *Background) Of(name, unit, path string) (out []dsp.BackgroundRecording) {
	fail := func(want, found string) { fault.Raise(fault.At(path, "channel "+name, want, found, "")) }
	var have []string
	for i := range bg.Channels {
		switch c := &bg.Channels[i]; {
		case c.Name != name:
			have = append(have, c.Name)
		case c.Unit != unit:
			fail(fmt.Sprintf("levels in the unit of the background's recording %s, %q", c.File, c.Unit), strconv.Quote(unit))
		default:
			out = append(out, dsp.BackgroundRecording{File: c.File, Seconds: c.Seconds, Background: &c.Background})
		}
	}

	if len(out) == 0 {
		fail("this channel in the background's recordings", strings.Join(slices.Compact(have), ", "))
	}

	return out
}

func ReadBackground(path string) (*Background, error) {
	bg := &Background{}
	return bg, plan.ReadGob("background", path, bg)
}
