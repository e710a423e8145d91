package config

import (
	"path/filepath"
	"strconv"
	"strings"

	"doubletake/train/holdout"
)

// failFunc reports a fault of the value at a dotted key.
type failFunc func(key, format string, args ...any)

// within reports a number that is not from lo to hi.
func (fail failFunc) within(key, what string, v, lo, hi float64) {
	if !(v >= lo && v <= hi) {
		fail(key, "expected %s from %s to %s, found %s", what, number(lo), number(hi), number(v))
	}
}

// above reports a number that is not above zero and up to hi.
func (fail failFunc) above(key, what string, v, hi float64) {
	if !(v > 0 && v <= hi) {
		fail(key, "expected %s above 0 and up to %s, found %s", what, number(hi), number(v))
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// most bounds numbers that have a unit: a larger one is a mistake, and squares
// of it would lose digits.
const most = 1e9

// validate reports faults that single keys cannot show: missing keys,
// contradictions, values out of range. It changes nothing. The stages check that
// conditions, columns and files exist.
func (f *File) validate(d *decoder) {
	fail := func(key, format string, args ...any) { d.errs = append(d.errs, f.Errorf(key, format, args...)) }
	if f.Version != 1 {
		fail("version", "expected 1, found %d; this program reads version 1", f.Version)
	}

	if f.Workdir == "" {
		fail("workdir", "expected a folder, found nothing")
	}

	if len(f.Experiments) == 0 {
		fail("experiments", "expected at least one experiment, found none")
	}

	f.Executor.validate(fail)

	for i := range f.Experiments {
		e := &f.Experiments[i]
		e.validate(f, "experiments."+e.Name, fail)

		for _, o := range f.Experiments[:i] {
			if o.Family() != e.Family() && strings.EqualFold(o.Family(), e.Family()) {
				fail("experiments."+e.Name, "its name differs from %q by letter case alone, and on Windows and macOS their "+
					"folders would be one; rename one of them", o.Family())
			}
		}
	}
}

func (e *Experiment) validate(f *File, at string, fail failFunc) {
	fail.folder(at, e.Family())

	if !e.Ingest.validate(f, at+".ingest", fail) {
		return
	}

	e.validateTogether(at, fail)
	e.validateDSP(f, at+".dsp", fail)

	if e.Select != (Select{}) {
		e.Select.validate(e, at+".select", fail)
	}

	e.Suggest.validate(e, at+".suggest", fail)

	if f.Has(at + ".train") { // without it a run ends with the triplets and their report
		e.Train.validate(f, at+".train", fail)
		return
	}

	if e.Variant != nil {
		for _, s := range e.Variant.Settings {
			if strings.HasPrefix(s.Path, "train.") {
				fail(at+".sweep", "varies %s of an experiment that trains nothing; expected train: {inputs: …, splits: …} too, "+
					"found none", s.Path)
			}
		}
	}
}

// validateTogether reports keys of ingest and dsp that contradict each other.
func (e *Experiment) validateTogether(at string, fail failFunc) {
	in := &e.Ingest
	if in.Tachometer != nil && e.DSP.Track != nil {
		fail(at+".dsp.track", "a tachometer measures the speed; leave one of them out")
	}

	if e.DSP.Amplitude == "synchronous" && in.Tachometer == nil {
		fail(at+".dsp.amplitude", "synchronous averages over the shaft's angle; "+
			"expected ingest.tachometer: {channel: …, pulses_per_rev: …}")
	}

	if in.Background != nil {
		in.Background.validate(e, at+".ingest.background", fail)
	}
}

// folder reports a name of the user's that cannot name a folder. Windows' rules hold on all
// systems: a project goes to others, and its tables with it.
func (fail failFunc) folder(key, name string) {
	if safe := holdout.Folder(name); safe != name {
		fail(key, "expected a name that a folder can have, on Windows too, such as %q, found %q", safe, name)
	}
}

// resolve sets the values that follow from other keys: the data of a simulated
// campaign are simulated, and pairs that are given are taken as they are. Paths get one
// separator on all systems.
func (e *Experiment) resolve() {
	e.Ingest.slash()

	if e.Ingest.Simulate != nil {
		e.Ingest.Data = "simulated"
	}

	if e.Ingest.Table != nil {
		e.Ingest.Table.resolve()
	}

	if e.pairsGiven() {
		e.DSP.Triplets = "table"
	}
}

// pairsGiven reports whether the data hold pairs already.
func (e *Experiment) pairsGiven() bool {
	return e.Ingest.Table != nil || e.Ingest.Simulate != nil && e.Ingest.Simulate.Campaign == "toy"
}

// Resolve returns path as seen from the program: relative paths of the file
// start at the file's folder.
func (f *File) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir, path)
}
