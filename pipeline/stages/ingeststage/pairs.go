package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/simulate"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// readPairs adds the task of an experiment whose pairs are already made: a
// table of the user's, in one file or several, or the simulated toy.
func readPairs(b *plan.Builder) error {
	in := b.Exp.Ingest
	spec := in.Table
	id := ""
	var raw []plan.RawFile
	var given []campaign.TableFile
	var noColumns []string // conditions that the files' names or the table of conditions give
	var local []kv.Pair
	if in.Simulate != nil {
		raw = []plan.RawFile{{Name: b.Simulated[0].Output, Dep: &b.Simulated[0]}}
		given, id = make([]campaign.TableFile, 1), raw[0].Name
		spec = &config.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"}
		b.Conditions = []string{"x"}
		if _, ok := b.Campaign.(simulate.Toy); !ok {
			return fmt.Errorf("plan table: the %s campaign makes recordings, not pairs", b.Campaign.Kind())
		}
	} else {
		var err error
		if raw, given, err = tableFiles(b); err != nil {
			return err
		}
		id = strings.Join(spec.File, ",")
		noColumns, local = b.Conditions, valuesGiven(given, b.Conditions)
		o := TableOptions(b, spec)
		o.Given = noColumns
		if o, err = campaign.ResolveTable(given[0].Path, o); err != nil {
			return Named(err, given[0].Path, given[0].Name)
		}
		resolved := *spec
		resolved.Inputs, resolved.Y1, resolved.Y2, resolved.Repeats = o.Inputs, o.Y1, o.Y2, o.Repeats
		spec, b.Conditions = &resolved, o.Inputs
	}
	if err := b.CheckDerived(in.Constants, TableOptions(b, spec).OutcomeNames()); err != nil {
		return err
	}
	o := TableOptions(b, spec)
	o.Given = noColumns
	outcomes := slices.Concat(o.OutcomeNames(), b.Derive.Outcomes())
	if err := b.CheckNames(b.Conditions, outcomes); err != nil {
		return err
	}
	if err := checkPairing(b, spec, o, outcomes); err != nil {
		return err
	}
	if in.Table != nil {
		b.Table = &plan.PairTable{Files: given, Options: o}
	}
	in = b.Exp.Ingest
	cfg := plan.Settings("ingest", struct {
		Table *config.Table `key:"table"`
		Text  config.Text   `key:"text"`
	}{spec, in.Text})
	if b.Derive != nil {
		cfg = append(cfg, plan.Settings("ingest", struct {
			Constants []config.NamedNumber `key:"constants"`
			Derive    []config.NamedString `key:"derive"`
		}{in.Constants, in.Derive})...)
	}
	read := &engine.Task{
		ID: b.ID("ingest", id), Stage: "ingest", Version: version, Config: cfg, Weight: 0.1,
		Publish: []engine.Link{{Output: "recordings.arrow", Path: b.Published("recordings.arrow")}},
		Local:   append(local, kv.Pair{Key: "kind of data", Value: in.Data}),
	}
	for _, r := range raw {
		r.Needs(read)
	}
	read.Run = func(_ context.Context, j *engine.Job) error {
		files := slices.Clone(given)
		names, sums := make([]string, len(raw)), make([]string, len(raw))
		for i, r := range raw {
			files[i].Path, files[i].Name = r.Path(j), r.Name
			names[i], sums[i] = r.Name, r.SHA256(j)
		}
		if err := Copies(names, sums); err != nil {
			return err
		}
		p, err := campaign.ReadTables(files, o)
		if err != nil {
			return NamedTable(err, files)
		}
		for name, text := range b.Converted {
			p.Converted[name] = text
		}
		trip, recs := pairTables(p, names, sums)
		recs.Meta = b.Meta(cfg)
		dg, err := recs.WriteFile(j.Output("recordings.arrow"))
		if err != nil {
			return err
		}
		j.SetDigest("recordings.arrow", dg)
		if dg, err = trip.WriteFile(j.Output("pairs.arrow")); err != nil {
			return err
		}
		j.SetDigest("pairs.arrow", dg)
		return plan.WriteJSON(j.Output(fileJSON), FileResult{Path: id, Warnings: p.Warnings})
	}
	b.Add(read)
	b.Recordings, b.Pairs = []engine.Dep{{Task: read.ID, Output: fileJSON}}, cfg
	return nil
}

// valuesGiven are the conditions of files that are no columns, for a task's key.
func valuesGiven(files []campaign.TableFile, names []string) (out []kv.Pair) {
	for _, n := range names {
		for _, f := range files {
			out = append(out, kv.Pair{Key: f.Name + ": " + n, Value: strconv.FormatFloat(f.Values[n], 'g', -1, 64)})
		}
	}
	return out
}

// tableFiles finds the files of a table, and the conditions that their names or the
// table of conditions give; b.Conditions are the names of these.
func tableFiles(b *plan.Builder) (raw []plan.RawFile, given []campaign.TableFile, err error) {
	src := &plan.Source{In: b.Exp.Ingest}
	src.In.Constants = nil // they are for what is derived
	b.Converted = map[string]string{}
	if raw, err = measuredFiles(b, src); err != nil {
		return nil, nil, err
	}
	conditionNames(b, src)
	perFile, err := conditionsPerFile(src, raw)
	if err != nil {
		return nil, nil, err
	}
	convert := map[string]units.Named{}
	for _, u := range src.In.Table.Units {
		if slices.Contains(b.Conditions, u.Name) && b.Converted[u.Name] == "" {
			n, err := units.ToName(u.Name, u.Value)
			if err != nil {
				return nil, nil, b.File.Errorf(b.At+".ingest.table.units."+u.Name, "%v", err)
			}
			convert[u.Name], b.Converted[u.Name] = n, n.String()
		}
	}
	for i, r := range raw {
		f := campaign.TableFile{Path: r.File.Open, Name: r.Name}
		if len(b.Conditions) > 0 {
			one := func(string) (ingest.Info, error) {
				return ingest.Info{Path: r.Name, Channels: []ingest.Channel{{Name: "table", Samples: 1}}}, nil
			}
			runs, _, err := campaign.Assemble([]string{r.Name}, one, perFile[i], src.Pattern, nil, campaign.Grouping{})
			if err != nil {
				return nil, nil, err
			}
			f.Values = runs[0].Recordings[0].Conditions
			for name, n := range convert {
				f.Values[name] = n.Apply(f.Values[name])
			}
		}
		given = append(given, f)
	}
	return raw, given, nil
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

// Copies reports two files with the same contents: a copy is no repeat of what it
// was copied from.
func Copies(names, sums []string) error {
	first := map[string]string{}
	for i, s := range sums {
		if other, ok := first[s]; ok && other != names[i] {
			return &fault.Error{
				Path: names[i], Want: "another measurement than " + other,
				Found: "an exact copy of it (the same sha256)", Hint: "a copy is no repeat: exclude one of the two",
			}
		}
		first[s] = names[i]
	}
	return nil
}

// checkPairing checks that tolerances and laws name what the table has.
func checkPairing(b *plan.Builder, t *config.Table, o campaign.TableOptions, outcomes []string) error {
	at := b.At + ".ingest.table."
	for _, w := range t.Within {
		if !slices.Contains(o.Inputs, w.Name) {
			return b.File.Errorf(at+"within."+w.Name, "%q is not an input of the table, which has %v%s", w.Name, o.Inputs,
				spelling.DidYouMean(w.Name, o.Inputs))
		}
	}
	for _, c := range t.Correct {
		if !slices.Contains(outcomes, c.Name) {
			return b.File.Errorf(at+"correct."+c.Name, "%q is not an outcome of the table, which has %v%s", c.Name, outcomes,
				spelling.DidYouMean(c.Name, outcomes))
		}
		if l := o.Correct[c.Name]; !slices.Contains(o.Inputs, l.Condition) {
			return b.File.Errorf(at+"correct."+c.Name, "%q is not an input of the table, which has %v%s", l.Condition, o.Inputs,
				spelling.DidYouMean(l.Condition, o.Inputs))
		}
	}
	return nil
}

// TableOptions are the roles of a table's columns, with what is derived of them.
func TableOptions(b *plan.Builder, t *config.Table) campaign.TableOptions {
	in := b.Exp.Ingest
	units := map[string]string{}
	for _, u := range t.Units {
		units[u.Name] = u.Value
	}
	within, laws := map[string]campaign.Tolerance{}, map[string]campaign.Law{}
	for _, w := range t.Within {
		within[w.Name], _ = campaign.ParseTolerance(w.Value) // checked with the configuration
	}
	for _, c := range t.Correct {
		laws[c.Name], _ = campaign.ParseLaw(c.Value)
	}
	return campaign.TableOptions{
		Within: within, Correct: laws, AllPairs: t.Use == "all", Derive: b.Derive,
		Units:  units,
		Text:   ingest.TextOptions{Delimiter: in.Text.Delimiter, Columns: in.Text.Columns, Time: in.Text.Time},
		Inputs: t.Inputs, Y1: t.Y1, Y2: t.Y2, Repeats: t.Repeats, Outcomes: t.Outcomes, Run: t.Run,
	}
}

// pairTables makes the triplets and the index of runs of a table of pairs: a row for
// each run and file.
func pairTables(p *campaign.PairTable, names, digests []string) (trip, recs *table.Table) {
	unit := func(name string) string { return p.Units[name] }
	doc := func(text, name string) string {
		if c := p.Converted[name]; c != "" {
			text += "; " + c
		}
		return text
	}
	trip, recs = &table.Table{}, &table.Table{}
	strs := func(name, doc string, v []string) table.Column {
		return table.Column{Name: name, Description: doc, Strings: v}
	}
	recording := p.Run
	if p.Recording != nil {
		recording = p.Recording
	}
	trip.Columns = append(trip.Columns,
		strs("run", "one acquisition at one condition", p.Run),
		strs("recording", "one channel of a run, or the group that makes one outcome vector", recording))
	type part struct {
		run  string
		file int
	}
	var runs, files, sums []string
	var first []int
	var pairs []int64
	row := map[part]int{}
	for i, r := range p.Run {
		for m, f := range p.Files[i] {
			if m == 1 && f == p.Files[i][0] {
				continue
			}
			k, ok := row[part{r, f}]
			if !ok {
				k = len(runs)
				row[part{r, f}] = k
				runs, first, pairs = append(runs, r), append(first, i), append(pairs, 0)
				files, sums = append(files, names[f]), append(sums, digests[f])
			}
			pairs[k]++
		}
	}
	pick := func(v []float64, n, k int, rows []int) []float64 {
		out := make([]float64, len(rows))
		for i, r := range rows {
			out[i] = v[r*n+k]
		}
		return out
	}
	all := make([]int, p.N)
	for i := range all {
		all[i] = i
	}
	recs.Columns = append(recs.Columns, strs("run", "one acquisition at one condition", runs),
		strs("recording", "one channel of a run, or the group that makes one outcome vector", runs))
	for k, name := range p.Inputs {
		u, about := plan.UnitOf(name)
		if v := unit(name); v != "" {
			u = v
		}
		c := table.Column{Name: name, Unit: u, Description: doc(about, name)}
		c.Floats = pick(p.X, len(p.Inputs), k, all)
		trip.Columns = append(trip.Columns, c)
		c.Floats = pick(p.X, len(p.Inputs), k, first)
		recs.Columns = append(recs.Columns, c)
	}
	for k, name := range p.Outcomes {
		trip.Columns = append(trip.Columns,
			table.Column{
				Name: name + "_1", Unit: unit(name), Description: doc("first outcome", name),
				Floats: pick(p.Y1, len(p.Outcomes), k, all),
			},
			table.Column{Name: name + "_2", Unit: unit(name), Description: doc("second outcome, independent of the first given "+
				"the run", name), Floats: pick(p.Y2, len(p.Outcomes), k, all)})
	}
	if p.Weight != nil {
		trip.Columns = append(trip.Columns, table.Column{
			Name: "weight", Description: "weight of the pair, by which r repeats count as r runs", Floats: p.Weight,
		})
	}
	recs.Columns = append(recs.Columns, strs("file", "raw file", files),
		table.Column{Name: "pairs", Description: "pairs of the run with a row of the file", Ints: pairs},
		strs("sha256", "content hash of the raw file", sums))
	return trip, recs
}
