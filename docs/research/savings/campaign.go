package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"doubletake/report/answer/predict"
	"doubletake/report/answer/suggest"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// set is what may be measured.
type set struct {
	name   string
	data   string // "simulated" or "measured"
	inputs []string
	groups int         // number of the input whose values are left out to calibrate
	x      [][]float64 // candidates
	truth  []float64   // law at each candidate, or the mean of its measurements
	noise  float64     // deviation of a simulated measurement; 0: the pairs are measured
	y1, y2 []float64   // measured pairs, by candidate
	spread float64     // deviation of truth
}

// campaign is one strategy with one seed: the runs so far, and the model that they teach.
type campaign struct {
	set
	luck     *rand.Rand
	order    []int // candidates in random order
	runs     []int
	y1, y2   []float64 // by run
	models   *predict.Models
	extremes [2][]float64 // smallest and largest value of each input
}

// newCampaign returns a campaign with the first runs measured.
func (s set) newCampaign(seed uint64) *campaign {
	c := &campaign{set: s, luck: rand.New(rand.NewPCG(seed, 0x736176696e6773))}
	c.order = c.luck.Perm(len(s.x))
	for k := range s.inputs {
		low := math.Inf(1)
		high := math.Inf(-1)
		for _, x := range s.x {
			low = min(low, x[k])
			high = max(high, x[k])
		}

		c.extremes[0] = append(c.extremes[0], low)
		c.extremes[1] = append(c.extremes[1], high)
	}

	c.measure(c.order[:start])

	return c
}

// measure adds runs. A simulated run has new noise each time.
func (c *campaign) measure(runs []int) {
	for _, i := range runs {
		c.runs = append(c.runs, i)
		if c.noise == 0 {
			c.y1 = append(c.y1, c.set.y1[i])
			c.y2 = append(c.y2, c.set.y2[i])
			continue
		}

		c.y1 = append(c.y1, c.truth[i]+c.noise*c.luck.NormFloat64())
		c.y2 = append(c.y2, c.truth[i]+c.noise*c.luck.NormFloat64())
	}
}

// learn sets the models that the runs teach.
func (c *campaign) learn(ctx context.Context) error {
	var x, groups []float64
	var names []string
	card := predict.Card{Outcomes: []predict.Outcome{{Name: "y"}}}
	for k, i := range c.runs {
		x = append(x, c.x[i]...)
		groups = append(groups, c.x[i][c.groups])
		names = append(names, fmt.Sprint(k))
		card.Conditions = append(card.Conditions, c.x[i])
	}

	var quantities []triplets.Quantity
	for _, name := range c.inputs {
		quantities = append(quantities, triplets.Quantity{Name: name})
	}

	s := triplets.New(quantities, []triplets.Quantity{{Name: "y"}}, x, c.y1, c.y2)
	s.SetRuns(names)
	s.Part = slices.Repeat([]triplets.Part{triplets.Train}, s.N)
	card.Inputs = honest.Inputs(s, nil)

	condition := c.inputs[c.groups]
	learner := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: condition, Tolerance: holdout.Nothing.Within(condition),
		Rate: honest.IsRate,
	}
	model, _, err := learner.Process(ctx, s, groups)
	if err != nil {
		return fmt.Errorf("learn from %d runs: %w", len(c.runs), err)
	}

	if model.Absent != "" {
		return fmt.Errorf("learn from %d runs: %s", len(c.runs), model.Absent)
	}

	c.models = predict.New(card)
	c.models.Honest = model

	return nil
}

// miss returns the root of the mean squared error at all candidates, in deviations of the truth.
func (c *campaign) miss(ctx context.Context) (float64, error) {
	p, err := c.models.Honest.Predict(ctx, slices.Concat(c.x...), 0, nil)
	if err != nil {
		return 0, fmt.Errorf("predict all candidates: %w", err)
	}

	sum := 0.0
	for i, y := range c.truth {
		sum += (p.Mu[i] - y) * (p.Mu[i] - y)
	}

	return math.Sqrt(sum/float64(len(c.truth))) / c.spread, nil
}

// random returns runs in random order.
func (c *campaign) random(context.Context) ([]int, error) { return c.order[len(c.runs):][:batch], nil }

// even returns runs that fill the space evenly: each time the one farthest from all before it, in units of the ranges.
func (c *campaign) even(context.Context) ([]int, error) {
	runs := slices.Clone(c.runs)
	for range batch {
		best := 0
		most := -1.0
		for i := range c.x {
			nearest := math.Inf(1)
			for _, k := range runs {
				nearest = min(nearest, c.distance(i, k))
			}

			if nearest > most {
				best = i
				most = nearest
			}
		}

		runs = append(runs, best)
	}

	return runs[len(c.runs):], nil
}

// distance returns the squared distance of two candidates.
func (c *campaign) distance(i, k int) float64 {
	sum := 0.0
	for j := range c.inputs {
		d := (c.x[i][j] - c.x[k][j]) / (c.extremes[1][j] - c.extremes[0][j])
		sum += d * d
	}

	return sum
}

// suggest returns the runs of the plan that `pipeline suggest --candidates` prints. Measured runs cannot be repeated:
// there the candidates are those that were not taken yet, and a plan that repeats one is continued by another plan.
func (c *campaign) suggest(ctx context.Context) ([]int, error) {
	var next []int
	for len(next) < batch {
		candidates := &suggest.Candidates{}
		for k := range c.inputs {
			candidates.Inputs = append(candidates.Inputs, k)
		}

		var places []int
		for i, x := range c.x {
			isTaken := slices.Contains(c.runs, i) || slices.Contains(next, i)
			if c.noise > 0 || !isTaken {
				candidates.List = append(candidates.List, suggest.Candidate{At: x})
				places = append(places, i)
			}
		}

		ranked, err := suggest.Rank(ctx, c.models, candidates)
		if err != nil {
			return nil, fmt.Errorf("rank %d candidates: %w", len(places), err)
		}

		plan, err := suggest.Plan(ctx, c.models, candidates, ranked, suggest.Costs{Repeat: 1}, float64(batch-len(next)))
		if err != nil {
			return nil, fmt.Errorf("plan the next runs: %w", err)
		}

		for _, step := range plan.Steps {
			k := slices.IndexFunc(c.x, func(x []float64) bool { return slices.Equal(x, step.At) })
			if c.noise > 0 || !slices.Contains(next, k) {
				next = append(next, k)
			}
		}
	}

	return next, nil
}

// errors returns the errors of one strategy after the first runs and after each batch.
func (c *campaign) errors(ctx context.Context, by strategy, batches int) ([]float64, error) {
	var list []float64
	for b := range batches + 1 {
		if b > 0 {
			next, err := by.next(c, ctx)
			if err != nil {
				return nil, err
			}

			c.measure(next)
		}

		if err := c.learn(ctx); err != nil {
			return nil, err
		}

		e, err := c.miss(ctx)
		if err != nil {
			return nil, err
		}

		list = append(list, e)
	}

	return list, nil
}

// curves returns the geometric mean of the errors over the seeds, by strategy and batch. Campaigns of one seed start
// with the same runs.
func (s set) curves(ctx context.Context, seeds, batches int) ([][]float64, error) {
	logs := make([][]float64, len(strategies))
	for k := range logs {
		logs[k] = make([]float64, batches+1)
	}

	type result struct {
		errors []float64
		err    error
	}

	results := make([]result, seeds*len(strategies))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for r := range results {
		slots <- struct{}{}

		all.Go(func() {
			defer func() { <-slots }()

			c := s.newCampaign(uint64(r / len(strategies)))
			results[r].errors, results[r].err = c.errors(ctx, strategies[r%len(strategies)], batches)
		})
	}

	all.Wait()

	for r, one := range results {
		if one.err != nil {
			return nil, one.err
		}

		for b, e := range one.errors {
			logs[r%len(strategies)][b] += math.Log(e) / float64(seeds)
		}
	}

	for _, curve := range logs {
		for b, l := range curve {
			curve[b] = math.Exp(l)
		}
	}

	return logs, nil
}

// runsNeeded returns the number of runs at which a curve first falls to an error, between two batches by the logarithm
// of the error. It returns the largest number of runs if the curve stays above.
func runsNeeded(curve []float64, e float64) float64 {
	for b, v := range curve {
		if v > e {
			continue
		}

		if b == 0 {
			return start
		}

		share := math.Log(curve[b-1]/e) / math.Log(curve[b-1]/v)

		return start + batch*(float64(b-1)+share)
	}

	return start + batch*float64(len(curve)-1)
}
