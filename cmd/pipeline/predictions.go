package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"doubletake/pipeline/predict"
	"doubletake/train/score"
)

// answers are the predictions at some conditions, to be printed.
type answers struct {
	*predict.Models
	x           []float64
	network     *predict.Predictions
	recommended *predict.Recommended // nil where the split has no calibrated model
	options     predictOptions
	events      []predict.EventProbability
}

// at is the i-th condition.
func (a answers) at(i int) []float64 {
	d := len(a.Card.Inputs)
	return a.x[i*d : (i+1)*d]
}

// chebyshev is the half width of the network's interval of the mean; NaN where
// C ≤ 0, and outside the training range unless that is asked for.
func (a answers) chebyshev(i, k int) float64 {
	if !a.options.extrapolate && a.Outside(a.at(i)) != nil {
		return math.NaN()
	}
	h, _ := score.Chebyshev(a.network.Cov[k], a.options.alpha)
	return h
}

// table prints each condition with the mean and interval to be used and, beside every
// line, how such intervals did on held-out conditions. An interval without that record
// is not printed.
func (a answers) table(w io.Writer) error {
	c := a.Card
	if c.Experiment != "" {
		held := ""
		if c.HeldOut != "" {
			held = "; held out: " + c.HeldOut
		}
		if len(c.Record) > 0 {
			held += " (its record is that of the splits " + strings.Join(c.Record, ", ") + ")"
		}
		fmt.Fprintf(w, "%s, %s data, split %s%s; %s\n", c.Experiment, c.Data, c.Split, held, seedsText(a.network.Seeds))
	}
	for _, l := range a.calibrationText() {
		fmt.Fprintln(w, l)
	}
	if h := a.Honest; a.options.details && h != nil && h.Calibration != nil {
		if err := a.details(w, h.Calibration); err != nil {
			return err
		}
	}
	for i := range a.network.N {
		fmt.Fprintf(w, "\nat %s\n", conditionText(a.Models, a.at(i)))
		if a.recommended != nil {
			if err := a.recommendedRows(w, i); err != nil {
				return err
			}
			if a.options.network {
				fmt.Fprintln(w, "\nthe network alone")
			}
		}
		if a.recommended == nil || a.options.network {
			if err := a.networkRows(w, i); err != nil {
				return err
			}
		}
		if err := a.eventRows(w, i); err != nil {
			return err
		}
		for _, s := range a.Outside(a.at(i)) {
			fmt.Fprintln(w, "extrapolation: "+s)
		}
	}
	text := "\nThe interval is that of one new measurement. Record: the error of the mean (rms) and the share of values " +
		"inside their 95 % intervals, on conditions that were held out.\n"
	if a.recommended != nil && a.options.details {
		text += "√v̂: the model's own claim of the error of its mean; √C_x: what the left-out groups add; σ: noise of one " +
			"measurement.\n"
	}
	if a.recommended == nil || a.options.network {
		text += "√C: the network's claim of the error of its mean.\n"
	}
	if len(a.events) > 0 {
		text += fmt.Sprintf("Event (experimental): probability ± √V, its deviation by the head. If the head is right, "+
			"the range contains the true probability with a confidence of %s %% at least.\n", short(100*(1-a.options.alpha)))
	}
	_, err := io.WriteString(w, text)
	return err
}

// bound returns the range of an event's probability, NaN outside the training range
// unless --extrapolate is given.
func (a answers) bound(e predict.EventProbability, i int) (lo, hi float64) {
	if !a.options.extrapolate && a.Outside(a.at(i)) != nil {
		return math.NaN(), math.NaN()
	}
	return e.Bound(i, a.options.alpha)
}

func (a answers) eventRows(w io.Writer, i int) error {
	if len(a.events) == 0 {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "event\twhen\tprobability\trange (%s %%)\trecord\n", short(100*(1-a.options.alpha)))
	for _, e := range a.events {
		within, record := "none", "none"
		if lo, hi := a.bound(e, i); !math.IsNaN(lo) {
			within = fmt.Sprintf("%.3f … %.3f", lo, hi)
		}
		if e.Claimed.Mean != nil && e.Happened.Mean != nil {
			record = fmt.Sprintf("%s: claimed %.3f, happened %.3f", e.HeldOut, *e.Claimed.Mean, *e.Happened.Mean)
			if e.SE.Mean != nil {
				record += fmt.Sprintf(" ± %.3f", *e.SE.Mean)
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%.3f ± %.3f\t%s\t%s\n", e.Name, e.Text, e.P[i], math.Sqrt(e.V[i]), within, record)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}
	return nil
}

// calibrationText describes the calibrated model and its limits.
func (a answers) calibrationText() []string {
	h := a.Honest
	switch {
	case h == nil:
		return []string{"no calibrated model: the intervals are the network's own"}
	case h.Calibration == nil:
		out := []string{"no calibrated interval: " + h.Absent}
		for _, g := range h.LeftOut {
			se := ""
			if g.ESE != nil {
				se = " ± " + short(*g.ESE)
			}
			out = append(out, fmt.Sprintf("left out %s %s: squared error %s%s of the outcomes' variance", h.Condition, g.Name,
				short(g.E), se))
		}
		return out
	}
	k := h.Calibration
	var groups []string
	for _, g := range k.Groups {
		groups = append(groups, g.Name)
	}
	out := []string{fmt.Sprintf("calibrated: %s, on %d left-out groups of %s: %s", k.Base, k.K, k.Condition,
		strings.Join(groups, ", "))}
	if r := h.Record; r != nil && r.WidthOverSpread != nil && *r.WidthOverSpread >= score.WideSpread {
		out = append(out, fmt.Sprintf(
			"note: the intervals there are %.2g times as wide as the training outcomes' own spread", *r.WidthOverSpread))
	}
	for _, n := range k.Notes() {
		out = append(out, "note: "+n)
	}
	return out
}

// details writes what the calibration was learned from, and what it promises.
func (a answers) details(w io.Writer, c *predict.Calibration) error {
	fmt.Fprintf(w, "\nthe interval is ± %s deviations: Student's t with %d degrees of freedom, one for each group\n",
		short(a.recommended.T), c.K)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "left out\tdistance\tsquared error ± SE\tclaimed\tclaimed and learned\tshare")
	two := func(v float64) string { return strconv.FormatFloat(v, 'g', 2, 64) }
	for _, g := range c.Groups {
		e := two(g.E)
		if g.ESE != nil {
			e += " ± " + two(*g.ESE)
		}
		fitted := g.Fitted // with v̂ where C was learned on top of it
		if !c.Covariance.Variant.OnTop() {
			fitted += g.Claim
		}
		fmt.Fprintf(tw, "%s %s\t%s\t%s\t%s\t%s\t%.0f %%\n", c.Condition, g.Name, two(g.Distance), e, two(g.Claim),
			two(fitted), 100*g.Share)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}
	noise := "the pairs show no noise"
	if c.NoiseRatio > 0 {
		noise = fmt.Sprintf("the stated noise is %s times that of the pairs", two(c.NoiseRatio))
	}
	promise := fmt.Sprintf("covers a new group with a probability of about %d/%d, only if the group is like these",
		c.K, c.K+1)
	if c.Conformal.Guarantee == 0 {
		promise = fmt.Sprintf("promises nothing, because the hyperparameters saw these groups (%d/%d if they had not)",
			c.K, c.K+1)
	}
	_, err := fmt.Fprintf(w, "squares are in units of the training outcomes' variance; errors scatter about what was "+
		"learned by a factor of %s between groups; %s\nthe largest left-out deviation %s\nintervals between training "+
		"groups are often wider than needed\n", two(c.Scatter), noise, promise)
	return err
}

// record is how the calibrated intervals of an outcome did on what was held out; "" where
// that is not known.
func (a answers) record(outcome int) string {
	h := a.Honest
	if h == nil || h.Record == nil || h.Record.CoverageAfter == nil {
		return ""
	}
	for _, o := range h.Record.Outcomes {
		if slices.Contains(o.Outcomes, a.Card.Outcomes[outcome].Name) && o.RMSE != nil {
			return recordText(h.HeldOut, o.Unit, *o.RMSE, *h.Record.CoverageAfter)
		}
	}
	return ""
}

// networkRecord is the same of the network.
func (a answers) networkRecord(outcome int) string {
	for _, r := range a.Record {
		if slices.Contains(r.Outcomes, a.Card.Outcomes[outcome].Name) && r.RMSE != nil && r.Coverage95 != nil {
			return recordText(r.HeldOut, r.Unit, *r.RMSE, *r.Coverage95)
		}
	}
	return ""
}

func recordText(held, unit string, rmse, coverage float64) string {
	if strings.HasPrefix(unit, "dB") {
		unit = "dB"
	}
	size := "below the noise"
	if rmse > 0 {
		size = strings.TrimSpace(digits(unit, rmse)(rmse) + " " + unit)
	}
	return fmt.Sprintf("%s: error %s, %.0f %% inside", held, size, 100*coverage)
}

// digits writes numbers of a unit: levels with one decimal, others to the second digit of
// the deviation.
func digits(unit string, deviation float64) func(float64) string {
	decimals := 1
	if !strings.HasPrefix(unit, "dB") {
		if !(deviation > 0) || math.IsInf(deviation, 0) {
			return short
		}
		decimals = 1 - int(math.Floor(math.Log10(deviation)))
	}
	return func(v float64) string {
		if decimals < 0 {
			scale := math.Pow10(-decimals)
			return strconv.FormatFloat(math.Round(v/scale)*scale, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'f', min(decimals, 12), 64)
	}
}

// withhold takes away the calibrated intervals that have no record, unless they are
// asked for.
func (a answers) withhold() {
	r := a.recommended
	if r == nil || a.options.extrapolate {
		return
	}
	for i := range a.network.N {
		unchecked := false
		for j := range r.Out {
			if k := i*r.Out + j; a.record(j) == "" && !math.IsNaN(r.Half[k]) {
				r.Half[k], unchecked = math.NaN(), true
			}
		}
		if unchecked {
			r.Refused[i] = append(r.Refused[i], "it was checked on no held-out value")
		}
	}
}

func (a answers) recommendedRows(w io.Writer, i int) error {
	r, tw := a.recommended, tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if r.Position[i] != "" {
		fmt.Fprintln(w, r.Position[i])
	}
	level := r.Level
	if level == 0 {
		level = 1 - a.options.alpha
	}
	fmt.Fprintf(tw, "outcome\tunit\tmean\tinterval (%s %%)\t%srecord\n", short(100*level), a.partsHead())
	for j, out := range a.Card.Outcomes {
		k := i*r.Out + j
		cells := append(row(out, r.Mu[k], r.Half[k], r.Total[k]), a.parts(j, k)...)
		fmt.Fprintln(tw, strings.Join(append(cells, cmp.Or(a.record(j), "none")), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}
	for _, s := range r.Refused[i] {
		if a.Honest.Calibration != nil {
			s += " (--extrapolate gives the interval)"
		}
		fmt.Fprintln(w, "no interval: "+s)
	}
	return nil
}

// partsHead returns the headings of the columns of parts.
func (a answers) partsHead() string {
	if !a.options.details {
		return ""
	}
	return "√v̂\t√C_x\tσ\tlargest left-out\t"
}

// parts returns, with --details, the parts of an outcome's interval: the model's own
// claim, the learned covariance and the noise; then the largest left-out deviation.
func (a answers) parts(j, k int) []string {
	if !a.options.details {
		return nil
	}
	r, out := a.recommended, a.Card.Outcomes[j]
	size := func(v float64) string { return "± " + digits(out.Unit, v)(v) }
	c := a.Honest.Calibration
	if c == nil {
		return []string{size(math.Sqrt(r.Claim[k])), "none", size(math.Sqrt(r.Total[k] - r.Claim[k])), "none"}
	}
	return []string{
		size(math.Sqrt(r.Claim[k])), size(math.Sqrt(r.Added[k])), size(math.Sqrt(r.Total[k] - r.Epistemic[k])),
		size(c.Conformal.Half[j]),
	}
}

// row is an outcome's name, unit, mean and interval.
func row(out predict.Outcome, mean, half, variance float64) []string {
	deviation, interval := half, "none"
	if math.IsNaN(half) {
		deviation = math.Sqrt(variance)
	}
	number := digits(out.Unit, deviation)
	if !math.IsNaN(half) {
		interval = number(mean-half) + " … " + number(mean+half)
	}
	return []string{out.Name, out.Unit, number(mean), interval}
}

func (a answers) networkRows(w io.Writer, i int) error {
	p, tw := a.network, tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "outcome\tunit\tmean\tinterval (%s %%)\t√C\trecord\n", short(100*(1-a.options.alpha)))
	outside, unchecked := a.Outside(a.at(i)) != nil, false
	for j, out := range a.Card.Outcomes {
		k := i*p.Out + j
		half, sd, record := score.HalfWidth(p.Total[k], a.options.alpha), "none: C ≤ 0", a.networkRecord(j)
		if p.Cov[k] > 0 {
			sd = digits(out.Unit, math.Sqrt(p.Cov[k]))(math.Sqrt(p.Cov[k]))
		}
		if record == "" {
			record = "none"
			unchecked = unchecked || !outside
		}
		if !a.options.extrapolate && (outside || record == "none") {
			half = math.NaN()
		}
		line := row(out, p.Mu[k], half, p.Total[k])
		if lo, hi, ok := p.Interval(k, 1-a.options.alpha); ok && !math.IsNaN(half) { // of a recalibrated law
			number := digits(out.Unit, (hi-lo)/2)
			line[3] = number(lo) + " … " + number(hi)
		}
		fmt.Fprintln(tw, strings.Join(append(line, sd, record), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}
	if unchecked && !a.options.extrapolate {
		fmt.Fprintln(w, "no interval: it was checked on no held-out value (--extrapolate gives the interval)")
	}
	return nil
}

func seedsText(n int) string {
	if n == 1 {
		return "one model"
	}
	return fmt.Sprintf("%d models together", n)
}

func conditionText(m *predict.Models, x []float64) string {
	var s []string
	for i, in := range m.Card.Inputs {
		t := in.Name + " = " + strconv.FormatFloat(x[i], 'g', -1, 64)
		if in.Unit != "" {
			t += " " + in.Unit
		}
		s = append(s, t)
	}
	return strings.Join(s, ", ")
}

// short writes a number with four digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

type outcomeJSON struct {
	Name     string      `json:"name"`
	Unit     string      `json:"unit"`
	Honest   *honestJSON `json:"honest"` // null where the split has no calibrated model
	Mean     float64     `json:"mean"`
	Total    float64     `json:"total_variance"`
	Cov      float64     `json:"cov"`
	Raw      float64     `json:"cov_raw"`
	Delta    float64     `json:"delta"`
	ZigZag   float64     `json:"zigzag"`
	Spread   *float64    `json:"between_seeds_variance"`
	Interval *[]float64  `json:"interval"` // null where C ≤ 0: there is none; and outside the training range

	// of one measurement; with --calibrated quantile, beta or gp-beta
	Measurement *[]float64 `json:"measurement_interval,omitempty"`
}

// honestJSON is the recommended prediction of one outcome.
type honestJSON struct {
	Mean      float64    `json:"mean"`
	Interval  *[]float64 `json:"interval"` // of one new measurement; null where there is none
	Claim     float64    `json:"claim_variance"`
	Added     *float64   `json:"added_variance"` // C_x; null without a calibration
	Total     float64    `json:"total_variance"`
	Conformal *float64   `json:"largest_left_out"`
}

// positionJSON is where a condition lies among the measured groups.
type positionJSON struct {
	Words    string   `json:"words"`
	Distance *float64 `json:"distance"`
	Below    *float64 `json:"below"`
	Above    *float64 `json:"above"`
	Refused  []string `json:"no_interval"` // why there is none
}

type conditionJSON struct {
	At            map[string]float64 `json:"at"`
	Extrapolation []string           `json:"extrapolation"`
	Position      *positionJSON      `json:"position"`
	Outcomes      []outcomeJSON      `json:"outcomes"`
	Events        []eventJSON        `json:"events,omitempty"`
}

// eventJSON is the probability of an event.
type eventJSON struct {
	Event       string     `json:"event"`
	Expression  string     `json:"expression"`
	Probability float64    `json:"probability"`
	Variance    float64    `json:"variance"`
	Range       *[]float64 `json:"range"` // of the confidence 1 − alpha at least; null outside the training range
}

// defined returns nil for NaN, which JSON does not have.
func defined(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func ends(mean, half float64) *[]float64 {
	if math.IsNaN(half) {
		return nil
	}
	return &[]float64{mean - half, mean + half}
}

func (a answers) json() any {
	m, p := a.Models, a.network
	list := make([]conditionJSON, p.N)
	for i := range list {
		row := a.at(i)
		c := conditionJSON{At: map[string]float64{}, Extrapolation: append([]string{}, m.Outside(row)...)}
		for k, name := range m.InputNames() {
			c.At[name] = row[k]
		}
		c.Position = a.positionJSON(i)
		for j, out := range m.Card.Outcomes {
			k := i*p.Out + j
			c.Outcomes = append(c.Outcomes, outcomeJSON{
				Name: out.Name, Unit: out.Unit, Honest: a.honestJSON(k, j), Mean: p.Mu[k], Total: p.Total[k], Cov: p.Cov[k],
				Raw: p.Raw[k], Delta: p.Delta[k], ZigZag: p.ZigZag[k], Spread: defined(p.Spread[k]),
				Interval: ends(p.Mu[k], a.chebyshev(i, k)), Measurement: a.measurement(k),
			})
		}
		for _, e := range a.events {
			v := eventJSON{Event: e.Name, Expression: e.Text, Probability: e.P[i], Variance: e.V[i]}
			if lo, hi := a.bound(e, i); !math.IsNaN(lo) {
				v.Range = &[]float64{lo, hi}
			}
			c.Events = append(c.Events, v)
		}
		list[i] = c
	}
	type calibration struct {
		Base      string                 `json:"base"`
		Condition string                 `json:"condition"`
		Groups    []string               `json:"groups"`
		Level     float64                `json:"level"`
		T         float64                `json:"t"`
		Guarantee float64                `json:"largest_left_out_guarantee"`
		LeftOut   []predict.LeftOutGroup `json:"left_out"`
		Scatter   float64                `json:"scatter_factor"`
		Noise     float64                `json:"noise_ratio"`
		Notes     []string               `json:"notes"`
		Record    *predict.HonestRecord  `json:"record"`
	}
	var cal *calibration
	absent := ""
	if h := m.Honest; h != nil {
		absent = h.Absent
		if c := h.Calibration; c != nil {
			cal = &calibration{
				Base: c.Base, Condition: c.Condition, Level: a.recommended.Level, T: a.recommended.T,
				Guarantee: c.Conformal.Guarantee, LeftOut: c.Groups, Scatter: c.Scatter, Noise: c.NoiseRatio,
				Notes: append([]string{}, c.Notes()...), Record: h.Record,
			}
			for _, g := range c.Groups {
				cal.Groups = append(cal.Groups, g.Name)
			}
		}
	}
	return struct {
		Models     []string        `json:"models"`
		Experiment string          `json:"experiment"`
		Data       string          `json:"data"`
		Split      string          `json:"split"`
		HeldOut    string          `json:"held_out"`
		Alpha      float64         `json:"alpha"`
		Calibrated string          `json:"calibrated"`
		Honest     *calibration    `json:"honest"`
		Absent     string          `json:"honest_absent"`
		Notes      []string        `json:"notes"`
		Conditions []conditionJSON `json:"conditions"`

		Network []predict.NetworkRecord `json:"network_record"`
		Events  []predict.EventRecord   `json:"event_record,omitempty"`
	}{
		m.Paths, m.Card.Experiment, m.Card.Data, m.Card.Split, m.Card.HeldOut, a.options.alpha, a.options.calibrated, cal,
		absent, append([]string{}, m.Warnings...), list,
		append([]predict.NetworkRecord{}, m.Record...), a.eventRecords(),
	}
}

func (a answers) eventRecords() (out []predict.EventRecord) {
	for _, e := range a.events {
		out = append(out, e.EventRecord)
	}
	return out
}

func (a answers) honestJSON(k, j int) *honestJSON {
	r := a.recommended
	if r == nil {
		return nil
	}
	out := &honestJSON{
		Mean: r.Mu[k], Interval: ends(r.Mu[k], r.Half[k]), Claim: r.Claim[k], Added: defined(r.Added[k]), Total: r.Total[k],
	}
	if c := a.Honest.Calibration; c != nil {
		out.Conformal = &c.Conformal.Half[j]
	}
	return out
}

func (a answers) positionJSON(i int) *positionJSON {
	r := a.recommended
	if r == nil {
		return nil
	}
	p := &positionJSON{Words: r.Position[i], Refused: append([]string{}, r.Refused[i]...)}
	if r.Where != nil {
		w := r.Where[i]
		p.Distance, p.Below, p.Above = defined(w.Distance), defined(w.Below), defined(w.Above)
	}
	return p
}

// measurement is the interval of one measurement by the recalibrated laws; nil
// without.
func (a answers) measurement(k int) *[]float64 {
	lo, hi, ok := a.network.Interval(k, 1-a.options.alpha)
	if !ok {
		return nil
	}
	return &[]float64{lo, hi}
}

// csv writes one row a condition. The columns of the calibrated model are empty
// where there is none.
func (a answers) csv(w io.Writer) error {
	p, r := a.network, a.recommended
	head := a.InputNames()
	for _, out := range a.Card.Outcomes {
		for _, s := range []string{
			"honest_mu", "honest_low", "honest_high", "honest_claim", "honest_added", "honest_var", "largest_left_out",
			"mu", "var", "cov", "cov_raw", "delta", "zigzag", "between_seeds_var", "low", "high",
		} {
			head = append(head, out.Name+"_"+s)
		}
		if score.IsLaw(a.options.calibrated) {
			head = append(head, out.Name+"_measurement_low", out.Name+"_measurement_high")
		}
	}
	for _, e := range a.events {
		head = append(head, e.Name+"_probability", e.Name+"_probability_var", e.Name+"_low", e.Name+"_high")
	}
	rows := [][]string{append(head, "distance", "below", "above", "no_interval", "extrapolation")}
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for i := range p.N {
		var row []string
		add := func(list ...float64) {
			for _, v := range list {
				row = append(row, number(v))
			}
		}
		none := math.NaN()
		add(a.at(i)...)
		for j := range p.Out {
			k := i*p.Out + j
			largest := none
			if h := a.Honest; h != nil && h.Calibration != nil {
				largest = h.Calibration.Conformal.Half[j]
			}
			if r == nil {
				add(none, none, none, none, none, none, none)
			} else {
				add(r.Mu[k], r.Mu[k]-r.Half[k], r.Mu[k]+r.Half[k], r.Claim[k], r.Added[k], r.Total[k], largest)
			}
			h := a.chebyshev(i, k) // NaN, hence empty, where there is none
			add(p.Mu[k], p.Total[k], p.Cov[k], p.Raw[k], p.Delta[k], p.ZigZag[k], p.Spread[k], p.Mu[k]-h, p.Mu[k]+h)
			if one := a.measurement(k); one != nil {
				add(*one...)
			}
		}
		for _, e := range a.events {
			lo, hi := a.bound(e, i)
			add(e.P[i], e.V[i], lo, hi)
		}
		refused := ""
		if r != nil {
			refused = strings.Join(r.Refused[i], "; ")
		}
		if r != nil && r.Where != nil {
			add(r.Where[i].Distance, r.Where[i].Below, r.Where[i].Above)
		} else {
			add(none, none, none)
		}
		rows = append(rows, append(row, refused, strings.Join(a.Outside(a.at(i)), "; ")))
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}
	return nil
}
