// Package budget computes the uncertainty of a measurement by JCGM 100 (GUM): the standard
// uncertainty of each source, its contribution to the result, and the expanded uncertainty.
// Uncertainties of type A come from pairs and repeats by nested variances, uncertainties of
// type B are stated. The Monte Carlo method of JCGM 101 shows whether the linear
// law is too coarse. docs/budget.md has the formulas.
//
// Compute returns the budgets of an experiment (experiment.go, with the variances of
// nested.go and the pools of alike.go), Evaluate propagates the uncertainties of one budget
// (budget.go), and print.go writes the results.
//
// The law of propagation is of first order, with exact derivatives. A budget does not contain
// effects that no repetition shows and nobody states. It names the effects it knows of.
//
// A level of repetition is a way in which measurements of one condition were repeated: on other days, in other runs, in
// other parts of a run. Its units are these days, runs or parts. Scatter between the units of a level is a quantity of
// the budget. Type A and type B are the two ways of JCGM 100 to evaluate an uncertainty: by repeated observations, and
// by any other knowledge.
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
)

// Quantity is an input of a budget.
type Quantity struct {
	Name     string  // in the model
	Source   string  // in words
	Value    float64 // estimate
	U        float64 // standard uncertainty, in the unit of Value
	DoF      float64 // degrees of freedom of U; +Inf if U is exactly known
	A        bool    // evaluated from repeated observations (type A); otherwise type B
	Law      string  // "normal", "rectangular", "triangular" or "U-shaped"
	Repeated bool    // a level of repetition, such as runs: all levels together have Budget.RepeatedDoF
}

// Budget is an outcome as a function of quantities.
type Budget struct {
	Outcome     string
	Unit        string
	At          string              // condition, in words
	Model       string              // expression of the names of Quantities and Derive (package derive)
	Derive      []derive.Definition // definitions of further names in Model
	Names       map[string]string   // texts that Derive compares with, by the name of their column
	Quantities  []Quantity
	RepeatedDoF float64  // degrees of freedom of the sum of all levels of repetition
	Unseen      []string // effects that the campaign cannot show, in words
	Pooled      string   // the conditions that the scatter is pooled over, in words
	Naive       float64  // standard error if samples or segments were independent; 0 or NaN: not known
	NaiveOf     string   // "samples" or "segments"
}

// Component is the contribution of a quantity to the result.
type Component struct {
	Quantity
	Sensitivity  float64 // ∂y/∂x
	Contribution float64 // |∂y/∂x|·u(x), in the outcome's unit
	Share        float64 // of the result's variance, from 0 to 1; 0 if the result has no variance
}

// Result is an evaluated budget.
type Result struct {
	Budget
	Value, U   float64     // estimate and combined standard uncertainty, in the unit of the outcome
	DoF        float64     // effective degrees of freedom; +Inf if U is exactly known
	K          float64     // coverage factor
	Expanded   float64     // expanded uncertainty, K times U
	Level      float64     // of confidence: 0.95
	Components []Component // one for each quantity
	MonteCarlo *MonteCarlo // nil if it was not asked for
}

// MonteCarlo is the distribution of the outcome by the Monte Carlo method of JCGM 101.
type MonteCarlo struct {
	Draws  int     `json:"draws"`
	Mean   float64 `json:"-"`
	U      float64 `json:"standard_u"`
	Low    float64 `json:"low"` // lower end of the interval with equal shares on both sides
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

// modelName is the name of the budget's model among the definitions of a derive.Set.
const modelName = "budget result"

// Evaluate propagates the uncertainties (JCGM 100, 5.1, 5.2 and G.4) to a level of confidence. If draws is
// positive, Evaluate also makes as many draws by Monte Carlo. It returns a *ModelError if the model cannot be
// evaluated.
func (b Budget) Evaluate(level float64, draws int) (Result, error) {
	names := make([]string, len(b.Quantities))
	for i, quantity := range b.Quantities {
		names[i] = quantity.Name
	}

	defs := append(slices.Clip(b.Derive), derive.Definition{Name: modelName, Text: b.Model})
	set, err := derive.New(defs, nil, nil, slices.Collect(maps.Keys(b.Names)), names)
	if err != nil {
		return Result{}, &ModelError{b.Model, err}
	}

	value, slopes := b.differentiate(set)
	r := Result{Budget: b, Value: value, Level: level}
	variance := 0.0
	variances := make([]float64, len(slopes)) // contribution of each quantity
	for i, quantity := range b.Quantities {
		contribution := slopes[i] * quantity.U
		variances[i] = contribution * contribution
		variance += variances[i]
		r.Components = append(r.Components, Component{
			Quantity: quantity, Sensitivity: slopes[i], Contribution: math.Abs(contribution),
		})
	}

	if !finite(variance) || !finite(value) {
		return r, &ModelError{b.Model, fmt.Errorf("expected finite numbers, found %g with variance %g", value, variance)}
	}

	r.U = math.Sqrt(variance)
	r.DoF = r.effectiveDoF(variances)
	r.K = Coverage(level, r.DoF)
	r.Expanded = r.K * r.U
	if variance > 0 {
		for i := range r.Components {
			r.Components[i].Share = variances[i] / variance
		}
	}

	if draws <= 0 {
		return r, nil
	}

	r.MonteCarlo, err = r.monteCarlo(set, draws)

	return r, err
}

// differentiate returns the value of the model, and its derivative ∂y/∂x by each quantity. set has the model under
// modelName.
func (b Budget) differentiate(set *derive.Set) (value float64, slopes []float64) {
	values := map[string]derive.Dual{} // numbers with their derivatives by all quantities
	for i, quantity := range b.Quantities {
		own := make([]float64, len(b.Quantities)) // 1 by itself, 0 by the others
		own[i] = 1
		values[quantity.Name] = derive.Dual{Value: quantity.Value, D: own}
	}

	set.Differentiate(values, b.Names)
	y := values[modelName]
	slopes = make([]float64, len(b.Quantities))
	copy(slopes, y.D) // which is shorter if the last quantities have no part in y

	return y.Value, slopes
}

// finite reports whether v is a number and not infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// effectiveDoF returns the effective degrees of freedom by Welch and Satterthwaite (JCGM 100, G.4.1): U⁴ over the sum
// of the squared variances of the components, each over its degrees of freedom. variances has the variance of each
// component. All levels of repetition are one component.
func (r Result) effectiveDoF(variances []float64) float64 {
	repeated := 0.0 // variance of all levels of repetition
	sum := 0.0
	for i, component := range r.Components {
		if component.Repeated {
			repeated += variances[i]
		} else {
			sum += variances[i] * variances[i] / component.DoF
		}
	}

	if repeated > 0 {
		sum += repeated * repeated / r.RepeatedDoF
	}

	if sum == 0 {
		return math.Inf(1)
	}

	return nearWhole(math.Pow(r.U, 4) / sum)
}

// roundingOfDoF is how far rounding may take degrees of freedom from a whole number, as a share in nearWhole and as a
// difference in roundedDown.
const roundingOfDoF = 1e-9

// nearWhole returns a number of degrees of freedom, whole if it is so but for rounding.
func nearWhole(dof float64) float64 {
	if whole := math.Round(dof); math.Abs(dof-whole) < roundingOfDoF*whole {
		return whole
	}

	return dof
}

// LeastCertain returns for each outcome the budget with the largest uncertainty.
func LeastCertain(list []Result) []Result {
	var least []Result
	for _, r := range list {
		i := slices.IndexFunc(least, func(l Result) bool { return l.Outcome == r.Outcome })
		switch {
		case i < 0:
			least = append(least, r)
		case r.U > least[i].U:
			least[i] = r
		}
	}

	return least
}

// manyDoF is the number of degrees of freedom above which Student's law is taken to be normal.
const manyDoF = 1e6

// Coverage returns the coverage factor k for a level: Student's quantile with the degrees of freedom rounded down, but
// at least 1 (JCGM 100, G.4.1).
func Coverage(level, dof float64) float64 {
	p := (1 + level) / 2
	if dof > manyDoF {
		return distuv.UnitNormal.Quantile(p)
	}

	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: roundedDown(dof)}.Quantile(p)
}

// roundedDown returns degrees of freedom rounded down to a whole number, but at least 1 (JCGM 100, G.4.1).
func roundedDown(dof float64) float64 { return max(1, math.Floor(dof+roundingOfDoF)) }

// monteCarlo draws the quantities from their laws, and evaluates the model for each draw. The same budget gives the
// same draws.
func (r Result) monteCarlo(set *derive.Set, draws int) (*MonteCarlo, error) {
	seed := fnv.New64a()
	fmt.Fprint(seed, r.Outcome, r.At, r.Model)
	const stream = 101 // any fixed number
	src := rand.New(rand.NewPCG(seed.Sum64(), stream))

	sample := make([]float64, draws)        // the outcome of each draw
	z := make([]float64, len(r.Quantities)) // normal deviates of a draw
	values := make(map[string]float64, len(z)+1)
	for k := range sample {
		for i := range z {
			z[i] = src.NormFloat64()
		}

		repeated := 0.0 // factor of Student's law, which all levels of repetition share; 0: not drawn yet
		for i, quantity := range r.Quantities {
			if quantity.Repeated && repeated == 0 {
				repeated = student(src, r.RepeatedDoF)
			}

			values[quantity.Name] = quantity.Value + quantity.U*quantity.draw(src, z[i], repeated)
		}

		if err := set.AddOutcomes(values, r.Names); err != nil {
			return nil, &ModelError{r.Model, fmt.Errorf("a draw: %w", err)}
		}

		sample[k] = values[modelName]
	}

	return r.summarise(sample), nil
}

// summarise returns the mean, the deviation and the interval of the drawn outcomes, and whether the interval agrees
// with the linear law. It sorts the sample.
func (r Result) summarise(sample []float64) *MonteCarlo {
	draws := len(sample)
	slices.Sort(sample)
	law := &MonteCarlo{Draws: draws, Delta: 0.5 * math.Pow(10, math.Floor(math.Log10(r.U)))}
	below := int(math.Round(float64(draws) * (1 - r.Level) / 2)) // draws on each side of the interval
	law.Low = sample[below]
	law.High = sample[draws-below]
	for _, v := range sample {
		law.Mean += v / float64(draws)
	}

	for _, v := range sample {
		law.U += (v - law.Mean) * (v - law.Mean) / float64(draws-1)
	}

	law.U = math.Sqrt(law.U)
	lowAgrees := math.Abs(law.Low-r.Value+r.Expanded) <= law.Delta
	highAgrees := math.Abs(law.High-r.Value-r.Expanded) <= law.Delta
	law.Agrees = lowAgrees && highAgrees

	return law
}

// draw returns a draw from the quantity's law, in units of the standard uncertainty. z is a draw from the normal law,
// and repeated the factor that makes it one from Student's law for a level of repetition.
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

// student draws the factor by which a draw from the normal law is multiplied to be one from Student's law. The factor
// is 1 if there are more than manyDoF degrees of freedom.
func student(src *rand.Rand, dof float64) float64 {
	if dof > manyDoF {
		return 1
	}
	return math.Sqrt(dof / (distuv.ChiSquared{K: dof, Src: src}).Rand())
}
