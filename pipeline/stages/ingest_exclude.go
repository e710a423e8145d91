package stages

import (
	"fmt"
	"maps"
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// conditionExclusions returns the exclusions that name conditions. They compare numbers within the tolerances of set
// points.
func conditionExclusions(exp plan.Experiment) setting.Exclusions {
	return withTolerances(exp, exp.Ingest.Exclude.Where())
}

// withTolerances changes the exclusions of list to compare numbers within the tolerances of set points, and returns
// list.
func withTolerances(exp plan.Experiment, list setting.Exclusions) setting.Exclusions {
	tolerances := setting.Tolerances(exp.Ingest.Tolerances)
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

	left := make([][]string, len(exclusions)) // for each exclusion, the rows that it drops; Exclude fills it
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

// warnExcluded warns of the files that were excluded by their names: they are in all, and not in used. used must be
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
