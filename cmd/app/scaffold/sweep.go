package scaffold

import (
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/role"
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

	if len(used) == 0 {
		return
	}

	p.isRising = readRising(rd, used)
	if err := ingest.RequireTimeSeries(rd, used); err != nil {
		p.note("%s", strings.TrimPrefix(err.Error(), p.dir+string(filepath.Separator)))
		return
	}

	p.findSweep(rd, used)
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

// findSweep keeps the first setting that has several values in a file. used are the channels of the recording.
func (p *plan) findSweep(rd ingest.Reader, used []int) {
	info := rd.Info()
	run := ingest.Run{ID: info.Path, Path: info.Path, Recordings: []ingest.Recording{{Channels: used}}}

	sweep, found := recording.FindSweep(rd, run, p.Spectra)
	if !found {
		return
	}

	p.Sweep = sweep.Setting
	p.SweepRemedy = sweep.Remedy()
	p.Spectra = false
	p.note("%s: %s", filepath.Base(info.Path), sweep)
}
