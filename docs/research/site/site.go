package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/russross/blackfriday/v2"
)

//go:embed site.html.tmpl
var layout string

//go:embed site.css
var style []byte

//go:embed site.js
var script []byte

var sheet = template.Must(template.New("page").Parse(layout))

// A section is what a search finds: a heading and the text below it.
type section struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
	URL     string `json:"url"`
	Text    string `json:"text"`
}

// document is one page.
type document struct{ path, title, text string }

// newSite is documents and their pictures as web pages, by path: one .html for each .md, the pictures, style.css,
// search.js and index.html, a list of all. Links lead to pages of the site, to pictures, or to other hosts;
// of all others only the words stay. Nothing is loaded from elsewhere.
func newSite(tree fs.FS, paths []string) (map[string][]byte, error) {
	var pages []document

	out := map[string][]byte{"style.css": style}

	for _, p := range paths {
		b, err := fs.ReadFile(tree, p)
		if err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}

		if strings.HasSuffix(p, ".md") {
			_, title, _ := strings.Cut("\n"+string(b), "\n# ")
			title, _, _ = strings.Cut(title, "\n")
			pages = append(pages, document{p, plain(title), string(b)})
		} else {
			out[p] = b
		}
	}

	known := map[string]bool{}
	for _, p := range pages {
		known[p.path] = true
	}

	var sections []section

	list := "# Documents\n\n"
	for _, p := range pages {
		to := func(link string) string {
			file, fragment, has := strings.Cut(link, "#")
			target := path.Join(path.Dir(p.path), file)
			switch {
			case strings.Contains(link, "://") || file == "":
				return link
			case known[target] && has:
				return page(file) + "#" + fragment
			case known[target]:
				return page(file)
			case out[target] != nil:
				return link
			}
			return ""
		}

		b, err := p.sheet(toHTML(p.text, to))
		if err != nil {
			return nil, err
		}

		out[page(p.path)] = b
		sections = append(sections, p.sections()...)
		list += fmt.Sprintf("- [%s](%s)\n", strings.NewReplacer("[", "", "]", "").Replace(p.title), page(p.path))
	}

	index := document{path: "index.md", title: "Documents"}

	b, err := index.sheet(toHTML(list, func(link string) string { return link }))
	if err != nil {
		return nil, err
	}

	out["index.html"] = b

	found, err := json.Marshal(sections)
	if err != nil {
		return nil, fmt.Errorf("write the index of the documents: %w", err)
	}

	out["search.js"] = slices.Concat([]byte("const sections = "), found, []byte(";\n"), script)

	return out, nil
}

func page(p string) string { return strings.TrimSuffix(p, ".md") + ".html" }

// sheet is a body as a whole page.
func (p document) sheet(body string) ([]byte, error) {
	var b bytes.Buffer

	err := sheet.Execute(&b, struct {
		Title, Root string
		Body        template.HTML
	}{p.title, strings.Repeat("../", strings.Count(p.path, "/")), template.HTML(body)}) // our own documents
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.path, err)
	}

	return b.Bytes(), nil
}

// sections are the parts of a document below its headings.
func (p document) sections() []section {
	var out []section
	for c := parse(p.text).FirstChild; c != nil; c = c.Next {
		switch {
		case c.Type == blackfriday.Heading:
			h := words(c)
			out = append(out, section{Page: p.title, Heading: h, URL: page(p.path) + "#" + anchor(h)})
		case len(out) > 0:
			out[len(out)-1].Text += words(c) + " "
		}
	}

	return out
}

// toHTML is a document of Markdown as the body of a page. Links go where to says; to may return "", which
// leaves the words alone, without a link.
func toHTML(markdown string, to func(link string) string) string {
	tree := parse(markdown)
	tree.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		switch {
		case !entering:
		case n.Type == blackfriday.Heading:
			n.HeadingID = anchor(words(n))
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
	return blackfriday.New(blackfriday.WithExtensions(blackfriday.CommonExtensions | blackfriday.AutoHeadingIDs)).
		Parse([]byte(markdown))
}

// anchor is the fragment that leads to a heading, as the sites that show repositories make it: lower
// case, hyphens for blanks, no punctuation.
func anchor(heading string) string {
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

// words are the text of a node without markup.
func words(n *blackfriday.Node) string {
	var b strings.Builder

	n.Walk(func(c *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		switch {
		case entering && c.Type == blackfriday.Text, entering && c.Type == blackfriday.Code, c.Type == blackfriday.CodeBlock:
			b.WriteString(html.UnescapeString(string(c.Literal)))
		case !entering && (c.Type == blackfriday.TableCell || c.Type == blackfriday.Item || c.Type == blackfriday.Paragraph):
			b.WriteByte(' ')
		}
		return blackfriday.GoToNext
	})

	return strings.TrimSpace(b.String())
}

// plain is a line of Markdown without markup.
func plain(line string) string { return words(parse(line)) }
