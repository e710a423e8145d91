package ingeststage

import (
	"context"
	"errors"
	"fmt"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/stats"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// Skipped is a recording left out under on_bad_recording: skip.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// RunResult describes one run. Its lists have one entry for each channel, in the order of the run's recordings.
type RunResult struct {
	Run   ingest.Run      `json:"run"`
	Stats []stats.Summary `json:"stats"` // statistics of the calibrated samples
	Units []string        `json:"units"` // units of the calibrated samples
	Scale []float64       `json:"scale"` // factors from the reader's samples to calibrated samples
	How   []string        `json:"how"`   // words for where Scale comes from
	// Spread is the difference between the loudest and the quietest block of the calibrator's recording in dB. It is nil
	// without a calibrator.
	Spread []float64 `json:"spread_db,omitempty"`
	// Integral contains the integral time scales of a balance's channels in s, 0 if they are unknown. It is nil for
	// microphones.
	Integral []float64 `json:"integral_s,omitempty"`
}

// channels lists the channels of the run in the order of Stats.
func (r *RunResult) channels() []int {
	var channels []int
	for _, rec := range r.Run.Recordings {
		channels = append(channels, rec.Channels...)
	}

	return channels
}

// FileResult describes one file.
type FileResult struct {
	Path     string           `json:"path"`
	SHA256   string           `json:"sha256"`
	Info     ingest.Info      `json:"info"`
	Runs     []RunResult      `json:"runs"`
	Warnings []ingest.Warning `json:"warnings"`
	Skipped  *Skipped         `json:"skipped,omitempty"`
}

// planFile adds the task that opens one file, assembles its runs, and
// computes their statistics.
func (r *Recordings) planFile(exp plan.Experiment, file *File) {
	src := r.Source
	handoff := engine.NewHandoff[*Reading](exp.ID("dsp", file.Name))
	task := &engine.Task{
		ID: exp.ID("ingest", file.Name), Stage: "ingest", Version: version, Config: src.Settings,
		Local: file.ownSettings(src), Weight: 0.0075, Packed: true,
		Run: func(ctx context.Context, job *engine.Job) error { return runFile(ctx, job, src, *file, handoff) },
	}

	file.Needs(task)

	if src.Calibrator != nil {
		task.Deps = append(task.Deps, *src.Calibrator)
	}

	exp.Add(task)
	file.Reading = handoff
	file.Result = engine.Dep{Task: task.ID, Output: fileJSON}
}

// runFile reads a file and writes its result.
func runFile(ctx context.Context, job *engine.Job, src *plan.Source, f File, handoff *engine.Handoff[*Reading]) error {
	calibrations, err := Sensitivities(src, job)
	if err != nil {
		return err
	}

	rd := &reader{src: src, calibrations: calibrations, file: f, path: f.Path(job), held: f.Held(job)}
	// With a tachometer the spectra depend on pulses that stage dsp finds, so that its task reads the file again.
	if src.Ingest.Tachometer == nil && handoff.Wanted(job) {
		rd.reading = NewReading()
		handoff.Put(job, rd.reading)
	}

	res, err := rd.read(ctx)
	if BadRecording(src, err) {
		res = &FileResult{Path: f.Name, Skipped: &Skipped{f.Name, err.Error()}}
	} else if err != nil {
		return err
	}

	res.SHA256 = f.SHA256(job)
	if rd.reading != nil {
		rd.reading.Found = res
	}

	return plan.WriteJSON(job, fileJSON, res)
}

// BadRecording reports whether err is a fault of the data and the configuration says to go on without such recordings.
func BadRecording(src *plan.Source, err error) bool {
	_, ofData := errors.AsType[*fault.Error](err)
	return src.Ingest.OnBadRecording != "fail" && ofData
}

// Named adds the name of a file to an error, unless the error already names that file. It returns nil for nil.
func Named(err error, name string) error {
	if err == nil {
		return nil
	}

	if data, ok := errors.AsType[*fault.Error](err); ok && data.Path == name {
		return err
	}

	return fmt.Errorf("read %s: %w", name, err)
}

// Placed completes a fault of the data that names no file: it sets Path to path, and Place to what the function place
// returns for the fault's own place. It returns other errors unchanged.
func Placed(err error, path string, place func(string) string) error {
	data, ok := errors.AsType[*fault.Error](err)
	if !ok || data.Path != "" {
		return err
	}

	placed := *data
	placed.Path = path
	placed.Place = place(data.Place)

	return &placed
}
