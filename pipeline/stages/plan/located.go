package plan

import (
	"cmp"
	"errors"
	"strings"

	"doubletake/ingest/setting"
)

// Located returns an error about a setting as an error about its key in the configuration. section is the section of
// the experiment that contains the setting, such as ingest or dsp, unless the error names another. Located returns
// other errors unchanged.
func (e *Experiment) Located(section string, err error) error {
	bad, ok := errors.AsType[*setting.Error](err)
	if !ok {
		return err
	}

	return e.Errorf(strings.TrimSuffix(cmp.Or(bad.Section, section)+"."+bad.Key, "."), "%s", bad.Text)
}

// Project returns the folder of the experiment, and which keys of its section ingest the user wrote.
func (e *Experiment) Project() setting.Project {
	return setting.Project{
		Path: e.File.Path, Dir: e.File.Dir,
		Given: func(key string) bool { return e.File.Has(e.Key + ".ingest." + key) },
	}
}
