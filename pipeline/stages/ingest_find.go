package stages

import (
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// findFiles finds the raw files of an experiment: the files that the tasks of stage simulate write, or the files that
// the configuration names.
func findFiles(exp plan.Experiment, sim simulateResult) (*Recordings, error) {
	inventory := exp.Inventory()
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
	for _, name := range inventory.Backgrounds {
		r.Backgrounds = append(r.Backgrounds, exp.OnDisk(name))
	}

	return r, nil
}

// prepare stores everything that is known about the recordings before they are opened, without excluded files and rows.
func (r *Recordings) prepare(exp plan.Experiment) error {
	exp.Ingest = r.Ingest // names the columns of a simulated balance
	var err error
	r.Analysis, err = pairs.NewAnalysis(r.inventory, &r.Ingest, pairs.Method{
		Triplets: r.DSP.Triplets, Instrument: exp.Instrument(), Settings: &r.DSP.Settings,
		Across: r.DSP.Across, Tolerances: r.DSP.Tolerances,
		Seed: func(construction, run string) uint64 { return plan.SeedOf(r.DSP.Seed, construction, run) },
	})
	if err != nil {
		return exp.Located("ingest", err)
	}

	if err := r.inventory.Settle(&r.Reading.Source); err != nil {
		return exp.Located("ingest", err)
	}

	r.Reader = plan.Own("ingest.", r.Program)
	for i := range r.inventory.Files {
		known := &r.inventory.Files[i]
		r.Files = append(r.Files, File{File: known, raw: r.rawFile(exp, known.Name)})
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
