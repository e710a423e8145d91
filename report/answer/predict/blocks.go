package predict

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"doubletake/report"
	"doubletake/train/numbers"
)

// Limits of the conditions that WriteCSV and WriteJSON predict together, so that their memory does not grow with the
// number of conditions. A process of many outcomes is factorised anew for each block, so that a block must not be
// small.
const (
	blockValues    = 1 << 16 // values of all outcomes
	fewestTogether = 1 << 12 // conditions, however many outcomes there are
	mostTogether   = 1 << 14 // conditions
)

// together returns the number of conditions that are predicted together.
func (m *Models) together() int {
	return min(max(blockValues/len(m.Card.Outcomes), fewestTogether), mostTogether)
}

// WriteCSV predicts at conditions x as Answer does, and writes the records of Answer.CSV. It predicts one block of
// conditions after the other.
func (m *Models) WriteCSV(ctx context.Context, w io.Writer, x []float64, o Options) error {
	return m.writeRows(ctx, w, x, o, m.together())
}

// writeRows writes the rows of all conditions. It predicts the given number of conditions together.
func (m *Models) writeRows(ctx context.Context, w io.Writer, x []float64, o Options, together int) error {
	sheet := report.NewRecordWriter(w)
	err := m.eachBlock(ctx, x, o, together, func(a *Answer) error {
		sheet.Add(a.CSV())
		return nil
	})
	if err != nil {
		return err
	}

	return sheet.Flush()
}

// WriteJSON predicts at conditions x as Answer does, and writes the document of Answer.JSON, indented by two spaces. It
// predicts one block of conditions after the other.
func (m *Models) WriteJSON(ctx context.Context, w io.Writer, x []float64, o Options) error {
	return m.writeDocument(ctx, w, x, o, m.together())
}

// noConditions is the part conditions of an indented document without conditions. No other part of the document has
// this text, because the other members named conditions are indented further.
const noConditions = "\n  \"conditions\": []"

// writeDocument writes the document of all conditions. It predicts the given number of conditions together.
func (m *Models) writeDocument(ctx context.Context, w io.Writer, x []float64, o Options, together int) error {
	buffered := bufio.NewWriter(w)
	after := "" // the part of the document after the conditions; "" before the first block
	err := m.eachBlock(ctx, x, o, together, func(a *Answer) error {
		if after == "" {
			frame, err := json.MarshalIndent(a.document([]numbers.Object{}), "", "  ")
			if err != nil {
				return fmt.Errorf("write predictions as JSON: %w", err)
			}

			before, rest, _ := strings.Cut(string(frame), noConditions)
			after = rest
			fmt.Fprint(buffered, before, "\n  \"conditions\": [")
		} else {
			fmt.Fprint(buffered, ",")
		}

		return writeElements(buffered, a.conditionObjects())
	})
	if err != nil {
		return err
	}

	fmt.Fprint(buffered, "\n  ]", after, "\n")

	return buffered.Flush()
}

// writeElements writes the elements of a list of a document, with commas between them.
func writeElements(w io.Writer, elements []numbers.Object) error {
	const indent = "    "
	for i, element := range elements {
		text, err := json.MarshalIndent(element, indent, "  ")
		if err != nil {
			return fmt.Errorf("write predictions as JSON: %w", err)
		}

		separator := ""
		if i > 0 {
			separator = ","
		}

		fmt.Fprint(w, separator, "\n", indent, string(text))
	}

	return nil
}

// eachBlock calls use with the answers at blocks of the given number of conditions, in order.
func (m *Models) eachBlock(ctx context.Context, x []float64, o Options, together int, use func(a *Answer) error) error {
	o.named = m.namedLabels(o.Things)
	width := len(m.Card.Inputs)
	n := len(x) / width
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

		if err := use(a); err != nil {
			return err
		}
	}

	return nil
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
