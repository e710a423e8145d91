package scaffold

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/format/text"
	"doubletake/ingest/setpoint"
)

// A table of results has one row a run: columns of settings, at which rows are
// repeated, and columns of measured values. A table of samples has a clock or many
// rows, or rows that no setting tells apart.
const (
	mostRows    = 2000  // of a file of results
	mostResults = 20000 // of all files
	mostSamples = 100   // rows of results with a clock
	mostRepeats = 50    // rows of equal settings, in the median
)

// results is a table of results or of pairs that was recognised.
type results struct {
	Files   []string // globs
	used    []string
	Inputs  []string // columns and conditions of the names
	Y1, Y2  []string // of pairs
	Repeats []string // of single measurements
	Run     string
	same    []string // columns that the inputs determine
	left    []string // measured values of inputs, and uncertainties
	wander  []string // measured conditions without set points
}

// column is a column of all files.
type column struct {
	name, head string
	texts      []string
	values     []float64        // nil where not every cell is a number
	points     *setpoint.Points // about which the values scatter; nil: they do not
}

// distinct returns the number of values.
func (c *column) distinct() int {
	seen := map[string]bool{}
	for _, t := range c.texts {
		seen[t] = true
	}

	return len(seen)
}

// sheet is the rows of all files.
type sheet struct {
	columns []column
	file    []int // of each row
	clock   string
}

// fromResults takes a table of results, or of pairs, for what the files hold; false
// where they are recordings. It returns the conditions of each row.
func (p *plan) fromResults(dir string, files []string, r *Result) (rows []map[string]float64, ok bool) {
	s := readSheet(dir, files)
	if s == nil || s.columns == nil {
		return nil, false
	}

	t := s.findPairs()

	var given []*column
	if len(t.Y1) == 0 || len(t.Inputs) == 0 || s.clock != "" {
		var n *names
		n, given = s.ofNames(files)
		if t, ok = s.findRepeats(given); !ok {
			return nil, false
		}

		given = slices.DeleteFunc(given, func(c *column) bool { return !slices.Contains(t.Inputs, c.name) })
		switch {
		case len(given) == 0:
		case n.text != "" && p.matches(n.text, files):
			p.Pattern = n.text
		default:
			p.Conditions, r.Conditions = "conditions.csv", conditionsOfFiles(files, s, given)
		}

		if t.Files = globs(files); len(files) == 1 {
			t.Files = files
		}

		t.used = files
		r.note("%s: %d rows that are a table of results, one a run; rows at equal %s are repeats; correct inputs and "+
			"repeats where they are wrong", strings.Join(t.Files, ", "), len(s.file), strings.Join(t.Inputs, ", "))
	} else {
		longest := 0
		for i := range files {
			if s.rowsOf(i) > s.rowsOf(longest) {
				longest = i
			}
		}

		for i, f := range files {
			if i != longest {
				r.note("another table of pairs, %s, is not used", f)
			}
		}

		t.Files = files[longest : longest+1]
		t.used = t.Files
		r.note("%s is a table of pairs: %s and %s are the two outcomes", files[longest], strings.Join(t.Y1, ", "),
			strings.Join(t.Y2, ", "))
		s = readSheet(dir, t.Files)
	}

	if len(t.same) > 0 {
		r.note("the inputs determine %s: add what is a condition of its own", strings.Join(t.same, ", "))
	}

	if len(t.left) > 0 {
		r.note("neither conditions nor measured values, by their names: %s", strings.Join(t.left, ", "))
	}

	if len(t.wander) > 0 {
		r.note("no inputs, since their values have no set points: %s; add what the outcomes depend on",
			strings.Join(t.wander, ", "))
	}

	for _, c := range s.columns {
		if c.values == nil && c.name != t.Run && !countsRows(c.name, nil) {
			p.byName(c.name, c.texts, files, r)
		}
	}

	p.Results, p.Inputs = &t, slices.Clone(t.Inputs)
	p.doubt(r, "correct it in conditions.csv or in the pattern")

	rows = make([]map[string]float64, len(s.file))
	for i := range rows {
		rows[i] = map[string]float64{}
		for _, c := range given {
			rows[i][c.name] = c.values[i]
		}

		for k := range s.columns {
			if c := &s.columns[k]; slices.Contains(t.Inputs, c.name) {
				rows[i][c.name] = c.values[i]
			}
		}
	}

	p.scatter(rows, r)

	return rows, true
}

// matches reports whether a pattern reads all names.
func (p *plan) matches(pattern string, files []string) bool {
	q, err := campaign.ParsePattern(pattern)
	return err == nil && q.CheckNames(files) == nil
}

// conditionsOfFiles is the text of a table of conditions, which the files' names state.
func conditionsOfFiles(files []string, s *sheet, given []*column) string {
	var b strings.Builder
	b.WriteString("file")

	for _, c := range given {
		b.WriteString("," + c.name)
	}

	b.WriteString("\n")

	for i, f := range files {
		b.WriteString(cell(f))

		for _, c := range given {
			b.WriteString("," + number(c.values[slices.Index(s.file, i)]))
		}

		b.WriteString("\n")
	}

	return b.String()
}

// readSheet reads the columns that all files have; nil where the files cannot be results.
func readSheet(dir string, files []string) *sheet {
	s := &sheet{}
	for i, f := range files {
		c, err := campaign.ReadCells(filepath.Join(dir, f), mostRows)
		if err != nil || len(c.Rows) == 0 || c.Clock != "" && len(c.Rows) >= mostSamples {
			return nil
		}

		if i == 0 {
			s.clock = c.Clock
			for k, name := range c.Columns {
				s.columns = append(s.columns, column{name: name, head: c.Heads[k]})
			}
		}

		if len(s.file)+len(c.Rows) > mostResults {
			return nil
		}

		// Columns that not all files have are left out.
		s.columns = slices.DeleteFunc(s.columns, func(k column) bool { return !slices.Contains(c.Columns, k.name) })
		for k := range s.columns {
			at := slices.Index(c.Columns, s.columns[k].name)
			for _, row := range c.Rows {
				s.columns[k].texts = append(s.columns[k].texts, row[at])
			}
		}

		for range c.Rows {
			s.file = append(s.file, i)
		}
	}

	for k := range s.columns {
		c := &s.columns[k]
		for _, dec := range []byte{'.', ','} {
			if c.values = numbersOf(c.texts, dec); c.values != nil {
				break
			}
		}
	}

	return s
}

// numbersOf reads cells with a decimal sign; nil where one is no number.
func numbersOf(cells []string, dec byte) []float64 {
	out := make([]float64, len(cells))
	for i, t := range cells {
		v, doubtful, ok := text.Typed([]byte(t), dec)
		if !ok || doubtful {
			return nil
		}

		out[i] = v
	}

	return out
}

// rowsOf is the number of rows of a file.
func (s *sheet) rowsOf(file int) (n int) {
	for _, f := range s.file {
		if f == file {
			n++
		}
	}

	return n
}

// counts reports whether a column numbers the rows of each file: 0, 1, 2, … or 1, 2, …
func (s *sheet) counts(c *column) bool {
	for i, v := range c.values {
		if first := i == 0 || s.file[i] != s.file[i-1]; first && v != 0 && v != 1 || !first && v != c.values[i-1]+1 {
			return false
		}
	}

	return len(s.file) > 2 && c.values != nil
}

var (
	// known are words of columns that are settings even where their values scatter.
	known = lazy(`(?i)^(rpm|rps|n|blades|alpha|aoa|angle|theta|phi|beta|pitch|tsr|mach|u|speed|velocity|` +
		`airspeed|throttle|pwm|esc|nom|nominal|set|setpoint|command|advance|j|frequency|propeller|prop|motor)$`)
	// spread are words of columns that state an uncertainty.
	spread  = lazy(`(?i)^(std|sd|sigma|unc|uncertainty|dof|err|error|sem|var|variance|ci)$`)
	nominal = lazy(`(?i)^(nom|nominal|set|setpoint|command)$`)
	runs    = lazy(`(?i)^(run|id|name|test|tow|trial|case|point|label|file|serial)$`)
)

// says reports whether a word of the header is one of those; a letter is a word where
// it is the whole name.
func (c *column) says(re pattern) bool {
	return re.MatchString(c.name) || slices.ContainsFunc(words.FindAllString(c.name+" "+c.head, -1),
		func(w string) bool { return len(w) > 1 && re.MatchString(w) })
}

// shares reports whether two columns are about one setting: tsr_nom and mean_tsr.
func (c *column) shares(o *column) bool {
	return slices.ContainsFunc(words.FindAllString(c.name, -1), func(w string) bool {
		return known.MatchString(w) && !nominal.MatchString(w) &&
			slices.ContainsFunc(words.FindAllString(o.name, -1), func(v string) bool { return strings.EqualFold(v, w) })
	})
}

// groups numbers the rows by their values in the columns, and returns the sizes.
func groups(rows int, columns []*column) (of, sizes []int) {
	number := map[string]int{}
	for i := range rows {
		key := ""
		for _, c := range columns {
			v := c.values[i]
			if c.points != nil {
				at, _ := c.points.Find(v)
				v = at.Nominal
			}

			key += fmt.Sprintf("%v\x00", v)
		}

		g, ok := number[key]
		if !ok {
			g = len(sizes)
			number[key] = g
			sizes = append(sizes, 0)
		}

		of, sizes[g] = append(of, g), sizes[g]+1
	}

	return of, sizes
}

// paired is the number of rows in groups of two or more.
func paired(sizes []int) (n int) {
	for _, k := range sizes {
		if k > 1 {
			n += k
		}
	}

	return n
}

// settings chooses the columns that state the condition of a row: those that split
// the rows into groups without taking their repeats from them. same are those that
// the chosen determine.
func (s *sheet) settings(candidates []*column) (chosen []*column, same []string) {
	rows := len(s.file)
	slices.SortStableFunc(candidates, func(a, b *column) int {
		rank := func(c *column) int {
			if c.says(known) {
				return 0
			}
			return 1
		}

		return rank(a) - rank(b)
	})

	_, sizes := groups(rows, nil)
	for _, c := range candidates {
		_, now := groups(rows, append(chosen[:len(chosen):len(chosen)], c))
		switch {
		case len(now) == len(sizes):
			same = append(same, c.name)
		case 2*len(now) >= 3*len(sizes) && 5*paired(now) >= 4*paired(sizes):
			chosen, sizes = append(chosen, c), now
		}
	}

	return chosen, same
}

// anyNames takes the numbers of names that have as many but differ in their words.
func anyNames(files []string) *names {
	n := &names{values: map[string]map[string]float64{}}

	texts, first := cut(filepath.Base(files[0]))
	for k := range first {
		word, numbering := label(texts, k), false

		var values []float64
		for _, f := range files {
			t, nums := cut(filepath.Base(f))
			if len(nums) != len(first) {
				return &names{}
			}

			if label(t, k) != word {
				word = ""
			}

			numbering = numbering || isNumbering(t, nums, k)
			values = append(values, value(nums[k]))
		}

		if numbering {
			continue
		}

		name := fieldName(word, n.names, values)
		n.names = append(n.names, name)
		for i, f := range files {
			if n.values[f] == nil {
				n.values[f] = map[string]float64{}
			}
			n.values[f][name] = values[i]
		}
	}

	return n
}

// ofNames are the conditions in the names of the files, as columns; those that are a
// column already are left out.
func (s *sheet) ofNames(files []string) (n *names, out []*column) {
	if n = naming(files); len(n.odd) > 0 {
		n = anyNames(files)
	}

	for _, name := range n.names {
		c := &column{name: name, head: name}
		for _, f := range s.file {
			v := n.values[files[f]][name]
			c.values = append(c.values, v)
			c.texts = append(c.texts, number(v))
		}

		is := func(o column) bool { return slices.Equal(o.values, c.values) }
		if c.distinct() > 1 && !slices.ContainsFunc(s.columns, is) {
			out = append(out, c)
		}
	}

	return n, out
}

// findPairs finds outcomes NAME_1 and NAME_2 and the other columns of numbers.
func (s *sheet) findPairs() (t results) {
	has := func(name string) bool {
		return slices.ContainsFunc(s.columns, func(c column) bool { return c.name == name && c.values != nil })
	}
	for _, c := range s.columns {
		base, first := strings.CutSuffix(c.name, "_1")

		other, second := strings.CutSuffix(c.name, "_2")
		switch {
		case first && has(c.name) && has(base+"_2"):
			t.Y1, t.Y2 = append(t.Y1, c.name), append(t.Y2, base+"_2")
		case second && has(c.name) && has(other+"_1"):
		case c.values == nil && c.says(runs):
			t.Run = c.name
		case c.values != nil && !s.counts(&c) && c.distinct() > 1:
			t.Inputs = append(t.Inputs, c.name)
		}
	}

	return t
}

// findRepeats finds settings at which rows repeat, and measured values. given are
// the conditions of the files' names.
func (s *sheet) findRepeats(given []*column) (t results, ok bool) {
	rows := len(s.file)
	var candidates, scatter []*column

	var measured, texts, counters []*column
	for k := range s.columns {
		c := &s.columns[k]
		d := c.distinct()
		switch {
		case d < 2 || c.name == s.clock:
		case c.values == nil:
			texts = append(texts, c)
		case s.counts(c) || d == rows && countsRows(c.name, nil):
			counters = append(counters, c)
		case 2*d <= rows && roleOf(c.name) == "":
			candidates = append(candidates, c)
		case c.says(spread):
			t.left = append(t.left, c.name)
		case c.says(known):
			scatter = append(scatter, c)
		default:
			measured = append(measured, c)
		}
	}

	chosen, same := s.settings(slices.Concat(given, candidates))
	exact := slices.ContainsFunc(chosen, func(c *column) bool { return !slices.Contains(given, c) })

	scatters := false
	for _, c := range scatter {
		points, ok := setpoint.Discover(c.values)
		switch {
		case slices.ContainsFunc(chosen, c.shares):
			t.left = append(t.left, c.name)
		case !ok:
			t.wander = append(t.wander, c.name)
		default:
			c.points, scatters = &points, true
			chosen = append(chosen, c)
		}
	}

	of, sizes := groups(rows, chosen)
	sorted := slices.Sorted(slices.Values(sizes))
	if !exact && (!scatters || rows/(s.file[rows-1]+1) >= mostSamples) || len(measured) == 0 ||
		len(sizes) < 3 || sorted[len(sizes)/2] > mostRepeats || 4*paired(sizes) < rows {
		return t, false
	}

	for _, c := range chosen {
		t.Inputs = append(t.Inputs, c.name)
	}

	for _, c := range measured {
		t.Repeats = append(t.Repeats, c.name)
	}

	t.same = same

	// The run: a text that differs within every group, else the file.
	differs := func(id func(row int) string) bool {
		seen := map[string]bool{}
		for i := range rows {
			key := fmt.Sprint(of[i], "\x00", id(i))
			if seen[key] {
				return false
			}

			seen[key] = true
		}

		return true
	}

	for _, c := range slices.Concat(counters, texts) {
		if countsRows(c.name, nil) && t.Run == "" && differs(func(i int) string { return c.texts[i] }) {
			t.Run = c.name
		}
	}

	for _, c := range texts {
		if t.Run == "" && differs(func(i int) string { return c.texts[i] }) {
			t.Run = c.name
		}
	}

	if t.Run == "" && differs(func(i int) string { return number(float64(s.file[i])) }) {
		t.Run = "file"
	}

	return t, true
}
