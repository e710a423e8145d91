package config

import (
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/condition"
)

// DSP is how a recording becomes triplets.
type DSP struct {
	// construction of (y1, y2): random-samples and split-halves of a balance run, split-half-spectrum
	// (harmonics) and split-half-bands (third octaves) of a microphone recording, repeats of a condition, or
	// the pairs of a table as they are
	Triplets string `key:"triplets" choices:"constructions"`

	// use each first outcome twice (y2 := y1); the covariance then estimates the total variance
	Couples      bool `key:"couples"`
	dsp.Settings      // of the constructions

	// repeats: conditions are equal within these tolerances, e.g. {rpm: 1 %, alpha_deg: 0.1}; a condition not
	// named must be equal
	Within []NamedString `key:"within"`

	// repeats: occasion (a day, a session, a mounting) across which recordings are paired, each as the first of a pair
	// of half the weight; each occasion can be held out
	Across string `key:"across"`
}

func (e *Experiment) validateDSP(f *File, key string, fail failFunc) {
	d := &e.DSP
	switch {
	case e.pairsGiven() && (d.Triplets == "" || d.Triplets == "table"):
	case e.pairsGiven():
		fail(key+".triplets", "the table already holds pairs; leave the key out, or expected table, found %s", d.Triplets)
	case d.Triplets == "":
		fail(key, "expected triplets: %s, found none", orList(dsp.Constructions()))
	case d.Triplets == "table":
		fail(key+".triplets", "table is for ingest.table only")
	}

	fail.when(f.Has(key+".temperature_c") != f.Has(key+".pressure_pa"), key,
		"temperature_c and pressure_pa give the density together; only one is given")

	dsp.CheckSettings(&d.Settings, func(k, format string, args ...any) {
		fail(strings.TrimSuffix(key+"."+k, "."), format, args...)
	})
	dsp.CheckOutcomes(d.Triplets, len(e.Ingest.Columns) > 0, &d.Settings, func(k, format string, args ...any) {
		fail(key+"."+k, format, args...)
	})

	lengths := []string{"segments", "segment_s", "resolution_hz"}
	fail.when(len(slices.DeleteFunc(lengths, func(k string) bool { return !f.Has(key + "." + k) })) > 1, key,
		"segments, segment_s and resolution_hz each set the length of a segment; keep one of them")

	entries(fail, key+".within", d.Within, condition.ParseTolerance)
}
