package reportstage

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/table"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// reference contains the predictions of another program (setting report.compare) at the rows of a set.
type reference struct {
	name string    // of the file
	mu   []float64 // N×Out; NaN where the file has no prediction
}

// reference reads the table of predictions that the experiment names. It returns nil if it names none. The notes are
// about rows and columns that have no partner.
func (x *experiment) reference(tab *table.Table, set triplets.Set) (*reference, []string, error) {
	file := x.exp.Report.Compare
	if file == "" || set.Out == 0 {
		return nil, nil, nil
	}

	cells, err := pairs.ReadCells(x.exp.File.Resolve(file))
	if err != nil {
		return nil, nil, err
	}

	cells.Path = file
	match, err := cells.Match(&pairs.Pairs{Table: tab, Source: pairs.Source{Name: x.exp.Name}}, set.InputNames())
	if err != nil {
		return nil, nil, err
	}

	var notes []string
	ref := &reference{filepath.Base(file), unknown(set.N * set.Out)}
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

// CheckReference returns an error if the report could not compare the table of predictions with the triplets in tab.
func CheckReference(exp plan.Experiment, conditions []string, tab *table.Table) error {
	set, err := reportSet(exp, conditions, tab)
	if err != nil {
		return err
	}

	_, _, err = (&experiment{exp: exp}).reference(tab, set)

	return err
}

// addTo adds the predictions to a split of the report: their errors at the held-out rows, and the predictions at the
// conditions that the page shows. It adds nothing if r is nil.
func (r *reference) addTo(set triplets.Set, det *detail, sp *report.Split, ds *report.SplitDetail) {
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
	ds.Reference = unknown(len(det.keepC) * set.Out)
	for i, c := range det.condition {
		if place, kept := det.keepC[c]; kept {
			copy(ds.Reference[place*set.Out:(place+1)*set.Out], r.mu[i*set.Out:(i+1)*set.Out])
		}
	}
}
