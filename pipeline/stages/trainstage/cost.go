package trainstage

import (
	"doubletake/dsp"
	"doubletake/train/form"
)

// The costs below are seconds on one processor (an EPYC with AVX2). BenchmarkEstimates of package pipeline compares
// what they give with the processor time that runs take: change them if its ratios leave 0.5 to 2.
const (
	trainSeconds    = 8e-7 // of a network: a pair in an epoch
	estimateSeconds = 4e-5 // of a network: a condition with few outcomes

	// Of the evidence of a process: for each pair of conditions, with an input more, and for the cube of the conditions.
	pairSeconds  = 0.9e-8
	inputSeconds = 0.35e-8
	cubeSeconds  = 2.5e-11

	// Of a process of all conditions: an element of its covariance, and a step of its factor or its inverse.
	elementSeconds = 5e-8
	stepSeconds    = 6e-11
)

// Numbers of the search for hyperparameters and of what is left out, which bound its time.
const (
	searchConditions  = 320 // conditions of the search for a calibration
	farConditions     = 160 // conditions of the search for far runs
	manyConditions    = 4000
	designConditions  = 2000 // conditions up to which single conditions are left out, by the inverse
	startEvaluations  = 65   // evaluations of the evidence from one start
	starts            = 3
	manyOutcomes      = 12 // outcomes from which on most are searched from one start
	outcomesPerSearch = 8
	trainedShare      = 0.85 // of the conditions, as splits hold out the others
	choiceFits        = 2    // time for the choice of a form and the fit in it, in fits in the default form
	farFits           = 2.5  // fits of the search for far runs, if few are far
)

// size are the numbers that the time of a process depends on.
type size struct {
	rows, inputs, outcomes float64
}

// size returns the numbers of a process. In order form a process has one outcome, and a row for each harmonic.
func (pl *planner) size() size {
	conditions, _ := pl.ing.Size()
	conditions *= trainedShare
	s := size{rows: conditions, inputs: float64(len(pl.exp.Train.Inputs)), outcomes: float64(pl.outcomes())}
	_, areSpectra := pl.ing.Construction.(dsp.OfSpectra)
	if areSpectra && pl.exp.Train.Honest.Form != "conditions" {
		return size{rows: conditions * s.outcomes, inputs: s.inputs + 2, outcomes: 1}
	}

	return s
}

// outcomes returns the number of outcomes that are trained, or 2 if it is not known.
func (pl *planner) outcomes() int {
	const typical = 2
	if n := len(pl.exp.Train.Outcomes); n > 0 {
		return n
	}

	if n := len(pl.ing.Outcomes); n > 0 {
		return n
	}

	return typical
}

// search returns the seconds of the search for hyperparameters on at most so many conditions.
func (s size) search(most float64) float64 {
	n := min(s.rows, most)
	once := startEvaluations * (n*n*(pairSeconds+inputSeconds*s.inputs) + n*n*n*cubeSeconds)
	if s.outcomes < manyOutcomes {
		return s.outcomes * starts * once
	}

	full := s.outcomes / outcomesPerSearch

	return (full*starts + s.outcomes - full) * once
}

// factors returns the seconds that the processes of all outcomes take once the hyperparameters are known: covariance,
// factor, groups and single conditions left out.
func (s size) factors() float64 {
	n := min(s.rows, manyConditions)
	thirds := 2.0 // of n³: the factor, and what the groups are solved for
	if s.rows <= designConditions {
		thirds = 4
	}

	return s.outcomes * (n*n/2*elementSeconds + thirds/3*n*n*n*stepSeconds)
}

// weight estimates the seconds that one training takes on one processor.
func (pl *planner) weight() float64 {
	conditions, pairs := pl.ing.Size()
	few := 3.0 // outcomes
	answers := conditions * estimateSeconds * (1 + float64(pl.outcomes())/few)

	return 0.02 + trainSeconds*pairs*float64(pl.exp.Train.Optimizer.Epochs) + answers
}

// honestWeight estimates the seconds that the calibration of a split takes on one processor.
func (pl *planner) honestWeight() float64 {
	s := pl.size()
	once := s.search(searchConditions) + s.factors()
	_, areSpectra := pl.ing.Construction.(dsp.OfSpectra) // whose form is the default one
	if pl.exp.Train.Form == form.Auto && !areSpectra {
		once *= choiceFits
	}

	return 0.1 + once
}

// FarSeconds estimates the seconds that the report takes to look for far runs on one processor.
func (r Result) FarSeconds() float64 {
	if r.planner == nil || r.exp.Train.Honest.Base == "none" || len(r.exp.Train.Inputs) == 0 {
		return 0
	}

	s := r.size()
	s.outcomes = float64(r.outcomes()) // by conditions, in any case
	s.rows = min(s.rows, designConditions)

	return farFits * (s.search(farConditions)/2 + s.factors())
}
