package campaign

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/parquet"
	"doubletake/ingest/format/text"
	"doubletake/ingest/spelling"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// openText opens a file as delimited text, and a Parquet file as the text of its table.
func openText(file TableFile, options ingest.TextOptions) (*text.Reader, error) {
	src, err := ingest.OpenSource(file.Path, file.Name)
	if err != nil {
		return nil, err
	}

	reader, err := openSource(src, options)
	if err != nil {
		_ = src.Close()
		return nil, err
	}

	return reader, nil
}

// openSource does the same with the bytes of a file. If it fails, the caller closes src.
func openSource(src ingest.Source, options ingest.TextOptions) (*text.Reader, error) {
	head := make([]byte, min(src.Size, ingest.HeadBytes))
	n, _ := src.ReadAt(head, 0)
	if err := ingest.NoTable(src.Path, head[:n]); err != nil {
		return nil, err
	}

	if parquet.Format.Detect(head[:n], src) {
		b, err := parquet.Text(src)
		if err != nil {
			return nil, err
		}

		if err := src.Close(); err != nil {
			return nil, err
		}

		src = ingest.Source{Path: src.Path, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}
		options.Delimiter = "tab"
	}

	return text.Open(src, ingest.Options{Text: options})
}

// openFile is a file that is being read, with the columns that are needed of it.
type openFile struct {
	*Cells
	index      int            // among the files of the table
	columns    []*typedColumn // all columns below
	numeric    []*typedColumn // inputs and outcomes
	inputs     []*typedColumn
	outcomes   []*typedColumn // the columns of Y1 and then of Y2, or the columns of Repeats
	labels     []*typedColumn
	run        *typedColumn   // nil: the rows have no names of runs
	exclusions []*typedColumn // the other columns by which rows are excluded
}

// add adds a column, and returns where it is kept.
func (f *openFile) add(column typedColumn) *typedColumn {
	f.columns = append(f.columns, &column)
	return &column
}

// has reports whether a column of names or of numbers was added.
func (f *openFile) has(name string, isName bool) bool {
	return slices.ContainsFunc(f.columns, func(column *typedColumn) bool {
		return column.name == name && column.isName == isName
	})
}

// readFile adds the rows of file i: it finds the columns, reads them, converts their units and adds the used rows.
func (r *tableReader) readFile(i int) error {
	file := r.files[i]
	reader, err := openText(file, r.options.Text)
	if err != nil {
		return err
	}
	defer reader.Close()

	r.path = reader.Info().Path
	r.current = openFile{index: i}
	if err := r.findColumns(reader); err != nil {
		return err
	}

	extra := r.extraColumns(reader)
	cells, warnings, err := readResults(reader, r.options, slices.Concat(r.current.columns, extra))
	if err != nil {
		return err
	}

	r.current.Cells = cells
	if err := r.fillGiven(file); err != nil {
		return err
	}

	more, err := r.checkExtra(extra)
	if err != nil {
		return err
	}

	r.keepWarnings(slices.Concat(reader.Info().Warnings, warnings, more))
	if err := r.convert(); err != nil {
		return err
	}

	r.keepStatements(reader.Info())
	if err := r.addRows(); err != nil {
		return err
	}

	r.current = openFile{}

	return nil
}

// checkExtra returns an error if a column of units has different units in its rows, in this file and the files before.
// It returns warnings of columns that may name the runs.
func (r *tableReader) checkExtra(columns []*typedColumn) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	rows := r.current.Rows
	for _, column := range columns {
		distinct := unitsOf(column.name, slices.Concat(r.unitsIn[column.name], column.texts))
		if len(distinct) > 1 {
			return nil, r.fail("column "+column.name, "one unit in all rows", fault.Quoted(distinct),
				"write the units behind the numbers, or rename the column if nothing that is read has them")
		}

		r.unitsIn[column.name] = distinct

		_, names := lists.Index(column.texts)
		mayNameRuns := len(names) > 1 && 2*len(names) <= rows
		if mayNameRuns && runHeader.MatchString(column.name) {
			warnings = append(warnings, ingest.Warn(r.path, "unnamed-runs", "column %s has %d values in %d rows: if "+
				"it names the runs, ingest: {run: %[1]q}", column.name, len(names), rows))
		}
	}

	return warnings, nil
}

// fillGiven fills the columns that the file gives as a whole, and gives all names the spelling that they mean. It
// returns an error if a column of numbers holds text.
func (r *tableReader) fillGiven(file TableFile) error {
	rows := r.current.Rows
	for _, column := range r.current.columns {
		switch {
		case column.isOfFile() && column == r.current.run:
			column.texts = slices.Repeat([]string{file.Name}, rows)
		case column.isOfFile() && column.isName:
			column.texts = slices.Repeat([]string{file.Names[column.name]}, rows)
		case column.isOfFile():
			column.Values = slices.Repeat([]float64{file.Numbers[column.name]}, rows)
		case !column.isName && column.Values == nil:
			return r.fail("column "+column.name, "numbers", "text",
				"text is no input of a network; hold its names out with splits: {each: "+column.name+"}")
		}
	}

	for _, column := range r.current.columns {
		if !column.isName || len(r.options.Spellings) == 0 {
			continue
		}

		for k, text := range column.texts {
			column.texts[k] = r.options.Spellings.NameOf(text)
		}
	}

	return nil
}

// findColumns finds the columns that the options name. Columns that the file gives as a whole have index −1.
func (r *tableReader) findColumns(reader *text.Reader) error {
	file := &r.current
	columns, heads := reader.Columns()
	for _, name := range slices.Concat(r.Inputs, r.options.Y1, r.options.Y2, r.options.Repeats) {
		i, err := r.numberColumn(reader, name)
		if err != nil {
			return err
		}

		file.numeric = append(file.numeric, file.add(typedColumn{name: name, index: i}))
	}

	file.inputs = file.numeric[:len(r.Inputs)]
	file.outcomes = file.numeric[len(r.Inputs):]
	for _, name := range r.Labels {
		i, err := r.textColumn(columns, name, "as in "+r.files[0].Name)
		if err != nil {
			return err
		}

		file.labels = append(file.labels, file.add(typedColumn{name: name, index: i, isName: true}))
	}

	if r.hasRuns() {
		i, err := r.runColumn(columns, heads)
		if err != nil {
			return err
		}

		file.run = file.add(typedColumn{name: r.options.Run, index: i, isName: true})
	}

	return r.findExclusions(columns)
}

// runColumn returns the index of the column that names the runs, by its name or by its header with the unit. It returns
// −1 if there is no such column and each file is a run.
func (r *tableReader) runColumn(columns, heads []string) (int, error) {
	run := r.options.Run
	i := ColumnOf(columns, run)
	if i < 0 {
		i = slices.Index(heads, run)
	}

	if i < 0 && run != runIsFile {
		return 0, r.fail("", fmt.Sprintf("a column %q", run),
			"only "+fault.Quoted(columns), "is "+fault.Quoted(spelling.Nearest(run, columns, 1))+" meant?")
	}

	return i, nil
}

// findExclusions finds the columns by which rows are excluded, as far as findColumns has not found them.
func (r *tableReader) findExclusions(columns []string) error {
	file := &r.current
	for _, exclusion := range r.options.Exclude {
		for k, name := range slices.Concat(exclusion.Numbers, exclusion.Names) {
			isName := k >= len(exclusion.Numbers)
			if file.has(name, isName) {
				continue
			}

			i, err := r.textColumn(columns, name, "by which rows are excluded")
			if err != nil {
				return err
			}

			file.exclusions = append(file.exclusions, file.add(typedColumn{name: name, index: i, isName: isName}))
		}
	}

	return nil
}

// numberColumn returns the index of a column of numbers, or −1 if the file gives its values as a whole.
func (r *tableReader) numberColumn(reader *text.Reader, name string) (int, error) {
	if slices.Contains(r.options.Given, name) {
		return -1, nil
	}

	columns, _ := reader.Columns()
	first := slices.Index(columns, name)
	if first >= 0 && slices.Contains(columns[first+1:], name) {
		return 0, r.fail("column "+name, "names that differ",
			fmt.Sprintf("%q again, as in column %d", name, first+1), "rename one of them")
	}

	i := ColumnOf(columns, name)
	ch, err := ingest.FindChannel(reader.Info(), name)
	switch {
	case err == nil:
		i = reader.Column(ch)
	case i < 0:
		return 0, err
	}

	for _, column := range r.current.columns {
		if column.index == i {
			return 0, r.fail("", "columns that differ", fmt.Sprintf("%q and %q are the same column", column.name, name), "")
		}
	}

	return i, nil
}

// textColumn returns the index of a column by its name, or −1 if the file gives its values as a whole. reason tells
// people why the column is needed.
func (r *tableReader) textColumn(columns []string, name, reason string) (int, error) {
	if slices.Contains(r.options.Given, name) {
		return -1, nil
	}

	i := ColumnOf(columns, name)
	if i < 0 {
		return 0, r.fail("", fmt.Sprintf("a column %q, %s", name, reason), "only "+fault.Quoted(columns), "")
	}

	return i, nil
}

// ColumnOf returns the index of the column with a name. If there is none, it returns the first column whose name
// differs only in letter case, blanks and underlines, and −1 if there is none either.
func ColumnOf(columns []string, name string) int {
	if i := slices.Index(columns, name); i >= 0 {
		return i
	}

	plain := func(name string) string { return strings.ToLower(strings.NewReplacer(" ", "", "_", "").Replace(name)) }

	return slices.IndexFunc(columns, func(c string) bool { return plain(c) == plain(name) })
}

// runHeader matches headers of columns that may name the runs: Lauf, run_id, Test no.
var runHeader = regexp.MustCompile(`(?i)^(?:` + vocabulary.RunWords + `)[ _.-]*(?:id|nr|no|number|name|#)?\.?$`)

// extraColumns returns the columns of units, and, if no column names the runs, the columns that may.
func (r *tableReader) extraColumns(reader *text.Reader) []*typedColumn {
	var found []*typedColumn
	columns, _ := reader.Columns()
	for i, name := range columns {
		mayNameRuns := r.current.run == nil && !slices.Contains(r.Labels, name) && runHeader.MatchString(name)
		if mayNameRuns || unitHeader.MatchString(name) {
			found = append(found, &typedColumn{index: i, name: name, isName: true})
		}
	}

	return found
}

// keepWarnings adds the warnings of a file that no other file has. It drops warnings about columns of text that are
// read.
func (r *tableReader) keepWarnings(list []ingest.Warning) {
	for _, warning := range list {
		isOfRead := func(column *typedColumn) bool { return column.name == warning.Column }
		isNeedless := warning.Code == "text-column" && slices.ContainsFunc(r.current.columns, isOfRead)
		isKnown := slices.ContainsFunc(r.Warnings, func(other ingest.Warning) bool {
			return other.Code == warning.Code && other.Text == warning.Text
		})
		if !isNeedless && !isKnown {
			r.Warnings = append(r.Warnings, warning)
		}
	}
}

// meanRow matches the name of a row that is computed from other rows, such as their mean.
var meanRow = regexp.MustCompile(`(?i)^(?:mean|average|avg|sum|total|std\.?(?: ?dev\.?)?|mittel(?:wert)?|summe|` +
	`moyenne|media|promedio)s?:?$`)

// isUsed reports whether row k of the file is used. Rows that the options exclude are not, and, if the options have
// codes for missing values, rows without a value are not. isUsed returns an error about a cell that cannot be used.
// It notes the rows that it leaves out, for the warnings about the table.
func (r *tableReader) isUsed(k int) (bool, error) {
	file := &r.current
	place := r.placeOf(k)
	if r.exclude(k, place) {
		return false, nil
	}

	for _, column := range file.numeric {
		v := column.Values[k]
		if math.IsNaN(v) && len(r.options.Missing) > 0 {
			r.rowsWithGaps = append(r.rowsWithGaps, fmt.Sprintf("%s (%s)", r.describePlace(place), column.name))
			return false, nil
		}

		if !ingest.Finite(v) {
			return false, r.notFiniteError(k, column)
		}
	}

	if err := r.checkNames(k); err != nil {
		return false, err
	}

	return true, nil
}

// checkNames returns an error if a label of row k cannot be a name, if the run of the row has no name, or if one of
// them tells that the row is a mean of others. Labels that the file gives as a whole are checked elsewhere.
func (r *tableReader) checkNames(k int) error {
	file := &r.current
	for _, column := range file.labels {
		if column.isOfFile() {
			continue
		}

		if err := condition.CheckName(column.texts[k]); err != nil {
			err.Path = r.path
			err.Place = file.place(k, column)
			return err
		}

		if meanRow.MatchString(column.texts[k]) {
			return r.fail(file.place(k, column), "a name", strconv.Quote(column.texts[k]), "delete the rows of means")
		}
	}

	if file.run == nil {
		return nil
	}

	if run := file.run.texts[k]; run == "" || meanRow.MatchString(run) {
		return r.fail(file.place(k, file.run), "the name of a run", cmp.Or(run, "an empty cell"),
			"name it, or delete the row, if it is one of means or remarks")
	}

	return nil
}

// notFiniteError returns the error of a cell of row k that is not a finite number.
func (r *tableReader) notFiniteError(k int, column *typedColumn) error {
	file := &r.current
	found := strconv.FormatFloat(column.Values[k], 'g', -1, 64)
	if math.IsNaN(column.Values[k]) && !column.isOfFile() {
		found = cmp.Or(file.Text(k, column.index), "an empty cell")
	}

	return r.fail(file.place(k, column), "a finite number", found,
		"write it, or delete the row; ingest: {missing: [-9999]} leaves out all rows without a value")
}

// addRows adds the rows of the file that are used: triplets, or, for Repeats, single measurements.
func (r *tableReader) addRows() error {
	file := &r.current
	var used []int
	for k := range file.Rows {
		ok, err := r.isUsed(k)
		if err != nil {
			return err
		}

		if ok {
			used = append(used, k)
		}
	}

	for i, column := range file.inputs {
		r.X[i] = appendRows(r.X[i], column.Values, used)
	}

	for i, column := range file.labels {
		r.Texts[i] = appendRows(r.Texts[i], column.texts, used)
	}

	if file.run != nil {
		r.Run = appendRows(r.Run, file.run.texts, used)
	}

	n := r.options.columns()
	if err := r.addOutcomes(r.Y1, file.outcomes[:n], used); err != nil {
		return err
	}

	if len(file.outcomes) > n {
		if err := r.addOutcomes(r.Y2, file.outcomes[n:], used); err != nil {
			return err
		}
	}

	for _, k := range used {
		r.places = append(r.places, r.placeOf(k))
	}

	r.N += len(used)

	return nil
}

// addOutcomes appends the used rows of columns, and the outcomes that are derived from them, to y, which is Y1 or Y2.
// The conditions, labels and runs of the rows must be there already.
func (r *tableReader) addOutcomes(y [][]float64, columns []*typedColumn, used []int) error {
	for i, column := range columns {
		y[i] = appendRows(y[i], column.Values, used)
	}

	names := r.options.Derive.Outcomes()
	if len(names) == 0 {
		return nil
	}

	n := len(columns)
	for k := range used {
		i := r.N + k
		values, err := r.derive(i, y[:n])
		if err != nil {
			run := r.conditionsID(rowOf(r.X, i), nil)
			if r.hasRuns() {
				run = r.Run[i]
			}

			place := fmt.Sprintf("line %d, run %s", r.current.lineOf[used[k]], run)

			return r.fail(place, "a finite number", err.Error(), "")
		}

		for j, name := range names {
			y[n+j] = append(y[n+j], values[name])
		}
	}

	return nil
}

// appendRows appends rows of a column to a list. If the list is empty and all rows of the column are taken, it returns
// the column itself, without a copy.
func appendRows[T any](list, column []T, rows []int) []T {
	if len(list) == 0 && len(rows) == len(column) {
		return column
	}

	return append(list, lists.Pick(column, rows)...)
}
