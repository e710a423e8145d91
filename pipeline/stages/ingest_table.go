package stages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// Pairs describes the pairs of the user's table, in one file or several, or of the simulated toy. They need no
// analysis.
type Pairs struct {
	Settings []kv.Pair             // settings that the pairs are read with
	Output   engine.Dep            // pairs.arrow
	Files    []campaign.TableFile  // the files, with conditions that their names and the table of conditions state
	Options  campaign.TableOptions // roles of the columns
	Toy      *simulate.Toy         // nil for the user's table
	raw      []plan.RawFile        // the files, or the file that stage simulate writes
	spec     setting.Table         // the roles as settings
	local    []kv.Pair             // conditions of the files, as a part of the task's key
	id       string                // name of the table in the task's ID
	size     [2]float64            // conditions and pairs, once they are known or estimated
}

// planTable adds the task that reads pairs.
func planTable(exp plan.Experiment, sim simulateResult) (ingestResult, error) {
	if list := exp.Ingest.Exclude.OfChannels(); len(list) > 0 {
		return ingestResult{}, exp.Errorf("ingest.exclude",
			"%s: a table of results has no channels; exclude its rows by conditions", list[0])
	}

	res := ingestResult{Data: exp.Ingest.Data, PairKind: pairKind(exp, nil)}
	var p *Pairs
	if sim.Campaign != nil {
		p = simulatedTable(exp, sim, &res)
	} else {
		var err error
		p, err = findTable(exp, sim, &res)
		if err != nil {
			return ingestResult{}, err
		}
	}

	p.storeRoles()
	exp.Ingest.Data = res.Data
	if err := exp.SetDerived(&res.Columns, exp.Ingest.Constants, p.Options.OutcomeNames()); err != nil {
		return ingestResult{}, err
	}

	p.Options.Derive = res.Derive
	if err := exp.SetTolerances(&res.Columns, res.Outcomes); err != nil {
		return ingestResult{}, err
	}

	if err := checkPairing(exp, &p.spec, p.Options, res.Outcomes); err != nil {
		return ingestResult{}, err
	}

	p.setSettings(exp, res.Derive != nil)
	meta := exp.Meta(p.Settings)
	task := &engine.Task{
		ID: exp.ID("ingest", p.id), Stage: "ingest", Version: ingestVersion, Config: plan.Stated(meta), Weight: 0.1,
		Publish: []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}},
		Local:   slices.Concat(p.local, plan.LabelSetting(&res.Columns), p.statedSetting()),
	}

	for _, raw := range p.raw {
		raw.Needs(task)
	}

	task.Run = func(_ context.Context, job *engine.Job) error {
		warnings, err := p.write(job, res.Converted, meta)
		if err != nil {
			return err
		}

		return plan.WriteJSON(job, fileJSON, FileResult{Path: p.id, Warnings: warnings})
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
	keys := []string{"table", "text", "within", "exclude", "missing", "log"}
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

	isOther := func(name string) bool { return !slices.Contains(p.Options.Stated, name) }
	stated := slices.DeleteFunc(slices.Clone(p.Options.Inputs), isOther)

	return []kv.Pair{{Key: "stated inputs", Value: strings.Join(stated, ", ")}}
}

// simulatedTable returns the table of the simulated toy.
func simulatedTable(exp plan.Experiment, sim simulateResult, res *ingestResult) *Pairs {
	toy := sim.Campaign.(simulate.Toy) // the other campaigns make recordings
	res.Conditions = []string{"x"}
	f := sim.Files[0]
	p := &Pairs{
		raw: []plan.RawFile{{Name: f.Output, Dep: &f}}, Files: make([]campaign.TableFile, 1), Toy: &toy, id: f.Output,
		spec: setting.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"},
	}
	p.Options = tableOptions(exp, &p.spec)

	return p
}

// findTable finds the files of a table, the conditions that their names or the table of conditions state, and the roles
// of the columns. It stores the kind of data, the conditions and the labels in res.
func findTable(exp plan.Experiment, sim simulateResult, res *ingestResult) (*Pairs, error) {
	f, err := findFiles(exp, sim)
	if err != nil {
		return nil, err
	}

	f.Ingest.Constants = nil // only derived columns read the constants of a table
	res.Data = f.Ingest.Data
	res.Warnings = f.warnings
	res.Converted = f.Converted
	names, texts := f.conditionNames(f.Table)

	p := &Pairs{id: strings.Join(f.Ingest.Table.File, ","), spec: *f.Ingest.Table}
	// The labels among the texts of names and of the table of conditions are needed to resolve the columns of the
	// files, whose own texts are added afterwards.
	res.SetTexts(exp.Roles(), texts)
	labels := res.Labels
	given := slices.Concat(names, labels)
	p.Files, err = f.tableFiles(exp, given)
	if err != nil {
		return nil, err
	}

	for _, file := range f.Files {
		p.raw = append(p.raw, file.RawFile)
	}

	request := tableOptions(exp, &p.spec)
	request.Given = names
	request.Labels = labels
	options, columns, err := campaign.ResolveTable(p.Files[0], request)
	if err != nil {
		return nil, fault.Named(err, p.Files[0].Name)
	}

	p.setLocal(names, labels)
	res.SetTexts(exp.Roles(), unique(texts, columns))
	if err := f.Table.CheckLabels(labels); err != nil {
		return nil, err
	}

	options.Inputs = removeNames(options.Inputs, func(name string) bool { return slices.Contains(res.Labels, name) })
	options.Given = given
	options.Labels = res.Labels
	res.Conditions = options.Inputs
	p.Options = options

	return p, nil
}

// storeRoles stores the roles of the columns in the table's settings, which are a part of the task's key. Without them
// the results of other roles would be taken from the cache.
func (p *Pairs) storeRoles() {
	p.spec.Inputs = p.Options.Inputs
	p.spec.Y1 = p.Options.Y1
	p.spec.Y2 = p.Options.Y2
	p.spec.Repeats = p.Options.Repeats
	p.spec.Run = p.Options.Run
}

// setLocal stores the conditions and labels of each file as a part of the task's key.
func (p *Pairs) setLocal(conditions, labels []string) {
	for _, name := range conditions {
		for _, file := range p.Files {
			value := strconv.FormatFloat(file.Numbers[name], 'g', -1, 64)
			p.local = append(p.local, kv.Pair{Key: file.Name + ": " + name, Value: value})
		}
	}

	for _, name := range labels {
		for _, file := range p.Files {
			p.local = append(p.local, kv.Pair{Key: file.Name + ": " + name, Value: file.Names[name]})
		}
	}
}

// tableFiles returns the files with the conditions and labels of the given names, which their names or the table of
// conditions state, in the units of the conditions' names.
func (r *Recordings) tableFiles(exp plan.Experiment, names []string) ([]campaign.TableFile, error) {
	if err := r.matchRows(); err != nil {
		return nil, err
	}

	var own []setting.NamedString // units of the given conditions that are not converted yet
	for _, unit := range r.Ingest.Table.Units {
		if slices.Contains(names, unit.Name) && r.Converted[unit.Name] == "" {
			own = append(own, unit)
		}
	}

	if err := setConversions(exp, r.Source, "ingest.table.units.", own, names); err != nil {
		return nil, err
	}

	var files []campaign.TableFile
	for i := range r.Files {
		f := &r.Files[i]
		file := campaign.TableFile{Path: f.File.Open, Name: f.Name}
		if len(names) > 0 {
			values, err := f.tableValues(r.Source)
			if err != nil {
				return nil, err
			}

			file.Values = values
		}

		files = append(files, file)
	}

	return files, nil
}

// tableValues returns the conditions and labels that the name of a table or the table of conditions state for the whole
// table. It returns an error if the table of conditions has several rows for it.
func (f *File) tableValues(src *Source) (condition.Values, error) {
	known, err := src.campaign().Known(f.Name, &f.Facts)
	if err != nil {
		return condition.Values{}, err
	}

	if len(known) > 1 {
		rows := f.Rows.Rows
		return condition.Values{}, fault.At(f.Rows.Path, fmt.Sprintf("line %d", rows[1].Line), "one row for each table",
			fmt.Sprintf("a second one for %s (the first is in line %d)", f.Name, rows[0].Line), "")
	}

	return known[0], nil
}

// write reads the files and writes their pairs and the index of runs. It returns the warnings.
func (p *Pairs) write(job *engine.Job, converted map[string]string, meta []kv.Pair) ([]ingest.Warning, error) {
	files := slices.Clone(p.Files)
	var names, sums []string
	for i, raw := range p.raw {
		files[i].Path = raw.Path(job)
		files[i].Name = raw.Name
		names = append(names, raw.Name)
		sums = append(sums, raw.SHA256(job))
	}

	if err := recording.CheckCopies(names, sums); err != nil {
		return nil, err
	}

	pairTable, err := readTables(files, p.Options)
	if err != nil {
		return nil, err
	}

	maps.Copy(pairTable.Converted, converted)

	trip, recs := pairs.TabulateRuns(pairTable, p.Options.Across, names, sums)
	recs.Meta = meta
	if err := plan.WriteTable(job, recordingsArrow, recs); err != nil {
		return nil, err
	}

	if err := plan.WriteTable(job, pairsArrow, trip); err != nil {
		return nil, err
	}

	return pairTable.Warnings, nil
}

// readTables reads the files of one table. If there is only one, an error names it.
func readTables(files []campaign.TableFile, options campaign.TableOptions) (*campaign.PairTable, error) {
	pairTable, err := campaign.ReadTables(files, options)
	if err != nil && len(files) == 1 {
		return nil, fault.Named(err, files[0].Name)
	}

	return pairTable, err
}

// checkPairing returns an error if a tolerance or a law of correction names a column that the table does not have.
func checkPairing(exp plan.Experiment, t *setting.Table, options campaign.TableOptions, outcomes []string) error {
	const key, isInput = "ingest.table.", "is not an input of the table, which has"
	for _, tolerance := range t.Tolerances {
		if err := exp.OneOf(options.Inputs, tolerance.Name, key+"within."+tolerance.Name, isInput); err != nil {
			return err
		}
	}

	for _, column := range t.Correct {
		own := key + "correct." + column.Name
		if err := exp.OneOf(outcomes, column.Name, own, "is not an outcome of the table, which has"); err != nil {
			return err
		}

		if err := exp.OneOf(options.Inputs, options.Correct[column.Name].Condition, own, isInput); err != nil {
			return err
		}
	}

	return nil
}

// tableOptions returns the roles of a table's columns.
func tableOptions(exp plan.Experiment, t *setting.Table) campaign.TableOptions {
	options := campaign.TableOptions{
		Inputs: t.Inputs, Y1: t.Y1, Y2: t.Y2, Repeats: t.Repeats, Outcomes: t.Outcomes, Run: cmp.Or(t.Run, exp.Ingest.Run),
		Across: t.Across, Occasions: exp.Roles().Occasions, Names: exp.Roles().Declared(),
		Decimal: campaign.DecimalSigns[exp.Ingest.Log.Decimal], AllPairs: t.Use == "all", Text: exp.Ingest.Text,
		Stated: exp.StatedConditions(),
		Units:  setting.ByName(t.Units), Within: setting.Tolerances(t.Tolerances),
		Spellings: exp.Roles().Spellings,
		SetPoints: setting.Tolerances(exp.Ingest.Tolerances), Correct: map[string]campaign.Law{}, Missing: exp.Ingest.Missing,
	}

	for _, exclusion := range conditionExclusions(exp) {
		isName := func(c string) bool { return slices.Contains(exclusion.Where.Labels(), c) }
		options.Exclude = append(options.Exclude, campaign.Exclusion{
			Text: exclusion.String(), Names: exclusion.Where.Labels(),
			Numbers: slices.DeleteFunc(exclusion.Where.Conditions(), isName), Holds: exclusion.Holds,
		})
	}

	for _, column := range t.Correct {
		options.Correct[column.Name], _ = campaign.ParseLaw(column.Value) // checked with the configuration
	}

	return options
}
