package condition

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// NameNumber is the expression of a number in a name: -5, m5, neg5, pos5, 0.5, 1,5, 1p5, 2.5e5.
const NameNumber = `(?:(?i:minus|neg|plus|pos|m|p)|[-+−–])?(?:[0-9]+(?:\.[0-9]*|[,pd][0-9]+)?|\.[0-9]+)` +
	`(?:[eE][+-]?[0-9]+)?`

// In names that are cut -5 may be n5, minus 5 and 5m as well, and 2e5 2·10⁵.
var (
	nameForm = regexp.MustCompile(`(?i)\A(minus[ _]?|neg[ _]?|plus[ _]?|pos[ _]?|[-+−–mpn])?([0-9]*)` +
		`(?:(?:[.,pd]|pt|point)([0-9]*))?(?:e([+-]?[0-9]+))?(m|n|neg|minus|p|pos|plus)?\z`)
	powerOfTen = regexp.MustCompile(`\A(?:(.*)[·⋅×x*])?10(?:\^([+-]?[0-9]+)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))\z`)
)

// ParseName reads a number as NameNumber finds it. ok is false of other texts and of what no
// float64 holds.
func ParseName(s string) (v float64, ok bool) {
	if strings.Trim(s, "0123456789.+-") == "" { // most numbers are written plainly
		v, err := strconv.ParseFloat(s, 64)
		return v + 0, err == nil // −0 is 0
	}

	s = grouping.Replace(s)
	if m := powerOfTen.FindStringSubmatch(s); m != nil {
		s = cmp.Or(m[1], "1") + "e" + programs.Replace(m[2]+m[3])
	}

	m := nameForm.FindStringSubmatch(s)
	if m == nil || m[2]+m[3] == "" {
		return 0, false
	}

	text := m[2] + "." + m[3] + "e" + cmp.Or(m[4], "0")
	if !slices.Contains([]string{"", "+", "p", "plus", "pos"}, strings.ToLower(strings.TrimRight(m[1], " _")+m[5])) {
		text = "-" + text
	}

	v, err := strconv.ParseFloat(text, 64)

	return v + 0, err == nil
}

// Cut is a name cut into numbers and the texts before, between and after them.
type Cut struct {
	Texts, Numbers []string
	Doubtful       []int // numbers with a hyphen in all names, which may be a minus or not
}

var (
	inName   = regexp.MustCompile(`[+−–-]?[0-9]+(?:\.[0-9]+)?`)
	fraction = regexp.MustCompile(`^(?:(,[0-9]{1,3})(?:[^0-9,]|$)|((?:[pd]|pt|point)[0-9]{1,3})(?:[^0-9]|$))`)
	power    = regexp.MustCompile(`^([eE][+-]?[0-9]{1,2})(?:[^0-9A-Za-z]|Re|$)`)
	ofTen    = regexp.MustCompile(`^(?:[·⋅×x*]10)?(?:\^[+-]?[0-9]+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)`)
	// Angle is the word of an angle with a letter or a word for the sign, at the end of a text.
	Angle = regexp.MustCompile(`(?i)(?:^|[^a-z])(a|aoa|alpha|alfa|angle|theta|phi|beta|yaw|pitch|roll|psi|winkel|el|` +
		`elev|elevation|az|azimuth|tilt|incidence|delta|gamma|sweep|flap|elevator|rudder|aileron)` +
		`([-_ =]?(?:[mpn]|(?:neg|minus|plus|pos)[ _]?))?$`)
	axis       = regexp.MustCompile(`(?i)(?:^|[^a-z])[xyz]$`)
	signBehind = regexp.MustCompile(`(?i)^(m|n|neg|minus|p|pos|plus)(?:[^0-9a-z]|$)`)
	// Series are the words of things that have numbers: NACA 0012, HQ5040.
	Series = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:naca|apc|hq|hqprop|gemfan|dji|sd|mh|clark|eppler|nasa|gws|master|` +
		`graupner|aeronaut)$`)
	signWords = regexp.MustCompile(`(?i)(?:^|[^a-z])((?:neg|minus)[ _]?)$`)
	degrees   = regexp.MustCompile(`^(?i)(deg|grad|°)`)
	lone      = regexp.MustCompile(`(?:^|[^A-Za-z])([mpn])$`)
	// a sign that no separator parts from its word: xm20, dEneg10, a.5
	signLast  = regexp.MustCompile(`(?i)^(|.*?(?:\pL[-_ =]??|[-_ ,]))(m|n|neg|minus|p|pos|plus|-?\.)$`)
	thousands = regexp.MustCompile(`^(?i)(?:((?:['’\x{a0}\x{2007}\x{2009}\x{202f}]\d{3})+)(?:\D|$)|` +
		`([ _]\d{3}(?:[ _]000)*)(?:([ _]?(?:rpm|upm|u.?min))|[^\d\pL°%]|$))`)
	ungrouped = regexp.MustCompile(`(?i)(?:\d[ _]\d{4,}|(?:^|\D)0\d?[ _]\d{3})[ _]?(?:rpm|upm|u.?min)|` +
		`(?:^|[^\pL])re[ _=]?\d{1,3}[ _]\d(?:\d[1-9]|[1-9]0)(?:\D|$)`)
	letterLast = regexp.MustCompile(`[A-Za-z]$`)
	wordLast   = regexp.MustCompile(`\pL[ _]*$`)
	// rpm 5 500, Re 150_000; Re200_120 and Re200_120deg are two numbers
	inThousands = regexp.MustCompile(`(?i)(?:rpm[ _=]*[ _]\d{3}|(?:^|[^\pL])re[ _=]*(?:[ _]\d{3})*[ _]\d00)$`)
	grouping    = strings.NewReplacer(" ", "", "_", "", "'", "", "’", "", "\u00a0", "", "\u2007", "", "\u2009", "",
		"\u202f", "")
)

// CutNames cuts names that are of one kind. A hyphen directly before a digit is a sign, unless every
// name of the same words has a hyphen there after a word, where it separates as in run-5, or the word is
// that of a thing, as in NACA-0012. After the word of an angle, or an axis, that is never zero it is a sign even then,
// where the names separate no other number so; the number is Doubtful then. A letter or a word is a
// sign where other names have the same words without it: xm20, x20.
func CutNames(names []string) []Cut {
	spaced := !slices.ContainsFunc(names, ungrouped.MatchString)
	out := lists.Each(names, func(s string) Cut { return cutName(s, spaced) })
	takeSigns(out)
	for _, of := range lists.Alike(lists.Each(out, func(c Cut) string { return strings.Join(c.Texts, "\x00") })) {
		all := lists.Where(len(out[of[0]].Numbers), func(k int) bool { // that have a hyphen after a word in every name
			return !slices.ContainsFunc(of, func(i int) bool {
				return out[i].Numbers[k][0] != '-' || !letterLast.MatchString(out[i].Texts[k])
			})
		})
		for _, k := range all {
			zero := func(i int) bool { return strings.Trim(out[i].Numbers[k], "-0.") == "" } // nobody writes −0
			before := out[of[0]].Texts[k]
			doubt := (Angle.MatchString(before) || axis.MatchString(before)) && !slices.ContainsFunc(of, zero)
			for _, i := range of {
				c := &out[i]
				if doubt {
					c.Doubtful = append(c.Doubtful, k)
				}

				if !doubt || len(all) > 1 {
					c.Texts[k], c.Numbers[k] = c.Texts[k]+"-", c.Numbers[k][1:]
				}
			}
		}
	}

	return out
}

// takeSigns takes letters, words and a point for the sign of a number where other names have a zero after the same
// words without it: xm20, x0.
func takeSigns(cuts []Cut) {
	for k := 0; len(cuts) > 0; k++ {
		cuts = lists.Keep(cuts, func(c Cut) bool { return k < len(c.Numbers) })
		words := func(c Cut, last string) string { return strings.Join(append(c.Texts[:k:k], last), "\x00") }
		zeros := lists.Keep(cuts, func(c Cut) bool { return strings.Trim(c.Numbers[k], "0") == "" })
		_, plain := lists.Index(lists.Each(zeros, func(c Cut) string { return words(c, c.Texts[k]) }))

		for _, c := range cuts {
			m := signLast.FindStringSubmatch(c.Texts[k])
			if m != nil && isDigit(c.Numbers[k][0]) && slices.Contains(plain, words(c, m[1])) &&
				!slices.Contains(plain, words(c, m[0])) {
				c.Texts[k], c.Numbers[k] = m[1], m[2]+c.Numbers[k]
			}
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

const signsInNames = "+-−–"

// cutName cuts a name with every hyphen after a letter as a sign. spaced: blanks may part thousands.
func cutName(s string, spaced bool) (c Cut) {
	at := 0
	for m := inName.FindStringIndex(s); m != nil; m = inName.FindStringIndex(s[at:]) {
		lo, hi := at+m[0], at+m[1]
		if f := fraction.FindStringSubmatch(s[hi:]); f != nil && len(strings.TrimLeft(s[lo:hi], signsInNames)) <= 3 &&
			(lo == at || s[lo-1] != ',') && !strings.Contains(s[lo:hi], ".") {
			hi += len(f[1] + f[2])
		}

		// directly after a number a sign separates: 2023-04-11, 5-10
		if lo == at && at > 0 || s[lo] == '-' && Series.MatchString(s[at:lo]) {
			lo = hi - len(strings.TrimLeft(s[lo:hi], signsInNames))
		}

		// 5'500, 5 500 rpm
		if t := thousands.FindStringSubmatch(s[hi:]); t != nil && hi-lo < 4 && (t[1] != "" ||
			spaced && isDigit(s[lo]) && (inThousands.MatchString(s[:lo]+t[2]) || t[3] != "" && !wordLast.MatchString(s[:lo]))) {
			hi += len(t[1] + t[2])
		}

		if e := power.FindStringSubmatch(s[hi:]); e != nil {
			hi += len(e[1])
		} else if e := ofTen.FindString(s[hi:]); e != "" && (s[lo:hi] == "10" || strings.Contains(e, "10")) {
			hi += len(e)
		} else if e, m := signBehind.FindStringSubmatch(s[hi:]), Angle.FindStringSubmatch(s[at:lo]); e != nil && m != nil &&
			m[2] == "" && len(m[1]) > 1 { // aoa5m
			hi += len(e[1])
		}

		lo -= len(signBefore(s[at:lo], s[lo:hi], s[hi:]))
		c.Texts, c.Numbers = append(c.Texts, s[at:lo]), append(c.Numbers, s[lo:hi])
		at = hi
	}

	c.Texts = append(c.Texts, s[at:])

	return c
}

// signBefore is the letter or the word before a number that is its sign: am5, alpha_neg5, m5deg.
func signBefore(before, number, after string) string {
	if !isDigit(number[0]) {
		return ""
	}

	if m := signWords.FindStringSubmatch(before); m != nil {
		return m[1]
	}

	if m := Angle.FindStringSubmatch(before); m != nil && m[2] != "" {
		sign := strings.TrimLeft(m[2], "-_ =")
		if v, _ := ParseName(number); strings.EqualFold(sign, "n") && (len(m[1]) < 2 || v > 90) {
			return "" // a_n50, alpha_n3000: a speed
		}

		return sign
	}

	if m := lone.FindStringSubmatch(before); m != nil && degrees.MatchString(after) {
		return m[1]
	}

	return ""
}
