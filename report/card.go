package report

import (
	"bytes"
	"fmt"
	"strings"
)

// Card is what a data card states of an experiment beyond its report.
type Card struct {
	Experiment
	About   []Fact   // what the configuration states: description, source, licence
	Exclude []string // patterns of files that are left out
	Columns []Column // of the triplets
	Files   []Fact   // raw files with the SHA-256 digests of their contents
	Listing string   // SHA-256 of the files' lines as sha256sum prints them, sorted; "" without files
	Tables  []Fact   // tables with their digests
}

// Column is a column of the triplets.
type Column struct {
	Name, Unit, Description string
	Range                   string // smallest to largest value; "" where it has none
}

// maxCardFiles is the number of raw files that a card lists.
const maxCardFiles = 1000

// Markdown returns CARD.md: what the data are, where they come from, their units,
// splits and exclusions. It contains no date, so equal inputs give an equal file.
func (c Card) Markdown() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	fmt.Fprintf(&b, "# Data card of %s\n\n", mdEscape(isolate(shorten(c.title(), 2*longName))))
	line("%s\n", mdEscape(c.what()))
	if c.PairsFrom != "" {
		line("%s.\n", mdEscape(strings.TrimSuffix(c.PairsFrom, ".")))
	}
	line("## Where they come from\n")
	stated := map[string]bool{}
	for _, f := range c.About {
		stated[f.Name] = true
		line("- %s: %s", f.Name, mdEscape(f.Value))
	}
	if !stated["licence"] {
		line("- licence: not stated (`about: {licence: …}` in the configuration states it)")
	}
	line("- digest of the configuration: %s", mdEscape(c.ConfigDigest))
	line("- program: doubletake %s", mdEscape(c.Version))
	c.files(&b)
	line("\n## Columns of triplets.arrow\n")
	rows := [][]string{{"column", "unit", "range", "description"}}
	for _, k := range c.Columns {
		rows = append(rows, []string{k.Name, k.Unit, k.Range, k.Description})
	}
	cardTable(&b, rows)
	if len(c.Splits) > 0 {
		line("\n## Splits\n")
		rows = [][]string{{"split", "test part", "train triplets", "train runs", "test triplets", "test runs"}}
		for _, s := range c.Splits {
			rows = append(rows, []string{
				s.Name, s.HeldOut, fmt.Sprint(s.Train.Rows), fmt.Sprint(s.Train.Runs), fmt.Sprint(s.Test.Rows),
				fmt.Sprint(s.Test.Runs),
			})
		}
		cardTable(&b, rows)
	}
	line("\n## Exclusions\n")
	if len(c.Exclude)+len(c.Skipped) == 0 {
		line("Nothing was left out.")
	}
	for _, s := range c.Exclude {
		line("- files that match %s, by the configuration", mdEscape(s))
	}
	for _, s := range c.Skipped {
		line("- %s", mdEscape(s))
	}
	if len(c.Warnings) > 0 {
		line("\n## Warnings\n")
		for _, s := range c.Warnings {
			line("- %s", mdEscape(s))
		}
	}
	return b.Bytes()
}

// files lists raw files and tables.
func (c Card) files(b *bytes.Buffer) {
	if len(c.Files) > 0 {
		fmt.Fprintf(b, "\n## Raw files\n\n%d files. The SHA-256 of the output of `sha256sum FILES`, sorted by bytes, is\n"+
			"%s.\n\n",
			len(c.Files), c.Listing)
		rows := [][]string{{"file", "SHA-256"}}
		for _, f := range c.Files[:min(len(c.Files), maxCardFiles)] {
			rows = append(rows, []string{f.Name, f.Value})
		}
		cardTable(b, rows)
		if n := len(c.Files) - maxCardFiles; n > 0 {
			fmt.Fprintf(b, "\n%d more files are in recordings.arrow.\n", n)
		}
	}
	if len(c.Tables) > 0 {
		fmt.Fprint(b, "\n## Tables\n\nDigests are of the columns, without the provenance.\n\n")
		rows := [][]string{{"table", "digest"}}
		for _, f := range c.Tables {
			rows = append(rows, []string{f.Name, f.Value})
		}
		cardTable(b, rows)
	}
}

// cardTable writes rows, of which the first is the head.
func cardTable(b *bytes.Buffer, rows [][]string) {
	for i, r := range rows {
		for _, s := range r {
			b.WriteString("| " + mdEscape(isolate(clean(s))) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(r)) + "|\n")
		}
	}
}
