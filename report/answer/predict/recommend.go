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
	"doubletake/report"
	"doubletake/train/card"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

// This file reads the calibrated model of the split, and predicts with it. A record says how predictions did on values
// that the models had not seen: the error of the mean, and the share of values inside the intervals. Without a record,
// and without a left-out group that shows the error at a condition, there is no interval there.

// splitDir returns the folder of the split that the first model belongs to.
func (m *Models) splitDir() string {
	dir := filepath.Dir(m.Paths[0])
	if strings.HasPrefix(filepath.Base(dir), "seed-") {
		dir = filepath.Dir(dir)
	}

	return dir
}

// HonestFile returns the path of the split's calibrated model.
func (m *Models) HonestFile() string { return filepath.Join(m.splitDir(), honest.File) }

// Files returns the paths of all files that Open and derivation may have read, and of the folders that decide which
// files Open reads.
func (m *Models) Files() []string {
	split := m.splitDir()
	splits := filepath.Dir(split)
	paths := []string{m.HonestFile(), m.metricsFile(), m.tripletsFile(), split, splits, filepath.Dir(splits)}
	for _, name := range m.recordNames() {
		dir := filepath.Join(splits, name)
		paths = append(paths, filepath.Join(dir, honest.File), filepath.Join(dir, heldOutFile))
	}

	paths = append(paths, filepath.Join(split, heldOutFile))
	for _, path := range m.Paths {
		paths = append(paths, path, filepath.Join(filepath.Dir(path), card.File))
	}

	return paths
}

// metricsFile returns the path of the numbers of the experiment's report.
func (m *Models) metricsFile() string {
	return report.MetricsPath(filepath.Join(m.splitDir(), "..", ".."))
}

// tripletsFile returns the path of the pairs that the models were trained on.
func (m *Models) tripletsFile() string {
	return filepath.Join(m.splitDir(), "..", "..", "triplets.arrow")
}

// readHonest sets the calibrated model of the split, if there is one. It ignores the model of another split, which
// somebody copied there. It returns an error if the file is damaged, or is a model of other inputs and outcomes.
func (m *Models) readHonest() error {
	path := m.HonestFile()
	model, err := honest.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return fault.OfJSON(path, "the calibrated model of a split", err, report.RemakeHint)
	}

	if model.HeldOut != m.Card.HeldOut || model.Split != m.Card.Split {
		return nil
	}

	if model.Calibration != nil && !m.fits(model) {
		return fault.At(path, "", "a model of the inputs and outcomes of "+m.Paths[0], "another", "run the pipeline again")
	}

	m.Honest = model

	return nil
}

// readRecord sets the records: how the networks and the calibrated intervals did on held-out values. The record of the
// networks comes from the metrics of the experiment's report, if there are any. The record of the intervals comes from
// the calibrated model, or otherwise from the same metrics. A final model, which was trained on everything, has no
// held-out values: for each outcome it takes the record of the split whose intervals did worst.
func (m *Models) readRecord() error {
	hasOwnRecord := m.Honest != nil && m.Honest.Record != nil
	if hasOwnRecord {
		own := worst(nil, m.Honest.Record.Outcomes, m.Honest.HeldOut)
		if err := m.addTest(m.splitDir(), m.Honest, own); err != nil {
			return err
		}
	}

	doc, err := report.ReadMetrics(m.metricsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}

	if doc.Experiment != m.Card.Experiment {
		return nil
	}

	names := m.recordNames()
	for _, split := range doc.Splits {
		isOther := !m.isFinal() && split.HeldOut != m.Card.HeldOut // of the same name, from an earlier run
		if !slices.Contains(names, split.Name) || isOther {
			continue
		}

		m.Record = worst(m.Record, split.Network, split.HeldOut)
		if hasOwnRecord {
			continue
		}

		own := worst(nil, split.Honest.Outcomes, split.HeldOut)
		if err := m.addTestOf(split.Name, own); err != nil {
			return err
		}
	}

	return nil
}

// isFinal reports whether the models are final models, whose cards name the splits whose records count.
func (m *Models) isFinal() bool { return len(m.Card.Record) > 0 }

// recordNames returns the names of the splits whose held-out values judge the models.
func (m *Models) recordNames() []string {
	if m.isFinal() {
		return m.Card.Record
	}
	return []string{m.Card.Split}
}

// worst returns, for each outcome, the record with the lower coverage: the one in list or the one in records. heldOut
// describes the values that records are about. A record without a coverage is returned only if there is no other.
func worst(list, records []score.OutcomeTrust, heldOut string) []score.OutcomeTrust {
	described := slices.Clone(records)
	for i := range described {
		described[i].HeldOut = heldOut
	}

	return worstOf(list, described)
}

// worstOf returns what worst returns, of records that have the description of their held-out values.
func worstOf(list, records []score.OutcomeTrust) []score.OutcomeTrust {
	kept := slices.Clone(list)
	for _, record := range records {
		i := slices.IndexFunc(kept, func(o score.OutcomeTrust) bool { return o.Outcome == record.Outcome })
		if i < 0 {
			kept = append(kept, record)
			continue
		}

		isLower := record.Inside < kept[i].Inside
		isFirstKnown := math.IsNaN(kept[i].Inside) && !math.IsNaN(record.Inside)
		if isLower || isFirstKnown {
			kept[i] = record
		}
	}

	return kept
}

// Unchecked reports whether no left-out group and no held-out value tested the calibrated intervals. The models must
// have a calibration.
func (m *Models) Unchecked() bool {
	return m.Honest.Calibration.K == 0 && m.recordIn(m.Intervals, 0) == ""
}

// recordIn writes how the intervals of an outcome did on held-out values, by a list of records. It returns "" if that
// is not known.
func (m *Models) recordIn(list []score.OutcomeTrust, outcome int) string {
	for _, record := range list {
		isKnown := !math.IsNaN(record.RMSE) && !math.IsNaN(record.Inside)
		if record.Outcome == m.Card.Outcomes[outcome].Name && isKnown {
			return recordText(record)
		}
	}

	return ""
}

// fits reports whether a calibrated model has the inputs and outcomes of the networks.
func (m *Models) fits(model *honest.Model) bool {
	same := func(a honest.Input, b Input) bool { return a.Name == b.Name }
	return slices.EqualFunc(model.Inputs, m.Card.Inputs, same) && slices.Equal(model.Outcomes, m.Card.Outcomes)
}

// Recommended are the predictions to be used: the predictions of the calibrated model of the split. If there is no
// interval at a condition, Half is NaN and Refused has the reasons.
type Recommended struct {
	*interval.Prediction
	Level    float64    // level of the intervals
	Position []string   // by condition: where it lies among the measured groups, in words
	Refused  [][]string // by condition: why there is no interval; nil if there is one
}

// Recommend predicts with the calibrated model of the split at conditions x (row-major, inputs in the order of
// InputNames, in their units). It returns nil if the split has no calibrated model.
//
// Of the options it takes Level, Extrapolate and Things. Unless Extrapolate is set, there is no interval at a condition
// if no left-out group and no record shows the model's error there.
func (m *Models) Recommend(ctx context.Context, x []float64, o Options) (*Recommended, error) {
	model := m.Honest
	if model == nil || model.Calibration == nil {
		return nil, nil
	}

	p, err := model.Predict(ctx, x, o.Level, o.Things)
	if err != nil {
		return nil, err
	}

	recommended := &Recommended{
		Prediction: p, Level: cmp.Or(o.Level, model.Calibration.Level),
		Position: make([]string, p.N), Refused: make([][]string, p.N),
	}

	width := len(model.Inputs)
	kind := cmp.Or(model.Data, "measured")
	for i := range p.N {
		where := p.Where[i]
		query := p.Query(i)
		recommended.Position[i] = cmp.Or(query.Words(kind), withClass(query.Class, position(model.Calibration, where, kind)))
		for _, label := range model.Labels {
			recommended.Position[i] += labelWords(model, label, nameOf(o.Things, i, label.Name))
		}

		if o.Extrapolate {
			continue
		}

		recommended.Refused[i] = model.Calibration.Uncovered(model.Inside(x[i*width:(i+1)*width]), where)
		if m.Unchecked() {
			recommended.Refused[i] = append(recommended.Refused[i], "it was checked on no held-out value")
		}

		if recommended.Refused[i] != nil {
			for j := range p.Out {
				p.Half[i*p.Out+j] = math.NaN()
			}
		}
	}

	return recommended, nil
}

// withClass writes a position with the class of the condition before it, if it has one.
func withClass(class interval.Class, position string) string {
	if class == "" {
		return position
	}
	return string(class) + ": " + position
}

// record returns a text that says how the intervals did at left-out conditions like condition i. It returns "" if
// left-out groups, rather than left-out conditions, set the width of the interval there.
func (r *Recommended) record(i int) string {
	if s := r.Query(i).Scale; s != nil {
		return s.Record()
	}
	return ""
}

// labelWords returns words that follow the words of position and say whether the thing with the given name was
// measured. For the label of the groups, position has said this already, and runs are always new: for these two,
// labelWords returns "" unless the given name is unknown.
func labelWords(model *honest.Model, label honest.Names, name string) string {
	isMeasured := slices.Contains(label.Names, name)
	isTold := label.Name == model.Condition || label.Name == honest.Runs
	words := ""
	if !isTold && isMeasured {
		words = ", of a " + label.Name + " that was measured"
	} else if !isTold {
		words = ", taken for a new " + label.Name
	}

	if name != "" && !isMeasured {
		words += " (" + name + " was not measured" + spelling.DidYouMean(name, label.Names) + ")"
	}

	return words
}

// nameOf returns the name of a label at condition i, or "" if none is given.
func nameOf(things []map[string]string, i int, label string) string {
	if things == nil {
		return ""
	}
	return things[i][label]
}

// isApart reports whether a condition lies between the measured values of the groups' condition, or beyond them. The
// condition then has a distance. Labels have no values.
func isApart(calibration *interval.Calibration, where interval.Where) bool {
	hasNeighbour := !math.IsNaN(where.Below) || !math.IsNaN(where.Above)
	return calibration.Axis != nil && hasNeighbour && where.Below != where.Above
}

// position says where a condition lies among the groups. kind is the kind of the data: measured or simulated.
func position(calibration *interval.Calibration, where interval.Where, kind string) string {
	name := calibration.Condition
	switch {
	case calibration.Axis == nil && where.Distance == scale.Known:
		return "of a " + name + " that was measured"
	case calibration.Axis != nil && where.Below == where.Above:
		return fmt.Sprintf("%s %s was %s", name, fault.Digits(where.Below, 6), kind)
	case !isApart(calibration, where):
		return "taken for a new " + name
	}

	var words string
	switch {
	case math.IsNaN(where.Below):
		words = fmt.Sprintf("below the lowest %s %s, %s", kind, name, fault.Digits(where.Above, 6))
	case math.IsNaN(where.Above):
		words = fmt.Sprintf("above the highest %s %s, %s", kind, name, fault.Digits(where.Below, 6))
	default:
		words = fmt.Sprintf("between the %s %s %s and %s", kind, name, fault.Digits(where.Below, 6),
			fault.Digits(where.Above, 6))
	}

	return words + " (distance " + twoDigits(where.Distance) + ")"
}
