package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// rising is a held-out group with its intervals by `scale: plain` and by `scale: ecov`.
type rising struct {
	data, split string
	measured    bool
	rho, left   float64 // ln of the rise of E|cov|, and the mean of those of the left-out groups
	of          [2]*interval.Result
}

// lnScore is ln of the interval score of the second over that of the first.
func (g *rising) lnScore() float64 {
	return math.Log(g.of[1].Record.After.Score / g.of[0].Record.After.Score)
}

// ecov makes the tables of experiments that have the variants scale=plain and scale=ecov: of all held-out groups, of
// thirds of the groups by ρ, and of what the trainings without groups cost.
func ecov(_ context.Context, r *results) ([]*sheet, error) {
	groups, err := risingGroups(r.all)
	if err != nil {
		return nil, err
	}

	each := &sheet{head: []string{
		"data", "split", "measured", "k", "rho", "rho_left_out", "gamma",
		"coverage_68", "coverage_90", "coverage_95", "coverage_98",
		"coverage_68_ecov", "coverage_90_ecov", "coverage_95_ecov", "coverage_98_ecov", "score", "score_ecov",
	}}
	for _, g := range groups {
		c := g.of[1].Calibration
		row := []string{
			g.data, g.split, strconv.FormatBool(g.measured), strconv.Itoa(c.K), digits(g.rho, 4), digits(g.left, 4),
			digits(c.Scale.Gamma, 4),
		}
		for _, of := range g.of {
			for _, v := range of.Record.At {
				row = append(row, digits(v, 4))
			}
		}

		each.add(append(row, digits(g.of[0].Record.After.Score, 5), digits(g.of[1].Record.After.Score, 5))...)
	}

	costs, err := trainings(r, groups)

	return []*sheet{each, thirds(groups), costs}, err
}

// risingGroups pairs the variants.
func risingGroups(all []report.Experiment) (list []*rising, err error) {
	known := map[string]*rising{}
	for _, e := range all {
		data, variant, _ := strings.Cut(e.Name, "/")
		for _, s := range e.Splits {
			if s.Honest == nil || s.Honest.Absent != "" || s.Honest.Record == nil {
				continue
			}

			g := known[data+" "+s.Name]
			if g == nil {
				g = &rising{
					data: data, split: s.Name, measured: e.Data == "measured",
					rho: math.Log(s.Test.Get("abs_cov").Mean / s.Train.Get("abs_cov").Mean),
				}
				known[data+" "+s.Name], list = g, append(list, g)
			}

			k := 0
			if strings.HasSuffix(variant, "ecov") {
				k = 1
				g.left = leftOutRise(s.Honest.Calibration)
			}

			g.of[k] = s.Honest
		}
	}

	for _, g := range list {
		if g.of[0] == nil || g.of[1] == nil {
			return nil, fmt.Errorf("%s, %s: expected intervals by scale: plain and by scale: ecov, found one of them", g.data,
				g.split)
		}
	}

	return list, nil
}

// leftOutRise is the mean of ln of the rises of E|cov| in left-out groups.
func leftOutRise(c *interval.Calibration) float64 {
	sum, n := 0.0, 0.0
	for _, g := range c.Groups {
		if g.Rise != nil {
			sum, n = sum+math.Log(*g.Rise), n+1
		}
	}

	return sum / n
}

// thirds is the table of the measured and of the simulated groups, in thirds of ρ and all: mean coverage, and ln of the
// ratio of interval scores with its standard error between sets.
func thirds(groups []*rising) *sheet {
	s := &sheet{head: []string{
		"measured", "third", "groups", "sets", "rho", "coverage_68", "coverage_90", "coverage_95", "coverage_98",
		"coverage_68_ecov", "coverage_90_ecov", "coverage_95_ecov", "coverage_98_ecov", "ln_score", "ln_score_se",
	}}

	for _, measured := range []bool{true, false} {
		kind := slices.DeleteFunc(slices.Clone(groups), func(g *rising) bool { return g.measured != measured })
		slices.SortStableFunc(kind, func(a, b *rising) int { return cmp.Compare(a.rho, b.rho) })

		n := len(kind)
		for i, name := range []string{"lowest", "middle", "highest", "all"} {
			part := kind
			if name != "all" {
				part = kind[i*n/3 : (i+1)*n/3]
			}

			if len(part) > 0 {
				s.add(append([]string{strconv.FormatBool(measured), name}, meansOfThird(part)...)...)
			}
		}
	}

	return s
}

// meansOfThird are a third's cells from groups on.
func meansOfThird(part []*rising) []string {
	mean := func(f func(g *rising) float64) float64 {
		sum := 0.0
		for _, g := range part {
			sum += f(g) / float64(len(part))
		}

		return sum
	}

	var sets []string
	ratios := map[string][]float64{}
	for _, g := range part {
		if ratios[g.data] == nil {
			sets = append(sets, g.data)
		}

		ratios[g.data] = append(ratios[g.data], g.lnScore())
	}

	row := []string{
		strconv.Itoa(len(part)), strconv.Itoa(len(sets)), digits(mean(func(g *rising) float64 { return g.rho }), 4),
	}
	for k := range 2 {
		for level := range 4 {
			row = append(row, digits(mean(func(g *rising) float64 { return g.of[k].Record.At[level] }), 4))
		}
	}

	var ofSets []float64
	for _, name := range sets {
		m, _ := score.MeanStd(ratios[name])
		ofSets = append(ofSets, m)
	}

	m, std := score.MeanStd(ofSets)
	if len(ofSets) < 2 {
		return append(row, digits(m, 4), "")
	}

	return append(row, digits(m, 4), digits(std/math.Sqrt(float64(len(ofSets))), 3))
}

// trainingsFile is the file of a work directory with the trainings without groups and their processor seconds.
const trainingsFile = "trainings"

// trainings is the table of what the trainings without groups cost each set.
func trainings(r *results, groups []*rising) (*sheet, error) {
	s := &sheet{head: []string{"data", "groups", "trainings", "seconds"}}

	for _, dir := range r.dirs {
		made, err := readSheet(dir, trainingsFile)
		if err != nil {
			return nil, err
		}

		var sets []string
		n, seconds := map[string]int{}, map[string]float64{}
		for _, row := range made.rows {
			v, err := strconv.ParseFloat(row[1], 64)
			if err != nil {
				return nil, fmt.Errorf("read the trainings in %s: %w", dir, err)
			}

			data, _, _ := strings.Cut(row[0], "/")
			if n[data] == 0 {
				sets = append(sets, data)
			}

			n[data]++
			seconds[data] += v
		}

		slices.Sort(sets)
		for _, data := range sets {
			held := 0
			for _, g := range groups {
				if g.data == data {
					held++
				}
			}

			if held == 0 { // not yet finished
				continue
			}

			s.add(data, strconv.Itoa(held), strconv.Itoa(n[data]), digits(seconds[data], 3))
		}
	}

	return s, nil
}

// timed makes the tasks one at a time and notes in the work directory what the trainings without groups took of the
// processor.
func timed(ctx context.Context, p *pipeline.Project, sel pipeline.Selection) (*engine.Result, error) {
	before, err := readSheet(p.Plan.Dir, trainingsFile)
	if err != nil {
		return nil, err
	}

	s := &sheet{head: []string{"task", "seconds"}, rows: before.rows}
	began := 0.0

	var mu sync.Mutex

	observe := func(v engine.Event) {
		mu.Lock()
		defer mu.Unlock()

		switch {
		case v.Kind == "start":
			began = processorSeconds()
		case v.Kind == "done" && v.Ran && strings.Contains(v.Task.ID, "/train/on/"):
			s.add(v.Task.ID, digits(processorSeconds()-began, 4))
		}
	}

	res, err := p.Run(ctx, pipeline.Options{Selection: sel, Jobs: 1, Observe: observe})
	if len(s.rows) > len(before.rows) {
		return res, cmp.Or(err, s.write(p.Plan.Dir, trainingsFile))
	}

	return res, err
}

func processorSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return math.NaN()
	}

	return float64(u.Utime.Nano()) / 1e9
}
