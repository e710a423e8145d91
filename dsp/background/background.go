// Package background measures the sound that microphones hear without the source under test. It also states by how much
// levels read high because of this sound. Mean squares and densities are in the squared unit of the calibrated samples.
package background

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/dsp/calibration"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
)

// Background contains the sound that the microphones hear without the source under test.
type Background struct {
	Channels []backgroundChannel
	Warnings []ingest.Warning
}

// backgroundChannel is the sound of one channel in one recording, in the unit of the levels.
type backgroundChannel struct {
	File    string
	Name    string
	Unit    string
	Seconds float64
	dsp.Background
}

// Reading describes how recordings of the background are read. They are read like the recordings of the campaign.
type Reading struct {
	Options  ingest.Options     // how files are opened
	Grouping campaign.Grouping  // which channels are microphones
	Chain    *calibration.Chain // how samples become physical units
}

// Add measures the microphones of one recording and appends the results to Channels and Warnings. Messages call the
// recording name. path is where the recording is opened.
func (bg *Background) Add(ctx context.Context, reading Reading, name, path string) error {
	rd, err := format.Open(path, reading.Options.In(ctx, name))
	if err != nil {
		return err
	}
	defer rd.Close()

	info := rd.Info()
	run, err := campaign.WholeFile(info, reading.Grouping)
	if err != nil {
		return err
	}

	_, warnings, err := stats.Scan(ctx, rd, run)
	if err != nil {
		return err
	}

	bg.Warnings = slices.Concat(bg.Warnings, info.Warnings, warnings)
	var tones []tone
	for _, rec := range run.Recordings {
		channel, err := measureChannel(ctx, rd, reading.Chain, info, rec.Channels[0])
		if err != nil {
			return err
		}

		tones = loudest(tones, channel)
		bg.Channels = append(bg.Channels, channel)
	}

	if len(tones) > 0 {
		bg.Warnings = append(bg.Warnings, ingest.Warning{
			Path: name, Code: "background-tones",
			Text: "the background has tones of its own: " + describe(tones),
		})
	}

	return nil
}

// loudest adds the tones of a channel to tones and returns them. If two tones are less than two bins apart, it keeps
// the louder one.
func loudest(tones []tone, channel backgroundChannel) []tone {
	for _, t := range channel.Tones {
		i := slices.IndexFunc(tones, func(s tone) bool { return math.Abs(s.Hz-t.Hz) < 2*channel.BinHz })
		switch {
		case i < 0:
			tones = append(tones, tone{t, channel.Name, channel.Unit})
		case t.MeanSquare > tones[i].MeanSquare:
			tones[i] = tone{t, channel.Name, channel.Unit}
		}
	}

	return tones
}

// measureChannel measures a channel of a recording, in the unit of the levels.
func measureChannel(ctx context.Context, rd ingest.Reader, chain *calibration.Chain, info ingest.Info, k int) (
	backgroundChannel, error,
) {
	ch := info.Channels[k]
	scale, err := chain.Scale(info, k)
	if err != nil {
		return backgroundChannel{}, err
	}

	if !(ch.RateHz > 0) {
		return backgroundChannel{}, fault.At(info.Path, "", "a sampling rate", "none in the file",
			"state it in the configuration: ingest: {rate_hz: …}")
	}

	m, err := dsp.MeasureBackground(ctx, rd, k, 0, ch.Samples, ch.RateHz)
	if err != nil {
		return backgroundChannel{}, fault.Placed(err, info.Path, func(string) string { return "channel " + ch.Name })
	}

	for i := range m.Density {
		m.Density[i] *= scale.Factor * scale.Factor
	}

	for i := range m.Tones {
		m.Tones[i].MeanSquare *= scale.Factor * scale.Factor
	}

	return backgroundChannel{
		File: info.Path, Name: ch.Name, Unit: scale.Unit, Seconds: float64(ch.Samples) / ch.RateHz, Background: *m,
	}, nil
}

// tone is a tone of the background, with the channel in which it is loudest.
type tone struct {
	dsp.Tone
	channel string
	unit    string
}

// describe returns a text that lists the loudest tones and the number of the others. It sorts tones.
func describe(tones []tone) string {
	slices.SortStableFunc(tones, func(a, b tone) int { return cmp.Compare(b.MeanSquare, a.MeanSquare) })
	const most = 8

	var parts []string
	for _, t := range tones[:min(most, len(tones))] {
		ref, levelUnit := dsp.Reference(t.unit)
		parts = append(parts, fmt.Sprintf("%s Hz (%.1f %s, channel %s)", fault.Digits(t.Hz, 4),
			dsp.LevelDB(t.MeanSquare, ref), levelUnit, t.channel))
	}

	if n := len(tones) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d weaker", n))
	}

	return strings.Join(parts, ", ")
}

// Recordings returns the background of the channel with the given name, one for each recording. It returns a
// *fault.Error if no recording has the channel, or if the channel's levels do not have the given unit. path is the file
// that errors name.
func (bg *Background) Recordings(name, unit, path string) ([]dsp.BackgroundRecording, error) {
	var recordings []dsp.BackgroundRecording
	var others []string
	for i := range bg.Channels {
		channel := &bg.Channels[i]
		if channel.Name != name {
			others = append(others, channel.Name)
			continue
		}

		if channel.Unit != unit {
			return nil, fault.At(path, "channel "+name,
				fmt.Sprintf("levels in the unit of the background's recording %s, %q", channel.File, channel.Unit),
				strconv.Quote(unit), "")
		}

		recordings = append(recordings, dsp.BackgroundRecording{
			File: channel.File, Seconds: channel.Seconds, Background: &channel.Background,
		})
	}

	if len(recordings) == 0 {
		return nil, fault.At(path, "channel "+name, "this channel in the background's recordings",
			strings.Join(slices.Compact(others), ", "), "")
	}

	return recordings, nil
}
