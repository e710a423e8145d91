package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// quantity is a metric that a table shows.
type quantity struct {
	key         string // of score.Metrics
	train, test bool   // parts it is shown of
	se          string // key of its standard error on the test part, shown next to it; "" when there is none
	change      bool   // with the difference of the parts
	symbol      string // "": the metric's own
}

// name is the quantity's symbol.
func (q quantity) name() string {
	if q.symbol != "" {
		return q.symbol
	}
	return score.MetricOf(q.key).Symbol
}

// head is the heading of its column.
func (q quantity) head() string {
	if q.scale() == 100 {
		return q.name() + " ×10⁻²"
	}
	return q.name()
}

// scale is the factor of its cells.
func (q quantity) scale() float64 { return score.MetricOf(q.key).Factor }

// cells are its numbers, in the order of addQuantity's columns.
func (q quantity) cells(train, test score.Values) []number {
	var out []number
	if q.train {
		out = append(out, round(train.Get(q.key), q.scale()))
	}

	if q.test {
		out = append(out, round(test.Get(q.key), q.scale()))
	}

	if q.se != "" {
		out = append(out, twoDigits(test.Get(q.se), q.scale()))
	}

	if q.change {
		pct, _ := difference(train.Get(q.key), test.Get(q.key))
		out = append(out, percent(pct))
	}

	return out
}

// addQuantity adds the columns of a quantity.
func (t *table) addQuantity(q quantity) {
	if q.train {
		t.numbers(q.head(), "train")
	}

	if q.test {
		t.numbers(q.head(), "test")
	}

	if q.se != "" {
		t.numbers(q.head(), "SE")
	}

	if q.change {
		t.numbers(q.head(), "difference")
	}
}

// The numbers of the tables: the paper's two, those that E|cov| consists of with
// the measured error, the identities that one joint law of the two answers obeys
// (docs/method.md#diagnostics), and the scores by which methods are compared.
var (
	papers = []quantity{
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

	ofOutcomes = []quantity{
		{key: "r2", train: true, test: true},
		{key: "abs_cov", train: true, test: true},
		{key: "e", test: true},
	}

	comparedBy = []struct {
		group   string
		columns []quantity
	}{
		{"mean", []quantity{{key: "r2", test: true}, {key: "e", test: true}}},
		{"distribution of y", []quantity{
			{key: "nll", test: true},
			{key: "crps", test: true},
			{key: "coverage68", test: true},
			{key: "coverage95", test: true},
			{key: "width95", test: true},
		}},
		{"ENCE", []quantity{
			{key: "ence", test: true, symbol: "found"},
			{key: "ence_ref", test: true, symbol: "if calibrated"},
			{key: "ence_ref95", test: true},
		}},
		{"v̂ against e", []quantity{
			{key: "sum_e_ratio", test: true, symbol: "Σe/Σv̂", se: "sum_e_ratio_se"},
			{key: "square", test: true},
			{key: "qlike", test: true},
			{key: "floored", test: true},
		}},
	}
)

// tables are the tables of an experiment with splits, the most important first.
func (e Experiment) tables() []table {
	list := []table{e.claimed(), e.fit(), e.intervals(), e.parts(), e.consistent(), e.perOutcome(), e.sets()}
	return slices.DeleteFunc(append(list, e.comparisons()...), table.empty)
}

// claimed is the table of errors and claims on the test parts, in the outcomes' units;
// without rows where nothing was judged.
func (e Experiment) claimed() table {
	t := table{Title: "Error and claim on the held-out sets", Corner: "split"}
	units := e.units()
	t.words("prediction")

	several := slices.ContainsFunc(e.Splits, func(s Split) bool { return max(len(s.recommended()), len(s.Network)) > 1 })
	if several {
		t.words("outcome")
	}

	switch {
	case len(units) > 1:
		t.words("unit")
	case len(units) == 1 && units[0] != "":
		t.Title += ", in " + units[0]
	}

	t.numbers("error", "rms ± SE")
	t.numbers("claimed deviation", "σ", "epistemic")
	t.numbers("held-out values inside", "68 %", e.levels()+" ± SE")
	t.numbers("interval", "±")

	for _, s := range e.Splits {
		network := "network"
		if s.given() {
			network = AsStated
		}

		if s.calibrated() {
			if !s.given() {
				network = "network alone"
			}

			t.claims(s, "calibrated", s.Honest.Record.Outcomes, several, len(units) > 1)
		}

		if s.claims() {
			t.claims(s, network, s.Network, several, len(units) > 1)
		}
	}

	return t
}

// units are those of the errors of all splits.
func (e Experiment) units() []string {
	var out []string
	for _, s := range e.Splits {
		for _, u := range s.units() {
			if !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}

	return out
}

// units are those of the errors of judged outcomes.
func (s Split) units() []string {
	var out []string
	for _, c := range slices.Concat(s.recommended(), s.Network) {
		if u := unitOf(c).difference(); !slices.Contains(out, u) {
			out = append(out, u)
		}
	}

	return out
}

// summary is the one table that a terminal and the page show unasked: the paper's numbers of each split,
// and of each unit the errors, the shares of held-out values inside and the intervals.
func (e Experiment) summary() table {
	t := table{Title: "Fit, error and intervals on the held-out sets", Corner: "split"}
	units, calibrated, unit := e.units(), slices.ContainsFunc(e.Splits, Split.calibrated), ""

	switch {
	case len(units) > 1:
		t.words("unit")
	case len(units) == 1 && units[0] != "":
		unit = ", " + units[0]
	}

	for _, q := range papers {
		t.numbers(q.head(), "train", "test")
	}

	if calibrated {
		t.numbers("calibrated"+unit, "error", e.levels(), "±")
	}

	if len(units) > 0 {
		t.numbers("network", "95 %")
	}

	for _, s := range e.Splits {
		of := s.units()
		if len(of) == 0 {
			of = []string{""}
		}

		for i, u := range of {
			var cells []number
			if len(units) > 1 {
				cells = append(cells, words(u))
			}

			for _, q := range papers {
				train, test := round(s.Train.Get(q.key), q.scale()), round(s.Test.Get(q.key), q.scale())
				train.std = ""
				if i > 0 { // they are of all outcomes
					train, test = number{}, number{}
				}

				cells = append(cells, train, test)
			}

			if calibrated {
				var list []score.OutcomeTrust
				if s.calibrated() {
					list = s.Honest.Record.Outcomes
				}

				rms, inside, half := spans(list, u)
				cells = append(cells, rms, inside, half)
			}

			if len(units) > 0 {
				_, inside, _ := spans(s.Network, u)
				cells = append(cells, inside)
			}

			t.add(s.Name, cells...)
		}
	}

	return t
}

// spans are the range of the errors, of the shares inside and of the half widths of the
// outcomes of a unit.
func spans(list []score.OutcomeTrust, unit string) (rms, inside, half number) {
	list = slices.DeleteFunc(slices.Clone(list), func(t score.OutcomeTrust) bool {
		return unitOf(t).difference() != unit
	})
	if len(list) == 0 {
		none := number{text: undefinedText}
		return none, none, none
	}

	short := func(low, high, unit string) number {
		if low != high {
			high = low + "–" + high
		}

		return number{text: rangeOf(high, high, unit)}
	}

	amount := func(of func(score.OutcomeTrust) float64) number {
		low, high := extent(list, of)
		cell := func(v float64) string { return unitOf(list[0]).cell(v, math.NaN()).plain() }

		return short(cell(low), cell(high), "")
	}

	low, high := extent(list, func(t score.OutcomeTrust) float64 { return t.Inside })

	return amount(func(t score.OutcomeTrust) float64 { return t.RMSE }),
		short(inPercent(low), inPercent(high), percentSign),
		amount(func(t score.OutcomeTrust) float64 { return t.Half })
}

// levels are those of the intervals, in words.
func (e Experiment) levels() string {
	var levels []float64
	for _, s := range e.Splits {
		own := 0.95 // of networks alone
		if s.given() && len(s.Network) > 0 {
			own = s.Network[0].Level
		}

		levels = append(levels, own)
		if s.calibrated() {
			levels = append(levels, s.Honest.Calibration.Level)
		}
	}

	slices.Sort(levels)

	var text []string
	for _, l := range slices.Compact(levels) {
		text = append(text, levelText(l))
	}

	return strings.Join(text, ", ")
}

// claims adds a row for each outcome of a prediction, with its name and unit where they differ.
func (t *table) claims(s Split, prediction string, list []score.OutcomeTrust, several, units bool) {
	nan := math.NaN()
	for _, c := range list {
		q := unitOf(c)

		cells := []number{words(prediction)}
		if several {
			cells = append(cells, words(c.Outcome))
		}

		if units {
			cells = append(cells, words(q.difference()))
		}

		rms := q.cell(c.RMSE, c.RMSESE)
		if c.RMSE == 0 {
			rms = number{text: "below noise"}
		}

		inside := inPercent(c.Inside)
		if se := inPercent(c.InsideSE); se != undefinedText && inside != undefinedText {
			inside += " ± " + se
		}

		t.add(s.Name, append(cells, rms, q.cell(c.ClaimedSigma, nan), q.cell(c.ClaimedEpistemic, nan),
			number{text: share(c.At[0])}, number{text: rangeOf(inside, inside, percentSign)}, q.cell(c.Half, nan))...)
	}
}

// fit is the paper's pair of tables: R² and E|cov|, train, test, difference.
func (e Experiment) fit() table {
	return e.metrics("Fit of the mean, and covariance of the two answers", papers)
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
	for _, q := range list {
		t.addQuantity(q)
	}

	for _, s := range e.Splits {
		var cells []number
		for _, q := range list {
			cells = append(cells, q.cells(s.Train.Values, s.Test.Values)...)
		}

		t.add(s.Name, cells...)
	}

	return t
}

// has reports whether any split computed the quantity.
func (e Experiment) has(q quantity) bool {
	return slices.ContainsFunc(e.Splits, func(s Split) bool {
		return q.train && !s.Train.Get(q.key).Absent() || q.test && !s.Test.Get(q.key).Absent()
	})
}

// perOutcome is the table of R² and E|cov| of each outcome; without rows when
// there is one outcome only, because it would repeat the first table.
func (e Experiment) perOutcome() table {
	t := table{Title: "Per outcome", Corner: "split", Long: true}
	t.words("outcome")

	for _, q := range ofOutcomes {
		t.addQuantity(q)
	}

	for _, s := range e.Splits {
		if len(s.Test.Outcomes) < 2 {
			continue
		}

		for j, test := range s.Test.Outcomes {
			var train score.Values
			if j < len(s.Train.Outcomes) && s.Train.Outcomes[j].Name == test.Name {
				train = s.Train.Outcomes[j].Values
			}

			cells := []number{words(in(test.Name, test.Unit))}
			for _, q := range ofOutcomes {
				cells = append(cells, q.cells(train, test.Values)...)
			}

			t.add(s.Name, cells...)
		}
	}

	return t
}

// sets is the table of what each split holds out.
func (e Experiment) sets() table {
	t := table{Title: "Held-out sets", Corner: "split"}
	t.words("test part")

	known := slices.ContainsFunc(e.Splits, func(s Split) bool { return s.Reach != "" })
	if known {
		t.words("is")
	}

	t.numbers("", "seeds")
	t.numbers("train", "triplets", "conditions", "runs")
	t.numbers("test", "triplets", "conditions", "runs")

	for _, s := range e.Splits {
		cells := []number{words(s.HeldOut)}
		if known {
			cells = append(cells, words(s.Reach))
		}

		cells = append(cells, count(s.Seeds))
		for _, m := range []SetMetrics{s.Train, s.Test} {
			cells = append(cells, count(m.Rows), count(m.Conditions), count(m.Runs))
		}

		t.add(s.Name, cells...)
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
			number{text: share(r.Before.Coverage)}, number{text: share(r.At[0])}, number{text: share(r.At[1])},
			number{text: share(r.At[2])}, number{text: share(r.At[3])},
			two(r.RatioBefore), two(r.RatioAfter), two(r.RatioSE),
			number{text: share(c.Level)}, two(r.WidthOverSpread), two(r.After.Score), two(r.ModelFree.Score), two(r.CRPS),
			words(fmt.Sprintf("%d of %d", c.LeftOutInside(), c.K)),
			words(c.Base), words(fmt.Sprintf("%d groups of %s", c.K, c.Condition)))
	}

	return t
}

// comparisons returns a table per split with events, and per split in which methods
// were compared.
func (e Experiment) comparisons() []table {
	var out []table
	for _, s := range e.Splits {
		if len(s.Events) > 0 {
			out = append(out, s.events())
		}

		if t := s.ranking(); len(t.Rows) > 1 {
			out = append(out, t)
		}

		if len(s.Methods) > 0 {
			out = append(out, s.methods())
		}
	}

	return out
}

// ranking is the table of a split's methods, best first.
func (s Split) ranking() table {
	t := table{Title: "Methods by CRPS on what " + clean(s.Name) + " holds out", Corner: "method"}
	t.words("place")
	t.numbers("", "CRPS (sd)", "above the best", "SE", "RMSE (sd)", "NLL", "in 95 %", "Σe/Σv̂")

	keys := []string{"nll", "coverage95", "sum_e_ratio"}
	if s.crossed() {
		keys = append(keys, RatioScaled, CoverageScaled)
		t.numbers("", "scaled", "in 95 % scaled")
	}

	t.numbers("", "seconds")

	for _, r := range s.Ranking {
		at := slices.IndexFunc(s.Methods, func(m Compared) bool { return m.Method == r.Method })
		if at < 0 {
			continue
		}

		m := s.Methods[at]
		cells := []number{
			words(r.Is), single(r.CRPS), single(r.Above), single(r.SE),
			single(math.Sqrt(m.Get("e").Mean)),
		}

		for _, key := range keys {
			cells = append(cells, round(m.Get(key), 1))
		}

		t.add(m.label(), append(cells, round(m.FitS, 1))...)
	}

	return t
}

// single is a number without a spread.
func single(v float64) number { return round(score.Mean([]float64{v}), 1) }

// methods is the table of all scores of a split's methods.
func (s Split) methods() table {
	t := table{Title: "Methods compared on what " + clean(s.Name) + " holds out", Corner: "method"}
	if s.Reach != "" {
		t.Title += ": " + clean(s.Reach)
	}

	for _, g := range comparedBy {
		for _, q := range g.columns {
			t.numbers(g.group, q.head())
			if q.se != "" {
				t.numbers(g.group, "SE")
			}
		}
	}

	timed := slices.ContainsFunc(s.Methods, func(m Compared) bool { return m.FitS.Defined() })
	if timed {
		t.numbers("seconds", "to train", "to predict")
	}

	for _, m := range s.Methods {
		var cells []number
		for _, g := range comparedBy {
			for _, q := range g.columns {
				cells = append(cells, q.cells(nil, m.Values)...)
			}
		}

		if timed {
			cells = append(cells, round(m.FitS, 1), round(m.AskS, 1))
		}

		t.add(m.label(), cells...)
	}

	return t
}

// eventKeys are the values of an event that its table shows.
var eventKeys = []string{
	"claimed", "happened", "happened_se", "e", "e_se", "v", "sum_e_ratio", "sum_e_ratio_se",
}

// events is the table of a split's events.
func (s Split) events() table {
	t := table{Title: "Events on what " + clean(s.Name) + " holds out (experimental)", Corner: "event"}
	t.words("when")
	t.numbers("", "claimed", "happened", "SE", "e", "SE", "V", "Σe/ΣV", "SE")

	for _, e := range s.Events {
		cells := []number{words(e.Text)}
		for _, key := range eventKeys {
			if strings.HasSuffix(key, "_se") {
				cells = append(cells, twoDigits(e.Get(key), 1))
			} else {
				cells = append(cells, round(e.Get(key), 1))
			}
		}

		t.add(e.Name, cells...)
	}

	return t
}

// table lists where the identity is violated, and how strongly.
func (d identity) table() table {
	t := table{Title: d.name() + ", where", Corner: "split"}
	t.words("part", "seeds")

	if d.list[0].Limit == 0 {
		t.numbers("", d.list[0].Symbol())
	} else {
		t.numbers("", "times the limit")
	}

	for _, v := range d.list {
		of := "mean"
		if v.Of > 0 || v.Seeds > 0 {
			of = fmt.Sprintf("%d of %d", v.Seeds, max(v.Of, v.Seeds))
		}

		size := v.times()
		if v.Limit == 0 {
			size = v.Value
		}

		t.add(v.split, words(v.Part), words(of), number{mean: times(size)})
	}

	return t
}
