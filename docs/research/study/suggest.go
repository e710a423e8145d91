package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/report/answer/predict"
	"doubletake/report/answer/suggest"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// campaign is one experiment of choosing the next measurements. Its budget was
// fixed before it was first run.
type campaign struct {
	experiment string
	inputs     []string
	outcomes   []string
	chosen     []string // the inputs a run is chosen by; the others come with it
	groups     string   // the input whose values are left out to calibrate
	perRun     int      // triplets used of a run, 0: all
	start      int      // runs measured at first, at random
	rounds     int
	each       int // runs added in a round
	test       int // runs held out to judge, at random
	repeats    int
	seeds      int // networks trained together
	epochs     int
}

var campaigns = []campaign{
	{
		experiment: "drone",
		inputs:     []string{"blades", "rpm", "theta_deg"},
		outcomes:   []string{"bpf1_db", "bpf2_db", "bpf3_db", "bpf4_db", "bpf5_db"},
		chosen:     []string{"blades", "rpm"},
		groups:     "blades",
		start:      8,
		rounds:     2,
		each:       4,
		test:       20,
		repeats:    24,
		seeds:      3,
		epochs:     200,
	},
	{
		experiment: "airfoil",
		inputs:     []string{"alpha_deg", "u_inf_m_s"},
		outcomes:   []string{"cl", "cd"},
		chosen:     []string{"alpha_deg", "u_inf_m_s"},
		groups:     "u_inf_m_s",
		perRun:     8,
		start:      12,
		rounds:     2,
		each:       6,
		test:       80,
		repeats:    24,
		seeds:      3,
		epochs:     200,
	},
}

// strategies to choose by; the others are compared with the first.
var strategies = []strategy{
	{"random", "", false},
	{suggest.ByBoth, suggest.ByBoth, false},
	{byCov, byCov, false},
	{bySpread, bySpread, false},
	{suggest.ByBoth + ", batch", suggest.ByBoth, true},
	{bySpread + ", batch", bySpread, true},
	{suggest.ByHonest, suggest.ByHonest, false},
	{suggest.ByHonest + ", batch", suggest.ByHonest, true},
}

type strategy struct {
	name, by string
	batch    bool // picked by batch
}

// Ranks by one of the networks' claims alone, which the program has together (suggest.ByBoth).
const (
	byCov    = "cov"    // the positive part of C
	bySpread = "spread" // the disagreement of the seeds
)

// firstRepeat numbers the repeats, and seeds their random choices. Those from 0
// on were looked at before batch was written.
const firstRepeat = 1000

// pool are the runs of a campaign.
type pool struct {
	c    campaign
	data triplets.Set
	std  []float64     // of the outcomes over the whole campaign
	at   [][]float64   // per run, the inputs it is chosen by
	rows map[int][]int // per run
}

func readPool(dir string, c campaign) (*pool, error) {
	t, err := table.Read(filepath.Join(dir, c.experiment, "triplets.arrow"))
	if err != nil {
		return nil, err
	}

	n := t.Rows()
	p := &pool{c: c, rows: map[int][]int{}, data: triplets.Set{N: n, In: len(c.inputs), Out: len(c.outcomes)}}
	columns := func(names []string, suffix string) ([]float64, error) {
		out := make([]float64, n*len(names))
		for k, name := range names {
			v, err := t.Floats(name + suffix)
			if err != nil {
				return nil, fmt.Errorf("read triplets of %s: %w", c.experiment, err)
			}

			for i := range v {
				out[i*len(names)+k] = v[i]
			}
		}

		return out, nil
	}

	if p.data.X, err = columns(c.inputs, ""); err != nil {
		return nil, err
	}

	if p.data.Y1, err = columns(c.outcomes, "_1"); err != nil {
		return nil, err
	}

	if p.data.Y2, err = columns(c.outcomes, "_2"); err != nil {
		return nil, err
	}

	number := map[string]int{}
	for i, r := range t.Column("run").Strings {
		k, ok := number[r]
		if !ok {
			k = len(number)
			number[r] = k

			var at []float64
			for j, in := range c.inputs {
				if slices.Contains(c.chosen, in) {
					at = append(at, p.data.X[i*len(c.inputs)+j])
				}
			}

			p.at = append(p.at, at)
		}

		if c.perRun == 0 || len(p.rows[k]) < c.perRun {
			p.rows[k] = append(p.rows[k], i)
		}
	}

	for j := range c.outcomes {
		var v []float64
		for i := range n {
			v = append(v, p.data.Y1[i*len(c.outcomes)+j], p.data.Y2[i*len(c.outcomes)+j])
		}

		_, std := score.MeanStd(v)
		p.std = append(p.std, std)
	}

	return p, nil
}

// of returns the triplets of some runs.
func (p *pool) of(runs []int) triplets.Set {
	d := triplets.Set{In: p.data.In, Out: p.data.Out}
	for _, r := range runs {
		for _, i := range p.rows[r] {
			d.N++
			d.X = append(d.X, p.data.X[i*d.In:(i+1)*d.In]...)
			d.Y1 = append(d.Y1, p.data.Y1[i*d.Out:(i+1)*d.Out]...)
			d.Y2 = append(d.Y2, p.data.Y2[i*d.Out:(i+1)*d.Out]...)
		}
	}

	return d
}

// fit trains the networks on some runs.
func (p *pool) fit(ctx context.Context, runs []int, seed uint64) (*predict.Models, []*train.Model, error) {
	card := predict.Card{Experiment: p.c.experiment, Data: "simulated"}

	d := p.of(runs)
	for j, in := range p.c.inputs {
		c := predict.Input{Name: in, Min: math.Inf(1), Max: math.Inf(-1)}
		for i := range d.N {
			v := d.X[i*d.In+j]
			c.Min, c.Max, c.Values = min(c.Min, v), max(c.Max, v), append(c.Values, v)
		}

		slices.Sort(c.Values)
		c.Values = slices.Compact(c.Values)
		card.Inputs = append(card.Inputs, c)
	}

	for _, o := range p.c.outcomes {
		card.Outcomes = append(card.Outcomes, predict.Outcome{Name: o})
	}

	var nets []*train.Model
	for k := range p.c.seeds {
		cfg := train.DefaultConfig()
		cfg.Epochs, cfg.Seed = p.c.epochs, seed*1000+uint64(k)
		m, _, err := train.Fit(ctx, d, cfg, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("train on %d runs of %s: %w", len(runs), p.c.experiment, err)
		}

		nets = append(nets, m)
	}

	return predict.New(card, nets...), nets, nil
}

// split returns the triplets of some runs as training part, with the test part to
// judge by.
func (p *pool) split(runs, test []int) triplets.Set {
	quantities := func(names []string) (q []triplets.Quantity) {
		for _, n := range names {
			q = append(q, triplets.Quantity{Name: n})
		}
		return q
	}

	all := slices.Concat(runs, test)
	d := p.of(all)
	s := triplets.New(quantities(p.c.inputs), quantities(p.c.outcomes), d.X, d.Y1, d.Y2)

	var names []string
	for i, r := range all {
		part := triplets.Train
		if i >= len(runs) {
			part = triplets.Test
		}

		for range p.rows[r] {
			names, s.Part = append(names, strconv.Itoa(r)), append(s.Part, part)
		}
	}

	s.SetRuns(names)

	return s
}

// heldOut is the mean measured error e of the networks' common mean on some
// runs, in units of the outcomes' variance.
func (p *pool) heldOut(nets []*train.Model, runs []int) float64 {
	d := p.of(runs)
	mu := make([]float64, d.N*d.Out)
	for _, m := range nets {
		one, _ := m.Predict(d.X)
		for k, v := range one {
			mu[k] += v / float64(len(nets))
		}
	}

	sum := 0.0
	for k := range mu {
		s := p.std[k%d.Out]
		sum += (d.Y1[k] - mu[k]) * (d.Y2[k] - mu[k]) / (s * s)
	}

	return sum / float64(len(mu))
}

// grid has all combinations of the values that the runs have.
func (p *pool) grid() *suggest.Candidates {
	grid := new(suggest.Candidates)
	var values [][]float64
	for k, name := range p.c.chosen {
		grid.Inputs = append(grid.Inputs, slices.Index(p.c.inputs, name))

		var own []float64
		for _, at := range p.at {
			own = append(own, at[k])
		}

		slices.Sort(own)
		values = append(values, slices.Compact(own))
	}

	for _, at := range kv.Points(values...) {
		grid.List = append(grid.List, suggest.Candidate{At: at})
	}

	return grid
}

// calibrate fits the additive process to the training part of s, and calibrates it by leaving
// out each value of the input groups. No outcome of the test part enters.
func (p *pool) calibrate(ctx context.Context, s triplets.Set) (*honest.Model, error) {
	column := slices.Index(p.c.inputs, p.c.groups)
	if column < 0 {
		return nil, fmt.Errorf("calibrate on left-out groups: %s is no input", p.c.groups)
	}

	var values []float64
	for i := range s.N {
		values = append(values, s.X[i*s.In+column])
	}

	learner := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: p.c.groups, Tolerance: holdout.Nothing.Within(p.c.groups),
		Rate: honest.IsRate,
	}
	m, _, err := learner.Process(ctx, s, values)

	return m, err
}

// trial is one repeat: the held-out error each strategy ends with, and that of
// the start.
func (p *pool) trial(ctx context.Context, repeat int) (end []float64, first float64, err error) {
	c := p.c
	rng := rand.New(rand.NewPCG(uint64(repeat), 0x73756767657374))
	order := rng.Perm(len(p.at))
	test, start, rest := order[:c.test], order[c.test:c.test+c.start], order[c.test+c.start:]
	models, nets, err := p.fit(ctx, start, uint64(repeat+1))
	if err != nil {
		return nil, 0, err
	}

	first = p.heldOut(nets, test)

	luck := rng.Perm(len(rest))
	for _, strategy := range strategies {
		runs, left, m, n := slices.Clone(start), slices.Clone(rest), models, nets
		for round := range c.rounds {
			var next []int
			if strategy.by == "" {
				for _, k := range luck[round*c.each : (round+1)*c.each] {
					next = append(next, rest[k])
				}
			} else {
				if strategy.by == suggest.ByHonest {
					if m.Honest, err = p.calibrate(ctx, p.split(runs, test)); err != nil {
						return nil, 0, err
					}
				}

				list, err := p.rank(ctx, m, strategy.by)
				if err != nil {
					return nil, 0, err
				}

				// Only runs that can be measured are candidates.
				list = slices.DeleteFunc(list, func(s suggest.Suggestion) bool {
					return !slices.ContainsFunc(left, func(r int) bool { return slices.Equal(p.at[r], s.At) })
				})
				if strategy.batch {
					list = batch(list, c.each, len(runs))
				}

				for _, s := range list {
					for _, r := range left {
						if slices.Equal(p.at[r], s.At) && len(next) < c.each {
							next = append(next, r)
						}
					}
				}
			}

			left = slices.DeleteFunc(left, func(r int) bool { return slices.Contains(next, r) })

			runs = append(runs, next...)
			if m, n, err = p.fit(ctx, runs, uint64(repeat+1)); err != nil {
				return nil, 0, err
			}
		}

		end = append(end, p.heldOut(n, test))
	}

	return end, first, nil
}

// rank is suggest.Rank, or by one of the networks' claims alone.
func (p *pool) rank(ctx context.Context, m *predict.Models, by string) ([]suggest.Suggestion, error) {
	grid := p.grid()
	list, err := suggest.Rank(ctx, m, grid)
	if err != nil || by != byCov && by != bySpread {
		return list, err
	}

	values := make([][]float64, len(m.Card.Inputs))
	for i, in := range m.Card.Inputs {
		values[i] = in.Values
	}

	for i := range list {
		for k, input := range grid.Inputs {
			values[input] = list[i].At[k : k+1]
		}

		r, err := m.Quick(ctx, slices.Concat(kv.Points(values...)...))
		if err != nil {
			return nil, err
		}

		std, sum := m.OutcomeStd(), 0.0
		for k := range r.Mu {
			claim := r.Spread[k]
			if by == byCov {
				claim = max(r.Cov[k], 0)
			}

			sum += claim / (std[k%r.Out] * std[k%r.Out] * float64(len(r.Mu)))
		}

		list[i].Epistemic = sum
	}

	slices.SortStableFunc(list, func(a, b suggest.Suggestion) int { return cmp.Compare(b.Epistemic, a.Epistemic) })

	return list, nil
}

// batch picks n of the suggestions to be measured together, before the models
// are trained again: the one with the largest expected error first, then each
// time the one with the largest left over. A measurement takes the share
// exp(−d²/ℓ²) of the expected error at distance d with it, that of a Gaussian
// process with the kernel exp(−d²/2ℓ²); d is in the unit cube of the list's
// conditions, and ℓ the spacing that n and the conditions measured before would
// have if they were spread evenly, (measured+n)^(−1/dimensions). n beyond the
// list's length gives all of it.
func batch(list []suggest.Suggestion, n, measured int) []suggest.Suggestion {
	n = min(n, len(list))
	if n <= 0 {
		return nil
	}

	d := len(list[0].At)

	low, high := slices.Clone(list[0].At), slices.Clone(list[0].At)
	for _, s := range list {
		for k, v := range s.At {
			low[k], high[k] = min(low[k], v), max(high[k], v)
		}
	}

	varying := 0
	for k := range d {
		if high[k] > low[k] {
			varying++
		}
	}

	length := math.Pow(float64(measured+n), -1/float64(max(varying, 1)))

	left, taken := make([]float64, len(list)), make([]bool, len(list))
	for i, s := range list {
		left[i] = s.Epistemic
	}

	var out []suggest.Suggestion
	for range n {
		best := -1
		for i, v := range left {
			if !taken[i] && (best < 0 || v > left[best]) {
				best = i
			}
		}

		taken[best] = true
		out = append(out, list[best])

		for i, s := range list {
			square := 0.0
			for k, v := range s.At {
				if high[k] > low[k] {
					t := (v - list[best].At[k]) / (high[k] - low[k])
					square += t * t
				}
			}

			left[i] *= -math.Expm1(-square / (length * length))
		}
	}

	return out
}

// suggestTable makes the table of choosing the next measurements. Each repeat draws runs to
// start with and runs to judge by, at random, and adds runs in rounds, by a ranking of
// `suggest` or at random. Errors are the measured e of the networks' common mean on the
// runs to judge by, in units of the outcomes' variance. Differences to random are paired.
func suggestTable(campaigns []campaign) func(ctx context.Context, r *results) ([]*sheet, error) {
	return func(ctx context.Context, r *results) ([]*sheet, error) {
		s := &sheet{head: []string{
			"experiment", "start", "rounds", "each", "judged_by", "networks", "repeats", "chosen_by", "error", "error_se",
			"difference_to_random", "difference_se", "better_in", "verdict",
		}}

		for _, c := range campaigns {
			fmt.Fprintf(r.progress, "suggest on %s\n", c.experiment)

			p, err := readPool(r.project.Plan.Dir, c)
			if err != nil {
				return nil, err
			}

			ends, firsts, err := p.trials(ctx)
			if err != nil {
				return nil, err
			}

			p.c.write(s, ends, firsts)
		}

		return []*sheet{s}, nil
	}
}

// trials runs all repeats.
func (p *pool) trials(ctx context.Context) (ends [][]float64, firsts []float64, err error) {
	n := p.c.repeats
	ends, firsts = make([][]float64, n), make([]float64, n)
	errs := make([]error, n)
	slots := make(chan struct{}, runtime.NumCPU())

	var wg sync.WaitGroup
	for r := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ends[r], firsts[r], errs[r] = p.trial(ctx, firstRepeat+r)
		})
	}

	wg.Wait()

	return ends, firsts, errors.Join(errs...)
}

// write adds the rows of a campaign: the start, and how each strategy ended.
func (c campaign) write(s *sheet, ends [][]float64, firsts []float64) {
	var about []string
	for _, n := range []int{c.start, c.rounds, c.each, c.test, c.seeds, c.repeats} {
		about = append(about, strconv.Itoa(n))
	}

	row := func(name string, more ...[]string) {
		s.add(slices.Concat([]string{c.experiment}, about, []string{name}, slices.Concat(more...))...)
	}

	first, _ := c.overRepeats(firsts)
	row("start", first, []string{"", "", "", ""})

	for k, strategy := range strategies {
		v, diff := make([]float64, c.repeats), make([]float64, c.repeats)

		wins := 0
		for r := range v {
			v[r], diff[r] = ends[r][k], ends[r][k]-ends[r][0]
			if diff[r] < 0 {
				wins++
			}
		}

		end, _ := c.overRepeats(v)
		if k == 0 {
			row(strategy.name, end, []string{"", "", "", ""})
			continue
		}

		difference, word := c.overRepeats(diff)
		row(strategy.name, end, difference, []string{strconv.Itoa(wins), word})
	}
}

// overRepeats is the mean of the repeats with its standard error, and whether it differs
// from 0 by two of these: better where it is below.
func (c campaign) overRepeats(v []float64) (cell []string, verdict string) {
	mean, std := score.MeanStd(v)
	se := std / math.Sqrt(float64(c.repeats))

	verdict = "no significant difference"
	switch {
	case mean < -2*se:
		verdict = "better"
	case mean > 2*se:
		verdict = "worse"
	}

	return cells(score.Value{Mean: mean, Std: se, N: c.repeats}), verdict
}
