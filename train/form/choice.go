package form

import (
	"fmt"
	"math"
	"strings"
)

// Score says how well a form predicts left-out training groups, compared with the first form of its list.
type Score struct {
	Name     string  `json:"name"`
	Formula  string  `json:"formula,omitempty"`
	Evidence float64 `json:"evidence"`        // ln of the evidence as a density of the outcomes, less the first form's
	Prior    float64 `json:"prior,omitempty"` // ln of the prior odds, less the first form's; 0 unless groups are things
	Error    float64 `json:"error_ratio"`     // rms error of the mean on left-out groups, over the error of the first form
	Full     bool    `json:"full"`            // whether the form was fitted in full, rather than by the screen alone
}

// Margins in nats, the unit of natural logarithms, by which ln of the evidence of a form must exceed that of the first
// form. The evidence is the probability density of the left-out groups.
const (
	Margin    = 1.0
	FewMargin = 3.0 // with fewer than FewGroups training groups
	FewGroups = 3
)

// Choose returns the place of the chosen form in a list whose first form is the default of a model. The chosen form has
// the largest evidence among the forms that were fitted in full, whose error is not larger than the error of the first
// form, and whose evidence exceeds the evidence of the first by the margin. Choose returns 0 if there is none.
func Choose(list []Score, groups int) int {
	margin := Margin
	if groups < FewGroups {
		margin = FewMargin
	}

	best := 0
	for i, s := range list {
		eligible := i > 0 && s.Full && s.Error <= 1 && s.Evidence > margin
		if eligible && (best == 0 || s.Evidence > list[best].Evidence) {
			best = i
		}
	}

	return best
}

// ChooseOfThings returns the place of the form with the largest sum of evidence and prior, if the groups are things. If
// several have this sum, it returns the first. The error on left-out things does not count, because with few things it
// may be large by chance.
func ChooseOfThings(list []Score) int {
	best := 0
	for i, s := range list {
		if s.Evidence+s.Prior > list[best].Evidence+list[best].Prior {
			best = i
		}
	}

	return best
}

// Choice is the form that the model of a split has, and how it was found.
type Choice struct {
	Asked     string  `json:"asked"`               // Auto, or the name of a form
	Chosen    string  `json:"chosen"`              // name of the form
	Form      *Form   `json:"form,omitempty"`      // nil: Raw or the order form
	Condition string  `json:"condition,omitempty"` // condition whose values were left out
	Groups    int     `json:"groups"`              // training groups that were left out in turn
	Fits      int     `json:"fits"`                // number of forms that were fitted in full
	Screen    int     `json:"screening_fits"`      // number of forms that were fitted on few conditions with few steps
	Tried     []Score `json:"tried,omitempty"`     // scores of the forms, the default first; nil: there was no choice
	Errors    []Error `json:"errors,omitempty"`    // by outcome; nil unless another form than the default was chosen
	OfThings  bool    `json:"of_things,omitempty"` // whether the groups are things
}

// Error is the rms error of the mean of an outcome on the left-out groups, in the unit of the outcome.
type Error struct {
	Outcome string  `json:"outcome"`
	Unit    string  `json:"unit"`
	Default float64 `json:"default"` // with the default form
	Chosen  float64 `json:"chosen"`  // with the chosen form
}

// String returns the choice as a sentence, with its evidence and the runners-up. It returns "" for nil.
func (c *Choice) String() string {
	switch {
	case c == nil:
		return ""
	case len(c.Tried) == 0 && c.Asked != Auto:
		return fmt.Sprintf("form %s, as train.form asks", c.Chosen)
	case len(c.Tried) == 0:
		return fmt.Sprintf("form %s: %d training groups, or units that allow no other form, leave no choice",
			c.Chosen, c.Groups)
	}

	// The first form is the one that others are compared with: its own score says nothing.
	var others []string
	chosen := c.Chosen
	for _, s := range c.Tried[1:] {
		if s.Name == c.Chosen {
			chosen = s.words()
		} else if s.Full {
			others = append(others, s.words())
		}
	}

	text := "form " + chosen
	if len(others) > 0 {
		text += " (not " + strings.Join(others, "; ") + ")"
	}

	return text + fmt.Sprintf(", chosen among %d forms by %d left-out groups", len(c.Tried), c.Groups)
}

// Changes reports whether a form was chosen that is not the default of the model.
func (c *Choice) Changes() bool { return c != nil && c.Asked == Auto && c.Form != nil }

// Evidence returns ln of the evidence of the chosen form, less ln of the evidence of the default form.
func (c *Choice) Evidence() float64 { return c.score().Evidence }

// score returns the score of the chosen form. It returns the zero value if there was no choice.
func (c *Choice) score() Score {
	for _, s := range c.Tried {
		if s.Name == c.Chosen {
			return s
		}
	}

	return Score{}
}

// Words says which form was chosen, why, and by how much it helps, and names the inputs that it sets aside. It returns
// "" unless a form other than the default was chosen.
func (c *Choice) Words() string {
	if !c.Changes() {
		return ""
	}

	text := c.Form.Formula
	if c.Form.Divides() {
		text = "coefficients " + text
	}

	aside := strings.Join(c.Form.Aside, ", ")
	if aside != "" {
		text += ", without " + aside
	}

	score := c.score()
	text += "; left-out error " + c.errorWords()
	if score.Error > 1 {
		text += ", which few things may have by chance"
	}

	text += fmt.Sprintf("; chosen among %d forms by %d left-out values of %s, ln evidence %+.1f",
		len(c.Tried), c.Groups, c.Condition, score.Evidence)
	if c.OfThings {
		text += fmt.Sprintf(", prior %+.0f", score.Prior)
	}

	if aside != "" {
		text += fmt.Sprintf("; %s would count if more values of %s told the effect apart from what else they differ in",
			aside, c.Condition)
	}

	return text
}

// mostErrors is the largest number of outcomes whose errors are written out.
const mostErrors = 3

// errorWords writes the errors of the first outcomes.
func (c *Choice) errorWords() string {
	var list []string
	for _, e := range c.Errors[:min(mostErrors, len(c.Errors))] {
		list = append(list, e.words())
	}

	text := strings.Join(list, ", ")
	if others := len(c.Errors) - len(list); others > 0 {
		text += fmt.Sprintf(" and of %d more", others)
	}

	return text
}

// words writes the errors of an outcome, as "0.02 instead of 2.5 N".
func (e Error) words() string {
	text := digits(e.Chosen) + " instead of " + digits(e.Default)
	unit := e.Unit
	if unit == "" {
		unit = "of " + e.Outcome
	}

	return text + " " + unit
}

// digits writes a number with two digits.
func digits(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) { // has no first digit
		return fmt.Sprint(v)
	}

	decimals := max(0, 1-int(math.Floor(math.Log10(math.Abs(v)))))

	return fmt.Sprintf("%.*f", decimals, v)
}

// words writes the score for people.
func (s Score) words() string {
	name := s.Name
	if s.Formula != "" {
		name += ", " + s.Formula
	}

	return fmt.Sprintf("%s: evidence %+.1f, left-out error × %.2f", name, s.Evidence, s.Error)
}
