package report

import (
	"fmt"
	"slices"
	"strconv"
)

// document is a report in the order of reading. Terminal and Markdown write the same
// one.
type document struct {
	title, what string
	verdicts    []string
	tables      []table
	explained   []string // what the numbers are; of several experiments once, at the end of a terminal's output
	words       []string
	more        []string // not for the terminal
	findings    []findings
	provenance  string
}

// findings limit the trust in the numbers.
type findings struct {
	kind, title string // of one in a terminal, of all
	items       []string
	severe      bool
	most        int // shown in a terminal; 0: all
}

func (e Experiment) document() document {
	d := document{
		title: e.title(), what: e.what(), verdicts: e.verdicts(), findings: e.findings(), provenance: e.provenance(),
	}
	switch {
	case len(e.Splits) > 0:
		d.tables, d.explained = e.tables(), e.explanations()
		d.words, d.more = slices.Concat(e.intervalWords(), e.methods()), e.comparisonWords()
	case len(e.Final) > 0:
		d.words = []string{"Nothing is held out: nothing says how good the model is."}
	default:
		d.words = []string{"No split was trained."}
	}

	return d
}

// findings are lists of what limits the trust in the numbers, none empty.
func (e Experiment) findings() []findings {
	skipped := findings{
		kind: "skipped", title: fmt.Sprintf("Left-out recordings (%d)", len(e.Skipped)), items: e.Skipped, severe: true,
		most: 10,
	}

	return slices.DeleteFunc([]findings{
		{kind: "note", title: "Notes", items: e.notes()},
		{kind: "check", title: "Diagnostics", items: e.diagnostics()},
		{kind: "warning", title: "Warnings", items: e.Warnings, severe: true},
		skipped,
	}, func(f findings) bool { return len(f.items) == 0 })
}

// numbered is a number with the word for one or for many: "2 runs".
func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
