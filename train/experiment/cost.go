package experiment

import (
	"doubletake/train/form"
)

// The costs below are seconds on one processor. They are measured: BenchmarkEstimates of package pipeline and the bench
// docs/research/bench/scale compare the estimates with the processor time of runs. An EPYC with AVX-512 takes 0.5 to
// 0.8 of the estimated time, and an older EPYC with AVX2 takes 1.4 to 2.0 times the estimated time. Change the costs if
// the ratios of estimated to taken time leave 0.5 to 2.
const (
	// A network with few outcomes trains on one pair in one epoch in trainSeconds, and takes twice as long with
	// trainOutcomes. It predicts one condition with few outcomes in estimateSeconds.
	trainSeconds    = 5e-7
	trainOutcomes   = 20
	estimateSeconds = 4e-5

	// The evidence of a process of n conditions with k inputs takes n²·(pairSeconds + k·inputSeconds) + n³·cubeSeconds.
	pairSeconds  = 0.57e-8
	inputSeconds = 0.21e-8
	cubeSeconds  = 1.7e-11

	// A fitted process takes elementSeconds for each element of its covariance, and stepSeconds for each step of the
	// factor or the inverse.
	elementSeconds = 3.6e-8
	stepSeconds    = 4.3e-11
)

// These numbers repeat the bounds of the search for hyperparameters and of the calibration, as far as their time
// depends on them.
const (
	searchConditions  = 320   // largest number of conditions with which a calibration searches
	farConditions     = 160   // largest number of conditions with which the report searches for far runs
	manyConditions    = 4000  // largest number of conditions of a process
	leftOutRows       = 20000 // largest number of rows that a process of cells predicts without their groups
	designConditions  = 2000  // largest number of conditions of which single ones are left out
	startEvaluations  = 65    // evaluations of the evidence from one start of the search
	starts            = 3     // starts of the search for one outcome
	manyOutcomes      = 12    // smallest number of outcomes most of which are searched from one start only
	outcomesPerSearch = 8     // every eighth outcome is then searched from all starts
	trainedShare      = 0.85  // typical share of the conditions that a split trains on
	choiceFits        = 2     // time for the choice of a form and the fit in it, in fits in the default form
	farFits           = 1.5   // time of the search for far runs if few are far, in fits
)

// size has the numbers on which the time of a process depends.
type size struct {
	rows     float64 // conditions, or conditions times harmonics
	inputs   float64
	outcomes float64
}

// size returns the numbers of a process. In order form a process has one outcome, and a row for each harmonic.
func (e *Experiment) size() size {
	conditions, _ := e.Size()
	conditions *= trainedShare
	s := size{rows: conditions, inputs: float64(len(e.Inputs)), outcomes: float64(e.outcomes())}
	if e.Spectra && e.Honest.Form != "conditions" {
		return size{rows: conditions * s.outcomes, inputs: s.inputs + 2, outcomes: 1}
	}

	return s
}

// outcomes returns the number of outcomes that are trained, or 2 if it is not known.
func (e *Experiment) outcomes() int {
	const typical = 2
	if n := len(e.Outcomes); n > 0 {
		return n
	}

	if n := len(e.Measured); n > 0 {
		return n
	}

	return typical
}

// search returns the seconds of the search for hyperparameters, which takes at most the given number of conditions.
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
	thirds := 2.0 // steps in n³/3: one for the factor, and one to leave the groups out
	if s.rows <= designConditions {
		thirds = 4 // single conditions are left out too
	}

	return s.outcomes * (n*n/2*elementSeconds + thirds/3*n*n*n*stepSeconds)
}

// groups returns the seconds that a process of cells takes to predict the rows of the left-out groups. A process of
// conditions leaves them out in closed form, which factors contains. It returns 0 for a process of conditions.
func (s size) groups() float64 {
	if s.rows <= manyConditions {
		return 0
	}

	return s.outcomes * min(s.rows, leftOutRows) * manyConditions * manyConditions * stepSeconds
}

// Weight estimates the seconds that one training takes on one processor.
func (e *Experiment) Weight() float64 {
	conditions, pairs := e.Size()
	few := 3.0 // outcomes
	outcomes := float64(e.outcomes())
	epochs := float64(e.Network.Optimizer.Epochs)
	steps := trainSeconds * pairs * epochs * (1 + outcomes/trainOutcomes)
	answers := conditions * estimateSeconds * (1 + outcomes/few)

	return 0.02 + steps + answers
}

// HonestWeight estimates the seconds that the calibration of a split takes on one processor.
func (e *Experiment) HonestWeight() float64 {
	s := e.size()
	once := s.search(searchConditions) + s.factors()
	if e.Form == form.Auto && !e.Spectra { // spectra have one form, so that none is chosen
		once *= choiceFits
	}

	return 0.1 + once + s.groups()
}

// FarSeconds estimates the seconds that the report takes to look for far runs on one processor. It returns 0 if the
// report does not look for them: without a base of predictions, or without inputs.
func (e *Experiment) FarSeconds() float64 {
	if e.Honest.Base == "none" || len(e.Inputs) == 0 {
		return 0
	}

	s := e.size()
	s.outcomes = float64(e.outcomes()) // by conditions, in any case
	s.rows = min(s.rows, designConditions)

	return farFits * (s.search(farConditions)/2 + s.factors())
}
