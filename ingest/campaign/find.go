// Package campaign finds the files of a measurement campaign and ties each run to its conditions.
//
// A run is a file, or an interval of a file, that was measured at one setting. It has one or more recordings: each
// microphone is a recording, and all channels of a balance together are one. A condition is a number that was set, such
// as a speed, and a label is a name: of a thing that was measured (a propeller), or of an occasion (a day). Conditions
// and labels come from patterns of file names, from a table that people typed (a log, type Conditions), from
// attributes in the files and from constants.
//
// Find finds the files, Assemble cuts a file into runs, and Read does both for a whole campaign of microphones. Read
// alone reads samples, for their statistics; the other functions read headers, text and arrays of conditions.
// ReadTables reads tables that have results instead of samples: pairs of values, or repeats that it pairs.
package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"doubletake/internal/lists"
)

// Find returns all files that match at least one pattern, and those among them that match no exclusion.
//
// Patterns are globs relative to dir. Their elements are patterns of path.Match, or ** for any number of folders. The
// results are sorted paths with slashes, each once, and relative to dir: the caller joins dir to open them. Only an
// absolute pattern gives absolute results. A name that begins with a dot matches only patterns that begin with a dot.
// An exclusion without a slash is matched against the base name, in any folder. A pattern that is the name of a file,
// such as "take [1].csv", matches this file alone.
//
// A pattern without match is a *fault.Error with the nearest existing names. If all files are excluded, Find returns
// all results beside the error. Warnings: "misnamed-file" for a file next to the matched ones whose name misses the
// pattern by letter case or a dot, "unused-exclude" for an exclusion that excluded nothing.
func Find(patterns, exclude []string, dir string) (all, files []string, warnings []ingest.Warning, err error) {
	for _, p := range slices.Concat(patterns, exclude) {
		_, malformed := path.Match(strings.ReplaceAll(filepath.ToSlash(p), "**", "*"), "")
		if malformed != nil || p == "" {
			return nil, nil, nil, &fault.Error{
				Path: p, Want: "a glob like data/*.wav", Found: "a malformed one", Err: malformed,
			}
		}
	}

	matched := make([][]string, len(patterns))
	found := map[string]bool{}
	for i, p := range patterns {
		matched[i], err = globFiles(dir, p)
		if err != nil {
			return nil, nil, nil, err
		}

		for _, f := range matched[i] {
			found[f] = true
		}
	}

	all = slices.Sorted(maps.Keys(found))
	exclusions := newExclusions(exclude, all)
	files = slices.DeleteFunc(slices.Clone(all), exclusions.match)

	// An exclusion of a misnamed file is used, so that misnamed files come before unused exclusions.
	for i, p := range patterns {
		warnings = append(warnings, warnOfMisnamed(dir, p, matched[i], found, exclusions)...)
	}

	for i, pattern := range exclude {
		if !exclusions.used[i] {
			warnings = append(warnings, UnusedExclude(pattern, pattern))
		}
	}

	if len(files) == 0 && len(patterns) > 0 {
		return all, files, warnings, fault.At(strings.Join(patterns, ", "), "", "files",
			fmt.Sprintf("none left: all %d are excluded", len(found)), "")
	}

	return all, files, warnings, nil
}

// exclusions are the patterns of files that are left out.
type exclusions struct {
	patterns []string
	used     []bool          // for each pattern, whether it has matched a file
	exact    map[string]bool // names of files that exist, with and without their folders
}

func newExclusions(patterns, files []string) *exclusions {
	x := &exclusions{patterns: patterns, used: make([]bool, len(patterns)), exact: map[string]bool{}}
	for _, f := range files {
		x.exact[f] = true
		x.exact[path.Base(f)] = true
	}

	return x
}

// matchedBy returns the files that a pattern of Find's exclusions matches.
func matchedBy(pattern string, files []string) []string {
	x := newExclusions([]string{pattern}, files)

	var matched []string
	for _, file := range files {
		if x.match(file) {
			matched = append(matched, file)
		}
	}

	return matched
}

// match reports whether a file is left out, and marks the patterns that match it as used. A pattern is the name of a
// file that exists, which may have brackets, or a glob.
func (x *exclusions) match(file string) bool {
	isExcluded := false
	for i, pattern := range x.patterns {
		pattern = filepath.ToSlash(pattern)
		name := path.Base(file)
		if strings.Contains(pattern, "/") {
			name = file
		}

		if name == pattern || !x.exact[pattern] && globMatch(pattern, name) {
			x.used[i] = true
			isExcluded = true
		}
	}

	return isExcluded
}

// globMatch reports whether a pattern matches a whole slash-separated name.
func globMatch(pattern, name string) bool {
	return matchElements(splitPath(spelling.Composed(pattern)), splitPath(spelling.Composed(name)))
}

// splitPath returns the elements of a path.
func splitPath(p string) []string {
	p = path.Clean(filepath.ToSlash(p))
	return strings.Split(p, "/")
}

// matchElements reports whether a pattern matches the elements of a path. ** matches any number of elements.
func matchElements(pattern, name []string) bool {
	places := placesFrom(pattern, 0)
	for _, element := range name {
		places = placesAfter(pattern, places, pathElement{name: element})
	}

	return slices.Contains(places, len(pattern))
}

// placesFrom returns place i of a pattern, and the places behind it that a path reaches without a further element,
// since ** may match none. A place is the number of elements of the pattern that are matched.
func placesFrom(pattern []string, i int) []int {
	places := []int{i}
	for i < len(pattern) && pattern[i] == "**" {
		i++
		places = append(places, i)
	}

	return places
}

// pathElement is one element of a path: the name of a file or of a folder.
type pathElement struct {
	name         string
	isFolderLink bool // a link to a folder; false if this is not known
}

// placesAfter returns the places of a pattern that a path at some places reaches with one more element. ** does not
// follow links to folders, since they may go in circles.
func placesAfter(pattern []string, places []int, element pathElement) []int {
	var next []int
	for _, i := range places {
		switch {
		case i == len(pattern): // all of the pattern is matched: no further element fits
		case pattern[i] == "**" && !isHidden(element.name) && !element.isFolderLink:
			next = append(next, placesFrom(pattern, i)...)
		case pattern[i] != "**" && matchElement(pattern[i], element.name):
			next = append(next, placesFrom(pattern, i+1)...)
		}
	}

	slices.Sort(next)

	return slices.Compact(next)
}

// splitRoot splits a pattern into the folder that it is relative to, its beginning and its elements. The beginning of a
// relative pattern is "". The beginning of an absolute pattern ends with a slash: /, or on Windows C:/ or
// //server/share/.
func splitRoot(dir, pattern string) (root, prefix string, elems []string) {
	volume := filepath.VolumeName(pattern)
	elems = splitPath(pattern[len(volume):])
	if elems[0] != "" {
		return dir, "", splitPath(pattern)
	}

	return "", filepath.ToSlash(volume) + "/", elems[1:]
}

// matchElement reports whether a pattern matches one element of a path.
func matchElement(pattern, name string) bool {
	if isHidden(name) && !strings.HasPrefix(pattern, ".") {
		return false
	}

	matches, _ := path.Match(pattern, name)

	return matches
}

func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".."
}

// globFiles returns everything that matches a pattern and is not a folder, relative as the pattern is. This includes
// links that lead nowhere and FIFOs, so that opening them gives an error. If nothing matches, or a folder cannot be
// listed, globFiles returns a *fault.Error.
func globFiles(dir, pattern string) ([]string, error) {
	root, prefix, elems := splitRoot(dir, pattern)
	whole := prefix + strings.Join(elems, "/")
	mayBeName := !strings.ContainsAny(whole, `*?\`) // a name may have brackets
	path := filepath.Join(root, whole)
	if _, err := os.Lstat(path); mayBeName && err == nil && !isDir(path) {
		return []string{whole}, nil
	}

	w := walk{root: root, elems: elems}
	if err := w.searchFolder(prefix, placesFrom(elems, 0)); err != nil {
		return nil, err
	}

	if w.found == nil {
		return nil, w.noMatch(prefix, pattern)
	}

	slices.Sort(w.found)

	return w.found, nil
}

// globSigns are the characters of globs that names seldom have.
const globSigns = `*?[\`

// walk finds the files below root that match the elements of a pattern.
type walk struct {
	root   string
	elems  []string
	found  []string
	depth  int      // the greatest number of elements that a folder matches
	nearby []string // the entries of the folders of this depth that do not match
}

// searchFolder adds the files of a folder and of its folders that match. rel is the path of the folder, and places are
// the places of the pattern that it reaches.
func (w *walk) searchFolder(rel string, places []int) error {
	last := len(w.elems) - 1
	name := w.elems[places[0]]
	isOneName := len(places) == 1 && places[0] < last && !strings.ContainsAny(name, globSigns)
	if isOneName {
		path := joinRel(rel, name)
		if isDir(filepath.Join(w.root, path)) { // then the folder above need not be listed
			return w.searchFolder(path, placesFrom(w.elems, places[0]+1))
		}
	}

	depth := min(slices.Max(places), last)
	if depth > w.depth {
		w.depth = depth
		w.nearby = nil
	}

	entries, err := readDir(w.root, rel)
	if err != nil {
		return err
	}

	for _, entry := range entries {
		path := joinRel(rel, entry.Name())
		isLink := !entry.IsDir() && !entry.Type().IsRegular() && isDir(filepath.Join(w.root, path))
		isFolder := entry.IsDir() || isLink
		next := placesAfter(w.elems, places, pathElement{name: entry.Name(), isFolderLink: isLink})
		isDeepest := depth == w.depth && !isHidden(entry.Name())
		switch {
		case isFolder && len(next) > 0 && next[0] <= last:
			if err := w.searchFolder(path, next); err != nil {
				return err
			}

		case !isFolder && slices.Contains(next, len(w.elems)):
			w.found = append(w.found, path)
		case isDeepest && (isFolder || depth == last):
			w.nearby = append(w.nearby, path)
		}
	}

	return nil
}

// joinRel joins a path and a name. It keeps the two slashes with which a share begins.
func joinRel(rel, name string) string {
	if rel == "" || strings.HasSuffix(rel, "/") {
		return rel + name
	}
	return rel + "/" + name
}

// listDir lists a folder. It is a variable so that a test can replace it.
var listDir = os.ReadDir

// readDir returns the entries of a folder. A folder that does not exist has none.
func readDir(root, rel string) ([]os.DirEntry, error) {
	folder := cmp.Or(filepath.Join(root, rel), ".")

	entries, err := listDir(folder)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return entries, nil
	}

	unlisted, isFault := errors.AsType[*fault.Error](ingest.PathError(folder, err))
	if !isFault {
		return entries, err
	}

	unlisted.Want = "a folder that can be listed"
	unlisted.Hint = "correct its permissions"

	return entries, unlisted
}

// isDir reports whether a path is a folder, or a link to a folder.
func isDir(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

// noMatch returns the error of a pattern that matches nothing, with similar entries of the folders that match a part
// of the pattern.
func (w *walk) noMatch(prefix, pattern string) error {
	e := fault.At(pattern, "", "files that match", "none", "")
	sought := joinRel(prefix, path.Join(w.elems[:w.depth+1]...))
	if !strings.ContainsAny(pattern, globSigns) {
		e.Want = "a file"
	}

	isLast := w.depth == len(w.elems)-1
	if !isLast {
		e.Found = fmt.Sprintf("no folder %q", sought)
	}

	switch near := spelling.Nearest(sought, w.nearby, 3); {
	case len(near) > 0:
		e.Hint = "correct the path; there is " + fault.Quoted(near)
	case isLast:
		e.Hint = "the folder is empty: correct the path"
	default:
		e.Hint = "correct the path; it is relative to " + strconv.Quote(filepath.ToSlash(w.root))
	}

	return e
}

// misnamedFile is the code of a warning about a file that a pattern misses by a slip of its name.
const misnamedFile = "misnamed-file"

// warnOfMisnamed warns of files next to the matched ones that miss the last element of the pattern by letter case or a
// dot. found are the files of all patterns. It warns of no file that is excluded.
func warnOfMisnamed(
	dir, pattern string, matched []string, found map[string]bool, excluded *exclusions,
) []ingest.Warning {
	elems := splitPath(pattern)
	last := elems[len(elems)-1]
	if path.Ext(last) == "" || !strings.ContainsAny(last, "*?[") {
		return nil // without an ending, other files may have similar names
	}

	root, _, _ := splitRoot(dir, pattern)
	var folders []string
	for _, file := range matched {
		folder, _ := path.Split(file)
		folders = append(folders, folder)
	}

	_, folders = lists.Index(folders)

	var warnings []ingest.Warning
	for _, folder := range folders {
		entries, _ := readDir(root, folder) // it was listed before
		for _, entry := range entries {
			name := entry.Name()
			rel := joinRel(folder, name)
			if !entry.Type().IsRegular() || isHidden(name) || found[rel] {
				continue
			}

			if why := slipOf(last, name); why != "" && !excluded.match(rel) {
				warnings = append(warnings,
					ingest.Warn(rel, misnamedFile, "is not matched by %q: %s? it is left out", pattern, why))
			}
		}
	}

	return warnings
}

// slipOf returns in which way a name misses a glob: by letter case, or by the dot of its ending. It returns "" for
// other names.
func slipOf(glob, name string) string {
	if matchElement(strings.ToLower(glob), strings.ToLower(name)) {
		return "other letter case"
	}

	for i := range len(name) {
		if matchElement(glob, name[:i]+"."+name[i:]) {
			return "a dot missing"
		}
	}

	return ""
}
