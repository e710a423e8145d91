package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
)

// Assemble cuts an open file into runs and recordings and gives them their conditions. rows is the conditions table
// with the rows that mean the file, or nil without a table. ofFile are the conditions of the whole file. Each interval
// of the rows becomes a run, or the whole file if rows is nil; runs are ordered by their first samples. condition.Merge
// combines the conditions of the file, of the row and of attributes of the channels.
//
// Assemble returns an error, with the lines, if a recording has two rows or none, or if an interval is not within the
// file. It also returns an error if group names channels that the file does not have or that differ in length or rate,
// and if conditions contradict each other. Warnings: "overlapping-intervals", "no-conditions".
func Assemble(info ingest.Info, rows *Conditions, ofFile []condition.Condition, group Grouping) ([]ingest.Run,
	[]ingest.Warning, error,
) {
	groups, err := group.channelsOfRecordings(info)
	if err != nil {
		return nil, nil, err
	}

	a := assembly{Grouping: group, info: info, groups: groups, table: rows, ofFile: ofFile}
	if err := a.cutIntervals(); err != nil {
		return nil, nil, err
	}

	ids := map[string]bool{}
	for _, r := range a.runs {
		for _, rec := range r.Recordings {
			if ids[rec.ID] {
				return nil, nil, fault.At(info.Path, "", "recordings that differ",
					fmt.Sprintf("two recordings are named %q", rec.ID), "")
			}

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
	info   ingest.Info
	groups [][]int               // the indices of the channels of each recording
	table  *Conditions           // the rows that mean the file; nil: there is no table
	ofFile []condition.Condition // conditions of the whole file

	runs     []ingest.Run // so far
	warnings []ingest.Warning
}

// placedRow is a row of the conditions table with its interval in samples.
type placedRow struct {
	row       *ConditionRow
	begin     int64 // the first sample
	end       int64 // the sample after the last one
	statedEnd int64 // end if the row states it; toFileEnd: the row does not, and end is the end of the file
	channel   int   // index of the channel, or allChannels
}

const (
	toFileEnd   = -1 // as the end of an interval, as in ingest.Run.Row1
	allChannels = -1
)

// compareIntervals orders rows by the first samples of their intervals, and then by the ends.
func compareIntervals(a, b placedRow) int {
	return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
}

// place returns a row with its interval in samples and its channel.
func (a *assembly) place(r *ConditionRow) (placedRow, error) {
	first := a.info.Channels[a.groups[0][0]]
	begin, end, err := a.edgesOf(r, first.RateHz)
	if err != nil {
		return placedRow{}, err
	}

	placed := placedRow{row: r, begin: int64(begin), statedEnd: toFileEnd, end: first.Samples, channel: allChannels}
	if !math.IsInf(end, 1) {
		placed.statedEnd = int64(end)
		placed.end = int64(end)
	}

	samples := float64(first.Samples)
	endsBehind := placed.statedEnd != toFileEnd && end > samples
	if begin >= samples || endsBehind {
		return placedRow{}, a.table.rowError(*r,
			fmt.Sprintf("an interval within the %d samples of %s", first.Samples, a.info.Path),
			intervalID("", placed.begin, placed.statedEnd)+" (row0:row1)", "")
	}

	if r.Channel == "" {
		return placed, nil
	}

	if len(a.groups) == 1 && len(a.groups[0]) > 1 {
		return placedRow{}, a.table.rowError(*r, "no channel, since the channels together are one recording",
			strconv.Quote(r.Channel), "")
	}

	placed.channel, err = ingest.FindChannel(a.info, r.Channel)
	if err != nil {
		return placedRow{}, &fault.Error{Path: a.table.Path, Place: fmt.Sprintf("line %d", r.Line), Err: err}
	}

	return placed, nil
}

// edgesOf returns the edges of the interval of a row in samples. rate is in Hz, 0 if the file does not state it. The
// end may be infinite.
func (a *assembly) edgesOf(row *ConditionRow, rate float64) (begin, end float64, err error) {
	isWholeFile := row.Begin <= 0 && math.IsInf(row.End, 1)
	if isWholeFile {
		return row.Begin, row.End, nil
	}

	if !row.Timed {
		return row.Begin, row.End, a.checkRowNumbers(row)
	}

	if rate <= 0 {
		return 0, 0, a.table.rowError(*row, "a file of known rate", a.info.Path+", which states no sampling rate",
			"give the rate, or the interval in samples, in the columns row0 and row1")
	}

	for _, warning := range a.info.Warnings {
		if warning.Code == "clock-gaps" {
			return 0, 0, a.table.rowError(*row, "", fmt.Sprintf("an interval in seconds of %s, whose clock pauses", a.info.Path),
				"give the interval in samples, in the columns row0 and row1")
		}
	}

	begin = firstSample(row.Begin, rate)
	end = firstSample(row.End, rate)
	if begin == end {
		return 0, 0, a.table.rowError(*row, "an interval with samples",
			fmt.Sprintf("none from %g to %g s at %g Hz", row.Begin, row.End, rate), "")
	}

	return begin, end, nil
}

// checkRowNumbers returns an error if the channels do not have a sample in each row of the file: then the numbers of
// rows in the table are not numbers of samples.
func (a *assembly) checkRowNumbers(row *ConditionRow) error {
	first := a.info.Channels[a.groups[0][0]]
	for _, attribute := range first.Attributes {
		if attribute.Name == ingest.RowsAttribute {
			return a.table.rowError(*row, "an interval in seconds",
				fmt.Sprintf("rows of %s, of which only some have a sample of %s", a.info.Path, first.Name), "give t0 and t1")
		}
	}

	return nil
}

// firstSample returns the number of the first sample from t seconds on: sample k was taken at k/rate seconds. The
// margin keeps a product such as 0.1·1000, which may be a little greater than 100, from giving 101.
func firstSample(t, rate float64) float64 { return math.Ceil(t*rate - 1e-6) }

// cutIntervals makes a run of each interval of the rows, or of the whole file if there is no table. It warns of
// intervals that overlap. The table has at least one row.
func (a *assembly) cutIntervals() error {
	info := a.info
	if a.table == nil {
		return a.addRun(ingest.Run{ID: info.Path, Path: info.Path, Row1: toFileEnd}, nil)
	}

	rows := make([]placedRow, len(a.table.Rows))
	for k := range rows {
		var err error
		rows[k], err = a.place(&a.table.Rows[k])
		if err != nil {
			return err
		}
	}

	slices.SortStableFunc(rows, compareIntervals)
	a.warnOfOverlaps(rows)
	for len(rows) > 0 {
		first := rows[0]
		n := 1 // rows of the first interval: a row for each channel
		for n < len(rows) && compareIntervals(first, rows[n]) == 0 {
			n++
		}

		run := ingest.Run{ID: info.Path, Path: info.Path, Row0: first.begin, Row1: first.statedEnd}
		if first.begin > 0 || first.statedEnd != toFileEnd {
			run.ID = intervalID(info.Path, first.begin, first.statedEnd)
		}

		if err := a.addRun(run, rows[:n]); err != nil {
			return err
		}

		rows = rows[n:]
	}

	return nil
}

// warnOfOverlaps warns of each interval that begins before the end of an earlier one. Rows of the same interval do not
// overlap: they are about several channels of one run. rows are in the order of compareIntervals.
func (a *assembly) warnOfOverlaps(rows []placedRow) {
	farthest := rows[0] // the interval with the greatest end so far
	for k := 1; k < len(rows); k++ {
		row := rows[k]
		if compareIntervals(rows[k-1], row) == 0 {
			continue
		}

		if row.begin < farthest.end {
			a.warnings = append(a.warnings, ingest.Warn(a.info.Path, "overlapping-intervals",
				"%s: the intervals of lines %d and %d of %s share samples: their runs are not independent", a.info.Path,
				farthest.row.Line, row.row.Line, a.table.Path))
		}

		if row.end > farthest.end {
			farthest = row
		}
	}
}

// intervalID writes "path[row0:row1]", with nothing for an open end.
func intervalID(f string, row0, row1 int64) string {
	if row1 < 0 {
		return fmt.Sprintf("%s[%d:]", f, row0)
	}
	return fmt.Sprintf("%s[%d:%d]", f, row0, row1)
}

// addRun adds a run with its recordings. rows are the rows of its interval.
func (a *assembly) addRun(run ingest.Run, rows []placedRow) error {
	for _, channels := range a.groups {
		channel := channels[0]
		name := a.channelName(channel)
		rec := ingest.Recording{ID: run.ID, Channels: channels}
		if len(a.groups) > 1 {
			rec.ID += "#" + name
		}

		stated, err := a.statedFor(run, rec, name, rows)
		if err != nil {
			return err
		}

		own, err := a.ownConditions(a.info.Channels[channel])
		if err != nil {
			return err
		}

		values, err := condition.Merge(a.info.Path, a.Tolerances, append(stated, own...)...)
		if err != nil {
			return err
		}

		rec.Conditions = values.Numbers
		rec.Labels = values.Names
		run.Recordings = append(run.Recordings, rec)
	}

	a.runs = append(a.runs, run)

	return nil
}

// channelName returns the name of a channel, or its number from 1 if several recordings have channels of that name.
func (a *assembly) channelName(channel int) string {
	name := a.info.Channels[channel].Name
	if len(a.groups) == 1 {
		return name
	}

	alike := 0
	for _, channels := range a.groups {
		if a.info.Channels[channels[0]].Name == name {
			alike++
		}
	}

	if alike > 1 {
		return strconv.Itoa(channel + 1)
	}

	return name
}

// statedFor returns the conditions of the whole file and of the only row for a recording. name is the name of its
// channel.
func (a *assembly) statedFor(run ingest.Run, rec ingest.Recording, name string, rows []placedRow) (
	[]condition.Condition, error,
) {
	if a.table == nil {
		return slices.Clone(a.ofFile), nil
	}

	var own []placedRow
	for _, r := range rows {
		if r.channel == allChannels || r.channel == rec.Channels[0] {
			own = append(own, r)
		}
	}

	switch {
	case len(own) == 0:
		return nil, fault.At(a.table.Path, "", fmt.Sprintf("a row for channel %s of %s", name, run.ID), "none",
			"add the row, or select the channels that are meant")
	case len(own) > 1:
		return nil, a.table.rowError(*own[1].row, "one row for each recording",
			fmt.Sprintf("a second one for %s (the first is in line %d)", rec.ID, own[0].row.Line),
			"if each row is about a part of the recording, give the part in seconds, in the columns t0_s and t1_s, "+
				"or in samples, in the columns row0 and row1")
	}

	return slices.Concat(a.ofFile, own[0].row.Given()), nil
}

// ownConditions returns the conditions that the attributes of a channel state.
func (a *assembly) ownConditions(channel ingest.Channel) ([]condition.Condition, error) {
	info := ingest.Info{Path: a.info.Path, Attributes: channel.Attributes}
	var own []condition.Condition
	for _, o := range a.Own {
		v, err := a.Roles.Attribute(info, o.Attribute, o.Condition, "channel "+channel.Name)
		if err != nil {
			return nil, fmt.Errorf("condition %s of channel %s: %w", o.Condition, channel.Name, err)
		}

		own = append(own, v)
	}

	return own, nil
}
