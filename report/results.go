package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file makes the table of results: a row for each split and outcome, the worst first. The terminal, the page,
// Markdown and LaTeX show the same rows.

// Names of models, as titles of tables and figures have them.
const (
	calibratedModel = "calibrated model"
	paperNetwork    = "paper's network"
)

// model names the model whose predictions are recommended.
func (s Split) model() string {
	switch {
	case s.isCalibrated():
		return calibratedModel
	case s.isExternal():
		return "predictions " + AsStated
	}

	return paperNetwork
}

// result is a row of the table: an outcome of a split.
type result struct {
	split     Split
	trust     score.OutcomeTrust // in the recommended predictions
	held      HeldOutcome
	reference bool // predictions of another program, for comparison
}

// badness orders rows, the largest first: by grade, and within the grade "undecided" the rows whose 95 % interval holds
// last.
func (r result) badness() int {
	badness := 2 * r.trust.Grade().Rank()
	if r.trust.Grade() == score.Undecided && !missesOnlyAt68(r.trust.Evidence()) {
		badness++
	}

	return badness
}

// results returns the rows of all splits, the worst first: by badness, and then by R². References come last.
func (e Experiment) results() []result {
	var rows, references []result
	for _, split := range e.Splits {
		for _, outcome := range split.recommended() {
			rows = append(rows, result{split: split, trust: outcome, held: split.heldOutcome(outcome.Outcome)})
		}

		for _, outcome := range split.Rivals {
			references = append(references, result{split: split, trust: outcome, reference: true})
		}
	}

	slices.SortStableFunc(rows, func(a, b result) int {
		return cmp.Or(b.badness()-a.badness(), cmp.Compare(a.trust.R2, b.trust.R2))
	})

	return append(rows, references...)
}

// modelNames returns the distinct models of the rows, in the order in which they appear.
func modelNames(rows []result) []string {
	var names []string
	for _, row := range rows {
		if name := row.split.model(); !row.reference && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	return names
}

// resultsTitle names the models of the rows.
func resultsTitle(rows []result) string {
	names := modelNames(rows)
	if len(names) == 0 {
		return ""
	}

	return capitalise(strings.Join(names, ", and ")) +
		" on held-out values, worst first"
}

// resultsTable returns the table of the rows. Columns without numbers are left out.
func resultsTable(rows []result) table {
	t := table{Title: resultsTitle(rows), Corner: "split"}
	units := unitsOf(rows)
	unit := ""
	if len(units) == 1 && units[0] != "" {
		unit = ", " + units[0]
	}

	t.addWordColumns("outcome", "unit", "model")
	t.addNumberColumns("", "error ± SE"+unit, levelsOf(rows)+" ±")
	t.addNumberColumns("inside", "68 %", levelsOf(rows))
	t.addNumberColumns("", "R²", "bounds")
	t.addNumberColumns("error", withoutBounds, "of the mean", "of least squares")
	t.addWordColumns("grade")

	hasBounds := false
	for _, row := range rows {
		hasBounds = hasBounds || row.held.Bounds > 0
		t.addRow(row.split.Name, row.cells()...)
	}

	if len(units) < 2 {
		t = t.without("unit")
	}

	if len(modelNames(rows)) < 2 {
		t = t.without("model")
	}

	if !hasBounds {
		t = t.without("bounds").without(withoutBounds)
	}

	return t
}

// withoutBounds is the heading of the errors on pairs without an upper bound.
const withoutBounds = "without bounds"

// briefHeads are the headings of results in a summary, by their headings in the whole table.
var briefHeads = map[string]string{
	"bounds": "bound", withoutBounds: "without", "of the mean": "mean", "of least squares": "linear",
}

// recommendedModels is the corner of a brief table about several models.
const recommendedModels = "recommended model"

// briefResults returns the rows for a summary: on one line of headings, with the outcomes in the labels, and without
// standard errors. The corner names the model; if there are several, the rows of the network name it.
func briefResults(rows []result) table {
	whole := resultsTable(rows)
	names := modelNames(rows)
	brief := table{Corner: strings.Join(names, ""), open: true}
	if len(names) > 1 {
		brief.Corner = recommendedModels
	}

	var kept []int // indices of the columns of whole that the summary has
	for k, head := range whole.Heads {
		if head.Name == "outcome" || head.Name == "model" {
			continue
		}

		if name, exists := briefHeads[head.Name]; exists {
			head.Name = name
		}

		if head.Group == "inside" {
			head.Name = strings.TrimSpace("in " + head.Name)
		}

		head.Name = strings.Replace(head.Name, " ± SE", "", 1)
		head.Group = ""
		brief.Heads = append(brief.Heads, head)
		kept = append(kept, k)
	}

	for i, row := range rows {
		label := row.split.Name + " " + row.trust.Outcome
		if !row.reference && len(names) > 1 && row.split.model() == paperNetwork {
			label += " network"
		}

		var cells []number
		for _, k := range kept {
			cell := whole.Rows[i].Cells[k]
			cell.std = ""
			cells = append(cells, cell)
		}

		brief.addRow(label, cells...)
	}

	return brief
}

// cells returns the cells of the row, in the order of the columns of resultsTable.
func (r result) cells() []number {
	trust := r.trust
	unit := unitOf(trust)
	grade := gradeCell(trust.Grade())
	held := r.held
	model := r.split.model()
	if r.reference {
		model = undefinedText          // the predictions of another program
		grade = wordsCell("reference") // it states no interval that could be graded
		held = HeldOutcome{MeanError: undefined, LinearError: undefined}
	}

	bounds := number{text: undefinedText}
	if held.Values > 0 {
		bounds = shareCell(held.BoundShare())
	}

	without := number{text: undefinedText}
	if held.Measured != nil {
		without = errorCell(unit, held.Measured.RMSE, undefined)
	}

	return []number{
		wordsCell(trust.Outcome), wordsCell(unit.difference()), wordsCell(model),
		errorOf(trust), unit.cell(trust.Half, undefined), shareCell(trust.At[0]), shareCell(trust.Inside),
		{text: fitText(trust.R2)},
		bounds, without,
		errorCell(unit, held.MeanError, undefined), errorCell(unit, held.LinearError, undefined), grade,
	}
}

// fitText writes R² with two decimals.
func fitText(r2 float64) string {
	if math.IsNaN(r2) || math.IsInf(r2, 0) {
		return undefinedText
	}
	return numbers.Fixed(r2, 2)
}

// unitsOf returns the distinct units of the errors of rows, in the order in which they appear.
func unitsOf(rows []result) []string {
	var units []string
	for _, row := range rows {
		if unit := unitOf(row.trust).difference(); !slices.Contains(units, unit) {
			units = append(units, unit)
		}
	}

	return units
}

// levelsOf writes the distinct levels of the intervals of rows: "90 %, 95 %".
func levelsOf(rows []result) string {
	var levels []float64
	for _, row := range rows {
		if !row.reference {
			levels = append(levels, row.trust.Level)
		}
	}

	slices.Sort(levels)

	var texts []string
	for _, level := range slices.Compact(levels) {
		texts = append(texts, levelText(level))
	}

	return strings.Join(texts, ", ")
}

// mostBounds is the share of upper bounds above which a verdict states it.
const mostBounds = 0.1

// boundsWords states the share of upper bounds among the held-out values of the split, or returns "" if it is small.
func (s Split) boundsWords() string {
	share := s.boundShare()
	if share <= mostBounds {
		return ""
	}

	return shareText(share) + " of all levels are upper bounds"
}

// withoutBoundsWords names up to two outcomes that have another grade without upper bounds, and counts more of them.
// This other grade is the grade of values above the noise floor. It returns "" if no grade changes, or if the share of
// upper bounds is small.
func (s Split) withoutBoundsWords() string {
	if s.boundsWords() == "" {
		return ""
	}

	var changed []string
	for _, outcome := range s.recommended() {
		if grade := s.gradeAboveFloor(outcome); grade != "" {
			changed = append(changed, clean(outcome.Outcome)+" "+grade.Predicate())
		}
	}

	const most = 2
	n := len(changed)
	switch {
	case n == 0:
		return ""
	case n > most:
		return "Without them " + numbered(n, "grade changes", "grades change")
	}

	return "Without them " + strings.Join(changed, ", ")
}

// gradeAboveFloor returns the grade of an outcome without upper bounds if the share of upper bounds is stated and this
// grade differs from the grade with them. Otherwise it returns "".
func (s Split) gradeAboveFloor(outcome score.OutcomeTrust) score.Grade {
	measured := s.heldOutcome(outcome.Outcome).Measured
	if s.boundsWords() == "" || measured == nil || measured.Grade() == outcome.Grade() {
		return ""
	}

	return measured.Grade()
}

// networkLine describes the paper's network on a split in one line, with means over the outcomes. The rise of E|cov| is
// its ratio of the held-out to the training part. It returns "" if the predictions come from another program.
func (s Split) networkLine() string {
	if s.isExternal() {
		return ""
	}

	text := fmt.Sprintf("paper's network, %s: R² %s, held out %s", clean(s.Name),
		fitText(s.Train.Get("r2").Mean), fitText(s.Test.Get("r2").Mean))
	if rise := riseCell(s.Train.Values, s.Test.Values, "abs_cov"); rise.text != undefinedText {
		text += "; E|cov| held out/trained " + rise.plain()
	}

	if len(s.Network) > 0 && s.isCalibrated() {
		text += fmt.Sprintf("; inside %s: %s", levelText(s.Network[0].Level), shareText(s.networkInside()))
	}

	return text
}

// networkInside returns the share of held-out values inside the network's intervals, as a mean over the outcomes.
func (s Split) networkInside() float64 {
	sum := 0.0
	for _, outcome := range s.Network {
		sum += outcome.Inside
	}

	return sum / float64(len(s.Network))
}
