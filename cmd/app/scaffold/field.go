package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// role is the purpose that is proposed for a column of a table, or for a part of the names.
type role string

const (
	open    role = ""         // no role yet
	input   role = "input"    // a condition that was set
	outcome role = "outcome"  // a measured quantity, which models are to predict
	runs    role = "run"      // it tells runs apart, such as the number of a run
	day     role = "day"      // an occasion of the measurements
	thing   role = "thing"    // the name of what was measured, such as a propeller
	remark  role = "remark"   // none of these, such as a comment, a time or a constant
	leftOut role = "left out" // a column that cannot be used; field.why has the reason
)

// field is a column of a table, or the part at one place of all file names. Its slices have one element for each row.
type field struct {
	name     string // as proposed
	head     string // as written
	unit     string // as written; "": none
	texts    []string
	values   []float64            // NaN: the row states none; nil: the texts are not numbers
	points   *condition.SetPoints // about which the values scatter; nil: they do not
	role     role
	why      string // the reason for the role
	reading  string // how numbers in names are read, if they may be read otherwise; "" if not
	fromName bool   // the names of the files state it, beside a log or a table of results

	// isCondition: the column counts as a condition in any role. The program knows its name, such as rpm, or it is the
	// same everywhere.
	isCondition bool
}

// hasNoWord reports whether a column holds numbers of names that have no word.
func (f *field) hasNoWord() bool { return strings.HasPrefix(f.head, filename.Unnamed) }

// hasWord reports whether the name or the header has a word that matches one of some patterns.
func (f *field) hasWord(words ...vocabulary.Pattern) bool {
	return slices.ContainsFunc(words, func(p vocabulary.Pattern) bool { return vocabulary.HasWord(p, f.name, f.head) })
}

// isNumbered reports whether all words of the name are of numbers that count, such as Run_nr.
func (f *field) isNumbered() bool { return vocabulary.AreCounted(f.name) }

// measures reports whether a column has the measured values of a setting: mean_tsr of tsr_nom, rpm_measured of rpm.
func (f *field) measures(setting *field) bool {
	isSameQuantity := strings.EqualFold(vocabulary.BareHead(f.head), vocabulary.BareHead(setting.head))
	if f.hasWord(vocabulary.Nominal) || !isSameQuantity {
		return false
	}

	onlyFieldIsMeasured := f.hasWord(vocabulary.Measured) && !setting.hasWord(vocabulary.Measured)

	return setting.hasWord(vocabulary.Nominal) || onlyFieldIsMeasured
}

// pointOrValue returns the set point of a row if the values scatter about set points, and the value otherwise.
func (f *field) pointOrValue(row int) float64 {
	if f.points != nil {
		return f.points.At(f.values[row])
	}

	return f.values[row]
}

// stated returns the values of all rows that state one.
func (f *field) stated() []float64 { return slices.DeleteFunc(slices.Clone(f.values), math.IsNaN) }

// mayHideDifferences reports whether rows that look like repeats may differ in something that the column does not state
// in all rows, or that cannot be used. Names such as run1, a, b and copies hide no difference.
func (f *field) mayHideDifferences() bool {
	isOtherName := f.fromName && f.role == remark && (f.why == otherText || f.name == "variant")
	isSetting := f.role == leftOut && !f.fromName && f.hasWord(vocabulary.Inputs)
	switch {
	case f.role == thing && slices.Contains(f.texts, ""):
		return true
	case isOtherName && f.countDistinct() < len(f.texts):
		return true
	case isSetting && f.countDistinct() > 1 && len(f.stated()) < len(f.texts):
		return true
	case f.why != noRepeats || f.values != nil || f.name == filename.Copy:
		return false
	}

	return slices.ContainsFunc(f.texts, func(text string) bool { return len(text) > 1 })
}

// cell returns the text of a row, which is the set point if the values scatter about set points. It returns "" if the
// row states nothing.
func (f *field) cell(row int) string {
	switch {
	case f.values == nil:
		return f.texts[row]
	case math.IsNaN(f.values[row]):
		return ""
	}

	return decimal(f.pointOrValue(row))
}

// countDistinct returns the number of different cells that are not empty.
func (f *field) countDistinct() int { return len(f.distinctCells()) }

// distinctCells returns the different cells that are not empty, in the order of the rows.
func (f *field) distinctCells() []string {
	texts := make([]string, len(f.texts))
	for i := range texts {
		texts[i] = f.cell(i)
	}

	_, all := lists.Index(texts)

	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// shownValues is the number of values up to which describe shows all. If there are more, it shows one less and the
// number of all values.
const shownValues = 4

// describe returns one line for people: the header, the role, the reason and the first few values.
func (f *field) describe() string {
	text := cmp.Or(f.head, f.name)
	isSameButUnit := strings.HasPrefix(text+" ", f.name+" ")
	if f.name != "" && !isSameButUnit {
		text = fmt.Sprintf("%s (%s)", f.name, f.head)
	}

	why := f.explanation()
	if f.points != nil && f.role == input {
		why = fmt.Sprintf("%s; within names them; %s", f.points, f.reading)
	}

	text += strings.TrimRight(fmt.Sprintf(": %s, %s", f.role, why), ", ;")

	var few []string
	all := f.distinctCells()
	for _, cell := range all[:min(len(all), shownValues)] {
		few = append(few, f.shorten(cell))
	}

	if n := len(all); n > shownValues {
		few = append(few[:shownValues-1], fmt.Sprintf("… (%d values)", n))
	}

	return strings.Join(strings.Fields(text+": "+strings.Join(few, ", ")), " ")
}

// shorten returns a cell for people: at most six digits of a number, and the beginning of a long text.
func (f *field) shorten(cell string) string {
	v, err := strconv.ParseFloat(cell, 64)
	if err == nil && f.values != nil && math.Abs(v) < 1e6 {
		cell = fmt.Sprintf("%.6g", v)
	}

	return fault.Clip(cell)
}

// roleAndReason returns the role and, in parentheses, why the field has it.
func (f *field) roleAndReason() string {
	return strings.TrimSuffix(fmt.Sprintf("%s (%s)", f.role, f.explanation()), " ()")
}

// explanation returns why the field has its role, and how its numbers are read.
func (f *field) explanation() string { return strings.Trim(f.why+"; "+f.reading, "; ") }

// setRole gives the field a role and the reason for it.
func (f *field) setRole(r role, why string) {
	f.role = r
	f.why = why
}

// setMeasured gives a role to a field whose values were measured, not set: it drops the set points.
func (f *field) setMeasured(r role, why string) {
	f.points = nil
	f.setRole(r, why)
}

// isAir reports whether a column is called as a state of the air or of the supply.
func (f *field) isAir() bool {
	return f.hasWord(vocabulary.Air) || vocabulary.AirUnit.MatchString(f.head+" "+f.unit)
}

// isObject reports whether a column is called as a thing that was measured.
func (f *field) isObject() bool {
	if strings.HasPrefix(f.name, "mic") { // a microphone measures
		return false
	}

	if vocabulary.Things.MatchString(f.name) || vocabulary.SerialNumber.MatchString(f.name) {
		return true
	}

	return f.hasWord(vocabulary.Objects, vocabulary.Parts)
}

// namesFile reports whether a cell is the name of a file.
func (f *field) namesFile(files []string) bool {
	for _, text := range f.distinctCells() {
		for _, file := range files {
			if text == file || text == path.Base(file) {
				return true
			}
		}
	}

	return false
}

// numbersThings reports whether whole numbers are names of things: wings 1, 2, 3, Prop ID 11, 17, propellers 1045,
// 8045. Other numbers may be settings.
func (f *field) numbersThings() bool {
	head := vocabulary.ThingNumber().FindStringSubmatch(f.head)
	isCalledThing := head != nil || f.isObject()
	if !isCalledThing || f.values == nil || f.unit != "" || !f.areCounts() {
		return false
	}

	first, _, isConsecutive := f.consecutive()
	switch {
	case isConsecutive && first == 1:
		return true
	case head == nil:
		return false
	}

	saysNumber := head[1] != "" // as ID does in Prop ID

	return saysNumber || f.namesTypes() || isConsecutive && first == 0
}

// Names of types are large numbers, and some of them are not multiples of typeStep: the propeller 1045 has a diameter
// of 10 inches and a pitch of 4.5. Settings as large are round.
const (
	leastType = 1000
	typeStep  = 50
)

// namesTypes reports whether numbers are names of types, such as of propellers 1045.
func (f *field) namesTypes() bool {
	values := f.stated()
	isRough := func(x float64) bool { return math.Mod(x, typeStep) != 0 }

	return slices.Max(values) >= leastType && slices.ContainsFunc(values, isRough)
}

// areCounts reports whether all stated values are whole numbers and not negative.
func (f *field) areCounts() bool {
	for _, x := range f.stated() {
		if x < 0 || x != math.Trunc(x) {
			return false
		}
	}

	return true
}

// consecutive reports whether the different values are in steps of one. It returns the least value and how many
// different values there are.
func (f *field) consecutive() (first float64, n int, ok bool) {
	different := slices.Compact(slices.Sorted(slices.Values(f.stated())))
	if len(different) == 0 {
		return 0, 0, false
	}

	first = different[0]
	for i, v := range different {
		if v != first+float64(i) {
			return first, len(different), false
		}
	}

	return first, len(different), true
}

// repeatsValues reports whether values look like settings: each value, or each set point, has two rows on average.
func (f *field) repeatsValues() bool { return 2*f.countDistinct() <= len(f.stated()) }

// isNumber reports whether a column has several different numbers.
func isNumber(column *field) bool { return column.values != nil && column.countDistinct() > 1 }

// isText reports whether the texts of a column are not numbers.
func isText(column *field) bool { return column.values == nil }

// shareWithin returns the share of the variance of a column that is within the groups of rows: 0 if each group has one
// value, about 1 if the groups do not matter.
func (f *field) shareWithin(groups [][]int) float64 {
	inside := 0.0
	degreesOfFreedom := 0
	for _, g := range groups {
		inside += sumOfSquares(lists.Pick(f.values, g))
		degreesOfFreedom += len(g) - 1
	}

	return inside / float64(degreesOfFreedom) / sumOfSquares(f.values) * float64(len(f.values)-1)
}

// sumOfSquares returns the sum of the squared differences of values from their mean, by Welford's recurrence.
func sumOfSquares(values []float64) (sum float64) {
	mean := 0.0
	for i, x := range values {
		d := x - mean
		mean += d / float64(i+1)
		sum += float64(d * (x - mean))
	}

	return sum
}

// isNarrow reports whether the range of values is less than a share of the middle of the range. Values on both sides of
// zero are never narrow. There must be a value.
func isNarrow(values []float64, share float64) bool {
	low := slices.Min(values)
	high := slices.Max(values)

	return low*high > 0 && high-low < share*math.Abs(low+high)/2
}

// decimal writes a number with as many digits as it needs.
func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// namesOf returns the names of fields.
func namesOf(fields []*field) []string {
	var names []string
	for _, column := range fields {
		names = append(names, column.name)
	}

	return names
}
