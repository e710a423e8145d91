package findings

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/dsp"
	"doubletake/ingest"
)

// Warnings of one code of many files are one, with their number; those of the
// planning and of recordings left out are kept each. What spoils data comes first.
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

// Notes of the analysis are counted: flags by runs, of all analysed ones, levels by kind.
func TestFindingsNotes(t *testing.T) {
	var f Findings
	f.AddRun(RunNote{
		Run: "r1", Bounds: 2, Levels: 10, Near: 1,
		Flags: []dsp.Flag{{Code: "trend", Text: "it rises"}, {Code: "trend", Text: "again"}},
	})
	f.AddRun(RunNote{
		Run: "r2", Levels: 10, Dropped: 3,
		Flags: []dsp.Flag{{Code: "trend", Text: "it falls"}, {Code: "drift", Text: "it drifts"}},
	})
	f.AddRun(RunNote{Run: "r3"})
	f.AddAnalysis([]ingest.Warning{{Path: "b.wav", Code: "speed", Text: "two speeds"}})

	want := []string{
		`1 of 3 runs is flagged "drift", first r2: it drifts`,
		`2 of 3 runs are flagged "trend", first r1: it rises`,
		"b.wav: two speeds",
		"2 of 20 levels are less than 3 dB above the floor: they are upper bounds (columns *_bound_1, *_bound_2)",
		"1 of 20 levels are less than 6 dB above the background in the same bins (columns *_background_1, " +
			"*_background_2), which is not subtracted",
		"censored: drop left out 3 recordings with a harmonic that is not emergent; what remains is biased towards loud " +
			"conditions",
	}

	assert.Equal(t, want, sentences(f))
}
