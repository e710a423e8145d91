package campaign

import (
	"slices"
	"strconv"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// OwnSettings lists what the reading of a file reads that belongs to no other file: its rows of the table of
// conditions, the conditions next to it, tolerances of set points in its name, its labels, and the channels that are
// left out. labels are the columns of names by which recordings are grouped.
func (v *Inventory) OwnSettings(f *File, labels []string) []setting.NamedString {
	var own []setting.NamedString
	add := func(name, value string) { own = append(own, setting.NamedString{Name: name, Value: value}) }
	if f.Rows != nil {
		for i, row := range f.Rows.Describe() {
			add("conditions row "+strconv.Itoa(i+1), row)
			if run, ok := f.Rows.Rows[i].Name(condition.RunColumn(v.Settings.Run)); ok {
				add("run "+strconv.Itoa(i+1), run)
			}
		}
	}

	for _, stated := range f.Sidecar {
		value := stated.Name
		if !stated.IsName {
			value = strconv.FormatFloat(stated.Value, 'g', -1, 64)
		}

		add("sidecar "+stated.Column, value)
	}

	for _, tolerance := range v.Settings.Tolerances {
		// The tolerance decides whether a set point in the file's name agrees with a measured value.
		if v.Pattern != nil && slices.Contains(v.Pattern.Names(), tolerance.Name) {
			add("within "+tolerance.Name, tolerance.Value)
		}
	}

	for i, values := range f.Known {
		for _, name := range labels {
			add("label "+name+" "+strconv.Itoa(i+1), values.Names[name])
		}
	}

	for i, exclusion := range f.WithoutChannels {
		exclusion.Reason = "" // it does not change the result
		add("without channel "+strconv.Itoa(i+1), exclusion.String())
	}

	return own
}

// OwnSettings lists the conditions and labels that belong to one file of the table each.
func (t *ResultTable) OwnSettings() []setting.NamedString {
	var own []setting.NamedString
	for _, name := range t.Conditions {
		for _, file := range t.Files {
			value := strconv.FormatFloat(file.Numbers[name], 'g', -1, 64)
			own = append(own, setting.NamedString{Name: file.Name + ": " + name, Value: value})
		}
	}

	for _, name := range t.Labels {
		for _, file := range t.Files {
			own = append(own, setting.NamedString{Name: file.Name + ": " + name, Value: file.Names[name]})
		}
	}

	return own
}
