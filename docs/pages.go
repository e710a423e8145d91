package docs

import (
	"bytes"
	"embed"
	"html"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/russross/blackfriday/v2"
)

//go:embed *.md reference/*.md *.svg *.png
var files embed.FS

// Page is one document.
type Page struct {
	Name  string // of the file, without folder and ending: how-to
	Path  string // below docs: how-to.md, reference/tables.md
	Title string // its first heading
	text  string // in Markdown
}

func newPage(p, text string) Page {
	_, title, _ := strings.Cut("\n"+text, "\n# ")
	title, _, _ = strings.Cut(title, "\n")

	return Page{strings.TrimSuffix(path.Base(p), ".md"), p, plain(title), text}
}

// Pages returns the documents, those for people first, then the generated reference.
func Pages() []Page {
	var out []Page

	for _, p := range Paths() {
		text, _ := fs.ReadFile(files, p) // it is embedded
		out = append(out, newPage(p, string(text)))
	}

	return out
}

// Paths returns the paths of the documents.
func Paths() (out []string) {
	for _, pattern := range []string{"*.md", "reference/*.md"} {
		names, _ := fs.Glob(files, pattern) // the patterns are right, and the names sorted
		out = append(out, names...)
	}

	return out
}

// FindPage returns the document of a name.
func FindPage(name string) (Page, bool) {
	pages := Pages()
	i := slices.IndexFunc(pages, func(p Page) bool { return p.Name == strings.TrimSuffix(name, ".md") })
	if i < 0 {
		return Page{}, false
	}

	return pages[i], true
}

// Text is the document for a terminal of so many columns.
func (p Page) Text(columns int) string { return Text(p.text, columns) }

const extensions = blackfriday.CommonExtensions | blackfriday.AutoHeadingIDs

// HTML is a document of Markdown as the body of a page. Links go where to says; to may return "", which
// leaves the words alone, without a link.
func HTML(markdown string, to func(link string) string) string {
	tree := parse(markdown)
	tree.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		switch {
		case !entering:
		case n.Type == blackfriday.Heading:
			n.HeadingID = Anchor(words(n))
		case n.Type == blackfriday.Link, n.Type == blackfriday.Image:
			n.Destination = []byte(to(string(n.Destination)))
			if len(n.Destination) == 0 && n.Type == blackfriday.Link {
				n.Type = blackfriday.Emph // no element of HTML that is nothing
			}
		}

		return blackfriday.GoToNext
	})

	r := blackfriday.NewHTMLRenderer(blackfriday.HTMLRendererParameters{})

	var b bytes.Buffer
	tree.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus { return r.RenderNode(&b, n, entering) })

	return b.String()
}

func parse(markdown string) *blackfriday.Node {
	return blackfriday.New(blackfriday.WithExtensions(extensions)).Parse([]byte(markdown))
}

// Anchor is the fragment that leads to a heading, as the sites that show repositories make it: lower
// case, hyphens for blanks, no punctuation.
func Anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// Text is a document for a terminal of so many columns. Code and tables that fit are not wrapped; a table
// that does not fit is a list. Of links to other documents the command that prints them is given.
func Text(markdown string, columns int) string {
	t := &terminal{columns: columns}
	t.blocks(parse(markdown), "", "")

	return strings.TrimSpace(t.b.String()) + "\n"
}

type terminal struct {
	b       strings.Builder
	columns int
}

// blocks writes the children of a node, each after an empty line; first begins the first line, indent the others.
func (t *terminal) blocks(n *blackfriday.Node, first, indent string) {
	for c := n.FirstChild; c != nil; c = c.Next {
		if c.Type != blackfriday.Item && first == indent {
			t.b.WriteString("\n")
		}

		switch c.Type {
		case blackfriday.Heading:
			text := words(c)
			t.b.WriteString(text + "\n")
			if c.Level <= 2 {
				t.b.WriteString(strings.Repeat("=-"[c.Level-1:c.Level], utf8.RuneCountInString(text)) + "\n")
			}

		case blackfriday.Paragraph:
			t.wrap(words(c), first, indent)
		case blackfriday.CodeBlock:
			for l := range strings.Lines(string(c.Literal)) {
				t.b.WriteString(indent + "    " + l)
			}

		case blackfriday.List:
			t.blocks(c, indent, indent)
		case blackfriday.Item:
			mark := "- "
			if c.ListFlags&blackfriday.ListTypeOrdered != 0 {
				mark = "* "
			}

			t.blocks(c, indent+mark, indent+"  ")
		case blackfriday.Table:
			t.table(c, indent)
		default:
			t.blocks(c, indent, indent)
		}

		first = indent
	}
}

// table writes rows as columns where they fit, else each row as its first cell with the others below.
func (t *terminal) table(n *blackfriday.Node, indent string) {
	var (
		rows  [][]string
		wide  []int
		total = len(indent)
	)

	n.Walk(func(c *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		switch {
		case entering && c.Type == blackfriday.TableRow:
			rows = append(rows, nil)
		case entering && c.Type == blackfriday.TableCell:
			rows[len(rows)-1] = append(rows[len(rows)-1], words(c))
			return blackfriday.SkipChildren
		}
		return blackfriday.GoToNext
	})

	for _, r := range rows {
		for i, c := range r {
			if i == len(wide) {
				wide = append(wide, 0)
			}

			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}

	for _, w := range wide {
		total += w + 2
	}

	for i, r := range rows {
		switch {
		case total <= t.columns:
			line := indent
			for j, c := range r {
				line += c + strings.Repeat(" ", wide[j]-utf8.RuneCountInString(c)+2)
			}

			t.b.WriteString(strings.TrimRight(line, " ") + "\n")
			if i == 0 {
				t.b.WriteString(indent + strings.Repeat("-", total-len(indent)-2) + "\n")
			}

		case i > 0:
			t.wrap(r[0], indent, indent+"  ")
			for j, c := range r[1:] {
				if name := rows[0][j+1]; c != "" && name != "" && len(r) > 2 {
					c = name + ": " + c
				}

				t.wrap(c, indent+"  ", indent+"    ")
			}
		}
	}
}

// wrap writes words in lines of at most the terminal's columns.
func (t *terminal) wrap(text, first, indent string) {
	line, empty := first, true
	for _, w := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > t.columns {
			t.b.WriteString(line + "\n")
			line, empty = indent, true
		}

		if !empty {
			line += " "
		}

		line, empty = line+w, false
	}

	if !empty {
		t.b.WriteString(line + "\n")
	}
}

// words are the text of a node without markup.
func words(n *blackfriday.Node) string {
	var b strings.Builder

	n.Walk(func(c *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		switch {
		case entering && (c.Type == blackfriday.Text || c.Type == blackfriday.Code):
			b.WriteString(html.UnescapeString(string(c.Literal)))
		case entering && c.Type == blackfriday.Image:
			b.WriteString("Picture: ")
		case !entering && c.Type == blackfriday.Link:
			b.WriteString(reference(b.String(), string(c.Destination)))
		case c.Type == blackfriday.CodeBlock:
			b.Write(c.Literal)
		case !entering && (c.Type == blackfriday.TableCell || c.Type == blackfriday.Item || c.Type == blackfriday.Paragraph):
			b.WriteByte(' ')
		}
		return blackfriday.GoToNext
	})

	return strings.TrimSpace(b.String())
}

// reference is what a terminal adds after the words of a link.
func reference(before, to string) string {
	file, _, _ := strings.Cut(to, "#")
	if strings.Contains(to, "://") && !strings.HasSuffix(before, to) {
		return " (" + to + ")"
	}

	if p, ok := FindPage(path.Base(file)); ok && strings.HasSuffix(file, ".md") {
		return " (help " + p.Name + ")"
	}

	return ""
}
