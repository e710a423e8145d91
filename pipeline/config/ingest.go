package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/setpoint"
	"doubletake/ingest/simulate"
)

// Ingest selects the files and describes their channels and conditions.
type Ingest struct {
	// recordings: one or more globs, relative to this file
	Files []string `key:"files"`

	// globs of files to leave out
	Exclude []string `key:"exclude"`

	// a simulated campaign instead of files
	Simulate *Simulate `key:"simulate"`

	// a table that already holds pairs of repeated measurements: a path, or a mapping that names the columns
	Table *Table `key:"table"`

	// measured, or simulated; everything made from simulated data is called simulated
	Data string `key:"data" enum:"measured|simulated"`

	// CSV file, or a log as it was typed, with the columns file[,channel][,row0,row1] and one column per condition;
	// names in a column of text can be held out and be groups
	Conditions string `key:"conditions"`

	// how to read that table, where its content does not show it
	Log Log `key:"log"`

	// conditions from the file name, e.g. naca0012_a{alpha_deg}_u{u_inf_m_s}.csv, and names as {propeller:text}
	Pattern string `key:"pattern"`

	// conditions with the same value for every recording, e.g. blades: 2; of a table: numbers for derive
	Constants []NamedNumber `key:"constants"`

	// how far measured values of a condition may lie from the middle of their set point, e.g. {rpm: 0.5 %,
	// u_inf_m_s: 0.2}. The model takes the values; set points name conditions, repeats, groups and splits:
	// 2994 … 3008 are 3000 ± 8
	Within []NamedString `key:"within"`

	// conditions and outcomes by expressions of conditions, constants and outcomes, e.g. ct:
	// thrust_n/(rho*n_rps^2*diameter_m^4). Functions: abs acos asin atan atan2 cos exp floor hypot log log10 max
	// min round sin sqrt tan
	Derive []NamedString `key:"derive"`

	// uncertainties for budget of constants, conditions, outcomes and of the references of dsp, e.g. rho_kg_m3: "± 1 %, k
	// 2", span_m: "± 0.5e-3, rectangular", lift_n: "u 0.02, dof 12"
	Uncertainty []NamedString `key:"uncertainty"`

	// format of the files; empty: found from their content
	Format string `key:"format" choices:"formats"`

	// sampling rate in Hz where the files do not state it
	RateHz float64 `key:"rate_hz"`

	// a program of yours that reads files of other formats: it and its arguments, e.g. [python3, convert.py,
	// "{file}"], or a mapping
	Reader *Reader `key:"reader"`

	// for a file shorter than its header claims: error refuses it, use takes the part that exists
	Truncated string `key:"truncated" enum:"error|use"`

	// conditions from attributes of the files: an attribute, a single number among the arrays, or @NAME, an
	// attribute of the channel
	Attributes []NamedString `key:"attributes"`

	// conditions from a YAML (or JSON) file next to each recording: its ending, e.g. .yaml, or a mapping that
	// names the numbers
	Sidecar *Sidecar `key:"sidecar"`

	// conditions from a table inside the files (MAT, HDF5, NPZ, TDMS), as condition: array. The array has a
	// value for each channel used; with row0 and row1 among them, a value for each interval of samples
	InFile []NamedString `key:"inside"`

	// names of attributes in files of named arrays (MAT, HDF5, TDMS, NPZ), where they are not the usual ones
	Arrays Arrays `key:"arrays"`

	// how to read delimited text, where its content does not show it
	Text Text `key:"text"`

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
	Axes string `key:"axes" enum:"wind|body"`

	// a channel that counts the shaft's revolutions; it replaces the condition rpm and track
	Tachometer *Tachometer `key:"tachometer"`

	// a balance that records voltages: its matrix, its tare, the flow
	Balance *Balance `key:"balance"`

	// how microphone samples become Pa; without it levels are relative to full scale
	Calibration *Calibration `key:"calibration"`

	// recordings without the source under test. Their level in the bins of each harmonic is stored with it,
	// never subtracted
	Background *Background `key:"background"`

	// fail stops the run; skip leaves the recording out and lists it in the report; warn leaves out only the
	// bad part (a channel, an interval, the missing end of a file) and lists it
	OnBadRecording string `key:"on_bad_recording" enum:"fail|skip|warn"`
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
	File []string `key:"file"`

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

	// column that names the run; file, where no column is called so: each file is a run; empty: rows of equal
	// condition form a run
	Run string `key:"run"`

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
}

// Text guides the reader of delimited text.
type Text struct {
	// character between columns; empty: found from the content
	Delimiter string `key:"delimiter" enum:"|comma|semicolon|tab|blanks"`

	// column names when the file has no header
	Columns []string `key:"columns"`

	// column or array with the time in s; empty: found by its name
	Time string `key:"time"`
}

// Arrays names the attributes of files that hold named arrays.
type Arrays struct {
	// attribute, or single number among the arrays, with the sampling rate in Hz
	RateAttribute string `key:"rate_attribute"`

	// attribute, or single number among the arrays, with the sampling period in s; empty:
	// ChannelInformationSamplingPeriod, wf_increment, dt and the like
	PeriodAttribute string `key:"period_attribute"`

	// attribute of a channel with its unit
	UnitAttribute string `key:"unit_attribute"`

	// axis of time of arrays of several axes (those of MATLAB as it counts them), middle of three; empty: by the axes'
	// names, else the longest if it is the first or the last
	TimeAxis string `key:"time_axis" enum:"|first|middle|last"`
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

	// pascal per sample unit, instead of the chain
	PaPerUnit float64 `key:"pa_per_unit"`

	// recording of a sound calibrator with the same chain and gain, instead of the chain's numbers
	Calibrator *Calibrator `key:"calibrator"`

	// uncertainties of the chain for budget, in dB or %, e.g. calibrator: "± 0.2 dB, k 2", sensitivity_v_per_pa: "± 2 %,
	// rectangular"
	Uncertainty []NamedString `key:"uncertainty"`
}

// resolve sets the origin of the pairs where it is not given.
func (t *Table) resolve() {
	switch {
	case t.Pairs != "":
	case len(t.Repeats) > 0:
		t.Pairs = "repeat-run"
	default:
		t.Pairs = "same-run"
	}
}

// recordingKeys are the keys of ingest that a table does not read.
var recordingKeys = []string{
	"format", "rate_hz", "reader", "truncated", "attributes", "sidecar", "inside", "arrays", "theta_from", "channels",
	"columns", "units", "axes", "tachometer", "balance", "calibration", "background", "on_bad_recording",
}

// validate reports faults of the section.
func (t *Table) validate(key string, fail failFunc) {
	if len(t.File) == 0 || slices.Contains(t.File, "") {
		fail(key, "expected file: PATH, found none")
	}

	for _, w := range t.Within {
		if _, err := setpoint.Parse(w.Value); err != nil {
			fail(key+".within."+w.Name, "%v", err)
		}
	}

	for _, c := range t.Correct {
		if _, err := campaign.ParseLaw(c.Value); err != nil {
			fail(key+".correct."+c.Name, "%v", err)
		}
	}

	if len(t.Repeats) > 0 {
		return
	}

	for _, k := range []struct {
		key   string
		given bool
	}{{"within", len(t.Within) > 0}, {"correct", len(t.Correct) > 0}, {"use", t.Use != ""}} {
		if k.given {
			fail(key+"."+k.key, "belongs to repeats, the columns of single measurements")
		}
	}
}

// validate reports faults of the section. It returns false where nothing states
// which data are meant, so that the other sections cannot be judged.
func (in *Ingest) validate(f *File, key string, fail failFunc) bool {
	sources := 0
	for _, has := range []bool{len(in.Files) > 0, in.Simulate != nil, in.Table != nil} {
		if has {
			sources++
		}
	}

	if sources != 1 {
		fail(key, "expected one of files, simulate or table, found %d of them", sources)
	}

	if len(in.Files) > 0 && in.Conditions == "" && in.Pattern == "" && len(in.Constants) == 0 &&
		len(in.Attributes) == 0 && in.Sidecar == nil && len(in.InFile) == 0 {
		fail(key, "expected conditions (a CSV file) or pattern (conditions in the file names), found neither; "+
			"without conditions there is nothing to learn from")
	}

	if sources == 0 {
		return false
	}

	if in.Simulate != nil {
		in.validateSimulate(f, key, fail)
	}

	if in.Table != nil {
		in.Table.validate(key+".table", fail)

		for _, k := range recordingKeys {
			if f.Has(key + "." + k) {
				fail(key+"."+k, "belongs to recordings; a table of pairs is taken as it is")
			}
		}
	}

	if in.Tachometer != nil {
		in.Tachometer.validate(key+".tachometer", fail)
	}

	checkUncertainties(in.Uncertainty, key+".uncertainty", fail)

	if in.Calibration != nil {
		in.Calibration.validate(f, key+".calibration", fail)
	}

	if in.Reader != nil {
		in.Reader.validate(in, key+".reader", fail)
	}

	if in.Sidecar != nil {
		in.Sidecar.validate(key+".sidecar", fail)
	}

	if in.Balance != nil {
		in.Balance.validate(f, in, key+".balance", fail)
	}

	in.validateConditions(key, fail)

	if f.Has(key + ".rate_hz") {
		fail.above(key+".rate_hz", "a rate", in.RateHz, most)
	}

	return true
}

// validateConditions reports conditions that come from two places, or from none.
func (in *Ingest) validateConditions(key string, fail failFunc) {
	if in.Conditions == "" && len(in.Log.Columns)+len(in.Log.Missing)+len(in.Log.Ignore) > 0 {
		fail(key+".log", "expected conditions: the table that it belongs to, found none")
	}

	if len(in.InFile) > 0 && in.Conditions != "" {
		fail(key+".inside", "the conditions are in a table already; leave one of them out")
	}

	for _, w := range in.Within {
		if t, err := setpoint.Parse(w.Value); err != nil {
			fail(key+".within."+w.Name, "%v", err)
		} else if t == (setpoint.Tolerance{}) || t.Relative > 0.2 {
			fail(key+".within."+w.Name, "expected a tolerance above 0 and up to 20 %%, found %q", w.Value)
		}
	}

	for _, c := range in.Constants {
		fail.within(key+".constants."+c.Name, "a number", c.Value, -most, most)
	}

	for _, a := range in.Attributes {
		if slices.ContainsFunc(in.Constants, func(c NamedNumber) bool { return c.Name == a.Name }) {
			fail(key+".attributes."+a.Name, "is among the constants too; keep one")
		}

		if strings.TrimPrefix(a.Value, "@") == "" {
			fail(key+".attributes."+a.Name, "expected the name of an attribute, found %q", a.Value)
		}
	}
}

// campaignKeys are the keys that each simulated campaign has.
var campaignKeys = map[string][]string{
	"rotor":   {"rate_hz", "duration_s", "encoding", "blades", "rpm", "theta_deg"},
	"airfoil": {"rate_hz", "duration_s", "alpha_deg", "u_inf_m_s"},
	"toy":     {"triplets", "gamma"},
}

// validateSimulate reports keys that do not go with a simulated campaign. The
// campaign itself checks its numbers when it is planned.
func (in *Ingest) validateSimulate(f *File, key string, fail failFunc) {
	if f.Has(key + ".data") {
		fail(key+".data", "a simulated campaign is always called simulated; leave the key out")
	}

	s := in.Simulate
	if s.Campaign == "" {
		fail(key+".simulate", "expected campaign: rotor, airfoil or toy, found none")
		return
	}

	allowed := campaignKeys[s.Campaign]
	for _, keys := range campaignKeys {
		for _, k := range keys {
			if f.Has(key+".simulate."+k) && !slices.Contains(allowed, k) {
				fail(key+".simulate."+k, "does not belong to the %s campaign, which takes %s", s.Campaign,
					strings.Join(allowed, ", "))
			}
		}
	}

	s.complete(func(k string) bool { return f.Has(key + ".simulate." + k) })

	for _, k := range []string{
		"conditions", "log", "pattern", "constants", "attributes", "sidecar", "inside", "arrays", "balance", "tachometer",
		"calibration", "background", "columns", "format", "reader", "exclude", "channels", "theta_from",
	} {
		if f.Has(key + "." + k) {
			fail(key+"."+k, "a simulated campaign brings its own; leave the key out")
		}
	}
}

// complete takes the campaign's own value of every key that is not given: zero is a value, and
// the values belong into the tables' metadata.
func (s *Simulate) complete(given func(key string) bool) {
	own := *s
	switch s.Campaign {
	case "rotor":
		r := simulate.DefaultRotor()
		own.RateHz, own.DurationS, own.Encoding, own.ThetaDeg = r.RateHz, r.DurationS, r.Encoding, r.ThetaDeg
	case "airfoil":
		a := simulate.DefaultAirfoil()
		own.RateHz, own.DurationS = a.RateHz, a.DurationS
	case "toy":
		t := simulate.DefaultToy()
		own.Triplets, own.Gamma = t.N, t.Gamma
	}

	for _, f := range fields(reflect.TypeFor[Simulate]()) {
		if !given(f.Tag.Get("key")) {
			reflect.ValueOf(s).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(own).FieldByIndex(f.Index))
		}
	}
}

// slash gives the paths of the user's one separator, so that the same project has the same
// settings, tables and pages on all systems.
func (in *Ingest) slash() {
	list := func(l []string) {
		for i := range l {
			l[i] = filepath.ToSlash(l[i])
		}
	}
	one := func(p *string) { *p = filepath.ToSlash(*p) }

	list(in.Files)
	list(in.Exclude)
	one(&in.Conditions)
	one(&in.Pattern)

	if in.Table != nil {
		list(in.Table.File)
	}

	if in.Background != nil {
		list(in.Background.Files)
	}

	if in.Balance != nil && in.Balance.Tare != nil {
		one(&in.Balance.Tare.File)
	}

	if in.Calibration != nil && in.Calibration.Calibrator != nil {
		c := in.Calibration.Calibrator
		one(&c.File)

		for i := range c.Recordings {
			one(&c.Recordings[i].Value)
		}
	}
}
