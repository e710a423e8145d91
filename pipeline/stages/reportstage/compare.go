package reportstage

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/baseline"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// compareDeps lists what the comparison of a split needs of one seed's tasks.
func compareDeps(exp plan.Experiment, s config.Split, k int) []engine.Dep {
	tr := exp.Train

	deps := []engine.Dep{{Task: trainstage.TrainID(exp, s.Name, k), Output: trainstage.FlagsJSON}}
	for _, name := range tr.Compare {
		deps = append(deps, engine.Dep{Task: trainstage.MethodID(exp, s.Name, name, k), Output: trainstage.MethodArrow})
	}

	return deps
}

// compared gathers the scores of every method over the seeds of a split.
type compared struct {
	methods []*method // in the order of the table
	flags   []trainstage.SeedFlags
	run     []int // of the rows
}

// method is one method's, over the seeds.
type method struct {
	name, claim string // claim describes its v̂
	scores      []score.Scores
	doubts      []string    // of the seeds that have one
	crps, nll   [][]float64 // of every row; nil where it is not ranked
}

func (c *compared) method(name, claim string) *method {
	i := slices.IndexFunc(c.methods, func(m *method) bool { return m.name == name })
	if i < 0 {
		i = len(c.methods)
		c.methods = append(c.methods, &method{name: name, claim: claim})
	}

	return c.methods[i]
}

// rank adds one seed's CRPS and NLL of every row.
func (c *compared) rank(m *method, s score.Set, total []float64) {
	m.crps, c.run = append(m.crps, score.CRPSRows(s, total)), s.Run
	m.nll = append(m.nll, score.NLLRows(s, total))
}

// compare adds one seed's scores on the test part of set: test is that part with
// the answers of the pair model.
func compare(
	exp plan.Experiment, c *compared, j *engine.Job, set triplets.Set, s config.Split, k int, test score.Set,
) {
	tr := exp.Train
	id := trainstage.TrainID(exp, s.Name, k)

	var f trainstage.SeedFlags
	fault.Raise(plan.ReadJSON(j.Input(id, trainstage.FlagsJSON), &f))
	if c.flags = append(c.flags, f); len(tr.Compare) == 0 {
		return
	}

	add := func(name, claim string, s score.Scores) *method {
		m := c.method(name, claim)
		m.scores = append(m.scores, s)
		return m
	}

	pair := add("pair, C", "C", score.Judge(test, test.Var, test.Cov))
	c.rank(pair, test, test.Var)

	add("pair, |raw|", "|raw|", score.Judge(test, test.Var, lists.Each(test.CovRaw, math.Abs)))
	at := set.Of(triplets.Test).Condition
	for _, name := range tr.Compare {
		task := trainstage.MethodID(exp, s.Name, name, k)
		t := fault.Get(table.Read(j.Input(task, trainstage.MethodArrow)))
		a, err := trainstage.ReadMethod(t, set)
		if err != nil {
			fault.Raise(fmt.Errorf("read %s: %w", task, err))
		}

		a = a.Rows(at, set.Out).Standardised(set.Scale)
		of := test
		of.Mu = a.Mu
		info, _ := baseline.Describe(name)
		m := add(name, info.Claim, score.Judge(of, a.Var, a.Cov))
		if doubt := t.Get("doubt"); doubt != "" {
			m.doubts = append(m.doubts, doubt)
		}
		c.rank(m, of, a.Var)
	}
}

// finish writes the scores into the report's split.
func (c *compared) finish(sp *report.Split) {
	var ranked []*method

	var crps [][][]float64
	for _, m := range c.methods {
		numbers := lists.Each(m.scores, func(s score.Scores) score.Numbers { return s.Numbers })
		r := report.Compared{Method: m.name, Claim: m.claim, Values: score.OverSeeds(numbers)}
		for i, q := range m.scores[0].Quantiles {
			key := "below_" + strconv.FormatFloat(q.Level, 'g', -1, 64)
			r.Values = append(r.Values, meanOver(key, m.scores, func(s score.Scores) float64 {
				if i < len(s.Quantiles) {
					return s.Quantiles[i].Observed
				}
				return math.NaN()
			}))
		}

		if len(m.doubts) > 0 {
			r.Doubt = fmt.Sprintf("%d of %d seeds: %s", len(m.doubts), len(m.scores), m.doubts[0])
		}

		sp.Methods = append(sp.Methods, r)

		if m.crps != nil {
			ranked, crps = append(ranked, m), append(crps, m.crps)
		}
	}

	ranking := score.Ranking(crps, c.run)
	for i, r := range ranking {
		is := "best"
		if i > 0 {
			is = c.standing(ranking[0].Mean, r, ranked[r.Method].nll, ranked[ranking[0].Method].nll)
		}

		sp.Ranking = append(sp.Ranking, report.Ranked{
			Method: ranked[r.Method].name, CRPS: r.Mean, Above: r.Above, SE: r.SE, Is: is,
		})
	}

	sp.Flags = append(mergeFlags(c.flags), calibrationFlags(sp.Test)...)
}

// standing compares a method with the best by CRPS, and where it is as good, by NLL:
// CRPS hardly sees claims that are far too small.
func (c *compared) standing(best float64, r score.Rank, nll, nllOfBest [][]float64) string {
	is := score.Standing("crps", best, r.Above, r.Margin, r.Worse)

	by := score.Ranking([][][]float64{nllOfBest, nll}, c.run)
	if is != "as good" || len(by) < 2 || by[0].Method == 1 {
		return is
	}

	if s := score.Standing("nll", by[0].Mean, by[1].Above, by[1].Margin, by[1].Worse); s != is {
		is += ", by NLL " + s
	}

	return is
}

// meanOver is a number's mean over seeds.
func meanOver[T any](key string, seeds []T, of func(T) float64) score.Keyed {
	return score.Keyed{Key: key, Value: score.Mean(lists.Each(seeds, of))}
}

// calibrationFlags checks Σe/ΣC by its mean over the seeds, which the tables show and
// by which the splits are ranked.
func calibrationFlags(test report.SetMetrics) []report.Violation {
	return lists.Each(score.DiagnoseCalibration(test.Values, test.Runs), func(f score.Flag) report.Violation {
		f.Value, f.Limit = test.Get("sum_e_ratio").Mean, 0
		return report.Violation{Flag: f, Part: "test"}
	})
}

// coverageFlags checks σ by the share of held-out values inside the network's intervals,
// mean over seeds. The outcome with the smallest share counts.
func coverageFlags(network []score.OutcomeTrust) []report.Violation {
	var worst *score.OutcomeTrust

	var flag score.Flag
	for i, t := range network {
		if f := score.DiagnoseCoverage(t.Trust); len(f) > 0 && (worst == nil || t.Inside < worst.Inside) {
			worst, flag = &network[i], f[0]
		}
	}

	if worst == nil {
		return nil
	}

	if len(network) > 1 {
		flag.How += " of " + worst.Outcome
	}

	return []report.Violation{{Flag: flag, Part: "test"}}
}

// mergeFlags keeps one entry per identity and part, from the worst seed.
func mergeFlags(seeds []trainstage.SeedFlags) []report.Violation {
	var out []report.Violation
	for _, part := range []struct {
		name string
		of   func(trainstage.SeedFlags) []score.Flag
	}{
		{"train", func(f trainstage.SeedFlags) []score.Flag { return f.Train }},
		{"test", func(f trainstage.SeedFlags) []score.Flag { return f.Test }},
	} {
		var codes []string

		worst, count := map[string]score.Flag{}, map[string]int{}
		for _, s := range seeds {
			for _, f := range part.of(s) {
				if count[f.Code] == 0 {
					codes = append(codes, f.Code)
				}

				if count[f.Code]++; count[f.Code] == 1 || f.Value/f.Limit > worst[f.Code].Value/worst[f.Code].Limit {
					worst[f.Code] = f
				}
			}
		}

		for _, c := range codes {
			out = append(out, report.Violation{Flag: worst[c], Part: part.name, Seeds: count[c], Of: len(seeds)})
		}
	}

	return out
}
