package scaffold

import (
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
)

// A channel is like a clock if its first risingSamples samples rise. Fewer than fewSamples may rise by chance.
const (
	risingSamples = 200
	fewSamples    = 21
)

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

// sweptChannel has what the rules of sweeps need to know of a channel that is called as a setting.
type sweptChannel struct {
	values     []float64 // the first sweepSamples samples
	isSound    bool      // the channels are microphones; false: a balance
	isSampled  bool      // the file states a sampling rate
	mayBeTable bool      // the rows of the file may be results, one for each setting
}

// sweepRule finds files in which a setting has one value after the other, so that a mean over the file means nothing.
// In its texts, SETTING stands for the name of the channel.
type sweepRule struct {
	name   string
	fits   func(c sweptChannel) bool
	note   string // the finding, and the remedy
	remedy string // what people can do, for the configuration
}

// sweepRules are read from top to bottom: the first rule that fits decides.
var sweepRules = []sweepRule{
	{
		name: "the rows are a polar",
		fits: func(c sweptChannel) bool { return c.mayBeTable && role.IsStepwise(c.values) },
		note: "its rows are settings of SETTING: no mean over them is taken; write them as a table of results in CSV, and " +
			"call init again",
		remedy: "Write them as a table of results in CSV, and call pipeline init again.",
	},
	{
		name: "levels without a sampling rate",
		fits: func(c sweptChannel) bool { return !c.isSound && !c.isSampled && role.Rests(c.values) },
		note: "SETTING has one value after the other: no mean over them is taken; if each row is a result, read the file " +
			"by table: instead of files:",
		remedy: "If each row is a result, read the file by table: instead of files:.",
	},
	{
		name: "levels in a recording",
		fits: func(c sweptChannel) bool { return !c.isSound && role.Rests(c.values) },
		note: "SETTING has one value after the other: no mean over them is taken; state the intervals in a table of " +
			"conditions, with the columns file, t0_s, t1_s and SETTING",
		remedy: "State the intervals in a table: conditions: with file, t0_s, t1_s and SETTING.",
	},
}

// sweepSamples is the number of samples by which findSweep looks for settings.
const sweepSamples = 1 << 20

// findSweep keeps the name of the first setting that has several values in a file, by the first rule that fits.
func (p *plan) findSweep(rd ingest.Reader, info ingest.Info) {
	for k, channel := range info.Channels {
		setting := lastPart(channel.Name)
		if channel.IsTime() || !role.Called(setting, "").HasWord(vocabulary.Inputs) {
			continue
		}

		values := make([]float64, min(channel.Samples, sweepSamples))
		n, _ := rd.Read([]int{k}, 0, [][]float64{values}) // stage ingest returns an error of reading again
		swept := sweptChannel{
			values: values[:n], isSound: p.Spectra, isSampled: p.RateKnown,
			// Text was looked at as a table before.
			mayBeTable: !p.RateKnown && p.Format != "text" && channel.Samples <= role.MostRows,
		}

		i := slices.IndexFunc(sweepRules, func(r sweepRule) bool { return r.fits(swept) })
		if i < 0 {
			continue
		}

		named := strings.NewReplacer("SETTING", setting)
		p.Sweep = setting
		p.SweepRemedy = named.Replace(sweepRules[i].remedy)
		p.Spectra = false
		p.note("%s: %s", filepath.Base(info.Path), named.Replace(sweepRules[i].note))

		return
	}
}
