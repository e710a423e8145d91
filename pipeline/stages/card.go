package stages

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/score"
)

// Files beside a model.json.
const (
	cardJSON        = "card.json"
	CalibrationJSON = "calibration.json"
)

// CardFormat and CardVersion identify a card.
const (
	CardFormat  = "doubletake-card"
	CardVersion = 1
)

// Card says what a model.json is about: the network's file holds numbers only,
// its card holds the names and units of inputs and outcomes, where they were
// measured, and what was held out.
type Card struct {
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	Program    string    `json:"program"`
	Experiment string    `json:"experiment"`
	Data       string    `json:"data"`  // "simulated" or "measured"
	Pairs      string    `json:"pairs"` // "same-run", "repeat-run", "synthetic"
	Couples    bool      `json:"couples"`
	Split      string    `json:"split"`
	HeldOut    string    `json:"held_out"`
	Seed       int       `json:"seed"` // number of the training, from 0
	Config     string    `json:"config_digest"`
	Triplets   int       `json:"training_triplets"`
	Inputs     []Input   `json:"inputs"`
	Outcomes   []Outcome `json:"outcomes"`
	Estimate   Estimate  `json:"estimate"`

	// Conditions are the distinct training conditions, rows of inputs, in order
	// of first appearance; none where there are more than maxCardConditions.
	Conditions [][]float64 `json:"training_conditions,omitempty"`
}

// maxCardConditions bounds a card's size.
const maxCardConditions = 5000

// Input is one condition the network sees.
type Input struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Min    float64   `json:"min"` // of the training set
	Max    float64   `json:"max"`
	Values []float64 `json:"values,omitempty"` // its distinct training values, ascending, where there are at most 100
}

// Outcome is one quantity the network predicts.
type Outcome struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Estimate are the settings of the raw covariance, with which the predictions
// beside the model were made.
type Estimate struct {
	Samples int    `json:"samples"`
	Sampler string `json:"sampler"`
	Seed    uint64 `json:"seed"`
}

func (b *builder) card(t *table.Table, s *splitSet, split config.Split, k int, configDigest string, est *train.Estimates) Card {
	c := Card{
		Format: CardFormat, Version: CardVersion, Program: "doubletake " + b.prog.Version, Experiment: b.e.Name,
		Data: b.e.Ingest.Data, Pairs: pairs(b.e), Couples: b.e.DSP.Couples, Split: split.Name, HeldOut: split.Test.String(), Seed: k,
		Config:   configDigest,
		Estimate: Estimate{est.Samples, est.Sampler, b.estimateSeed(k)},
	}
	d := len(s.inputs)
	trained := make([]bool, len(s.distinct)/d)
	for i, cond := range s.condition {
		if !s.test[i] && !s.aside[i] {
			trained[cond] = true
			c.Triplets++
		}
	}
	for i, is := range trained {
		if is {
			c.Conditions = append(c.Conditions, slices.Clone(s.distinct[i*d:(i+1)*d]))
		}
	}
	for j, name := range s.inputs {
		in := Input{Name: name, Unit: t.Column(name).Unit, Min: math.Inf(1), Max: math.Inf(-1)}
		var v []float64
		for _, row := range c.Conditions {
			v = append(v, row[j])
			in.Min, in.Max = min(in.Min, row[j]), max(in.Max, row[j])
		}
		slices.Sort(v)
		if v = slices.Compact(v); len(v) <= 100 {
			in.Values = v
		}
		c.Inputs = append(c.Inputs, in)
	}
	if len(c.Conditions) > maxCardConditions {
		c.Conditions = nil
	}
	for _, name := range s.outcomes {
		c.Outcomes = append(c.Outcomes, Outcome{name, t.Column(name + "_1").Unit})
	}
	return c
}

func (b *builder) estimateSeed(k int) uint64 {
	return seedOf(b.e.Train.Seed, "estimate", strconv.Itoa(k))
}

// setAside takes the calibration runs out of the training set: whole runs,
// chosen by a hash of their names, the same for every seed of a split.
func (b *builder) setAside(t *table.Table, s *splitSet, at string) error {
	s.aside = make([]bool, s.n)
	share := b.e.Train.Calibration
	if share == 0 {
		return nil
	}
	runs := t.Column("run").Strings
	var names []string
	for i, r := range runs {
		if !s.test[i] {
			names = append(names, r)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	hash := func(r string) uint64 {
		h := fnv.New64a()
		h.Write([]byte(strconv.FormatUint(b.e.Train.Seed, 10) + "\x00calibration\x00" + r))
		// FNV's high bits hardly feel the last letters; this spreads them.
		z := h.Sum64()
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		return z ^ z>>27
	}
	sort.SliceStable(names, func(i, j int) bool { return hash(names[i]) < hash(names[j]) })
	n := int(math.Ceil(share * float64(len(names))))
	if n >= len(names) {
		return b.f.Errorf(b.at+".train.calibration", "%g of the %d training runs leaves none to train on in split %s", share, len(names), at)
	}
	aside := names[:n]
	slices.Sort(aside)
	for i, r := range runs {
		_, is := slices.BinarySearch(aside, r)
		s.aside[i] = is && !s.test[i]
	}
	return nil
}

// recalibrate learns from the runs set aside and saves the result beside the
// model, in standardised units.
func (b *builder) recalibrate(path string, t *table.Table, s *splitSet, m *train.Model, est *train.Estimates) error {
	d := len(s.outcomes)
	mean, std := m.OutputScale()
	set := score.Set{Out: d, Couples: b.e.DSP.Couples}
	var total, cov []float64
	runs, number := t.Column("run").Strings, map[string]int{}
	for i := range s.n {
		if !s.aside[i] {
			continue
		}
		set.N++
		if _, ok := number[runs[i]]; !ok {
			number[runs[i]] = len(number)
		}
		set.Run = append(set.Run, number[runs[i]])
		set.Condition = append(set.Condition, s.condition[i])
		for j := range d {
			k := s.condition[i]*d + j
			set.Y1 = append(set.Y1, (s.y1[i*d+j]-mean[j])/std[j])
			set.Y2 = append(set.Y2, (s.y2[i*d+j]-mean[j])/std[j])
			set.Mu = append(set.Mu, est.Mu[k])
			total, cov = append(total, est.Var[k]), append(cov, est.Cov[k])
		}
	}
	r, err := score.Recalibrate(set, total, cov)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	return writeJSON(path, r)
}
