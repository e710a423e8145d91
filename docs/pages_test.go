package docs

import (
	"strings"
	"testing"
)

// Each document is found by its name and has a title.
func TestPages(t *testing.T) {
	if len(Pages()) < 15 {
		t.Fatalf("%d documents", len(Pages()))
	}

	for _, p := range Pages() {
		if q, ok := FindPage(p.Name); !ok || q != p || p.Title == "" || strings.HasPrefix(p.Title, "<") {
			t.Errorf("%s: found %q, %v", p.Path, q.Path, ok)
		}
	}

	if _, ok := FindPage("no-such"); ok {
		t.Error("a document that is not there")
	}
}
