package vocabulary

import (
	"path"
	"regexp"
)

// windOffWords is an expression of the words of recordings without wind of a balance.
const windOffWords = `(?:tare?s?|tara|zero|null(?:messung|punkt|wert)?|wind[-_ ]?(?:off|aus)|` +
	`(?:ohne|no|sans|senza|sin|zonder)[-_ ]?(?:wind|vento|viento|vent))`

// What the name of a file says about its purpose. Recordings without wind have names such as tare1_m2_u20.txt,
// Nullmessung_vor_u20.csv and wind-off.dat.
var (
	// WindOff matches names of recordings without wind of a balance.
	WindOff = regexp.MustCompile(`(?i)(^|[^\pL])` + windOffWords + `([^\pL]|$)`)
	// Background matches names of recordings of a background.
	Background = regexp.MustCompile(`(?i)(^|[^\pL])(background|hintergrund(ger[äa]e?usch)?|ambient|noise[-_ ]?floor|` +
		`quiet|leerkanal|empty[-_ ]?tunnel|bruit[-_ ]?de[-_ ]?fond|rumore[-_ ]?di[-_ ]?fondo|ruido[-_ ]?de[-_ ]?fondo)` +
		`([^\pL]|$)`)

	// before and after are words behind the word of a recording without wind. They tell recordings before the runs from
	// recordings after them.
	before = Whole(`before|pre|start|begin|first|vor(her)?|anfang|beginn|avant|prima|antes|1|a`)
	after  = Whole(`after|post|end|last|nach(her)?|ende|apr[èe]s|dopo|despu[ée]s|2|b`)

	// SetUp matches names of a matrix and of a table of microphones, without their endings.
	SetUp = regexp.MustCompile(`(?i)matri[xz]|^(mic|mik)[^0-9]*$`)

	// Prose matches the names of files that are not recordings, although their endings are of recordings.
	Prose = regexp.MustCompile(`(?i)^(readme|licen[cs]e)`)

	// Log matches names of tables of conditions.
	Log = regexp.MustCompile(`(?i)condition|proto[ck]oll?|logbook|(^|[-_ ])log([-_ .]|$)`)

	// Copies matches names of copies, as programs and people make them. A copy may also have another name.
	Copies = Whole(`.*((?:\b|_)cop(y|ie)|kopie|backup|\(\d+\)|~).*`)
)

// SplitBeforeAfter splits recordings without wind into recordings from before and from after the runs. If a name does
// not tell, or all are from after the runs, it returns all files as earlier.
func SplitBeforeAfter(files []string) (earlier, later []string) {
	for _, file := range files {
		switch place := placeOf(file); {
		case after.MatchString(place):
			later = append(later, file)
		case before.MatchString(place):
			earlier = append(earlier, file)
		default:
			return files, nil
		}
	}

	if len(earlier) == 0 {
		return files, nil
	}

	return earlier, later
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
