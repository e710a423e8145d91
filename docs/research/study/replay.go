package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"doubletake/train/honest"
	"doubletake/train/score"
)

// replays choose among measured runs as if they were not measured yet; their sizes were fixed
// before they were first run. The error is that of the process.
var replays = []campaign{
	{
		experiment: "turbine", inputs: []string{"tow_speed_m_s", "tsr"}, outcomes: []string{"cp", "cd"},
		groups: "tow_speed_m_s", start: 15, rounds: 2, each: 6, test: 80, repeats: 24,
	},
	{
		experiment: "blades", inputs: []string{"blades", "pitch_in", "rpm"}, outcomes: []string{"kt"},
		groups: "blades", start: 15, rounds: 2, each: 6, test: 300, repeats: 24,
	},
	{
		experiment: "cyclone", inputs: []string{"U_from_sensor_mps", "arm_angle_deg", "servo1_us", "servo2_us"},
		outcomes: []string{"fx", "fz", "my"}, groups: "U_from_sensor_mps", perRun: 8, start: 15, rounds: 2, each: 6, test: 40,
		repeats: 24,
	},
}

// criteria by which the next run is chosen; the others are compared with the first.
var criteria = []struct {
	name string
	pick func(p *replay) (int, error) // among p.left
}{
	{"random", func(p *replay) (int, error) { return p.left[0], nil }}, // they are in random order
	{"maximin", (*replay).farthest},
	{"variance", (*replay).uncertain},
	{"integrated variance", (*replay).informative},
}

// replay is the state of one criterion in one repeat: what was measured, and the model ahead of
// the runs of this round.
type replay struct {
	*pool
	runs, left []int
	extent     []float64 // of the inputs
	ahead      *honest.Posterior
	at         map[int][]int // rows of a run in ahead
}

// farthest is the run farthest from those measured, in units of the inputs' ranges.
func (p *replay) farthest() (best int, err error) {
	most := -1.0
	for _, r := range p.left {
		least := math.Inf(1)
		for _, q := range p.runs {
			d := 0.0
			for k, v := range p.pool.at[r] {
				d += math.Pow((v-p.pool.at[q][k])/p.extent[k], 2)
			}
			least = min(least, d)
		}

		if least > most {
			best, most = r, least
		}
	}

	return best, nil
}

// uncertain is the run of the largest calibrated variance, those chosen before it in this
// round taken as measured.
func (p *replay) uncertain() (best int, err error) {
	now, most := p.ahead.Predict(), -1.0
	for _, r := range p.left {
		v := 0.0
		for _, i := range p.at[r] {
			for j, s := range p.std {
				v += now.Epistemic[i*now.Out+j] / (s * s * float64(len(p.at[r])))
			}
		}

		if v > most {
			best, most = r, v
		}
	}

	return best, nil
}

// informative is the run that lowers the mean expected error over all runs most.
func (p *replay) informative() (best int, err error) {
	var conditions [][]int
	for _, r := range p.left {
		conditions = append(conditions, p.at[r])
	}

	gains, err := p.ahead.Gains(conditions)
	if err != nil {
		return 0, err
	}

	most := -1.0
	for k, gain := range gains {
		if gain > most {
			best, most = p.left[k], gain
		}
	}

	return best, nil
}

// look sets the model ahead of the runs of the next round.
func (p *replay) look(ctx context.Context, m *honest.Model) (err error) {
	var x []float64
	p.at = map[int][]int{}
	for _, r := range p.left {
		var seen [][]float64 // conditions of the run
		for _, i := range p.rows[r] {
			row := p.data.X[i*p.data.In : (i+1)*p.data.In]
			if slices.ContainsFunc(seen, func(s []float64) bool { return slices.Equal(s, row) }) {
				continue
			}

			seen, p.at[r] = append(seen, row), append(p.at[r], len(x)/p.data.In)
			x = append(x, row...)
		}
	}

	p.ahead, err = m.Posterior(ctx, x, nil, nil)

	return err
}

// judge is the log of the process's mean squared deviation from the measured means of some runs, in
// units of the outcomes' variances. The noise of the means, the same for all, is part of it.
func (p *replay) judge(ctx context.Context, m *honest.Model, test []int) (float64, error) {
	d := p.of(test)
	got, err := m.Predict(ctx, d.X, 0, nil)
	if err != nil {
		return 0, err
	}

	sum := 0.0
	for k, mu := range got.Mu {
		z := ((d.Y1[k]+d.Y2[k])/2 - mu) / p.std[k%d.Out]
		sum += z * z
	}

	return math.Log(sum / float64(len(got.Mu))), nil
}

// replayed is one repeat: the log error that each criterion ends with.
func (p *pool) replayed(ctx context.Context, repeat int) (end []float64, err error) {
	c := p.c
	order := rand.New(rand.NewPCG(uint64(repeat), 0x7265706c6179)).Perm(len(p.at))
	test, start, rest := order[:c.test], order[c.test:c.test+c.start], order[c.test+c.start:]
	for _, criterion := range criteria {
		p := &replay{pool: p, runs: slices.Clone(start), left: slices.Clone(rest)}
		for k := range c.inputs {
			at := func(a, b []float64) int { return cmp.Compare(a[k], b[k]) }
			p.extent = append(p.extent, slices.MaxFunc(p.pool.at, at)[k]-slices.MinFunc(p.pool.at, at)[k])
		}

		m, err := p.calibrate(ctx, p.split(p.runs, test))
		if err != nil {
			return nil, err
		}

		for range c.rounds {
			if err := p.look(ctx, m); err != nil {
				return nil, err
			}

			for range c.each {
				next, err := criterion.pick(p)
				if err != nil {
					return nil, err
				}

				p.runs = append(p.runs, next)
				p.left = slices.DeleteFunc(p.left, func(r int) bool { return r == next })
				if err := p.ahead.Measure(p.at[next]); err != nil {
					return nil, err
				}
			}

			if m, err = p.calibrate(ctx, p.split(p.runs, test)); err != nil {
				return nil, err
			}
		}

		e, err := p.judge(ctx, m, test)
		if err != nil {
			return nil, err
		}

		end = append(end, e)
	}

	return end, nil
}

// replayTable compares criteria of choosing the next runs on measured tables: log ratios of the
// squared error to that of random choice, paired by repeat.
func replayTable(ctx context.Context, r *results) ([]*sheet, error) {
	s := &sheet{head: []string{
		"experiment", "runs", "start", "rounds", "each", "judged_by", "repeats", "chosen_by", "log_ratio", "log_ratio_se",
	}}

	for k, c := range replays {
		c.chosen = c.inputs
		p, err := readPool(r.dirs[k], c)
		if err != nil {
			return nil, err
		}

		ends, errs := make([][]float64, c.repeats), make([]error, c.repeats)
		slots := make(chan struct{}, runtime.NumCPU())

		var wg sync.WaitGroup
		for i := range c.repeats {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				ends[i], errs[i] = p.replayed(ctx, i)
			})
		}

		wg.Wait()

		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("replay %s: %w", c.experiment, err)
		}

		for j, criterion := range criteria {
			if j == 0 {
				continue
			}

			var d []float64
			for _, e := range ends {
				d = append(d, e[j]-e[0])
			}

			mean, std := score.MeanStd(d)
			row := []string{c.experiment}
			for _, n := range []int{len(p.at), c.start, c.rounds, c.each, c.test, c.repeats} {
				row = append(row, strconv.Itoa(n))
			}

			row = append(row, criterion.name)
			s.add(append(row, cells(score.Value{Mean: mean, Std: std / math.Sqrt(float64(len(d))), N: len(d)})...)...)
		}
	}

	return []*sheet{s}, nil
}
