package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"doubletake/train/holdout"
)

// failFunc reports a fault of the value at a dotted key.
type failFunc func(key, format string, args ...any)

// when reports a fault if there is one.
func (fail failFunc) when(fault bool, key, format string, args ...any) {
	if fault {
		fail(key, format, args...)
	}
}

// within reports a number that is not from lo to hi.
func (fail failFunc) within(key, what string, v, lo, hi float64) {
	if !(v >= lo && v <= hi) {
		fail(key, "expected %s from %s to %s, found %s", what, formatNumber(lo), formatNumber(hi), formatNumber(v))
	}
}

// whole reports a whole number that is not from lo to hi.
func (fail failFunc) whole(key, what string, v, lo, hi int) {
	fail.when(v < lo || v > hi, key, "expected %d to %d %s, found %d", lo, hi, what, v)
}

// above reports a number that is not above zero and up to hi.
func (fail failFunc) above(key, what string, v, hi float64) {
	if !(v > 0 && v <= hi) {
		fail(key, "expected %s above 0 and up to %s, found %s", what, formatNumber(hi), formatNumber(v))
	}
}

// formatNumber writes a number with as many digits as it needs.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// refuse reports each of the given keys of the section at key that the file has.
func (fail failFunc) refuse(f *File, key, text string, keys ...string) {
	for _, k := range keys {
		fail.when(f.Has(key+"."+k), key+"."+k, "%s", text)
	}
}

// checkEntries reports the entries of a mapping for which parse returns an error.
func checkEntries[T any](fail failFunc, key string, list []NamedString, parse func(text string) (T, error)) {
	for _, n := range list {
		if _, err := parse(n.Value); err != nil {
			fail(key+"."+n.Name, "%v", err)
		}
	}
}

// most bounds numbers that have a unit: a larger number is a mistake, and its square
// would lose digits.
const most = 1e9

// complete sets the settings whose defaults depend on other settings: the settings of simulated campaigns, and the
// methods that compare: [all] stands for.
func (f *File) complete() {
	for i := range f.Experiments {
		e := &f.Experiments[i]
		key := "experiments." + e.Name
		if s := e.Ingest.Simulate; s != nil {
			completeSimulate(s, func(k string) bool { return f.Has(key + ".ingest.simulate." + k) })
		}

		if f.Has(key + ".train") {
			e.Train.complete()
		}
	}
}

// validate reports faults that single keys cannot show: missing keys, contradictions, values out of range. The stages
// check that conditions, columns and files exist.
func (f *File) validate(d *decoder) {
	var fail failFunc = func(key, format string, args ...any) { d.errs = append(d.errs, f.Errorf(key, format, args...)) }
	if ambiguous := f.ambiguousName(); ambiguous != "" {
		fail("experiments."+ambiguous, "expected a name that cannot be taken for a key of another experiment, found %q; "+
			"rename it, e.g. with - instead of the dot", ambiguous)
		return // its keys would be taken for keys of the other experiment
	}

	fail.when(f.Version != 1, "version", "expected 1, found %d; this program reads version 1", f.Version)
	fail.when(f.Workdir == "", "workdir", "expected a folder, found nothing")
	fail.when(len(f.Experiments) == 0, "experiments", "expected at least one experiment, found none")

	f.Executor.validate(fail)

	families := map[string]string{} // names of experiments by the same name in lower case
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

// ambiguousName returns the first name of an experiment that begins with the name of another one, a dot and a section:
// with the experiment wing, the path of the experiment wing.train is that of the section train. ambiguousName returns
// "" if there is none.
func (f *File) ambiguousName() string {
	families := map[string]bool{}
	for i := range f.Experiments {
		families[f.Experiments[i].Family()] = true
	}

	sections := keysOf(reflect.TypeFor[Experiment]())
	for i := range f.Experiments {
		name := f.Experiments[i].Family()
		for end, character := range name {
			if character != '.' || !families[name[:end]] {
				continue
			}

			if section, _, _ := strings.Cut(name[end+1:], "."); slices.Contains(sections, section) {
				return name
			}
		}
	}

	return ""
}

// validate reports faults of an experiment, which is at key.
func (e *Experiment) validate(f *File, key string, fail failFunc) {
	fail.folder(key, e.Family())

	if !e.validateIngest(f, key+".ingest", fail) {
		return
	}

	e.validateTogether(key, fail)
	e.validateDSP(f, key+".dsp", fail)

	if e.Select != (Select{}) {
		e.Select.validate(e, key+".select", fail)
	}

	if f.Has(key + ".train") { // without it a run ends with the triplets and their report
		e.Train.validate(f, key+".train", fail)
		return
	}

	if e.Variant != nil {
		for _, s := range e.Variant.Settings {
			fail.when(strings.HasPrefix(s.Path, "train."), key+".sweep",
				"varies %s of an experiment that trains nothing; expected train: {inputs: …, splits: …} too, "+
					"found none", s.Path)
		}
	}
}

// validateTogether reports keys of ingest and dsp that contradict each other.
func (e *Experiment) validateTogether(key string, fail failFunc) {
	ingest := &e.Ingest
	fail.when(ingest.Tachometer != nil && e.DSP.Track != nil, key+".dsp.track",
		"a tachometer measures the speed; leave one of them out")
	fail.when(e.DSP.Amplitude == "synchronous" && ingest.Tachometer == nil, key+".dsp.amplitude",
		"synchronous averages over the shaft's angle; "+
			"expected ingest.tachometer: {channel: …, pulses_per_rev: …}")
}

// folder reports a user's name that cannot be the name of a folder. The rules of Windows apply on all
// systems, because projects and their tables are passed on to people with other systems.
func (fail failFunc) folder(key, name string) {
	if safe := holdout.Folder(name); safe != name {
		fail(key, "expected a name that a folder can have, on Windows too, such as %q, found %q", safe, name)
	}
}

// setImplied sets the values that follow from other keys: the data of a simulated
// campaign are simulated, and pairs that are given are taken as they are. It writes paths with
// slashes on all systems.
func (e *Experiment) setImplied() {
	slash(reflect.ValueOf(&e.Ingest), false)
	if e.Ingest.Simulate != nil {
		e.Ingest.Data = "simulated"
	}

	if e.Ingest.Table != nil {
		setPairs(e.Ingest.Table)
	}

	if e.pairsGiven() {
		e.DSP.Triplets = "table"
	}
}

// slash replaces backslashes by slashes in the texts of fields with the tag path on Windows, so that the same project
// has the same settings, tables and pages on all systems. It changes v in place. isPath reports whether v itself is
// such a field.
func slash(v reflect.Value, isPath bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			slash(v.Elem(), isPath)
		}
	case reflect.Slice:
		for i := range v.Len() {
			slash(v.Index(i), isPath)
		}
	case reflect.Struct:
		for _, sf := range reflect.VisibleFields(v.Type()) {
			slash(v.FieldByIndex(sf.Index), sf.Tag.Get("path") != "" || isPath && sf.Name == "Value")
		}
	case reflect.String:
		if isPath {
			v.SetString(filepath.ToSlash(v.String()))
		}
	}
}

// pairsGiven reports whether the data hold pairs already.
func (e *Experiment) pairsGiven() bool {
	return e.Ingest.Table != nil || e.Ingest.Simulate != nil && e.Ingest.Simulate.Campaign == "toy"
}

// Resolve returns a path of the file relative to the program's working directory. Relative paths in the file
// start at the file's folder.
func (f *File) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir, path)
}
