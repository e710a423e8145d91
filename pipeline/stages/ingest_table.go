package stages

import (
	"context"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// Pairs describes the pairs of the user's table, in one file or several, or of the simulated toy. They need no
// analysis.
type Pairs struct {
	campaign.ResultTable
	Settings []kv.Pair      // settings that the pairs are read with
	Output   engine.Dep     // pairs.arrow
	raw      []plan.RawFile // the files, or the file that stage simulate writes
	spec     setting.Table  // the roles as settings
	id       string         // name of the table in the task's ID
}

// planTable adds the task that reads pairs.
func planTable(exp plan.Experiment, sim simulateResult) (ingestResult, error) {
	if list := exp.Ingest.Exclude.OfChannels(); len(list) > 0 {
		return ingestResult{}, exp.Errorf("ingest.exclude",
			"%s: a table of results has no channels; exclude its rows by conditions", list[0])
	}

	res := ingestResult{Data: exp.Ingest.Data}
	p, err := findTable(exp, sim, &res)
	if err != nil {
		return ingestResult{}, err
	}

	// Without the roles in the key of the task, the results of other roles would be taken from the cache.
	columns, err := pairs.SettleResults(&p.ResultTable, &exp.Ingest, &p.spec)
	if err != nil {
		return ingestResult{}, exp.Located("ingest", err)
	}

	columns.Converted = res.Converted
	res.Columns = columns
	res.PairKind = p.spec.Pairs
	exp.Ingest.Data = res.Data
	p.setSettings(exp, res.Derive != nil)
	meta := exp.Meta(p.Settings)
	task := &engine.Task{
		ID: exp.ID("ingest", p.id), Stage: "ingest", Version: ingestVersion, Config: plan.Stated(meta), Weight: 0.1,
		Publish: []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}},
		Local:   slices.Concat(plan.Own("", p.OwnSettings()), plan.LabelSetting(&res.Columns), p.statedSetting()),
	}

	for _, raw := range p.raw {
		raw.Needs(task)
	}

	task.Run = func(_ context.Context, job *engine.Job) error {
		warnings, err := p.write(job, res.Converted, meta)
		if err != nil {
			return err
		}

		return taskfile.WriteJSON(job, fileJSON, FileResult{Path: p.id, Warnings: warnings})
	}

	exp.Add(task)
	res.Results = []engine.Dep{{Task: task.ID, Output: fileJSON}}
	res.Index = &engine.Dep{Task: task.ID, Output: recordingsArrow}
	p.Output = engine.Dep{Task: task.ID, Output: pairsArrow}
	res.Pairs = p
	if err := res.moveToSetPoints(); err != nil {
		return ingestResult{}, err
	}

	return res, nil
}

// setSettings stores the settings that the pairs are read with. derived tells whether columns are derived, which may
// read constants.
func (p *Pairs) setSettings(exp plan.Experiment, derived bool) {
	settings := exp.Ingest
	settings.Table = &p.spec
	settings.Exclude = settings.Exclude.Where()
	settings.Log = setting.Log{Decimal: settings.Log.Decimal}
	keys := []string{"table", "text", "within", "exclude", "missing", "log", "spellings", "occasions", "things"}
	if derived {
		keys = append(keys, "constants", "derive")
	}

	for _, key := range keys {
		p.Settings = append(p.Settings, plan.Only("ingest", plan.Settings("ingest", settings), key)...)
	}
}

// statedSetting returns the inputs that the configuration names as such, by which rows of repeats are compared.
func (p *Pairs) statedSetting() []kv.Pair {
	if len(p.Options.Repeats) == 0 {
		return nil
	}

	return []kv.Pair{{Key: "stated inputs", Value: strings.Join(p.StatedInputs(), ", ")}}
}

// simulatedTable returns the table of the simulated toy.
func simulatedTable(exp plan.Experiment, sim simulateResult) *Pairs {
	toy := sim.Campaign.(simulate.Toy) // the other campaigns make recordings
	f := sim.Files[0]
	p := &Pairs{
		raw: []plan.RawFile{{Name: f.Output, Dep: &f}}, ResultTable: campaign.ResultTable{Toy: &toy}, id: f.Output,
		spec: setting.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"},
	}
	settings := exp.Inventory().Settings
	settings.Table = &p.spec
	p.Files = make([]campaign.TableFile, 1)
	p.Options = campaign.NewTableOptions(&settings, exp.Roles(), exp.Variants().Stated())

	return p
}

// findTable finds the files of a table and the roles of its columns, or returns the table of the simulated toy. It
// stores the kind of data and the warnings in res.
func findTable(exp plan.Experiment, sim simulateResult, res *ingestResult) (*Pairs, error) {
	if sim.Campaign != nil {
		return simulatedTable(exp, sim), nil
	}

	inventory := exp.Inventory()
	if err := inventory.FindFiles(); err != nil {
		return nil, exp.Located("ingest", err)
	}

	found, err := inventory.ResultTable(exp.Variants().Stated())
	if err != nil {
		return nil, exp.Located("ingest", err)
	}

	res.Data = inventory.Settings.Data
	res.Warnings = inventory.Warnings
	res.Converted = inventory.Converted
	table := inventory.Settings.Table
	p := &Pairs{ResultTable: *found, id: strings.Join(table.File, ","), spec: *table}
	for _, file := range found.Files {
		p.raw = append(p.raw, exp.OnDisk(file.Name))
	}

	return p, nil
}

// write reads the files and writes their pairs and the index of runs. It returns the warnings.
func (p *Pairs) write(job *engine.Job, converted map[string]string, meta []kv.Pair) ([]ingest.Warning, error) {
	opened := p.ResultTable
	opened.Files = slices.Clone(p.Files)
	var names, sums []string
	for i, raw := range p.raw {
		opened.Files[i].Path = raw.Path(job)
		opened.Files[i].Name = raw.Name
		names = append(names, raw.Name)
		sums = append(sums, raw.SHA256(job))
	}

	if err := recording.CheckCopies(names, sums); err != nil {
		return nil, err
	}

	pairTable, err := opened.Read()
	if err != nil {
		return nil, err
	}

	maps.Copy(pairTable.Converted, converted)

	trip, recs := pairs.TabulateRuns(pairTable, p.Options.Across, names, sums)
	recs.Meta = meta
	if err := taskfile.WriteTable(job, recordingsArrow, recs); err != nil {
		return nil, err
	}

	if err := taskfile.WriteTable(job, pairsArrow, trip); err != nil {
		return nil, err
	}

	return pairTable.Warnings, nil
}
