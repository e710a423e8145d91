package scaffold

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
)

// Recordings without wind, and recordings of a background, are found by their names. They are of all runs, or each is
// of the runs that have the conditions in its name.

// splitByName returns the files whose base names match a pattern, and the other files. It returns no match if no other
// file would be left.
func splitByName(files []string, name *regexp.Regexp) (matching, others []string) {
	for _, file := range files {
		if name.MatchString(strings.TrimSuffix(path.Base(file), path.Ext(file))) {
			matching = append(matching, file)
		} else {
			others = append(others, file)
		}
	}

	if len(others) == 0 {
		return nil, files
	}

	return matching, others
}

// splitWindOff takes the recordings without wind and of the background from the files of a campaign without a log, and
// returns the others. A log names such recordings itself.
func (p *plan) splitWindOff(files []string) []string {
	if p.Conditions != "" {
		return files
	}

	p.windOff, files = splitByName(files, vocabulary.WindOff)
	p.backgrounds, files = splitByName(files, vocabulary.Background)

	return files
}

// placeWindOff puts the recordings without wind and of the background to use, after the channels and conditions of the
// recordings are known. For microphones, both kinds are a background. For a balance, recordings without wind are its
// tare, and recordings of a background are of no use.
func (p *plan) placeWindOff() {
	if p.Spectra {
		p.takeBackgrounds(slices.Concat(p.backgrounds, p.windOff))
		return
	}

	if len(p.backgrounds) > 0 {
		p.leaveSetup(p.backgrounds, "recordings of a background are for microphones")
	}

	if len(p.windOff) == 0 {
		return
	}

	if isTaken := p.takeWindOff(); !isTaken {
		p.leaveSetup(p.windOff, "recordings without wind by their names: name them under balance: {tare: …}")
	}
}

// takeBackgrounds proposes recordings of the background.
func (p *plan) takeBackgrounds(files []string) {
	if len(files) == 0 {
		return
	}

	p.Backgrounds = globs(files)
	if len(files) == 1 || !p.matchOnly(p.Backgrounds, files) {
		p.Backgrounds = files
	}

	p.setupFiles = append(p.setupFiles, files...)
	p.note("%s of the background, by the names: background (%s)", countAre(len(files), "recording"), listed(p.Backgrounds))
}

// matchOnly reports whether globs match no recordings but the given ones.
func (p *plan) matchOnly(globs, files []string) bool {
	all, _, _, err := campaign.Find(globs, nil, p.dir)
	return err == nil && len(all) == len(files)
}

// leaveSetup leaves out files of the set-up, and notes why in one line.
func (p *plan) leaveSetup(files []string, why string) {
	p.Exclude = append(p.Exclude, files...)
	p.note("%s: left out, %s", someFiles(files), why)
}

// someFiles returns the name of a file, or the number of several files with the first name.
func someFiles(files []string) string {
	if len(files) == 1 {
		return files[0]
	}

	return countOf(len(files)) + " (first " + files[0] + ")"
}

// takeWindOff proposes the recordings without wind as the tare of a balance. It proposes nothing and returns false if
// the names do not show which of them belong to which runs.
func (p *plan) takeWindOff() bool {
	before, after := vocabulary.SplitBeforeAfter(p.windOff)
	file, isClear := p.tarePattern(before)
	fileAfter := ""
	if isClear && len(after) > 0 {
		fileAfter, isClear = p.tarePattern(after)
	}

	if !isClear {
		return false
	}

	p.TareFile = file
	p.TareAfter = fileAfter
	p.setupFiles = append(p.setupFiles, p.windOff...)
	p.note("%s of the zero without wind, by the names: balance.tare; the zero is taken to be the same at all angles",
		countAre(len(p.windOff), "recording"))

	return true
}

// tarePattern returns the name of the only file, or the pattern of the names of several files. The fields of the
// pattern are conditions of the runs, whose values give each run its own file. tarePattern returns false if the names
// differ in something that is not a condition of the runs, or if one of the names does not fit the pattern.
func (p *plan) tarePattern(files []string) (string, bool) {
	if len(files) == 1 {
		return files[0], true
	}

	names := role.ReadNames(files)
	conditions := p.sheet.WithRole(role.Input, role.Thing, role.Day)
	for _, column := range names.Columns {
		if column.CountDistinct() < 2 {
			continue // the pattern has its text as it is
		}

		i := slices.IndexFunc(conditions, func(c *role.Column) bool { return c.Name == column.Name })
		if i < 0 {
			return "", false
		}

		column.Role = conditions[i].Role
		if column.Role != role.Input {
			column.Values = nil // a thing or a day is a field of text, even if its names are numbers
		}
	}

	text := names.Pattern()

	return text, text != "" && len(names.Lacking) == 0
}
