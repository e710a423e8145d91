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

// PairTable holds the triplets of a table, row-major.
type PairTable struct {
	Inputs   []string // names of the conditions
	Outcomes []string // names of the outcomes
	N        int
	X        []float64 // N × len(Inputs)
	Y1, Y2   []float64 // N × len(Outcomes)
	Labels   []string  // names of the labels
	Texts    []string  // N × len(Labels)
	Run      []string  // N: the run of each triplet, e.g. "alpha_deg=-11,U=4.7"
	// N: the two runs of each pair, where Run is a group of more; nil: as Run
	Recording []string
	Files     [][2]int32        // N: the files of y1 and y2, by index
	Weight    []float64         // N: of each pair, so that r rows count as r; nil: 1
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
	r := &tableReader{PairTable: newPairTable(files[0].Name, o), o: o, files: files, ids: map[string]string{}}
	for _, code := range o.Missing {
		if v, ok := text.Number([]byte(code), condition.Point); ok {
			r.missing = append(r.missing, v)
		}
	}

	for i := range files {
		r.readFile(i)
	}

	if n := len(files) - 1; n > 0 {
		r.path = fmt.Sprintf("%s and %d more", files[0].Name, n)
	}

	r.warnLeft()
	n := int64(r.N)
	switch {
	case len(o.Repeats) > 0:
		r.pair()
	case !r.named():
		at, nx, nl := r.atSetPoints(r.X), len(r.Inputs), len(r.Labels)
		r.Run = lists.Make(r.N, func(i int) string { return r.id(at[i*nx:][:nx], r.Texts[i*nl:][:nl]) })
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

// newPairTable checks the roles of the columns.
func newPairTable(path string, o TableOptions) *PairTable {
	refuse := func(is bool, format string, args ...any) {
		fault.Unless(!is, fmt.Errorf("read table %s: "+format, append([]any{path}, args...)...))
	}

	pairs := len(o.Y1) > 0 || len(o.Y2) > 0
	refuse(len(o.Inputs) == 0, "no input columns are named")
	refuse(pairs && len(o.Repeats) > 0, "both pairs (y1, y2) and repeats are named: keep one")
	refuse(!pairs && len(o.Repeats) == 0, "neither pairs (y1, y2) nor repeats are named")
	refuse(len(o.Y1) != len(o.Y2), "y1 names %s, y2 %d: they must be as many",
		fault.Plural(int64(len(o.Y1)), "column"), len(o.Y2))

	p := &PairTable{
		Inputs: slices.Clone(o.Inputs), Labels: o.Labels, Outcomes: o.OutcomeNames(), Units: map[string]string{},
		Converted: map[string]string{},
	}
	n := len(p.Outcomes)
	refuse(n != o.columns(), "%s named, but there are %d", fault.Plural(int64(n), "outcome"), o.columns())

	p.Outcomes = append(p.Outcomes, o.Derive.Outcomes()...)
	for i, n := range p.Outcomes {
		refuse(slices.Contains(p.Outcomes[:i], n) || slices.Contains(p.Inputs, n), "the name %q is used for two columns", n)
	}

	return p
}

// columns is how many outcomes are columns of the table.
func (o TableOptions) columns() int { return len(o.Y1) + len(o.Repeats) }

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

	if len(names) == 0 {
		return
	}

	nx, nl := len(r.Inputs), len(r.Labels)
	all := make([]float64, 0, r.N*(nx+len(names)))
	for i := range r.N {
		x := r.X[i*nx:][:nx]
		values, texts := named(r.Inputs, x), named(r.Labels, r.Texts[i*nl:][:nl])
		if err := set.AddConditions(values, texts); err != nil {
			fault.Raise(fault.At(path, "run "+r.Run[i], "a finite number", err.Error(), ""))
		}

		all = append(append(all, x...), lists.Each(names, func(n string) float64 { return values[n] })...)
	}

	r.X, r.Inputs = all, append(r.Inputs, names...)
}

// named returns values by their names.
func named[T any](names []string, values []T) map[string]T {
	out := make(map[string]T, len(names))
	for k, name := range names {
		out[name] = values[k]
	}

	return out
}

// openText opens a file as delimited text.
func openText(path string, o ingest.TextOptions) (*text.Reader, error) {
	src, err := ingest.OpenSource(path)
	if err != nil {
		return nil, err
	}

	head := make([]byte, min(src.Size, ingest.HeadBytes))
	n, _ := src.ReadAt(head, 0)
	if err := ingest.NoTable(path, head[:n]); err != nil {
		return nil, errors.Join(err, src.Close())
	}

	if parquet.Format.Detect(head[:n], src) {
		if src, err = parquetText(src); err != nil {
			return nil, err
		}
		o.Delimiter = "tab"
	}

	t, err := text.Open(src, ingest.Options{Text: o})
	if err != nil {
		_ = src.Close()
		return nil, err
	}

	return t, nil
}

// parquetText returns a Parquet file as text, and closes src.
func parquetText(src ingest.Source) (ingest.Source, error) {
	b, err := parquet.Text(src)
	if err := errors.Join(err, src.Close()); err != nil {
		return src, err
	}

	return ingest.Source{Path: src.Path, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, nil
}

// OutcomeNames returns the names of the outcomes: the given ones, or what the
// columns of a pair have in common.
func (o TableOptions) OutcomeNames() []string {
	switch {
	case len(o.Outcomes) > 0:
		return slices.Clone(o.Outcomes)
	case len(o.Repeats) > 0:
		return slices.Clone(o.Repeats)
	}

	for _, a := range affixes {
		names := lists.Make(len(o.Y1), func(i int) string {
			first, _ := a.outcome(o.Y1[i], 0)
			if second, _ := a.outcome(o.Y2[i], 1); first != second {
				return ""
			}

			return first
		})
		if !slices.Contains(names, "") {
			return names
		}
	}

	return slices.Clone(o.Y1)
}

// tableReader makes triplets of the rows of a table.
type tableReader struct {
	*PairTable // of Repeats the rows as read, with Y1 alone, until they are paired
	files      []TableFile
	o          TableOptions
	missing    []float64         // codes of a value that is not there
	rows       []rowPlace        // of Repeats
	gaps       []string          // rows without a value
	ids        map[string]string // names of conditions, by themselves
	single     *PairTable        // the rows of Repeats, while they are paired
	at         []float64         // X of single at its set points

	file         int // being read
	path         string
	cells        *Texts
	columns      []*typedColumn // all of those that follow, and those by which rows are excluded
	x, y, labels []*typedColumn
	run          *typedColumn // nil: the rows have no names of runs
}

// fail is an error of the file that is being read.
func (r *tableReader) fail(place, want, found, hint string) *fault.Error {
	return fault.At(r.path, place, want, found, hint)
}

// rowPlace is where a row was read.
type rowPlace struct {
	file, line int32
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
	t := fault.Get(openText(f.Path, r.o.Text))
	defer t.Close()

	r.file, r.path = i, t.Info().Path
	r.findColumns(t)

	var warnings []ingest.Warning
	r.cells, warnings = readResults(t, r.o, r.columns)
	rows := r.cells.Rows
	for _, c := range r.columns {
		switch {
		case c.index < 0 && c == r.run:
			c.texts = slices.Repeat([]string{f.Name}, rows)
		case c.index < 0 && c.isName:
			c.texts = slices.Repeat([]string{f.Names[c.name]}, rows)
		case c.index < 0:
			c.Values = slices.Repeat([]float64{f.Numbers[c.name]}, rows)
		case !c.isName && c.Values == nil:
			fault.Raise(r.fail("column "+c.name, "numbers", "text",
				"text is no input of a network; hold its names out with splits: {each: "+c.name+"}"))
		}
	}

	r.warn(slices.Concat(t.Info().Warnings, warnings, r.unnamedRuns(t)))
	r.convert()

	r.grow(rows) // bounded by the bytes of the file
	for k := range rows {
		r.row(k)
	}

	r.cells, r.columns, r.x, r.y, r.labels, r.run = nil, nil, nil, nil, nil, nil
}

// findColumns finds the named columns. Those that the file gives as a whole have no index.
func (r *tableReader) findColumns(t *text.Reader) {
	columns, heads := t.Columns()
	add := func(name string, index int, isName bool) *typedColumn {
		c := &typedColumn{index: index, name: name, isName: isName}
		r.columns = append(r.columns, c)

		return c
	}
	number := func(name string) *typedColumn {
		i := slices.Index(columns, name)
		if ch, err := ingest.FindChannel(t.Info(), name); err == nil {
			i = t.Column(ch)
		} else if i < 0 {
			fault.Raise(err)
		}

		for _, c := range r.columns {
			fault.Unless(c.index != i,
				r.fail("", "columns that differ", fmt.Sprintf("%q and %q are the same column", c.name, name), ""))
		}

		return add(name, i, false)
	}

	for _, name := range r.Inputs {
		if slices.Contains(r.o.Given, name) {
			r.x = append(r.x, add(name, -1, false))
		} else {
			r.x = append(r.x, number(name))
		}
	}

	r.y = lists.Each(slices.Concat(r.o.Y1, r.o.Y2, r.o.Repeats), number)
	for _, name := range r.Labels {
		i := slices.Index(columns, name)
		fault.Unless(i >= 0 || slices.Contains(r.o.Given, name),
			r.fail("", fmt.Sprintf("a column %q, as in %s", name, r.files[0].Name), "only "+fault.Quoted(columns), ""))
		r.labels = append(r.labels, add(name, i, true))
	}

	if run := r.o.Run; run != "" {
		i := slices.Index(columns, run)
		if i < 0 {
			i = slices.IndexFunc(columns, func(n string) bool { return strings.EqualFold(n, run) })
		}

		if i < 0 {
			i = slices.Index(heads, run)
		}

		fault.Unless(i >= 0 || run == runIsFile, r.fail("", fmt.Sprintf("a column %q", run),
			"only "+fault.Quoted(columns), "is "+fault.Quoted(spelling.Nearest(run, columns, 1))+" meant?"))
		r.run = add(run, i, true)
	}

	for _, x := range r.o.Exclude {
		for k, name := range slices.Concat(x.Numbers, x.Names) {
			i, isName := slices.Index(columns, name), k >= len(x.Numbers)
			read := func(c *typedColumn) bool { return c.index == i && c.isName == isName }
			switch {
			case slices.Contains(r.o.Given, name) || i >= 0 && slices.ContainsFunc(r.columns, read):
			case i < 0:
				fault.Raise(r.fail("", fmt.Sprintf("a column %q, by which rows are excluded", name),
					"only "+fault.Quoted(columns), ""))
			default:
				add(name, i, isName)
			}
		}
	}
}

var runWords = regexp.MustCompile(
	`(?i)^(?:run|lauf|test|versuch|messung|trial|tow|take|essai)[ _.-]*(?:id|nr|no|number|name|#)?\.?$`)

// unnamedRuns warns of a column that may name the runs, of several rows each, where none does.
func (r *tableReader) unnamedRuns(t *text.Reader) (warnings []ingest.Warning) {
	columns, _ := t.Columns()
	for i, name := range columns {
		if r.run != nil || slices.Contains(r.Labels, name) || !runWords.MatchString(name) {
			continue
		}

		runs := map[string]bool{}
		fault.Raise(t.Rows(func(_ int64, cells [][]byte) { runs[string(cells[i])] = true }))

		if len(runs) > 1 && 2*len(runs) <= r.cells.Rows {
			warnings = append(warnings, ingest.Warn(r.path, "unnamed-runs", "column %s has %d values in %d rows: if "+
				"it names the runs, ingest: {run: %[1]q}", name, len(runs), r.cells.Rows))
		}
	}

	return warnings
}

// warn adds the warnings of a file that no other file has, but for columns of text that are read.
func (r *tableReader) warn(list []ingest.Warning) {
	for _, w := range list {
		read := func(c *typedColumn) bool { return c.name == w.Column }
		told := func(o ingest.Warning) bool { return o.Code == w.Code && o.Text == w.Text }
		if w.Code == "text-column" && slices.ContainsFunc(r.columns, read) || slices.ContainsFunc(r.Warnings, told) {
			continue
		}

		r.Warnings = append(r.Warnings, w)
	}
}

// convert turns the inputs and outcomes into the units of their names, from those that the options or the header
// state. Where only one of the two columns of an outcome states a unit, it is the other's too.
func (r *tableReader) convert() {
	stated := func(c *typedColumn, of string) string {
		if u, ok := r.o.Units[of]; ok {
			return u
		}
		return c.Unit
	}

	unit := map[string]string{} // of what was converted
	d := r.o.columns()
	for i, c := range slices.Concat(r.x, r.y) {
		of, other := c.name, c
		if k := i - len(r.x); k >= 0 {
			of, other = r.Outcomes[k%d], r.y[(k+d)%len(r.y)]
		} else if c.index < 0 {
			continue
		}

		n := toName(r.path, c.name, of, cmp.Or(stated(c, of), stated(other, of)))
		same := func(first, where string) {
			fault.Unless(first == n.Unit, r.fail("column "+c.name, fmt.Sprintf("unit %q, as %s", first, where),
				fmt.Sprintf("unit %q", n.Unit), "end the name with its unit, like lift_n"))
		}
		if first, known := unit[of]; known {
			same(first, "of "+other.name)
		} else if first, known := r.Units[of]; r.file > 0 && (known || n.Unit != "") {
			same(first, "in "+r.files[0].Name)
		}

		if unit[of] = n.Unit; n.Unit != "" {
			r.Units[of] = n.Unit
		}

		if text := n.String(); text != "" {
			r.Converted[of] = text
		}

		for k, v := range c.Values {
			if slices.Contains(r.missing, v) {
				v = math.NaN()
			}

			if n.From != "" {
				v = n.Apply(v)
			}

			c.Values[k] = v
		}
	}
}

// toName is the conversion of a column from a unit to that of a name.
func toName(path, column, name, unit string) units.Named {
	n, err := units.ToName(name, unit)
	if u := (*units.Error)(nil); errors.As(err, &u) {
		err = fault.At(path, "column "+column, u.Want, fmt.Sprintf("unit %q", u.Text),
			fmt.Sprintf("state the unit with units: {%s: …}", name))
	}

	return fault.Get(n, err)
}

// row adds a row, unless it is left out: as a triplet, or as a single measurement.
func (r *tableReader) row(k int) {
	at := rowPlace{int32(r.file), int32(r.cells.lines[k])}
	if r.excludes(k, at) {
		return
	}

	for _, columns := range [][]*typedColumn{r.x, r.y} {
		for _, c := range columns {
			v := c.Values[k]
			if math.IsNaN(v) && len(r.o.Missing) > 0 {
				r.gaps = append(r.gaps, fmt.Sprintf("%s (%s)", r.place(at), c.name))
				return
			}

			if !finite(v) {
				found := strconv.FormatFloat(v, 'g', -1, 64)
				if math.IsNaN(v) && c.index >= 0 && r.cells.Text(k, c.index) == "" {
					found = "an empty cell"
				}

				fault.Raise(r.fail(r.cells.place(k, c), "a finite number", found, ""))
			}
		}
	}

	for _, c := range r.x {
		r.X = append(r.X, c.Values[k])
	}

	for _, c := range r.labels {
		if err := checkLabel(c.texts[k]); err != nil && c.index >= 0 {
			err.Path, err.Place = r.path, r.cells.place(k, c)
			fault.Raise(err)
		}

		r.Texts = append(r.Texts, c.texts[k])
	}

	if r.run != nil {
		if r.run.texts[k] == "" {
			fault.Raise(r.fail(r.cells.place(k, r.run), "the name of a run", "an empty cell", ""))
		}

		r.Run = append(r.Run, r.run.texts[k])
	}

	d := r.o.columns()
	r.Y1 = r.outcomes(r.Y1, r.y[:d], k)
	if r.N++; len(r.o.Repeats) > 0 {
		r.rows = append(r.rows, at)
		return
	}

	r.Y2 = r.outcomes(r.Y2, r.y[d:], k)
	r.Files = append(r.Files, [2]int32{at.file, at.file})
}

// outcomes appends those of row k, which was added last, and what is derived of them.
func (r *tableReader) outcomes(to []float64, columns []*typedColumn, k int) []float64 {
	for _, c := range columns {
		to = append(to, c.Values[k])
	}

	names := r.o.Derive.Outcomes()
	if len(names) == 0 {
		return to
	}

	x, y := r.X[len(r.X)-len(r.Inputs):], to[len(to)-len(columns):]
	values, texts := named(r.Inputs, x), named(r.Labels, r.Texts[len(r.Texts)-len(r.Labels):])
	maps.Copy(values, named(r.Outcomes[:len(y)], y))
	err := r.o.Derive.AddConditions(values, texts)
	if err = cmp.Or(err, r.o.Derive.AddOutcomes(values, texts)); err != nil {
		run := r.id(x, nil)
		if r.run != nil {
			run = r.run.texts[k]
		}

		fault.Raise(r.fail(fmt.Sprintf("line %d, run %s", r.cells.lines[k], run), "a finite number", err.Error(), ""))
	}

	return append(to, lists.Each(names, func(n string) float64 { return values[n] })...)
}

// runIsFile as TableOptions.Run makes each file a run, where no column has the name.
const runIsFile = "file"

// named reports whether rows have the names of runs.
func (r *tableReader) named() bool { return r.o.Run != "" }

// grow makes room for rows or pairs.
func (r *tableReader) grow(n int) {
	p, single := r.PairTable, len(r.o.Repeats) > 0 && r.single == nil
	p.X, p.Y1 = slices.Grow(p.X, n*len(p.Inputs)), slices.Grow(p.Y1, n*len(p.Outcomes))
	p.Texts = slices.Grow(p.Texts, n*len(p.Labels))
	if r.named() && r.single == nil {
		p.Run = slices.Grow(p.Run, n)
	}

	if single {
		r.rows = slices.Grow(r.rows, n)
	} else {
		p.Y2, p.Files = slices.Grow(p.Y2, n*len(p.Outcomes)), slices.Grow(p.Files, n)
	}
}

// maxKnown bounds the names of conditions that are kept to be given again.
const maxKnown = 1 << 16

// id names conditions; equal ones get the same string.
func (r *tableReader) id(x []float64, labels []string) string {
	var b []byte
	for i, v := range x {
		b = append(append(append(b, ','), r.Inputs[i]...), '=')
		b = strconv.AppendFloat(b, v+0, 'g', -1, 64) // −0 + 0 is 0: they are equal
	}

	for i, label := range labels {
		if label != "" { // the one that pairs go across
			b = append(append(append(append(b, ','), r.Labels[i]...), '='), label...)
		}
	}

	b = bytes.TrimPrefix(b, []byte(","))
	id, ok := r.ids[string(b)]
	if !ok {
		if id = string(b); len(r.ids) < maxKnown {
			r.ids[id] = id
		}
	}

	return id
}
