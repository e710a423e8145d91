package campaign

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// This file finds the recordings without wind that a pattern describes, such as tare: {file:
// "tare1_m{mounting:text}_u{u_inf_m_s}.txt"}. A run has the recording whose name states the same conditions as the run.

// tareRecording is a recording without wind, with the conditions that its name states.
type tareRecording struct {
	name   string
	stated []condition.Condition
}

// isPattern reports whether the name of a recording without wind has fields.
func isPattern(name string) bool { return strings.Contains(name, "{") }

// takePatterns finds the recordings without wind that the settings name by a pattern or by a path. It returns files
// without these recordings, because they are not measurements of the campaign. A file that is named by its path remains
// a measurement if the campaign has a table of conditions, which may have a row for it.
func (t *tareFinder) takePatterns(files []string) ([]string, error) {
	t.recordings = map[string][]tareRecording{}
	tare := t.settings()
	if tare == nil || tare.Column != "" {
		return files, nil
	}

	for _, entry := range []struct{ key, text string }{{"file", tare.File}, {"after", tare.Closing}} {
		if entry.text == "" {
			continue
		}

		if !isPattern(entry.text) {
			isTare := func(file string) bool { return filepath.Clean(file) == filepath.Clean(entry.text) }
			if t.campaign.Conditions == "" {
				files = slices.DeleteFunc(slices.Clone(files), isTare)
			}

			continue
		}

		recordings, err := findTareRecordings(entry.text, t.project.Dir)
		if err != nil {
			return nil, setting.Errorf("balance.tare."+entry.key, "%v", err)
		}

		if err := t.settleStated(recordings); err != nil {
			return nil, err
		}

		t.recordings[entry.text] = recordings
		isTare := func(file string) bool {
			return slices.ContainsFunc(recordings, func(own tareRecording) bool { return own.name == file })
		}
		files = slices.DeleteFunc(slices.Clone(files), isTare)
	}

	if len(files) == 0 {
		return nil, setting.Errorf("files", "every recording is one without wind")
	}

	return files, nil
}

// findTareRecordings returns the recordings without wind of a pattern. Paths in it are relative to dir.
func findTareRecordings(text, dir string) ([]tareRecording, error) {
	pattern, err := ParsePattern(text)
	if err != nil {
		return nil, err
	}

	files, _, _, err := Find([]string{patternField.ReplaceAllString(text, "*")}, nil, dir)
	if err != nil {
		return nil, err
	}

	var recordings []tareRecording
	for _, file := range files {
		stated, err := pattern.Match(file)
		if err != nil {
			continue // the glob is wider than the pattern: u_10 beside u{u_inf_m_s}
		}

		recordings = append(recordings, tareRecording{name: file, stated: stated})
	}

	if len(recordings) == 0 {
		return nil, fmt.Errorf("no file has a name like %q", text)
	}

	return recordings, nil
}

// settleStated turns what the names of recordings without wind state into the conditions of the runs: numbers in the
// units of the conditions' names, and the names that spellings mean.
func (t *tareFinder) settleStated(recordings []tareRecording) error {
	for _, unit := range t.campaign.Units {
		conversion, err := units.ToName(unit.Name, unit.Value)
		if err != nil {
			return setting.Errorf("units."+unit.Name, "%v", err)
		}

		for _, recording := range recordings {
			for i, cond := range recording.stated {
				if cond.Column == unit.Name && !cond.IsName {
					recording.stated[i].Value = conversion.Apply(cond.Value)
				}
			}
		}
	}

	for _, recording := range recordings {
		t.spellings.Rename(recording.stated)
	}

	return nil
}

// tareOf returns the recording without wind of a pattern whose name states the conditions of all runs of a file. It
// returns an error if there is none, if there are several, or if the runs do not have a condition that the names state.
func (t *tareFinder) tareOf(file string, known condition.Rows, pattern string) (string, error) {
	var found []string
	for _, tare := range t.recordings[pattern] {
		fits, err := t.fitsAll(known, tare.stated)
		if err != nil {
			return "", fault.At(file, "", "a condition of the recordings, as the fields of "+pattern, err.Error(), "")
		}

		if fits {
			found = append(found, tare.name)
		}
	}

	const want = "one recording without wind with the conditions of this file"
	switch len(found) {
	case 0:
		return "", fault.At(file, "", want, "none with a name like "+strconv.Quote(pattern),
			"correct its name, or leave the file out with exclude under ingest")
	case 1:
		return found[0], nil
	}

	return "", fault.At(file, "", want, fault.Quoted(found), "state in the pattern what tells them apart")
}

// fitsAll reports whether the conditions of all runs of a file agree with the conditions that a name states. It returns
// an error if a run does not have one of them.
func (t *tareFinder) fitsAll(known condition.Rows, stated []condition.Condition) (bool, error) {
	all := true
	for _, run := range known {
		fits, err := t.fits(run, stated)
		if err != nil {
			return false, err
		}

		all = all && fits
	}

	return all, nil
}

// fits reports whether the conditions of a run agree with the conditions that a name states. It returns an error if the
// run does not have one of them.
func (t *tareFinder) fits(known condition.Values, stated []condition.Condition) (bool, error) {
	tolerances := setting.Tolerances(t.campaign.Tolerances)
	for _, cond := range stated {
		number, isNumber := known.Numbers[cond.Column]
		name, isName := known.Names[cond.Column]
		switch {
		case isName:
			if name != textOf(&cond) {
				return false, nil
			}
		case isNumber && cond.IsName:
			if plain(number) != cond.Name {
				return false, nil
			}
		case isNumber:
			if !tolerances[cond.Column].Equal(number, cond.Value) {
				return false, nil
			}
		default:
			return false, fmt.Errorf("%s, which no recording states", cond.Column)
		}
	}

	return true, nil
}

// tareName returns the name of a recording without wind of a file. name is an entry of the settings: a column of the
// table of conditions if the settings name columns, and otherwise a pattern or a file.
func (t *tareFinder) tareName(file string, rows *Conditions, known condition.Rows, name string) (string, error) {
	switch {
	case t.settings().Column != "":
		return ownTare(name, rows, file)
	case isPattern(name):
		return t.tareOf(file, known, name)
	}

	return name, nil
}
