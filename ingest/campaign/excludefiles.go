package campaign

import (
	"fmt"
	"path/filepath"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// Exclude drops the rows of a file to which an exclusion applies. It appends a description of each row to the entry of
// left that belongs to the exclusion. name is the file's name.
func (f *Facts) Exclude(name string, exclusions setting.Exclusions, left [][]string) {
	var known condition.Rows
	var rows []ConditionRow
	for k, values := range f.Known {
		x := slices.IndexFunc(exclusions, func(exclusion setting.Exclusion) bool { return exclusion.Holds(values) })
		if x < 0 {
			known = append(known, values)
			if f.Rows != nil {
				rows = append(rows, f.Rows.Rows[k])
			}

			continue
		}

		place := name
		if len(f.Known) > 1 {
			place = fmt.Sprintf("%s (line %d)", name, f.Rows.Rows[k].Line)
		}

		left[x] = append(left[x], place)
	}

	f.Known = known
	if f.Rows != nil {
		f.Rows.Rows = rows
	}
}

// CheckExclusions returns a *setting.Error about an exclusion of an unknown condition, or of numbers in a column of
// names. numbers and names are the columns that are known.
func CheckExclusions(exclusions setting.Exclusions, numbers, names []string) error {
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

// LeftOut returns a warning that names the files or rows that the user excludes. Readers of the report learn of them
// without the configuration.
func LeftOut(names []string, reason string) ingest.Warning {
	warning := ingest.Warn(filepath.ToSlash(names[0]), "excluded", "left out by %s", reason)
	if len(names) > 1 {
		warning.Text += ", also " + fault.Some(names[1:])
	}

	return warning
}
