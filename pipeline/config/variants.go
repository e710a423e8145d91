package config

import (
	"cmp"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/train/holdout"
)

// Variants are the variants of one experiment of a file, or the experiment alone if it has no sweep. The roles of
// columns are the same for all of them, so that variants with equal settings of a stage share its results.
type Variants []*Experiment

// Variants returns the variants to which experiment k of the file belongs.
func (f *File) Variants(k int) Variants {
	e := &f.Experiments[k]
	if e.Variant == nil { // the others need not be searched: a file may have thousands of experiments
		return Variants{e}
	}

	var list Variants
	for i := range f.Experiments {
		if other := &f.Experiments[i]; other.Family() == e.Family() {
			list = append(list, other)
		}
	}

	return list
}

// Stated lists the conditions that any variant names as such (Experiment.Stated), sorted.
func (v Variants) Stated() []string {
	return v.names((*Experiment).Stated)
}

// Inputs lists the networks' inputs of all variants, sorted.
func (v Variants) Inputs() []string {
	return v.names(func(e *Experiment) []string { return e.Train.Inputs })
}

// names returns the sorted names that the variants give.
func (v Variants) names(of func(e *Experiment) []string) []string {
	var all []string
	for _, e := range v {
		all = append(all, of(e)...)
	}

	slices.Sort(all)

	return slices.Compact(all)
}

// Roles returns the roles that the settings of an experiment give to columns. Columns across which any variant pairs
// rows are occasions. Columns count as groups if a split of a variant or one of the asked splits holds them out, if
// they are named as groups of a calibration or as inputs, or if an expression for a derived condition names them.
func (v Variants) Roles(e *Experiment, asked []Split) condition.Roles {
	r := e.Ingest.Roles()
	splits := slices.Clone(asked)
	for _, variant := range v {
		across, _ := variant.Across()
		if across != "" && !slices.Contains(r.Occasions, across) {
			r.Occasions = append(slices.Clone(r.Occasions), across)
		}

		splits = append(splits, variant.Train.Splits...)
		r.Groups = append(r.Groups, variant.Train.Honest.Groups)
		r.Groups = append(r.Groups, variant.Train.Inputs...)
		if variant.Ingest.Table != nil {
			r.Groups = append(r.Groups, variant.Ingest.Table.Inputs...)
		}
	}

	for _, s := range splits {
		r.Groups = slices.Concat(r.Groups, s.Each, cmp.Or(s.Test, holdout.Nothing).Conditions())
	}

	for _, definition := range e.Ingest.Derive {
		r.Groups = append(r.Groups, derive.Mentioned(definition.Value)...)
	}

	return r
}
