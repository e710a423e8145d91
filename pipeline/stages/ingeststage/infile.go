package ingeststage

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// maxConditionTable bounds a table of conditions in a file.
const maxConditionTable = 1 << 20

// conditionTable makes a table of conditions from arrays of the file, with a row for each channel used. The grouping
// that it returns does not make recordings of these arrays.
func (r *reader) conditionTable(ctx context.Context) (*campaign.Conditions, campaign.Grouping, error) {
	path := r.info.Path
	group := r.src.Grouping
	t := &campaign.Conditions{Path: path}
	var columns [][]float64
	for _, entry := range r.src.Ingest.InFile {
		values, unit, err := r.conditionValues(ctx, entry, &group)
		if err != nil {
			return nil, group, err
		}

		if _, err := campaign.Convert(path, entry.Name, entry.Name, unit, byName(r.src.Ingest.Units), values); err != nil {
			return nil, group, err
		}

		t.Names = append(t.Names, entry.Name)
		columns = append(columns, values)
	}

	run, err := campaign.WholeFile(r.info, group)
	if err != nil {
		return nil, group, err
	}

	for i, rec := range run.Recordings {
		row := campaign.ConditionRow{Line: i + 1, File: path, End: math.Inf(1)}
		if !group.Together {
			row.Channel = strconv.Itoa(rec.Channels[0] + 1)
		}

		for k, values := range columns {
			entry := r.src.Ingest.InFile[k]
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
func (r *reader) conditionValues(ctx context.Context, entry setting.NamedString, group *campaign.Grouping) ([]float64,
	string, error,
) {
	info := r.info
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

	columns, err := recording.ReadColumns(ctx, r.rd, []int{k}, 0, ch.Samples)
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
