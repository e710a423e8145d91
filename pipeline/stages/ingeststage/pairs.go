package ingeststage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/simulate"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// Pairs are those of a table, of the user's in one file or several, or of the simulated toy. They need no
// analysis.
type Pairs struct {
	Settings []kv.Pair             // that they are read with
	Output   engine.Dep            // pairs.arrow
	Files    []campaign.TableFile  // with what their names and the table of conditions state
	Options  campaign.TableOptions // the roles of the columns
	Toy      *simulate.Toy         // nil for a table of the user's
	raw      []plan.RawFile
	spec     config.Table // the roles as settings
	local    []kv.Pair
	id       string
}

// planPairs adds the task that reads them.
func planPairs(exp plan.Experiment, sim simulatestage.Result) Result {
	out := Result{Data: exp.Ingest.Data, PairKind: pairKind(exp, nil)}
	find := findTable
	if sim.Campaign != nil {
		find = simulatedTable
	}

	p := find(exp, sim, &out)
	exp.Ingest.Data = out.Data
	out.SetDerived(exp, exp.Ingest.Constants, p.Options.OutcomeNames())
	p.Options.Derive = out.Derive
	out.Check(exp, out.Outcomes)
	checkPairing(exp, &p.spec, p.Options, out.Outcomes)

	in := exp.Ingest
	in.Table, in.Exclude, in.Log = &p.spec, in.Exclude.Where(), config.Log{Decimal: in.Log.Decimal}
	keys := []string{"table", "text", "within", "exclude", "missing", "log"}
	if out.Derive != nil {
		keys = append(keys, "constants", "derive")
	}

	for _, key := range keys {
		p.Settings = append(p.Settings, plan.Only("ingest", plan.Settings("ingest", in), key)...)
	}

	meta := exp.Meta(p.Settings)
	t := &engine.Task{
		ID: exp.ID("ingest", p.id), Stage: "ingest", Version: version, Config: plan.Stated(meta), Weight: 0.1,
		Publish: []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}},
		Local:   slices.Concat(p.local, out.LabelSetting()),
	}

	for _, r := range p.raw {
		r.Needs(t)
	}

	t.Run = func(_ context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		return plan.WriteJSON(j, fileJSON, FileResult{Path: p.id, Warnings: p.write(j, out.Converted, meta)})
	}

	exp.Add(t)
	out.Results = []engine.Dep{{Task: t.ID, Output: fileJSON}}
	out.Index = &engine.Dep{Task: t.ID, Output: recordingsArrow}
	p.Output = engine.Dep{Task: t.ID, Output: pairsArrow}
	out.Pairs = p
	out.atSetPoints()

	return out
}

// simulatedTable is the table of the simulated toy.
func simulatedTable(exp plan.Experiment, sim simulatestage.Result, out *Result) *Pairs {
	toy := sim.Campaign.(simulate.Toy) // others make recordings
	out.Conditions = []string{"x"}
	f := sim.Files[0]
	p := &Pairs{
		raw: []plan.RawFile{{Name: f.Output, Dep: &f}}, Files: make([]campaign.TableFile, 1), Toy: &toy, id: f.Output,
		spec: config.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"},
	}
	p.Options = tableOptions(exp, &p.spec)

	return p
}

// findTable finds the files of a table, the conditions that their names or the table of
// conditions give, and the roles of the columns.
func findTable(exp plan.Experiment, sim simulatestage.Result, out *Result) *Pairs {
	f := findFiles(exp, sim)
	f.In.Constants = nil // they are for what is derived
	out.Data, out.Warnings, out.Converted = f.In.Data, f.warnings, f.Converted
	names, texts := f.conditions(f.Table)

	p := &Pairs{id: strings.Join(f.In.Table.File, ","), spec: *f.In.Table}
	out.SetTexts(exp, texts)
	labels := out.Labels // of the files
	p.Files = f.tableFiles(exp, slices.Concat(names, labels))
	p.raw = lists.Each(f.Files, func(r File) plan.RawFile { return r.RawFile })

	o := tableOptions(exp, &p.spec)
	o.Given, o.Labels = names, labels
	o, columns, err := campaign.ResolveTable(p.Files[0], o)
	fault.Raise(Named(err, p.Files[0].Name))

	o.Given = slices.Concat(names, labels)
	for k, n := range o.Given {
		for _, f := range p.Files {
			value := f.Names[n]
			if k < len(names) {
				value = strconv.FormatFloat(f.Numbers[n], 'g', -1, 64)
			}

			p.local = append(p.local, kv.Pair{Key: f.Name + ": " + n, Value: value})
		}
	}

	out.SetTexts(exp, unique(texts, columns))
	fault.Raise(f.Table.CheckLabels(labels))

	o.Inputs = without(o.Inputs, func(n string) bool { return slices.Contains(out.Labels, n) })
	p.spec.Inputs, p.spec.Y1, p.spec.Y2, p.spec.Repeats, p.spec.Run = o.Inputs, o.Y1, o.Y2, o.Repeats, o.Run
	out.Conditions, o.Labels = o.Inputs, out.Labels
	p.Options = o

	return p
}

// tableFiles returns the files with the named conditions and labels, which their names or the
// table of conditions give, in the units of the conditions' names.
func (r *Recordings) tableFiles(exp plan.Experiment, names []string) []campaign.TableFile {
	r.rows()
	convert(exp, r.Source, "ingest.table.units.", lists.Keep(r.In.Table.Units, func(u config.NamedString) bool {
		return slices.Contains(names, u.Name) && r.Converted[u.Name] == ""
	}), names)

	return lists.Each(r.Files, func(f File) campaign.TableFile {
		file := campaign.TableFile{Path: f.File.Open, Name: f.Name}
		if len(names) > 0 {
			all := fault.Get(f.stating(r.Source))
			if len(all) > 1 {
				rows := f.Rows.Rows
				fault.Raise(fault.At(f.Rows.Path, fmt.Sprintf("line %d", rows[1].Line), "one row for each table",
					fmt.Sprintf("a second one for %s (the first is in line %d)", f.Name, rows[0].Line), ""))
			}

			file.Values = all[0]
		}

		return file
	})
}

// write reads the files and writes their pairs and the index of runs. It returns the warnings.
func (p *Pairs) write(j *engine.Job, converted map[string]string, meta []kv.Pair) []ingest.Warning {
	files := slices.Clone(p.Files)
	names, sums := make([]string, len(p.raw)), make([]string, len(p.raw))
	for i, r := range p.raw {
		files[i].Path, files[i].Name = r.Path(j), r.Name
		names[i], sums[i] = r.Name, r.SHA256(j)
	}

	CheckCopies(names, sums)

	t := readTables(files, p.Options)
	maps.Copy(t.Converted, converted)

	trip, recs := pairTables(t, p.Options.Across, names, sums)
	recs.Meta = meta
	fault.Raise(errors.Join(plan.WriteTable(j, recordingsArrow, recs), plan.WriteTable(j, pairsArrow, trip)))

	return t.Warnings
}

// readTables reads a table.
func readTables(files []campaign.TableFile, o campaign.TableOptions) *campaign.PairTable {
	t, err := campaign.ReadTables(files, o)
	if len(files) == 1 {
		err = Named(err, files[0].Name)
	}

	return fault.Get(t, err)
}

// CheckCopies raises the error of files with the same contents: a copy is no measurement.
func CheckCopies(names, sums []string) {
	first := map[string]string{} // by contents
	for i, s := range slices.Backward(sums) {
		first[s] = names[i]
	}

	copies := lists.Where(len(sums), func(i int) bool { return first[sums[i]] != names[i] })
	if len(copies) > 0 {
		copied := lists.Rows(names, 1, copies)
		fault.Raise(fault.At(copied[0], "", "another measurement than "+first[sums[copies[0]]],
			"an exact copy of it (the same sha256)",
			fmt.Sprintf("a copy is no measurement: leave it out with ingest: {exclude: [%s]}", campaign.Some(copied))))
	}
}

// checkPairing checks that tolerances and laws name what the table has.
func checkPairing(exp plan.Experiment, t *config.Table, o campaign.TableOptions, outcomes []string) {
	const key, isInput = "ingest.table.", "is not an input of the table, which has"
	for _, w := range t.Within {
		exp.OneOf(o.Inputs, w.Name, key+"within."+w.Name, isInput)
	}

	for _, c := range t.Correct {
		exp.OneOf(outcomes, c.Name, key+"correct."+c.Name, "is not an outcome of the table, which has")
		exp.OneOf(o.Inputs, o.Correct[c.Name].Condition, key+"correct."+c.Name, isInput)
	}
}

// tableOptions are the roles of a table's columns.
func tableOptions(exp plan.Experiment, t *config.Table) campaign.TableOptions {
	o := campaign.TableOptions{
		Inputs: t.Inputs, Y1: t.Y1, Y2: t.Y2, Repeats: t.Repeats, Outcomes: t.Outcomes, Run: cmp.Or(t.Run, exp.Ingest.Run),
		Across: t.Across, Occasions: exp.Roles().Occasions, Names: exp.Roles().Declared(),
		Decimal: decimalSigns[exp.Ingest.Log.Decimal], AllPairs: t.Use == "all", Text: exp.Ingest.Text,
		Units: byName(t.Units), Within: plan.Tolerances(t.Within),
		SetPoints: plan.Tolerances(exp.Ingest.Within), Correct: map[string]campaign.Law{}, Missing: exp.Ingest.Missing,
	}

	for _, x := range excludedBy(exp) {
		isName := func(c string) bool { return slices.Contains(x.Where.Labels(), c) }
		o.Exclude = append(o.Exclude, campaign.Exclusion{
			Text: x.String(), Names: x.Where.Labels(), Numbers: slices.DeleteFunc(x.Where.Conditions(), isName), Holds: x.Holds,
		})
	}

	for _, c := range t.Correct {
		o.Correct[c.Name], _ = campaign.ParseLaw(c.Value)
	}

	return o
}

// pairTables makes the triplets and the index of runs of a table of pairs: a row for
// each run and file. across is the label that repeats are paired across; "": none.
func pairTables(p *campaign.PairTable, across string, names, digests []string) (trip, recs *table.Table) {
	if across != "" {
		set := triplets.Set{N: p.N}
		set.SetRuns(p.Run)
		partner := set.PairAcross(p.Recording, p.Texts[slices.Index(p.Labels, across)])
		p.Y2 = lists.Each(p.Y1, func(y []float64) []float64 { return lists.Rows(y, 1, partner) })
	}

	trip = pairs.Tabulate(p)
	first, file, n := partsOf(p)
	given := trip.Columns[:2+len(p.Inputs)+len(p.Labels)]
	recs = (&table.Table{Columns: given}).Select(first)
	recs.Columns[1].Strings = recs.Columns[0].Strings // of several recordings
	recs.Make("file", "", "raw file").Strings = lists.Rows(names, 1, file)
	recs.Make("pairs", "", "pairs of the run with a row of the file").Ints = n
	recs.Make("sha256", "", "content hash of the raw file").Strings = lists.Rows(digests, 1, file)

	return trip, recs
}

// partsOf lists the runs in each file: the first pair, the file, and how many pairs.
func partsOf(p *campaign.PairTable) (first, file []int, pairs []int64) {
	run, _ := lists.Index(p.Run)
	var all [][2]int // a run and a file
	var of []int     // the pair of each
	for i, files := range p.Files {
		for _, f := range slices.Compact(files[:]) {
			all, of = append(all, [2]int{run[i], int(f)}), append(of, i)
		}
	}

	for _, same := range lists.Alike(all) {
		k := same[0]
		first, file, pairs = append(first, of[k]), append(file, all[k][1]), append(pairs, int64(len(same)))
	}

	return first, file, pairs
}
