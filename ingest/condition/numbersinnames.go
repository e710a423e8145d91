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

// The numbers that CutNames cuts out of names may also be n5, minus 5 and 5m, which mean −5, and 2·10⁵.
var (
	nameForm = regexp.MustCompile(`(?i)\A(minus[ _]?|neg[ _]?|plus[ _]?|pos[ _]?|[-+−–mpn])?([0-9]*)` +
		`(?:(?:[.,pd]|pt|point)([0-9]*))?(?:e([+-]?[0-9]+))?(m|n|neg|minus|p|pos|plus)?\z`)
	powerOfTen = regexp.MustCompile(`\A(?:(.*)[·⋅×x*])?10(?:\^([+-]?[0-9]+)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))\z`)
)

// ParseName reads a number that NameNumber or CutNames finds. ok is false for other texts and for numbers that are too
// large for a float64.
func ParseName(s string) (v float64, ok bool) {
	if strings.Trim(s, "0123456789.+-") == "" { // most numbers are written plainly
		v, err := strconv.ParseFloat(s, 64)
		return v + 0, err == nil // −0 is 0
	}

	s = withoutGrouping.Replace(s)
	if m := powerOfTen.FindStringSubmatch(s); m != nil {
		s = cmp.Or(m[1], "1") + "e" + asPrograms.Replace(m[2]+m[3])
	}

	m := nameForm.FindStringSubmatch(s)
	if m == nil || m[2]+m[3] == "" {
		return 0, false
	}

	text := m[2] + "." + m[3] + "e" + cmp.Or(m[4], "0")
	sign := strings.ToLower(strings.TrimRight(m[1], " _") + m[5])
	if !slices.Contains([]string{"", "+", "p", "plus", "pos"}, sign) {
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
	// numberInName matches the digits of a number with a sign and a point. Further parts are added behind it: a fraction
	// behind a comma or a letter (1,5 and 1p5), an exponent (2e5), and a power of ten (2·10⁵).
	numberInName = regexp.MustCompile(`[+−–-]?[0-9]+(?:\.[0-9]+)?`)
	fraction     = regexp.MustCompile(`^(?:(,[0-9]{1,3})(?:[^0-9,]|$)|((?:[pd]|pt|point)[0-9]{1,3})(?:[^0-9]|$))`)
	exponent     = regexp.MustCompile(`^([eE][+-]?[0-9]{1,2})(?:[^0-9A-Za-z]|Re|$)`)
	tenToPower   = regexp.MustCompile(`^(?:[·⋅×x*]10)?(?:\^[+-]?[0-9]+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)`)
	// Angle matches the word of an angle with a letter or a word for the sign, at the end of a text.
	Angle = regexp.MustCompile(`(?i)(?:^|[^a-z])(a|aoa|alpha|alfa|angle|theta|phi|beta|yaw|pitch|roll|psi|winkel|el|` +
		`elev|elevation|az|azimuth|tilt|incidence|delta|gamma|sweep|flap|elevator|rudder|aileron)` +
		`([-_ =]?(?:[mpn]|(?:neg|minus|plus|pos)[ _]?))?$`)
	// axis matches the letter of an axis at the end of a text.
	axis = regexp.MustCompile(`(?i)(?:^|[^a-z])[xyz]$`)
	// signBehind matches a sign behind the number of an angle: aoa5m.
	signBehind = regexp.MustCompile(`(?i)^(m|n|neg|minus|p|pos|plus)(?:[^0-9a-z]|$)`)
	// Series matches the words of things that have numbers: NACA 0012, HQ5040.
	Series = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:naca|apc|hq|hqprop|gemfan|dji|sd|mh|clark|eppler|nasa|gws|master|` +
		`graupner|aeronaut)$`)
	// signWords matches a word for a minus at the end of a text: alpha_neg5.
	signWords = regexp.MustCompile(`(?i)(?:^|[^a-z])((?:neg|minus)[ _]?)$`)
	// degrees matches the unit of an angle behind a number.
	degrees = regexp.MustCompile(`^(?i)(deg|grad|°)`)
	// loneSign matches a letter that may be the sign of the number behind it: m5deg.
	loneSign = regexp.MustCompile(`(?:^|[^A-Za-z])([mpn])$`)
	// signAtEnd matches a text that ends with a letter, a word or a point that may be a sign, directly behind a word or
	// behind one separator: xm20, x_m20, dEneg10, a.5. Its groups are the text before the sign, and the sign.
	signAtEnd = regexp.MustCompile(`(?i)^(|.*?(?:\pL[-_ =]??|[-_ ,]))(m|n|neg|minus|p|pos|plus|-?\.)$`)
	// thousands matches further groups of three digits behind a number: 5'500, 5 500 rpm. Its groups are the digits
	// behind apostrophes and narrow blanks, the digits behind blanks and underlines, and the unit behind the latter.
	thousands = regexp.MustCompile(`^(?i)(?:((?:['’\x{a0}\x{2007}\x{2009}\x{202f}]\d{3})+)(?:\D|$)|` +
		`([ _]\d{3}(?:[ _]000)*)(?:([ _]?(?:rpm|upm|u.?min))|[^\d\pL°%]|$))`)
	// ungrouped matches numbers behind a blank or an underline that are not groups of three digits, such as 5 5000 rpm. If
	// one name has such numbers, blanks separate numbers in all names.
	ungrouped = regexp.MustCompile(`(?i)(?:\d[ _]\d{4,}|(?:^|\D)0\d?[ _]\d{3})[ _]?(?:rpm|upm|u.?min)|` +
		`(?:^|[^\pL])re[ _=]?\d{1,3}[ _]\d(?:\d[1-9]|[1-9]0)(?:\D|$)`)
	// letterLast matches a text that ends with a letter; wordLast also one with separators behind the letter.
	letterLast = regexp.MustCompile(`[A-Za-z]$`)
	wordLast   = regexp.MustCompile(`\pL[ _]*$`)
	// inThousands matches a word with a number in groups of three digits: rpm 5 500, Re 150_000. Re200_120 and
	// Re200_120deg are two numbers.
	inThousands = regexp.MustCompile(`(?i)(?:rpm[ _=]*[ _]\d{3}|(?:^|[^\pL])re[ _=]*(?:[ _]\d{3})*[ _]\d00)$`)
)

// withoutGrouping removes the marks between thousands.
var withoutGrouping = strings.NewReplacer(" ", "", "_", "", "'", "", "’", "", "\u00a0", "", "\u2007", "", "\u2009", "",
	"\u202f", "")

// CutNames cuts names that are of one kind. It returns nil if there are no names. These rules find the signs:
//
//   - A hyphen directly before a digit is a sign, except for the next two cases.
//   - It separates if the word before it is the word of a thing, as in NACA-0012.
//   - It separates if every name with the same words has a hyphen there after a word, as in run-5. If this word is the
//     word of an angle or an axis, and its number is zero in no name, the hyphen may be a sign: the number is Doubtful.
//     A doubtful hyphen separates only if a hyphen is also before another number in every name, as in run-5 alpha-5.
//   - A letter or a word is a sign if other names have a zero after the same words without it: xm20, x0.
func CutNames(names []string) []Cut {
	mayBeGrouped := !slices.ContainsFunc(names, ungrouped.MatchString)
	cuts := make([]Cut, len(names))
	for i, name := range names {
		cuts[i] = cutOneName(name, mayBeGrouped)
	}

	takeSignsOfOthers(cuts)

	words := make([]string, len(cuts))
	for i, c := range cuts {
		words[i] = strings.Join(c.Texts, "\x00")
	}

	for _, alike := range lists.Alike(words) {
		separateHyphens(cuts, alike)
	}

	if len(cuts) == 0 {
		return nil
	}

	return cuts
}

// separateHyphens moves hyphens that separate a number from a word to the end of the word, in the cuts of names with
// the same words. alike are the indices of these cuts.
func separateHyphens(cuts []Cut, alike []int) {
	var hyphens []int // numbers with a hyphen after a word in every name
	for k := range cuts[alike[0]].Numbers {
		if allHyphens(cuts, alike, k) {
			hyphens = append(hyphens, k)
		}
	}

	for _, k := range hyphens {
		word := cuts[alike[0]].Texts[k]
		angle := Angle.MatchString(word) || axis.MatchString(word)
		doubtful := angle && !someZero(cuts, alike, k)
		for _, i := range alike {
			c := &cuts[i]
			if doubtful {
				c.Doubtful = append(c.Doubtful, k)
			}

			if !doubtful || len(hyphens) > 1 {
				c.Texts[k] += "-"
				c.Numbers[k] = c.Numbers[k][1:]
			}
		}
	}
}

// allHyphens reports whether number k has a hyphen after a word in every name.
func allHyphens(cuts []Cut, names []int, k int) bool {
	for _, i := range names {
		if cuts[i].Numbers[k][0] != '-' || !letterLast.MatchString(cuts[i].Texts[k]) {
			return false
		}
	}

	return true
}

// someZero reports whether number k is zero in some name: nobody writes −0.
func someZero(cuts []Cut, names []int, k int) bool {
	for _, i := range names {
		if strings.Trim(cuts[i].Numbers[k], "-0.") == "" {
			return true
		}
	}

	return false
}

// takeSignsOfOthers takes letters, words and a point for the sign of a number if other names have a zero after the same
// words without it: xm20, x0. It changes the cuts.
func takeSignsOfOthers(cuts []Cut) {
	for k := 0; len(cuts) > 0; k++ {
		var longer []Cut // with a number k
		for _, c := range cuts {
			if k < len(c.Numbers) {
				longer = append(longer, c)
			}
		}
		cuts = longer

		zeros := map[string]bool{} // words before a zero
		for _, c := range cuts {
			if strings.Trim(c.Numbers[k], "0") == "" {
				zeros[c.wordsBefore(k, c.Texts[k])] = true
			}
		}

		for _, c := range cuts {
			m := signAtEnd.FindStringSubmatch(c.Texts[k])
			if m == nil || !isDigit(c.Numbers[k][0]) {
				continue
			}

			word := m[1]
			sign := m[2]
			if zeros[c.wordsBefore(k, word)] && !zeros[c.wordsBefore(k, m[0])] {
				c.Texts[k] = word
				c.Numbers[k] = sign + c.Numbers[k]
			}
		}
	}
}

// wordsBefore joins the texts before number k, with another text for the last of them.
func (c Cut) wordsBefore(k int, last string) string {
	return strings.Join(append(c.Texts[:k:k], last), "\x00")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

const signsInNames = "+-−–"

// cutOneName cuts a name and takes every hyphen after a letter for a sign. mayBeGrouped tells whether blanks and
// underlines may separate groups of three digits.
func cutOneName(s string, mayBeGrouped bool) Cut {
	var c Cut
	begin := 0 // of the text before the next number
	for m := numberInName.FindStringIndex(s); m != nil; m = numberInName.FindStringIndex(s[begin:]) {
		n := nameSpan{textBegin: begin, begin: begin + m[0], end: begin + m[1]}
		n.takeFraction(s)
		n.leaveSign(s)
		n.takeThousands(s, mayBeGrouped)
		n.takePower(s)
		n.begin -= len(signBefore(s[n.textBegin:n.begin], s[n.begin:n.end], s[n.end:]))

		c.Texts = append(c.Texts, s[n.textBegin:n.begin])
		c.Numbers = append(c.Numbers, s[n.begin:n.end])
		begin = n.end
	}

	c.Texts = append(c.Texts, s[begin:])

	return c
}

// nameSpan is the place of a number in a name s: the number is s[begin:end], and the text before it is
// s[textBegin:begin].
type nameSpan struct{ textBegin, begin, end int }

// takeFraction adds a fraction behind a letter or a comma: 1p5, 1,5.
func (n *nameSpan) takeFraction(s string) {
	f := fraction.FindStringSubmatch(s[n.end:])
	if f == nil || strings.Contains(s[n.begin:n.end], ".") {
		return
	}

	short := len(strings.TrimLeft(s[n.begin:n.end], signsInNames)) <= 3
	listed := n.begin > n.textBegin && s[n.begin-1] == ','
	if short && !listed {
		n.end += len(f[1] + f[2])
	}
}

// leaveSign leaves out a sign that separates: directly after a number, as in 2023-04-11 or 5-10, or after the word of a
// thing.
func (n *nameSpan) leaveSign(s string) {
	afterNumber := n.begin == n.textBegin && n.textBegin > 0
	if afterNumber || s[n.begin] == '-' && Series.MatchString(s[n.textBegin:n.begin]) {
		n.begin = n.end - len(strings.TrimLeft(s[n.begin:n.end], signsInNames))
	}
}

// takeThousands adds further groups of three digits: 5'500, and, if mayBeGrouped is true, 5 500 rpm.
func (n *nameSpan) takeThousands(s string, mayBeGrouped bool) {
	t := thousands.FindStringSubmatch(s[n.end:])
	if t == nil || n.end-n.begin > 3 {
		return
	}

	marked := t[1] // groups after apostrophes or narrow blanks, which only separate thousands
	spacedGroups := t[2]
	unit := t[3]
	isGrouped := marked != ""
	if !isGrouped && mayBeGrouped && isDigit(s[n.begin]) {
		isSpeedAlone := unit != "" && !wordLast.MatchString(s[:n.begin])
		isGrouped = inThousands.MatchString(s[:n.begin]+spacedGroups) || isSpeedAlone
	}

	if isGrouped {
		n.end += len(marked + spacedGroups)
	}
}

// takePower adds a power of ten, or a sign behind the number of an angle.
func (n *nameSpan) takePower(s string) {
	rest := s[n.end:]
	if e := exponent.FindStringSubmatch(rest); e != nil {
		n.end += len(e[1])
		return
	}

	e := tenToPower.FindString(rest)
	if e != "" && (s[n.begin:n.end] == "10" || strings.Contains(e, "10")) {
		n.end += len(e)
		return
	}

	sign := signBehind.FindStringSubmatch(rest)
	angle := Angle.FindStringSubmatch(s[n.textBegin:n.begin])
	if sign == nil || angle == nil {
		return
	}

	hasSignBefore := angle[2] != ""
	isLetter := len(angle[1]) == 1
	if !hasSignBefore && !isLetter { // aoa5m
		n.end += len(sign[1])
	}
}

// signBefore returns the letter or the word before a number that is its sign: am5, alpha_neg5, m5deg. It returns "" if
// there is none.
func signBefore(text, number, rest string) string {
	if !isDigit(number[0]) {
		return ""
	}

	if m := signWords.FindStringSubmatch(text); m != nil {
		return m[1]
	}

	if m := Angle.FindStringSubmatch(text); m != nil && m[2] != "" {
		sign := strings.TrimLeft(m[2], "-_ =")
		v, _ := ParseName(number)
		if strings.EqualFold(sign, "n") && (len(m[1]) < 2 || v > 90) {
			return "" // a_n50, alpha_n3000: a speed
		}

		return sign
	}

	if m := loneSign.FindStringSubmatch(text); m != nil && degrees.MatchString(rest) {
		return m[1]
	}

	return ""
}
