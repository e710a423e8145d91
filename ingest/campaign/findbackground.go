package campaign

import (
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// withoutBackground stores the recordings of the background in v.Backgrounds and returns the other files. It returns an
// error of Find, or an error if no other file is left.
func (v *Inventory) withoutBackground(files []string) ([]string, error) {
	if v.Settings.Background == nil {
		return files, nil
	}

	_, names, warnings, err := Find(v.Settings.Background.Files, v.Settings.Exclude.Files(), v.Project.Dir)
	if err != nil {
		return nil, err
	}

	// An exclusion is for recordings too, so that it may be unused here.
	for _, warning := range warnings {
		if warning.Code == misnamedFile && !v.isListed(warning.Path, files) {
			v.Warnings = append(v.Warnings, warning)
		}
	}

	v.Backgrounds = append(v.Backgrounds, names...)
	isBackground := func(file string) bool { return slices.Contains(names, file) }
	rest := slices.DeleteFunc(slices.Clone(files), isBackground)
	if len(rest) == 0 {
		return nil, setting.Errorf("background.files", "every recording is one of the background")
	}

	return rest, nil
}

// isListed reports whether a file is among the files that the settings name, or a warning names it.
func (v *Inventory) isListed(file string, files []string) bool {
	isNamed := func(warning ingest.Warning) bool { return warning.Path == file }

	return slices.Contains(files, file) || slices.ContainsFunc(v.Warnings, isNamed)
}
