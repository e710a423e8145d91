package predict

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// This file finds the record of a condition. Held-out values show how wrong the intervals are at conditions of their
// own class, and at distances up to their own. At a condition of another class, or farther away, they show nothing.

// heldOutFile is the table of a split with the conditions that it holds out.
const heldOutFile = "honest.arrow"

// heldOutPart is the held-out part of a split, with the record of the intervals there.
type heldOutPart struct {
	records []score.OutcomeTrust // by outcome
	places  []place              // of the held-out conditions; nil if they are not known
	x       []float64            // the held-out conditions, a row of inputs each
}

// place says where a condition lies among the training conditions.
type place struct {
	class interval.Class
	interval.Where
}

// placesOf returns the place of each condition, from what a calibrated model says about it.
func placesOf(where []interval.Where, queries []interval.Query) []place {
	var places []place
	for i, w := range where {
		var class interval.Class
		switch {
		case queries != nil:
			class = queries[i].Class
		case w.Outside || w.Uncalibrated != nil:
			class = interval.Outside
		}

		places = append(places, place{class, w})
	}

	return places
}

// places returns the place of each condition.
func (r *Recommended) places() []place { return placesOf(r.Where, r.Queries) }

// rounding is the share by which distances that should be equal may differ.
const rounding = 1e-6

// isBeyond reports whether p is farther from the measured groups than other.
func (p place) isBeyond(other place) bool { return p.Distance > other.Distance*(1+rounding) }

// addTest adds the held-out part of the split in the folder dir. model is the calibrated model of the split. Without a
// calibration, and without a table of the held-out conditions, these conditions are not known.
func (m *Models) addTest(dir string, model *honest.Model, records []score.OutcomeTrust) error {
	part := heldOutPart{records: records}
	m.Intervals = worstOf(m.Intervals, records)
	if model == nil || model.Calibration == nil {
		m.tests = append(m.tests, part)
		return nil
	}

	path := filepath.Join(dir, heldOutFile)
	tab, err := table.ReadVerified(path)
	if errors.Is(err, fs.ErrNotExist) {
		m.tests = append(m.tests, part)
		return nil
	}

	if err != nil {
		return fault.In(path, err)
	}

	x, things, err := heldOutConditions(tab, model)
	if err != nil {
		return err
	}

	where, queries, err := model.Places(x, things)
	if err != nil {
		return fmt.Errorf("place the held-out conditions: %w", err)
	}

	part.x = x
	part.places = placesOf(where, queries)
	m.tests = append(m.tests, part)

	return nil
}

// addTestOf adds the held-out part of another split of the experiment. If its calibrated model is missing, the
// conditions that it holds out are not known.
func (m *Models) addTestOf(split string, records []score.OutcomeTrust) error {
	dir := filepath.Join(filepath.Dir(m.splitDir()), split)
	model, err := honest.Read(filepath.Join(dir, honest.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the record of split %s: %w", split, err)
	}

	if model != nil && !m.fits(model) { // it is from another run
		model = nil
	}

	return m.addTest(dir, model, records)
}

// heldOutConditions returns the inputs of a model at each row of a table, and the names of things.
func heldOutConditions(tab *table.Table, model *honest.Model) ([]float64, []map[string]string, error) {
	rows := tab.Rows()
	x := make([]float64, rows*len(model.Inputs))
	for k, input := range model.Inputs {
		values, err := tab.Floats(input.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("read the held-out conditions: %w", err)
		}

		for i, v := range values {
			x[i*len(model.Inputs)+k] = v
		}
	}

	things := make([]map[string]string, rows)
	for i := range things {
		things[i] = map[string]string{}
	}

	for _, label := range model.Labels {
		if tab.Column(label.Name) == nil { // the table does not name these things: they count as new
			continue
		}

		names, err := tab.Strings(label.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("read the names of held-out things: %w", err)
		}

		for i, name := range names {
			things[i][label.Name] = name
		}
	}

	return x, things, nil
}

// shows reports whether the held-out part shows the error at a condition x in the place p: one of its conditions is of
// the same class and at least as far away. Beyond the range of an input that no left-out group varies, x must lie
// between the held-out values of this input.
func (h heldOutPart) shows(x []float64, p place) bool {
	for _, k := range p.Uncalibrated {
		if k < len(x) && !h.encloses(k, x) {
			return false
		}
	}

	return slices.ContainsFunc(h.places, func(tested place) bool {
		return tested.class == p.class && !p.isBeyond(tested) && slices.Equal(tested.Uncalibrated, p.Uncalibrated)
	})
}

// encloses reports whether input k of x lies between the held-out values of this input.
func (h heldOutPart) encloses(k int, x []float64) bool {
	low := math.Inf(1)
	high := math.Inf(-1)
	for i := k; i < len(h.x); i += len(x) {
		low = min(low, h.x[i])
		high = max(high, h.x[i])
	}

	return low <= x[k] && x[k] <= high
}

// recordAt writes how the calibrated intervals of an outcome did at held-out conditions like x, which lies at p. It
// returns "" if no held-out condition is of this class and as far away.
func (m *Models) recordAt(x []float64, p place, outcome int) string {
	var records []score.OutcomeTrust
	for _, part := range m.tests {
		if part.shows(x, p) {
			records = worstOf(records, part.records)
		}
	}

	return m.recordIn(records, outcome)
}

// leftOutAt writes how many left-out groups like a condition at p the intervals covered: groups that were outside the
// others if the condition is outside, and inside the others if it is not, each at least as far from the others as the
// condition. It returns "" if there is no such group, or if the condition is not of a class of groups.
func leftOutAt(calibration *interval.Calibration, p place) string {
	classes := []interval.Class{"", interval.NewValue, interval.NewThing, interval.Outside}
	isOfGroups := slices.Contains(classes, p.class) && p.Uncalibrated == nil // groups test no other direction
	if !isOfGroups {
		return ""
	}

	var like []interval.GroupResult
	for _, group := range calibration.Groups {
		isOutside := group.Outside > 0
		farthest := place{Where: interval.Where{Distance: group.Farthest}}
		if isOutside == (p.class == interval.Outside) && !p.isBeyond(farthest) {
			like = append(like, group)
		}
	}

	if like == nil {
		return ""
	}

	where := ""
	switch {
	case p.class == interval.Outside:
		where = " beyond others"
	case calibration.Axis != nil:
		where = " between others"
	}

	return fmt.Sprintf("left-out groups%s: %d of %d covered", where, interval.Covered(like), len(like))
}
