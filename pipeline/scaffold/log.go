package scaffold

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/setpoint"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
)

// A log is a table that people typed or a program kept during a campaign: a row a recording,
// with the columns of the conditions, of counters, dates and readings.
const (
	mostLog   = 4 << 20 // bytes of one that is looked at
	manyAlike = 3       // files of such names are data, none a log
)

// splitLog takes the table of conditions off the files: one with a column file, else the table
// whose cells name the most of the other files.
func splitLog(dir string, files []string, r *Result) (log string, rest []string) {
	alike := map[string]int{}
	for _, f := range files {
		alike[numbers.ReplaceAllString(f, "0")]++
	}

	most := 0
	var logs []string
	for _, f := range files {
		fi, err := os.Stat(filepath.Join(dir, f))
		ext := strings.ToLower(path.Ext(f))
		if err != nil || fi.Size() > mostLog || !slices.Contains([]string{".csv", ".txt", ".tsv", ".dat", ".log"}, ext) ||
			note(f) || alike[numbers.ReplaceAllString(f, "0")] >= manyAlike {
			continue
		}

		n := len(files) // a table that has its own column file comes first
		if !isConditions(filepath.Join(dir, f)) {
			n = named(dir, f, files)
		}

		if n == 0 {
			continue
		}

		if logs = append(logs, f); n > most {
			most, log = n, f
		}
	}

	for _, f := range logs {
		if f != log {
			r.note("another table of conditions, %s, is not used", f)
		}
	}

	return log, slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(logs, f) })
}

// named is how many other files the rows of a table name, 0 of one that is no log of them.
func named(dir, log string, files []string) int {
	others := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == log })
	c, err := campaign.ReadLog(filepath.Join(dir, log), campaign.LogOptions{Files: others})
	if err != nil {
		return 0
	}

	seen := map[int]bool{}
	for _, of := range c.FilesOf(others) {
		for _, i := range of {
			seen[i] = true
		}
	}

	if n := len(seen); 2*n >= len(c.Rows) && (n > 1 || len(c.Rows) == 1) {
		return n
	}

	return 0
}

// terms are names of conditions in logs, by the program's names. The unit decides where given.
var terms = []struct {
	name, unit string // a unit of the same dimension
	words      pattern
}{
	{"rpm", "1/min", lazy(`(?i)^(rpm|drehzahl|n|((shaft|rotor|fan|rotational) )?speed|umdrehungen)$`)},
	{"u_inf_m_s", "m/s", lazy(`(?i)^(u|v|u_inf|uinf|u∞|((air|wind|tunnel) ?)?speed|velocity|wind|` +
		`(wind|anström)?geschwindigkeit|anströmung)$`)},
	{"alpha_deg", "deg", lazy(`(?i)^(a|α|alpha|aoa|angle of attack|incidence|anstellwinkel)$`)},
	{"theta_deg", "deg", lazy(`(?i)^(θ|theta|angle|winkel|mic angle|microphone angle|mikrofonwinkel)$`)},
	{"blades", "", lazy(`(?i)^(blades|blade count|number of blades|no\.? of blades|b|z|blätter|blattzahl|` +
		`schaufeln|schaufelzahl|flügel|flügelzahl)$`)},
}

// termOf is the program's name of a log's column; "" of none.
func termOf(name, unit string) string {
	for _, t := range terms {
		if name == t.name {
			return name
		}
	}

	for _, t := range terms {
		if !t.words.MatchString(strings.TrimSpace(strings.ReplaceAll(name, "_", " "))) && !t.words.MatchString(name) {
			continue
		}

		if _, err := units.ToName(t.name, unit); unit != "" && t.unit != "" && err == nil || unit == "" && name != "speed" &&
			name != "Speed" || t.unit == "" {
			return t.name
		}
	}

	return ""
}

// counter are names of columns that number or date the rows.
var counter = lazy(`(?i)^(nr|no|number|nummer|lfd|lfd\.? *nr|run|run *no|index|idx|id|#|messung|lauf|` +
	`versuch|test|point|messpunkt|date|datum|time|zeit|uhrzeit|day|tag|take|rec|recording|file *no|datei *nr|seq|serial|` +
	`stamp|timestamp|time *stamp)\.?$`)

// countsRows reports whether a column counts the rows, by its name or by its values, which go up by 1.
func countsRows(name string, v []float64) bool {
	if counter.MatchString(strings.TrimSpace(strings.ReplaceAll(name, "_", " "))) {
		return true
	}

	for i := 1; i < len(v); i++ {
		if v[i] != v[i-1]+1 {
			return false
		}
	}

	return len(v) > 3 && (v[0] == 0 || v[0] == 1)
}

// fromLog reads the conditions from a table in the folder. Counters, dates and readings are no
// inputs; files without a row, or without a value of an input, are left out.
func (p *plan) fromLog(dir string, files []string, r *Result) (used []string, rows []map[string]float64) {
	c, err := campaign.ReadLog(filepath.Join(dir, p.Conditions), campaign.LogOptions{Files: files})
	if err != nil {
		r.note("the table of conditions does not fit yet: %v", err)
		return files, nil
	}

	rowsOf := make([][]campaign.ConditionRow, len(files))
	texts := make([][]string, len(c.Labels))
	var values []map[string]float64
	for k, of := range c.FilesOf(files) {
		if len(of) == 0 {
			continue
		}

		m := map[string]float64{}
		for i, v := range c.Rows[k].Values {
			m[c.Names[i]] = v
		}

		for i, t := range c.Rows[k].Labels {
			texts[i] = append(texts[i], t)
		}

		values = append(values, m)
		for _, i := range of {
			rowsOf[i] = append(rowsOf[i], c.Rows[k])
		}
	}

	at := p.chooseColumns(c, values, r)
	for i, f := range files {
		if len(rowsOf[i]) == 0 || slices.ContainsFunc(rowsOf[i], func(row campaign.ConditionRow) bool {
			return slices.ContainsFunc(p.Inputs, func(n string) bool { return math.IsNaN(row.Values[at[n]]) })
		}) {
			continue
		}

		used = append(used, f)
		for _, row := range rowsOf[i] {
			p.takeInterval(row)
			m := map[string]float64{}
			for _, n := range p.Inputs {
				m[n] = row.Values[at[n]]
			}

			rows = append(rows, m)
		}
	}

	switch n := len(files) - len(used); {
	case len(used) == 0:
		used = files
		r.note("the table of conditions does not fit yet: no row of %s has the name of a file and its conditions",
			p.Conditions)

	case n > 0:
		p.Exclude = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(used, f) })
		r.note("%s left out: no row of %s matches, or it has no value of an input", count(n, "file"), p.Conditions)
	}

	for k, name := range c.Labels {
		if !countsRows(name, nil) {
			p.byName(name, texts[k], files, r)
		}
	}

	p.scatter(rows, r)
	p.repeated(rows)

	return used, rows
}

// takeInterval remembers the shortest interval of samples.
func (p *plan) takeInterval(row campaign.ConditionRow) {
	p.intervals = p.intervals || row.Row1 > 0 || row.Row0 > 0 || row.Timed
	if n := row.Row1 - row.Row0; !row.Timed && row.Row1 > 0 && (p.shortest == 0 || n < p.shortest) {
		p.shortest = n
	}
}

// chooseColumns finds the inputs among a log's columns: settings, whose names are known or whose
// values repeat. It returns the column of each. Where it finds none, all that are no counters are.
func (p *plan) chooseColumns(c *campaign.Conditions, rows []map[string]float64, r *Result) map[string]int {
	at := map[string]int{}
	var others, counters []string
	for i, name := range c.Names {
		v := make([]float64, len(rows))
		for k, m := range rows {
			v[k] = m[name]
		}

		term := termOf(name, c.Units[name])
		switch {
		case term != "" && at[term] == 0 && !slices.Contains(p.Inputs, term):
			if at[term] = i; term != name {
				p.LogColumns = append(p.LogColumns, config.NamedString{Name: term, Value: name})
			}

			p.Inputs = append(p.Inputs, term)

		case countsRows(name, v):
			counters = append(counters, name)
		case repeat(v) || (&column{name: name}).says(known):
			at[name], p.Inputs = i, append(p.Inputs, name)
		default:
			others = append(others, name)
		}
	}

	if len(p.Inputs) == 0 {
		for _, name := range others {
			at[name], p.Inputs = slices.Index(c.Names, name), append(p.Inputs, name)
		}

		others = nil
	}

	if p.Ignored = counters; len(counters) > 0 {
		r.note("%s of %s counts or dates the runs, and is no input", strings.Join(counters, ", "), p.Conditions)
	}

	if p.Readings = others; len(others) > 0 {
		r.note("%s of %s has another value in each row and is no input; add it to inputs where it was set",
			strings.Join(others, ", "), p.Conditions)
	}

	return at
}

// repeat reports whether the values are settings: each occurs twice, or they scatter about as few.
func repeat(v []float64) bool {
	seen := map[float64]bool{}
	for _, x := range v {
		seen[x] = true
	}

	points, ok := setpoint.Discover(v)

	return 2*len(seen) <= len(v) || len(seen) < 2 || ok && 2*len(points.List) <= len(v)
}

// scatter finds inputs that scatter about set points, which rows then have instead.
func (p *plan) scatter(rows []map[string]float64, r *Result) {
	for _, name := range p.Inputs {
		v := make([]float64, len(rows))
		for k, m := range rows {
			v[k] = m[name]
		}

		points, ok := setpoint.Discover(v)
		if !ok {
			continue
		}

		for k, m := range rows {
			if at, ok := points.Find(v[k]); ok {
				m[name] = at.Nominal
			}
		}

		text := fmt.Sprintf("%s: %s", name, points)
		p.Within = append(p.Within, config.NamedString{Name: name, Value: points.Tolerance.String()})
		p.Found = append(p.Found, text)
		r.note("%s; within names them", text)
	}
}

// repeated finds whether set points repeat.
func (p *plan) repeated(rows []map[string]float64) {
	n := map[string]int{}
	for _, m := range rows {
		n[fmt.Sprint(m)]++
	}

	repeated := 0
	for _, k := range n {
		if k > 1 {
			repeated += k
		}
	}

	if p.Repeated = !p.intervals && len(p.Inputs) > 0 && 5*repeated >= 4*len(rows) && len(n) > 1; p.Repeated {
		p.Ignored, p.Readings = append(p.Ignored, p.Readings...), nil // runs that differ in readings are repeats
	}
}
