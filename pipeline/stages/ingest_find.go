package stages

import (
	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/dsp/balance"
	"doubletake/ingest/campaign"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// newInventory returns the inventory of an experiment's campaign, without files.
func newInventory(exp plan.Experiment) *campaign.Inventory {
	inventory := campaign.NewInventory(exp.Ingest, exp.Project())
	inventory.Settings.Exclude = exp.Exclusions()
	inventory.Roles = exp.Roles()
	inventory.Inputs = exp.Variants().Inputs()
	inventory.Mentions = exp.Mentions

	return inventory
}

// findFiles finds the raw files of an experiment: the files that the tasks of stage simulate write, or the files that
// the configuration names.
func findFiles(exp plan.Experiment, sim simulateResult) (*Recordings, error) {
	inventory := newInventory(exp)
	r := &Recordings{Source: &Source{inventory: inventory, DSP: exp.DSP}}
	find := inventory.FindFiles
	if sim.Campaign != nil {
		find = func() error { return inventory.TakeSimulated(sim.Campaign) }
		r.written = map[string]engine.Dep{}
		for _, dep := range sim.Files {
			r.written[dep.Output] = dep
		}
	}

	if err := find(); err != nil {
		return nil, exp.Located("ingest", err)
	}

	r.Ingest = inventory.Settings
	r.Ingest.Exclude = exp.Ingest.Exclude
	r.Columns = pairs.Columns{Converted: inventory.Converted}
	for _, name := range inventory.Backgrounds {
		r.Backgrounds = append(r.Backgrounds, exp.OnDisk(name))
	}

	return r, nil
}

// prepare stores everything that is known about the recordings before they are opened, without excluded files and rows.
func (r *Recordings) prepare(exp plan.Experiment) error {
	if err := r.settleConstruction(exp); err != nil {
		return err
	}

	if err := r.settleSettings(exp); err != nil {
		return err
	}

	if err := r.inventory.Settle(&r.reading.Source); err != nil {
		return exp.Located("ingest", err)
	}

	for i := range r.inventory.Files {
		known := &r.inventory.Files[i]
		file := File{File: known, raw: r.rawFile(exp, known.Name)}
		for _, name := range known.Tares {
			file.tares = append(file.tares, exp.OnDisk(name))
		}

		r.Files = append(r.Files, file)
	}

	return nil
}

// rawFile returns the raw file of a recording: a file on disk, or one that a task of stage simulate writes.
func (r *Recordings) rawFile(exp plan.Experiment, name string) plan.RawFile {
	if dep, isWritten := r.written[name]; isWritten {
		return plan.RawFile{Name: name, Dep: &dep}
	}

	return exp.OnDisk(name)
}

// settleConstruction chooses the construction, and stores the names of the experiment's conditions and of its columns
// of text.
func (r *Recordings) settleConstruction(exp plan.Experiment) error {
	exp.Ingest = r.Ingest // names the columns of a simulated balance
	r.Construction = dsp.Configure(dsp.Find(r.DSP.Triplets, exp.Instrument()), &r.DSP.Settings)
	if r.DSP.Track != nil && r.Construction != nil && r.Construction.Describe().Shaft {
		r.Found = append(r.Found, "rpm_tracked")
	}

	if r.Ingest.Tachometer != nil {
		r.Found = append(r.Found, "rpm_measured")
	}

	numbers, texts, err := r.inventory.Columns()
	if err != nil {
		return exp.Located("ingest", err)
	}

	r.Conditions = lists.Names(append(numbers, r.Found...))
	r.SetTexts(r.inventory.Roles, texts)

	return nil
}

// settleSettings stores what follows from the settings: derived columns, conversions of units, the grouping of channels
// and how the files are opened. It returns an error about settings that do not fit together.
func (r *Recordings) settleSettings(exp plan.Experiment) error {
	outcomes := dsp.OutcomeNames(r.Construction, &exp.DSP.Settings, balance.SeriesNames(&r.Ingest, exp.DSP.ChordM > 0))
	if err := exp.SetDerived(&r.Columns, nil, outcomes); err != nil {
		return err
	}

	columns := r.Derive.Outcomes()
	for _, column := range r.Ingest.Columns {
		columns = append(columns, column.Name)
	}

	if err := exp.Settle(&r.Columns, columns); err != nil {
		return err
	}

	conversions, err := r.inventory.Conversions(r.Conditions)
	if err != nil {
		return exp.Located("ingest", err)
	}

	return r.settleReading(exp, conversions)
}

// settleReading stores how the files are read and analysed.
func (r *Recordings) settleReading(exp plan.Experiment, conversions map[string]units.Named) error {
	source := campaign.Source{
		Settings: &r.Ingest, Roles: r.inventory.Roles, Labels: r.Labels, Convert: conversions, Derive: r.Derive,
	}
	name := r.Construction.Describe().Name
	r.reading = &analysis.Source{
		Source: source, Construction: r.Construction, DSP: &r.DSP.Settings,
		ChannelsListed: r.inventory.ChannelsListed, Conditions: r.Conditions, Cells: r.Cells,
		Seed: func(run string) uint64 { return plan.SeedOf(r.DSP.Seed, name, run) },
	}

	settings, err := r.reading.Settle(exp.Project())
	if err != nil {
		return exp.Located("ingest", err)
	}

	r.Reader = plan.Own("ingest.", settings)

	return nil
}
