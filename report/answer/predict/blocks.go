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

// This file writes predictions at any number of conditions. WriteCSV and WriteJSON divide the conditions into blocks,
// which are consecutive conditions, and write the rows of one block before they predict the next. Their memory then
// does not grow with the number of conditions. The output has the bytes that one Answer for all conditions would give.

// Limits of a block. A block must not be small either, because a calibrated process of many conditions is factorised
// anew for each block.
const (
	blockValues = 1 << 16 // conditions × outcomes of a block, unless the next two limits ask for more or fewer
	fewestRows  = 1 << 12 // conditions of a block, even with many outcomes
	mostRows    = 1 << 14 // conditions of a block, even with few outcomes
)

// blockRows returns the number of conditions of a block.
func (m *Models) blockRows() int {
	return min(max(blockValues/len(m.Card.Outcomes), fewestRows), mostRows)
}

// WriteCSV predicts at conditions x as Answer does, and writes the records of Answer.CSV. It predicts and writes one
// block after the other, so that an error can leave the first blocks written.
func (m *Models) WriteCSV(ctx context.Context, w io.Writer, x []float64, o Options) error {
	return m.writeRows(ctx, w, x, o, m.blockRows())
}

// writeRows does the work of WriteCSV in blocks of the given number of conditions.
func (m *Models) writeRows(ctx context.Context, w io.Writer, x []float64, o Options, blockRows int) error {
	sheet := report.NewRecordWriter(w)
	err := m.eachBlock(ctx, x, o, blockRows, func(a *Answer) error {
		sheet.Add(a.CSV())
		return nil
	})
	if err != nil {
		return err
	}

	return sheet.Flush()
}

// WriteJSON predicts at conditions x, of which there must be at least one, as Answer does. It writes the document of
// Answer.JSON, indented by two spaces. It predicts and writes one block after the other, so that an error can leave the
// document incomplete.
func (m *Models) WriteJSON(ctx context.Context, w io.Writer, x []float64, o Options) error {
	return m.writeDocument(ctx, w, x, o, m.blockRows())
}

// writeDocument does the work of WriteJSON in blocks of the given number of conditions. Only the member conditions of
// the document differs between blocks. So writeDocument writes the members before it, the conditions of all blocks, and
// then the members after it.
func (m *Models) writeDocument(ctx context.Context, w io.Writer, x []float64, o Options, blockRows int) error {
	buffered := bufio.NewWriter(w) // keeps the first error of all writes, which Flush returns
	after := ""                    // the members after the conditions; "" before the first block
	err := m.eachBlock(ctx, x, o, blockRows, func(a *Answer) error {
		isFirst := after == ""
		if !isFirst {
			fmt.Fprint(buffered, ",")
			return writeElements(buffered, a.conditionObjects())
		}

		before, rest, err := a.aroundConditions()
		if err != nil {
			return err
		}

		after = rest
		fmt.Fprint(buffered, before, "\n  \"conditions\": [")

		return writeElements(buffered, a.conditionObjects())
	})
	if err != nil {
		return err
	}

	fmt.Fprint(buffered, "\n  ]", after, "\n")

	return buffered.Flush()
}

// noConditions is the member conditions of an indented document without conditions. The document has this text only
// once, because the other members named conditions are indented further.
const noConditions = "\n  \"conditions\": []"

// aroundConditions returns the text of the document before and after its member conditions.
func (a *Answer) aroundConditions() (before, after string, err error) {
	frame, err := json.MarshalIndent(a.document([]numbers.Object{}), "", "  ")
	if err != nil {
		return "", "", fmt.Errorf("write predictions as JSON: %w", err)
	}

	before, after, _ = strings.Cut(string(frame), noConditions)

	return before, after, nil
}

// writeElements writes the elements of the list conditions, with commas between them. It returns only errors of the
// encoding: w keeps its own.
func writeElements(w *bufio.Writer, elements []numbers.Object) error {
	const indent = "    " // of an element: two levels of two spaces
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

// eachBlock calls use with the answer at each block of the given number of conditions, in order. The last block may
// have fewer. It returns the first error of Answer or use.
func (m *Models) eachBlock(ctx context.Context, x []float64, o Options, blockRows int, use func(*Answer) error) error {
	o.named = m.namedLabels(o.Things) // by the names of all blocks, so that all blocks have the same columns
	inputs := len(m.Card.Inputs)
	conditions := len(x) / inputs
	all := o.Things
	for first := 0; first < conditions; first += blockRows {
		end := min(first+blockRows, conditions)
		if all != nil {
			o.Things = all[first:end]
		}

		a, err := m.Answer(ctx, x[first*inputs:end*inputs], o)
		if err != nil {
			return err
		}

		if err := use(a); err != nil {
			return err
		}
	}

	return nil
}

// namedLabels returns the labels of the calibrated model for which any condition has a name. It returns an empty list
// if no condition has a name, and nil if there is no calibrated model.
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
