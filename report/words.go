package report

import (
	"cmp"
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

// line is the title with the numbers of the data.
func (e Experiment) line() string {
	parts := []string{e.title()}
	if counts := e.counts(); counts != "" {
		parts = append(parts, counts)
	}

	if len(e.Inputs) > 0 && len(e.Outcomes) > 0 {
		parts = append(parts, numbered(len(e.Inputs), "input", "inputs")+", "+
			numbered(len(e.Outcomes), "outcome", "outcomes"))
	}

	return strings.Join(parts, "; ")
}

// counts are the numbers of recordings, runs and triplets.
func (e Experiment) counts() string {
	var counts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{{e.Recordings, "recording", "recordings"}, {e.Runs, "run", "runs"}, {e.Triplets, "triplet", "triplets"}} {
		if c.n > 0 {
			counts = append(counts, numbered(c.n, c.one, c.many))
		}
	}

	return strings.Join(counts, ", ")
}

// what describes the data in a line or two.
func (e Experiment) what() string {
	var parts []string
	if counts := e.counts(); counts != "" {
		parts = append(parts, counts)
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
	return append([]string{e.spread()}, paragraphs("explained", map[string]any{
		"Law": e.has(identities[0]), "Couples": e.Couples, "Pairs": e.Pairs,
	})...)
}

// spread explains the numbers with their spread.
func (e Experiment) spread() string { return text("spread", e.single()) }

// gathered are texts in the order in which they came, each with the places it is about.
type gathered struct {
	texts  []string
	places map[string][]string
}

func (g *gathered) add(text, place string) {
	if g.places == nil {
		g.places = map[string][]string{}
	}

	if g.places[text] == nil {
		g.texts = append(g.texts, text)
	}

	if !slices.Contains(g.places[text], place) {
		g.places[text] = append(g.places[text], place)
	}
}

// where names the places of a text.
func (g *gathered) where(text string) string { return names(g.places[text], nil) }

// explainAll joins the explanations of several experiments without repetition.
// Where the experiments' spreads differ in meaning, the sentence names the
// experiment; the others name their kind of pairs.
func explainAll(experiments []Experiment) []string {
	var g gathered

	spreads := map[string]bool{}
	for _, e := range experiments {
		if len(e.Splits) == 0 {
			continue
		}

		spreads[e.spread()] = true
		for _, s := range e.explanations() {
			g.add(s, e.Name)
		}
	}

	for i, s := range g.texts {
		if len(spreads) > 1 && spreads[s] {
			g.texts[i] = g.where(s) + ": " + s
		}
	}

	return g.texts
}

// single reports whether every split has one seed.
func (e Experiment) single() bool {
	several := func(s Split) bool { return s.Seeds != 1 }
	return len(e.Splits) > 0 && !slices.ContainsFunc(e.Splits, several)
}

// methods states how the numbers were computed, once for all splits that agree.
func (e Experiment) methods() []string {
	var g gathered
	for _, s := range e.Splits {
		var p []string
		if s.MCSamples > 0 {
			sampler := strings.Join(strings.Fields(clean(s.Sampler)+" samples"), " ")
			p = append(p, fmt.Sprintf("E|cov| from %d %s per input", s.MCSamples, sampler))
		}

		if s.CovMethod != "" {
			p = append(p, covMethod(clean(s.CovMethod)))
		}

		if s.Kernels != "" {
			p = append(p, "kernels "+clean(s.Kernels))
		}

		if len(p) > 0 {
			g.add(strings.Join(p, "; ")+".", s.Name)
		}
	}

	if len(g.texts) > 1 {
		for i, t := range g.texts {
			g.texts[i] = g.where(t) + ": " + t
		}
	}

	return g.texts
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
	var g gathered
	add := func(text, place string) { g.add(strings.TrimSuffix(text, ".")+".", place) }
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

	var out []string
	if h := e.hint(); h != "" {
		out = append(out, h)
	}

	for _, t := range g.texts {
		where := g.where(t)
		if all := 2 * len(e.Splits); len(g.places[t]) == all && all > 2 {
			where = "every set"
		}

		out = append(out, where+": "+t)
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
	how := cmp.Or(clean(e.PairsFrom), "pairs: "+clean(e.Construction))

	return strings.TrimSpace(how + ". " + text("pairs", map[string]any{"Couples": e.Couples, "Pairs": e.Pairs}))
}
