package docs

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

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

// Site is documents and their pictures as web pages, by path: one .html for each .md, the pictures, style.css,
// search.js and index.html, a list of all. Links lead to pages of the site, to pictures, or to other hosts;
// of all others only the words stay. Nothing is loaded from elsewhere.
func Site(tree fs.FS, paths []string) (map[string][]byte, error) {
	var pages []Page

	out := map[string][]byte{"style.css": style}

	for _, p := range paths {
		b, err := fs.ReadFile(tree, p)
		if err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}

		if strings.HasSuffix(p, ".md") {
			pages = append(pages, newPage(p, string(b)))
		} else {
			out[p] = b
		}
	}

	known := map[string]bool{}
	for _, p := range pages {
		known[p.Path] = true
	}

	var sections []section

	list := "# Documents\n\n"
	for _, p := range pages {
		to := func(link string) string {
			file, fragment, has := strings.Cut(link, "#")
			target := path.Join(path.Dir(p.Path), file)
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

		b, err := p.sheet(HTML(p.text, to))
		if err != nil {
			return nil, err
		}

		out[page(p.Path)] = b
		sections = append(sections, p.sections()...)
		list += fmt.Sprintf("- [%s](%s)\n", strings.NewReplacer("[", "", "]", "").Replace(p.Title), page(p.Path))
	}

	index := Page{Path: "index.md", Title: "Documents"}

	b, err := index.sheet(HTML(list, func(link string) string { return link }))
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
func (p Page) sheet(body string) ([]byte, error) {
	var b bytes.Buffer

	err := sheet.Execute(&b, struct {
		Title, Root string
		Body        template.HTML
	}{p.Title, strings.Repeat("../", strings.Count(p.Path, "/")), template.HTML(body)}) // our own documents
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.Path, err)
	}

	return b.Bytes(), nil
}

// sections are the parts of a document below its headings.
func (p Page) sections() []section {
	var out []section
	for c := parse(p.text).FirstChild; c != nil; c = c.Next {
		switch {
		case c.Type == blackfriday.Heading:
			h := words(c)
			out = append(out, section{Page: p.Title, Heading: h, URL: page(p.Path) + "#" + Anchor(h)})
		case len(out) > 0:
			out[len(out)-1].Text += words(c) + " "
		}
	}

	return out
}

// Own is the site of the program's own documents.
var Own = sync.OnceValues(func() (map[string][]byte, error) {
	paths, err := fs.Glob(files, "*.*g")
	for _, p := range Pages() {
		paths = append(paths, p.Path)
	}

	if err != nil {
		return nil, fmt.Errorf("list the documents: %w", err)
	}

	return Site(files, paths)
})
