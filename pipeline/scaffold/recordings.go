package scaffold

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// leaveCopies leaves out files with the contents of one before: a copy is no second measurement.
func (p *plan) leaveCopies(files []string) {
	sums := lists.Each(files, func(f string) string { return digest(filepath.Join(p.dir, f)) })
	for i, f := range files {
		if of := files[slices.Index(sums, sums[i])]; sums[i] != "" && of != f {
			p.Exclude = append(p.Exclude, f)
			p.note("%s is a copy of %s: left out (exclude); which of the two is right?", f, of)
		}
	}
}

// digest is the size of a file and the hash of its first and last 64 kB, "" where it cannot be
// read: two measurements do not have the same noise there.
func digest(path string) string {
	const part = 64 << 10

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
	last := io.NewSectionReader(f, max(0, fi.Size()-part), part)
	if _, err := io.Copy(h, io.MultiReader(io.NewSectionReader(f, 0, part), last)); err != nil {
		return ""
	}

	return fmt.Sprintf("%d %x", fi.Size(), h.Sum(nil))
}

// look opens the files and reads their headers.
func (p *plan) look(files []string) {
	p.Spectra = p.Format != "text"
	p.runs = max(len(files), p.sheet.rows)

	var infos []ingest.Info
	for i, f := range files[:min(len(files), maxOpened)] {
		info, err := header(filepath.Join(p.dir, f))
		switch {
		case err != nil && i == 0:
			p.note("the first recording cannot be read: %v", err)
			return
		case err != nil:
			p.note("%v", err)
		}

		infos = append(infos, info)
		for _, c := range info.Channels {
			if c.Role() == "" && !p.intervals && c.Samples > 1 {
				p.shortest = min(p.shortest, c.Samples)
			}
		}
	}

	p.choose(files, infos[0])

	if slices.ContainsFunc(format.All(), func(f ingest.Format) bool { return f.Name == p.Format && f.Attributes }) {
		p.attributes(files, infos)
	}

	p.sidecars(files)
}

// Why a column is proposed that other sources than names and log state.
const ofFiles, besideFiles = "an attribute of the files", "of the file next to each"

// attributes takes conditions, things and occasions that all files state themselves.
func (p *plan) attributes(files []string, infos []ingest.Info) {
	for _, a := range infos[0].Attributes {
		base := strings.ToLower(a.Name[strings.LastIndexAny(a.Name, "/.@")+1:])
		name, roles := standard[base], condition.Roles{}
		switch {
		case base == "phi_deg" || slices.ContainsFunc(terms, func(t term) bool { return t.name == base }):
			name = base
		case instances.MatchString(base) || dayWords.MatchString(base):
			name, roles.Things = base, []string{base}
		}

		var stated []condition.Condition
		for _, info := range infos {
			if c, err := roles.Attribute(info, a.Name, name, ""); err == nil {
				stated = append(stated, c)
			}
		}

		if name != "" && len(base) > 1 && len(stated) == len(infos) && p.states(files, name, a.Name, ofFiles, stated) {
			p.Attributes = append(p.Attributes, config.NamedString{Name: name, Value: a.Name})
		}
	}
}

// states adds a column of what another source states of each file. It reports whether it is one of conditions.
func (p *plan) states(files []string, name, head, why string, stated []condition.Condition) bool {
	s := p.sheet
	if s.rows > 0 && s.rows != len(stated) {
		return false
	}

	f := &field{name: name, head: head, texts: lists.Each(stated, func(c condition.Condition) string { return c.Name })}
	if !stated[0].IsName {
		f.values = lists.Each(stated, func(c condition.Condition) float64 { return c.Value })
		f.texts = lists.Each(f.values, decimal)
	}

	if s.states(name) {
		if s.differs(f, func(k int) string { return fmt.Sprintf("%s, %s,", files[k], why) }) {
			s.fields = append(s.fields, f)
		}

		return false
	}

	s.rows, s.fields = len(stated), append(s.fields, f)
	if !s.byWords(f) || f.values != nil && f.distinct() < 2 {
		f.role = input
	}

	if f.role != input && f.role != thing && f.role != day {
		return false
	}

	f.why = why

	return true
}

// sidecars takes what files next to all recordings state at their top.
func (p *plan) sidecars(files []string) {
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		of, keys := map[string][]condition.Condition{}, []string{}
		for _, f := range files {
			// check reports what is wrong with it
			values, _ := config.ReadValues(filepath.Join(p.dir, strings.TrimSuffix(f, path.Ext(f))+ending))
			for _, v := range values {
				c := condition.Condition{Name: v.Text, Value: v.Number, IsName: v.Number != v.Number}
				if of[v.Name] == nil {
					keys = append(keys, v.Name)
				}

				if all := append(of[v.Name], c); all[0].IsName == c.IsName {
					of[v.Name] = all
				}
			}
		}

		for _, key := range keys {
			name := cmp.Or(termOf(key, ""), key)
			if len(of[key]) == len(files) && !strings.Contains(key, ".") && p.states(files, name, key, besideFiles, of[key]) {
				p.Sidecar = cmp.Or(p.Sidecar, &config.Sidecar{Ending: ending})
				p.Sidecar.Values = append(p.Sidecar.Values, config.NamedString{Name: name, Value: key})
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

// usual are lift and drag by the usual names of their channels.
var usual = map[string]string{
	"lift": "lift", "fz": "lift", "lift_n": "lift", "l": "lift",
	"drag": "drag", "fx": "drag", "drag_n": "drag", "d": "drag",
}

// forces lists lift and drag by the names of the channels; letters count where no channel has a word.
func (p *plan) forces(letters bool) (columns []config.NamedString) {
	for i, c := range p.Channels {
		name := usual[strings.ToLower(c)]
		if name == "" || !letters && len(c) < 2 {
			continue
		}

		if p.units[i] == "N" {
			name += "_n"
		}

		columns = append(columns, config.NamedString{Name: p.sheet.outcomeName(name), Value: c})
	}

	return columns
}

// choose decides from the first file whether the channels are microphones or a
// balance. Sound is sampled in kHz; forces have names, or are in text files.
func (p *plan) choose(files []string, info ingest.Info) {
	channels := lists.Keep(info.Channels, func(c ingest.Channel) bool { return c.Role() == "" && c.Samples > 1 })
	n := len(channels)
	if n == 0 {
		p.note("%s has no channel of samples; pipeline inspect shows its contents", info.Path)
		return
	}

	shapes := lists.Alike(lists.Each(channels, func(c ingest.Channel) [2]float64 {
		return [2]float64{c.RateHz, float64(c.Samples)}
	}))
	most := slices.MaxFunc(shapes, func(a, b []int) int { return len(a) - len(b) })
	p.Channels = lists.Each(most, func(k int) string { return channels[k].Name })
	p.units = lists.Each(most, func(k int) string { return channels[k].Unit })

	p.Some, p.Stated = len(p.Channels) < n, p.units[0]
	p.Pascal = !slices.ContainsFunc(p.units, func(u string) bool { return u != "Pa" })
	samples, rateHz := channels[most[0]].Samples, channels[most[0]].RateHz
	p.RateKnown = rateHz > 0
	switch {
	case len(p.forces(false)) > 0:
		p.Spectra = false
	case p.Format == "text":
		p.Spectra = rateHz >= 5000
	default:
		p.Spectra = !p.RateKnown || rateHz >= 2000
	}

	what := fmt.Sprintf("%s; the first, %s: %s, %s of %d samples", fault.Plural(int64(len(files)), p.Format+" file"),
		files[0], info.Encoding, fault.Plural(int64(len(p.Channels)), "channel"), samples)
	if p.RateKnown {
		what += fmt.Sprintf(" at %.9g Hz", rateHz)
	}

	p.note("%s", what)
	p.perChannel(info)

	if n > len(p.Channels)+len(p.InFile) {
		p.note("of %d channels those of one rate and length are used; choose others under channels", n)
	}

	if !p.Spectra && !p.ofVolts() {
		p.columns()
	}
}

// columns proposes outcomes of a balance: lift and drag, else all that are no clock and no setting.
func (p *plan) columns() {
	if p.Columns = p.forces(p.letters()); len(p.Columns) > 0 {
		return
	}

	settings := lists.Where(len(p.Channels), func(i int) bool {
		f := field{name: p.Channels[i], head: p.Channels[i], unit: p.units[i]}
		length := slices.Contains([]string{"m", "cm", "mm"}, f.unit) || lengthEnd.MatchString(f.name)

		return !f.says(outcomeWords) && (f.says(inputWords) || f.says(environment) || f.says(clockWords) || f.says(spread) ||
			length && f.says(axes))
	})

	for i, c := range p.Channels {
		if slices.Contains(settings, i) && len(settings) < len(p.Channels) {
			p.note("%s: left out, a setting, a clock or the state of the air by its name: add it to columns if not", c)
			continue
		}

		name := strings.Trim(strings.ToLower(notWord.ReplaceAllString(c, "_")), "_")
		if name == "" || digit(name[0]) {
			name = "column_" + name
		}

		name = p.sheet.outcomeName(name)
		for i := 2; slices.ContainsFunc(p.Columns, func(n config.NamedString) bool { return n.Name == name }); i++ {
			name += "_" + strconv.Itoa(i)
		}

		p.Columns = append(p.Columns, config.NamedString{Name: name, Value: c})
	}

	p.note("no column is called lift or drag: all are outcomes; under columns keep measured quantities, and remove " +
		"clocks and settings")
}

// outcomeName is a name that an outcome may have in the program's tables, which no condition has.
func (s *sheet) outcomeName(name string) string {
	given := func(f *field) bool { return f.name == name && f.role != outcome }
	if slices.Contains(condition.Reserved, name) || slices.ContainsFunc(s.fields, given) {
		return name + "_measured"
	}

	return name
}

var (
	lengthEnd = lazy(`.*[_ (\[](mm|cm|m)[)\]]?`)
	axes      = lazy(`[xyz]`)
)

// letters reports whether L and D are lift and drag: both are there, and no channel has a word.
func (p *plan) letters() bool {
	word := func(c string) bool { return len(c) > 2 }
	has := func(letter string) bool {
		return slices.ContainsFunc(p.Channels, func(c string) bool { return strings.EqualFold(c, letter) })
	}

	return has("L") && has("D") && !has("P") && !slices.ContainsFunc(p.Channels, word)
}

// perChannel takes arrays with a value for each microphone for conditions, where
// their names tell of which, and notes the others.
func (p *plan) perChannel(info ingest.Info) {
	n := len(p.Channels)

	text := p.result.Conditions
	listed := text == "" && p.Conditions != "" || strings.Contains(text, ",") // conditions of a table
	if !p.Spectra || n < 2 || listed {
		return
	}

	var others []string
	for _, c := range info.Channels {
		if c.Samples != int64(n) || slices.Contains(p.Channels, c.Name) || c.IsTime() || strings.Contains(c.Name, "[") {
			continue
		}

		name := ""
		for _, word := range words.FindAllString(c.Name[strings.LastIndexAny(c.Name, "/.")+1:], -1) {
			if std := standard[strings.ToLower(word)]; std != "" && len(word) > 1 {
				name = std
			}
		}

		switch {
		case name != "" && !p.sheet.states(name):
			p.InFile = append(p.InFile, config.NamedString{Name: name, Value: c.Name})
		case c.Role() == "":
			others = append(others, c.Name)
		}
	}

	if len(others) > 0 {
		p.note("%s has a value for each channel too: name it under inside if it is a condition", strings.Join(others, ", "))
	}

	if len(p.InFile) > 0 && text != "" { // a list of files without a condition
		p.Conditions, p.result.Conditions = "", ""
		p.result.Notes = slices.DeleteFunc(p.result.Notes, func(s string) bool { return s == noConditions })
	}
}

// noConditions is the note about names without conditions.
const noConditions = "the file names contain no conditions: conditions.csv lists the files; add a column per condition"

var notWord = regexp.MustCompile(`[^A-Za-z0-9]+`)

// knowSpeed notes settings that a rotor's analysis needs and the names lack.
func (p *plan) knowSpeed() {
	if !p.Spectra {
		return
	}

	has := func(name string) bool {
		constant := func(f *field) bool { return f.known && f.name == name }
		return slices.Contains(p.Inputs, name) || slices.ContainsFunc(p.sheet.of(remark), constant)
	}
	speed := has("rpm") || has("rps")
	p.NoRotor, p.NeedSpeed = !speed && !has("blades"), !speed && has("blades")
	p.NeedBlades = !p.NoRotor && !has("blades")
	if p.NoRotor {
		p.note("no conditions blades and rpm were found: the outcomes are levels of bands and overall levels; the " +
			"configuration states what the harmonics of a rotor need")
	}

	if p.NeedSpeed {
		p.note("no condition rpm was found: the shaft speed is looked for in the sound; set the range under track, " +
			"narrower than a factor of 2, or halves and doubles of the speed are mistaken for it (pipeline inspect lists the " +
			"lines of a recording; the blade passing frequency is blades times the shaft speed)")
	}

	if p.NeedBlades {
		p.note("no condition blades was found: fill it in under constants")
	}

	if !p.RateKnown && !p.Todo {
		p.note("the files do not state their sampling rate: fill in rate_hz")
	}
}
