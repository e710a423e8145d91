package scaffold

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/internal/lists"
)

// piece is what a name states at one place: a number with the word before it and the unit
// behind it, a text, a date or a time of day.
type piece struct {
	kind     kind
	key      string // the word before a number, then the name of its column
	unit     string // the word behind it
	text     string // as written; of a number with its sign
	from, to int    // with the word and the unit
	at, end  int    // of the number or the text
	doubt    bool   // the hyphen before the number may be a minus
}

type kind byte

const (
	separator kind = iota
	number
	word
	date
	clock
)

var (
	// 2024-05-03, 20240503101500, 03.05.2024, 03052024, 240503, 03.05.24, 2024-5-3, 3May2024, 3May24
	dateForm = dates(`^(?:(?:19|20)\d\d[-_.]?MM[-_.]?DD(?:hh(?:[0-5]\d){1,2})?|DD[-_.]?MM[-_.]?(?:19|20)\d\d|YYMMDD|` +
		`DD\.MM\.\d\d|20[12]\d[-._]\d\d?[-._]\d\d?|\d\d?[-._]\d\d?[-._]20[12]\d|` +
		`\d\d?[-_. ]{0,2}(?i:` + condition.Month + `)[-_. ]{0,2}(?:(?:19|20)\d\d|YY))`)
	// 17_11_24__14_50, 0503_1450: a date that only the time of day behind it shows
	shortDate = dates(`^(YY[-_.]MM[-_.]DD|DD[-_.]MM[-_.]YY|0[1-9]DD)[-_ T]+hh[-_.h:]?[0-5]\d(?:[^\d\pL]|$)`)
	// 3-5-24, 3.5.24, 03_05_24: a date where all names have one
	shortDay  = dates(`(?:^|[^\pL\d.-])((?:\d\d?-\d\d?-|\d\d?\.\d\d?\.|\d\d_\d\d_)YY)(?:[^\d.-]|$)`)
	clockForm = dates(`^(hh(?:_[0-5]\d(?:_[0-5]\d)?|[-.h:]?[0-5]\d(?:[-.m:]?[0-5]\d)?))(?:[^\d\pL]|$)`)
	epoch     = regexp.MustCompile(`^1[4-9]\d{8}(?:\d{3})?`) // seconds since 1970

	// shortDays are the forms of dates that names state without a century, or without a year.
	shortMarks = strings.NewReplacer("-", ".", "_", ".")
	shortDays  = []string{"0102", "0201", "01.02", "02.01", "060102", "020106", "010206", "2.1.06", "1.2.06"}
)

// dates compiles an expression of dates with MM, DD, YY and hh in it.
func dates(expr string) *regexp.Regexp {
	parts := strings.NewReplacer("MM", `(?:0[1-9]|1[0-2])`, "DD", `(?:0[1-9]|[12]\d|3[01])`,
		"YY", `(?:1[5-9]|2\d|3[0-5])`, "hh", `(?:[01]\d|2[0-3])`)
	return regexp.MustCompile(parts.Replace(expr))
}

// standard are the names conditions have in this program, by the words of file names and attributes.
var standard = map[string]string{
	"a": "alpha_deg", "alpha": "alpha_deg", "aoa": "alpha_deg", "angle": "alpha_deg", "α": "alpha_deg",
	"winkel": "alpha_deg", "angolo": "alpha_deg", "angulo": "alpha_deg", "ángulo": "alpha_deg", "alfa": "alpha_deg",
	"incidence": "alpha_deg", "u": "u_inf_m_s", "v": "u_inf_m_s", "speed": "u_inf_m_s", "vel": "u_inf_m_s",
	"uinf": "u_inf_m_s", "velocity": "u_inf_m_s", "b": "blades", "blades": "blades", "rpm": "rpm", "theta": "theta_deg",
	"phi": "phi_deg", "alpha_deg": "alpha_deg", "u_inf_m_s": "u_inf_m_s", "theta_deg": "theta_deg", "phi_deg": "phi_deg",
}

// behind are the units that follow numbers in names: the condition of a number without a word,
// and the end of a name with another word.
var behind = map[string][2]string{
	"blades": {"blades", ""}, "blade": {"blades", ""}, "bl": {"blades", ""}, "rpm": {"rpm", "rpm"},
	"deg": {"alpha_deg", "deg"}, "degrees": {"alpha_deg", "deg"}, "°": {"alpha_deg", "deg"},
	"ms": {"u_inf_m_s", "m_s"}, "mps": {"u_inf_m_s", "m_s"}, "m_s": {"u_inf_m_s", "m_s"}, "kmh": {"u_inf_km_h", "km_h"},
	"km_h": {"u_inf_km_h", "km_h"}, "kph": {"u_inf_km_h", "km_h"}, "knots": {"u_inf_kt", "kt"}, "krpm": {"rpm", "rpm"},
	"fps": {"u_inf_ft_s", "ft_s"}, "degc": {"temperature_c", "c"}, "hz": {"frequency_hz", "hz"},
	"khz": {"frequency_khz", "khz"}, "mm": {"length_mm", "mm"}, "cm": {"length_cm", "cm"},
	"pct": {"percent", "percent"}, "percent": {"percent", "percent"},
	"%": {"percent", "percent"}, "k": {}, "M": {}, "kn": {"", "kn"}, "v": {"voltage_v", "v"},
	"kt": {"u_inf_kt", "kt"}, "kts": {"u_inf_kt", "kt"}, "mph": {"u_inf_mph", "mph"}, "in": {"length_in", "in"},
	"K": {"temperature_k", "k"}, "C": {"temperature_c", "c"}, "rps": {"rps", "rps"}, "rad": {"alpha_rad", "rad"},
	"s": {"seconds", "s"}, "min": {"minutes", "min"}, "kg": {"mass_kg", "kg"}, "bar": {"pressure_bar", "bar"},
	"db": {"level_db", "db"}, "inch": {"length_in", "in"}, "ft": {"length_ft", "ft"}, "m": {"length_m", "m"},
	"pa": {"pressure_pa", "pa"}, "us": {"pulse_us", "us"}, "µs": {"pulse_us", "us"}, "μs": {"pulse_us", "us"},
	"upm": {"rpm", "rpm"}, "umin": {"rpm", "rpm"}, "trmin": {"rpm", "rpm"}, "S": {"cells", "s"}, "bladed": {"blades", ""},
	"blatt": {"blades", ""}, "度": {"alpha_deg", "deg"},
}

// powers are the units that multiply.
var powers = map[string]float64{"k": 1e3, "krpm": 1e3, "kRPM": 1e3, "kRpm": 1e3, "M": 1e6}

// unitBehind is what a word behind a number states; M is no metre.
func unitBehind(w string) (u [2]string, known bool) {
	if u, known = behind[w]; !known {
		u, known = behind[strings.ToLower(w)]
	}

	return u, known
}

func unitWord(w string) bool { _, known := unitBehind(w); return known }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// tokens splits a name that is cut into numbers. short is a date in it that needs all names.
func tokens(s string, c condition.Cut, short string) (out []piece) {
	add := func(k kind, at, n int) {
		out = append(out, piece{kind: k, text: s[at : at+n], from: at, at: at, end: at + n, to: at + n})
	}

	// stamp reads a date or, behind one, a time of day, at a number.
	stamp := func(at int) (k kind, n int) {
		last := len(out) - 1
		dated := last >= 0 && out[last].kind == date || last > 0 && out[last-1].kind == date
		if m := clockForm.FindStringSubmatch(s[at:]); m != nil && (dated || s[at+2] == 'h') {
			return clock, len(m[1])
		}

		ends := func(n int) bool { return n > 0 && (at+n == len(s) || !digit(s[at+n])) }
		if n = len(epoch.FindString(s[at:])); ends(n) {
			return clock, n
		}

		if n = len(dateForm.FindString(s[at:])); ends(n) && (n > 6 || last < 0 || s[at+n-3] > '9') {
			return date, n
		}

		isNumber := func(p piece) bool { return p.kind == number }
		if m := shortDate.FindStringSubmatch(s[at:]); m != nil && !slices.ContainsFunc(out, isNumber) {
			return date, len(m[1])
		}

		if short != "" && strings.HasPrefix(s[at:], short) {
			return date, len(short)
		}

		return number, 0
	}

	at, done := 0, 0 // stamps are read as far as done
	for k, text := range c.Texts {
		for _, m := range tokenForm.FindAllStringSubmatchIndex(text, -1) {
			if at < done {
				continue
			}

			before := m[1] == len(text) && k < len(c.Numbers)
			if h := hump(text[m[0]:m[1]], m[0] == 0 && k > 0, before, before && capital.MatchString(c.Texts[k+1])); h > 0 {
				add(word, at+m[0], h)
				m[0] += h
			}

			add(map[bool]kind{true: word, false: separator}[m[2] >= 0], at+m[0], m[1]-m[0])
		}

		if at += len(text); k == len(c.Numbers) {
			break
		}

		digits := at + strings.IndexFunc(c.Numbers[k], unicode.IsDigit)
		if of, n := stamp(digits); n > 0 && at >= done {
			add(of, digits, n)
			out[len(out)-1].key = map[kind]string{date: "day", clock: "time"}[of]
			done = digits + n
		} else if at >= done {
			add(number, at, len(c.Numbers[k]))
			out[len(out)-1].doubt = slices.Contains(c.Doubtful, k)
		}

		at += len(c.Numbers[k])
	}

	return out
}

var (
	wordForm  = regexp.MustCompile(`^[\pL°%∞]+$`)
	firstHump = regexp.MustCompile(`^(\pL+?\p{Ll})\p{Lu}`)
	lastHump  = regexp.MustCompile(`^(\pL+\p{Ll})(\p{Lu}\pL*)$`)
	capital   = regexp.MustCompile(`^\p{Lu}`)
	tokenForm = regexp.MustCompile(`([\pL°%∞]+)|[^\pL°%∞]+`)
)

// hump is where a word in camel case parts: behind the unit of a number, and before the word of one, which is a letter
// only where another word joins the number, and not A or B: testV10Yaw0, but wingA0V10; 0: nowhere.
func hump(w string, behind, before, joined bool) int {
	first, last := firstHump.FindStringSubmatch(w), lastHump.FindStringSubmatch(w)
	switch {
	case first == nil || unitWord(w) || isKnown(w):
	case behind && unitWord(first[1]):
		return len(first[1])
	case before && (len(last[2]) > 1 || joined && last[2] > "B") && isKnown(last[2]) && !instances.MatchString(last[2]):
		return len(last[1])
	}

	return 0
}

// isKnown reports whether a word before a number says what it is.
func isKnown(w string) bool {
	return standard[strings.ToLower(w)] != "" || numbering.MatchString(w) || inputWords.MatchString(w)
}

// pieces reads a name without its ending.
func pieces(name string, c condition.Cut, short string) (out []piece) {
	for t := append(joinUnits(name, tokens(name, c, short)), piece{kind: separator}); len(t) > 0; {
		n := slices.IndexFunc(t, func(p piece) bool { return p.kind == separator })
		out = append(out, readRun(name, t[:n])...)
		t = t[n+1:]
	}

	out = joinWords(name, out)
	for i := range out {
		switch p := &out[i]; {
		case p.unit == "K" && multiplied.MatchString(p.key):
			p.unit = "k"
		case p.kind == number && p.unit == "" && len(p.text) < 3 && months.MatchString(p.key) &&
			!slices.Contains([]string{"sep", "dec", "mar"}, p.key): // May3
			p.kind, p.key, p.text, p.at = date, "day", name[p.from:p.end], p.from
		case p.kind == word && again.MatchString(p.text):
			p.kind, p.key = number, "copy"
		}
	}

	return out
}

// joinUnits makes units of two words, which a separator parts, one: 5m_s, 5_km-h.
func joinUnits(name string, t []piece) []piece {
	for k := 1; k+2 < len(t); k++ {
		unit := strings.ReplaceAll(strings.ToLower(name[t[k].from:t[k+2].to]), "-", "_")
		behind := t[k-1].kind == number || k > 1 && t[k-2].kind == number
		if behind && (unit == "m_s" || unit == "km_h") && (k+3 == len(t) || t[k+3].kind != number) {
			t[k].text, t[k].to, t[k].end = unit, t[k+2].to, t[k+2].to
			t = slices.Delete(t, k+1, k+3)
		}
	}

	return t
}

// readRun reads tokens without a separator: a5, 5deg, B2, alpha5U10, NACA0012, 8x6.
func readRun(name string, t []piece) (out []piece) {
	at := func(k int, of kind) bool { return k < len(t) && t[k].kind == of }
	for k := 0; k < len(t); k++ {
		p := t[k]
		if at(k, word) && at(k+1, number) {
			k++
			p = t[k]
			p.key, p.from = t[k-1].text, t[k-1].from
		}

		if p.kind == number && at(k+1, word) {
			next := t[k+1]
			switch {
			case unitWord(next.text) && !(at(k+2, number) && isKnown(next.text)):
				p.unit, p.to = next.text, next.to
				if k++; next.text == "k" && at(k+1, number) && len(t[k+1].text) == 1 { // 4k5
					k++
					p.text, p.end, p.to = p.text+"."+t[k].text, t[k].end, t[k].to
				}
			case numbering.MatchString(p.key) && len(next.text) == 1 && !at(k+2, number): // run12a
				p.to, p.end = next.to, next.to
				k++
			case len(p.key) == 1 && len(next.text) == 1 && next.text != "x" && at(k+2, number): // x10y20
			case p.key == "" && len(next.text) > 1 && isKnown(next.text) && !at(k+2, number): // 1e5Re
				p.key, p.to = next.text, next.to
				k++
			case !isKnown(p.key):
				return []piece{textPiece(name, t[0].from, t[len(t)-1].to)} // the name of a thing
			}
		}

		out = append(out, p)
	}

	return out
}

func textPiece(name string, from, to int) piece {
	return piece{kind: word, text: name[from:to], from: from, at: from, end: to, to: to}
}

// joinWords gives numbers the words and units that separators part from them: take_3, 3000 rpm.
// Texts that a hyphen joins are one: APC-8x6.
func joinWords(name string, in []piece) (out []piece) {
	bare := func(i int) bool { return i < len(in) && in[i].kind == number && in[i].key == "" }
	for i := 0; i < len(in); i++ {
		p, last := in[i], len(out)-1
		after := last >= 0 && out[last].kind == word // a word is right before it
		if bare(i) {
			switch w := out[max(last, 0):]; {
			case p.from > 0 && name[p.from-1] == '(' && strings.HasPrefix(name[p.to:], ")") && !(after && isKnown(w[0].text)):
				p.key = "copy" // 3000rpm (2)
			case after && wordForm.MatchString(w[0].text) && (p.unit == "" || isKnown(w[0].text)) &&
				!strings.Contains(name[w[0].to:p.from], "/"):
				if ratios.MatchString(w[0].text) && name[w[0].to:p.from] == "." { // J.5
					p.text, p.at = "."+p.text, p.at-1
				}

				p.key, p.from, out = w[0].text, w[0].from, out[:last]
			}

			if next := i + 1; (p.unit == "" || p.unit == "k") && next < len(in) && in[next].kind == word &&
				unitWord(p.unit+in[next].text) &&
				(p.key == "" && powers[in[next].text] == 0 || !bare(next+1)) && strings.Trim(name[p.to:in[next].from], "_ ") == "" {
				p.unit, p.to = p.unit+in[next].text, in[next].to
				i++
			}
		} else if after && p.kind == word && name[out[last].to:p.from] == "-" && !(isKnown(p.text) && bare(i+1)) {
			p, out = textPiece(name, out[last].from, p.to), out[:last]
		}

		out = append(out, p)
	}

	return out
}

// condition is the name of a number's condition.
func (p piece) condition() string {
	w := strings.ToLower(p.key)
	unit, _ := unitBehind(p.unit)
	std := standard[w]
	switch {
	case w == "":
		return cmp.Or(unit[0], "condition")
	case std != "" && strings.HasSuffix(std, unit[1]):
		return std
	case w == "n" && unit[1] == "rpm":
		return "rpm"
	case unit[1] != "" && !strings.HasSuffix(w, unit[1]):
		return w + "_" + unit[1]
	}

	return w
}

var (
	instances = lazy(kinds + `|mic|microphone`)
	numbered  = lazy(`(?:` + kinds + `|blade)[ _.-]*(id|nr|no|num|number|nummer|#|code|type|typ)?\.?`)
	typeWord  = regexp.MustCompile(`^[A-Z]{2,}$`)

	// numbers that people write in thousands, months, words of repeats
	multiplied = lazy(`re|reynolds|rpm|n`)
	months     = lazy(condition.Month)
	again      = lazy(`rep|repeat|repeated|retest|again|bis|copy|kopie|wdh|wiederholung`)

	tenths    = lazy(`j|ma|mach|mu`)
	doubtful  = regexp.MustCompile(`^[1-9]\d{0,2}[.,]\d{3}$`)
	anyNumber = regexp.MustCompile(`(?i:(?:neg|minus|pos|plus|[mnp])[_ ]?)?[-+−]?\d[\d.,p]*`)
	divided   = regexp.MustCompile(`(?:(?:^|[^\d.,])((?:0|[1-9]\d?)[-_ ,](?:\d|00|25|50|75)|[\d.]+x10\d)|` +
		`(?:^|(?i:re|rpm|n)|[^\pL\d.,])([1-9]\d{0,2}[_ ,]\d{3}))$`)
	allDigits  = regexp.MustCompile(`^\d+$`)
	underlined = regexp.MustCompile(`(\pL+?)(?:(?i:neg|minus|pos|plus|[mnp]))?[-=_ ]?([-+−]?\d+)(?:_(\d\d?))?(?:\D|$)`)
	decimals   = regexp.MustCompile(`^(?:|[05]0?|25|75)$`)
	ratios     = regexp.MustCompile(`^(?:J|(?i:mu|ma|mach|tsr|lambda))$`) // j1_11 may be motor j
)

// kinds are words of things, of which there may be several.
const kinds = `prop|propeller|luftschraube|h[ée]lice|elica|wing|motor|airfoil|aerofoil|profile?|modell?|rotor|fan|` +
	`specimen|config|configuration`

// isThing reports whether a number is part of a name: NACA0012, wing2, HQ5040. The number of a type may have
// any size.
func (p piece) isThing() bool {
	whole := allDigits.MatchString(p.text) && p.unit == ""
	return whole && (condition.Series.MatchString(p.key) || instances.MatchString(p.key) && len(p.text) < 3 ||
		typeWord.MatchString(p.key) && !isKnown(p.key) && len(p.text) > 2)
}

// pointed makes underlines points in names: of J0_5, and where each number before has one half or quarter, or none,
// as in V7_5, V10, V12_5.
func pointed(names []string) []string {
	of := map[string][][2]string{} // numbers and what is behind them
	for _, m := range underlined.FindAllStringSubmatch(strings.Join(names, "\n"), -1) {
		of[m[1]] = append(of[m[1]], [2]string{m[2], m[3]})
	}

	maps.DeleteFunc(of, func(word string, pairs [][2]string) bool {
		_, different := lists.Index(pairs)
		_, first := lists.Index(lists.Each(different, func(p [2]string) string { return p[0] }))
		_, second := lists.Index(lists.Each(different, func(p [2]string) string { return p[1] }))
		quarters := slices.Contains(second, "25") && slices.Contains(second, "75")
		return !quarters && len(first) < max(3, len(different)) || len(second) < 2 ||
			slices.ContainsFunc(second, func(t string) bool { return !decimals.MatchString(t) })
	})

	return lists.Each(names, func(name string) string {
		return underlined.ReplaceAllStringFunc(name, func(part string) string {
			m := underlined.FindStringSubmatch(part)
			if m[3] != "" && (of[m[1]] != nil || ratios.MatchString(m[1]) && len(m[2]) == 1) {
				return strings.Replace(part, m[2]+"_", m[2]+".", 1)
			}

			return part
		})
	})
}

// partNames parts words from numbers that are no conditions of theirs: a1, b1, … m8 are a letter and a number; the
// number is part of the name of a thing, as in NACA_0012, unless several things have the same: APC_3000, GWS_3000.
// It counts the names with each column.
func partNames(files []string, all [][]piece) (count map[string]int) {
	in := map[string]int{}
	for _, p := range slices.Concat(all...) {
		if p.kind == number {
			in[p.condition()]++
		}
	}

	rare := func(p piece) bool { return p.kind == number && p.key != "" && 5*in[p.condition()] < 4*len(files) }
	spare := lists.Keep(slices.Concat(all...), func(p piece) bool { return rare(p) && p.spare() })
	_, keys := lists.Index(lists.Each(spare, func(p piece) string { return p.key }))
	_, different := lists.Index(lists.Each(spare, func(p piece) [2]string { return [2]string{p.text, p.key} }))
	of := lists.Alike(lists.Each(different, func(d [2]string) string { return d[0] })) // by number
	shared := lists.Keep(of, func(g []int) bool { return len(g) > 1 })

	// APC_1, APC_2, GWS_3, GWS_4 are numbered in one go.
	values := lists.Each(spare, func(p piece) float64 {
		v, _ := condition.ParseName(p.text)
		return v
	})
	counted := len(of) == len(spare) && 1 < len(keys) && 2*len(keys) <= len(spare) &&
		slices.Max(values)-slices.Min(values) < float64(len(files))
	parted := func(p piece) bool { return rare(p) && p.spare() && (len(shared) > 1 || counted) }

	most := slices.Max(append(slices.Collect(maps.Values(in)), 0))
	minor := func(p piece) bool {
		return !numbering.MatchString(p.key) && 2*in[p.condition()] <= min(most, len(files))
	}

	count = map[string]int{}
	for i, f := range files {
		var out []piece
		numbers := map[string]int{}
		for _, p := range all[i] {
			switch {
			case p.kind != number:
			case parted(p):
				out = append(out, textPiece(f, p.from, p.from+len(p.key)))
				p.key, p.from = "", p.at
			case p.isThing(), rare(p) && (!isKnown(p.key) || minor(p)):
				p = textPiece(f, p.from, p.to)
			}

			if p.kind == number {
				key := p.condition()
				numbers[key]++
				p.key = nth(key, numbers[key])
			}

			count[p.key]++
			out = append(out, p)
		}

		all[i] = out
	}

	return count
}

// nth is the name of the n-th column called so: alpha_deg, alpha_deg_2.
func nth(name string, n int) string { return strings.TrimSuffix(fmt.Sprint(name, "_", n), "_1") }

// spare reports whether a number may be none of the name of a thing.
func (p piece) spare() bool {
	return len(p.key) == 1 || len(p.key) > 1 && !isKnown(p.key) && !instances.MatchString(p.key) &&
		(p.at > p.from+len(p.key) || !condition.Series.MatchString(p.key))
}

// findCopies finds what counts names: V10_2 and V10_b are V10 again, and V10_3 where there is V10_2.
func findCopies(names []string, all [][]piece) {
	known := lists.Map(names, names)
	for i, name := range all {
		for k, p := range name {
			before, second := names[i][:p.at], map[kind]string{number: "2", word: "b"}[p.kind]
			if bare := strings.TrimRight(before, " _-.(#"); len(p.text) == 1 && !isKnown(p.key) && known[bare] != "" &&
				(p.kind == number || digit(bare[len(bare)-1])) &&
				(strings.ToLower(p.text) <= second || known[before+string(p.text[0]-1)] != "") {
				name[k].kind, name[k].key = number, "copy"
			}
		}
	}
}

// nameSheet reads what the names state, and decides what that is for: a row for each file that states
// what most do.
func nameSheet(files []string) *sheet {
	bases := pointed(lists.Each(files, func(f string) string { return strings.TrimSuffix(f, path.Ext(f)) }))
	cuts := condition.CutNames(bases)
	short := lists.Each(bases, func(b string) string { return append(shortDay.FindStringSubmatch(b), "", "")[1] })
	if readings(short) == "" {
		clear(short)
	}

	all := lists.Make(len(files), func(i int) []piece { return pieces(bases[i], cuts[i], short[i]) })
	findCopies(bases, all)
	count := partNames(files, all)
	common := lists.Keep(slices.Sorted(maps.Keys(count)), func(key string) bool {
		return key != "" && key != "time" && 2*count[key] > len(files) // texts get their columns later
	})
	if stating := lists.Keep(common, func(key string) bool { return !numbering.MatchString(key) }); len(stating) > 0 {
		common = stating // a file 3000rpm stays, although another is called 3000rpm (2)
	}

	s := &sheet{from: "the names", odd: map[string]string{}}
	unnamed := lists.Make(len(files), func(i int) int { // numbers that have neither a word that is known nor a unit
		return len(lists.Keep(all[i], func(p piece) bool {
			return p.kind == number && p.unit == "" && p.key != "copy" &&
				!isKnown(strings.TrimRight(files[i][p.from:p.at], " _-=."))
		}))
	})
	usual := slices.MaxFunc(lists.Alike(unnamed), func(a, b []int) int { return len(a) - len(b) })
	for i, f := range files {
		if n := unnamed[usual[0]]; n > 0 && unnamed[i] != n { // which is which?
			s.odd[f] = fmt.Sprintf("words for its numbers: %d, where most have %d", unnamed[i], n)
		}

		for _, key := range common {
			if !slices.ContainsFunc(all[i], func(p piece) bool { return p.key == key }) {
				s.odd[f] = key
			}
		}

		if s.odd[f] == "" {
			s.files, s.names = append(s.files, f), append(s.names, all[i])
		}
	}

	s.rows = len(s.names)
	for row, name := range s.names {
		for _, p := range name {
			if p.key != "" {
				s.add(p, row)
			}
		}
	}

	for _, f := range s.fields {
		days, k, first := readings(f.texts), f.padded(), f.texts[0]
		switch {
		case days != "" && (f.head == "day" || strings.HasPrefix(f.head, "condition") || len(first) == 6 && !isKnown(f.head)):
			f.tell(first, "%s", days)
			f.name, f.values = "day", nil
		case days != "" && f.values != nil && standard[f.head] == "":
			f.tell(first, "%v, not as %s", f.values[0], days)
		case k >= 0 && tenths.MatchString(f.head) && (f.head == "j" || !slices.Contains(f.values, 0)): // nobody sets Mach 0
			whole := f.values[k]
			f.values = lists.Each(f.values, func(v float64) float64 { return v / math.Pow10(len(f.texts[k])-1) })
			f.tell(f.texts[k], "%v, not as %v", f.values[k], whole)
		}
	}

	s.things()
	for _, f := range s.fields {
		if len(f.stated()) == 0 {
			f.values = nil
		}
	}

	s.decideLog()
	s.rename()
	s.tell()

	return s
}

// readings are the dates that texts of one short form are read as, and may be read as; "" of other texts.
func readings(texts []string) string {
	var all []string
	zero := slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(t, "0") })
	for _, form := range shortDays {
		days := lists.Each(texts, func(t string) time.Time {
			day, _ := time.Parse(form, shortMarks.Replace(t))
			return day
		})
		whole := len(form) > 5 && days[0].Year() > 2014 && days[0].Year() < 2036
		other := func(d time.Time) bool { return d.IsZero() || d.Year() != days[0].Year() }
		if (whole || zero && len(form) < 6) && !slices.ContainsFunc(days, other) {
			all = append(all, strings.TrimSuffix(days[0].Format("January 2 2006"), " 0000"))
		}
	}

	return strings.Join(all, ", or ")
}

// padded is the first number with a zero before it, where all have as many digits; -1: none.
func (f *field) padded() int {
	n := len(f.texts[0])
	if slices.ContainsFunc(f.texts, func(t string) bool { return len(t) != n || !allDigits.MatchString(t) }) {
		return -1
	}

	return slices.IndexFunc(f.texts, func(t string) bool { return t[0] == '0' && strings.Trim(t, "0") != "" })
}

// tell keeps how a text is read, unless one is known.
func (f *field) tell(text, format string, args ...any) {
	f.reading = cmp.Or(f.reading, fmt.Sprintf("%q is read as "+format, append([]any{text}, args...)...))
}

// tell tells how numbers are read that may be read otherwise: as decimals, names, parts of one, or two.
func (s *sheet) tell() {
	typed := func(t string) bool { return piece{key: strings.TrimRight(t, "0123456789-_ "), text: "00"}.isThing() }
	isDecimal := func(t string) bool { return strings.ContainsAny(t, ".,") && !doubtful.MatchString(t) }
	for _, f := range s.fields {
		k, all := f.padded(), f.different()
		mark, measured := slices.IndexFunc(f.texts, doubtful.MatchString), f.values != nil && f.role != runs && !f.isAir()
		shapes := lists.Alike(lists.Each(all, func(t string) string { return anyNumber.ReplaceAllString(t, "0") }))
		first, _, steps := f.counted()
		whole := standard[f.head] != "" || f.unit != "" || multiplied.MatchString(f.head) ||
			condition.Angle.MatchString(f.head) || steps && first < 2
		switch {
		case mark >= 0 && measured && !slices.ContainsFunc(all, isDecimal):
			f.tell(f.texts[mark], "%v: its mark may be that of decimals or of thousands", f.values[mark])
		case (f.role == thing || f.why == otherText) && len(shapes) < len(all) && !slices.ContainsFunc(all, typed):
			f.tell(all[0], "a name, its numbers as no conditions")
		case f.role == input && (k >= 0 && !whole || tenths.MatchString(f.head) && slices.Min(f.stated()) >= 2):
			f.tell(f.texts[max(k, 0)], "%v, not as a decimal", f.values[max(k, 0)])
		}
	}

	for row, name := range s.names {
		for k, p := range name {
			f, known := lists.Find(s.fields, func(f *field) bool { return f.head == p.key })
			before, part := name[max(k-1, 0)], s.files[row][p.at:p.end]
			m := divided.FindStringSubmatch(s.files[row][:p.end])
			switch {
			case !known || p.kind != number || f.values == nil || f.role == runs:
			case strings.ContainsAny(strings.TrimSuffix(part, " 000"), "_ "), p.from == p.at && strings.Contains(part, ","):
				f.tell(part, "%v, not as two numbers", f.values[row])
			case (p.from == p.at && (p.unit == "" || before.from == before.at) || p.key == "x") && m != nil &&
				(before.kind == word || before.kind == number && (f.role == remark || s.field(before.key).role != runs)):
				f.tell(m[1]+m[2], "two numbers, not as one")
			}
		}
	}
}

// add takes a piece of a name into its column.
func (s *sheet) add(p piece, row int) {
	f := s.field(p.key)
	if f.texts[row] = p.text; p.key == "copy" {
		f.values = nil
		f.be(runs, "it tells recordings of one name apart")
	} else if p.kind == number {
		f.values[row], _ = condition.ParseName(p.text)
		power, multiplies := powers[p.unit]
		if f.values[row] *= cmp.Or(power, 1); !multiplies {
			f.unit = cmp.Or(f.unit, p.unit)
		}

		if (p.key == "rpm" || p.key == "n") && doubtful.MatchString(p.text) { // nobody sets 6.000 rpm
			f.values[row] *= 1000
		}
	}

	if v, word := f.values, strings.TrimRight(s.files[row][p.from:p.at], "-"); p.doubt {
		f.tell(s.files[row][p.from:p.end], "%v; for %v write %s{%s} in the pattern", v[row], -v[row],
			word+map[bool]string{true: "-"}[v[row] < 0], f.name)
	}
}

// things makes columns of the texts that differ, where all names have as many: else a column
// numbers what they have, from 0 for the most frequent.
func (s *sheet) things() {
	isText := func(p piece) bool { return p.kind == word }
	shared := map[string]int{}
	for _, name := range s.names {
		_, texts := lists.Index(lists.Each(lists.Keep(name, isText), func(p piece) string { return p.text }))
		for _, t := range texts {
			shared[t]++
		}
	}

	own, joined, n := make([][]int, s.rows), make([]string, s.rows), map[string]int{} // places in the names
	for i, name := range s.names {
		own[i] = lists.Where(len(name), func(k int) bool { return isText(name[k]) && shared[name[k].text] < s.rows })
		joined[i] = strings.Join(lists.Each(own[i], func(k int) string { return name[k].text }), " ")
		n[joined[i]]++
	}

	order := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(order, func(a, b string) int { return n[b] - n[a] })
	differ := slices.ContainsFunc(own, func(of []int) bool { return len(of) != len(own[0]) })
	for i := range own {
		switch {
		case !differ:
			for n, k := range own[i] {
				p := &s.names[i][k]
				p.key = nth("thing", n+1)
				s.field(p.key).texts[i] = p.text
			}

		case !slices.ContainsFunc(s.fields, isNumber):
			s.field("thing").texts[i] = joined[i]
		default:
			f := s.field("variant")
			f.values[i], f.texts[i] = float64(slices.Index(order, joined[i])), joined[i]
			f.be(input, fmt.Sprintf("0 is %q, and then %q: rename it, or take it out", order[0], order[1:]))
		}
	}
}

// pattern is the pattern that reads the fields from all names; "" if there is none.
func (s *sheet) pattern() string {
	name, text, at := s.files[0], "", 0
	for _, p := range s.names[0] {
		f, varies := lists.Find(s.fields, func(f *field) bool { return f.head == p.key && f.distinct() > 1 })
		if !varies {
			continue
		}

		place := f.name
		switch {
		case f.role != input && f.role != thing && f.role != day:
			place = "_"
		case f.values == nil || f.role != input:
			place += ":text"
		}

		text += name[at:p.at] + "{" + place + "}"
		at = p.end
	}

	text += name[at:]
	if i := strings.IndexByte(text, '{'); i >= 0 {
		text = text[strings.LastIndexByte(text[:i], '/')+1:]
	}

	p, err := campaign.ParsePattern(text)
	if err != nil {
		return ""
	}

	n := len(lists.Keep(s.of(input), func(f *field) bool { return f.distinct() > 1 }))
	for i, f := range s.files {
		stated, err := p.Match(f)
		if err != nil || len(stated) < n || slices.ContainsFunc(stated, func(c condition.Condition) bool {
			f := s.fields[slices.IndexFunc(s.fields, func(f *field) bool { return f.name == c.Column })]
			return c.IsName && c.Name != f.texts[i] || !c.IsName && c.Value != f.values[i]
		}) {
			return ""
		}
	}

	return text
}

// table is a table of conditions with what the names state.
func (s *sheet) table() string {
	columns := lists.Keep(s.of(input, thing, day), func(f *field) bool {
		return f.role == input || !slices.Contains(f.texts, "") // else it is a remark
	})
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(append([]string{"file"}, headsOf(columns)...))
	for i, file := range s.files {
		_ = w.Write(append([]string{file}, lists.Each(columns, func(f *field) string {
			if f.values != nil && f.role != day {
				return decimal(f.values[i])
			}

			return f.texts[i]
		})...))
	}

	w.Flush()

	return b.String()
}
