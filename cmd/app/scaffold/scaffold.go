// Package scaffold looks at a folder of measurements and writes a commented
// pipeline.yaml that fits it: formats, channels, rates, conditions in the names
// and in tables. It shows the role of every column, and of every part of the names, with
// the reason (package role). Settings it cannot know become comments that ask for them.
// It reads headers and tables, and of the first recording some samples, and writes nothing:
// texts go back to the command. Package config defines the keys.
package scaffold

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
	"doubletake/pipeline/config"
)

// Result is a configuration and notes made on the way.
type Result struct {
	YAML       string
	Conditions string   // text of a table conditions.csv that the configuration needs in its folder; "": none
	Notes      []string // for people: findings, and settings to fill in
}

var experimentName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// Look makes a configuration for the recordings below dir. Paths in the configuration are relative to dir, where the
// file belongs. A folder without files of a known format gives a template for microphones, with a note.
//
// Look works in these steps, each of which fills in a part of the plan:
//
//  1. The files are sorted: findSetupFiles finds the files about the set-up, splitLog the table of conditions, and
//     splitWindOff the recordings without wind and of the background. keepOneKind keeps the recordings of one format,
//     and leaveCopies excludes copies.
//  2. findConditions reads the columns of the table and of the names, gives them roles, and reads the headers of the
//     recordings.
//  3. placeWindOff decides how the recordings without wind and of the background are used.
//  4. propose chooses inputs, groups and held-out values from the roles.
//  5. exclude leaves out other files that the patterns of the recordings match.
//  6. render writes the plan into the template pipeline.yaml.tmpl. Look then checks that the text is a valid
//     configuration.
func Look(dir string) (*Result, error) {
	p := &plan{dir: dir, Name: "experiment", result: &Result{}, sheet: &role.Sheet{}}
	p.shortest = math.MaxInt64 // until headers or a log state the length of a run
	p.seconds = math.Inf(1)    // until a log states an interval

	found, err := p.walk()
	if err != nil {
		return nil, err
	}

	p.findSetupFiles(found)
	files := p.splitLog(p.measured)
	files = p.splitWindOff(files)
	files = p.keepOneKind(files)
	files = p.leaveCopies(files, vocabulary.Copies)
	if len(files) == 0 {
		p.result.YAML = render(emptyPlan(p.Name))
		return p.result, nil
	}

	if whole, err := filepath.Abs(dir); err == nil && experimentName.MatchString(filepath.Base(whole)) {
		p.Name = filepath.Base(whole)
	}

	isMeasured := func(file string) bool { return !strings.HasPrefix(path.Base(file), "simulated_") }
	if !slices.ContainsFunc(files, isMeasured) {
		p.Data = "simulated"
	}

	files = p.findConditions(files)
	p.placeWindOff()
	p.propose(files)
	p.exclude(files)

	p.result.YAML = render(p)
	p.fillsValid = true // a configuration that asks people for values does not parse
	if _, err := config.Parse("pipeline.yaml", []byte(render(p))); err != nil {
		return nil, fmt.Errorf("write a configuration for %s: it would not be valid: %w", dir, err)
	}

	return p.result, nil
}

// plan holds the contents of the configuration to write, and findings on the way to it. Each embedded struct belongs to
// the step of Look that fills it; later steps read it. config.Ingest, Exclude and the notes of the result are shared:
// every step adds the settings that it found. The template reads the exported fields and methods.
type plan struct {
	config.Ingest
	setUp
	runLengths
	stillAir
	channelFindings
	proposal

	Name    string
	Todo    bool     // the folder has no recordings
	Exclude []string // files

	dir        string
	result     *Result
	sheet      *role.Sheet // of the columns that are proposed; findConditions reads it
	fillsValid bool        // Fill returns values that are valid, so that the rest can be checked
}

// setUp has what findSetupFiles found in files about the set-up.
type setUp struct {
	Matrix         string               // file of the matrix of a balance; "": none
	MicsCalibrated bool                 // the table of microphones has their sensitivities
	Calibrators    []config.NamedString // recordings of a calibrator, by the channels of the table of microphones

	measured      []string // all files that are not about the set-up
	components    []string // names of the rows of the matrix
	micConditions []string // conditions that the table of microphones gives each channel
}

// runLengths has what findConditions learned about the runs and their lengths. fromLog reads the log, and readHeaders
// the lengths of recordings without a log. Look sets both lengths to the greatest number first.
type runLengths struct {
	Repeated bool // the rows of a log repeat set points: the pairs are repeats; false without a log

	intervals   bool                 // the log cuts recordings into intervals
	edgeColumns []config.NamedString // headers of the log with the begin and the end of intervals
	shortest    int64                // samples of the shortest run, as far as headers and log state it
	seconds     float64              // length of the shortest interval of the log; +Inf: none is in seconds
}

// stillAir has the recordings without wind and of the background. splitWindOff finds them by their names, and
// placeWindOff decides how the configuration uses them. propose adds the recordings that a log names.
type stillAir struct {
	windOff     []string // recordings without wind by their names
	backgrounds []string // recordings of the background by their names

	TareFile    string   // recording without wind, or a pattern of such recordings; "": none
	TareAfter   string   // the same after the runs
	Backgrounds []string // globs of recordings of the background
	setupFiles  []string // files of the set-up that the configuration names

	Tares     []string // columns of the log that name recordings without wind, before and after
	tareFiles []string // the recordings that these columns name
}

// channelFindings has what findConditions read from the headers of the recordings: readHeaders and chooseChannels fill
// it. All fields are zero if the files are a table of results.
type channelFindings struct {
	Spectra           bool     // channels are sound, whose spectra are analysed; otherwise they are of a balance
	RateKnown         bool     // the files state the sampling rate
	SomeChannels      bool     // not all channels are used
	InPascal          bool     // all channels are in Pa
	StatedUnit        string   // of the first used channel; "": none
	TachometerChannel string   // "": there is none
	Kinds             []string // files of each kind of columns if there are several; nil: there is one
	Sweep             string   // a setting with several values in a file; "": a file has one setting
	SweepRemedy       string   // what people can do about it
	Voltages          []string // channels that the matrix turns into loads

	runCount    int      // files, or intervals of them
	units       []string // of the channels, in the order of Channels
	isRising    []bool   // for each channel, whether its samples rise all the time; empty: not known
	tachometers int      // channels of a tachometer
}

// proposal has what propose chose from the roles of the columns.
type proposal struct {
	ColumnLines []string // for each column a line of its role
	Inputs      []string
	SetPoints   []string // for each input that scatters its set points, in words
	Across      string   // the occasion across which pairs are made; "": both values of a pair are of one occasion
	HeldOut     string   // the held-out values, such as "blades: 3"; "": none
	EachName    string   // a column of texts that are held out one after the other; "": none

	declared []*role.Column // in which repeats are equal

	// Settings of a rotor that are missing.
	NoRotor    bool // neither the number of blades nor a speed is known: the outcomes are levels of bands
	NeedSpeed  bool // blades are known, but no speed
	NeedBlades bool // a speed is known, but no blades
}

// emptyPlan returns the plan of a folder without recordings: microphones whose files people fill in.
func emptyPlan(name string) *plan {
	return &plan{
		Name:            name,
		Ingest:          config.Ingest{Files: []string{"data/*.wav"}},
		channelFindings: channelFindings{Spectra: true},
		Todo:            true,
	}
}

// note keeps a line for people.
func (p *plan) note(format string, args ...any) {
	p.result.Notes = append(p.result.Notes, fmt.Sprintf(format, args...))
}
