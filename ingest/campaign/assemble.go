package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
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
	// Own names, by condition, the attributes of channels that state it for their recordings.
	Own    [][2]string
	Roles  condition.Roles                // of conditions
	Within map[string]condition.Tolerance // of set points
}

// Assemble cuts an open file into runs and recordings, with their conditions: those of the whole
// file, of the rows of the conditions table that mean it (rows may be nil) and of channels' attributes,
// merged by condition.Merge. Errors are two rows for one recording, a recording without a
// row, an interval beyond the end, with their lines. Rows that give intervals make a run
// of each, by their first sample. Warnings: "overlapping-intervals", "no-conditions".
func Assemble(info ingest.Info, rows *Conditions, file []condition.Condition, group Grouping) (_ []ingest.Run,
	_ []ingest.Warning, err error,
) {
	defer fault.Catch(&err)
	a := assembly{Grouping: group, info: info, groups: group.split(info), conds: rows, file: file}
	a.intervals()

	ids := map[string]bool{}
	for _, r := range a.runs {
		for _, rec := range r.Recordings {
			found := fmt.Sprintf("two recordings are named %q", rec.ID)
			fault.Unless(!ids[rec.ID], fault.At(info.Path, "", "recordings that differ", found, ""))
			ids[rec.ID] = true
		}
	}

	if len(a.runs[0].Recordings[0].Conditions) == 0 {
		a.warnings = append(a.warnings, ingest.Warn(info.Path, "no-conditions",
			"no conditions are known: give a conditions table, a pattern or constants"))
	}

	return a.runs, a.warnings, nil
}

// assembly is a file that is cut into runs.
type assembly struct {
	Grouping
	info     ingest.Info
	groups   [][]int               // channels of each recording
	conds    *Conditions           // the file's rows; nil without a table
	file     []condition.Condition // conditions of the whole file
	runs     []ingest.Run
	warnings []ingest.Warning
}

// ForFiles cuts the table into one for each file. Rows without a file, rows other
// than globs with several, and files without a row are *fault.Error with the line
// and the nearest names.
func (c *Conditions) ForFiles(files []string) ([]*Conditions, error) {
	out := make([]*Conditions, len(files))
	for i := range out {
		own := *c
		own.Rows, out[i] = nil, &own
	}

	var unknown []ConditionRow
	for k, of := range c.FilesOf(files) {
		r := c.Rows[k]
		switch {
		case len(of) == 0:
			unknown = append(unknown, r)
		case len(of) > 1 && !isGlob(r.File):
			return nil, c.bad(r, "one file", fmt.Sprintf("%q means %q and %q", r.File, files[of[0]], files[of[1]]),
				"write more of the path, or a glob if both are meant")
		}

		for _, i := range of {
			out[i].Rows = append(out[i].Rows, r)
		}
	}

	empty := lists.Where(len(files), func(i int) bool { return len(out[i].Rows) == 0 })
	without := lists.Each(empty, func(i int) string { return files[i] })

	switch {
	case len(unknown)+c.Others > 0:
		return nil, c.noFile(append(unknown, c.first...), len(unknown)+c.Others, files, without)
	case len(without) > 0:
		return nil, c.noRow(without)
	}

	return out, nil
}

// noFile is the error of n rows without a file, of which these are the first.
func (c *Conditions) noFile(rows []ConditionRow, n int, files, without []string) error {
	r := rows[0]
	found := fmt.Sprintf("%q, which is none of the files", r.File)
	if n > 1 {
		found += ", also " + someRows(rows[1:], n-1)
	}

	hint := near("there is ", r.File, files) + "correct or delete the row, or widen files"
	if len(without) > 0 {
		hint += "; files without a row: " + Some(without)
	}

	return c.bad(r, "the name of a recording", found, hint)
}

// bad is the error of a row of the table.
func (c *Conditions) bad(r ConditionRow, want, found, hint string) error {
	return fault.At(c.Path, fmt.Sprintf("line %d", r.Line), want, found, hint)
}

// WithChannels joins a table of channels: each row of the table becomes one for each of them, or of the one it is for.
// Without a table it is that of the channels.
func (c *Conditions) WithChannels(channels *Conditions) *Conditions {
	if c == nil {
		return channels
	}

	joined := *c
	joined.Rows, joined.Names = nil, slices.Concat(c.Names, channels.Names)
	joined.Labels = slices.Concat(c.Labels, channels.Labels)
	for _, r := range c.Rows {
		for _, own := range channels.Rows {
			if r.Channel == "" || r.Channel == own.Channel {
				row := r
				row.Channel, row.States = own.Channel, slices.Concat(r.States, own.States)
				joined.Rows = append(joined.Rows, row)
			}
		}
	}

	return &joined
}

// split lists the channels of each recording of a file.
func (g Grouping) split(info ingest.Info) [][]int {
	unless := func(ok bool, place, want, found, hint string) {
		fault.Unless(ok, fault.At(info.Path, place, want, found, hint))
	}
	find := func(name string) int { return fault.Get(ingest.FindChannel(info, name)) }

	var names []string
	for _, name := range g.Channels {
		// The name of an array with several columns means all of them, unless each is to be an outcome.
		own := lists.Keep(info.Names(), func(n string) bool { return strings.HasPrefix(n, name+"[") })
		if _, err := ingest.FindChannel(info, name); g.Together || err == nil || len(own) == 0 {
			own = []string{name}
		}

		names = append(names, own...)
	}

	except, chans := lists.Each(g.Except, find), lists.Each(names, find)
	for k, c := range chans {
		first := slices.Index(chans, c)
		unless(first == k, "", "channels that differ",
			fmt.Sprintf("%q and %q are the same channel", names[first], names[k]), "")
	}

	if len(g.Channels) == 0 {
		chans = lists.Where(len(info.Channels), func(i int) bool {
			return info.Channels[i].Role() == "" && !slices.Contains(except, i)
		})
		unless(len(chans) > 0, "", "channels other than the time", "none", "")
		for _, u := range info.Unread { // it may be a channel that is meant
			unless(!u.Fault, u.Name, "", u.Reason, "name the channels to use if this is none of them")
		}
	}

	describe := func(c ingest.Channel) string {
		return fmt.Sprintf("%s with %d samples at %g Hz", c.Name, c.Samples, c.RateHz)
	}
	for _, c := range chans {
		a, b := info.Channels[chans[0]], info.Channels[c]
		unless(a.Samples == b.Samples && a.RateHz == b.RateHz, "", "channels of one length and rate in a run",
			describe(a)+", "+describe(b), "name the channels (or columns) that belong together")
	}

	if g.Together {
		return [][]int{chans}
	}

	slices.Sort(chans) // recordings in the file's order

	return slices.Collect(slices.Chunk(chans, 1))
}

// rowAt is a row of the conditions table with its interval in samples.
type rowAt struct {
	row            *ConditionRow
	row0, row1, to int64 // row1 < 0: to the end, which to is
	channel        int   // −1: all
}

// at finds the samples and the channel of a row.
func (f *assembly) at(r *ConditionRow) rowAt {
	first := f.info.Channels[f.groups[0][0]]
	rate, begin, end := first.RateHz, r.Begin, r.End
	unless := func(ok bool, want, found, hint string) { fault.Unless(ok, f.conds.bad(*r, want, found, hint)) }
	if r.Timed && (begin > 0 || !math.IsInf(end, 1)) {
		unless(rate > 0, "a file of known rate", f.info.Path+", which states no sampling rate", "give it, or row0 and row1")
		pauses := slices.ContainsFunc(f.info.Warnings, func(w ingest.Warning) bool { return w.Code == "clock-gaps" })
		unless(!pauses, "", fmt.Sprintf("an interval in seconds of %s, whose clock pauses", f.info.Path),
			"give row0 and row1")

		// Sample k was taken at k/rate; those of [t0, t1) are wanted. The
		// margin keeps a product like 0.1·1000 from rounding up to 101.
		edge := func(t float64) float64 { return math.Ceil(t*rate - 1e-6) }
		begin, end = edge(begin), edge(end)
		unless(begin != end, "an interval with samples",
			fmt.Sprintf("none from %g to %g s at %g Hz", r.Begin, r.End, rate), "")
	}

	a := rowAt{row: r, row0: int64(begin), row1: -1, to: first.Samples, channel: -1}
	if !math.IsInf(end, 1) {
		a.row1, a.to = int64(end), int64(end)
	}

	unless(begin < float64(first.Samples) && (a.row1 < 0 || end <= float64(first.Samples)),
		fmt.Sprintf("an interval within the %d samples of %s", first.Samples, f.info.Path),
		intervalID("", a.row0, a.row1)+" (row0:row1)", "")

	if name := r.Channel; name != "" {
		unless(len(f.groups) > 1 || len(f.groups[0]) == 1, "no channel, since the channels together are one recording",
			strconv.Quote(name), "")

		var err error
		if a.channel, err = ingest.FindChannel(f.info, name); err != nil {
			fault.Raise(&fault.Error{Path: f.conds.Path, Place: fmt.Sprintf("line %d", r.Line), Err: err})
		}
	}

	return a
}

// intervals makes the runs of the file from its rows.
func (f *assembly) intervals() {
	info, conds := f.info, f.conds
	if conds == nil {
		f.fill(ingest.Run{ID: info.Path, Path: info.Path, Row1: -1}, nil)
		return
	}

	rows := lists.Make(len(conds.Rows), func(k int) rowAt { return f.at(&conds.Rows[k]) })
	compare := func(a, b rowAt) int { return cmp.Or(cmp.Compare(a.row0, b.row0), cmp.Compare(a.to, b.to)) }
	slices.SortStableFunc(rows, compare)

	reach := rows[0] // the interval that reached farthest so far
	for len(rows) > 0 {
		a, n := rows[0], 1
		for n < len(rows) && compare(a, rows[n]) == 0 {
			n++
		}

		if reach != a && a.row0 < reach.to {
			f.warnings = append(f.warnings, ingest.Warn(info.Path, "overlapping-intervals",
				"%s: the intervals of lines %d and %d of %s share samples: their runs are not independent", info.Path,
				reach.row.Line, a.row.Line, conds.Path))
		}

		if a.to > reach.to {
			reach = a
		}

		r := ingest.Run{ID: info.Path, Path: info.Path, Row0: a.row0, Row1: a.row1}
		if a.row0 > 0 || a.row1 >= 0 {
			r.ID = intervalID(info.Path, a.row0, a.row1)
		}

		f.fill(r, rows[:n])
		rows = rows[n:]
	}
}

// intervalID writes "path[row0:row1]", with nothing for an open end.
func intervalID(f string, row0, row1 int64) string {
	if row1 < 0 {
		return fmt.Sprintf("%s[%d:]", f, row0)
	}
	return fmt.Sprintf("%s[%d:%d]", f, row0, row1)
}

// fill adds a run with its recordings.
func (f *assembly) fill(r ingest.Run, rows []rowAt) {
	for _, g := range f.groups {
		rec, c := ingest.Recording{ID: r.ID, Channels: g}, f.info.Channels[g[0]]
		name := c.Name
		if len(f.groups) > 1 {
			alike := func(g []int) bool { return f.info.Channels[g[0]].Name == c.Name }
			if len(lists.Keep(f.groups, alike)) > 1 {
				name = strconv.Itoa(g[0] + 1)
			}
			rec.ID += "#" + name
		}

		stated := slices.Clip(f.file)
		of := lists.Keep(rows, func(a rowAt) bool { return a.channel < 0 || a.channel == g[0] })
		switch {
		case len(of) == 1:
			stated = slices.Concat(stated, of[0].row.Given())
		case len(of) > 1:
			fault.Raise(f.conds.bad(*of[1].row, "one row for each recording",
				fmt.Sprintf("a second one for %s (the first is in line %d)", rec.ID, of[0].row.Line),
				"where they are about parts of it, columns t0_s and t1_s state their seconds, or row0 and row1 their samples"))
		case f.conds != nil:
			fault.Raise(fault.At(f.conds.Path, "", fmt.Sprintf("a row for channel %s of %s", name, r.ID), "none",
				"add the row, or select the channels that are meant"))
		}

		for _, a := range f.Own {
			info := ingest.Info{Path: f.info.Path, Attributes: c.Attributes}
			own, err := f.Roles.Attribute(info, a[1], a[0], "channel "+c.Name)
			if err != nil {
				fault.Raise(fmt.Errorf("condition %s of channel %s: %w", a[0], c.Name, err))
			}

			stated = append(stated, own)
		}

		v := fault.Get(condition.Merge(f.info.Path, f.Within, stated...))
		rec.Conditions, rec.Labels = v.Numbers, v.Names
		r.Recordings = append(r.Recordings, rec)
	}

	f.runs = append(f.runs, r)
}

// noRow is the error of files without a row.
func (c *Conditions) noRow(files []string) error {
	found := "none"
	if len(files) > 1 {
		found += ", nor for " + Some(files[1:])
	}

	names := lists.Each(c.Rows, func(r ConditionRow) string { return r.File })

	return fault.At(files[0], "", fmt.Sprintf("a row of %s for this file", c.Path), found,
		near("there are rows for ", files[0], names)+"add one, or leave the file out with exclude")
}

// near begins a hint with the different names whose last elements, as many as the name has, are the nearest.
func near(begin, name string, names []string) string {
	n := len(splitPath(name))
	tails := lists.Each(names, func(s string) string { return lastElements(s, n) })
	_, distinct := lists.Index(tails)
	nearest := lists.Each(spelling.Nearest(lastElements(name, n), distinct, 3), func(t string) string {
		return names[slices.Index(tails, t)]
	})
	if len(nearest) == 0 {
		return ""
	}

	return begin + fault.Quoted(nearest) + "; "
}

// lastElements returns the last n elements of a path.
func lastElements(p string, n int) string {
	e := splitPath(p)
	return strings.Join(e[max(0, len(e)-n):], "/")
}
