package scaffold

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"doubletake/ingest/format/text"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
	"doubletake/pipeline/config"
)

// proposeOutcomes proposes outcomes of a balance: lift and drag, otherwise all channels but clocks and settings.
func (p *plan) proposeOutcomes() {
	p.Columns = p.liftAndDrag(p.shortestForceName())
	if len(p.Columns) > 0 {
		p.noteOtherChannels()
		return
	}

	settings := p.settingChannels()
	if len(settings) == len(p.Channels) {
		settings = nil
	}

	var leftOut []string
	for _, i := range settings {
		leftOut = append(leftOut, p.Channels[i])
	}

	if len(leftOut) > 0 {
		p.note("left out as settings, clocks, counters or states of the air, by name or since they rise from sample to "+
			"sample: %s; add to columns what was measured", strings.Join(leftOut, ", "))
	}

	for i, channel := range p.Channels {
		if !slices.Contains(settings, i) {
			p.Columns = append(p.Columns, config.NamedString{Name: p.outcomeOfChannel(channel), Value: channel})
		}
	}

	p.note("no column is called lift or drag: all are outcomes; under columns keep measured quantities, and remove " +
		"clocks and settings")
}

// The least number of letters of a channel's name that may mean lift or drag.
const (
	lettersToo = 1 // L and D do
	wordsOnly  = 2
)

// liftAndDrag returns the outcomes lift and drag, found by the names of the channels. Names with fewer letters than
// shortest do not count.
func (p *plan) liftAndDrag(shortest int) (columns []config.NamedString) {
	for i, channel := range p.Channels {
		base := strings.ToLower(text.LastPart(channel))
		name := vocabulary.LiftAndDrag[strings.TrimSuffix(base, "_n")]
		if name == "" || len(base) < shortest {
			continue
		}

		if p.units[i] == "N" || strings.HasSuffix(base, "_n") {
			name += "_n"
		}

		name = freeName(columns, p.sheet.OutcomeName(name))
		columns = append(columns, config.NamedString{Name: name, Value: channel})
	}

	return columns
}

// shortestForceName returns lettersToo if the letters L and D mean lift and drag, and wordsOnly otherwise. The letters
// mean lift and drag if both are present and no channel has a word for a name. Beside a P they mean something else.
func (p *plan) shortestForceName() int {
	isPresent := map[string]bool{}
	for _, channel := range p.Channels {
		if len(channel) > 2 {
			return wordsOnly
		}

		isPresent[strings.ToUpper(channel)] = true
	}

	if isPresent["L"] && isPresent["D"] && !isPresent["P"] {
		return lettersToo
	}

	return wordsOnly
}

// noteOtherChannels notes the channels that are not outcomes.
func (p *plan) noteOtherChannels() {
	var used []string
	for _, column := range p.Columns {
		used = append(used, column.Value)
	}

	if others := except(p.Channels, used...); len(others) > 0 {
		p.note("%s: left out, not called lift or drag: add to columns what was measured", strings.Join(others, ", "))
	}
}

// settingChannels returns the indices of the channels that are settings, clocks, counters or states of the air.
func (p *plan) settingChannels() (channels []int) {
	for i, channel := range p.Channels {
		column := role.Called(channel, p.units[i])
		isClock := i < len(p.isRising) && p.isRising[i]
		isOutcome := column.HasWord(vocabulary.Outcomes) && !column.HasWord(vocabulary.Uncertainties)
		if !isOutcome && (isClock || column.IsSetting()) {
			channels = append(channels, i)
		}
	}

	return channels
}

var notWord = regexp.MustCompile(`[^A-Za-z0-9]+`)

// outcomeOfChannel returns a name for the outcome of a channel that tables may have, and that no other outcome has.
func (p *plan) outcomeOfChannel(channel string) string {
	name := strings.Trim(strings.ToLower(notWord.ReplaceAllString(channel, "_")), "_")
	if name == "" || unicode.IsDigit(rune(name[0])) {
		name = "column_" + name
	}

	return freeName(p.Columns, p.sheet.OutcomeName(name))
}

// freeName returns a name, with the first number from 2 that makes it differ from the names of columns.
func freeName(columns []config.NamedString, name string) string {
	free := name
	for i := 2; ; i++ {
		if _, isTaken := config.Find(columns, free); !isTaken {
			return free
		}

		free = name + "_" + strconv.Itoa(i)
	}
}
