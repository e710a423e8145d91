package docs

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var target = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// Every link and picture of the site leads to a file of the site, and its fragment to an element there: of the
// program's own documents, and of all documents of the repository (.ci/site writes them).
func TestSite(t *testing.T) {
	var paths []string

	tree := os.DirFS("..")
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		skip := []string{"runs", "bin", "dist", "data", "node_modules", "site"}
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skip, d.Name())):
			return fs.SkipDir
		case path.Ext(p) == ".md" || path.Dir(p) == "docs" && (path.Ext(p) == ".png" || path.Ext(p) == ".svg"):
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	whole, err := Site(tree, paths)
	if err != nil {
		t.Fatal(err)
	}

	own, err := Own()
	if err != nil {
		t.Fatal(err)
	}

	for name, site := range map[string]map[string][]byte{"repository": whole, "program": own} {
		links, between := 0, 0
		for from, b := range site {
			if path.Ext(from) != ".html" {
				continue
			}

			for _, m := range target.FindAllStringSubmatch(string(b), -1) {
				u, err := url.Parse(html.UnescapeString(m[1]))
				if err != nil || u.Scheme != "" {
					continue
				}

				links++
				to := from
				if u.Path != "" {
					to = path.Join(path.Dir(from), u.Path)
					between++
				}

				if site[to] == nil || u.Fragment != "" && !bytes.Contains(site[to], []byte(`id="`+u.Fragment+`"`)) {
					t.Errorf("%s: %s: %s leads nowhere", name, from, m[1])
				}
			}
		}

		if links < 150 || between < 140 {
			t.Errorf("%s: %d links, %d of them to other files", name, links, between)
		}
	}

	if !strings.Contains(string(own["search.js"]), `"url":"how-to.html#-hold-out-each-value-or-name-in-turn"`) {
		t.Error("the search does not know a heading of how-to.md")
	}
}

// Each document is found by its name and keeps its words; no markup is left, and only code, tables and
// long words are wider than the terminal.
func TestPages(t *testing.T) {
	if len(Pages()) < 15 {
		t.Fatalf("%d documents", len(Pages()))
	}

	for _, p := range Pages() {
		if q, ok := FindPage(p.Name); !ok || q != p || p.Title == "" || strings.HasPrefix(p.Title, "<") {
			t.Errorf("%s: found %q, %v", p.Path, q.Path, ok)
		}

		text := p.Text(80)
		for l := range strings.Lines(text) {
			code := strings.HasPrefix(strings.TrimLeft(l, " "), "    ") || strings.HasPrefix(l, "    ")
			if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > 80 && !code && len(strings.Fields(l)) > 2 {
				t.Errorf("%s: %d columns: %s", p.Path, n, l)
			}

			if !code && (strings.Contains(l, "](") || strings.Contains(l, "**")) {
				t.Errorf("%s: markup: %s", p.Path, l)
			}
		}

		if n, m := len(strings.Fields(text)), len(strings.Fields(p.text)); n < m*7/10 {
			t.Errorf("%s: %d words of %d are left", p.Path, n, m)
		}
	}

	if _, ok := FindPage("no-such"); ok {
		t.Error("a document that is not there")
	}
}

func ExampleText() {
	fmt.Print(Text("# A rotor\n\nSee [the method](method.md#x) and `C`:\n\n"+
		"- one recording\n- two *outcomes*, y1 and y2\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\npipeline run\n```\n", 30))
	// Output:
	// A rotor
	// =======
	//
	// See the method (help method)
	// and C:
	//
	// - one recording
	// - two outcomes, y1 and y2
	//
	// a  b
	// ----
	// 1  2
	//
	//     pipeline run
}
