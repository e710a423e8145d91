package ingest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// TableOptions say how the columns of a table that already holds pairs, or
// repeated measurements, are to be read. Columns are named as in FindChannel.
type TableOptions struct {
	Text   TextOptions
	Inputs []string // columns of the conditions
	// Y1 and Y2 name, outcome by outcome, the first and the second of a pair:
	// every row is one triplet.
	Y1, Y2 []string
	// Repeats names instead the outcomes of single measurements: rows of equal
	// condition are paired in the order they stand (METHOD §1, repeats).
	Repeats []string
	// Outcomes names the outcomes; empty: from Y1 and Y2 without "_1" and "_2"
	// at the end or "y1_" and "y2_" in front, else Y1's own names, or Repeats.
	Outcomes []string
	// Run is a column, of text or numbers, that names the run of a row; "": rows of equal
	// condition are one run.
	Run string
}

// PairTable holds the triplets of a table, row-major.
type PairTable struct {
	Inputs   []string // names of the conditions
	Outcomes []string // names of the outcomes
	N        int
	X        []float64         // N × len(Inputs)
	Y1, Y2   []float64         // N × len(Outcomes)
	Run      []string          // N: the run of each triplet, e.g. "alpha_deg=-11,U=4.7"
	Units    map[string]string // of inputs and outcomes, where the header states them
	Warnings []Warning         // "unpaired-rows", …
}

// ReadTable reads pairs, or repeats to be paired, from delimited text. The
// numbers are held in memory. All numbers of the named columns must be finite.
//
// With Repeats, a condition with r rows gives ⌊r/2⌋ pairs, an odd row is left
// out with a warning; where Run is given two rows of one run are never paired
// (they would not be independent), that is an error, and the pair's run is
// "a+b".
func ReadTable(path string, o TableOptions) (*PairTable, error) {
	if err := (Options{Text: o.Text}).Check(); err != nil {
		return nil, err
	}
	pairs := len(o.Y1) > 0 || len(o.Y2) > 0
	switch {
	case len(o.Inputs) == 0:
		return nil, fmt.Errorf("read table %s: no input columns are named", path)
	case pairs && len(o.Repeats) > 0:
		return nil, fmt.Errorf("read table %s: both pairs (y1, y2) and repeats are named: keep one", path)
	case !pairs && len(o.Repeats) == 0:
		return nil, fmt.Errorf("read table %s: neither pairs (y1, y2) nor repeats are named", path)
	case len(o.Y1) != len(o.Y2):
		return nil, fmt.Errorf("read table %s: y1 names %s, y2 %d: they must be as many", path, plural(int64(len(o.Y1)), "column"), len(o.Y2))
	}
	p := &PairTable{Inputs: append([]string(nil), o.Inputs...), Units: map[string]string{}}
	d := len(o.Y1) + len(o.Repeats)
	p.Outcomes = outcomeNames(o)
	if len(p.Outcomes) != d {
		return nil, fmt.Errorf("read table %s: %s named, but there are %d", path, plural(int64(len(p.Outcomes)), "outcome"), d)
	}
	for i, n := range p.Outcomes {
		for _, m := range append(p.Outcomes[:i:i], p.Inputs...) {
			if m == n {
				return nil, fmt.Errorf("read table %s: the name %q stands for two columns", path, n)
			}
		}
	}

	st, err := os.Stat(path)
	if err != nil {
		return nil, openError(path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer f.Close()
	if st.IsDir() {
		return nil, &DataError{Path: path, Want: "a file", Found: "a directory"}
	}
	r, err := openReader(path, f, st.Size(), nil, Options{Format: "text", Text: o.Text})
	if err != nil {
		return nil, err
	}
	t := r.(*textReader)
	if err := p.read(t, o); err != nil {
		return nil, err
	}
	return p, nil
}

// outcomeNames finds what the columns of a pair have in common.
func outcomeNames(o TableOptions) []string {
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

func (p *PairTable) read(t *textReader, o TableOptions) error {
	// Destination of each named column in one row of numbers.
	nx, d := len(o.Inputs), len(p.Outcomes)
	names := append(append(append(append([]string(nil), o.Inputs...), o.Y1...), o.Y2...), o.Repeats...)
	chans := make([]int, len(names))
	taken := map[int]string{}
	for i, n := range names {
		ch, err := FindChannel(t.info, n)
		if err != nil {
			return err
		}
		if other, dup := taken[ch]; dup {
			return &DataError{Path: t.path, Want: "columns that differ", Found: fmt.Sprintf("%q and %q are the same column", other, n)}
		}
		taken[ch], chans[i] = n, ch
		if u := t.info.Channels[ch].Unit; u != "" {
			switch {
			case i < nx:
				p.Units[p.Inputs[i]] = u
			case i < nx+d:
				p.Units[p.Outcomes[i-nx]] = u
			}
		}
	}
	runCol := -1
	if o.Run != "" {
		for c, n := range t.lay.names {
			if n == o.Run || runCol < 0 && (strings.EqualFold(n, o.Run) || t.lay.heads[c] == o.Run) {
				runCol = c
			}
		}
		if runCol < 0 {
			return &DataError{Path: t.path, Want: fmt.Sprintf("a column %q", o.Run), Found: "only " + quoteList(t.lay.names), Hint: "is " + quoteList(nearest(o.Run, t.lay.names, 1)) + " meant?"}
		}
	}
	for _, w := range t.info.Warnings {
		if runCol >= 0 && w.Code == "text-column" && strings.HasPrefix(w.Text, "column "+t.lay.names[runCol]+" ") {
			continue // a text is what is expected there
		}
		p.Warnings = append(p.Warnings, w)
	}

	for i := range t.want {
		t.want[i] = -1
	}
	for i, ch := range chans {
		t.want[t.chans[ch]] = i
	}
	vals := make([]float64, len(chans))
	dst := make([][]float64, len(chans))
	for i := range dst {
		dst[i] = vals[i : i+1]
	}
	// The row count is bounded by the bytes of the file, which exist.
	rows := int(t.rows)
	p.X = make([]float64, 0, rows*nx)
	p.Y1 = make([]float64, 0, rows*d)
	p.Y2 = make([]float64, 0, rows*d)
	p.Run = make([]string, 0, rows)
	ids := newRunIDs(p.Inputs)
	open := map[string]*repeat{}
	var order []string
	var cells [][]byte
	for n := 0; n < rows; {
		line, ok, err := t.cur.next()
		if err != nil || !ok {
			return t.shrunk(err)
		}
		if skipped(line, t.lay.delim) {
			continue
		}
		n++
		if err := t.parseRow(line, dst, 0); err != nil {
			return err
		}
		for i, v := range vals {
			if v-v != 0 {
				return &DataError{Path: t.path, Place: fmt.Sprintf("line %d, column %d (%s)", t.cur.line-1, t.chans[chans[i]]+1, names[i]), Want: "a finite number", Found: strconv.FormatFloat(v, 'g', -1, 64)}
			}
		}
		x := vals[:nx]
		id := ids.of(x)
		run := id
		if runCol >= 0 {
			cells = t.lay.split(cells[:0], line)
			if run = string(cells[runCol]); run == "" {
				return &DataError{Path: t.path, Place: fmt.Sprintf("line %d, column %d (%s)", t.cur.line-1, runCol+1, o.Run), Want: "the name of a run", Found: "an empty cell"}
			}
		}
		if len(o.Repeats) == 0 {
			p.add(x, vals[nx:nx+d], vals[nx+d:], run)
			continue
		}
		first, ok := open[id]
		if !ok {
			first = &repeat{}
			open[id] = first
			order = append(order, id)
		}
		if !first.waiting {
			*first = repeat{waiting: true, y: append(first.y[:0], vals[nx:]...), run: run, line: t.cur.line - 1}
			continue
		}
		if runCol >= 0 {
			if first.run == run {
				return &DataError{
					Path: t.path, Place: fmt.Sprintf("line %d", t.cur.line-1), Want: "repeats at " + id + " from different runs",
					Found: fmt.Sprintf("run %s, as in line %d", run, first.line), Hint: "average the rows of a run, or name pairs with y1 and y2",
				}
			}
			run = first.run + "+" + run
		}
		p.add(x, first.y, vals[nx:], run)
		first.waiting = false
	}
	odd := int64(0)
	example := ""
	for _, id := range order {
		if open[id].waiting {
			if odd++; odd == 1 {
				example = fmt.Sprintf("line %d, %s", open[id].line, id)
			}
		}
	}
	if odd > 0 {
		p.Warnings = append(p.Warnings, Warning{Path: t.path, Code: "unpaired-rows", Text: fmt.Sprintf("%s without a second one at its condition (%s) left out", plural(odd, "row"), example)})
	}
	if p.N == 0 {
		return &DataError{Path: t.path, Want: "two rows of equal condition", Found: fmt.Sprintf("none among %s", plural(int64(rows), "row"))}
	}
	return nil
}

// repeat is a measurement that waits for its second.
type repeat struct {
	waiting bool
	y       []float64
	run     string
	line    int64
}

func (p *PairTable) add(x, y1, y2 []float64, run string) {
	p.X = append(p.X, x...)
	p.Y1 = append(p.Y1, y1...)
	p.Y2 = append(p.Y2, y2...)
	p.Run = append(p.Run, run)
	p.N++
}

// runIDs names conditions; equal ones get one and the same string.
type runIDs struct {
	inputs []string
	last   []float64
	id     string
	known  map[string]string
	buf    []byte
}

func newRunIDs(inputs []string) *runIDs {
	return &runIDs{inputs: inputs, known: map[string]string{}}
}

func (r *runIDs) of(x []float64) string {
	same := len(r.last) == len(x)
	for i := 0; same && i < len(x); i++ {
		same = r.last[i] == x[i]
	}
	if same {
		return r.id
	}
	b := r.buf[:0]
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, r.inputs[i]...)
		b = append(b, '=')
		b = strconv.AppendFloat(b, v+0, 'g', -1, 64) // −0 + 0 is 0: they are equal
	}
	r.buf = b
	id, ok := r.known[string(b)]
	if !ok {
		id = string(b)
		r.known[id] = id
	}
	r.last, r.id = append(r.last[:0], x...), id
	return id
}
