package scaffold

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	"doubletake/internal/lists"
)

// maxDepth is the number of folders below the first in which recordings are looked for.
const maxDepth = 4

// exportEnding ends the name of the description beside each table that pipeline export writes.
const exportEnding = "-metadata.json"

// walk lists the files below a folder, sorted and relative to it. It skips hidden files, the results of earlier runs,
// exported tables, and folders that cannot be read.
func walk(dir string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		name := path.Base(p)
		isHidden := strings.HasPrefix(name, ".") && p != "."
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			return nil
		case d.IsDir() && (isHidden || name == "runs" || strings.Count(p, "/") >= maxDepth):
			return fs.SkipDir
		case !d.IsDir() && !isHidden:
			files = append(files, p)
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}

	slices.Sort(files)

	return withoutExports(files), nil
}

// withoutExports removes the tables that pipeline export wrote, and their descriptions. files are sorted.
func withoutExports(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, isTable := slices.BinarySearch(files, file+exportEnding)
		return isTable || strings.HasSuffix(file, exportEnding)
	})
}

// keepOneKind returns the files of the most numerous kind of recordings, and notes the others. It sets the format. It
// returns nil, and notes why, if there are no recordings.
func (p *plan) keepOneKind(found []string) []string {
	files := map[string][]string{} // by the name of the format
	unread := map[string]string{}  // hints, by the name of a format that is not read
	for _, file := range found {
		ext := strings.ToLower(filepath.Ext(file))
		if name, hint := ingest.UnreadEnding(ext); name != "" {
			unread[name] = hint
		}

		for _, f := range format.All() {
			if slices.Contains(f.Endings, ext) && !vocabulary.Prose.MatchString(path.Base(file)) {
				files[f.Name] = append(files[f.Name], file)
			}
		}
	}

	kinds, _ := lists.Split(format.Names(), func(kind string) bool { return len(files[kind]) > 0 })
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(len(files[b]), len(files[a])) })
	if len(kinds) == 0 {
		p.note("no recordings (%s) were found below %s: this is a template to fill in", format.Titles(), p.dir)
		for _, name := range slices.Sorted(maps.Keys(unread)) {
			p.note("%s files are not read: %s", name, unread[name])
		}

		return nil
	}

	for _, kind := range kinds[1:] {
		p.note("%s not used: an experiment reads one kind of file", countAre(len(files[kind]), kind+" file"))
	}

	p.Format = kinds[0]

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
	all := lists.Names(lists.Each(files, globOf))
	_, needed := lists.Split(all, func(glob string) bool { return isCovered(glob, all) })

	return needed
}

// globOf returns the pattern of the files of a folder that have the ending of a file.
func globOf(file string) string {
	dir, base := filepath.Split(file)
	return digits.ReplaceAllString(dir, "*") + "*" + filepath.Ext(base)
}

// isCovered reports whether another pattern matches every name that a pattern matches. Speed*/*.txt covers
// Speed*R/*.txt: read as a name, the second pattern matches the first.
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

	digests := lists.Each(files, func(file string) string { return digest(filepath.Join(p.dir, file)) })
	for _, alike := range lists.Alike(digests) {
		if digests[alike[0]] == "" {
			continue
		}

		same := lists.Pick(files, alike)
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

// isOriginal reports whether a name is not a name of a copy.
func isOriginal(name string) bool { return !vocabulary.Copies.MatchString(name) }

// digestedBytes is the size of the two parts of a file that digest reads. Two measurements do not have the same noise
// there.
const digestedBytes = 64 << 10

// digest returns the size of a file and the hash of its first and last parts, or "" if the file cannot be read.
func digest(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}

	hash := sha256.New()
	first := io.NewSectionReader(f, 0, digestedBytes)
	last := io.NewSectionReader(f, max(0, info.Size()-digestedBytes), digestedBytes)
	if _, err := io.Copy(hash, io.MultiReader(first, last)); err != nil {
		return ""
	}

	return fmt.Sprintf("%d %x", info.Size(), hash.Sum(nil))
}

// except returns the texts that are not among others.
func except(texts []string, others ...string) []string {
	_, left := lists.Split(texts, func(text string) bool { return slices.Contains(others, text) })
	return left
}
