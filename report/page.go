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

	"doubletake/report/figure"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed page.html.tmpl
var pageHTML string

var pageTemplate = template.Must(template.New("").Parse(pageHTML))

// Page returns runs/report.html: one file that holds everything it shows, asks
// no network for anything and is the same for the same details. Its figures
// need no scripts; with scripts a view of every condition can be chosen.
func Page(details []*Detail) []byte {
	var b bytes.Buffer
	for i, of := range onPage {
		b.Reset()
		if err := pageTemplate.ExecuteTemplate(&b, "page", newPageView(details, of, i > 0)); err != nil {
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
		Together             []figureView
		Meaning              []string
		Data, Script         template.JS
		Light                template.HTML
	}

	experimentView struct {
		ID, Name, Data, DataClass, What            string
		Headlines, Words, Notes, Warnings, Skipped []string
		Tables                                     []tableView
		Violations                                 []violationView
		Figures                                    []figureView
		Pairs, Selection                           string
		Quality                                    *factsView // nil without facts
		Provenance                                 factsView
		Folded                                     []factsView
	}

	violationView struct {
		Name, Summary, Text, Do string
		Tables                  []tableView
	}

	factsView struct {
		Label string
		List  []Fact
	}

	tableView struct {
		Title, Corner string
		Two           bool // two rows of heads
		Groups        []groupView
		Rows          []rowView
	}

	groupView struct {
		Head    string
		Columns []columnView
	}

	columnView struct {
		Head string
		Text bool
	}

	rowView struct {
		Label string
		Cells []cellView
	}

	cellView struct {
		Value string
		Text  bool
	}

	figureView struct {
		Head                    *headView // above the figure; nil without
		Heading, Label, Caption string
		Half                    bool
		SVG                     template.HTML
		Files                   template.URL // without extension
	}

	headView struct{ Before, Name string }
)

func newPageView(details []*Detail, of amount, fewer bool) pageView {
	v := pageView{
		Title: "doubletake report", Program: programOf(details), Style: template.CSS(figure.Style() + pageCSS),
		Data: template.JS(explorerData(details, of.numbers)), Light: template.HTML(figure.Light()),
		Script: template.JS(pageJS),
	}
	simulated := 0
	var all []Experiment
	for i, d := range details {
		if d.Experiment.Data == "simulated" {
			simulated++
		}
		all = append(all, d.Experiment)
		v.Experiments = append(v.Experiments, newExperimentView(i, d, of))
	}
	switch {
	case len(details) == 0:
		v.Note = "No experiment has results yet."
	case simulated == len(details):
		v.Title += ": simulated data"
	case simulated > 0:
		v.Note = fmt.Sprintf("%d experiments, %d of them on simulated data, marked so.", len(details), simulated)
	}
	for _, f := range joints(details, of) {
		if f.page {
			v.Together = append(v.Together, newFigureView("report/figures/", f))
		}
	}
	v.Meaning = append(explainAll(all),
		"In figures σ is the deviation of the model's first answer, which holds all uncertainty, total; √C is the part of "+
			"it that "+
			"stems from not knowing the mean, epistemic; what remains, √(σ² − C), is noise, aleatoric. Figures are drawn in "+
			"the "+
			"outcomes' own units. Every figure is also a file, SVG with its numbers as CSV, in the folder of its experiment; "+
			"those of "+
			"several experiments are in report/figures.")
	if fewer {
		v.Meaning = append(v.Meaning, fmt.Sprintf("There is much to show: to keep the page small, figures here draw "+
			"curves at one in "+
			"%d of their points and at most %d points of a series, evenly selected. The files have them all.", of.every,
			of.points))
	}
	return v
}

func sectionID(i int) string { return "x" + strconv.Itoa(i+1) }

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

func newExperimentView(i int, d *Detail, of amount) experimentView {
	e := d.Experiment
	v := experimentView{
		ID: sectionID(i), Name: nameOf(e.Name), Data: clean(e.Data), DataClass: "measured", What: e.what(),
		Headlines: e.headlines(), Notes: items(e.notes()), Warnings: items(e.Warnings), Skipped: items(e.Skipped),
		Violations: newViolationViews(e), Pairs: e.pairConstruction(), Provenance: provenanceView(d),
	}
	if e.Data == "simulated" {
		v.DataClass = "simulated"
	}
	if len(e.Splits) > 0 {
		for _, t := range slices.Concat(e.tables(), []table{e.perOutcome(), e.sets()}, e.comparisons()) {
			if len(t.labels) > 0 && t.columns() > 0 {
				v.Tables = append(v.Tables, newTableViews(t)...)
			}
		}
		v.Words = slices.Concat(e.intervalWords(), e.comparisonWords(), e.methods())
	}
	split := "\x00" // of the figure before
	for _, f := range plots(d, of) {
		if !f.page {
			continue
		}
		fig := newFigureView(url.PathEscape(e.Name)+"/report/figures/", f)
		if f.split != split {
			split = f.split
			fig.Head = &headView{Before: "The data"}
			if split != "" {
				fig.Head = &headView{Before: "Split ", Name: nameOf(split)}
			}
		}
		v.Figures = append(v.Figures, fig)
	}
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

func provenanceView(d *Detail) factsView {
	e := d.Experiment
	var kernels []string
	for _, s := range e.Splits {
		if s.Kernels != "" && !slices.Contains(kernels, s.Kernels) {
			kernels = append(kernels, s.Kernels)
		}
	}
	return newFactsView("Provenance", slices.DeleteFunc([]Fact{
		{"data", e.Data},
		{"program", programOf([]*Detail{d})},
		{"configuration (SHA-256)", e.ConfigDigest},
		{"numeric kernels", strings.Join(kernels, ", ")},
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
			Name: d.name, Summary: d.summary(2 * len(e.Splits)),
			Text: sentence(clean(worst.Text)), Do: clean(worst.Do), Tables: newTableViews(d.table()),
		})
	}
	return out
}

// pageColumns is the width of a table, in letters, that a page holds on paper and
// on a wide screen.
const pageColumns = 108

// newTableViews lays a table out; a wide one in parts, each with the labels,
// because paper does not scroll.
func newTableViews(t table) []tableView {
	var out []tableView
	for i, part := range newTerminal(pageColumns, false).split(t) {
		part.title = t.title
		if i > 0 {
			part.title += " (continued)"
		}
		out = append(out, newTableView(part))
	}
	return out
}

func newTableView(t table) tableView {
	v := tableView{Title: t.title, Corner: t.corner}
	for _, l := range t.labels {
		v.Rows = append(v.Rows, rowView{Label: nameOf(l)})
	}
	for _, g := range t.groups {
		v.Two = v.Two || g.head != ""
		gv := groupView{Head: g.head}
		for _, c := range g.columns {
			gv.Columns = append(gv.Columns, columnView{c.head, c.text})
			for i, n := range c.cells {
				cell := cellView{strings.ReplaceAll(n.plain(), "-", "−"), c.text}
				if c.text {
					cell.Value = nameOf(n.text)
				}
				v.Rows[i].Cells = append(v.Rows[i].Cells, cell)
			}
		}
		v.Groups = append(v.Groups, gv)
	}
	return v
}

// halfWidth is the width of figures that are printed two in a row.
const halfWidth = 440

// newFigureView draws a figure whose files are in a folder next to the page.
func newFigureView(folder string, f plot) figureView {
	return figureView{
		Heading: sentence(f.heading), Label: f.heading + " " + f.split, Caption: sentence(f.caption),
		Half:  f.fig.Width <= halfWidth,
		SVG:   template.HTML(figure.Draw(f.fig, figure.Options{Inline: true, Digits: 5})),
		Files: template.URL(folder + url.PathEscape(f.file)),
	}
}
