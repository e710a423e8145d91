package role

import (
	"math"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
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
	ofRuns   bool   // the part of names is behind a word of runs, as in sweep_a

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

// MayHideDifferences reports whether rows that look like repeats may differ in something that the column does not state
// in all rows, or that cannot be used. Names such as run1, sweep_a and copies hide no difference, nor do numbers that
// count from 0 or 1. Other letters and numbers may be of things and settings.
func (c *Column) MayHideDifferences() bool {
	isOtherName := c.FromName && c.Role == Remark && (c.Why == otherText || c.Name == "variant")
	isSetting := c.Role == LeftOut && !c.FromName && c.HasWord(vocabulary.Inputs)
	isOfSomeNames := c.Role == LeftOut && c.FromName && slices.Contains(c.Texts, "")
	switch {
	case c.Role == Thing && (slices.Contains(c.Texts, "") || c.Why == ReservedName):
		return true
	case c.Role == LeftOut && c.Why == ofCorrections, isOfSomeNames:
		return true
	case isOtherName && c.CountDistinct() < len(c.Texts):
		return true
	case isSetting && c.CountDistinct() > 1 && len(c.stated()) < len(c.Texts):
		return true
	case c.Why != noRepeats || c.Name == filename.Copy:
		return false
	case c.Values != nil:
		first, _, isConsecutive := c.consecutive()
		return !isConsecutive || first > 1
	}

	return !c.ofRuns || !countLetters(c.DistinctCells())
}

// countLetters reports whether texts are the letters a, b and so on, in upper or lower case.
func countLetters(texts []string) bool {
	for i, text := range slices.Sorted(slices.Values(texts)) {
		if !strings.EqualFold(text, string(rune('a'+i))) {
			return false
		}
	}

	return true
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
	var distinct []string
	seen := map[string]bool{"": true}
	for row := range c.Texts {
		if text := c.Cell(row); !seen[text] {
			seen[text] = true
			distinct = append(distinct, text)
		}
	}

	return distinct
}

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
