package scaffold

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/vocabulary"
)

// maxDepth is the number of levels of folders below the given folder in which recordings are looked for.
const maxDepth = 4

// exportEnding ends the name of the description beside each table that pipeline export writes.
const exportEnding = "-metadata.json"

// walk lists the files below the folder, sorted and relative to it. It skips hidden files and exported tables. It also
// skips work directories of earlier runs, folders that are too deep and folders that cannot be read, and notes them.
func (p *plan) walk() ([]string, error) {
	var files, deep []string
	err := fs.WalkDir(os.DirFS(p.dir), ".", func(name string, entry fs.DirEntry, err error) error {
		isHidden := strings.HasPrefix(path.Base(name), ".") && name != "."
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			p.note("not searched: %v", err)
		case isHidden && entry.IsDir():
			return fs.SkipDir
		case isHidden, name == ".":
			return nil
		case !entry.IsDir():
			files = append(files, name)
		case p.isWorkdir(name):
			p.note("%s not searched: it has the results of earlier runs", name)
			return fs.SkipDir
		case strings.Count(name, "/") >= maxDepth:
			deep = append(deep, name)
			return fs.SkipDir
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", p.dir, err)
	}

	if len(deep) > 0 {
		p.note("not searched, because they are more than %d folders deep: %s", maxDepth, fault.Some(deep))
	}

	slices.Sort(files)

	return withoutExports(files), nil
}

// isWorkdir reports whether a folder below the given one is the work directory of a run, or a copy of one: it has the
// cache of results, or both forms of the report of all experiments.
func (p *plan) isWorkdir(name string) bool {
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(p.dir, filepath.FromSlash(name), file))
		return err == nil
	}

	return has(filepath.Join(".cache", "objects")) || has("report.html") && has("report.md")
}

// withoutExports removes the tables that pipeline export wrote, and their descriptions. files are sorted.
func withoutExports(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, isTable := slices.BinarySearch(files, file+exportEnding)
		return isTable || strings.HasSuffix(file, exportEnding)
	})
}

// keepOneKind returns the files of the most numerous kind of recordings, and notes the others. It sets the format. It
// returns nil and notes why if there are no recordings. With or without recordings, it notes files of formats that are
// not read.
func (p *plan) keepOneKind(found []string) []string {
	files := map[string][]string{}  // by the name of the format
	unread := map[string][]string{} // by the name of a format that is not read
	hints := map[string]string{}    // by the name of a format that is not read
	for _, file := range found {
		ext := strings.ToLower(filepath.Ext(file))
		if name, hint := ingest.UnreadEnding(ext); name != "" {
			unread[name] = append(unread[name], file)
			hints[name] = hint
		}

		for _, f := range format.All() {
			if slices.Contains(f.Endings, ext) && !vocabulary.Prose.MatchString(path.Base(file)) {
				files[f.Name] = append(files[f.Name], file)
			}
		}
	}

	kinds := slices.DeleteFunc(format.Names(), func(kind string) bool { return len(files[kind]) == 0 })
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(len(files[b]), len(files[a])) })
	if len(kinds) == 0 {
		p.note("no recordings (%s) were found below %s: this is a template to fill in", format.Titles(), p.dir)
	} else {
		p.Format = kinds[0]
		for _, kind := range kinds[1:] {
			p.note("%s not used: an experiment reads one kind of file", countAre(len(files[kind]), kind+" file"))
		}
	}

	for _, name := range slices.Sorted(maps.Keys(unread)) {
		if hints[name] != "" {
			p.note("%s not read: %s", countAre(len(unread[name]), name+" file"), hints[name])
		}
	}

	return files[p.Format]
}

// countOf returns a number of files.
func countOf(n int) string { return fault.Plural(int64(n), "file") }

// countAre returns a number of things with its verb: "1 file is", "2 files are".
func countAre(n int, thing string) string {
	verb := " are"
	if n == 1 {
		verb = " is"
	}

	return fault.Plural(int64(n), thing) + verb
}

// globs returns patterns that match the files: one for each folder and ending. Folders whose names differ only in a
// number share a pattern.
func globs(files []string) []string {
	var all []string
	for _, file := range files {
		if glob := globOf(file); !slices.Contains(all, glob) {
			all = append(all, glob)
		}
	}

	return slices.DeleteFunc(slices.Clone(all), func(glob string) bool { return isCovered(glob, all) })
}

// globOf returns the pattern of the files of a folder that have the ending of a file.
func globOf(file string) string {
	dir, base := filepath.Split(file)
	return digits.ReplaceAllString(literal.Replace(dir), "*") + "*" + literal.Replace(filepath.Ext(base))
}

// literal replaces the letters that have a meaning in patterns by patterns that match these letters alone. It needs no
// backslash, which separates folders on Windows.
var literal = strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]")

// isCovered reports whether another pattern matches every name that a pattern matches. Speed*/*.txt covers
// Speed*R/*.txt. It compares the patterns by path.Match, which takes the stars of glob as letters of a name.
func isCovered(glob string, all []string) bool {
	return slices.ContainsFunc(all, func(other string) bool {
		covers, err := path.Match(other, glob)
		return glob != other && covers && err == nil
	})
}

// exclude leaves out the files that the patterns match besides the recordings, such as a README, and copies.
func (p *plan) exclude(files []string) {
	all, _, _, err := campaign.Find(p.Files, nil, p.dir)
	if err != nil {
		all = nil // check reports it
	}

	known := slices.Concat(files, p.Exclude, p.tareFiles, p.setupFiles)
	known = append(known, p.Matrix)
	if p.Microphones != nil {
		known = append(known, p.Microphones.File)
	}

	others := except(all, known...)
	p.Exclude = append(p.Exclude, others...)
	if len(others) > 0 {
		p.note("left out (exclude): %s", strings.Join(others, ", "))
	}

	if p.Table == nil {
		p.leaveCopies(files, anyName)
	}
}

// anyName matches all names: a copy may also be a recording under another's name.
var anyName = vocabulary.Whole(`.*`)

// leaveCopies excludes the files whose names match a pattern and whose contents equal the contents of another file,
// since a copy is not a second measurement. It returns the files that are left.
func (p *plan) leaveCopies(files []string, name vocabulary.Pattern) []string {
	if !slices.ContainsFunc(files, name.MatchString) {
		return files
	}

	for _, same := range p.equalFiles(files) {
		original := max(slices.IndexFunc(same, isOriginal), 0) // the first if all have names of copies
		for i, file := range same {
			if i != original && name.MatchString(file) {
				p.Exclude = append(p.Exclude, file)
				p.note("%s is a copy of %s: left out (exclude); which of the two is right?", file, same[original])
			}
		}
	}

	return except(files, p.Exclude...)
}

// equalFiles returns the groups of files with equal contents. It reads only the ends of most files: files with equal
// ends are read whole, because recordings may begin and end with the same silence.
func (p *plan) equalFiles(files []string) [][]string {
	var groups [][]string
	for _, alike := range p.groupedBy(files, endsBytes) {
		groups = append(groups, p.groupedBy(alike, math.MaxInt64)...)
	}

	return groups
}

// groupedBy returns the groups of several files whose sizes and whose given number of bytes at each end are equal.
func (p *plan) groupedBy(files []string, ends int64) [][]string {
	digests := map[string]string{} // by file, of the files that can be read
	for _, file := range files {
		if d := digest(filepath.Join(p.dir, file), ends); d != "" {
			digests[file] = d
		}
	}

	readable := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return digests[file] == "" })
	groups := grouped(readable, func(file string) string { return digests[file] })

	return slices.DeleteFunc(groups, func(group []string) bool { return len(group) == 1 })
}

// grouped returns the groups of elements with equal keys, in order of first appearance.
func grouped[T any](list []T, key func(T) string) [][]T {
	byKey := map[string][]T{}
	var keys []string
	for _, element := range list {
		k := key(element)
		if byKey[k] == nil {
			keys = append(keys, k)
		}

		byKey[k] = append(byKey[k], element)
	}

	var groups [][]T
	for _, k := range keys {
		groups = append(groups, byKey[k])
	}

	return groups
}

// isOriginal reports whether a name is not a name of a copy.
func isOriginal(name string) bool { return !vocabulary.Copies.MatchString(name) }

// endsBytes is the size of the two ends of a file that are compared first. Two measurements rarely have the same noise
// there.
const endsBytes = 64 << 10

// digest returns the size of a file and the hash of the given number of bytes at its begin and at its end. It returns
// "" if the file cannot be read.
func digest(path string, ends int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}

	size := info.Size()
	hash := sha256.New()
	begin := io.NewSectionReader(f, 0, min(ends, size))
	end := io.NewSectionReader(f, max(size-ends, begin.Size()), size)
	if _, err := io.Copy(hash, io.MultiReader(begin, end)); err != nil {
		return ""
	}

	return fmt.Sprintf("%d %x", size, hash.Sum(nil))
}

// except returns the texts that are not among others.
func except(texts []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(others, text) })
}
