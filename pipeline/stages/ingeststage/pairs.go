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
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/simulate"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
	"doubletake/pipeline/table"
)

// pairs are the files of an experiment whose pairs are already made: a table of the
// user's, in one file or several, or the simulated toy.
type pairs struct {
	raw       []plan.RawFile
	given     []campaign.TableFile
	spec      config.Table // the roles of the columns
	noColumns []string     // conditions that the files' names or the table of conditions give
	local     []kv.Pair
	id        string
}

// planPairs adds the task that reads them.
func planPairs(exp plan.Experiment, sim simulatestage.Result) (Result, error) {
	out := Result{Data: exp.Ingest.Data, PairKind: pairKind(exp, nil)}

	find := findTable
	if sim.Campaign != nil {
		find = simulatedTable
	}

	p, err := find(exp, sim, &out)
	if err != nil {
		return out, err
	}

	exp.Ingest.Data = out.Data

	measured := tableOptions(exp, &p.spec, nil).OutcomeNames()
	if out.Columns, err = out.WithDerived(exp, exp.Ingest.Constants, measured); err != nil {
		return out, err
	}

	if err := out.SetWithin(exp); err != nil {
		return out, err
	}

	options := tableOptions(exp, &p.spec, out.Derive)
	options.Given, options.Labels = p.noColumns, out.Labels

	if err := plan.CheckNames(exp, slices.Concat(out.Conditions, out.Labels), out.Outcomes); err != nil {
		return out, err
	}

	if err := checkPairing(exp, &p.spec, options, out.Outcomes); err != nil {
		return out, err
	}

	made := &Pairs{}
	if toy, ok := sim.Campaign.(simulate.Toy); ok {
		made.Toy = &toy
	}

	if exp.Ingest.Table != nil {
		made.Table = &plan.PairTable{Files: p.given, Options: options}
	}

	in := exp.Ingest
	made.Settings = plan.Settings("ingest", struct {
		Table  *config.Table        `key:"table"`
		Text   config.Text          `key:"text"`
		Within []config.NamedString `key:"within"`
	}{&p.spec, in.Text, in.Within})

	if out.Derive != nil {
		made.Settings = append(made.Settings, plan.Settings("ingest", struct {
			Constants []config.NamedNumber `key:"constants"`
			Derive    []config.NamedString `key:"derive"`
		}{in.Constants, in.Derive})...)
	}

	t := &engine.Task{
		ID: exp.ID("ingest", p.id), Stage: "ingest", Version: version, Config: made.Settings, Weight: 0.1,
		Publish: []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}},
		Local:   slices.Concat(p.local, []kv.Pair{{Key: "kind of data", Value: in.Data}}, out.LabelSetting()),
	}

	for _, r := range p.raw {
		r.Needs(t)
	}

	t.Run = func(_ context.Context, j *engine.Job) error {
		warnings, err := p.write(j, options, out.Converted, exp.Meta(made.Settings))
		if err != nil {
			return err
		}

		return plan.WriteJSON(j, fileJSON, FileResult{Path: p.id, Warnings: warnings})
	}

	exp.Add(t)
	out.Results = []engine.Dep{{Task: t.ID, Output: fileJSON}}
	out.Index = &engine.Dep{Task: t.ID, Output: recordingsArrow}
	made.Output = engine.Dep{Task: t.ID, Output: pairsArrow}
	out.Pairs = made

	return out, out.atSetPoints()
}

// simulatedTable is the table of the simulated toy.
func simulatedTable(_ plan.Experiment, sim simulatestage.Result, out *Result) (*pairs, error) {
	if _, ok := sim.Campaign.(simulate.Toy); !ok {
		return nil, fmt.Errorf("plan table: the %s campaign makes recordings, not pairs", sim.Campaign.Kind())
	}

	out.Conditions = []string{"x"}
	f := sim.Files[0]

	return &pairs{
		raw:   []plan.RawFile{{Name: f.Output, Dep: &f}},
		given: make([]campaign.TableFile, 1),
		spec:  config.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"},
		id:    f.Output,
	}, nil
}

// findTable finds the files of a table, the conditions that their names or the table of
// conditions give, and the roles of the columns.
func findTable(exp plan.Experiment, _ simulatestage.Result, out *Result) (*pairs, error) {
	f, err := findMeasured(exp)
	if err != nil {
		return nil, err
	}

	f.in.Constants = nil // they are for what is derived
	out.Data, out.Warnings, out.Converted = f.in.Data, f.warnings, f.converted
	names, texts := f.conditions(), f.texts()

	p := &pairs{raw: f.files, noColumns: names, id: strings.Join(f.in.Table.File, ","), spec: *f.in.Table}
	out.SetTexts(exp, texts)
	if p.given, err = f.tableFiles(exp, slices.Concat(names, out.Labels)); err != nil {
		return nil, err
	}

	for _, n := range names {
		for _, f := range p.given {
			value := strconv.FormatFloat(f.Values[n], 'g', -1, 64)
			p.local = append(p.local, kv.Pair{Key: f.Name + ": " + n, Value: value})
		}
	}

	o := tableOptions(exp, &p.spec, nil)
	o.Given, o.Labels = names, out.Labels
	o, columns, err := campaign.ResolveTable(p.given[0].Path, o)
	if err != nil {
		return nil, Named(err, p.given[0].Path, p.given[0].Name)
	}

	for _, n := range out.Labels {
		p.noColumns = append(p.noColumns, n)
		for _, f := range p.given {
			p.local = append(p.local, kv.Pair{Key: f.Name + ": " + n, Value: f.Labels[n]})
		}
	}

	if f.table != nil {
		if err := f.table.CheckLabels(out.Labels); err != nil {
			return nil, err
		}
	}

	out.SetTexts(exp, unique(texts, columns))

	p.spec.Inputs, p.spec.Y1, p.spec.Y2, p.spec.Repeats = o.Inputs, o.Y1, o.Y2, o.Repeats
	out.Conditions = o.Inputs

	return p, nil
}

// tableFiles returns the files with the named conditions and labels, which their names or the
// table of conditions give, in the units of the conditions' names.
func (f *found) tableFiles(exp plan.Experiment, names []string) ([]campaign.TableFile, error) {
	rows, err := f.rows()
	if err != nil {
		return nil, err
	}

	convert := map[string]units.Named{}
	for _, u := range f.in.Table.Units {
		if slices.Contains(names, u.Name) && f.converted[u.Name] == "" {
			n, err := units.ToName(u.Name, u.Value)
			if err != nil {
				return nil, exp.Errorf("ingest.table.units."+u.Name, "%v", err)
			}

			convert[u.Name], f.converted[u.Name] = n, n.String()
		}
	}

	var given []campaign.TableFile
	for i, r := range f.files {
		file := campaign.TableFile{Path: r.File.Open, Name: r.Name}
		if len(names) > 0 {
			opened := func(string) (ingest.Info, error) {
				return ingest.Info{Path: r.Name, Channels: []ingest.Channel{{Name: "table", Samples: 1}}}, nil
			}
			runs, _, err := campaign.Assemble([]string{r.Name}, opened, rows[i], f.pattern, nil,
				campaign.Grouping{Within: plan.Tolerances(f.in.Within)})
			if err != nil {
				return nil, err
			}

			file.Values, file.Labels = runs[0].Recordings[0].Conditions, runs[0].Recordings[0].Labels
			for name, n := range convert {
				file.Values[name] = n.Apply(file.Values[name])
			}
		}

		given = append(given, file)
	}

	return given, nil
}

// write reads the files and writes their pairs and the index of runs.
func (p *pairs) write(j *engine.Job, o campaign.TableOptions, converted map[string]string,
	meta []kv.Pair,
) ([]ingest.Warning, error) {
	files := slices.Clone(p.given)

	names, sums := make([]string, len(p.raw)), make([]string, len(p.raw))
	for i, r := range p.raw {
		files[i].Path, files[i].Name = r.Path(j), r.Name
		names[i], sums[i] = r.Name, r.SHA256(j)
	}

	if err := Copies(names, sums); err != nil {
		return nil, err
	}

	t, err := campaign.ReadTables(files, o)
	if err != nil {
		return nil, NamedTable(err, files)
	}

	maps.Copy(t.Converted, converted)

	trip, recs := PairTables(t, names, sums)
	recs.Meta = meta

	return t.Warnings, errors.Join(plan.WriteTable(j, recordingsArrow, recs), plan.WriteTable(j, pairsArrow, trip))
}

// NamedTable places an error of a table's files as the user knows them.
func NamedTable(err error, files []campaign.TableFile) error {
	var data *fault.Error
	for _, f := range files {
		if errors.As(err, &data) && data.Path == f.Path || len(files) == 1 {
			return Named(err, f.Path, f.Name)
		}
	}

	return err
}

// mostCopies is how many copies an error names.
const mostCopies = 10

// Copies reports files with the same contents: a copy is no measurement.
func Copies(names, sums []string) error {
	var out *fault.Error
	var copied []string

	first := map[string]string{}
	for i, s := range sums {
		other, known := first[s]
		switch {
		case !known:
			first[s] = names[i]
		case other != names[i]:
			if copied = append(copied, names[i]); out == nil {
				out = &fault.Error{
					Path: names[i], Want: "another measurement than " + other, Found: "an exact copy of it (the same sha256)",
				}
			}
		}
	}

	if out == nil {
		return nil
	}

	more := ""
	if n := len(copied) - mostCopies; n > 0 {
		copied, more = copied[:mostCopies], fmt.Sprintf(" and %d more", n)
	}

	out.Hint = fmt.Sprintf("a copy is no measurement: leave it out with ingest: {exclude: [%s]}%s",
		strings.Join(copied, ", "), more)

	return out
}

// checkPairing checks that tolerances and laws name what the table has.
func checkPairing(exp plan.Experiment, t *config.Table, o campaign.TableOptions, outcomes []string) error {
	missing := func(key, name, what string, have []string) error {
		if slices.Contains(have, name) {
			return nil
		}

		return exp.Errorf("ingest.table."+key, "%q is not an %s of the table, which has %v%s", name, what, have,
			spelling.DidYouMean(name, have))
	}

	for _, w := range t.Within {
		if err := missing("within."+w.Name, w.Name, "input", o.Inputs); err != nil {
			return err
		}
	}

	for _, c := range t.Correct {
		if err := missing("correct."+c.Name, c.Name, "outcome", outcomes); err != nil {
			return err
		}

		if err := missing("correct."+c.Name, o.Correct[c.Name].Condition, "input", o.Inputs); err != nil {
			return err
		}
	}

	return nil
}

// tableOptions are the roles of a table's columns, with what is derived of them.
func tableOptions(exp plan.Experiment, t *config.Table, derived *derive.Set) campaign.TableOptions {
	o := campaign.TableOptions{
		Inputs: t.Inputs, Y1: t.Y1, Y2: t.Y2, Repeats: t.Repeats, Outcomes: t.Outcomes, Run: t.Run,
		AllPairs: t.Use == "all", Derive: derived, Text: textOptions(&exp.Ingest),
		Units: byName(t.Units), Within: plan.Tolerances(t.Within),
		SetPoints: plan.Tolerances(exp.Ingest.Within), Correct: map[string]campaign.Law{},
	}

	for _, c := range t.Correct {
		o.Correct[c.Name], _ = campaign.ParseLaw(c.Value)
	}

	return o
}

// PairTables makes the triplets and the index of runs of a table of pairs: a row for
// each run and file.
func PairTables(p *campaign.PairTable, names, digests []string) (trip, recs *table.Table) {
	trip, recs = &table.Table{}, &table.Table{}
	text := func(t *table.Table, name, doc string, v []string) {
		t.Columns = append(t.Columns, table.Column{Name: name, Description: doc, Strings: v})
	}

	// numbers adds column k of rows of width numbers, of the rows given or of all.
	numbers := func(t *table.Table, c table.Column, of string, v []float64, width, k int, rows []int) {
		if how := p.Converted[of]; how != "" {
			c.Description += "; " + how
		}

		c.Unit = cmp.Or(p.Units[of], c.Unit)
		c.Floats = make([]float64, len(rows))
		for i, r := range rows {
			c.Floats[i] = v[r*width+k]
		}

		t.Columns = append(t.Columns, c)
	}

	all := make([]int, p.N)
	for i := range all {
		all[i] = i
	}

	index := indexPairs(p)

	const aRun, aRecording = "one acquisition at one condition",
		"one channel of a run, or the group that makes one outcome vector"

	recording := p.Run
	if p.Recording != nil {
		recording = p.Recording
	}

	text(trip, "run", aRun, p.Run)
	text(trip, "recording", aRecording, recording)
	text(recs, "run", aRun, index.runs)
	text(recs, "recording", aRecording, index.runs)

	for k, name := range p.Inputs {
		unit, about := plan.UnitOf(name)
		c := table.Column{Name: name, Unit: unit, Description: about}
		numbers(trip, c, name, p.X, len(p.Inputs), k, all)
		numbers(recs, c, name, p.X, len(p.Inputs), k, index.first)
	}

	for _, name := range p.Labels {
		v := column(p.Texts, p.Labels, name)
		text(trip, name, plan.LabelText, v)
		text(recs, name, plan.LabelText, gathered(v, index.first))
	}

	for k, name := range p.Outcomes {
		numbers(trip, table.Column{Name: name + "_1", Description: "first outcome"}, name, p.Y1, len(p.Outcomes), k, all)
		numbers(trip, table.Column{
			Name:        name + "_2",
			Description: "second outcome, independent of the first given the run",
		}, name, p.Y2, len(p.Outcomes), k, all)
	}

	if p.Weight != nil {
		trip.Columns = append(trip.Columns, table.Column{
			Name: "weight", Description: "weight of the pair, by which r repeats count as r runs", Floats: p.Weight,
		})
	}

	files, sums := make([]string, len(index.file)), make([]string, len(index.file))
	for i, f := range index.file {
		files[i], sums[i] = names[f], digests[f]
	}

	text(recs, "file", "raw file", files)
	recs.Columns = append(recs.Columns,
		table.Column{Name: "pairs", Description: "pairs of the run with a row of the file", Ints: index.pairs})
	text(recs, "sha256", "content hash of the raw file", sums)

	return trip, recs
}

// gathered returns the given rows of v.
func gathered(v []string, rows []int) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}

	return out
}

// runsOfFiles has an entry for each run and file: the first of its pairs, and how many there are.
type runsOfFiles struct {
	runs        []string
	file, first []int
	pairs       []int64
}

func indexPairs(p *campaign.PairTable) (x runsOfFiles) {
	type part struct {
		run  string
		file int
	}

	row := map[part]int{}
	for i, run := range p.Run {
		for m, f := range p.Files[i] {
			if m == 1 && f == p.Files[i][0] {
				continue
			}

			k, ok := row[part{run, f}]
			if !ok {
				k = len(x.runs)
				row[part{run, f}] = k
				x.runs, x.file = append(x.runs, run), append(x.file, f)
				x.first, x.pairs = append(x.first, i), append(x.pairs, 0)
			}

			x.pairs[k]++
		}
	}

	return x
}
