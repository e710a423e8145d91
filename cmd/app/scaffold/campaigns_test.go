package scaffold

import (
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
	"doubletake/ingest/table"
	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// factor is an input of a generated campaign: its name here, how names and headers write it,
// the unit, and the values that campaigns set.
type factor struct {
	name                         string
	letter, word, english, other string
	unit, behind                 string
	from, step                   float64
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
	style   string
	inputs  []factor
	rows    []madeRow
	thing   bool
	day     bool
	scatter float64 // relative, of inputs in logs
}

type madeRow struct {
	values     []float64
	thing, day string
	repeat     int
	file       string
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

// logStyles are separator, decimal mark, and how the log is typed.
var logStyles = []string{
	"comma", "semicolon, decimal commas", "tabs, units in brackets", "row of units", "units in cells", "thousands",
	"title, counter, remarks", "names without ending",
}

// byLog writes a campaign with a log, which has nuisance columns besides.
func (m *made) byLog(t *testing.T, rng *rand.Rand, dir string) {
	k := rng.IntN(len(logStyles))
	m.style = "log " + logStyles[k]
	german := k == 1
	sep := map[int]string{1: ";", 2: "\t", 6: ";"}[k]
	if sep == "" {
		sep = ","
	}

	text := func(f factor, v float64) string {
		digits := 4
		if m.scatter == 0 || f.name == "blades" {
			digits = -1
		}

		s := strconv.FormatFloat(v, 'f', digits, 64)
		switch {
		case k == 4 && f.unit != "1/min":
			s = strings.TrimSpace(s + " " + f.unit)
		case k == 5 && f.name == "rpm" && v >= 1000:
			s = fmt.Sprintf(`"%d,%03d.%d"`, int(v)/1000, int(v)%1000, int(math.Round(v*10))%10)
		case german:
			s = strings.Replace(s, ".", ",", 1)
		}

		return s
	}

	heads, units := []string{"file"}, []string{""}
	if k == 6 {
		heads = append([]string{"Nr."}, heads...)
		units = append(units, "")
	}

	for _, f := range m.inputs {
		h := f.english
		if german {
			h = f.other
		}

		if k == 2 && f.unit != "" {
			h += " [" + f.unit + "]"
		}

		heads = append(heads, h)
		units = append(units, f.unit)
	}

	extra := []string{"Temperature", "rho", "Remark"}
	if m.thing {
		extra = append([]string{"wing"}, extra...)
	}

	if m.day {
		extra = append([]string{"Date"}, extra...)
	}

	var b strings.Builder
	if k == 6 {
		b.WriteString("Campaign of spring" + strings.Repeat(sep, len(heads)+len(extra)-1) + "\n")
	}

	b.WriteString(strings.Join(append(heads, extra...), sep) + "\n")

	if k == 3 {
		b.WriteString(strings.Join(append(units, make([]string, len(extra))...), sep) + "\n")
	}

	for i := range m.rows {
		r := &m.rows[i]
		r.file = fmt.Sprintf("rec_%03d.txt", i+1)
		cells := []string{r.file}
		if k == 7 {
			cells[0] = fmt.Sprintf("REC_%03d", i+1)
		}

		if k == 6 {
			cells = append([]string{fmt.Sprint(i + 1)}, cells...)
		}

		for n, f := range m.inputs {
			if m.scatter > 0 && f.name != "blades" {
				r.values[n] = math.Round(1e4*r.values[n]*(1+m.scatter*(2*rng.Float64()-1))) / 1e4
			}

			if k == 5 && f.name == "rpm" {
				r.values[n] = math.Round(10*r.values[n]) / 10
			}

			cells = append(cells, text(f, r.values[n]))
		}

		if m.day {
			cells = append(cells, r.day)
		}

		if m.thing {
			cells = append(cells, r.thing)
		}

		temp := strconv.FormatFloat(20+float64(i)/10+rng.Float64()/5, 'f', 1, 64)
		rho := strconv.FormatFloat(1.19+0.005*float64(rng.IntN(5)), 'f', 3, 64)
		if german {
			temp, rho = strings.Replace(temp, ".", ",", 1), strings.Replace(rho, ".", ",", 1)
		}

		b.WriteString(strings.Join(append(cells, temp, rho, []string{"", "ok", "gust"}[rng.IntN(3)]), sep) + "\n")
	}

	write(t, dir, "log.csv", b.String())
	m.write(t, rng, dir)
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

// verdict of a campaign: answered, refused (a line or an error names what is missing), or wrong.
type verdict struct{ kind, why string }

var inputsLine = regexp.MustCompile(`(?m)^      #   (.*): input[,:]`)

// judge runs init, check and run --to ingest, and compares with the generating table.
func (m *made) judge(t *testing.T, dir string) verdict {
	r, err := Look(dir)
	if err != nil {
		return verdict{"refused", err.Error()}
	}

	writeInit(t, dir, r, r.YAML)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		return verdict{"wrong", "load: " + err.Error()}
	}

	if _, err := p.CheckFiles(t.Context()); err != nil {
		return verdict{"wrong", "check: " + err.Error()}
	}

	if _, err := p.Run(t.Context(), pipeline.Options{Selection: engine.Selection{To: "ingest"}, Jobs: 2}); err != nil {
		return verdict{"wrong", "run: " + err.Error()}
	}

	tab, err := table.Read(filepath.Join(dir, "runs", p.File.Experiments[0].Name, "recordings.arrow"))
	if err != nil {
		return verdict{"wrong", err.Error()}
	}

	files := tab.Column("file").Strings
	if n := len(slices.Compact(slices.Sorted(slices.Values(files)))); n != len(m.rows) {
		return verdict{"wrong", fmt.Sprintf("%d recordings of %d", n, len(m.rows))}
	}

	told := inputsLine.FindAllString(r.YAML, -1)
	if len(told) > len(m.inputs) {
		return verdict{"wrong", fmt.Sprintf("inputs %q", told)}
	}

	for k, f := range m.inputs {
		i := slices.IndexFunc([]string{f.name, f.english, f.other}, func(name string) bool {
			return tab.Column(name) != nil && strings.Contains(strings.Join(told, ""), "   "+name)
		})
		if i < 0 {
			for _, word := range []string{f.english, f.other, f.word, f.name} {
				if strings.Contains(strings.ToLower(r.YAML), strings.ToLower(word)) {
					return verdict{"refused", fmt.Sprintf("%s: %q", f.name, told)}
				}
			}

			return verdict{"wrong", fmt.Sprintf("%s is missing without a word: %q", f.name, told)}
		}

		c := tab.Column([]string{f.name, f.english, f.other}[i])

		for _, row := range m.rows {
			i := slices.Index(files, row.file)
			if got := c.Floats[i]; math.Abs(got-row.values[k]) > 1e-9*math.Abs(got) {
				return verdict{"wrong", fmt.Sprintf("%s of %s is %g, expected %g", f.name, row.file, got, row.values[k])}
			}
		}
	}

	if m.thing && !m.groups(dir, r, "thing", func(r madeRow) string { return r.thing }) {
		return verdict{"refused", "things"}
	}

	if m.day && !m.groups(dir, r, "day", func(r madeRow) string { return r.day }) {
		return verdict{"refused", "days"}
	}

	return verdict{"answered", ""}
}

// groups reports whether a column of that role has the groups of the generating table.
func (m *made) groups(dir string, r *Result, role string, of func(r madeRow) string) bool {
	line := regexp.MustCompile(`(?m)^      #   ([^ :]+)(?: \(.*?\))?: ` + role).FindStringSubmatch(r.YAML)
	if line == nil {
		return false
	}

	var label func(file string) string
	if p := regexp.MustCompile(`pattern: ("[^"]*")`).FindStringSubmatch(r.YAML); p != nil {
		text, _ := strconv.Unquote(p[1])
		pat, err := campaign.ParsePattern(text)
		if err != nil {
			return false
		}

		label = func(file string) string {
			stated, _ := pat.Match(file)
			for _, c := range stated {
				if c.Column == line[1] {
					return c.Name
				}
			}

			return ""
		}
	} else {
		var files []string
		for _, row := range m.rows {
			files = append(files, row.file)
		}

		name := "conditions.csv"
		if strings.HasPrefix(m.style, "log") {
			name = "log.csv"
		}

		c, err := campaign.ReadLog(filepath.Join(dir, name), campaign.LogOptions{Files: files})
		if err != nil {
			return false
		}

		label = func(file string) string {
			for k, in := range c.FilesOf(files) {
				if slices.Contains(in, slices.Index(files, file)) {
					name, _ := c.Rows[k].Name(line[1])
					return name
				}
			}

			return ""
		}
	}

	labelOf := map[string]string{} // by name
	nameOf := map[string]string{}  // by label
	for _, row := range m.rows {
		a := of(row)
		b := label(row.file)
		hasOtherLabel := labelOf[a] != "" && labelOf[a] != b
		hasOtherName := nameOf[b] != "" && nameOf[b] != a
		if b == "" || hasOtherLabel || hasOtherName {
			return false
		}

		labelOf[a] = b
		nameOf[b] = a
	}

	return true
}

// Generated campaigns come back as the table that generated them: nine of ten are answered, none is
// wrong. The witness is the generating table.
func TestGeneratedCampaigns(t *testing.T) {
	n := longtest.Count(20, 2000)

	kinds := map[string]int{}
	var styles []string
	for seed := range n {
		rng := rand.New(rand.NewPCG(51, uint64(seed)))
		m, dir := generate(rng), t.TempDir()
		write := m.byNames
		if seed%2 == 1 {
			m.scatter = []float64{0, 0, 0.003}[rng.IntN(3)]
			write = m.byLog
		}

		write(t, rng, dir)

		v := m.judge(t, dir)
		kinds[v.kind]++
		switch v.kind {
		case "wrong":
			t.Errorf("campaign %d, %s, %s …: %s", seed, m.style, m.rows[0].file, v.why)
		case "refused":
			styles = append(styles, fmt.Sprintf("%d, %s, %s …: %s", seed, m.style, m.rows[0].file, v.why))
		}
	}

	t.Logf("%d campaigns: %v", n, kinds)

	if kinds["answered"] < n*9/10 {
		t.Errorf("%d of %d are answered; not:\n%s", kinds["answered"], n, strings.Join(styles[:min(len(styles), 30)], "\n"))
	} else if testing.Verbose() {
		t.Log(strings.Join(styles[:min(len(styles), 30)], "\n"))
	}
}
