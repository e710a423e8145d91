package stages

import (
	"context"
	"slices"

	"doubletake/dsp/calibration"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
)

// calibratorJSON is the output of the task that measures the calibrator's recordings: a []calibration.Sensitivity.
const calibratorJSON = "calibrator.json"

// planCalibrator adds the task that measures the calibrator's recordings and returns its output. It returns nil if
// there is no calibrator.
func planCalibrator(exp plan.Experiment, src *Source) (*engine.Dep, error) {
	if src.Ingest.Calibration == nil || src.Ingest.Calibration.Calibrator == nil {
		return nil, nil
	}

	calibrator := src.Ingest.Calibration.Calibrator
	task := &engine.Task{
		ID: exp.ID("ingest", "calibrator"), Stage: "ingest", Version: ingestVersion, Weight: 0.02,
		Config: slices.Concat(plan.Settings("ingest.calibration.calibrator", *calibrator),
			plan.Only("ingest", plan.Settings("ingest", src.Ingest), "format", "rate_hz", "truncated", "arrays", "text"),
			src.Reader),
	}

	for _, file := range calibrator.Files() {
		raw, err := exp.Named(file)
		if err != nil {
			return nil, err
		}

		if !slices.Contains(task.Files, *raw.File) {
			raw.Needs(task)
		}
	}

	task.Run = func(ctx context.Context, job *engine.Job) error {
		list, err := calibration.Measure(ctx, calibrator, exp.Project(), src.Reading.Options)
		if err != nil {
			return err
		}

		for i := range list {
			list[i].SHA256 = exp.OnDisk(list[i].File).SHA256(job)
		}

		return taskfile.WriteJSON(job, calibratorJSON, list)
	}

	exp.Add(task)

	return &engine.Dep{Task: task.ID, Output: calibratorJSON}, nil
}

// taskChain returns how the samples of the channels become physical units. It reads the results of the task that
// measured the calibrator's recordings, if there is a calibrator.
func (s *Source) taskChain(job *engine.Job) (*calibration.Chain, error) {
	if s.Calibrator == nil {
		return s.chain(nil), nil
	}

	var measured []calibration.Sensitivity
	if err := taskfile.ReadJSON(job.Input(s.Calibrator.Task, s.Calibrator.Output), &measured); err != nil {
		return nil, err
	}

	return s.chain(measured), nil
}

// measureChain returns how the samples of the channels become physical units. It measures the calibrator's recordings,
// if there is a calibrator.
func (r *Recordings) measureChain(ctx context.Context, exp plan.Experiment) (*calibration.Chain, error) {
	if r.Calibrator == nil {
		return r.chain(nil), nil
	}

	measured, err := calibration.Measure(ctx, r.Ingest.Calibration.Calibrator, exp.Project(), r.Reading.Options)
	if err != nil {
		return nil, err
	}

	return r.chain(measured), nil
}

// chain returns how the samples of the channels become physical units. measured are the sensitivities by the
// calibrator's recordings, or nil.
func (s *Source) chain(measured []calibration.Sensitivity) *calibration.Chain {
	chain := s.Analysis.Chain
	chain.Measured = measured

	return &chain
}
