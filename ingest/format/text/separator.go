package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

const (
	sampleBytes    = 1 << 18 // of the head of the file from which the layout is found
	sampleLines    = 200     // that may be rows or a header
	sampleComments = 100
)

// sampleLine is a line from the head of a file.
type sampleLine struct {
	text []byte
	mark mark
}

// findLayout finds the layout of a text that a program wrote from the head of the file, in these steps:
//
//  1. readSample takes the first lines that may be rows or a header, and the first comments.
//  2. chooseSeparator cuts the later half of the lines with every delimiter and decimal sign, and takes the pair that
//     gives the most numbers.
//  3. header.findHeader finds the first row, and the names and units above it.
//  4. header.nameColumns names the columns, and header.findNumeric finds which of them hold numbers.
func findLayout(src ingest.Source, o ingest.TextOptions) (*layout, error) {
	lines, comments, err := readSample(src)
	if err != nil {
		return nil, err
	}

	choice := chooseSeparator(lines, o)
	if choice.layout == nil {
		last := lines[len(lines)-1]
		found := fmt.Sprintf("no data rows; the last line looked at is %q", fault.Clip(string(last.text)))
		if len(lines) == 1 {
			found = fmt.Sprintf("a header but no data rows: the only line is %q", fault.Clip(string(last.text)))
		}

		return nil, errorAt(src.Path, last.mark.line, "rows of numbers", found,
			"record again, or leave the file out with exclude under ingest")
	}

	if choice.widths[0] > maxColumns {
		return nil, errorAt(src.Path, lines[0].mark.line, "a table", tooManyColumns, "")
	}

	// Now lines that begin with ';' are known to be comments, unless semicolons separate the cells.
	isNoRow := func(s sampleLine) bool { return hasNoRow(s.text, choice.layout.delim) }
	for _, line := range lines {
		if isNoRow(line) && bytes.HasPrefix(bytes.TrimSpace(line.text), []byte{';'}) {
			comments = append(comments, line)
		}
	}
	earlier := slices.DeleteFunc(slices.Clone(lines[:choice.sampleBegin]), isNoRow)
	later := slices.DeleteFunc(slices.Clone(lines[choice.sampleBegin:]), isNoRow)

	// The first width at which the columns have names is taken, otherwise the last.
	var h *header
	for _, cols := range choice.widths {
		l := *choice.layout
		l.cols = cols
		h = &header{
			layout: &l, path: src.Path, options: o,
			lines: slices.Concat(earlier, later), comments: comments, sampleBegin: len(earlier),
		}

		err = h.findHeader()
		if err == nil && h.nameCells != nil {
			break
		}
	}

	if err != nil {
		return nil, err
	}

	if err := h.nameColumns(); err != nil {
		return nil, err
	}

	if err := h.findNumeric(); err != nil {
		return nil, err
	}

	return h.layout, nil
}

// drawnLine matches a row of dashes, in a comment or not.
var drawnLine = regexp.MustCompile(`^[#%!/]*[-=_+|:;,\s]*[-=_]{2}[-=_+|:;,\s]*$`)

// readSample reads the head of the file and returns its first lines that may be rows or a header, and its first
// comments. There is at least one such line.
func readSample(src ingest.Source) (lines, comments []sampleLine, err error) {
	head := make([]byte, min(src.Size, sampleBytes))

	n, err := src.ReadAt(head, 0)
	if n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, &fault.Error{Path: src.Path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}

	head = head[:n]
	offset := int64(0)
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		head = head[len(byteOrderMark):]
		offset = int64(len(byteOrderMark))
	}

	if zero := bytes.IndexByte(head, 0); zero >= 0 {
		return nil, nil, src.Fault(offset+int64(zero), "text", "a zero byte", "this is no text file")
	}

	if bytes.IndexByte(head, '\n') < 0 && bytes.Count(head, []byte{'\r'}) > 1 {
		return nil, nil, errorAt(src.Path, 1, "lines ended by LF or CRLF", "CR alone", "convert the line ends")
	}

	isWholeFile := int64(n) == src.Size
	for number := int64(1); len(head) > 0 && len(lines) < sampleLines; number++ {
		begin := mark{offset: offset, line: number}

		line, rest, isWholeLine := bytes.Cut(head, []byte{'\n'})
		if !isWholeLine && !isWholeFile {
			break // the sample ends within the line
		}

		offset += int64(len(line)) + 1
		head = rest

		line = bytes.TrimSuffix(line, []byte{'\r'})
		switch {
		case drawnLine.Match(line):
		case !hasNoRow(line, ';'): // a line that begins with ';' may still be data
			lines = append(lines, sampleLine{text: line, mark: begin})
		case len(comments) < sampleComments && isComment(line):
			comments = append(comments, sampleLine{text: line, mark: begin})
		}
	}

	switch {
	case len(lines) == 0 && !isWholeFile:
		found := fmt.Sprintf("no row within %d KiB", sampleBytes>>10)
		return nil, nil, errorAt(src.Path, 1, "", found, "is this a table?")
	case len(lines) == 0:
		return nil, nil, &fault.Error{Path: src.Path, Want: "rows of numbers", Found: "no data rows"}
	}

	return lines, comments, nil
}

// isComment reports whether a line begins with the sign of a comment.
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && bytes.IndexByte([]byte("#%!/"), line[0]) >= 0
}

// separators are the known pairs of delimiter and decimal sign, the likelier pairs first. name is the name of the
// delimiter in the options.
var separators = []struct {
	delim, decimal byte
	name           string
}{
	{'\t', '.', "tab"},
	{';', '.', "semicolon"},
	{',', '.', "comma"},
	{'\t', ',', "tab"},
	{';', ',', "semicolon"},
	{' ', '.', "blanks"},
	{' ', ',', "blanks"},
	{',', ',', "comma"}, // numbers are in quotes
}

// separation is a choice of delimiter and decimal sign.
type separation struct {
	layout      *layout // with the delimiter and the decimal sign; nil: no pair gives numbers
	sampleBegin int     // index of the first line by which it was chosen
	widths      []int   // the numbers of columns that the table may have, one or two, the greater first
}

// fewLines is the number of lines below which the header may be longer than the later half of the lines.
const fewLines = 20

// plainRow matches a line of nothing but numbers, times, signs of missing values and delimiters.
var plainRow = regexp.MustCompile(`(?i)^` + plainMark + `*\d` + plainMark + `*$`)

const plainMark = `(?:[-+−\d.,;:'"\s/]|\d[ed][-+\d]|nan|inf)`

// beginOfSample returns the index of the first line by which the delimiter is chosen. It takes the later half of the
// lines, because the first half may be a header. Among few lines, the header may reach into the later half, so that
// beginOfSample takes only the plain rows at the end, if there are any.
func beginOfSample(lines []sampleLine) int {
	half := len(lines) / 2
	begin := len(lines)
	for begin > half && len(lines) < fewLines && plainRow.Match(lines[begin-1].text) {
		begin--
	}

	if begin == len(lines) {
		return half
	}

	return begin
}

// chooseSeparator tries every delimiter and decimal sign on the later lines, and takes the pair with the highest share
// of numbers among the cells.
func chooseSeparator(lines []sampleLine, o ingest.TextOptions) separation {
	best := separation{sampleBegin: beginOfSample(lines)}
	highest := 0.0

	allHaveSemicolons := true // then commas are part of numbers
	for _, s := range lines[best.sampleBegin:] {
		allHaveSemicolons = allHaveSemicolons && bytes.IndexByte(s.text, ';') >= 0
	}

	var cells [][]byte // buffer for the cells, which every pair uses again
	for _, pair := range separators {
		switch {
		case o.Delimiter != "" && o.Delimiter != pair.name:
			continue
		case o.Delimiter == "" && pair.delim == ',' && allHaveSemicolons:
			continue
		}

		l := &layout{delim: pair.delim, decimal: pair.decimal}

		var sample sampleRows
		sample, cells = l.cutSample(lines, best.sampleBegin, cells[:0])
		share, widths := l.scoreSample(sample)
		if share > highest {
			highest = share
			best.layout = l
			best.widths = widths
		}
	}

	return best
}

// sampleRow is a line of the sample, cut into cells.
type sampleRow struct {
	cells   [][]byte // without the empty ones at the end
	width   int      // the number of cells with the empty ones
	isLater bool     // it is in the later half
}

// sampleRows are the lines of the sample, cut into cells, and how often each number of cells occurs.
type sampleRows struct {
	rows      []sampleRow
	laterRows int  // number of rows in the later half
	isEven    bool // all rows have one width

	// The number of rows, by their number of cells.
	filledWidths  map[int]int // later rows without the empty cells at the end
	fullWidths    map[int]int // later rows with them
	earlierWidths map[int]int // rows of the first half without them
}

// cutSample cuts lines into cells. The later half begins at lines[begin]. It appends the cells of all lines to buffer,
// and returns the longer buffer, into which the rows of the sample point.
func (l *layout) cutSample(lines []sampleLine, begin int, buffer [][]byte) (sample sampleRows, cells [][]byte) {
	sample = sampleRows{
		rows:         make([]sampleRow, 0, len(lines)),
		filledWidths: map[int]int{}, fullWidths: map[int]int{}, earlierWidths: map[int]int{},
		isEven: true,
	}

	for i, s := range lines {
		if hasNoRow(s.text, l.delim) {
			continue
		}

		first := len(buffer)
		buffer = l.split(buffer, s.text)
		row := sampleRow{cells: buffer[first:], width: len(buffer) - first, isLater: i >= begin}
		for len(row.cells) > 1 && len(row.cells[len(row.cells)-1]) == 0 {
			row.cells = row.cells[:len(row.cells)-1]
		}

		if row.isLater {
			sample.laterRows++
			sample.filledWidths[len(row.cells)]++
			sample.fullWidths[row.width]++
		} else {
			sample.earlierWidths[len(row.cells)]++
		}

		if len(sample.rows) > 0 && row.width != sample.rows[0].width {
			sample.isEven = false
		}

		sample.rows = append(sample.rows, row)
	}

	return sample, buffer
}

// oneColumnShare is the factor of the score of one column, which every delimiter gives: it must not win over a real
// split.
const oneColumnShare = 0.5

// scoreSample returns the share of numbers among the cells of the later rows, and the numbers of columns that the
// table may have. The greater number has the cells that are empty in most rows but may have names in the header.
func (l *layout) scoreSample(sample sampleRows) (share float64, widths []int) {
	cols := mostFrequent(sample.filledWidths, sample.earlierWidths)
	isProse := cols > 1 && 2*sample.filledWidths[cols] < sample.laterRows // hardly two lines have equally many words
	if isProse {
		return 0, nil
	}

	longest := max(cols, sample.longestOfUsualWidth())
	if sample.isEven {
		cols = longest
	}

	widths = []int{longest}
	if cols < longest {
		widths = append(widths, cols)
	}

	numbers, cells := l.countSample(sample, cols)
	share = float64(numbers) / float64(max(cells, 1))
	if cols == 1 {
		share *= oneColumnShare
	}

	return share, widths
}

// longestOfUsualWidth returns the greatest number of cells, without the empty ones at the end, among the rows of the
// most frequent width. It returns 0 if more than a tenth of the later rows have another width.
func (s *sampleRows) longestOfUsualWidth() int {
	usual := mostFrequent(s.fullWidths, nil)
	others := s.laterRows - s.fullWidths[usual]
	if others > max(1, s.laterRows/10) {
		return 0
	}

	longest := 0
	for _, row := range s.rows {
		if row.width == usual {
			longest = max(longest, len(row.cells))
		}
	}

	return longest
}

// countSample counts the cells of the later rows, and the numbers among them. Only rows with the given number of cells
// have numbers. Empty cells, dates and times do not count, since they may be there with any delimiter. A number with a
// blank may be several numbers with another delimiter, unless it is a number with a unit.
func (l *layout) countSample(sample sampleRows, cols int) (numbers, cells int) {
	for _, row := range sample.rows {
		if !row.isLater {
			continue
		}

		cells += len(row.cells)
		if !sample.isEven {
			cells += max(cols-len(row.cells), 0)
		}

		fits := len(row.cells) == cols || sample.isEven
		for _, cell := range row.cells {
			_, isNumber := l.number(cell)
			hasBlank := bytes.IndexByte(cell, ' ') >= 0
			switch {
			case len(cell) == 0, !isNumber && timestamp.Match(cell):
				cells--
			case !fits:
			case isNumber && !hasBlank, l.isQuantity(cell):
				numbers++
			}
		}
	}

	return numbers, cells
}

// mostFrequent returns the key with the highest count. Among equal counts, it returns the key with the highest count in
// ties, and then the greatest key.
func mostFrequent(counts, ties map[int]int) int {
	best := 0
	for key, count := range counts {
		isTie := count == counts[best]
		winsTie := ties[key] > ties[best] || ties[key] == ties[best] && key > best
		if count > counts[best] || isTie && winsTie {
			best = key
		}
	}

	return best
}
