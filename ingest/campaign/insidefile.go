package campaign

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// maxConditionTable bounds a table of conditions in a file.
const maxConditionTable = 1 << 20

// TableInside makes a table of conditions from arrays of an open file, with a row for each channel used. The grouping
// that it returns does not make recordings of these arrays. arrays contains the array or the attribute of each
// condition, and units the units that replace those of the arrays. TableInside returns a *fault.Error about arrays that
// do not fit.
func TableInside(ctx context.Context, rd ingest.Reader, arrays []setting.NamedString, units map[string]string,
	group Grouping,
) (*Conditions, Grouping, error) {
	info := rd.Info()
	path := info.Path
	t := &Conditions{Path: path}
	var columns [][]float64
	for _, entry := range arrays {
		values, unit, err := conditionValues(ctx, rd, entry, &group)
		if err != nil {
			return nil, group, err
		}

		if _, err := Convert(path, entry.Name, entry.Name, unit, units, values); err != nil {
			return nil, group, err
		}

		t.Names = append(t.Names, entry.Name)
		columns = append(columns, values)
	}

	run, err := WholeFile(info, group)
	if err != nil {
		return nil, group, err
	}

	for i, rec := range run.Recordings {
		row := ConditionRow{Line: i + 1, File: path, End: math.Inf(1)}
		if !group.Together {
			row.Channel = strconv.Itoa(rec.Channels[0] + 1)
		}

		for k, values := range columns {
			entry := arrays[k]
			if len(values) != len(run.Recordings) {
				return nil, group, fault.At(path, "array "+entry.Value,
					fmt.Sprintf("a value for each of the %d recordings", len(run.Recordings)),
					fmt.Sprintf("%d values", len(values)), "")
			}

			row.States = append(row.States, condition.Condition{
				Column: entry.Name, Value: values[i], Origin: fmt.Sprintf("%s, line %d", path, row.Line),
			})
		}

		t.Rows = append(t.Rows, row)
	}

	return t, group, nil
}

// conditionValues reads the values of a condition from an array of the file, or one value from an attribute. It returns
// them with the array's unit, which is "" for an attribute. It adds the array to the channels that group leaves out.
func conditionValues(ctx context.Context, rd ingest.Reader, entry setting.NamedString, group *Grouping) ([]float64,
	string, error,
) {
	info := rd.Info()
	k, err := ingest.FindChannel(info, entry.Value)
	if err != nil && !condition.HasAttribute(info, entry.Value) {
		return nil, "", fmt.Errorf("condition %s: %w", entry.Name, err)
	}

	if err != nil { // a table of one row
		single, err := condition.Roles{}.Attribute(info, entry.Value, entry.Name, "")
		if err != nil {
			return nil, "", fmt.Errorf("condition %s: %w", entry.Name, err)
		}

		return []float64{single.Value}, "", nil
	}

	ch := info.Channels[k]
	if ch.Samples > maxConditionTable {
		return nil, "", fault.At(info.Path, "array "+entry.Value, "a table of conditions",
			fmt.Sprintf("%d values", ch.Samples), "")
	}

	columns, err := recording.ReadColumns(ctx, rd, []int{k}, 0, ch.Samples)
	if err != nil {
		return nil, "", err
	}

	group.Except = append(slices.Clone(group.Except), ch.Name)
	for i, v := range columns[0] {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, "", fault.At(info.Path, fmt.Sprintf("array %s, value %d", entry.Value, i+1), "a finite number",
				fmt.Sprint(v), "")
		}
	}

	return columns[0], ch.Unit, nil
}
