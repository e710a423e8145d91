package report

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed words.tmpl
var wordsText string

var wordsTemplate = template.Must(template.New("").Parse(wordsText))

// text is a paragraph of words.tmpl in one line.
func text(name string, data any) string {
	var b strings.Builder
	if err := wordsTemplate.ExecuteTemplate(&b, name, data); err != nil {
		panic("report: " + err.Error()) // the templates and the values are this package's
	}
	ascii := func(r rune) bool { return r == ' ' || r == '\n' } // other blanks hold words together
	return strings.Join(strings.FieldsFunc(b.String(), ascii), " ")
}
