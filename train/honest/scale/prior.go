package scale

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Prior is what is known of the groups' scales before any group is left out:
// ln λ ~ N(m, τ²) with m ~ N(M, MStd²) and ln τ ~ N(ln Tau, TauStd²).
type Prior struct {
	Name   string  `json:"name"`
	M      float64 `json:"m"`
	MStd   float64 `json:"m_std"`
	Tau    float64 `json:"tau"`
	TauStd float64 `json:"tau_std"`
	Origin string  `json:"origin"` // the campaigns that it was learned from

	// ClaimFloor, unless 0, is for models whose claims are too small by orders of magnitude, and
	// not everywhere by the same: a claim is raised to this share of the mean claim on the
	// left-out groups, and all are multiplied so that their mean error there is at most
	// ClaimRatio times their mean claim; by ClaimRatio where nothing is learned.
	ClaimFloor float64 `json:"claim_floor,omitempty"`
	ClaimRatio float64 `json:"claim_ratio,omitempty"`

	// Rises is the campaigns' own record; none where they are too few.
	Rises Rises `json:"rises,omitzero"`
}

// PriorFormat and PriorVersion identify a file of priors.
const (
	PriorFormat  = "doubletake-scale-priors"
	PriorVersion = 1
)

//go:embed priors.json
var builtin []byte

// IsNamed reports whether a prior of this package has the name.
func IsNamed(name string) bool {
	_, err := Named(name)
	return err == nil
}

// Named returns one of the priors of this package: "wide", the default, or "library".
func Named(name string) (Prior, error) {
	list, err := ReadPriors(builtin)
	if err != nil {
		panic(err)
	}

	var names []string
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}

	return Prior{}, fmt.Errorf("choose prior of the scale: expected %s, found %q", strings.Join(names, " or "), name)
}

// priorFile is a file of priors.
type priorFile struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Priors  []Prior `json:"priors"`
}

// EncodePriors writes a file that ReadPriors reads.
func EncodePriors(list ...Prior) ([]byte, error) {
	b, err := json.MarshalIndent(priorFile{PriorFormat, PriorVersion, list}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode priors of the scale: %w", err)
	}

	return append(b, '\n'), nil
}

// ReadPriors reads a file of priors.
func ReadPriors(data []byte) ([]Prior, error) {
	var f priorFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("decode priors of the scale: %w", err)
	}

	if f.Format != PriorFormat || f.Version != PriorVersion || len(f.Priors) == 0 {
		return nil, fmt.Errorf("decode priors of the scale: expected format %q version %d, found %q version %d with "+
			"%d priors", PriorFormat, PriorVersion, f.Format, f.Version, len(f.Priors))
	}

	for _, p := range f.Priors {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}

	return f.Priors, nil
}

// Check returns an error for a prior without an origin, or whose numbers are not those
// of a density.
func (p Prior) Check() error {
	positive := []float64{p.MStd, p.Tau, p.TauStd}
	if slices.ContainsFunc(positive, func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) }) ||
		math.IsNaN(p.M) || math.IsInf(p.M, 0) || p.Name == "" || p.Origin == "" ||
		!(p.ClaimFloor >= 0) || p.ClaimFloor > 0 && !(p.ClaimRatio > 0) {
		return fmt.Errorf("decode prior of the scale %q: expected a name, an origin and positive deviations, found %+v",
			p.Name, p)
	}

	if first, last := gridM[0], gridM[len(gridM)-1]; p.M < first || p.M > last {
		return fmt.Errorf("decode prior of the scale %q: expected m from %g to %g, found %g", p.Name, first, last, p.M)
	}

	if first, last := gridTau[0], gridTau[len(gridTau)-1]; p.Tau < first || p.Tau > last {
		return fmt.Errorf("decode prior of the scale %q: expected tau from %g to %g, found %g", p.Name, first, last, p.Tau)
	}

	if p.MStd < gridM[1]-gridM[0] {
		return fmt.Errorf("decode prior of the scale %q: expected an m_std of at least %g, found %g", p.Name,
			gridM[1]-gridM[0], p.MStd)
	}

	if r := p.Rises; r != (Rises{}) && !(r.Of != "" && r.Origin != "" && r.Rose.sound() && r.Steady.sound() &&
		r.Rose.Above >= r.Steady.Below) {
		return fmt.Errorf("decode prior of the scale %q: expected rises with an origin, groups and shares inside from 0 to "+
			"1, found %+v", p.Name, r)
	}

	if math.IsNaN(p.weights()[0]) {
		return fmt.Errorf("decode prior of the scale %q: expected deviations with which the grids of m and tau have a "+
			"weight, found %g and %g", p.Name, p.MStd, p.TauStd)
	}

	return nil
}

// Digest identifies the numbers of the prior, for the keys of results.
func (p Prior) Digest() string {
	text := fmt.Appendf(nil, "%x %x %x %x %x %x", p.M, p.MStd, p.Tau, p.TauStd, p.ClaimFloor, p.ClaimRatio)
	if p.Rises != (Rises{}) {
		text = fmt.Appendf(text, " %v %v", p.Rises.Rose, p.Rises.Steady)
	}

	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:8])
}

// weights returns the prior's probability of each point of the grid of m and τ, row by
// row of m, whose sum is 1.
func (p Prior) weights() []float64 {
	w := make([]float64, 0, len(gridM)*len(gridTau))

	sum := 0.0
	for _, m := range gridM {
		for j, tau := range gridTau {
			a, b := (m-p.M)/p.MStd, math.Log(tau/p.Tau)/p.TauStd
			v := math.Exp(-(a*a+b*b)/2) * widthTau[j]
			w, sum = append(w, v), sum+v
		}
	}

	for i := range w {
		w[i] /= sum
	}

	return w
}
