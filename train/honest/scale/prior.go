package scale

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Prior is the law of the scales of groups before any group is left out: ln λ ~ N(m, τ²), where
// m ~ N(M, MStd²) and ln τ ~ N(ln Tau, TauStd²).
type Prior struct {
	Name   string  `json:"name"`
	M      float64 `json:"m"`
	MStd   float64 `json:"m_std"`
	Tau    float64 `json:"tau"`
	TauStd float64 `json:"tau_std"`
	Origin string  `json:"origin"` // campaigns that the prior was learned from

	// ClaimFloor and ClaimRatio are for models whose claims are too small by orders of magnitude, and not everywhere by
	// the same factor. Claims below the share ClaimFloor of the mean claim on the left-out groups are raised to this
	// share. Then all claims are multiplied by one factor, with which the mean squared error on the left-out groups is at
	// most ClaimRatio times the mean claim. With fewer than MinGroups left-out groups the factor is ClaimRatio. The factor
	// is 1 if it would be less. If ClaimFloor is 0, claims stay as they are.
	ClaimFloor float64 `json:"claim_floor,omitempty"`
	ClaimRatio float64 `json:"claim_ratio,omitempty"`

	// Rises is the record of the rises of E|cov| in these campaigns. It is empty if the campaigns are too few.
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

// Named returns the prior of priors.json that has the name, such as "wide", the default, or "library".
func Named(name string) (Prior, error) {
	list, err := ReadPriors(builtin)
	if err != nil {
		panic("scale: " + err.Error()) // the file is embedded
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

// priorFile is the form of a file of priors.
type priorFile struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Priors  []Prior `json:"priors"`
}

// EncodePriors returns the contents of a file of priors, which ReadPriors reads.
func EncodePriors(list ...Prior) ([]byte, error) {
	b, err := json.MarshalIndent(priorFile{PriorFormat, PriorVersion, list}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode priors of the scale: %w", err)
	}

	return append(b, '\n'), nil
}

// ReadPriors reads the contents of a file of priors. It returns an error if there are none, or if Check refuses one.
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

// Check returns an error if the prior has no name or origin, or if its numbers do not describe a density on the grids
// of m and τ.
func (p Prior) Check() error {
	isNamed := p.Name != "" && p.Origin != ""
	arePositive := positive(p.MStd) && positive(p.Tau) && positive(p.TauStd)
	isFinite := !math.IsNaN(p.M) && !math.IsInf(p.M, 0)
	raisesClaims := p.ClaimFloor > 0 && p.ClaimRatio > 0
	claimsFit := p.ClaimFloor == 0 || raisesClaims
	numbersFit := arePositive && isFinite && claimsFit
	if !isNamed || !numbersFit {
		return fmt.Errorf("decode prior of the scale %q: expected a name, an origin and positive deviations, found %+v",
			p.Name, p)
	}

	if first, last := gridM[0], gridM[len(gridM)-1]; p.M < first || p.M > last {
		return fmt.Errorf("decode prior of the scale %q: expected m from %g to %g, found %g", p.Name, first, last, p.M)
	}

	if first, last := gridTau[0], gridTau[len(gridTau)-1]; p.Tau < first || p.Tau > last {
		return fmt.Errorf("decode prior of the scale %q: expected tau from %g to %g, found %g", p.Name, first, last, p.Tau)
	}

	if least := gridM[1] - gridM[0]; p.MStd < least {
		return fmt.Errorf("decode prior of the scale %q: expected an m_std of at least %g, found %g", p.Name, least, p.MStd)
	}

	if p.Rises != (Rises{}) && !p.Rises.sound() {
		return fmt.Errorf("decode prior of the scale %q: expected rises with an origin, groups and shares inside from 0 to "+
			"1, found %+v", p.Name, p.Rises)
	}

	if math.IsNaN(p.weights()[0]) {
		return fmt.Errorf("decode prior of the scale %q: expected deviations with which the grids of m and tau have a "+
			"weight, found %g and %g", p.Name, p.MStd, p.TauStd)
	}

	return nil
}

// positive reports whether a number is positive and finite.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// Digest returns a text that identifies the numbers of the prior, for the keys of results.
func (p Prior) Digest() string {
	text := fmt.Appendf(nil, "%x %x %x %x %x %x", p.M, p.MStd, p.Tau, p.TauStd, p.ClaimFloor, p.ClaimRatio)
	if p.Rises != (Rises{}) {
		text = fmt.Appendf(text, " %v %v", p.Rises.Rose, p.Rises.Steady)
	}

	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:8])
}

// weights returns the prior probability of each point of the grid, m by τ. Their sum is 1.
func (p Prior) weights() []float64 {
	list := make([]float64, 0, len(gridM)*len(gridTau))
	for _, m := range gridM {
		for j, tau := range gridTau {
			a := (m - p.M) / p.MStd
			b := math.Log(tau/p.Tau) / p.TauStd
			list = append(list, math.Exp(-(a*a+b*b)/2)*widthTau[j])
		}
	}

	normalise(list)

	return list
}
