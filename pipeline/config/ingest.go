package config

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/simulate"
)

// Ingest selects the files and describes their channels and conditions. The task that reads a file reads none of the
// settings with the tag only: others.
type Ingest struct {
	// recordings: one or more globs, relative to this file
	Files []string `key:"files" path:"yes" only:"others"`

	// what is left out: names or globs of files, recordings and rows of a table by their conditions, e.g. [take3.wav,
	// {propeller: APC-8x6, rpm: 5000, reason: a blade was loose}], or {file: take4.wav, reason: …}. The page prints it
	Exclude Exclusions `key:"exclude" only:"others"`

	// a simulated campaign instead of files
	Simulate *Simulate `key:"simulate" only:"others"`

	// a table that already holds pairs of repeated measurements: a path, or a mapping that names the columns
	Table *Table `key:"table"`

	// measured, or simulated; everything made from simulated data is called simulated
	Data string `key:"data" enum:"measured|simulated" only:"others"`

	// CSV file, or a log as it was typed, with the columns file[,channel][,row0,row1] and one column per condition;
	// names in a column of text can be held out and be groups
	Conditions string `key:"conditions" path:"yes" only:"others"`

	// how to read that table, where its content does not show it
	Log Log `key:"log" only:"others"`

	// conditions from the file name, e.g. naca0012_a{alpha_deg}_u{u_inf_m_s}.csv, and names as {propeller:text}
	Pattern string `key:"pattern" path:"yes"`

	// column (of the table of conditions or of results), field of pattern or attribute that names the run: rows and
	// recordings of one run share its set-up. Empty: one called run, else a row or an interval of a file is a run
	Run string `key:"run"`

	// columns whose cells are names of things (propellers, wings, motors), even where they look like numbers. They
	// are groups: repeats are those of one thing
	Things []string `key:"things"`

	// columns that name occasions (days, sessions, mountings), likewise
	Occasions []string `key:"occasions"`

	// conditions with the same value for every recording, e.g. blades: 2; of a table: numbers for derive
	Constants []NamedNumber `key:"constants"`

	// how far measured values of a condition may lie from the middle of their set point, e.g. {rpm: 0.5 %,
	// u_inf_m_s: 0.2}. The model takes the values; set points name conditions, repeats, groups and splits:
	// 2994 … 3008 are 3000 ± 8
	Within []NamedString `key:"within" only:"others"`

	// conditions and outcomes by expressions of conditions, constants and outcomes, e.g. ct:
	// thrust_n/(rho*n_rps^2*diameter_m^4); names are compared: 'profile == "Clark-Y" ? 0.03 : 0'. Functions: abs acos
	// asin atan atan2 cos exp floor hypot log log10 max min round sin sqrt tan
	Derive []NamedString `key:"derive" only:"others"`

	// uncertainties for budget of constants, conditions, outcomes and of the references of dsp, e.g. rho_kg_m3: "± 1 %, k
	// 2", span_m: "± 0.5e-3, rectangular", lift_n: "u 0.02, dof 12"
	Uncertainty []NamedString `key:"uncertainty" only:"others"`

	// format of the files; empty: found from their content
	Format string `key:"format" choices:"formats"`

	// sampling rate in Hz where the files do not state it
	RateHz float64 `key:"rate_hz"`

	// a program of yours that reads files of other formats: it and its arguments, e.g. [python3, convert.py,
	// "{file}"], or a mapping
	Reader *Reader `key:"reader" only:"others"`

	// numbers that mean a value is not there, e.g. [-9999]: rows of tables of results with one are left out, a log states
	// nothing there, and such samples of recordings are interpolated between their neighbours; warnings count them
	Missing []string `key:"missing" omit:"zero"`

	// for a file shorter than its header claims: error refuses it, use takes the part that exists
	Truncated string `key:"truncated" enum:"error|use"`

	// conditions from attributes of the files: an attribute, a single number among the arrays, or @NAME, an
	// attribute of the channel; a name where things, occasions or run declare it
	Attributes []NamedString `key:"attributes"`

	// conditions from a YAML (or JSON) file next to each recording: its ending, e.g. .yaml, or a mapping that
	// names the numbers
	Sidecar *Sidecar `key:"sidecar"`

	// conditions from a table inside the files (MAT, HDF5, NPZ, TDMS), as condition: array. The array has a
	// value for each channel used
	InFile []NamedString `key:"inside"`

	// names of attributes in files of named arrays (MAT, HDF5, TDMS, NPZ), where they are not the usual ones
	Arrays ingest.ArrayOptions `key:"arrays"`

	// how to read delimited text, where its content does not show it
	Text ingest.TextOptions `key:"text"`

	// how the data count theta_deg: from the rotor plane (0 in it, as in the tables), or from the axis (0 on
	// the inflow side, 90 in the plane, 180 downstream), which is converted to 90 - theta_deg
	ThetaFrom string `key:"theta_from" enum:"plane|axis"`

	// channels to use, by name or number from 1; empty: all
	Channels []string `key:"channels"`

	// columns by outcome name: lift_n, drag_n (wind axes) or fx_n, fz_n (body axes), or any other name
	Columns []NamedString `key:"columns"`

	// units of the data, by outcome or condition; they replace what the files state. Values are converted to
	// the unit that the name states: lift_n: kN is multiplied by 1000
	Units []NamedString `key:"units"`

	// axes of the balance: wind, or body (Fx aft, Fz up), which are rotated by alpha_deg
	Axes string `key:"axes" enum:"wind|body" only:"others"`

	// a channel that counts the shaft's revolutions; it replaces the condition rpm and track
	Tachometer *Tachometer `key:"tachometer"`

	// a balance that records voltages: its matrix, its tare, the flow
	Balance *Balance `key:"balance" only:"others"`

	// table of the microphones: channel (name or number from 1), sensitivity_v_per_pa, gain_db, and conditions of each, as
	// theta_deg. Its channels are used where channels names none
	Microphones string `key:"microphones" path:"yes" only:"others"`

	// how microphone samples become Pa; without it levels are relative to full scale
	Calibration *Calibration `key:"calibration"`

	// recordings without the source under test. Their level in the bins of each harmonic is stored with it,
	// never subtracted
	Background *Background `key:"background" only:"others"`

	// fail stops the run; skip leaves the recording out and lists it in the report
	OnBadRecording string `key:"on_bad_recording" enum:"fail|skip" only:"others"`
}

// Simulate describes a simulated campaign; keys that do not belong to the campaign are errors.
type Simulate struct {
	// the sound of rotors, an airfoil on a force balance, or the paper's toy
	Campaign string `key:"campaign" enum:"rotor|airfoil|toy"`

	// seed of the campaign
	Seed uint64 `key:"seed" default:"0"`

	// sampling rate in Hz (rotor 10240, airfoil 1000)
	RateHz float64 `key:"rate_hz"`

	// length of each recording in s (rotor 8, airfoil 10)
	DurationS float64 `key:"duration_s"`

	// rotor: sample format of the WAV files (pcm16)
	Encoding string `key:"encoding" enum:"|pcm16|float32"`

	// rotor: blade counts (2, 3, 4, 5)
	Blades []int `key:"blades"`

	// rotor: shaft speeds in 1/min (2000 to 9000 by 500)
	RPM []float64 `key:"rpm"`

	// rotor: microphone angles in degrees from the rotor plane (-60 to 60 by 10)
	ThetaDeg []float64 `key:"theta_deg"`

	// airfoil: angles of attack in degrees (-11 to 11 by 0.5)
	AlphaDeg []float64 `key:"alpha_deg"`

	// airfoil: free-stream speeds in m/s (4.7, 7.3, 9.1, 11.9, 14.1)
	SpeedMS []float64 `key:"u_inf_m_s"`

	// toy: number of triplets (1000)
	Triplets int `key:"triplets"`

	// toy: noise amplitude γ of the paper (1.5)
	Gamma float64 `key:"gamma"`
}

// Table describes files that already hold pairs.
type Table struct {
	// the table, or a list of files and globs whose rows are one table; pattern and conditions of ingest give
	// conditions that are no columns
	File []string `key:"file" short:"yes" path:"yes"`

	// columns that are conditions; empty: all that are no outcome
	Inputs []string `key:"inputs"`

	// columns of the first outcomes; empty: those ending in _1
	Y1 []string `key:"y1"`

	// columns of the second outcomes; empty: those ending in _2
	Y2 []string `key:"y2"`

	// columns of single measurements instead of y1 and y2: rows of equal condition are paired
	Repeats []string `key:"repeats"`

	// repeats: conditions are equal within these tolerances, e.g. {rpm: 1 %, tsr: 0.01}; the condition of a
	// pair is the mean of the two
	Within []NamedString `key:"within"`

	// repeats: outcomes are corrected to the pair's condition by a power law, e.g. {thrust_n: rpm^2}
	Correct []NamedString `key:"correct"`

	// repeats: disjoint pairs use every row once, all takes all r(r-1)/2 pairs of r rows, weighted so that r
	// rows count as r; empty: disjoint
	Use string `key:"use" enum:"|disjoint|all"`

	// names of the outcomes; empty: from the columns
	Outcomes []string `key:"outcomes"`

	// column that names the run; file, where no column is called so: each file is a run; empty: a column run,
	// else rows of equal condition form a run
	Run string `key:"run"`

	// repeats: column of an occasion (a day, a session, a mounting) across which rows are paired, each as the first
	// of a pair of half the weight; each occasion can be held out, and its rows are one run; pairs: {across: Day} is
	// short for it
	Across string `key:"across"`

	// units of the columns, by condition or outcome name; they replace those of the header. Values are
	// converted to the unit that the name states
	Units []NamedString `key:"units"`

	// origin of the pairs: both from one run, from repeated runs, or drawn from a known law; empty: repeat-run
	// of repeats, else same-run
	Pairs string `key:"pairs" enum:"|same-run|repeat-run|synthetic"`
}

// Log guides the reader of the table of conditions.
type Log struct {
	// columns by condition, as the header calls them, e.g. {rpm: "Drehzahl [1/min]"}; file: the recordings
	Columns []NamedString `key:"columns"`

	// columns that are no conditions, such as counters and readings: runs that differ in them alone are repeats
	Ignore []string `key:"ignore"`

	// texts, besides -, n/a, NaN, #N/A and the like, that mean a value is not there
	Missing []string `key:"missing"`

	// decimal sign of numbers like 1,234 that no other cell shows, in tables of results too
	Decimal string `key:"decimal" enum:"|point|comma"`
}

// Calibration is the chain from samples to pascal.
type Calibration struct {
	// unit of the samples as they are: Pa, or full-scale
	Unit string `key:"unit" enum:"|Pa|full-scale"`

	// voltage of a full-scale sample in V
	FullScaleV float64 `key:"full_scale_v"`

	// whether that voltage is a peak or an rms value
	Reading string `key:"reading" enum:"|peak|rms"`

	// microphone sensitivity in V/Pa
	SensitivityVPerPa float64 `key:"sensitivity_v_per_pa"`

	// amplifier gain in dB between microphone and recorder
	GainDB float64 `key:"gain_db" default:"0"`

	// the same by channel, beyond gain_db or the calibrator's; gain_db: {5: -6.02} is short for it
	ChannelGainDB []NamedNumber `key:"channel_gain_db"`

	// pascal per sample unit, instead of the chain
	PaPerUnit float64 `key:"pa_per_unit"`

	// recording of a sound calibrator with the same chain and gain, instead of the chain's numbers
	Calibrator *Calibrator `key:"calibrator"`

	// uncertainties of the chain for budget, in dB or %, e.g. calibrator: "± 0.2 dB, k 2", sensitivity_v_per_pa: "± 2 %,
	// rectangular"
	Uncertainty []NamedString `key:"uncertainty" only:"others"`
}

// Across is the occasion that repeats of an experiment are paired across, and the key that names it; "": none.
func (e *Experiment) Across() (name, key string) {
	if e.Ingest.Table == nil {
		return e.DSP.Across, "dsp.across"
	}
	return e.Ingest.Table.Across, "ingest.table.across"
}

// resolve sets the origin of the pairs where it is not given.
func (t *Table) resolve() {
	if t.Pairs == "" && len(t.Repeats) > 0 {
		t.Pairs = "repeat-run"
	}

	t.Pairs = cmp.Or(t.Pairs, "same-run")
}

// recordingKeys are the keys of ingest that a table does not read.
var recordingKeys = []string{
	"format", "rate_hz", "reader", "truncated", "attributes", "sidecar", "inside", "arrays", "theta_from", "channels",
	"columns", "units", "axes", "tachometer", "balance", "microphones", "calibration", "background", "on_bad_recording",
}

// validate reports faults of the section.
func (t *Table) validate(f *File, _ *Experiment, key string, fail failFunc) {
	fail.when(len(t.File) == 0 || slices.Contains(t.File, ""), key, "expected file: PATH, found none")

	fail.refuse(f, strings.TrimSuffix(key, ".table"), "belongs to recordings; a table of pairs is taken as it is",
		recordingKeys...)
	entries(fail, key+".within", t.Within, condition.ParseTolerance)
	entries(fail, key+".correct", t.Correct, campaign.ParseLaw)

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
		{"within", len(t.Within) > 0}, {"correct", len(t.Correct) > 0}, {"use", t.Use != ""}, {"across", t.Across != ""},
	} {
		fail.when(k.given, key+"."+k.key, "belongs to repeats, the columns of single measurements")
	}
}

// optional is a section of ingest that may be there.
type optional interface {
	validate(f *File, e *Experiment, key string, fail failFunc)
}

// validate reports faults of the section. It returns false where nothing states
// which data are meant, so that the other sections cannot be judged.
func (in *Ingest) validate(f *File, e *Experiment, key string, fail failFunc) bool {
	given := []bool{len(in.Files) > 0, in.Simulate != nil, in.Table != nil}
	sources := len(slices.DeleteFunc(given, func(has bool) bool { return !has }))
	fail.when(sources != 1, key, "expected one of files, simulate or table, found %d of them", sources)

	if len(in.Files) > 0 && in.Conditions == "" && in.Pattern == "" && len(in.Constants) == 0 &&
		len(in.Attributes) == 0 && in.Sidecar == nil && len(in.InFile) == 0 {
		fail(key, "expected conditions (a CSV file) or pattern (conditions in the file names), found neither; "+
			"without conditions there is nothing to learn from")
	}

	if sources == 0 {
		return false
	}

	for _, sf := range fields(reflect.TypeFor[Ingest]()) {
		v := reflect.ValueOf(in).Elem().FieldByIndex(sf.Index)
		if s, ok := v.Interface().(optional); ok && !v.IsNil() {
			s.validate(f, e, key+"."+sf.Tag.Get("key"), fail)
		}
	}

	entries(fail, key+".uncertainty", in.Uncertainty, ParseUncertainty)
	in.validateConditions(key, fail)

	if f.Has(key + ".rate_hz") {
		fail.above(key+".rate_hz", "a rate", in.RateHz, most)
	}

	return true
}

// validateConditions reports conditions that come from two places, or from none.
func (in *Ingest) validateConditions(key string, fail failFunc) {
	log := in.Log
	if in.Table != nil {
		log.Decimal = "" // of its numbers too
	}

	fail.when(in.Conditions == "" && len(Flatten("", log)) > 0, key+".log",
		"expected conditions: the table that it belongs to, found none")
	fail.when(len(in.InFile) > 0 && in.Conditions != "", key+".inside",
		"the conditions are in a table already; leave one of them out")

	_, cut := Find(in.InFile, "row0")
	fail.when(cut, key+".inside", "row0 and row1 went: list intervals in conditions, with columns row0,row1 or t0_s,t1_s")

	for _, w := range in.Within {
		if t, err := condition.ParseTolerance(w.Value); err != nil {
			fail(key+".within."+w.Name, "%v", err)
		} else if t == (condition.Tolerance{}) || t.Relative > 0.2 {
			fail(key+".within."+w.Name, "expected a tolerance above 0 and up to 20 %%, found %q", w.Value)
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

// campaignKeys are the keys that each simulated campaign has.
var campaignKeys = map[string][]string{
	"rotor":   {"rate_hz", "duration_s", "encoding", "blades", "rpm", "theta_deg"},
	"airfoil": {"rate_hz", "duration_s", "alpha_deg", "u_inf_m_s"},
	"toy":     {"triplets", "gamma"},
}

// validate reports keys that do not go with a simulated campaign. The
// campaign itself checks its numbers when it is planned.
func (s *Simulate) validate(f *File, _ *Experiment, key string, fail failFunc) {
	section := strings.TrimSuffix(key, ".simulate")
	fail.refuse(f, section, "a simulated campaign is always called simulated; leave the key out", "data")

	if s.Campaign == "" {
		fail(key, "expected campaign: rotor, airfoil or toy, found none")
		return
	}

	allowed := campaignKeys[s.Campaign]
	for _, keys := range campaignKeys {
		for _, k := range keys {
			fail.when(f.Has(key+"."+k) && !slices.Contains(allowed, k), key+"."+k,
				"does not belong to the %s campaign, which takes %s", s.Campaign, strings.Join(allowed, ", "))
		}
	}

	s.complete(func(k string) bool { return f.Has(key + "." + k) })
	fail.refuse(f, section, "a simulated campaign brings its own; leave the key out", "conditions", "log", "pattern",
		"constants", "attributes", "sidecar", "inside", "arrays", "balance", "tachometer", "microphones", "calibration",
		"background",
		"columns", "format", "reader", "exclude", "channels", "theta_from")
}

// complete takes the campaign's own value of every key that is not given: zero is a value, and
// the values belong into the tables' metadata.
func (s *Simulate) complete(given func(key string) bool) {
	c, err := simulate.New(s.Campaign)
	if err != nil {
		return // a fault that is known
	}

	for name, key := range simulate.Keys(c) {
		to, _ := locate(reflect.ValueOf(s).Elem(), key)
		if own := reflect.ValueOf(c).FieldByName(name); !given(key) && (own.Kind() != reflect.Slice || key == "theta_deg") {
			to.Set(own) // other lists make the files, each of which has a task of its own
		}
	}
}

// Described is the campaign as it is stated; lists that are not there leave its own.
func (s *Simulate) Described() (simulate.Campaign, error) {
	c, err := simulate.New(s.Campaign)
	if err != nil {
		return nil, err
	}

	of := reflect.New(reflect.TypeOf(c)).Elem()
	of.Set(reflect.ValueOf(c))
	for name, key := range simulate.Keys(c) {
		if v, _ := locate(reflect.ValueOf(s).Elem(), key); v.Kind() != reflect.Slice || v.Len() > 0 {
			of.FieldByName(name).Set(v)
		}
	}

	c = of.Interface().(simulate.Campaign)

	return c, c.Validate()
}

// slash gives the texts of fields with the tag path one separator, so that the same project has the same
// settings, tables and pages on all systems.
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

// Reader is a program that converts files no format reads.
type Reader struct {
	// the program and its arguments; {file} is the path of the file. It writes an Arrow IPC stream to its
	// standard output
	Program []string `key:"program" short:"yes"`

	// any text, part of the key: a new one reads the files again. The program and the files among its
	// arguments need none: they are hashed
	Version string `key:"version"`

	// longest time for one file in s
	TimeoutS float64 `key:"timeout_s"`
}

func (r *Reader) setDefaults() { r.TimeoutS = 600 }

func (r *Reader) validate(_ *File, e *Experiment, key string, fail failFunc) {
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

// Background names the recordings without the source under test.
type Background struct {
	// recordings of the background: one or more globs; files that are also the experiment's are left out there
	Files []string `key:"files" path:"yes"`
}

func (b *Background) validate(_ *File, e *Experiment, key string, fail failFunc) {
	fail.when(len(b.Files) == 0, key, "expected files: GLOB")
	fail.when(len(e.Ingest.Columns) > 0, key, "belongs to microphones; what a balance reads without wind is balance.tare")
}

// Tachometer is a channel that counts the shaft's revolutions.
type Tachometer struct {
	// the channel, by name or number from 1
	Channel string `key:"channel"`

	// pulses in one revolution of the shaft
	PulsesPerRev int `key:"pulses_per_rev"`

	// the edge of a pulse that counts
	Edge string `key:"edge" enum:"rising|falling"`

	// level of an edge in the file's unit, more than a fifth of the channel's range from both its extremes;
	// not given: midway between them
	Threshold *float64 `key:"threshold"`
}

// maxPulses bounds the pulses of a revolution.
const maxPulses = 100_000

func (t *Tachometer) setDefaults() { t.PulsesPerRev, t.Edge = 1, "rising" }

func (t *Tachometer) validate(_ *File, _ *Experiment, key string, fail failFunc) {
	fail.when(t.Channel == "", key, "expected channel: which one counts the revolutions")

	fail.whole(key+".pulses_per_rev", "pulses", t.PulsesPerRev, 1, maxPulses)

	if t.Threshold != nil {
		fail.within(key+".threshold", "a level", *t.Threshold, -most, most)
	}
}
