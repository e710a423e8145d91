package judge

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/report/pairs"
	"doubletake/train/triplets"
)

// judgingPairs contains the pairs that judge, and the split of the experiment that they belong to.
type judgingPairs struct {
	*pairs.Pairs
	split *table.Table // predictions.arrow of the split, with the parts and the scale; nil without a split
}

// openPairs reads the pairs that predictions are judged against, and the split if one is named. If the pairs are a text
// file, the columns in texts contain names rather than numbers.
func openPairs(o Options, texts []string) (*judgingPairs, error) {
	p, err := o.Against.Open(texts)
	if err != nil {
		return nil, err
	}

	judges := &judgingPairs{Pairs: p}
	o.Split = cmp.Or(o.Split, p.Split)
	if o.Split == "" {
		return judges, nil
	}

	if err := judges.readSplit(o.Split); err != nil {
		return nil, err
	}

	return judges, nil
}

// readSplit reads the table of a split, which has the part of each pair.
func (a *judgingPairs) readSplit(name string) error {
	if a.Dir == "" {
		return &fault.UsageError{Text: "--split belongs to --against of an experiment, found the file " + a.Name}
	}

	path := filepath.Join(a.Dir, "splits", name, "seed-0", "predictions.arrow")

	t, err := table.ReadVerified(path)
	if errors.Is(err, fs.ErrNotExist) {
		var names []string
		folders, _ := os.ReadDir(filepath.Join(a.Dir, "splits")) // if no such folder exists, there is no split to suggest
		for _, f := range folders {
			names = append(names, f.Name())
		}

		return a.Need("--split", "split", name, names)
	}

	if err != nil {
		return err
	}

	if t.Rows() != a.Rows() {
		return &fault.Error{
			Path: path, Want: fmt.Sprintf("%d rows, as in triplets.arrow", a.Rows()), Found: strconv.Itoa(t.Rows()),
			Hint: "run pipeline run again",
		}
	}

	a.split = t

	return nil
}

// inputs returns the inputs of the split, or nil without a split.
func (a *judgingPairs) inputs() []string {
	if a.split == nil {
		return nil
	}
	return strings.Split(a.split.Get("inputs"), ",")
}

// set returns the pairs as a set with the predicted outcomes. Its inputs are the inputs of the split, or otherwise the
// conditions by which pairs and predictions were matched, or otherwise all conditions.
func (a *judgingPairs) set(matched *pairs.Match) (triplets.Set, error) {
	inputs := a.inputs()
	if inputs == nil {
		inputs = matched.Conditions
	}

	if len(inputs) == 0 { // matched by names alone
		inputs, _ = pairs.Conditions(a.Table)
	}

	set, err := pairs.Triplets(a.Table, inputs, matched.Outcomes)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Couples = a.Get("config:dsp.couples") == "true"
	if day := a.Column(pairs.Across(a.Table)); day != nil {
		set.PairAcross(set.Recording, day.Strings)
	}

	return set, nil
}
