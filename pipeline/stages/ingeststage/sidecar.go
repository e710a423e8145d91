package ingeststage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// sidecars reads the conditions in the file next to each recording, and lists their names.
func (r *Recordings) sidecars(exp plan.Experiment) []string {
	s := r.In.Sidecar
	if s == nil {
		return nil
	}

	wanted := s.Values // nil: all of the first file, which the others must have too
	for i := range r.Files {
		wanted = r.Files[i].readSidecar(exp, s.Ending, wanted)
	}

	return lists.Each(wanted, func(w config.NamedString) string { return w.Name })
}

// readSidecar reads the wanted numbers of the file next to a recording, by the names they have
// there; without any, those at its top, which it returns.
func (f *File) readSidecar(exp plan.Experiment, ending string, wanted []config.NamedString) []config.NamedString {
	name := strings.TrimSuffix(f.Name, path.Ext(f.Name)) + ending
	fail := func(want, found, hint string) { fault.Raise(fault.At(name, "", want, found, hint)) }

	all, err := config.ReadNumbers(exp.File.Resolve(filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		fail("a file with the conditions of "+f.Name, "none",
			"write it, leave the recording out with exclude, or change sidecar.ending")
	} else if err != nil {
		fault.Raise(&fault.Error{Path: name, Err: fmt.Errorf("read conditions: %w", err)})
	}

	have := lists.Each(all, func(v config.NamedNumber) string { return v.Name })
	if len(wanted) == 0 {
		top := without(have, func(n string) bool { return strings.Contains(n, ".") })
		wanted = lists.Each(top, func(n string) config.NamedString { return config.NamedString{Name: n, Value: n} })
		if len(top) == 0 {
			fail("numbers at its top", "none", "name those that are meant with sidecar: {values: …}")
		}
	}

	for _, w := range wanted {
		k := slices.Index(have, w.Value)
		if k < 0 {
			fail(fmt.Sprintf("a number %q", w.Value), strings.Join(have, ", "),
				cmp.Or(strings.TrimPrefix(spelling.DidYouMean(w.Value, have), "; "), "write a plain number, like 2.5"))
		}

		f.Sidecar = append(f.Sidecar, condition.Condition{Column: w.Name, Value: all[k].Value, Origin: "the file next to it"})
	}

	return wanted
}

// maxConditionTable bounds a table of conditions in a file.
const maxConditionTable = 1 << 20

// conditionTable makes a table of conditions of arrays of the file: a row for each
// interval where row0 and row1 are among them, else one for each channel used. The grouping
// returned leaves these arrays out.
func (r *reader) conditionTable(ctx context.Context) (*campaign.Conditions, campaign.Grouping) {
	path := r.info.Path
	t, group := &campaign.Conditions{Path: path}, r.src.Grouping
	unless := func(ok bool, place, want, found string) { fault.Unless(ok, fault.At(path, place, want, found, "")) }

	columns := map[string][]float64{}
	n, of := -1, ""
	for _, e := range r.src.In.InFile {
		v, unit := r.conditionValues(ctx, e, &group)
		unless(n < 0 || len(v) == n, "array "+e.Value, fmt.Sprintf("%d values, as in %s", n, of), strconv.Itoa(len(v)))
		n, of = len(v), e.Value
		columns[e.Name] = v
		if e.Name != "row0" && e.Name != "row1" {
			t.Names = append(t.Names, e.Name)
			campaign.Convert(path, e.Name, unit, byName(r.src.In.Units), v)
		}
	}

	from, to := columns["row0"], columns["row1"]
	var channels []int // of the recordings, where rows are theirs
	if from == nil && to == nil {
		run := WholeFile(r.info, group)
		channels = lists.Each(run.Recordings, func(r ingest.Recording) int { return r.Channels[0] })
		unless(n == len(channels), "array "+of, fmt.Sprintf("a value for each of the %d recordings", len(channels)),
			fmt.Sprintf("%d values", n))
	}

	sampleNumber := func(name string, v []float64, i int, missing float64) float64 {
		if v == nil {
			return missing
		}

		unless(v[i] == math.Trunc(v[i]) && v[i] >= 0 && v[i] <= 1<<53, fmt.Sprintf("%s, value %d", name, i+1),
			"a sample number from 0", fmt.Sprint(v[i]))

		return v[i]
	}

	for i := range n {
		row := campaign.ConditionRow{Line: i + 1, File: path, Begin: sampleNumber("row0", from, i, 0)}
		row.End = sampleNumber("row1", to, i, math.Inf(1))
		unless(row.Begin < row.End, fmt.Sprintf("interval %d", i+1), "row0 below row1",
			fmt.Sprintf("%.f and %.f", row.Begin, row.End))

		if channels != nil && !group.Together {
			row.Channel = strconv.Itoa(channels[i] + 1)
		}

		origin := fmt.Sprintf("%s, line %d", path, row.Line)
		for _, name := range t.Names {
			row.States = append(row.States, condition.Condition{Column: name, Value: columns[name][i], Origin: origin})
		}

		t.Rows = append(t.Rows, row)
	}

	return t, group
}

// WholeFile is the run of an open file without conditions.
func WholeFile(info ingest.Info, group campaign.Grouping) ingest.Run {
	group.Own = nil
	runs, _, err := campaign.Assemble(info, nil, condition.NewSet(info.Path, nil), group)
	fault.Raise(err)

	return runs[0]
}

// conditionValues reads the array, or the attribute, with the values of a
// condition, and the array's unit. It notes in group that the array is no recording.
func (r *reader) conditionValues(ctx context.Context, e config.NamedString, group *campaign.Grouping) (v []float64,
	unit string,
) {
	info := r.info
	k, err := ingest.FindChannel(info, e.Value)
	if err != nil {
		one, again := condition.Attribute(info, e.Value, e.Name) // a table of one row
		fault.Unless(again == nil, fmt.Errorf("condition %s: %w", e.Name, err))

		return []float64{one}, ""
	}

	ch := info.Channels[k]
	fault.Unless(ch.Samples <= maxConditionTable, fault.At(info.Path, "array "+e.Value, "a table of conditions",
		fmt.Sprintf("%d values", ch.Samples), ""))

	v = fault.Get(ReadColumns(ctx, r.rd, []int{k}, 0, ch.Samples))[0]
	group.Except = append(slices.Clone(group.Except), ch.Name)
	for i, x := range v {
		if x-x != 0 {
			place := fmt.Sprintf("array %s, value %d", e.Value, i+1)
			fault.Raise(fault.At(info.Path, place, "a finite number", fmt.Sprint(x), ""))
		}
	}

	return v, ch.Unit
}

// ownTare is the recording without wind that the table of conditions names for
// a file; the rows of one file name one.
func ownTare(column string, conds *campaign.Conditions, name string) (own string) {
	unless := func(ok bool, path, place, want, found string) {
		fault.Unless(ok, fault.At(path, place, want, found, ""))
	}
	unless(conds != nil, name, "", "a table of conditions with the column "+column, "none")
	unless(slices.Contains(conds.Labels, column), conds.Path, "",
		"a column "+column+" with the names of recordings without wind", "columns of text: "+strings.Join(conds.Labels, ", "))

	for i, r := range conds.Rows {
		v, _ := r.Name(column)
		v = strings.TrimSpace(v)
		place := fmt.Sprintf("line %d, column %s", r.Line, column)
		unless(v != "", conds.Path, place, "the recording without wind of "+name, "an empty cell")
		unless(i == 0 || v == own, conds.Path, place, fmt.Sprintf("%q, as for the other intervals of %s", own, name),
			strconv.Quote(v))
		own = v
	}

	return own
}

// tareColumns are the columns that name the recordings without wind; nil of none.
func tareColumns(in *config.Ingest) []string {
	if in.Balance == nil || in.Balance.Tare == nil || in.Balance.Tare.Column == "" {
		return nil
	}

	return without([]string{in.Balance.Tare.Column, in.Balance.Tare.After}, func(c string) bool { return c == "" })
}

// takeTares gives the recordings without wind that the table names their paths, and returns the files without them:
// they are none of the campaign. A name is a path from the configuration's folder or the recording's, or it is one as
// recordings have them, without folder and ending.
func (r *Recordings) takeTares(exp plan.Experiment, recordings, files []string) []string {
	columns := tareColumns(&r.In)
	if columns == nil || r.Table == nil {
		return files
	}

	var near []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		names, _, _, _ := campaign.Find([]string{pattern}, nil, exp.File.Dir) // none is no fault
		near = append(near, names...)
	}

	near = unique(near, recordings)
	located := map[[2]string]string{} // by name and folder
	tares, measured := map[string]bool{}, map[string]bool{}
	for i, of := range r.Table.FilesOf(recordings) {
		row, folder := r.Table.Rows[i], ""
		if len(of) > 0 {
			folder = path.Dir(filepath.ToSlash(recordings[of[0]]))
		}

		measured[path.Base(filepath.ToSlash(row.File))] = true
		for k := range row.States {
			c := &row.States[k]
			if !c.IsName || !slices.Contains(columns, c.Column) {
				continue
			}

			key := [2]string{c.Name, folder}
			if located[key] == "" {
				place := fmt.Sprintf("line %d, column %s", row.Line, c.Column)
				located[key] = r.locate(c.Name, folder, place, near)
				if _, err := os.Stat(exp.File.Resolve(located[key])); err != nil {
					found := fmt.Sprintf("no file %q", c.Name)
					fault.Raise(fault.At(r.In.Conditions, place, "a recording without wind", found, "write its path"))
				}
			}

			c.Name = located[key]
			tares[c.Name] = true
		}
	}

	r.warnings = slices.DeleteFunc(r.warnings, func(w ingest.Warning) bool { return tares[filepath.ToSlash(w.Path)] })

	return without(files, func(p string) bool {
		s := filepath.ToSlash(p)
		return tares[s] && !measured[path.Base(s)]
	})
}

// locate finds a recording without wind, which the table names at a place, first in the folder of the run; one that
// there is not keeps its name.
func (r *Recordings) locate(name, folder, place string, files []string) string {
	beside := without(files, func(f string) bool { return path.Dir(f) != folder })
	for _, list := range [][]string{beside, files} {
		switch of := campaign.FilesOf([]string{strings.TrimSpace(name)}, list)[0]; {
		case len(of) == 1:
			return list[of[0]]
		case len(of) > 1:
			err := fmt.Errorf("expected one recording without wind, found %q and %q", list[of[0]], list[of[1]])
			fault.Raise(&fault.Error{Path: r.In.Conditions, Place: place, Err: err, Hint: "write more of the path"})
		}
	}

	return name
}

// findTares finds the recordings without wind of each file, and how far its runs are between them: by their first row
// among those of the table that name the same two, one before the first, the other after the last.
func (r *Recordings) findTares(exp plan.Experiment) {
	if r.In.Balance == nil || r.In.Balance.Tare == nil {
		return
	}

	t, columns := r.In.Balance.Tare, tareColumns(&r.In)
	named := func(row campaign.ConditionRow) (names string) {
		for _, c := range columns {
			name, _ := row.Name(c)
			names += strconv.Quote(name)
		}

		return names
	}

	lines := map[string][]int{} // of the rows, by what they name
	if t.Drift == "linear" {
		for _, row := range r.Table.Rows {
			lines[named(row)] = append(lines[named(row)], row.Line)
		}
	}

	for i := range r.Files {
		f := &r.Files[i]
		for _, p := range []string{cmp.Or(t.File, t.Column), t.After} {
			if p != "" && t.Column != "" {
				p = ownTare(p, f.Rows, f.Name)
			}

			if p != "" {
				f.Tares = append(f.Tares, onDisk(exp, p))
			}
		}

		if t.Drift == "linear" {
			own := f.Rows.Rows[0]
			of := lines[named(own)]
			f.Share = float64(own.Line-of[0]+1) / float64(of[len(of)-1]-of[0]+2)
		}
	}
}
