package config

import (
	"slices"
	"strings"

	"doubletake/ingest/campaign"
)

// Ingest selects the files and describes their channels and conditions.
type Ingest struct {
	Files          []string      `key:"files"`
	Exclude        []string      `key:"exclude"`
	Simulate       *Simulate     `key:"simulate"`
	Table          *Table        `key:"table"`
	Data           string        `key:"data" enum:"measured|simulated"`
	Conditions     string        `key:"conditions"`
	Pattern        string        `key:"pattern"`
	Constants      []NamedNumber `key:"constants"`
	Derive         []NamedString `key:"derive"`
	Format         string        `key:"format" choices:"formats"`
	RateHz         float64       `key:"rate_hz"`
	Reader         *Reader       `key:"reader"`
	Truncated      string        `key:"truncated" enum:"error|use"`
	Attributes     []NamedString `key:"attributes"`
	Sidecar        *Sidecar      `key:"sidecar"`
	InFile         []NamedString `key:"inside"`
	Arrays         Arrays        `key:"arrays"`
	Text           Text          `key:"text"`
	ThetaFrom      string        `key:"theta_from" enum:"plane|axis"`
	Channels       []string      `key:"channels"`
	Columns        []NamedString `key:"columns"`
	Units          []NamedString `key:"units"`
	Axes           string        `key:"axes" enum:"wind|body"`
	Tachometer     *Tachometer   `key:"tachometer"`
	Balance        *Balance      `key:"balance"`
	Calibration    *Calibration  `key:"calibration"`
	Background     *Background   `key:"background"`
	OnBadRecording string        `key:"on_bad_recording" enum:"fail|skip|warn"`
}

// Simulate describes a simulated campaign; keys that do not belong to the campaign are errors.
type Simulate struct {
	Campaign  string    `key:"campaign" enum:"rotor|airfoil|toy"`
	Seed      uint64    `key:"seed" default:"0"`
	RateHz    float64   `key:"rate_hz"`
	DurationS float64   `key:"duration_s"`
	Encoding  string    `key:"encoding" enum:"|pcm16|float32"`
	Blades    []int     `key:"blades"`
	RPM       []float64 `key:"rpm"`
	ThetaDeg  []float64 `key:"theta_deg"`
	AlphaDeg  []float64 `key:"alpha_deg"`
	SpeedMS   []float64 `key:"u_inf_m_s"`
	Triplets  int       `key:"triplets"`
	Gamma     float64   `key:"gamma"`
}

// Table describes files that already hold pairs.
type Table struct {
	File     []string      `key:"file"`
	Inputs   []string      `key:"inputs"`
	Y1       []string      `key:"y1"`
	Y2       []string      `key:"y2"`
	Repeats  []string      `key:"repeats"`
	Within   []NamedString `key:"within"`
	Correct  []NamedString `key:"correct"`
	Use      string        `key:"use" enum:"|disjoint|all"`
	Outcomes []string      `key:"outcomes"`
	Run      string        `key:"run"`
	Units    []NamedString `key:"units"`
	Pairs    string        `key:"pairs" enum:"|same-run|repeat-run|synthetic"`
}

// Text guides the reader of delimited text.
type Text struct {
	Delimiter string   `key:"delimiter" enum:"|comma|semicolon|tab|blanks"`
	Columns   []string `key:"columns"`
	Time      string   `key:"time"`
}

// Arrays names the attributes of files that hold named arrays.
type Arrays struct {
	RateAttribute   string `key:"rate_attribute"`
	PeriodAttribute string `key:"period_attribute"`
	UnitAttribute   string `key:"unit_attribute"`
	TimeAxis        string `key:"time_axis" enum:"|first|last"`
}

// Calibration is the chain from samples to pascal.
type Calibration struct {
	Unit              string  `key:"unit" enum:"|Pa|full-scale"`
	FullScaleV        float64 `key:"full_scale_v"`
	Reading           string  `key:"reading" enum:"|peak|rms"`
	SensitivityVPerPa float64 `key:"sensitivity_v_per_pa"`
	GainDB            float64 `key:"gain_db" default:"0"`
	PaPerUnit         float64 `key:"pa_per_unit"`

	Calibrator *Calibrator `key:"calibrator"`
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
		if _, err := campaign.ParseTolerance(w.Value); err != nil {
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
	if len(in.InFile) > 0 && in.Conditions != "" {
		fail(key+".inside", "the conditions are in a table already; leave one of them out")
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
	for _, k := range []string{
		"conditions", "pattern", "constants", "attributes", "sidecar", "inside", "arrays", "balance", "tachometer",
		"calibration", "background", "columns", "format", "reader", "exclude", "channels", "theta_from",
	} {
		if f.Has(key + "." + k) {
			fail(key+"."+k, "a simulated campaign brings its own; leave the key out")
		}
	}
}
