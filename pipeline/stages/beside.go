package stages

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
	"doubletake/pipeline/config"
)

// sidecars reads the conditions that stand in a file beside each recording.
func (b *builder) sidecars(src *source, raw []rawFile) ([][]config.NamedNumber, error) {
	out := make([][]config.NamedNumber, len(raw))
	s := src.in.Sidecar
	if s == nil {
		return out, nil
	}
	var first []config.NamedNumber // of the first file: all must have the same
	for i, r := range raw {
		name := strings.TrimSuffix(r.name, path.Ext(r.name)) + s.Ending
		bad := func(want, found, hint string) error {
			return &ingest.DataError{Path: name, Want: want, Found: found, Hint: hint}
		}
		all, err := config.ReadNumbers(b.f.Resolve(filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, bad("a file with the conditions of "+r.name, "none", "write it, leave the recording out with exclude, or change sidecar.ending")
		}
		if err != nil {
			return nil, &ingest.DataError{Path: name, Err: fmt.Errorf("read conditions: %w", err)}
		}
		have := make([]string, len(all))
		for k, v := range all {
			have[k] = v.Name
		}
		take := func(as, key string) error {
			k := slices.Index(have, key)
			if k < 0 {
				hint := ""
				if n := config.Nearest(key, have); n != "" {
					hint = fmt.Sprintf("did you mean %q?", n)
				}
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
				if !slices.Contains(b.conditions, v.Name) {
					at := slices.IndexFunc(b.conditions, foundByDSP) // stays the last
					if at < 0 {
						at = len(b.conditions)
					}
					b.conditions = slices.Insert(b.conditions, at, v.Name)
				}
			}
		}
	}
	return out, nil
}

// maxInside bounds a table inside a file.
const maxInside = 1 << 20

// inside makes a table of conditions of arrays of the file: a row for each
// interval where row0 and row1 are among them, else one for each channel used.
func inside(ctx context.Context, rd ingest.Reader, info ingest.Info, src *source) (*ingest.Conditions, ingest.Grouping, error) {
	group := src.grouping
	t := &ingest.Conditions{Path: info.Path, Units: map[string]string{}}
	bad := func(place, want, found string) (*ingest.Conditions, ingest.Grouping, error) {
		return nil, group, &ingest.DataError{Path: info.Path, Place: place, Want: want, Found: found}
	}
	columns := map[string][]float64{}
	n, of := -1, ""
	for _, e := range src.in.Inside {
		var v []float64
		k, err := ingest.FindChannel(info, e.Value)
		if err == nil {
			ch := info.Channels[k]
			if ch.Samples > maxInside {
				return bad("array "+e.Value, "a table of conditions", fmt.Sprintf("%d values", ch.Samples))
			}
			one, err := readColumns(ctx, rd, []int{k}, 0, ch.Samples)
			if err != nil {
				return nil, group, err
			}
			v = one[0]
			group.Except = append(slices.Clone(group.Except), ch.Name)
		} else {
			one, again := ingest.AttributeNumber(info, e.Value) // a table of one row
			if again != nil {
				return nil, group, fmt.Errorf("condition %s: %w", e.Name, err)
			}
			v = []float64{one}
		}
		for i, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return bad(fmt.Sprintf("array %s, value %d", e.Value, i+1), "a finite number", fmt.Sprint(x))
			}
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
		runs, _, err := ingest.Assemble([]string{info.Path}, func(string) (ingest.Info, error) { return info, nil }, nil, nil, nil, group)
		if err != nil {
			return nil, group, err
		}
		for _, r := range runs[0].Recordings {
			channels = append(channels, r.Channels[0])
		}
		if n != len(channels) {
			return bad("array "+of, fmt.Sprintf("a value for each of the %d recordings", len(channels)), fmt.Sprintf("%d values", n))
		}
	}
	whole := func(name string, i int, v float64) (int64, error) {
		if v != math.Trunc(v) || v < 0 || v > 1<<53 {
			return 0, &ingest.DataError{Path: info.Path, Place: fmt.Sprintf("%s, value %d", name, i+1), Want: "a sample number from 0", Found: fmt.Sprint(v)}
		}
		return int64(v), nil
	}
	for i := range n {
		r := ingest.ConditionRow{Line: i + 1, File: info.Path, Row1: -1}
		var err error
		if timed {
			if r.Row0, err = whole("row0", i, row0[i]); err != nil {
				return nil, group, err
			}
		}
		if ends {
			if r.Row1, err = whole("row1", i, row1[i]); err != nil {
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
	return t, group, nil
}

// ownTare is the recording without wind that the table of conditions names for
// a file; the rows of one file name one.
func ownTare(column string, conds *ingest.Conditions, name string) (string, error) {
	if conds == nil {
		return "", &ingest.DataError{Path: name, Want: "a table of conditions with the column " + column, Found: "none"}
	}
	k := slices.Index(conds.Labels, column)
	if k < 0 {
		return "", &ingest.DataError{Path: conds.Path, Want: "a column " + column + " with the names of recordings without wind", Found: "columns of text: " + strings.Join(conds.Labels, ", ")}
	}
	own := ""
	for i, r := range conds.Rows {
		switch v := strings.TrimSpace(r.Labels[k]); {
		case v == "":
			return "", &ingest.DataError{Path: conds.Path, Place: fmt.Sprintf("line %d, column %s", r.Line, column), Want: "the recording without wind of " + name, Found: "an empty cell"}
		case i > 0 && v != own:
			return "", &ingest.DataError{Path: conds.Path, Place: fmt.Sprintf("line %d, column %s", r.Line, column), Want: fmt.Sprintf("%q, as for the other intervals of %s", own, name), Found: strconv.Quote(v)}
		default:
			own = v
		}
	}
	return own, nil
}

// tareNames lists the recordings without wind that a table names: they are none
// of the campaign.
func tareNames(column string, conds *ingest.Conditions) map[string]bool {
	out := map[string]bool{}
	if k := slices.Index(conds.Labels, column); k >= 0 {
		for _, r := range conds.Rows {
			out[path.Clean(filepath.ToSlash(strings.TrimSpace(r.Labels[k])))] = true
		}
	}
	return out
}
