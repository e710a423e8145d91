package trainstage

import (
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// expand replaces splits with each by one split per value, or per block of
// neighbouring values, of each of their conditions. Where a condition is unknown
// it is an error, unless lenient: the split is then not about this experiment.
func expand(b *plan.Builder, splits []config.Split, lenient bool) ([]config.Split, error) {
	var out []config.Split
	for _, s := range splits {
		if len(s.Each) == 0 {
			s.Test = holdout.For(s.Test, s.Name, b.Exp.Train.Inputs)
			out = append(out, s)
			continue
		}
		at := b.At + ".train.splits." + s.Name
		for _, c := range s.Each {
			if !slices.Contains(b.Conditions, c) {
				if lenient {
					continue
				}
				return nil, notACondition(b, at, c)
			}
			v, err := plannedValues(b, c)
			if err != nil {
				return nil, err
			}
			if len(v) == 0 {
				return nil, b.File.Errorf(at, "the values of %s are not known before the files are read, "+
					"so each cannot list them; write one split per value: {test: {%s: VALUE}}", c, c)
			}
			if len(v) < 2 || s.Blocks > len(v) {
				return nil, b.File.Errorf(at, "%s has %d values, too few to hold out one after the other", c, len(v))
			}
			if s.Blocks == 0 && len(v) > maxEach {
				return nil, b.File.Errorf(at,
					"%s has %d values, more than %d splits; hold out blocks of them: {each: %s, blocks: 5}", c, len(v), maxEach, c)
			}
			for _, e := range holdout.Each(c, v, s.Blocks) {
				if slices.ContainsFunc(out, func(o config.Split) bool { return o.Name == e.Name }) {
					return nil, b.File.Errorf(at, "two splits are named %q", e.Name)
				}
				out = append(out, config.Split{Name: e.Name, Test: e.Holdout})
			}
		}
	}
	return out, nil
}

// maxEach bounds the splits of one condition: each is a training per seed.
const maxEach = 100

// plannedValues lists the distinct values of a condition, ascending, as far as
// they are known before any recording is read; a table of pairs is read for it, and
// the simulated toy's is made.
func plannedValues(b *plan.Builder, condition string) ([]float64, error) {
	var v []float64
	if toy, ok := b.Campaign.(simulate.Toy); ok && condition == "x" {
		v = toy.Inputs()
		slices.Sort(v)
		return slices.Compact(v), nil
	}
	for _, c := range b.Known {
		x, ok := c[condition]
		if !ok {
			return nil, nil
		}
		v = append(v, x)
	}
	if t := b.Table; t != nil {
		p, err := campaign.ReadTables(t.Files, t.Options)
		if err != nil {
			return nil, ingeststage.NamedTable(err, t.Files)
		}
		j := slices.Index(p.Inputs, condition)
		for i := j; j >= 0 && i < len(p.X); i += len(p.Inputs) {
			v = append(v, p.X[i])
		}
	}
	slices.Sort(v)
	return slices.Compact(v), nil
}
