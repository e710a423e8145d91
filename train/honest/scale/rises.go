package scale

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"

	"doubletake/train/numbers"
)

// Rises records how often calibrated 95 % intervals contained the values of held-out groups. It separates groups in
// which E|cov| of the network rose over training from groups in which it did not.
type Rises struct {
	Rose   Rise   `json:"rose"`   // groups whose rise is above Rose.Above
	Steady Rise   `json:"steady"` // groups whose rise is below Steady.Below
	Source string `json:"of"`     // what the groups were held out of, in a few words
	Origin string `json:"origin"` // where the record comes from
}

// Rise is the record of groups whose rise is in a range. The rise of a group is ln of E|cov| in the group over E|cov|
// in training.
type Rise struct {
	Above  float64 `json:"above,omitempty"` // lower end of the range, if it has one
	Below  float64 `json:"below,omitempty"` // upper end of the range, if it has one
	Groups int     `json:"groups"`          // number of groups
	Inside float64 `json:"inside"`          // mean share of a group's values inside their intervals; NaN if unknown
	SE     float64 `json:"se"`              // standard error of this mean
}

//go:embed rises.json
var builtinRises []byte

// BuiltInRises returns the record of measured sets that comes with the program.
func BuiltInRises() Rises {
	var r Rises
	if err := json.Unmarshal(builtinRises, &r); err != nil {
		panic("scale: " + err.Error()) // the file is embedded
	}

	return r
}

// Ratio returns the ratio of E|cov| above which it counts as risen.
func (r Rises) Ratio() float64 { return math.Exp(r.Rose.Above) }

// hasRisen reports whether E|cov| counts as risen if it is ratio times as large as in training.
func (r Rises) hasRisen(ratio float64) bool { return math.Log(ratio) > r.Rose.Above }

// isSteady reports whether E|cov| counts as not risen if it is ratio times as large as in training.
func (r Rises) isSteady(ratio float64) bool { return math.Log(ratio) < r.Steady.Below }

// Like returns a pointer to Rose or Steady, the record of the groups that are like a group in which E|cov| is ratio
// times as large as in training. If the ratio lies between their ranges, it returns a record whose Inside is NaN.
func (r *Rises) Like(ratio float64) *Rise {
	switch {
	case r.hasRisen(ratio):
		return &r.Rose
	case r.isSteady(ratio):
		return &r.Steady
	}

	return &Rise{Inside: math.NaN()}
}

// A record of own groups replaces the one that comes with the program from FewestRises groups on, if E|cov| rose in at
// least fewestAlike of them and did not rise in as many.
const (
	FewestRises = 20
	fewestAlike = 5
)

// LearnRises returns the record of held-out groups. ratios are E|cov| in each group over E|cov| in training. inside
// is the share of each group's values inside their 95 % intervals. enough reports whether the groups are enough for a
// record.
func LearnRises(ratios, inside []float64) (r Rises, enough bool) {
	known := BuiltInRises()
	r.Rose.Above = known.Rose.Above
	r.Steady.Below = known.Steady.Below

	var rose, steady []float64 // shares of the groups in each range
	for i, share := range inside {
		switch {
		case r.hasRisen(ratios[i]):
			rose = append(rose, share)
		case r.isSteady(ratios[i]):
			steady = append(steady, share)
		}
	}

	r.Rose.setShares(rose)
	r.Steady.setShares(steady)

	return r, len(ratios) >= FewestRises && min(r.Rose.Groups, r.Steady.Groups) >= fewestAlike
}

// setShares sets the number of groups, the mean of their shares inside, and its standard error.
func (g *Rise) setShares(shares []float64) {
	sum := 0.0
	squares := 0.0
	for _, v := range shares {
		sum += v
		squares += v * v
	}

	n := float64(len(shares))
	g.Groups = len(shares)
	g.Inside = sum / n
	g.SE = math.Sqrt(max(squares/n-g.Inside*g.Inside, 0) / (n - 1))
}

// sound reports whether a record has a source and an origin, and possible numbers.
func (r Rises) sound() bool {
	return r.Source != "" && r.Origin != "" && r.Rose.sound() && r.Steady.sound() && r.Rose.Above >= r.Steady.Below
}

// sound reports whether the numbers of a record are possible.
func (g Rise) sound() bool { return g.Groups > 0 && g.Inside >= 0 && g.Inside <= 1 && g.SE >= 0 }

// RisesRecord returns the record of rises of the prior, or the one that comes with the program if the prior has none.
func (p Prior) RisesRecord() Rises { return cmp.Or(p.Rises, BuiltInRises()) }

// Words returns the record as a sentence.
func (r Rises) Words() string {
	return fmt.Sprintf("In %s, the calibrated 95 %% intervals contained %s %% of the values if E|cov| rose above "+
		"× %.2f, and %s %% if it did not rise (%d and %d held-out groups).", r.Source, r.Rose.words(),
		r.Ratio(), r.Steady.words(), r.Rose.Groups, r.Steady.Groups)
}

// words writes the share inside with its standard error, in percent.
func (g Rise) words() string {
	decimals := min(numbers.Decimals(100*g.SE, 1), 1)
	return numbers.Fixed(100*g.Inside, decimals) + " ± " + numbers.Fixed(100*g.SE, decimals)
}
