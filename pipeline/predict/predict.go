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
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/score"
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
	Events    []report.Event       // the experiment's events, and how their probabilities did; nil without a report
	Record    []score.OutcomeTrust // how the networks did on what their split held out; nil where no report states it
	Intervals []score.OutcomeTrust // the same of the calibrated intervals

	nets        []*train.Model
	estimates   []trainstage.Estimate  // how each one's covariance was sampled in training
	calibration []*score.Recalibration // one per network, or nil
}

// Open reads a model.json, a folder seed-k that holds one, a split's
// folder with several of them, which then predict together, or an experiment's folder with a final
// model. A file that is
// missing, damaged or of another split is a *fault.Error.
func Open(path string) (*Models, error) {
	files, err := modelFiles(path)
	if err != nil {
		return nil, err
	}

	m := new(Models)
	for i, f := range files {
		m.Paths = append(m.Paths, filepath.ToSlash(f)) // the same in documents on all systems
		net := new(train.Model)
		if err := readJSON(f, train.MaxModelFile, "a trained model", net); errors.Is(err, fs.ErrNotExist) {
			return nil, &fault.Error{Path: f, Want: "a trained model", Found: "none", Err: err}
		} else if err != nil {
			return nil, err
		}

		card, err := readCard(filepath.Join(filepath.Dir(f), "card.json"), net)
		if errors.Is(err, fs.ErrNotExist) {
			card = namelessCard(net)
			m.Warnings = append(m.Warnings, f+" has no card.json next to it: inputs and outcomes have no names, and its "+
				"training conditions are unknown")
		} else if err != nil {
			return nil, err
		}

		if i == 0 {
			m.Card = card
		} else if !slices.EqualFunc(card.Inputs, m.Card.Inputs,
			func(a, b Input) bool { return a.Name == b.Name }) || !slices.Equal(card.Outcomes, m.Card.Outcomes) ||
			card.HeldOut != m.Card.HeldOut {
			return nil, &fault.Error{
				Path: f, Want: "a model of the same inputs, outcomes and held-out set as " + files[0],
				Found: "another", Hint: "name one split's folder, or one model.json",
			}
		}

		m.nets, m.estimates = append(m.nets, net), append(m.estimates, card.Estimate)

		r, err := readCalibration(filepath.Join(filepath.Dir(f), trainstage.CalibrationJSON), net)
		if err != nil {
			return nil, err
		}

		if r != nil {
			m.calibration = append(m.calibration, r)
		}
	}

	if len(m.calibration) != len(m.nets) {
		m.calibration = nil
	}

	if err := m.readHonest(); err != nil {
		return nil, err
	}

	if err := m.readRecord(); err != nil {
		return nil, err
	}

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
		return nil, &fault.Error{
			Path: path, Want: "a model.json, or a folder with models", Found: "nothing",
			Hint: "pipeline run writes runs/EXPERIMENT/splits/SPLIT/seed-K/model.json",
		}
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

		hint := "pipeline run trains some"
		for _, pattern := range []string{"*/seed-*/model.json", "splits/*/seed-*/model.json"} {
			if more := glob(path, pattern); len(more) > 0 {
				hint = "name one split: " + filepath.Dir(filepath.Dir(more[0]))
			}
		}

		return nil, &fault.Error{
			Path: path, Want: "model.json, or seed-*/model.json", Found: "none in the folder",
			Hint: hint,
		}
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
		return &fault.Error{Path: path, Want: want, Found: "none", Err: err}
	}

	return err
}

func readCard(path string, net *train.Model) (Card, error) {
	var c Card
	if err := readJSON(path, train.MaxModelFile, "a model's card", &c); err != nil {
		return c, err
	}

	if c.Format != trainstage.CardFormat || c.Version != trainstage.CardVersion {
		return c, &fault.Error{Path: path, Want: fmt.Sprintf("format %s version %d", trainstage.CardFormat,
			trainstage.CardVersion), Found: fmt.Sprintf("%q version %d", c.Format, c.Version)}
	}

	if len(c.Inputs) != net.In || len(c.Outcomes) != net.Out {
		return c, &fault.Error{
			Path: path, Want: fmt.Sprintf("%d inputs and %d outcomes, as its model has", net.In, net.Out),
			Found: fmt.Sprintf("%d and %d", len(c.Inputs), len(c.Outcomes)), Hint: "card and model are not of one training",
		}
	}

	return c, nil
}

// namelessCard names by position what has no card.
func namelessCard(net *train.Model) Card {
	var c Card
	for i := range net.In {
		c.Inputs = append(c.Inputs, Input{Name: "x" + strconv.Itoa(i+1), Min: math.Inf(-1), Max: math.Inf(1)})
	}

	for i := range net.Out {
		c.Outcomes = append(c.Outcomes, Outcome{Name: "y" + strconv.Itoa(i+1)})
	}

	return c
}

func readCalibration(path string, net *train.Model) (*score.Recalibration, error) {
	r := new(score.Recalibration)
	if err := readJSON(path, train.MaxModelFile, "the model's calibration", r); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}

	if len(r.Outcomes) != net.Out {
		return nil, &fault.Error{
			Path: path, Want: fmt.Sprintf("a calibration of the model's %d outcomes", net.Out),
			Found: fmt.Sprintf("one of %d", len(r.Outcomes)),
		}
	}

	return r, nil
}

// InputNames returns the names of the inputs in the order of rows x.
func (m *Models) InputNames() []string {
	out := make([]string, len(m.Card.Inputs))
	for i, in := range m.Card.Inputs {
		out[i] = in.Name
	}

	return out
}

// Seeds is the number of networks.
func (m *Models) Seeds() int { return len(m.nets) }

// OutcomeStd is the standard deviation of each outcome in the networks' training data.
func (m *Models) OutcomeStd() []float64 { return m.nets[0].OutcomeScale().Std }

// Calibrated reports whether every model has a calibration.
func (m *Models) Calibrated() bool { return m.calibration != nil }

// Predictions are the models' joint predictions at N conditions: N×Out each,
// row-major, in the outcomes' own units, variances and covariances in unit².
type Predictions struct {
	N, Out int
	Seeds  int
	Mu     []float64 // mean of the models' means
	Total  []float64 // variance of one measurement: mean σ² plus Spread, the variance of the equal mixture
	Cov    []float64 // C, mean over the models
	Raw    []float64 // the paper's C + μδ, mean over the models
	Delta  []float64 // δ, mean over the models
	Kappa  []float64 // κ, mean over the models
	ZigZag []float64 // |m(μ) − μ|, mean over the models
	Spread []float64 // sample variance of the models' means (n−1); NaN for one model

	laws []law // of the models; nil unless recalibrated
}

// law is a model's law of one measurement, recalibrated.
type law struct {
	r       *score.Recalibration
	mu, v   []float64 // N×Out, as the network claims them, standardised units
	mean, s []float64 // of the outcomes' scale
}

// Interval returns the central interval of one measurement that the recalibrated
// laws of the models, an equal mixture, give value k the probability level of; ok
// is false where no law was recalibrated.
func (p *Predictions) Interval(k int, level float64) (lo, hi float64, ok bool) {
	if p.laws == nil {
		return math.NaN(), math.NaN(), false
	}
	return p.quantile(k, (1-level)/2), p.quantile(k, (1+level)/2), true
}

// quantile bisects the mixture's distribution.
func (p *Predictions) quantile(k int, level float64) float64 {
	j := k % p.Out
	below := func(y float64) (sum float64) {
		for _, l := range p.laws {
			sum += l.r.Below(j, l.mu[k], l.v[k], (y-l.mean[j])/l.s[j]) / float64(len(p.laws))
		}
		return sum
	}

	sd := math.Sqrt(p.Total[k])
	lo, hi := p.Mu[k]-sd, p.Mu[k]+sd
	for w := sd; below(lo) > level; w *= 2 {
		lo -= w
	}

	for w := sd; below(hi) < level; w *= 2 {
		hi += w
	}

	for hi-lo > 1e-9*sd {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi { // neighbouring numbers
			break
		}

		if below(mid) < level {
			lo = mid
		} else {
			hi = mid
		}
	}

	return lo + (hi-lo)/2
}

// Predict evaluates the models at conditions x (row-major, inputs in the order
// of InputNames, own units). recalibrate is "" or one of score.Kinds: with it σ²
// and C are recalibrated by the models' calibrations, an error where they have
// not learned that.
func (m *Models) Predict(ctx context.Context, x []float64, recalibrate string) (*Predictions, error) {
	d := len(m.Card.Outcomes)

	if recalibrate != "" && m.calibration == nil {
		return nil, &fault.Error{
			Path: m.Paths[0], Want: trainstage.CalibrationJSON + " next to the model", Found: "none",
			Hint: "set train.calibration in the configuration and run again",
		}
	}

	for i, c := range m.calibration {
		if recalibrate != "" && !c.Has(recalibrate) {
			return nil, &fault.Error{
				Path: filepath.Join(filepath.Dir(m.Paths[i]), trainstage.CalibrationJSON),
				Want: "a calibration of kind " + recalibrate, Found: "none", Hint: "set more runs aside: train.calibration",
			}
		}
	}

	r := &Predictions{N: len(x) / len(m.Card.Inputs), Out: d, Seeds: len(m.nets)}
	for _, v := range []*[]float64{&r.Mu, &r.Total, &r.Cov, &r.Raw, &r.Delta, &r.Kappa, &r.ZigZag, &r.Spread} {
		*v = make([]float64, r.N*d)
	}

	n := float64(len(m.nets))

	means := make([][]float64, len(m.nets))
	for i, net := range m.nets {
		s := m.estimates[i]
		o := train.EstimateOptions{Samples: s.Samples, Sampler: s.Sampler, Seed: s.Seed}
		e, err := net.Estimate(ctx, x, o)
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}

		if recalibrate != "" {
			scale := net.OutcomeScale()
			if recalibrate == score.Quantile {
				r.laws = append(r.laws, law{m.calibration[i], e.Mu, e.Var, scale.Mean, scale.Std})
			}

			e.Var, e.Cov = m.calibration[i].Apply(recalibrate, e.Var, e.Cov)
		}

		own := e.Own(net.OutcomeScale())
		means[i] = own.Mu

		for k := range r.Mu {
			r.Mu[k] += own.Mu[k] / n
			r.Total[k] += own.Var[k] / n
			r.Cov[k] += own.Cov[k] / n
			r.Raw[k] += own.CovRaw[k] / n
			r.Delta[k] += own.Delta[k] / n
			r.Kappa[k] += own.Kappa[k] / n
			r.ZigZag[k] += own.ZigZag[k] / n
		}
	}

	for k := range r.Spread {
		ss := 0.0
		for _, mu := range means {
			ss += (mu[k] - r.Mu[k]) * (mu[k] - r.Mu[k])
		}

		r.Total[k] += ss / n
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

	return q.Predict(ctx, x, "")
}

// Outside describes the inputs of a condition that lie outside of the training
// conditions; nil when none does.
func (m *Models) Outside(x []float64) []string {
	var out []string
	for _, i := range m.outside(x) {
		in := m.Card.Inputs[i]
		if x[i] < in.Min {
			out = append(out, fmt.Sprintf("%s %g is below %g, the lowest trained on", in.Name, x[i], in.Min))
		} else {
			out = append(out, fmt.Sprintf("%s %g is above %g, the highest trained on", in.Name, x[i], in.Max))
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

	return &Models{Card: card, nets: nets, estimates: make([]trainstage.Estimate, len(nets))}
}
