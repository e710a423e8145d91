package spelling

import (
	"regexp"
	"strconv"
	"strings"
)

// bareName matches words, names of files and numbers of channels, which have no sign with a meaning in YAML.
var bareName = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_.]*|[1-9][0-9]*)$`)

// YAML returns a name as a message advises to write it in the configuration: in quotes unless it is a plain word or
// a number.
func YAML(name string) string {
	if bareName.MatchString(name) && !strings.EqualFold(name, "null") {
		return name
	}

	return strconv.Quote(name)
}
