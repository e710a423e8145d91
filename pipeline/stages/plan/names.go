package plan

import (
	"slices"

	"doubletake/train/triplets"
)

// reserved are the columns of our tables that are no condition and no outcome.
var reserved = []string{
	"run", "recording", "set", "file", "channel", "format", "encoding", "unit", "scale", "calibration",
	"calibrator_spread_db", "rate_hz", "row0", "samples", "duration_s", "min", "max", "mean", "rms", "std",
	"integral_time_s", "clipped", "longest_constant", "sha256", "pairs", "half", "bin_hz", "shaft_hz", "power",
	"line_hz", "line_power", "floor", "search_lo", "search_hi", "band_lo", "band_hi", "shaft_order", "shaft_order_hz",
	"shaft_order_power", "group", "outcome", "weight",
}

// CheckNames reports a condition or an outcome whose name another column of our
// tables has. It comes before anything is computed.
func (b *Builder) CheckNames(conditions, outcomes []string) error {
	fail := func(name, why string) error {
		return b.File.Errorf(b.At+".ingest", "%q cannot name a condition or an outcome: %s; rename it where it comes from, "+
			"e.g. %s_number", name, why, name)
	}
	ends := []string{"_1", "_2", "_epistemic"}
	for _, c := range triplets.AnswerColumns {
		ends = append(ends, c.Suffix)
	}
	for i, name := range slices.Concat(conditions, outcomes) {
		switch {
		case slices.Contains(reserved, name):
			return fail(name, "it is a column of every table that the program writes")
		case i < len(conditions) && slices.Contains(outcomes, name):
			return fail(name, "a condition and an outcome have it")
		}
		for _, o := range outcomes {
			for _, end := range ends {
				if i < len(conditions) && name == o+end {
					return fail(name, "the tables have a column of that name for the outcome "+o)
				}
			}
		}
	}
	return nil
}
