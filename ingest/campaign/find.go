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
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// Find lists the files that match at least one pattern, all of them and those that match no exclusion.
//
// Patterns are globs relative to dir, elements as in path.Match, and ** for
// any number of folders. Results are relative to dir as the patterns are (the
// caller joins dir to open them; a pattern that is absolute gives absolute
// results), with slashes, sorted, each once. Names beginning with a dot match
// only patterns that do. An exclusion without a slash is matched against the
// base name, in any folder. A pattern that is the name of a file, "take [1].csv", is that file.
//
// A pattern without match is a *fault.Error that names the nearest existing
// names. Warnings: "misnamed-file" for a file next to the matched ones whose
// name misses the pattern by letter case or a dot, "unused-exclude" for an exclusion that
// excluded nothing.
func Find(patterns, exclude []string, dir string) (all, files []string, warnings []ingest.Warning, err error) {
	defer fault.Catch(&err)
	for _, p := range slices.Concat(patterns, exclude) {
		if _, bad := path.Match(strings.ReplaceAll(filepath.ToSlash(p), "**", "*"), ""); bad != nil || p == "" {
			fault.Raise(&fault.Error{Path: p, Want: "a glob like data/*.wav", Found: "a malformed one", Err: bad})
		}
	}

	matched := lists.Each(patterns, func(p string) []string { return globFiles(dir, p) })

	// An exclusion is the name of a file that exists, which may have brackets, else a glob.
	found, exact, used := map[string]bool{}, map[string]bool{}, make([]bool, len(exclude))
	for _, f := range slices.Concat(matched...) {
		found[f], exact[f], exact[path.Base(f)] = true, true, true
	}

	excluded := func(f string) (out bool) {
		for i, x := range exclude {
			name, x := path.Base(f), filepath.ToSlash(x)
			if strings.Contains(x, "/") {
				name = f
			}

			if name == x || !exact[x] && globMatch(x, name) {
				used[i], out = true, true
			}
		}

		return out
	}

	all = slices.Sorted(maps.Keys(found))
	files = slices.DeleteFunc(slices.Clone(all), excluded)

	// The files next to the matched ones, before judging the exclusions: one
	// that excludes a misnamed file is of use.
	for i, p := range patterns {
		warnings = append(warnings, misnamed(dir, p, matched[i], found, excluded)...)
	}

	for i, x := range exclude {
		if !used[i] {
			warnings = append(warnings, UnusedExclude(x, x))
		}
	}

	fault.Unless(len(files) > 0 || len(patterns) == 0, fault.At(strings.Join(patterns, ", "), "", "files",
		fmt.Sprintf("none left: all %d are excluded", len(found)), ""))

	return all, files, warnings, nil
}

// globMatch matches a whole slash-separated name.
func globMatch(pattern, name string) bool {
	return matchElements(splitPath(spelling.Composed(pattern)), splitPath(spelling.Composed(name)))
}

func splitPath(p string) []string {
	p = path.Clean(filepath.ToSlash(p))
	return strings.Split(p, "/")
}

// matchElements matches path elements; ** matches any number of them.
func matchElements(pat, name []string) bool {
	at := reach(pat, 0)
	for _, n := range name {
		at = step(pat, at, n, false)
	}

	return slices.Contains(at, len(pat))
}

// reach lists place i of a pattern, and those behind it that need no further element: ** may be none.
func reach(pat []string, i int) (at []int) {
	for at = []int{i}; i < len(pat) && pat[i] == "**"; at = append(at, i) {
		i++
	}

	return at
}

// step lists the places of a pattern that a path at some of them has with one more element. ** goes through
// no links: they may go in circles.
func step(pat []string, at []int, name string, link bool) (next []int) {
	for _, i := range at {
		switch {
		case i == len(pat):
		case pat[i] == "**" && !hidden(name) && !link:
			next = append(next, reach(pat, i)...)
		case pat[i] != "**" && matchElement(pat[i], name):
			next = append(next, reach(pat, i+1)...)
		}
	}

	slices.Sort(next)

	return slices.Compact(next)
}

// rooted splits a pattern into where it begins, with the folder that it is relative to, and its elements. On
// Windows the beginning of an absolute one has the drive or the share: C:/, //server/share/.
func rooted(dir, pattern string) (root, prefix string, elems []string) {
	volume := filepath.VolumeName(pattern)
	if elems = splitPath(pattern[len(volume):]); elems[0] != "" {
		return dir, "", splitPath(pattern)
	}

	return "", filepath.ToSlash(volume) + "/", elems[1:]
}

func matchElement(p, name string) bool {
	if hidden(name) && !strings.HasPrefix(p, ".") {
		return false
	}

	m, _ := path.Match(p, name)

	return m
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".."
}

// globFiles lists what matches and is no folder, relative as the pattern is: links
// that lead nowhere and FIFOs too, which are errors when they are opened, not files
// left out in silence. That nothing does, or a folder that cannot be listed, is a *fault.Error, which it raises.
func globFiles(dir, pattern string) []string {
	root, from, elems := rooted(dir, pattern)
	whole := from + strings.Join(elems, "/")
	isName := !strings.ContainsAny(whole, `*?\`) // which may have brackets
	if _, err := os.Lstat(filepath.Join(root, whole)); isName && err == nil && !isDir(filepath.Join(root, whole)) {
		return []string{whole}
	}

	w := walk{root: root, elems: elems}
	if w.folder(from, reach(elems, 0)); w.found == nil {
		fault.Raise(w.noMatch(from, pattern))
	}

	slices.Sort(w.found)

	return w.found
}

// wild are the characters of globs that names do not have, or seldom.
const wild = `*?[\`

// walk finds the files below root that match the elements of a pattern.
type walk struct {
	root  string
	elems []string
	found []string
	depth int      // how many elements folders match
	near  []string // what else they hold
}

// folder looks into a folder, which is at places of the pattern.
func (w *walk) folder(rel string, at []int) {
	last := len(w.elems) - 1
	if name := w.elems[at[0]]; len(at) == 1 && at[0] < last && !strings.ContainsAny(name, wild) {
		if path := joinRel(rel, name); isDir(filepath.Join(w.root, path)) { // which needs no listing
			w.folder(path, reach(w.elems, at[0]+1))
			return
		}
	}

	depth := min(slices.Max(at), last)
	if depth > w.depth {
		w.depth, w.near = depth, nil
	}

	for _, e := range fault.Get(readDir(w.root, rel)) {
		path := joinRel(rel, e.Name())
		folder := e.IsDir() || !e.Type().IsRegular() && isDir(filepath.Join(w.root, path))
		next := step(w.elems, at, e.Name(), folder && !e.IsDir())
		switch {
		case folder && len(next) > 0 && next[0] <= last:
			w.folder(path, next)
		case !folder && slices.Contains(next, len(w.elems)):
			w.found = append(w.found, path)
		case depth == w.depth && !hidden(e.Name()) && (folder || depth == last):
			w.near = append(w.near, path)
		}
	}
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

	e, _ := errors.AsType[*fault.Error](ingest.PathError(d, err))
	e.Want, e.Hint = "a folder that can be listed", "correct its permissions"

	return es, e
}

func isDir(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

// noMatch names what the folders that match a part of the pattern hold instead of the rest.
func (w *walk) noMatch(from, pattern string) error {
	e, sought := fault.At(pattern, "", "files that match", "none", ""), joinRel(from, path.Join(w.elems[:w.depth+1]...))
	if !strings.ContainsAny(pattern, wild) {
		e.Want = "a file"
	}

	last := w.depth == len(w.elems)-1
	if !last {
		e.Found = fmt.Sprintf("no folder %q", sought)
	}

	switch near := spelling.Nearest(sought, w.near, 3); {
	case len(near) > 0:
		e.Hint = "there is " + fault.Quoted(near)
	case last:
		e.Hint = "the folder is empty"
	default:
		e.Hint = "it is relative to " + strconv.Quote(filepath.ToSlash(w.root))
	}

	return e
}

// misnamed warns of files next to the matched ones that miss the last element
// of the pattern by letter case or a dot.
func misnamed(dir, pattern string, matched []string, found map[string]bool,
	excluded func(string) bool,
) []ingest.Warning {
	elems := splitPath(pattern)
	last := elems[len(elems)-1]
	if path.Ext(last) == "" || !strings.ContainsAny(last, "*?[") {
		return nil // others may be other files
	}

	root, _, _ := rooted(dir, pattern)
	_, dirs := lists.Index(lists.Each(matched, func(f string) string { d, _ := path.Split(f); return d }))

	var ws []ingest.Warning
	for _, d := range dirs {
		entries, _ := readDir(root, d) // it was listed before
		for _, e := range entries {
			name := e.Name()
			rel := joinRel(d, name)
			if !e.Type().IsRegular() || hidden(name) || found[rel] {
				continue
			}

			if why := slip(last, name); why != "" && !excluded(rel) {
				ws = append(ws, ingest.Warn(rel, "misnamed-file", "is not matched by %q: %s? it is left out", pattern, why))
			}
		}
	}

	return ws
}

// slip tells in which way a name misses a glob: by letter case, or by a dot, without which a file's type is hidden; "":
// it does not.
func slip(glob, name string) string {
	if matchElement(strings.ToLower(glob), strings.ToLower(name)) {
		return "other letter case"
	}

	dotted := func(i int) bool { return matchElement(glob, name[:i]+"."+name[i:]) }
	if slices.ContainsFunc(lists.Numbers(len(name)), dotted) {
		return "a dot missing"
	}

	return ""
}

// Pattern reads conditions and labels from file names: "naca0012_a{alpha_deg}_u{u_inf_m_s}.csv".
//
// It is matched against as many trailing elements of a path as it has itself.
// {name} matches a number as condition.NameNumber does: -5, m5, neg5, 0.5, 1,5, 1p5,
// 2.5e5; {name:text} matches text within an element, a label; {_} and {*} match any
// text within one and are dropped. Everything else matches itself.
type Pattern struct {
	text   string
	elems  int
	re     *regexp.Regexp
	fields []condition.Condition // in the order of the groups of re, without values
}

var (
	// patternField matches a field, or a brace that belongs to none.
	patternField = regexp.MustCompile(`\{[^}]*\}?|\}`)
	fieldName    = regexp.MustCompile(`^[A-Z_a-z\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]` +
		`[0-9A-Z_a-z\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]*$`)
)

// ParsePattern reads a pattern. Errors name the fault and its character; they are plain
// errors, since the pattern is configuration, not data.
func ParsePattern(s string) (*Pattern, error) {
	p := &Pattern{text: s, elems: strings.Count(s, "/") + 1}
	fail := func(format string, args ...any) (*Pattern, error) {
		return nil, fmt.Errorf("parse pattern %q: "+format, append([]any{s}, args...)...)
	}

	re, at := `\A`, 0 // behind the last field
	for _, m := range patternField.FindAllStringIndex(s, -1) {
		field, no := s[m[0]:m[1]], m[0]+1
		re += regexp.QuoteMeta(s[at:m[0]])
		at = m[1]

		inner, closed := strings.CutSuffix(field, "}")
		name, isText := strings.CutSuffix(strings.TrimPrefix(inner, "{"), ":text")
		switch {
		case field == "}":
			return fail("the brace at character %d was never opened", no)
		case !closed:
			return fail("the brace at character %d never closes", no)
		case name == "_" || name == "*":
			re += `[^/]*?`
			continue
		case name == "":
			return fail("the field at character %d has no name (write {_} for any text)", no)
		case !fieldName.MatchString(name):
			return fail("the field name %q at character %d holds other than letters, digits and _", name, no)
		case slices.ContainsFunc(p.fields, func(c condition.Condition) bool { return c.Column == name }):
			return fail("the field %q appears twice", name)
		case isText:
			re += `([^/]+?)`
		default:
			re += "(" + condition.NameNumber + ")"
		}

		p.fields = append(p.fields, condition.Condition{Column: name, Origin: condition.FileName, IsName: isText})
	}

	if len(p.fields) == 0 {
		return fail("it names no condition, like {alpha_deg}")
	}

	var err error
	if p.re, err = regexp.Compile(re + regexp.QuoteMeta(s[at:]) + `\z`); err != nil {
		return fail("%w", err)
	}

	return p, nil
}

// String returns the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// Names returns the conditions that a match gives, in the pattern's order.
func (p *Pattern) Names() []string { return p.columns(false) }

// LabelNames returns the labels that a match gives, in the pattern's order.
func (p *Pattern) LabelNames() []string { return p.columns(true) }

func (p *Pattern) columns(ofNames bool) []string {
	fields := lists.Keep(p.fields, func(c condition.Condition) bool { return c.IsName == ofNames })
	return lists.Each(fields, func(c condition.Condition) string { return c.Column })
}

// Match reads the conditions and labels from a path. That it does not match, or a number is beyond the range of a
// float64, is a *fault.Error.
func (p *Pattern) Match(file string) (out []condition.Condition, err error) {
	name := lastElements(file, p.elems)
	m := p.re.FindStringSubmatch(name)
	ok := m != nil
	for i := 0; ok && i < len(p.fields); i++ {
		c := p.fields[i]
		if c.IsName {
			c.Name = m[1+i]
		} else {
			c.Value, ok = condition.ParseName(m[1+i])
		}

		out = append(out, c)
	}

	if !ok {
		return nil, fault.At(file, "", fmt.Sprintf("a name like %q", p), strconv.Quote(name),
			"exclude the file, or change the pattern; {_} matches any text")
	}

	return out, nil
}
