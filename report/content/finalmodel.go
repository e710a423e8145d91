package content

import (
	"fmt"
	"strings"

	"doubletake/report"
	"doubletake/train/honest/interval"
)

// FinalModel describes a model that was trained on all rows, with the splits that show how good it is. calibration is
// nil if the model has no calibrated intervals.
func FinalModel(name string, e report.Experiment, calibration *interval.Calibration) string {
	var splits []string
	for _, split := range e.Splits {
		splits = append(splits, split.Name)
	}

	record := "no split holds anything out, so nothing says how good it is"
	if len(splits) > 0 {
		record = "its tests are the held-out splits: " + strings.Join(splits, ", ")
	}

	text := fmt.Sprintf("model %s: trained on all %d triplets, for predict, suggest and export; %s", name, e.Triplets,
		record)
	if calibration != nil {
		text += ". " + e.BeforeMeasuring(calibration)
	}

	return text
}
