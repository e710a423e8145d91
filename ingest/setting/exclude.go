package setting

import (
	"slices"
	"strconv"

	"doubletake/ingest/condition"
)

// Exclusion is one entry of ingest.exclude: it leaves out files, or recordings and rows of a table by their conditions.
// With Channel it leaves out only one channel of these files or recordings.
type Exclusion struct {
	Files   string    `path:"yes"` // a name or a glob; "" if Where is set
	Where   Predicate // conditions, all of which must be met, with tolerances of its own; nil if Files is set
	Channel string    // name or number from 1; "": all channels
	Reason  string    // for the page; "": not given
}

// String returns the exclusion as messages and the settings of tasks show it.
func (x Exclusion) String() string {
	text := x.Files
	if x.Where != nil {
		text = x.Where.String()
	}

	if x.Channel != "" {
		text += ", channel " + x.Channel
	}

	if x.Reason != "" {
		text += " (" + x.Reason + ")"
	}

	return text
}

// Holds reports whether a row with these conditions and names is left out. x.Where must not be nil.
func (x Exclusion) Holds(row condition.Values) bool {
	for _, key := range x.Where.Conditions() {
		met := x.holdsNumber(row, key)
		if slices.Contains(x.Where.Labels(), key) {
			met = x.holdsName(row, key)
		}

		if !met {
			return false
		}
	}

	return true
}

// holdsNumber reports whether the row meets a condition that is a number. A row without the condition does not.
func (x Exclusion) holdsNumber(row condition.Values, key string) bool {
	value, ok := row.Numbers[key]

	return ok && x.Where.Holds(key, value)
}

// holdsName reports whether the row meets a condition that is a name. A row without the condition does not. Tables may
// have names that look like numbers: 3 is then the name "3", and 20240115 is "20240115", without an exponent.
func (x Exclusion) holdsName(row condition.Values, key string) bool {
	if name, ok := row.Names[key]; ok {
		return x.Where.HoldsLabel(key, name)
	}

	value, ok := row.Numbers[key]

	return ok && x.Where.HoldsLabel(key, strconv.FormatFloat(value, 'f', -1, 64))
}

// Exclusions are the entries of ingest.exclude.
type Exclusions []Exclusion

// Files returns the names and globs of files that are left out with all channels.
func (l Exclusions) Files() []string {
	var files []string
	for _, x := range l {
		if x.Where == nil && x.Channel == "" {
			files = append(files, x.Files)
		}
	}

	return files
}

// Where returns the exclusions by conditions that leave out all channels.
func (l Exclusions) Where() Exclusions {
	var list []Exclusion
	for _, x := range l {
		if x.Where != nil && x.Channel == "" {
			list = append(list, x)
		}
	}

	return list
}

// OfChannels returns the exclusions of single channels.
func (l Exclusions) OfChannels() Exclusions {
	var list []Exclusion
	for _, x := range l {
		if x.Channel != "" {
			list = append(list, x)
		}
	}

	return list
}

// Predicate decides by conditions whether a row is meant. The conditions of splits (train/holdout) are Predicates.
type Predicate interface {
	// String describes the conditions in words, which are part of the keys of tasks.
	String() string

	// Conditions lists the names of the conditions that decide.
	Conditions() []string

	// Labels lists the conditions among them that are text.
	Labels() []string

	// Holds reports whether rows with a value of a condition of numbers can be meant.
	Holds(condition string, value float64) bool

	// HoldsLabel reports whether rows with a name of a condition of text can be meant.
	HoldsLabel(condition, label string) bool
}
