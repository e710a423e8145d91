package recording

import (
	"math"

	"doubletake/ingest"
	"doubletake/ingest/table"
)

// AddRows appends to a table a row for each channel of the file's recordings. cells appends the first cells of a row:
// the run, the recording, its conditions and its names.
func (f *File) AddRows(tab *table.Table, cells func(tab *table.Table, run string, rec ingest.Recording)) {
	for _, run := range f.Runs {
		i := 0
		for _, rec := range run.Run.Recordings {
			for _, ch := range rec.Channels {
				cells(tab, run.Run.ID, rec)
				f.addChannel(tab, run, ch, i)
				i++
			}
		}
	}
}

// addChannel appends the results of a channel to the current row. ch is the channel's place in the file, i its place
// among the channels of the run.
func (f *File) addChannel(tab *table.Table, run Run, ch, i int) {
	channel := f.Info.Channels[ch]
	summary := run.Stats[i]
	spread := math.NaN()
	if run.Spread != nil {
		spread = run.Spread[i]
	}

	integral := math.NaN()
	if run.Integral != nil {
		integral = run.Integral[i]
	}

	table.AddCell(tab, "file", "", "raw file", f.Path)
	table.AddCell(tab, "channel", "", "channel of the file", channel.Name)
	table.AddCell(tab, "format", "", "file format", f.Info.Format)
	table.AddCell(tab, "encoding", "", "sample encoding", f.Info.Encoding)
	table.AddCell(tab, "unit", "", "unit of the samples after calibration", run.Units[i])
	table.AddCell(tab, "scale", "see column unit", "what a sample of the file was multiplied with", run.Scale[i])
	table.AddCell(tab, "calibration", "", "where that comes from", run.How[i])
	table.AddCell(tab, "calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest",
		spread)

	table.AddCell(tab, "rate_hz", "Hz", "sampling rate", orNaN(channel.RateHz))
	table.AddCell(tab, "row0", "", "first sample of the run in the file", int(run.Run.Row0))
	table.AddCell(tab, "samples", "", "samples of the run", int(summary.Samples))
	table.AddCell(tab, "duration_s", "s", "duration of the run", orNaN(float64(summary.Samples)/channel.RateHz))

	table.AddCell(tab, "min", "see column unit", "smallest sample", summary.Min)
	table.AddCell(tab, "max", "see column unit", "largest sample", summary.Max)
	table.AddCell(tab, "mean", "see column unit", "mean", summary.Mean)
	table.AddCell(tab, "rms", "see column unit", "root mean square about zero", summary.RMS)
	table.AddCell(tab, "std", "see column unit", "standard deviation about the mean", summary.Std)
	table.AddCell(tab, "integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation",
		orNaN(integral))

	table.AddCell(tab, "clipped", "", "samples in runs of three or more at the channel's extreme value",
		int(summary.Clipped))
	table.AddCell(tab, "longest_constant", "", "longest stretch of equal samples", int(summary.Constant))
	table.AddCell(tab, "sha256", "", "content hash of the raw file", f.SHA256)
}

// orNaN returns v, or NaN if v is 0 or infinite, which both mean that the value is unknown.
func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
