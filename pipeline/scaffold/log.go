package scaffold

import (
	"errors"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
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

	most := 0
	var logs []string
	for _, f := range files {
		fi, err := os.Stat(filepath.Join(p.dir, f))
		if err != nil || fi.Size() > mostLog || !slices.Contains(logEndings, strings.ToLower(path.Ext(f))) ||
			prose.MatchString(path.Base(f)) || alike[number(f)] >= manyAlike {
			continue
		}

		n := named(p.dir, f, files)
		if n > 0 {
			logs = append(logs, f)
		}

		if n > most {
			most, p.Conditions = n, f
		}
	}

	for _, f := range logs {
		if f != p.Conditions {
			p.note("another table of conditions, %s, is not used", f)
		}
	}

	return lists.Keep(files, func(f string) bool { return !slices.Contains(logs, f) })
}

var logEndings = []string{".csv", ".txt", ".tsv", ".dat", ".log"}

// tableName matches names of tables of conditions.
var tableName = regexp.MustCompile(`(?i)condition|protokoll|logbook|(^|[-_ ])log([-_ .]|$)`)

// named is how many other files the rows of a table name, 0 of one that is no log of them. A table
// with its own column file comes first.
func named(dir, log string, files []string) int {
	var data *fault.Error
	switch _, err := campaign.ReadLog(filepath.Join(dir, log), campaign.LogOptions{}); {
	case err == nil, errors.As(err, &data) && tableName.MatchString(path.Base(log)):
		return len(files)
	}

	others := lists.Keep(files, func(f string) bool { return f != log })
	c, err := campaign.ReadLog(filepath.Join(dir, log), campaign.LogOptions{Files: others})
	if err != nil {
		return 0
	}

	n := len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.FilesOf(others)...)))))
	if rows := len(c.Rows) + c.Others; 2*n >= rows && (n > 1 || rows == 1) {
		return n
	}

	return 0
}

type term struct {
	name, unit string // a unit of the same dimension
	words      pattern
}

// terms are names of conditions in logs, by the program's names. The unit decides where given.
var terms = []term{
	{"rpm", "1/min", lazy(`rpm|drehzahl|n|((shaft|rotor|motor|propeller|fan|rotational) )?speed|umdrehungen|` +
		`r[ée]gime|tours|(vitesse|velocidad|velocit[àa])( (de|di) (rotation|giro|rotación|rotazione))?|giri|` +
		`revoluciones|toerental`)},
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

// termOf is the program's name of a log's column; "" of none. A letter without a unit has no meaning.
func termOf(name, unit string) string {
	words := strings.TrimSpace(strings.ReplaceAll(name, "_", " "))
	for _, t := range terms {
		fits := t.unit == "" || unit == "" && len(name) > 1 && !anySpeed.MatchString(name)
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
	c, err := campaign.ReadLog(filepath.Join(p.dir, p.Conditions), campaign.LogOptions{Files: files})
	if err != nil {
		p.note("the table of conditions does not fit yet: %v", err)
		return files
	}

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
	for i, f := range files {
		whole := len(rowsOf[i]) > 0
		for range rowsOf[i] {
			whole = whole && !slices.ContainsFunc(inputs, func(f *field) bool { return f.text(at) == "" })
			at++
		}

		if whole {
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
		if n := int64(row.End - row.Begin); !row.Timed && ends && (p.shortest == 0 || n < p.shortest) {
			p.shortest = n
		}
	}

	given := nameSheet(used)
	if len(used) < 2 || given.pattern() == "" || len(given.odd) > 0 {
		if stated := headsOf(given.of(input, thing, day)); len(stated) > 0 {
			p.note("the names are built in several ways: what they state besides %s is left out: %s", p.Conditions,
				strings.Join(stated, ", "))
		}

		given = &sheet{}
	}

	p.Files, p.sheet = globs(used), p.typed(c, rows, given, of)
	p.settleNames(p.sheet, given)
	if p.log(); len(rows) == len(used) {
		p.sheet.files = used
	}

	return used
}

// typed makes columns of rows of a log and of the names of their files, and decides what they are for.
func (p *plan) typed(c *campaign.Conditions, rows []campaign.ConditionRow, given *sheet, of []int) *sheet {
	s := &sheet{from: p.Conditions, rows: len(rows)}
	for i, name := range slices.Concat(c.Names, c.Labels) {
		f := s.field(name)
		f.unit = c.Units[name]
		for k, row := range rows {
			if stated := row.States[i]; stated.IsName {
				f.texts[k], f.values = stated.Name, nil
			} else {
				f.values[k], f.texts[k] = stated.Value, decimal(stated.Value)
			}
		}
	}

	for _, f := range s.fields {
		if term := termOf(f.head, f.unit); f.values != nil && term != "" && (term == f.head || !s.has(term)) {
			to, _ := units.ToName(term, f.unit) // it fits
			to.Convert(f.values)
			f.name, f.known = term, true
		}
	}

	columns := s.fields[:len(s.fields):len(s.fields)]
	s.ofNames(given, of)
	s.decideLog()

	p.Log.Columns = nil
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
	groups := s.groups(append(s.of(input), s.of(thing)...)...)
	p.Repeated = !p.intervals && len(s.of(input)) > 0 && 5*paired(groups) >= 4*s.rows && len(groups) > 1
	for _, f := range s.of(runs, remark, leftOut) {
		constant := f.distinct() < 2
		switch {
		case f.given || f.values == nil || f.known && constant || f.role == leftOut && !p.Repeated:
		case f.role != remark || p.Repeated && !constant || f.isNumbered() || f.says(clockWords):
			p.Log.Ignore = append(p.Log.Ignore, f.head)
			p.Log.Columns = slices.DeleteFunc(p.Log.Columns, func(c config.NamedString) bool { return c.Value == f.head })
		}
	}
}

// setupName matches names of a matrix and of a table of microphones.
var setupName = regexp.MustCompile(`(?i)matri[xz]|^(mic|mik)[^0-9]*$`)

// mostSetup is the most rows of such a table.
const mostSetup = 1000

// loadOf are the outcomes of a matrix's rows that are proposed.
var loadOf = map[string]string{"fx": "fx_n", "fz": "fz_n", "my": "my_nm"}

// findRig takes the table of microphones and the matrix off the files.
func (p *plan) findRig(files []string) []string {
	for _, f := range files {
		var c campaign.Cells
		if setupName.MatchString(strings.TrimSuffix(path.Base(f), path.Ext(f))) {
			if table, err := campaign.ReadCells(filepath.Join(p.dir, f), mostSetup); err == nil && table.Rows > 0 {
				c = *table
			}
		}

		switch {
		case slices.Contains(c.Columns, "channel"):
			p.Microphones = f
			p.places = lists.Keep(c.Columns, func(n string) bool { return strings.HasSuffix(n, "_deg") })
		case len(c.Columns) > 1 && len(c.Columns) == len(c.Units)+1:
			p.Matrix, p.components = f, c.Column(nil, 0)
		default:
			p.found = append(p.found, f)
		}
	}

	return p.found
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
		}
	}

	if len(p.Columns) > 0 {
		p.Voltages = p.Channels
	}

	return len(p.Columns) > 0
}

// namesTares reports whether a column of the log names files that have no row: recordings without wind.
func (p *plan) namesTares(f *field) bool {
	of := campaign.FilesOf(slices.Compact(slices.Sorted(slices.Values(f.texts))), p.found)
	if len(p.Columns) == 0 || p.sheet.names != nil || f.given ||
		slices.ContainsFunc(of, func(k []int) bool { return len(k) != 1 }) {
		return false
	}

	for _, k := range of {
		p.tares = append(p.tares, p.found[k[0]])
	}

	p.Tares = append(p.Tares, f.head)

	return true
}

// Alpha reports whether the angle of attack is known.
func (p *plan) Alpha() bool { return p.sheet.has("alpha_deg") }
