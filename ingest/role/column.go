package role

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

// Column is a column of a table, or the part at one place of all file names. Its slices have one element for each row.
type Column struct {
	Name     string // as proposed
	Head     string // as written
	Unit     string // as written; "": none
	Texts    []string
	Values   []float64            // NaN: the row states none; nil: the texts are not numbers
	Points   *condition.SetPoints // about which the values scatter; nil: they do not
	Role     Role
	Why      string // the reason for the role
	reading  string // how numbers in names are read, if they may be read otherwise; "" if not
	FromName bool   // the names of the files state it, beside a log or a table of results

	// IsCondition: the column counts as a condition in any role. The program knows its name, such as rpm, or it is the
	// same everywhere.
	IsCondition bool
}

// hasNoWord reports whether a column holds numbers of names that have no word.
func (c *Column) hasNoWord() bool { return strings.HasPrefix(c.Head, filename.Unnamed) }

// HasWord reports whether the name or the header has a word that matches one of some patterns.
func (c *Column) HasWord(words ...vocabulary.Pattern) bool {
	return slices.ContainsFunc(words, func(p vocabulary.Pattern) bool { return vocabulary.HasWord(p, c.Name, c.Head) })
}

// IsNumbered reports whether all words of the name are of numbers that count, such as Run_nr.
func (c *Column) IsNumbered() bool { return vocabulary.AreCounted(c.Name) }

// measures reports whether a column has the measured values of a setting: mean_tsr of tsr_nom, rpm_measured of rpm.
func (c *Column) measures(setting *Column) bool {
	isSameQuantity := strings.EqualFold(vocabulary.BareHead(c.Head), vocabulary.BareHead(setting.Head))
	if c.HasWord(vocabulary.Nominal) || !isSameQuantity {
		return false
	}

	onlyThisIsMeasured := c.HasWord(vocabulary.Measured) && !setting.HasWord(vocabulary.Measured)

	return setting.HasWord(vocabulary.Nominal) || onlyThisIsMeasured
}

// pointOrValue returns the set point of a row if the values scatter about set points, and the value otherwise.
func (c *Column) pointOrValue(row int) float64 {
	if c.Points != nil {
		return c.Points.At(c.Values[row])
	}

	return c.Values[row]
}

// stated returns the values of all rows that state one.
func (c *Column) stated() []float64 { return slices.DeleteFunc(slices.Clone(c.Values), math.IsNaN) }

// MayHideDifferences reports whether rows that look like repeats may differ in something that the column does not state
// in all rows, or that cannot be used. Names such as run1, a, b and copies hide no difference.
func (c *Column) MayHideDifferences() bool {
	isOtherName := c.FromName && c.Role == Remark && (c.Why == otherText || c.Name == "variant")
	isSetting := c.Role == LeftOut && !c.FromName && c.HasWord(vocabulary.Inputs)
	switch {
	case c.Role == Thing && slices.Contains(c.Texts, ""):
		return true
	case isOtherName && c.CountDistinct() < len(c.Texts):
		return true
	case isSetting && c.CountDistinct() > 1 && len(c.stated()) < len(c.Texts):
		return true
	case c.Why != noRepeats || c.Values != nil || c.Name == filename.Copy:
		return false
	}

	return slices.ContainsFunc(c.Texts, func(text string) bool { return len(text) > 1 })
}

// Cell returns the text of a row, which is the set point if the values scatter about set points. It returns "" if the
// row states nothing.
func (c *Column) Cell(row int) string {
	switch {
	case c.Values == nil:
		return c.Texts[row]
	case math.IsNaN(c.Values[row]):
		return ""
	}

	return Decimal(c.pointOrValue(row))
}

// CountDistinct returns the number of different cells that are not empty.
func (c *Column) CountDistinct() int { return len(c.DistinctCells()) }

// DistinctCells returns the different cells that are not empty, in the order of the rows.
func (c *Column) DistinctCells() []string {
	texts := make([]string, len(c.Texts))
	for i := range texts {
		texts[i] = c.Cell(i)
	}

	_, all := lists.Index(texts)

	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// shownValues is the number of values up to which describe shows all. If there are more, it shows one less and the
// number of all values.
const shownValues = 4

// Describe returns one line for people: the header, the role, the reason and the first few values.
func (c *Column) Describe() string {
	text := cmp.Or(c.Head, c.Name)
	isSameButUnit := strings.HasPrefix(text+" ", c.Name+" ")
	if c.Name != "" && !isSameButUnit {
		text = fmt.Sprintf("%s (%s)", c.Name, c.Head)
	}

	why := c.Explanation()
	if c.Points != nil && c.Role == Input {
		why = fmt.Sprintf("%s; within names them; %s", c.Points, c.reading)
	}

	text += strings.TrimRight(fmt.Sprintf(": %s, %s", c.Role, why), ", ;")

	var few []string
	all := c.DistinctCells()
	for _, cell := range all[:min(len(all), shownValues)] {
		few = append(few, c.shorten(cell))
	}

	if n := len(all); n > shownValues {
		few = append(few[:shownValues-1], fmt.Sprintf("… (%d values)", n))
	}

	return strings.Join(strings.Fields(text+": "+strings.Join(few, ", ")), " ")
}

// shorten returns a cell for people: at most six digits of a number, and the beginning of a long text.
func (c *Column) shorten(cell string) string {
	v, err := strconv.ParseFloat(cell, 64)
	if err == nil && c.Values != nil && math.Abs(v) < 1e6 {
		cell = fmt.Sprintf("%.6g", v)
	}

	return fault.Clip(cell)
}

// RoleAndReason returns the role and, in parentheses, why the column has it.
func (c *Column) RoleAndReason() string {
	return strings.TrimSuffix(fmt.Sprintf("%s (%s)", c.Role, c.Explanation()), " ()")
}

// Explanation returns why the column has its role, and how its numbers are read.
func (c *Column) Explanation() string { return strings.Trim(c.Why+"; "+c.reading, "; ") }

// SetRole gives the column a role and the reason for it.
func (c *Column) SetRole(r Role, why string) {
	c.Role = r
	c.Why = why
}

// setMeasured gives a role to a column whose values were measured, not set: it drops the set points.
func (c *Column) setMeasured(r Role, why string) {
	c.Points = nil
	c.SetRole(r, why)
}

// IsAir reports whether a column is called as a state of the air or of the supply.
func (c *Column) IsAir() bool {
	return c.HasWord(vocabulary.Air) || vocabulary.AirUnit.MatchString(c.Head+" "+c.Unit)
}

// IsObject reports whether a column is called as a thing that was measured.
func (c *Column) IsObject() bool {
	if strings.HasPrefix(c.Name, "mic") { // a microphone measures
		return false
	}

	if vocabulary.Things.MatchString(c.Name) || vocabulary.SerialNumber.MatchString(c.Name) {
		return true
	}

	return c.HasWord(vocabulary.Objects, vocabulary.Parts)
}

// NamesFile reports whether a cell is the name of a file.
func (c *Column) NamesFile(files []string) bool {
	for _, text := range c.DistinctCells() {
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
func (c *Column) numbersThings() bool {
	head := vocabulary.ThingNumber().FindStringSubmatch(c.Head)
	isCalledThing := head != nil || c.IsObject()
	if !isCalledThing || c.Values == nil || c.Unit != "" || !c.areCounts() {
		return false
	}

	first, _, isConsecutive := c.consecutive()
	switch {
	case isConsecutive && first == 1:
		return true
	case head == nil:
		return false
	}

	saysNumber := head[1] != "" // as ID does in Prop ID

	return saysNumber || c.namesTypes() || isConsecutive && first == 0
}

// Names of types are large numbers, and some of them are not multiples of typeStep: the propeller 1045 has a diameter
// of 10 inches and a pitch of 4.5. Settings as large are round.
const (
	leastType = 1000
	typeStep  = 50
)

// namesTypes reports whether numbers are names of types, such as of propellers 1045.
func (c *Column) namesTypes() bool {
	values := c.stated()
	isRough := func(x float64) bool { return math.Mod(x, typeStep) != 0 }

	return slices.Max(values) >= leastType && slices.ContainsFunc(values, isRough)
}

// areCounts reports whether all stated values are whole numbers and not negative.
func (c *Column) areCounts() bool {
	for _, x := range c.stated() {
		if x < 0 || x != math.Trunc(x) {
			return false
		}
	}

	return true
}

// consecutive reports whether the different values are in steps of one. It returns the least value and how many
// different values there are.
func (c *Column) consecutive() (first float64, n int, ok bool) {
	different := slices.Compact(slices.Sorted(slices.Values(c.stated())))
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

// RepeatsValues reports whether values look like settings: each value, or each set point, has two rows on average.
func (c *Column) RepeatsValues() bool { return 2*c.CountDistinct() <= len(c.stated()) }

// isNumber reports whether a column has several different numbers.
func isNumber(column *Column) bool { return column.Values != nil && column.CountDistinct() > 1 }

// isText reports whether the texts of a column are not numbers.
func isText(column *Column) bool { return column.Values == nil }

// shareWithin returns the share of the variance of a column that is within the groups of rows: 0 if each group has one
// value, about 1 if the groups do not matter.
func (c *Column) shareWithin(groups [][]int) float64 {
	inside := 0.0
	degreesOfFreedom := 0
	for _, g := range groups {
		inside += sumOfSquares(lists.Pick(c.Values, g))
		degreesOfFreedom += len(g) - 1
	}

	return inside / float64(degreesOfFreedom) / sumOfSquares(c.Values) * float64(len(c.Values)-1)
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

// Decimal writes a number with as many digits as it needs.
func Decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// NamesOf returns the names of columns.
func NamesOf(columns []*Column) []string {
	var names []string
	for _, column := range columns {
		names = append(names, column.Name)
	}

	return names
}

// SetStated sets the texts of a column, and its values if they are numbers, to what each row states. All rows state
// numbers, or all state names, and there is a row.
func (c *Column) SetStated(stated []condition.Condition) {
	c.Texts = make([]string, len(stated))
	c.Values = nil
	if stated[0].IsName {
		for i, cell := range stated {
			c.Texts[i] = cell.Name
		}

		return
	}

	c.Values = make([]float64, len(stated))
	for i, cell := range stated {
		c.Values[i] = cell.Value
		c.Texts[i] = Decimal(cell.Value)
	}
}
