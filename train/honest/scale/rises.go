package scale

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
)

// Rises is the record of calibrated 95 % intervals in held-out groups where E|cov|
// of the network rose from the training conditions, and where it did not.
type Rises struct {
	Rose   Rise   `json:"rose"`
	Steady Rise   `json:"steady"`
	Of     string `json:"of"` // what the groups were held out of, in a few words
	Origin string `json:"origin"`
}

// Rise is what was found in groups whose ln(E|cov| of the group / of the training) is in a range.
type Rise struct {
	Above  float64 `json:"above,omitempty"`
	Below  float64 `json:"below,omitempty"`
	Groups int     `json:"groups"`
	Inside float64 `json:"inside"`
	SE     float64 `json:"se"`
}

//go:embed rises.json
var rises []byte

// BuiltInRises is the record of measured sets that comes with the program.
func BuiltInRises() (r Rises) {
	if err := json.Unmarshal(rises, &r); err != nil {
		panic(err)
	}
	return r
}

// Ratio is the rise from which on E|cov| counts as risen.
func (r Rises) Ratio() float64 { return math.Exp(r.Rose.Above) }

// Like are the groups that a rise is like. Between those that rose and those that did not there are none: the share
// inside is NaN.
func (r *Rises) Like(rise float64) *Rise {
	switch {
	case math.Log(rise) > r.Rose.Above:
		return &r.Rose
	case math.Log(rise) < r.Steady.Below:
		return &r.Steady
	}

	return &Rise{Inside: math.NaN()}
}

// FewestRises is the number of held-out groups from which on they replace the record that comes with the program, if
// fewestAlike of them rose and as many did not.
const (
	FewestRises = 20
	fewestAlike = 5
)

// LearnRises is the record of held-out groups with their rises of E|cov| and the shares inside their 95 % intervals;
// false where there are too few.
func LearnRises(rises, inside []float64) (r Rises, enough bool) {
	r.Rose.Above, r.Steady.Below = BuiltInRises().Rose.Above, BuiltInRises().Steady.Below
	for i, v := range inside {
		g := r.Like(rises[i])
		g.Groups++
		g.Inside += v
		g.SE += v * v
	}

	for _, g := range []*Rise{&r.Rose, &r.Steady} {
		n := float64(g.Groups)
		g.Inside /= n
		g.SE = math.Sqrt(max(g.SE/n-g.Inside*g.Inside, 0) / (n - 1))
	}

	return r, len(rises) >= FewestRises && min(r.Rose.Groups, r.Steady.Groups) >= fewestAlike
}

func (g Rise) sound() bool { return g.Groups > 0 && g.Inside >= 0 && g.Inside <= 1 && g.SE >= 0 }

// RisesRecord is the record of rises in the prior's file, or the one that comes with the program.
func (p Prior) RisesRecord() Rises { return cmp.Or(p.Rises, BuiltInRises()) }

// Words states the record.
func (r Rises) Words() string {
	inside := func(g Rise) string {
		decimals := min(numbers.Decimals(100*g.SE, 1), 1)
		return numbers.Fixed(100*g.Inside, decimals) + " ± " + numbers.Fixed(100*g.SE, decimals)
	}

	return fmt.Sprintf("Where E|cov| rose to × %.1f or more, 95 %% intervals held %s %% of the values; where it "+
		"did not rise, %s %% (%d and %d held-out groups of %s).", r.Ratio(), inside(r.Rose),
		inside(r.Steady), r.Rose.Groups, r.Steady.Groups, r.Of)
}

// lnGamma is ln of the weight of a γ, whose mean over all is 1.
func lnGamma(gamma float64, gammas []float64) float64 {
	weight := func(v float64) float64 { return math.Exp(-(v - 0.5) * (v - 0.5) / (2 * 0.35 * 0.35)) }
	sum := 0.0
	for _, v := range gammas {
		sum += weight(v)
	}

	return math.Log(weight(gamma) / sum * float64(len(gammas)))
}

// cell is that of the grid of λ at ln λ + by of its point i, the last one for all beyond, with the share of it below.
func cell(i int, by float64) (k int, share float64) {
	at := float64(i) + by/math.Log(gridLambda[1]/gridLambda[0])
	at = min(max(at, 0), float64(len(gridLambda)-1))
	k = min(int(at), len(gridLambda)-2)

	return k, at - float64(k)
}

// moved reads a function on the grid of λ at ln λ + by, linearly; beyond the grid it is that of its edge.
func moved(v []float64, by float64) []float64 {
	if by == 0 {
		return v
	}

	return lists.Make(len(v), func(i int) float64 {
		k, share := cell(i, by)
		return v[k] + share*(v[k+1]-v[k])
	})
}

// added is the law of λ·exp(by) where v is that of λ on its grid; what leaves the grid is in its last cell.
func added(v []float64, by float64) []float64 {
	if by == 0 {
		return v
	}

	out := make([]float64, len(v))
	for i, mass := range v {
		k, share := cell(i, by)
		out[k] += mass * (1 - share)
		out[k+1] += mass * share
	}

	return out
}
