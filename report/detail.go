package report

import (
	"strings"

	"doubletake/ingest/units"
)

// This file has the data of the figures (Detail and its parts), and the names of conditions and outcomes in words
// (Quantity).

// Quantity is a condition or an outcome, as figures name it.
type Quantity struct {
	Name string
	Unit string // "" if it has none
}

// Label returns the quantity for an axis: its name, in words if they are known, with its unit.
func (q Quantity) Label() string { return withUnit(q.Word(), clean(q.Unit)) }

// Axis returns the label with the symbol of the quantity, if it has one: "shaft speed Ω (1/min)".
func (q Quantity) Axis() string {
	symbol := q.symbol()
	if symbol == "" {
		return q.Label()
	}

	return withUnit(q.Word()+" "+symbol, clean(q.Unit))
}

// symbol returns the symbol of the quantity, or "" if it has none.
func (q Quantity) symbol() string {
	order := harmonic(q.Name)
	if order == "" {
		return symbols[q.Name]
	}

	symbol := "P"
	if strings.HasSuffix(q.Name, "_db") {
		symbol = "L"
	}

	for _, digit := range order {
		symbol += string('₀' + digit - '0') // a digit below the line
	}

	return symbol
}

// symbols has the symbols of conditions and outcomes by name.
var symbols = map[string]string{
	"rpm": "Ω", "blades": "n", "u_inf_m_s": "U∞", "cl": "c_L", "cd": "c_D", "lift_n": "L", "drag_n": "D",
}

// Word returns the name of the quantity, in words if they are known.
func (q Quantity) Word() string {
	if words, ok := quantityWords[q.Name]; ok {
		return words
	}

	if order := harmonic(q.Name); order != "" {
		return "BPF harmonic " + order
	}

	if words := levelWords(q.Name); words != "" {
		return words
	}

	return clean(q.Name)
}

// difference returns the unit of a difference or a deviation: dB for a level relative to anything, and otherwise the
// unit of the quantity.
func (q Quantity) difference() string {
	return clean(units.Difference(q.Unit))
}

// square returns the unit of a variance.
func (q Quantity) square() string {
	unit := q.difference()
	switch {
	case unit == "":
		return ""
	case strings.ContainsAny(unit, " /·"):
		return "(" + unit + ")²"
	}

	return unit + "²"
}

// withUnit appends a unit in brackets to a label, unless the unit is "".
func withUnit(label, unit string) string {
	if unit == "" {
		return label
	}
	return label + " (" + unit + ")"
}

// quantityWords has the names of conditions and outcomes in words.
var quantityWords = map[string]string{
	"blades": "blades", "rpm": "shaft speed", "rpm_tracked": "shaft speed, tracked", "theta_deg": "polar angle θ",
	"phi_deg":   "azimuth φ",
	"alpha_deg": "angle of attack α", "u_inf_m_s": "free-stream speed", "cl": "lift coefficient", "cd": "drag coefficient",
	"lift_n": "lift", "drag_n": "drag",
}

// harmonic returns the order M of a harmonic named "bpfM_db" or "bpfM_power", and "" for other names.
func harmonic(name string) string {
	for _, suffix := range []string{"_db", "_power"} {
		if order, ok := cutBoth(name, "bpf", suffix); ok && allDigits([]rune(order)) {
			return order
		}
	}

	return ""
}

// levelWords returns "band level 31.5 Hz" for "l_31_5hz_db", "overall level, weighted A" for
// "oaspl_a_db", and so on, and "" for names that are not levels.
func levelWords(name string) string {
	name, ok := strings.CutSuffix(name, "_db")
	if !ok {
		return ""
	}

	if band, ok := strings.CutPrefix(name, "l_"); ok {
		for suffix, unit := range map[string]string{"hz": " Hz", "so": " shaft orders"} {
			limits, ok := strings.CutSuffix(band, suffix)
			if ok && strings.Trim(strings.Replace(limits, "to", "", 1), "0123456789_") == "" {
				return "band level " + strings.NewReplacer("_", ".", "to", " to ").Replace(limits) + unit
			}
		}
	}

	for prefix, word := range map[string]string{"oaspl": "overall", "broadband": "broadband", "tonal": "tonal"} {
		switch name {
		case prefix:
			return word + " level"
		case prefix + "_a", prefix + "_c":
			return word + " level, weighted " + strings.ToUpper(name[len(prefix)+1:])
		}
	}

	return ""
}

// cutBoth returns s without the prefix and the suffix, and reports whether s had both.
func cutBoth(s, prefix, suffix string) (string, bool) {
	s, begins := strings.CutPrefix(s, prefix)
	s, ends := strings.CutSuffix(s, suffix)

	return s, begins && ends
}

// Detail is the data of an experiment's figures and of its part of the page.
// Matrices are row-major. A row is a triplet. A condition is a distinct set of inputs,
// and is numbered by its row in X. If there are too many rows to be shown, Detail has an
// even selection of rows and conditions.
type Detail struct {
	Experiment Experiment
	Inputs     []Quantity // the network's inputs
	Outcomes   []Quantity // the quantities that the network predicts
	Runs       []string   // names of the runs

	X      []float64 // conditions × inputs
	Mean   []float64 // conditions × outcomes: mean of all y1 and y2 measured at the condition
	Cond   []int     // the condition of each row
	Run    []int     // the run of each row, an index of Runs
	Y1, Y2 []float64 // rows × outcomes

	// Upper bounds, levels at the noise floor; nil if there are none.
	Bound1, Bound2 []bool // rows × outcomes: of Y1 and Y2
	MeanBound      []bool // conditions × outcomes: whether Mean is a bound, because a value there is

	AllRows, AllConditions int // numbers of rows and conditions before the selection

	Splits  []SplitDetail
	Spectra []Spectrum
	Shown   *SpectrumDetail // the recording whose spectrum is drawn; nil if there are no spectra
	Quality []Fact          // facts about the quality of the data
	Config  []Fact          // settings, as in the tables' metadata
}

// Fact is one line of a table of facts.
type Fact struct{ Name, Value string }

// SplitDetail is the result of one train/test rule.
type SplitDetail struct {
	Name, HeldOut string
	Test          []bool       // for each condition, whether it is held out
	Seeds         []SeedDetail // the trained networks
	Bins          [][]Bin      // for each seed: covariance and measured error, all outcomes together, standardised units
	Coverage      [2]Coverage  // of the training pairs, and of the test pairs
	Reference     []float64    // means by another program, conditions × outcomes, NaN if it has none; or nil
	ReferenceName string       // name of the other program
	Calibrated    *Intervals   // at held-out conditions; nil without a calibration
	Reached       []Coverage   // of the calibrated intervals on the test pairs, by outcome; nil without a calibration
	Losses        []Losses     // of each trained network
}

// SeedDetail is the answers of one trained network: mean μ, variance σ² and covariance C, each conditions × outcomes,
// in the outcomes' own units (variance and covariance in unit²).
type SeedDetail struct{ Mu, Var, Cov []float64 }

// Losses are the losses of a network by epoch of its training. HeldOut has the losses of held-out triplets, which play
// no part in training. It is NaN at epochs at which they were not judged, and nil if they never were.
type Losses struct{ Epoch, Train, HeldOut []float64 }

// Bin is a bin of pairs with similar covariances.
type Bin struct {
	Cov float64 // mean covariance C in the bin
	E   float64 // mean measured error e in the bin
	SE  float64 // standard error of E, clustered by run; NaN with one run
}

// Coverage compares the share of measured values inside the interval μ ± zσ with the
// probability of the interval.
type Coverage struct {
	Nominal  []float64   // probabilities of the intervals
	Observed [][]float64 // for each seed, the share of values inside each interval
}

// Spectrum is one recording's spectrum, reduced to be looked at: the largest level in each of equally wide intervals of
// frequency.
type Spectrum struct {
	Row  int       // the triplet's row in Detail
	ToHz float64   // upper end of the last interval, Hz; the first begins at 0
	Peak []float32 // dB, for each interval: largest bin over both halves
	Line []float32 // Hz, for each harmonic: mean frequency over both halves
}

// SpectrumDetail is one recording's spectrum with the levels that were read off it.
type SpectrumDetail struct {
	Recording string            // its name
	Condition int               // its condition, a row of Detail.X
	Unit      string            // unit of all levels
	BinHz     float64           // width of a bin, Hz; bin i is centred at i × BinHz
	Shaft     [2]float64        // shaft frequency in each half, Hz
	Level     [2][]float64      // level of each bin, by half
	Lines     [2][]SpectrumLine // harmonics of the blade passing frequency, by half
	Orders    [2][]SpectrumLine // shaft orders that are not harmonics, by half
	Third     []ThirdOctave     // one-third-octave bands

	Background     []float64 // level of the background in each bin; nil if no background was recorded
	BackgroundFrom []string  // names of the background's recordings
}

// SpectrumLine is one line of a spectrum.
type SpectrumLine struct {
	Order  float64    // multiple of the blade passing frequency (harmonics) or of the shaft frequency
	Hz     float64    // frequency at which the line was found
	Level  float64    // level of the line
	Floor  float64    // level of the floor about the line
	Search [2]float64 // first and last bin in which the line was searched, Hz
	Band   [2]float64 // first and last bin whose power makes the level, Hz
}

// ThirdOctave is a one-third-octave band: its lower and upper edge and its centre in Hz, and its level.
type ThirdOctave struct{ Lo, Hi, Centre, Level float64 }
