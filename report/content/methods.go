package content

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/report"
	"doubletake/train/baseline"
	"doubletake/train/results"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// compared collects the scores of the pair model and of the methods compared with it, over the seeds of a split.
type compared struct {
	methods []*method       // in the order of the report's table
	flags   []results.Flags // by seed
	run     []int           // runs of the held-out rows
}

// method contains the scores of a method over the seeds.
type method struct {
	name   string
	claim  string         // describes the variance that the method predicts
	scores []score.Scores // by seed
	doubts []string       // doubts about a seed's answers, of the seeds that have one
	crps   [][]float64    // by seed and row; nil if the method is not ranked
	nll    [][]float64    // by seed and row; nil if the method is not ranked
}

// method returns the method with the given name, and adds it if it is new.
func (c *compared) method(name, claim string) *method {
	i := slices.IndexFunc(c.methods, func(m *method) bool { return m.name == name })
	if i < 0 {
		i = len(c.methods)
		c.methods = append(c.methods, &method{name: name, claim: claim})
	}

	return c.methods[i]
}

// addRanked stores one seed's CRPS and NLL of every row, by which methods are ranked. set contains the method's
// answers, variance the total variances that it predicts.
func (c *compared) addRanked(m *method, set score.Set, variance []float64) {
	c.run = set.Run
	m.crps = append(m.crps, score.CRPSRows(set, variance))
	m.nll = append(m.nll, score.NLLRows(set, variance))
}

// compare adds the scores of one seed of all methods on the test part of set. test is the test part with the answers of
// the pair model.
func (c *compared) compare(seed Seed, set triplets.Set, test score.Set) error {
	c.flags = append(c.flags, seed.Flags)
	if len(seed.Methods) == 0 {
		return nil
	}

	pair := c.add("pair, C", "C", score.Judge(test, test.Var, test.Cov))
	c.addRanked(pair, test, test.Var)

	magnitudes := make([]float64, len(test.CovRaw))
	for i, cov := range test.CovRaw {
		magnitudes[i] = math.Abs(cov)
	}

	c.add("pair, |raw|", "|raw|", score.Judge(test, test.Var, magnitudes))
	conditions := set.Only(triplets.Test).Condition
	for _, method := range seed.Methods {
		answers, err := results.ReadMethod(method.Answers, set)
		if err != nil {
			return fmt.Errorf("read %s: %w", method.Name, err)
		}

		answers = answers.Rows(conditions, set.Out).Standardised(set.Scale)
		answered := test
		answered.Mu = answers.Mu
		info, _ := baseline.Describe(method.Name)
		m := c.add(method.Name, info.Claim, score.Judge(answered, answers.Var, answers.Cov))
		if doubt := method.Answers.Get("doubt"); doubt != "" {
			m.doubts = append(m.doubts, doubt)
		}

		c.addRanked(m, answered, answers.Var)
	}

	return nil
}

// add adds one seed's scores of a method and returns the method.
func (c *compared) add(name, claim string, scores score.Scores) *method {
	m := c.method(name, claim)
	m.scores = append(m.scores, scores)

	return m
}

// finish adds the scores, the ranking and the flags to a split of the report.
func (c *compared) finish(sp *report.Split) {
	var ranked []*method
	var crps [][][]float64
	for _, m := range c.methods {
		sp.Methods = append(sp.Methods, m.summary())
		if m.crps != nil {
			ranked = append(ranked, m)
			crps = append(crps, m.crps)
		}
	}

	ranking := score.Ranking(crps, c.run)
	for i, r := range ranking {
		standing := "best"
		if i > 0 {
			standing = c.standing(ranking[0].Mean, r, ranked[r.Method].nll, ranked[ranking[0].Method].nll)
		}

		sp.Ranking = append(sp.Ranking, report.Ranked{
			Method: ranked[r.Method].name, CRPS: r.Mean, Above: r.Above, SE: r.SE, Standing: standing,
		})
	}

	sp.Flags = append(mergeFlags(c.flags), calibrationFlags(sp.Test)...)
}

// summary averages the scores of a method over the seeds, with the share of values below each quantile.
func (m *method) summary() report.Compared {
	numbers := make([]score.Numbers, len(m.scores))
	for seed, scores := range m.scores {
		numbers[seed] = scores.Numbers
	}

	summary := report.Compared{Method: m.name, Claim: m.claim, Values: score.OverSeeds(numbers)}
	for i, q := range m.scores[0].Quantiles {
		observed := make([]float64, len(m.scores))
		for seed, scores := range m.scores {
			observed[seed] = math.NaN()
			if i < len(scores.Quantiles) {
				observed[seed] = scores.Quantiles[i].Observed
			}
		}

		key := "below_" + strconv.FormatFloat(q.Level, 'g', -1, 64)
		summary.Values = append(summary.Values, score.Keyed{Key: key, Value: score.Mean(observed)})
	}

	if len(m.doubts) > 0 {
		summary.Doubt = fmt.Sprintf("%d of %d seeds: %s", len(m.doubts), len(m.scores), m.doubts[0])
	}

	return summary
}

// standing describes how a method compares with the best one by CRPS. If it is as good by CRPS, standing also compares
// the two by NLL, because CRPS hardly sees predicted variances that are far too small.
func (c *compared) standing(best float64, r score.Rank, nll, nllOfBest [][]float64) string {
	standing := score.Standing("crps", best, r.Above, r.Margin, r.Worse)

	ranking := score.Ranking([][][]float64{nllOfBest, nll}, c.run)
	if standing != "as good" || len(ranking) < 2 || ranking[0].Method == 1 {
		return standing
	}

	second := ranking[1]
	byNLL := score.Standing("nll", ranking[0].Mean, second.Above, second.Margin, second.Worse)
	if byNLL != standing {
		standing += ", by NLL " + byNLL
	}

	return standing
}

// calibrationFlags returns the violations of Σe/ΣC. It judges the mean over the seeds, which the tables show.
func calibrationFlags(test report.SetMetrics) (violations []report.Violation) {
	for _, flag := range score.DiagnoseCalibration(test.Values, test.Runs) {
		flag.Value = test.Get("sum_e_ratio").Mean
		flag.Limit = 0
		violations = append(violations, report.Violation{Flag: flag, Part: "test"})
	}

	return violations
}

// coverageFlags returns the violation of the outcome with the smallest share of held-out values inside the network's
// intervals, mean over seeds. It returns nil if no share is too small.
func coverageFlags(network []score.OutcomeTrust) []report.Violation {
	var worst *score.OutcomeTrust
	var flag score.Flag
	for i, trust := range network {
		found := score.DiagnoseCoverage(trust.Trust)
		if len(found) > 0 && (worst == nil || trust.Inside < worst.Inside) {
			worst = &network[i]
			flag = found[0]
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

// mergeFlags returns one violation for each flag and part, from the worst seed.
func mergeFlags(seeds []results.Flags) []report.Violation {
	train := make([][]score.Flag, len(seeds))
	test := make([][]score.Flag, len(seeds))
	for seed, s := range seeds {
		train[seed] = s.Train
		test[seed] = s.Test
	}

	return append(mergePart("train", train), mergePart("test", test)...)
}

// mergePart returns one violation for each flag of a part, from the worst seed, with the number of seeds that have it.
func mergePart(part string, seeds [][]score.Flag) (violations []report.Violation) {
	var codes []string
	worst := map[string]score.Flag{}
	count := map[string]int{}
	for _, flags := range seeds {
		for _, f := range flags {
			if count[f.Code] == 0 {
				codes = append(codes, f.Code)
			}

			count[f.Code]++
			if count[f.Code] == 1 || f.Value/f.Limit > worst[f.Code].Value/worst[f.Code].Limit {
				worst[f.Code] = f
			}
		}
	}

	for _, code := range codes {
		violations = append(violations, report.Violation{
			Flag: worst[code], Part: part, Seeds: count[code], AllSeeds: len(seeds),
		})
	}

	return violations
}
