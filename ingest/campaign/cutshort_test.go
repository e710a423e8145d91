package campaign

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/recording"
)

// Recordings are named that are shorter than nine tenths of the usual length. At least four recordings, and at least
// three quarters of all, have the usual length within 1 %. Without a usual length no recording is named.
func TestWarnCutShort(t *testing.T) {
	lengths := func(rateHz float64, samples ...int64) []Length {
		var list []Length
		for i, n := range samples {
			list = append(list, Length{File: fmt.Sprintf("r%d.wav", i+1), Samples: n, RateHz: rateHz})
		}

		return list
	}

	for _, c := range []struct {
		name    string
		lengths []Length
		want    string // path and text of the warning
	}{
		{
			"one of five", lengths(100, 1000, 1000, 200, 1000, 1001),
			"r3.wav it has 2 s, and 4 of 5 recordings have 10 s: was it cut short?",
		},
		{
			"lengths at the limits of 1 %", lengths(100, 1000, 991, 1009, 1000, 100),
			"r5.wav it has 1 s, and 4 of 5 recordings have 10 s: was it cut short?",
		},
		{
			"without a rate", lengths(0, 1000, 1000, 200, 1000, 1001),
			"r3.wav it has 200 samples, and 4 of 5 recordings have 1000 samples: was it cut short?",
		},
		{
			"two of eight", lengths(100, 1000, 200, 1000, 1000, 890, 1000, 1000, 1000),
			"r2.wav it has 2 s, and 6 of 8 recordings have 10 s: was it cut short? Also r5.wav (8.9 s)",
		},
		{
			"the first", lengths(100, 300, 1000, 1000, 1000, 1000),
			"r1.wav it has 3 s, and 4 of 5 recordings have 10 s: was it cut short?",
		},
		{
			"the last", lengths(100, 1000, 1000, 1000, 1000, 10),
			"r5.wav it has 0.1 s, and 4 of 5 recordings have 10 s: was it cut short?",
		},
		{
			"one sample", lengths(100, 1000, 1000, 1000, 1000, 1),
			"r5.wav it has 0.01 s, and 4 of 5 recordings have 10 s: was it cut short?",
		},
		{
			"a rate of sound", lengths(51200, 512000, 512000, 512000, 256000, 512000),
			"r4.wav it has 5 s, and 4 of 5 recordings have 10 s: was it cut short?",
		},
		{
			"beside a longer one", lengths(100, 1000, 1000, 400, 1000, 1000, 1000, 1000, 3000),
			"r3.wav it has 4 s, and 6 of 8 recordings have 10 s: was it cut short?",
		},
		{
			"lengths that jitter", lengths(100, 1000, 1003, 997, 1001, 999, 500, 1002),
			"r6.wav it has 5 s, and 6 of 7 recordings have 10 s: was it cut short?",
		},
	} {
		warnings := WarnCutShort(c.lengths)
		if assert.Len(t, warnings, 1, c.name) {
			assert.Equal(t, c.want, warnings[0].Path+" "+warnings[0].Text, c.name)
			assert.Equal(t, "cut-short", warnings[0].Code, c.name)
		}
	}

	for name, list := range map[string][]Length{
		"no recordings":              nil,
		"equal lengths":              lengths(100, 1000, 1000, 1000, 1000, 1000),
		"a tenth shorter":            lengths(100, 1000, 1000, 1000, 1000, 900),
		"a longer one":               lengths(100, 1000, 1000, 1000, 1000, 3000),
		"three recordings":           lengths(100, 1000, 1000, 100),
		"three of four":              lengths(100, 1000, 1000, 1000, 100),
		"lengths within 2 %":         lengths(100, 1000, 985, 1015, 1000, 100),
		"just short":                 lengths(100, 1000, 1000, 1000, 1000, 901),
		"lengths of all kinds":       lengths(100, 1000, 1200, 900, 700, 300, 1100),
		"half of them are shorter":   lengths(100, 1000, 1000, 1000, 1000, 500, 500, 500, 500),
		"one recording":              lengths(100, 1000),
		"two recordings":             lengths(100, 1000, 100),
		"one is a little shorter":    lengths(100, 1000, 1000, 1000, 1000, 950),
		"each of its own length":     lengths(100, 100, 200, 400, 800, 1600),
		"all are a sample long":      lengths(100, 1, 1, 1, 1, 1),
		"rates differ, times do not": append(lengths(100, 1000, 1000, 1000, 1000), lengths(50, 500)...),
	} {
		assert.Empty(t, WarnCutShort(list), name)
	}
}

// Seconds and samples cannot be compared, so a list of both gives no warning.
func TestCutShortInBothUnits(t *testing.T) {
	lengths := []Length{
		{"a.wav", 1000, 0}, {"b.wav", 1000, 0}, {"c.wav", 1000, 0}, {"d.wav", 1000, 0}, {"short.wav", 500, 0},
	}
	require.Len(t, WarnCutShort(lengths), 1, "one of five recordings has half of the samples")

	for i := range lengths[:4] {
		lengths[i].RateHz = 1
	}

	assert.Empty(t, WarnCutShort(lengths), "the rate of one recording is not known")
}

// Files whose first run is the whole file are compared. If a run is a part of a file, lengths say nothing.
func TestWarnShortFiles(t *testing.T) {
	files := func(runID string) []*recording.File {
		var list []*recording.File
		for i, samples := range []int64{1000, 1000, 200, 1000, 1000} {
			path := fmt.Sprintf("r%d.wav", i+1)
			run := ingest.Run{ID: path + runID, Path: path, Recordings: []ingest.Recording{{Channels: []int{0}}}}
			list = append(list, &recording.File{
				Path: path, Info: ingest.Info{Channels: []ingest.Channel{{Samples: samples, RateHz: 100}}},
				Runs: []recording.Run{{Run: run}},
			})
		}

		return list
	}

	warnings := WarnShortFiles(files(""))
	require.Len(t, warnings, 1)
	assert.Equal(t, "r3.wav", warnings[0].Path)
	assert.Empty(t, WarnShortFiles(files("[0:100]")))
}
