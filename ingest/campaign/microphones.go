package campaign

import (
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/format/text"
)

// microphoneHeads are headers of tables of microphones in several languages, by the program's names. They match the
// words of a header without its unit.
var microphoneHeads = []struct {
	name string
	head *regexp.Regexp
}{
	{"channel", regexp.MustCompile(`(?i)^(channel|kanal|canal|canale|kanaal|voie|ch|chan)` + numberWords)},
	{"channel", regexp.MustCompile(`(?i)^(mic|mik|mike|mikro|micro|mi[ck]rophone|mikrofon|mikrophon|microfono|` +
		`micr[óo]fono|microfoon)` + numberWords)},
	{"sensitivity_v_per_pa", regexp.MustCompile(`(?i)^(sensitivity|empfindlichkeit|übertragungsfaktor|sensibilit[ée]|` +
		`sensibilit[àa]|sensibilidad|gevoeligheid)$`)},
	{"gain_db", regexp.MustCompile(`(?i)^(gain|verst[äa]e?rkung|amplification|amplificazione|ganancia|guadagno|` +
		`versterking)$`)},
	{"theta_deg", regexp.MustCompile(`(?i)^(winkel|angle|angolo|[áa]ngulo|hoek|polar angle|polarwinkel) *` +
		`(zur?|to|from|off|von|gegen|à|avec|de|par rapport à|dall'|con|rispetto all'|desde|al?|del|respecto al?|` +
		`van|vanaf|tot|met|ten opzichte van) *` +
		`(the |der |die |l'|el |de |het )?` +
		`((rotor|dreh|draai)? ?` + axisWords + `|rotor plane|plane|rotorebene|ebene|drehebene|vlak|rotorvlak)` +
		rotorWords + `$`)},
}

// numberWords matches the words behind a channel that say that the column has its number or its name.
const numberWords = `([ ._-]*(no|nr|n°|num|nummer|number|num[ée]ro|n[úu]mero|numero|name|nom|nombre|nome|id|#)\.?)?$`

const (
	axisWords  = `(axis|achse|axe|asse|eje|as)`
	rotorWords = `( (of rotation|du rotor|del rotore?|van de rotor))?`
)

// axisHead matches headers of angles that are counted from the axis.
var axisHead = regexp.MustCompile(`(?i)(axis|achse|axe|asse|eje|(\b|rotor|draai)as)` + rotorWords + `$`)

// MicrophoneColumns returns the headers of a table of microphones that the program knows, by its names. Headers that
// are the program's names already, or that the map given contains, are not in it.
func MicrophoneColumns(heads []string, given map[string]string) map[string]string {
	columns := map[string]string{}
	for _, known := range microphoneHeads {
		isNamed := func(head string) bool { return strings.EqualFold(bareHead(head), bareHead(known.name)) }
		_, isGiven := given[known.name]
		_, isFound := columns[known.name]
		if isGiven || isFound || slices.ContainsFunc(heads, isNamed) {
			continue
		}

		i := slices.IndexFunc(heads, func(head string) bool { return known.head.MatchString(bareHead(head)) })
		if i >= 0 {
			columns[known.name] = heads[i]
		}
	}

	return columns
}

// IsFromAxis reports whether the header of an angle says that the angle is counted from the axis.
func IsFromAxis(head string) bool { return axisHead.MatchString(bareHead(head)) }

// bareHead returns a header without its unit, with blanks between its words.
func bareHead(head string) string {
	bare, _ := text.SplitUnit(head)
	return strings.ReplaceAll(bare, "_", " ")
}
