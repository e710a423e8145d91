// Package baseline contains the model of pairs and the methods that it is compared with on the same data by the same
// scores (docs/method.md#scores). Each predicts a mean, its total variance and the epistemic part of this variance. A
// new method is a file with a type that implements Method, and its Info in the list methods. A program of your own
// calls Register instead. Package baselinetest tests the contract of Method. Package score computes the scores.
//
// All methods see the same triplets. Methods that are networks have the same layers, optimiser and number of steps.
package baseline

import (
	"context"
	"fmt"
	"strings"

	"doubletake/train"
	"doubletake/train/triplets"
)

// Method learns from triplets.
//
// Fit does not change data. Its result depends only on the rows of data, the method's settings and the seed. Several
// calls may run at once. A set of some of the rows (triplets.Set.Select) is a training set like any other: the method
// must not know other rows. Fit returns an error that wraps ctx's error if ctx is done, and an error if nothing can be
// learned from the data: if there are fewer than two rows, numbers that are not finite, or an outcome that does not
// vary.
type Method interface {
	Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error)
}

// Predictor is a fitted method. x has n×In numbers, row-major, in the data's own units; Predict panics if it does not
// consist of whole rows. The prediction at a condition does not depend on the other conditions in x. Predict returns an
// error that wraps ctx's error if ctx is done. It is safe for concurrent use if the method's documentation says so.
type Predictor interface {
	Predict(ctx context.Context, x []float64) (*Prediction, error)
}

// Prediction has a method's predictions at N conditions. Each slice is N×Out, row-major. Means are in the units of the
// outcomes, and variances in their squares.
type Prediction struct {
	N, Out    int
	Mu        []float64 // mean
	Total     []float64 // variance of one measurement about Mu, everything included
	Epistemic []float64 // v̂: the part of Total that is ignorance of the true mean; the C of pairs may be negative
	Doubt     string    // reason to doubt Epistemic, such as "the chains disagree"; "" if there is none
}

// NewPrediction returns a prediction whose numbers are zero.
func NewPrediction(n, outcomes int) *Prediction {
	return &Prediction{
		N: n, Out: outcomes,
		Mu:        make([]float64, n*outcomes),
		Total:     make([]float64, n*outcomes),
		Epistemic: make([]float64, n*outcomes),
	}
}

// Settings contains the settings of all methods. Members and Samples have their defaults if they are zero.
type Settings struct {
	Config   train.Config          // network and training; Fit replaces its Seed
	Estimate train.EstimateOptions // for the model of pairs: how C is computed
	Members  int                   // for an ensemble: number of networks, 5 by default
	Samples  int                   // for methods that sample: number of samples
}

// Info describes a method.
type Info struct {
	Name    string // name in the configuration, in tables and of files
	Claim   string // words for v̂: "the variance of the members' means"
	Members bool   // the method trains Settings.Members networks
	Slow    bool   // "all" does not include the method, because it takes longer than the training, or is experimental
	Simple  bool   // "all" does not include the method, which could be done by hand; it leaves out the set's groups itself
	Version int    // number of changes of this method's results; 0 if only the version of all methods counts
	New     func(s Settings) Method
}

// methods lists the methods that New knows, in the order of tables.
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
		Name: "gp", Claim: "the posterior variance of the process", Version: 3,
		New: func(Settings) Method { return GP{} },
	},
	{Name: "linear", Claim: ofGroups, Simple: true, New: func(Settings) Method { return Linear{} }},
	{Name: "nearest-group", Claim: ofGroups, Simple: true, New: func(Settings) Method { return NearestGroup{} }},
	{Name: "constant", Claim: "the variance of the training mean", New: func(Settings) Method { return Constant{} }},
}

// ofGroups is the claim of methods whose variances come from left-out groups.
const ofGroups = "the squared error on left-out groups"

// Register adds methods of your own program. Call it before a configuration is read. It returns an error if a method
// has a known name.
func Register(more ...Info) error {
	for _, m := range more {
		_, known := Describe(m.Name)
		reserved := m.Name == "" || m.Name == "all"
		if known || reserved || m.New == nil {
			return fmt.Errorf("register method %q: expected New and a name other than all, %s", m.Name,
				strings.Join(names(methods), ", "))
		}

		methods = append(methods, m)
	}

	return nil
}

// Compared returns the names of the methods with which the model of pairs, the first of methods, is compared.
func Compared() []string { return names(methods[1:]) }

// All returns the names of the methods that "all" stands for: the compared methods that are neither slow nor simple.
func All() []string {
	var list []string
	for _, m := range methods[1:] {
		if !m.Slow && !m.Simple {
			list = append(list, m.Name)
		}
	}

	return list
}

// names returns the names of methods.
func names(infos []Info) []string {
	var texts []string
	for _, m := range infos {
		texts = append(texts, m.Name)
	}

	return texts
}

// Describe returns the description of the method with a name. ok is false if there is none.
func Describe(name string) (m Info, ok bool) {
	for _, m := range methods {
		if m.Name == name {
			return m, true
		}
	}

	return Info{}, false
}

// New returns the method with a name and the given settings, or an error if there is none.
func New(name string, s Settings) (Method, error) {
	m, ok := Describe(name)
	if !ok {
		return nil, fmt.Errorf("choose method: expected one of %s, found %q", strings.Join(names(methods), ", "), name)
	}

	return m.New(s), nil
}

// derive returns the seed of the k-th member of a method, by the finaliser of splitmix64.
func derive(seed uint64, k int) uint64 {
	z := seed + 0x9E3779B97F4A7C15*uint64(k+1)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
