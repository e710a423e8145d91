package report

import (
	"strconv"
	"strings"
	"unicode"

	"doubletake/report/figure"
)

// This file collects the figures of an experiment: a maker draws them one after the other, and maker.add gives each its
// file name and title. The files figures_….go draw the single figures. Figures, Page and Plots hand them out.

// FigureFile is one figure as files: a complete SVG, and its numbers as CSV.
type FigureFile struct {
	File     string // name without extension, safe in any file system
	SVG, CSV []byte
}

// captionedFigure is a figure with its caption.
type captionedFigure struct {
	kind    string // "parity", "directivity-…": the beginning of the file's name
	split   string // "" for a figure about all splits
	model   string // whose answers the figure shows: calibratedModel, paperNetwork, or "" for both or none
	file    string // name without extension; maker.add sets it
	heading string
	caption string
	fig     *figure.Figure
	page    bool // the page has the figure; otherwise there is only a file

	// spread is the largest width of an interval over the spread of its outcome, for figures of held-out values. It is 0
	// for other figures. The page begins with the figure with the largest one.
	spread float64
}

// filePoints is the number of points of a series that can be distinguished in a file. If there are more conditions, the
// figures draw as many of them, evenly chosen.
const filePoints = 1500

// pageLimits are the limits of the conditions of a series, and of the models' answers that a page contains for
// exploring. The page takes the first limits that keep it below pageBytes, or the last.
var pageLimits = []struct{ conditions, answers int }{{110, 270_000}, {80, 180_000}, {50, 90_000}, {30, 40_000}}

// pageBytes is the size that a page should not exceed.
const pageBytes = 3_000_000

// Figures returns the experiment's figures as files, in the order of the page.
func Figures(detail *Detail) []FigureFile {
	var files []FigureFile
	for _, plot := range plots(detail, filePoints, "") {
		svg := figure.Draw(plot.fig, figure.Options{})
		files = append(files, FigureFile{File: plot.file, SVG: svg, CSV: plot.fig.CSV()})
	}

	return files
}

// plots returns the figures, with at most the given number of conditions in a series. If split is not "", it returns
// the figures of this split alone.
func plots(detail *Detail, conditions int, split string) []captionedFigure {
	m := &maker{detail: detail, limit: conditions, only: split, used: map[string]bool{}}
	for i := range detail.Splits {
		m.heldOutLevels(&detail.Splits[i])
		m.calibrated(&detail.Splits[i])
		m.variance(&detail.Splits[i])
		m.split(&detail.Splits[i])
	}

	m.rises()
	m.spectrum()
	m.thirdOctaves()

	return m.figures
}

// maker collects the figures of an experiment.
type maker struct {
	detail          *Detail
	limit           int    // largest number of conditions of a series
	only            string // the split whose figures are wanted; "" for all, whose file names then begin with the split
	figures         []captionedFigure
	used            map[string]bool // file names of the figures so far, in lower case
	rowsByCondition [][]int         // triplets of each condition; rowsOf computes them when it is first called
}

// add adds a figure, unless it is about another split than the wanted one. add sets the file name, the ID, the title,
// the description, and for data that were not measured a note.
func (m *maker) add(p captionedFigure) {
	if m.only != "" && p.split != m.only {
		return
	}

	name := p.kind
	if p.split != "" && m.only == "" {
		name = p.split + "-" + name
	}

	p.file = m.unusedName(fileName(name))
	p.fig.ID = "f-" + fileName(m.detail.Experiment.Name) + "-" + p.file
	title := clean(m.detail.Experiment.Name) + ": " + p.heading
	if data := m.detail.Experiment.Data; data != "" && data != "measured" {
		label := strings.ToUpper(data[:1]) + clean(data[1:]) + " data"
		title = label + ", " + title
		p.heading += " (" + clean(data) + " data)"
		p.fig.Note = label + "."
	}

	if p.split != "" {
		title += ", split " + clean(p.split)
	}

	p.fig.Title = title
	p.fig.Desc = p.caption
	m.figures = append(m.figures, p)
}

// unusedName returns a name of a file that no figure has yet, and marks it as used. Names that differ in letter case
// alone count as the same, because they are on Windows and macOS.
func (m *maker) unusedName(base string) string {
	name := base
	for k := 2; m.used[strings.ToLower(name)]; k++ {
		name = base + "-" + strconv.Itoa(k)
	}

	m.used[strings.ToLower(name)] = true

	return name
}

// fileName keeps the ASCII letters, digits, underscores and inner dots of a text, and replaces all other characters by
// hyphens. It cuts long names.
func fileName(text string) string {
	var b strings.Builder
	for _, r := range text {
		isWord := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
		isInnerDot := r == '.' && b.Len() > 0
		switch {
		case isWord, isInnerDot, r == '=': // = becomes a hyphen below, even next to another, so that x=-5 and x=5 differ
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}

		if b.Len() >= 100 {
			break
		}
	}

	name := strings.Trim(b.String(), "-.")
	if name == "" {
		return "x"
	}

	return strings.ReplaceAll(name, "=", "-")
}
