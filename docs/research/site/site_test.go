package main

import (
	"bytes"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var target = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// Every link and picture of the site that .ci/site writes leads to a file of the site, and its fragment to an element
// there.
func TestSite(t *testing.T) {
	var paths []string

	tree := os.DirFS("../../..")
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
	require.NoError(t, err)

	site, err := newSite(tree, paths)
	require.NoError(t, err)

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
				t.Errorf("%s: %s leads nowhere", from, m[1])
			}
		}
	}

	if links < 150 || between < 140 {
		t.Errorf("%d links, %d of them to other files", links, between)
	}

	assert.Contains(t, string(site["search.js"]), `"url":"docs/how-to.html#-hold-out-each-value-or-name-in-turn"`)
}
