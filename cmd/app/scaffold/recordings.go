package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// maxOpened bounds how many headers are read.
const maxOpened = 2000

// readHeaders opens the recordings and reads their headers. It takes the channels from the first, conditions from the
// attributes of all and from files next to them, and the length of the shortest run. If the first recording cannot be
// read, it only notes this; a later one that cannot be read states nothing.
func (p *plan) readHeaders(files []string) {
	p.Spectra = p.Format != "text"
	p.runCount = max(len(files), p.sheet.Rows)

	var infos []ingest.Info
	for i, file := range files[:min(len(files), maxOpened)] {
		info, err := readHeader(filepath.Join(p.dir, file))
		switch {
		case err != nil && i == 0:
			p.note("the first recording cannot be read: %v", err)
			return
		case err != nil:
			p.note("%v", err)
		}

		infos = append(infos, info)
		if !p.intervals {
			p.shortest = min(p.shortest, shortestChannel(info))
		}
	}

	p.chooseChannels(files, infos[0])
	p.noteNumberedColumns(files, infos)

	hasAttributes := func(f ingest.Format) bool { return f.Name == p.Format && f.Attributes }
	if slices.ContainsFunc(format.All(), hasAttributes) {
		p.takeAttributes(files, infos)
	}

	p.takeSidecars(files)
}

// noteNumberedColumns notes text files whose columns have no names, and whose number of columns differs from the first
// file: column 3 of one file may be column 2 of the other.
func (p *plan) noteNumberedColumns(files []string, infos []ingest.Info) {
	if !infos[0].HasNumberedColumns() {
		return
	}

	var others []string
	for i, info := range infos {
		if len(info.Channels) > 0 && len(info.Channels) != len(infos[0].Channels) {
			others = append(others, files[i])
		}
	}

	if len(others) == 0 {
		return
	}

	p.note("%s: the columns have no names, and their number is not %d as in %s: the same number may mean another "+
		"quantity; keep one kind under files", someFiles(others), len(infos[0].Channels), files[0])
}

// readHeader reads the header of a recording.
func readHeader(path string) (ingest.Info, error) {
	rd, err := format.Open(path, ingest.Options{})
	if err != nil {
		return ingest.Info{}, err
	}
	defer rd.Close()

	return rd.Info(), nil
}

// hasSamples reports whether a channel has samples of a measured quantity, not of the time.
func hasSamples(channel ingest.Channel) bool { return channel.Role() == "" && channel.Samples > 1 }

// shortestChannel returns the least number of samples of a channel, or the greatest number if there are no channels.
func shortestChannel(info ingest.Info) int64 {
	shortest := int64(math.MaxInt64)
	for _, channel := range info.Channels {
		if hasSamples(channel) {
			shortest = min(shortest, channel.Samples)
		}
	}

	return shortest
}

// Sampling rates from which channels are sound. Text files are mostly of balances, whose rates may be higher.
const (
	soundRateHz     = 2000
	soundRateTextHz = 5000
)

// chooseChannels decides from the first recording which channels are used, and whether they are microphones or of a
// balance.
func (p *plan) chooseChannels(files []string, info ingest.Info) {
	var channels []ingest.Channel
	for _, channel := range info.Channels {
		if hasSamples(channel) {
			channels = append(channels, channel)
		}
	}

	if len(channels) == 0 {
		p.note("%s has no channel of samples; pipeline inspect shows its contents", info.Path)
		return
	}

	used := p.takeTachometer(channels, mostAlikeChannels(channels))
	usable := len(channels) - p.tachometers
	p.takeChannels(channels, used)
	p.SomeChannels = len(p.Channels) < usable || p.TachometerChannel != ""
	first := channels[used[0]]
	p.RateKnown = first.RateHz > 0
	if p.RateKnown && !math.IsInf(p.seconds, 1) {
		p.shortest = min(p.shortest, int64(p.seconds*first.RateHz))
	}

	switch {
	case len(p.liftAndDrag(false)) > 0 || areLoads(channels, used):
		p.Spectra = false
	case p.Format == "text":
		p.Spectra = first.RateHz >= soundRateTextHz
	default:
		p.Spectra = !p.RateKnown || first.RateHz >= soundRateHz
	}

	p.noteChannels(files, info, first)
	p.takePerChannel(info)
	p.findRising(files[0], info)

	if usable > len(p.Channels)+len(p.InFile) {
		p.note("of %d channels those of one rate and length are used; choose others under channels", usable)
	}

	if !p.Spectra && !p.proposeLoads() {
		p.proposeOutcomes()
	}
}

// areLoads reports whether half of the used channels are called as loads or coefficients, such as Fy or Cp, rather than
// as microphones.
func areLoads(channels []ingest.Channel, used []int) bool {
	loads := 0
	for _, k := range used {
		base := channels[k].Name[strings.LastIndexAny(channels[k].Name, "/.")+1:]
		column := &role.Column{Name: base, Head: base}
		if column.HasWord(vocabulary.Outcomes) && !column.HasWord(vocabulary.Sound) {
			loads++
		}
	}

	return loads > 0 && 2*loads >= len(used)
}

// mostAlikeChannels returns the indices of the channels that have the most frequent rate and length. Columns with a
// sample in some rows of a table count as the columns with a sample in each row, because they can be read together.
func mostAlikeChannels(channels []ingest.Channel) []int {
	type shape struct {
		rateHz  float64
		samples int64
	}

	longest := slices.MaxFunc(channels, func(a, b ingest.Channel) int { return cmp.Compare(a.Samples, b.Samples) })
	shapes := make([]shape, len(channels))
	for i, channel := range channels {
		shapes[i] = shape{channel.RateHz, channel.Samples}
		if isSparse(channel) {
			shapes[i] = shape{longest.RateHz, longest.Samples}
		}
	}

	return slices.MaxFunc(lists.Alike(shapes), func(a, b []int) int { return len(a) - len(b) })
}

// isSparse reports whether a channel is a column with a sample in some rows of its table only.
func isSparse(channel ingest.Channel) bool {
	return slices.ContainsFunc(channel.Attributes, func(a ingest.Attribute) bool { return a.Name == ingest.RowsAttribute })
}

// takeTachometer returns the used channels that are not of a tachometer, and keeps the name of the first that is. It
// returns all used channels if all are of a tachometer.
func (p *plan) takeTachometer(channels []ingest.Channel, used []int) []int {
	isTachometer := func(k int) bool { return vocabulary.Tachometer.MatchString(channels[k].Name) }
	tachometers, others := lists.Split(used, isTachometer)
	if len(tachometers) == 0 || len(others) == 0 {
		return used
	}

	p.tachometers = len(tachometers)
	p.TachometerChannel = channels[tachometers[0]].Name
	p.note("%s: left out, a tachometer by its name: see tachometer in the configuration", p.TachometerChannel)

	return others
}

// takeChannels keeps the names and the units of the used channels.
func (p *plan) takeChannels(channels []ingest.Channel, used []int) {
	p.Channels = nil
	p.units = nil
	p.InPascal = true
	for _, k := range used {
		p.Channels = append(p.Channels, channels[k].Name)
		p.units = append(p.units, channels[k].Unit)
		p.InPascal = p.InPascal && channels[k].Unit == "Pa"
	}

	p.StatedUnit = p.units[0]
}

// noteChannels notes how many recordings there are, and the channels of the first. channel is the first used channel.
func (p *plan) noteChannels(files []string, info ingest.Info, channel ingest.Channel) {
	what := fmt.Sprintf("%s; the first, %s: %s, %s of %d samples", fault.Plural(int64(len(files)), p.Format+" file"),
		files[0], info.Encoding, fault.Plural(int64(len(p.Channels)), "channel"), channel.Samples)
	if p.RateKnown {
		what += fmt.Sprintf(" at %.9g Hz", channel.RateHz)
	}

	p.note("%s", what)
}

// findRising finds the channels of a file that rise all the time, and notes channels that are not time series. If the
// file cannot be opened, no channel is known to rise.
func (p *plan) findRising(file string, info ingest.Info) {
	rd, err := format.Open(filepath.Join(p.dir, file), ingest.Options{})
	if err != nil {
		return
	}
	defer rd.Close()

	var used []int
	for i, channel := range info.Channels {
		if slices.Contains(p.Channels, channel.Name) {
			used = append(used, i)
		}
	}

	p.isRising = readRising(rd, used)
	if err := ingest.RequireTimeSeries(rd, used); err != nil {
		p.note("%s", strings.TrimPrefix(err.Error(), p.dir+string(filepath.Separator)))
		return
	}

	p.findSweep(rd, info)
}

// sweepSamples is the number of samples by which findSweep looks for settings.
const sweepSamples = 1 << 20

// findSweep keeps the name of a setting that has several values in one file: a mean over the file means nothing. The
// rows of the file are a polar, or the file is a recording in which the setting rests at one value after the other.
func (p *plan) findSweep(rd ingest.Reader, info ingest.Info) {
	file := filepath.Base(info.Path)
	for k, channel := range info.Channels {
		base := channel.Name[strings.LastIndexAny(channel.Name, "/.")+1:]
		column := &role.Column{Name: base, Head: base}
		if channel.IsTime() || !column.HasWord(vocabulary.Inputs) {
			continue
		}

		values := make([]float64, min(channel.Samples, sweepSamples))
		n, _ := rd.Read([]int{k}, 0, [][]float64{values}) // stage ingest returns an error of reading again
		values = values[:n]

		// Text was looked at as a table before.
		mayBeTable := !p.RateKnown && p.Format != "text" && channel.Samples <= role.MostRows
		switch {
		case mayBeTable && role.IsStepwise(values):
			p.Sweep = base
			p.SweepRemedy = "Write them as a table of results in CSV, and call pipeline init again."
			p.note("%s: its rows are settings of %s: no mean over them is taken; write them as a table of results in CSV, and "+
				"call init again", file, base)
		case !p.Spectra && !p.RateKnown && role.Rests(values):
			p.Sweep = base
			p.SweepRemedy = "If each row is a result, read the file by table: instead of files:."
			p.note("%s: %s has one value after the other: no mean over them is taken; if each row is a result, read the file "+
				"by table: instead of files:", file, base)
		case !p.Spectra && role.Rests(values):
			p.Sweep = base
			p.SweepRemedy = "State the intervals in a table: conditions: with file, t0_s, t1_s and " + base + "."
			p.note("%s: %s has one value after the other: no mean over them is taken; state the intervals in a table of "+
				"conditions, with the columns file, t0_s, t1_s and %[2]s", file, base)
		}

		if p.Sweep != "" {
			p.Spectra = false
			return
		}
	}
}

// A channel is like a clock if its first risingSamples samples rise. Fewer than fewSamples may rise by chance.
const (
	risingSamples = 200
	fewSamples    = 21
)

// readRising reports for each channel whether its first samples rise from one to the next, as the samples of a clock
// do.
func readRising(rd ingest.Reader, channels []int) []bool {
	samples := make([][]float64, len(channels))
	for i := range samples {
		samples[i] = make([]float64, risingSamples)
	}

	n, _ := rd.Read(channels, 0, samples) // a short file ends before the samples are full, but its n samples were read
	rise := make([]bool, len(channels))
	for i, x := range samples {
		rise[i] = n >= fewSamples && role.Rises(x[:n])
	}

	return rise
}

// takePerChannel takes arrays with a value for each microphone for conditions if their names are of conditions, and
// notes the others. It takes none if a table gives the conditions: the table may state them already.
func (p *plan) takePerChannel(info ingest.Info) {
	n := len(p.Channels)
	isLog := p.Conditions != "" && p.result.Conditions == ""
	hasNewTable := strings.Contains(p.result.Conditions, ",") // without a comma it lists the files alone
	if !p.Spectra || n < 2 || isLog || hasNewTable {
		return
	}

	var others []string
	for _, channel := range info.Channels {
		isSample := slices.Contains(p.Channels, channel.Name) || channel.IsTime() || strings.Contains(channel.Name, "[")
		if isSample || channel.Samples != int64(n) {
			continue
		}

		name := vocabulary.ConditionIn(channel.Name[strings.LastIndexAny(channel.Name, "/.")+1:])
		switch {
		case name != "" && !p.sheet.HasCondition(name):
			p.InFile = append(p.InFile, config.NamedString{Name: name, Value: channel.Name})
		case channel.Role() == "":
			others = append(others, channel.Name)
		}
	}

	if len(others) > 0 {
		p.note("%s has a value for each channel too: name it under inside if it is a condition", strings.Join(others, ", "))
	}

	if len(p.InFile) > 0 {
		p.dropFileList()
	}
}
