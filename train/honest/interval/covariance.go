package interval

import (
	"fmt"
	"math"
)

// Variant names the form of C(x).
type Variant string

// Variants. All are ln C_j = ln β_j + b1·ln v̂_j + b2·ln d + b3·[outside].
const (
	VariantE  Variant = "E"  // C = β_j·d: b1 = 0, b2 = 1, b3 = 0
	VariantB  Variant = "B"  // b1, b2 and b3 are learned
	VariantO  Variant = "o"  // B, learned as the variance missing on top of v̂
	VariantOE Variant = "oE" // E, learned as the variance missing on top of v̂
)

// Check returns an error for a variant that does not exist.
func (v Variant) Check() error {
	switch v {
	case VariantE, VariantB, VariantO, VariantOE:
		return nil
	}

	return fmt.Errorf("choose form of the covariance: expected E, B, o or oE, found %q", string(v))
}

// OnTop reports whether the covariance is learned on top of the model's own claim.
func (v Variant) OnTop() bool { return v == VariantO || v == VariantOE }

// MinClaim is the standardised variance to which a smaller v̂ is raised.
const MinClaim = 1e-9

// Covariance is C(x), in standardised units: variances divided by Scale².
type Covariance struct {
	Variant  Variant   `json:"variant"`
	LnBeta   []float64 `json:"ln_beta"`         // per outcome
	Claim    float64   `json:"claim_exponent"`  // b1, of v̂
	Distance float64   `json:"dist_exponent"`   // b2, of d
	Outside  float64   `json:"outside_summand"` // b3
	Scale    []float64 `json:"scale"`           // deviation of the training outcomes, in their units
}

// At returns C for each outcome, in unit², at a condition with the model's
// variances claim (unit², one per outcome). dst nil allocates.
func (c *Covariance) At(dst, claim []float64, distance float64, outside bool) []float64 {
	if dst == nil {
		dst = make([]float64, len(c.LnBeta))
	}

	for j, b := range c.LnBeta {
		s2 := c.Scale[j] * c.Scale[j]

		eta := b + c.Distance*math.Log(distance)
		if c.Claim != 0 {
			eta += c.Claim * math.Log(max(claim[j]/s2, MinClaim))
		}

		if outside {
			eta += c.Outside
		}

		dst[j] = math.Exp(eta) * s2
	}

	return dst
}
