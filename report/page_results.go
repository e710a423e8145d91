package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"doubletake/train/score"
)

// This file brings the rows of the table of results into the form of the page, which draws the error within the
// interval and the shares inside against where they should be.

// resultsView is the table of results on the page.
type resultsView struct {
	Title, Unit, Level string // Unit follows the heading of errors: ", dB"
	Models             bool   // whether rows name their models, because they differ
	Bounds             bool   // whether a row has upper bounds
	Rows               []resultView
}

// resultView is a row. Texts are the cells of the table that the terminal prints.
type resultView struct {
	Split, Word, Name, Model             string // Name is the outcome's name if Word is another
	Error, Half, In68, In95, R2          string
	Bounds, Without, Mean, Linear, Grade string
	Only                                 string // level of the only interval that holds; "" if this is not the doubt
	AboveFloor                           string // grade without upper bounds, if their share is stated and it differs
	Bar, Inside                          template.HTML
}

// newResultsView returns the table of results, or nil if nothing was judged.
func newResultsView(detail *Detail) *resultsView {
	rows := detail.Experiment.results()
	if len(rows) == 0 {
		return nil
	}

	view := &resultsView{Title: resultsTitle(rows), Level: levelsOf(rows), Models: len(modelNames(rows)) > 1}
	if units := unitsOf(rows); len(units) == 1 && units[0] != "" {
		view.Unit = ", " + units[0]
	}

	widest := map[string]float64{} // largest half width or error of a bar, by unit
	for _, row := range rows {
		view.Bounds = view.Bounds || row.held.Bounds > 0
		unit := row.trust.Unit
		for _, length := range []float64{row.trust.Half, row.trust.RMSE} {
			if length > widest[unit] && !math.IsInf(length, 0) {
				widest[unit] = length
			}
		}
	}

	for _, row := range rows {
		view.Rows = append(view.Rows, newResultView(row, widest[row.trust.Unit], view.Unit == ""))
	}

	return view
}

// newResultView returns a row whose bar has the given length at most. withUnits says that the error states its unit.
func newResultView(row result, longest float64, withUnits bool) resultView {
	cells := row.cells() // in the order of the columns of resultsTable
	text := func(column int) string { return cells[column].Minus() }
	view := resultView{
		Split: shorten(clean(row.split.Name), longName), Name: text(0), Model: text(2), Error: text(3), Half: text(4),
		In68: text(5), In95: text(6), R2: text(7), Bounds: text(8), Without: text(9), Mean: text(10), Linear: text(11),
		Grade: text(12), Bar: errorBar(row, longest), Inside: insideBar(row.trust),
		AboveFloor: string(row.split.gradeAboveFloor(row.trust)),
	}

	if missesOnlyAt68(row.trust.Evidence()) {
		view.Only = levelText(row.trust.Level)
	}

	view.Word = Quantity{Name: row.trust.Outcome}.Word()
	if view.Word == view.Name || row.reference {
		view.Word = view.Name
		view.Name = ""
	}

	if unit := text(1); withUnits && unit != "" {
		view.Error += " " + unit
	}

	return view
}

// Sizes of the drawings in a row, px.
const (
	barWidth    = 150.0
	insideWidth = 84.0
	rowHeight   = 20.0
)

// errorBar draws the half width of the interval as a bar, the error as a dot, and the error of the better plain
// prediction as a tick, which is left out if it is longer than the longest bar. It returns "" if the error is not a
// finite number or the longest bar has no length.
func errorBar(row result, longest float64) template.HTML {
	isFinite := row.trust.RMSE <= math.MaxFloat64 // an error is not negative
	if !isFinite || !(longest > 0) {
		return ""
	}

	const margin = 5 // room for half a dot, px
	place := func(length float64) float64 { return margin + (barWidth-2*margin)*length/longest }
	label := "error " + unitOf(row.trust).amount(row.trust.RMSE)
	var b strings.Builder
	if half := row.trust.Half; half <= longest {
		label += ", interval ± " + unitOf(row.trust).amount(half)
		fmt.Fprintf(&b, `<rect class="int" x="%d" y="4" width="%.1f" height="12" rx="2"/>`, margin, place(half)-margin)
	}

	if plain, _ := row.held.plainError(); plain <= longest && !row.reference {
		label += ", plain prediction " + unitOf(row.trust).amount(plain)
		fmt.Fprintf(&b, `<path class="tick" d="M%.1f 2v16"/>`, place(plain))
	}

	fmt.Fprintf(&b, `<circle class="err" cx="%.1f" cy="10" r="4"/>`, place(row.trust.RMSE))

	return rowDrawing(barWidth, label, b.String())
}

// insideBar draws the shares inside the intervals of 68 % and of the level on an axis from 0 to 1, with dashed lines at
// both levels. It returns "" if the shares are unknown.
func insideBar(trust score.OutcomeTrust) template.HTML {
	if math.IsNaN(trust.Inside) || math.IsNaN(trust.At[0]) {
		return ""
	}

	const margin = 5
	place := func(share float64) float64 { return margin + (insideWidth-2*margin)*share }
	label := shareText(trust.At[0]) + " inside 68 % intervals, " + shareText(trust.Inside) + " inside " +
		levelText(trust.Level)
	drawing := fmt.Sprintf(`<path class="axis" d="M%d 10H%.0f"/><path class="nom" d="M%.1f 2v16M%.1f 2v16"/>`+
		`<circle class="c68" cx="%.1f" cy="10" r="3.6"/><circle class="c95" cx="%.1f" cy="10" r="3.6"/>`,
		margin, insideWidth-margin, place(score.Levels[0]), place(trust.Level), place(trust.At[0]), place(trust.Inside))

	return rowDrawing(insideWidth, label, drawing)
}

// rowDrawing returns a drawing of a row as SVG, with a description for readers who cannot see it.
func rowDrawing(width float64, label, drawing string) template.HTML {
	const format = `<svg class="row" width="%g" height="%g" viewBox="0 0 %g %g" role="img" aria-label="%s">%s</svg>`

	return template.HTML(fmt.Sprintf(format, width, rowHeight, width, rowHeight, template.HTMLEscapeString(label),
		drawing))
}

// worstGrade returns the worst grade of the splits.
func (e Experiment) worstGrade() score.Grade {
	var grades []score.Grade
	for _, split := range e.Splits {
		if len(split.recommended()) > 0 {
			grades = append(grades, split.Verdict())
		}
	}

	if len(grades) == 0 {
		return ""
	}

	return score.Worst(grades...)
}

// networkSummary writes R² and the rise of E|cov| of the network on each of up to three splits.
func (e Experiment) networkSummary() string {
	const most = 3
	var texts []string
	for _, split := range e.Splits {
		if split.isExternal() || len(texts) == most {
			continue
		}

		text := fmt.Sprintf("%s R² %s", clean(split.Name), fitText(split.Test.Get("r2").Mean))
		if rise := riseCell(split.Train.Values, split.Test.Values, "abs_cov"); rise.text != undefinedText {
			text += ", E|cov| " + rise.plain()
		}

		texts = append(texts, text)
	}

	return strings.Join(texts, "; ")
}
