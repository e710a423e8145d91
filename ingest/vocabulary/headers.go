package vocabulary

import "regexp"

// Expressions of words, for patterns of other packages that search for these words inside longer texts.
const (
	// NominalWords tell that a value was set: rpm_soll.
	NominalWords = `nom|nominal|set|setpoint|command|commanded|cmd|target|soll|sollwert|demand`

	// MeasuredWords tell that a value was read: rpm_mean.
	MeasuredWords = `meas|measured|mean|avg|average|act|actual|true|corr|corrected|ist|gemessen`

	// GermanAirWords are German words of the state of the air that may be compounds: Luftdruck.
	GermanAirWords = `(?:luft|raum|umgebungs)?(?:temperatur|druck|feuchte)`

	// RunWords name or count the runs of a campaign: Lauf 3.
	RunWords = `run|lauf|test|versuch|messung|trial|tow|take|essai`

	angles = `alpha|alfa|aoa|α|angle|incidence|theta|θ|phi|φ|beta|β|psi|ψ|pitch|yaw|roll|tilt|sideslip|d[ée]rapage|` +
		`(anstell|schiebe|gier|nick|roll)?winkel|incidenza|incidencia|angolo|[áa]ngulo|(invals)?hoek|az|azimuth|` +
		`el|elev|elevation`

	settings = NominalWords + `|` + angles + `|rpm|rps|n|blades|tsr|` +
		`mach|[uv](_?(inf|ref)|∞)?|speed|velocity|airspeed|throttle|pwm|esc|` +
		`advance|j|frequency|freq|re|reynolds|flap|elevator|aileron|rudder|sweep|pos|position|drehzahl|geschwindigkeit|` +
		`gap|spacing|distance|height|radius|diameter|vitesse|` +
		`velocidad|velocit[àa]|snelheid|r[ée]gime|tours|giri|toerental`
)

// Words of headers, and of names of channels and files. HasWord looks for them; it compares single letters only with
// whole names.
var (
	// Inputs are words of conditions that people set, such as rpm, Anstellwinkel and throttle, words for set values, and
	// words of things.
	Inputs = Whole(settings + `|propeller|prop|motor|wing|h[ée]lice|elica`)

	// Settings are the words of Inputs without things: the current of a motor is not set.
	Settings = Whole(settings)

	// Swept are words of settings that stay set points if they were read while they were swept: angles, and others that
	// are rarely read for their own sake. A speed may be read while it is constant.
	Swept = Whole(angles + `|j|advance|tsr|throttle|pwm|esc|flap|elevator|aileron|rudder`)

	// Outcomes are words of quantities that are measured in order to be predicted: loads, coefficients and levels.
	Outcomes = Whole(`lift|drag|thrust|torque|force|moment|c[ldmtpqxyz]|k[tq]|f[xyz]|m[xyz]|o?a?spl|level|noise|` +
		`efficiency|u?rms|auftrieb|widerstand|schub|drehmoment|kraft|portance|tra[îi]n[ée]e|pouss[ée]e|couple|effort|` +
		`portanza|resistenza|spinta|coppia|forza|sustentaci[óo]n|resistencia|arrastre|empuje|fuerza`)

	// Uncertainties are words of the spread of another column.
	Uncertainties = Whole(`std|sd|sigma|unc|uncertainty|dof|err|error|sem|var|variance|ci`)

	// Nominal are words of values as they were set: rpm_soll.
	Nominal = Whole(NominalWords)

	// Measured are words of values as they were read: rpm_mean.
	Measured = Whole(MeasuredWords)

	// Counters are words of numbers that count runs and do not say what was measured.
	Counters = Whole(RunWords + `|` + RepeatWords + `|rec|recording|nr|no|num|number|nummer|lfd|idx|index|` +
		`id|#|part|copy|measurement|meas|mesure|prova|misura|ensayo|medici[óo]n|proef|track|file|audio|sample|` +
		`point|messpunkt|seq|serial|case`)

	// Runs are words of runs.
	Runs = Whole(RunWords)

	// Points are words of numbers that count the points of a run rather than runs.
	Points = Whole(`id|idx|index|#|part|sample|point|messpunkt|seq|track`)

	// RunSeries are words before a letter that counts runs: sweep_a.
	RunSeries = Whole(RunWords + `|` + RepeatWords + `|sweep|polare?|series?|(mess)?reihe|rec|recording|measurement`)

	// RunNames are words of texts that name a run.
	RunNames = Whole(`run|id|name|test|tow|trial|case|point|label|file`)

	// Days are words of occasions: days, sessions and mountings.
	Days = Whole(`day|date|datum|tag|messtag|jour|dag|fecha|giorno|d[íi]a|session|sitzung|occasion|` +
		`(re)?mount(ing)?|einbau|montage|montaggio|montaje`)

	// Clocks are words of times.
	Clocks = Whole(`time|zeit|uhrzeit|timestamp|stamp|clock|millis`)

	// Corrections are words of kinds of values, before and after a correction or a filter. Two kinds of one run are not
	// two measurements.
	Corrections = Whole(`(un|not[-_ ]?|non[-_ ]?)?(corr|corrected|unc|korr|korrigiert|corrig[ée]e?s?|corrett[oaie]|` +
		`corregid[oa]s?|filtered|gefiltert|processed)|correction|korrektur|raw|roh(daten|werte?)?|brute?s?|grezz[oaie]|` +
		`sin[-_ ]corregir`)

	// Remarks are words of columns that describe a row and are no condition, such as comments, names of people and flags.
	Remarks = Whole(`remar(k|que)s?|comment(aire)?s?|notes?|notas|observaciones|osservazioni|bem|bemerkung(en)?|anm|` +
		`anmerkung(en)?|kommentar|operator|observer|bearbeiter|weather|wetter|flags?|quality|valid|status|samples|averages`)

	// Air are words of the state of the air and of the electric supply.
	Air = Whole(`temp|temperature|t(amb|air|room|s|t|0)|` + GermanAirWords + `|amb(ient)?|` +
		`(?-i:q)|qinf|rho|density|dichte|pressure|p(_?amb|atm|0)|baro|barometer|humidity|rh|viscosity|nu|` +
		`[uv]_?bat(t?|tery)|batt(ery)?|supply`)

	// AirUnit matches headers with units of the state of the air: T (°C), p_hPa.
	AirUnit = Whole(`.*[_ \[(]((deg_?|°)?c|k|hpa|mbar|kg/?m(3|³|\^3))[\])]? ?`)

	// Objects are words of things that are measured.
	Objects = Whole(`(air|aero)foil|module?|cell|zelle|specimen|nozzle|düse|pump|pumpe|cataly(st|zer)|katalysator|` +
		`material|coating|cylinder|body|device|surface|geometry`)

	// Parts are words of objects that also name numbers of rows: sample, part.
	Parts = Whole(`sample|part|serial|id`)
)

// Forms of whole headers and texts.
var (
	// SerialNumber matches headers of serial numbers: s/n, Seriennummer.
	SerialNumber = Whole(`(.*[ _.-])?(s/?n|ser(ial|ien)?[ _.-]*(nr|no|num|number|nummer|)\.?|.* d[ei] s[ée]rie)`)

	// Weekday matches names of weekdays and numbered days: Montag, day 2.
	Weekday = Whole(`(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?|mo|di|mi|do|fr|sa|so|` +
		`(mon|diens|donners|frei|sams|sonn)tag|mittwoch|(lun|mar|mercre|jeu|vendre|same)di|dimanche|` +
		`(day|tag|jour)[ _-]?\d+`)

	// Date matches days as numbers: 2024-05-03, 3.5.24.
	Date = Whole(`\d{4}[-_./]?\d{2}[-_./]?\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}`)

	// Corrected matches a text that ends in a word of a correction: R1_corr. Its group is the text before that word.
	Corrected = regexp.MustCompile(`(?i)^(.*?[^-_ .(])[-_ .(]+((un)?corr(ected)?|(un)?korr(igiert)?|raw|roh)\)?$`)

	// Spread matches the header of an uncertainty, such as u_CL, dCD and CL ±. One of its three groups is the outcome.
	Spread = regexp.MustCompile(`^(?:[uU]\d*|s|d|σ|Δ)(?:[_ ](.+)|(.{2,}))$|^(.+?) ?(?:±|\+/-)$`)
)

// Words and forms of names of channels.
var (
	// Sound are words of outcomes that may name microphones.
	Sound = Whole(`o?a?spl|level|noise|rms`)

	// Tachometer matches names of channels of a tachometer.
	Tachometer = regexp.MustCompile(`(?i)tacho|keyphas`)

	// Place matches headers of places, such as taps of a wing.
	Place = Whole(`[xyzr](/[cdb]|_[cdb])?|pos(ition)?|station|tap|port|chord|span|azimuth`)

	// PairMember matches the header of one of several measured values of an outcome: CT_1, SPL run2.
	PairMember = regexp.MustCompile(`(?i)^(.+?)(?:[ _]|[ _-]+(?:run|rep|repeat|take|trial|lauf|day|tag)[ _-]?)([0-9]+)$`)
)

// LiftAndDrag has lift and drag by the usual names of their channels in lower case, without units.
var LiftAndDrag = map[string]string{
	"lift": "lift", "fz": "lift", "l": "lift", "drag": "drag", "fx": "drag", "d": "drag",
}

// Loads has the outcomes of a balance by the names of the rows of its matrix, in lower case.
var Loads = map[string]string{"fx": "fx_n", "fz": "fz_n", "my": "my_nm"}
