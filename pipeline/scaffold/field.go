package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// role is what a column of a table, or a part of the names, is proposed for.
type role string

const (
	open    role = ""
	input   role = "input"
	outcome role = "outcome"
	runs    role = "run"
	day     role = "day"
	thing   role = "thing"
	remark  role = "remark"
	leftOut role = "left out"
)

// field is a column, or what the names state at one place, in all rows.
type field struct {
	name, head, unit string // as proposed, as written, its unit
	texts            []string
	values           []float64            // NaN: not stated; nil: texts that are no numbers
	points           *condition.SetPoints // about which the values scatter; nil: they do not
	role             role
	why              string
	reading          string // of names, and another that they may have
	given            bool   // by the names of the files, in a table of results
	known            bool   // it has a name of the program
}

// sheet is the rows that a source of conditions has.
type sheet struct {
	rows   int
	from   string // "the names", or a file
	fields []*field
	narrow bool // columns of few values close together may be inputs: there are no others

	file  []int // of each row of a table of results
	clock string

	names [][]piece         // of each row; nil unless it has what the names state
	files []string          // likewise
	odd   map[string]string // what the names of other files lack
}

// pattern is a regular expression that is compiled when it is first used.
type pattern func() *regexp.Regexp

func lazy(expr string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:` + expr + `)$`) })
}

func (p pattern) MatchString(s string) bool { return p().MatchString(s) }

// Words of headers and names, in the languages of laboratories. A single letter counts where it is the whole.
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
	spread  = lazy(`std|sd|sigma|unc|uncertainty|dof|err|error|sem|var|variance|ci`)
	nominal = lazy(`nom|nominal|set|setpoint|command|commanded|cmd|target|soll|sollwert|demand`)
	actual  = lazy(`meas|measured|mean|avg|average|act|actual|true|corr|corrected|ist|gemessen`)
	// numbering are words of numbers that count runs and say nothing of what was measured.
	numbering = lazy(`run|rep|repeat|repetition|take|rec|recording|test|trial|nr|no|num|number|nummer|lfd|idx|index|` +
		`id|#|part|copy|measurement|meas|messung|lauf|versuch|wdh|wiederholung|essai|mesure|prova|misura|ensayo|` +
		`medici[óo]n|proef|track|file|audio|sample|point|messpunkt|seq|serial|tow|case`)
	names       = lazy(`run|id|name|test|tow|trial|case|point|label|file`)
	dayWords    = lazy(`day|date|datum|tag|messtag|jour|dag|fecha|giorno|d[íi]a|session|sitzung|occasion|mounting`)
	clockWords  = lazy(`time|zeit|uhrzeit|timestamp|stamp|clock|millis`)
	remarkWords = lazy(`remar(k|que)s?|comment(aire)?s?|notes?|notas|observaciones|osservazioni|bem|bemerkung(en)?|anm|` +
		`anmerkung(en)?|kommentar|operator|observer|bearbeiter|weather|wetter|flags?|quality|valid|status|samples|averages`)
	environment = lazy(`temp|t(amb|air|room|s|t|0)|(luft|raum|umgebungs)?(temperature?|druck|feuchte)|amb(ient)?|` +
		`(?-i:q)|qinf|rho|density|dichte|pressure|p(_?amb|atm|0)|baro|barometer|humidity|rh|viscosity|nu|` +
		`[uv]_?bat(t?|tery)|batt(ery)?|supply`)
	airUnit = lazy(`.*[_ \[(]((deg_?|°)?c|k|hpa|mbar|kg/?m(3|³|\^3))[\])]? ?`)

	// objects are words of what is measured; parts are those of them that also number rows.
	objects = lazy(`(air|aero)foil|module?|cell|zelle|specimen|nozzle|düse|pump|pumpe|cataly(st|zer)|katalysator|` +
		`material|coating|cylinder|body|device|surface|geometry`)
	parts   = lazy(`sample|part|serial|id`)
	serial  = lazy(`(.*[ _.-])?(s/?n|ser(ial|ien)?[ _.-]*(nr|no|num|number|nummer|)\.?|.* d[ei] s[ée]rie)`)
	weekday = lazy(`(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?|mo|di|mi|do|fr|sa|so|` +
		`(mon|diens|donners|frei|sams|sonn)tag|mittwoch|(lun|mar|mercre|jeu|vendre|same)di|dimanche|` +
		`(day|tag|jour)[ _-]?\d+`)
	dateText = lazy(`\d{4}[-_./]?\d{2}[-_./]?\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}`)
	words    = regexp.MustCompile(`\pL+|#`)
	spreadOf = regexp.MustCompile(`^(?:[uU]\d*|s|d|σ|Δ)(?:[_ ](.+)|(.{2,}))$|^(.+?) ?(?:±|\+/-)$`)
	unitEnd  = regexp.MustCompile(`(?i)_(mm|cm|m|deg|m_s|mps|rpm|n|pa|hz|c|k)$`)
)

// says reports whether a word of the header is one of those.
func (f *field) says(re pattern) bool {
	whole := unitEnd.ReplaceAllString(f.name, "")
	return re.MatchString(whole) || slices.ContainsFunc(words.FindAllString(f.name+" "+f.head, -1),
		func(w string) bool { return len(w) > 1 && re.MatchString(w) })
}

// isNumbered reports whether all words of the header are of numbers that count: Run_nr.
func (f *field) isNumbered() bool {
	w := words.FindAllString(f.name, -1)
	return len(w) > 0 && !slices.ContainsFunc(w, func(w string) bool { return !numbering.MatchString(w) })
}

// measures reports whether a column has the measured values of another: mean_tsr of tsr_nom, rpm_measured of rpm.
func (f *field) measures(o *field) bool {
	called := o.says(nominal) || f.says(actual) && !o.says(actual)
	return called && !f.says(nominal) && strings.EqualFold(bare(f.head), bare(o.head))
}

// at is the value of a row: its set point where the values scatter about some.
func (f *field) at(i int) float64 {
	if f.points != nil {
		return f.points.At(f.values[i])
	}

	return f.values[i]
}

// stated lists the values of all rows that state one.
func (f *field) stated() []float64 { return slices.DeleteFunc(slices.Clone(f.values), math.IsNaN) }

// unstated reports whether rows that differ in a setting or a thing, or may, would be repeats: some do not state it, or
// it is in the names of the files, and not as run1, a, b, nor a copy.
func (f *field) unstated() bool {
	return f.role == thing && slices.Contains(f.texts, "") ||
		f.given && f.role == remark && (f.why == otherText || f.name == "variant") && f.distinct() < len(f.texts) ||
		f.role == leftOut && f.says(inputWords) && f.distinct() > 1 && len(f.stated()) < len(f.texts) && !f.given ||
		f.why == noRepeats && f.values == nil && f.name != "copy" &&
			slices.ContainsFunc(f.texts, func(t string) bool { return len(t) > 1 })
}

// text is what a row states, a number at its set point; "" of none.
func (f *field) text(i int) string {
	switch {
	case f.values == nil:
		return f.texts[i]
	case f.values[i] != f.values[i]:
		return ""
	}

	return decimal(f.at(i))
}

// distinct is the number of different values that are stated.
func (f *field) distinct() int { return len(f.different()) }

// different lists the different values that are stated, as they come.
func (f *field) different() (all []string) {
	_, all = lists.Index(lists.Make(len(f.texts), f.text))
	return slices.DeleteFunc(all, func(t string) bool { return t == "" })
}

// line states the role of a field, the reason and the first few values.
func (f *field) line() string {
	text := cmp.Or(f.head, f.name)
	if f.name != "" && !strings.HasPrefix(text+" ", f.name+" ") { // the same, or but for its unit
		text = fmt.Sprintf("%s (%s)", f.name, f.head)
	}

	why := f.because()
	if f.points != nil && f.role == input {
		why = fmt.Sprintf("%s; within names them; %s", f.points, f.reading)
	}

	text += strings.TrimRight(fmt.Sprintf(": %s, %s", f.role, why), ", ;")
	few := lists.Each(f.different(), func(t string) string {
		if v, err := strconv.ParseFloat(t, 64); err == nil && f.values != nil && math.Abs(v) < 1e6 {
			t = fmt.Sprintf("%.6g", v)
		}

		return fault.Clip(t)
	})

	if n := len(few); n > 4 {
		few = append(few[:3], fmt.Sprintf("… (%d values)", n))
	}

	return strings.Join(strings.Fields(text+": "+strings.Join(few, ", ")), " ")
}

// reason is the role with why the field has it.
func (f *field) reason() string {
	return strings.TrimSuffix(fmt.Sprintf("%s (%s)", f.role, f.because()), " ()")
}

// because is why the field has its role, and how names are read.
func (f *field) because() string { return strings.Trim(f.why+"; "+f.reading, "; ") }

func (f *field) be(r role, why string) bool { f.role, f.why = r, why; return true }

// read makes a field one of values that were read, not set.
func (f *field) read(r role, why string) bool { f.points = nil; return f.be(r, why) }

// field returns the column of that head, which it makes if there is none.
func (s *sheet) field(head string) *field {
	f, known := lists.Find(s.fields, func(f *field) bool { return f.head == head })
	if known {
		return f
	}

	f = &field{
		name: head, head: head, texts: make([]string, s.rows), values: slices.Repeat([]float64{math.NaN()}, s.rows),
	}
	s.fields = append(s.fields, f)

	return f
}

// has reports whether a column has that name.
func (s *sheet) has(name string) bool { return slices.Contains(headsOf(s.fields), name) }

// states reports whether a condition has that name.
func (s *sheet) states(name string) bool {
	return slices.ContainsFunc(s.fields, func(f *field) bool {
		return f.name == name && (f.role == input || f.role == thing || f.known)
	})
}

// of lists the fields of a role.
func (s *sheet) of(roles ...role) []*field {
	return lists.Keep(s.fields, func(f *field) bool { return slices.Contains(roles, f.role) })
}

// groups lists the rows of equal values in the columns.
func (s *sheet) groups(columns ...*field) [][]int {
	return lists.Alike(lists.Make(s.rows, func(i int) string {
		return strings.Join(lists.Each(columns, func(c *field) string { return c.text(i) }), "\x00")
	}))
}

// paired is the number of rows in groups of two or more.
func paired(groups [][]int) int {
	return len(slices.Concat(lists.Keep(groups, func(g []int) bool { return len(g) > 1 })...))
}

// counts reports whether a column numbers the rows of each file: 0, 1, 2, … or 1, 2, …
func (s *sheet) counts(f *field) bool {
	breaks := func(i int) bool {
		first := i == 0 || s.file != nil && s.file[i] != s.file[i-1]
		return first && f.values[i] != 0 && f.values[i] != 1 || !first && f.values[i] != f.values[i-1]+1
	}

	return s.rows > 3 && f.values != nil && len(lists.Where(s.rows, breaks)) == 0
}

// mostCounted is up to which number one without a word counts repeats: a5_1, a5_2.
const mostCounted = 4

// isCounter reports whether a number in names counts in steps of one: with leading zeros, another in each of a day;
// as r1, r2 for repeats; or as the last number, without a word, from 1.
func (s *sheet) isCounter(f *field) bool {
	first, n, counted := f.counted()
	zero := slices.ContainsFunc(f.texts, func(t string) bool { return len(t) > 1 && t[0] == '0' })
	numbers := lists.Keep(s.fields, isNumber)
	last := len(numbers) > 1 && numbers[len(numbers)-1] == f && strings.HasPrefix(f.name, "condition")

	daily := paired(s.groups(append(s.of(day), f)...)) == 0 && !f.says(inputWords)
	return counted && (zero && (n == s.rows || daily) && n > 2 || f.name == "r" && first <= 1 ||
		last && first == 1 && n <= mostCounted && 2*n <= s.rows)
}

// isIndex reports whether a number without a word in names counts the values of another: 01_alpha0, 02_alpha5.
func (s *sheet) isIndex(f *field) bool {
	_, n, counted := f.counted()
	return s.names != nil && counted && strings.HasPrefix(f.head, "condition") &&
		slices.ContainsFunc(s.fields, func(g *field) bool {
			return !strings.HasPrefix(g.head, "condition") && isNumber(g) && g.distinct() == n && len(s.groups(f, g)) == n
		})
}

// byWords decides what the words, or the form, of a column say for certain.
func (s *sheet) byWords(f *field) bool {
	if s.file != nil && (f.values == nil || f.says(dayWords) || f.says(clockWords)) {
		if days := condition.Days(f.texts); days != nil {
			f.texts, f.values = lists.Each(f.texts, func(t string) string { return days[t] }), nil
		}
	}

	d := f.distinct()
	all := func(p pattern) bool {
		return !slices.ContainsFunc(f.texts, func(t string) bool { return t != "" && !p.MatchString(t) })
	}
	switch {
	case d == 0:
		return f.be(leftOut, "it is empty")
	case f.name == s.clock && 2*d > s.rows:
		return f.be(remark, "the time")
	case f.says(remarkWords):
		return f.be(remark, "")
	case f.says(dayWords) || all(weekday) || f.values == nil && all(dateText):
		if 2*d > s.rows || d < 2 {
			return f.be(remark, "no day has several rows")
		}

		return f.be(day, "")
	case d == 1 && f.values == nil && slices.Contains(f.texts, "") && len(f.different()[0]) < 4: // x in some rows
		return f.be(thing, "")
	case d < 2 && s.rows > 1:
		return f.be(remark, "the same everywhere")
	case s.isIndex(f):
		return f.be(remark, "it numbers the values of another")
	case f.says(clockWords):
		return f.be(remark, "a time")
	case f.says(spread), s.isSpread(f):
		return f.be(leftOut, "an uncertainty, by its name")
	case serial.MatchString(f.head) && !s.counts(f) && !slices.ContainsFunc(f.stated(), isBroken):
		return f.be(map[bool]role{true: thing, false: remark}[2*d <= s.rows], "serial numbers")
	case f.isNumbered() && !(f.values == nil && f.says(parts) && 2*d <= s.rows) &&
		(s.names == nil || !slices.ContainsFunc(f.stated(), isBroken)), s.names != nil && s.isCounter(f),
		s.names == nil && s.counts(f) && !f.says(inputWords):
		return f.be(runs, "it numbers the rows")
	case 2*d <= s.rows && f.numbersThings():
		return f.be(thing, "it numbers them")
	case f.values == nil && (2*d <= s.rows || s.rows == d && !f.given && !slices.ContainsFunc(s.fields, isNumber) ||
		s.names != nil && d <= manyNames):
		begins := f.texts[0] != "" && digit(f.texts[0][0])
		return f.be(thing, map[bool]string{true: "its names begin with numbers"}[begins])
	case f.values == nil:
		return f.be(remark, otherText)
	}

	return false
}

// isAir reports whether a column is called as a state of the air or of the supply.
func (f *field) isAir() bool { return f.says(environment) || airUnit.MatchString(f.head+" "+f.unit) }

// isObject reports whether a column is called as what is measured.
func (f *field) isObject() bool {
	return !strings.HasPrefix(f.name, "mic") &&
		(instances.MatchString(f.name) || f.says(objects) || f.says(parts) || serial.MatchString(f.name))
}

// numbersThings reports whether whole numbers are those of things: wings 1, 2, 3, Prop ID 11, 17, propellers 1045,
// 8045. Other few, and round thousands, may be settings.
func (f *field) numbersThings() bool {
	m, v := numbered().FindStringSubmatch(f.head), f.stated()
	if m == nil && !f.isObject() || f.values == nil || f.unit != "" || slices.ContainsFunc(v, isBroken) {
		return false
	}

	typed := slices.Max(v) >= 1000 && slices.ContainsFunc(v, func(x float64) bool { return math.Mod(x, 50) != 0 })

	first, _, counted := f.counted()

	return counted && first == 1 || m != nil && (m[1] != "" || typed || counted && first == 0)
}

// isBroken reports whether a number counts nothing.
func isBroken(x float64) bool { return x < 0 || x != math.Trunc(x) }

// counted returns the first of the values and the number of different ones, and whether they are in steps of one.
func (f *field) counted() (first float64, n int, ok bool) {
	each := slices.Compact(slices.Sorted(slices.Values(f.stated())))
	if len(each) == 0 {
		return 0, 0, false
	}

	off := func(i int) bool { return each[i] != each[0]+float64(i) }

	return each[0], len(each), len(lists.Where(len(each), off)) == 0
}

// crosses reports whether each value of a column was measured once at all that others state, as in a design.
func (s *sheet) crosses(f *field, others []*field) bool {
	n := len(s.groups(append(others, f)...))
	return n == s.rows && n == len(s.groups(others...))*f.distinct()
}

// isSpread reports whether a column is called as another with the sign of an uncertainty: u_CL, dCD, CL ±.
func (s *sheet) isSpread(f *field) bool {
	m := spreadOf.FindStringSubmatch(f.name)
	return m != nil && s.has(m[1]+m[2]+m[3])
}

func isNumber(f *field) bool { return f.values != nil && f.distinct() > 1 }

// narrow reports whether values differ by less than that share of their mean.
func narrow(v []float64, share float64) bool {
	lo, hi := slices.Min(v), slices.Max(v)
	return lo*hi > 0 && hi-lo < share*math.Abs(lo+hi)/2
}

// Columns with that many values, all within that share of their mean, were not set.
const (
	fewNarrow   = 4
	mostNarrow  = 0.1
	mostMissing = 0.2 // of the rows: a column that states less is no input
)

// left is the share of the variance of a column that is within groups of rows.
func (f *field) left(groups [][]int) float64 {
	within, n := 0.0, 0
	for _, g := range groups {
		within += squares(lists.Rows(f.values, 1, g))
		n += len(g) - 1
	}

	return within / float64(n) / squares(f.values) * float64(len(f.values)-1)
}

// squares is the sum of squares of values from their mean.
func squares(v []float64) (sum float64) {
	mean := 0.0
	for i, x := range v {
		d := x - mean
		mean += d / float64(i+1)
		sum += float64(d * (x - mean))
	}

	return sum
}

// nuisance decides on numbers that follow the tunnel or the day, and on those that few rows state.
func (s *sheet) nuisance(f *field) bool {
	if points, ok := condition.Discover(f.values); ok {
		f.points = &points
	}

	v, days := f.stated(), s.of(day)
	switch d := f.distinct(); {
	case f.isAir() && (d > 6 || 3*d > len(v) || narrow(v, 0.2)): // it was set to few values, far apart
		return f.read(remark, "by its name a state of the air or the supply: add it to inputs or outcomes if not")
	case float64(s.rows-len(v)) > mostMissing*float64(s.rows):
		return f.be(leftOut, fmt.Sprintf("only %d of %d rows state it%s", len(v), s.rows, ofMerged))
	case d < 2:
		return f.be(remark, "one set point")
	case d >= fewNarrow && narrow(v, mostNarrow) && !f.given && s.names == nil && !s.narrow && !f.says(outcomeWords) &&
		(s.file == nil || f.says(inputWords) || f.repeats()):
		return f.read(remark, fmt.Sprintf("all values lie within %.2g %% of their mean", 100*mostNarrow))
	case len(days) > 0 && !f.says(inputWords):
		return len(s.groups(days[0])) == len(s.groups(days[0], f)) && f.be(remark, "it follows "+days[0].head)
	}

	return false
}

// repeats reports whether values are settings: each occurs twice, or they scatter about as few.
func (f *field) repeats() bool { return 2*f.distinct() <= len(f.stated()) }

// decideLog chooses the inputs among the columns of a log, of names or of a table of pairs: columns of a log
// whose words are known or whose values repeat; where there are none, all others are.
func (s *sheet) decideLog() {
	others := s.decide()
	if len(s.of(input)) == 0 {
		for _, f := range others {
			f.be(input, "another value in each row")
		}
	}

	for _, f := range s.of(input) {
		if s.names == nil && slices.ContainsFunc(s.of(input), f.measures) {
			f.read(leftOut, measuredInput)
		}
	}

	s.reopen(s.decideLog)
}

// decide chooses the inputs, and returns columns that differ in each row.
func (s *sheet) decide() (others []*field) {
	for _, f := range s.fields {
		switch {
		case f.role != open || s.byWords(f) || s.nuisance(f):
		case s.names != nil || s.file != nil || f.says(inputWords) || f.repeats():
			f.role = input
		default:
			others = append(others, f)
			f.be(remark, "another value in each row: add it to inputs where it was set")
		}
	}

	return others
}

// reopen decides once more where no column is an input, or none an outcome, so that those of values close
// together may be.
func (s *sheet) reopen(decide func()) {
	if s.narrow || len(s.of(input)) > 0 && (s.file == nil || len(s.of(outcome)) > 0) {
		return
	}

	s.narrow = true
	for _, f := range s.fields {
		if slices.Contains([]role{input, remark, outcome}, f.role) {
			f.be(open, "")
		}
	}

	decide()
}

// Why a column of a table of results is left out, or a name is no input.
const (
	reservedName = "the program's tables have a column of that name: rename it"
	noRepeats    = "with it no rows are repeats"
	ofMerged     = "; of merged cells each needs its value"
	otherText    = "another text in almost every row"

	measuredInput = "a measured value of another input"
)

// decideResults chooses the inputs and the outcomes of a table with a row a run: inputs split the
// rows of what was measured into groups without taking their repeats from them.
func (s *sheet) decideResults() {
	var measured, candidates, chosen, loose []*field
	for _, f := range s.fields {
		switch settled := f.role != open || s.byWords(f) || s.nuisance(f); {
		case f.role == thing && !f.given && f.isObject():
			measured = append(measured, f)
		case f.role == thing:
			candidates = append(candidates, f)
		case settled:
		case !f.given && !f.says(inputWords) && (!f.repeats() || f.says(outcomeWords)):
			f.read(outcome, "")
		case slices.Contains(condition.Reserved, f.name):
			f.be(leftOut, reservedName)
		default:
			candidates = append(candidates, f)
		}
	}

	rank := func(f *field) int {
		isText := f.values == nil
		first, _, counted := f.counted()
		return slices.Index([]bool{
			f.says(nominal), f.says(inputWords) && !isText, f.given, !isText && f.points == nil && !(counted && first == 1),
			f.points != nil, isText, true,
		}, true)
	}
	slices.SortStableFunc(candidates, func(a, b *field) int { return rank(a) - rank(b) })

	again := func(also ...*field) int { return paired(s.groups(slices.Concat(measured, chosen, also)...)) }
	texts := slices.Concat(measured, lists.Keep(candidates, func(f *field) bool { return f.values == nil }), s.of(day))
	for _, f := range candidates {
		of, read := chosen, f.points != nil && !f.says(inputWords)
		if read { // it may differ by what was measured
			of = slices.Concat(texts, chosen)
		}

		groups, now := len(s.groups(of...)), len(s.groups(append(of[:len(of):len(of)], f)...))
		keeps := 5*again(f) >= 4*again()
		switch {
		case slices.ContainsFunc(chosen, f.measures):
			f.be(leftOut, measuredInput)
		case read && 2*now < 3*groups && !f.isAir():
			f.read(outcome, "the inputs change it: add it to inputs if it was set")
		case now == groups && (f.given || f.role != thing):
			f.be(remark, "the inputs determine it: if it was set, name it under inputs instead of them")
		case f.role == thing && keeps:
			chosen = append(chosen, f)
		case f.role == thing && !f.given:
			if len(s.of(day)) == 0 && again() > 0 {
				f.be(day, "with it no rows are repeats: they are pairs of different ones")
			}
		case keeps && 2*now >= 3*groups, f.says(inputWords) && (f.repeats() || f.points != nil):
			f.role, chosen = input, append(chosen, f)
		case f.says(inputWords):
			loose = append(loose, f)
			f.be(remark, "no set points: add it to inputs if the outcomes depend on it")
		case f.given:
			f.read(remark, noRepeats)
		case f.unit+unitEnd.FindString(f.name) != "" && f.repeats() && s.crosses(f, append(measured, chosen...)):
			f.role, chosen = input, append(chosen, f)
		case len(s.of(outcome)) > 0:
			f.read(remark, "its values repeat, and with it few rows are repeats")
		default:
			f.read(outcome, "")
		}
	}

	groups, none := s.groups(chosen...), len(s.of(outcome)) == 0
	for _, f := range loose {
		if none || f.left(groups) < 0.1 {
			f.read(outcome, "the inputs change it: add it to inputs if it was set")
		}
	}

	idle, others := lists.Split(s.of(outcome), func(f *field) bool {
		return !f.says(outcomeWords) && narrow(f.stated(), mostNarrow) && f.left(groups) > 0.5
	})
	for _, f := range idle {
		if !s.narrow && len(others) > 0 {
			f.read(remark, "its values are close together, and the inputs do not change it")
		}
	}

	s.reopen(s.decideResults)
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// rename gives numbers of names their names as conditions that the tables can have: blades are whole, from 1 to 12; a
// speed of 1, 2, 3 is the number of a setting.
func (s *sheet) rename() {
	for _, f := range s.fields {
		broken := func(v float64) bool { return v == 0 || isBroken(v) && v == v }
		whole := f.values != nil && !slices.ContainsFunc(f.values, broken)
		switch {
		case f.role == day && !s.has("day"):
			f.name = "day"
		case f.name == "blades" && !(whole && slices.Max(f.values) <= 12):
			f.name = "b"
		case f.name == "u_inf_m_s" && f.unit == "" && whole && slices.Max(f.values) < 10:
			f.name = "speed"
		case slices.Contains(condition.Reserved, f.name):
			f.name += "_number" // these words have other meanings in tables
		}
	}
}
