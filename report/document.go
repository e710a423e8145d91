package report

import (
	"fmt"
	"slices"
	"strconv"

	"doubletake/train/score"
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
	lines       int // of a verdict or finding at most, without blank lines between findings; 0: all
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

// Of a summary: how many findings and rows of the table it shows, and up to how many rows
// verdicts have their reasons and findings two lines.
const (
	mostFindings = 3
	mostRows     = 5
	fewRows      = 2
)

// summaryDocument is the report in a few lines: of each verdict and finding at most two.
func (e Experiment) summaryDocument() document {
	full := e.document()
	d := document{title: e.line(), lines: 2}

	if len(e.Splits) == 0 {
		d.words = full.words
	} else {
		d.summarise(e)
	}

	// The first of each kind, then the second of each, and so on.
	lists, all := full.findings, 0
	slices.Reverse(lists)
	for i := 0; i < mostFindings; i++ {
		for _, f := range lists {
			if i < len(f.items) && len(d.findings) < mostFindings {
				f.items = f.items[i : i+1]
				d.findings = append(d.findings, f)
			}
		}
	}

	for _, f := range full.findings {
		all += len(f.items)
	}

	if rest := all - len(d.findings); rest > 0 {
		more := numbered(rest, "note, check or warning", "notes, checks and warnings") + " on the page"
		d.findings = append(d.findings, findings{kind: "more", items: []string{more}})
	}

	return d
}

// summarise adds the verdicts and the table; of many splits those with the worst grades.
func (d *document) summarise(e Experiment) {
	views := e.pooledVerdicts()
	order := slices.SortedStableFunc(slices.Values(others(len(e.Splits))), func(a, b int) int {
		switch x, y := e.Splits[a].Verdict(), e.Splits[b].Verdict(); {
		case x == y:
			return 0
		case x == score.Worst(x, y):
			return -1
		}

		return 1
	})
	rows := max(1, len(e.units())) // of a split
	shown := order[:min(len(order), max(1, mostRows/rows))]
	slices.Sort(shown)

	some := e
	some.Splits = nil
	for _, i := range shown {
		some.Splits = append(some.Splits, e.Splits[i])
		views = append(views, e.Splits[i].verdict())
	}

	d.tables = []table{some.summary()}
	d.tables[0].Title = ""

	if len(e.Splits)*rows > fewRows {
		d.lines = 1
	}

	for _, v := range views {
		if d.lines == 1 {
			v.why = ""
		}

		d.verdicts = append(d.verdicts, v.Head())
	}

	if rest := len(e.Splits) - len(shown); rest > 0 {
		d.verdicts = append(d.verdicts, numbered(rest, "split is", "splits are")+" graded no worse.")
	}
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
