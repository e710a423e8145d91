package analysis

import (
	"fmt"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/recording"
)

// RunNote contains the flags of a run and counts of its recordings and levels.
type RunNote struct {
	Run     string     `json:"run"`
	Flags   []dsp.Flag `json:"flags,omitempty"`
	Dropped int        `json:"dropped,omitempty"` // recordings left out under censored: drop
	Bounds  int        `json:"bounds,omitempty"`  // levels that are upper bounds
	Levels  int        `json:"levels,omitempty"`  // all levels
	Near    int        `json:"near,omitempty"`    // levels less than dsp.NearBackgroundDB above the background
}

// FileNotes contains the notes about the runs of a file, or the reason why the file was skipped.
type FileNotes struct {
	Notes    []RunNote          `json:"notes"`
	Skipped  *recording.Skipped `json:"skipped,omitempty"`
	Warnings []ingest.Warning   `json:"warnings,omitempty"`
}

// add copies the counts and flags of a run. names are the names of its recordings or series; if there are several, add
// puts the name in front of a flag's text.
func (n *RunNote) add(pairs *dsp.Pairs, names []string) {
	n.Dropped = pairs.Dropped
	n.Bounds = pairs.Bounds
	n.Levels = pairs.Levels
	n.Near = pairs.Near
	for _, flag := range pairs.Flags {
		if flag.Channel >= 0 && len(names) > 1 {
			flag.Text = names[flag.Channel] + ": " + flag.Text
		}
		n.Flags = append(n.Flags, flag)
	}
}

// NothingLeft explains why no triplet is left, with the reasons of the first files.
func NothingLeft(notes []FileNotes) string {
	const few = 5
	var reasons []string
	for _, f := range notes {
		if f.Skipped != nil {
			reasons = append(reasons, f.Skipped.Reason)
		}
	}

	n := len(reasons)
	switch {
	case n == 0:
		return "every recording was dropped"
	case n == 1:
		return "the one file was left out: " + reasons[0]
	case n > few:
		reasons = append(reasons[:few], fmt.Sprintf("and %d more", n-few))
	}

	return fmt.Sprintf("%d files were left out: %s", n, strings.Join(reasons, "; "))
}
