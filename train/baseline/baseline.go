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
	"slices"
	"strings"

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
	Samples  int                   // mc-dropout: passes, default 200
}

// Info describes a method.
type Info struct {
	Name    string // in the configuration, in tables and of files
	Claim   string // what v̂ is: "the variance of the members' means"
	Members bool   // Settings.Members is used: as many networks are trained
	Slow    bool   // not among all: it takes longer than the training does, or is experimental
	Simple  bool   // not among all: done by hand in a moment; leaves out the groups of the set itself
	Closed  bool   // fitted without epochs
	Version int    // of its results, where it was raised for this method alone
	Shared  bool   // v̂ is what the two outcomes of a pair share: with couples it is the total
	New     func(s Settings) Method
	Needs   func(c train.Config) string // what the settings lack, see Needs; nil: nothing
}

// methods are the methods that New knows, in the order of tables.
var methods = []Info{
	{Name: "pair", Claim: "C", Shared: true, New: func(s Settings) Method { return Pair{s.Config, s.Estimate} }},
	{
		Name: "ensemble", Claim: "the variance of the members' means", Members: true,
		New: func(s Settings) Method { return Ensemble{s.Config, s.Members} },
	},
	{
		Name: "mc-dropout", Claim: "the variance of the sampled means", Needs: dropoutNeeds,
		New: func(s Settings) Method { return MCDropout{s.Config, s.Samples} },
	},
	{Name: "zigzag", Claim: "u²", New: func(s Settings) Method { return ZigZag{s.Config} }},
	{
		Name: "joint", Claim: "C of the head", Shared: true,
		New: func(s Settings) Method { return JointHead{s.Config, train.Joint} },
	},
	{
		Name: "joint-full", Claim: "C of the head", Shared: true,
		New: func(s Settings) Method { return JointHead{s.Config, train.JointFull} },
	},
	{
		Name: "binned", Claim: "C of the head's tables", Shared: true, Slow: true,
		New: func(s Settings) Method { return JointHead{s.Config, train.Binned} },
	},
	{
		Name: "laplace", Claim: "the variance of the mean by the last layer's posterior",
		New: func(s Settings) Method { return Laplace{s.Config} },
	},
	{
		// 2: the additive process, with noise that varies; 3: cells above 4,000 rows, the search of many outcomes.
		Name: "gp", Claim: "the posterior variance of the process", Closed: true, Version: 3,
		New: func(Settings) Method { return GP{} },
	},
	{
		Name: "linear", Claim: "the squared error on left-out groups", Closed: true, Simple: true,
		New: func(Settings) Method { return Linear{} },
	},
	{
		Name: "nearest-group", Claim: "the squared error on left-out groups", Closed: true, Simple: true,
		New: func(Settings) Method { return NearestGroup{} },
	},
	{
		Name: "conformal", Claim: "the variance beyond the noise of a constant interval", Closed: true, Simple: true,
		New: func(Settings) Method { return Conformal{} },
	},
	{
		Name: "conformal-relative", Claim: "the variance beyond the noise of an interval in deviations of gp",
		Closed: true, Simple: true, New: func(Settings) Method { return Conformal{Relative: true} },
	},
	{
		Name: "constant", Claim: "the variance of the training mean", Closed: true,
		New: func(Settings) Method { return Constant{} },
	},
}

// Register adds methods of a program of one's own, before a configuration is read. A name
// that is known is an error.
func Register(more ...Info) error {
	for _, m := range more {
		if _, known := Describe(m.Name); known || m.Name == "" || m.Name == "all" || m.New == nil {
			return fmt.Errorf("register method %q: expected New and a name other than all, %s", m.Name,
				strings.Join(names(), ", "))
		}

		methods = append(methods, m)
	}

	return nil
}

// Compared returns the names of the methods that the model of pairs, the first of
// methods, is compared with.
func Compared() []string { return names()[1:] }

// All returns the names of the methods that "all" stands for: those compared that
// are neither slow nor simple, and that the settings of the network suffice for.
func All(c train.Config) (out []string) {
	for _, m := range methods[1:] {
		if !m.Slow && !m.Simple && Needs(m.Name, c) == "" {
			out = append(out, m.Name)
		}
	}

	return out
}

func names() []string {
	out := make([]string, len(methods))
	for i, m := range methods {
		out[i] = m.Name
	}

	return out
}

// Describe returns the description of the method of that name; ok is false where
// there is none.
func Describe(name string) (m Info, ok bool) {
	i := slices.IndexFunc(methods, func(m Info) bool { return m.Name == name })
	if i < 0 {
		return m, false
	}

	return methods[i], true
}

// Needs returns what the settings of the network lack for the method of that name,
// in the words of the configuration: "model.dropout above 0"; "" when nothing.
func Needs(name string, c train.Config) string {
	if m, ok := Describe(name); ok && m.Needs != nil {
		return m.Needs(c)
	}
	return ""
}

// New returns the method of that name.
func New(name string, s Settings) (Method, error) {
	m, ok := Describe(name)
	if !ok {
		return nil, fmt.Errorf("choose method: expected one of %s, found %q", strings.Join(names(), ", "), name)
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
