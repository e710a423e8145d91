package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

var digits = regexp.MustCompile(`\d+`)

// A log is a table that people typed or a program kept during a campaign: a row a recording,
// with the columns of the conditions, of counters, dates and readings.
const (
	mostLog   = 4 << 20 // bytes of one that is looked at
	manyAlike = 3       // files of such names are data, none a log
)

// splitLog takes the table of conditions off the files: one with a column file, else the table
// whose cells name the most of the other files.
func (p *plan) splitLog(files []string) (rest []string) {
	number := func(f string) string { return digits.ReplaceAllString(f, "0") }
	alike := map[string]int{}
	for _, f := range files {
		alike[number(f)]++
	}

	names := map[string]int{}
	logs, rest := lists.Split(files, func(f string) bool {
		fi, err := os.Stat(filepath.Join(p.dir, f))
		if err == nil && fi.Size() <= mostLog && slices.Contains(logEndings, strings.ToLower(path.Ext(f))) &&
			!prose.MatchString(path.Base(f)) && alike[number(f)] < manyAlike {
			names[f] = named(p.dir, f, files)
		}

		return names[f] > 0
	})
	if len(logs) > 0 {
		p.Conditions = slices.MaxFunc(logs, func(a, b string) int { return names[a] - names[b] })
	}

	for _, f := range logs {
		if f != p.Conditions {
			p.note("another table of conditions, %s, is not used", f)
		}
	}

	return rest
}

var logEndings = []string{".csv", ".txt", ".tsv", ".dat", ".log"}

// tableName matches names of tables of conditions.
var tableName = regexp.MustCompile(`(?i)condition|proto[ck]oll?|logbook|(^|[-_ ])log([-_ .]|$)`)

// named is how many other files the rows of a table name, 0 of one that is no log of them. A table
// with its own column file comes first.
func named(dir, log string, files []string) int {
	var data *fault.Error
	_, err := campaign.ReadLog(filepath.Join(dir, log), campaign.LogOptions{})
	if err == nil || errors.As(err, &data) && tableName.MatchString(path.Base(log)) {
		return len(files)
	}

	others := lists.Keep(files, func(f string) bool { return f != log })
	c, err := readLog(filepath.Join(dir, log), others, nil)
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, log))
		in := lists.Keep(others, func(f string) bool { return bytes.Contains(text, []byte(path.Base(f))) })
		if 2*len(in) > len(others) { // it says so itself, and which cell does not fit
			return len(in)
		}

		return 0
	}

	n := len(lists.Alike(slices.Concat(c.FilesOf(others)...)))
	if rows := len(c.Rows) + c.Others; 2*n >= rows && (n > 1 || rows == 1) {
		return n
	}

	return 0
}

// readLog reads a log; where its cells do not fit, columns of things hold names.
func readLog(log string, files []string, columns map[string]string) (*campaign.Conditions, error) {
	o := campaign.LogOptions{Files: files, Columns: columns}
	c, err := campaign.ReadLog(log, o)
	if err != nil {
		o.IsName = func(column string) bool { return (&field{name: column}).isObject() }
		if named, err := campaign.ReadLog(log, o); err == nil {
			return named, nil
		}
	}

	return c, err
}

// Headers of the seconds from which to which a row of a log is about a recording.
var edges = []term{
	{"t0_s", "s", lazy(`(t(ime)?_?)?(0|start|begin|from|von|anfang|beginn)([ _(\[]*(s|sec|seconds)[)\]]?)?`)},
	{"t1_s", "s", lazy(`(t(ime)?_?)?(1|end|stop|to|until|bis|ende)([ _(\[]*(s|sec|seconds)[)\]]?)?`)},
}

// inParts reads a log again with which several rows are about parts of one recording, but not by the program's names.
func (p *plan) inParts(c *campaign.Conditions, files []string) *campaign.Conditions {
	to, stated := map[string]string{}, []config.NamedString{}
	for _, e := range edges {
		if name, ok := lists.Find(c.Names, e.words.MatchString); ok {
			to[e.name], stated = name, append(stated, config.NamedString{Name: e.name, Value: name})
		}
	}

	_, different := lists.Index(lists.Each(c.Rows, func(r campaign.ConditionRow) string { return r.File }))
	parts, err := readLog(filepath.Join(p.dir, p.Conditions), files, to)
	if len(different) == len(c.Rows) || len(to) < len(edges) || err != nil {
		return c
	}

	p.edges = stated

	return parts
}

type term struct {
	name, unit string // a unit of the same dimension
	words      pattern
}

// terms are names of conditions in logs, by the program's names. The unit decides where given.
var terms = []term{
	{"rpm", "1/min", lazy(`(soll|ist|nenn)?drehzahl|n|((shaft|rotor|motor|prop|propeller|fan|rotational) )?(speed|rpm)|` +
		`umdrehungen|r[ée]gime|tours|(vitesse|velocidad|velocit[àa])( (de|di) (rotation|giro|rotación|rotazione))?|giri|` +
		`speed rpm|revoluciones|toerental`)},
	{"u_inf_m_s", "m/s", lazy(`u|v|u_inf|uinf|u∞|((air|wind|tunnel) ?)?speed|velocity|wind|(wind)?snelheid|` +
		`(wind|anström)?geschwindigkeit|anströmung|(vitesse|velocidad|velocit[àa])( (du|de|del|dell') ?\pL+)?`)},
	{"alpha_deg", "deg", lazy(`a|α|alpha|aoa|angle of attack|incidence|anstellwinkel|incidenza|incidencia|` +
		`angle d['’](attaque|incidence)|angolo (di |d['’])attacco|[áa]ngulo de ataque|invalshoek`)},
	{"theta_deg", "deg", lazy(`θ|theta|angle|winkel|mic angle|microphone angle|mikrofonwinkel|angolo|[áa]ngulo`)},
	{"blades", "", lazy(`blades|blade count|number of blades|no\.? of blades|blätter|blattzahl|schaufeln|` +
		`schaufelzahl|flügel|flügelzahl|(nombre de |n[úu]mero de |numero di )?pal(e|es|as)`)},
}

// anySpeed are names of a speed, of the air or of a shaft: the unit decides.
var anySpeed = lazy(`speed|vitesse|velocidad|velocit[àa]|snelheid`)

// bare are the words of a header, but those of values as set or as measured.
func bare(head string) string {
	name, _ := text.SplitUnit(head)
	part := func(r rune) bool { return strings.ContainsRune("_ ()[]", r) }
	how := func(w string) bool { return nominal.MatchString(w) || actual.MatchString(w) }

	return strings.Join(slices.DeleteFunc(strings.FieldsFunc(name, part), how), " ")
}

// termOf is the program's name of a log's column, as set or as measured; "" of none. A letter without a unit has no
// meaning but n_soll.
func termOf(name, unit string) string {
	words := bare(name)
	for _, t := range terms {
		fits := t.unit == "" || unit == "" && !anySpeed.MatchString(words) &&
			(len(words) != 1 || words == "n" && words != name)
		if unit != "" && t.unit != "" {
			_, err := units.ToName(t.name, unit)
			fits = err == nil
		}

		if name == t.name || fits && (t.words.MatchString(words) || t.words.MatchString(name)) {
			return t.name
		}
	}

	return ""
}

// fromLog reads the conditions from a table in the folder. Files without a row, or without a value
// of an input, are left out.
func (p *plan) fromLog(files []string) (used []string) {
	c, err := readLog(filepath.Join(p.dir, p.Conditions), files, nil)
	if err != nil {
		p.note("the table of conditions does not fit yet: %v", err)
		return files
	}

	c = p.inParts(c, files)
	rowsOf := make([][]campaign.ConditionRow, len(files))
	for k, of := range c.FilesOf(files) {
		for _, i := range of {
			rowsOf[i] = append(rowsOf[i], c.Rows[k])
		}
	}

	// The inputs are chosen by all rows; then the files with a row without a value of one are left out.
	var rows []campaign.ConditionRow
	var of []int // the file of each
	inputs, at := p.typed(c, slices.Concat(rowsOf...), &sheet{}, nil).of(input), 0
	lacks := func(k int) bool { return slices.ContainsFunc(inputs, func(f *field) bool { return f.text(k) == "" }) }
	for i, f := range files {
		n := len(rowsOf[i])
		if at += n; n > 0 && !slices.ContainsFunc(lists.Numbers(n), func(k int) bool { return lacks(at - n + k) }) {
			of = append(of, slices.Repeat([]int{len(used)}, len(rowsOf[i]))...)
			used, rows = append(used, f), append(rows, rowsOf[i]...)
		}
	}

	switch n := len(files) - len(used); {
	case len(used) == 0:
		used = files
		p.note("the table of conditions does not fit yet: no row of %s has the name of a file and its conditions",
			p.Conditions)

	case n > 0:
		p.note("%s left out: no row of %s matches, or it has no value of an input", are(n, "file"), p.Conditions)
	}

	for _, row := range rows {
		ends := !math.IsInf(row.End, 1)
		p.intervals = p.intervals || ends || row.Begin > 0 || row.Timed
		if row.Timed {
			p.seconds = min(p.seconds, row.End-row.Begin)
		} else if ends {
			p.shortest = min(p.shortest, int64(row.End-row.Begin))
		}
	}

	// What only some of the names state, or those of files in parts, cannot be taken: without it no rows are repeats.
	given, lost := nameSheet(used), &sheet{}
	if len(given.of(input, thing, day)) == 0 || len(given.odd) > 0 ||
		given.pattern() == "" && (len(rows) > len(used) || p.intervals) {
		given, lost = lost, given
	}

	p.Files, p.sheet = globs(used), p.typed(c, rows, given, of)
	p.settleNames(p.sheet, given)
	if p.log(); len(rows) == len(used) {
		p.sheet.files = used
	}

	if stated := headsOf(lost.of(input, thing, day)); len(stated) > 0 {
		p.Repeated = false
		p.note("the names are built in several ways: what they state besides %s is left out: %s", p.Conditions,
			strings.Join(stated, ", "))
	}

	if p.result.Conditions != "" {
		p.note("the names are built in several ways: conditions.csv holds what they and %s state", p.sheet.from)
		p.Log = config.Log{}
		p.table(p.sheet)
	}

	return used
}

// typed decides what the columns of a log are for, and the parts of the names of its files.
func (p *plan) typed(c *campaign.Conditions, rows []campaign.ConditionRow, given *sheet, of []int) *sheet {
	s := &sheet{from: p.Conditions, rows: len(rows)}
	for i, name := range slices.Concat(c.Names, c.Labels) {
		f := s.field(name)
		f.unit = c.Units[name]
		if len(rows) > 0 {
			f.values = nil
			f.take(lists.Each(rows, func(r campaign.ConditionRow) condition.Condition { return r.States[i] }))
		}
	}

	set, others := lists.Split(s.fields, func(f *field) bool { return f.says(nominal) })
	for _, f := range append(set, others...) {
		if term := termOf(f.head, f.unit); f.values != nil && term != "" && (term == f.head || !s.has(term)) {
			to, _ := units.ToName(term, f.unit) // it fits
			to.Convert(f.values)
			f.name, f.known = term, true
		}
	}

	columns := s.fields[:len(s.fields):len(s.fields)]
	s.ofNames(given, of)
	s.decideLog()

	p.Log.Columns = slices.Clone(p.edges)
	for _, f := range columns {
		names := f.values == nil
		if slices.Contains(condition.Reserved, f.head) && (!names || f.role == thing || f.role == day) {
			f.name += map[bool]string{true: "_name", false: "_number"}[names] // they have other meanings in tables
		}

		if f.name != f.head {
			p.Log.Columns = append(p.Log.Columns, config.NamedString{Name: f.name, Value: f.head})
		}
	}

	return s
}

// log states how the columns of the log are read: where set points of one thing repeat, runs that
// differ in readings alone are repeats.
func (p *plan) log() {
	s := p.sheet
	p.Repeated = p.repeated()
	for _, f := range s.of(runs, remark, leftOut) {
		constant := f.distinct() < 2
		switch {
		case f.given || f.values == nil || f.known && constant || f.role == leftOut && !p.Repeated && !f.unstated():
		case f.role != remark || p.Repeated && !constant || f.isNumbered() || f.says(clockWords):
			p.Log.Ignore = append(p.Log.Ignore, f.head)
			p.Log.Columns = slices.DeleteFunc(p.Log.Columns, func(c config.NamedString) bool { return c.Value == f.head })
		}
	}
}

// repeated reports whether most rows of a log repeat.
func (p *plan) repeated() bool {
	s := p.sheet
	groups := s.groups(append(s.of(input), s.of(thing)...)...)

	return !p.intervals && len(s.of(input)) > 0 && 5*paired(groups) >= 4*s.rows && len(groups) > 1 &&
		!slices.ContainsFunc(s.fields, (*field).unstated)
}

// setupName matches names of a matrix and of a table of microphones.
var setupName = regexp.MustCompile(`(?i)matri[xz]|^(mic|mik)[^0-9]*$`)

// loadOf are the outcomes of a matrix's rows that are proposed.
var loadOf = map[string]string{"fx": "fx_n", "fz": "fz_n", "my": "my_nm"}

// findRig takes the table of microphones, recordings of a calibrator that it names, and the matrix off the files.
func (p *plan) findRig(files []string) []string {
	var mics campaign.Cells
	for _, f := range files {
		var c campaign.Cells
		if setupName.MatchString(strings.TrimSuffix(path.Base(f), path.Ext(f))) {
			if table, err := campaign.ReadCells(filepath.Join(p.dir, f), mostRows); err == nil && table.Rows > 0 {
				c = *table
			}
		}

		switch {
		case slices.Contains(c.Columns, "channel"):
			p.Microphones, mics = f, c
			p.Sensitive = slices.Contains(c.Columns, "sensitivity_v_per_pa")
			p.places = lists.Keep(c.Columns, func(n string) bool { return strings.HasSuffix(n, "_deg") })
		case len(c.Columns) > 1 && len(c.Columns) == len(c.Units)+1:
			p.Matrix, p.components = f, c.Column(nil, 0)
		default:
			p.found = append(p.found, f)
		}
	}

	for k, name := range mics.Columns {
		_, number := mics.Units[name]
		if of := p.recordings(mics.Column(nil, k)); of != nil && !number {
			p.Calibrators = lists.Make(len(of), func(i int) config.NamedString {
				return config.NamedString{Name: plain(mics.Text(i, slices.Index(mics.Columns, "channel"))), Value: of[i]}
			})
			p.found = lists.Keep(p.found, func(f string) bool { return !slices.Contains(of, f) })
		}
	}

	return p.found
}

// recordings are the files that cells name, one each, nil where one names none.
func (p *plan) recordings(cells []string) []string {
	of := campaign.FilesOf(cells, p.found)
	if slices.ContainsFunc(of, func(k []int) bool { return len(k) != 1 }) {
		return nil
	}

	return lists.Rows(p.found, 1, slices.Concat(of...))
}

// ofVolts proposes the loads of a balance whose matrix there is, if all channels are voltages.
func (p *plan) ofVolts() bool {
	volts := !slices.ContainsFunc(p.units, func(u string) bool { return u != "V" && u != "mV" })
	if p.Matrix == "" || !volts || !p.sheet.has("alpha_deg") {
		return false
	}

	for _, c := range p.components {
		if to := loadOf[strings.ToLower(c)]; to != "" {
			p.Columns = append(p.Columns, config.NamedString{Name: to, Value: c})
			p.Voltages = p.Channels
		}
	}

	return len(p.Columns) > 0
}

// namesTares reports whether a column of the log names files that have no row: recordings without wind.
func (p *plan) namesTares(f *field) bool {
	of := p.recordings(f.different())
	if len(p.Columns) == 0 || p.sheet.names != nil || f.given || f.values != nil || of == nil {
		return false
	}

	p.tares, p.Tares = append(p.tares, of...), append(p.Tares, f.head)

	return true
}

// Alpha reports whether the angle of attack is known.
func (p *plan) Alpha() bool { return p.sheet.has("alpha_deg") }

// A table of results has one row a run: columns of settings, at which rows are
// repeated, and columns of measured values. A table of samples has a clock or many
// rows, or rows that no setting tells apart.
const (
	mostRows    = 2000  // of a file of results
	mostResults = 20000 // of all files
	mostSamples = 100   // rows of results with a clock
	mostRepeats = 50    // rows of equal settings, in the median
)

// fromResults takes a table of results, or of pairs, for what the files hold, of which names or a log state what is
// given. It reports whether they are one.
func (p *plan) fromResults(given *sheet) bool {
	s, t := readSheet(p.dir, given.files), &config.Table{}
	if s == nil || len(s.fields) == 0 {
		return false
	}

	s.ofNames(given, s.file)
	if (s.clock != "" || !s.pairs(t)) && !p.repeats(s, t, given.files) {
		return false
	}

	p.leaveOdd(given)
	p.settleNames(s, given)
	if len(given.files) == 1 {
		p.Files = given.files
	}

	t.Inputs = headsOf(s.of(input))
	p.Table, p.sheet = t, s

	return true
}

func headsOf(fields []*field) []string {
	return lists.Each(fields, func(f *field) string { return f.name })
}

// repeats finds settings at which rows repeat, and measured values.
func (p *plan) repeats(s *sheet, t *config.Table, files []string) bool {
	s.decideResults()

	inputs, unstated := s.of(input), lists.Keep(s.fields, (*field).unstated)
	settings := append(inputs, s.of(thing)...)
	groups := s.groups(settings...)
	bySize := slices.SortedFunc(slices.Values(groups), func(a, b []int) int { return len(a) - len(b) })
	exact := len(s.of(thing, day)) > 0 ||
		slices.ContainsFunc(inputs, func(f *field) bool { return !f.given && f.points == nil })
	scatters := slices.ContainsFunc(inputs, func(f *field) bool { return f.points != nil })
	isTable := (exact || scatters && s.rows/len(files) < mostSamples) && len(inputs) > 0 && len(s.of(outcome)) > 0 &&
		len(groups) >= 3 && len(bySize[len(groups)/2]) <= mostRepeats && len(unstated) == 0
	switch {
	case isTable && 4*paired(groups) >= s.rows:
		t.Run = s.run(s.groups(inputs...))
		p.note("%s: %d rows that are a table of results, one a run; rows at equal %s are repeats; correct inputs and "+
			"repeats where they are wrong", s.from, s.rows, strings.Join(headsOf(inputs), ", "))
	case s.clock == "" && (len(files) == 1 || len(unstated) > 0) && len(settings)+len(unstated) > 0 &&
		(isTable || slices.ContainsFunc(s.fields, func(f *field) bool { return f.role == thing || f.says(outcomeWords) })):
		until := map[bool]string{true: "a row without a second one is not used", false: "until then its rows are read as " +
			"samples in time"}[isTable]
		p.note("%s: as a table of results it has too few rows that repeat %s: add rows of a second run or day, or take "+
			"out what repeats may differ in; %s", s.from, strings.Join(headsOf(append(settings, unstated...)), ", "), until)
		for _, f := range lists.Keep(s.fields, func(f *field) bool { return !isTable && f.role == leftOut || f.unstated() }) {
			p.note("%s: %s: %s", s.from, f.head, cmp.Or(f.why, "some rows state none"+ofMerged))
		}
	default:
		return false
	}

	t.Repeats = headsOf(s.of(outcome))
	if t.Outcomes = lists.Each(t.Repeats, s.outcomeName); slices.Equal(t.Outcomes, t.Repeats) {
		t.Outcomes = nil
	}

	return isTable
}

// ofNames adds what the names of files state, of each row one, unless a column states it, in the same writing or
// another: MF8045 beside MF 8045.
func (s *sheet) ofNames(given *sheet, file []int) {
	for _, g := range given.fields {
		values, texts := lists.Rows(g.values, 1, file), lists.Rows(g.texts, 1, file)
		f := &field{name: g.name, head: g.head, given: true, reading: g.reading, values: values, texts: texts}
		alike := func(a, b string) bool { return a == b || len(condition.Alike([]string{a, b})) > 0 }
		same := func(o *field) bool {
			return f.values != nil && slices.Equal(o.values, f.values) || slices.Equal(o.texts, f.texts) ||
				f.values == nil && o.values == nil && slices.EqualFunc(o.texts, f.texts, alike)
		}
		switch {
		case slices.ContainsFunc(s.fields, same):
			continue
		case s.has(f.name):
			s.differs(f, func(k int) string { return given.files[file[k]] })
		case g.values != nil && s.file == nil && strings.HasPrefix(f.name, "condition"):
			f.be(runs, "a number without a word, besides a log")
		case g.values != nil && g.role != input && !g.says(dayWords): // on texts and days the sheet decides
			f.be(g.role, g.why)
		}

		s.fields = append(s.fields, f)
	}
}

// differs leaves out what a column of that name states otherwise. It reports whether it does.
func (s *sheet) differs(f *field, file func(row int) string) bool {
	o := s.fields[slices.Index(headsOf(s.fields), f.name)]
	k := slices.IndexFunc(lists.Numbers(s.rows), func(k int) bool { return o.text(k) != f.text(k) })

	return k >= 0 && f.be(leftOut, fmt.Sprintf("a column has its name; %s states %s, the column %s", file(k), f.text(k),
		o.text(k)))
}

// settleNames gives what names state the roles that it has in a sheet, and takes it.
func (p *plan) settleNames(s, given *sheet) {
	for _, f := range given.fields {
		f.role = remark
		if g, ok := lists.Find(s.fields, func(g *field) bool { return g.given && g.head == f.head }); ok {
			if f.role = g.role; g.role == day && given.names != nil && !s.has("day") {
				f.name, g.name = "day", "day"
			}
		}
	}

	if given.names != nil && len(given.of(input, thing, day)) > 0 {
		p.takeNames(given)
	}
}

// run is the column that names the run: one that differs within every group, else the file; "" if
// there is none.
func (s *sheet) run(groups [][]int) string {
	may := func(f *field) bool { return !f.given && (f.role == runs || f.values == nil) }
	file := &field{name: "file", texts: lists.Each(s.file, strconv.Itoa)}
	for _, f := range append(lists.Keep(append(s.of(runs), s.of(remark)...), may), file) {
		repeats := func(g []int) bool { return len(lists.Alike(lists.Rows(f.texts, 1, g))) < len(g) }
		if !slices.ContainsFunc(groups, repeats) {
			return f.name
		}
	}

	return ""
}

// readSheet reads the columns that files have, each by any of its writings; nil where the files cannot be results.
func readSheet(dir string, files []string) *sheet {
	s := &sheet{from: strings.Join(globs(files), ", ")}
	if len(files) == 1 {
		s.from = files[0]
	}

	var tables []*campaign.Cells
	for i, file := range files {
		c, err := campaign.ReadCells(filepath.Join(dir, file), mostRows)
		if err != nil || c.Rows == 0 || c.Clock != "" && c.Rows >= mostSamples || s.rows+c.Rows > mostResults {
			return nil
		}

		for k, name := range c.Columns {
			if i == 0 || campaign.ColumnOf(headsOf(s.fields), name) < 0 {
				s.fields = append(s.fields, &field{name: name, head: c.Heads[k], unit: c.Units[name]})
			}
		}

		s.rows += c.Rows
		s.file = append(s.file, slices.Repeat([]int{i}, c.Rows)...)
		tables = append(tables, c)
		s.clock = tables[0].Clock
	}

	for _, f := range s.fields {
		for _, c := range tables {
			if k := campaign.ColumnOf(c.Columns, f.name); k >= 0 {
				f.texts = c.Column(f.texts, k)
			} else {
				f.texts = append(f.texts, make([]string, c.Rows)...)
				f.be(leftOut, "not all files have it")
			}
		}
	}

	columns, errs := condition.ReadColumns(func(k int) []string { return s.fields[k].texts },
		lists.Each(s.fields, func(f *field) condition.ColumnOptions {
			_, unit := text.SplitUnit(f.head)
			usual, _ := units.OfName(cmp.Or(termOf(f.name, unit), f.name))

			return condition.ColumnOptions{Usual: usual.Text}
		}))
	for k, f := range s.fields {
		f.values, f.unit = columns[k].Values, cmp.Or(columns[k].Unit, f.unit)
		names := f.isNumbered() || slices.ContainsFunc([]pattern{instances, dayWords, clockWords, remarkWords}, f.says)
		if errs[k] != nil && !names {
			f.be(leftOut, errs[k].Error())
		}
	}

	return s
}

// member is the header of one of the values that were measured of an outcome: CT_1, SPL run2.
var member = regexp.MustCompile(`(?i)^(.+?)(?:[ _]|[ _-]+(?:run|rep|repeat|take|trial|lauf|day|tag)[ _-]?)([0-9]+)$`)

// pairs finds outcomes NAME_1 and NAME_2; the other columns of numbers are inputs. It reports whether
// there are both.
func (s *sheet) pairs(t *config.Table) bool {
	of := map[[2]string]*field{} // by outcome and number
	parts := lists.Each(s.fields, func(f *field) (part [2]string) {
		if m := member.FindStringSubmatch(f.name); m != nil && f.values != nil && f.role == open {
			part = [2]string{m[1], m[2]}
			of[part] = f
		}

		return part
	})

	// Where rows repeat, columns with four numbers are of microphones, not of repeats.
	settings := lists.Keep(s.fields, func(f *field) bool { return f.values != nil && f.says(inputWords) })
	again := len(settings) > 0 && 2*paired(s.groups(settings...)) >= s.rows
	for i, f := range s.fields {
		name := parts[i][0]
		one, two := of[[2]string{name, "1"}], of[[2]string{name, "2"}]
		switch {
		case f.role == open && f.says(actual) && of[[2]string{bare(f.name), "1"}] != nil: // mean CT
			f.be(leftOut, "a value of an outcome, by its name")
		case one == nil || two == nil || again && of[[2]string{name, "4"}] != nil:
		case f == one:
			t.Y1, t.Y2, t.Outcomes = append(t.Y1, one.name), append(t.Y2, two.name), append(t.Outcomes, name)
			f.role, two.role = outcome, outcome
		case f != two:
			f.be(leftOut, "a pair is of the first two values of "+name+": a row for each value uses all")
		}
	}

	if len(t.Y1) == 0 {
		return false
	}

	if slices.Equal(t.Y1, lists.Each(t.Outcomes, func(n string) string { return n + "_1" })) {
		t.Outcomes = nil
	}

	s.decideLog()
	isRun := func(f *field) bool { return f.values == nil && (f.role == runs || f.says(names)) }
	if f, ok := lists.Find(s.fields, isRun); ok {
		f.be(runs, "")
		t.Run = f.name
	}

	return len(s.of(input)) > 0
}
