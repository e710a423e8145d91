// Package campaign finds the files of a measurement campaign and ties each run
// to its conditions: by patterns of file names, by a table of conditions, by
// constants. It also reads tables that already hold pairs. It reads headers and
// text, no samples.
package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
)

// Find lists the files that match at least one pattern and no exclusion.
//
// Patterns are globs relative to dir, elements as in path.Match, and ** for
// any number of folders. Results are relative to dir as the patterns are (the
// caller joins dir to open them; a pattern that is absolute gives absolute
// results), with slashes, sorted, each once. Names beginning with a dot match
// only patterns that do. An exclusion without a slash is matched against the
// base name, in any folder.
//
// A pattern without match is a *fault.Error that names the nearest existing
// names. Warnings: "misnamed-file" for a file next to the matched ones whose
// name misses the pattern by a hair, "unused-exclude" for an exclusion that
// excluded nothing.
func Find(patterns, exclude []string, dir string) (files []string, warnings []ingest.Warning, err error) {
	for _, p := range slices.Concat(patterns, exclude) {
		if _, err := path.Match(strings.ReplaceAll(filepath.ToSlash(p), "**", "*"), ""); err != nil || p == "" {
			return nil, nil, &fault.Error{Path: p, Want: "a glob like data/*.wav", Found: "a malformed one", Err: err}
		}
	}

	found := map[string]bool{}

	matchedBy := make([][]string, len(patterns))
	for i, p := range patterns {
		m, err := globFiles(dir, p)
		if err != nil {
			return nil, nil, err
		}

		if len(m) == 0 {
			return nil, nil, noMatch(dir, p)
		}

		matchedBy[i] = m

		for _, f := range m {
			found[f] = true
		}
	}

	usedExclude := make([]bool, len(exclude))
	excluded := func(f string) bool {
		out := false
		for i, x := range exclude {
			if globMatch(x, f) || !strings.Contains(filepath.ToSlash(x), "/") && globMatch(x, path.Base(f)) {
				usedExclude[i], out = true, true
			}
		}

		return out
	}

	for f := range found {
		if !excluded(f) {
			files = append(files, f)
		}
	}

	slices.Sort(files)

	// The files next to the matched ones, before judging the exclusions: one
	// that excludes a misnamed file is of use.
	for i, p := range patterns {
		warnings = append(warnings, misnamed(dir, p, matchedBy[i], found, excluded)...)
	}

	for i, used := range usedExclude {
		if !used {
			warnings = append(warnings, ingest.Warning{
				Path: exclude[i], Code: "unused-exclude",
				Text: fmt.Sprintf("the exclusion %q excludes nothing", exclude[i]),
			})
		}
	}

	if len(files) == 0 && len(patterns) > 0 {
		return nil, warnings, &fault.Error{
			Path: strings.Join(patterns, ", "), Want: "files",
			Found: fmt.Sprintf("none left: all %d are excluded", len(found)),
		}
	}

	return files, warnings, nil
}

// globMatch matches a whole slash-separated name.
func globMatch(pattern, name string) bool {
	return matchElements(splitPath(pattern), splitPath(name))
}

func splitPath(p string) []string {
	p = path.Clean(filepath.ToSlash(p))
	return strings.Split(p, "/")
}

// matchElements matches path elements; ** matches any number of them.
// Repeated ** cost no more than one row of a table each.
func matchElements(pat, name []string) bool {
	// ok[j]: pat[:i] matches name[:j]
	ok := make([]bool, len(name)+1)
	ok[0] = true
	for _, p := range pat {
		next := make([]bool, len(name)+1)
		for j := range next {
			switch {
			case p == "**":
				next[j] = ok[j] || j > 0 && next[j-1] && !hidden(name[j-1])
			case j > 0 && ok[j-1]:
				next[j] = matchElement(p, name[j-1])
			}
		}

		ok = next
	}

	return ok[len(name)]
}

// rooted splits a pattern into the root where it begins, "" where it is relative, and its
// elements. On Windows the root has the drive or the share: C:/, //server/share/.
func rooted(pattern string) (root string, elems []string) {
	volume := filepath.VolumeName(pattern)

	elems = splitPath(pattern[len(volume):])
	if elems[0] != "" {
		return "", splitPath(pattern)
	}

	return filepath.ToSlash(volume) + "/", elems[1:]
}

func matchElement(p, name string) bool {
	if hidden(name) && !strings.HasPrefix(p, ".") {
		return false
	}

	m, err := path.Match(p, name)

	return m && err == nil
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".."
}

// globFiles lists what matches and is no folder, relative as the pattern is: links
// that lead nowhere and FIFOs too, which are errors when they are opened, not files
// left out in silence. A folder that cannot be listed is a *fault.Error.
func globFiles(dir, pattern string) ([]string, error) {
	root := dir

	prefix, elems := rooted(pattern)
	if prefix != "" {
		root = ""
	}

	seen := map[string]bool{}
	var out []string
	var failed error
	list := func(rel string) []os.DirEntry {
		es, err := readDir(root, rel)
		if err != nil && failed == nil {
			failed = err
		}

		return es
	}

	var walk func(rel string, pat []string)
	walk = func(rel string, pat []string) {
		if seen[rel+"\x00"+strings.Join(pat, "/")] {
			return // ** reaches one folder by several ways
		}

		seen[rel+"\x00"+strings.Join(pat, "/")] = true
		p := pat[0]
		if p == "**" {
			if len(pat) == 1 {
				pat = []string{"**", "*"}
			}

			walk(rel, pat[1:])

			for _, e := range list(rel) {
				// Links to folders are not followed: they may go in circles.
				if e.IsDir() && !hidden(e.Name()) {
					walk(joinRel(rel, e.Name()), pat)
				}
			}

			return
		}

		if !strings.ContainsAny(p, `*?[\`) { // a plain name, "." or ".."
			next := joinRel(rel, p)
			if len(pat) > 1 {
				walk(next, pat[1:])
			} else if _, err := os.Lstat(filepath.Join(root, next)); err == nil && !isDir(filepath.Join(root, next)) {
				out = append(out, next)
			}

			return
		}

		for _, e := range list(rel) {
			if !matchElement(p, e.Name()) {
				continue
			}

			next := joinRel(rel, e.Name())
			if len(pat) > 1 {
				if e.IsDir() || isDir(filepath.Join(root, next)) {
					walk(next, pat[1:])
				}
			} else if e.Type().IsRegular() || !e.IsDir() && !isDir(filepath.Join(root, next)) {
				out = append(out, next)
			}
		}
	}

	walk(prefix, elems)
	slices.Sort(out)

	return slices.Compact(out), failed
}

// joinRel keeps the two slashes that a share begins with.
func joinRel(rel, name string) string {
	if rel == "" || strings.HasSuffix(rel, "/") {
		return rel + name
	}
	return rel + "/" + name
}

// listDir is os.ReadDir, or what a test puts in its place.
var listDir = os.ReadDir

// readDir lists a folder; one that does not exist has no entries.
func readDir(root, rel string) ([]os.DirEntry, error) {
	d := cmp.Or(filepath.Join(root, rel), ".")

	es, err := listDir(d)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return es, nil
	}

	e := &fault.Error{Path: d, Want: "a folder that can be listed", Err: err, Hint: "correct its permissions"}

	var pe *fs.PathError
	if errors.As(err, &pe) {
		e.Err = pe.Err // without the path
	}

	return es, e
}

func isDir(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

// noMatch goes down the pattern as far as folders match and names the entries
// there instead of the element that fails.
func noMatch(dir, pattern string) error {
	root := dir

	prefix, elems := rooted(pattern)
	if prefix != "" {
		root = ""
	}

	at := []string{prefix}

	for i, p := range elems {
		last := i == len(elems)-1

		var next, names []string
		for _, rel := range at {
			if p == "." || p == ".." {
				next = append(next, joinRel(rel, p))
				continue
			}

			entries, err := readDir(root, rel)
			if err != nil {
				return err
			}

			for _, e := range entries {
				name := joinRel(rel, e.Name())
				if !last && !e.IsDir() && !isDir(filepath.Join(root, name)) || hidden(e.Name()) {
					continue
				}

				if p == "**" || !last && matchElement(p, e.Name()) {
					next = append(next, name)
				}

				names = append(names, name)
			}
		}

		if len(next) > 0 && !last && p != "**" {
			at = next
			continue
		}

		e := &fault.Error{Path: pattern, Want: "files that match", Found: "none"}
		if !strings.ContainsAny(pattern, `*?[\`) {
			e.Want = "a file"
		}

		if !last {
			e.Found = fmt.Sprintf("no folder %q", prefix+path.Join(elems[:i+1]...))
		}

		near := spelling.Nearest(prefix+path.Join(elems[:i+1]...), names, 3)
		switch {
		case len(near) > 0:
			e.Hint = "there is " + fault.Quoted(near)
		case last:
			e.Hint = "the folder is empty"
		default:
			e.Hint = "it is relative to " + strconv.Quote(filepath.ToSlash(root))
		}

		return e
	}

	return &fault.Error{Path: pattern, Want: "files that match", Found: "none"}
}

// misnamed warns of files next to the matched ones that miss the last element
// of the pattern by one character or by letter case.
func misnamed(dir, pattern string, matched []string, found map[string]bool,
	excluded func(string) bool,
) []ingest.Warning {
	elems := splitPath(pattern)
	last := elems[len(elems)-1]
	literal := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]\`, r) {
			return -1
		}
		return r
	}, last)

	if len(literal) < 4 || !strings.ContainsAny(last, "*?[") {
		return nil // too short to distinguish a slip from another file
	}

	root := dir
	if prefix, _ := rooted(pattern); prefix != "" {
		root = ""
	}

	var dirs []string
	for _, f := range matched {
		if d, _ := path.Split(f); !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}

	var ws []ingest.Warning
	for _, d := range dirs {
		entries, _ := readDir(root, d) // it was listed before
		for _, e := range entries {
			name := e.Name()
			rel := joinRel(d, name)
			if !e.Type().IsRegular() || hidden(name) || strings.HasSuffix(name, "~") || found[rel] || len(name) > 200 {
				continue
			}

			why, ok := slip(last, name)
			if !ok || excluded(rel) {
				continue
			}

			ws = append(ws, ingest.Warning{
				Path: rel, Code: "misnamed-file",
				Text: fmt.Sprintf("is not matched by %q: %s? it is left out", pattern, why),
			})
		}
	}

	return ws
}

// otherFormats are extensions that make a file another one, not a misnamed one.
var otherFormats = map[string]bool{
	".csv": true, ".tsv": true, ".txt": true, ".dat": true, ".wav": true, ".npy": true, ".npz": true, ".mat": true,
	".md": true,
	".h5": true, ".json": true, ".xls": true, ".xlsx": true, ".xml": true, ".py": true, ".m": true, ".png": true,
	".pdf": true, ".log": true, ".bak": true,
}

// slip reports whether a name misses a glob by one inserted, missing or wrong
// character or by letter case, and in which way.
func slip(glob, name string) (why string, ok bool) {
	pe, ne := strings.ToLower(path.Ext(glob)), strings.ToLower(path.Ext(name))
	if ne != pe && otherFormats[ne] {
		return "", false
	}

	if m, err := path.Match(strings.ToLower(glob), strings.ToLower(name)); err == nil && m {
		return "other letter case", true
	}

	match := func(s string) bool {
		m, err := path.Match(glob, s)
		return err == nil && m
	}

	// A dot first, since it is the slip that hides a file's type as well.
	for i := 0; i <= len(name); i++ {
		if match(name[:i] + "." + name[i:]) {
			return "a dot missing", true
		}
	}

	for i := 0; i < len(name); i++ {
		if match(name[:i] + name[i+1:]) {
			return "a character too many", true
		}

		if i+1 < len(name) && match(name[:i]+name[i+1:i+2]+name[i:i+1]+name[i+2:]) {
			return "two characters swapped", true
		}
	}

	// What may be missing or wrong can only be a character of the glob itself.
	chars := slices.DeleteFunc([]byte(glob), func(c byte) bool { return strings.ContainsRune(`*?[]\/`, rune(c)) })
	for i := 0; i <= len(name); i++ {
		for _, c := range chars {
			if match(name[:i] + string([]byte{c}) + name[i:]) {
				return "a character missing", true
			}

			if i < len(name) && match(name[:i]+string([]byte{c})+name[i+1:]) {
				return "a wrong character", true
			}
		}
	}

	return "", false
}
