package campaign

import (
	"path/filepath"
	"slices"

	"doubletake/ingest/setting"
)

// withoutBackground stores the recordings of the background and returns the other files. It returns an error if no
// other file is left.
func (v *Inventory) withoutBackground(files []string) ([]string, error) {
	if v.Settings.Background == nil {
		return files, nil
	}

	_, names, _, err := Find(v.Settings.Background.Files, v.Settings.Exclude.Files(), v.Project.Dir)
	if err != nil {
		return nil, err
	}

	for _, name := range names {
		v.Backgrounds = append(v.Backgrounds, filepath.ToSlash(name))
	}

	isBackground := func(file string) bool { return slices.Contains(names, file) }
	rest := slices.DeleteFunc(slices.Clone(files), isBackground)
	if len(rest) == 0 {
		return nil, setting.Errorf("background.files", "every recording is one of the background")
	}

	return rest, nil
}
