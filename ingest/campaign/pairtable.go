package campaign

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// TableOptions define the columns of a table that already holds pairs, or repeated measurements that are to be paired.
// Columns are named as in ingest.FindChannel.
type TableOptions struct {
	Text   ingest.TextOptions
	Inputs []string // columns of the conditions

	// Y1 and Y2 name, outcome by outcome, the first and the second column of a pair: every row is one triplet.
	Y1, Y2 []string
	// Repeats names instead the outcomes of single measurements: rows of equal condition are paired in their order
	// (docs/method.md#repeats).
	Repeats []string
	// Outcomes are the names of the outcomes. If there are none, they are the names that Y1 and Y2 have in common without
	// "_1" and "_2" at the end or "y1_" and "y2_" in front, otherwise the names of Y1, or of Repeats.
	Outcomes []string

	// Units are units by input or outcome name. They replace the units of the header.
	Units map[string]string
	// Within are tolerances by input: rows of Repeats whose values differ by no more are of equal condition. The condition
	// of a pair is the mean of the two.
	Within map[string]condition.Tolerance
	// SetPoints are tolerances of the inputs that scatter about set points: rows of Repeats at the same set points are of
	// equal condition.
	SetPoints map[string]condition.Tolerance
	// Correct are the laws, by outcome, by which outcomes of Repeats are corrected to the condition of their pair.
	Correct map[string]Law

	// Derive defines further outcomes, computed of each measurement by itself, and further conditions, computed from the
	// conditions of each pair. nil: there are none.
	Derive *derive.Set

	// AllPairs takes all r(r−1)/2 pairs of r rows of Repeats, with weights (docs/method.md#repeats), instead of pairs
	// that use every row once.
	AllPairs bool
	// Run is a column, of text or numbers, that names the run of a row. If it is "file" and no column is called so, each
	// file is a run. "": rows of equal condition are one run.
	Run string
	// Given are the inputs and labels that are not columns: TableFile has their values.
	Given []string
	// Labels are columns of text by which rows differ as they do by a condition: rows of Repeats are paired only if their
	// labels are equal.
	Labels []string
	// Spellings are writings of names in cells of Labels.
	Spellings condition.Spellings
	// Across is one of Labels: rows of Repeats that are equal but for it are paired across it. Each row is the first of
	// one pair, whose second the caller chooses. "": rows are paired within equal labels.
	Across string
	// Occasions are labels. Runs that are numbered anew on each occasion belong to it: run 1 of Monday is not run 1 of
	// Tuesday.
	Occasions []string
	// Names are columns whose cells are names, whatever they look like. They are inputs only if Inputs names them.
	Names []string

	// Stated are the inputs that the configuration names as such. Others may have been measured alongside.
	Stated []string

	Decimal byte        // decimal sign of numbers that do not show it; 0: not known
	Missing []string    // numbers that mean no value: rows with such a cell are left out with a warning
	Exclude []Exclusion // rows that are left out
}

// TableFile is one of the files that hold a table.
type TableFile struct {
	Path             string // where it is opened
	Name             string // in messages
	condition.Values        // of the conditions and labels that are not columns
}

// PairTable holds the triplets of a table, column by column: N of each.
type PairTable struct {
	Inputs   []string // names of the conditions
	Outcomes []string // names of the outcomes
	N        int
	X        [][]float64 // by input
	Y1, Y2   [][]float64 // by outcome
	Labels   []string    // names of the labels
	Texts    [][]string  // by label
	Run      []string    // the run of each triplet, such as "alpha_deg=-11,U=4.7"
	// Recording has the two runs of each pair, if Run is a group of more. With Across it has the name of each row's
	// condition. It is nil if it would equal Run.
	Recording []string
	Files     [][2]int32        // the files of y1 and y2, by index
	Weight    []float64         // of each pair, so that r rows count as r; nil: 1
	Units     map[string]string // of the inputs and outcomes whose units are stated
	// Converted describes, by input or outcome, how its values became values in the
	// unit of its name (units.ToName).
	Converted map[string]string
	Warnings  []ingest.Warning // "unpaired-rows", …
}

// ReadTables reads pairs, or repeats to be paired, from the rows of all files. The
// numbers are held in memory. All numbers of the named columns must be finite.
//
// With Repeats, a condition with r rows gives at most ⌊r/2⌋ pairs, and a warning names rows that are left out. With
// AllPairs it gives all pairs, and with Across one pair for each row. If Run is given, two rows of one run are never a
// pair, because they are not independent. The run of a pair has the names of its rows' runs, joined by "+", or by " + "
// if conditions have tolerances or outcomes are corrected.
func ReadTables(files []TableFile, options TableOptions) (*PairTable, error) {
	if err := (ingest.Options{Text: options.Text}).Check(); err != nil {
		return nil, err
	}

	options.Exclude = slices.Clone(options.Exclude) // it counts what it leaves out
	p, err := newPairTable(files[0].Name, options)
	if err != nil {
		return nil, err
	}

	r := &tableReader{
		PairTable: p, options: options, missing: options.codes(), files: files, keptIDs: keptNames{},
		unitsIn: map[string][]string{},
	}
	for i := range files {
		if err := r.readFile(i); err != nil {
			return nil, err
		}
	}

	if n := len(files) - 1; n > 0 {
		r.path = fmt.Sprintf("%s and %d more", files[0].Name, n)
	}

	r.warnOfRows()
	r.nameOccasions()
	rows := int64(r.N)
	if len(options.Repeats) > 0 {
		r.warnOfStatements()
		if err := r.pairRepeats(); err != nil {
			return nil, err
		}
	} else {
		r.pairEachRow()
	}

	if r.N == 0 {
		return nil, r.noPairsError(rows)
	}

	if err := r.deriveConditions(files[0].Name); err != nil {
		return nil, err
	}

	return r.PairTable, nil
}

// pairEachRow makes each row a pair.
func (r *tableReader) pairEachRow() {
	rows := lists.Numbers(r.N)
	r.Files = r.filesOf(rows, rows)
	if r.hasRuns() {
		return
	}

	setPoints := r.atSetPoints(r.X)
	r.Run = make([]string, r.N)
	for i := range r.N {
		r.Run[i] = r.conditionsID(rowOf(setPoints, i), rowOf(r.Texts, i))
	}
}

// noPairsError returns the error of a table in which no two rows make a pair.
func (r *tableReader) noPairsError(rows int64) error {
	e := r.fail("", "two rows of equal condition", "none among "+fault.Plural(rows, "row"), "")
	switch {
	case r.hasRuns():
		e.Want = "two rows of equal condition from different runs"
		e.Hint = "average the rows of a run, or name pairs with y1 and y2"
	case len(r.options.Labels) > 0 && r.options.Across == "":
		e.Want += " and " + strings.Join(r.options.Labels, ", ")
		e.Hint = fmt.Sprintf("if repeats were measured on several of them, pair across: pairs: {across: %s}",
			spelling.YAML(r.options.Labels[0]))
	default:
		e.Hint = "add rows of a second run, or take out of inputs what repeats may differ in"
	}

	return e
}

// newPairTable returns a table without rows. It returns an error if the roles of the columns contradict each other.
func newPairTable(path string, options TableOptions) (*PairTable, error) {
	if err := options.check(); err != nil {
		return nil, fault.At(path, "ingest.table", "", err.Error(), "")
	}

	p := &PairTable{
		Inputs: slices.Clone(options.Inputs), Labels: options.Labels, Outcomes: options.OutcomeNames(),
		Units: map[string]string{}, Converted: map[string]string{},
	}
	if n := len(p.Outcomes); n != options.columns() {
		return nil, fault.At(path, "ingest.table", "",
			fmt.Sprintf("%s named, but columns for %d", fault.Plural(int64(n), "outcome"), options.columns()), "")
	}

	// Derived outcomes come behind the columns.
	p.Outcomes = append(p.Outcomes, options.Derive.Outcomes()...)
	p.X = make([][]float64, len(p.Inputs))
	p.Texts = make([][]string, len(p.Labels))
	p.Y1 = make([][]float64, len(p.Outcomes))
	p.Y2 = make([][]float64, len(p.Outcomes))
	for i, name := range p.Outcomes {
		if slices.Contains(p.Outcomes[:i], name) || slices.Contains(p.Inputs, name) {
			return nil, fault.At(path, "ingest.table", "", fmt.Sprintf("the name %q is used for two columns", name), "")
		}
	}

	return p, nil
}

// check returns an error if the roles of the columns contradict each other.
func (o TableOptions) check() error {
	hasPairs := len(o.Y1) > 0 || len(o.Y2) > 0
	switch {
	case len(o.Inputs) == 0:
		return errors.New("no columns are named as inputs")
	case hasPairs && len(o.Repeats) > 0:
		return errors.New("both pairs (y1, y2) and repeats are named: keep one")
	case len(o.Y1) != len(o.Y2):
		return fmt.Errorf("y1 names %s, y2 %d: they must be as many", fault.Plural(int64(len(o.Y1)), "column"), len(o.Y2))
	}

	return nil
}

// columns returns the number of outcomes that are columns of the table, not derived.
func (o TableOptions) columns() int { return len(o.Y1) + len(o.Repeats) }

// codes returns the numbers of Missing.
func (o TableOptions) codes() []float64 {
	var codes []float64
	for _, code := range o.Missing {
		if v, ok := text.Number([]byte(code), condition.Point); ok {
			codes = append(codes, v)
		}
	}

	return codes
}

// deriveConditions adds the derived conditions of each pair, and describes the derived columns.
func (r *tableReader) deriveConditions(path string) error {
	set := r.options.Derive
	names := set.Conditions()
	for _, name := range slices.Concat(names, set.Outcomes()) {
		r.Converted[name] = "derived: " + set.Text(name)
		if u, ok := units.OfName(name); ok {
			r.Units[name] = u.Text
		}
	}

	if len(names) == 0 {
		return nil
	}

	derived := make([][]float64, len(names))
	for i := range r.N {
		values, err := r.derive(i, nil)
		if err != nil {
			return fault.At(path, "run "+r.Run[i], "a finite number", err.Error(), "")
		}

		for k, name := range names {
			derived[k] = append(derived[k], values[name])
		}
	}

	r.X = append(r.X, derived...)
	r.Inputs = append(r.Inputs, names...)

	return nil
}

// derive returns the conditions and outcomes of row i with those that are derived from them and from the labels, by
// name. y are the outcomes of all rows; nil: no outcomes are derived.
func (r *tableReader) derive(i int, y [][]float64) (map[string]float64, error) {
	values := namedRow(r.Inputs, r.X, i)
	texts := namedRow(r.Labels, r.Texts, i)
	maps.Copy(values, namedRow(r.Outcomes, y, i))
	if err := r.options.Derive.AddConditions(values, texts); err != nil {
		return nil, err
	}

	if y == nil {
		return values, nil
	}

	if err := r.options.Derive.AddOutcomes(values, texts); err != nil {
		return nil, err
	}

	return values, nil
}

// rowOf returns row i of columns, or nil if there are no columns.
func rowOf[T any](columns [][]T, i int) []T {
	if len(columns) == 0 {
		return nil
	}

	cells := make([]T, len(columns))
	for k, c := range columns {
		cells[k] = c[i]
	}

	return cells
}

// namedRow returns row i of columns by the names of the columns. The map is empty if there are no columns.
func namedRow[T any](names []string, columns [][]T, i int) map[string]T {
	cells := make(map[string]T, len(columns))
	for k, column := range columns {
		cells[names[k]] = column[i]
	}

	return cells
}

// tableReader makes triplets of the rows of a table. readFile adds the rows of one file after the other to PairTable
// and places. For pairs, a row has Y1 and Y2. For Repeats, a row has Y1 alone, until pairRepeats moves the rows to
// measured and fills PairTable with pairs of them.
type tableReader struct {
	*PairTable
	options TableOptions
	files   []TableFile
	missing []float64           // codes of a value that is not there
	keptIDs keptNames           // of conditions
	unitsIn map[string][]string // the units in each column of units

	stated       []*statement // in the headers of the files
	places       []rowPlace   // of each row
	rowsWithGaps []string     // rows that are left out, since they lack a value

	measured  *PairTable  // the rows of Repeats while they are paired
	setPoints [][]float64 // X of measured at its set points
	alongside []bool      // of each input: whether rows that differ in it alone repeat each other

	path    string // of the file that is being read, for messages
	current openFile
}

// fail returns an error of the file that is being read.
func (r *tableReader) fail(place, want, found, hint string) *fault.Error {
	return fault.At(r.path, place, want, found, hint)
}

// rowPlace is the place where a row was read.
type rowPlace struct {
	file, line int32 // index of the file; number of the line, from 1
}

// placeOf returns the place of row k of the file that is being read.
func (r *tableReader) placeOf(k int) rowPlace {
	return rowPlace{int32(r.current.index), int32(r.current.lineOf[k])}
}

// describePlace names a row for people.
func (r *tableReader) describePlace(p rowPlace) string {
	if len(r.files) == 1 {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s, line %d", r.files[p.file].Name, p.line)
}

// filesOf returns the files of the two rows of each pair, by index.
func (r *tableReader) filesOf(first, second []int) [][2]int32 {
	files := make([][2]int32, len(first))
	for k := range first {
		files[k] = [2]int32{r.places[first[k]].file, r.places[second[k]].file}
	}

	return files
}

// runIsFile is the TableOptions.Run that makes each file a run if no column has the name.
const runIsFile = "file"

// hasRuns reports whether rows have names of runs.
func (r *tableReader) hasRuns() bool { return r.options.Run != "" }

// conditionsID names conditions and labels. Equal ones get the same string.
func (r *tableReader) conditionsID(x []float64, labels []string) string {
	var parts []string
	for i, v := range x {
		if math.IsNaN(v) { // it was measured alongside
			continue
		}

		parts = append(parts, r.Inputs[i]+"="+strconv.FormatFloat(v+0, 'g', -1, 64)) // −0 + 0 is 0: they are equal
	}

	for i, label := range labels {
		if label != "" { // pairs go across this label
			parts = append(parts, r.Labels[i]+"="+label)
		}
	}

	return r.keptIDs.keep([]byte(strings.Join(parts, ",")))
}
