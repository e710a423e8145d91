package analysis

import (
	"context"
	"errors"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// Check checks whether the file can be used, as far as its header and few samples tell. It reads all samples if scan is
// true and the file may have samples that are not numbers, and otherwise the first and the last second. The statistics
// in its result are not the ones of the whole runs. Besides the warnings of Read, Check warns of settings that probably
// do not fit the file.
func (r *Reader) Check(ctx context.Context, scan bool) (*recording.File, error) {
	defer func() { r.extent = whole }() // a later Read reads all samples

	r.extent = endsCheck
	if scan {
		r.extent = samplesCheck
	}

	file, err := r.Read(ctx)
	if err != nil {
		return nil, err
	}

	if err := checkColumns(r.Source.Settings, file.Info); err != nil {
		return nil, err
	}

	if n := recording.MostAlike(file.Runs); n > 1 {
		file.Warnings = append(file.Warnings, ingest.Warn(file.Path, "alike", "%d microphones of one run have equal "+
			"conditions; give what tells them apart (an angle for each channel: a column channel in the table of "+
			"conditions, or inside: "+
			"{theta_deg: ARRAY}), or choose one with channels", n))
	}

	if unlisted, channels := r.unlistedChannels(file.Info); unlisted > 0 {
		file.Warnings = append(file.Warnings, ingest.Warn(file.Path, "unlisted-channels",
			"%d of %d channels have no row in %s: they are not used", unlisted, channels,
			r.Source.Settings.Microphones.File))
	}

	if _, ofMicrophones := r.Source.Construction.(dsp.OfSpectra); ofMicrophones {
		if hint := recording.RateHint(file.RateHz(), r.Source.Settings.RateHz); hint != "" {
			file.Warnings = append(file.Warnings, ingest.Warn(file.Path, "rate-unit", "%s", hint))
		}
	}

	return file, nil
}

// unlistedChannels returns how many of the file's channels of measurements are not used because they have no row in the
// table of microphones, and the number of these channels. Both are 0 if that table does not choose the channels, and
// with a tachometer, whose channel has no row.
func (r *Reader) unlistedChannels(info ingest.Info) (unlisted, channels int) {
	if !r.Source.ChannelsListed || r.Source.Settings.Tachometer != nil {
		return 0, 0
	}

	for _, channel := range info.Channels {
		if channel.Role() == "" {
			channels++
		}
	}

	return channels - len(r.Source.Settings.Channels), channels
}

// checkColumns returns an error if the unit of a balance's column cannot be converted to the unit of its outcome. It
// skips loads of a matrix, which are not columns of the file, and units that the configuration states: the construction
// checks the former, and the check of the settings the latter.
func checkColumns(settings *setting.Campaign, info ingest.Info) error {
	for _, column := range settings.Columns {
		k, err := ingest.FindChannel(info, column.Value)
		_, given := setting.Find(settings.Units, column.Name)
		if err != nil || given {
			continue
		}

		_, _, err = recording.ConvertSeries(info.Path, column.Value, column.Name, info.Channels[k].Unit, nil)
		if err != nil {
			return err
		}
	}

	return nil
}

// fits returns an error if the construction cannot analyse a run, as far as the file's header tells: if the recording
// is too short, or a harmonic is above the Nyquist frequency.
func (r *Reader) fits(run ingest.Run) error {
	n := recording.Length(r.info, run)
	if n == 0 || r.Source.Settings.Tachometer != nil {
		return nil // the samples' reader reports an empty run; with a tachometer only its pulses give the speed
	}

	described := r.Source.Run(r.info, run, n, make([]float64, len(run.Recordings)), make([]string, len(run.Recordings)))
	var err error
	switch c := r.Source.Construction.(type) {
	case dsp.OfSpectra:
		_, err = c.Spectra(described)

	case dsp.Drawer:
		_, _, err = c.Draw(described, int(n))
	}

	hint := recording.RateHint(described.RateHz, r.Source.Settings.RateHz)
	if data, ok := errors.AsType[*fault.Error](err); ok && hint != "" && len(described.Microphones) > 0 {
		if data.Hint != "" {
			hint += "; else " + data.Hint
		}

		data.Hint = hint
	}

	return fault.Placed(err, r.info.Path, run.Place)
}
