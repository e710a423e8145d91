package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

// recommended is the trust of the predictions to be used: the calibrated ones where
// there are any, else the network's.
func (s Split) recommended() []score.UnitTrust {
	if s.calibrated() {
		return s.Honest.Record.Outcomes
	}
	return s.Network
}

// Verdict is the grade of the split's recommended predictions on its held-out set.
func (s Split) Verdict() score.Grade {
	var grades []score.Grade
	for _, t := range s.recommended() {
		grades = append(grades, t.Grade)
	}

	if s.wide() {
		grades = append(grades, score.Care)
	}

	if len(grades) == 0 {
		return score.Care
	}

	return score.Worst(grades...)
}

// wide reports whether the calibrated interval is nearly as wide as the training
// outcomes' own spread.
func (s Split) wide() bool {
	return s.calibrated() && s.Honest.Record.WidthOverSpread >= score.WideSpread
}

// misses reports whether calibrated intervals hold fewer measured values than they
// should, by more than two standard errors.
func (s Split) misses() bool {
	return s.calibrated() && slices.ContainsFunc(s.Honest.Record.Outcomes, func(t score.UnitTrust) bool {
		return t.Inside+2*t.InsideSE < t.Level-score.GoodMiss
	})
}

// grade is the verdict in words.
func (s Split) grade() string {
	grade := s.Verdict()
	text := GradeWords[grade]
	switch {
	case grade == score.Care && s.misses():
		return text + ": the intervals do not hold"
	case !s.wide():
		return text
	case s.Honest.Record.WidthOverSpread >= 1:
		return text + ": the interval is no narrower than the data's own spread"
	}

	return text + ": the interval is nearly as wide as the data's own spread"
}

// GradeWords are the verdicts in words.
var GradeWords = map[score.Grade]string{
	score.Good: "the intervals hold",
	score.Care: "use with care",
	score.No:   "do not use the intervals there",
}

// Sentence states the verdict of a split with its numbers: the error, the claim, and
// the share of held-out values inside their intervals.
func (s Split) Sentence() string {
	head, rest := s.sentence()
	if head == "" {
		return ""
	}

	return head + ". " + rest
}

// sentence is Sentence in two: the verdict, and its numbers.
func (s Split) sentence() (head, rest string) {
	if len(s.Network) == 0 && len(s.recommended()) == 0 {
		return "", ""
	}

	held := clean(s.HeldOut)
	if held == "" {
		held = clean(s.Name)
	}

	var parts []string

	calibrated := s.calibrated()
	if calibrated {
		for _, t := range s.Honest.Record.Outcomes {
			parts = append(parts, fmt.Sprintf("%serror %s (rms), calibrated interval ± %s (%s), %s of the held-out values "+
				"inside", label(t, len(s.Honest.Record.Outcomes)), rms(t), unitOf(t).amount(t.Half), levelText(t.Level),
				share(t.Inside)))
		}

		if c := s.Honest.Calibration; c != nil && c.K < 3 {
			parts = append(parts, "the interval is "+clean(c.Learned()))
		}
	}

	for _, t := range s.Network {
		who := ""
		if calibrated {
			who = "the network alone: "
		}

		advice := ""
		if calibrated { // else the verdict has it
			advice = map[score.Grade]string{score.Care: " (use them with care)", score.No: " (do not use them)"}[t.Grade]
		}

		parts = append(parts, fmt.Sprintf("%s%serror %s, claimed %s, %s inside its own 95 %% intervals%s",
			who, label(t, len(s.Network)), rms(t), unitOf(t).amount(t.ClaimedSigma), share(t.Inside), advice))
	}

	return fmt.Sprintf("%s held out: %s", held, s.grade()), sentence(strings.Join(parts, "; ") + ".")
}

// label names the outcomes of one unit where there are several units.
func label(t score.UnitTrust, units int) string {
	if units < 2 {
		return ""
	}
	return clean(strings.Join(t.Outcomes, ", ")) + ": "
}

// unitOf is a quantity of the outcomes' unit.
func unitOf(t score.UnitTrust) Quantity { return Quantity{Unit: t.Unit} }

// amount writes a difference in the quantity's unit: one decimal of a level, in dB, else
// two significant digits.
func (q Quantity) amount(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return undefinedText
	}
	return strings.TrimSpace(q.cell(v, math.NaN()).plain() + " " + q.difference())
}

// amountIn writes a difference in a unit.
func amountIn(unit string, v float64) string { return Quantity{Unit: unit}.amount(v) }

// rms is the error of the mean; 0 where the pairs' noise exceeds it.
func rms(t score.UnitTrust) string {
	if t.RMSE == 0 {
		return "below the noise"
	}
	return unitOf(t).amount(t.RMSE)
}

// cell is a difference in the quantity's unit with its standard error, NaN without.
func (q Quantity) cell(v, se float64) number {
	value := score.Value{Mean: v, Std: se, N: 2}
	switch size := math.Abs(v); {
	case q.difference() == "dB" && size >= 0.05 && size < 1e6:
		n := number{mean: fixed(v, 1)}
		if se >= 0.05 {
			n.std = fixed(se, 1)
		}

		return n

	case se > 0:
		return round(value, 1)
	}

	return twoDigits(value, 1)
}

// share writes a share in percent.
func share(v float64) string {
	if math.IsNaN(v) {
		return undefinedText
	}
	return fixed(100*v, 0) + " %"
}

// levelText writes a level in percent, with as many decimals as it has.
func levelText(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 4, 64) + "\u00a0%"
}

// intervalWords explains the intervals and their limits.
func (e Experiment) intervalWords() []string {
	var out []string

	any := false
	for _, s := range e.Splits {
		h := s.Honest
		switch {
		case h == nil:
			continue
		case h.Absent != "":
			out = append(out, fmt.Sprintf("%s: no calibrated interval: %s.", clean(s.Name),
				clean(strings.TrimSuffix(h.Absent, "."))))
			continue
		}

		any = true
		c := h.Calibration

		var left []string
		for _, l := range c.Groups {
			text := fmt.Sprintf("%s %.2g", clean(l.Name), l.E)
			if l.ESE != nil {
				text += fmt.Sprintf(" ± %.1g", *l.ESE)
			}

			left = append(left, text+fmt.Sprintf(" (claimed %.2g, %s inside ± %.2g)", l.Claim, share(l.Inside), l.Half))
		}

		noise := ""
		if c.NoiseRatio > 0 {
			noise = fmt.Sprintf(" The model states %.2g times the noise of the pairs.", c.NoiseRatio)
		}

		head := fmt.Sprintf("%s: the intervals are %s.", clean(s.Name), c.Learned())
		if c.K > 0 {
			head += fmt.Sprintf(" Of each group the squared error (± SE, standardised units), and how it fared with the "+
				"intervals of the others: %s.", strings.Join(left, ", "))
		}

		out = append(out, fmt.Sprintf("%s Errors exceed claims by a factor about %.2g, between groups by factors about %.2g "+
			"either way.%s The largest left-out deviation covers %s here; %s.",
			head, math.Exp(c.Scale.M)*c.Scale.Factor, math.Exp(c.Scale.Tau), noise, share(h.Record.Conformal.Coverage),
			guarantee(c)))

		if f := h.Record.ForecastWords(amountIn); f != "" {
			out = append(out, clean(s.Name)+": "+clean(f)+".")
		}

		for _, n := range c.Notes() {
			out = append(out, clean(s.Name)+": "+clean(n))
		}
	}

	if any {
		out = append([]string{text("intervals", nil)}, out...)
	}

	return out
}

func guarantee(c *interval.Calibration) string {
	if g := c.Conformal.Guarantee; g > 0 {
		return "it covers a new group with a probability of about " + share(g) +
			", if that group is like the old ones"
	}

	if c.K == 0 {
		return "it promises nothing"
	}

	return fmt.Sprintf("it promises nothing for a new group, because the model's hyperparameters saw the left-out groups "+
		"(about %s if they had not)", share(float64(c.K)/float64(c.K+1)))
}

// verdicts are the sentences of all splits.
func (e Experiment) verdicts() []string {
	var out []string
	for _, s := range e.Splits {
		if t := s.Sentence(); t != "" {
			out = append(out, t)
		}
	}

	return out
}

// verdictJSON are the members of a split's metrics.json that judge its claims.
func verdictJSON(s Split) object {
	var o object
	if t := s.Sentence(); t != "" {
		o = append(o, member{"verdict", string(s.Verdict())}, member{"sentence", t}, member{"network", trustJSON(s.Network)})
	}

	switch h := s.Honest; {
	case h == nil:
	case h.Absent != "":
		o = append(o, member{"honest_absent", h.Absent})
	default:
		o = append(o, member{"honest", honestJSON(h)})
	}

	return o
}

func trustJSON(list []score.UnitTrust) array {
	out := array{}
	for _, t := range list {
		out = append(out, object{
			{"unit", t.Unit},
			{"outcomes", stringArray(t.Outcomes)},
			{"rmse", t.RMSE},
			{"rmse_se", t.RMSESE},
			{"claimed_sigma", t.ClaimedSigma},
			{"claimed_epistemic", t.ClaimedEpistemic},
			{"coverage_68", t.Coverage68},
			{"level", t.Level},
			{"coverage", t.Inside},
			{"coverage_se", t.InsideSE},
			{"half_width", t.Half},
			{"error_over_claim", t.Ratio},
			{"verdict", string(t.Grade)},
		})
	}

	return out
}

func honestJSON(h *interval.Result) object {
	c, r := h.Calibration, h.Record

	left, groups := array{}, array{}
	for _, l := range c.Groups {
		left = append(left, object{
			{"group", l.Name},
			{"distance", l.Distance},
			{"claim", l.Claim},
			{"e", l.E},
			{"e_se", l.Error()},
			{"inside", l.Inside},
			{"half_width", l.Half},
		})
		groups = append(groups, l.Name)
	}

	conformal := object{
		{"coverage", r.Conformal.Coverage}, {"width", r.Conformal.Width}, {"guarantee", c.Conformal.Guarantee},
	}

	return object{
		{"base", c.Base},
		{"method", "hierarchical-scale"},
		{"condition", c.Condition},
		{"kind", string(c.Kind)},
		{"groups", groups},
		{"k", c.K},
		{"level", c.Level},
		{"scale", scaleJSON(c.Scale)},
		{"r2", r.R2},
		{"e", r.E},
		{"e_se", r.ESE},
		{"ratio_before", r.RatioBefore},
		{"ratio_after", r.RatioAfter},
		{"ratio_se", r.RatioSE},
		{"coverage_before", r.Before.Coverage},
		{"coverage", r.After.Coverage},
		{"coverage_68", r.At[0]},
		{"coverage_90", r.At[1]},
		{"coverage_95", r.At[2]},
		{"coverage_98", r.At[3]},
		{"width", r.After.Width},
		{"width_over_spread", r.WidthOverSpread},
		{"interval_score_before", r.Before.Score},
		{"interval_score", r.After.Score},
		{"interval_score_model_free", r.ModelFree.Score},
		{"crps", r.CRPS},
		{"noise_ratio", c.NoiseRatio},
		{"conformal", conformal},
		{"left_out", left},
		{"before_measuring", beforeMeasuring(c)},
		{"forecast", forecastJSON(r.Forecast)},
		{"notes", stringArray(c.Notes())},
		{"outcomes", trustJSON(r.Outcomes)},
	}
}

// scaleJSON is what the left-out groups taught of the scale of a new one.
func scaleJSON(s *scale.Scale) object {
	var shapes object
	for k, name := range [...]string{"claim", "both", "distance"} {
		sum := 0.0
		for _, v := range s.Evidence[k] {
			sum += v
		}

		shapes = append(shapes, member{name, sum})
	}

	return object{
		{"prior", s.Prior.Name},
		{"m", s.M},
		{"tau", s.Tau},
		{"claim_factor", s.Factor},
		{"log_evidence", s.LogEvidence},
		{"noise", s.Noise.Scale},
		{"noise_freedom", s.Noise.Freedom},
		{"shapes", shapes},
	}
}

// beforeMeasuring says what could be expected of the held-out group without measuring it.
func beforeMeasuring(c *interval.Calibration) object {
	half := 0.0
	for _, g := range c.Groups {
		half += g.Half / float64(c.K)
	}

	expected := any(half)
	if c.K == 0 {
		expected = nil
	}

	return object{{"expected_half_width", expected}, {"left_out_inside", c.LeftOutInside()}, {"of", c.K}}
}

// forecastJSON are the half widths without and with some runs of the held-out group, one
// for each unit of the outcomes.
func forecastJSON(list []interval.Forecast) array {
	out := array{}
	for _, f := range list {
		half := array{}
		for _, v := range f.Half {
			half = append(half, v)
		}

		out = append(out, object{{"runs", f.Runs}, {"half_width", half}})
	}

	return out
}
