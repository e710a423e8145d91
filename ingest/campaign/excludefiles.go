package campaign

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// exclude drops the rows of a file to which an exclusion applies. It appends a description of each row to the entries
// of left that belong to these exclusions.
func (f *File) exclude(exclusions setting.Exclusions, left [][]string) {
	var known condition.Rows
	var rows []ConditionRow
	for k, values := range f.Known {
		place := f.Name
		if len(f.Known) > 1 {
			place = fmt.Sprintf("%s (line %d)", f.Name, f.Rows.Rows[k].Line)
		}

		isExcluded := false
		for x, exclusion := range exclusions {
			if exclusion.Holds(values) {
				isExcluded = true
				left[x] = append(left[x], place)
			}
		}

		if isExcluded {
			continue
		}

		known = append(known, values)
		if f.Rows != nil {
			rows = append(rows, f.Rows.Rows[k])
		}
	}

	f.Known = known
	if f.Rows != nil {
		f.Rows.Rows = rows
	}
}

// checkExclusions returns a *setting.Error about an exclusion of an unknown condition, or of numbers in a column of
// names. numbers and names are the columns that are known.
func checkExclusions(exclusions setting.Exclusions, numbers, names []string) error {
	const key = "exclude"
	known := slices.Concat(numbers, names)
	for _, exclusion := range exclusions {
		for _, c := range exclusion.Where.Conditions() {
			err := setting.CheckOneOf(known, c, key, "is no condition that is known before the files are opened, which are")
			if err != nil {
				return err
			}

			if slices.Contains(names, c) && !slices.Contains(exclusion.Where.Labels(), c) {
				return setting.Errorf(key,
					"%s is a column of text: expected names, found numbers; write a name of digits in quotes", c)
			}
		}
	}

	return nil
}

// knownColumns lists the conditions of numbers and the conditions of names that are known before files are opened.
func (v *Inventory) knownColumns() (numbers, names []string) {
	for _, file := range v.Files {
		for _, values := range file.Known {
			numbers = slices.AppendSeq(numbers, maps.Keys(values.Numbers))
			names = slices.AppendSeq(names, maps.Keys(values.Names))
		}
	}

	slices.Sort(numbers)
	slices.Sort(names)

	return slices.Compact(numbers), slices.Compact(names)
}

// excludeRows drops the rows of the table of conditions whose conditions the settings exclude, and the files that have
// no other row. It warns of what it drops, and of exclusions that drop nothing.
func (v *Inventory) excludeRows() error {
	exclusions := v.Settings.Exclude.Where()
	if len(exclusions) == 0 {
		return nil
	}

	numbers, names := v.knownColumns()
	if err := checkExclusions(exclusions, numbers, names); err != nil {
		return err
	}

	left := make([][]string, len(exclusions)) // for each exclusion, the rows that it drops; exclude fills it
	for i := range v.Files {
		v.Files[i].exclude(exclusions, left)
	}

	var files []File
	for _, file := range v.Files {
		if len(file.Known) > 0 {
			files = append(files, file)
		}
	}

	if len(files) == 0 {
		return setting.Errorf("exclude", "all %s are excluded", fault.Plural(int64(len(v.Files)), "file"))
	}

	v.Files = files
	for i, exclusion := range exclusions {
		v.warnOfExclusion(exclusion, left[i])
	}

	return nil
}

// warnOfExclusion warns of what an exclusion leaves out, or that it leaves out nothing.
func (v *Inventory) warnOfExclusion(exclusion setting.Exclusion, left []string) {
	warning := UnusedExclude(v.Project.Path, exclusion.String())
	if len(left) > 0 {
		warning = leftOut(left, fmt.Sprintf("exclude: %s", exclusion))
	}

	v.Warnings = append(v.Warnings, warning)
}

// warnExcluded warns of the files that were excluded by their names: they are in all, and not in used. used must be
// sorted. It does not warn of the recordings without wind in tares, which are used nevertheless. The warning has the
// reasons of exclusions that match a file.
func (v *Inventory) warnExcluded(all, used []string, tares map[string]bool) {
	reason := "exclude"
	for _, exclusion := range v.Settings.Exclude {
		isOfFile := exclusion.Where == nil && exclusion.Channel == ""
		if isOfFile && exclusion.Reason != "" && len(matchedBy(exclusion.Files, all)) > 0 {
			reason += fmt.Sprintf(" (%s: %s)", exclusion.Files, exclusion.Reason)
		}
	}

	isUsed := func(file string) bool {
		_, isThere := slices.BinarySearch(used, file)
		return isThere || tares[file]
	}
	excluded := slices.DeleteFunc(slices.Clone(all), isUsed)
	if len(excluded) > 0 {
		v.Warnings = append(v.Warnings, leftOut(excluded, reason))
	}
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
