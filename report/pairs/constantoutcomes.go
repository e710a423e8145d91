package pairs

import (
	"fmt"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/train/triplets"
)

// WarnConstant returns a warning for each outcome to train on that is one number in all pairs of a table: training
// leaves it out. trained are the outcomes that the user chose; if it is empty, they are all outcomes of the table.
// WarnConstant returns an error if the user chose a constant outcome, or if all outcomes are constant. path names the
// table.
func WarnConstant(path string, pairTable *campaign.PairTable, trained []string) ([]ingest.Warning, error) {
	if pairTable.N < 2 {
		return nil, nil
	}

	isChosen := len(trained) > 0
	if !isChosen {
		trained = pairTable.Outcomes
	}

	var same []string
	for _, name := range trained {
		k := slices.Index(pairTable.Outcomes, name)
		if k >= 0 && triplets.ScaleOf(1, pairTable.Y1[k], pairTable.Y2[k]).Std[0] == 0 {
			same = append(same, fmt.Sprintf("%s is %g in all %d pairs", name, pairTable.Y1[k][0], pairTable.N))
		}
	}

	if len(same) > 0 && (isChosen || len(same) == len(trained)) {
		return nil, fault.At(path, "", "outcomes that vary", same[0],
			"nothing can be learned from it: name the other columns under table: {y1: …, y2: …}, or repeats")
	}

	var warnings []ingest.Warning
	for _, text := range same {
		warnings = append(warnings, ingest.Warn(path, "constant-outcome", "%s: nothing is trained on it", text))
	}

	return warnings, nil
}
