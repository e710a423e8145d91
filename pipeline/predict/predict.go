// Package predict reads the models of a split, trained networks and the calibrated model
// of left-out groups, and predicts outcomes and their uncertainty with them.
package predict

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// The contents of a model's card.json.
type (
	Card    = trainstage.Card
	Input   = trainstage.Input
	Outcome = trainstage.Outcome
)

// Models are the trained networks of one split, one per seed, that predict
// together.
type Models struct {
	Card      Card                 // of the first: names, units, where it was trained
	Paths     []string             // of the model.json files
	Warnings  []string             // what limits the trust in them, in words
	Honest    *honest.Model        // the calibrated model of their split; nil where there is none
	Record    []score.OutcomeTrust // how the networks did on what their split held out; nil where no report states it
	Intervals []score.OutcomeTrust // the same of the calibrated intervals

	nets      []*train.Model
	estimates []trainstage.Estimate // how each one's covariance was sampled in training
	trained   float64               // sum of E|cov| on their training conditions; NaN where a card does not have it
}

// Open reads models by the name of an experiment of pipeline.yaml or EXPERIMENT/SPLIT, or by a path: a model.json,
// together, or an experiment's folder with a final model or one split. A file that is missing, damaged or of another
// split is a *fault.Error.
func Open(path string) (_ *Models, err error) {
	defer fault.Catch(&err)
	files := fault.Get(modelFiles(fault.Get(pairs.Models(path))))
	m, genuine := new(Models), engine.Genuine(files[0])
	for i, f := range files {
		fault.Raise(genuine(f, filepath.Join(filepath.Dir(f), "card.json")))
		m.Paths = append(m.Paths, filepath.ToSlash(f)) // the same in documents on all systems
		net := new(train.Model)
		if err := readJSON(f, train.MaxModelFile, "a trained model", net); errors.Is(err, fs.ErrNotExist) {
			return nil, fault.At(f, "", "a trained model", "none", "pipeline run trains it")
		} else if err != nil {
			return nil, err
		}

		card := fault.Get(readCard(filepath.Join(filepath.Dir(f), "card.json"), net))
		if i == 0 {
			m.Card = card
		} else if !slices.EqualFunc(card.Inputs, m.Card.Inputs,
			func(a, b Input) bool { return a.Name == b.Name }) || !slices.Equal(card.Outcomes, m.Card.Outcomes) ||
			card.HeldOut != m.Card.HeldOut {
			return nil, fault.At(f, "", "a model of the same inputs, outcomes and held-out set as "+files[0], "another",
				"name one split's folder, or one model.json")
		}

		m.nets, m.estimates = append(m.nets, net), append(m.estimates, card.Estimate)
		if m.trained += card.AbsCov; card.AbsCov == 0 {
			m.trained = math.NaN()
		}
	}

	fault.Raise(cmp.Or(genuine(m.HonestFile()), m.readHonest(), genuine(m.metricsFile()), m.readRecord()))
	if m.Card.Data == "simulated" {
		m.Warnings = append(m.Warnings, "the model was trained on simulated data")
	}

	if m.Card.Couples {
		m.Warnings = append(m.Warnings, "the model was trained on couples (y2 = y1): its covariance estimates the total "+
			"variance, not the epistemic part")
	}

	return m, nil
}

func modelFiles(path string) ([]string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fault.At(path, "", "an experiment, EXPERIMENT/SPLIT, a folder with models or a model.json", "nothing",
			"pipeline run writes runs/EXPERIMENT/splits/SPLIT/seed-K/model.json")
	}

	if !fi.IsDir() {
		return []string{path}, nil
	}

	if one := filepath.Join(path, "model.json"); isFile(one) {
		return []string{one}, nil
	}

	found := glob(path, "seed-*/model.json")
	if len(found) == 0 {
		if final := finalModel(path); final != "" {
			return modelFiles(final)
		}

		below := append(glob(path, "*/seed-*/model.json"), glob(path, "splits/*/seed-*/model.json")...)
		splits := lists.Each(below, func(f string) string { return filepath.Dir(filepath.Dir(f)) })
		hint := "pipeline run trains some"
		switch splits = slices.Compact(splits); len(splits) {
		case 0:
		case 1:
			return modelFiles(splits[0])
		default:
			hint = "name one split: " + strings.Join(splits, ", ")
		}

		return nil, fault.At(path, "", "model.json, or seed-*/model.json", "none in the folder", hint)
	}

	slices.SortFunc(found, func(a, b string) int { // seed-2 before seed-10
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})

	return found, nil
}

// finalModel is the split of an experiment's folder that holds nothing out, "" where it has none.
func finalModel(path string) string {
	for _, f := range glob(path, "splits/*/seed-*/card.json") {
		var c Card
		if readJSON(f, train.MaxModelFile, "a model's card", &c) == nil && c.HeldOut == holdout.Nothing.String() {
			return filepath.Dir(filepath.Dir(f))
		}
	}

	return ""
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// glob lists the files below dir whose paths from there match a pattern with slashes.
func glob(dir, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(dir), pattern) // the patterns are well-formed
	for i, f := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(f))
	}

	return found
}

// readJSON reads a file of at most limit bytes; want is what a person expects in it. Where
// there is none the error is fs.ErrNotExist, else a *fault.Error.
func readJSON(path string, limit int64, want string, into any) error {
	b, err := fault.ReadFile(path, limit, want)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}

	if err == nil {
		err = json.Unmarshal(b, into)
	}

	if err != nil && !errors.As(err, new(*fault.Error)) {
		return fault.OfJSON(path, want, err)
	}

	return err
}

func readCard(path string, net *train.Model) (Card, error) {
	var c Card
	if err := readJSON(path, train.MaxModelFile, "a model's card", &c); errors.Is(err, fs.ErrNotExist) {
		return c, fault.At(path, "", "the card of the model next to it, with names and units", "none", "copy them together")
	} else if err != nil {
		return c, err
	}

	if c.Format != trainstage.CardFormat || c.Version != trainstage.CardVersion {
		return c, fault.At(path, "", fmt.Sprintf("format %s version %d", trainstage.CardFormat, trainstage.CardVersion),
			fmt.Sprintf("%q version %d", c.Format, c.Version), "")
	}

	if len(c.Inputs) != net.In || len(c.Outcomes) != net.Out {
		return c, fault.At(path, "", fmt.Sprintf("%d inputs and %d outcomes, as its model has", net.In, net.Out),
			fmt.Sprintf("%d and %d", len(c.Inputs), len(c.Outcomes)), "card and model are not of one training")
	}

	return c, nil
}

// InputNames returns the names of the inputs in the order of rows x.
func (m *Models) InputNames() []string {
	return lists.Each(m.Card.Inputs, func(in Input) string { return in.Name })
}

// Networks are the trained networks, in the order of Paths.
func (m *Models) Networks() []*train.Model { return m.nets }

// OutcomeStd is the standard deviation of each outcome in the networks' training data.
func (m *Models) OutcomeStd() []float64 { return m.nets[0].OutcomeScale().Std }

// Predictions are the models' joint predictions at N conditions: N×Out each,
// row-major, in the outcomes' own units, variances and covariances in unit².
type Predictions struct {
	N, Out           int
	Seeds            int
	triplets.Answers           // means over the models; Var is the variance of their equal mixture, with that of the means
	Spread           []float64 // sample variance of the models' means (n−1); NaN for one model
	Rise             []float64 // N: E|cov| over that of the training conditions; NaN where the card does not have it
}

// Predict evaluates the models at conditions x (row-major, inputs in the order
// of InputNames, own units).
func (m *Models) Predict(ctx context.Context, x []float64) (*Predictions, error) {
	d := len(m.Card.Outcomes)
	r := &Predictions{N: len(x) / len(m.Card.Inputs), Out: d, Seeds: len(m.nets)}
	r.Answers = r.Map(func(triplets.AnswerColumn, []float64) []float64 { return make([]float64, r.N*d) })
	r.Spread, r.Rise = make([]float64, r.N*d), make([]float64, r.N)
	n := float64(len(m.nets))

	means := make([][]float64, len(m.nets))
	for i, net := range m.nets {
		s := m.estimates[i]
		o := train.EstimateOptions{Samples: s.Samples, Sampler: s.Sampler, Seed: s.Seed}
		e, err := net.Estimate(ctx, x, o)
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}

		for k := range r.Rise {
			r.Rise[k] += e.AbsCov(k) / m.trained
		}

		own := e.Own(net.OutcomeScale())
		means[i] = own.Mu

		for _, c := range triplets.AnswerColumns {
			mean := *c.Field(&r.Answers)
			for k, v := range *c.Field(&own) {
				mean[k] += v / n
			}
		}
	}

	for k := range r.Spread {
		ss := 0.0
		for _, mu := range means {
			ss += (mu[k] - r.Mu[k]) * (mu[k] - r.Mu[k])
		}

		r.Var[k] += ss / n
		r.Spread[k] = ss / (n - 1) // 0/0: one model has none
	}

	return r, nil
}

// Given is the networks' second answer: outcomes y (row-major, own units) are fed back. Of several networks it is the
// mean, with the variance of their mixture.
func (m *Models) Given(x, y []float64) (mu, variance []float64) {
	mu, variance = make([]float64, len(y)), make([]float64, len(y))
	means, n := make([][]float64, len(m.nets)), float64(len(m.nets))
	for i, net := range m.nets {
		var v []float64
		means[i], v = net.PredictGiven(x, y)
		for k := range y {
			mu[k] += means[i][k] / n
			variance[k] += v[k] / n
		}
	}

	for _, one := range means {
		for k := range y {
			variance[k] += (one[k] - mu[k]) * (one[k] - mu[k]) / n
		}
	}

	return mu, variance
}

// Quick is Predict without the sampled raw covariance, whose place holds a coarse estimate.
func (m *Models) Quick(ctx context.Context, x []float64) (*Predictions, error) {
	q := *m
	q.estimates = slices.Clone(m.estimates)

	for i := range q.estimates {
		q.estimates[i].Samples = 2
	}

	return q.Predict(ctx, x)
}

// Outside describes the inputs of a condition that lie outside of the training
// conditions; nil when none does.
func (m *Models) Outside(x []float64) []string {
	var out []string
	for _, i := range m.outside(x) {
		in := m.Card.Inputs[i]
		if x[i] < in.Min {
			out = append(out, fmt.Sprintf("%s %.6g is below %.6g, the lowest trained on", in.Name, x[i], in.Min))
		} else {
			out = append(out, fmt.Sprintf("%s %.6g is above %.6g, the highest trained on", in.Name, x[i], in.Max))
		}
	}

	return out
}

// outside lists the inputs of a condition that lie outside of the training conditions.
func (m *Models) outside(x []float64) []int {
	var out []int
	for i, in := range m.Card.Inputs {
		// Numbers that went through text may be off by a rounding.
		tol := 1e-9 * math.Max(math.Abs(in.Min), math.Abs(in.Max))
		if v := in.Inside(x[i]); v < in.Min-tol || v > in.Max+tol {
			out = append(out, i)
		}
	}

	return out
}

// New puts networks trained elsewhere together as Open does with
// files. The card's inputs and outcomes must be those of every network, or it
// panics.
func New(card Card, nets ...*train.Model) *Models {
	for _, n := range nets {
		if n.In != len(card.Inputs) || n.Out != len(card.Outcomes) {
			panic(fmt.Sprintf("predict: a network of %d inputs and %d outcomes with a card of %d and %d", n.In, n.Out,
				len(card.Inputs), len(card.Outcomes)))
		}
	}

	return &Models{Card: card, nets: nets, estimates: make([]trainstage.Estimate, len(nets)), trained: math.NaN()}
}
