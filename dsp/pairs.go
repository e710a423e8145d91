package dsp

import "slices"

// Pairs are the pairs of one run.
type Pairs struct {
	Outcomes []Outcome  // the same for every run of a campaign
	Members  [2]string  // ends of the descriptions of y1 and y2: ", first half"
	Rows     []Row      // empty if every recording was dropped
	Spectra  []Spectra  // for figures, one per microphone; nil for series
	ShaftHz  [2]float64 // shaft speed of each half, rev/s; 0: not looked for
	BinHz    float64    // distance of the bins of Spectra; 0 for series
	Flags    []Flag     // doubts; Flag.Channel is a position among the microphones or series
	Dropped  int        // number of recordings left out because of Settings.Censored
	Levels   int        // number of values that are levels
	Bounds   int        // number of levels that are upper bounds
	Near     int        // number of levels less than NearBackgroundDB above the background
}

// count counts a level.
func (p *Pairs) count(isBound, isNear bool) {
	p.Levels++
	if isBound {
		p.Bounds++
	}

	if isNear {
		p.Near++
	}
}

// Outcome is a quantity with a pair of values, in the columns NAME_1 and NAME_2.
type Outcome struct {
	Name, Unit, Description string
	Note                    string // how the unit was converted; may be empty
	ByProducts              []ByProduct
}

// ByProduct is a number that comes with an outcome's values, in the columns
// NAME_SUFFIX_1 and NAME_SUFFIX_2, or NAME_SUFFIX if one counts for both.
type ByProduct struct {
	Suffix, Unit, Description string
	Single                    bool // one number for both values
	Bool                      bool // 1 is true, 0 is false
}

// Suffixes of by-products.
const (
	sufRho        = "rho_db"     // line above the floor
	sufSD         = "sd"         // predicted standard deviation of the value
	sufHz         = "hz"         // frequency of the line
	sufBound      = "bound"      // true if the level is an upper bound
	sufBackground = "background" // level of the background
	sufEmergent   = "emergent"   // true if the line emerges over both halves; one for both values
	sufAverages   = "averages"   // effective number of averages; one for both values
	sufNear       = "near"       // true if the level is near the background
	sufAir        = "air"        // correction to another atmosphere
)

// ByProductSuffixes lists the suffixes of all by-products.
func ByProductSuffixes() []string {
	return []string{sufRho, sufSD, sufHz, sufBound, sufBackground, sufEmergent, sufAverages, sufNear, sufAir}
}

// IsByProduct reports whether by-products with that suffix are numbers, one for each value of an outcome: an outcome
// NAME then has the columns NAME_SUFFIX_1 and NAME_SUFFIX_2. It returns false for by-products that are true or false,
// and for by-products with one number for both values.
func IsByProduct(suffix string) bool {
	return slices.Contains([]string{sufRho, sufSD, sufHz, sufBackground, sufAir}, suffix)
}

// Row is one pair.
type Row struct {
	Recording int     // position of the microphone in Run.Microphones; 0 for series
	Values    []Value // one per outcome
}

// Value is a pair of values of an outcome, with its by-products.
type Value struct {
	Y          [2]float64   // y1 and y2
	ByProducts [][2]float64 // one pair per by-product; if it is Single, only the first counts
}

// Spectra are the spectra of the halves of a microphone.
type Spectra struct {
	Recording int // position of the microphone
	Halves    [2]Half
}

// loadOutcomes returns one outcome per series.
func loadOutcomes(series []Series) []Outcome {
	var outcomes []Outcome
	for _, s := range series {
		outcomes = append(outcomes, Outcome{Name: s.Name, Unit: s.Unit, Note: s.Note})
	}

	return outcomes
}

// loadMembers is Pairs.Members of a balance.
var loadMembers = [2]string{"first outcome", "second outcome, independent of the first given the run"}

// loadRow returns a row of values without by-products.
func loadRow(y1, y2 []float64) Row {
	row := Row{Values: make([]Value, len(y1))}
	for i := range y1 {
		row.Values[i].Y = [2]float64{y1[i], y2[i]}
	}

	return row
}

// loadPairs returns the pairs of a balance. Its flags tell whether the halves of the run agree; there
// are none if the rate is not known or the run is too short for CheckBalance.
func loadPairs(r *Run, series []Series, rows ...Row) *Pairs {
	p := &Pairs{Outcomes: loadOutcomes(series), Members: loadMembers, Rows: rows}
	if r.RateHz > 0 {
		if c, err := CheckBalance(values(series), r.RateHz); err == nil {
			p.Flags = c.Flags
		}
	}

	return p
}

// values returns the values of each series.
func values(series []Series) [][]float64 {
	var list [][]float64
	for _, s := range series {
		list = append(list, s.Values)
	}

	return list
}
