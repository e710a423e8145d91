package triplets

import "doubletake/internal/lists"

// Answers contains the predictions of a model of pairs at N conditions or rows. Each field has N×Out numbers,
// row-major, or is nil if it was not computed. m and v are the mean and the variance of the second answer, given a
// first answer Y1 ~ N(μ, diag σ²).
type Answers struct {
	Mu     []float64 // μ, mean of the first answer
	Var    []float64 // σ², variance of the first answer: all uncertainty about one outcome
	CovRaw []float64 // the paper's covariance of two answers, (1/M) Σ y·m(y) − μ²; its limit is Cov + μ·Delta
	Cov    []float64 // C_jj = E[(Y1−μ)·m(Y1)], the covariance itself
	Delta  []float64 // δ = E[m(Y1)] − μ
	Kappa  []float64 // κ = E[v(Y1)] + Var m(Y1) − σ²
	ZigZag []float64 // u = |m(μ) − μ|
}

// AnswerColumn describes one field of Answers.
type AnswerColumn struct {
	Suffix      string // end of the column's name in predictions.arrow, after the outcome's name: "_mu"
	Square      bool   // the field is a variance, whose unit is the outcome's unit squared
	Shift       bool   // standardising the field subtracts the outcome's mean
	Description string
	Field       func(*Answers) *[]float64
}

// AnswerColumns lists the fields of Answers in the order of predictions.arrow.
var AnswerColumns = []AnswerColumn{
	{
		Suffix: "_mu", Shift: true, Description: "mean, first answer",
		Field: func(a *Answers) *[]float64 { return &a.Mu },
	},
	{
		Suffix: "_var", Square: true, Description: "variance of the first answer: all uncertainty about the outcome",
		Field: func(a *Answers) *[]float64 { return &a.Var },
	},
	{
		Suffix: "_cov_raw", Square: true,
		Description: "the paper's covariance of two answers, C + μδ, taken in standardised units",
		Field:       func(a *Answers) *[]float64 { return &a.CovRaw },
	},
	{
		Suffix: "_cov", Square: true, Description: "C, the centred covariance of two answers",
		Field: func(a *Answers) *[]float64 { return &a.Cov },
	},
	{
		Suffix: "_delta", Description: "δ, the shift of the mean when an answer is fed back",
		Field: func(a *Answers) *[]float64 { return &a.Delta },
	},
	{
		Suffix: "_kappa", Square: true,
		Description: "κ = (variance of the second answer + variance of its mean) − σ²",
		Field:       func(a *Answers) *[]float64 { return &a.Kappa },
	},
	{
		Suffix: "_zigzag", Description: "|m(μ) − μ|, ZigZag's uncertainty",
		Field: func(a *Answers) *[]float64 { return &a.ZigZag },
	},
}

// Map returns the answers with f applied to every field.
func (a Answers) Map(f func(c AnswerColumn, v []float64) []float64) Answers {
	var result Answers
	for _, c := range AnswerColumns {
		*c.Field(&result) = f(c, *c.Field(&a))
	}

	return result
}

// Rows returns the answers at the given rows, which have a number for each of the outcomes.
func (a Answers) Rows(rows []int, outcomes int) Answers {
	return a.Map(func(_ AnswerColumn, v []float64) []float64 { return lists.Rows(v, outcomes, rows) })
}

// Standardised returns answers, which are in the outcomes' own units, in standardised units.
func (a Answers) Standardised(s Scale) Answers {
	return a.Map(func(c AnswerColumn, v []float64) []float64 { return s.divide(v, c) })
}

// Own returns answers, which are in standardised units, in the outcomes' own units.
func (a Answers) Own(s Scale) Answers {
	return a.Map(func(c AnswerColumn, v []float64) []float64 { return s.multiply(v, c) })
}
