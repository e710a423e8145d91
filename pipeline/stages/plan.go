// Package stages turns a configuration into a plan of tasks: one file a stage,
// each an adapter from configuration to the packages that do the work (ingest,
// dsp, train, report). What a task reads of the configuration is listed here,
// next to where it is used, because it is part of the task's key.
//
// No formula of the method has its home here, only units, names and what goes
// from one package to the next; when a task runs, and whether, is the engine's
// to decide.
package stages

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
)

// stage is one step of the way from raw files to the report: its name, and what
// it adds to an experiment's plan. It finds what the stages before it left in
// the builder.
type stage struct {
	name string
	plan func(*builder) error
}

// registry holds the stages in the order in which data flow through them. A new
// stage is one file with its plan function and one line here.
var registry = []stage{
	{"simulate", (*builder).simulate},
	{"ingest", (*builder).ingest},
	{"dsp", (*builder).dsp},
	{"train", (*builder).train},
	{"report", (*builder).report},
}

// Names lists the stages in the order in which data flow through them.
func Names() []string {
	out := make([]string, len(registry))
	for i, s := range registry {
		out[i] = s.name
	}
	return out
}

// Versions of the stages' code. A change here reruns the stage's tasks and
// nothing else does: raise one when the stage gives another result for the
// same input.
const (
	simulateVersion = 1
	ingestVersion   = 4  // 3: constant stretches are told; 4: recordings say how they were calibrated
	dspVersion      = 7  // 5: the background behind a line; 6: repeats pair no two microphones of one run; 7: sharp tachometer pulses
	trainVersion    = 5  // 2: card.json; 3: diagnostics.json, timing.json; 4: estimates round otherwise; 5: other points for C with five outcomes and more, _kappa
	methodVersion   = 2  // 2: estimates round otherwise
	reportVersion   = 12 // 5: directivities of every place; 6: kappa, quantiles recalibrated; 7: numbers are kept together; 8: narrower figures, quotes in Markdown; 9: Σe/ΣC among the identities; 10: the background in the spectrum's figure; 11: figures say simulated of simulated outcomes; 12: plain numbers in the flag of Σe/ΣC
)

// Program identifies the running program; it is recorded, never keyed.
type Program struct {
	Version string
	Kernels string // the numeric kernel set in use
}

// Plan lists the tasks of every experiment of f. It opens what it must to know
// them: globs, conditions tables and table headers, no samples. extra adds
// splits to the experiments they fit (report --held-out).
func Plan(f *config.File, prog Program, extra []config.Split) (*engine.Plan, []ingest.Warning, error) {
	p := &engine.Plan{Dir: f.Resolve(f.Workdir), Stages: Names()}
	var warnings []ingest.Warning
	fits := make([]bool, len(extra))
	var all []string  // every experiment's conditions
	var have []string // the experiments' conditions, for the message
	for i := range f.Experiments {
		b := &builder{f: f, e: &f.Experiments[i], prog: prog, plan: p, at: "experiments." + f.Experiments[i].Name, extra: extra}
		for _, s := range registry {
			if err := s.plan(b); err != nil {
				return nil, nil, err
			}
		}
		for k, ok := range b.extraFits {
			fits[k] = fits[k] || ok
		}
		all = append(all, b.conditions...)
		have = append(have, b.e.Name+" has "+strings.Join(b.conditions, ", "))
		for _, w := range b.warnings { // experiments on the same files say the same of them
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	if k := slices.Index(fits, false); k >= 0 {
		return nil, nil, &config.Error{File: f.Path, Text: noFit(extra[k], all, have)}
	}
	addPage(f, p)
	return p, warnings, nil
}

// noFit says that a split asked for on the command line is about no experiment.
func noFit(s config.Split, conditions, have []string) string {
	what, near := s.Test.String(), ""
	unknown := slices.Clone(s.Each)
	for _, t := range s.Test {
		unknown = append(unknown, t.Condition)
	}
	if len(s.Each) > 0 {
		what = s.Name
	}
	for _, c := range unknown {
		if slices.Contains(conditions, c) {
			continue
		}
		if n := config.Nearest(c, conditions); n != "" {
			near = fmt.Sprintf("; did you mean %q?", n)
		}
	}
	return fmt.Sprintf("hold out %s: no experiment that trains has these conditions; %s%s", what, strings.Join(have, "; "), near)
}

// builder makes the tasks of one experiment.
type builder struct {
	f         *config.File
	e         *config.Experiment
	prog      Program
	plan      *engine.Plan
	at        string           // dotted path of the experiment
	extra     []config.Split   // to be added to the experiment's splits, where they fit
	extraFits []bool           // which of them did
	warnings  []ingest.Warning // found while planning

	campaign    simulate.Campaign               // simulate: the campaign, and the files it makes
	simulated   []engine.Dep                    //
	src         *source                         // ingest: how recordings are read; nil for a table of pairs
	raw         []rawFile                       // ingest: the raw files
	beside      map[string][]config.NamedNumber // ingest: by file, the conditions in the file beside it
	perFile     []*ingest.Conditions            // ingest: the rows of the table about each of them
	backgrounds []rawFile                       // ingest: recordings of the background
	background  *engine.Dep                     // dsp: what they hold; nil without
	conditions  []string                        // ingest: names, in the order of the tables
	known       []map[string]float64            // ingest: condition values, where they are known before any file is read
	recordings  []engine.Dep                    // ingest: results per file
	pairs       []engine.KV                     // ingest: what a table of pairs was read with
}

func (b *builder) id(parts ...string) string {
	return strings.Join(append([]string{b.e.Name}, parts...), "/")
}

func (b *builder) add(t *engine.Task) *engine.Task {
	t.Experiment = b.e.Name
	b.plan.Tasks = append(b.plan.Tasks, t)
	return t
}

// settings flattens a section for a task's key.
func settings(prefix string, section any) []engine.KV {
	var out []engine.KV
	for _, kv := range config.Flatten(prefix, section) {
		out = append(out, engine.KV(kv))
	}
	return out
}

// without leaves out settings that the task does not read.
func without(kvs []engine.KV, keys ...string) []engine.KV {
	return slices.DeleteFunc(kvs, func(kv engine.KV) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return kv.Key == k || strings.HasPrefix(kv.Key, k+".") })
	})
}

// meta is the provenance every table carries. Its configuration digest covers
// what the table was made from, not the whole file.
func (b *builder) meta(sections ...[]engine.KV) []table.KV {
	m := []table.KV{
		{Key: "program", Value: "doubletake " + b.prog.Version},
		{Key: "experiment", Value: b.e.Name},
		{Key: "data", Value: b.e.Ingest.Data},
		{Key: "config_digest", Value: digest(sections...)},
	}
	seen := map[string]bool{} // sections overlap; readers keep metadata in maps
	for _, s := range sections {
		for _, kv := range s {
			if !seen[kv.Key] {
				seen[kv.Key] = true
				m = append(m, table.KV{Key: "config:" + kv.Key, Value: kv.Value})
			}
		}
	}
	return m
}

// pairs names how the experiment's pairs came about, in METHOD's words.
func pairs(e *config.Experiment) string {
	switch {
	case e.Ingest.Table != nil:
		return e.Ingest.Table.Pairs
	case e.DSP.Triplets == "table":
		return "synthetic"
	case e.DSP.Triplets == "repeats":
		return "repeat-run"
	}
	return "same-run"
}

func (b *builder) published(parts ...string) string {
	return filepath.Join(append([]string{b.e.Name}, parts...)...)
}
