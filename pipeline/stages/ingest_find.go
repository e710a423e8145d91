package stages

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/dsp/balance"
	"doubletake/dsp/calibration"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// findFiles finds the raw files of an experiment: the files that the tasks of stage simulate write, or the files that
// the configuration names.
func findFiles(exp plan.Experiment, sim simulateResult) (*Recordings, error) {
	columns := pairs.Columns{Converted: map[string]string{}}
	r := &Recordings{Source: &Source{Ingest: exp.Ingest, Roles: exp.Roles(), DSP: exp.DSP, Columns: columns}}
	if sim.Campaign == nil {
		if err := r.findMeasured(exp); err != nil {
			return nil, err
		}

		return r, nil
	}

	r.Source.Ingest = sim.Ingest(exp.Ingest)
	r.Simulated = true
	for _, dep := range sim.Files {
		r.Files = append(r.Files, File{RawFile: plan.RawFile{Name: dep.Output, Dep: &dep}})
	}

	var err error
	r.Table, err = sim.Conditions()
	if err != nil {
		return nil, err
	}

	return r, nil
}

// findMeasured finds the raw files that the configuration names, except recordings of the background and recordings
// without wind. It reads the tables of conditions and of microphones and the pattern of file names.
func (r *Recordings) findMeasured(exp plan.Experiment) error {
	r.tares = &balance.Tares{Campaign: &r.Ingest, Project: exp.Project()}
	globs := r.Ingest.Files
	if r.Ingest.Table != nil {
		globs = r.Ingest.Table.File
	}

	all, files, warnings, err := campaign.Find(globs, r.Ingest.Exclude.Files(), exp.File.Dir)
	if err != nil {
		return err
	}

	// Tables that the configuration names are not recordings.
	tables := r.tables()
	isTable := func(file string) bool { return slices.Contains(tables, filepath.Clean(file)) }
	all = removeNames(all, isTable)
	files = removeNames(files, isTable)
	r.warnings = slices.DeleteFunc(warnings, func(warning ingest.Warning) bool {
		return isTable(warning.Path) || r.tares.IsTare(warning.Path)
	})
	if s := r.Ingest.Sidecar; s != nil {
		r.sidecar = s.Values
	}

	r.warnExcluded(all, files)
	files, err = r.withoutBackground(exp, files)
	if err != nil {
		return err
	}

	files, err = calibration.Find(&r.Ingest, exp.Project(), files)
	if err != nil {
		return exp.Located("ingest", err)
	}

	files, err = r.tares.TakePatterns(files)
	if err != nil {
		return exp.Located("ingest", err)
	}

	if err := r.readTable(exp, all); err != nil {
		return err
	}

	files, named, err := r.tares.TakeNamed(r.Table, all, files)
	if err != nil {
		return err
	}

	r.warnings = slices.DeleteFunc(r.warnings, func(warning ingest.Warning) bool {
		return named[filepath.ToSlash(warning.Path)]
	})

	r.callSimulated(files, exp.File.Has(exp.Key+".ingest.data"))
	r.Files = nil
	for _, name := range files {
		r.Files = append(r.Files, File{RawFile: exp.OnDisk(name)})
	}

	if p := r.Ingest.Pattern; p != "" {
		r.Pattern, err = campaign.ParsePattern(p)
		if err != nil {
			return exp.Errorf("ingest.pattern", "%v", err)
		}

		if exp.Ingest.Run == "" && r.Ingest.Conditions == "" {
			r.Pattern.CountRepeats(condition.RunColumn(""))
		}
	}

	if err := r.settleTable(exp, all, files); err != nil {
		return err
	}

	return r.joinMicrophones(exp)
}

// tables lists the paths of the tables that the configuration names. A table that it does not name is ".".
func (r *Recordings) tables() []string {
	tables := []string{filepath.Clean(r.Ingest.Conditions)}
	if r.Ingest.Microphones != nil {
		tables = append(tables, filepath.Clean(r.Ingest.Microphones.File))
	}

	if r.Ingest.Balance != nil {
		tables = append(tables, filepath.Clean(r.Ingest.Balance.MatrixFile))
	}

	return tables
}

// readTable reads the table of conditions, whose rows mean the given recordings.
func (r *Recordings) readTable(exp plan.Experiment, recordings []string) error {
	if r.Ingest.Conditions == "" {
		return nil
	}

	log := r.Ingest.Log
	table, err := campaign.ReadLog(exp.File.Resolve(r.Ingest.Conditions), campaign.LogOptions{
		Files: recordings, Columns: setting.ByName(log.Columns), Ignore: log.Ignore,
		Missing: slices.Concat(r.Ingest.Missing, log.Missing),
		Names:   append(exp.Roles().Names(), r.tares.Columns()...), Decimal: campaign.DecimalSigns[log.Decimal],
		Units: setting.ByName(r.Ingest.Units), IsName: namesThings(exp), Spellings: r.Roles.Spellings,
	})
	if err != nil {
		return err
	}

	r.Table = table
	r.Converted = table.Converted

	return nil
}

// joinMicrophones reads the table of microphones, which has a row for each channel, and joins it to the table of
// conditions, which has a row for each run. It uses the listed channels if the configuration names none.
func (r *Recordings) joinMicrophones(exp plan.Experiment) error {
	r.Chains = map[string][]setting.NamedNumber{}
	if c := r.Ingest.Calibration; c != nil {
		r.Chains["gain_db"] = c.ChannelGainDB
	}

	if r.Ingest.Microphones == nil {
		return nil
	}

	microphones, err := campaign.ReadMicrophones(&r.Ingest, exp.Project(), exp.Roles(), exp.Mentions)
	if err != nil {
		return err
	}

	for name, values := range microphones.Chains {
		r.Chains[name] = append(r.Chains[name], values...)
	}

	if len(r.Ingest.Channels) == 0 {
		r.Ingest.Channels = microphones.Channels
		r.channelsListed = true
	}

	r.warnings = append(r.warnings, microphones.Warnings...)
	r.Table = r.Table.WithChannels(microphones.Table)

	return nil
}

// settleTable drops the rows of the table of conditions that belong to no file, and treats its empty cells
// (campaign.Conditions.FillGaps). all are the recordings found, files the recordings that are used.
func (r *Recordings) settleTable(exp plan.Experiment, all, files []string) error {
	if r.Table == nil {
		return nil
	}

	rows, unused := r.Table.Without(all, files)
	given, _ := r.conditionNames(nil)
	gaps, err := rows.FillGaps(exp.Mentions, given)
	if err != nil {
		return err
	}

	r.warnings = append(r.warnings, slices.Concat(rows.Warnings, unused, gaps)...)
	r.Table = rows

	return nil
}

// withoutBackground stores the recordings of the background and returns the other files. It returns an error if no
// other file is left.
func (r *Recordings) withoutBackground(exp plan.Experiment, files []string) ([]string, error) {
	if r.Ingest.Background == nil {
		return files, nil
	}

	_, names, _, err := campaign.Find(r.Ingest.Background.Files, r.Ingest.Exclude.Files(), exp.File.Dir)
	if err != nil {
		return nil, err
	}

	r.Backgrounds = nil
	for _, name := range names {
		r.Backgrounds = append(r.Backgrounds, exp.OnDisk(name))
	}

	rest := removeNames(files, func(p string) bool { return slices.Contains(names, p) })
	if len(rest) == 0 {
		return nil, exp.Errorf("ingest.background.files", "every recording is one of the background")
	}

	return rest, nil
}

// matchRows stores in each file its rows of the table of conditions and the conditions that its name states. It returns
// an error if the pattern does not match the name.
func (r *Recordings) matchRows() error {
	if r.Table != nil {
		tables, err := r.Table.ForFiles(r.names())
		if err != nil {
			return err
		}

		for i, rows := range tables {
			r.Files[i].Rows = rows
		}
	}

	if r.Pattern == nil {
		return nil
	}

	for i := range r.Files {
		named, err := r.Pattern.Match(r.Files[i].Name)
		if err != nil {
			return err
		}

		r.Roles.Spellings.Rename(named)
		r.Files[i].Named = named
	}

	r.warnRuns()

	return nil
}

// namesThings returns a function that reports whether a column is called as things are and is not an input.
func namesThings(exp plan.Experiment) func(column string) bool {
	inputs := exp.NumberInputs()
	return func(column string) bool { return condition.IsThing(column) && !slices.Contains(inputs, column) }
}

// warnRuns warns if the names of files give one run several values of a condition, unless ingest.run says that runs go
// across conditions.
func (r *Recordings) warnRuns() {
	if r.Ingest.Run != "" {
		return
	}

	values := map[string]map[float64]bool{} // by run and condition
	for _, file := range r.Files {
		run := ""
		for _, cond := range file.Named {
			if cond.Column == condition.RunColumn("") {
				run = cmp.Or(cond.Name, strconv.FormatFloat(cond.Value, 'g', -1, 64))
			}
		}

		for _, cond := range file.Named {
			if run == "" || cond.IsName || cond.Column == condition.RunColumn("") {
				continue
			}

			key := "run " + run + " has %d values of " + cond.Column
			if values[key] == nil {
				values[key] = map[float64]bool{}
			}

			values[key][cond.Value] = true
		}
	}

	for _, key := range slices.Sorted(maps.Keys(values)) {
		if n := len(values[key]); n > 1 {
			r.warnings = append(r.warnings, ingest.Warn(r.Ingest.Pattern, "runs-across", key+": it is one run, whose "+
				"recordings are kept together; ingest: {run: run} confirms it, another name in the pattern undoes it", n))

			return
		}
	}
}
