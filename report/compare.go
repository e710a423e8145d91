package report

import (
	"slices"

	"doubletake/train/score"
)

// Compared are the metrics of one method on a split's test part
// (docs/method.md#scores), over seeds, in standardised units. They judge the method's
// own mean and variances. v̂ is the epistemic variance that the method claims.
type Compared struct {
	Method       string
	Claim        string // the meaning of v̂ in words; "" if the method does not state it
	score.Values        // with the shares of y below predicted quantiles, "below_0.05" …, which score.Metrics lacks
	Doubt        string // why v̂ may be wrong: "2 of 5 seeds: the chains disagree"; "" if there is no doubt
}

// label returns the method's name for a table, with a warning if its v̂ is doubtful.
func (m Compared) label() string {
	if m.Doubt != "" {
		return m.Method + ", doubtful"
	}
	return m.Method
}

// Ranked is the place of a method by the mean CRPS of its held-out predictions, in standardised
// units.
type Ranked struct {
	Method   string
	CRPS     float64
	Above    float64 // CRPS less the CRPS of the best method
	SE       float64 // standard error of Above, paired by rows and seeds; NaN if there is one run
	Standing string  // "best", "worse", "as good" or "undecided"; after "as good" also the standing by NLL
}

// comparisonWords returns paragraphs that explain the comparison of methods, or nil if none were compared.
func (e Experiment) comparisonWords() []string {
	for _, split := range e.Splits {
		if len(split.Methods) > 0 {
			return paragraphs("compared", e)
		}
	}

	return nil
}

// vHatClaims lists the meaning of each method's v̂, once for all splits.
func (e Experiment) vHatClaims() []string {
	var claims []string
	for _, split := range e.Splits {
		for _, method := range split.Methods {
			claim := clean(method.Method) + ": " + method.Claim
			if method.Claim != "" && !slices.Contains(claims, claim) {
				claims = append(claims, claim)
			}
		}
	}

	return claims
}

// comparisonJSON returns the objects of the file of metrics that compare methods, or nil if none were compared.
func comparisonJSON(split Split) []object {
	var list []object
	for _, method := range split.Methods {
		members := object{"method", method.Method}
		for _, v := range method.Values {
			members = append(members, v.Key, v.Value)
		}

		list = append(list, members)
	}

	return list
}

// Cell writes a value times scale as the tables do: "0.991 ± 0.012".
func Cell(value score.Value, scale float64) string {
	return round(value, scale).plain()
}
