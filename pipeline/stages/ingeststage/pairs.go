package ingeststage

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// readPairs adds the task of an experiment whose pairs are already made: a
// table of the user's, or the simulated toy.
func readPairs(b *plan.Builder) error {
	if b.Exp.Ingest.Table != nil {
		simulatedByName(b, []string{filepath.ToSlash(b.Exp.Ingest.Table.File)})
	}
	in := b.Exp.Ingest
	spec := in.Table
	var raw plan.RawFile
	if in.Simulate != nil {
		raw = plan.RawFile{Name: b.Simulated[0].Output, Dep: &b.Simulated[0]}
		spec = &config.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"}
		b.Conditions = []string{"x"}
		if _, ok := b.Campaign.(simulate.Toy); !ok {
			return fmt.Errorf("plan table: the %s campaign makes recordings, not pairs", b.Campaign.Kind())
		}
	} else {
		raw = plan.RawFile{
			Name: filepath.ToSlash(spec.File),
			File: &engine.File{Path: filepath.ToSlash(spec.File), Open: b.File.Resolve(spec.File)},
		}
		o, err := campaign.ResolveTable(raw.File.Open, TableOptions(b, spec))
		if err != nil {
			return Named(err, raw.File.Open, raw.Name)
		}
		resolved := *spec
		resolved.Inputs, resolved.Y1, resolved.Y2, resolved.Repeats = o.Inputs, o.Y1, o.Y2, o.Repeats
		spec, b.Conditions = &resolved, o.Inputs
	}
	if err := b.CheckDerived(in.Constants, TableOptions(b, spec).OutcomeNames()); err != nil {
		return err
	}
	o := TableOptions(b, spec)
	outcomes := slices.Concat(o.OutcomeNames(), b.Derive.Outcomes())
	if err := b.CheckNames(b.Conditions, outcomes); err != nil {
		return err
	}
	if err := checkPairing(b, spec, o, outcomes); err != nil {
		return err
	}
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
		ID: b.ID("ingest", raw.Name), Stage: "ingest", Version: version, Config: cfg, Weight: 0.1,
		Publish: []engine.Link{{Output: "recordings.arrow", Path: b.Published("recordings.arrow")}},
		Local:   []kv.Pair{{Key: "kind of data", Value: in.Data}},
	}
	raw.Needs(read)
	read.Run = func(_ context.Context, j *engine.Job) error {
		p, err := campaign.ReadTable(raw.Path(j), o)
		if err != nil {
			return Named(err, raw.Path(j), raw.Name)
		}
		trip, recs := pairTables(p, spec, raw.Name, raw.SHA256(j))
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
		return plan.WriteJSON(j.Output(fileJSON), FileResult{Path: raw.Name, Warnings: p.Warnings})
	}
	b.Add(read)
	b.Recordings, b.Pairs = []engine.Dep{{Task: read.ID, Output: fileJSON}}, cfg
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

// pairTables makes the triplets and the index of runs of a table of pairs.
func pairTables(p *campaign.PairTable, spec *config.Table, file, sum string) (trip, recs *table.Table) {
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
	var runs []string
	var first []int
	count := map[string]int64{}
	for i, r := range p.Run {
		if count[r] == 0 {
			runs, first = append(runs, r), append(first, i)
		}
		count[r]++
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
	files, sums, pairs := make([]string, len(runs)), make([]string, len(runs)), make([]int64, len(runs))
	for i, r := range runs {
		files[i], sums[i], pairs[i] = file, sum, count[r]
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
		table.Column{Name: "pairs", Description: "rows of the table that belong to the run", Ints: pairs},
		strs("sha256", "content hash of the raw file", sums))
	return trip, recs
}
