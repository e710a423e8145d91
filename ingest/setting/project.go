package setting

import "path/filepath"

// Project is the folder of a campaign and the file with its settings.
type Project struct {
	Path  string                // the file with the settings, for messages
	Dir   string                // the folder at which relative paths start; "" is the working directory
	Given func(key string) bool // reports whether the user wrote a setting, instead of leaving it at its default
}

// Resolve returns a path of the project relative to the working directory.
func (p Project) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}

	return filepath.Join(p.Dir, path)
}

// IsGiven reports whether the user wrote the setting with a key. Without Given no setting counts as written.
func (p Project) IsGiven(key string) bool { return p.Given != nil && p.Given(key) }
