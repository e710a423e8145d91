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

	"doubletake/ingest/fault"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// This file writes the sentences about an experiment. Most of them are templates of words.tmpl; phrase and paragraphs,
// at the end, fill in the data.

// title names the experiment, and its data as simulated or measured.
func (e Experiment) title() string { return phrase("title", e) }

// line returns the title with the numbers of recordings, runs and triplets.
func (e Experiment) line() string { return phrase("line", e) }

// what describes the data in a line or two.
func (e Experiment) what() string { return phrase("what", e) }

// nameList lists names, cleaned and shortened, with their units. units may be nil, or shorter than list.
func nameList(list, units []string) string {
	var texts []string
	for i, name := range list {
		text := isolate(shorten(clean(name), longName))
		if i < len(units) {
			text = withUnit(text, clean(units[i]))
		}

		texts = append(texts, text)
	}

	return strings.Join(texts, ", ")
}

// quantityList lists names with their units. If all have the same unit, it is written once.
func quantityList(list, units []string) string {
	for _, unit := range units {
		if unit != units[0] {
			return nameList(list, units)
		}
	}

	if len(units) == 0 {
		return nameList(list, nil)
	}

	return withUnit(nameList(list, nil), clean(units[0]))
}

// longName is the number of columns a name may occupy before its middle is cut.
const longName = 40

// explanations returns the sentences under the tables: the meaning and the units of the numbers, and the
// consequences of the kind of pairs.
func (e Experiment) explanations() []string {
	return slices.Concat(e.fitExplanations(), e.covExplanations())
}

// fitExplanations returns the sentences about the table of R² and E|cov|.
func (e Experiment) fitExplanations() []string {
	return append([]string{e.spread()}, paragraphs("explained-cov", nil)...)
}

// covExplanations returns the sentences about the tables of the parts of E|cov|, of the identities and of the measured
// error.
func (e Experiment) covExplanations() []string {
	return paragraphs("explained", map[string]any{
		"Law": e.has(identities[0]), "Couples": e.Couples, "Pairs": e.Pairs,
	})
}

// spread explains the units of the numbers, and the meaning of ±.
func (e Experiment) spread() string { return phrase("spread", e.single()) }

// gathered collects texts without repetition, in the order in which they came. Each text has the places that it is
// about, such as the names of splits.
type gathered struct {
	texts  []string
	places map[string][]string // by text, without repetition
}

// add adds a place to a text, and the text itself if it is new.
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
func (g *gathered) where(text string) string { return nameList(g.places[text], nil) }

// explainAll joins the explanations of several experiments without repetition. If the spreads of the experiments
// differ in meaning, it names the experiment before the sentence; the other sentences name their kind of pairs.
func explainAll(experiments []Experiment) []string {
	var g gathered

	spreads := map[string]bool{} // the different explanations of ±
	for _, experiment := range experiments {
		if len(experiment.Splits) == 0 {
			continue
		}

		spreads[experiment.spread()] = true
		for _, text := range experiment.explanations() {
			g.add(text, experiment.Name)
		}
	}

	for i, text := range g.texts {
		if len(spreads) > 1 && spreads[text] {
			g.texts[i] = g.where(text) + ": " + text
		}
	}

	return g.texts
}

// single reports whether every split has one seed. It returns false if there are no splits.
func (e Experiment) single() bool {
	for _, split := range e.Splits {
		if split.Seeds != 1 {
			return false
		}
	}

	return len(e.Splits) > 0
}

// methodWords says how the numbers were computed, once for all splits that agree. If splits differ, each text begins
// with the names of its splits.
func (e Experiment) methodWords() []string {
	var g gathered
	for _, split := range e.Splits {
		if method := phrase("methods", split); method != "" {
			g.add(method, split.Name)
		}
	}

	if len(g.texts) > 1 {
		for i, method := range g.texts {
			g.texts[i] = g.where(method) + ": " + method
		}
	}

	return g.texts
}

// covMethod describes how C was integrated (docs/method.md#how-c-is-integrated). The name of a method is its kind, and
// for some kinds a hyphen and a number of points: "halton-1024".
func covMethod(name string) string {
	kind, points, _ := strings.Cut(name, "-")
	switch kind {
	case "halton":
		return fmt.Sprintf("C integrated with %s points of a Halton sequence (%s)", points, name)
	case "tensor":
		return fmt.Sprintf("C integrated with %s Gauss–Hermite points per outcome (%s)", points, name)
	case "exact":
		return "C integrated exactly (" + name + ")"
	}

	return "C integrated by " + name
}

// notes returns remarks that limit the trust in the numbers: the form of the model if it is not the default, the
// reasons why numbers of the tables are undefined, the notes of the sets, and the remarks on the whole experiment. A
// remark about several sets occurs once, with the names of the sets.
func (e Experiment) notes() []string {
	var g gathered
	for _, metric := range slices.Concat(papers, partsOfCov, identities) {
		if !e.has(metric) {
			continue
		}

		for _, split := range e.Splits {
			g.addUndefined(metric, split)
		}
	}

	for _, split := range e.Splits {
		for _, note := range split.Train.Notes {
			g.addNote(clean(note), split.Name+" train")
		}

		for _, note := range split.Test.Notes {
			g.addNote(clean(note), split.Name+" test")
		}
	}

	notes := notEmpty(append(e.ownCurves(), e.form()))
	for _, text := range g.texts {
		places := g.where(text)
		sets := 2 * len(e.Splits) // a training and a test part for each split
		if len(g.places[text]) == sets && sets > 2 {
			places = "every set"
		}

		notes = append(notes, places+": "+text)
	}

	for _, remark := range slices.Concat(e.Between, e.Final) {
		notes = append(notes, remark+".")
	}

	return notes
}

// addNote adds a text with a full stop at its end.
func (g *gathered) addNote(text, place string) { g.add(strings.TrimSuffix(text, ".")+".", place) }

// addUndefined adds the reasons why numbers of a metric are undefined on the parts of a split.
func (g *gathered) addUndefined(metric shownMetric, split Split) {
	train := split.Train.Get(metric.key)
	if metric.train && !train.Defined() {
		g.addNote(metric.symbol()+" undefined: "+clean(train.Reason()), split.Name+" train")
	}

	test := split.Test.Get(metric.key)
	if metric.test && !test.Defined() {
		g.addNote(metric.symbol()+" undefined: "+clean(test.Reason()), split.Name+" test")
	}

	if metric.errorKey == "" || !test.Defined() {
		return
	}

	if se := split.Test.Get(metric.errorKey); !se.Defined() {
		g.addNote("standard error of "+metric.symbol()+" undefined: "+clean(se.Reason()), split.Name+" test")
	}
}

// provenance names the configuration and the program that the results come from.
func (e Experiment) provenance() string { return phrase("provenance", e) }

// pairConstruction explains how the pairs come about, and the consequences for the numbers.
func (e Experiment) pairConstruction() string {
	how := cmp.Or(clean(e.PairsFrom), "pairs: "+clean(e.Construction))

	return strings.TrimSpace(how + ". " + phrase("pairs", map[string]any{"Couples": e.Couples, "Pairs": e.Pairs}))
}

//go:embed words.tmpl
var wordsText string

var wordsTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"add": func(a, b int) int { return a + b }, "minus": func(a int) int { return -a },
		"times": func(a, b float64) float64 { return a * b }, "exp": math.Exp,
		"ratio": func(a, b int) float64 { return float64(a) / float64(b) },
		"clean": clean, "join": strings.Join,
		"names": nameList, "quantities": quantityList, "numbered": numbered, "share": shareText,
		"label": Variant.label, "by": Comparison.by, "short": shortName,
		"cell":      func(v score.Value) string { return Cell(v, 1) },
		"covMethod": covMethod, "factor": factorText, "reach": Violation.severity,
		"calibrated": Split.isCalibrated, "absent": absentWords, "claims": Experiment.vHatClaims,
		"forecast": func(r *interval.Record) string { return r.ForecastWords(amountsIn) },
		"oneDigit": func(v *float64) string { return fault.Digits(*v, 1) }, "digits": fault.Digits,
	}).Parse(wordsText))
})

// phrase fills in a template of words.tmpl and returns it in one line.
func phrase(name string, data any) string { return strings.Join(paragraphs(name, data), " ") }

// paragraphs fills in a template of words.tmpl and returns its paragraphs, which blank lines separate, each in one
// line. It panics if the template does not fit the data, which is a mistake of this package.
func paragraphs(name string, data any) []string {
	var b strings.Builder
	if err := wordsTemplate().ExecuteTemplate(&b, name, data); err != nil {
		panic("report: " + err.Error())
	}

	var texts []string
	for _, paragraph := range strings.Split(b.String(), "\n\n") {
		words := strings.FieldsFunc(paragraph, breaksLines)
		if len(words) > 0 {
			texts = append(texts, strings.Join(words, " "))
		}
	}

	return texts
}

// breaksLines reports whether a character separates words. Other blanks, such as U+00A0, keep words together.
func breaksLines(r rune) bool { return r == ' ' || r == '\n' }
