package results

import (
	"encoding/json"
	"fmt"
	"os"

	"doubletake/train"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Flags contains the violated identities of one model on the parts of one split.
type Flags struct {
	Train []score.Flag `json:"train"`
	Test  []score.Flag `json:"test"`
}

// Diagnose checks the identities of the theory (docs/method.md#diagnostics) on the distinct conditions of the training
// and of the test part.
func Diagnose(set triplets.Set, est *train.Estimates) Flags {
	return Flags{Train: diagnosePart(set, triplets.Train, est), Test: diagnosePart(set, triplets.Test, est)}
}

// diagnosePart checks the identities on one part. The list that it returns is never nil, so that JSON has [] and not
// null.
func diagnosePart(set triplets.Set, part triplets.Part, est *train.Estimates) []score.Flag {
	rows := est.Rows(set.Only(part).Present(), set.Out)
	return append([]score.Flag{}, score.Diagnose(rows)...)
}

// Write writes the violated identities as JSON.
func (f Flags) Write(path string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}

	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}

	return nil
}
