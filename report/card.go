package report

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"text/template"
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

//go:embed card.md.tmpl
var cardText string

var cardTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"md": mdEscape,
		"table": func(t table) string {
			var b bytes.Buffer
			mdTable(&b, t)
			return b.String()
		},
	}).Parse(cardText))
})

// Markdown returns CARD.md: what the data are, where they come from, their units,
// splits and exclusions. It contains no date, so equal inputs give an equal file.
func (c Card) Markdown() []byte {
	columns := table{Corner: "column"}
	columns.words("unit", "range", "description")

	for _, k := range c.Columns {
		columns.Rows = append(columns.Rows, row{k.Name, []number{{text: k.Unit}, {text: k.Range}, {text: k.Description}}})
	}

	listed := c.Files[:min(len(c.Files), maxCardFiles)]

	var b bytes.Buffer
	err := cardTemplate().Execute(&b, map[string]any{
		"Card": c, "Title": isolate(shorten(c.title(), 2*longName)), "What": c.what(),
		"From":     strings.TrimSuffix(c.PairsFrom, "."),
		"Licensed": slices.ContainsFunc(c.About, func(f Fact) bool { return f.Name == "licence" }),
		"Files":    factTable("file", "SHA-256", listed), "More": len(c.Files) - len(listed),
		"Tables": factTable("table", "digest", c.Tables), "Columns": columns, "Splits": c.sets(),
	})
	if err != nil {
		panic("report: write data card: " + err.Error()) // plain values only
	}

	return b.Bytes()
}

// factTable is a table of facts, uncut.
func factTable(corner, name string, list []Fact) table {
	t := table{Corner: corner}
	t.words(name)

	for _, f := range list {
		t.Rows = append(t.Rows, row{f.Name, []number{{text: f.Value}}})
	}

	return t
}
