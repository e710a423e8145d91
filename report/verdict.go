package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/train/score"
)

// Trust is what a model claims on a split's test part against what pairs measure,
// for the outcomes of one unit, in that unit.
type Trust struct {
	Unit     string   // "" when it has none
	Outcomes []string // names
	score.Trust
}

// Honest is the calibration of a split on left-out groups and its record on the
// test part, which it has not seen. Squares, widths and scores are in standardised
// units.
type Honest struct {
	Absent    string // why there is none; "" where there is one
	Base      string // the model that is calibrated
	Variant   string // form of the covariance
	Condition string // whose values are the groups
	Kind      string // "values", "blocks" or "labels"
	Groups    []string
	K         int
	Level     float64
	T         float64 // factor of the interval's half width: Student's t with K degrees of freedom

	R2, E, ESE                       float64
	RatioBefore, RatioAfter, RatioSE float64 // Σe/Σv̂ without and with the learned covariance
	// the model's own interval; with the covariance, normal and Student
	CoverageBefore, CoverageNormal, CoverageT float64
	WidthT, WidthOverSpread                   float64
	// width of the model's own interval, and share inside the interval without a model
	WidthBeforeOverSpread, CoverageModelFree     float64
	ScoreBefore, Score, ScoreModelFree           float64 // mean interval scores; lower is better
	Largest                                      string  // the group with the largest share of β, and its share
	LargestShare, Scatter, NoiseRatio            float64
	ConformalCoverage, ConformalWidth, Guarantee float64
	LeftOut                                      []LeftOut
	Test                                         LeftOut // the held-out set, which entered nowhere
	Notes                                        []string
	Trust                                        []Trust // the calibrated intervals as claims
}

// LeftOut is one training group that was left out: how far it lies from the others
// and the squared error measured there, in standardised units.
type LeftOut struct {
	Group    string
	Distance float64
	E, ESE   float64 // ESE is NaN with one run
	Fitted   float64 // the learned covariance there
	Claim    float64 // what the model claimed itself
}

// recommended is the trust of the predictions to be used: the calibrated ones where
// there are any, else the network's.
func (s Split) recommended() []Trust {
	if s.calibrated() {
		return s.Honest.Trust
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
	return s.calibrated() && s.Honest.WidthOverSpread >= score.WideSpread
}

// misses reports whether calibrated intervals hold fewer measured values than they
// should, by more than two standard errors.
func (s Split) misses() bool {
	return s.calibrated() && slices.ContainsFunc(s.Honest.Trust, func(t Trust) bool {
		return t.Coverage95+2*t.Coverage95SE < score.GoodCoverage
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
	case s.Honest.WidthOverSpread >= 1:
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
// the share of held-out values inside their 95 % intervals.
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
		for _, t := range s.Honest.Trust {
			parts = append(parts, fmt.Sprintf("%serror %s (rms), calibrated interval ± %s, %s of the held-out values inside",
				t.label(len(s.Honest.Trust)), t.err(), t.amount(t.Width95/2), share(t.Coverage95)))
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
			who, t.label(len(s.Network)), t.err(), t.amount(t.ClaimedSigma), share(t.Coverage95), advice))
	}
	return fmt.Sprintf("%s held out: %s", held, s.grade()), upperFirst(strings.Join(parts, "; ") + ".")
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// label names the outcomes of one unit where there are several units.
func (t Trust) label(units int) string {
	if units < 2 {
		return ""
	}
	return clean(strings.Join(t.Outcomes, ", ")) + ": "
}

// difference is the unit of a difference of two outcomes.
func (t Trust) difference() string { return Quantity{Unit: t.Unit}.difference() }

// amount writes a number of the trust's unit: one decimal of a level, in dB, else two
// significant digits.
func (t Trust) amount(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return undefinedText
	}
	return strings.TrimSpace(t.cell(v, math.NaN()).plain() + " " + t.difference())
}

// err is the error of the mean; 0 where the pairs' noise exceeds it.
func (t Trust) err() string {
	if t.RMSE == 0 {
		return "below the noise"
	}
	return t.amount(t.RMSE)
}

// cell is a number of the trust's unit with its standard error, NaN without.
func (t Trust) cell(v, se float64) number {
	value := score.Value{Mean: v, Std: se, N: 2}
	switch size := math.Abs(v); {
	case t.difference() == "dB" && size >= 0.05 && size < 1e6:
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
		var left []string
		for _, l := range h.LeftOut {
			text := fmt.Sprintf("%s %.2g", clean(l.Group), l.E)
			if !math.IsNaN(l.ESE) {
				text += fmt.Sprintf(" ± %.1g", l.ESE)
			}
			left = append(left, text+fmt.Sprintf(" (distance %.2g, claimed %.2g)", l.Distance, l.Claim))
		}
		noise := ""
		if h.NoiseRatio > 0 {
			noise = fmt.Sprintf(" The model states %.2g times the noise of the pairs.", h.NoiseRatio)
		}
		out = append(out, fmt.Sprintf("%s: left-out groups of %s and the squared error measured there (± SE, standardised "+
			"units): %s. "+
			"The group %s has %s of the covariance; between groups it scatters by a factor of %.2g. Student's t is %.3g.%s "+
			"The largest left-out deviation covers %s here; %s.",
			clean(s.Name), clean(h.Condition), strings.Join(left, ", "), clean(h.Largest), share(h.LargestShare), h.Scatter,
			h.T, noise, share(h.ConformalCoverage), guarantee(h)))
		for _, n := range h.Notes {
			out = append(out, clean(s.Name)+": "+clean(n))
		}
	}
	if any {
		out = append([]string{text("intervals", nil)}, out...)
	}
	return out
}

func guarantee(h *Honest) string {
	if h.Guarantee > 0 {
		return "it covers a new group with a probability of about " + share(h.Guarantee) +
			", if that group is like the old ones"
	}
	return fmt.Sprintf("it promises nothing for a new group, because the model's hyperparameters saw the left-out groups "+
		"(about %s if they had not)", share(float64(h.K)/float64(h.K+1)))
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

func trustJSON(list []Trust) array {
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
			{"coverage_95", t.Coverage95},
			{"coverage_95_se", t.Coverage95SE},
			{"width_95", t.Width95},
			{"error_over_claim", t.Ratio},
			{"verdict", string(t.Grade)},
		})
	}
	return out
}

func honestJSON(h *Honest) object {
	left := array{}
	for _, l := range h.LeftOut {
		left = append(left, object{{"group", l.Group}, {"distance", l.Distance}, {"e", l.E}, {"e_se", l.ESE}})
	}
	return object{
		{"base", h.Base},
		{"variant", h.Variant},
		{"condition", h.Condition},
		{"kind", h.Kind},
		{"groups", stringArray(h.Groups)},
		{"k", h.K},
		{"level", h.Level},
		{"t", h.T},
		{"r2", h.R2},
		{"e", h.E},
		{"e_se", h.ESE},
		{"ratio_before", h.RatioBefore},
		{"ratio_after", h.RatioAfter},
		{"ratio_se", h.RatioSE},
		{"coverage_95_before", h.CoverageBefore},
		{"coverage_95_normal", h.CoverageNormal},
		{"coverage_95_t", h.CoverageT},
		{"width_95_t", h.WidthT},
		{"width_over_spread", h.WidthOverSpread},
		{"interval_score_before", h.ScoreBefore},
		{"interval_score", h.Score},
		{"interval_score_model_free", h.ScoreModelFree},
		{"largest_group", h.Largest},
		{"largest_group_share", h.LargestShare},
		{"scatter_factor", h.Scatter},
		{"noise_ratio", h.NoiseRatio},
		{"conformal", object{{"coverage", h.ConformalCoverage}, {"width", h.ConformalWidth}, {"guarantee", h.Guarantee}}},
		{"left_out", left},
		{"notes", stringArray(h.Notes)},
		{"outcomes", trustJSON(h.Trust)},
	}
}
