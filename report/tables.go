package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file decides the contents of the tables; table.go has their form. First come metrics and their columns, then
// tables, each with the functions that write its rows and cells.

// shownMetric is a metric that a table shows, in one to four columns.
type shownMetric struct {
	key         string // of score.Metrics
	train, test bool   // the parts of the split that have a column with the metric
	errorKey    string // key of its standard error on the test part, which has a column; "" if there is none
	change      bool   // a column has the difference of the parts in percent
	rise        bool   // a column has the ratio of the test part to the training part
}

// symbol returns the metric's symbol.
func (q shownMetric) symbol() string { return score.MetricOf(q.key).Symbol }

// groupHead returns the heading above the metric's columns.
func (q shownMetric) groupHead() string {
	if q.scale() == 100 {
		return q.symbol() + " ×10⁻²"
	}
	return q.symbol()
}

// scale returns the factor by which the cells are multiplied: 1 or 100.
func (q shownMetric) scale() float64 { return score.MetricOf(q.key).Factor }

// columnNames returns the names of the metric's columns.
func (q shownMetric) columnNames() []string {
	var names []string
	if q.train {
		names = append(names, trainHead)
	}

	if q.test {
		names = append(names, "test")
	}

	if q.errorKey != "" {
		names = append(names, "SE")
	}

	if q.change {
		names = append(names, "difference")
	}

	if q.rise {
		names = append(names, "rise")
	}

	return names
}

// cells returns the cells of the metric's columns, in the order of columnNames.
func (q shownMetric) cells(train, test score.Values) []number {
	var cells []number
	if q.train {
		cells = append(cells, round(train.Get(q.key), q.scale()))
	}

	if q.test {
		cells = append(cells, round(test.Get(q.key), q.scale()))
	}

	if q.errorKey != "" {
		cells = append(cells, twoDigits(test.Get(q.errorKey), q.scale()))
	}

	if q.change {
		change, _ := percentChange(train.Get(q.key), test.Get(q.key))
		cells = append(cells, percentCell(change))
	}

	if q.rise {
		cells = append(cells, riseCell(train, test, q.key))
	}

	return cells
}

// The metrics of the tables.
var (
	// papers are the two metrics of the paper, as the summary shows them.
	papers = []shownMetric{
		{key: "r2", train: true, test: true},
		{key: "abs_cov", train: true, test: true, rise: true},
	}

	// compared are the same metrics with the differences that the paper states.
	compared = []shownMetric{
		{key: "r2", train: true, test: true, change: true},
		{key: "abs_cov", train: true, test: true, change: true},
	}

	// partsOfCov are the parts of E|cov|, and the measured error.
	partsOfCov = []shownMetric{
		{key: "cov_centred", train: true, test: true},
		{key: "mu_delta", train: true, test: true},
		{key: "delta", train: true, test: true},
		{key: "e", test: true, errorKey: "e_se"},
		{key: "sum_e_ratio", test: true, errorKey: "sum_e_ratio_se"},
		{key: "noise_ceiling", train: true, test: true},
	}

	// identities are the numbers by which one joint law of the two answers is checked (docs/method.md#diagnostics).
	// The first is κ.
	identities = []shownMetric{
		{key: "kappa", train: true, test: true},
		{key: "negative_cov", train: true, test: true},
		{key: "cov_above_var", train: true, test: true},
	}
)

// tables returns the tables of an experiment with splits, the most important first. Tables without rows are left out.
func (e Experiment) tables() []table {
	all := []table{
		resultsTable(e.results()), e.fitTable(compared), e.claimsTable(), e.intervalsTable(), e.covPartsTable(),
		e.identitiesTable(), e.setsTable(),
	}

	return notEmptyTables(append(all, e.methodsTables()...))
}

// notEmptyTables returns the tables that have rows.
func notEmptyTables(tables []table) []table {
	var kept []table
	for _, t := range tables {
		if !t.isEmpty() {
			kept = append(kept, t)
		}
	}

	return kept
}

// claimsTable returns the table of the errors and of the claimed deviations on the test parts, in the outcomes' units.
// The table has no rows if nothing was judged.
func (e Experiment) claimsTable() table {
	t := table{Title: "Error and claim on the held-out sets, by model", Corner: "split"}
	t.addWordColumns("prediction", "outcome", "unit")
	t.addNumberColumns("error", "rms ± SE")
	t.addNumberColumns("claimed deviation", "σ", "epistemic")
	t.addNumberColumns("held-out values inside", "68 %", e.levelTexts(Split.predicted)+" ± SE")
	t.addNumberColumns("interval", "±")

	several := false // whether a split has several outcomes
	for _, split := range e.Splits {
		several = several || max(len(split.recommended()), len(split.Network)) > 1
		if split.isCalibrated() {
			t.addClaims(split, "calibrated", split.Honest.Record.Outcomes)
		}

		if split.showsNetwork() {
			t.addClaims(split, split.networkName(), split.Network)
		}
	}

	if !several {
		t = t.without("outcome")
	}

	if units := e.units(); len(units) < 2 {
		t = t.without("unit")
		if unit := strings.Join(units, ""); unit != "" { // of one unit or none
			t.Title += ", in " + unit
		}
	}

	return t
}

// networkName names the predictions in Network.
func (s Split) networkName() string {
	switch {
	case s.isExternal():
		return AsStated
	case s.isCalibrated():
		return "network alone"
	}

	return "network"
}

// units returns the distinct units of the errors of all splits, in the order in which they appear.
func (e Experiment) units() []string {
	var g gathered
	for _, split := range e.Splits {
		for _, outcome := range split.predicted() {
			g.add(unitOf(outcome).difference(), split.Name)
		}
	}

	return g.texts
}

// risesWords says what a rise of E|cov| meant in earlier campaigns. If the rise scales the intervals of this
// experiment, risesWords also compares the scores of these intervals with the scores of intervals that are not scaled.
func (e Experiment) risesWords() string {
	var records []scale.Rises // the distinct records of the splits
	var ratios []float64      // scores with the scale over scores without it, by split
	for _, split := range e.Splits {
		if !split.isCalibrated() {
			continue
		}

		record := split.Honest.Calibration.Scale.Prior.RisesRecord()
		if !slices.Contains(records, record) {
			records = append(records, record)
		}

		for _, rival := range split.Honest.Calibration.Rivals {
			if rival.Method == "plain" {
				ratios = append(ratios, 1/rival.Width.Ratio)
			}
		}
	}

	if records == nil {
		records = append(records, scale.BuiltInRises())
	}

	var sentences []string
	for _, record := range records {
		sentences = append(sentences, record.Words())
	}

	words := strings.Join(sentences, " ")
	if ratios == nil {
		return words
	}

	return words + fmt.Sprintf(" Here it scales the intervals: their score on left-out groups is × %.2f to %.2f "+
		"of that without (lower is better).", slices.Min(ratios), slices.Max(ratios))
}

// leftOut returns the left-out groups whose rise of E|cov| is known. It returns nil if the split is not calibrated.
func (s Split) leftOut() []interval.GroupResult {
	if !s.isCalibrated() {
		return nil
	}

	var groups []interval.GroupResult
	for _, group := range s.Honest.Calibration.Groups {
		if group.Rise != nil {
			groups = append(groups, group)
		}
	}

	return groups
}

// riseCell returns the ratio of a metric of a split's held-out part to the metric of its training part.
func riseCell(train, test score.Values, key string) number {
	return timesCell(test.Get(key).Mean / train.Get(key).Mean)
}

// timesCell writes a ratio as "× 1.2".
func timesCell(ratio float64) number {
	value := score.Mean([]float64{ratio})
	if !value.Defined() {
		return number{text: undefinedText}
	}

	return number{text: "× " + twoDigits(value, 1).plain()}
}

// errorOf returns the error of the mean with its standard error.
func errorOf(outcome score.OutcomeTrust) number {
	return errorCell(unitOf(outcome), outcome.RMSE, outcome.RMSESE)
}

// errorCell writes an error of predicted means with its standard error, which is NaN if it is not known. An error is 0
// if the noise hides it.
func errorCell(unit Quantity, value, standardError float64) number {
	if value == 0 {
		return number{text: "below noise"}
	}
	return unit.cell(value, standardError)
}

// levelTexts writes the distinct levels of the intervals of some predictions: "90 %, 95 %".
func (e Experiment) levelTexts(predictions func(Split) []score.OutcomeTrust) string {
	var levels []float64
	for _, split := range e.Splits {
		for _, outcome := range predictions(split) {
			levels = append(levels, outcome.Level)
		}
	}

	slices.Sort(levels)

	var texts []string
	for _, level := range slices.Compact(levels) {
		texts = append(texts, levelText(level))
	}

	return strings.Join(texts, ", ")
}

// predicted returns the trust in all predictions, the recommended predictions first.
func (s Split) predicted() []score.OutcomeTrust { return slices.Concat(s.recommended(), s.network()) }

// network returns the trust in the predictions of the network, as a function for levelTexts.
func (s Split) network() []score.OutcomeTrust { return s.Network }

// addClaims adds a row for each outcome of a kind of predictions, such as "calibrated".
func (t *table) addClaims(split Split, prediction string, list []score.OutcomeTrust) {
	nan := math.NaN()
	for _, outcome := range list {
		unit := unitOf(outcome)
		inside := inPercent(outcome.Inside)
		if se := inPercent(outcome.InsideSE); se != undefinedText && inside != undefinedText {
			inside += " ± " + se
		}

		t.addRow(split.Name, wordsCell(prediction), wordsCell(outcome.Outcome), wordsCell(unit.difference()),
			errorOf(outcome), unit.cell(outcome.ClaimedSigma, nan), unit.cell(outcome.ClaimedEpistemic, nan),
			shareCell(outcome.At[0]), number{text: rangeOf(inside, inside, percentSign)}, unit.cell(outcome.Half, nan))
	}
}

// fitTable returns the paper's two tables as one, R² and E|cov|, with the share of held-out values inside the network's
// own intervals.
func (e Experiment) fitTable(list []shownMetric) table {
	t := e.metricsTable("The paper's network: fit of its mean, and covariance of its two answers", list)
	t.Below = e.risesWords()
	level := e.levelTexts(Split.network)
	if level == "" {
		return t
	}

	t.addNumberColumns(level, "inside")

	for i, split := range e.Splits {
		inside := number{text: undefinedText}
		if len(split.Network) > 0 {
			inside = shareCell(split.networkInside())
		}

		t.Rows[i].Cells = append(t.Rows[i].Cells, inside)
	}

	return t
}

// covPartsTable returns the table of the parts of E|cov| and the measured error.
func (e Experiment) covPartsTable() table {
	var computed []shownMetric
	for _, metric := range partsOfCov {
		if e.has(metric) {
			computed = append(computed, metric)
		}
	}

	return e.metricsTable("The paper's network: parts of E|cov|, and the measured error", computed)
}

// identitiesTable returns the table of the identities. The table has no columns if κ was not computed.
func (e Experiment) identitiesTable() table {
	const title = "The paper's network: whether its two answers are one joint law"
	if !e.has(identities[0]) {
		return e.metricsTable(title, nil)
	}

	return e.metricsTable(title, identities)
}

// metricsTable returns a table of some quantities, with a row for each split.
func (e Experiment) metricsTable(title string, list []shownMetric) table {
	t := table{Title: title, Corner: "split"}
	for _, metric := range list {
		t.addNumberColumns(metric.groupHead(), metric.columnNames()...)
	}

	for _, split := range e.Splits {
		t.addRow(split.Name, cellsOf(list, split.Train.Values, split.Test.Values)...)
	}

	return t
}

// cellsOf returns the cells of several metrics.
func cellsOf(list []shownMetric, train, test score.Values) []number {
	var cells []number
	for _, metric := range list {
		cells = append(cells, metric.cells(train, test)...)
	}

	return cells
}

// has reports whether the metric was computed for any split, on a part of which it is shown.
func (e Experiment) has(metric shownMetric) bool {
	for _, split := range e.Splits {
		train := metric.train && !split.Train.Get(metric.key).Absent()
		test := metric.test && !split.Test.Get(metric.key).Absent()
		if train || test {
			return true
		}
	}

	return false
}

// setsTable returns the table of the training and held-out sets: the rule of each split, and the sizes of both parts.
func (e Experiment) setsTable() table {
	t := table{Title: "Held-out sets", Corner: "split"}
	t.addWordColumns("test part", "is")
	t.addNumberColumns("", "seeds")
	t.addNumberColumns("train", "triplets", "conditions", "runs")
	t.addNumberColumns("test", "triplets", "conditions", "runs")

	isReachKnown := false // of any split
	for _, split := range e.Splits {
		isReachKnown = isReachKnown || split.Reach != ""
		cells := []number{wordsCell(split.HeldOut), wordsCell(split.Reach), countCell(split.Seeds)}
		for _, set := range []SetMetrics{split.Train, split.Test} {
			cells = append(cells, countCell(set.Rows), countCell(set.Conditions), countCell(set.Runs))
		}

		t.addRow(split.Name, cells...)
	}

	if !isReachKnown {
		t = t.without("is")
	}

	return t
}

// intervalsTable returns the table of calibrated intervals. The table has no rows if no split is calibrated.
func (e Experiment) intervalsTable() table {
	t := table{Title: "Calibrated model: calibration of the intervals", Corner: "split"}
	t.addNumberColumns("", "R² test")
	t.addNumberColumns("", "before")
	t.addNumberColumns("values inside", "68 %", "90 %", "95 %", "98 %")
	t.addNumberColumns("Σe/Σv̂", "before", "after", "SE")
	t.addNumberColumns("interval", "level", "width/spread", "score", "without a model", "CRPS")
	t.addWordColumns("left-out groups inside")
	t.addWordColumns("calibrated model", "learned from")

	for _, split := range e.Splits {
		if !split.isCalibrated() {
			continue
		}

		calibration := split.Honest.Calibration
		record := split.Honest.Record
		cells := []number{{text: numbers.Fixed(record.R2, 3)}, shareCell(record.Before.Coverage)}
		for _, inside := range record.At {
			cells = append(cells, shareCell(inside))
		}

		cells = append(cells, shortCell(record.RatioBefore), shortCell(record.RatioAfter), shortCell(record.RatioSE),
			shareCell(calibration.Level), shortCell(record.WidthOverSpread), shortCell(record.After.Score),
			shortCell(record.ModelFree.Score), shortCell(record.CRPS),
			wordsCell(fmt.Sprintf("%d of %d", calibration.LeftOutInside(), calibration.K)),
			wordsCell(calibration.Base), wordsCell(fmt.Sprintf("%d groups of %s", calibration.K, calibration.Condition)))
		t.addRow(split.Name, cells...)
	}

	return t
}

// shortCell writes a number with two digits or all digits of its whole part, or a dash if the number is NaN.
func shortCell(value float64) number {
	if math.IsNaN(value) {
		return number{text: undefinedText}
	}
	return number{text: fault.Digits(value, 2)}
}

// methodsTables returns a table for each split for which methods were compared.
func (e Experiment) methodsTables() []table {
	var tables []table
	for _, split := range e.Splits {
		tables = append(tables, split.methodsTable())
	}

	return notEmptyTables(tables)
}

// methodsTable returns the table of a split's methods, the best first and the methods without a CRPS last.
func (s Split) methodsTable() table {
	t := table{Title: "Methods compared on what " + clean(s.Name) + " holds out", Corner: "method"}
	if s.Reach != "" {
		t.Title += ": " + clean(s.Reach)
	}

	t.addWordColumns("place")
	t.addNumberColumns("", "CRPS (sd)", "above the best", "SE", "RMSE (sd)", "NLL", "in 95 %", "Σe/Σv̂")

	ranked := slices.SortedStableFunc(slices.Values(s.Methods), func(a, b Compared) int {
		return s.rankOf(a) - s.rankOf(b)
	})
	for _, method := range ranked {
		cells := slices.Repeat([]number{{text: undefinedText}}, 4)
		if i := s.rankOf(method); i < len(s.Ranking) {
			rank := s.Ranking[i]
			cells = []number{wordsCell(rank.Standing), singleCell(rank.CRPS), singleCell(rank.Above), singleCell(rank.SE)}
		}

		cells = append(cells, singleCell(math.Sqrt(method.Get("e").Mean)))
		for _, key := range []string{"nll", "coverage95", "sum_e_ratio"} {
			cells = append(cells, round(method.Get(key), 1))
		}

		t.addRow(method.label(), cells...)
	}

	return t
}

// rankOf returns the place of a method in the ranking, or the length of the ranking if the method is not ranked.
func (s Split) rankOf(method Compared) int {
	for i, ranked := range s.Ranking {
		if ranked.Method == method.Method {
			return i
		}
	}

	return len(s.Ranking)
}

// singleCell writes a number that has no spread.
func singleCell(value float64) number { return round(score.Mean([]float64{value}), 1) }
