package setting

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
)

// Error is the error about a setting. A package that takes settings does not know where the user wrote them. Its caller
// may know, and then adds the place, such as the line of a configuration file.
type Error struct {
	Section string // the section of all settings, such as "dsp"; "" if the caller knows it
	Key     string // the setting's name with points, such as "balance.tare.file"; "" means the whole section
	Text    string // the expected value, the value found, and the remedy
}

// Error returns the key and the text.
func (e *Error) Error() string {
	key := strings.Trim(e.Section+"."+e.Key, ".")
	if key == "" {
		return e.Text
	}

	return key + ": " + e.Text
}

// Errorf returns an Error about the setting with a key.
func Errorf(key, format string, args ...any) *Error {
	return &Error{Key: key, Text: fmt.Sprintf(format, args...)}
}

// OfSection stores the section of the setting and returns e.
func (e *Error) OfSection(section string) *Error {
	e.Section = section
	return e
}

// CheckOneOf returns nil if the name is one of the known names, and otherwise an Error about the setting with that key.
// The error consists of the name, the given text, the known names and, if some are similar, a suggestion:
//
//	"fan" is not a thing; the things are [van tram]; did you mean "van"?
func CheckOneOf(known []string, name, key, text string) error {
	if slices.Contains(known, name) {
		return nil
	}

	return Errorf(key, "%q %s %v%s", name, text, known, spelling.DidYouMean(name, known))
}
