package interval

import "fmt"

// Advice says what narrows an interval at a condition: a longer measurement where noise
// dominates, a measurement there where ignorance does. epistemic is the share of the variance
// that is not noise; measured is whether the model was trained on the condition.
func Advice(epistemic float64, measured bool) string {
	switch {
	case epistemic < 0.5 && measured:
		return fmt.Sprintf("measure longer here: noise is %.0f %% of the uncertainty", 100*(1-epistemic))
	case epistemic < 0.5:
		return fmt.Sprintf("measure there, and long: noise is %.0f %% of the uncertainty", 100*(1-epistemic))
	case measured:
		return fmt.Sprintf("repeat the run: measured, and yet ignorance is %.0f %% of the uncertainty", 100*epistemic)
	}

	return fmt.Sprintf("measure a new condition there: ignorance is %.0f %% of the uncertainty", 100*epistemic)
}
