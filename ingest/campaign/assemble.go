package campaign

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/setpoint"
	"doubletake/ingest/spelling"
)

// Grouping defines the recordings of a run.
type Grouping struct {
	// Channels selects by name (as FindChannel does) or number from 1, in the
	// order wanted within a recording. Empty: every channel but the clock.
	Channels []string
	// Together makes the channels one recording (lift and drag); otherwise each
	// channel is one of its own (microphones).
	Together bool
	// Except names channels that are none of the recordings (a tachometer).
	Except []string
	// From is where the constants of these names come from, for messages; the configuration, else.
	From map[string]string
	// Within is how far the value in the file's name, a set point, may lie from the measured one.
	Within map[string]setpoint.Tolerance
}

// Assemble ties files to conditions and channels. infos is called once per
// file, in order. conds and pat may be nil.
//
// The conditions of a recording are the pattern's values, the values of its
// row of the conditions table and the constants, merged, and likewise its labels; two
// sources that give one name different values are an error, but a set point in the name and a measured value
// within the tolerance of it, which holds. Errors are too: a file the pattern does not
// match or without a row, a row without a file, an ambiguous base name,
// two rows for one recording, an interval beyond the end. These are
// *fault.Error with line and nearest names. A file whose rows give intervals
// makes one run per interval.
//
// Runs come in the order of files, intervals by their first sample. Warnings:
// "overlapping-intervals", "no-conditions".
func Assemble(files []string, infos func(path string) (ingest.Info, error), conds *Conditions, pat *Pattern,
	constants map[string]float64, group Grouping,
) ([]ingest.Run, []ingest.Warning, error) {
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f] {
			return nil, nil, &fault.Error{Path: f, Found: "the file is listed twice", Want: "files that differ"}
		}
		seen[f] = true
	}

	var rowsOf [][]int
	if conds != nil {
		var err error
		if rowsOf, err = conds.rowsFor(files); err != nil {
			return nil, nil, err
		}
	}

	var runs []ingest.Run
	var warns []ingest.Warning

	ids := map[string]bool{}
	for i, f := range files {
		base, err := known(f, pat, constants, group)
		if err != nil {
			return nil, nil, err
		}

		if conds != nil && len(rowsOf[i]) == 0 {
			return nil, nil, noRow([]string{f}, conds)
		}

		info, err := infos(f)
		if err != nil {
			return nil, nil, fmt.Errorf("assemble runs: %w", err)
		}

		groups, err := group.split(info)
		if err != nil {
			return nil, nil, err
		}

		var fileRuns []ingest.Run
		if conds == nil {
			r := ingest.Run{ID: f, Path: f, Row1: -1}
			if err := fill(&r, info, groups, []rowAt{}, nil, base); err != nil {
				return nil, nil, err
			}

			fileRuns = []ingest.Run{r}
		} else {
			var w []ingest.Warning
			if fileRuns, w, err = intervals(f, info, groups, conds, rowsOf[i], base); err != nil {
				return nil, nil, err
			}

			warns = append(warns, w...)
		}

		for _, r := range fileRuns {
			for _, rec := range r.Recordings {
				if ids[rec.ID] {
					return nil, nil, &fault.Error{
						Path: f, Found: fmt.Sprintf("two recordings are named %q", rec.ID),
						Want: "recordings that differ",
					}
				}

				ids[rec.ID] = true
			}
		}

		runs = append(runs, fileRuns...)
	}

	if len(runs) > 0 && len(runs[0].Recordings[0].Conditions) == 0 {
		warns = append(warns, ingest.Warning{
			Path: runs[0].Path, Code: "no-conditions",
			Text: "no conditions are known: give a conditions table, a pattern or constants",
		})
	}

	return runs, warns, nil
}

// rowsFor lists, for each file, the rows of the table that mean it. Rows that mean
// no file or, without being a glob, several are *fault.Errors.
func (c *Conditions) rowsFor(files []string) ([][]int, error) {
	rowsOf := make([][]int, len(files))
	index, unknown := newFileIndex(files), []int(nil)
	for k, r := range c.Rows {
		m := index.of(r)
		if len(m) == 0 {
			unknown = append(unknown, k)
		}

		if len(m) > 1 && !r.isGlob() {
			return nil, c.bad(r, "one file", fmt.Sprintf("%q means %q and %q", r.File, files[m[0]], files[m[1]]),
				"write more of the path, or a glob if both are meant")
		}

		for _, i := range m {
			rowsOf[i] = append(rowsOf[i], k)
		}
	}

	if len(unknown) == 0 {
		return rowsOf, nil
	}

	r := c.Rows[unknown[0]]
	found, hint := fmt.Sprintf("%q, which is none of the files", r.File), rowHint(r.File, files)
	if r.isGlob() {
		found = fmt.Sprintf("%q, which matches none of the files", r.File)
	}

	var more, without []string
	for _, k := range unknown[1:] {
		more = append(more, fmt.Sprintf("%s (line %d)", c.Rows[k].File, c.Rows[k].Line))
	}

	for i, f := range files {
		if len(rowsOf[i]) == 0 {
			without = append(without, f)
		}
	}

	if len(more) > 0 {
		found += ", as are " + some(more)
	}

	if len(without) > 0 {
		hint += "; files without a row: " + some(without)
	}

	return nil, c.bad(r, "the name of a recording", found, hint)
}

// bad is the error of a row of the table.
func (c *Conditions) bad(r ConditionRow, want, found, hint string) error {
	return &fault.Error{Path: c.Path, Place: fmt.Sprintf("line %d", r.Line), Want: want, Found: found, Hint: hint}
}

// known returns the conditions of a file by the constants and its name.
func known(f string, pat *Pattern, constants map[string]float64, group Grouping) (merged, error) {
	base := merged{
		path: f, within: group.Within, from: map[string]string{}, values: map[string]float64{}, labels: map[string]string{},
	}

	for _, n := range slices.Sorted(maps.Keys(constants)) {
		if err := base.set(n, constants[n], cmp.Or(group.From[n], configured)); err != nil {
			return base, err
		}
	}

	if pat != nil {
		v, ok := pat.Match(f)
		if !ok {
			return base, pat.mismatch(f)
		}

		for _, n := range pat.names {
			if err := base.set(n, v[n], fileName); err != nil {
				return base, err
			}
		}

		labels := pat.Labels(f)
		for _, n := range pat.texts {
			_ = base.setLabel(n, labels[n], fileName) // the first of its source
		}
	}

	return base, nil
}

// Sources of conditions, for messages.
const (
	configured = "the configuration"
	fileName   = "the file's name"
)

// merged gathers conditions and labels, and remembers where each came from.
type merged struct {
	path   string
	within map[string]setpoint.Tolerance
	values map[string]float64
	labels map[string]string
	from   map[string]string
}

func (m *merged) set(name string, v float64, from string) error {
	if !finite(v) {
		return &fault.Error{
			Path: m.path, Place: "condition " + name, Want: "a finite number",
			Found: fmt.Sprintf("%v in %s", v, from),
		}
	}

	old, known := m.values[name]
	switch {
	case !known || old == v:
	case m.within[name].Equal(old, v):
		if from == fileName && m.from[name] != configured {
			return nil // the other was measured
		}

		m.from[name] = from

	default:
		return &fault.Error{
			Path: m.path, Place: "condition " + name, Want: fmt.Sprintf("%v, as in %s", old, m.from[name]),
			Found: fmt.Sprintf("%v in %s", v, from),
		}
	}

	if _, ok := m.from[name]; !ok {
		m.from[name] = from
	}

	m.values[name] = v

	return nil
}

func (m *merged) setLabel(name, label, from string) error {
	if old, ok := m.labels[name]; ok && old != label {
		return &fault.Error{
			Path: m.path, Place: "label " + name, Want: fmt.Sprintf("%q, as in %s", old, m.from[name]),
			Found: fmt.Sprintf("%q in %s", label, from),
		}
	}

	m.labels[name], m.from[name] = label, from

	return nil
}

func (m merged) clone() merged {
	m.values, m.labels, m.from = maps.Clone(m.values), maps.Clone(m.labels), maps.Clone(m.from)
	return m
}

// split lists the channels of each recording of a file.
func (g Grouping) split(info ingest.Info) ([][]int, error) {
	var chans []int

	except := map[int]bool{}
	for _, name := range g.Except {
		c, err := ingest.FindChannel(info, name)
		if err != nil {
			return nil, err
		}

		except[c] = true
	}

	if len(g.Channels) == 0 {
		for i, c := range info.Channels {
			if c.Role() == "" && !except[i] {
				chans = append(chans, i)
			}
		}

		if len(chans) == 0 {
			return nil, &fault.Error{Path: info.Path, Want: "channels other than the time", Found: "none"}
		}

		for _, u := range info.Unread {
			if u.Fault { // it may be a channel that is meant
				return nil, &fault.Error{
					Path: info.Path, Place: u.Name, Found: u.Reason,
					Hint: "name the channels to use if this is none of them",
				}
			}
		}
	}

	taken := map[int]string{}
	for _, name := range g.expand(info) {
		c, err := ingest.FindChannel(info, name)
		if err != nil {
			return nil, err
		}

		if other, dup := taken[c]; dup {
			return nil, &fault.Error{
				Path: info.Path, Want: "channels that differ",
				Found: fmt.Sprintf("%q and %q are the same channel", other, name),
			}
		}

		taken[c] = name
		chans = append(chans, c)
	}

	for _, c := range chans {
		a, b := info.Channels[chans[0]], info.Channels[c]
		if a.Samples != b.Samples || a.RateHz != b.RateHz {
			of := func(c ingest.Channel) string {
				return fmt.Sprintf("%s with %d samples at %g Hz", c.Name, c.Samples, c.RateHz)
			}
			return nil, &fault.Error{
				Path: info.Path, Want: "channels of one length and rate in a run", Found: of(a) + ", " + of(b),
				Hint: "name the channels (or columns) that belong together",
			}
		}
	}

	if g.Together {
		return [][]int{chans}, nil
	}

	slices.Sort(chans) // recordings in the file's order

	out := make([][]int, len(chans))
	for i, c := range chans {
		out[i] = []int{c}
	}

	return out, nil
}

// expand lists the channels asked for; the name of an array with several
// columns means all of them, unless each is to be an outcome.
func (g Grouping) expand(info ingest.Info) []string {
	if g.Together {
		return g.Channels
	}

	var out []string
	for _, name := range g.Channels {
		n := len(out)

		if _, err := ingest.FindChannel(info, name); err != nil {
			for _, c := range info.Channels {
				if strings.HasPrefix(c.Name, name+"[") {
					out = append(out, c.Name)
				}
			}
		}

		if len(out) == n {
			out = append(out, name)
		}
	}

	return out
}

// rowAt is a row of the conditions table with its interval in samples.
type rowAt struct {
	row        *ConditionRow
	row0, row1 int64
}

// intervals makes the runs of a file from its rows.
func intervals(f string, info ingest.Info, groups [][]int, conds *Conditions, rows []int, base merged) ([]ingest.Run,
	[]ingest.Warning, error,
) {
	samples := info.Channels[groups[0][0]].Samples
	rate := info.Channels[groups[0][0]].RateHz

	var at []rowAt
	for _, k := range rows {
		r := &conds.Rows[k]
		a := rowAt{r, r.Row0, r.Row1}
		if r.Timed && (r.T0 > 0 || !math.IsInf(r.T1, 1)) {
			if rate <= 0 {
				return nil, nil, &fault.Error{
					Path: conds.Path, Place: fmt.Sprintf("line %d", r.Line),
					Err: fmt.Errorf("%s: %w", f, errNoRate),
				}
			}

			for _, w := range info.Warnings {
				if w.Code == "clock-gaps" {
					found := fmt.Sprintf("an interval in seconds of %s, whose clock pauses", f)
					return nil, nil, conds.bad(*r, "", found, "give row0 and row1")
				}
			}

			// Sample k was taken at k/rate; those of [t0, t1) are wanted. The
			// margin keeps a product like 0.1·1000 from rounding up to 101.
			edge := func(t float64) int64 { return int64(math.Ceil(t*rate - 1e-6)) }
			a.row0, a.row1 = edge(r.T0), -1
			if !math.IsInf(r.T1, 1) && r.T1*rate < math.MaxInt64/2 {
				a.row1 = edge(r.T1)
			}

			if a.row1 == a.row0 {
				return nil, nil, conds.bad(*r, "an interval with samples",
					fmt.Sprintf("none from %g to %g s at %g Hz", r.T0, r.T1, rate), "")
			}
		}

		if a.row1 > samples || a.row0 >= samples {
			return nil, nil, conds.bad(*r, fmt.Sprintf("an interval within the %d samples of %s", samples, f),
				intervalID("", a.row0, a.row1)+" (row0:row1)", "")
		}

		at = append(at, a)
	}

	end := func(a rowAt) int64 {
		if a.row1 < 0 {
			return samples
		}
		return a.row1
	}

	slices.SortStableFunc(at, func(a, b rowAt) int {
		return cmp.Or(cmp.Compare(a.row0, b.row0), cmp.Compare(end(a), end(b)))
	})
	var runs []ingest.Run
	var warns []ingest.Warning

	var reach rowAt // the interval that reached farthest so far
	for from := 0; from < len(at); {
		to := from + 1
		for to < len(at) && at[to].row0 == at[from].row0 && end(at[to]) == end(at[from]) {
			to++
		}

		a := at[from]
		if reach.row != nil && a.row0 < end(reach) {
			warns = append(warns, ingest.Warning{Path: f, Code: "overlapping-intervals", Text: fmt.Sprintf(
				"%s: the intervals of lines %d and %d of %s share samples: their runs are not independent", f, reach.row.Line,
				a.row.Line, conds.Path)})
		}

		if reach.row == nil || end(a) > end(reach) {
			reach = a
		}

		r := ingest.Run{ID: f, Path: f, Row0: a.row0, Row1: a.row1}
		if a.row0 > 0 || a.row1 >= 0 {
			r.ID = intervalID(f, a.row0, a.row1)
		}

		if err := fill(&r, info, groups, at[from:to], conds, base); err != nil {
			return nil, nil, err
		}

		runs = append(runs, r)
		from = to
	}

	return runs, warns, nil
}

// intervalID writes "path[row0:row1]", with nothing for an open end.
func intervalID(f string, row0, row1 int64) string {
	if row1 < 0 {
		return fmt.Sprintf("%s[%d:]", f, row0)
	}
	return fmt.Sprintf("%s[%d:%d]", f, row0, row1)
}

// fill makes the recordings of a run.
func fill(r *ingest.Run, info ingest.Info, groups [][]int, rows []rowAt, conds *Conditions, base merged) error {
	named := map[string]int{}
	for _, g := range groups {
		named[info.Channels[g[0]].Name]++
	}

	rowOf := make([]*ConditionRow, len(groups))
	for _, a := range rows {
		only := -1
		if a.row.Channel != "" {
			if len(groups) == 1 && len(groups[0]) > 1 {
				return conds.bad(*a.row, "no channel, since the channels together are one recording",
					strconv.Quote(a.row.Channel), "")
			}

			c, err := ingest.FindChannel(info, a.row.Channel)
			if err != nil {
				return &fault.Error{Path: conds.Path, Place: fmt.Sprintf("line %d", a.row.Line), Err: err}
			}

			only = slices.IndexFunc(groups, func(g []int) bool { return g[0] == c })
			if only < 0 {
				continue // a channel that is not used, for example the tachometer
			}
		}

		for i := range groups {
			if only >= 0 && i != only {
				continue
			}

			if old := rowOf[i]; old != nil {
				what := r.ID
				if len(groups) > 1 {
					what += "#" + info.Channels[groups[i][0]].Name
				}

				return conds.bad(*a.row, "one row for each recording",
					fmt.Sprintf("a second one for %s (the first is in line %d)", what, old.Line), "")
			}

			rowOf[i] = a.row
		}
	}

	for i, g := range groups {
		rec := ingest.Recording{ID: r.ID, Channels: g}

		name := info.Channels[g[0]].Name
		if len(groups) > 1 {
			if named[name] > 1 {
				name = strconv.Itoa(g[0] + 1)
			}
			rec.ID += "#" + name
		}

		m := base
		if conds != nil {
			row := rowOf[i]
			if row == nil {
				return &fault.Error{
					Path: conds.Path, Want: fmt.Sprintf("a row for channel %s of %s", name, r.ID), Found: "none",
					Hint: "add the row, or select the channels that are meant",
				}
			}

			m = base.clone()
			from := fmt.Sprintf("%s, line %d", conds.Path, row.Line)
			for k, n := range conds.Names {
				if math.IsNaN(row.Values[k]) {
					continue // another source gives it
				}

				if err := m.set(n, row.Values[k], from); err != nil {
					return err
				}
			}

			for k, n := range conds.Labels {
				if err := m.setLabel(n, row.Labels[k], from); err != nil {
					return err
				}
			}
		}

		m = m.clone()
		rec.Conditions, rec.Labels = m.values, m.labels
		r.Recordings = append(r.Recordings, rec)
	}

	return nil
}

// noRow is the error of files without a row.
func noRow(files []string, conds *Conditions) error {
	f := files[0]
	var names []string
	for _, r := range conds.Rows {
		if !slices.Contains(names, r.File) {
			names = append(names, r.File)
		}
	}

	e := &fault.Error{Path: f, Want: fmt.Sprintf("a row of %s for this file", conds.Path), Found: "none"}
	e.Hint = "add one, or leave the file out with exclude"
	if len(files) > 1 {
		e.Found += ", nor for " + some(files[1:])
	}

	if near := nearestPaths(f, names); len(near) > 0 {
		e.Hint = "there are rows for " + fault.Quoted(near) + "; " + e.Hint
	}

	return e
}

// rowHint is the hint for a row without a file.
func rowHint(name string, files []string) string {
	hint := "correct or delete the row, or widen files"
	if near := nearestPaths(name, files); len(near) > 0 {
		hint = "there is " + fault.Quoted(near) + "; " + hint
	}

	return hint
}

// nearestPaths ranks names by their last elements, as many as the name has.
func nearestPaths(name string, names []string) []string {
	n := len(splitPath(name))
	tails := make([]string, len(names))

	back := map[string]string{}
	for i, s := range names {
		tails[i] = lastElements(s, n)
		if _, ok := back[tails[i]]; !ok {
			back[tails[i]] = s
		}
	}

	var out []string
	for _, t := range spelling.Nearest(lastElements(name, n), tails, 3) {
		out = append(out, back[t])
	}

	return out
}

// lastElements returns the last n elements of a path.
func lastElements(p string, n int) string {
	e := splitPath(filepath.ToSlash(p))
	return strings.Join(e[max(0, len(e)-n):], "/")
}
