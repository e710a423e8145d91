package trainstage

import (
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/train/holdout"
)

// expand replaces splits with each by one split per value, or per block of
// neighbouring values, of each of their conditions. Where a condition is unknown
// it is an error, unless lenient: the split is then not about this experiment.
func (pl *planner) expand(splits []config.Split, lenient bool) (out []config.Split) {
	for _, s := range splits {
		at := "train.splits." + s.Name
		if len(s.Each) == 0 {
			pl.clash(at, out, s.Name)
			s.Test = holdout.AtSetPoints(holdout.For(s.Test, s.Name, pl.exp.Train.Inputs), pl.ing.Points.Find)
			out = append(out, s)
		}

		for _, c := range s.Each {
			var each []holdout.Named
			switch {
			case slices.Contains(pl.ing.Labels, c):
				each = pl.eachLabel(at, c, s.Blocks)
			case slices.Contains(pl.ing.Conditions, c):
				each = pl.eachValue(at, c, s.Blocks)
			case !lenient:
				fault.Raise(pl.notACondition(at, c))
			}

			for _, e := range each {
				pl.clash(at, out, e.Name)
				test := holdout.AtSetPoints(e.Holdout, pl.ing.Points.Find)
				out = append(out, config.Split{Name: e.Name, Test: test, Blocks: s.Blocks})
			}
		}
	}

	return out
}

// clash raises an error where a split has the name already, in whatever letter case: folders of
// Windows and macOS do not distinguish it.
func (pl *planner) clash(at string, splits []config.Split, name string) {
	for _, o := range splits {
		pl.exp.Refuse(o.Name == name, at, "two splits are named %q", name)
		pl.exp.Refuse(strings.EqualFold(o.Name, name), at, "the names %q and %q of splits differ by letter case alone, and "+
			"on Windows and macOS their folders would be one; name one of them otherwise, as in {other-name: {test: …}}",
			o.Name, name)
	}
}

// eachValue returns a holdout of each value of a condition, or of each of so many blocks of them.
func (pl *planner) eachValue(at, c string, blocks int) []holdout.Named {
	v := pl.ing.Values(c)
	pl.exp.Refuse(len(v) == 0, at, "the values of %s are not known before the files are read, "+
		"so each cannot list them; write one split per value: {test: {%s: VALUE}}", c, c)
	pl.exp.Refuse(len(v) < 2 || blocks > len(v), at, "%s has %d values, too few to hold out one after the other", c,
		len(v))
	pl.exp.Refuse(blocks == 0 && len(v) > maxEach, at,
		"%s has %d values, more than %d splits; hold out blocks of them: {each: %s, blocks: 5}, or, where they scatter "+
			"about set points, state by how much: ingest: {within: {%s: 0.5 %%}}", c, len(v), maxEach, c, c)

	return holdout.Each(c, v, blocks)
}

// eachLabel returns a holdout of each name of a label.
func (pl *planner) eachLabel(at, label string, blocks int) []holdout.Named {
	if blocks != 0 {
		fault.Raise(pl.noBlocks(at+".blocks", label))
	}

	names := pl.ing.Names(label)
	pl.exp.Refuse(len(names) == 0, at, "the names of %s are not known before the files are read, "+
		"so each cannot list them; write one split per name: {test: {%s: NAME}}", label, label)
	pl.exp.Refuse(len(names) < 2 || len(names) > maxEach, at, "expected 2 to %d names of %s to hold out one after the "+
		"other, found %d: %s; name those to hold out with {test: {%s: NAME}}", maxEach, label, len(names),
		holdout.Listed(names), label)

	return holdout.EachLabel(label, names)
}

// maxEach bounds the splits of one condition: each is a training per seed.
const maxEach = 100
