package ingeststage

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// conditionExclusions returns the exclusions that name conditions. They compare numbers within the tolerances of set
// points.
func conditionExclusions(exp plan.Experiment) setting.Exclusions {
	return withTolerances(exp, exp.Ingest.Exclude.Where())
}

// withTolerances returns the exclusions, which compare numbers within the tolerances of set points.
func withTolerances(exp plan.Experiment, list setting.Exclusions) setting.Exclusions {
	tolerances := plan.Tolerances(exp.Ingest.Tolerances)
	isEqual := func(name string, a, b float64) bool { return tolerances[name].Equal(a, b) }
	for i := range list {
		if conditions, ok := list[i].Where.(holdout.Holdout); ok {
			list[i].Where = holdout.About(conditions, isEqual)
		}
	}

	return list
}

// knownColumns lists the conditions of numbers and the conditions of names that are known before files are opened.
func (r *Recordings) knownColumns() (numbers, names []string) {
	for _, file := range r.Files {
		for _, values := range file.Known {
			numbers = slices.AppendSeq(numbers, maps.Keys(values.Numbers))
			names = slices.AppendSeq(names, maps.Keys(values.Names))
		}
	}

	return holdout.Distinct(numbers), holdout.Distinct(names)
}

// exclude drops the rows of the table of conditions whose conditions the configuration excludes, and the files that
// have no other row. It warns of what it drops, and of exclusions that drop nothing.
func (r *Recordings) exclude(exp plan.Experiment) error {
	exclusions := conditionExclusions(exp)
	if len(exclusions) == 0 {
		return nil
	}

	numbers, names := r.knownColumns()
	if err := campaign.CheckExclusions(exclusions, numbers, names); err != nil {
		return exp.Located("ingest", err)
	}

	left := make([][]string, len(exclusions))
	for i := range r.Files {
		r.Files[i].Exclude(r.Files[i].Name, exclusions, left)
	}

	var files []File
	for _, f := range r.Files {
		if len(f.Known) > 0 {
			files = append(files, f)
		}
	}

	if len(files) == 0 {
		return exp.Errorf("ingest.exclude", "all %s are excluded", fault.Plural(int64(len(r.Files)), "file"))
	}

	r.Files = files
	for i, exclusion := range exclusions {
		warning := campaign.UnusedExclude(exp.File.Path, exclusion.String())
		if len(left[i]) > 0 {
			warning = campaign.LeftOut(left[i], fmt.Sprintf("exclude: %s", exclusion))
		}

		r.warnings = append(r.warnings, warning)
	}

	return nil
}

// warnExcluded warns of the files that were excluded by their names: the files in all that are not in used, which is
// sorted.
func (r *Recordings) warnExcluded(all, used []string) {
	reason := "exclude"
	for _, exclusion := range r.Ingest.Exclude {
		isOfFile := exclusion.Where == nil && exclusion.Channel == ""
		if isOfFile && exclusion.Reason != "" {
			reason += fmt.Sprintf(" (%s: %s)", exclusion.Files, exclusion.Reason)
		}
	}

	excluded := removeNames(all, func(f string) bool {
		_, isUsed := slices.BinarySearch(used, f)
		return isUsed
	})
	if len(excluded) > 0 {
		r.warnings = append(r.warnings, campaign.LeftOut(excluded, reason))
	}
}

// This file leaves out single microphones of single recordings: exclude: [{file: take5.wav, channel: 12}].

// excludeChannels gives each file the exclusions of its channels. It warns of what is left out, so that the page lists
// it, and of exclusions that concern no file.
func (r *Recordings) excludeChannels(exp plan.Experiment) error {
	exclusions := withTolerances(exp, exp.Ingest.Exclude.OfChannels())
	if len(exclusions) == 0 {
		return nil
	}

	if r.Grouping.Together {
		return exp.Errorf("ingest.exclude", "%s: the columns of a balance are one recording; leave out the file",
			exclusions[0])
	}

	numbers, names := r.knownColumns()
	var byConditions setting.Exclusions
	for _, exclusion := range exclusions {
		if exclusion.Where != nil {
			byConditions = append(byConditions, exclusion)
		}
	}

	if err := campaign.CheckExclusions(byConditions, numbers, names); err != nil {
		return exp.Located("ingest", err)
	}

	for _, exclusion := range exclusions {
		var concerned []string
		for i := range r.Files {
			if file := &r.Files[i]; file.IsConcernedBy(exclusion, file.Name, r.names()) {
				file.WithoutChannels = append(file.WithoutChannels, exclusion)
				concerned = append(concerned, fmt.Sprintf("%s, channel %s", file.Name, exclusion.Channel))
			}
		}

		warning := campaign.UnusedExclude(exp.File.Path, exclusion.String())
		if len(concerned) > 0 {
			warning = campaign.LeftOut(concerned, fmt.Sprintf("exclude: %s", exclusion))
		}

		r.warnings = append(r.warnings, warning)
	}

	return nil
}

// channelSettings returns the settings of the file's task that name the channels that are left out.
func (f *File) channelSettings() []kv.Pair {
	var settings []kv.Pair
	for i, exclusion := range f.WithoutChannels {
		exclusion.Reason = "" // it does not change the result
		settings = append(settings, kv.Pair{Key: "without channel " + strconv.Itoa(i+1), Value: exclusion.String()})
	}

	return settings
}
