// Package variants compares the variants of a sweep on the rows that all of them hold out: it finds the rows that
// belong together, and ranks the variants by each criterion. Compare reads the answers of each variant by functions of
// its caller.
package variants

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/train/score"
)

// Judged contains the variants of a sweep with their answers on one split.
type Judged []Variant

// Variant contains the held-out rows of one variant, in order. All outcomes are standardised by the training part of
// the first variant, so that the errors of all variants can be compared.
type Variant struct {
	Unit  []string    // by row: its run and conditions, which name the same unit in all variants
	Run   []string    // by row: its run
	Seeds []score.Set // by seed: pairs and answers of the rows
	Apart string      // reason why the variant is not compared; "" if it is compared
}

// AddRows adds the given rows of a table of triplets. They are named by their run and by the conditions.
func (v *Variant) AddRows(t *table.Table, conditions []string, rows []int) {
	v.Unit = append(v.Unit, unitsOf(t, conditions, rows)...)
	run := t.Column("run").Strings
	for _, row := range rows {
		v.Run = append(v.Run, run[row])
	}
}

// AddAnswers adds the pairs and answers of the rows for one seed.
func (v *Variant) AddAnswers(seed int, rows score.Set) { v.Seeds[seed] = joined(v.Seeds[seed], rows) }

// joined returns the rows of a followed by the rows of b.
func joined(a, b score.Set) score.Set {
	a.N += b.N
	a.Out = b.Out
	a.Couples = b.Couples
	a.Y1 = append(a.Y1, b.Y1...)
	a.Y2 = append(a.Y2, b.Y2...)
	a.Weight = append(a.Weight, b.Weight...)
	a.Mu = append(a.Mu, b.Mu...)
	a.Var = append(a.Var, b.Var...)
	a.Cov = append(a.Cov, b.Cov...)

	return a
}

// unitsOf names the given rows of a table by their run and by conditions that are known before the analysis. The names
// skip conditions that the table does not have as a column of numbers.
func unitsOf(t *table.Table, conditions []string, rows []int) []string {
	run := t.Column("run").Strings
	var units []string
	for _, i := range rows {
		units = append(units, run[i])
	}

	for _, name := range conditions {
		column := t.Column(name)
		if column == nil || column.Floats == nil {
			continue
		}

		for k, i := range rows {
			units[k] += "\x00" + strconv.FormatFloat(column.Floats[i]+0, 'g', -1, 64) // −0 is 0
		}
	}

	return units
}

// Compare pairs the rows of the variants and ranks the variants by every criterion.
func (l Judged) Compare() report.Comparison {
	common, pairs := l.pair()
	return common.compare(pairs)
}

// pairing says which rows of the variants belong together. A unit is what all variants have in common: a row, or the
// rows of one run and condition.
type pairing struct {
	variants []int     // numbers of the variants that are compared
	rows     [][][]int // by compared variant and unit: the rows of the unit
	run      []int     // by unit: the number of its run
	runs     int       // number of runs
	how      string    // how the rows were paired, in words
	whyNone  string    // reason why there are no units; "" if there are some
}

// pair pairs the rows of the variants: one by one if all variants have the same rows, and otherwise by run and
// conditions, as far as all variants have them. It returns the variants reduced to the paired rows, and the pairing of
// these rows.
func (l Judged) pair() (Judged, pairing) {
	compared := l.notApart()
	first := l[compared[0]]
	haveSameRows := true
	for _, i := range compared {
		haveSameRows = haveSameRows && slices.Equal(l[i].Unit, first.Unit)
	}

	rowsOf := make([]map[string][]int, len(compared)) // by compared variant, then by name of the unit
	for k, i := range compared {
		names := l[i].Unit
		if haveSameRows {
			names = rowNumbers(len(l[i].Unit))
		}

		rowsOf[k] = rowsByUnit(names)
	}

	pairs := pairing{variants: compared, rows: make([][][]int, len(compared))}
	runNumber := map[string]int{} // by name of the run
	for _, unit := range commonUnits(rowsOf) {
		run := first.Run[rowsOf[0][unit][0]]
		if _, known := runNumber[run]; !known {
			runNumber[run] = len(runNumber)
		}

		pairs.run = append(pairs.run, runNumber[run])
		for k := range compared {
			pairs.rows[k] = append(pairs.rows[k], rowsOf[k][unit])
		}
	}

	pairs.runs = len(runNumber)
	pairs.how = fmt.Sprintf("by run and conditions, %d of the first variant's %d", len(pairs.run), len(rowsOf[0]))
	if haveSameRows {
		pairs.how = fmt.Sprintf("row by row, %d rows", len(first.Unit))
	}

	if len(pairs.run) == 0 && !haveSameRows {
		pairs.whyNone = "the variants have no run and conditions in common"
	}

	return l.reduced(pairs)
}

// notApart returns the numbers of the variants that can be compared. The first variant is always one of them.
func (l Judged) notApart() []int {
	var compared []int
	for i, v := range l {
		if v.Apart == "" {
			compared = append(compared, i)
		}
	}

	return compared
}

// rowsByUnit returns the rows of each unit in ascending order. names holds the name of each row's unit.
func rowsByUnit(names []string) map[string][]int {
	rows := map[string][]int{}
	for row, unit := range names {
		rows[unit] = append(rows[unit], row)
	}

	return rows
}

// commonUnits returns the units that all variants have, in the order of their first rows in the first variant. rowsOf
// holds the rows of each variant's units.
func commonUnits(rowsOf []map[string][]int) []string {
	var common []string
	for unit := range rowsOf[0] {
		isMissing := func(rows map[string][]int) bool { return rows[unit] == nil }
		if !slices.ContainsFunc(rowsOf, isMissing) {
			common = append(common, unit)
		}
	}

	firstRow := func(unit string) int { return rowsOf[0][unit][0] }
	slices.SortFunc(common, func(a, b string) int { return firstRow(a) - firstRow(b) })

	return common
}

// rowNumbers names n rows by their numbers.
func rowNumbers(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}

	return names
}

// reduced returns the variants with the answers of their paired rows alone, and the pairing by the new numbers of these
// rows. Units and runs stay those of all rows.
func (l Judged) reduced(pairs pairing) (Judged, pairing) {
	variants := slices.Clone(l)
	renumbered := pairs
	renumbered.rows = make([][][]int, len(pairs.rows))
	for k, i := range pairs.variants {
		var kept []int // rows of the variant that are paired
		for _, rows := range pairs.rows[k] {
			var places []int
			for _, row := range rows {
				places = append(places, len(kept))
				kept = append(kept, row)
			}

			renumbered.rows[k] = append(renumbered.rows[k], places)
		}

		variants[i].Seeds = nil
		for _, set := range l[i].Seeds {
			rest := score.Set{Set: set.Select(kept), Answers: set.Answers.Rows(kept, set.Out)}
			variants[i].Seeds = append(variants[i].Seeds, rest)
		}
	}

	return variants, renumbered
}

// values returns a criterion by compared variant, seed and unit.
func (l Judged) values(pairs pairing, criterion score.Criterion) [][][]float64 {
	values := make([][][]float64, len(pairs.variants))
	for k, i := range pairs.variants {
		for _, set := range l[i].Seeds {
			values[k] = append(values[k], meanOfUnits(criterion.Rows(set), pairs.rows[k]))
		}
	}

	return values
}

// meanOfUnits returns, for each unit, the mean of the values of its rows.
func meanOfUnits(values []float64, units [][]int) []float64 {
	means := make([]float64, len(units))
	for u, rows := range units {
		for _, row := range rows {
			means[u] += values[row] / float64(len(rows))
		}
	}

	return means
}

// compare ranks the variants by every criterion.
func (l Judged) compare(pairs pairing) report.Comparison {
	comparison := report.Comparison{Pairing: pairs.how, Runs: pairs.runs, Unpaired: pairs.whyNone}
	for i, v := range l {
		if v.Apart != "" {
			comparison.Apart = append(comparison.Apart, report.Apart{Variant: i, Why: v.Apart})
		}
	}

	if pairs.whyNone != "" {
		return comparison
	}

	for _, criterion := range score.Criteria() {
		comparison.Criteria = append(comparison.Criteria, l.rank(pairs, criterion))
	}

	return comparison
}

// significance is the corrected p-value below which a variant is said to be worse than the best one.
const significance = 0.05

// rank ranks the variants for which a criterion is defined.
func (l Judged) rank(pairs pairing, criterion score.Criterion) report.ByCriterion {
	var variants []int       // numbers of the ranked variants
	var values [][][]float64 // by ranked variant, seed and unit
	for k, seeds := range l.values(pairs, criterion) {
		if !slices.ContainsFunc(seeds, hasNaN) {
			variants = append(variants, pairs.variants[k])
			values = append(values, seeds)
		}
	}

	ranks := score.Ranking(values, pairs.run)
	var probabilities []float64
	for _, r := range ranks {
		probabilities = append(probabilities, r.P)
	}

	corrected := score.Holm(probabilities)
	ranking := report.ByCriterion{Key: criterion.Key, Name: criterion.Name}
	for i, r := range ranks {
		variant := variants[r.Method]
		ranking.Ranks = append(ranking.Ranks, report.VariantRank{
			Variant: variant, Value: l.familiarScore(variant, criterion, values[r.Method]),
			Score: r.Mean, Above: r.Above, SE: r.SE, Margin: r.Margin, P: r.P, Holm: corrected[i],
			Worse: corrected[i] < significance,
		})
	}

	return ranking
}

// hasNaN reports whether a value is NaN.
func hasNaN(values []float64) bool { return slices.ContainsFunc(values, math.IsNaN) }

// familiarScore returns a variant's score in the form that people know, with its scatter over the seeds. It is the mean
// over units, except for two criteria: the root of this mean for the measured error e, and Σe/Σv̂ of all rows for
// |ln Σe/Σv̂|. seeds contains the criterion by seed and unit.
func (l Judged) familiarScore(variant int, criterion score.Criterion, seeds [][]float64) score.Value {
	var values []float64
	for k, units := range seeds {
		mean, _ := score.ClusteredMean(units, make([]int, len(units)))
		value := mean
		switch criterion.Key {
		case "rmse":
			value = math.Sqrt(mean)
		case "ratio":
			value = score.ErrorRatio(l[variant].Seeds[k])
		}

		values = append(values, value)
	}

	return score.Mean(values)
}
