package scaffold

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
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

// Names of copies, as programs and people make them; without one, a copy may be a recording under another's name.
var copyName, anyName = lazy(`.*(\bcop(y|ie)|kopie|backup|\(\d+\)|~).*`), lazy(`.*`)

// leaveCopies leaves out files of such names with the contents of another: a copy is no second measurement.
func (p *plan) leaveCopies(files []string, of pattern) []string {
	if !slices.ContainsFunc(files, of.MatchString) {
		return files
	}

	sums := lists.Each(files, func(f string) string { return digest(filepath.Join(p.dir, f)) })
	for _, alike := range lists.Alike(sums) {
		same := lists.Rows(files, 1, alike)
		original := max(slices.IndexFunc(same, func(f string) bool { return !copyName.MatchString(f) }), 0)
		for i, f := range same {
			if i != original && sums[alike[0]] != "" && of.MatchString(f) {
				p.Exclude = append(p.Exclude, f)
				p.note("%s is a copy of %s: left out (exclude); which of the two is right?", f, same[original])
			}
		}
	}

	return lists.Keep(files, func(f string) bool { return !slices.Contains(p.Exclude, f) })
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

// attributes takes conditions, things and occasions that all files state themselves, as a log's columns. Those that are
// the same everywhere count where the program knows their names.
func (p *plan) attributes(files []string, infos []ingest.Info) {
	var more []*field
	for _, a := range infos[0].Attributes {
		base := a.Name[strings.LastIndexAny(a.Name, "/.@")+1:]
		std := standard[strings.ToLower(base)]
		f := &field{name: base, head: a.Name, why: ofFiles}
		if f.known = std != "" && len(base) > 1; f.known {
			f.name = std
		}

		same := func(b ingest.Attribute) bool { return b == a }
		differs := func(info ingest.Info) bool { return !slices.ContainsFunc(info.Attributes, same) }
		if !f.known && !slices.ContainsFunc(infos, differs) || !identifier.MatchString(f.name) {
			continue
		}

		for _, roles := range []condition.Roles{{}, {Things: []string{f.name}}} {
			var stated []condition.Condition
			for _, info := range infos {
				if c, err := roles.Attribute(info, a.Name, f.name, ""); err == nil {
					stated = append(stated, c)
				}
			}

			if len(stated) == len(infos) && len(f.texts) == 0 {
				more = append(more, f.take(stated))
			}
		}
	}

	for _, f := range p.settle(files, more) {
		p.Attributes = append(p.Attributes, config.NamedString{Name: f.name, Value: f.head})
	}
}

// take takes what each file states.
func (f *field) take(stated []condition.Condition) *field {
	f.texts = lists.Each(stated, func(c condition.Condition) string { return c.Name })
	if !stated[0].IsName {
		f.values = lists.Each(stated, func(c condition.Condition) float64 { return c.Value })
		f.texts = lists.Each(f.values, decimal)
	}

	return f
}

// settle adds columns of what another source states of each file, and returns those that are conditions.
func (p *plan) settle(files []string, more []*field) (conditions []*field) {
	s := p.sheet
	if s.rows > 0 && s.rows != len(files) {
		return nil
	}

	log := &sheet{rows: len(files)}
	for _, f := range more {
		why := f.why
		f.why = ""
		if s.states(f.name) {
			if s.differs(f, func(k int) string { return fmt.Sprintf("%s, %s,", files[k], why) }) {
				s.fields = append(s.fields, f)
			}

			continue
		}

		log.fields = append(log.fields, f)
		s.rows, s.fields = len(files), append(s.fields, f)
		log.decide()
		switch {
		case f.values != nil && f.known && f.distinct() < 2:
			f.role = input
		case f.role == thing && why == ofFiles && !f.isObject():
			f.be(remark, "add it to attributes and things if it names what was measured")
		}

		if slices.Contains([]role{input, thing, day}, f.role) {
			conditions = append(conditions, f)
			f.why = why
		}
	}

	p.dropList(len(conditions))

	return conditions
}

// dropList takes back a list of files to which people would add conditions, where n are found.
func (p *plan) dropList(n int) {
	if text := p.result.Conditions; n > 0 && text != "" && !strings.Contains(text, ",") {
		p.Conditions, p.result.Conditions = "", ""
		p.result.Notes = slices.DeleteFunc(p.result.Notes, func(s string) bool { return s == noConditions })
	}
}

// sidecars takes what files next to all recordings state.
func (p *plan) sidecars(files []string) {
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		var all []condition.Condition
		for _, f := range files {
			// check reports what is wrong with it
			values, _ := config.ReadValues(filepath.Join(p.dir, strings.TrimSuffix(f, path.Ext(f))+ending))
			for _, v := range values {
				all = append(all, condition.Condition{
					Column: v.Name, Name: v.Text, Value: v.Number, IsName: v.Number != v.Number,
				})
			}
		}

		var more []*field
		for _, rows := range lists.Alike(lists.Each(all, func(c condition.Condition) string { return c.Column })) {
			key, named := all[rows[0]].Column, all[rows[0]].IsName
			stated := lists.Keep(lists.Rows(all, 1, rows), func(c condition.Condition) bool { return c.IsName == named })
			if len(stated) == len(files) {
				base := key[strings.LastIndexByte(key, '.')+1:]
				term := termOf(base, "")
				f := &field{name: cmp.Or(term, base), head: key, why: besideFiles, known: term != ""}
				more = append(more, f.take(stated))
			}
		}

		for _, f := range p.settle(files, more) {
			p.Sidecar = cmp.Or(p.Sidecar, &config.Sidecar{Ending: ending})
			p.Sidecar.Values = append(p.Sidecar.Values, config.NamedString{Name: f.name, Value: f.head})
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

// usual are lift and drag by the usual names of their channels, without units.
var usual = map[string]string{"lift": "lift", "fz": "lift", "l": "lift", "drag": "drag", "fx": "drag", "d": "drag"}

// forces lists lift and drag by the names of the channels; letters count where no channel has a word.
func (p *plan) forces(letters bool) (columns []config.NamedString) {
	for i, c := range p.Channels {
		base := strings.ToLower(c[strings.LastIndexAny(c, "/.")+1:])
		name := usual[strings.TrimSuffix(base, "_n")]
		if name == "" || !letters && len(base) < 2 {
			continue
		}

		if p.units[i] == "N" || strings.HasSuffix(base, "_n") {
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
	pulses, others := lists.Split(most, func(k int) bool { return tachometers.MatchString(channels[k].Name) })
	if len(pulses) > 0 && len(others) > 0 {
		most, p.Pulses = others, channels[pulses[0]].Name
		p.note("%s: left out, a tachometer by its name: see tachometer in the configuration", p.Pulses)
		n -= len(pulses)
	}

	p.Channels = lists.Each(most, func(k int) string { return channels[k].Name })
	p.units = lists.Each(most, func(k int) string { return channels[k].Unit })

	p.Some, p.Stated = len(p.Channels) < n || p.Pulses != "", p.units[0]
	p.Pascal = !slices.ContainsFunc(p.units, func(u string) bool { return u != "Pa" })
	samples, rateHz := channels[most[0]].Samples, channels[most[0]].RateHz
	if p.RateKnown = rateHz > 0; p.RateKnown && !math.IsInf(p.seconds, 1) {
		p.shortest = min(p.shortest, int64(p.seconds*rateHz))
	}

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
	if rd, err := format.Open(filepath.Join(p.dir, files[0]), ingest.Options{}); err == nil {
		at := lists.Where(len(info.Channels), func(i int) bool { return slices.Contains(p.Channels, info.Channels[i].Name) })
		if err := ingest.RequireTimeSeries(rd, at); err != nil {
			p.note("%s", strings.TrimPrefix(err.Error(), p.dir+string(filepath.Separator)))
		}

		p.rising = rising(rd, at)
		_ = rd.Close()
	}

	if n > len(p.Channels)+len(p.InFile) {
		p.note("of %d channels those of one rate and length are used; choose others under channels", n)
	}

	if !p.Spectra && !p.ofVolts() {
		p.columns()
	}
}

// rising reports of which channels the first samples rise from one to the next, as those of a clock.
func rising(rd ingest.Reader, channels []int) []bool {
	all := lists.Make(len(channels), func(int) []float64 { return make([]float64, 200) })
	n, _ := rd.Read(channels, 0, all)

	return lists.Each(all, func(x []float64) bool {
		return n > 20 && len(lists.Where(n-1, func(k int) bool { return !(x[k] < x[k+1]) })) == 0
	})
}

// columns proposes outcomes of a balance: lift and drag, else all that are no clock and no setting.
func (p *plan) columns() {
	if p.Columns = p.forces(p.letters()); len(p.Columns) > 0 {
		used := lists.Each(p.Columns, func(c config.NamedString) string { return c.Value })
		others := lists.Keep(p.Channels, func(c string) bool { return !slices.Contains(used, c) })
		if len(others) > 0 {
			p.note("%s: left out, not called lift or drag: add to columns what was measured", strings.Join(others, ", "))
		}

		return
	}

	settings := lists.Where(len(p.Channels), func(i int) bool {
		f := field{name: p.Channels[i], head: p.Channels[i], unit: p.units[i]}
		length := slices.Contains([]string{"m", "cm", "mm"}, f.unit) || lengthEnd.MatchString(f.name)

		return !f.says(outcomeWords) && (f.says(inputWords) || f.isAir() || f.says(clockWords) || f.says(spread) ||
			f.isNumbered() || length && f.says(axes) || i < len(p.rising) && p.rising[i])
	})

	if len(settings) == len(p.Channels) {
		settings = nil
	} else if len(settings) > 0 {
		p.note("left out as settings, clocks, counters or states of the air, by name or since they rise from sample to "+
			"sample: %s; add to columns what was measured",
			strings.Join(lists.Rows(p.Channels, 1, settings), ", "))
	}

	for i, c := range p.Channels {
		if slices.Contains(settings, i) {
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
	has := func(letter string) bool { return slices.Contains(lists.Each(p.Channels, strings.ToUpper), letter) }
	word := func(c string) bool { return len(c) > 2 }

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

	p.dropList(len(p.InFile))
}

// noConditions is the note about names without conditions.
const noConditions = "the file names contain no conditions: conditions.csv lists the files; add a column per condition"

var (
	notWord     = regexp.MustCompile(`[^A-Za-z0-9]+`)
	tachometers = regexp.MustCompile(`(?i)tacho|keyphas`)
)

// knowSpeed finds the settings that a rotor's analysis needs and the names lack: comments ask for them.
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
}
