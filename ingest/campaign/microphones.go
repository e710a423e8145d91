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
	{"theta_deg", regexp.MustCompile(`(?i)^(winkel|angle|angolo|[áa]ngulo|hoek|polar angle|polarwinkel)[ _]*` +
		`(zur?|to|from|off|von|à|de|par rapport à|dall'|desde|con)[ _]*(the |der |die |l')?` +
		`(axis|achse|rotorachse|drehachse|rotor axis|l'axe|axe|asse|eje|rotor plane|plane|rotorebene|ebene|drehebene)$`)},
}

// numberWords matches the words behind a channel that say that the column has its number or its name.
const numberWords = `([ ._-]*(no|nr|n°|num|nummer|number|num[ée]ro|n[úu]mero|numero|name|nom|nombre|nome|id|#)\.?)?$`

// axisHead matches headers of angles that are counted from the axis.
var axisHead = regexp.MustCompile(`(?i)(achse|axis|axe|asse|eje)$`)

// MicrophoneColumns returns the headers of a table of microphones that the program knows, by its names. Headers that
// are the program's names already, or that the map given contains, are not in it.
func MicrophoneColumns(heads []string, given map[string]string) map[string]string {
	columns := map[string]string{}
	for _, known := range microphoneHeads {
		isNamed := func(head string) bool { return strings.EqualFold(bareHead(head), known.name) }
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

// bareHead returns a header without its unit.
func bareHead(head string) string {
	bare, _ := text.SplitUnit(head)
	return bare
}
