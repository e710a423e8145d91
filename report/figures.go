package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"doubletake/report/figure"
)

// This file collects the figures of an experiment: a maker draws them one after the other, and maker.add gives each its
// file name and title. figures_fit.go, figures_bands.go, figures_directivity.go, figures_data.go and honestfigures.go
// draw the single figures. Figures, Page and Plots hand them out.

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

// filePoints is the number of points of a series that can be distinguished in a file. Longer series are thinned evenly.
const filePoints = 1500

// pageLimits are the limits of the points of a series, and of the models' answers that a page contains for exploring.
// The page takes the first limits that keep it below pageBytes, or the last.
var pageLimits = []struct{ points, answers int }{{110, 270_000}, {80, 180_000}, {50, 90_000}, {30, 40_000}}

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

// plots returns the figures, with at most the given number of points in a series. If split is not "", it returns the
// figures of this split alone.
func plots(detail *Detail, points int, split string) []captionedFigure {
	m := &maker{detail: detail, limit: points, only: split, used: map[string]bool{}}
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
	limit           int    // largest number of points of a series
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

// covariances returns the means over seeds of C, conditions × outcomes. It returns nil if there are no seeds.
func (s *SplitDetail) covariances() []float64 {
	var mean []float64
	for k, seed := range s.Seeds {
		if k == 0 {
			mean = make([]float64, len(seed.Cov))
		}

		for i := range seed.Cov {
			mean[i] += seed.Cov[i] / float64(len(s.Seeds))
		}
	}

	return mean
}

// withPoints returns the marks that have points.
func withPoints(marks ...figure.Mark) []figure.Mark {
	var kept []figure.Mark
	for _, mark := range marks {
		if len(mark.X)+len(mark.Y) > 0 {
			kept = append(kept, mark)
		}
	}

	return kept
}

// runOf names the run of a triplet. It returns "" if no run is known.
func (d *Detail) runOf(row int) string {
	if row >= len(d.Run) || d.Run[row] >= len(d.Runs) {
		return ""
	}

	return clean(d.Runs[d.Run[row]])
}

// runsOf names the run of a condition, or the first of several runs: "take7.wav and others".
func (m *maker) runsOf(c int) string {
	rows := m.rowsOf(c)
	if len(rows) == 0 {
		return ""
	}

	first := m.detail.runOf(rows[0])
	for _, row := range rows {
		if m.detail.runOf(row) != first {
			return first + " and others"
		}
	}

	return first
}

// zeroLine returns a line at 0.
func zeroLine() figure.Mark {
	return figure.Mark{Kind: figure.Rule, Class: "grey", Y: []float64{0}, Thin: true}
}

// rootOrZero returns the square root of a number, or 0 if the number is negative.
func rootOrZero(value float64) float64 { return math.Sqrt(math.Max(value, 0)) }

// thin returns at most n elements of a list, evenly spaced. It returns the whole list if n is below 1.
func thin[T any](list []T, n int) []T {
	if len(list) <= n || n < 1 {
		return list
	}

	picked := make([]T, n)
	for i := range picked {
		picked[i] = list[i*len(list)/n]
	}

	return picked
}

// split draws the figures of a split's networks. It draws nothing if there are no networks.
func (m *maker) split(split *SplitDetail) {
	if len(split.Seeds) == 0 {
		return
	}

	if angle := m.detail.angle(); angle >= 0 {
		m.directivities(split, angle)
	}

	m.bandLevels(split)
	m.parity(split)
	m.calibration(split)
	m.learning(split)
}
