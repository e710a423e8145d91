package report

import (
	"fmt"
	"math"
	"strings"

	"doubletake/train/score"
)

// headlines are one sentence per split, with numbers.
func (e Experiment) headlines() []string {
	if len(e.Splits) == 0 {
		return []string{"No split was trained."}
	}
	out := e.verdicts()
	for _, s := range e.Splits {
		out = append(out, e.Headline(s))
	}
	return out
}

// Headline states in one sentence how R² and E|cov| change on a split's test part.
func (e Experiment) Headline(s Split) string {
	what := "Holding out " + clean(s.HeldOut)
	if s.HeldOut == "" {
		what = "Split " + clean(s.Name)
	}
	var parts []string
	a, b := s.Train.Get("r2"), s.Test.Get("r2")
	pct, why := difference(a, b)
	from := strings.ReplaceAll(round(a, 1).mean+" → "+round(b, 1).mean, "-", "−")
	switch {
	case why != "" && !b.Defined():
		parts = append(parts, "leaves R² undefined ("+clean(b.Reason())+")")
	case why != "":
		parts = append(parts, "gives R² "+strings.ReplaceAll(round(b, 1).plain(), "-", "−"))
	case pct <= -100:
		parts = append(parts, "costs all of R² ("+from+")")
	case math.Round(pct) < 0:
		parts = append(parts, fmt.Sprintf("costs %s of R² (%s)", unsigned(pct), from))
	case math.Round(pct) > 0:
		parts = append(parts, fmt.Sprintf("adds %s to R² (%s)", unsigned(pct), from))
	default:
		parts = append(parts, "leaves R² as it is ("+from+")")
	}
	if pct, why := difference(s.Train.Get("abs_cov"), s.Test.Get("abs_cov")); why == "" {
		switch {
		case math.Round(pct) > 0:
			parts = append(parts, "|cov| rises by "+unsigned(pct))
		case math.Round(pct) < 0:
			parts = append(parts, "|cov| falls by "+unsigned(pct))
		default:
			parts = append(parts, "|cov| stays")
		}
	}
	r, se := s.Test.Get("sum_e_ratio"), s.Test.Get("sum_e_ratio_se")
	if r.Defined() {
		v, spread := round(r, 1).mean, ""
		if n := round(r, 1); n.exp != 0 {
			v = n.plain()
		}
		if se.Defined() && se.Mean > 0 {
			spread = "standard error " + twoDigits(se, 1).plain() + ": "
		}
		verdict := "calibrated within its standard error"
		switch sign, _, ok := score.CompareCalibration(s.Test.Values, s.Test.Runs); {
		case !ok:
			verdict = "without a standard error"
		case sign > 0:
			verdict = "overconfident"
		case sign < 0:
			verdict = "too cautious"
		}
		parts = append(parts, "the measured error is "+v+" times the covariance C ("+spread+verdict+")")
	} else if b.Defined() {
		parts = append(parts, "the error cannot be compared with C ("+clean(r.Reason())+")")
	}
	return what + " " + strings.Join(parts, "; ") + "."
}

// unsigned writes the size of a percentage.
func unsigned(pct float64) string {
	return strings.TrimPrefix(percent(math.Abs(pct)).text, "+")
}
