package content

import (
	"context"
	"fmt"

	"doubletake/dsp"
	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/report/findings"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// Results contains what a report is made from: the triplets of an experiment, the findings in its files, and readers of
// what was trained.
type Results struct {
	Description  report.Experiment // facts that the tables do not have; Report adds the others
	Triplets     *table.Table
	Conditions   []string          // conditions of the triplets
	Divider      pairs.Divider     // what is trained on the triplets, and with which splits
	Construction dsp.Construction  // how the pairs were made; nil if they were read from a table
	Analysis     *dsp.Settings     // settings of the analysis
	Subtracted   bool              // the background is subtracted from the levels
	Toy          bool              // the simulated toy made the triplets, whose rows are not runs
	Compared     Predictions       // of another program
	Found        findings.Findings // warnings of the files and notes of the analysis; Report adds others

	Seed      func(split experiment.Split, seed int) (Seed, error)   // reads a training of a split
	Intervals func(split experiment.Split) (*interval.Result, error) // reads the calibration of a split
	Index     func() (*table.Table, error)                           // reads the index of the recordings
	Spectra   func() (*table.Table, error)                           // reads the spectra; nil without spectra

	// Background returns the background that a channel recorded, in the unit of its levels; nil without a background.
	Background func(channel, unit, recording string) ([]dsp.BackgroundRecording, error)
}

// Predictions names a table of predictions of another program.
type Predictions struct {
	Name string // in messages; "": there is no table
	Path string
}

// Report judges what was trained, and returns the report with the data that the page shows, without the settings. An
// error about a setting of section train is a *setting.Error.
func (r *Results) Report(ctx context.Context) (*report.Detail, error) {
	set, err := r.Divider.Triplets(r.Triplets, r.Conditions)
	if err != nil {
		return nil, err
	}

	if err := r.findMistakes(ctx, set); err != nil {
		return nil, err
	}

	data := NewData(r.Triplets, set, dsp.NoiseBins(r.Analysis.Window))
	e := r.describe()
	notes, splits, err := r.addSplits(ctx, data, &e)
	if err != nil {
		return nil, err
	}

	for _, thing := range honest.BetweenOccasions(set, r.Divider.Across) {
		e.Between = append(e.Between, fmt.Sprint("All repeats: ", thing))
	}

	if err := r.warn(ctx, &e, set, splits); err != nil {
		return nil, err
	}

	e.Warnings = append(e.Warnings, notes...)
	if err := r.addData(data); err != nil {
		return nil, err
	}

	page := data.Detail()
	page.Experiment = e

	return page, nil
}

// findMistakes adds the mistakes that the triplets and the index of the recordings show to the findings.
func (r *Results) findMistakes(ctx context.Context, set triplets.Set) error {
	r.Found.SplitName = func(name string) []string { return pairs.SplitName(r.Triplets, name) }
	if r.Index != nil && r.Construction != nil {
		recordings, err := r.Index()
		if err != nil {
			return err
		}

		r.Found.AddCutShort(recordings)
	}

	r.Found.AddMistakes(set)
	if r.Toy {
		return nil
	}

	return r.Found.AddFarRuns(ctx, r.Divider.Honest, set)
}

// describe returns the report with the description of its data, and without results.
func (r *Results) describe() report.Experiment {
	e := r.Description
	e.PairsFrom = "The pairs were read from a table as they are"
	if r.Construction != nil {
		e.PairsFrom = r.Construction.Describe().Doc
	}

	e.Couples = r.Divider.Couples
	e.Inputs = r.Divider.Inputs
	e.Outcomes = pairs.Outcomes(r.Triplets)
	e.Triplets = r.Triplets.Rows()
	e.Runs = len(distinct(r.Triplets, "run"))
	e.Recordings = len(distinct(r.Triplets, "recording"))
	e.Skipped = r.Found.Skipped
	for _, outcome := range e.Outcomes {
		e.OutcomeUnits = append(e.OutcomeUnits, r.Triplets.Column(outcome+"_1").Unit)
	}

	return e
}

// addSplits judges what was trained on each split, and describes the final models. It returns the notes of the table of
// predictions, and the splits that hold something out.
func (r *Results) addSplits(ctx context.Context, data *Data, e *report.Experiment) (
	notes []string, splits []Split, err error,
) {
	reference, notes, err := r.reference(data.set)
	if err != nil {
		return nil, nil, err
	}

	judged, final := r.Divider.Trained()
	for _, split := range judged {
		divided, err := r.Divider.Divide(data.set, r.Triplets, split)
		if err != nil {
			return nil, nil, err
		}

		splits = append(splits, Split{Name: split.Name, Test: split.Test, Set: divided})
	}

	for i, split := range judged {
		trained := Trained{Split: splits[i], Seeds: r.Divider.Seeds}
		trained.Read = func(seed int) (Seed, error) { return r.Seed(split, seed) }
		trained.Honest, err = r.intervals(split)
		if err != nil {
			return nil, nil, err
		}

		added, err := data.AddSplit(ctx, trained, reference)
		if err != nil {
			return nil, nil, err
		}

		e.Splits = append(e.Splits, *added)
	}

	for _, split := range final {
		result, err := r.intervals(split)
		if err != nil {
			return nil, nil, err
		}

		var calibration *interval.Calibration
		if result != nil {
			calibration = result.Calibration
		}

		e.Final = append(e.Final, FinalModel(split.Name, *e, calibration))
	}

	return notes, splits, nil
}

// reference reads the table of predictions. It returns nil if there is no table, or if nothing is trained or measured
// with which it could be compared.
func (r *Results) reference(set triplets.Set) (*Reference, []string, error) {
	if r.Compared.Name == "" || set.Out == 0 {
		return nil, nil, nil
	}

	all := &pairs.Pairs{Table: r.Triplets, Source: pairs.Source{Name: r.Description.Name}}

	return ReadReference(r.Compared.Path, r.Compared.Name, all, set)
}

// CheckReference returns an error if the table of predictions cannot be compared with the triplets.
func (r *Results) CheckReference() error {
	set, err := r.Divider.Triplets(r.Triplets, r.Conditions)
	if err != nil {
		return err
	}

	_, _, err = r.reference(set)

	return err
}

// intervals reads the calibration of a split. If the split has none, the result says why. The result is nil if the
// settings ask for no calibration.
func (r *Results) intervals(split experiment.Split) (*interval.Result, error) {
	if r.Divider.Honest.Base == "none" {
		return nil, nil
	}

	if _, absent := r.Divider.HonestCondition(split); absent != "" {
		return &interval.Result{Absent: absent}, nil
	}

	return r.Intervals(split)
}

// warn adds the warnings and the suspects, the worst first. splits are the splits that hold something out.
func (r *Results) warn(ctx context.Context, e *report.Experiment, set triplets.Set, splits []Split) error {
	judged, _ := r.Divider.Trained()
	effects := findings.Effects{Splits: e.Splits, Runs: e.Runs, Set: set}
	effects.Recalibrate = func(ctx context.Context, split int, isLeft func(run, recording string) bool) (
		*interval.Record, error,
	) {
		return r.Divider.CalibrateWithout(ctx, r.Triplets, judged[split], isLeft)
	}

	words, err := r.Found.Words(ctx, effects, r.Found.FarPairs(e.Pairs, r.Triplets, set))
	if err != nil {
		return err
	}

	e.Warnings = append(words.Warnings, r.Found.Counts(r.Analysis.EmergenceDB, r.Subtracted)...)
	e.Widening = words.Widening
	e.Suspects = words.Suspects
	more, err := Warnings(r.Conditions, r.Divider.Outcomes, r.Triplets, set, splits)
	if err != nil {
		return err
	}

	e.Warnings = append(e.Warnings, more...)

	return nil
}

// addData adds the spectra, the quality and the background of the recordings to the data of the page.
func (r *Results) addData(data *Data) error {
	if r.Spectra != nil {
		spectra, err := r.Spectra()
		if err != nil {
			return err
		}

		if err := data.AddSpectra(spectra); err != nil {
			return err
		}
	}

	if r.Index == nil {
		return nil
	}

	recordings, err := r.Index()
	if err != nil {
		return err
	}

	data.AddQuality(recordings, r.Found)
	if r.Background == nil {
		return nil
	}

	return data.AddBackground(r.Background, recordings)
}
