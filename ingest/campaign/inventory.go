package campaign

import (
	"path/filepath"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// Inventory is what is known of a campaign before its recordings are opened. The caller fills the first group of
// fields. FindFiles then finds the files and reads the tables, Columns names the conditions that they state, and Settle
// gives each file its conditions. The errors of all three are *setting.Error about settings of the campaign, and
// *fault.Error about files.
type Inventory struct {
	Settings setting.Campaign // FindFiles completes them: kind of data, channels, recordings of the calibrator
	Project  setting.Project
	Roles    condition.Roles
	Inputs   []string                    // columns that are numbers, even if their names are those of things
	Mentions func(condition string) bool // reports whether a setting needs a condition; nil: none does

	Files          []File                           // recordings, without those that serve others
	Backgrounds    []string                         // recordings of the background
	Table          *Conditions                      // the table of conditions; nil without one
	Pattern        *Pattern                         // the pattern of file names; nil without one
	Converted      map[string]string                // by condition: words for the conversion of its unit
	Chains         map[string][]setting.NamedNumber // of the table of microphones: gain_db and sensitivity_v_per_pa
	ChannelsListed bool                             // the channels used are the ones in the table of microphones
	Warnings       []ingest.Warning

	tares   *tareFinder           // finds recordings without wind; nil for simulated recordings
	sidecar []setting.NamedString // conditions, and the names of their values in sidecars
}

// File is a recording with everything that is known about it before it is opened.
type File struct {
	Name string // path with slashes, relative to the folder of the project
	Facts
	Nominal map[string]float64 // conditions that its name states, converted as the conditions of its runs

	// Tares are the recordings without wind that are subtracted: none, one, or one before the runs and one after them.
	Tares []string
	// Share is the place of the runs between the two tares: near 0 after the first tare, near 1 before the second. It
	// is 0 if no drift is taken out.
	Share float64
}

// NewInventory returns an inventory without files. Roles are those that the settings state.
func NewInventory(settings setting.Campaign, project setting.Project) *Inventory {
	return &Inventory{Settings: settings, Project: project, Converted: map[string]string{}, Roles: settings.Roles()}
}

// FindFiles finds the recordings that the settings name, except recordings of the background and of a calibrator, and
// recordings without wind. It reads the tables of conditions and of microphones and the pattern of file names.
func (v *Inventory) FindFiles() error {
	v.tares = &tareFinder{campaign: &v.Settings, project: v.Project, spellings: v.Roles.Spellings}
	if v.Settings.Sidecar != nil {
		v.sidecar = v.Settings.Sidecar.Values
	}

	all, listed, err := v.listFiles()
	if err != nil {
		return err
	}

	files, err := v.withoutBackground(listed)
	if err != nil {
		return err
	}

	files, err = takeCalibrator(&v.Settings, v.Project, files)
	if err != nil {
		return err
	}

	files, err = v.tares.takePatterns(files)
	if err != nil {
		return err
	}

	if err := v.readTable(all); err != nil {
		return err
	}

	files, named, err := v.tares.takeNamed(v.Table, all, files)
	if err != nil {
		return err
	}

	v.Warnings = slices.DeleteFunc(v.Warnings, func(warning ingest.Warning) bool {
		isUsed := named[warning.Path] || v.servesOthers(warning.Path)
		return warning.Code == misnamedFile && isUsed
	})
	v.warnExcluded(all, listed, named)

	v.callSimulated(files)
	for _, name := range files {
		v.Files = append(v.Files, File{Name: filepath.ToSlash(name)})
	}

	if err := v.readPattern(); err != nil {
		return err
	}

	if err := v.settleTable(all, files); err != nil {
		return err
	}

	return v.joinMicrophones()
}

// servesOthers reports whether a file is a recording of the background, of the calibrator, or without wind.
func (v *Inventory) servesOthers(file string) bool {
	if slices.Contains(v.Backgrounds, file) || v.tares.isTare(file) {
		return true
	}

	if v.Settings.Calibration == nil || v.Settings.Calibration.Calibrator == nil {
		return false
	}

	isOwn := func(recording string) bool { return filepath.Clean(recording) == filepath.Clean(file) }

	return slices.ContainsFunc(v.Settings.Calibration.Calibrator.Files(), isOwn)
}

// listFiles lists all files that the settings name, and those among them that are not excluded. Tables that the
// settings name are in neither list. It returns an error if no file is left.
func (v *Inventory) listFiles() (all, files []string, err error) {
	key := "files"
	globs := v.Settings.Files
	if v.Settings.Table != nil {
		key = "table.file"
		globs = v.Settings.Table.File
	}

	all, files, warnings, err := Find(globs, v.Settings.Exclude.Files(), v.Project.Dir)
	if err != nil {
		return nil, nil, err
	}

	tables := v.tables()
	isTable := func(file string) bool { return slices.Contains(tables, filepath.Clean(file)) }
	all = slices.DeleteFunc(all, isTable)
	files = slices.DeleteFunc(files, isTable)
	if len(files) == 0 {
		return nil, nil, setting.Errorf(key, "expected files other than the tables that further settings name, found none")
	}

	v.Warnings = slices.DeleteFunc(warnings, func(warning ingest.Warning) bool { return isTable(warning.Path) })

	return all, files, nil
}

// readPattern stores the pattern of file names that the settings give.
func (v *Inventory) readPattern() error {
	if v.Settings.Pattern == "" {
		return nil
	}

	pattern, err := ParsePattern(v.Settings.Pattern)
	if err != nil {
		return setting.Errorf("pattern", "%v", err)
	}

	// With a table of conditions or the setting run, a number called run names a run of the campaign.
	if v.Settings.Run == "" && v.Settings.Conditions == "" {
		pattern.CountRepeats(condition.RunColumn("")) // which decides whether the number counts repeats
	}

	v.Pattern = pattern

	return nil
}

// Settle gives each file its rows of the table of conditions, the conditions that are known of its runs, and its
// recordings without wind. It drops what the settings exclude. source says how the files become runs.
func (v *Inventory) Settle(source *Source) error {
	occasions := v.Table.NameOccasions(condition.RunColumn(v.Settings.Run), v.Roles.Occasions, source.Labels)
	v.Warnings = append(v.Warnings, occasions...)
	if err := v.matchRows(); err != nil {
		return err
	}

	// Contradictions, and conditions that cannot be derived, are reported when the file is read.
	for i := range v.Files {
		file := &v.Files[i]
		file.Known, _ = source.Known(file.Name, &file.Facts)
		file.Nominal = source.nominal(file.Named)
	}

	if err := v.excludeRows(); err != nil {
		return err
	}

	if err := v.excludeChannels(source.Grouping.Together); err != nil {
		return err
	}

	if err := v.Table.CheckLabels(source.Labels); err != nil {
		return err
	}

	return v.findTares()
}

// Names returns the names of the files.
func (v *Inventory) Names() []string {
	var names []string
	for _, file := range v.Files {
		names = append(names, file.Name)
	}

	return names
}
