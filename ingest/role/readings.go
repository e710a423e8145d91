package role

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
)

// Numbers in names can mean several things: 0305 is a number or the third of May, 05 is five or a half, 4_500 is one
// number or two. The functions of this file choose a reading for a whole column, and keep a line for people if there is
// another.

var (
	// anyNumber matches a number with its sign.
	anyNumber = regexp.MustCompile(`(?i:(?:neg|minus|pos|plus|[mnp])[_ ]?)?[-+−]?\d[\d.,p]*`)
	// twoNumbers matches the end of a name up to a number if it may be one number or two: 0-5, 12_25, 1.5x10, 4_500. The
	// text is in one of the two groups.
	twoNumbers = regexp.MustCompile(`(?:(?:^|[^\d.,])((?:0|[1-9]\d?)[-_ ,](?:\d|00|25|50|75)|[\d.]+x10\d)|` +
		`(?:^|(?i:re|rpm|n)|[^\pL\d.,])([1-9]\d{0,2}[_ ,]\d{3}))$`)
)

// readForms reads columns of numbers as dates, or as decimals, if all texts have a form that people use for them.
func (s *Sheet) readForms() {
	for _, column := range s.Columns {
		days := filename.PossibleDays(column.Texts)
		padded := column.firstPadded()
		first := column.Texts[0]
		switch {
		case days != "" && column.isDate():
			column.noteReading(first, "%s", days)
			column.Name = "day"
			column.Values = nil
		case days != "" && column.Values != nil && vocabulary.StandardNames[column.Head] == "":
			column.noteReading(first, "%v, not as %s", column.Values[0], days)
		case padded >= 0 && column.mayLackPoint():
			whole := column.Values[padded]
			digitsAfterPoint := len(column.Texts[padded]) - 1
			decimals := make([]float64, len(column.Values))
			for i, v := range column.Values {
				decimals[i] = v / math.Pow10(digitsAfterPoint)
			}

			column.Values = decimals
			column.noteReading(column.Texts[padded], "%v, not as %v", column.Values[padded], whole)
		}
	}
}

// isDate reports whether numbers that have the form of dates are dates. They are if the header is day, if they have no
// word, or if they have six digits and their word is not known. Four digits with any other word are not a date.
func (c *Column) isDate() bool {
	if c.Head == "day" || c.hasNoWord() {
		return true
	}

	return len(c.Texts[0]) == len("060102") && !vocabulary.IsKnown(c.Head)
}

// mayLackPoint reports whether numbers with leading zeros are decimals without a point: 05 of Mach 0.5. If a number is
// 0, they are not, since nobody sets Mach 0; but people set the advance ratio j to 0.
func (c *Column) mayLackPoint() bool {
	return vocabulary.Decimals.MatchString(c.Head) && (c.Head == "j" || !slices.Contains(c.Values, 0))
}

// firstPadded returns the row of the first number with a zero before it if all texts have equally many digits, and −1
// otherwise.
func (c *Column) firstPadded() int {
	n := len(c.Texts[0])
	for _, text := range c.Texts {
		if len(text) != n || !filename.AllDigits.MatchString(text) {
			return -1
		}
	}

	return slices.IndexFunc(c.Texts, func(text string) bool { return text[0] == '0' && strings.Trim(text, "0") != "" })
}

// noteReading keeps how a text of the column is read. The first reading stays.
func (c *Column) noteReading(text, format string, args ...any) {
	if c.reading == "" {
		c.reading = fmt.Sprintf("%q is read as ", text) + fmt.Sprintf(format, args...)
	}
}

// noteReadings keeps how numbers are read that may be read otherwise: as decimals, names, parts of one, or two.
func (s *Sheet) noteReadings() {
	for _, column := range s.Columns {
		column.noteFormReading()
	}

	for row, pieces := range s.Pieces {
		for k := range pieces {
			s.notePieceReading(row, k)
		}
	}
}

// noteFormReading keeps how a column is read if the form of its texts has another reading.
func (c *Column) noteFormReading() {
	padded := c.firstPadded()
	all := c.DistinctCells()
	ambiguous := slices.IndexFunc(c.Texts, filename.AmbiguousMark.MatchString)
	isQuantity := c.Values != nil && c.Role != Run && !c.IsAir()
	switch {
	case ambiguous >= 0 && isQuantity && !slices.ContainsFunc(all, hasDecimalMark):
		c.noteReading(c.Texts[ambiguous], "%v: its mark may be that of decimals or of thousands", c.Values[ambiguous])
	case c.Role == Thing || c.Why == otherText:
		if differOnlyInNumbers(all) && !slices.ContainsFunc(all, isTypeName) {
			c.noteReading(all[0], "a name, its numbers as no conditions")
		}
	case c.Role == Input && c.mayBeDecimal(padded):
		row := max(padded, 0)
		c.noteReading(c.Texts[row], "%v, not as a decimal", c.Values[row])
	}
}

// mayBeDecimal reports whether whole numbers of an input may be decimals without a point. padded is the row of the
// first number with a leading zero, or −1.
func (c *Column) mayBeDecimal(padded int) bool {
	if padded >= 0 && !c.isWhole() {
		return true
	}

	return vocabulary.Decimals.MatchString(c.Head) && slices.Min(c.stated()) >= 2 // Mach 5 may be 0.5
}

// hasDecimalMark reports whether the mark of a number can only be of decimals.
func hasDecimalMark(text string) bool {
	return strings.ContainsAny(text, ".,") && !filename.AmbiguousMark.MatchString(text)
}

// isTypeName reports whether the word before the numbers of a text is of things, or of types.
func isTypeName(text string) bool {
	word := strings.TrimRight(text, "0123456789-_ ")
	return filename.Piece{Key: word, Text: "00"}.IsThing()
}

// differOnlyInNumbers reports whether two texts are the same except for their numbers.
func differOnlyInNumbers(texts []string) bool {
	shapes := map[string]bool{}
	for _, text := range texts {
		shapes[anyNumber.ReplaceAllString(text, "0")] = true
	}

	return len(shapes) < len(texts)
}

// isWhole reports whether numbers with leading zeros are whole: they have a unit, or a word of numbers that are whole,
// or they count from 0 or 1.
func (c *Column) isWhole() bool {
	if vocabulary.StandardNames[c.Head] != "" || c.Unit != "" {
		return true
	}

	first, _, isConsecutive := c.consecutive()
	counts := isConsecutive && first < 2

	return counts || vocabulary.InThousands.MatchString(c.Head) || condition.Angle.MatchString(c.Head)
}

// notePieceReading keeps how number k of a name is read if it may be two numbers, or one with the piece before it.
func (s *Sheet) notePieceReading(row, k int) {
	p := s.Pieces[row][k]
	column := s.byHead(p.Key)
	if column == nil || p.Kind != filename.Number || column.Values == nil || column.Role == Run {
		return
	}

	text := s.Files[row][p.TextBegin:p.TextEnd]
	if strings.HasSuffix(text, " 000") {
		return // thousands: nobody writes 2 and 000 for two numbers
	}

	hasSeparator := strings.ContainsAny(text, "_ ")
	isListed := p.Begin == p.TextBegin && strings.Contains(text, ",")
	if hasSeparator || isListed {
		column.noteReading(text, "%v, not as two numbers", column.Values[row])
		return
	}

	m := twoNumbers.FindStringSubmatch(s.Files[row][:p.TextEnd])
	if m != nil && s.mayContinue(s.Pieces[row], k, column) {
		column.noteReading(m[1]+m[2], "two numbers, not as one")
	}
}

// mayContinue reports whether number k of a name may be one number with the number or the word before it.
func (s *Sheet) mayContinue(pieces []filename.Piece, k int, column *Column) bool {
	if k == 0 {
		return false
	}

	p := pieces[k]
	previous := pieces[k-1]
	hasWord := p.Begin != p.TextBegin
	previousHasWord := previous.Begin != previous.TextBegin
	isBare := !hasWord && (p.Unit == "" || !previousHasWord)
	if !isBare && p.Key != "x" {
		return false
	}

	if previous.Kind == filename.Number {
		return column.Role == Remark || s.ByHeadOrNew(previous.Key).Role != Run
	}

	return previous.Kind == filename.Word
}
