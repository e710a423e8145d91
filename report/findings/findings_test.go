package findings

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest"
)

// Warnings of one code about several files become one warning with the number of files. Warnings of the planning and
// warnings without a code stay as they are. Warnings about spoilt data come first.
func TestFindings(t *testing.T) {
	var f Findings
	f.AddPlanned([]ingest.Warning{{Path: "a.csv", Text: "no unit"}, {Path: "a.csv", Text: "no angle"}})
	warn := func(path, code, text string) []ingest.Warning {
		return []ingest.Warning{{Path: path, Code: code, Text: text}}
	}
	f.AddFile(warn("1.wav", "clipping", "10 samples are clipped"))
	f.AddFile(warn("2.wav", "clipping", "20 samples are clipped"))
	f.AddFile(warn("3.wav", "clipping", "30 samples are clipped"))
	f.AddFile(warn("4.wav", "", "the file has a comment"))
	f.AddFile(warn("5.wav", "", "the file has a comment"))
	got := sentences(f)
	want := []string{
		"1.wav: 10 samples are clipped (and in 2 more files)", "a.csv: no unit", "a.csv: no angle",
		"4.wav: the file has a comment", "5.wav: the file has a comment",
	}

	assert.Equal(t, want, got)
}

// Notes of the analysis are counted: for each code of flags, the runs that have one among all analysed runs, and for
// each kind of level the levels. A single recording is written in the singular.
func TestFindingsNotes(t *testing.T) {
	var f Findings
	f.addRun(analysis.RunNote{
		Run: "r1", Bounds: 2, Levels: 10, Near: 1,
		Flags: []dsp.Flag{{Code: "trend", Text: "it rises"}, {Code: "trend", Text: "again"}},
	})
	f.addRun(analysis.RunNote{
		Run: "r2", Levels: 10, Dropped: 1,
		Flags: []dsp.Flag{{Code: "trend", Text: "it falls"}, {Code: "drift", Text: "it drifts"}},
	})
	f.addRun(analysis.RunNote{Run: "r3"})
	f.addAnalysis([]ingest.Warning{{Path: "b.wav", Code: "speed", Text: "two speeds"}})

	want := []string{
		`1 of 3 runs is flagged "drift", first r2: it drifts`,
		`2 of 3 runs are flagged "trend", first r1: it rises`,
		"b.wav: two speeds",
		"2 of 20 levels are less than 3 dB above the floor: they are upper bounds (columns *_bound_1, *_bound_2)",
		"1 of 20 levels are less than 6 dB above the background in the same bins (columns *_background_1, " +
			"*_background_2), which is not subtracted",
		"censored: drop left out 1 recording with a harmonic that is not emergent; what remains is biased towards loud " +
			"conditions",
	}

	assert.Equal(t, want, sentences(f))
}
