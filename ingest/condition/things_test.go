package condition

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/vocabulary"
)

// Columns that a person would say name a thing, and columns that a person would say state a quantity, are told apart.
func TestIsThing(t *testing.T) {
	for _, name := range []string{
		"propeller", "Propeller", "prop", "Props", "wing", "Flügel", "airfoil", "aerofoil", "Profil", "motor", "motor_id",
		"Motor Nr.", "engine", "moteur", "model", "Modell", "sample", "Sample ID", "serial", "serial_number", "Seriennummer",
		"specimen", "Probe", "sensor_no", "nozzle", "propeller type",
	} {
		assert.True(t, IsThing(name), "%s", name)
	}

	for _, name := range []string{
		"rpm", "alpha_deg", "blades", "wing_area", "motor_v", "propeller_rpm", "samples_n", "U", "chord", "wingspan",
		"propulsion",
		"model_scale", "profile_drag", "sensor_v", "run", "engine_rpm", "serial_rate", "Re", "pitch_in", "mach",
	} {
		assert.False(t, IsThing(name), "%s", name)
	}
}

// Words of things that package vocabulary also lists. Each word in differs is in one of the two lists only, for the
// reason beside it.
func TestThingsOfVocabulary(t *testing.T) {
	for _, word := range []string{
		"prop", "propeller", "luftschraube", "helice", "hélice", "elica", "wing", "motor", "airfoil", "aerofoil", "profil",
		"profile", "model", "modell", "specimen", "nozzle", "düse", "sample", "part", "serial", "s/n", "Seriennummer",
	} {
		assert.True(t, IsThing(word), "%s names a column of things", word)
		assert.True(t, isThingOfVocabulary(word), "%s is a thing of the vocabulary", word)
	}

	for _, differs := range []struct{ word, reason string }{
		{"rotor", "a column of numbers may be a speed"},
		{"fan", "a column of numbers may be a speed"},
		{"config", "numbers may be angles of flaps"},
		{"configuration", "numbers may be angles of flaps"},
		{"mic", "a column of numbers counts channels"},
		{"microphone", "a column of numbers counts channels"},
		{"cell", "a column of numbers may be a count of a battery"},
		{"pump", "a column of numbers may be a power"},
		{"surface", "a column of numbers may be an area"},
		{"cylinder", "a column of numbers may be a diameter"},
		{"id", "it numbers rows"},
	} {
		assert.False(t, IsThing(differs.word), "%s: %s", differs.word, differs.reason)
		assert.True(t, isThingOfVocabulary(differs.word), "%s is a thing of the vocabulary", differs.word)
	}

	for _, differs := range []struct{ word, reason string }{
		{"flügel", "as a header that a number follows, it counts blades"},
		{"engine", "a number behind it in a name may be a power"},
		{"esc", "a number behind it in a name may be a setting"},
		{"sensor", "a number behind it in a name is a channel"},
		{"probe", "a number behind it in a name is a channel"},
	} {
		assert.True(t, IsThing(differs.word), "%s names a column of things", differs.word)
		assert.False(t, isThingOfVocabulary(differs.word), "%s: %s", differs.word, differs.reason)
	}
}

// isThingOfVocabulary reports whether a list of package vocabulary has a word as a thing.
func isThingOfVocabulary(word string) bool {
	for _, list := range []vocabulary.Pattern{
		vocabulary.Things, vocabulary.Objects, vocabulary.Parts, vocabulary.SerialNumber,
	} {
		if list.MatchString(word) {
			return true
		}
	}

	return false
}

// Sizes of propellers as APC writes them look like names. Fewer than three mantissas, a single exponent, or the way in
// which programs write numbers do not.
func TestLookLikeNames(t *testing.T) {
	for _, cells := range [][]string{
		{"8E4", "9E5", "10E5", "11E7"}, {"8E4", "8E6", "9E6", "10E7"}, {"8e4", "9e6", "", "11e7"}, {"10E5", "11E7", "12E6"},
	} {
		assert.True(t, LookLikeNames(cells), "%v", cells)
	}

	for _, cells := range [][]string{
		{"1E5", "2E5", "3E5"},
		{"1E4", "1E5", "1E6"},
		{"8.0E4", "9.0E5", "1.0E6"},
		{"8e+04", "9e+05", "10e+05"},
		{"8", "9E5", "10E5"},
		{"8E4"},
		{"8E4", "8E5"},
		{},
		{"", ""},
		{"80000", "900000"},
		{"8x4", "9x5"},
		{"1E5", "2E5", "1E6", "2E6"},
	} {
		assert.False(t, LookLikeNames(cells), "%v", cells)
	}
}
