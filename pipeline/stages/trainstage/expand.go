package trainstage

import (
	"slices"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/train/holdout"
)

// expand replaces splits with each by one split per value, or per block of
// neighbouring values, of each of their conditions. Where a condition is unknown
// it is an error, unless lenient: the split is then not about this experiment.
func (pl *planner) expand(splits []config.Split, lenient bool) ([]config.Split, error) {
	var out []config.Split
	for _, s := range splits {
		if len(s.Each) == 0 {
			if err := pl.clash("train.splits."+s.Name, out, s.Name); err != nil {
				return nil, err
			}

			s.Test = holdout.AtSetPoints(holdout.For(s.Test, s.Name, pl.exp.Train.Inputs), pl.ing.Points.Find)
			out = append(out, s)

			continue
		}

		at := "train.splits." + s.Name
		for _, c := range s.Each {
			if slices.Contains(pl.ing.Labels, c) {
				named, err := pl.eachLabel(at, c, s.Blocks)
				if err != nil {
					return nil, err
				}

				if out, err = pl.add(at, out, named, 0); err != nil {
					return nil, err
				}

				continue
			}

			if !slices.Contains(pl.ing.Conditions, c) {
				if lenient {
					continue
				}
				return nil, pl.notACondition(at, c)
			}

			v, err := pl.ing.Values(c)
			if err != nil {
				return nil, err
			}

			if len(v) == 0 {
				return nil, pl.exp.Errorf(at, "the values of %s are not known before the files are read, "+
					"so each cannot list them; write one split per value: {test: {%s: VALUE}}", c, c)
			}

			if len(v) < 2 || s.Blocks > len(v) {
				return nil, pl.exp.Errorf(at, "%s has %d values, too few to hold out one after the other", c, len(v))
			}

			if s.Blocks == 0 && len(v) > maxEach {
				return nil, pl.exp.Errorf(at,
					"%s has %d values, more than %d splits; hold out blocks of them: {each: %s, blocks: 5}, or, where they scatter "+
						"about set points, state by how much: ingest: {within: {%s: 0.5 %%}}", c, len(v), maxEach, c, c)
			}

			if out, err = pl.add(at, out, holdout.Each(c, v, s.Blocks), s.Blocks); err != nil {
				return nil, err
			}
		}
	}

	return out, nil
}

// add appends splits of a condition.
func (pl *planner) add(at string, splits []config.Split, each []holdout.Named, blocks int) ([]config.Split, error) {
	for _, e := range each {
		if err := pl.clash(at, splits, e.Name); err != nil {
			return nil, err
		}

		test := holdout.AtSetPoints(e.Holdout, pl.ing.Points.Find)
		splits = append(splits, config.Split{Name: e.Name, Test: test, Blocks: blocks})
	}

	return splits, nil
}

// clash is an error where a split has the name already, in whatever letter case: folders of
// Windows and macOS do not distinguish it.
func (pl *planner) clash(at string, splits []config.Split, name string) error {
	for _, o := range splits {
		if o.Name == name {
			return pl.exp.Errorf(at, "two splits are named %q", name)
		}

		if strings.EqualFold(o.Name, name) {
			return pl.exp.Errorf(at, "the names %q and %q of splits differ by letter case alone, and on Windows and macOS "+
				"their folders would be one; name one of them otherwise, as in {other-name: {test: …}}", o.Name, name)
		}
	}

	return nil
}

// eachLabel returns a holdout of each name of a label.
func (pl *planner) eachLabel(at, label string, blocks int) ([]holdout.Named, error) {
	if blocks != 0 {
		return nil, pl.noBlocks(at+".blocks", label)
	}

	names, err := pl.ing.Names(label)
	if err != nil {
		return nil, err
	}

	if len(names) < 2 || len(names) > maxEach {
		return nil, pl.exp.Errorf(at, "expected 2 to %d names of %s to hold out one after the other, found %d: %s; name "+
			"those to hold out with {test: {%s: NAME}}", maxEach, label, len(names), holdout.Listed(names), label)
	}

	return holdout.EachLabel(label, names), nil
}

// maxEach bounds the splits of one condition: each is a training per seed.
const maxEach = 100
