package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Microcontrollers print lines for people, such as "T:21.3,H:40", "temp=21.3 C" or "12:00:01.250 -> ax:0.1 ay:9.8".
// This file reads a text of such lines as a table. It replaces everything but the numbers by blanks, so that all bytes
// and lines keep their places, and takes the labels as names of the columns.

const (
	maxLabelled   = 64 << 20 // bytes of the largest such text that is read: it is changed in memory
	labelledLines = 40       // lines by which such a text is recognised
	mostStrange   = 5        // lines before the first row, such as what the controller prints as it starts
	mostBare      = 3        // numbers without a label at the beginning of a line
	fewestRows    = 3
)

const labelledNumber = `([-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?i:nan|inf)))`

var (
	// labelledClock matches the time that a serial monitor writes before a line.
	labelledClock = regexp.MustCompile(`^\[?(\d{1,2}:\d\d:\d\d(?:\.\d{1,6})?)\]?[ \t]*(?:->|>)?[ \t]+`)
	// labelledValue matches a number, with a label of up to three words before it.
	labelledValue = regexp.MustCompile(`^(?:([\pL_][\pL\d_.]*(?:[ -][\pL\d_.]+){0,2})[ \t]*[:=][ \t]*)?` + labelledNumber)
	// labelledUnit matches what may be a unit behind a number.
	labelledUnit = regexp.MustCompile(`^[ \t]?([\pL%°µ*][\pL\d%°µ/^²³·*]*)[ \t]*(?:$|[,;|]|[ \t][^:=])`)
	// programNumber matches a hexadecimal or a binary number, which is no 0 with a unit.
	programNumber = regexp.MustCompile(`^0(?:[xX][\da-fA-F]|[bB][01])`)
	// firstLabel matches a label at the beginning of a line, and anyLabel a label anywhere.
	firstLabel = regexp.MustCompile(`^>?([\pL_][\pL\d_.]*)[:=]`)
	anyLabel   = regexp.MustCompile(`[\pL_][\pL\d_.]*[ \t]*[:=]`)
	// arrow matches the time and the arrow that the serial monitor of Arduino writes before a line.
	arrow = regexp.MustCompile(`^\d{1,2}:\d\d:\d\d(?:\.\d{1,6})?( -> )`)
)

// labelledCell is a number in a line, with its label and its unit, "" if it has none.
type labelledCell struct {
	label, unit string
	begin, end  int // of the number in the line
}

// cutLabelled returns the numbers of a line in which all numbers have labels, except for numbers before the first label
// and for a time. It returns nil for any other line.
func cutLabelled(line []byte) []labelledCell {
	if !bytes.ContainsAny(line, ":=") {
		return nil
	}

	var cells []labelledCell
	p := 0
	if m := labelledClock.FindSubmatchIndex(line); m != nil {
		cells = append(cells, labelledCell{label: "time", begin: m[2], end: m[3]})
		p = m[1]
	}

	unlabelled := len(cells) // cells before the first label
	p += len(line[p:]) - len(bytes.TrimLeft(line[p:], " \t>"))
	for p < len(line) {
		m := labelledValue.FindSubmatchIndex(line[p:])
		if m == nil {
			return nil
		}

		cell := labelledCell{begin: p + m[4], end: p + m[5]}
		switch {
		case m[2] >= 0:
			cell.label = string(line[p+m[2] : p+m[3]])
		case len(cells) == unlabelled && unlabelled < mostBare: // a counter or a clock before the first label
			unlabelled++
		default:
			return nil
		}

		if programNumber.Match(line[cell.begin:]) {
			return nil
		}

		cell.unit, p = unitBehind(line, cell.end)
		if isWord(line, cell) {
			return nil
		}

		rest := bytes.TrimLeft(line[p:], labelledSeparators)
		isSeparated := len(rest) < len(line[p:])
		if len(rest) > 0 && !isSeparated {
			return nil
		}

		p = len(line) - len(rest)
		cells = append(cells, cell)
	}

	if len(cells) == unlabelled {
		return nil
	}

	return cells
}

// labelledSeparators are the characters between a value and the next label.
const labelledSeparators = " \t,;|"

// unitBehind returns the unit behind a number that ends at p, and the index after it. A word is a unit if it is the
// last of the line, if a sign separates it from the next label, or if it can be nothing but a unit. Otherwise
// unitBehind returns "" and p: the word belongs to the next label.
func unitBehind(line []byte, p int) (unit string, next int) {
	m := labelledUnit.FindSubmatchIndex(line[p:])
	if m == nil {
		return "", p
	}

	next = p + m[3]
	unit = strings.Replace(string(line[p+m[2]:next]), "*C", "°C", 1)
	isLast := len(bytes.TrimLeft(line[next:], " \t")) == 0
	isSeparated := !isLast && strings.IndexByte(",;|", line[next]) >= 0
	if isLast || isSeparated || isUnit(unit) {
		return unit, next
	}

	return "", p
}

// isWord reports whether a value is a word that begins with nan or inf, such as nano: letters that are not a unit
// follow it without a blank.
func isWord(line []byte, cell labelledCell) bool {
	endsWithLetter := line[cell.end-1] > '9'
	isJoined := cell.unit != "" && line[cell.end] != ' ' && line[cell.end] != '\t'

	return endsWithLetter && isJoined && !isUnit(cell.unit)
}

// isSameRow reports whether two lines have the same labels and units.
func isSameRow(a, b []labelledCell) bool {
	return slices.EqualFunc(a, b, func(x, y labelledCell) bool { return x.label == y.label && x.unit == y.unit })
}

// columnsOf returns the names and units of the columns of a row: "T", "temp (C)". A column without a label has its
// number.
func columnsOf(row []labelledCell) []string {
	var names []string
	for i, cell := range row {
		name := cell.label
		if name == "" {
			name = fmt.Sprint(i + 1)
		}

		if cell.unit != "" {
			name += " (" + cell.unit + ")"
		}

		names = append(names, name)
	}

	return names
}

// openLabelled returns a source without labels and the options that name its columns, if src is a text of lines with
// labels. Otherwise it returns src and the options as they are.
func openLabelled(src ingest.Source, o ingest.Options) (ingest.Source, ingest.Options, []ingest.Warning, error) {
	if o.Text.Delimiter != "" {
		return src, o, nil, nil
	}

	lines, _, err := readSample(src)
	if err != nil {
		return src, o, nil, nil // findLayout returns this error
	}

	last := lines[len(lines)-1]
	if last.mark.offset+int64(len(last.text)) == src.Size { // it may be cut short
		lines = lines[:len(lines)-1]
	}

	lines = lines[:min(len(lines), labelledLines)]
	row, first := firstLabelled(lines)
	isArrow := areBehindArrows(lines)
	if row == nil && !isArrow {
		return src, o, nil, refuseLabels(src.Path, lines)
	}

	if src.Size > maxLabelled {
		return src, o, nil, fault.At(src.Path, "", fmt.Sprintf("at most %d MiB of lines with labels", maxLabelled>>20),
			fault.Plural(src.Size, "byte"), "write the numbers alone, with the names in a first line")
	}

	b := make([]byte, src.Size)
	if n, err := src.ReadAt(b, 0); n < len(b) {
		return src, o, nil, &fault.Error{
			Path: src.Path, Place: fmt.Sprintf("byte %d", n), Err: fmt.Errorf("read: %w", err),
		}
	}

	var warnings []ingest.Warning
	if text := bytes.TrimPrefix(b, []byte(byteOrderMark)); row == nil {
		blankArrows(text)
	} else {
		warnings, err = blankLabels(src.Path, text, row, lines[first].mark.line, o)
		if err != nil {
			return src, o, nil, err
		}

		if len(o.Text.Columns) == 0 {
			o.Text.Columns = columnsOf(row)
		}
	}

	blanked := ingest.Source{Path: src.Path, ReaderAt: bytes.NewReader(b), Size: src.Size, Closer: src.Closer}

	return blanked, o, warnings, nil
}

// firstLabelled returns the cells of the first line with labels behind which all lines have the same labels, and its
// index. It returns nil if fewer than fewestRows lines are left, or if too many lines are before it.
func firstLabelled(lines []sampleLine) (row []labelledCell, first int) {
	last := min(mostStrange, len(lines)-fewestRows)
	for first := range max(last+1, 0) {
		row := cutLabelled(lines[first].text)
		isOther := func(line sampleLine) bool { return !isSameRow(row, cutLabelled(line.text)) }
		if row != nil && !slices.ContainsFunc(lines[first+1:], isOther) {
			return row, first
		}
	}

	return nil, 0
}

// blankLabels replaces everything but the numbers by blanks in a text whose first row, with the given number of its
// line, has the cells row. It blanks the lines before this row that are not comments, and warns of them. A line behind
// it with other labels is an error.
func blankLabels(path string, b []byte, row []labelledCell, firstLine int64, o ingest.Options) ([]ingest.Warning,
	error,
) {
	var warnings []ingest.Warning
	number := int64(0)
	for begin := 0; begin < len(b); {
		number++
		end := bytes.IndexByte(b[begin:], '\n')
		isCut := end < 0
		if isCut {
			end = len(b) - begin
		}

		line := bytes.TrimSuffix(b[begin:begin+end], []byte{'\r'})
		begin += end + 1
		if hasNoRow(line, ';') {
			continue
		}

		cells := cutLabelled(line)
		isStrange := !isSameRow(row, cells) && !drawnLine.Match(line)
		switch {
		case isStrange && number < firstLine:
			warnings = append(warnings, ingest.Warn(path, "header-row", "line %d (%q) is before the rows: it is left out",
				number, fault.Clip(string(line))))
			cells = nil
		case isStrange && isCut && o.Truncated == "use":
			warnings = append(warnings, ingest.Warn(path, "truncated", "the last row (line %d) is cut short: it is left out",
				number))
			cells = nil
		case isStrange:
			hint := "correct the line, or delete it"
			if isCut {
				hint = "the last row is cut short; truncated: use under ingest leaves it out"
			}

			want := fmt.Sprintf("values of %s, as in line %d", strings.Join(columnsOf(row), ", "), firstLine)

			return nil, errorAt(path, number, want, fmt.Sprintf("%q", fault.Clip(string(line))), hint)
		}

		blankBetween(line, cells)
	}

	return warnings, nil
}

// blankBetween replaces everything but the numbers of a line by blanks.
func blankBetween(line []byte, cells []labelledCell) {
	p := 0
	for _, cell := range cells {
		copy(line[p:cell.begin], bytes.Repeat([]byte{' '}, cell.begin-p))
		p = cell.end
	}

	copy(line[p:], bytes.Repeat([]byte{' '}, len(line)-p))
}

// areBehindArrows reports whether all lines have a time and an arrow before them.
func areBehindArrows(lines []sampleLine) bool {
	for _, line := range lines {
		if !arrow.Match(line.text) {
			return false
		}
	}

	return len(lines) >= fewestRows
}

// blankArrows replaces the arrows behind the times by the delimiter of the line, so that the times are a column. The
// time before a line of names becomes a name.
func blankArrows(b []byte) {
	for begin := 0; begin < len(b); {
		end := bytes.IndexByte(b[begin:], '\n')
		if end < 0 {
			end = len(b) - begin
		}

		line := b[begin : begin+end]
		begin += end + 1
		m := arrow.FindSubmatchIndex(line)
		if m == nil {
			continue
		}

		delim := byte(' ')
		for _, c := range []byte("\t;,") {
			if bytes.IndexByte(line[m[3]:], c) >= 0 {
				delim = c
				break
			}
		}

		copy(line[m[2]:m[3]], []byte{delim, ' ', ' ', ' '})
		cell, _, _ := bytes.Cut(bytes.TrimLeft(line[m[3]:], " \t"), []byte{delim})
		if isWordOfHeader(cell) {
			copy(line[:m[2]], append([]byte("time"), bytes.Repeat([]byte{' '}, m[2])...))
		}
	}
}

// isWordOfHeader reports whether a cell, in quotes or not, begins with a letter and does not stand for a value that is
// missing or not finite: then its line has names.
func isWordOfHeader(cell []byte) bool {
	cell = bytes.Trim(cell, "\" \t\r")
	letter, _ := utf8.DecodeRune(cell)

	return unicode.IsLetter(letter) && !isMissing(cell) && !notFinite.Match(cell)
}

// refuseLabels returns an error about a text whose lines all begin with a label, but are not read: the same labels come
// again and again, because the values of an instant are in several lines, or the lines have other numbers between their
// labels.
func refuseLabels(path string, lines []sampleLine) error {
	var labels []string
	for _, line := range lines {
		m := firstLabel.FindSubmatch(line.text)
		if m == nil {
			return nil
		}

		labels = append(labels, string(m[1]))
	}

	period := 0
	if len(labels) > 0 {
		period = slices.Index(labels[1:], labels[0]) + 1
	}

	if period == 0 || len(labels) < fewestRows*period {
		return nil
	}

	for i, label := range labels {
		if label != labels[i%period] {
			return nil
		}
	}

	if period == 1 {
		if len(anyLabel.FindAll(lines[0].text, 2)) < 2 {
			return nil
		}

		return errorAt(path, lines[0].mark.line, "a label before each number, as T:21.3,H:40",
			fmt.Sprintf("%q", fault.Clip(string(lines[0].text))),
			"write decimal points, and nothing but labels, numbers and units")
	}

	together := strings.Join(labels[:period], ":…,") + ":…"

	return errorAt(path, lines[0].mark.line, "all values of an instant in one line",
		fmt.Sprintf("lines of one value each, of %s in turn", strings.Join(labels[:period], ", ")),
		"print them in one line, as "+together)
}
