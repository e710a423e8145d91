package stages

import (
	"context"
	"fmt"
	"path/filepath"

	"doubletake/ingest"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
)

// readPairs adds the task of an experiment whose pairs are already made: a
// table of the user's, or the simulated toy.
func (b *builder) readPairs() error {
	if b.e.Ingest.Table != nil {
		b.simulatedByName([]string{filepath.ToSlash(b.e.Ingest.Table.File)})
	}
	in := b.e.Ingest
	spec := in.Table
	var raw rawFile
	if in.Simulate != nil {
		raw = rawFile{name: b.simulated[0].Output, dep: &b.simulated[0]}
		spec = &config.Table{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}, Pairs: "synthetic"}
		b.conditions = []string{"x"}
		if _, ok := b.campaign.(simulate.Toy); !ok {
			return fmt.Errorf("plan table: the %s campaign makes recordings, not pairs", b.campaign.Kind())
		}
	} else {
		raw = rawFile{name: filepath.ToSlash(spec.File), file: &engine.File{Path: filepath.ToSlash(spec.File), Open: b.f.Resolve(spec.File)}}
		o, err := ingest.ResolveTable(raw.file.Open, tableOptions(in, spec))
		if err != nil {
			return named(err, raw.file.Open, raw.name)
		}
		resolved := *spec
		resolved.Inputs, resolved.Y1, resolved.Y2, resolved.Repeats = o.Inputs, o.Y1, o.Y2, o.Repeats
		spec, b.conditions = &resolved, o.Inputs
	}
	cfg := settings("ingest", struct {
		Table *config.Table `key:"table"`
		Text  config.Text   `key:"text"`
	}{spec, in.Text})
	read := &engine.Task{
		ID: b.id("ingest", raw.name), Stage: "ingest", Version: ingestVersion, Config: cfg, Weight: 0.1,
		Publish: []engine.Link{{Output: "recordings.arrow", Path: b.published("recordings.arrow")}},
		Local:   []engine.KV{{Key: "kind of data", Value: in.Data}},
	}
	raw.needs(read)
	read.Run = func(_ context.Context, j *engine.Job) error {
		p, err := ingest.ReadTable(raw.path(j), tableOptions(in, spec))
		if err != nil {
			return named(err, raw.path(j), raw.name)
		}
		trip, recs := pairTables(p, spec, raw.name, raw.sha256(j))
		recs.Meta = b.meta(cfg)
		dg, err := recs.WriteFile(j.Output("recordings.arrow"))
		if err != nil {
			return err
		}
		j.SetDigest("recordings.arrow", dg)
		if dg, err = trip.WriteFile(j.Output("pairs.arrow")); err != nil {
			return err
		}
		j.SetDigest("pairs.arrow", dg)
		return writeJSON(j.Output(fileJSON), fileResult{Path: raw.name, Warnings: p.Warnings})
	}
	b.add(read)
	b.recordings, b.pairs = []engine.Dep{{Task: read.ID, Output: fileJSON}}, cfg
	return nil
}

// takePairs adds the task that makes triplets.arrow of pairs that were read.
func (b *builder) takePairs() error {
	cfg, read := b.pairs, b.recordings[0].Task
	dcfg := settings("dsp", struct {
		Triplets string `key:"triplets"`
		Couples  bool   `key:"couples"`
	}{b.e.DSP.Triplets, b.e.DSP.Couples})
	meta := append(b.meta(cfg, dcfg), table.KV{Key: "pairs", Value: pairs(b.e)}, table.KV{Key: "construction", Value: "table"})
	b.add(&engine.Task{
		ID: b.id("triplets"), Stage: "dsp", Version: dspVersion, Config: dcfg, Weight: 0.1,
		Local:   []engine.KV{{Key: "pairs", Value: pairs(b.e)}},
		Deps:    []engine.Dep{{Task: read, Output: "pairs.arrow"}},
		Publish: []engine.Link{{Output: "triplets.arrow", Path: b.published("triplets.arrow")}},
		Run: func(_ context.Context, j *engine.Job) error {
			t, err := table.Read(j.Input(read, "pairs.arrow"))
			if err != nil {
				return err
			}
			if b.e.DSP.Couples {
				couple(t)
			}
			t.Meta = meta
			dg, err := t.WriteFile(j.Output("triplets.arrow"))
			if err != nil {
				return err
			}
			j.SetDigest("triplets.arrow", dg)
			return writeJSON(j.Output(notesJSON), []fileNotes{})
		},
	})
	return nil
}

func tableOptions(in config.Ingest, t *config.Table) ingest.TableOptions {
	return ingest.TableOptions{
		Text:   ingest.TextOptions{Delimiter: in.Text.Delimiter, Columns: in.Text.Columns, Time: in.Text.Time},
		Inputs: t.Inputs, Y1: t.Y1, Y2: t.Y2, Repeats: t.Repeats, Outcomes: t.Outcomes, Run: t.Run,
	}
}

// pairTables makes the triplets and the index of runs of a table of pairs.
func pairTables(p *ingest.PairTable, spec *config.Table, file, sum string) (trip, recs *table.Table) {
	unit := func(name string) string {
		if u, ok := config.Find(spec.Units, name); ok {
			return u
		}
		return p.Units[name]
	}
	trip, recs = &table.Table{}, &table.Table{}
	strs := func(name, doc string, v []string) table.Column {
		return table.Column{Name: name, Description: doc, Strings: v}
	}
	recording := make([]string, p.N)
	for i := range recording {
		recording[i] = p.Run[i]
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
		u, doc := unitOf(name)
		if v := unit(name); v != "" {
			u = v
		}
		c := table.Column{Name: name, Unit: u, Description: doc}
		c.Floats = pick(p.X, len(p.Inputs), k, all)
		trip.Columns = append(trip.Columns, c)
		c.Floats = pick(p.X, len(p.Inputs), k, first)
		recs.Columns = append(recs.Columns, c)
	}
	for k, name := range p.Outcomes {
		trip.Columns = append(trip.Columns,
			table.Column{Name: name + "_1", Unit: unit(name), Description: "first outcome", Floats: pick(p.Y1, len(p.Outcomes), k, all)},
			table.Column{Name: name + "_2", Unit: unit(name), Description: "second outcome, independent of the first given the run", Floats: pick(p.Y2, len(p.Outcomes), k, all)})
	}
	recs.Columns = append(recs.Columns, strs("file", "raw file", files),
		table.Column{Name: "pairs", Description: "rows of the table that belong to the run", Ints: pairs},
		strs("sha256", "content hash of the raw file", sums))
	return trip, recs
}
