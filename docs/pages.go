package docs

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"doubletake/internal/lists"
)

//go:embed *.md reference/*.md
var files embed.FS

// Page is one document.
type Page struct {
	Name  string // of the file, without folder and ending: how-to
	Path  string // below docs: how-to.md, reference/tables.md
	Title string // its first heading
	Text  string // in Markdown
}

// Pages returns the documents, those for people first, then the generated reference.
func Pages() []Page {
	return lists.Each(Paths(), func(p string) Page {
		text, _ := fs.ReadFile(files, p) // it is embedded
		_, title, _ := strings.Cut("\n"+string(text), "\n# ")
		title, _, _ = strings.Cut(title, "\n")

		return Page{strings.TrimSuffix(path.Base(p), ".md"), p, plain(title), string(text)}
	})
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
	return lists.Find(Pages(), func(p Page) bool { return p.Name == strings.TrimSuffix(name, ".md") })
}
