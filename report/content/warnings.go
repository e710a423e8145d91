package content

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/table"
	"doubletake/report/pairs"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Warnings returns warnings about outcomes that do not vary, if the data are too few for a finding, and if a split
// holds out what the network cannot see. conditions names the conditions of the experiment, whose triplets are t, and
// chosen the outcomes that it asks for.
func Warnings(conditions, chosen []string, t *table.Table, set triplets.Set, splits []Split) (
	warnings []string, err error,
) {
	for _, outcome := range pairs.Outcomes(t) {
		if pairs.Constant(t, outcome) && len(chosen) == 0 {
			warnings = append(warnings, fmt.Sprintf("%s is %g in all %d pairs: nothing is trained on it", outcome,
				t.Column(outcome + "_1").Floats[0], t.Rows()))
		}
	}

	warning, err := tooFew(conditions, t, set, len(splits) > 0)
	if err != nil {
		return nil, err
	}

	if warning != "" {
		warnings = append(warnings, warning)
	}

	for _, split := range splits {
		if warning := unseen(split); warning != "" {
			warnings = append(warnings, warning)
		}
	}

	return warnings, nil
}

// tooFew returns a warning if the whole experiment, train and test together, has too few distinct conditions for an R²,
// and "" otherwise. With a network it counts the conditions by the network's inputs. Without one it counts the
// conditions that were set, which the speed found in the sound is not.
func tooFew(names []string, t *table.Table, set triplets.Set, trained bool) (string, error) {
	conditions := set.Conditions()
	if set.SetPoints != nil {
		_, points := triplets.Index(set.SetPoints, set.In)
		conditions = len(points) / set.In
	}

	end := "; the tables show that the program runs, not a finding"
	if !trained {
		end = "; no split is trained"
		var err error
		conditions, err = conditionsSet(names, t)
		if err != nil {
			return "", fmt.Errorf("read triplets: %w", err)
		}
	}

	warning := score.R2Warning(conditions)
	if warning == "" {
		return "", nil
	}

	return "the whole experiment: " + warning + end, nil
}

// conditionsSet counts the distinct conditions that were set.
func conditionsSet(names []string, t *table.Table) (int, error) {
	var set []string
	for _, name := range names {
		if name != "rpm_tracked" && t.Column(name) != nil {
			set = append(set, name)
		}
	}

	x, err := table.Matrix(pairs.AtSetPoints{Table: t}, set, "")
	if err != nil {
		return 0, err
	}

	if len(set) == 0 {
		return min(1, t.Rows()), nil
	}

	_, distinct := triplets.Index(x, len(set))

	return len(distinct) / len(set), nil
}

// unseen returns a warning if a split holds out by conditions that are not inputs of the network, and "" otherwise. The
// network's uncertainty cannot rise at held-out conditions where its inputs do not change.
func unseen(split Split) string {
	set := split.Set
	var held []string
	for _, name := range split.Test.Conditions() {
		if slices.Contains(set.InputNames(), name) {
			return ""
		}
		held = append(held, name)
	}

	known := make([]bool, set.Conditions())
	for i, c := range set.Condition {
		known[c] = known[c] || set.Part[i] != triplets.Test
	}

	shared := 0 // held-out conditions with the inputs of a training condition
	asked := set.Only(triplets.Test).Present()
	for _, c := range asked {
		if known[c] {
			shared++
		}
	}

	if shared == 0 {
		return "" // the inputs of all held-out conditions differ from the training conditions'
	}

	return fmt.Sprintf("split %s holds out %s, which is not among the inputs (%s): %d of the %d held-out conditions "+
		"have the same inputs as training conditions, so the uncertainty cannot rise there; R² and e show the cost",
		split.Name, strings.Join(held, " and "), strings.Join(set.InputNames(), ", "), shared, len(asked))
}
