package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// This file predicts with the calibrated model of the split. Without a record (record.go), and without a left-out group
// that shows the error at a condition, there is no interval there.

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

// record returns a text that says how the intervals did at the left-out conditions that set the width of the interval
// at condition i. It returns "" if left-out groups set this width.
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
