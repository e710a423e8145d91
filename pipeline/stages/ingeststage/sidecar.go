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

// sidecars reads the conditions in the file next to each recording.
func sidecars(b *plan.Builder, src *plan.Source, raw []plan.RawFile) ([][]config.NamedNumber, error) {
	out := make([][]config.NamedNumber, len(raw))
	s := src.In.Sidecar
	if s == nil {
		return out, nil
	}
	var first []config.NamedNumber // of the first file: all must have the same
	for i, r := range raw {
		name := strings.TrimSuffix(r.Name, path.Ext(r.Name)) + s.Ending
		bad := func(want, found, hint string) error {
			return &fault.Error{Path: name, Want: want, Found: found, Hint: hint}
		}
		all, err := config.ReadNumbers(b.File.Resolve(filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, bad("a file with the conditions of "+r.Name, "none",
				"write it, leave the recording out with exclude, or change sidecar.ending")
		}
		if err != nil {
			return nil, &fault.Error{Path: name, Err: fmt.Errorf("read conditions: %w", err)}
		}
		have := make([]string, len(all))
		for k, v := range all {
			have[k] = v.Name
		}
		take := func(as, key string) error {
			k := slices.Index(have, key)
			if k < 0 {
				hint := strings.TrimPrefix(spelling.DidYouMean(key, have), "; ")
				return bad(fmt.Sprintf("a number %q", key), strings.Join(have, ", "), hint)
			}
			out[i] = append(out[i], config.NamedNumber{Name: as, Value: all[k].Value})
			return nil
		}
		switch {
		case len(s.Values) > 0:
			for _, v := range s.Values {
				if err := take(v.Name, v.Value); err != nil {
					return nil, err
				}
			}
		case i == 0:
			for _, v := range all {
				if !strings.Contains(v.Name, ".") {
					out[0] = append(out[0], v)
				}
			}
			if len(out[0]) == 0 {
				return nil, bad("numbers at its top", "none", "name those that are meant with sidecar: {values: …}")
			}
		default:
			for _, v := range first {
				if err := take(v.Name, v.Name); err != nil {
					return nil, err
				}
			}
		}
		if i == 0 {
			first = out[0]
			for _, v := range first {
				if !slices.Contains(b.Conditions, v.Name) {
					at := len(b.Conditions) - len(b.Found) // those stay the last
					b.Conditions = slices.Insert(b.Conditions, at, v.Name)
				}
			}
		}
	}
	return out, nil
}

// maxConditionTable bounds a table of conditions in a file.
const maxConditionTable = 1 << 20

// conditionTable makes a table of conditions of arrays of the file: a row for each
// interval where row0 and row1 are among them, else one for each channel used.
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
		runs, _, err := campaign.Assemble([]string{info.Path}, func(string) (ingest.Info, error) { return info, nil }, nil,
			nil, nil, group)
		if err != nil {
			return nil, group, err
		}
		for _, r := range runs[0].Recordings {
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
	if _, err := t.Convert(statedUnits(src.In)); err != nil {
		return nil, group, err
	}
	return t, group, nil
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
