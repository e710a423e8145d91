package config

import (
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
)

// DSP is how a recording becomes triplets.
type DSP struct {
	Triplets     string        `key:"triplets" choices:"constructions"`
	Couples      bool          `key:"couples"`
	dsp.Settings               // of the constructions
	Within       []NamedString `key:"within"`
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
	if f.Has(key+".temperature_c") != f.Has(key+".pressure_pa") {
		fail(key, "temperature_c and pressure_pa give the density together; only one is given")
	}
	dsp.CheckSettings(&d.Settings, func(k, format string, args ...any) {
		fail(strings.TrimSuffix(key+"."+k, "."), format, args...)
	})
	dsp.CheckOutcomes(d.Triplets, len(e.Ingest.Columns) > 0, &d.Settings, func(k, format string, args ...any) {
		fail(key+"."+k, format, args...)
	})
	given := 0
	for _, k := range []string{"segments", "segment_s", "resolution_hz"} {
		if f.Has(key + "." + k) {
			given++
		}
	}
	if given > 1 {
		fail(key, "segments, segment_s and resolution_hz each set the length of a segment; keep one of them")
	}
	for _, w := range d.Within {
		if _, err := campaign.ParseTolerance(w.Value); err != nil {
			fail(key+".within."+w.Name, "%v", err)
		}
	}
}
