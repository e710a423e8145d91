package campaign

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// fileIndex finds the files that a cell means. Files are known by their indices in the list of files.
type fileIndex struct {
	paths  [][]string       // of each file, the elements of its path
	exact  map[string]int   // by the path with slashes
	byName map[string][]int // by the last element in lower case, with and without its ending

	// The following are made when they are first needed.
	byNumber map[string][]int // by each whole number in the last element, without leading zeros
	sorted   []int            // all files in the order of their last elements, for globs
}

// nameNumbers matches the numbers in a name.
var nameNumbers = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)

func newFileIndex(files []string) *fileIndex {
	x := &fileIndex{exact: map[string]int{}, byName: map[string][]int{}}
	for i, f := range files {
		elems := pathElements(f)
		x.paths = append(x.paths, elems)
		x.exact[strings.Join(elems, "/")] = i
		base, stem := stemOf(elems)
		x.byName[base] = append(x.byName[base], i)
		if stem != base {
			x.byName[stem] = append(x.byName[stem], i)
		}
	}

	return x
}

// pathElements splits a path, as any operating system writes it, at its slashes.
func pathElements(p string) []string {
	return splitPath(spelling.Composed(strings.ReplaceAll(p, `\`, "/")))
}

// stemOf returns the last element of a path in lower case, with and without its ending. An ending has a letter: .5 is
// not one.
func stemOf(elems []string) (base, stem string) {
	base = strings.ToLower(elems[len(elems)-1])
	if ext := path.Ext(base); strings.ContainsAny(ext, "abcdefghijklmnopqrstuvwxyz") {
		return base, strings.TrimSuffix(base, ext)
	}

	return base, base
}

// filesFor returns the files that a cell means: the files that it names, otherwise the only file with its number.
func (x *fileIndex) filesFor(cell string) []int {
	if files := x.filesNamed(cell); files != nil {
		return files
	}

	return x.fileNumbered(cell)
}

// fileNumbered returns the only file that has the number of a cell in its name: 17 means rec_0017.wav. It returns nil
// if several files have the number, or none, or the cell is not a whole number.
func (x *fileIndex) fileNumbered(cell string) []int {
	if cell == "" || strings.Trim(cell, "0123456789") != "" {
		return nil
	}

	if x.byNumber == nil {
		x.byNumber = map[string][]int{}
		for i, elems := range x.paths {
			_, stem := stemOf(elems)
			for _, digits := range nameNumbers.FindAllString(stem, -1) {
				number := strings.TrimLeft(digits, "0")
				if !slices.Contains(x.byNumber[number], i) {
					x.byNumber[number] = append(x.byNumber[number], i)
				}
			}
		}
	}

	if files := x.byNumber[strings.TrimLeft(cell, "0")]; len(files) == 1 {
		return files
	}

	return nil
}

// asWritten is the agreement of a file whose path ends with the cell exactly. The agreement of other files is the
// number of elements at the end that are equal but for letter case and the ending of the name.
const asWritten = 1 << 20

// filesNamed returns the files that a cell names:
//
//   - the file with exactly this path, if there is one,
//   - otherwise, for a glob, all files whose whole path, or the end of it, matches,
//   - otherwise the files that agree best. The whole cell must agree, or the whole path if it is shorter. If the cell
//     begins with a folder of another computer, C:/data or /data, it is enough that the name of the file agrees.
func (x *fileIndex) filesNamed(cell string) []int {
	want := pathElements(cell)
	if i, ok := x.exact[strings.Join(want, "/")]; ok {
		return []int{i}
	}

	if isGlob(cell) {
		return x.filesMatching(splitPath(spelling.Composed(cell)))
	}

	typed := make([]string, len(want))
	for i, element := range want {
		typed[i] = strings.ToLower(element)
	}

	hasDrive := len(typed[0]) == 2 && typed[0][1] == ':'
	isAbsolute := typed[0] == "" || hasDrive
	var files []int
	best := 0
	for _, i := range x.byName[typed[len(typed)-1]] {
		elems := x.paths[i]
		agreement := commonEnd(elems, typed)
		switch {
		case agreement < min(len(elems), len(want)) && !isAbsolute:
			continue
		case slices.Equal(elems[len(elems)-agreement:], want):
			agreement = asWritten
		}

		if agreement > best {
			best = agreement
			files = nil
		}

		if agreement == best {
			files = append(files, i)
		}
	}

	return files
}

// commonEnd returns the number of elements at the end of a path that are equal, in lower case, to the last elements of
// the path lower, which is in lower case already. It takes the last elements themselves for equal: the caller has
// compared them without their endings.
func commonEnd(elems, lower []string) int {
	n := 1
	for n < min(len(elems), len(lower)) && strings.ToLower(elems[len(elems)-1-n]) == lower[len(lower)-1-n] {
		n++
	}

	return n
}

// filesMatching returns the files that match a glob. It looks only at files whose names begin as the last element of
// the glob does, which are neighbours in sorted.
func (x *fileIndex) filesMatching(glob []string) []int {
	if x.sorted == nil {
		x.sorted = lists.Numbers(len(x.paths))
		slices.SortFunc(x.sorted, func(a, b int) int { return cmp.Compare(x.baseOf(a), x.baseOf(b)) })
	}

	begin, _, _ := strings.Cut(strings.NewReplacer("*", "?", "[", "?", `\`, "?").Replace(glob[len(glob)-1]), "?")
	var files []int
	for _, i := range x.sorted[x.firstFrom(begin):x.firstFrom(begin+"\xff")] {
		elems := x.paths[i]
		if matchElements(glob, elems) || matchElements(glob, elems[max(0, len(elems)-len(glob)):]) {
			files = append(files, i)
		}
	}

	slices.Sort(files)

	return files
}

// baseOf returns the last element of the path of file i.
func (x *fileIndex) baseOf(i int) string { return x.paths[i][len(x.paths[i])-1] }

// firstFrom returns the first place in sorted whose last element is not less than a name.
func (x *fileIndex) firstFrom(name string) int {
	place, _ := slices.BinarySearchFunc(x.sorted, name, func(i int, name string) int {
		return cmp.Compare(x.baseOf(i), name)
	})

	return place
}

// isGlob reports whether a name has signs of a glob.
func isGlob(file string) bool { return strings.ContainsAny(file, "*?[") }

// FilesOf returns for each name the files that it means in a table of conditions, by index; none if it means no file.
func FilesOf(names, files []string) [][]int {
	index := newFileIndex(files)
	var meant [][]int
	for _, name := range names {
		meant = append(meant, index.filesFor(name))
	}

	return meant
}
