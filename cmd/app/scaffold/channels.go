package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// Sampling rates from which channels are sound. Text files are mostly of balances, whose rates may be higher.
const (
	soundRateHz     = 2000
	soundRateTextHz = 5000
)

// hasSamples reports whether a channel has samples of a measured quantity, not of the time.
func hasSamples(channel ingest.Channel) bool { return channel.Role() == "" && channel.Samples > 1 }

// shortestChannel returns the number of samples of the shortest channel. It returns math.MaxInt64 if no channel has
// samples.
func shortestChannel(info ingest.Info) int64 {
	shortest := int64(math.MaxInt64)
	for _, channel := range readTogether(info) {
		shortest = min(shortest, channel.Samples)
	}

	return shortest
}

// readTogether returns the channels that have samples, as they are if they are read together: a column with a sample in
// some rows of a table has the rate and the length of the longest channel.
func readTogether(info ingest.Info) []ingest.Channel {
	isEmpty := func(channel ingest.Channel) bool { return !hasSamples(channel) }
	channels := slices.DeleteFunc(slices.Clone(info.Channels), isEmpty)
	if len(channels) == 0 {
		return nil
	}

	longest := slices.MaxFunc(channels, func(a, b ingest.Channel) int { return cmp.Compare(a.Samples, b.Samples) })
	for i, channel := range channels {
		if isSparse(channel) {
			channels[i].RateHz = longest.RateHz
			channels[i].Samples = longest.Samples
		}
	}

	return channels
}

// chooseChannels decides from the first recording which channels are used, and whether they are microphones or of a
// balance.
func (p *plan) chooseChannels(files []string, info ingest.Info) {
	channels := readTogether(info)
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
	case len(p.liftAndDrag(wordsOnly)) > 0 || areLoads(channels, used):
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
		p.note("the %d channels have several rates or lengths: only those with the most frequent rate and length are "+
			"used; choose others under channels", usable)
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
		column := role.Called(text.LastPart(channels[k].Name), "")
		if column.HasWord(vocabulary.Outcomes) && !column.HasWord(vocabulary.Sound) {
			loads++
		}
	}

	return loads > 0 && 2*loads >= len(used)
}

// mostAlikeChannels returns the indices of the channels that have the most frequent rate and length.
func mostAlikeChannels(channels []ingest.Channel) []int {
	type shape struct {
		rateHz  float64
		samples int64
	}

	shapes := make([]shape, len(channels))
	for i, channel := range channels {
		shapes[i] = shape{channel.RateHz, channel.Samples}
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
	var tachometers, others []int
	for _, k := range used {
		if vocabulary.Tachometer.MatchString(channels[k].Name) {
			tachometers = append(tachometers, k)
		} else {
			others = append(others, k)
		}
	}

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
	what := fmt.Sprintf("%s; the first, %s: %s, %s of %s", fault.Plural(int64(len(files)), p.Format+" file"),
		files[0], info.Encoding, fault.Plural(int64(len(p.Channels)), "channel"), fault.Plural(channel.Samples, "sample"))
	if p.RateKnown {
		what += fmt.Sprintf(" at %.9g Hz", channel.RateHz)
	}

	p.note("%s", what)
}

// takePerChannel takes arrays with a value for each microphone for conditions if their names are of conditions, the
// first array of each condition, and notes the others. It takes none if a table gives the conditions: the table may
// state them already.
func (p *plan) takePerChannel(info ingest.Info) {
	n := len(p.Channels)
	isLog := p.Conditions != "" && p.result.Conditions == ""
	hasNewTable := strings.Contains(p.result.Conditions, ",") // without a comma it lists the files alone
	if !p.Spectra || n < 2 || isLog || hasNewTable {
		return
	}

	var others []string
	for _, channel := range info.Channels {
		isRow := strings.Contains(channel.Name, "[") // of an array of two dimensions, such as p[1]
		isSample := slices.Contains(p.Channels, channel.Name) || channel.IsTime() || isRow
		if isSample || channel.Samples != int64(n) {
			continue
		}

		name := vocabulary.ConditionIn(text.LastPart(channel.Name))
		isTaken := func(entry config.NamedString) bool { return entry.Name == name }
		isKnown := p.sheet.HasCondition(name) || slices.ContainsFunc(p.InFile, isTaken)
		switch {
		case name != "" && !isKnown:
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
