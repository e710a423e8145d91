package campaign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/parquet"
	"doubletake/ingest/format/text"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// TableOptions define the columns of a table that already holds pairs, or
// repeated measurements. Columns are named as in FindChannel.
type TableOptions struct {
	Text   ingest.TextOptions
	Inputs []string // columns of the conditions
	// Y1 and Y2 name, outcome by outcome, the first and the second of a pair:
	// every row is one triplet.
	Y1, Y2 []string
	// Repeats names instead the outcomes of single measurements: rows of equal
	// condition are paired in their order (docs/method.md#repeats).
	Repeats []string
	// Outcomes names the outcomes; empty: from Y1 and Y2 without "_1" and "_2"
	// at the end or "y1_" and "y2_" in front, else Y1's own names, or Repeats.
	Outcomes []string
	// Units are units by input or outcome name; they replace those of the header.
	Units map[string]string
	// Within are tolerances of inputs, within which rows of Repeats are of equal
	// condition; the condition of a pair is the mean of the two.
	Within map[string]condition.Tolerance
	// SetPoints are tolerances of inputs that scatter about set points: rows at the same
	// set points are of equal condition.
	SetPoints map[string]condition.Tolerance
	// Correct are the laws by which outcomes of Repeats are corrected to it.
	Correct map[string]Law
	// Derive defines further outcomes, computed of each measurement by itself, and
	// further conditions, computed of those of each pair; nil: none.
	Derive *derive.Set
	// AllPairs takes all r(r−1)/2 pairs of r rows of Repeats, with weights
	// (docs/method.md#repeats), instead of pairs that use every row once.
	AllPairs bool
	// Run is a column, of text or numbers, that names the run of a row; "file" where no
	// column is called so: each file is a run; "": rows of equal condition are one run.
	Run string
	// Given are the inputs and labels that are no columns: their values are those of TableFile.
	Given []string
	// Across is one of Labels: rows of Repeats that are equal but for it are paired across it, each as the first of
	// one pair, whose second the caller chooses.
	Across string
	// Occasions are labels; runs that are numbered anew on each name of one are those of this occasion.
	Occasions []string
	// Names are columns whose cells are names, whatever they look like: no inputs, unless named.
	Names []string
	// Decimal is the decimal sign of numbers that do not show it; 0: not known.
	Decimal byte
	// Missing are numbers that mean a cell has no value: with them, rows without one are left out with a warning.
	Missing []string
	Exclude []Exclusion // rows that are left out
	// Labels are columns of text by which rows differ as they do by a condition: rows of
	// Repeats are paired within equal labels.
	Labels []string
}

// TableFile is one of the files that hold a table.
type TableFile struct {
	Path             string // where it is opened
	Name             string // what messages call it
	condition.Values        // of the conditions and labels that are no columns
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
	Run      []string    // the run of each triplet, e.g. "alpha_deg=-11,U=4.7"
	// the two runs of each pair, where Run is a group of more; nil: as Run
	Recording []string
	Files     [][2]int32        // the files of y1 and y2, by index
	Weight    []float64         // of each pair, so that r rows count as r; nil: 1
	Units     map[string]string // of inputs and outcomes, where they are stated
	// Converted describes, by input or outcome, how its values became values in the
	// unit of its name (units.ToName).
	Converted map[string]string
	Warnings  []ingest.Warning // "unpaired-rows", …
}

// ReadTables reads pairs, or repeats to be paired, from the rows of all files. The
// numbers are held in memory. All numbers of the named columns must be finite.
//
// With Repeats, a condition with r rows gives ⌊r/2⌋ pairs, an odd row is left
// out with a warning. Where Run is given, two rows of one run are never a pair,
// because they are not independent, and the run of a pair is "a + b".
func ReadTables(files []TableFile, o TableOptions) (_ *PairTable, err error) {
	defer fault.Catch(&err)
	fault.Raise((ingest.Options{Text: o.Text}).Check())
	o.Exclude = slices.Clone(o.Exclude)
	r := &tableReader{
		PairTable: newPairTable(files[0].Name, o), o: o, missing: o.codes(), files: files, names: keptNames{},
		units: map[string][]string{},
	}
	for i := range files {
		r.readFile(i)
	}

	if n := len(files) - 1; n > 0 {
		r.path = fmt.Sprintf("%s and %d more", files[0].Name, n)
	}

	r.warnLeft()
	r.nameOccasions()
	n := int64(r.N)
	if len(o.Repeats) > 0 {
		r.pair()
	} else {
		all := lists.Numbers(r.N)
		r.Files = r.filesOf(all, all)
		if at := r.atSetPoints(r.X); !r.named() {
			r.Run = lists.Make(r.N, func(i int) string { return r.id(row(at, i), row(r.Texts, i)) })
		}
	}

	if r.N == 0 {
		e := r.fail("", "two rows of equal condition", "none among "+fault.Plural(n, "row"), "")
		if r.named() {
			e.Want, e.Hint = "two rows of equal condition from different runs",
				"average the rows of a run, or name pairs with y1 and y2"
		} else if len(o.Labels) > 0 && o.Across == "" {
			e.Want += " and " + strings.Join(o.Labels, ", ")
			e.Hint = fmt.Sprintf("if repeats were measured on several of them, pair across: pairs: {across: %s}", o.Labels[0])
		}

		return nil, e
	}

	r.deriveConditions(files[0].Name)

	return r.PairTable, nil
}

// nameOccasions makes dates of one day one name, and runs that are numbered anew on each occasion those of it.
func (r *tableReader) nameOccasions() {
	var warnings []ingest.Warning
	r.Run, warnings = nameOccasions(r.path, r.o.Run, r.o.Occasions, r.Labels, r.Texts, r.Run)
	r.Warnings = append(r.Warnings, warnings...)
	for k, label := range r.Labels {
		r.Warnings = append(r.Warnings, WarnAlike(r.files[0].Name, label, r.Texts[k])...)
	}
}

// NameOccasions does the same in the labels of a log; without one there are none.
func (c *Conditions) NameOccasions(run string, occasions, labels []string) []ingest.Warning {
	if c == nil || len(labels) == 0 {
		return nil
	}

	text := func(s *condition.Condition) string {
		if s.IsName {
			return s.Name
		}
		return plain(s.Value)
	}
	columns := lists.Each(append(slices.Clone(labels), run), func(column string) (of []*condition.Condition) {
		for _, r := range c.Rows {
			if k := slices.IndexFunc(r.States, func(s condition.Condition) bool { return s.Column == column }); k >= 0 {
				of = append(of, &r.States[k])
			}
		}

		return of
	})
	texts := lists.Each(columns, func(of []*condition.Condition) []string { return lists.Each(of, text) })
	n := len(labels)
	runs, warnings := nameOccasions(c.Path, run, occasions, labels, texts[:n], texts[n])
	texts[n] = runs
	for k, of := range columns {
		for i, s := range of {
			if t := texts[k][i]; t != text(s) {
				s.Name, s.IsName = t, true
			}
		}
	}

	return warnings
}

// nameOccasions changes the texts of labels, by row, and returns the runs.
func nameOccasions(path, run string, occasions, labels []string, texts [][]string, runs []string) ([]string,
	[]ingest.Warning,
) {
	var warnings []ingest.Warning
	for k, label := range labels {
		if days := condition.Days(texts[k]); days != nil {
			texts[k] = lists.Each(texts[k], func(t string) string { return days[t] })
			_, are := lists.Index(texts[k])
			warnings = append(warnings, ingest.Warn(path, "days", "%s: dates with times of day, or written in several "+
				"ways, are taken for %s: %s", label, fault.Plural(int64(len(are)), "day"), Some(are)))
		}

		whole := len(runs) == len(texts[k]) && slices.Contains(occasions, label)
		if whole && runWords.MatchString(run) && anew(runs, texts[k]) {
			known := keptNames{}
			runs = lists.Make(len(runs), func(i int) string { return known.of([]byte(texts[k][i] + "/" + runs[i])) })
		}
	}

	return runs, warnings
}

// WarnAlike warns of names of things that are probably one.
func WarnAlike(path, label string, names []string) []ingest.Warning {
	return lists.Each(condition.Alike(names), func(p [2]string) ingest.Warning {
		return ingest.Warn(path, "alike-names",
			"%s has the names %q and %q, which are taken for two; write them alike if they are one", label, p[0], p[1])
	})
}

// anew reports whether runs are numbered from 0 or 1 on each occasion.
func anew(runs, occasions []string) bool {
	begins := map[string]bool{}
	for i, run := range runs {
		v, err := strconv.Atoi(run)
		if err != nil {
			return false
		}

		begins[occasions[i]] = begins[occasions[i]] || v <= 1
	}

	return len(begins) > 1 && !slices.Contains(slices.Collect(maps.Values(begins)), false)
}

// newPairTable checks the roles of the columns.
func newPairTable(path string, o TableOptions) *PairTable {
	refuse := func(is bool, format string, args ...any) {
		fault.Unless(!is, fault.At(path, "ingest.table", "", fmt.Sprintf(format, args...), ""))
	}

	pairs := len(o.Y1) > 0 || len(o.Y2) > 0
	refuse(len(o.Inputs) == 0, "no columns are named as inputs")
	refuse(pairs && len(o.Repeats) > 0, "both pairs (y1, y2) and repeats are named: keep one")
	refuse(len(o.Y1) != len(o.Y2), "y1 names %s, y2 %d: they must be as many",
		fault.Plural(int64(len(o.Y1)), "column"), len(o.Y2))

	p := &PairTable{
		Inputs: slices.Clone(o.Inputs), Labels: o.Labels, Outcomes: o.OutcomeNames(), Units: map[string]string{},
		Converted: map[string]string{},
	}
	n := len(p.Outcomes)
	refuse(n != o.columns(), "%s named, but there are %d", fault.Plural(int64(n), "outcome"), o.columns())

	p.Outcomes = append(p.Outcomes, o.Derive.Outcomes()...)
	p.X, p.Texts = make([][]float64, len(p.Inputs)), make([][]string, len(p.Labels))
	p.Y1, p.Y2 = make([][]float64, len(p.Outcomes)), make([][]float64, len(p.Outcomes))
	for i, n := range p.Outcomes {
		refuse(slices.Contains(p.Outcomes[:i], n) || slices.Contains(p.Inputs, n), "the name %q is used for two columns", n)
	}

	return p
}

// columns is how many outcomes are columns of the table.
func (o TableOptions) columns() int { return len(o.Y1) + len(o.Repeats) }

// codes are the numbers that mean a cell has no value.
func (o TableOptions) codes() (all []float64) {
	for _, code := range o.Missing {
		if v, ok := text.Number([]byte(code), condition.Point); ok {
			all = append(all, v)
		}
	}

	return all
}

// deriveConditions adds the derived conditions of each pair, and what the derived
// columns are.
func (r *tableReader) deriveConditions(path string) {
	set := r.o.Derive
	names := set.Conditions()
	for _, name := range slices.Concat(names, set.Outcomes()) {
		r.Converted[name] = "derived: " + set.Text(name)
		if u, ok := units.OfName(name); ok {
			r.Units[name] = u.Text
		}
	}

	more := make([][]float64, len(names))
	for i := 0; i < r.N && len(names) > 0; i++ {
		if err := r.derive(names, more, i, nil); err != nil {
			fault.Raise(fault.At(path, "run "+r.Run[i], "a finite number", err.Error(), ""))
		}
	}

	r.X, r.Inputs = append(r.X, more...), append(r.Inputs, names...)
}

// derive appends to columns what is derived of the conditions and labels of row i and, if there are some, of its
// outcomes.
func (r *tableReader) derive(names []string, to [][]float64, i int, y [][]float64) error {
	values, texts := lists.Map(r.Inputs, row(r.X, i)), lists.Map(r.Labels, row(r.Texts, i))
	maps.Copy(values, lists.Map(r.Outcomes, row(y, i)))
	err := r.o.Derive.AddConditions(values, texts)
	if y != nil {
		err = cmp.Or(err, r.o.Derive.AddOutcomes(values, texts))
	}

	for k, name := range names {
		to[k] = append(to[k], values[name])
	}

	return err
}

// row returns row i of columns.
func row[T any](columns [][]T, i int) []T {
	return lists.Each(columns, func(c []T) T { return c[i] })
}

// openText opens a file as delimited text; a Parquet file as that of its table.
func openText(f TableFile, o ingest.TextOptions) (t *text.Reader) {
	src := fault.Get(ingest.OpenSource(f.Path, f.Name))
	defer func() {
		if t == nil {
			_ = src.Close()
		}
	}()

	head := make([]byte, min(src.Size, ingest.HeadBytes))
	n, _ := src.ReadAt(head, 0)
	fault.Raise(ingest.NoTable(src.Path, head[:n]))
	if parquet.Format.Detect(head[:n], src) {
		b := fault.Get(parquet.Text(src))
		fault.Raise(src.Close())
		src, o.Delimiter = ingest.Source{Path: src.Path, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, "tab"
	}

	return fault.Get(text.Open(src, ingest.Options{Text: o}))
}

// tableReader makes triplets of the rows of a table.
type tableReader struct {
	*PairTable // of Repeats the rows as read, with Y1 alone, until they are paired
	files      []TableFile
	names      keptNames           // of conditions
	units      map[string][]string // in each column of units
	o          TableOptions
	missing    []float64 // codes of a value that is not there
	rows       []rowPlace
	gaps       []string    // rows without a value
	single     *PairTable  // the rows of Repeats, while they are paired
	at         [][]float64 // X of single at its set points
	path       string      // of the file that is being read
	file       openFile
}

// openFile is a file that is being read.
type openFile struct {
	*Cells
	index   int
	columns []*typedColumn // all of those that follow, and those by which rows are excluded
	numbers []*typedColumn // inputs and outcomes
	x, y    []*typedColumn
	labels  []*typedColumn
	run     *typedColumn // nil: the rows have no names of runs
}

// fail is an error of the file that is being read.
func (r *tableReader) fail(place, want, found, hint string) *fault.Error {
	return fault.At(r.path, place, want, found, hint)
}

// rowPlace is where a row was read.
type rowPlace struct {
	file, line int32
}

// placeOf is the place of row k of the file that is being read.
func (r *tableReader) placeOf(k int) rowPlace {
	return rowPlace{int32(r.file.index), int32(r.file.lines[k])}
}

// place names a row for people.
func (r *tableReader) place(p rowPlace) string {
	if len(r.files) == 1 {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s, line %d", r.files[p.file].Name, p.line)
}

// readFile reads the rows of a file.
func (r *tableReader) readFile(i int) {
	f := r.files[i]
	t := openText(f, r.o.Text)
	defer t.Close()

	r.path = t.Info().Path
	r.file = openFile{index: i}
	r.findColumns(t)
	maybe := r.maybeRuns(t)
	cells, warnings := readResults(t, r.o, slices.Concat(r.file.columns, maybe))
	r.file.Cells = cells
	for _, c := range r.file.columns {
		switch {
		case c.index < 0 && c == r.file.run:
			c.texts = slices.Repeat([]string{f.Name}, cells.Rows)
		case c.index < 0 && c.isName:
			c.texts = slices.Repeat([]string{f.Names[c.name]}, cells.Rows)
		case c.index < 0:
			c.Values = slices.Repeat([]float64{f.Numbers[c.name]}, cells.Rows)
		case !c.isName && c.Values == nil:
			fault.Raise(r.fail("column "+c.name, "numbers", "text",
				"text is no input of a network; hold its names out with splits: {each: "+c.name+"}"))
		}
	}

	for _, c := range maybe {
		are := unitsOf(c.name, slices.Concat(r.units[c.name], c.texts))
		fault.Unless(len(are) < 2, r.fail("column "+c.name, "one unit in all rows", fault.Quoted(are),
			"write the units behind the numbers, or rename the column if nothing that is read has them"))
		r.units[c.name] = are

		_, names := lists.Index(c.texts)
		if runWords.MatchString(c.name) && len(names) > 1 && 2*len(names) <= cells.Rows {
			warnings = append(warnings, ingest.Warn(r.path, "unnamed-runs", "column %s has %d values in %d rows: if "+
				"it names the runs, ingest: {run: %[1]q}", c.name, len(names), cells.Rows))
		}
	}

	r.warn(slices.Concat(t.Info().Warnings, warnings))
	r.convert()
	r.addRows()
	r.file = openFile{}
}

// findColumns finds the named columns. Those that the file gives as a whole have no index.
func (r *tableReader) findColumns(t *text.Reader) {
	f := &r.file
	columns, heads := t.Columns()
	add := func(name string, index int, isName bool) *typedColumn {
		c := &typedColumn{index: index, name: name, isName: isName}
		f.columns = append(f.columns, c)

		return c
	}
	number := func(name string) *typedColumn {
		if slices.Contains(r.o.Given, name) {
			return add(name, -1, false)
		}

		i := slices.Index(columns, name)
		fault.Unless(i < 0 || !slices.Contains(columns[i+1:], name), r.fail("column "+name, "names that differ",
			fmt.Sprintf("%q again, as in column %d", name, i+1), "rename one of them"))
		if ch, err := ingest.FindChannel(t.Info(), name); err == nil {
			i = t.Column(ch)
		} else if i = ColumnOf(columns, name); i < 0 {
			fault.Raise(err)
		}

		for _, c := range f.columns {
			fault.Unless(c.index != i,
				r.fail("", "columns that differ", fmt.Sprintf("%q and %q are the same column", c.name, name), ""))
		}

		return add(name, i, false)
	}

	f.numbers = lists.Each(slices.Concat(r.Inputs, r.o.Y1, r.o.Y2, r.o.Repeats), number)
	f.x, f.y = f.numbers[:len(r.Inputs)], f.numbers[len(r.Inputs):]
	column := func(name, why string, isName bool) *typedColumn {
		i := -1
		if !slices.Contains(r.o.Given, name) {
			i = ColumnOf(columns, name)
			fault.Unless(i >= 0, r.fail("", fmt.Sprintf("a column %q, %s", name, why), "only "+fault.Quoted(columns), ""))
		}

		return add(name, i, isName)
	}
	f.labels = lists.Each(r.Labels, func(name string) *typedColumn { return column(name, "as in "+r.files[0].Name, true) })

	if run := r.o.Run; run != "" {
		i := max(ColumnOf(columns, run), slices.Index(heads, run))
		fault.Unless(i >= 0 || run == runIsFile, r.fail("", fmt.Sprintf("a column %q", run),
			"only "+fault.Quoted(columns), "is "+fault.Quoted(spelling.Nearest(run, columns, 1))+" meant?"))
		f.run = add(run, i, true)
	}

	for _, x := range r.o.Exclude {
		for k, name := range slices.Concat(x.Numbers, x.Names) {
			isName := k >= len(x.Numbers)
			if !slices.ContainsFunc(f.columns, func(c *typedColumn) bool { return c.name == name && c.isName == isName }) {
				column(name, "by which rows are excluded", isName)
			}
		}
	}
}

// ColumnOf is the column with a name, else the first whose name differs from it in letter case, blanks and underlines
// alone; −1: none.
func ColumnOf(columns []string, name string) int {
	if i := slices.Index(columns, name); i >= 0 {
		return i
	}

	plain := func(name string) string { return strings.ToLower(strings.NewReplacer(" ", "", "_", "").Replace(name)) }

	return slices.IndexFunc(columns, func(c string) bool { return plain(c) == plain(name) })
}

// meanRow matches the first cell of a row that is made of the others.
var meanRow = regexp.MustCompile(`(?i)^(?:mean|average|avg|sum|total|std\.?(?: ?dev\.?)?|mittel(?:wert)?|summe|` +
	`moyenne|media|promedio)s?:?$`)

var runWords = regexp.MustCompile(
	`(?i)^(?:run|lauf|test|versuch|messung|trial|tow|take|essai)[ _.-]*(?:id|nr|no|number|name|#)?\.?$`)

// maybeRuns lists the columns that may name the runs, where none does, and those of units.
func (r *tableReader) maybeRuns(t *text.Reader) (all []*typedColumn) {
	columns, _ := t.Columns()
	for i, name := range columns {
		mayName := r.file.run == nil && !slices.Contains(r.Labels, name) && runWords.MatchString(name)
		if mayName || unitWords.MatchString(name) {
			all = append(all, &typedColumn{index: i, name: name, isName: true})
		}
	}

	return all
}

// warn adds the warnings of a file that no other file has, but for columns of text that are read.
func (r *tableReader) warn(list []ingest.Warning) {
	for _, w := range list {
		read := func(c *typedColumn) bool { return c.name == w.Column }
		told := func(o ingest.Warning) bool { return o.Code == w.Code && o.Text == w.Text }
		if w.Code == "text-column" && slices.ContainsFunc(r.file.columns, read) || slices.ContainsFunc(r.Warnings, told) {
			continue
		}

		r.Warnings = append(r.Warnings, w)
	}
}

// convert turns the inputs and outcomes into the units of their names, from those that the options or the header
// state. Where only one of the two columns of an outcome states a unit, it is the other's too.
func (r *tableReader) convert() {
	converted := map[string]string{} // units of what was
	y, d := r.file.y, r.o.columns()
	for i, c := range r.file.numbers {
		of, other := c.name, c
		if k := i - len(r.file.x); k >= 0 {
			of, other = r.Outcomes[k%d], y[(k+d)%len(y)]
		} else if c.index < 0 {
			continue
		}

		for k, v := range c.Values {
			if slices.Contains(r.missing, v) {
				c.Values[k] = math.NaN()
			}
		}

		n := Convert(r.path, c.name, of, cmp.Or(c.Unit, other.Unit), r.o.Units, c.Values)
		same := func(first, where string) {
			fault.Unless(first == n.Unit, r.fail("column "+c.name, fmt.Sprintf("unit %q, as %s", first, where),
				fmt.Sprintf("unit %q", n.Unit), "end the name with its unit, like lift_n"))
		}
		if first, known := converted[of]; known {
			same(first, "of "+other.name)
		} else if first, known := r.Units[of]; r.file.index > 0 && (known || n.Unit != "") {
			same(first, "in "+r.files[0].Name)
		}

		if converted[of] = n.Unit; n.Unit != "" {
			r.Units[of] = n.Unit
		}

		if text := n.String(); text != "" {
			r.Converted[of] = text
		}
	}
}

// Convert turns the values of a column, in the unit that is given by a name, else in that of the header, into those of
// the unit that the name states (units.ToName). An unknown unit, or one of another dimension, is a *fault.Error, which
// it raises.
func Convert(path, column, name, header string, given map[string]string, v []float64) units.Named {
	unit, stated := given[name]
	if !stated {
		unit = header
	}

	n, err := units.ToName(name, unit)
	if u, is := errors.AsType[*units.Error](err); is {
		err = fault.At(path, "column "+column, u.Want, fmt.Sprintf("unit %q", u.Text),
			fmt.Sprintf("state the unit with units: {%s: …}", name))
	}

	fault.Raise(err)
	n.Convert(v)

	return n
}

// isUsed reports whether row k is none of those that are left out.
func (r *tableReader) isUsed(k int) bool {
	f, at := &r.file, r.placeOf(k)
	if r.excludes(k, at) {
		return false
	}

	for _, c := range f.numbers {
		v := c.Values[k]
		if math.IsNaN(v) && len(r.o.Missing) > 0 {
			r.gaps = append(r.gaps, fmt.Sprintf("%s (%s)", r.place(at), c.name))
			return false
		}

		if !finite(v) {
			found := strconv.FormatFloat(v, 'g', -1, 64)
			if math.IsNaN(v) && c.index >= 0 {
				found = cmp.Or(f.Text(k, c.index), "an empty cell")
			}

			fault.Raise(r.fail(f.place(k, c), "a finite number", found,
				"write it, or delete the row; ingest: {missing: [-9999]} leaves out all rows without a value"))
		}
	}

	for _, c := range f.labels {
		if err := condition.CheckName(c.texts[k]); err != nil && c.index >= 0 {
			err.Path, err.Place = r.path, f.place(k, c)
			fault.Raise(err)
		}

		if c.index >= 0 && meanRow.MatchString(c.texts[k]) {
			fault.Raise(r.fail(f.place(k, c), "a name", strconv.Quote(c.texts[k]), "delete the rows of means"))
		}
	}

	if f.run != nil && (f.run.texts[k] == "" || meanRow.MatchString(f.run.texts[k])) {
		fault.Raise(r.fail(f.place(k, f.run), "the name of a run", cmp.Or(f.run.texts[k], "an empty cell"),
			"name it, or delete the row, if it is one of means or remarks"))
	}

	return true
}

// addRows adds the rows of the file that are used: as triplets, or as single measurements.
func (r *tableReader) addRows() {
	f, d, old := &r.file, r.o.columns(), r.N
	used := lists.Where(f.Rows, r.isUsed)
	for i, c := range f.x {
		r.X[i] = extend(r.X[i], c.Values, used)
	}

	for i, c := range f.labels {
		r.Texts[i] = extend(r.Texts[i], c.texts, used)
	}

	if f.run != nil {
		r.Run = extend(r.Run, f.run.texts, used)
	}

	r.N += len(used)
	y, names := [][][]float64{r.Y1, r.Y2}, r.o.Derive.Outcomes()
	for i, c := range f.y {
		to := y[i/d]
		to[i%d] = extend(to[i%d], c.Values, used)
		for k := range used {
			if len(names) == 0 || i%d < d-1 {
				break
			}

			if err := r.derive(names, to[d:], old+k, to[:d]); err != nil {
				run := r.id(row(r.X, old+k), nil)
				if r.named() {
					run = r.Run[old+k]
				}

				fault.Raise(r.fail(fmt.Sprintf("line %d, run %s", f.lines[used[k]], run), "a finite number", err.Error(), ""))
			}
		}
	}

	r.rows = append(r.rows, lists.Each(used, r.placeOf)...)
}

// filesOf are the files of the rows of pairs.
func (r *tableReader) filesOf(first, second []int) [][2]int32 {
	return lists.Make(len(first), func(k int) [2]int32 { return [2]int32{r.rows[first[k]].file, r.rows[second[k]].file} })
}

// extend appends rows of a column.
func extend[T any](to, column []T, rows []int) []T {
	if len(to) == 0 && len(rows) == len(column) {
		return column
	}

	return append(to, lists.Rows(column, 1, rows)...)
}

// runIsFile as TableOptions.Run makes each file a run, where no column has the name.
const runIsFile = "file"

// named reports whether rows have the names of runs.
func (r *tableReader) named() bool { return r.o.Run != "" }

// id names conditions; equal ones get the same string.
func (r *tableReader) id(x []float64, labels []string) string {
	parts := lists.Make(len(x), func(i int) string {
		return r.Inputs[i] + "=" + strconv.FormatFloat(x[i]+0, 'g', -1, 64) // −0 + 0 is 0: they are equal
	})
	for i, label := range labels {
		if label != "" { // the one that pairs go across
			parts = append(parts, r.Labels[i]+"="+label)
		}
	}

	return r.names.of([]byte(strings.Join(parts, ",")))
}

// Exclusion is the rows of a table that are left out by their conditions.
type Exclusion struct {
	Text           string   // for messages
	Numbers, Names []string // columns that decide
	Holds          func(condition.Values) bool
	left           []string // rows
}

// UnusedExclude is the warning about an exclusion that leaves out nothing.
func UnusedExclude(path, exclusion string) ingest.Warning {
	return ingest.Warn(path, "unused-exclude", "the exclusion %q excludes nothing", exclusion)
}

// excludes reports whether row k, which is at a place, is left out.
func (r *tableReader) excludes(k int, at rowPlace) bool {
	if len(r.o.Exclude) == 0 {
		return false
	}

	v := condition.Values{Numbers: map[string]float64{}, Names: map[string]string{}}
	for _, c := range r.file.columns {
		if c.isName {
			v.Names[c.name] = c.texts[k]
		} else {
			v.Numbers[c.name] = c.Values[k]
		}
	}

	for i := range r.o.Exclude {
		if x := &r.o.Exclude[i]; x.Holds(v) {
			x.left = append(x.left, r.place(at))
			return true
		}
	}

	return false
}

// warnLeft tells of the rows that were left out.
func (r *tableReader) warnLeft() {
	for _, x := range r.o.Exclude {
		w := UnusedExclude(r.path, x.Text)
		if n := int64(len(x.left)); n > 0 {
			w = ingest.Warn(r.path, "excluded", "%s left out by exclude: %s: %s", fault.Plural(n, "row"), x.Text, Some(x.left))
		}

		r.Warnings = append(r.Warnings, w)
	}

	if n := int64(len(r.gaps)); n > 0 {
		r.Warnings = append(r.Warnings,
			ingest.Warn(r.path, "missing-values", "%s without a value left out: %s", fault.Plural(n, "row"), Some(r.gaps)))
	}
}
