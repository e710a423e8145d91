package app

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/internal/testfile"
)

// place is a row of the table "Where is …" of docs/architecture.md: a question, a file and a declaration.
var place = regexp.MustCompile("(?m)^\\| (.+) \\| `([a-z/]+\\.go)` \\| `(\\w+)` \\|$")

// Each file of the table "Where is …" declares what its row states.
func TestPlaces(t *testing.T) {
	page := string(testfile.Read(t, repository+"/docs/architecture.md"))
	_, section, _ := strings.Cut(page, "## Where is …")
	section, _, _ = strings.Cut(section, "\n## ")

	rows := place.FindAllStringSubmatch(section, -1)
	assert.Len(t, rows, strings.Count(section, "\n| ")-1, "every row has a question, a file and a declaration")
	assert.GreaterOrEqual(t, len(rows), 20)

	for _, row := range rows {
		question := row[1]
		file := row[2]
		declaration := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|var |type )` + row[3] + `\b`)
		code := string(testfile.Read(t, repository+"/"+file))
		assert.Regexp(t, declaration, code, "where is %s: %s", question, file)
	}
}
