package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

// splitDir is the folder of the split that the first model belongs to.
func (m *Models) splitDir() string {
	dir := filepath.Dir(m.Paths[0])
	if strings.HasPrefix(filepath.Base(dir), "seed-") {
		dir = filepath.Dir(dir)
	}

	return dir
}

// HonestFile is the path of the split's calibrated model.
func (m *Models) HonestFile() string { return filepath.Join(m.splitDir(), trainstage.HonestJSON) }

// metricsFile is the path of the numbers of the experiment's report.
func (m *Models) metricsFile() string {
	return filepath.Join(m.splitDir(), "..", "..", "report", "metrics.json")
}

// readHonest reads the calibrated model of the split that the first model file
// belongs to; nil where there is none.
func (m *Models) readHonest() error {
	path := m.HonestFile()
	h, err := honest.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.OfJSON(path, "the calibrated model of a split", err)
	case h.HeldOut != m.Card.HeldOut || h.Split != m.Card.Split:
		return nil // a model that was copied next to another split
	}

	if h.Calibration != nil && !m.fits(h) {
		return fault.At(path, "", "a model of the inputs and outcomes of "+m.Paths[0], "another", "run the pipeline again")
	}

	m.Honest = h

	return nil
}

// readRecord reads the networks' record from the metrics.json of their experiment's
// report, where there is one. A model that was trained on everything has the record of
// the split on whose values its intervals did worst.
func (m *Models) readRecord() error {
	if m.Honest != nil && m.Honest.Record != nil {
		m.Intervals = worst(nil, m.Honest.Record.Outcomes, m.Honest.HeldOut)
	}

	path := m.metricsFile()

	var doc report.Metrics
	if err := readJSON(path, maxMetrics, "the metrics of an experiment", &doc); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}

	if doc.Experiment != m.Card.Experiment {
		return nil
	}

	names := m.Card.Record
	if len(names) == 0 {
		names = []string{m.Card.Split}
	}

	for _, s := range doc.Splits {
		if !slices.Contains(names, s.Name) || len(m.Card.Record) == 0 && s.HeldOut != m.Card.HeldOut {
			continue
		}

		m.Record = worst(m.Record, s.Network, s.HeldOut)
		if m.Honest == nil || m.Honest.Record == nil { // a final model
			m.Intervals = worst(m.Intervals, s.Honest.Outcomes, s.HeldOut)
		}
	}

	return nil
}

// worst keeps, for each outcome, the record with the lowest coverage.
func worst(list, records []score.OutcomeTrust, heldOut string) []score.OutcomeTrust {
	for _, r := range records {
		r.HeldOut = heldOut
		at := slices.IndexFunc(list, func(o score.OutcomeTrust) bool { return o.Outcome == r.Outcome })
		switch {
		case at < 0:
			list = append(list, r)
		case r.Inside < list[at].Inside || math.IsNaN(list[at].Inside) && !math.IsNaN(r.Inside):
			list[at] = r
		}
	}

	return list
}

// maxMetrics bounds a metrics.json, which is held in memory.
const maxMetrics = 256 << 20

// Unchecked reports that no left-out group and no held-out value tested the calibrated intervals.
func (m *Models) Unchecked() bool {
	return m.Honest.Calibration.K == 0 && m.recordIn(m.Intervals, 0) == ""
}

// recordIn is how intervals of an outcome did on what was held out: by the split, or, of a final model, by
// the others; "" where that is not known.
func (m *Models) recordIn(list []score.OutcomeTrust, outcome int) string {
	for _, r := range list {
		if r.Outcome == m.Card.Outcomes[outcome].Name && !math.IsNaN(r.RMSE) && !math.IsNaN(r.Inside) {
			return recordText(r.HeldOut, r.Unit, r.RMSE, r.Inside)
		}
	}

	return ""
}

func (m *Models) fits(h *honest.Model) bool {
	same := func(a honest.Input, b Input) bool { return a.Name == b.Name }
	return slices.EqualFunc(h.Inputs, m.Card.Inputs, same) && slices.Equal(h.Outcomes, m.Card.Outcomes)
}

// Recommended are the predictions to be used: those of the split's calibrated
// model. Half is NaN, and Refused has the reasons, where there is no interval.
type Recommended struct {
	*interval.Prediction
	Level    float64    // of the intervals
	Position []string   // per condition: where it lies among the measured groups, in words
	Refused  [][]string // per condition: why there is no interval; nil where there is one
}

// Recommend predicts with the split's calibrated model at conditions x (row-major,
// inputs in the order of InputNames, own units). level is that of the intervals, 0
// takes the calibration's. Where no left-out group and no record shows the model's error there is
// no interval unless extrapolate is set. The result is nil where the split has no
// calibrated model. things are as ParseAt reads them; nil: all are new.
func (m *Models) Recommend(ctx context.Context, x []float64, level float64, extrapolate bool,
	things []map[string]string,
) (*Recommended, error) {
	h := m.Honest
	if h == nil || h.Calibration == nil {
		return nil, nil
	}

	p, err := h.Predict(ctx, x, level, things)
	if err != nil {
		return nil, err
	}

	r := &Recommended{
		Prediction: p, Level: cmp.Or(level, h.Calibration.Level),
		Position: make([]string, p.N), Refused: make([][]string, p.N),
	}

	d, kind := len(h.Inputs), cmp.Or(h.Data, "measured")
	for i := range p.N {
		w := p.Where[i]
		r.Position[i] = position(h.Calibration, w, kind)
		for _, of := range h.Labels {
			switch {
			case of.Name == h.Condition, of.Name == honest.Runs:
			case slices.Contains(of.Names, nameOf(things, i, of.Name)):
				r.Position[i] += ", of a " + of.Name + " that was measured"
			default:
				r.Position[i] += ", taken for a new " + of.Name
			}

			if name := nameOf(things, i, of.Name); name != "" && !slices.Contains(of.Names, name) {
				r.Position[i] += " (" + name + " was not measured" + spelling.DidYouMean(name, of.Names) + ")"
			}
		}

		if extrapolate {
			continue
		}

		r.Refused[i] = h.Calibration.Uncovered(h.Inside(x[i*d:(i+1)*d]), w)
		if m.Unchecked() {
			r.Refused[i] = append(r.Refused[i], "it was checked on no held-out value")
		}

		if r.Refused[i] != nil {
			for j := range p.Out {
				p.Half[i*p.Out+j] = math.NaN()
			}
		}
	}

	return r, nil
}

// nameOf is the name of a label that is given at condition i; "" for none.
func nameOf(things []map[string]string, i int, label string) string {
	if things == nil {
		return ""
	}
	return things[i][label]
}

// position states where a condition lies among the groups of data of a kind: measured,
// simulated.
func position(c *interval.Calibration, w interval.Where, kind string) string {
	at := "(distance " + twoDigits(w.Distance) + ")"
	switch {
	case c.Axis == nil && w.Distance == scale.Known:
		return "of a " + c.Condition + " that was measured"
	case c.Axis == nil, math.IsNaN(w.Below) && math.IsNaN(w.Above):
		return "taken for a new " + c.Condition
	case w.Below == w.Above:
		return fmt.Sprintf("%s %.4g was %s", c.Condition, w.Below, kind)
	case math.IsNaN(w.Below):
		return fmt.Sprintf("below the lowest %s %s, %.4g %s", kind, c.Condition, w.Above, at)
	case math.IsNaN(w.Above):
		return fmt.Sprintf("above the highest %s %s, %.4g %s", kind, c.Condition, w.Below, at)
	}

	return fmt.Sprintf("between the %s %s %.4g and %.4g %s", kind, c.Condition, w.Below, w.Above, at)
}
