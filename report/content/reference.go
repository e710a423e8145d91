package content

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Reference contains the predictions of another program (setting report.compare) at the rows of a set.
type Reference struct {
	name string    // of the file
	mu   []float64 // N×Out; NaN where the file has no prediction
}

// ReadReference reads the table of predictions at a path. Its rows are matched to the rows of a set, which was read
// from all. file is the name of the table in messages. The notes are about rows and columns that have no partner.
func ReadReference(path, file string, all *pairs.Pairs, set triplets.Set) (*Reference, []string, error) {
	cells, err := pairs.ReadCells(path)
	if err != nil {
		return nil, nil, err
	}

	cells.Path = file
	match, err := cells.Match(all, set.InputNames())
	if err != nil {
		return nil, nil, err
	}

	var notes []string
	ref := &Reference{filepath.Base(file), unknown(set.N * set.Out)}
	for j, outcome := range set.Outcomes {
		name := cells.Mean(outcome.Name)
		if name == "" {
			sameLetters := func(column string) bool { return strings.EqualFold(column, outcome.Name) }
			if i := slices.IndexFunc(cells.Columns, sameLetters); i >= 0 {
				notes = append(notes, fmt.Sprintf("column %s of %s is not compared: the outcome is called %s", cells.Columns[i],
					file, outcome.Name))
			}

			continue
		}

		values, err := cells.Numbers(name, outcome.Unit, pairs.Values)
		if err != nil {
			return nil, nil, err
		}

		for i, row := range match.Rows {
			if row >= 0 {
				ref.mu[i*set.Out+j] = values[row]
			}
		}
	}

	return ref, slices.Concat(match.Notes, notes, cells.Notes), nil
}

// addTo adds the predictions to a split of the report: their errors at the held-out rows, and the predictions at the
// conditions that the page shows. It adds nothing if r is nil.
func (r *Reference) addTo(set triplets.Set, data *Data, sp *report.Split, ds *report.SplitDetail) {
	if r == nil {
		return
	}

	for j := range set.Outcomes {
		predicted := set
		predicted.Part = slices.Clone(set.Part)
		for i := range predicted.Part {
			if math.IsNaN(r.mu[i*set.Out+j]) {
				predicted.Part[i] = triplets.Neither
			}
		}

		if rows := predicted.RowsOf(triplets.Test); len(rows) > 0 {
			mu := triplets.Answers{Mu: r.mu}.Rows(rows, set.Out).Mu
			none := unknown(len(mu))
			trust := score.TrustByOutcome(predicted, mu, none, nil, score.Claimed(none, 0.95))[j]
			trust.Outcome += " (" + r.name + ")"
			sp.Rivals = append(sp.Rivals, trust)
		}
	}

	ds.ReferenceName = r.name
	ds.Reference = unknown(len(data.placeOf) * set.Out)
	for i, c := range data.condition {
		if place, kept := data.placeOf[c]; kept {
			setKnown(ds.Reference[place*set.Out:(place+1)*set.Out], r.mu[i*set.Out:(i+1)*set.Out])
		}
	}
}

// setKnown copies the predictions of a row. It keeps what dst has where the row has no prediction: another row of the
// condition may have one.
func setKnown(dst, row []float64) {
	for k, v := range row {
		if !math.IsNaN(v) {
			dst[k] = v
		}
	}
}
