package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// quantity is a metric that a table shows.
type quantity struct {
	key         string // of score.Metrics
	train, test bool   // parts it is shown of
	se          string // key of its standard error on the test part, shown next to it; "" when there is none
	change      bool   // with the difference of the parts
	rise        bool   // with their ratio
}

// name is the quantity's symbol.
func (q quantity) name() string { return score.MetricOf(q.key).Symbol }

// head is the heading of its column.
func (q quantity) head() string {
	if q.scale() == 100 {
		return q.name() + " ×10⁻²"
	}
	return q.name()
}

// scale is the factor of its cells.
func (q quantity) scale() float64 { return score.MetricOf(q.key).Factor }

// columns are the names of its columns, and their cells.
func (q quantity) columns(train, test score.Values) (names []string, cells []number) {
	pct, _ := difference(train.Get(q.key), test.Get(q.key))
	for _, c := range []struct {
		shown bool
		name  string
		cell  number
	}{
		{q.train, "train", round(train.Get(q.key), q.scale())},
		{q.test, "test", round(test.Get(q.key), q.scale())},
		{q.se != "", "SE", twoDigits(test.Get(q.se), q.scale())},
		{q.change, "difference", percent(pct)},
		{q.rise, "rise", rise(train, test, q.key)},
	} {
		if c.shown {
			names, cells = append(names, c.name), append(cells, c.cell)
		}
	}

	return names, cells
}

// addQuantities adds the columns of quantities.
func (t *table) addQuantities(list []quantity) {
	for _, q := range list {
		names, _ := q.columns(nil, nil)
		t.numbers(q.head(), names...)
	}
}

// cellsOf are the cells of quantities.
func cellsOf(list []quantity, train, test score.Values) (out []number) {
	for _, q := range list {
		_, cells := q.columns(train, test)
		out = append(out, cells...)
	}
	return out
}

// The numbers of the tables: the paper's two, those that E|cov| consists of with
// the measured error, the identities that one joint law of the two answers obeys
// (docs/method.md#diagnostics), and the scores by which methods are compared.
var (
	papers = []quantity{
		{key: "r2", train: true, test: true},
		{key: "abs_cov", train: true, test: true, rise: true},
	}

	compared = []quantity{
		{key: "r2", train: true, test: true, change: true},
		{key: "abs_cov", train: true, test: true, change: true},
	}

	partsOfCov = []quantity{
		{key: "cov_centred", train: true, test: true},
		{key: "mu_delta", train: true, test: true},
		{key: "delta", train: true, test: true},
		{key: "e", test: true, se: "e_se"},
		{key: "sum_e_ratio", test: true, se: "sum_e_ratio_se"},
		{key: "noise_ceiling", train: true, test: true},
	}

	identities = []quantity{
		{key: "kappa", train: true, test: true},
		{key: "negative_cov", train: true, test: true},
		{key: "cov_above_var", train: true, test: true},
	}
)

// tables are the tables of an experiment with splits, the most important first.
func (e Experiment) tables() []table {
	list := []table{
		e.results(math.MaxInt), e.fit(compared), e.claimed(), e.intervals(), e.parts(), e.consistent(), e.sets(),
	}

	return slices.DeleteFunc(append(list, e.comparisons()...), table.empty)
}

// claimed is the table of errors and claims on the test parts, in the outcomes' units;
// without rows where nothing was judged.
func (e Experiment) claimed() table {
	t := table{Title: "Error and claim on the held-out sets", Corner: "split"}
	t.words("prediction", "outcome", "unit")
	t.numbers("error", "rms ± SE")
	t.numbers("claimed deviation", "σ", "epistemic")
	t.numbers("held-out values inside", "68 %", e.levels(Split.predicted)+" ± SE")
	t.numbers("interval", "±")

	for _, s := range e.Splits {
		network := "network"
		switch {
		case s.given():
			network = AsStated
		case s.calibrated():
			network = "network alone"
		}

		if s.calibrated() {
			t.claims(s, "calibrated", s.Honest.Record.Outcomes)
		}

		if s.claims() {
			t.claims(s, network, s.Network)
		}
	}

	if !slices.ContainsFunc(e.Splits, func(s Split) bool { return max(len(s.recommended()), len(s.Network)) > 1 }) {
		t = t.without("outcome")
	}

	if units := e.units(); len(units) < 2 {
		t = t.without("unit")
		t.Title += strings.TrimSuffix(", in "+strings.Join(units, ""), ", in ")
	}

	return t
}

// units are those of the errors of all splits.
func (e Experiment) units() []string {
	var g gathered
	for _, s := range e.Splits {
		for _, c := range s.predicted() {
			g.add(unitOf(c).difference(), s.Name)
		}
	}

	return g.texts
}

// results is the table of what was found on the held-out sets: of each outcome the error of the mean, the interval, the
// share of the values inside, R², the rise of E|cov| and the grade. More than so many outcomes of a unit are one row,
// with their ranges.
func (e Experiment) results(most int) table {
	t := table{Title: "Error and interval of what was never shown", Corner: "split", Below: e.risesWords()}
	units, unit := e.units(), ""
	if len(units) == 1 && units[0] != "" {
		unit = ", " + units[0]
	}

	t.words("outcome", "unit")
	t.numbers("", "error ± SE"+unit, e.levels(Split.recommended)+" ±", "inside", "R²")
	t.words("grade")
	t.numbers("", "E|cov|")

	full := most == math.MaxInt // a summary has the rise with the network's numbers
	for _, s := range e.Splits {
		of := ""
		switch {
		case s.given():
			of = " (" + AsStated + ")"
		case !s.calibrated():
			of = " (network alone)"
		}

		add := func(name string, list []score.OutcomeTrust, cells []number, rise number) {
			cells = slices.Concat([]number{words(name), words(unitOf(list[0]).difference())}, cells, []number{rise})
			t.add(s.Name, cells...)
		}

		for _, list := range grouped(s.recommended(), most) {
			name := list[0].Outcome
			if n := len(list) - 1; n > 0 {
				name += " … " + list[n].Outcome
			}

			add(name+of, list, spans(list), rise(s.Train.Values, s.Test.Values, "abs_cov"))
		}

		for _, g := range s.leftOut() {
			if full {
				t.add(s.Name, words("left out: "+clean(g.Name)), number{}, number{}, number{}, shareCell(g.Inside), number{},
					number{}, timesCell(*g.Rise))
			}
		}

		for _, v := range s.Rivals {
			list := []score.OutcomeTrust{v}
			cells := spans(list)
			cells[len(cells)-1] = words("reference") // it claims no interval
			add(v.Outcome, list, cells, number{})
		}
	}

	if len(units) < 2 {
		t = t.without("unit")
	}

	if !full {
		t = t.without("E|cov|")
	}

	return t
}

// risesWords states what rises of E|cov| meant in other campaigns, and in these intervals where it scales them.
func (e Experiment) risesWords() string {
	record, ratios := scale.BuiltInRises(), []float64(nil)
	for _, s := range e.Splits {
		if !s.calibrated() {
			continue
		}

		record = s.Honest.Calibration.Scale.Prior.RisesRecord()
		for _, r := range s.Honest.Calibration.Rivals {
			if r.Method == "plain" {
				ratios = append(ratios, 1/r.Width.Ratio)
			}
		}
	}

	if ratios == nil {
		return record.Words()
	}

	return record.Words() + fmt.Sprintf(" Here it scales the intervals: their score on left-out groups is × %.2f to %.2f "+
		"of that without (lower is better).", slices.Min(ratios), slices.Max(ratios))
}

// leftOut are the left-out groups with a rise of E|cov|.
func (s Split) leftOut() (list []interval.GroupResult) {
	if s.calibrated() {
		list = slices.DeleteFunc(slices.Clone(s.Honest.Calibration.Groups),
			func(g interval.GroupResult) bool { return g.Rise == nil })
	}

	return list
}

// rise is a metric of what a split holds out over that of its training.
func rise(train, test score.Values, key string) number {
	return timesCell(test.Get(key).Mean / train.Get(key).Mean)
}

func timesCell(v float64) number {
	ratio := score.Mean([]float64{v})
	if !ratio.Defined() {
		return number{text: undefinedText}
	}

	return number{text: "× " + twoDigits(ratio, 1).plain()}
}

// spans are the cells of outcomes of one unit: the error of one, or the range of several errors, half widths, shares
// inside, R², and the worst grade, with its outcomes where they have others too.
func spans(list []score.OutcomeTrust) []number {
	amount := func(of func(score.OutcomeTrust) float64) number {
		low, high := extent(list, of)
		text := func(v float64) string { return unitOf(list[0]).cell(v, math.NaN()).plain() }

		return number{text: strings.Replace(rangeOf(text(low), text(high), ""), " to ", "–", 1)}
	}

	rms := amount(func(t score.OutcomeTrust) float64 { return t.RMSE })
	if len(list) == 1 {
		rms = errorOf(list[0])
	}

	grades := score.Grades(list)
	worst := score.Worst(grades...)
	grade := string(worst)
	better := func(t score.OutcomeTrust) bool { return t.Grade() != worst }

	if of := slices.DeleteFunc(slices.Clone(list), better); len(of) < min(len(list), 3) {
		grade += ": " + outcomes(of)
	}

	return []number{
		rms, amount(func(t score.OutcomeTrust) float64 { return t.Half }),
		{text: shares(list)},
		{text: fits(list, true, undefinedText)},
		words(grade),
	}
}

// errorOf is the error of the mean with its standard error.
func errorOf(t score.OutcomeTrust) number {
	if t.RMSE == 0 {
		return number{text: "below noise"}
	}
	return unitOf(t).cell(t.RMSE, t.RMSESE)
}

// levels are those of the intervals of some predictions, in words.
func (e Experiment) levels(of func(Split) []score.OutcomeTrust) string {
	var levels []float64
	for _, s := range e.Splits {
		levels = append(levels, lists.Each(of(s), func(t score.OutcomeTrust) float64 { return t.Level })...)
	}

	slices.Sort(levels)

	return strings.Join(lists.Each(slices.Compact(levels), levelText), ", ")
}

// predicted is the trust of all predictions, the recommended ones first.
func (s Split) predicted() []score.OutcomeTrust { return slices.Concat(s.recommended(), s.Network) }

// claims adds a row for each outcome of a prediction.
func (t *table) claims(s Split, prediction string, list []score.OutcomeTrust) {
	nan := math.NaN()
	for _, c := range list {
		q := unitOf(c)

		inside := inPercent(c.Inside)
		if se := inPercent(c.InsideSE); se != undefinedText && inside != undefinedText {
			inside += " ± " + se
		}

		t.add(s.Name, words(prediction), words(c.Outcome), words(q.difference()), errorOf(c), q.cell(c.ClaimedSigma, nan),
			q.cell(c.ClaimedEpistemic, nan), shareCell(c.At[0]), number{text: rangeOf(inside, inside, percentSign)},
			q.cell(c.Half, nan))
	}
}

// fit is the paper's pair of tables, R² and E|cov|, and how many held-out values are inside the network's own
// intervals.
func (e Experiment) fit(list []quantity) table {
	t := e.metrics("The network alone: fit of its mean, and covariance of its two answers", list)
	level := e.levels(func(s Split) []score.OutcomeTrust { return s.Network })
	if level == "" {
		return t
	}

	t.numbers(level, "inside")

	for i, s := range e.Splits {
		inside := number{text: undefinedText}
		if len(s.Network) > 0 {
			inside.text = shares(s.Network)
		}

		t.Rows[i].Cells = append(t.Rows[i].Cells, inside)
	}

	return t
}

// parts is the table of the parts of E|cov| and the measured error.
func (e Experiment) parts() table {
	of := slices.DeleteFunc(slices.Clone(partsOfCov), func(q quantity) bool { return !e.has(q) })
	return e.metrics("Parts of E|cov|, and the measured error", of)
}

// consistent is the table of the identities; empty where κ was not computed.
func (e Experiment) consistent() table {
	const title = "Whether the two answers are one joint law"
	if !e.has(identities[0]) {
		return e.metrics(title, nil)
	}

	return e.metrics(title, identities)
}

// metrics is a table of some quantities, a row for each split.
func (e Experiment) metrics(title string, list []quantity) table {
	t := table{Title: title, Corner: "split"}
	t.addQuantities(list)

	for _, s := range e.Splits {
		t.add(s.Name, cellsOf(list, s.Train.Values, s.Test.Values)...)
	}

	return t
}

// has reports whether any split computed the quantity.
func (e Experiment) has(q quantity) bool {
	return slices.ContainsFunc(e.Splits, func(s Split) bool {
		return q.train && !s.Train.Get(q.key).Absent() || q.test && !s.Test.Get(q.key).Absent()
	})
}

// sets is the table of what each split holds out.
func (e Experiment) sets() table {
	t := table{Title: "Held-out sets", Corner: "split"}
	t.words("test part", "is")
	t.numbers("", "seeds")
	t.numbers("train", "triplets", "conditions", "runs")
	t.numbers("test", "triplets", "conditions", "runs")

	for _, s := range e.Splits {
		cells := []number{words(s.HeldOut), words(s.Reach), count(s.Seeds)}
		for _, m := range []SetMetrics{s.Train, s.Test} {
			cells = append(cells, count(m.Rows), count(m.Conditions), count(m.Runs))
		}

		t.add(s.Name, cells...)
	}

	if !slices.ContainsFunc(e.Splits, func(s Split) bool { return s.Reach != "" }) {
		t = t.without("is")
	}

	return t
}

// intervals is the table of calibrated intervals; without rows where there are none.
func (e Experiment) intervals() table {
	t := table{Title: "Calibration of the intervals", Corner: "split"}
	t.numbers("", "R² test")
	t.numbers("", "before")
	t.numbers("values inside", "68 %", "90 %", "95 %", "98 %")
	t.numbers("Σe/Σv̂", "before", "after", "SE")
	t.numbers("interval", "level", "width/spread", "score", "without a model", "CRPS")
	t.words("left-out groups inside")
	t.words("calibrated model", "learned from")

	two := func(v float64) number {
		if math.IsNaN(v) {
			return number{text: undefinedText}
		}
		return number{text: strings.ReplaceAll(strconv.FormatFloat(v, 'g', 2, 64), "e+0", "e")}
	}

	for _, s := range e.Splits {
		if !s.calibrated() {
			continue
		}

		c, r := s.Honest.Calibration, s.Honest.Record
		t.add(s.Name, number{text: numbers.Fixed(r.R2, 3)},
			shareCell(r.Before.Coverage), shareCell(r.At[0]), shareCell(r.At[1]), shareCell(r.At[2]), shareCell(r.At[3]),
			two(r.RatioBefore), two(r.RatioAfter), two(r.RatioSE),
			shareCell(c.Level), two(r.WidthOverSpread), two(r.After.Score), two(r.ModelFree.Score), two(r.CRPS),
			words(fmt.Sprintf("%d of %d", c.LeftOutInside(), c.K)),
			words(c.Base), words(fmt.Sprintf("%d groups of %s", c.K, c.Condition)))
	}

	return t
}

// comparisons returns a table for each split in which methods were compared.
func (e Experiment) comparisons() []table {
	return slices.DeleteFunc(lists.Each(e.Splits, Split.methods), table.empty)
}

// methods is the table of a split's methods, best first, then those that have no CRPS.
func (s Split) methods() table {
	t := table{Title: "Methods compared on what " + clean(s.Name) + " holds out", Corner: "method"}
	if s.Reach != "" {
		t.Title += ": " + clean(s.Reach)
	}

	t.words("place")
	t.numbers("", "CRPS (sd)", "above the best", "SE", "RMSE (sd)", "NLL", "in 95 %", "Σe/Σv̂")

	place := func(m Compared) int {
		i := slices.IndexFunc(s.Ranking, func(r Ranked) bool { return r.Method == m.Method })
		if i < 0 {
			return len(s.Ranking)
		}

		return i
	}

	byPlace := func(a, b Compared) int { return place(a) - place(b) }
	for _, m := range slices.SortedStableFunc(slices.Values(s.Methods), byPlace) {
		cells := slices.Repeat([]number{{text: undefinedText}}, 4)
		if i := place(m); i < len(s.Ranking) {
			r := s.Ranking[i]
			cells = []number{words(r.Is), single(r.CRPS), single(r.Above), single(r.SE)}
		}

		cells = append(cells, single(math.Sqrt(m.Get("e").Mean)))
		for _, key := range []string{"nll", "coverage95", "sum_e_ratio"} {
			cells = append(cells, round(m.Get(key), 1))
		}

		t.add(m.label(), cells...)
	}

	return t
}

// single is a number without a spread.
func single(v float64) number { return round(score.Mean([]float64{v}), 1) }
