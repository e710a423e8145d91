package report

import (
	"strings"

	"doubletake/ingest/units"
)

// Quantity is a condition or an outcome, as figures name it.
type Quantity struct {
	Name string
	Unit string // "" when it has none
}

// Label is the quantity for an axis: its name in words where they are known,
// with its unit.
func (q Quantity) Label() string {
	l := clean(q.Name)
	if w, ok := quantityWords[q.Name]; ok {
		l = w
	} else if n := harmonic(q.Name); n != "" {
		l = "BPF harmonic " + n
	} else if w := levelWords(q.Name); w != "" {
		l = w
	}

	if q.Unit != "" {
		l += " (" + clean(q.Unit) + ")"
	}

	return l
}

// Axis is the label with the quantity's symbol, where it has one: "shaft speed Ω (1/min)".
func (q Quantity) Axis() string {
	symbol := symbols[q.Name]
	if n := harmonic(q.Name); n != "" {
		symbol = "L" + strings.Map(func(r rune) rune { return '₀' + r - '0' }, n)
		if !strings.HasSuffix(q.Name, "_db") {
			symbol = "P" + symbol[1:]
		}
	}

	if symbol == "" {
		return q.Label()
	}

	return in(q.Word()+" "+symbol, clean(q.Unit))
}

var symbols = map[string]string{
	"rpm": "Ω", "blades": "n", "u_inf_m_s": "U∞", "cl": "c_L", "cd": "c_D", "lift_n": "L", "drag_n": "D",
}

// Word is the quantity's name without its unit.
func (q Quantity) Word() string { return Quantity{Name: q.Name}.Label() }

// difference is the unit of a difference or a deviation: levels relative to
// anything differ by plain dB.
func (q Quantity) difference() string {
	return clean(units.Difference(q.Unit))
}

// square is the unit of a variance.
func (q Quantity) square() string {
	u := q.difference()
	switch {
	case u == "":
		return ""
	case strings.ContainsAny(u, " /·"):
		return "(" + u + ")²"
	}

	return u + "²"
}

// in puts a unit behind a label.
func in(label, unit string) string {
	if unit == "" {
		return label
	}
	return label + " (" + unit + ")"
}

var quantityWords = map[string]string{
	"blades": "blades", "rpm": "shaft speed", "rpm_tracked": "shaft speed, tracked", "theta_deg": "polar angle θ",
	"phi_deg":   "azimuth φ",
	"alpha_deg": "angle of attack α", "u_inf_m_s": "free-stream speed", "cl": "lift coefficient", "cd": "drag coefficient",
	"lift_n": "lift", "drag_n": "drag",
}

// harmonic is m of "bpfM_db" and "bpfM_power", "" for other names.
func harmonic(name string) string {
	for _, suffix := range []string{"_db", "_power"} {
		if n, ok := cutBoth(name, "bpf", suffix); ok && n != "" && allDigits([]rune(n)) {
			return n
		}
	}

	return ""
}

// levelWords is "band level 31.5 Hz" of "l_31_5hz_db", "overall level A" of
// "oaspl_a_db", and so on; "" for other names.
func levelWords(name string) string {
	name, ok := strings.CutSuffix(name, "_db")
	if !ok {
		return ""
	}

	if b, ok := strings.CutPrefix(name, "l_"); ok {
		for suffix, unit := range map[string]string{"hz": " Hz", "so": " shaft orders"} {
			if v, ok := strings.CutSuffix(b, suffix); ok && strings.Trim(strings.Replace(v, "to", "", 1), "0123456789_") == "" {
				return "band level " + strings.NewReplacer("_", ".", "to", " to ").Replace(v) + unit
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

func cutBoth(s, prefix, suffix string) (string, bool) {
	s, begins := strings.CutPrefix(s, prefix)
	s, ends := strings.CutSuffix(s, suffix)

	return s, begins && ends
}

// Detail is what an experiment's figures and its part of the page are made of.
// Matrices are row-major. Rows are triplets, conditions the distinct inputs;
// where there are too many of them to be shown, both are an even selection, and
// AllRows and AllConditions are their numbers.
type Detail struct {
	Experiment Experiment
	Inputs     []Quantity // the network's inputs
	Outcomes   []Quantity // the quantities it predicts
	Runs       []string

	X      []float64 // conditions × inputs
	Mean   []float64 // conditions × outcomes: mean of all y1 and y2 measured there
	Cond   []int     // per row
	Run    []int     // per row
	Y1, Y2 []float64 // rows × outcomes

	AllRows, AllConditions int

	Splits  []SplitDetail
	Spectra []Spectrum
	Shown   *SpectrumDetail
	Quality []Fact
	Config  []Fact // settings, as in the tables' metadata
}

// Fact is one line of a table of facts.
type Fact struct{ Name, Value string }

// SplitDetail is what one train/test rule gave.
type SplitDetail struct {
	Name, HeldOut string
	Test          []bool // per condition
	Seeds         []SeedDetail
	Bins          [][]Bin     // per seed: covariance against measured error, all outcomes together, standardised units
	Coverage      [2]Coverage // of the training pairs, of the test pairs
	Reference     []float64   // means of another program, conditions × outcomes, NaN where it has none; or nil
	ReferenceName string
	Calibrated    *Intervals // at held-out conditions; nil without a calibration
}

// SeedDetail is one trained model's answers, conditions × outcomes, in the outcomes' own units (variances in unit²).
type SeedDetail struct{ Mu, Var, Cov []float64 }

// Bin is a bin of the covariance with the mean measured error in it.
type Bin struct {
	Cov, E float64
	SE     float64 // of E, clustered by run; NaN with one run
}

// Coverage is how many of the measured values lie within the interval
// μ ± zσ that should hold a fraction Nominal of them, per seed.
type Coverage struct {
	Nominal  []float64
	Observed [][]float64 // per seed
}

// Spectrum is one recording's spectrum, reduced to be looked at: the largest
// and the mean level of both halves in each of equally wide intervals.
type Spectrum struct {
	Row  int // the triplet's row in Detail
	ToHz float64
	Peak []float32 // dB, largest bin of the interval over both halves
	Line []float32 // Hz, per harmonic: mean over halves
}

// SpectrumDetail is one recording's spectrum with all that was read off it.
type SpectrumDetail struct {
	Recording string
	Condition int    // its place in Detail.X
	Unit      string // of the levels
	BinHz     float64
	Shaft     [2]float64 // Hz
	Level     [2][]float64
	Lines     [2][]SpectrumLine
	Orders    [2][]SpectrumLine // shaft orders that are no harmonic
	Third     []ThirdOctave

	// What the background's recordings would read in these bins; none without them.
	Background     []float64
	BackgroundFrom []string
}

// SpectrumLine is one line: where it was expected, found, and the bins used.
type SpectrumLine struct {
	Order            float64 // multiple of the blade passing (harmonics) or the shaft frequency
	Hz, Level, Floor float64
	Search, Band     [2]float64 // Hz
}

// ThirdOctave is the level of a one-third-octave band.
type ThirdOctave struct{ Lo, Hi, Centre, Level float64 }
