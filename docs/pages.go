package docs

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed *.md reference/*.md
var files embed.FS

// Page is a document.
type Page struct {
	Name  string // name of the file without folder and ending: how-to
	Path  string // path below docs: how-to.md, reference/tables.md
	Title string // first heading
	Text  string // in Markdown
}

// Pages returns the documents that people wrote, then the generated reference.
func Pages() []Page {
	var pages []Page
	for _, file := range Paths() {
		text, _ := fs.ReadFile(files, file) // files are embedded, so reading them cannot fail
		_, title, _ := strings.Cut("\n"+string(text), "\n# ")
		title, _, _ = strings.Cut(title, "\n")
		name := strings.TrimSuffix(path.Base(file), ".md")

		pages = append(pages, Page{Name: name, Path: file, Title: plain(title), Text: string(text)})
	}

	return pages
}

// Paths returns the paths of the documents, below the folder docs: those that people wrote, then the generated
// reference.
func Paths() []string {
	var paths []string
	for _, pattern := range []string{"*.md", "reference/*.md"} {
		names, _ := fs.Glob(files, pattern) // it fails only for wrong patterns; it sorts the names
		paths = append(paths, names...)
	}

	return paths
}

// FindPage returns the document with the given name, with or without its ending .md. It returns false if there is none.
func FindPage(name string) (Page, bool) {
	name = strings.TrimSuffix(name, ".md")
	for _, page := range Pages() {
		if page.Name == name {
			return page, true
		}
	}

	return Page{}, false
}
