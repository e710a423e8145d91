package role

import (
	"math"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/vocabulary"
)

// Names of types are large numbers, and some of them are not multiples of typeStep: the propeller 1045 has a diameter
// of 10 inches and a pitch of 4.5. Settings as large are round.
const (
	leastType = 1000
	typeStep  = 50
)

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

// namesTypes reports whether numbers are names of types, such as of propellers 1045.
func (c *Column) namesTypes() bool {
	values := c.stated()
	isRough := func(x float64) bool { return math.Mod(x, typeStep) != 0 }

	return slices.Max(values) >= leastType && slices.ContainsFunc(values, isRough)
}
