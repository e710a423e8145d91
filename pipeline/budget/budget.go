// Package budget states the uncertainty of a measurement as JCGM 100 (GUM) has it: the standard
// uncertainty of each source, what it contributes to the result, and the expanded uncertainty.
// Type A comes of pairs and repeats by nested variances, type B of what the user states.
// JCGM 101's Monte Carlo shows where the linear law is too coarse. docs/budget.md has the formulas.
//
// The law of propagation is of first order; its derivatives are exact. Effects that no
// repetition and no statement covers are not in a budget; it names those it knows of.
package budget

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/ingest/derive"
	"doubletake/internal/lists"
)

// Quantity is an input of a budget.
type Quantity struct {
	Name     string
	Source   string  // in words
	Value    float64 // estimate
	U        float64 // standard uncertainty
	DoF      float64 // degrees of freedom of U; +Inf: well known
	A        bool    // evaluated from repeated observations (type A)
	Law      string  // normal, rectangular, triangular or U-shaped
	Repeated bool    // a level of the campaign: all levels together have the degrees of freedom RepeatedDoF
}

// Budget is an outcome as a function of quantities.
type Budget struct {
	Outcome     string
	Unit        string
	At          string              // condition, in words
	Model       string              // expression of the quantities' names (package derive)
	Derive      []derive.Definition // of further names in it
	Names       map[string]string   // of the labels that Derive compares
	Quantities  []Quantity
	RepeatedDoF float64
	Unseen      []string // what the campaign cannot see, in words
	Pooled      string   // what the scatter is pooled over, in words
	Naive       float64  // standard error by samples or segments taken as independent; 0: not known
	NaiveOf     string   // which
}

// Component is what a quantity contributes.
type Component struct {
	Quantity
	Sensitivity  float64 // ∂y/∂x
	Contribution float64 // |∂y/∂x|·u(x), in the outcome's unit
	Share        float64 // of the variance
}

// Result is an evaluated budget.
type Result struct {
	Budget
	Value, U   float64 // estimate and combined standard uncertainty
	DoF        float64 // effective; +Inf
	K          float64 // coverage factor
	Expanded   float64
	Level      float64
	Components []Component
	MonteCarlo *MonteCarlo // nil: not made
}

// MonteCarlo is the law of the outcome by JCGM 101.
type MonteCarlo struct {
	Draws  int     `json:"draws"`
	Mean   float64 `json:"-"`
	U      float64 `json:"standard_u"`
	Low    float64 `json:"low"` // interval with equal shares on both sides
	High   float64 `json:"high"`
	Delta  float64 `json:"-"`      // tolerance of JCGM 101, 8.1: half a unit of the first digit of U
	Agrees bool    `json:"agrees"` // both ends are within Delta of the linear law's
}

// ModelError reports a model that cannot be evaluated.
type ModelError struct {
	Model string
	Err   error
}

func (e *ModelError) Error() string { return fmt.Sprintf("model %s: %v", e.Model, e.Err) }
func (e *ModelError) Unwrap() error { return e.Err }

// result is what a model is called in a derive.Set.
const result = "budget result"

// Evaluate propagates the uncertainties (JCGM 100, 5.1, 5.2 and G.4). draws > 0 asks for Monte
// Carlo too.
func (b Budget) Evaluate(level float64, draws int) (Result, error) {
	names := lists.Each(b.Quantities, func(q Quantity) string { return q.Name })
	defs := append(slices.Clip(b.Derive), derive.Definition{Name: result, Text: b.Model})
	set, err := derive.New(defs, nil, nil, slices.Collect(maps.Keys(b.Names)), names)
	if err != nil {
		return Result{}, &ModelError{b.Model, err}
	}

	values := map[string]derive.Dual{}
	for i, q := range b.Quantities {
		d := make([]float64, len(names))
		d[i] = 1
		values[q.Name] = derive.Dual{Value: q.Value, D: d}
	}

	set.Differentiate(values, b.Names)
	y := values[result]
	r := Result{Budget: b, Value: y.Value, Level: level}

	slope := append(slices.Clone(y.D), make([]float64, len(names)-len(y.D))...)
	variance := 0.0
	for i, q := range b.Quantities {
		c := slope[i] * q.U
		variance += c * c
		r.Components = append(r.Components, Component{q, slope[i], math.Abs(c), c * c})
	}

	if variance-variance != 0 || y.Value-y.Value != 0 {
		return r, &ModelError{b.Model, fmt.Errorf("expected finite numbers, found %g with variance %g", y.Value, variance)}
	}

	r.U = math.Sqrt(max(variance, 0))
	r.DoF = r.effective()
	r.K = Coverage(level, r.DoF)
	r.Expanded = r.K * r.U

	for i := range r.Components {
		if variance > 0 {
			r.Components[i].Share /= variance
		}
	}

	if draws > 0 {
		r.MonteCarlo, err = r.monteCarlo(set, draws)
	}

	return r, err
}

// effective are Welch and Satterthwaite's degrees of freedom. The levels of the campaign are one component.
func (r Result) effective() float64 {
	repeated, sum := 0.0, 0.0
	for _, c := range r.Components { // Share is still a variance
		if c.Repeated {
			repeated += c.Share
		} else {
			sum += c.Share * c.Share / c.DoF
		}
	}

	if repeated > 0 {
		sum += repeated * repeated / r.RepeatedDoF
	}

	if sum == 0 {
		return math.Inf(1)
	}

	return math.Pow(r.U, 4) / sum
}

// LeastCertain keeps the budget with the largest uncertainty of each outcome.
func LeastCertain(list []Result) (out []Result) {
	for _, r := range list {
		i := slices.IndexFunc(out, func(o Result) bool { return o.Outcome == r.Outcome })
		switch {
		case i < 0:
			out = append(out, r)
		case r.U > out[i].U:
			out[i] = r
		}
	}

	return out
}

// Coverage is the factor k of a level: Student's quantile with the degrees of freedom cut to an
// integer (JCGM 100, G.4.1).
func Coverage(level, dof float64) float64 {
	p := (1 + level) / 2
	if dof > 1e6 {
		return distuv.UnitNormal.Quantile(p)
	}

	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(1, math.Floor(dof+1e-9))}.Quantile(p)
}

// monteCarlo draws from the laws of the quantities.
func (r Result) monteCarlo(set *derive.Set, draws int) (*MonteCarlo, error) {
	h := fnv.New64a()
	fmt.Fprint(h, r.Outcome, r.At, r.Model)
	src := rand.New(rand.NewPCG(h.Sum64(), 101))

	out, z := make([]float64, draws), make([]float64, len(r.Quantities))
	values := make(map[string]float64, len(z)+1)
	for k := range out {
		for i := range z {
			z[i] = src.NormFloat64()
		}

		repeated := 0.0 // factor of Student's law, which all levels of the campaign share
		for i, q := range r.Quantities {
			if q.Repeated && repeated == 0 {
				repeated = student(src, r.RepeatedDoF)
			}

			values[q.Name] = q.Value + q.U*q.draw(src, z[i], repeated)
		}

		if err := set.AddOutcomes(values, r.Names); err != nil {
			return nil, &ModelError{r.Model, fmt.Errorf("a draw: %w", err)}
		}

		out[k] = values[result]
	}

	slices.Sort(out)
	m := &MonteCarlo{Draws: draws, Delta: 0.5 * math.Pow(10, math.Floor(math.Log10(r.U)))}
	m.Low, m.High = out[int(float64(draws)*(1-r.Level)/2)], out[int(float64(draws)*(1+r.Level)/2)]
	for _, v := range out {
		m.Mean += v / float64(draws)
	}

	for _, v := range out {
		m.U += (v - m.Mean) * (v - m.Mean) / float64(draws-1)
	}

	m.U = math.Sqrt(m.U)
	m.Agrees = math.Abs(m.Low-r.Value+r.Expanded) <= m.Delta && math.Abs(m.High-r.Value-r.Expanded) <= m.Delta

	return m, nil
}

// draw is a draw in units of the standard uncertainty; z is one of the normal law.
func (q Quantity) draw(src *rand.Rand, z, repeated float64) float64 {
	switch {
	case q.Law == "rectangular":
		return math.Sqrt(3) * (2*src.Float64() - 1)
	case q.Law == "triangular":
		return math.Sqrt(6) * (src.Float64() - src.Float64())
	case q.Law == "U-shaped":
		return math.Sqrt2 * math.Sin(math.Pi*(src.Float64()-0.5))
	case q.Repeated:
		return z * repeated
	}

	return z * student(src, q.DoF)
}

// student is a draw of the factor that makes a normal law Student's.
func student(src *rand.Rand, dof float64) float64 {
	if dof > 1e6 {
		return 1
	}
	return math.Sqrt(dof / (distuv.ChiSquared{K: dof, Src: src}).Rand())
}
