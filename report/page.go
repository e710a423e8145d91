package report

import (
	"bytes"
	"cmp"
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

// This file writes the page runs/report.html: newPageView brings the experiments into the form that page.html.tmpl
// reads (pageView and its parts), and Page fills in the template, with fewer points if the page becomes too large.

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed explore.js
var exploreJS string // comes after pageJS, whose constants it uses

//go:embed page.html.tmpl
var pageHTML string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"term": term, "limits": limitsOfGrades}).Parse(pageHTML))
})

// readersWords are the words that a reader of verdicts and tables must know. The page explains each once, and headings
// open the explanation.
var readersWords = []string{
	"held out", "outcome", "error", "±", "inside", "R²", "upper bound", "grade", "calibrated model", "network",
	"E|cov|", "rise",
}

// explanation is the meaning of a word on the page.
type explanation struct{ ID, Name, Meaning string }

// wordList returns the meanings of readersWords.
func wordList() []explanation {
	var list []explanation
	for i, word := range readersWords {
		for _, known := range docs.Named(word) {
			list = append(list, explanation{"g-" + strconv.Itoa(i), word, known.Meaning})
			break // the first meaning is that of the glossary
		}
	}

	return list
}

// term returns a word of readersWords, singular or plural, as a button that opens its explanation.
func term(word string) template.HTML {
	i := slices.IndexFunc(readersWords, func(known string) bool { return word == known || word == known+"s" })
	if i < 0 {
		return template.HTML(template.HTMLEscapeString(word))
	}

	return template.HTML(`<button type="button" class="term" popovertarget="g-` + strconv.Itoa(i) + `">` +
		template.HTMLEscapeString(word) + "</button>")
}

// Page returns runs/report.html: one file that contains everything it shows, requests
// nothing from a network, and has the same bytes for the same details. Its figures need
// no scripts. With scripts a reader can choose a view of every condition.
func Page(details []*Detail, sweeps ...Sweep) []byte {
	var b bytes.Buffer // the last page that was written
	for i, limits := range pageLimits {
		b.Reset()

		view := newPageView(details, sweeps, limits.conditions, limits.answers, i > 0)
		if err := pageTemplate().ExecuteTemplate(&b, "page", view); err != nil {
			panic("report: write page: " + err.Error()) // the view is plain data, so the template is wrong
		}

		if b.Len() <= pageBytes {
			break
		}
	}

	return bytes.Map(figure.Printable, b.Bytes()) // names may hold any character
}

// The types below are the data of page.html.tmpl, which escapes their texts.
type (
	pageView struct {
		Title, Note, Program string // Note is "" if there is nothing to say
		Simulated            bool   // all data are simulated: the reader tries the program
		Style                template.CSS
		Experiments          []experimentView
		Sweeps               []sweepView
		Meaning              []string // paragraphs about the numbers
		Words                []explanation
		Explored             bool        // an experiment has conditions to choose
		Data                 template.JS // of scriptData
		Script               template.JS
		Light                template.HTML // style sheet of figures that a reader saves
	}

	experimentView struct {
		ID, Name, Data, DataClass, What string

		// The parts that a reader sees at first.
		Grade    string         // the worst grade of the splits; "" if nothing was judged
		First    string         // subjects to check before reading these numbers; "" if there are none
		Verdicts []verdictWords // one for each split, then one for each condition whose groups together decide
		Next     []step         // what to measure next
		Results  *resultsView   // nil if nothing was judged
		Key      bool           // whether the page explains the table, the grades, and the kinds of runs here
		Lead     *figureView    // nil if there are no figures

		// The parts that are folded.
		Notes, Warnings, Skipped []string
		Widening                 []string // warnings about mistakes that widen intervals
		Network                  []table  // numbers of the paper's network
		NetworkLine              string   // R² and the rise of each split
		Compared                 []string // about the methods that were compared
		Violations               []string
		Doubts                   string // numbers of notes and warnings
		Calibrated               []figureGroup
		NetworkFigures           []figureGroup
		DataFigures              []figureGroup
		Shown                    string     // how many splits have figures; "" if all have
		Pairs                    string     // how the pairs come about
		Selection                string     // of pairs that are drawn; "" if all are
		Quality                  *factsView // nil if there are no facts
		Provenance               factsView
		Folder                   template.URL // of the experiment's report
	}

	// figureGroup is the figures of a split, or of all splits together.
	figureGroup struct {
		Label   string // "Calibrated model on ", or the whole heading
		Name    string // of the split; "" for all splits
		Figures []figureView
	}

	factsView struct {
		Label string
		List  []Fact
	}

	figureView struct {
		Heading, Label, Caption string
		Half                    bool // two such figures share a row on paper
		Top                     bool // directly in a section, not below a heading of its own
		Width                   int  // px
		SVG                     template.HTML
		Files                   template.URL // without extension
	}
)

// newPageView returns the page with at most the given numbers of points of a series and of answers. fewer says that the
// page has fewer points than usual.
func newPageView(details []*Detail, sweeps []Sweep, points, answers int, fewer bool) pageView {
	names := &figure.Names{} // of the runs, for all figures
	v := pageView{
		Title: "doubletake report", Style: template.CSS(figure.Style() + pageCSS), Light: template.HTML(figure.Light()),
		Script: template.JS(pageJS + exploreJS), Words: wordList(),
	}

	v.addExperiments(details, points, names)
	v.Data = template.JS(scriptData(details, answers, names)) // after the figures, which number the names

	var data, versions []string // of the experiments and the sweeps
	for _, detail := range details {
		data = append(data, detail.Experiment.Data)
		versions = append(versions, detail.Experiment.Version)
	}

	for i, sweep := range sweeps {
		data = append(data, sweep.Data)
		versions = append(versions, sweep.Version)
		v.Sweeps = append(v.Sweeps, newSweepView(i, sweep))
	}

	v.Program = programOf(versions...)
	v.noteData(data)
	if len(details) > 0 {
		v.Meaning = []string{phrase("figures", nil)}
	}

	if fewer {
		v.Meaning = append(v.Meaning, phrase("fewer", points))
	}

	return v
}

// addExperiments adds the views of the experiments. The page has each sentence of the captions once, and explains the
// first table of results.
func (v *pageView) addExperiments(details []*Detail, points int, names *figure.Names) {
	captions := map[string]bool{} // sentences that the page has already
	explained := false            // whether a table of results is explained already
	for i, detail := range details {
		v.Explored = v.Explored || detail.inputCount() > 0

		view := newExperimentView(i, detail, points, names)
		view.captionOnce(captions)
		view.Pairs = newSentences(view.Pairs, captions)
		if view.Results != nil && !explained {
			view.Key = true
			explained = true
		}

		v.Experiments = append(v.Experiments, view)
	}
}

// noteData says on the page that data are simulated, or that there are none. kinds has the kind of the data of each
// experiment and sweep.
func (v *pageView) noteData(kinds []string) {
	simulated := 0
	for _, kind := range kinds {
		if kind == "simulated" {
			simulated++
		}
	}

	switch {
	case len(kinds) == 0:
		v.Note = "No experiment has results yet."
	case simulated == len(kinds):
		v.Title += ": simulated data"
		v.Simulated = true
	case simulated > 0:
		v.Note = fmt.Sprintf("%d experiments, %d of them on simulated data, marked so.", len(kinds), simulated)
	}
}

// sectionID returns the ID of experiment i of the page, counted from 0.
func sectionID(i int) string { return "x" + strconv.Itoa(i+1) }

// dataClass returns the CSS class of a mark that names the data.
func dataClass(data string) string {
	if data == "simulated" {
		return data
	}
	return "measured"
}

// nameOf returns a foreign name, cleaned, and cut if it is long.
func nameOf(name string) string { return shorten(clean(name), 2*longName) }

// programOf names the program by the first version that is known.
func programOf(versions ...string) string {
	return strings.TrimSpace("doubletake " + clean(cmp.Or(versions...)))
}

// mostWarnings is the largest number of warnings that the page shows. The worst come first.
const mostWarnings = 10

// newExperimentView returns the part of the page about experiment i, with at most the given number of points of a
// series. Its figures number the names of runs in names.
func newExperimentView(i int, detail *Detail, points int, names *figure.Names) experimentView {
	experiment := detail.Experiment
	view := experimentView{
		ID: sectionID(i), Name: nameOf(experiment.Name), Data: clean(experiment.Data),
		DataClass: dataClass(experiment.Data), What: experiment.what(), First: experiment.first(),
		Verdicts: newVerdicts(experiment), Next: detail.next(), Notes: items(experiment.notes()),
		Warnings: items(experiment.Warnings), Skipped: items(experiment.Skipped), Violations: items(experiment.checks()),
		Pairs: experiment.pairConstruction(), Provenance: provenanceView(detail),
		Folder: template.URL(url.PathEscape(experiment.Name) + "/report/"),
	}

	view.Doubts = phrase("doubts", view) // counts all warnings, so it comes before they are divided
	view.Widening = view.Warnings[:experiment.Widening]
	view.Warnings = view.Warnings[experiment.Widening:]
	if n := len(view.Warnings) - mostWarnings; n > 0 {
		more := items([]string{numbered(n, "more is", "more are") + " in report.md"})
		view.Warnings = append(view.Warnings[:mostWarnings:mostWarnings], more...)
	}

	if len(experiment.Splits) > 0 {
		view.Results = newResultsView(detail)
		fit := experiment.fitTable(papers).withoutTrainSpread()
		network := []table{fit, experiment.identitiesTable().withoutTrainSpread()}
		view.Network = pageTables(notEmptyTables(append(network, experiment.methodsTables()...))...)
		view.Compared = experiment.comparisonWords()
		view.NetworkLine = experiment.networkSummary()
		view.Grade = string(experiment.worstGrade())
	}

	view.addFigures(detail, points, names)

	if len(detail.Quality) > 0 {
		facts := newFactsView("Data quality", detail.Quality)
		view.Quality = &facts
		view.Selection = detail.selectionWords()
	}

	return view
}

// selectionWords says how many triplets and conditions are shown, or returns "" if all are.
func (d *Detail) selectionWords() string {
	if d.AllRows <= len(d.Cond) && d.AllConditions <= d.conditionCount() {
		return ""
	}

	return fmt.Sprintf("Figures show an even selection: %d of %d triplets, %d of %d conditions. "+
		"All else uses all.", len(d.Cond), d.AllRows, d.conditionCount(), d.AllConditions)
}

// pageSplits is the largest number of splits of which a page has figures.
const pageSplits = 12

// addFigures adds the leading figure, and the other figures in groups, of at most pageSplits splits. Figures have at
// most the given number of points of a series, and number the names of runs in names.
func (v *experimentView) addFigures(detail *Detail, points int, names *figure.Names) {
	var onPage []captionedFigure
	for _, plot := range plots(detail, points, "") {
		if plot.page {
			onPage = append(onPage, plot)
		}
	}

	var splits []string
	for _, split := range detail.Experiment.Splits {
		splits = append(splits, split.Name)
	}

	shown := thin(splits, pageSplits)
	if len(shown) < len(splits) {
		v.Shown = fmt.Sprintf("Here are the figures of %d of %d splits, evenly selected; those of all lie as files.",
			len(shown), len(splits))
	}

	lead := leadOf(onPage)
	folder := url.PathEscape(detail.Experiment.Name) + "/report/figures/"
	for k, plot := range onPage {
		if k == lead {
			view := newFigureView(folder, plot, names)
			view.Top = true
			v.Lead = &view
			continue
		}

		if plot.split == "" || slices.Contains(shown, plot.split) {
			group := v.group(plot)
			group.Figures = append(group.Figures, newFigureView(folder, plot, names))
		}
	}
}

// captionOnce removes the sentences below figures and tables that are in captions, and adds the others to captions.
func (v *experimentView) captionOnce(captions map[string]bool) {
	figures := []*figureView{}
	if v.Lead != nil {
		figures = append(figures, v.Lead)
	}

	for _, groups := range [][]figureGroup{v.Calibrated, v.NetworkFigures, v.DataFigures} {
		for i := range groups {
			for k := range groups[i].Figures {
				figures = append(figures, &groups[i].Figures[k])
			}
		}
	}

	for _, figure := range figures {
		figure.Caption = newSentences(figure.Caption, captions)
	}

	for i := range v.Network {
		v.Network[i].Below = newSentences(v.Network[i].Below, captions)
	}
}

// newSentences returns the sentences of a text that are not in known, and adds them to known.
func newSentences(text string, known map[string]bool) string {
	var kept []string
	for _, sentence := range strings.SplitAfter(text, ". ") {
		sentence = strings.TrimSpace(sentence)
		if !known[sentence] {
			kept = append(kept, sentence)
		}

		known[sentence] = true
	}

	return strings.Join(kept, " ")
}

// group returns the group of a figure: of the calibrated model on its split, of the network on its split, or of the
// data. It adds the group if it is new. The pointer is valid until the next group is added.
func (v *experimentView) group(plot captionedFigure) *figureGroup {
	list := &v.DataFigures
	group := figureGroup{Label: "Figures of the data"}
	switch {
	case plot.model == paperNetwork:
		list = &v.NetworkFigures
		group = figureGroup{Name: nameOf(plot.split)}
	case plot.split != "":
		list = &v.Calibrated
		group = figureGroup{Label: "Calibrated model on ", Name: nameOf(plot.split)}
	case plot.kind == "honest-rises":
		list = &v.Calibrated
		group = figureGroup{Label: "Calibrated model on all splits"}
	}

	for i := range *list {
		if (*list)[i].Label == group.Label && (*list)[i].Name == group.Name {
			return &(*list)[i]
		}
	}

	*list = append(*list, group)

	return &(*list)[len(*list)-1]
}

// newVerdicts returns the verdicts of all splits, and the decided verdicts of conditions with several groups. If no
// split was trained, it returns a verdict that says so.
func newVerdicts(experiment Experiment) []verdictWords {
	if len(experiment.Splits) == 0 {
		return []verdictWords{{Held: "No split was trained", Rest: "Nothing shows how good a model is."}}
	}

	return append(experiment.splitVerdicts(), experiment.decidedPools()...)
}

// leads are the kinds of figures that show best whether the intervals contain the held-out values, the best first.
var leads = []string{"honest-outcomes", "honest-levels", "outcomes", "calibration", "parity"}

// leadOf returns the index of the figure that is not folded: among the figures of the best kind, the figure with the
// widest interval. If no figure has a kind of leads, leadOf returns 0, or −1 if there are no figures.
func leadOf(list []captionedFigure) int {
	for _, kind := range leads {
		best := -1
		for i, p := range list {
			if p.kind == kind && (best < 0 || p.spread > list[best].spread) {
				best = i
			}
		}

		if best >= 0 {
			return best
		}
	}

	return min(0, len(list)-1)
}

// provenanceView returns the known facts about the origin of an experiment's results.
func provenanceView(detail *Detail) factsView {
	experiment := detail.Experiment

	var kernels []string
	for _, split := range experiment.Splits {
		kernels = append(kernels, split.Kernels)
	}

	slices.Sort(kernels)

	var facts []Fact
	for _, fact := range []Fact{
		{"program", programOf(experiment.Version)},
		{"configuration (SHA-256)", experiment.ConfigDigest},
		{"numeric kernels", strings.Join(slices.Compact(kernels), ", ")},
	} {
		if fact.Value != "" {
			facts = append(facts, fact)
		}
	}

	for _, fact := range detail.Config { // what the configuration says about the campaign
		if strings.HasPrefix(fact.Name, "about") {
			facts = append(facts, fact)
		}
	}

	return newFactsView("Provenance", facts)
}

// items returns the texts of a list, cleaned, and cut if they are very long.
func items(list []string) []string {
	var texts []string
	for _, text := range list {
		texts = append(texts, shorten(clean(text), 600))
	}

	return texts
}

// newFactsView returns facts, cleaned, with a dash for empty values and with long values cut.
func newFactsView(label string, list []Fact) factsView {
	view := factsView{Label: label}
	for _, fact := range list {
		value := cmp.Or(shorten(clean(fact.Value), 400), "–")
		view.List = append(view.List, Fact{clean(fact.Name), value})
	}

	return view
}

// pageColumns is the largest width of a table, in letters, that fits on paper and on a
// wide screen.
const pageColumns = 108

// pageTables returns tables that fit the page. It breaks a wide table into parts, each
// with the labels, because paper does not scroll.
func pageTables(list ...table) []table {
	var all []table
	for _, t := range list {
		parts := t.fitColumns(pageColumns)
		for i, part := range parts {
			if i > 0 {
				part.Title += " (continued)"
			}

			if i < len(parts)-1 {
				part.Below = ""
			}

			all = append(all, part)
		}
	}

	return all
}

// halfWidth is the largest width of figures that are printed two in a row, px.
const halfWidth = 440

// newFigureView draws a figure for the page. folder is the address of the figure's files, relative to the page. The
// figure numbers the names of its points in names.
func newFigureView(folder string, p captionedFigure, names *figure.Names) figureView {
	return figureView{
		Heading: capitalise(strings.TrimSuffix(p.heading, " (simulated data)")), // which the figure notes itself
		Label:   p.heading + " " + p.split, Caption: capitalise(p.caption),
		Half:  p.fig.Width <= halfWidth,
		Width: int(p.fig.Width),
		SVG:   template.HTML(figure.Draw(p.fig, figure.Options{Inline: true, Digits: 4, Names: names})),
		Files: template.URL(folder + url.PathEscape(p.file)),
	}
}
