package config

import (
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"doubletake/train/holdout"
)

// failFunc reports a fault of the value at a dotted key.
type failFunc func(key, format string, args ...any)

// when reports the fault where it is one.
func (fail failFunc) when(is bool, key, format string, args ...any) {
	if is {
		fail(key, format, args...)
	}
}

// within reports a number that is not from lo to hi.
func (fail failFunc) within(key, what string, v, lo, hi float64) {
	if !(v >= lo && v <= hi) {
		fail(key, "expected %s from %s to %s, found %s", what, number(lo), number(hi), number(v))
	}
}

// whole reports a whole number that is not from lo to hi.
func (fail failFunc) whole(key, what string, v, lo, hi int) {
	fail.when(v < lo || v > hi, key, "expected %d to %d %s, found %d", lo, hi, what, v)
}

// above reports a number that is not above zero and up to hi.
func (fail failFunc) above(key, what string, v, hi float64) {
	if !(v > 0 && v <= hi) {
		fail(key, "expected %s above 0 and up to %s, found %s", what, number(hi), number(v))
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// refuse reports the keys among these, below a key, that the file has.
func (fail failFunc) refuse(f *File, key, text string, keys ...string) {
	for _, k := range keys {
		fail.when(f.Has(key+"."+k), key+"."+k, "%s", text)
	}
}

// entries reports the entries of a mapping that parse does not take.
func entries[T any](fail failFunc, key string, list []NamedString, parse func(text string) (T, error)) {
	for _, n := range list {
		if _, err := parse(n.Value); err != nil {
			fail(key+"."+n.Name, "%v", err)
		}
	}
}

// most bounds numbers that have a unit: a larger one is a mistake, and squares
// of it would lose digits.
const most = 1e9

// validate reports faults that single keys cannot show: missing keys,
// contradictions, values out of range. It changes nothing. The stages check that
// conditions, columns and files exist.
func (f *File) validate(d *decoder) {
	var fail failFunc = func(key, format string, args ...any) { d.errs = append(d.errs, f.Errorf(key, format, args...)) }
	fail.when(f.Version != 1, "version", "expected 1, found %d; this program reads version 1", f.Version)
	fail.when(f.Workdir == "", "workdir", "expected a folder, found nothing")
	fail.when(len(f.Experiments) == 0, "experiments", "expected at least one experiment, found none")

	f.Executor.validate(fail)

	families := map[string]string{} // by their names in lower case
	for i := range f.Experiments {
		e := &f.Experiments[i]
		e.validate(f, "experiments."+e.Name, fail)

		lower := strings.ToLower(e.Family())
		if other, taken := families[lower]; taken && other != e.Family() {
			fail("experiments."+e.Name, "its name differs from %q by letter case alone, and on Windows and macOS their "+
				"folders would be one; rename one of them", other)
		}

		families[lower] = e.Family()
	}
}

func (e *Experiment) validate(f *File, at string, fail failFunc) {
	fail.folder(at, e.Family())

	if !e.Ingest.validate(f, e, at+".ingest", fail) {
		return
	}

	e.validateTogether(at, fail)
	e.validateDSP(f, at+".dsp", fail)

	if e.Select != (Select{}) {
		e.Select.validate(e, at+".select", fail)
	}

	if f.Has(at + ".train") { // without it a run ends with the triplets and their report
		e.Train.validate(f, at+".train", fail)
		return
	}

	if e.Variant != nil {
		for _, s := range e.Variant.Settings {
			fail.when(strings.HasPrefix(s.Path, "train."), at+".sweep",
				"varies %s of an experiment that trains nothing; expected train: {inputs: …, splits: …} too, "+
					"found none", s.Path)
		}
	}
}

// validateTogether reports keys of ingest and dsp that contradict each other.
func (e *Experiment) validateTogether(at string, fail failFunc) {
	in := &e.Ingest
	fail.when(in.Tachometer != nil && e.DSP.Track != nil, at+".dsp.track",
		"a tachometer measures the speed; leave one of them out")
	fail.when(e.DSP.Amplitude == "synchronous" && in.Tachometer == nil, at+".dsp.amplitude",
		"synchronous averages over the shaft's angle; "+
			"expected ingest.tachometer: {channel: …, pulses_per_rev: …}")
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
	slash(reflect.ValueOf(&e.Ingest), false)
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
