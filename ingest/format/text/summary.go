package text

import (
	"regexp"
	"strconv"

	"doubletake/ingest/fault"
)

// mostSummaries is the number of rows at the end of a recording that may be summaries.
const mostSummaries = 10

// summaryCell matches a cell of a row that is computed from other rows, such as their mean.
var summaryCell = regexp.MustCompile(`(?i)^(?:mean|average|avg|sum|total|count|median|min(?:imum)?|max(?:imum)?|rms|` +
	`st(?:andar)?d\.?(?: ?dev(?:iation)?\.?)?|sigma|range|mittel(?:wert)?|summe|anzahl|moyenne|[ée]cart[ -]type|media|` +
	`promedio|gemiddelde)\s*:?$`)

// beginsWithSummary reports whether the first row begins with a word of summaries: then the words of the first column
// mean something else.
func (t *Reader) beginsWithSummary() (bool, error) {
	if err := t.seekRow(0); err != nil {
		return false, err
	}

	line, err := t.mustNextRow()
	if err != nil {
		return false, err
	}

	t.nextIndex++
	t.cells = t.layout.split(t.cells[:0], line)

	return len(t.cells) > 0 && summaryCell.Match(t.cells[0]), nil
}

// refuseSummaries returns an error if one of the last rows is a summary of the other rows: it is not a sample, even in
// the columns that have a number there.
func (t *Reader) refuseSummaries() error {
	hasOtherWords, err := t.beginsWithSummary()
	if err != nil {
		return err
	}

	if err := t.seekRow(max(0, t.rows-mostSummaries)); err != nil {
		return err
	}

	for t.nextIndex < t.rows {
		line, err := t.mustNextRow()
		if err != nil {
			return err
		}

		t.nextIndex++
		t.cells = t.layout.split(t.cells[:0], line)
		for col, cell := range t.cells {
			isNumeric := col < t.layout.cols && t.layout.numeric[col]
			mayLabel := isNumeric || col == 0 && !hasOtherWords
			if mayLabel && summaryCell.Match(cell) {
				return errorAt(t.path, t.current.line, "a row of samples", "a row of "+strconv.Quote(fault.Clip(string(cell))),
					"delete the rows that are computed from others")
			}
		}
	}

	return nil
}
