package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/parquet"
	"doubletake/ingest/format/text"
	"doubletake/ingest/setpoint"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
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
	Within map[string]setpoint.Tolerance
	// SetPoints are tolerances of inputs that scatter about set points: rows at the same
	// set points are of equal condition.
	SetPoints map[string]setpoint.Tolerance
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
	// Labels are columns of text by which rows differ as they do by a condition: rows of
	// Repeats are paired within equal labels.
	Labels []string
}

// TableFile is one of the files that hold a table.
type TableFile struct {
	Path   string             // where it is opened
	Name   string             // what messages call it
	Values map[string]float64 // of the conditions that are no columns
	Labels map[string]string  // of the labels that are no columns
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
	Files     [][2]int          // N: the files of y1 and y2, by index
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
// out with a warning. Where Run is given, two rows of one run at a condition are an
// error, because they are not independent, and the run of a pair is "a+b".
func ReadTables(files []TableFile, o TableOptions) (*PairTable, error) {
	if err := (ingest.Options{Text: o.Text}).Check(); err != nil {
		return nil, err
	}

	path := files[0].Name

	pairs := len(o.Y1) > 0 || len(o.Y2) > 0
	switch {
	case len(o.Inputs) == 0:
		return nil, fmt.Errorf("read table %s: no input columns are named", path)
	case pairs && len(o.Repeats) > 0:
		return nil, fmt.Errorf("read table %s: both pairs (y1, y2) and repeats are named: keep one", path)
	case !pairs && len(o.Repeats) == 0:
		return nil, fmt.Errorf("read table %s: neither pairs (y1, y2) nor repeats are named", path)
	case len(o.Y1) != len(o.Y2):
		return nil, fmt.Errorf("read table %s: y1 names %s, y2 %d: they must be as many", path,
			fault.Plural(int64(len(o.Y1)), "column"), len(o.Y2))
	}

	p := &PairTable{Inputs: append([]string(nil), o.Inputs...), Units: map[string]string{}, Converted: map[string]string{}}
	p.Labels = o.Labels
	p.Outcomes = o.OutcomeNames()
	if n := len(p.Outcomes); n != o.columns() {
		return nil, fmt.Errorf("read table %s: %s named, but there are %d", path, fault.Plural(int64(n), "outcome"),
			o.columns())
	}

	p.Outcomes = append(p.Outcomes, o.Derive.Outcomes()...)
	for i, n := range p.Outcomes {
		if slices.Contains(p.Outcomes[:i], n) || slices.Contains(p.Inputs, n) {
			return nil, fmt.Errorf("read table %s: the name %q is used for two columns", path, n)
		}
	}

	r := &tableReader{PairTable: p, o: o, files: files, ids: newRunIDs(p.Inputs, p.Labels), open: map[string]*repeat{}}
	for i := range files {
		if err := r.readFile(i); err != nil {
			return nil, err
		}
	}

	if n := len(files) - 1; n > 0 {
		r.path = fmt.Sprintf("%s and %d more", files[0].Name, n)
	}

	if err := r.pairGroups(); err != nil {
		return nil, err
	}

	if len(o.SetPoints) > 0 && len(o.Repeats) == 0 && !r.named() {
		at := r.atSetPoints(p.X)
		for i := range p.N {
			p.Run[i] = r.ids.of(at[i*len(p.Inputs):(i+1)*len(p.Inputs)], p.Texts[i*len(p.Labels):(i+1)*len(p.Labels)])
		}
	}

	r.warnUnpaired()

	if p.N == 0 {
		return nil, &fault.Error{
			Path: r.path, Want: "two rows of equal condition",
			Found: fmt.Sprintf("none among %s", fault.Plural(r.n, "row")),
		}
	}

	if err := p.deriveConditions(path, o.Derive); err != nil {
		return nil, err
	}

	return p, nil
}

// columns is how many outcomes are columns of the table.
func (o TableOptions) columns() int { return len(o.Y1) + len(o.Repeats) }

// deriveConditions adds the derived conditions of each pair, and what the derived
// columns are.
func (p *PairTable) deriveConditions(path string, set *derive.Set) error {
	names := set.Conditions()
	for _, name := range slices.Concat(names, set.Outcomes()) {
		p.Converted[name] = "derived: " + set.Text(name)
		if u, ok := units.OfName(name); ok {
			p.Units[name] = u.Text
		}
	}

	if len(names) == 0 {
		return nil
	}

	nx := len(p.Inputs)
	all := make([]float64, 0, p.N*(nx+len(names)))

	values := map[string]float64{}
	for i := range p.N {
		x := p.X[i*nx : (i+1)*nx]
		for k, name := range p.Inputs {
			values[name] = x[k]
		}

		if err := set.AddConditions(values); err != nil {
			return &fault.Error{Path: path, Place: "run " + p.Run[i], Want: "a finite number", Found: err.Error()}
		}

		all = append(all, x...)
		for _, name := range names {
			all = append(all, values[name])
		}
	}

	p.X, p.Inputs = all, append(p.Inputs, names...)

	return nil
}

// openText opens a file as delimited text.
func openText(path string, o ingest.TextOptions) (*text.Reader, error) {
	src, err := ingest.OpenSource(path)
	if err != nil {
		return nil, err
	}

	if head := make([]byte, 4); src.Size > 4 {
		if _, err := src.ReadAt(head, 0); err == nil && parquet.Format.Detect(head, src) {
			if src, err = parquetText(src); err != nil {
				return nil, err
			}
			o.Delimiter = "tab"
		}
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
	if len(o.Outcomes) > 0 {
		return append([]string(nil), o.Outcomes...)
	}

	if len(o.Repeats) > 0 {
		return append([]string(nil), o.Repeats...)
	}

	for _, cut := range []func(s, k string) (string, bool){
		func(s, k string) (string, bool) { return strings.CutSuffix(s, "_"+k) },
		func(s, k string) (string, bool) { return strings.CutPrefix(s, "y"+k+"_") },
	} {
		names := make([]string, 0, len(o.Y1))
		for i := range o.Y1 {
			a, ok1 := cut(o.Y1[i], "1")

			b, ok2 := cut(o.Y2[i], "2")
			if ok1 && ok2 && a == b && a != "" {
				names = append(names, a)
			}
		}

		if len(names) == len(o.Y1) {
			return names
		}
	}

	return append([]string(nil), o.Y1...)
}

// tableReader makes triplets of the rows of a table.
type tableReader struct {
	*PairTable
	files   []TableFile
	o       TableOptions
	file    int // being read
	t       *text.Reader
	path    string
	columns []string      // inputs that are columns
	names   []string      // of the columns read, in order
	chans   []int         // their channels
	convert []units.Named // of each, to the unit of its name
	runCol  int           // column with the name of the run; −1: none
	textCol []int         // columns of the labels; −1: the file's
	n       int64         // rows
	ids     *runIDs
	open    map[string]*repeat // by condition
	rows    []measurement      // of groups
	order   []string           // conditions as they first appear
}

// repeat is a measurement without its second yet.
type repeat struct {
	waiting bool
	y       []float64
	run     string
	row     rowPlace
}

// rowPlace is where a row was read.
type rowPlace struct {
	file int
	line int64
}

// place names a row for people.
func (r *tableReader) place(p rowPlace) string {
	if len(r.files) == 1 {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s, line %d", r.files[p.file].Name, p.line)
}

// readFile reads the rows of a file.
func (r *tableReader) readFile(i int) error {
	f := r.files[i]
	t, err := openText(f.Path, r.o.Text)
	if err != nil {
		return err
	}
	defer t.Close()

	r.file, r.t, r.path, r.runCol = i, t, t.Info().Path, -1
	if err := r.findColumns(); err != nil {
		return err
	}

	// The number of rows is bounded by the bytes of the file.
	rows := int(t.Info().Channels[0].Samples)
	d := len(r.Outcomes)
	r.X = slices.Grow(r.X, rows*len(r.Inputs))
	r.Y1 = slices.Grow(r.Y1, rows*d)
	r.Y2 = slices.Grow(r.Y2, rows*d)
	r.Run = slices.Grow(r.Run, rows)
	r.n += int64(rows)

	return t.Rows(r.chans, r.row)
}

// findColumns finds the channels of the named columns, their units, and the
// column of the run.
func (r *tableReader) findColumns() error {
	info, o := r.t.Info(), r.o
	r.columns = slices.DeleteFunc(slices.Clone(o.Inputs), func(n string) bool { return slices.Contains(o.Given, n) })
	r.names = slices.Concat(r.columns, o.Y1, o.Y2, o.Repeats)
	r.chans = make([]int, len(r.names))

	columns, heads := r.t.Columns()
	used := map[int]string{}
	for i, n := range r.names {
		ch, err := ingest.FindChannel(info, n)
		if err != nil && slices.Contains(columns, n) {
			return &fault.Error{
				Path: r.path, Place: "column " + n, Want: "numbers", Found: "text",
				Hint: "text is no input of a network; hold its names out with splits: {each: " + n + "}",
			}
		}

		if err != nil {
			return err
		}

		if other, dup := used[ch]; dup {
			return &fault.Error{
				Path: r.path, Want: "columns that differ",
				Found: fmt.Sprintf("%q and %q are the same column", other, n),
			}
		}

		used[ch], r.chans[i] = n, ch
	}

	if err := r.findUnits(info); err != nil {
		return err
	}

	if err := r.findLabels(columns); err != nil {
		return err
	}

	if o.Run != "" {
		for c, n := range columns {
			if n == o.Run || r.runCol < 0 && (strings.EqualFold(n, o.Run) || heads[c] == o.Run) {
				r.runCol = c
			}
		}

		if r.runCol < 0 && o.Run != runIsFile {
			return &fault.Error{
				Path: r.path, Want: fmt.Sprintf("a column %q", o.Run), Found: "only " + fault.Quoted(columns),
				Hint: "is " + fault.Quoted(spelling.Nearest(o.Run, columns, 1)) + " meant?",
			}
		}
	}

	for _, w := range info.Warnings {
		isText := func(c int) bool { return c >= 0 && w.Column == columns[c] }
		if w.Code == "text-column" && (isText(r.runCol) || slices.ContainsFunc(r.textCol, isText)) {
			continue // names of runs and labels are text
		}

		if slices.ContainsFunc(r.Warnings, func(o ingest.Warning) bool { return o.Code == w.Code && o.Text == w.Text }) {
			continue // another file's
		}

		r.Warnings = append(r.Warnings, w)
	}

	return nil
}

// findLabels finds the columns of the labels.
func (r *tableReader) findLabels(columns []string) error {
	r.textCol = make([]int, len(r.Labels))
	for k, name := range r.Labels {
		r.textCol[k] = slices.Index(columns, name)
		if r.textCol[k] < 0 && !slices.Contains(r.o.Given, name) {
			return &fault.Error{
				Path: r.path, Want: fmt.Sprintf("a column %q, as in %s", name, r.files[0].Name),
				Found: "only " + fault.Quoted(columns),
			}
		}
	}

	return nil
}

// labels returns the labels of a row.
func (r *tableReader) labels(row text.Row) ([]string, error) {
	out := make([]string, len(r.Labels))
	for k, c := range r.textCol {
		if c < 0 {
			out[k] = r.files[r.file].Labels[r.Labels[k]]
			continue
		}

		out[k] = row.Text(c)
		if err := checkLabel(out[k]); err != nil {
			err.Path, err.Place = r.path, fmt.Sprintf("line %d, column %d (%s)", row.Line, c+1, r.Labels[k])
			return nil, err
		}
	}

	return out, nil
}

// findUnits finds the units of the columns, stated by the options or the header,
// and how they become those of their names. Where only one of the two columns of
// an outcome states a unit, it is the other's too.
func (r *tableReader) findUnits(info ingest.Info) error {
	nx, d := len(r.columns), r.o.columns()
	stated := make([]string, len(r.names))
	name := func(i int) string {
		if i < nx {
			return r.columns[i]
		}
		return r.Outcomes[(i-nx)%d]
	}

	for i, ch := range r.chans {
		stated[i] = info.Channels[ch].Unit
		if u, ok := r.o.Units[name(i)]; ok {
			stated[i] = u
		}
	}

	r.convert = make([]units.Named, len(r.names))
	for i := range r.names {
		if stated[i] == "" && i >= nx {
			if other := nx + (i-nx+d)%(len(r.names)-nx); stated[other] != "" {
				stated[i] = stated[other]
			}
		}

		c, err := units.ToName(name(i), stated[i])
		if err != nil {
			return unitFault(r.path, "column "+r.names[i], err, fmt.Sprintf("state the unit with units: {%s: …}", name(i)))
		}

		r.convert[i] = c
		if i >= nx+len(r.o.Y1) && len(r.o.Y1) > 0 && c.Unit != r.convert[i-d].Unit {
			return &fault.Error{
				Path: r.path, Place: "column " + r.names[i],
				Want:  fmt.Sprintf("unit %q, as of %s", r.convert[i-d].Unit, r.names[i-d]),
				Found: fmt.Sprintf("unit %q", c.Unit), Hint: "end the outcome's name with its unit, like lift_n",
			}
		}

		if first, known := r.Units[name(i)]; r.file > 0 && first != c.Unit && (known || c.Unit != "") {
			return &fault.Error{
				Path: r.path, Place: "column " + r.names[i], Want: fmt.Sprintf("unit %q, as in %s", first, r.files[0].Name),
				Found: fmt.Sprintf("unit %q", c.Unit), Hint: "end the name with its unit, like lift_n",
			}
		}

		if c.Unit != "" {
			r.Units[name(i)] = c.Unit
		}

		if text := c.String(); text != "" {
			r.Converted[name(i)] = text
		}
	}

	return nil
}

// unitFault places the error of a unit in a file.
func unitFault(path, place string, err error, hint string) error {
	var u *units.Error
	if !errors.As(err, &u) {
		return err
	}

	return &fault.Error{Path: path, Place: place, Want: u.Want, Found: fmt.Sprintf("unit %q", u.Text), Hint: hint}
}

// row adds a row: as a triplet, or as the first or the second of a pair.
func (r *tableReader) row(row text.Row) error {
	for i, v := range row.Values {
		if v-v != 0 {
			return &fault.Error{
				Path: r.path, Place: fmt.Sprintf("line %d, column %d (%s)", row.Line, r.t.Column(r.chans[i])+1, r.names[i]),
				Want: "a finite number", Found: strconv.FormatFloat(v, 'g', -1, 64),
			}
		}
	}

	for i, c := range r.convert {
		if c.From != "" {
			row.Values[i] = c.Apply(row.Values[i])
		}
	}

	x, y := r.conditions(row.Values), row.Values[len(r.columns):]
	labels, err := r.labels(row)
	if err != nil {
		return err
	}

	id := r.ids.of(x, labels)
	run := id
	at := rowPlace{r.file, row.Line}
	grouped := len(r.o.Repeats) > 0 && r.o.grouped()

	switch {
	case r.runCol >= 0:
		if run = row.Text(r.runCol); run == "" {
			return &fault.Error{
				Path: r.path, Place: fmt.Sprintf("line %d, column %d (%s)", row.Line, r.runCol+1, r.o.Run),
				Want: "the name of a run", Found: "an empty cell",
			}
		}

	case r.named():
		run = r.files[r.file].Name
	}

	d := r.o.columns()
	y1, err := r.derived(x, y[:d], row.Line, run)
	if err != nil {
		return err
	}

	if len(r.o.Repeats) == 0 {
		y2, err := r.derived(x, y[d:], row.Line, run)
		if err != nil {
			return err
		}

		r.add(x, y1, y2, labels, run, [2]rowPlace{at, at})

		return nil
	}

	y = y1
	if grouped {
		m := measurement{x: slices.Clone(x), y: slices.Clone(y), labels: labels, row: at}
		if r.named() {
			m.run = run
		}

		r.rows = append(r.rows, m)

		return nil
	}

	first, ok := r.open[id]
	if !ok {
		first = &repeat{}
		r.open[id] = first
		r.order = append(r.order, id)
	}

	if !first.waiting {
		*first = repeat{waiting: true, y: append(first.y[:0], y...), run: run, row: at}
		return nil
	}

	if r.named() {
		if first.run == run {
			return &fault.Error{
				Path: r.path, Place: fmt.Sprintf("line %d", row.Line), Want: "repeats at " + id + " from different runs",
				Found: fmt.Sprintf("run %s, as in %s", run, r.place(first.row)),
				Hint:  "average the rows of a run, or name pairs with y1 and y2",
			}
		}

		run = first.run + "+" + run
	}

	r.add(x, first.y, y, labels, run, [2]rowPlace{first.row, at})
	first.waiting = false

	return nil
}

// derived returns the outcomes y of a measurement with those derived of them.
func (r *tableReader) derived(x, y []float64, line int64, run string) ([]float64, error) {
	names := r.o.Derive.Outcomes()
	if len(names) == 0 {
		return y, nil
	}

	values := make(map[string]float64, len(x)+len(r.Outcomes))
	for i, v := range x {
		values[r.Inputs[i]] = v
	}

	for i, v := range y {
		values[r.Outcomes[i]] = v
	}

	err := r.o.Derive.AddConditions(values)
	if err == nil {
		err = r.o.Derive.AddOutcomes(values)
	}

	if err != nil {
		return nil, &fault.Error{
			Path: r.path, Place: fmt.Sprintf("line %d, run %s", line, run), Want: "a finite number", Found: err.Error(),
		}
	}

	y = slices.Clone(y)
	for _, name := range names {
		y = append(y, values[name])
	}

	return y, nil
}

// runIsFile as TableOptions.Run makes each file a run, where no column has the name.
const runIsFile = "file"

// named reports whether rows have the names of runs.
func (r *tableReader) named() bool { return r.o.Run != "" }

// conditions returns the conditions of a row, in the order of the inputs.
func (r *tableReader) conditions(row []float64) []float64 {
	if len(r.o.Given) == 0 {
		return row[:len(r.columns)]
	}

	x := make([]float64, 0, len(r.Inputs))
	for _, name := range r.Inputs {
		if i := slices.Index(r.columns, name); i >= 0 {
			x = append(x, row[i])
		} else {
			x = append(x, r.files[r.file].Values[name])
		}
	}

	return x
}

// warnUnpaired warns of rows without a second.
func (r *tableReader) warnUnpaired() {
	odd := int64(0)

	example := ""
	for _, id := range r.order {
		if r.open[id].waiting {
			if odd++; odd == 1 {
				example = fmt.Sprintf("%s, %s", r.place(r.open[id].row), id)
			}
		}
	}

	if odd > 0 {
		r.Warnings = append(r.Warnings, ingest.Warning{
			Path: r.path, Code: "unpaired-rows", Text: fmt.Sprintf("%s without a second one at its condition (%s) left out",
				fault.Plural(odd, "row"), example),
		})
	}
}

func (p *PairTable) add(x, y1, y2 []float64, labels []string, run string, rows [2]rowPlace) {
	p.X = append(p.X, x...)
	p.Y1 = append(p.Y1, y1...)
	p.Y2 = append(p.Y2, y2...)
	p.Texts = append(p.Texts, labels...)
	p.Run = append(p.Run, run)
	p.Files = append(p.Files, [2]int{rows[0].file, rows[1].file})
	p.N++
}

// runIDs names conditions; equal ones get one and the same string.
type runIDs struct {
	inputs, labels []string
	last           []float64
	lastLabels     []string
	id             string
	known          map[string]string
	buf            []byte
}

func newRunIDs(inputs, labels []string) *runIDs {
	return &runIDs{inputs: inputs, labels: labels, known: map[string]string{}}
}

func (r *runIDs) of(x []float64, labels []string) string {
	if slices.Equal(r.last, x) && slices.Equal(r.lastLabels, labels) {
		return r.id
	}

	b := r.buf[:0]
	for i, v := range x {
		b = append(b, ',')
		b = append(b, r.inputs[i]...)
		b = append(b, '=')
		b = strconv.AppendFloat(b, v+0, 'g', -1, 64) // −0 + 0 is 0: they are equal
	}

	for i, label := range labels {
		b = append(b, ',')
		b = append(b, r.labels[i]...)
		b = append(b, '=')
		b = append(b, label...)
	}

	r.buf = b
	id, ok := r.known[string(b)]
	if !ok {
		id = string(bytes.TrimPrefix(b, []byte(",")))
		r.known[string(b)] = id
	}

	r.last, r.lastLabels, r.id = append(r.last[:0], x...), labels, id

	return id
}
