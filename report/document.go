package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// document is a report as texts and tables, in the order in which terminal.go and markdown.go write them. Empty parts
// are left out.
type document struct {
	title, what string
	verdicts    []string
	tables      []table
	explained   []string // meaning of the numbers; a terminal shows it once, after several experiments
	words       []string // paragraphs below the tables
	more        []string // further paragraphs, which a terminal leaves out
	findings    []findingList
	provenance  string
	brief       bool // a terminal writes the first clause of long findings, and few blank lines
}

// findingList is findings of one kind, which limit the trust in the numbers.
type findingList struct {
	kind   string // word before each finding in a terminal: "warning"
	title  string // heading above all of them: "Warnings"
	items  []string
	severe bool   // a terminal with colours shows kind in yellow
	most   int    // number of findings that a terminal shows; 0: all
	suffix string // what follows the last finding in a brief document
}

// document returns the report with all tables.
func (e Experiment) document() document {
	doc := document{
		title: e.title(), what: e.what(), findings: e.findings(), provenance: e.provenance(),
		verdicts: notEmpty(append([]string{e.first()}, e.verdicts()...)),
	}
	switch {
	case len(e.Splits) > 0:
		doc.tables = e.tables()
		doc.explained = e.explanations()
		doc.words = slices.Concat(e.intervalWords(), e.methodWords())
		doc.more = e.comparisonWords()
	case len(e.Final) > 0:
		doc.words = []string{"Nothing is held out: nothing says how good the model is."}
	default:
		doc.words = []string{"No split was trained."}
	}

	return doc
}

// notEmpty returns the texts that are not empty.
func notEmpty(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}

	return kept
}

// Limits of a summary.
const (
	mostRows     = 12 // rows of the table of results
	mostVerdicts = 3  // splits whose verdicts are shown
)

// first names the files, runs and channels to check before reading on, or returns "" if there are none.
func (e Experiment) first() string {
	if len(e.Suspects) == 0 {
		return ""
	}
	return "Check first: " + strings.Join(e.Suspects, ", ") + "."
}

// summaryDocument returns the report in a few lines: the verdicts, the table of results, a line about the network on
// each split, and the first findings.
func (e Experiment) summaryDocument() document {
	full := e.document()
	doc := document{title: e.line(), what: e.first()}
	if len(e.Splits) == 0 { // there is room for all findings, and nothing else to read
		doc.words = full.words
		doc.findings = full.findings

		return doc
	}

	doc.brief = true
	doc.findings = firstFindings(full.findings)
	doc.summarise(e)

	return doc
}

// firstFindings returns the first finding, which states how many more there are. A summary has the violated checks of
// all experiments at its end, and leaves notes about the network's numbers to the page.
func firstFindings(all []findingList) []findingList {
	var first *findingList
	others := 0
	for _, list := range all {
		if list.kind == checkKind {
			continue
		}

		others += len(list.items)
		if first == nil && list.kind != noteKind {
			single := list // a copy, so all keeps its items
			single.items = list.items[:1]
			first = &single
		}
	}

	if first == nil {
		return nil
	}

	if others > 1 {
		first.suffix = fmt.Sprintf(" (%d more on the page)", others-1)
	}

	return []findingList{*first}
}

// allChecks returns one finding with the number of identities that the networks of each experiment violate, or nil if
// they violate none.
func allChecks(experiments []Experiment) []findingList {
	var violated []string
	for _, experiment := range experiments {
		n := len(experiment.violatedCodes())
		switch {
		case n == 0:
		case len(violated) == 0:
			violated = append(violated, numbered(n, "identity", "identities")+" in "+clean(experiment.Name))
		default:
			violated = append(violated, fmt.Sprintf("%d in %s", n, clean(experiment.Name)))
		}
	}

	if len(violated) == 0 {
		return nil
	}

	text := "it violates " + strings.Join(violated, ", ") + "; no action."

	return []findingList{{kind: checkKind, items: []string{text}}}
}

// summarise adds the verdicts, the table of results and the lines about the network. If there are many splits or rows,
// summarise leaves out the best grades.
func (d *document) summarise(experiment Experiment) {
	shown := worstSplits(experiment.Splits)
	for _, split := range shown {
		d.verdicts = append(d.verdicts, split.verdictInWords().Head())
	}

	for _, verdict := range experiment.decidedPools() {
		d.verdicts = append(d.verdicts, verdict.Head())
	}

	if rest := len(experiment.Splits) - len(shown); rest > 0 {
		d.verdicts = append(d.verdicts, numbered(rest, "split is", "splits are")+" graded no worse.")
	}

	rows := experiment.results()
	kept := rows[:min(len(rows), mostRows)]
	d.tables = []table{briefResults(kept)}

	if rest := len(rows) - len(kept); rest > 0 {
		d.tables[0].Below = numbered(rest, "row is", "rows are") + " graded no worse; they are on the page."
	}

	for _, split := range shown {
		if line := split.networkLine(); line != "" {
			d.tables[0].lines = append(d.tables[0].lines, line)
		}
	}
}

// headsExplained explains the headings and the grades of the tables of results in a summary, or
// returns "" if there are no tables.
func headsExplained(experiments []Experiment) string {
	var rows []result
	for _, experiment := range experiments {
		rows = append(rows, experiment.results()...)
	}

	if len(rows) == 0 {
		return ""
	}

	bounds := ""
	if slices.ContainsFunc(rows, func(row result) bool { return row.held.Bounds > 0 }) {
		bounds = "bound: share at noise floor; without: error without these; "
	}

	return "error: RMS; ±: half width; in: values inside; " + bounds + "mean, linear: error of training mean, least " +
		"squares. " + phrase("grades-explained", limitsOfGrades())
}

// worstSplits returns the splits that a summary shows: up to mostVerdicts splits with the worst grades. They stay in
// their order.
func worstSplits(splits []Split) []Split {
	order := slices.SortedStableFunc(slices.Values(lists.Numbers(len(splits))), func(a, b int) int {
		return splits[b].Verdict().Rank() - splits[a].Verdict().Rank()
	})

	shown := order[:min(len(order), mostVerdicts)]
	slices.Sort(shown)

	return lists.Pick(splits, shown)
}

// Kinds of findings: about the identities of the network's two answers, and about the limits of the network's numbers.
const (
	checkKind = "check (" + paperNetwork + " only)"
	noteKind  = "note"
)

// findings returns the lists of findings that are not empty.
func (e Experiment) findings() []findingList {
	all := []findingList{
		{kind: "warning", title: "Warnings", items: e.Warnings, severe: true},
		{
			kind: "skipped", title: fmt.Sprintf("Left-out recordings (%d)", len(e.Skipped)), items: e.Skipped, severe: true,
			most: 10,
		},
		{kind: noteKind, title: "Notes", items: e.notes()},
		{kind: checkKind, title: "Checks (" + paperNetwork + " only)", items: e.checks()},
	}

	var kept []findingList
	for _, list := range all {
		if len(list.items) > 0 {
			kept = append(kept, list)
		}
	}

	return kept
}

// numbered writes a number with the word for one or for many: "2 runs".
func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
