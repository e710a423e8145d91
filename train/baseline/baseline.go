// Package baseline holds methods that predict a mean, its total uncertainty and
// the epistemic part of it, behind one interface, so that they can be compared
// on the same data by the same scores (docs/method.md#scores): the model of pairs
// itself and the methods it is measured against. A new method is one file, a type
// with Fit, and its Info, in the list methods or, from a program of one's own, by
// Register; package baselinetest holds it to the contract of Method. The scores
// themselves are in package score.
//
// All methods see the same triplets and, as far as they are networks, the same
// layers, optimiser and number of steps.
package baseline

import (
	"context"
	"fmt"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train"
	"doubletake/train/triplets"
)

// Method learns from triplets.
//
// Fit does not change data, and its result depends on the rows of data, the
// method's settings and the seed only; several may run at once. A set of some of
// the rows (triplets.Set.Select) is a training set like any other, of which a
// method knows nothing but these rows. Fit returns an error that wraps ctx's when
// ctx is done, and an error for data that nothing can be learned from: fewer than
// two rows, numbers that are not finite, an outcome that does not vary.
type Method interface {
	Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error)
}

// Predictor is a fitted method. x is row-major n×In in the data's own units;
// Predict panics if it is not. The prediction at a condition does not depend on
// the others asked for. Predict returns an error that wraps ctx's when ctx is
// done, and is safe for concurrent use where the method's documentation promises
// it.
type Predictor interface {
	Predict(ctx context.Context, x []float64) (*Prediction, error)
}

// Prediction holds a method's predictions at N conditions, N×Out each,
// row-major, in the outcomes' own units (variances in unit²).
type Prediction struct {
	N, Out    int
	Mu        []float64 // mean
	Total     []float64 // variance of one measurement about Mu, everything included
	Epistemic []float64 // v̂: the part of it that is ignorance of the true mean; C may be negative
	Doubt     string    // why Epistemic is not what the method claims: "the chains disagree"; "" where nothing is known
}

// NewPrediction returns a prediction whose numbers are zero.
func NewPrediction(n, out int) *Prediction {
	v := func() []float64 { return make([]float64, n*out) }
	return &Prediction{N: n, Out: out, Mu: v(), Total: v(), Epistemic: v()}
}

// Settings holds the settings of every method. Members and Samples take their
// defaults if zero.
type Settings struct {
	Config   train.Config          // network and training; its Seed is replaced by Fit's
	Estimate train.EstimateOptions // pair: how C is computed
	Members  int                   // ensemble: networks, default 5
	Samples  int                   // of methods that sample
}

// Info describes a method.
type Info struct {
	Name    string // in the configuration, in tables and of files
	Claim   string // what v̂ is: "the variance of the members' means"
	Members bool   // Settings.Members is used: as many networks are trained
	Slow    bool   // not among all: it takes longer than the training does, or is experimental
	Simple  bool   // not among all: done by hand in a moment; leaves out the groups of the set itself
	Version int    // of its results, where it was raised for this method alone
	New     func(s Settings) Method
}

// methods are the methods that New knows, in the order of tables.
var methods = []Info{
	{Name: "pair", Claim: "C", New: func(s Settings) Method { return Pair{s.Config, s.Estimate} }},
	{
		Name: "ensemble", Claim: "the variance of the members' means", Members: true,
		New: func(s Settings) Method { return Ensemble{s.Config, s.Members} },
	},
	{Name: "zigzag", Claim: "u²", New: func(s Settings) Method { return ZigZag{s.Config} }},
	{
		Name: "laplace", Claim: "the variance of the mean by the last layer's posterior",
		New: func(s Settings) Method { return Laplace{s.Config} },
	},
	{
		// 2: the additive process, with noise that varies; 3: cells above 4,000 rows, the search of many outcomes.
		Name: "gp", Claim: "the posterior variance of the process", Version: 3,
		New: func(Settings) Method { return GP{} },
	},
	{Name: "linear", Claim: ofGroups, Simple: true, New: func(Settings) Method { return Linear{} }},
	{Name: "nearest-group", Claim: ofGroups, Simple: true, New: func(Settings) Method { return NearestGroup{} }},
	{Name: "constant", Claim: "the variance of the training mean", New: func(Settings) Method { return Constant{} }},
}

const ofGroups = "the squared error on left-out groups"

// Register adds methods of a program of one's own, before a configuration is read. A name
// that is known is an error.
func Register(more ...Info) error {
	for _, m := range more {
		if _, known := Describe(m.Name); known || m.Name == "" || m.Name == "all" || m.New == nil {
			return fmt.Errorf("register method %q: expected New and a name other than all, %s", m.Name,
				strings.Join(names(methods), ", "))
		}

		methods = append(methods, m)
	}

	return nil
}

// Compared returns the names of the methods that the model of pairs, the first of
// methods, is compared with.
func Compared() []string { return names(methods[1:]) }

// All returns the names of the methods that "all" stands for: those compared that
// are neither slow nor simple.
func All() []string {
	return names(lists.Keep(methods[1:], func(m Info) bool { return !m.Slow && !m.Simple }))
}

func names(of []Info) []string { return lists.Each(of, func(m Info) string { return m.Name }) }

// Describe returns the description of the method of that name; ok is false where
// there is none.
func Describe(name string) (m Info, ok bool) {
	return lists.Find(methods, func(m Info) bool { return m.Name == name })
}

// New returns the method of that name.
func New(name string, s Settings) (Method, error) {
	m, ok := Describe(name)
	if !ok {
		return nil, fmt.Errorf("choose method: expected one of %s, found %q", strings.Join(names(methods), ", "), name)
	}

	return m.New(s), nil
}

// derive gives the k-th member of a method its seed (splitmix64's finaliser).
func derive(seed uint64, k int) uint64 {
	z := seed + 0x9E3779B97F4A7C15*uint64(k+1)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
