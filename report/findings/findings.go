// Package findings collects what the data of an experiment show about themselves: the warnings of its files, the flags
// of its runs, mistakes such as swapped files, equal rows, a gain that nobody stated or a run far from the others, and
// what each mistake costs: how much narrower the intervals are without its files.
//
// The package knows no configuration and no tasks. Its caller adds what the analysis of the files noted, and then asks
// for the words.
package findings

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/report"
)

// Findings contains the warnings, flags and counts of an experiment.
type Findings struct {
	Skipped []string      // reasons why recordings were left out
	Levels  int           // number of levels
	Bounds  int           // number of levels that are upper bounds
	Facts   []report.Fact // findings that are not warnings

	// SplitName returns the names that the name of a run or a recording joins: two names in a pair of repeats, and
	// otherwise the name itself. nil: no name joins others.
	SplitName func(name string) []string

	dropped int // number of recordings that were left out because of a level
	near    int // number of levels near the background

	groups []*warningGroup     // in order of appearance
	runs   map[string]bool     // the analysed runs, or the names of pairs of repeats
	flags  map[string]*flagged // by code
	speeds []speed             // runs whose sound contradicts the stated shaft speed
}

// warningGroup is a warning with all files that have it.
type warningGroup struct {
	code  string
	key   string // warnings with the same key are one
	text  string // the text of the first file
	first string // the first file
	files map[string]bool
}

// chance is the share of runs that statistical tests flag although nothing is wrong.
const chance = 0.05

// flagged is a flag with all runs that have it.
type flagged struct {
	runs    map[string]bool
	example string  // the first run and its text
	least   float64 // smallest p-value of the runs; 0 if the flag is not a statistical test
}

// splitName returns the names that the name of a run or a recording joins.
func (f *Findings) splitName(name string) []string {
	if f.SplitName == nil {
		return []string{name}
	}

	return f.SplitName(name)
}

// add adds a warning about a file. It joins warnings with the same key into one, which keeps the first text.
func (f *Findings) add(code, key, path, text string) {
	i := slices.IndexFunc(f.groups, func(group *warningGroup) bool { return group.key == key })
	if i < 0 {
		i = len(f.groups)
		f.groups = append(f.groups, &warningGroup{code: code, key: key, text: text, first: path, files: map[string]bool{}})
	}

	f.groups[i].files[path] = true
}

// AddPlanned adds the warnings of the planning, each as a warning of its own.
func (f *Findings) AddPlanned(list []ingest.Warning) {
	for _, w := range list {
		f.add(w.Code, w.Path+w.Text, w.Path, w.Text)
	}
}

// AddFile adds the warnings of one raw file. Warnings of several files with the same code become one.
func (f *Findings) AddFile(list []ingest.Warning) {
	for _, w := range list {
		key := w.Code
		if key == "" {
			key = w.Path + w.Text
		}

		f.add(w.Code, key, w.Path, w.Text)
	}
}

// addAnalysis adds the warnings of the analysis of one file. What was subtracted as drift of a balance's zero is a
// fact.
func (f *Findings) addAnalysis(list []ingest.Warning) {
	for _, w := range list {
		if w.Code == "drift-corrected" {
			f.Facts = append(f.Facts, report.Fact{Name: "zero of the balance", Value: w.Path + ": " + w.Text})
			continue
		}

		f.add(w.Code, w.Code+w.Text, w.Path, w.Text)
	}
}

// AddNotes adds the notes of the analysis of one file.
func (f *Findings) AddNotes(notes analysis.FileNotes) {
	if notes.Skipped != nil {
		f.Skipped = append(f.Skipped, notes.Skipped.Reason)
	}

	f.addAnalysis(notes.Warnings)
	for _, note := range notes.Notes {
		f.addRun(note)
	}
}

// addRun adds what the analysis of a run found.
func (f *Findings) addRun(run analysis.RunNote) {
	if f.runs == nil {
		f.runs = map[string]bool{}
		f.flags = map[string]*flagged{}
	}

	f.runs[run.Run] = true
	f.Bounds += run.Bounds
	f.Levels += run.Levels
	f.dropped += run.Dropped
	f.near += run.Near
	for _, flag := range run.Flags {
		f.addFlag(run.Run, flag)
	}
}

// AddCutShort adds a warning about recordings that are shorter than the others. recs is the index of the recordings. It
// adds none if the runs are parts of files.
func (f *Findings) AddCutShort(recs *table.Table) {
	files := recs.Column("file")
	samples := recs.Column("samples")
	first := recs.Column("row0")
	if files == nil || samples == nil || first == nil {
		return
	}

	var lengths []campaign.Length
	isListed := map[string]bool{}
	for row, file := range files.Strings {
		if first.Ints[row] > 0 {
			return
		}

		if isListed[file] {
			continue
		}

		isListed[file] = true
		length := campaign.Length{File: file, Samples: samples.Ints[row]}
		if rates := recs.Column("rate_hz"); rates != nil && rates.Floats[row] > 0 {
			length.RateHz = rates.Floats[row]
		}

		lengths = append(lengths, length)
	}

	for _, warning := range campaign.WarnCutShort(lengths) {
		f.add(warning.Code, warning.Code, warning.Path, warning.Text)
	}
}

// addFlag adds a flag of a run.
func (f *Findings) addFlag(run string, flag dsp.Flag) {
	if flag.Code == "speed-contradicted" { // addSwaps makes a finding of each run
		f.speeds = append(f.speeds, speed{run, flag})
		return
	}

	if f.flags[flag.Code] == nil {
		f.flags[flag.Code] = &flagged{runs: map[string]bool{}, example: run + ": " + flag.Text, least: flag.P}
	}

	known := f.flags[flag.Code]
	known.least = min(known.least, flag.P)
	known.runs[run] = true
}

// ranked lists the warnings and flags, the worst first. It adds flags of statistical tests that are not more frequent
// than chance makes them to the facts instead.
func (f *Findings) ranked() []*mistake {
	var list []*mistake
	for _, group := range f.groups {
		text := group.text
		if n := len(group.files); n > 1 && group.code != "files-swapped" {
			text += " (and in " + fault.Plural(int64(n-1), "more file") + ")"
		}

		list = append(list, &mistake{code: group.code, first: group.first, text: text, files: group.files, ratio: 1})
	}

	for _, code := range slices.Sorted(maps.Keys(f.flags)) {
		flag := f.flags[code]
		all := float64(len(f.runs))
		verb := "are"
		if len(flag.runs) == 1 {
			verb = "is"
		}

		text := fmt.Sprintf("%d of %d runs %s flagged %q, first %s", len(flag.runs), len(f.runs), verb, code, flag.example)

		// If nothing is wrong, a test flags about usual runs, with a standard deviation of √usual (Poisson). The least of
		// the p-values counts, too, multiplied by the number of runs (Bonferroni).
		usual := chance * all
		isUsual := float64(len(flag.runs)) < usual+3*math.Sqrt(usual)
		if all*flag.least >= chance && isUsual {
			f.Facts = append(f.Facts, report.Fact{Name: "as many as chance gives", Value: text})
			continue
		}

		list = append(list, &mistake{code: code, files: flag.runs, text: text, ratio: 1})
	}

	slices.SortStableFunc(list, func(a, b *mistake) int { return severity(a.code) - severity(b.code) })

	return list
}

// Counts returns the warnings about the numbers of levels. emergenceDB is the emergence below which a level is an upper
// bound. isSubtracted tells whether the background is subtracted.
func (f *Findings) Counts(emergenceDB float64, isSubtracted bool) (warnings []string) {
	orBackground := ""
	word := "not subtracted"
	if isSubtracted {
		orBackground = fmt.Sprintf(", or %d dB above the background", dsp.SubtractFromDB)
		word = "subtracted"
	}

	if f.Bounds > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d levels are less than %g dB above the floor%s: they are upper "+
			"bounds (columns *_bound_1, *_bound_2)", f.Bounds, f.Levels, emergenceDB, orBackground))
	}

	if f.near > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d levels are less than %d dB above the background in the same bins "+
			"(columns *_background_1, *_background_2), which is %s", f.near, f.Levels, dsp.NearBackgroundDB, word))
	}

	if f.dropped > 0 {
		warnings = append(warnings, fmt.Sprintf("censored: drop left out %s with a harmonic that is not "+
			"emergent; what remains is biased towards loud conditions", fault.Plural(int64(f.dropped), "recording")))
	}

	return warnings
}
