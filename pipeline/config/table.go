package config

import (
	"cmp"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// Across returns the occasion across which the repeats of an experiment are paired, or "" if they are not paired across
// occasions. It also returns the key that states the occasion.
func (e *Experiment) Across() (name, key string) {
	if e.Ingest.Table == nil {
		return e.DSP.Across, "dsp.across"
	}
	return e.Ingest.Table.Across, "ingest.table.across"
}

// setPairs stores the origin of the pairs of a table if it is not given.
func setPairs(t *setting.Table) {
	if t.Pairs == "" && len(t.Repeats) > 0 {
		t.Pairs = "repeat-run"
	}

	t.Pairs = cmp.Or(t.Pairs, "same-run")
}

// recordingKeys are the keys of ingest that describe recordings, and that an experiment with a table refuses.
var recordingKeys = []string{
	"format", "rate_hz", "reader", "truncated", "attributes", "sidecar", "inside", "arrays", "theta_from", "channels",
	"columns", "units", "axes", "tachometer", "balance", "microphones", "calibration", "background", "on_bad_recording",
}

// validateTable reports faults of the section.
func validateTable(t *setting.Table, f *File, key string, fail failFunc) {
	fail.when(len(t.File) == 0 || slices.Contains(t.File, ""), key, "expected file: PATH, found none")

	fail.refuse(f, strings.TrimSuffix(key, ".table"), "belongs to recordings; a table of pairs is taken as it is",
		recordingKeys...)
	checkEntries(fail, key+".within", t.Tolerances, condition.ParseTolerance)
	checkEntries(fail, key+".correct", t.Correct, campaign.ParseLaw)

	fail.when(t.Across != "" && t.Use != "", key+".use", "across has pairs of its own; leave use out")
	fail.when(t.Across != "" && len(t.Correct) > 0, key+".correct",
		"across takes each row where it was measured; leave correct out")

	if len(t.Repeats) > 0 {
		return
	}

	for _, k := range []struct {
		key   string
		given bool
	}{
		{"within", len(t.Tolerances) > 0}, {"correct", len(t.Correct) > 0}, {"use", t.Use != ""}, {"across", t.Across != ""},
	} {
		fail.when(k.given, key+"."+k.key, "belongs to repeats, the columns of single measurements")
	}
}
