// Package scaffold looks at a folder of measurements and writes a commented
// pipeline.yaml that fits it: formats, channels, rates, conditions in the names
// and in tables. It says of every column, and of every part of the names, what it is
// proposed for. Settings it cannot know become comments that ask for them. It reads
// headers and tables, never samples, and writes nothing: texts go back to the command.
// Package config defines the keys.
package scaffold

import (
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/internal/lists"
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

var (
	experimentName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	prose          = regexp.MustCompile(`(?i)^(readme|licen[cs]e)`) // files that are no recordings
)

// Look makes a configuration for the recordings below dir. Paths in it are
// relative to dir, where the file belongs. A folder without files it knows
// gives a template for microphones, with a note.
func Look(dir string) (*Result, error) {
	found, err := walk(dir)
	if err != nil {
		return nil, err
	}

	p := &plan{
		dir: dir, Name: "experiment", result: &Result{}, sheet: &sheet{}, shortest: math.MaxInt64, seconds: math.Inf(1),
	}
	found = p.splitLog(p.findRig(found))
	files := p.leaveCopies(p.kindOf(found), copyName)
	if files == nil {
		p.result.YAML = render(&plan{
			Name: p.Name, Ingest: config.Ingest{Files: []string{"data/*.wav"}}, Spectra: true, Todo: true,
		})

		return p.result, nil
	}

	whole, _ := filepath.Abs(dir)
	if base := filepath.Base(whole); experimentName.MatchString(base) {
		p.Name = base
	}

	if !slices.ContainsFunc(files, func(f string) bool { return !strings.HasPrefix(path.Base(f), "simulated_") }) {
		p.Data = "simulated"
	}

	p.Files = globs(files)
	given := nameSheet(files)
	if p.Conditions != "" {
		files = p.fromLog(files)
		given = p.sheet
	}

	switch text := p.Format == "text" || p.Format == "parquet"; {
	case text && p.fromResults(given):
		files = given.files
	case p.Conditions != "":
		p.look(files)
		p.Repeated = p.Repeated && p.repeated()
	default:
		files = p.fromNames(given, files)
		p.look(files)
	}

	p.propose(files)
	p.exclude(files)

	p.result.YAML = render(p)
	p.filled = true
	if _, err := config.Parse("pipeline.yaml", []byte(render(p))); err != nil {
		return nil, fmt.Errorf("write a configuration for %s: it would not be valid: %w", dir, err)
	}

	return p.result, nil
}

// kindOf chooses the most numerous kind of files that are recordings, and returns them; of equals the first.
func (p *plan) kindOf(found []string) []string {
	groups, unread := map[string][]string{}, map[string]string{}
	for _, f := range found {
		ext := strings.ToLower(filepath.Ext(f))
		if name, hint := ingest.UnreadEnding(ext); name != "" {
			unread[name] = hint
		}

		for _, k := range format.All() {
			if slices.Contains(k.Endings, ext) && !prose.MatchString(path.Base(f)) {
				groups[k.Name] = append(groups[k.Name], f)
			}
		}
	}

	kinds := lists.Keep(format.Names(), func(k string) bool { return len(groups[k]) > 0 })
	slices.SortStableFunc(kinds, func(a, b string) int { return len(groups[b]) - len(groups[a]) })
	if len(kinds) == 0 {
		p.note("no recordings (%s) were found below %s: this is a template to fill in", format.Titles(), p.dir)
		for _, name := range slices.Sorted(maps.Keys(unread)) {
			p.note("%s files are not read: %s", name, unread[name])
		}

		return nil
	}

	for _, k := range kinds[1:] {
		p.note("%s not used: an experiment reads one kind of file", are(len(groups[k]), k+" file"))
	}

	p.Format = kinds[0]

	return groups[p.Format]
}

// propose takes the inputs and the groups that the splits hold out, and tells of every column.
func (p *plan) propose(files []string) {
	for _, f := range p.sheet.of(input) {
		if f.distinct() < 2 {
			f.be(remark, "the same everywhere")
			f.known = true
			continue
		}

		p.Inputs = append(p.Inputs, f.name)
		if f.points != nil {
			p.Within = append(p.Within, config.NamedString{Name: f.name, Value: f.points.Tolerance.String()})
			p.Found = append(p.Found, fmt.Sprintf("%s: %s", f.name, f.points))
			p.note("%s: %s; within names them", f.name, f.points)
		}
	}

	p.groups(files)
	p.holdOut()

	if p.Spectra {
		p.Inputs = append(p.Inputs, p.places...)
	}

	p.Inputs = append(p.Inputs, lists.Each(p.InFile, func(e config.NamedString) string { return e.Name })...)
	if p.Table == nil {
		p.knowSpeed()
	}

	p.Lines = lists.Each(p.sheet.fields, (*field).line)
	for _, alike := range lists.Alike(lists.Each(p.sheet.fields, (*field).reason)) {
		fields := lists.Rows(p.sheet.fields, 1, alike)
		p.note("%s: %s: %s", p.sheet.from, fields[0].reason(), strings.Join(headsOf(fields), ", "))
	}
}

// exclude leaves out what the globs take besides the recordings, as a README, and copies.
func (p *plan) exclude(files []string) {
	all, _, _, _ := campaign.Find(p.Files, nil, p.dir)
	known := slices.Concat(files, p.Exclude, p.tares)
	others := lists.Keep(all, func(f string) bool { return !slices.Contains(known, f) })
	if p.Exclude = append(p.Exclude, others...); len(others) > 0 {
		p.note("left out (exclude): %s", strings.Join(others, ", "))
	}

	if p.Table == nil {
		p.leaveCopies(files, anyName)
	}
}

// are writes how many there are: 1 file is, 2 files are.
func are(n int, what string) string {
	return fault.Plural(int64(n), what) + map[bool]string{true: " is", false: " are"}[n == 1]
}

func (p *plan) note(format string, args ...any) {
	p.result.Notes = append(p.result.Notes, fmt.Sprintf(format, args...))
}

// Names that are held out one after the other.
const fewNames, manyNames = 3, 20

// groups declares the things and the occasions. The splits hold out the names of the first that has a
// few. Repeats are rows of one thing and one occasion, or pairs across occasions.
func (p *plan) groups(files []string) {
	s := p.sheet
	declared := s.of(input)
	repeats := p.Repeated || p.Table != nil && len(p.Table.Y1) == 0
	names := append(lists.Each(files, path.Base), files...)
	isFile := func(t string) bool { return slices.Contains(names, t) }
	for _, f := range append(s.of(thing), s.of(day)...) {
		few, n := repeats && 2*paired(s.groups(append(declared, f)...)) < s.rows, f.distinct()
		switch {
		case slices.Contains(f.texts, ""):
			f.be(remark, "some rows state none"+ofMerged)
			continue
		case slices.Contains(condition.Reserved, f.name):
			f.be(leftOut, reservedName)
			continue
		case slices.ContainsFunc(f.different(), isFile) || p.namesTares(f):
			f.be(remark, "it names files")
			continue
		case f.role == thing:
			p.Things = append(p.Things, f.name)
			declared = append(declared, f)
		case few && p.Across == "":
			p.Across = f.name
			p.Occasions = append(p.Occasions, f.name)
		case few:
			f.why = "repeats are those of different ones, so that none can be held out"
			continue
		default:
			p.Occasions = append(p.Occasions, f.name)
			declared = append(declared, f)
		}

		leaves := func(name string) bool {
			return s.vary(lists.Where(s.rows, func(i int) bool { return f.text(i) != name }))
		}
		if p.Each == "" && f.why != ofFiles && n >= fewNames && n <= manyNames && 2*n <= s.rows &&
			len(lists.Alike(lists.Each(f.different(), strings.ToLower))) == n && len(lists.Keep(f.different(), leaves)) == n {
			p.Each = plain(f.name)
		}
	}
}

// fromNames takes the conditions from the file names.
func (p *plan) fromNames(s *sheet, files []string) []string {
	p.sheet = s
	if len(s.of(input, thing)) == 0 {
		for _, f := range s.of(day) {
			f.be(remark, "the names state no condition besides")
		}

		p.table(&sheet{files: files})
		p.note(noConditions)

		return files
	}

	p.leaveOdd(s)
	if p.takeNames(s); p.Pattern == "" {
		p.note("the names are built in several ways: conditions.csv holds what they state")
	}

	if s.states("speed") {
		p.note("speed in the names counts settings; it is no speed in m/s (u_inf_m_s): rename it, or correct its values")
	}

	if s.states("condition") {
		p.note("a number in the names has no word with it and is called condition: rename it")
	}

	return s.files
}

// leaveOdd leaves out the files whose names lack what most state.
func (p *plan) leaveOdd(s *sheet) {
	for _, f := range slices.Sorted(maps.Keys(s.odd)) {
		p.Exclude = append(p.Exclude, f)
		p.note("%s: left out, its name states no %s", f, s.odd[f])
	}
}

// takeNames takes the conditions that names state: by a pattern where all names are built alike, else by a table
// that is written next to the configuration, where people can correct it.
func (p *plan) takeNames(s *sheet) {
	if p.Pattern = s.pattern(); p.Pattern == "" {
		p.table(s)
	}
}

// table takes the conditions from a table to be written.
func (p *plan) table(s *sheet) { p.Conditions, p.result.Conditions = "conditions.csv", s.table() }

// walk lists the files below a folder, sorted. An unreadable corner is not the user's question.
func walk(dir string) (out []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		name := path.Base(p)
		hidden := strings.HasPrefix(name, ".") && p != "."
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
		case d.IsDir() && (hidden || name == "runs" || strings.Count(p, "/") >= maxDepth):
			return fs.SkipDir
		case !d.IsDir() && !hidden:
			out = append(out, p)
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}

	slices.Sort(out)

	return out, nil
}

// globs covers the files with one pattern per folder and ending; sibling
// folders whose names differ only in a number share one.
func globs(files []string) []string {
	_, all := lists.Index(lists.Each(files, func(f string) string {
		dir, base := filepath.Split(f)
		return digits.ReplaceAllString(dir, "*") + "*" + filepath.Ext(base)
	}))

	// Speed*/*.txt matches all that Speed*R/*.txt does: a star matches a star and more.
	return lists.Keep(all, func(g string) bool {
		return !slices.ContainsFunc(all, func(h string) bool {
			covers, err := path.Match(h, g)
			return g != h && covers && err == nil
		})
	})
}

// holdOut chooses what to hold out: values of the first condition with at least
// three, from their middle, so that training still sees every input vary.
func (p *plan) holdOut() {
	s := p.sheet
	for _, f := range s.of(input) {
		for _, h := range s.held(f) {
			isLeft := func(i int) bool { x := f.at(i); return !(x >= h.low && x <= h.high) }
			if s.vary(lists.Where(s.rows, isLeft)) {
				p.Held = plain(f.name) + ": " + h.text
				return
			}
		}
	}
}

// span is a range of values that may be held out, and how the configuration states it.
type span struct {
	low, high float64
	text      string
}

// held lists what may be held out of a condition, the best first. Many values (angles that were read, not set)
// give a range.
func (s *sheet) held(f *field) (out []span) {
	runs := map[float64]int{}
	for i := range s.rows {
		if x := f.at(i); x == x {
			runs[x]++
		}
	}

	v := slices.Sorted(maps.Keys(runs))
	n := len(v)
	switch {
	case n < 3:
		return nil
	case n > 12:
		low, high := v[n*2/5], v[n*3/5]
		return []span{{low, high, fmt.Sprintf("{min: %s, max: %s}", decimal(low), decimal(high))}}
	}

	inner := slices.Clone(v[1 : n-1]) // most runs, then nearest the middle, then the greater
	away := func(x float64) int { return max(slices.Index(v, x)-n/2, n/2-slices.Index(v, x)) }
	slices.SortStableFunc(inner, func(a, b float64) int {
		return cmp.Or(cmp.Compare(runs[b], runs[a]), cmp.Compare(away(a), away(b)), cmp.Compare(b, a))
	})

	if n >= 5 && runs[inner[0]] < 2 { // a single condition has no R²: two neighbours
		low, high := v[n/2-1], v[n/2]
		out = append(out, span{low, high, fmt.Sprintf("[%s, %s]", decimal(low), decimal(high))})
	}

	return append(out, lists.Each(inner, func(x float64) span { return span{x, x, decimal(x)} })...)
}

// vary reports whether all inputs vary among those rows.
func (s *sheet) vary(rows []int) bool {
	return !slices.ContainsFunc(s.of(input), func(f *field) bool {
		_, different := lists.Index(lists.Each(rows, f.at))
		return len(different) < 2
	})
}

// plan holds the contents of the configuration to write.
type plan struct {
	config.Ingest
	Name       string
	Exclude    []string // files
	Inputs     []string
	Spectra    bool
	RateKnown  bool
	NeedSpeed  bool
	NeedBlades bool
	NoRotor    bool     // neither blades nor a speed is known: levels of bands
	Todo       bool     // there are no files
	Held       string   // "blades: 3"
	Across     string   // the occasion whose names the pairs are of
	Each       string   // a column of text each of whose names is held out; "": none
	Some       bool     // not all channels are used
	Pulses     string   // the channel of a tachometer
	Pascal     bool     // all channels are
	Stated     string   // unit of the first channel
	Found      []string // the set points, in words
	Repeated   bool     // set points repeat: repeats are the pairs
	Lines      []string // what each column is proposed for
	Matrix     string   // a balance's, in a file
	Voltages   []string // the channels it is for
	Tares      []string // columns of the log: recordings without wind before and after
	Sensitive  bool     // the table of microphones has their sensitivities

	Calibrators []config.NamedString // recordings of a calibrator, by the channels of the table of microphones

	dir        string
	result     *Result
	sheet      *sheet
	units      []string             // of the channels
	rising     []bool               // which of them rise all the time
	intervals  bool                 // the table cuts the files
	edges      []config.NamedString // headers of the log that state where
	shortest   int64                // samples of the shortest run by headers and table, as far as they are known
	seconds    float64              // of the shortest run by the table
	runs       int                  // files, or intervals of them
	components []string             // the rows of the matrix
	tares      []string             // files that the columns name
	places     []string             // conditions that the microphones have
	found      []string             // all files that are not about the set-up
	filled     bool                 // with values in place of config.FillIn
}

// manyTriplets is where the default of 500 passes in steps of 32, made for
// hundreds of triplets, becomes a wait of minutes.
const manyTriplets = 20000

// SchemaFile is the file next to pipeline.yaml from which editors with a YAML
// language server complete and check its keys: the JSON Schema of the configuration.
const SchemaFile = "pipeline.schema.json"

//go:embed pipeline.yaml.tmpl
var configuration string

var yaml = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("pipeline.yaml").Funcs(template.FuncMap{
		"schema": func() string { return SchemaFile },
		"quote":  strconv.Quote,
		"quoted": func(list []string) string { return strings.Join(lists.Each(list, strconv.Quote), ", ") },
		"plain":  func(names []string) []string { return lists.Each(names, plain) },
		"pairs":  pairs,
		"list":   func(names []string) string { return strings.Join(names, ", ") },
	}).Parse(configuration))
})

// render writes the plan as commented YAML.
func render(p *plan) string {
	var b strings.Builder
	if err := yaml().Execute(&b, p); err != nil {
		panic("scaffold: " + err.Error()) // the template and its values are this package's
	}

	return b.String()
}

// plain quotes a name that YAML would not read as it is.
func plain(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

var identifier = lazy(`[A-Za-z_][A-Za-z0-9_]*`)

func pairs(list []config.NamedString) string {
	pair := func(e config.NamedString) string { return e.Name + ": " + strconv.Quote(e.Value) }
	return strings.Join(lists.Each(list, pair), ", ")
}

// FullScale reports whether the files state no unit of their samples.
func (p *plan) FullScale() bool { return !p.Pascal && (p.Stated == "" || p.Stated == "full-scale") }

// Newtons reports whether all columns are forces.
func (p *plan) Newtons() bool {
	return len(p.Columns) > 0 && !slices.ContainsFunc(p.Columns, func(e config.NamedString) bool {
		return !strings.HasSuffix(e.Name, "_n") && !strings.HasSuffix(e.Name, "_nm")
	})
}

// From names the source of the conditions.
func (p *plan) From() string { return p.sheet.from }

// PerRun is the number of triplets that a run of a balance gives.
func (p *plan) PerRun() int64 {
	return max(min(250, p.shortest/2), 1)
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
	if n := int(p.PerRun()) * p.runs; p.Table == nil && !p.Spectra && n >= manyTriplets {
		return n
	}
	return 0
}
