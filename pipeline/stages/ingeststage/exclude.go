package ingeststage

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
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
		for _, values := range file.known {
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
	if err := checkExclusions(exp, exclusions, numbers, names); err != nil {
		return err
	}

	left := make([][]string, len(exclusions))
	for i := range r.Files {
		r.Files[i].exclude(exclusions, left)
	}

	var files []File
	for _, f := range r.Files {
		if len(f.known) > 0 {
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
			warning = leftOut(left[i], fmt.Sprintf("exclude: %s", exclusion))
		}

		r.warnings = append(r.warnings, warning)
	}

	return nil
}

// exclude drops the rows of a file to which an exclusion applies. It appends a description of each row to the entry of
// left that belongs to the exclusion.
func (f *File) exclude(exclusions setting.Exclusions, left [][]string) {
	var known condition.Rows
	var rows []campaign.ConditionRow
	for k, values := range f.known {
		x := slices.IndexFunc(exclusions, func(exclusion setting.Exclusion) bool { return exclusion.Holds(values) })
		if x < 0 {
			known = append(known, values)
			if f.Rows != nil {
				rows = append(rows, f.Rows.Rows[k])
			}

			continue
		}

		name := f.Name
		if len(f.known) > 1 {
			name = fmt.Sprintf("%s (line %d)", f.Name, f.Rows.Rows[k].Line)
		}

		left[x] = append(left[x], name)
	}

	f.known = known
	if f.Rows != nil {
		f.Rows.Rows = rows
	}
}

// checkExclusions returns an error about an exclusion of an unknown condition, or of numbers in a column of names.
// numbers and names are the columns that are known.
func checkExclusions(exp plan.Experiment, exclusions setting.Exclusions, numbers, names []string) error {
	const key = "ingest.exclude"
	known := slices.Concat(numbers, names)
	for _, exclusion := range exclusions {
		for _, c := range exclusion.Where.Conditions() {
			err := exp.OneOf(known, c, key, "is no condition that is known before the files are opened, which are")
			if err != nil {
				return err
			}

			if slices.Contains(names, c) && !slices.Contains(exclusion.Where.Labels(), c) {
				return exp.Errorf(key,
					"%s is a column of text: expected names, found numbers; write a name of digits in quotes", c)
			}
		}
	}

	return nil
}

// leftOut returns a warning that names the files or rows that the user excludes. Readers of the report learn of them
// without the configuration.
func leftOut(names []string, reason string) ingest.Warning {
	warning := ingest.Warn(filepath.ToSlash(names[0]), "excluded", "left out by %s", reason)
	if len(names) > 1 {
		warning.Text += ", also " + fault.Some(names[1:])
	}

	return warning
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
		r.warnings = append(r.warnings, leftOut(excluded, reason))
	}
}
