package scaffold

import (
	"path"
	"regexp"
	"strings"

	"doubletake/ingest/campaign"
)

// Recordings without wind have names such as tare1_m2_u20.txt, Nullmessung_vor_u20.csv and wind-off.dat. They are of
// all runs, or each is of the runs that have the conditions in its name. Recordings of a background are found in the
// same way, by words such as background and quiet.

// windOffWords matches the words of recordings without wind of a balance.
const windOffWords = `(?:tare?s?|tara|zero|null(?:messung|punkt|wert)?|wind[-_ ]?(?:off|aus)|` +
	`(?:ohne|no|sans|senza|sin|zonder)[-_ ]?(?:wind|vento|viento|vent))`

var (
	// windOffName matches names of recordings without wind of a balance.
	windOffName = regexp.MustCompile(`(?i)(^|[^\pL])` + windOffWords + `([^\pL]|$)`)
	// backgroundName matches names of recordings of a background.
	backgroundName = regexp.MustCompile(`(?i)(^|[^\pL])(background|hintergrund(ger[äa]e?usch)?|ambient|noise[-_ ]?floor|` +
		`quiet|leerkanal|empty[-_ ]?tunnel|bruit[-_ ]?de[-_ ]?fond|rumore[-_ ]?di[-_ ]?fondo|ruido[-_ ]?de[-_ ]?fondo)` +
		`([^\pL]|$)`)
	// beforeWords and afterWords tell recordings before runs from recordings after them.
	beforeWords = lazy(`before|pre|start|begin|first|vor(her)?|anfang|beginn|avant|prima|antes|1|a`)
	afterWords  = lazy(`after|post|end|last|nach(her)?|ende|apr[èe]s|dopo|despu[ée]s|2|b`)
)

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

// splitSetup takes the recordings without wind and of the background from the files of a campaign without a log, and
// returns the others. A log names such recordings itself.
func (p *plan) splitSetup(files []string) []string {
	if p.Conditions != "" {
		return files
	}

	p.windOff, files = splitByName(files, windOffName)
	p.backgrounds, files = splitByName(files, backgroundName)

	return files
}

// placeSetup puts the recordings without wind and of the background to use, after the channels and conditions of the
// recordings are known.
func (p *plan) placeSetup() {
	switch {
	case p.Spectra:
		p.takeBackgrounds(append(p.backgrounds, p.windOff...))
	case len(p.backgrounds) > 0:
		p.leaveSetup(p.backgrounds, "recordings of a background are for microphones")
	}

	if p.Spectra || len(p.windOff) == 0 {
		return
	}

	if isClear := p.takeWindOff(); !isClear {
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

// takeWindOff proposes the tare of a balance, and reports whether the names show which recordings without wind belong
// to which runs.
func (p *plan) takeWindOff() bool {
	before, after := splitBeforeAfter(p.windOff)
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

// splitBeforeAfter returns the recordings without wind before and after the runs. If the names do not tell them apart,
// all are before.
func splitBeforeAfter(files []string) (before, after []string) {
	for _, file := range files {
		switch place := placeOf(file); {
		case afterWords.MatchString(place):
			after = append(after, file)
		case beforeWords.MatchString(place):
			before = append(before, file)
		default:
			return files, nil
		}
	}

	if len(before) == 0 {
		return files, nil
	}

	return before, after
}

// afterWindOff matches the number or the word behind a word of recordings without wind: tare1, zero_after. There must
// be a sign before a word, because the end of nullmessung is not a word behind null.
var afterWindOff = regexp.MustCompile(`(?i)(?:^|[^\pL])` + windOffWords + `(?:[-_ ]?(\d+)|[-_ ](\pL+))`)

// placeOf returns the word in a name that may tell whether a recording was made before or after the runs.
func placeOf(file string) string {
	m := afterWindOff.FindStringSubmatch(path.Base(file))
	if m == nil {
		return ""
	}

	number, word := m[1], m[2]

	return number + word
}

// tarePattern returns the name of a recording without wind, or the pattern that gives each run its own. It returns
// false if the names state other conditions than the names of the runs, or if one of them does not fit the pattern.
func (p *plan) tarePattern(files []string) (string, bool) {
	if len(files) == 1 {
		return files[0], true
	}

	names := nameSheet(files)
	known := map[string]bool{}
	for _, column := range p.sheet.withRole(input, thing, day) {
		known[column.name] = true
	}

	for _, column := range names.fields {
		if column.countDistinct() < 2 {
			continue
		}

		own := p.sheet.byName(column.name)
		if !known[column.name] || own == nil {
			return "", false
		}

		column.role = own.role
		if own.role != input {
			column.values = nil
		}
	}

	text := names.pattern()

	return text, text != "" && len(names.lacking) == 0
}
