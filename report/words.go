package report

import (
	"fmt"
	"slices"
	"strings"
)

// title names the experiment, and its data as simulated or measured.
func (e Experiment) title() string {
	t := clean(e.Name)
	if e.Data != "" {
		t += ": " + clean(e.Data) + " data"
	}
	return t
}

// what describes the data in a line or two.
func (e Experiment) what() string {
	var parts, counts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{{e.Recordings, "recording", "recordings"}, {e.Runs, "run", "runs"}, {e.Triplets, "triplet", "triplets"}} {
		if c.n > 0 {
			counts = append(counts, numbered(c.n, c.one, c.many))
		}
	}
	if len(counts) > 0 {
		parts = append(parts, strings.Join(counts, ", "))
	}
	var pairs string
	if e.Pairs != "" {
		pairs = clean(e.Pairs) + " pairs"
	}
	if e.Construction != "" {
		pairs += " (" + clean(e.Construction) + ")"
	}
	if pairs != "" {
		parts = append(parts, strings.TrimSpace(pairs))
	}
	if len(e.Inputs) > 0 {
		parts = append(parts, "inputs "+names(e.Inputs, nil))
	}
	if len(e.Outcomes) > 0 {
		parts = append(parts, "outcomes "+names(e.Outcomes, e.OutcomeUnits))
	}
	return strings.Join(parts, "; ")
}

func names(list, units []string) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = isolate(shorten(clean(n), longName))
		if i < len(units) && units[i] != "" {
			out[i] += " (" + clean(units[i]) + ")"
		}
	}
	return strings.Join(out, ", ")
}

// longName is the number of columns a name may occupy before its middle is cut.
const longName = 40

// explanations are the sentences under the tables: what the numbers are, in
// which units, and what the kind of pairs makes of them.
func (e Experiment) explanations() []string {
	var out []string
	spread := "± is the sample standard deviation over the seeds."
	if e.single() {
		spread = "One seed each, so no spread is known."
	}
	out = append(out,
		"All but R² and ratios are in standardised units (the data's own where standardise is false), means over "+
			"outcomes. "+spread+" The difference is (test − train)/train of the means.",
		"E|cov| is the mean size of the covariance of the model's two answers as the paper estimates it. That estimate "+
			"tends to C + μδ: "+
			"C is the covariance proper; δ is the mean shift of the second answer against the first, zero for a model that "+
			"is calibrated on pairs; "+
			"μδ depends on where the outcome's zero lies and is no covariance.",
	)
	if e.has(identities[0]) {
		out = append(out, "Two answers of one joint law have κ = 0, C ≥ 0 and C ≤ σ². κ = (variance of the second answer "+
			"+ variance of its mean) − σ²; its share of σ² is the uncertainty of the split into epistemic and aleatoric. "+
			"The other two are shares of the conditions: where C ≤ 0 there is no epistemic interval, where C > σ² the model "+
			"claims more epistemic than total uncertainty.")
	}
	measured := "e is the measured error: the product of a pair's two residuals, (y1 − μ)(y2 − μ), which on pairs the " +
		"model was not trained on averages to the squared error of μ. " +
		"Σe/ΣC is 1 when the covariance is calibrated, above 1 when the model is overconfident. SE is the standard error " +
		"over runs, clustered, averaged over the seeds. The noise ceiling is the R² the true mean would reach on the " +
		"same pairs."
	if e.Couples {
		out = append(out, "Couples: y2 is y1, one draw used twice. The covariance then estimates the total variance, and "+
			"neither e nor a noise ceiling can be measured.")
		return out
	}
	out = append(out, measured)
	switch e.Pairs {
	case "same-run":
		out = append(out, "Same-run pairs: both values of a pair come from one run and share its set-up error, so e is "+
			"the error against that run's mean, and a deviation from run to run counts as epistemic. Only repeated runs "+
			"remove it.")
	case "repeat-run":
		out = append(out, "Repeat-run pairs: the two values come from two runs at equal conditions, so what changes from "+
			"run to run counts as noise, and e is the error against the mean over runs.")
	case "synthetic":
		out = append(out, "Synthetic pairs: both values are independent draws from the law the data were made with.")
	}
	return out
}

// explainAll joins the explanations of several experiments without repetition.
// Where the experiments' spreads differ in meaning, the sentence names the
// experiment; the others name their kind of pairs.
func explainAll(experiments []Experiment) []string {
	var texts []string
	of := map[string][]string{}
	trained, spreads := 0, map[bool]bool{}
	for _, e := range experiments {
		if len(e.Splits) == 0 {
			continue
		}
		trained++
		spreads[e.single()] = true
		for _, s := range e.explanations() {
			if of[s] == nil {
				texts = append(texts, s)
			}
			of[s] = append(of[s], e.Name)
		}
	}
	for i, s := range texts {
		if len(spreads) > 1 && len(of[s]) < trained && strings.HasPrefix(s, "All but R²") {
			texts[i] = names(of[s], nil) + ": " + s
		}
	}
	return texts
}

// single reports whether every split has one seed.
func (e Experiment) single() bool {
	for _, s := range e.Splits {
		if s.Seeds != 1 {
			return false
		}
	}
	return len(e.Splits) > 0
}

// methods states how the numbers were computed, once for all splits that agree.
func (e Experiment) methods() []string {
	var texts []string
	byText := map[string][]string{}
	for _, s := range e.Splits {
		var p []string
		if s.MCSamples > 0 {
			p = append(p, strings.Join(strings.Fields(fmt.Sprintf("E|cov| from %d %s samples per input", s.MCSamples,
				clean(s.Sampler))), " "))
		}
		if s.CovMethod != "" {
			p = append(p, covMethod(clean(s.CovMethod)))
		}
		if s.Kernels != "" {
			p = append(p, "kernels "+clean(s.Kernels))
		}
		if len(p) == 0 {
			continue
		}
		t := strings.Join(p, "; ")
		if byText[t] == nil {
			texts = append(texts, t)
		}
		byText[t] = append(byText[t], s.Name)
	}
	var out []string
	for _, t := range texts {
		if len(texts) > 1 {
			out = append(out, names(byText[t], nil)+": "+t+".")
		} else {
			out = append(out, t+".")
		}
	}
	return out
}

// covMethod describes how C was integrated (docs/method.md#how-c-is-integrated).
func covMethod(name string) string {
	kind, n, _ := strings.Cut(name, "-")
	switch kind {
	case "halton":
		return fmt.Sprintf("C integrated with %s points of a Halton sequence (%s)", n, name)
	case "tensor":
		return fmt.Sprintf("C integrated with %s Gauss–Hermite points per outcome (%s)", n, name)
	case "exact":
		return "C integrated exactly (" + name + ")"
	}
	return "C integrated by " + name
}

// notes limit the trust in the numbers: first why a number shown is undefined,
// then the sets' notes, without repetition.
func (e Experiment) notes() []string {
	var texts []string
	places := map[string][]string{}
	add := func(text, place string) {
		if places[text] == nil {
			texts = append(texts, text)
		}
		if !slices.Contains(places[text], place) {
			places[text] = append(places[text], place)
		}
	}
	for _, q := range slices.Concat(papers, partsOfCov, identities) {
		if !e.has(q) {
			continue
		}
		for _, s := range e.Splits {
			if v := s.Train.Get(q.key); q.train && !v.Defined() {
				add(q.name()+" undefined: "+clean(v.Reason()), s.Name+" train")
			}
			if v := s.Test.Get(q.key); q.test && !v.Defined() {
				add(q.name()+" undefined: "+clean(v.Reason()), s.Name+" test")
			} else if q.se != "" && v.Defined() {
				if se := s.Test.Get(q.se); !se.Defined() {
					add("standard error of "+q.name()+" undefined: "+clean(se.Reason()), s.Name+" test")
				}
			}
		}
	}
	for _, s := range e.Splits {
		for _, n := range s.Train.Notes {
			add(clean(n), s.Name+" train")
		}
		for _, n := range s.Test.Notes {
			add(clean(n), s.Name+" test")
		}
	}
	out := make([]string, len(texts), len(texts)+len(e.Final))
	for i, t := range texts {
		where := names(places[t], nil)
		if all := 2 * len(e.Splits); len(places[t]) == all && all > 2 {
			where = "every set"
		}
		out[i] = where + ": " + t
		if !strings.HasSuffix(out[i], ".") {
			out[i] += "."
		}
	}
	for _, f := range e.Final {
		out = append(out, f+".")
	}
	return out
}

// provenance names the configuration and the program.
func (e Experiment) provenance() string {
	var p []string
	if e.Version != "" {
		p = append(p, "doubletake "+clean(e.Version))
	}
	if e.ConfigDigest != "" {
		p = append(p, "configuration "+clean(e.ConfigDigest))
	}
	return strings.Join(p, ", ")
}

// pairConstruction explains the pairs and their consequences.
func (e Experiment) pairConstruction() string {
	how := clean(e.PairsFrom)
	if how == "" {
		how = "pairs: " + clean(e.Construction)
	}
	out := how + "."
	for _, s := range e.explanations() {
		for _, start := range []string{"Same-run", "Repeat-run", "Synthetic", "Couples"} {
			if strings.HasPrefix(s, start) {
				out += " " + s
			}
		}
	}
	return out
}
