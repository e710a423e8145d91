// Package recording has the types of what was read from one file of a campaign, and the checks of it: dead microphones,
// dropouts, values that are implausible in their unit, rates that differ, exact copies. It knows no other files than
// those it is given, and does not open files by itself.
package recording

import (
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// Skipped is a recording left out under on_bad_recording: skip.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Run is what was read from one run of a file. Its lists have one entry for each channel, in the order of the run's
// recordings.
type Run struct {
	Run   ingest.Run      `json:"run"`
	Stats []stats.Summary `json:"stats"` // statistics of the calibrated samples
	Units []string        `json:"units"` // units of the calibrated samples
	Scale []float64       `json:"scale"` // factors from the reader's samples to calibrated samples
	How   []string        `json:"how"`   // words for where Scale comes from
	// Spread is the difference between the loudest and the quietest block of the calibrator's recording in dB. It is
	// nil without a calibrator.
	Spread []float64 `json:"spread_db,omitempty"`
	// Integral contains the integral time scales of a balance's channels in s, 0 if they are unknown. It is nil for
	// microphones.
	Integral []float64 `json:"integral_s,omitempty"`
}

// Channels lists the channels of the run in the order of Stats.
func (r *Run) Channels() []int {
	var channels []int
	for _, rec := range r.Run.Recordings {
		channels = append(channels, rec.Channels...)
	}

	return channels
}

// File is what was read from one file.
type File struct {
	Path     string           `json:"path"`
	SHA256   string           `json:"sha256"`
	Info     ingest.Info      `json:"info"`
	Runs     []Run            `json:"runs"`
	Warnings []ingest.Warning `json:"warnings"`
	Skipped  *Skipped         `json:"skipped,omitempty"`
}

// RateHz returns the sampling rate of the first channel used, rounded to nine digits: 1000.0000000000001 Hz is 1000 Hz.
// The file must have a run.
func (f *File) RateHz() float64 {
	rate := f.Info.Channels[f.Runs[0].Run.Recordings[0].Channels[0]].RateHz
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 9, 64), 64) // a formatted number can be parsed

	return rounded
}

// messagePrefix returns the text that names the run in a message about its file: "[0:100]: " for rows 0 to 99. It
// returns "" for a run that is the whole file.
func (r Run) messagePrefix(info ingest.Info) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Run.ID, info.Path)+": ", ": ")
}
