package config

import (
	"reflect"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// The types of the section ingest and of its parts are in package setting, which does not depend on this package.
type (
	// Ingest is the section ingest.
	Ingest = setting.Campaign
	// Log is its part log.
	Log = setting.Log
	// Table is its part table.
	Table = setting.Table
	// Simulate is its part simulate.
	Simulate = setting.Simulate
	// Sidecar is its part sidecar.
	Sidecar = setting.Sidecar
	// Microphones is its part microphones.
	Microphones = setting.Microphones
	// NamedNumber is a number with its key.
	NamedNumber = setting.NamedNumber
	// NamedString is a text with its key.
	NamedString = setting.NamedString
)

// Find returns the value of name, and whether it is there.
func Find(list []NamedString, name string) (string, bool) { return setting.Find(list, name) }

// validateSection reports the faults of an optional section of ingest, which is at key. It does nothing for other
// settings, and for a section that the configuration leaves out.
func (e *Experiment) validateSection(section any, f *File, key string, fail failFunc) {
	switch s := section.(type) {
	case *setting.Simulate:
		validateSimulate(s, f, key, fail)
	case *setting.Table:
		validateTable(s, f, key, fail)
	case *setting.Reader:
		validateReader(s, e, key, fail)
	case *setting.Sidecar:
		validateSidecar(s, key, fail)
	case *setting.Tachometer:
		validateTachometer(s, key, fail)
	case *setting.Balance:
		validateBalance(s, f, e, key, fail)
	case *setting.Microphones:
		validateMicrophones(s, key, fail)
	case *setting.Calibration:
		validateCalibration(s, f, key, fail)
	case *setting.Background:
		validateBackground(s, e, key, fail)
	}
}

// validateIngest reports faults of the section ingest, which is at key. It returns false if none of files, simulate and
// table is given: without data the other sections cannot be judged.
func (e *Experiment) validateIngest(f *File, key string, fail failFunc) bool {
	section := &e.Ingest
	sources := 0
	for _, given := range []bool{len(section.Files) > 0, section.Simulate != nil, section.Table != nil} {
		if given {
			sources++
		}
	}

	fail.when(sources != 1, key, "expected one of files, simulate or table, found %d of them", sources)

	if len(section.Files) > 0 && !statesConditions(section) {
		fail(key, "expected conditions (a CSV file) or pattern (conditions in the file names), found neither; "+
			"without conditions there is nothing to learn from")
	}

	if sources == 0 {
		return false
	}

	for _, sf := range fields(reflect.TypeFor[Ingest]()) {
		v := reflect.ValueOf(section).Elem().FieldByIndex(sf.Index)
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			e.validateSection(v.Interface(), f, key+"."+sf.Tag.Get("key"), fail)
		}
	}

	checkEntries(fail, key+".uncertainty", section.Uncertainty, ParseUncertainty)
	validateConditions(section, key, fail)

	if f.Has(key + ".rate_hz") {
		fail.above(key+".rate_hz", "a rate", section.RateHz, most)
	}

	return true
}

// statesConditions reports whether a key says where the conditions of recordings are.
func statesConditions(in *Ingest) bool {
	beside := in.Conditions != "" || in.Pattern != "" || in.Sidecar != nil
	inFiles := len(in.Attributes) > 0 || len(in.InFile) > 0

	return beside || inFiles || len(in.Constants) > 0
}

// maxTolerance bounds the relative tolerance of a set point: within a wider one, neighbouring set points would be one.
const maxTolerance = 0.2

// validateConditions reports faults of where conditions come from, and of tolerances, constants and attributes.
func validateConditions(in *Ingest, key string, fail failFunc) {
	log := in.Log
	if in.Table != nil {
		log.Decimal = "" // it also concerns the numbers of the table, which needs no conditions
	}

	fail.when(in.Conditions == "" && len(Flatten("", log)) > 0, key+".log",
		"expected conditions: the table that it belongs to, found none")
	fail.when(len(in.InFile) > 0 && in.Conditions != "", key+".inside",
		"the conditions are in a table already; leave one of them out")

	var ends []string // of intervals
	for _, name := range []string{"row0", "row1", "t0_s", "t1_s"} {
		if _, isThere := Find(in.InFile, name); isThere {
			ends = append(ends, name)
		}
	}

	fail.when(len(ends) > 0, key+".inside", "expected conditions, found the ends of an interval (%s): list intervals in "+
		"the table conditions, in the columns row0 and row1 or t0_s and t1_s", strings.Join(ends, ", "))

	for _, entry := range in.Tolerances {
		tolerance, err := condition.ParseTolerance(entry.Value)
		switch {
		case err != nil:
			fail(key+".within."+entry.Name, "%v", err)
		case tolerance == (condition.Tolerance{}) || tolerance.Relative > maxTolerance:
			fail(key+".within."+entry.Name, "expected a tolerance above 0 and up to 20 %%, found %q", entry.Value)
		}
	}

	for _, c := range in.Constants {
		fail.within(key+".constants."+c.Name, "a number", c.Value, -most, most)
	}

	for _, a := range in.Attributes {
		fail.when(slices.ContainsFunc(in.Constants, func(c NamedNumber) bool { return c.Name == a.Name }),
			key+".attributes."+a.Name, "is among the constants too; keep one")
		fail.when(strings.TrimPrefix(a.Value, "@") == "", key+".attributes."+a.Name,
			"expected the name of an attribute, found %q", a.Value)
	}
}

// validateReader reports faults of the section, which is at key.
func validateReader(r *setting.Reader, e *Experiment, key string, fail failFunc) {
	switch {
	case len(r.Program) == 0 || r.Program[0] == "":
		fail(key, `expected a program and its arguments, e.g. [python3, convert.py, "{file}"], found none`)
	case !slices.ContainsFunc(r.Program[1:], func(a string) bool { return strings.Contains(a, "{file}") }):
		fail(key, `expected "{file}" among the arguments of %s: the file to convert`, r.Program[0])
	case e.Ingest.Format != "":
		fail(key, "the program writes Arrow IPC; leave format out")
	}

	fail.above(key+".timeout_s", "a time", r.TimeoutS, 1e6)
}

// validateBackground reports faults of the section, which is at key.
func validateBackground(b *setting.Background, e *Experiment, key string, fail failFunc) {
	fail.when(len(b.Files) == 0, key, "expected files: GLOB")
	fail.when(len(e.Ingest.Columns) > 0, key,
		"belongs to microphones; name the balance's recording without wind in balance.tare")
}

// maxPulses bounds the pulses of a revolution.
const maxPulses = 100_000

// validateTachometer reports faults of the section, which is at key.
func validateTachometer(t *setting.Tachometer, key string, fail failFunc) {
	fail.when(t.Channel == "", key, "expected channel: the one that counts the revolutions")

	fail.whole(key+".pulses_per_rev", "pulses", t.PulsesPerRev, 1, maxPulses)

	if t.Threshold != nil {
		fail.within(key+".threshold", "a level", *t.Threshold, -most, most)
	}
}
