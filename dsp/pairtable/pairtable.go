// Package pairtable makes tables of the pairs of runs, as package dsp returns them: outcomes with their by-products,
// derived outcomes and spectra. The tables take levels, units and names from dsp.Pairs.
package pairtable

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/ingest/units"
)

// Table collects the results of package dsp for training: the rows of pairs of a file's runs, with their outcomes, and
// the spectra from which they were computed.
type Table struct {
	Triplets *table.Table // a row for each pair: its run, recording and conditions, then both values of each outcome
	Spectra  *table.Table // a row for each half of a recording; empty for balances

	// Cells appends the first cells of a row to a table: the run, the recording, its conditions and its names.
	Cells      func(tab *table.Table, run string, rec ingest.Recording)
	Derive     *derive.Set // derived outcomes; nil if there are none
	Conditions []string    // conditions of the recordings, for messages

	names []string // outcomes, which all runs must have
}

// Add appends the pairs of a run. A row's Recording is an index in recs. Add returns a *fault.Error without path if the
// run has other outcomes than the runs before it, or if a derived outcome is not finite. After an error the tables are
// not complete and must not be used. Add adds nothing if the pairs have no rows.
func (t *Table) Add(pairs *dsp.Pairs, run string, recs []ingest.Recording) error {
	if len(pairs.Rows) == 0 {
		return nil
	}

	if err := t.checkOutcomes(pairs); err != nil {
		return err
	}

	for _, row := range pairs.Rows {
		t.Cells(t.Triplets, run, recs[row.Recording])
	}

	t.outcomes(pairs)

	for _, row := range pairs.Rows {
		rec := recs[row.Recording]
		if err := t.derived(pairs, row, strings.TrimPrefix(rec.ID, run), rec); err != nil {
			return err
		}
	}

	return nil
}

// checkOutcomes returns an error if the outcomes of a run differ from the outcomes of the file's other runs.
func (t *Table) checkOutcomes(pairs *dsp.Pairs) error {
	var names []string
	for _, outcome := range pairs.Outcomes {
		names = append(names, outcome.Name)
	}

	if t.names == nil {
		t.names = names
	}

	if !slices.Equal(names, t.names) {
		return fault.At("", "", "the outcomes of the file's other runs, "+strings.Join(t.names, ", "),
			strings.Join(names, ", "), "")
	}

	return nil
}

// outcomes appends the outcomes of a run's rows and their by-products.
func (t *Table) outcomes(pairs *dsp.Pairs) {
	for k, outcome := range pairs.Outcomes {
		for h, member := range pairs.Members {
			doc := outcome.Description + member
			if outcome.Note != "" {
				doc += "; " + outcome.Note
			}

			column := t.Triplets.Make(fmt.Sprintf("%s_%d", outcome.Name, h+1), outcome.Unit, doc)
			for _, row := range pairs.Rows {
				column.Floats = append(column.Floats, row.Values[k].Y[h])
			}
		}

		for i := range outcome.ByProducts {
			t.byProduct(pairs, k, i)
		}
	}
}

// byProduct appends by-product i of outcome k: for each of the two members of a pair, or once if the pair has one
// value.
func (t *Table) byProduct(pairs *dsp.Pairs, k, i int) {
	outcome := pairs.Outcomes[k]
	product := outcome.ByProducts[i]
	for h, member := range pairs.Members {
		name := fmt.Sprintf("%s_%s_%d", outcome.Name, product.Suffix, h+1)
		doc := product.Description + member
		if product.Single {
			name = outcome.Name + "_" + product.Suffix
			doc = product.Description
		}

		column := t.Triplets.Make(name, product.Unit, doc)
		for _, row := range pairs.Rows {
			v := row.Values[k].ByProducts[i][h]
			if product.Bool {
				column.Bools = append(column.Bools, v != 0)
			} else {
				column.Floats = append(column.Floats, v)
			}
		}

		if product.Single {
			return
		}
	}
}

// derived appends the derived outcomes of a row. Their first value is computed from y1 alone and the second from y2
// alone, so that they are as independent as the outcomes. channel names the recording in messages.
func (t *Table) derived(pairs *dsp.Pairs, row dsp.Row, channel string, rec ingest.Recording) error {
	names := t.Derive.Outcomes()
	if len(names) == 0 {
		return nil
	}

	var values [2]map[string]float64
	for h := range values {
		values[h] = map[string]float64{}
		maps.Copy(values[h], rec.Conditions) // which is nil if the recording has none
		for k, outcome := range pairs.Outcomes {
			values[h][outcome.Name] = row.Values[k].Y[h]
		}

		if err := t.Derive.AddOutcomes(values[h], rec.Labels); err != nil {
			place := strings.TrimSpace(fmt.Sprintf("%s y%d", channel, h+1))
			return fault.At("", place, "a finite number", err.Error(), "")
		}
	}

	for _, name := range names {
		unit := ""
		if u, ok := units.OfName(name); ok {
			unit = u.Text
		}

		for h := range values {
			v, ok := values[h][name]
			if !ok {
				return fault.At("", channel, fmt.Sprintf("the numbers of %s = %s", name, t.Derive.Text(name)),
					fmt.Sprintf("conditions %v and outcomes %v", t.Conditions, t.names), "")
			}

			doc := strings.TrimPrefix(pairs.Members[h], ", ") + "; derived: " + t.Derive.Text(name)
			table.AddCell(t.Triplets, fmt.Sprintf("%s_%d", name, h+1), unit, doc, v)
		}
	}

	return nil
}
