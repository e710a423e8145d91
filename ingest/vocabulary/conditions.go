package vocabulary

import (
	"strings"

	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
)

// StandardNames has the names of conditions in this program by the words of file names and attributes, in lower case.
var StandardNames = map[string]string{
	"a": "alpha_deg", "alpha": "alpha_deg", "aoa": "alpha_deg", "angle": "alpha_deg", "α": "alpha_deg",
	"winkel": "alpha_deg", "angolo": "alpha_deg", "angulo": "alpha_deg", "ángulo": "alpha_deg", "alfa": "alpha_deg",
	"incidence": "alpha_deg", "u": "u_inf_m_s", "v": "u_inf_m_s", "speed": "u_inf_m_s", "vel": "u_inf_m_s",
	"uinf": "u_inf_m_s", "velocity": "u_inf_m_s", "b": "blades", "blades": "blades", "rpm": "rpm", "theta": "theta_deg",
	"phi": "phi_deg", "alpha_deg": "alpha_deg", "u_inf_m_s": "u_inf_m_s", "theta_deg": "theta_deg", "phi_deg": "phi_deg",
}

// ConditionIn returns the program's name of a condition for the last word of a text that has one, or "". Single
// Latin letters have too many meanings.
func ConditionIn(text string) string {
	name := ""
	for _, word := range anyWord.FindAllString(text, -1) {
		if standard := StandardNames[strings.ToLower(word)]; standard != "" && len(word) > 1 {
			name = standard
		}
	}

	return name
}

// IsKnown reports whether a word before a number names the quantity: a condition, or a count of runs.
func IsKnown(word string) bool {
	return StandardNames[strings.ToLower(word)] != "" || Counters.MatchString(word) || Inputs.MatchString(word)
}

// Term is a condition that the program knows, and the headers that mean it.
type Term struct {
	Name    string  // the program's name of the condition
	Unit    string  // a unit of the same dimension; "": numbers without a unit
	Headers Pattern // matches headers in logs
}

// terms are the conditions that the program knows in logs.
var terms = []Term{
	{"rpm", "1/min", Whole(`(soll|ist|nenn)?drehzahl|n|((shaft|rotor|motor|prop|propeller|fan|rotational) )?(speed|rpm)|` +
		`umdrehungen|r[ée]gime|tours|(vitesse|velocidad|velocit[àa])( (de|di) (rotation|giro|rotación|rotazione))?|giri|` +
		`speed rpm|revoluciones|toerental`)},
	{"u_inf_m_s", "m/s", Whole(`[uv]([_ ]?(inf|∞))?|(((wind)?[- ]?tunnel|air|wind|flow) ?)?(speed|velocity)|` +
		`free[- ]?stream (speed|velocity)|wind|(wind)?snelheid|(wind|anström)?geschwindigkeit|anströmung|` +
		`(vitesse|velocidad|velocit[àa])( ((du|de|del|dell['’]) ?\pL+|(d|de l)['’](air|[ée]coulement)))?`)},
	{"alpha_deg", "deg", Whole(`a|α|alpha|alfa|aoa|angle of attack|incidence|anstellwinkel|incidenza|incidencia|` +
		`angle d['’](attaque|incidence)|angolo (di |d['’])attacco|[áa]ngulo de ataque|invalshoek|` +
		`angle|winkel|angolo|[áa]ngulo|hoek`)}, // as in names of files
	{"theta_deg", "deg", Whole(`θ|theta|polar angle|polarwinkel|mic angle|microphone angle|mikrofonwinkel`)},
	{"blades", "", Whole(`blades|blade count|number of blades|no\.? of blades|blätter|blattzahl|schaufeln|` +
		`schaufelzahl|flügel|flügelzahl|(nombre de |n[úu]mero de |numero di )?pal(e|es|as)`)},
}

// Edges are the times in seconds between which a row of a log is about its recording.
var Edges = []Term{
	{"t0_s", "s", edge("0", "start|begin", "from|von|anfang|beginn")},
	{"t1_s", "s", edge("1", "end|stop", "to|until|bis|ende")},
}

// edge returns the pattern of the headers of a time: a digit or a word with t or time before it, as t0 and time_start,
// or one of the words before time, as start_time. nouns are the words that may be before time.
func edge(digit, nouns, others string) Pattern {
	return Whole(`((t(ime)?[_ ]?)?` + digit + `[ _(\[]*|((t(ime)?[_ ]?)?(` + nouns + `|` + others + `)|(` + nouns +
		`)[_ ]?time)([ _(\[]+|$))((s|sec|seconds)[)\]]?)?`)
}

// anySpeed are headers of a speed of the air or of a shaft: only the unit tells them apart.
var anySpeed = Whole(`speed|vitesse|velocidad|velocit[àa]|snelheid`)

// BareHead returns the words of a header without its unit, and without words such as nominal and measured.
func BareHead(head string) string {
	name, _ := text.SplitUnit(head)
	var left []string
	for _, word := range strings.FieldsFunc(name, isSeparator) {
		if !Nominal.MatchString(word) && !Measured.MatchString(word) {
			left = append(left, word)
		}
	}

	return strings.Join(left, " ")
}

// isSeparator reports whether a character separates the words of a header.
func isSeparator(r rune) bool { return strings.ContainsRune("_ ()[]", r) }

// TermOf returns the program's name of the condition in a column of a log, or "" if the program knows none. unit is the
// unit of the column, "" if it has none. A single Latin letter without a unit has no meaning, but n_soll is a set
// speed of a shaft.
func TermOf(name, unit string) string {
	words := BareHead(name)
	for _, t := range terms {
		isCalled := t.Headers.MatchString(words) || t.Headers.MatchString(name)
		if name == t.Name || isCalled && t.fitsUnit(name, words, unit) {
			return t.Name
		}
	}

	return ""
}

// fitsUnit reports whether the unit of a column may be a unit of the term. name is the name of the column, and words
// are its words without nominal, measured and the like. A term without a unit fits any column. A column without a unit
// fits any term, unless its words are a speed of any kind or a single Latin letter. The letter n fits if name has
// further words, as n_soll and N_soll.
func (t Term) fitsUnit(name, words, unit string) bool {
	isLetter := len(words) == 1
	isQualifiedN := strings.EqualFold(words, "n") && words != name
	switch {
	case t.Unit == "":
		return true
	case unit != "":
		_, err := units.ToName(t.Name, unit)
		return err == nil
	case anySpeed.MatchString(words):
		return false
	}

	return !isLetter || isQualifiedN
}
