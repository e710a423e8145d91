package campaign

import (
	"context"
	"path/filepath"
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
// statistics. Conditions come from the names of the files, from the table of conditions, from attributes and from
// constants. The samples keep the units of the files: package calibration of dsp computes their scales. Read returns a
// *fault.Error about the first file that cannot be read or contradicts its conditions.
func Read(ctx context.Context, settings *setting.Campaign, project setting.Project) (*Campaign, error) {
	all, files, warnings, err := Find(settings.Files, settings.Exclude.Files(), project.Dir)
	if err != nil {
		return nil, err
	}

	roles := condition.Roles{
		Run: settings.Run, Things: settings.Things, Occasions: settings.Occasions,
		Spellings: setting.ByName(settings.Spellings),
	}
	source := &Source{
		Settings: settings, Roles: roles, Grouping: Grouping{Channels: settings.Channels, Roles: roles},
		Labels: slices.Concat(settings.Things, settings.Occasions),
	}

	facts, more, err := source.factsOf(project, all, files)
	if err != nil {
		return nil, err
	}

	c := &Campaign{Warnings: slices.Concat(warnings, more)}
	for i, name := range files {
		file, err := source.readFile(ctx, project, filepath.ToSlash(name), &facts[i])
		if err != nil {
			return nil, err
		}

		c.Files = append(c.Files, file)
	}

	c.Warnings = append(c.Warnings, c.Check()...)

	return c, nil
}

// factsOf returns what names and the table of conditions state of the files. all are the files that were found, which
// the rows of the table may mean.
func (s *Source) factsOf(project setting.Project, all, files []string) ([]Facts, []ingest.Warning, error) {
	facts := make([]Facts, len(files))
	if s.Settings.Pattern != "" {
		pattern, err := ParsePattern(s.Settings.Pattern)
		if err != nil {
			return nil, nil, setting.Errorf("pattern", "%v", err)
		}

		for i, file := range files {
			facts[i].Named, err = pattern.Match(file)
			if err != nil {
				return nil, nil, err
			}

			s.Roles.Spellings.Rename(facts[i].Named)
		}
	}

	if s.Settings.Conditions == "" {
		return facts, nil, nil
	}

	log := s.Settings.Log
	table, err := ReadLog(project.Resolve(s.Settings.Conditions), LogOptions{
		Files: all, Columns: setting.ByName(log.Columns), Ignore: log.Ignore,
		Missing: slices.Concat(s.Settings.Missing, log.Missing), Names: s.Roles.Names(),
		Decimal: DecimalSigns[log.Decimal], Units: setting.ByName(s.Settings.Units), Spellings: s.Roles.Spellings,
	})
	if err != nil {
		return nil, nil, err
	}

	table, unused := table.Without(all, files)
	rows, err := table.ForFiles(files)
	if err != nil {
		return nil, nil, err
	}

	for i := range facts {
		facts[i].Rows = rows[i]
	}

	return facts, slices.Concat(table.Warnings, unused), nil
}

// readFile reads the file with a name and computes the statistics of its runs.
func (s *Source) readFile(ctx context.Context, project setting.Project, name string, f *Facts,
) (*recording.File, error) {
	rd, err := format.Open(project.Resolve(name), s.Settings.Options().In(ctx, name))
	if err != nil {
		return nil, fault.Named(err, name)
	}
	defer rd.Close()

	runs, warnings, err := s.Runs(ctx, rd, name, f)
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
