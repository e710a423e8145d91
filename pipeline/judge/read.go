package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// against is the pairs that judge, and the split of the experiment they belong to.
type against struct {
	*pairs.Pairs
	split *table.Table // predictions.arrow of the split: the parts, and the scale; nil: none
}

func (a *against) readSplit(name string) error {
	if a.Dir == "" {
		return &config.UsageError{Text: "--split belongs to --against of an experiment, found the file " + a.Name}
	}

	path := filepath.Join(a.Dir, "splits", name, "seed-0", "predictions.arrow")

	t, err := table.ReadVerified(path)
	if errors.Is(err, fs.ErrNotExist) {
		list, _ := os.ReadDir(filepath.Join(a.Dir, "splits")) // without one there is no split
		return a.Need("--split", "split", name, lists.Each(list, os.DirEntry.Name))
	}

	if err == nil && t.Rows() != a.Rows() {
		err = &fault.Error{
			Path: path, Want: fmt.Sprintf("%d rows, as in triplets.arrow", a.Rows()), Found: strconv.Itoa(t.Rows()),
			Hint: "run pipeline run again",
		}
	}

	a.split = t

	return err
}

// inputs are those of the split; nil without one.
func (a against) inputs() []string {
	if a.split == nil {
		return nil
	}
	return strings.Split(a.split.Get("inputs"), ",")
}

// set is the pairs of the outcomes that are predicted, matched by these conditions.
func (a against) set(m *pairs.Match) (triplets.Set, error) {
	inputs := a.inputs()
	if inputs == nil {
		inputs = m.Conditions
	}

	if len(inputs) == 0 { // matched by names alone
		inputs, _ = plan.Conditions(a.Table)
	}

	s, err := plan.Triplets(a.Table, inputs, m.Outcomes)
	s.Couples = a.Get("config:dsp.couples") == "true"
	if day := a.Column(plan.Across(a.Table)); err == nil && day != nil {
		s.PairAcross(s.Recording, day.Strings)
	}

	return s, err
}
