package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/campaign"
	"doubletake/ingest/role"
	"doubletake/ingest/table"
	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"github.com/stretchr/testify/assert"
)

// factor is an input of a generated campaign.
type factor struct {
	name    string  // as the program calls the condition
	letter  string  // its letter in names of files
	word    string  // its word in names of files
	english string  // its header in logs
	other   string  // its header in German logs
	unit    string  // in logs; "": none
	behind  string  // its unit behind a number in names of files; "": none
	from    float64 // the least value that campaigns set
	step    float64 // the difference of its values
}

var factors = []factor{
	{"alpha_deg", "a", "alpha", "alpha", "Anstellwinkel", "°", "deg", -8, 4},
	{"u_inf_m_s", "u", "Uinf", "Wind speed", "Windgeschwindigkeit", "m/s", "ms", 10, 5},
	{"rpm", "rpm", "rpm", "rpm", "Drehzahl", "1/min", "rpm", 2000, 750},
	{"theta_deg", "theta", "theta", "theta", "Mikrofonwinkel", "°", "", 0, 30},
	{"blades", "B", "blades", "Blades", "Blattzahl", "", "blades", 2, 1},
	{"j", "J", "J", "J", "J", "", "", 0.2, 0.15},
	{"pitch", "pitch", "pitch", "pitch", "Pitch", "", "", 4.5, 1.5},
}

var thingNames = [][]string{
	{"NACA0012", "NACA4412", "ClarkY", "SD7003"},
	{"APC-8x6", "DJI9450", "HQ5040"},
	{"wingA", "wingB", "wingC"},
	{"prop1", "prop2", "prop3", "prop4"},
	{"clean", "tripped", "serrated"},
}

// made is a generated campaign.
type made struct {
	style   string // how the names or the log are written, for messages
	inputs  []factor
	rows    []madeRow
	thing   bool    // the rows have things
	day     bool    // the rows have days
	scatter float64 // relative, of inputs in logs
}

// madeRow is a recording of a generated campaign.
type madeRow struct {
	values []float64 // of the inputs, in their order
	thing  string    // "": the campaign has no things
	day    string    // "": the campaign has no days
	repeat int       // from 1
	file   string
}

// generate makes the table of a campaign: a crossing of inputs, things, days and repeats.
func generate(rng *rand.Rand) *made {
	m := &made{}
	for _, k := range rng.Perm(len(factors))[:1+rng.IntN(2)] {
		m.inputs = append(m.inputs, factors[k])
	}

	m.rows = []madeRow{{}}
	cross := func(n int, set func(r *madeRow, i int)) {
		var out []madeRow
		for i := range n {
			for _, r := range m.rows {
				r.values = slices.Clone(r.values)
				set(&r, i)
				out = append(out, r)
			}
		}

		m.rows = out
	}

	for k, f := range m.inputs {
		step := f.step
		if f.name == "alpha_deg" && rng.IntN(3) == 0 {
			step = 2.5
		}

		cross(3+rng.IntN(2)-k, func(r *madeRow, i int) {
			r.values = append(r.values, math.Round(1000*(f.from+step*float64(i)))/1000)
		})
	}

	if m.thing = rng.IntN(2) == 0; m.thing {
		names := thingNames[rng.IntN(len(thingNames))]
		cross(2+rng.IntN(2-len(m.inputs)/2), func(r *madeRow, i int) { r.thing = names[i] })
	}

	if m.day = rng.IntN(3) == 0 && len(m.rows) < 13; m.day {
		cross(2, func(r *madeRow, i int) { r.day = fmt.Sprintf("2026-03-%02d", 9+i) })
	}

	repeats := 1
	if len(m.rows) < 9 {
		repeats += rng.IntN(3)
	}

	cross(repeats, func(r *madeRow, i int) { r.repeat = i + 1 })

	return m
}

func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// nameStyles write an input's value in the name of a file; join puts the parts together.
var nameStyles = []struct {
	name  string
	value func(f factor, v float64) string
	join  string
}{
	{"letters", func(f factor, v float64) string { return f.letter + shortest(v) }, "_"},
	{"words", func(f factor, v float64) string { return f.word + shortest(v) }, "_"},
	{"padded", func(f factor, v float64) string { return f.word + fmt.Sprintf("%+06.2f", v) }, "_"},
	{"units", func(f factor, v float64) string {
		if f.behind == "" || f.behind == "blades" && v < 0 {
			return f.word + shortest(v)
		}

		return shortest(v) + f.behind
	}, "_"},
	{"equals", func(f factor, v float64) string { return f.word + "=" + shortest(v) }, ","},
	{"folders", func(f factor, v float64) string { return f.word + shortest(v) }, "/"},
	{"p", func(f factor, v float64) string { return f.word + strings.Replace(shortest(v), ".", "p", 1) }, "_"},
	{"comma", func(f factor, v float64) string { return f.word + strings.Replace(shortest(v), ".", ",", 1) }, "_"},
	{"blanks", func(f factor, v float64) string { return f.word + " " + shortest(v) }, " "},
	{"minus", func(f factor, v float64) string {
		if f.name != "alpha_deg" && f.name != "theta_deg" {
			return f.letter + shortest(v)
		}

		return f.letter + strings.Replace(shortest(v), "-", "m", 1)
	}, "_"},
	{"underscores", func(f factor, v float64) string { return f.word + "_" + shortest(v) }, "_"},
	{"hyphens", func(f factor, v float64) string { return f.word + shortest(v) }, "-"},
}

// byNames writes a campaign whose names state everything.
func (m *made) byNames(t *testing.T, rng *rand.Rand, dir string) {
	k := rng.IntN(len(nameStyles))
	style := nameStyles[k]
	m.style = "names " + style.name
	repeat := []string{"r", "run", "rep", "take_"}[rng.IntN(4)]
	thingAt := rng.IntN(2)
	for i := range m.rows {
		r := &m.rows[i]
		var parts []string
		if m.day {
			parts = append(parts, r.day)
		}

		if m.thing && thingAt == 0 {
			parts = append(parts, r.thing)
		}

		for k, f := range m.inputs {
			parts = append(parts, style.value(f, r.values[k]))
		}

		if m.thing && thingAt == 1 {
			parts = append(parts, r.thing)
		}

		if m.rows[len(m.rows)-1].repeat > 1 {
			parts = append(parts, fmt.Sprint(repeat, r.repeat))
		}

		r.file = strings.Join(parts, style.join) + ".txt"
	}

	m.write(t, rng, dir)
}

// logStyle is a way in which people type a log.
type logStyle struct {
	name         string
	separator    string
	isGerman     bool // German headers and decimal commas
	unitsInHeads bool // units in brackets behind the headers
	unitsBelow   bool // a row of units below the headers
	unitsInCells bool // units behind the numbers
	thousands    bool // commas between the thousands of speeds
	hasTitle     bool // a title above the header, and a column that counts the rows
	lacksEndings bool // names of files in upper case without their endings
}

var logStyles = []logStyle{
	{name: "comma", separator: ","},
	{name: "semicolon, decimal commas", separator: ";", isGerman: true},
	{name: "tabs, units in brackets", separator: "\t", unitsInHeads: true},
	{name: "row of units", separator: ",", unitsBelow: true},
	{name: "units in cells", separator: ",", unitsInCells: true},
	{name: "thousands", separator: ",", thousands: true},
	{name: "title, counter, remarks", separator: ";", hasTitle: true},
	{name: "names without ending", separator: ",", lacksEndings: true},
}

// head returns the header of an input.
func (s logStyle) head(f factor) string {
	head := f.english
	if s.isGerman {
		head = f.other
	}

	if s.unitsInHeads && f.unit != "" {
		head += " [" + f.unit + "]"
	}

	return head
}

// decimal returns a number with the decimal sign of the log.
func (s logStyle) decimal(text string) string {
	if s.isGerman {
		return strings.Replace(text, ".", ",", 1)
	}

	return text
}

// cell returns the cell of an input. Values that scatter have four decimals.
func (s logStyle) cell(f factor, v float64, scatters bool) string {
	digits := -1
	if scatters {
		digits = 4
	}

	text := strconv.FormatFloat(v, 'f', digits, 64)
	switch {
	case s.unitsInCells && f.unit != "1/min":
		return strings.TrimSpace(text + " " + f.unit)
	case s.thousands && f.name == "rpm" && v >= 1000:
		return fmt.Sprintf(`"%d,%03d.%d"`, int(v)/1000, int(v)%1000, int(math.Round(v*10))%10)
	}

	return s.decimal(text)
}

// byLog writes a campaign with a log, which has columns besides that nobody set: temperature, density and remarks.
func (m *made) byLog(t *testing.T, rng *rand.Rand, dir string) {
	style := logStyles[rng.IntN(len(logStyles))]
	m.style = "log " + style.name

	var b strings.Builder
	m.writeHeads(&b, style)
	for i := range m.rows {
		r := &m.rows[i]
		r.file = fmt.Sprintf("rec_%03d.txt", i+1)
		var cells []string
		if style.hasTitle {
			cells = append(cells, fmt.Sprint(i+1))
		}

		if style.lacksEndings {
			cells = append(cells, fmt.Sprintf("REC_%03d", i+1))
		} else {
			cells = append(cells, r.file)
		}

		for n, f := range m.inputs {
			scatters := m.scatter > 0 && f.name != "blades"
			if scatters {
				r.values[n] = math.Round(1e4*r.values[n]*(1+m.scatter*(2*rng.Float64()-1))) / 1e4
			}

			if style.thousands && f.name == "rpm" { // its cells have one decimal
				r.values[n] = math.Round(10*r.values[n]) / 10
			}

			cells = append(cells, style.cell(f, r.values[n], scatters))
		}

		if m.day {
			cells = append(cells, r.day)
		}

		if m.thing {
			cells = append(cells, r.thing)
		}

		temperature := strconv.FormatFloat(20+float64(i)/10+rng.Float64()/5, 'f', 1, 64)
		density := strconv.FormatFloat(1.19+0.005*float64(rng.IntN(5)), 'f', 3, 64)
		remark := []string{"", "ok", "gust"}[rng.IntN(3)]
		cells = append(cells, style.decimal(temperature), style.decimal(density), remark)
		b.WriteString(strings.Join(cells, style.separator) + "\n")
	}

	write(t, dir, "log.csv", b.String())
	m.write(t, rng, dir)
}

// writeHeads writes the lines of a log above its rows: a title, the headers and a row of units, as the style has them.
func (m *made) writeHeads(b *strings.Builder, style logStyle) {
	var heads, units []string
	if style.hasTitle {
		heads = append(heads, "Nr.")
		units = append(units, "")
	}

	heads = append(heads, "file")
	units = append(units, "")
	for _, f := range m.inputs {
		heads = append(heads, style.head(f))
		units = append(units, f.unit)
	}

	if m.day {
		heads = append(heads, "Date")
	}

	if m.thing {
		heads = append(heads, "wing")
	}

	heads = append(heads, "Temperature", "rho", "Remark")
	units = append(units, make([]string, len(heads)-len(units))...)
	if style.hasTitle {
		b.WriteString("Campaign of spring" + strings.Repeat(style.separator, len(heads)-1) + "\n")
	}

	b.WriteString(strings.Join(heads, style.separator) + "\n")
	if style.unitsBelow {
		b.WriteString(strings.Join(units, style.separator) + "\n")
	}
}

// write writes the recordings.
func (m *made) write(t *testing.T, rng *rand.Rand, dir string) {
	for _, r := range m.rows {
		text := "time,lift,drag\n"
		for i := range 8 {
			text += fmt.Sprintf("%g,%.4f,%.4f\n", float64(i)/100, 5+rng.NormFloat64(), 1+0.1*rng.NormFloat64())
		}

		write(t, dir, r.file, text)
	}
}

// verdict says whether init finds what a campaign was generated from.
type verdict int

const (
	answered verdict = iota // init finds all inputs with their values, all things and all days
	refused                 // an error or the line of a column names the fact that init does not find
	wrong                   // init does not find all and does not say so, or it finds another value
)

// judgement is the verdict on a campaign, with the reason if the campaign is not answered.
type judgement struct {
	verdict verdict
	why     string
}

// wrongf returns the judgement of a wrong campaign.
func wrongf(format string, args ...any) judgement {
	return judgement{wrong, fmt.Sprintf(format, args...)}
}

// judge runs init, check and run --to ingest, and compares with the generating table.
func (m *made) judge(t *testing.T, dir string) judgement {
	r, err := Look(dir)
	if err != nil {
		return judgement{refused, err.Error()}
	}

	writeInit(t, dir, r, r.YAML)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		return wrongf("load: %v", err)
	}

	if _, err := p.CheckFiles(t.Context()); err != nil {
		return wrongf("check: %v", err)
	}

	if _, err := p.Run(t.Context(), pipeline.Options{Selection: engine.Selection{To: "ingest"}, Jobs: 2}); err != nil {
		return wrongf("run: %v", err)
	}

	recordings, err := table.Read(filepath.Join(dir, "runs", p.File.Experiments[0].Name, "recordings.arrow"))
	if err != nil {
		return wrongf("read the table of recordings: %v", err)
	}

	lines := columnLines(r.YAML)
	if j := m.judgeInputs(recordings, lines); j.verdict != answered {
		return j
	}

	if m.thing {
		if j := m.judgeGroups(dir, r, lines, role.Thing, func(r madeRow) string { return r.thing }); j.verdict != answered {
			return j
		}
	}

	if m.day {
		return m.judgeGroups(dir, r, lines, role.Day, func(r madeRow) string { return r.day })
	}

	return judgement{}
}

// columnLine is the line of a configuration about the role of a column: "name (header): role, why: values".
type columnLine struct {
	name string // as the program calls the column
	head string // its header in a log, or name
	role role.Role
}

var columnLinePattern = regexp.MustCompile(
	`(?m)^      #   (.+?)(?: \((.+?)\))?: (input|outcome|run|day|thing|remark|left out)[,:]`)

// columnLines returns the lines of a configuration about the roles of columns.
func columnLines(yaml string) []columnLine {
	var lines []columnLine
	for _, found := range columnLinePattern.FindAllStringSubmatch(yaml, -1) {
		lines = append(lines, columnLine{found[1], cmp.Or(found[2], found[1]), role.Role(found[3])})
	}

	return lines
}

// isAbout reports whether a line is about the column of an input, by the program's name or by a header of a log.
func (l columnLine) isAbout(f factor) bool {
	for _, name := range []string{f.name, f.english, f.other} {
		if l.name == name || strings.HasPrefix(l.head+" ", name+" ") {
			return true
		}
	}

	return false
}

// judgeInputs compares the inputs and their values in the table of recordings with the generating table.
func (m *made) judgeInputs(recordings *table.Table, lines []columnLine) judgement {
	files := recordings.Column("file").Strings
	if n := len(slices.Compact(slices.Sorted(slices.Values(files)))); n != len(m.rows) {
		return wrongf("%d recordings of %d", n, len(m.rows))
	}

	inputs := 0
	for _, line := range lines {
		if line.role == role.Input {
			inputs++
		}
	}

	if inputs > len(m.inputs) {
		return wrongf("%d inputs, expected %d: %v", inputs, len(m.inputs), lines)
	}

	for k, f := range m.inputs {
		i := slices.IndexFunc(lines, func(line columnLine) bool { return line.isAbout(f) })
		if i < 0 {
			return wrongf("%s is missing without a word: %v", f.name, lines)
		}

		if lines[i].role != role.Input {
			return judgement{refused, fmt.Sprintf("%s is not an input: %v", f.name, lines[i])}
		}

		values := recordings.Column(lines[i].name)
		if values == nil {
			return wrongf("the table of recordings has no column %s", lines[i].name)
		}

		for _, row := range m.rows {
			got := values.Floats[slices.Index(files, row.file)]
			if math.Abs(got-row.values[k]) > 1e-9*math.Abs(got) {
				return wrongf("%s of %s is %g, expected %g", f.name, row.file, got, row.values[k])
			}
		}
	}

	return judgement{}
}

// judgeGroups compares the groups that init found with the groups of the generating table. The groups that init found
// are in the first column with the wanted role; their names do not count. nameIn returns the name of a row's group.
func (m *made) judgeGroups(dir string, r *Result, lines []columnLine, wanted role.Role, nameIn func(r madeRow) string,
) judgement {
	i := slices.IndexFunc(lines, func(line columnLine) bool { return line.role == wanted })
	if i < 0 {
		return judgement{refused, fmt.Sprintf("no column is a %s: %v", wanted, lines)}
	}

	label, err := m.labels(dir, r, lines[i].name)
	if err != nil {
		return wrongf("read the column %s: %v", lines[i].name, err)
	}

	labelOf := map[string]string{} // by name
	nameOf := map[string]string{}  // by label
	for _, row := range m.rows {
		a := nameIn(row)
		b := label(row.file)
		hasOtherLabel := labelOf[a] != "" && labelOf[a] != b
		hasOtherName := nameOf[b] != "" && nameOf[b] != a
		if b == "" || hasOtherLabel || hasOtherName {
			return wrongf("%s: %s has the %s %q, expected %q", lines[i].name, row.file, wanted, b, a)
		}

		labelOf[a] = b
		nameOf[b] = a
	}

	return judgement{}
}

// labels returns a function that returns the text of a file in a column: by the pattern of the names if the
// configuration has one, and by the table of conditions otherwise. The function returns "" if nothing states a text.
func (m *made) labels(dir string, r *Result, column string) (func(file string) string, error) {
	if p := regexp.MustCompile(`pattern: ("[^"]*")`).FindStringSubmatch(r.YAML); p != nil {
		return patternLabels(p[1], column)
	}

	name := "conditions.csv"
	if strings.HasPrefix(m.style, "log") {
		name = "log.csv"
	}

	var files []string
	for _, row := range m.rows {
		files = append(files, row.file)
	}

	log, err := campaign.ReadLog(filepath.Join(dir, name), campaign.LogOptions{Files: files})
	if err != nil {
		return nil, err
	}

	labels := map[string]string{} // by file
	for row, found := range log.FilesOf(files) {
		for _, i := range found {
			text, _ := log.Rows[row].Name(column)
			labels[files[i]] = text
		}
	}

	return func(file string) string { return labels[file] }, nil
}

// patternLabels returns a function that returns the text of a file in a column, by a pattern in quotes.
func patternLabels(quoted, column string) (func(file string) string, error) {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, err
	}

	pattern, err := campaign.ParsePattern(text)
	if err != nil {
		return nil, err
	}

	return func(file string) string {
		stated, _ := pattern.Match(file)
		for _, c := range stated {
			if c.Column == column {
				return c.Name
			}
		}

		return ""
	}, nil
}

// Generated campaigns come back as the table that generated them: at least nine of ten are answered, and none is wrong.
// Expected: the generating table.
func TestGeneratedCampaigns(t *testing.T) {
	n := longtest.Count(20, 2000)

	counts := map[verdict]int{}
	var refusals []string
	for seed := range n {
		rng := rand.New(rand.NewPCG(51, uint64(seed)))
		m, dir := generate(rng), t.TempDir()
		write := m.byNames
		if seed%2 == 1 {
			m.scatter = []float64{0, 0, 0.003}[rng.IntN(3)]
			write = m.byLog
		}

		write(t, rng, dir)

		j := m.judge(t, dir)
		counts[j.verdict]++
		switch j.verdict {
		case wrong:
			t.Errorf("campaign %d, %s, %s …: %s", seed, m.style, m.rows[0].file, j.why)
		case refused:
			refusals = append(refusals, fmt.Sprintf("%d, %s, %s …: %s", seed, m.style, m.rows[0].file, j.why))
		}
	}

	t.Logf("%d campaigns: %d answered, %d refused, %d wrong", n, counts[answered], counts[refused], counts[wrong])

	if len(refusals) > 0 {
		t.Log(strings.Join(refusals[:min(len(refusals), 30)], "\n"))
	}

	assert.GreaterOrEqual(t, counts[answered], n*9/10, "answered campaigns of %d", n)
}
