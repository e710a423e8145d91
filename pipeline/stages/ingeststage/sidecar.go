package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// sidecars reads the conditions in the file next to each recording, and adds their names
// to those of the campaign.
func (r *Recordings) sidecars(exp plan.Experiment, raw []plan.RawFile) ([]File, error) {
	files := make([]File, len(raw))
	for i, f := range raw {
		files[i].RawFile = f
	}

	s := r.In.Sidecar
	if s == nil {
		return files, nil
	}

	wanted := s.Values // nil: all of the first file, which the others must have too
	for i := range files {
		var err error
		if files[i].Sidecar, err = readSidecar(exp, files[i].Name, s.Ending, wanted); err != nil {
			return nil, err
		}

		if i == 0 && len(wanted) == 0 {
			for _, v := range files[0].Sidecar {
				wanted = append(wanted, config.NamedString{Name: v.Name, Value: v.Name})
			}
		}
	}

	for _, v := range wanted {
		if !slices.Contains(r.Conditions, v.Name) {
			at := len(r.Conditions) - len(r.Found) // those stay the last
			r.Conditions = slices.Insert(r.Conditions, at, v.Name)
		}
	}

	return files, nil
}

// readSidecar reads the wanted numbers of the file next to a recording, by the names they have
// there; without any, those at its top.
func readSidecar(exp plan.Experiment, recording, ending string, wanted []config.NamedString) ([]config.NamedNumber,
	error,
) {
	name := strings.TrimSuffix(recording, path.Ext(recording)) + ending
	all, err := config.ReadNumbers(exp.File.Resolve(filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{
			Path: name, Want: "a file with the conditions of " + recording, Found: "none",
			Hint: "write it, leave the recording out with exclude, or change sidecar.ending",
		}
	}

	if err != nil {
		return nil, &fault.Error{Path: name, Err: fmt.Errorf("read conditions: %w", err)}
	}

	if len(wanted) == 0 {
		top := slices.DeleteFunc(all, func(v config.NamedNumber) bool { return strings.Contains(v.Name, ".") })
		if len(top) == 0 {
			return nil, &fault.Error{
				Path: name, Want: "numbers at its top", Found: "none",
				Hint: "name those that are meant with sidecar: {values: …}",
			}
		}

		return top, nil
	}

	have := make([]string, len(all))
	for k, v := range all {
		have[k] = v.Name
	}

	var out []config.NamedNumber
	for _, w := range wanted {
		k := slices.Index(have, w.Value)
		if k < 0 {
			return nil, &fault.Error{
				Path: name, Want: fmt.Sprintf("a number %q", w.Value), Found: strings.Join(have, ", "),
				Hint: strings.TrimPrefix(spelling.DidYouMean(w.Value, have), "; "),
			}
		}

		out = append(out, config.NamedNumber{Name: w.Name, Value: all[k].Value})
	}

	return out, nil
}

// maxConditionTable bounds a table of conditions in a file.
const maxConditionTable = 1 << 20

// conditionTable makes a table of conditions of arrays of the file: a row for each
// interval where row0 and row1 are among them, else one for each channel used. The grouping
// returned leaves these arrays out.
func conditionTable(ctx context.Context, rd ingest.Reader, info ingest.Info, src *plan.Source) (*campaign.Conditions,
	campaign.Grouping, error,
) {
	group := src.Grouping
	t := &campaign.Conditions{Path: info.Path, Units: map[string]string{}}
	bad := func(place, want, found string) (*campaign.Conditions, campaign.Grouping, error) {
		return nil, group, &fault.Error{Path: info.Path, Place: place, Want: want, Found: found}
	}

	columns := map[string][]float64{}

	n, of := -1, ""
	for _, e := range src.In.InFile {
		v, err := conditionValues(ctx, rd, info, e, t, &group)
		if err != nil {
			return nil, group, err
		}

		if n >= 0 && len(v) != n {
			return bad("array "+e.Value, fmt.Sprintf("%d values, as in %s", n, of), strconv.Itoa(len(v)))
		}

		n, of = len(v), e.Value

		columns[e.Name] = v
		if e.Name != "row0" && e.Name != "row1" {
			t.Names = append(t.Names, e.Name)
		}
	}

	var channels []int // of the recordings, where rows are theirs
	row0, timed := columns["row0"]

	row1, ends := columns["row1"]
	if !timed && !ends {
		run, err := WholeFile(info, group)
		if err != nil {
			return nil, group, err
		}

		for _, r := range run.Recordings {
			channels = append(channels, r.Channels[0])
		}

		if n != len(channels) {
			return bad("array "+of, fmt.Sprintf("a value for each of the %d recordings", len(channels)),
				fmt.Sprintf("%d values", n))
		}
	}

	for i := range n {
		r := campaign.ConditionRow{Line: i + 1, File: info.Path, Row1: -1}

		var err error
		if timed {
			if r.Row0, err = sampleNumber(info, "row0", i, row0[i]); err != nil {
				return nil, group, err
			}
		}

		if ends {
			if r.Row1, err = sampleNumber(info, "row1", i, row1[i]); err != nil {
				return nil, group, err
			}

			if r.Row1 <= r.Row0 {
				return bad(fmt.Sprintf("interval %d", i+1), "row0 below row1", fmt.Sprintf("%d and %d", r.Row0, r.Row1))
			}
		}

		if channels != nil && !group.Together {
			r.Channel = strconv.Itoa(channels[i] + 1)
		}

		for _, name := range t.Names {
			r.Values = append(r.Values, columns[name][i])
		}

		t.Rows = append(t.Rows, r)
	}

	_, err := t.Convert(byName(src.In.Units))

	return t, group, err
}

// WholeFile is the run of an open file without conditions.
func WholeFile(info ingest.Info, group campaign.Grouping) (ingest.Run, error) {
	opened := func(string) (ingest.Info, error) { return info, nil }
	runs, _, err := campaign.Assemble([]string{info.Path}, opened, nil, nil, nil, group)
	if err != nil {
		return ingest.Run{}, err
	}

	return runs[0], nil
}

// conditionValues reads the array, or the attribute, with the values of a
// condition. It notes the array's unit in t, and in group that the array is no
// recording.
func conditionValues(ctx context.Context, rd ingest.Reader, info ingest.Info, e config.NamedString,
	t *campaign.Conditions, group *campaign.Grouping,
) (v []float64, err error) {
	k, err := ingest.FindChannel(info, e.Value)
	if err == nil {
		ch := info.Channels[k]
		if ch.Samples > maxConditionTable {
			return nil, &fault.Error{
				Path: info.Path, Place: "array " + e.Value, Want: "a table of conditions",
				Found: fmt.Sprintf("%d values", ch.Samples),
			}
		}

		one, err := ReadColumns(ctx, rd, []int{k}, 0, ch.Samples)
		if err != nil {
			return nil, err
		}

		v = one[0]
		t.Units[e.Name] = ch.Unit
		group.Except = append(slices.Clone(group.Except), ch.Name)
	} else {
		one, again := ingest.AttributeNumber(info, e.Value) // a table of one row
		if again != nil {
			return nil, fmt.Errorf("condition %s: %w", e.Name, err)
		}

		v = []float64{one}
	}

	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, &fault.Error{
				Path: info.Path, Place: fmt.Sprintf("array %s, value %d", e.Value, i+1), Want: "a finite number",
				Found: fmt.Sprint(x),
			}
		}
	}

	return v, nil
}

// sampleNumber returns value i of a column as a number of samples.
func sampleNumber(info ingest.Info, name string, i int, v float64) (int64, error) {
	if v != math.Trunc(v) || v < 0 || v > 1<<53 {
		return 0, &fault.Error{
			Path: info.Path, Place: fmt.Sprintf("%s, value %d", name, i+1),
			Want: "a sample number from 0", Found: fmt.Sprint(v),
		}
	}

	return int64(v), nil
}

// OwnTare is the recording without wind that the table of conditions names for
// a file; the rows of one file name one.
func OwnTare(column string, conds *campaign.Conditions, name string) (string, error) {
	if conds == nil {
		return "", &fault.Error{Path: name, Want: "a table of conditions with the column " + column, Found: "none"}
	}

	k := slices.Index(conds.Labels, column)
	if k < 0 {
		return "", &fault.Error{Path: conds.Path, Want: "a column " + column + " with the names of recordings without " +
			"wind", Found: "columns of text: " + strings.Join(conds.Labels, ", ")}
	}

	own := ""
	for i, r := range conds.Rows {
		switch v := strings.TrimSpace(r.Labels[k]); {
		case v == "":
			return "", &fault.Error{
				Path: conds.Path, Place: fmt.Sprintf("line %d, column %s", r.Line, column),
				Want: "the recording without wind of " + name, Found: "an empty cell",
			}

		case i > 0 && v != own:
			return "", &fault.Error{
				Path: conds.Path, Place: fmt.Sprintf("line %d, column %s", r.Line, column),
				Want: fmt.Sprintf("%q, as for the other intervals of %s", own, name), Found: strconv.Quote(v),
			}

		default:
			own = v
		}
	}

	return own, nil
}

// tareNames lists the recordings without wind that a table names: they are none
// of the campaign.
func tareNames(column string, conds *campaign.Conditions) map[string]bool {
	out := map[string]bool{}
	if k := slices.Index(conds.Labels, column); k >= 0 {
		for _, r := range conds.Rows {
			out[path.Clean(filepath.ToSlash(strings.TrimSpace(r.Labels[k])))] = true
		}
	}

	return out
}
