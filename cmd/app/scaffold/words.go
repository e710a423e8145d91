package scaffold

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used.
type pattern func() *regexp.Regexp

// lazy returns a pattern that matches whole texts, in upper or lower case.
func lazy(expr string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:` + expr + `)$`) })
}

// MatchString reports whether the pattern matches a text.
func (p pattern) MatchString(s string) bool { return p().MatchString(s) }

// Words of headers and names, in the languages of laboratories. hasWord compares single letters only with whole names.
var (
	inputWords = lazy(`rpm|rps|n|blades|alpha|aoa|α|angle|incidence|theta|θ|phi|beta|psi|pitch|yaw|roll|tsr|` +
		`mach|[uv](_?(inf|ref)|∞)?|speed|velocity|airspeed|throttle|pwm|esc|nom|nominal|set|setpoint|command|cmd|` +
		`advance|j|frequency|freq|re|reynolds|flap|elevator|aileron|rudder|sweep|pos|position|drehzahl|geschwindigkeit|` +
		`anstellwinkel|winkel|propeller|prop|motor|wing|gap|spacing|distance|height|radius|diameter|vitesse|` +
		`velocidad|velocit[àa]|snelheid|r[ée]gime|tours|giri|incidenza|incidencia|angolo|[áa]ngulo|invalshoek|` +
		`toerental|h[ée]lice|elica|az|azimuth|el|elev|elevation|tilt`)
	outcomeWords = lazy(`lift|drag|thrust|torque|force|moment|c[ldmtpqxyz]|k[tq]|f[xyz]|m[xyz]|o?a?spl|level|noise|` +
		`efficiency|u?rms|auftrieb|widerstand|schub|drehmoment|kraft|portance|tra[îi]n[ée]e|pouss[ée]e|couple|effort|` +
		`portanza|resistenza|spinta|coppia|forza|sustentaci[óo]n|resistencia|arrastre|empuje|fuerza`)
	uncertaintyWords = lazy(`std|sd|sigma|unc|uncertainty|dof|err|error|sem|var|variance|ci`)

	// nominalWords are words of values as they were set, measuredWords of values as they were read.
	nominalWords  = lazy(`nom|nominal|set|setpoint|command|commanded|cmd|target|soll|sollwert|demand`)
	measuredWords = lazy(`meas|measured|mean|avg|average|act|actual|true|corr|corrected|ist|gemessen`)

	// countWords are words of numbers that count runs and do not say what was measured.
	countWords = lazy(`run|rep|repeat|repetition|take|rec|recording|test|trial|nr|no|num|number|nummer|lfd|idx|index|` +
		`id|#|part|copy|measurement|meas|messung|lauf|versuch|wdh|wiederholung|essai|mesure|prova|misura|ensayo|` +
		`medici[óo]n|proef|track|file|audio|sample|point|messpunkt|seq|serial|tow|case`)
	runNameWords = lazy(`run|id|name|test|tow|trial|case|point|label|file`)
	dayWords     = lazy(`day|date|datum|tag|messtag|jour|dag|fecha|giorno|d[íi]a|session|sitzung|occasion|` +
		`(re)?mount(ing)?|einbau|montage|montaggio|montaje`)
	clockWords  = lazy(`time|zeit|uhrzeit|timestamp|stamp|clock|millis`)
	remarkWords = lazy(`remar(k|que)s?|comment(aire)?s?|notes?|notas|observaciones|osservazioni|bem|bemerkung(en)?|anm|` +
		`anmerkung(en)?|kommentar|operator|observer|bearbeiter|weather|wetter|flags?|quality|valid|status|samples|averages`)

	// airWords are words of the state of the air and of the electric supply, airUnit matches headers with its units.
	airWords = lazy(`temp|t(amb|air|room|s|t|0)|(luft|raum|umgebungs)?(temperature?|druck|feuchte)|amb(ient)?|` +
		`(?-i:q)|qinf|rho|density|dichte|pressure|p(_?amb|atm|0)|baro|barometer|humidity|rh|viscosity|nu|` +
		`[uv]_?bat(t?|tery)|batt(ery)?|supply`)
	airUnit = lazy(`.*[_ \[(]((deg_?|°)?c|k|hpa|mbar|kg/?m(3|³|\^3))[\])]? ?`)

	// objectWords are words of things that are measured. partWords are such words that also number rows.
	objectWords = lazy(`(air|aero)foil|module?|cell|zelle|specimen|nozzle|düse|pump|pumpe|cataly(st|zer)|katalysator|` +
		`material|coating|cylinder|body|device|surface|geometry`)
	partWords = lazy(`sample|part|serial|id`)
)

// Forms of whole headers and texts.
var (
	serialHead  = lazy(`(.*[ _.-])?(s/?n|ser(ial|ien)?[ _.-]*(nr|no|num|number|nummer|)\.?|.* d[ei] s[ée]rie)`)
	weekdayText = lazy(`(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?|mo|di|mi|do|fr|sa|so|` +
		`(mon|diens|donners|frei|sams|sonn)tag|mittwoch|(lun|mar|mercre|jeu|vendre|same)di|dimanche|` +
		`(day|tag|jour)[ _-]?\d+`)
	dateText = lazy(`\d{4}[-_./]?\d{2}[-_./]?\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}`)

	// spreadOf matches the header of an uncertainty, such as u_CL, dCD and CL ±. One of its three groups is the outcome.
	spreadOf = regexp.MustCompile(`^(?:[uU]\d*|s|d|σ|Δ)(?:[_ ](.+)|(.{2,}))$|^(.+?) ?(?:±|\+/-)$`)
)

// Parts of headers.
var (
	anyWord = regexp.MustCompile(`\pL+|#`)
	unitEnd = regexp.MustCompile(`(?i)_(mm|cm|m|deg|m_s|mps|rpm|n|pa|hz|c|k)$`)
)
