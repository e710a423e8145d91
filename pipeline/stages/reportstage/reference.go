package reportstage

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// reference are the predictions of another program (report.compare) at the rows of a set, N×Out, NaN where there are
// none; nil without any.
type reference struct {
	name string
	mu   []float64
}

// reference reads the table of predictions. Notes are about rows and columns without a partner.
func (x *experiment) reference(tab *table.Table, s triplets.Set) (r *reference, notes []string) {
	file := x.exp.Report.Compare
	if file == "" || s.Out == 0 {
		return nil, nil
	}

	cells := fault.Get(pairs.ReadCells(x.exp.File.Resolve(file)))
	cells.Path = file
	m := fault.Get(cells.Match(&pairs.Pairs{Table: tab, Name: x.exp.Name}, s.InputNames()))
	r = &reference{filepath.Base(file), slices.Repeat([]float64{math.NaN()}, s.N*s.Out)}
	for j, q := range s.Outcomes {
		name := cells.Mean(q.Name)
		if name == "" {
			if i := slices.IndexFunc(cells.Columns, func(n string) bool { return strings.EqualFold(n, q.Name) }); i >= 0 {
				notes = append(notes, fmt.Sprintf("column %s of %s is not compared: the outcome is called %s", cells.Columns[i],
					file, q.Name))
			}

			continue
		}

		v := fault.Get(cells.Numbers(name, q.Unit, pairs.Values))
		for i, row := range m.Of {
			if row >= 0 {
				r.mu[i*s.Out+j] = v[row]
			}
		}
	}

	return r, slices.Concat(m.Notes, notes, cells.Notes)
}

// CheckReference raises the error of a table of predictions that no report could compare with triplets.
func CheckReference(exp plan.Experiment, conditions []string, tab *table.Table) {
	(&experiment{exp: exp}).reference(tab, fault.Get(reportSet(exp, conditions, tab)))
}

// judge adds the predictions to a split: judged at the held-out rows that have one, and at the conditions of the page.
func (r *reference) judge(s triplets.Set, det *detail, sp *report.Split, ds *report.SplitDetail) {
	if r == nil {
		return
	}

	for j := range s.Outcomes {
		one := s
		one.Part = make([]triplets.Part, s.N)
		for i := range one.Part {
			if one.Part[i] = s.Part[i]; math.IsNaN(r.mu[i*s.Out+j]) {
				one.Part[i] = triplets.Neither
			}
		}

		if rows := one.RowsOf(triplets.Test); len(rows) > 0 {
			mu := triplets.Answers{Mu: r.mu}.Rows(rows, s.Out).Mu
			none := slices.Repeat([]float64{math.NaN()}, len(mu))
			t := score.TrustByOutcome(one, mu, none, nil, score.Claimed(none, 0.95))[j]
			t.Outcome += " (" + r.name + ")"
			sp.Rivals = append(sp.Rivals, t)
		}
	}

	ds.Reference, ds.ReferenceName = slices.Repeat([]float64{math.NaN()}, len(det.keepC)*s.Out), r.name
	for i, c := range det.condition {
		if at, shown := det.keepC[c]; shown {
			copy(ds.Reference[at*s.Out:(at+1)*s.Out], r.mu[i*s.Out:(i+1)*s.Out])
		}
	}
}
