package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"text/template"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// title names the experiment, and its data as simulated or measured.
func (e Experiment) title() string { return text("title", e) }

// line is the title with the numbers of the data.
func (e Experiment) line() string { return text("line", e) }

// what describes the data in a line or two.
func (e Experiment) what() string { return text("what", e) }

func names(list, units []string) string {
	return strings.Join(lists.Make(len(list), func(i int) string {
		name := isolate(shorten(clean(list[i]), longName))
		if i >= len(units) {
			return name
		}

		return in(name, clean(units[i]))
	}), ", ")
}

// longName is the number of columns a name may occupy before its middle is cut.
const longName = 40

// explanations are the sentences under the tables: what the numbers are, in
// which units, and what the kind of pairs makes of them.
func (e Experiment) explanations() []string {
	return append([]string{e.spread()}, paragraphs("explained", map[string]any{
		"Law": e.has(identities[0]), "Couples": e.Couples, "Pairs": e.Pairs,
	})...)
}

// spread explains the numbers with their spread.
func (e Experiment) spread() string { return text("spread", e.single()) }

// gathered are texts in the order in which they came, each with the places it is about.
type gathered struct {
	texts  []string
	places map[string][]string
}

func (g *gathered) add(text, place string) {
	if g.places == nil {
		g.places = map[string][]string{}
	}

	if g.places[text] == nil {
		g.texts = append(g.texts, text)
	}

	if !slices.Contains(g.places[text], place) {
		g.places[text] = append(g.places[text], place)
	}
}

// where names the places of a text.
func (g *gathered) where(text string) string { return names(g.places[text], nil) }

// explainAll joins the explanations of several experiments without repetition.
// Where the experiments' spreads differ in meaning, the sentence names the
// experiment; the others name their kind of pairs.
func explainAll(experiments []Experiment) []string {
	var g gathered

	spreads := map[string]bool{}
	for _, e := range experiments {
		if len(e.Splits) == 0 {
			continue
		}

		spreads[e.spread()] = true
		for _, s := range e.explanations() {
			g.add(s, e.Name)
		}
	}

	for i, s := range g.texts {
		if len(spreads) > 1 && spreads[s] {
			g.texts[i] = g.where(s) + ": " + s
		}
	}

	return g.texts
}

// single reports whether every split has one seed.
func (e Experiment) single() bool {
	several := func(s Split) bool { return s.Seeds != 1 }
	return len(e.Splits) > 0 && !slices.ContainsFunc(e.Splits, several)
}

// methods states how the numbers were computed, once for all splits that agree.
func (e Experiment) methods() []string {
	var g gathered
	for _, s := range e.Splits {
		if t := text("methods", s); t != "" {
			g.add(t, s.Name)
		}
	}

	if len(g.texts) > 1 {
		for i, t := range g.texts {
			g.texts[i] = g.where(t) + ": " + t
		}
	}

	return g.texts
}

// covMethod describes how C was integrated (docs/method.md#how-c-is-integrated).
func covMethod(name string) string {
	kind, n, _ := strings.Cut(name, "-")
	switch kind {
	case "halton":
		return fmt.Sprintf("C integrated with %s points of a Halton sequence (%s)", n, name)
	case "tensor":
		return fmt.Sprintf("C integrated with %s Gauss–Hermite points per outcome (%s)", n, name)
	case "exact":
		return "C integrated exactly (" + name + ")"
	}

	return "C integrated by " + name
}

// notes limit the trust in the numbers: first why a number shown is undefined,
// then the sets' notes, without repetition.
func (e Experiment) notes() []string {
	var g gathered
	add := func(text, place string) { g.add(strings.TrimSuffix(text, ".")+".", place) }
	for _, q := range slices.Concat(papers, partsOfCov, identities) {
		if !e.has(q) {
			continue
		}

		for _, s := range e.Splits {
			if v := s.Train.Get(q.key); q.train && !v.Defined() {
				add(q.name()+" undefined: "+clean(v.Reason()), s.Name+" train")
			}

			if v := s.Test.Get(q.key); q.test && !v.Defined() {
				add(q.name()+" undefined: "+clean(v.Reason()), s.Name+" test")
			} else if q.se != "" && v.Defined() {
				if se := s.Test.Get(q.se); !se.Defined() {
					add("standard error of "+q.name()+" undefined: "+clean(se.Reason()), s.Name+" test")
				}
			}
		}
	}

	for _, s := range e.Splits {
		for i, n := range slices.Concat(s.Train.Notes, s.Test.Notes) {
			add(clean(n), s.Name+map[bool]string{true: " train", false: " test"}[i < len(s.Train.Notes)])
		}
	}

	var out []string
	if h := e.hint(); h != "" {
		out = append(out, h)
	}

	for _, t := range g.texts {
		where := g.where(t)
		if all := 2 * len(e.Splits); len(g.places[t]) == all && all > 2 {
			where = "every set"
		}

		out = append(out, where+": "+t)
	}

	return append(out, lists.Each(slices.Concat(e.Between, e.Final), func(f string) string { return f + "." })...)
}

// provenance names the configuration and the program.
func (e Experiment) provenance() string { return text("provenance", e) }

// pairConstruction explains the pairs and their consequences.
func (e Experiment) pairConstruction() string {
	how := cmp.Or(clean(e.PairsFrom), "pairs: "+clean(e.Construction))

	return strings.TrimSpace(how + ". " + text("pairs", map[string]any{"Couples": e.Couples, "Pairs": e.Pairs}))
}

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
