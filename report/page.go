package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/docs"
	"doubletake/internal/lists"
	"doubletake/report/figure"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed page.html.tmpl
var pageHTML string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"hover": hover}).Parse(pageHTML))
})

// readersWords are those that a reader of verdicts and tables must know: the page shows their meanings on hovering.
var readersWords = []string{
	"holds, but wide", "does not hold", "held out", "calibrated", "undecided", "outcome", "network", "inside", "E|cov|",
	"train", "holds", "split", "grade", "error", "test", "rise", "run", "R²", "SE", "±",
}

// meanings finds readersWords, in either number, and has what each means.
var meanings = sync.OnceValues(func() (*regexp.Regexp, map[string]string) {
	var list []string
	of := map[string]string{}
	for _, w := range readersWords {
		text := regexp.QuoteMeta(w)
		if r := []rune(w); r[len(r)-1] <= 'z' {
			text = `\b` + text + `s?\b`
		}

		list = append(list, text)
		for _, t := range docs.Named(w) {
			of[w], of[w+"s"] = t.Meaning, t.Meaning
		}
	}

	return regexp.MustCompile(strings.Join(list, "|")), of
})

// hover is a text whose readersWords have their meanings.
func hover(text string) template.HTML {
	var b strings.Builder
	escaped := template.HTMLEscapeString
	words, of := meanings()
	last := 0
	for _, at := range words.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		b.WriteString(escaped(text[last:at[0]]) + `<abbr title="` + escaped(of[word]) + `">` + escaped(word) + "</abbr>")
		last = at[1]
	}

	return template.HTML(b.String() + escaped(text[last:]))
}

// Page returns runs/report.html: one file that holds everything it shows, asks
// no network for anything and is the same for the same details. Its figures
// need no scripts; with scripts a view of every condition can be chosen.
func Page(details []*Detail, sweeps ...Sweep) []byte {
	var b bytes.Buffer
	for i, of := range onPage {
		b.Reset()

		v := newPageView(details, sweeps, of.points, of.answers, i > 0)
		if err := pageTemplate().ExecuteTemplate(&b, "page", v); err != nil {
			panic("report: write page: " + err.Error()) // plain values only
		}

		if b.Len() <= pageBytes {
			break
		}
	}

	return bytes.Map(figure.Printable, b.Bytes()) // names may hold any character
}

// The types below are what page.html.tmpl shows. Texts are escaped there.
type (
	pageView struct {
		Title, Note, Program string
		Style                template.CSS
		Experiments          []experimentView
		Sweeps               []sweepView
		Meaning              []string
		Glossary             []docs.Term
		Explored             bool // an experiment has conditions to choose
		Data, Script         template.JS
		Light                template.HTML
	}

	experimentView struct {
		ID, Name, Data, DataClass, What string

		// Shown: the verdict of each split, one figure, one table. All else is folded.
		First    string // what to look at before these numbers
		Verdicts []verdict
		Next     string // what would help most
		Lead     *figureView
		Summary  []table

		Words, Notes, Warnings, Skipped []string
		Widening                        []string // of the warnings those of mistakes that widen intervals
		Tables                          []table
		Violations                      []string
		Doubts                          string // how many checks, notes and warnings
		Figures                         []figureGroup
		Shown                           string // of how many splits there are figures; "" of all
		Pairs, Selection                string
		Quality                         *factsView // nil without facts
		Provenance                      factsView
		Settings                        *factsView // nil without
	}

	figureGroup struct {
		Before, Name string
		Figures      []figureView
	}

	factsView struct {
		Label string
		List  []Fact
	}

	figureView struct {
		Heading, Label, Caption string
		Half                    bool
		Top                     bool // directly in a section, not below a heading of its own
		Width                   int
		SVG                     template.HTML
		Files                   template.URL // without extension
	}
)

func newPageView(details []*Detail, sweeps []Sweep, points, answers int, fewer bool) pageView {
	var data, versions []string

	v := pageView{
		Title: "doubletake report", Style: template.CSS(figure.Style() + pageCSS),
		Data: template.JS(explorerData(details, answers)), Light: template.HTML(figure.Light()),
		Script: template.JS(pageJS), Glossary: docs.Glossary(),
	}

	var all []Experiment
	for i, d := range details {
		data, versions = append(data, d.Experiment.Data), append(versions, d.Experiment.Version)
		v.Explored = v.Explored || d.in() > 0
		all = append(all, d.Experiment)
		v.Experiments = append(v.Experiments, newExperimentView(i, d, points))
	}

	for i, s := range sweeps {
		data, versions = append(data, s.Data), append(versions, s.Version)
		v.Sweeps = append(v.Sweeps, newSweepView(i, s))
	}

	v.Program = programOf(versions...)

	simulated := lists.Where(len(data), func(i int) bool { return data[i] == "simulated" })
	switch n := len(simulated); {
	case len(data) == 0:
		v.Note = "No experiment has results yet."
	case n == len(data):
		v.Title += ": simulated data"
	case n > 0:
		v.Note = fmt.Sprintf("%d experiments, %d of them on simulated data, marked so.", len(data), n)
	}

	v.Meaning = append(explainAll(all), text("figures", nil))
	if fewer {
		v.Meaning = append(v.Meaning, text("fewer", points))
	}

	return v
}

func sectionID(i int) string { return "x" + strconv.Itoa(i+1) }

// dataClass is the style of a mark that names the data.
func dataClass(data string) string {
	if data == "simulated" {
		return data
	}
	return "measured"
}

// nameOf is a foreign name, cut when long.
func nameOf(s string) string { return shorten(clean(s), 2*longName) }

// programOf names the program by the first version that is known.
func programOf(versions ...string) string {
	return strings.TrimSpace("doubletake " + clean(cmp.Or(versions...)))
}

// mostWarnings is how many warnings the page shows, the worst first.
const mostWarnings = 10

func newExperimentView(i int, d *Detail, points int) experimentView {
	e := d.Experiment
	v := experimentView{
		ID: sectionID(i), Name: nameOf(e.Name), Data: clean(e.Data), DataClass: dataClass(e.Data), What: e.what(),
		First: e.first(), Verdicts: newVerdicts(e), Next: d.next(), Notes: items(e.notes()), Warnings: items(e.Warnings),
		Skipped:    items(e.Skipped),
		Violations: items(e.checks()), Pairs: e.pairConstruction(), Provenance: provenanceView(d),
	}

	v.Doubts = text("doubts", v) // what limits the trust in the numbers
	v.Widening, v.Warnings = v.Warnings[:e.Widening], v.Warnings[e.Widening:]
	if n := len(v.Warnings) - mostWarnings; n > 0 {
		v.Warnings = append(v.Warnings[:mostWarnings:mostWarnings],
			items([]string{numbered(n, "more is", "more are") + " in report.md"})...)
	}

	if len(e.Splits) > 0 {
		v.Summary, v.Tables = pageTables(e.results(fewOutcomes), e.fit(papers)), pageTables(e.tables()...)
		v.Words = slices.Concat(e.intervalWords(), e.comparisonWords(), e.methods())
	}

	v.addFigures(d, points)

	if len(d.Quality) > 0 {
		f := newFactsView("Data quality", d.Quality)
		v.Quality = &f
		if d.AllRows > len(d.Cond) || d.AllConditions > d.conditions() {
			v.Selection = fmt.Sprintf("For display an even selection was made: %d of %d triplets, %d of %d conditions. "+
				"Tables, metrics and calibration use all of them.", len(d.Cond), d.AllRows, d.conditions(), d.AllConditions)
		}
	}

	if len(d.Config) > 0 {
		f := newFactsView("Settings", d.Config)
		v.Settings = &f
	}

	return v
}

// addFigures adds the first figure and the others in groups, of at most pageSplits splits.
func (v *experimentView) addFigures(d *Detail, points int) {
	list := slices.DeleteFunc(plots(d, points, ""), func(f plot) bool { return !f.page })
	lead := leadOf(list)

	splits := lists.Each(d.Experiment.Splits, func(s Split) string { return s.Name })
	shown := thin(splits, pageSplits)
	if len(shown) < len(splits) {
		v.Shown = fmt.Sprintf("Here are the figures of %d of %d splits, evenly selected; those of all lie as files.",
			len(shown), len(splits))
	}

	for k, f := range list {
		if k != lead && f.split != "" && !slices.Contains(shown, f.split) {
			continue
		}

		fig := newFigureView(url.PathEscape(d.Experiment.Name)+"/report/figures/", f)
		if k == lead {
			fig.Top = true
			v.Lead = &fig
			continue
		}

		g := figureGroup{Before: "Figures of all splits"}
		if f.split != "" {
			g = figureGroup{Before: "Figures of split ", Name: nameOf(f.split)}
		}

		at := slices.IndexFunc(v.Figures, func(o figureGroup) bool { return o.Before == g.Before && o.Name == g.Name })
		if at < 0 {
			at = len(v.Figures)
			v.Figures = append(v.Figures, g)
		}

		v.Figures[at].Figures = append(v.Figures[at].Figures, fig)
	}
}

// pageSplits is of how many splits a page has figures.
const pageSplits = 12

// newVerdicts are the verdicts of all splits, or why there are none.
func newVerdicts(e Experiment) []verdict {
	if len(e.Splits) == 0 {
		return []verdict{{held: "No split was trained", Rest: "Nothing shows how good a model is."}}
	}

	return append(lists.Each(e.Splits, Split.verdict), e.pooledVerdicts()...)
}

// leads are the kinds of figures that show best whether the intervals hold, best first.
var leads = []string{"honest-outcomes", "honest-levels", "outcomes", "calibration", "parity"}

// leadOf is the index of the figure that is not folded, of several alike the one with the
// widest interval; −1 without figures.
func leadOf(list []plot) int {
	for _, name := range leads {
		best := -1
		for i, f := range list {
			if f.kind == name && (best < 0 || f.spread > list[best].spread) {
				best = i
			}
		}

		if best >= 0 {
			return best
		}
	}

	return min(0, len(list)-1)
}

func provenanceView(d *Detail) factsView {
	e := d.Experiment

	kernels := lists.Each(e.Splits, func(s Split) string { return s.Kernels })
	slices.Sort(kernels)

	return newFactsView("Provenance", slices.DeleteFunc([]Fact{
		{"data", e.Data},
		{"program", programOf(e.Version)},
		{"configuration (SHA-256)", e.ConfigDigest},
		{"numeric kernels", strings.Join(slices.Compact(kernels), ", ")},
	}, func(f Fact) bool { return f.Value == "" }))
}

// items are the texts of a list, cut when very long.
func items(list []string) []string {
	return lists.Each(list, func(s string) string { return shorten(clean(s), 600) })
}

func newFactsView(label string, list []Fact) factsView {
	return factsView{label, lists.Each(list, func(f Fact) Fact {
		return Fact{clean(f.Name), cmp.Or(shorten(clean(f.Value), 400), "–")}
	})}
}

// pageColumns is the width of a table, in letters, that a page holds on paper and
// on a wide screen.
const pageColumns = 108

// pageTables lays tables out; a wide one in parts, each with the labels,
// because paper does not scroll.
func pageTables(list ...table) []table {
	var out []table
	for _, t := range list {
		parts := t.fit(pageColumns)
		for i, part := range parts {
			if i > 0 {
				part.Title += " (continued)"
			}

			if i < len(parts)-1 {
				part.Below = ""
			}
			out = append(out, part)
		}
	}

	return out
}

// halfWidth is the width of figures that are printed two in a row.
const halfWidth = 440

// newFigureView draws a figure whose files are in a folder next to the page.
func newFigureView(folder string, f plot) figureView {
	return figureView{
		Heading: sentence(f.heading), Label: f.heading + " " + f.split, Caption: sentence(f.caption),
		Half:  f.fig.Width <= halfWidth,
		Width: int(f.fig.Width),
		SVG:   template.HTML(figure.Draw(f.fig, figure.Options{Inline: true, Digits: 5})),
		Files: template.URL(folder + url.PathEscape(f.file)),
	}
}
