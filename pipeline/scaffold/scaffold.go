// Package scaffold looks at a folder of measurements and writes a commented
// pipeline.yaml that fits it: formats, channels, rates, conditions in the names.
// Settings it cannot know become comments that ask for them. It reads headers,
// never samples, and writes nothing: texts go back to the command. Package config
// defines the keys.
package scaffold

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/pipeline/config"
)

// Result is a configuration and notes made on the way.
type Result struct {
	YAML       string
	Conditions string   // text of a table conditions.csv the configuration needs in its folder; "": none
	Notes      []string // for people: findings, and settings to fill in
}

// maxDepth bounds how far below the folder recordings are looked for.
const maxDepth = 4

// maxOpened bounds how many headers are read.
const maxOpened = 2000

// Look makes a configuration for the recordings below dir. Paths in it are
// relative to dir, where the file belongs. A folder without files it knows
// gives a template for microphones, with a note.
func Look(dir string) (*Result, error) {
	found, err := list(dir)
	if err != nil {
		return nil, err
	}

	r := &Result{}
	formats, groups := format.All(), map[string][]string{}

	unread := map[string]string{}
	conditions, found := splitLog(dir, found, r)
	for _, f := range found {
		ext := strings.ToLower(filepath.Ext(f))
		if name, hint := format.Unread(ext); name != "" {
			unread[name] = hint
		}

		for _, k := range formats {
			if slices.Contains(k.Endings, ext) && !note(f) {
				groups[k.Name] = append(groups[k.Name], f)
			}
		}
	}

	chosen := ""
	for _, k := range formats { // the most numerous; of equals the first
		if len(groups[k.Name]) > len(groups[chosen]) {
			chosen = k.Name
		}
	}

	if chosen == "" {
		r.note("no recordings (%s) were found below %s: this is a template to fill in", format.Titles(), dir)

		for _, name := range slices.Sorted(maps.Keys(unread)) {
			r.note("%s files are not read: %s", name, unread[name])
		}

		r.YAML = render(plan{Name: "experiment", Files: []string{"data/*.wav"}, Spectra: true, Format: "wav", Todo: true})

		return r, nil
	}

	for _, k := range formats {
		if n := len(groups[k.Name]); k.Name != chosen && n > 0 {
			r.note("%s not used: an experiment reads one kind of file", count(n, k.Name+" file"))
		}
	}

	files := groups[chosen]

	p := plan{Name: "experiment", Format: chosen, Conditions: conditions}
	if base := filepath.Base(absolute(dir)); regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`).MatchString(base) {
		p.Name = base
	}

	p.Files = globs(files)
	p.Simulated = !slices.ContainsFunc(files,
		func(f string) bool { return !strings.HasPrefix(path.Base(f), "simulated_") })
	var rows []map[string]float64

	table := false
	switch {
	case conditions != "":
		files, rows = p.fromLog(dir, files, r)
	case chosen == "text" || chosen == "parquet":
		rows, table = p.fromResults(dir, files, r)
	}

	switch {
	case conditions == "" && !table:
		files, rows = p.fromNames(files, r)
		fallthrough
	case !table:
		p.look(dir, files, rows, r)
	default:
		p.Files, files = p.Results.Files, p.Results.used
	}

	p.holdOut(rows)

	for _, e := range p.Inside {
		p.Inputs, p.known = append(p.Inputs, e.Name), append(p.known, e.Name)
	}

	if !table {
		p.knowSpeed(r)
	}

	// The globs may take more than the recordings: the table of conditions itself, a README.
	if all, _, err := campaign.Find(p.Files, nil, dir); err == nil {
		for _, f := range all {
			if !slices.Contains(files, f) && !slices.Contains(p.Exclude, f) {
				p.Exclude = append(p.Exclude, f)
			}
		}
	}

	if len(p.Exclude) > 0 {
		r.note("left out (exclude): %s", strings.Join(p.Exclude, ", "))
	}

	if !table {
		p.leaveCopies(dir, files, r)
	}

	r.YAML = render(p)
	p.filled = true
	if _, err := config.Parse("pipeline.yaml", []byte(render(p))); err != nil {
		return nil, fmt.Errorf("write a configuration for %s: it would not be valid: %w", dir, err)
	}

	return r, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func count(n int, what string) string {
	if n == 1 {
		return plural(n, what) + " is"
	}
	return plural(n, what) + " are"
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Names that are held out one after the other.
const fewNames, manyNames = 3, 20

// byName takes the first column of text with some names that repeat for groups, unless they are
// names of files: a recording without wind.
func (p *plan) byName(name string, texts, files []string, r *Result) {
	seen := map[string]bool{}
	for _, t := range texts {
		seen[t] = true
	}

	isFile := func(f string) bool { return seen[f] || seen[path.Base(f)] }
	if n := len(seen); p.Each != "" || seen[""] || n < fewNames || n > manyNames || 2*n > len(texts) ||
		slices.ContainsFunc(files, isFile) {
		return
	}

	p.Each = plain([]string{name})[0]
	r.note("%s has %d names: the splits hold each of them out in turn; take the line out if they are no groups", name,
		len(seen))
}

// fromNames takes the conditions from the file names: by a pattern where all
// names are built alike, else by a table that is written next to the
// configuration, where people can correct it.
func (p *plan) fromNames(files []string, r *Result) (used []string, rows []map[string]float64) {
	n := naming(files)
	switch {
	case n.text == "":
		var b strings.Builder
		b.WriteString("file\n")

		for _, f := range files {
			b.WriteString(cell(f) + "\n")
		}

		p.Conditions, r.Conditions = "conditions.csv", b.String()
		r.note(noConditions)

		return files, nil

	case len(n.odd) == 0:
		p.Pattern, p.Inputs = n.text, n.names

		for _, f := range files {
			rows = append(rows, n.values[f])
		}

		p.doubt(r, "rename the field, or give the values in a table of conditions")

		return files, rows
	}

	variants := n.variants()

	for _, f := range files {
		if _, ok := n.values[f]; ok {
			used = append(used, f)
			rows = append(rows, n.values[f])
		}
	}

	p.Exclude = n.odd
	if len(variants) == 0 {
		p.Pattern, p.Inputs = n.text, n.names
		r.note("%s not named like the others and left out", count(len(n.odd), "file"))
		p.doubt(r, "rename the field, or give the values in a table of conditions")
		return used, rows
	}

	// Names of several makes: one pattern cannot hold them all.
	p.Conditions = "conditions.csv"
	p.Inputs = append(slices.Clone(n.names), "variant")
	var b strings.Builder
	b.WriteString("file," + strings.Join(p.Inputs, ",") + "\n")

	for i, f := range used {
		b.WriteString(cell(f))

		for _, name := range p.Inputs {
			b.WriteString("," + strconv.FormatFloat(rows[i][name], 'g', -1, 64))
		}

		b.WriteString("\n")
	}

	r.Conditions = b.String()
	r.note("the names are built in %d ways: conditions.csv holds their conditions; its column variant is 0 for names "+
		"like %s", len(variants)+1, n.text)

	for i, v := range variants {
		r.note("variant %d: names like %s; rename the column after what that means, or take it out", i+1, v)
	}

	p.doubt(r, "correct conditions.csv")

	return used, rows
}

// doubt notes conditions whose unit the names do not state.
func (p *plan) doubt(r *Result, what string) {
	for _, name := range p.Inputs {
		switch name {
		case "speed":
			r.note("speed in the names counts settings; it is no speed in m/s (u_inf_m_s): %s", what)
		case "condition":
			r.note("a number in the names has no word with it and is called condition: %s", what)
		}
	}
}

// cell writes a file name as a CSV cell.
func cell(f string) string {
	if strings.ContainsAny(f, ",\"\n\r;") {
		return `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
	}
	return f
}

func absolute(dir string) string {
	if a, err := filepath.Abs(dir); err == nil {
		return a
	}
	return dir
}

// note reports whether a file is prose rather than a recording.
func note(f string) bool {
	base := strings.ToLower(filepath.Base(f))
	return strings.HasPrefix(base, "readme") || strings.HasPrefix(base, "license") || strings.HasPrefix(base, "licence")
}

func list(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == dir {
				return err
			}
			return nil // an unreadable corner is not the user's question
		}

		rel, _ := filepath.Rel(dir, p)
		if d.IsDir() {
			if p != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "runs" ||
				strings.Count(rel, string(filepath.Separator)) >= maxDepth) {
				return fs.SkipDir
			}

			return nil
		}

		if !strings.HasPrefix(d.Name(), ".") {
			out = append(out, filepath.ToSlash(rel))
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}

	sort.Strings(out)

	return out, nil
}

// tableName are names of tables of conditions, which may have a fault that the user is told of.
// pattern is a regular expression that is compiled when it is first used.
type pattern func() *regexp.Regexp

func lazy(expr string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func (p pattern) MatchString(s string) bool { return p().MatchString(s) }

var tableName = lazy(`(?i)condition|protokoll|logbook|(^|[-_ ])log([-_ .]|$)`)

// isConditions reports whether a file is a table of conditions: its header
// has a column file.
func isConditions(path string) bool {
	_, err := campaign.ReadConditions(path)

	var data *fault.Error
	if errors.As(err, &data) {
		return tableName.MatchString(filepath.Base(path))
	}

	return err == nil
}

// globs covers the files with one pattern per folder and ending; sibling
// folders whose names differ only in a number share one.
func globs(files []string) []string {
	seen := map[string]bool{}

	var out []string
	for _, f := range files {
		dir, base := filepath.Split(f)
		g := numbers.ReplaceAllString(dir, "*") + "*" + filepath.Ext(base)
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}

	// Speed*/*.txt matches all that Speed*R/*.txt does: a star matches a star and more.
	return slices.DeleteFunc(slices.Clone(out), func(g string) bool {
		return slices.ContainsFunc(out, func(h string) bool {
			covers, err := path.Match(h, g)
			return g != h && covers && err == nil
		})
	})
}

var numbers = regexp.MustCompile(`[+-]?[0-9]+(?:\.[0-9]+)?`)

// cut splits a name into numbers and the texts between them.
func cut(s string) (texts, nums []string) {
	at := 0
	for _, m := range numbers.FindAllStringIndex(s, -1) {
		lo := m[0]

		// A hyphen after a word is a separator, not a sign: run-5, but a-5 is a negative
		// angle; so is one within a date: 2023-04-11.
		if s[lo] == '-' && lo > 1 && (letter(s[lo-1]) && letter(s[lo-2]) || at == lo && at > 0) {
			lo++
		}

		// m after the word of an angle is a minus sign: am5, alpham5.
		if lo > at+1 && s[lo] != '-' && s[lo] != '+' && s[lo-1] == 'm' {
			w := words.FindAllString(s[at:lo-1], -1)
			if len(w) > 0 && strings.HasSuffix(s[at:lo-1], w[len(w)-1]) && signed[strings.ToLower(w[len(w)-1])] {
				lo--
			}
		}

		texts, nums = append(texts, s[at:lo]), append(nums, s[lo:m[1]])
		at = m[1]
	}

	return append(texts, s[at:]), nums
}

// names is how files are named: what varies in them, and the files that are not
// named like the most.
type names struct {
	text   string   // the pattern with {field}s; "": nothing varies
	names  []string // the fields
	odd    []string
	values map[string]map[string]float64 // by file

	elements int // of the path the pattern covers
	vary     []int
	before   []string // the text before each field
	numbers  int      // in each name
}

// naming finds what varies in the names, and in the folders above them as far as
// these are named alike.
func naming(files []string) *names {
	deepest := 0
	for _, f := range files {
		deepest = max(deepest, strings.Count(f, "/")+1)
	}

	var found *names
	for elements := 1; elements <= deepest; elements++ {
		n := namingOf(files, elements)
		if n == nil {
			continue
		}

		if found == nil || len(n.values) >= len(found.values) && len(n.names) > len(found.names) {
			found = n
		}
	}

	if found == nil || len(found.names) == 0 {
		return &names{}
	}

	return found
}

// namingOf finds what varies in the last elements of the paths; nil where equal
// ends are in several folders.
func namingOf(files []string, elements int) *names {
	bySkeleton := map[string][]int{}
	best := ""

	tails := make([]string, len(files))
	for i, f := range files {
		tails[i] = tail(f, elements)
		texts, _ := cut(tails[i])
		k := strings.Join(texts, "\x00")
		bySkeleton[k] = append(bySkeleton[k], i)
		if n := len(bySkeleton[k]) - len(bySkeleton[best]); n > 0 || n == 0 && k < best {
			best = k
		}
	}

	texts, first := cut(tails[bySkeleton[best][0]])
	varies := make([]bool, len(first))
	distinct := map[string]bool{}
	member := map[int]bool{}

	found := make([][]float64, len(first))
	for _, i := range bySkeleton[best] {
		member[i] = true
		distinct[tails[i]] = true
		_, nums := cut(tails[i])
		for k := range nums {
			varies[k] = varies[k] || nums[k] != first[k]
			found[k] = append(found[k], value(nums[k]))
		}
	}

	if len(distinct) < len(bySkeleton[best]) {
		return nil
	}

	n := &names{elements: elements, numbers: len(first), values: map[string]map[string]float64{}}

	var b strings.Builder
	for k, number := range first {
		b.WriteString(texts[k])

		if !varies[k] {
			b.WriteString(number)
			continue
		}

		if isNumbering(texts, first, k) || len(distinct) > 2 && isCounter(bySkeleton[best], tails, k) {
			b.WriteString("{_}")
			continue
		}

		word := label(texts, k)
		name := fieldName(word, n.names, found[k])
		n.names, n.vary, n.before = append(n.names, name), append(n.vary, k), append(n.before, word)
		b.WriteString("{" + name + "}")
	}

	b.WriteString(texts[len(first)])

	n.text = b.String()
	for i, f := range files {
		if !member[i] {
			n.odd = append(n.odd, f)
			continue
		}

		n.take(f, tails[i], 0)
	}

	return n
}

func tail(f string, elements int) string {
	e := strings.Split(f, "/")
	return strings.Join(e[max(len(e)-elements, 0):], "/")
}

func (n *names) take(f, t string, variant float64) {
	_, nums := cut(t)

	m := map[string]float64{"variant": variant}
	for i, k := range n.vary {
		m[n.names[i]] = value(nums[k])
	}

	n.values[f] = m
}

// variants takes in odd files whose names hold the same fields with another
// text around them (Speed1R/angle5.txt and Speed1/angle5.txt), and returns an
// example of each such way of naming; n.odd keeps the others.
func (n *names) variants() (examples []string) {
	number := map[string]float64{}

	var left []string
	for _, f := range n.odd {
		t := tail(f, n.elements)
		texts, nums := cut(t)
		same := len(nums) == n.numbers && !slices.Contains(n.names, "variant")
		for i, k := range n.vary {
			same = same && fieldName(label(texts, k), n.names[:i], nil) == fieldName(n.before[i], n.names[:i], nil)
		}

		if !same {
			left = append(left, f)
			continue
		}

		key := strings.Join(texts, "\x00")
		if number[key] == 0 {
			number[key] = float64(len(number) + 1)
			examples = append(examples, t)
		}

		n.take(f, t, number[key])
	}

	n.odd = left

	return examples
}

// holdOut chooses what to hold out: values of the first condition with at least
// three, from their middle, so that training still sees every input vary. Many
// values (angles that were read, not set) give a range. Conditions that do not
// vary are no inputs.
func (p *plan) holdOut(rows []map[string]float64) {
	p.known = slices.Clone(p.Inputs)

	distinct := map[string][]float64{}
	for _, name := range slices.Clone(p.Inputs) {
		var v []float64
		for _, row := range rows {
			if x, ok := row[name]; ok {
				v = append(v, x)
			}
		}

		slices.Sort(v)

		distinct[name] = slices.Compact(v)
		if len(distinct[name]) < 2 {
			p.Inputs = slices.DeleteFunc(p.Inputs, func(s string) bool { return s == name })
		}
	}

	leaves := func(name string, low, high float64) bool { // something to learn from
		first, varies := map[string]float64{}, map[string]bool{}
		for _, row := range rows {
			if x := row[name]; x >= low && x <= high {
				continue
			}

			for _, in := range p.Inputs {
				if v, ok := first[in]; ok && v != row[in] {
					varies[in] = true
				} else if !ok {
					first[in] = row[in]
				}
			}
		}

		return len(varies) == len(p.Inputs)
	}

	for _, name := range p.Inputs {
		v := distinct[name]
		n := len(v)
		if n < 3 {
			continue
		}

		if n > 12 {
			low, high := v[n*2/5], v[n*3/5]
			if leaves(name, low, high) {
				p.Held = fmt.Sprintf("%s: {min: %s, max: %s}", plain([]string{name})[0], number(low), number(high))
				return
			}

			continue
		}

		runs := map[float64]int{}
		for _, row := range rows {
			runs[row[name]]++
		}

		inner := slices.Clone(v[1 : n-1])
		slices.SortStableFunc(inner, func(a, b float64) int { // most runs, then nearest the middle, then the greater
			if d := runs[b] - runs[a]; d != 0 {
				return d
			}

			away := func(x float64) int { return max(slices.Index(v, x)-n/2, n/2-slices.Index(v, x)) }
			if d := away(a) - away(b); d != 0 {
				return d
			}

			return slices.Index(v, b) - slices.Index(v, a)
		})

		if n >= 5 && runs[inner[0]] < 2 { // a single condition has no R²: two neighbours
			low, high := v[n/2-1], v[n/2]
			if leaves(name, low, high) {
				p.Held = fmt.Sprintf("%s: [%s, %s]", plain([]string{name})[0], number(low), number(high))
				return
			}
		}

		for _, x := range inner {
			if leaves(name, x, x) {
				p.Held = plain([]string{name})[0] + ": " + number(x)
				return
			}
		}
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

var words = regexp.MustCompile(`[A-Za-z]+`)

// standard are the names conditions have in this program, by the words people use.
var standard = map[string]string{
	"a": "alpha_deg", "alpha": "alpha_deg", "aoa": "alpha_deg", "angle": "alpha_deg",
	"u": "u_inf_m_s", "v": "u_inf_m_s", "speed": "u_inf_m_s", "vel": "u_inf_m_s", "uinf": "u_inf_m_s",
	"n": "blades", "b": "blades", "blades": "blades", "rpm": "rpm", "theta": "theta_deg", "phi": "phi_deg",
}

// fieldName names a condition after the word before its number. What the values
// cannot be, it is not called: blades are whole, from 1 to 12; a speed of 1, 2, 3
// is the number of a setting.
func fieldName(before string, taken []string, values []float64) string {
	name := "condition"
	if w := words.FindAllString(before, -1); len(w) > 0 {
		name = strings.ToLower(w[len(w)-1])
	}

	whole, high := len(values) > 0, 0.0
	for _, v := range values {
		whole, high = whole && v == math.Trunc(v) && v > 0, max(high, v)
	}

	switch std := standard[name]; {
	case std == "blades" && name != "blades" && !(whole && high <= 12):
	case std == "u_inf_m_s" && whole && high < 10:
		name = "speed"
	case std != "":
		name = std
	}

	if name == "file" || name == "channel" || name == "set" {
		name += "_number" // these words have other meanings in tables
	}

	for i := 2; slices.Contains(taken, name); i++ {
		name = strings.TrimRight(name, "_0123456789") + "_" + strconv.Itoa(i)
	}

	return name
}

// plan holds the contents of the configuration to write.
type plan struct {
	Name       string
	Files      []string
	Format     string
	Spectra    bool
	Conditions string
	Pattern    string
	Inputs     []string
	Columns    []config.NamedString
	rateHz     float64 // of the first file
	RateKnown  bool
	Channels   []string
	units      []string
	NeedSpeed  bool
	NeedBlades bool
	known      []string // conditions, inputs or not
	NoRotor    bool     // neither blades nor a speed is known: levels of bands
	samples    int64
	Todo       bool
	Exclude    []string
	Held       string // "blades: 3"
	Each       string // a column of text each of whose names is held out; "": none
	Attributes []config.NamedString
	Inside     []config.NamedString // arrays with a value for each channel
	Simulated  bool                 // every file is named so, as `pipeline simulate` does
	intervals  bool                 // the table cuts the files
	shortest   int64                // samples of the shortest run by headers and table; 0: unknown
	Some       bool                 // not all channels are used
	Pascal     bool
	Stated     string // unit of the first channel
	total      int
	runs       int // files, or intervals of them
	first      string
	LogColumns []config.NamedString // headers of the table of conditions that have other names
	Readings   []string             // its columns that are no inputs
	Ignored    []string             // its columns that are no conditions
	Within     []config.NamedString // tolerances of set points
	Found      []string             // the set points, in words
	Repeated   bool                 // set points repeat: repeats are the pairs
	filled     bool                 // with values in place of config.FillIn
	Results    *results             // a table of results or of pairs in place of recordings
}

// manyTriplets is where the default of 500 passes in steps of 32, made for
// hundreds of triplets, becomes a wait of minutes.
const manyTriplets = 20000

// leaveCopies leaves out files with the contents of one before: a copy is no second measurement.
// Only of files with equal sizes and equal beginnings is all read.
func (p *plan) leaveCopies(dir string, files []string, r *Result) {
	const beginning = 64 << 10

	first := map[string]string{}
	for _, most := range []int64{beginning, math.MaxInt64} {
		same := map[string][]string{}
		for _, f := range files {
			key := digest(filepath.Join(dir, f), most)
			same[key] = append(same[key], f)
		}

		files = nil
		for key, list := range same {
			if key == "" || len(list) == 1 {
				continue
			}

			files = append(files, list...)
			for _, f := range list {
				first[f] = slices.Min(list)
			}
		}
	}

	slices.Sort(files)

	for _, f := range files {
		if first[f] != f {
			p.Exclude = append(p.Exclude, f)
			r.note("%s is an exact copy of %s: left out (exclude); which of the two is right?", f, first[f])
		}
	}
}

// digest is the size of a file and the hash of so many of its first bytes, "" where it cannot
// be read.
func digest(path string, most int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()

	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return ""
	}

	h := sha256.New()
	if _, err := io.CopyN(h, f, min(most, fi.Size())); err != nil {
		return ""
	}

	return fmt.Sprintf("%d %x", fi.Size(), h.Sum(nil))
}

// look opens the files and reads their headers.
func (p *plan) look(dir string, files []string, rows []map[string]float64, r *Result) {
	p.Spectra = p.Format != "text"
	p.total, p.runs, p.first = len(files), max(len(files), len(rows)), files[0]
	var first ingest.Info
	numeric := map[string]int{} // attributes that are numbers, by their full name
	var names []string

	opened := 0
	for i, f := range files[:min(len(files), maxOpened)] {
		info, err := header(filepath.Join(dir, f))
		if err != nil {
			if i == 0 {
				r.note("the first recording cannot be read: %v", err)
				return
			}

			r.note("%v", err)
			continue
		}

		if i == 0 {
			first = info
		}

		opened++

		for _, a := range info.Attributes {
			if _, err := ingest.AttributeNumber(info, a.Name); err == nil {
				if numeric[a.Name] == 0 {
					names = append(names, a.Name)
				}
				numeric[a.Name]++
			}
		}

		for _, c := range info.Channels {
			if c.Role() == "" && !p.intervals && c.Samples > 1 && (p.shortest == 0 || c.Samples < p.shortest) {
				p.shortest = c.Samples
			}
		}
	}

	p.choose(first, r)

	if !slices.ContainsFunc(format.All(), func(f ingest.Format) bool { return f.Name == p.Format && f.Attributes }) {
		return
	}

	for _, a := range names { // conditions the files state themselves
		base := strings.ToLower(a[strings.LastIndexAny(a, "/.@")+1:])
		name := standard[base]
		if slices.Contains([]string{"blades", "rpm", "theta_deg", "phi_deg", "alpha_deg", "u_inf_m_s"}, base) {
			name = base
		}

		if name == "" || len(base) == 1 || numeric[a] != opened || slices.Contains(p.Inputs, name) {
			continue
		}

		p.Attributes = append(p.Attributes, config.NamedString{Name: name, Value: a})
		p.Inputs = append(p.Inputs, name)

		for i, f := range files {
			if i >= len(rows) || len(rows) != len(files) {
				break
			}

			if info, err := header(filepath.Join(dir, f)); err == nil {
				if v, err := ingest.AttributeNumber(info, a); err == nil {
					rows[i][name] = v
				}
			}
		}
	}
}

func header(path string) (ingest.Info, error) {
	rd, err := format.Open(path, ingest.Options{})
	if err != nil {
		return ingest.Info{}, err
	}
	defer rd.Close()

	return rd.Info(), nil
}

// roleOf recognises lift and drag by their usual names.
func roleOf(channel string) string {
	switch strings.ToLower(channel) {
	case "lift", "l", "fz", "lift_n":
		return "lift"
	case "drag", "d", "fx", "drag_n":
		return "drag"
	}

	return ""
}

// choose decides from the first file whether the channels are microphones or a
// balance. Sound is sampled in kHz; forces have names, or are in text files.
func (p *plan) choose(info ingest.Info, r *Result) {
	type shape struct {
		rate    float64
		samples int64
	}

	shapes := map[shape]int{}
	var most shape

	var all []ingest.Channel
	for _, c := range info.Channels {
		if c.Role() != "" || c.Samples < 2 {
			continue
		}

		all = append(all, c)

		s := shape{c.RateHz, c.Samples}
		if shapes[s]++; shapes[s] > shapes[most] {
			most = s
		}
	}

	if len(all) == 0 {
		r.note("%s has no channel of samples; pipeline inspect shows its contents", info.Path)
		return
	}

	forces := false

	pascal := true
	for _, c := range all {
		if (shape{c.RateHz, c.Samples}) != most {
			continue
		}

		p.Channels, p.units = append(p.Channels, c.Name), append(p.units, c.Unit)
		forces = forces || roleOf(c.Name) != ""
		pascal = pascal && c.Unit == "Pa"
	}

	p.Some = len(p.Channels) < len(all)
	p.Pascal = pascal
	p.Stated = p.units[0]
	p.samples, p.rateHz, p.RateKnown = most.samples, most.rate, most.rate > 0
	p.Spectra = !forces && (p.Format != "text" && (!p.RateKnown || p.rateHz >= 2000) || p.Format == "text" &&
		p.rateHz >= 5000)
	channels, files := plural(len(p.Channels), "channel"), plural(p.total, p.Format+" file")
	what := fmt.Sprintf("%s; the first, %s: %s, %s of %d samples", files, p.first, info.Encoding, channels, p.samples)
	if p.RateKnown {
		what += fmt.Sprintf(" at %g Hz", p.rateHz)
	}

	r.note("%s", what)
	p.perChannel(info, r)

	if n := len(all) - len(p.Channels) - len(p.Inside); n > 0 {
		r.note("of %d channels those of one rate and length are used; choose others under channels", len(all))
	}

	if p.Spectra {
		return
	}

	for i, c := range p.Channels {
		role := roleOf(c)
		if role == "" {
			continue
		}

		if p.units[i] == "N" {
			role += "_n"
		}

		p.Columns = append(p.Columns, config.NamedString{Name: role, Value: c})
	}

	if len(p.Columns) > 0 {
		return
	}

	for _, c := range p.Channels {
		name := strings.Trim(strings.ToLower(notWord.ReplaceAllString(c, "_")), "_")
		if name == "" || name[0] >= '0' && name[0] <= '9' {
			name = "column_" + name
		}

		for i := 2; slices.ContainsFunc(p.Columns, func(n config.NamedString) bool { return n.Name == name }); i++ {
			name += "_" + strconv.Itoa(i)
		}

		p.Columns = append(p.Columns, config.NamedString{Name: name, Value: c})
	}

	r.note("no column is called lift or drag: all are outcomes; under columns keep measured quantities, and remove " +
		"clocks and settings")
}

// perChannel takes arrays with a value for each microphone for conditions, where
// their names tell of which, and notes the others.
func (p *plan) perChannel(info ingest.Info, r *Result) {
	n := len(p.Channels)

	listed := r.Conditions == "" && p.Conditions != "" || strings.Contains(r.Conditions, ",") // conditions of a table
	if !p.Spectra || n < 2 || listed {
		return
	}

	var others []string
	for _, c := range info.Channels {
		if c.Samples != int64(n) || slices.Contains(p.Channels, c.Name) || c.IsTime() || strings.Contains(c.Name, "[") {
			continue
		}

		w := words.FindAllString(c.Name[strings.LastIndexAny(c.Name, "/.")+1:], -1)

		name := ""
		for _, word := range w {
			if std := standard[strings.ToLower(word)]; std != "" && len(word) > 1 {
				name = std
			}
		}

		switch {
		case name != "" && !slices.Contains(p.Inputs, name):
			p.Inside = append(p.Inside, config.NamedString{Name: name, Value: c.Name})
		case c.Role() == "":
			others = append(others, c.Name)
		}
	}

	if len(others) > 0 {
		r.note("%s has a value for each channel too: name it under inside if it is a condition", strings.Join(others, ", "))
	}

	if len(p.Inside) > 0 && r.Conditions != "" { // a list of files without a condition
		p.Conditions, r.Conditions = "", ""
		r.Notes = slices.DeleteFunc(r.Notes, func(s string) bool { return s == noConditions })
	}
}

// noConditions is the note about names without conditions.
const noConditions = "the file names contain no conditions: conditions.csv lists the files; add a column per condition"

var notWord = regexp.MustCompile(`[^A-Za-z0-9]+`)

// knowSpeed notes settings that a rotor's analysis needs and the names lack.
func (p *plan) knowSpeed(r *Result) {
	if !p.Spectra {
		return
	}

	has := func(name string) bool { return slices.Contains(p.known, name) }
	switch {
	case !has("rpm") && !has("rps") && !has("blades"):
		p.NoRotor = true
		r.note("no conditions blades and rpm were found: the outcomes are levels of bands and overall levels; the " +
			"configuration states what the harmonics of a rotor need")

	case !has("rpm") && !has("rps"):
		p.NeedSpeed = true
		r.note("no condition rpm was found: the shaft speed is looked for in the sound; set the range under track, " +
			"narrower than a factor of 2, or halves and doubles of the speed are mistaken for it (pipeline inspect lists the " +
			"lines of a recording; the blade passing frequency is blades times the shaft speed)")
	}

	if !p.NoRotor && !has("blades") {
		p.NeedBlades = true
		r.note("no condition blades was found: fill it in under constants")
	}

	if !p.RateKnown && !p.Todo {
		r.note("the files do not state their sampling rate: fill in rate_hz")
	}
}

func quote(s string) string { return strconv.Quote(s) }

// SchemaFile is the file next to pipeline.yaml from which editors with a YAML
// language server complete and check its keys: the JSON Schema of the configuration.
const SchemaFile = "pipeline.schema.json"

//go:embed pipeline.yaml.tmpl
var configuration string

var yaml = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("pipeline.yaml").Funcs(template.FuncMap{
		"schema": func() string { return SchemaFile },
		"quote":  quote,
		"quoted": quoted,
		"plain":  plain,
		"pairs":  pairs,
		"list":   func(names []string) string { return strings.Join(names, ", ") },
	}).Parse(configuration))
})

// render writes the plan as commented YAML.
func render(p plan) string {
	var b strings.Builder
	if err := yaml().Execute(&b, &p); err != nil {
		panic("scaffold: " + err.Error()) // the template and its values are this package's
	}

	return b.String()
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = quote(s)
	}

	return strings.Join(q, ", ")
}

// plain quotes the names that YAML would not read as they are.
func plain(names []string) []string {
	out := slices.Clone(names)
	for i, n := range out {
		if !identifier.MatchString(n) {
			out[i] = quote(n)
		}
	}

	return out
}

var identifier = lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

func pairs(list []config.NamedString) string {
	q := make([]string, len(list))
	for i, e := range list {
		q[i] = e.Name + ": " + quote(e.Value)
	}

	return strings.Join(q, ", ")
}

// FullScale reports whether the files state no unit of their samples.
func (p *plan) FullScale() bool { return !p.Pascal && (p.Stated == "" || p.Stated == "full-scale") }

// Newtons reports whether all columns are forces.
func (p *plan) Newtons() bool {
	other := func(e config.NamedString) bool { return !strings.HasSuffix(e.Name, "_n") }
	return len(p.Columns) > 0 && !slices.ContainsFunc(p.Columns, other)
}

// PerRun is the number of triplets that a run of a balance gives.
func (p *plan) PerRun() int64 {
	if p.shortest > 0 {
		return max(min(250, p.shortest/2), 1)
	}
	return 250
}

// NetInputs are what the network sees.
func (p *plan) NetInputs() []string {
	if p.Spectra && p.NeedSpeed {
		return append(slices.Clone(p.Inputs), "rpm_tracked")
	}
	return p.Inputs
}

// Fill asks people for a value; for a test of the rest it is one that is valid.
func (p *plan) Fill(valid string) string {
	if p.filled {
		return valid
	}

	return config.FillIn
}

// Many is the number of triplets of a balance where it is large, else 0.
func (p *plan) Many() int {
	if n := int(p.PerRun()) * p.runs; p.Results == nil && !p.Spectra && n >= manyTriplets {
		return n
	}
	return 0
}
