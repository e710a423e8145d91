package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
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
	brief       bool // two lines of a verdict, one of a finding, and few blank ones
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
		title: e.title(), what: e.what(), findings: e.findings(), provenance: e.provenance(),
		verdicts: slices.DeleteFunc(append([]string{e.first()}, e.verdicts()...), func(s string) bool { return s == "" }),
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

// Of a summary.
const (
	mostFindings = 2 // that it shows
	mostRows     = 6 // of the table of results
	fewOutcomes  = 4 // of a unit, up to which each has a row
	fewSplits    = 2 // up to which verdicts have their reasons
)

// first names what the gravest warnings accuse; "" where there is none.
func (e Experiment) first() string {
	if len(e.Suspects) == 0 {
		return ""
	}
	return "Check first: " + strings.Join(e.Suspects, ", ") + "."
}

// summaryDocument is the report in a few lines.
func (e Experiment) summaryDocument() document {
	full := e.document()
	d := document{title: e.line(), brief: true}
	d.what = e.first()
	if len(e.Splits) == 0 {
		d.words = full.words
	} else {
		d.summarise(e)
	}

	// The first of each kind, then the second of each, and so on; checks of the network are on the page.
	all := 0
	for i := range mostFindings {
		for _, f := range full.findings {
			if i < len(f.items) && f.kind != checkKind && len(d.findings) < mostFindings {
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
	order := slices.SortedStableFunc(slices.Values(others(len(e.Splits))), func(a, b int) int {
		return e.Splits[b].Verdict().Rank() - e.Splits[a].Verdict().Rank()
	})
	rows := 1 // of a split
	for _, s := range e.Splits {
		rows = max(rows, len(grouped(s.recommended(), fewOutcomes)))
	}

	shown := order[:min(len(order), max(1, mostRows/rows))]
	slices.Sort(shown)

	some := e
	some.Splits = lists.Rows(e.Splits, 1, shown)

	found, network := some.results(fewOutcomes), some.fit(papers).oneLine()
	found.Title, found.Below, network.Title, network.Corner = "", "", "", "network alone"
	found.open, network.open = true, true

	for _, r := range network.Rows {
		r.Cells[0].std, r.Cells[2].std = "", "" // of R² and E|cov| on the training part
	}

	d.tables = []table{found, network}

	for _, v := range append(lists.Each(some.Splits, Split.verdict), e.pooledVerdicts()...) {
		if len(shown) > fewSplits {
			v.why = ""
		}

		d.verdicts = append(d.verdicts, v.Head())
	}

	if rest := len(e.Splits) - len(shown); rest > 0 {
		d.verdicts = append(d.verdicts, numbered(rest, "split is", "splits are")+" graded no worse.")
	}
}

// checkKind is that of the identities of the network's two answers.
const checkKind = "check"

// findings are lists of what limits the trust in the numbers, none empty.
func (e Experiment) findings() []findings {
	skipped := findings{
		kind: "skipped", title: fmt.Sprintf("Left-out recordings (%d)", len(e.Skipped)), items: e.Skipped, severe: true,
		most: 10,
	}

	return slices.DeleteFunc([]findings{
		{kind: "warning", title: "Warnings", items: e.Warnings, severe: true},
		skipped,
		{kind: "note", title: "Notes", items: e.notes()},
		{kind: checkKind, title: "Checks", items: e.checks()},
	}, func(f findings) bool { return len(f.items) == 0 })
}

// numbered is a number with the word for one or for many: "2 runs".
func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
