package config

import (
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/condition"
)

// DSP states how a recording becomes triplets.
type DSP struct {
	// construction of (y1, y2): random-samples and split-halves of a balance run, split-half-spectrum
	// (harmonics) and split-half-bands (third octaves) of a microphone recording, repeats of a condition, or
	// the pairs of a table as they are
	Triplets string `key:"triplets" choices:"constructions"`

	// use each first outcome twice (y2 := y1); the covariance then estimates the total variance
	Couples      bool `key:"couples"`
	dsp.Settings      // of the constructions

	// repeats: conditions are equal within these tolerances, e.g. {rpm: 1 %, alpha_deg: 0.1}; a condition without a
	// tolerance must be equal
	Tolerances []NamedString `key:"within"`

	// repeats: column that names the occasion of a recording (a day, a session, a mounting). Recordings of different
	// occasions are paired. Each recording is the first of one pair, with half the weight, and each occasion can be held
	// out
	Across string `key:"across"`
}

// Instrument returns what made the recordings of the experiment: a balance if the settings name its columns.
func (e *Experiment) Instrument() dsp.Instrument {
	if len(e.Ingest.Columns) > 0 {
		return dsp.Balance
	}

	return dsp.Microphones
}

// validateDSP reports faults of the section dsp, which is at key.
func (e *Experiment) validateDSP(f *File, key string, fail failFunc) {
	d := &e.DSP
	isTable := d.Triplets == "table"
	switch {
	case e.pairsGiven():
		fail.when(d.Triplets != "" && !isTable, key+".triplets",
			"the data are pairs already, which needs no construction; found %s: leave the key out", d.Triplets)
	case d.Triplets == "":
		fail(key, "expected triplets: %s, found none", orList(dsp.Constructions()))
	case isTable:
		fail(key+".triplets", "table is for ingest.table only")
	}

	fail.when(e.pairsGiven() && d.Across != "", key+".across",
		"belongs to triplets: repeats; for single measurements of a table write pairs: {across: COLUMN} below ingest.table")
	fail.when(f.Has(key+".temperature_c") != f.Has(key+".pressure_pa"), key,
		"temperature_c and pressure_pa give the density together; only one is given")

	dsp.CheckSettings(&d.Settings, func(k, format string, args ...any) {
		fail(strings.TrimSuffix(key+"."+k, "."), format, args...)
	})
	dsp.CheckOutcomes(d.Triplets, e.Instrument(), &d.Settings, func(k, format string, args ...any) {
		fail(key+"."+k, format, args...)
	})

	lengths := 0
	for _, k := range []string{"segments", "segment_s", "resolution_hz"} {
		if f.Has(key + "." + k) {
			lengths++
		}
	}

	fail.when(lengths > 1, key, "segments, segment_s and resolution_hz each set the length of a segment; keep one of them")

	checkEntries(fail, key+".within", d.Tolerances, condition.ParseTolerance)
}
