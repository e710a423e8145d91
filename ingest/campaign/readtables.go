package campaign

import (
	"path/filepath"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// This file reads the tables that describe recordings: the table of conditions and the table of microphones.

// tables lists the paths of the tables that the settings name. A table that they do not name is ".".
func (v *Inventory) tables() []string {
	tables := []string{filepath.Clean(v.Settings.Conditions)}
	if v.Settings.Microphones != nil {
		tables = append(tables, filepath.Clean(v.Settings.Microphones.File))
	}

	if v.Settings.Balance != nil {
		tables = append(tables, filepath.Clean(v.Settings.Balance.MatrixFile))
	}

	return tables
}

// readTable reads the table of conditions, whose rows mean the given recordings.
func (v *Inventory) readTable(recordings []string) error {
	if v.Settings.Conditions == "" {
		return nil
	}

	log := v.Settings.Log
	table, err := ReadLog(v.Project.Resolve(v.Settings.Conditions), LogOptions{
		Files: recordings, Columns: setting.ByName(log.Columns), Ignore: log.Ignore,
		Missing: slices.Concat(v.Settings.Missing, log.Missing),
		Names:   append(v.Roles.Names(), v.tares.columns()...), Decimal: DecimalSigns[log.Decimal],
		Units: setting.ByName(v.Settings.Units), IsName: v.namesThing, Spellings: v.Roles.Spellings,
	})
	if err != nil {
		return err
	}

	v.Table = table
	v.Converted = table.Converted

	return nil
}

// namesThing reports whether a column is called as things are and is not an input.
func (v *Inventory) namesThing(column string) bool {
	return condition.IsThing(column) && !slices.Contains(v.Inputs, column)
}

// mentions reports whether a setting needs a condition.
func (v *Inventory) mentions(condition string) bool {
	return v.Mentions != nil && v.Mentions(condition)
}

// settleTable drops the rows of the table of conditions that belong to no file, and treats its empty cells
// (Conditions.FillGaps). all are the recordings found, files the recordings that are used.
func (v *Inventory) settleTable(all, files []string) error {
	if v.Table == nil {
		return nil
	}

	rows, unused := v.Table.Without(all, files)
	given, _ := v.ColumnsBeside(nil)
	gaps, err := rows.FillGaps(v.mentions, given)
	if err != nil {
		return err
	}

	v.Warnings = append(v.Warnings, slices.Concat(rows.Warnings, unused, gaps)...)
	v.Table = rows

	return nil
}

// joinMicrophones reads the table of microphones, which has a row for each channel, and joins it to the table of
// conditions, which has a row for each run. It uses the listed channels if the settings name none.
func (v *Inventory) joinMicrophones() error {
	if v.Settings.Microphones == nil {
		return nil
	}

	microphones, err := ReadMicrophones(&v.Settings, v.Project, v.Roles, v.mentions)
	if err != nil {
		return err
	}

	v.Chains = microphones.Chains
	if len(v.Settings.Channels) == 0 {
		v.Settings.Channels = microphones.Channels
		v.ChannelsListed = true
	}

	v.Warnings = append(v.Warnings, microphones.Warnings...)
	v.Table = v.Table.WithChannels(microphones.Table)

	return nil
}
