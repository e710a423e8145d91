package report

import (
	_ "embed"
	"strings"
	"sync"
	"text/template"
)

//go:embed words.tmpl
var wordsText string

var wordsTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Parse(wordsText))
})

// text is a paragraph of words.tmpl in one line.
func text(name string, data any) string { return strings.Join(paragraphs(name, data), " ") }

// paragraphs are those of words.tmpl between blank lines.
func paragraphs(name string, data any) []string {
	var b strings.Builder
	if err := wordsTemplate().ExecuteTemplate(&b, name, data); err != nil {
		panic("report: " + err.Error()) // the templates and the values are this package's
	}

	blank := func(r rune) bool { return r == ' ' || r == '\n' } // other blanks hold words together

	var out []string
	for _, p := range strings.Split(b.String(), "\n\n") {
		if words := strings.FieldsFunc(p, blank); len(words) > 0 {
			out = append(out, strings.Join(words, " "))
		}
	}

	return out
}
