package ingest

import (
	"sort"
	"strconv"
	"strings"
)

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment), letter case ignored.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	// Names are short; a hostile one must not cost quadratic time.
	if len(x) > 256 || len(y) > 256 {
		if a == b {
			return 0
		}
		return max(len(x), len(y))
	}
	w := len(y) + 1
	d := make([]int, (len(x)+1)*w)
	for j := range w {
		d[j] = j
	}
	for i := 1; i <= len(x); i++ {
		d[i*w] = i
		for j := 1; j < w; j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			v := min(d[(i-1)*w+j]+1, d[i*w+j-1]+1, d[(i-1)*w+j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				v = min(v, d[(i-2)*w+j-2]+1)
			}
			d[i*w+j] = v
		}
	}
	return d[len(d)-1]
}

// nearest returns up to n of the names, the most alike first, ties in order.
func nearest(name string, names []string, n int) []string {
	type ranked struct {
		name string
		d    int
	}
	rs := make([]ranked, 0, len(names))
	for _, s := range names {
		rs = append(rs, ranked{s, distance(name, s)})
	}
	sort.SliceStable(rs, func(i, j int) bool { return rs[i].d < rs[j].d })
	var out []string
	for _, r := range rs {
		if len(out) == n {
			break
		}
		out = append(out, r.name)
	}
	return out
}

// quoteList writes names as `"a", "b"`, at most a dozen of them.
func quoteList(names []string) string {
	const most = 12
	q := make([]string, 0, most)
	for i, s := range names {
		if i == most {
			q = append(q, "… "+strconv.Itoa(len(names)-most)+" more")
			break
		}
		q = append(q, strconv.Quote(s))
	}
	return strings.Join(q, ", ")
}

// plural writes a count with its noun: "1 row", "2 rows".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}
