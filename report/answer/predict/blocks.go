package predict

import (
	"context"
	"io"
	"slices"

	"doubletake/report"
)

// Limits of the conditions that WriteCSV predicts together, so that its memory does not grow with their number. A
// process of many outcomes is factorised anew for each block, so that a block must not be small.
const (
	blockValues    = 1 << 16 // values of all outcomes
	fewestTogether = 1 << 12 // conditions, however many outcomes there are
	mostTogether   = 1 << 14 // conditions
)

// WriteCSV predicts at conditions x as Answer does, and writes the records of Answer.CSV. It predicts one block of
// conditions after the other.
func (m *Models) WriteCSV(ctx context.Context, w io.Writer, x []float64, o Options) error {
	together := min(max(blockValues/len(m.Card.Outcomes), fewestTogether), mostTogether)
	return m.writeBlocks(ctx, w, x, o, together)
}

// writeBlocks writes the rows of all conditions. It predicts the given number of conditions together.
func (m *Models) writeBlocks(ctx context.Context, w io.Writer, x []float64, o Options, together int) error {
	o.named = m.namedLabels(o.Things)
	width := len(m.Card.Inputs)
	n := len(x) / width
	sheet := report.NewRecordWriter(w)
	all := o.Things
	for i := 0; i < n; i += together {
		end := min(i+together, n)
		if all != nil {
			o.Things = all[i:end]
		}

		a, err := m.Answer(ctx, x[i*width:end*width], o)
		if err != nil {
			return err
		}

		sheet.Add(a.CSV())
	}

	return sheet.Flush()
}

// namedLabels returns the labels of the calibrated model for which any condition has a name. It returns nil if there is
// no calibrated model.
func (m *Models) namedLabels(things []map[string]string) []string {
	if m.Honest == nil {
		return nil
	}

	named := []string{}
	for _, label := range m.Honest.Labels {
		if slices.ContainsFunc(things, func(t map[string]string) bool { return t[label.Name] != "" }) {
			named = append(named, label.Name)
		}
	}

	return named
}
