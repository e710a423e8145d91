package campaign

import (
	"context"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
	"doubletake/ingest/stats"
)

// Campaign is what was read of the recordings of a campaign.
type Campaign struct {
	Files    []*recording.File // in the order of their names, with their runs, conditions and statistics
	Warnings []ingest.Warning  // about files that were not read, and about the files together; a file has its own
}

// Conditions lists the conditions and names of all recordings, in the order of the files.
func (c *Campaign) Conditions() condition.Rows {
	var rows condition.Rows
	for _, file := range c.Files {
		for _, run := range file.Runs {
			for _, rec := range run.Run.Recordings {
				rows = append(rows, condition.Values{Numbers: rec.Conditions, Names: rec.Labels})
			}
		}
	}

	return rows
}

// Check returns the warnings about the files together: rates that differ, files that are shorter than their siblings,
// and columns without names that may differ. The statistics of the files are not needed.
func (c *Campaign) Check() []ingest.Warning {
	return slices.Concat(recording.WarnRates(c.Files), WarnShortFiles(c.Files), recording.WarnNumberedColumns(c.Files))
}

// Read finds the recordings of microphones that settings name, and reads them: their channels, runs, conditions and
// statistics. Conditions come from the names of the files, from the tables of conditions and of microphones, from
// attributes, from files next to the recordings and from constants. The samples keep the units of the files: package
// calibration of dsp computes their scales. Read returns a *setting.Error about a setting that does not fit the
// campaign, and a *fault.Error about the first file that cannot be read or contradicts its conditions.
func Read(ctx context.Context, settings *setting.Campaign, project setting.Project) (*Campaign, error) {
	inventory := NewInventory(*settings, project)
	if err := inventory.FindFiles(); err != nil {
		return nil, err
	}

	conditions, texts, err := inventory.Columns()
	if err != nil {
		return nil, err
	}

	roles := inventory.Roles
	source := &Source{
		Settings: &inventory.Settings, Roles: roles,
		Grouping: NewGrouping(&inventory.Settings, roles),
		Labels:   roles.GroupedAmong(texts),
	}

	source.Convert, err = inventory.Conversions(conditions)
	if err != nil {
		return nil, err
	}

	if err := inventory.Settle(source); err != nil {
		return nil, err
	}

	c := &Campaign{Warnings: inventory.Warnings}
	for i := range inventory.Files {
		file, err := source.readFile(ctx, project, &inventory.Files[i])
		if err != nil {
			return nil, err
		}

		c.Files = append(c.Files, file)
	}

	c.Warnings = append(c.Warnings, c.Check()...)

	return c, nil
}

// readFile reads a file and computes the statistics of its runs.
func (s *Source) readFile(ctx context.Context, project setting.Project, f *File) (*recording.File, error) {
	name := f.Name
	rd, err := format.Open(project.Resolve(name), s.Settings.Options().In(ctx, name))
	if err != nil {
		return nil, fault.Named(err, name)
	}
	defer rd.Close()

	runs, warnings, err := s.Runs(ctx, rd, name, &f.Facts)
	if err != nil {
		return nil, err
	}

	file := &recording.File{Path: name, Info: rd.Info()}
	file.Warnings = slices.Concat(file.Info.Warnings, warnings)
	file.Info.Warnings = nil
	for _, run := range runs {
		sums, found, err := stats.Scan(ctx, rd, run)
		if err != nil {
			return nil, fault.Named(err, name)
		}

		read := recording.Run{Run: run, Stats: sums}
		for _, channel := range read.Channels() {
			read.Units = append(read.Units, file.Info.Channels[channel].Unit)
			read.Scale = append(read.Scale, 1)
			read.How = append(read.How, "")
		}

		doubts, err := read.Check(file.Info, s.Settings.Flow())
		if err != nil {
			return nil, err
		}

		file.Warnings = slices.Concat(file.Warnings, found, doubts)
		file.Runs = append(file.Runs, read)
	}

	return file, nil
}
