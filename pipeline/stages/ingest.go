package stages

// Stage ingest has one task for each raw file, which opens the file, finds its conditions, calibrates its channels and
// computes their statistics. One more task joins the results into recordings.arrow.

import (
	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// ingestVersion is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again. What the versions changed:
//
//   - 3: constant stretches are reported
//   - 4: recordings state their calibration
//   - 5: packed numbers are unpacked, and MATLAB's axes are read alike in all versions
//   - 6: axes are found by their names, and units of time are read
//   - 7: clipped floating-point samples and levels that are apart are reported
//   - 8: headers of text files, codes for missing values and spikes are found
//   - 9: rows of units and positions below the names of text files are not samples
//   - 10: rows that differ only in what was measured alongside repeat each other
//   - 11: conditions, settings and channels that are implausible in their units are reported
//   - 12: tops that an amplifier cut off are reported as clipping, and recordings that are cut short
//   - 13: least and largest samples of channels with a negative scale are in order
//   - 14: the conditions of all microphones of a run are compared with their units, not only those of the first;
//     two gains of one microphone are refused
//   - 15: dates may change the year, and may have the day before the month
//   - 16: a byte-order mark before lines with labels is skipped, and infinite values behind times are not names;
//     further headers of angles are known
//   - 17: dates beside points, zeros before points, and further headers are read
//   - 18: a rate that is stated shows whether whole times without a unit are ms or µs
//   - 19: a first sample with signs for missing values is not a row of units
//   - 20: names that differ only by a decimal point are two names
//   - 21: further rows of positions below the names are not samples
//   - 22: settings that are swept within a run, and samples far above full scale, are reported
//   - 23: exclusions of channels by conditions compare the converted and derived conditions; names that differ by a
//     letter of their own are two names; numbers in headers of tables are compared in one unit, and counters beside
//     the word of a setting are settings
//   - 24: numbers in warnings have no exponents
//   - 25: recordings whose writer stopped before it wrote their length are read, each of valid_min and valid_max counts
//     in its own type, settings are found in channels whose unit has a slash, a last number that is cut short is left
//     out, and a column of counts beside a stated rate is not of days
//   - 26: a day and a time of day behind an underline are the day
const ingestVersion = 26

// Outputs of the tasks of this stage.
const (
	fileJSON        = "recordings.json"  // the FileResult of a file, or several of them
	recordingsArrow = "recordings.arrow" // the index of all recordings
	pairsArrow      = "pairs.arrow"      // the pairs of a table
)

// ingestResult is the part of stage ingest that later stages need.
type ingestResult struct {
	pairs.Columns

	Data         string           // the kind of data: simulated if a file's name says so
	Construction dsp.Construction // how pairs are made; nil for a table of pairs
	PairKind     string           // same-run, repeat-run or synthetic (docs/method.md#units-of-data)
	Known        condition.Rows   // conditions of the recordings, if they are known before any file is read
	Points       condition.Points // set points of the conditions, if they are known before any file is read
	Results      []engine.Dep     // the FileResult of each file; without channels and runs if shards join the files
	Shards       []plan.Shard     // ranges of the files that are joined by tasks of their own; nil for few files
	Index        *engine.Dep      // recordings.arrow
	Warnings     []ingest.Warning

	Recordings *Recordings // nil for a table of pairs
	Pairs      *Pairs      // nil for recordings
}

// Source describes how the recordings of an experiment are read and how pairs are made from them.
type Source struct {
	*pairs.Analysis                     // columns of the tables, and how the files are read and analysed
	Ingest          setting.Campaign    // settings, completed by facts about the campaign
	DSP             config.DSP          // settings of the construction
	inventory       *campaign.Inventory // what is known of the campaign before its files are opened
	Reader          []kv.Pair           // the program that reads the files, as a part of tasks' keys
	Settings        []kv.Pair           // settings that are part of the key of a file's task
	Calibrator      *engine.Dep         // the sensitivities by the calibrator; nil without a calibrator
}

// Recordings are the raw files of a campaign and how they are read.
type Recordings struct {
	*Source
	Files       []File
	Backgrounds []plan.RawFile // recordings of the background

	written map[string]engine.Dep // by name: the files that tasks of stage simulate write
}

// File is a raw file with everything that is known about it before it is opened.
type File struct {
	*campaign.File
	raw plan.RawFile

	Result engine.Dep                      // its FileResult
	Kept   *engine.Handoff[*analysis.Kept] // from its task to its task of stage dsp
}

// planIngest adds the tasks that read the files of an experiment, or its table of pairs.
func planIngest(exp plan.Experiment, sim simulateResult) (ingestResult, error) {
	if exp.DSP.Triplets == "table" {
		return planTable(exp, sim)
	}

	rec, err := findFiles(exp, sim)
	if err != nil {
		return ingestResult{}, err
	}

	exp.Ingest.Data = rec.Ingest.Data
	if err := rec.prepare(exp); err != nil {
		return ingestResult{}, err
	}

	rec.Settings = append(rec.settingsRead(), plan.DerivedSettings(&rec.Columns, rec.BeforeAnalysis())...)
	rec.Calibrator, err = planCalibrator(exp, rec.Source)
	if err != nil {
		return ingestResult{}, err
	}

	doubts, err := analysis.CheckSettings(exp.File.Path, &exp.Ingest, &exp.DSP.Settings)
	if err != nil {
		return ingestResult{}, exp.Located("ingest", err)
	}

	doubts = append(doubts, rec.Analysis.Chain.Implausible(exp.File.Path)...)
	res := ingestResult{
		Columns: rec.Columns, Data: rec.Ingest.Data, Construction: rec.Reading.Construction, Recordings: rec,
		PairKind: rec.Reading.Construction.Describe().PairKind(), Warnings: append(doubts, rec.inventory.Warnings...),
	}

	for i := range rec.Files {
		file := &rec.Files[i]
		for k := range file.Known {
			file.Known[k].Names = rec.Reading.KeptLabels(file.Known[k].Names, "")
		}

		rec.planFile(exp, file)
		res.Known = append(res.Known, file.Known...)
		res.Results = append(res.Results, file.Result)
		file.Known = nil
	}

	for _, label := range res.Labels {
		names, _ := res.Known.Strings(label) // checked with the labels
		res.Warnings = append(res.Warnings, campaign.WarnAlike(exp.File.Path, label, names)...)
	}

	res.Shards = plan.Shards(rec.inventory.Names())
	res.Results, res.Index = planIndex(exp, rec, res.Shards, res.Results)
	if err := res.moveToSetPoints(); err != nil {
		return ingestResult{}, err
	}

	return res, nil
}
