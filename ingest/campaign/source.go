package campaign

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// RunLabel is the label of a recording that contains the name of its run, if a source of conditions states the name.
const RunLabel = "run"

// Facts are what is known about a file of a campaign before it is opened.
type Facts struct {
	Rows            *Conditions           // its rows of the table of conditions; nil without such a table
	Named           []condition.Condition // stated by its name
	Sidecar         []condition.Condition // stated by the file next to it
	Known           condition.Rows        // conditions of its runs
	WithoutChannels setting.Exclusions    // exclusions of single channels that concern the file
}

// Source says how the files of a campaign become runs with conditions.
type Source struct {
	Settings *setting.Campaign
	Roles    condition.Roles        // which conditions are names, and of what
	Grouping Grouping               // how the channels of a file become recordings
	Labels   []string               // columns of names by which recordings are grouped; others are dropped
	Convert  map[string]units.Named // conversions of conditions that come from no table
	Derive   *derive.Set            // derived conditions; nil if there are none
}

// Stated lists the conditions that the settings, the file next to it, its attributes and its name state of a file. info
// is nil before the file is opened; its attributes are left out then.
func (s *Source) Stated(f *Facts, info *ingest.Info) ([]condition.Condition, error) {
	var list []condition.Condition
	for _, constant := range s.Settings.Constants {
		list = append(list, condition.Condition{Column: constant.Name, Value: constant.Value, Origin: condition.Configured})
	}

	list = append(list, f.Sidecar...)
	for _, attribute := range s.Settings.Attributes {
		if info == nil || strings.HasPrefix(attribute.Value, "@") {
			continue
		}

		cond, err := s.Roles.Attribute(*info, attribute.Value, attribute.Name, "the attribute "+attribute.Value)
		if err != nil {
			return nil, fmt.Errorf("condition %s: %w", attribute.Name, err)
		}

		if err := s.checkUnit(info.Path, cond); err != nil {
			return nil, err
		}

		list = append(list, cond)
	}

	return append(list, f.Named...), nil
}

// checkUnit returns an error if an attribute states the unit of a condition that is converted from a unit of the
// settings: the number would be converted twice.
func (s *Source) checkUnit(path string, cond condition.Condition) error {
	conversion, isConverted := s.Convert[cond.Column]
	if !isConverted || cond.Unit == "" {
		return nil
	}

	return fault.At(path, "condition "+cond.Column, "a number without a unit, because ingest: units states "+
		conversion.Original, fmt.Sprintf("the unit %s in %s", cond.Unit, cond.Origin), "take it out of units")
}

// checkOwnUnits does the same as checkUnit for the attributes of the channels of a file.
func (s *Source) checkOwnUnits(info ingest.Info) error {
	for _, channel := range info.Channels {
		own := ingest.Info{Path: info.Path, Attributes: channel.Attributes}
		for _, o := range s.Grouping.Own {
			cond, err := s.Roles.Attribute(own, o.Attribute, o.Condition, "channel "+channel.Name)
			if err != nil {
				continue // Assemble reports it if the channel is used
			}

			if err := s.checkUnit(info.Path, cond); err != nil {
				return err
			}
		}
	}

	return nil
}

// Known lists the conditions and names of a file's runs that its name, the tables and the settings state before the
// file is opened. name is the file's name for messages. It returns them also if they contradict each other, with the
// first error.
func (s *Source) Known(name string, f *Facts) (condition.Rows, error) {
	stated, first := s.Stated(f, nil)
	rows := []ConditionRow{{}}
	if f.Rows != nil {
		rows = f.Rows.Rows
	}

	var known condition.Rows
	tolerances := setting.Tolerances(s.Settings.Tolerances)
	for _, row := range rows {
		values, err := condition.Merge(name, tolerances, slices.Concat(stated, row.Given())...)
		first = cmp.Or(first, err, s.convert(values.Numbers, values.Names))
		known = append(known, values)
	}

	return known, first
}

// nominal returns the numbers among the conditions that a file's name states, converted, and the conditions that are
// derived from them alone.
func (s *Source) nominal(named []condition.Condition) map[string]float64 {
	numbers := map[string]float64{}
	names := map[string]string{}
	for _, cond := range named {
		if cond.IsName {
			names[cond.Column] = cond.Name
		} else {
			numbers[cond.Column] = cond.Value
		}
	}

	_ = s.convert(numbers, names) // conditions that cannot be derived are reported when the file is read

	return numbers
}

// nameRun moves the name of a recording's run, if a source of conditions states it, to the label RunLabel. It
// deletes labels that the tables do not have.
func (s *Source) nameRun(rec *ingest.Recording) {
	key := condition.RunColumn(s.Settings.Run)
	name := rec.Labels[key]
	if v, ok := rec.Conditions[key]; ok && name == "" {
		name = strconv.FormatFloat(v, 'g', -1, 64)
	}

	delete(rec.Conditions, key)
	rec.Labels = s.KeptLabels(rec.Labels, name)
}

// KeptLabels deletes from labels the ones that the tables do not have, adds the name of the run unless it is "", and
// returns labels.
func (s *Source) KeptLabels(labels map[string]string, run string) map[string]string {
	maps.DeleteFunc(labels, func(name, _ string) bool { return !slices.Contains(s.Labels, name) })
	if run != "" {
		labels[RunLabel] = run
	}

	return labels
}

// convert changes the conditions that the data state into the conditions of the tables. It converts them to
// the units of their names, counts a microphone's angle from the rotor plane if the data count it from the axis, and
// adds derived conditions.
func (s *Source) convert(conditions map[string]float64, labels map[string]string) error {
	for name, conversion := range s.Convert {
		if v, ok := conditions[name]; ok {
			conditions[name] = conversion.Apply(v)
		}
	}

	if v, ok := conditions["theta_deg"]; ok && s.Settings.ThetaFrom == "axis" {
		conditions["theta_deg"] = 90 - v
	}

	return s.Derive.AddConditions(conditions, labels)
}

// convertRecording converts the conditions of a recording. name is its file's name for messages.
func (s *Source) convertRecording(name string, rec ingest.Recording) error {
	if err := s.convert(rec.Conditions, rec.Labels); err != nil {
		return fault.At(name, strings.TrimPrefix(rec.ID, name), "a finite number", err.Error(), "")
	}

	return nil
}

// Runs assembles the runs of an open file with their conditions, without the channels that are left out of it. name is
// the file's name for messages. Runs returns a *fault.Error about conditions that contradict each other or the file.
func (s *Source) Runs(ctx context.Context, rd ingest.Reader, name string, f *Facts) ([]ingest.Run, []ingest.Warning,
	error,
) {
	info := rd.Info()
	stated, err := s.Stated(f, &info)
	if err != nil {
		return nil, nil, err
	}

	if err := s.checkOwnUnits(info); err != nil {
		return nil, nil, fault.Named(err, name)
	}

	conds := f.Rows
	group := s.Grouping
	if len(s.Settings.InFile) > 0 {
		conds, group, err = TableInside(ctx, rd, s.Settings.InFile, setting.ByName(s.Settings.Units), group)
		if err != nil {
			return nil, nil, fault.Named(err, name)
		}
	}

	runs, warnings, err := Assemble(info, conds, stated, group)
	if err != nil {
		return nil, nil, fault.Named(err, name)
	}

	runs, unused, err := s.withoutExcluded(name, f, info, runs)
	if err != nil {
		return nil, nil, fault.Named(err, name)
	}

	warnings = append(warnings, unused...)
	for _, run := range runs {
		for i := range run.Recordings {
			s.nameRun(&run.Recordings[i])
			if err := s.convertRecording(name, run.Recordings[i]); err != nil {
				return nil, nil, err
			}
		}
	}

	if s.Grouping.Together {
		return runs, warnings, nil
	}

	for _, rec := range runs[0].Recordings {
		if err := ingest.RequireTimeSeries(rd, rec.Channels); err != nil {
			return nil, nil, fault.Named(err, name)
		}
	}

	return runs, warnings, nil
}
