package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/docs"
	"doubletake/report/figure"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed page.html.tmpl
var pageHTML string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Parse(pageHTML))
})

// Page returns runs/report.html: one file that holds everything it shows, asks
// no network for anything and is the same for the same details. Its figures
// need no scripts; with scripts a view of every condition can be chosen.
func Page(details []*Detail, sweeps ...Sweep) []byte {
	var b bytes.Buffer
	for i, of := range onPage {
		b.Reset()

		if err := pageTemplate().ExecuteTemplate(&b, "page", newPageView(details, sweeps, of, i > 0)); err != nil {
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
		Data, Script         template.JS
		Light                template.HTML
	}

	experimentView struct {
		ID, Name, Data, DataClass, What string

		// Shown: the verdict of each split, one figure, one table. All else is folded.
		Verdicts []verdict
		Next     string // what would help most
		Lead     *figureView
		Summary  []table

		Words, Notes, Warnings, Skipped []string
		Tables                          []table
		Budget                          *budgetView // nil without
		Violations                      []violationView
		Doubts                          string // how many checks, notes and warnings
		Figures                         []figureGroup
		Shown                           string // of how many splits there are figures; "" of all
		Pairs, Selection                string
		Quality                         *factsView // nil without facts
		Provenance                      factsView
		Folded                          []factsView
	}

	figureGroup struct {
		Before, Name string
		Figures      []figureView
	}

	violationView struct {
		Name, Summary, Text, Do string
		Tables                  []table
	}

	budgetView struct {
		Title        string
		Tables       []table
		Words, Notes []string
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

func newPageView(details []*Detail, sweeps []Sweep, of amount, fewer bool) pageView {
	v := pageView{
		Title: "doubletake report", Program: programOf(details), Style: template.CSS(figure.Style() + pageCSS),
		Data: template.JS(explorerData(details, of.numbers)), Light: template.HTML(figure.Light()),
		Script: template.JS(pageJS),
	}

	simulated := 0
	for i, s := range sweeps {
		if s.Data == "simulated" {
			simulated++
		}

		v.Sweeps = append(v.Sweeps, newSweepView(i, s))
		if len(details) == 0 {
			v.Program = "doubletake " + clean(s.Version)
		}
	}

	var all []Experiment
	for i, d := range details {
		if d.Experiment.Data == "simulated" {
			simulated++
		}

		all = append(all, d.Experiment)
		v.Experiments = append(v.Experiments, newExperimentView(i, d, of))
	}

	switch {
	case len(details)+len(sweeps) == 0:
		v.Note = "No experiment has results yet."
	case simulated == len(details)+len(sweeps):
		v.Title += ": simulated data"
	case simulated > 0:
		v.Note = fmt.Sprintf("%d experiments, %d of them on simulated data, marked so.",
			len(details)+len(sweeps), simulated)
	}

	v.Glossary = docs.Glossary()
	v.Meaning = append(explainAll(all), text("figures", nil))
	if fewer {
		v.Meaning = append(v.Meaning, text("fewer", map[string]any{"Every": of.every, "Points": of.points}))
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

func programOf(details []*Detail) string {
	for _, d := range details {
		if v := d.Experiment.Version; v != "" {
			return "doubletake " + clean(v)
		}
	}

	return "doubletake"
}

// mostWarnings is how many warnings the page shows, the worst first.
const mostWarnings = 10

func newExperimentView(i int, d *Detail, of amount) experimentView {
	e := d.Experiment
	v := experimentView{
		ID: sectionID(i), Name: nameOf(e.Name), Data: clean(e.Data), DataClass: dataClass(e.Data), What: e.what(),
		Verdicts: newVerdicts(e), Next: d.next(), Notes: items(e.notes()), Warnings: items(e.Warnings),
		Skipped:    items(e.Skipped),
		Violations: newViolationViews(e), Pairs: e.pairConstruction(), Provenance: provenanceView(d),
	}

	v.Doubts = v.doubts()
	if n := len(v.Warnings) - mostWarnings; n > 0 {
		v.Warnings = append(v.Warnings[:mostWarnings:mostWarnings],
			items([]string{numbered(n, "more is", "more are") + " in report.md"})...)
	}

	if len(e.Splits) > 0 {
		v.Summary, v.Tables = pageTables(e.summary()), pageTables(e.tables()...)
		v.Words = slices.Concat(e.intervalWords(), e.comparisonWords(), e.methods())
	}

	if b := d.Budget; b != nil {
		v.Budget = &budgetView{clean(b.Title), pageTables(b.tables()...), items(b.After), items(b.Notes)}
	}

	v.addFigures(d, of)

	if len(d.Quality) > 0 {
		f := newFactsView("Data quality", d.Quality)
		v.Quality = &f
		if d.AllRows > len(d.Cond) || d.AllConditions > d.conditions() {
			v.Selection = fmt.Sprintf("For display an even selection was made: %d of %d triplets, %d of %d conditions. "+
				"Tables, metrics and calibration use all of them.", len(d.Cond), d.AllRows, d.conditions(), d.AllConditions)
		}
	}

	for _, f := range []factsView{newFactsView("Settings", d.Config), newFactsView("Digests of the tables", d.Digests)} {
		if len(f.List) > 0 {
			v.Folded = append(v.Folded, f)
		}
	}

	return v
}

// addFigures adds the first figure and the others in groups, of at most pageSplits splits.
func (v *experimentView) addFigures(d *Detail, of amount) {
	list := slices.DeleteFunc(plots(d, of), func(f plot) bool { return !f.page })
	lead := leadOf(list)

	var splits []string
	for _, s := range d.Experiment.Splits {
		splits = append(splits, s.Name)
	}

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

		g := figureGroup{Before: "Figures of the data"}
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
	out := e.pooledVerdicts()
	for _, s := range e.Splits {
		out = append(out, s.verdict())
	}

	if len(e.Splits) == 0 {
		out = []verdict{{held: "No split was trained", Rest: "Nothing shows how good a model is."}}
	}

	return out
}

// doubts counts what limits the trust in the numbers.
func (v experimentView) doubts() string {
	var out []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{len(v.Violations), "check violated", "checks violated"},
		{len(v.Warnings), "warning", "warnings"},
		{len(v.Notes), "note", "notes"},
		{len(v.Skipped), "recording left out", "recordings left out"},
	} {
		if c.n > 0 {
			out = append(out, numbered(c.n, c.one, c.many))
		}
	}

	return strings.Join(out, ", ")
}

// leads are the kinds of figures that show best whether the intervals hold, best first.
var leads = []string{"honest-levels", "honest-claims", "calibration", "parity"}

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

	var kernels gathered
	for _, s := range e.Splits {
		if s.Kernels != "" {
			kernels.add(s.Kernels, s.Name)
		}
	}

	return newFactsView("Provenance", slices.DeleteFunc([]Fact{
		{"data", e.Data},
		{"program", programOf([]*Detail{d})},
		{"configuration (SHA-256)", e.ConfigDigest},
		{"numeric kernels", strings.Join(kernels.texts, ", ")},
	}, func(f Fact) bool { return f.Value == "" }))
}

// items are the texts of a list, cut when very long.
func items(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, shorten(clean(s), 600))
	}

	return out
}

func newFactsView(label string, list []Fact) factsView {
	v := factsView{Label: label}
	for _, f := range list {
		value := "–"
		if f.Value != "" {
			value = shorten(clean(f.Value), 400)
		}

		v.List = append(v.List, Fact{clean(f.Name), value})
	}

	return v
}

func newViolationViews(e Experiment) []violationView {
	var out []violationView
	for _, d := range e.violated() {
		worst := d.list[0]
		out = append(out, violationView{
			Name: d.name(), Summary: d.summary(2 * len(e.Splits)),
			Text: sentence(clean(worst.Violated())), Do: clean(worst.Do), Tables: pageTables(d.table()),
		})
	}

	return out
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
