package report

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"sync"
	"text/template"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

//go:embed words.tmpl
var wordsText string

var wordsTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"add": func(a, b int) int { return a + b }, "minus": func(a int) int { return -a },
		"times": func(a, b float64) float64 { return a * b }, "exp": math.Exp,
		"ratio": func(a, b int) float64 { return float64(a) / float64(b) },
		"clean": clean, "join": strings.Join,
		"names": names, "numbered": numbered, "share": share,
		"label": Variant.label, "by": Comparison.by, "short": shortName,
		"cell":      func(v score.Value) string { return Cell(v, 1) },
		"covMethod": covMethod, "factor": times, "reach": Violation.times,
		"calibrated": Split.calibrated, "claims": Experiment.claims,
		"forecast": func(r *interval.Record) string { return r.ForecastWords(amountsIn) },
		"oneDigit": func(v *float64) string { return fmt.Sprintf("%.1g", *v) },
	}).Parse(wordsText))
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
