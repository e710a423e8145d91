// Package plan holds what the stages share while they plan an experiment: the
// Builder, to which each stage adds its tasks and in which it leaves what later
// stages need, and the settings, digests and provenance of tasks and tables.
package plan

import (
	"path/filepath"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/derive"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
)

// Program identifies the running program; it is recorded, never keyed.
type Program struct {
	Version string
	Kernels string // the numeric kernel set in use
}

// Builder collects the tasks of one experiment. The stages run in order: each
// reads what the stages before it have set, and sets what later ones need.
type Builder struct {
	File      *config.File
	Exp       *config.Experiment // a copy of the file's, completed by the stages
	Program   Program
	Plan      *engine.Plan
	At        string                  // dotted key of the experiment in the file
	Stage     string                  // that is being planned
	Extra     []config.Split          // splits asked for on the command line
	ExtraFits []bool                  // train: which of Extra apply to this experiment
	Warnings  []ingest.Warning        // found while planning
	Shared    map[string]*engine.Task // of all experiments: tasks of several variants, by ID

	Campaign     simulate.Campaign                    // simulate: the campaign, and the files it makes
	Simulated    []engine.Dep                         //
	Construction dsp.Construction                     // ingest: how pairs are made; nil for a table of pairs
	Source       *Source                              // ingest: how recordings are read; nil for a table of pairs
	Analysers    *engine.Pool[*dsp.Analyser]          // ingest: of the spectra, for its tasks and those of dsp
	Readings     map[string]*engine.Handoff[*Reading] // ingest: by file, from its task to that of dsp
	Raw          []RawFile                            // ingest: the raw files
	Sidecars     map[string][]config.NamedNumber      // ingest: by file, the conditions in the file next to it
	PerFile      []*campaign.Conditions               // ingest: the rows of the table about each of them
	Backgrounds  []RawFile                            // ingest: recordings of the background
	Background   *engine.Dep                          // dsp: their contents; nil without
	Conditions   []string                             // ingest: names, in the order of the tables
	Found        []string                             // ingest: those of them that stage dsp finds
	Derive       *derive.Set                          // ingest: what is derived; nil: nothing
	Outcomes     []string                             // ingest: names, derived ones too; nil: not known
	// ingest: condition values, where they are known before any file is read
	Known      []map[string]float64
	Converted  map[string]string // ingest: by condition, how its unit was converted
	Recordings []engine.Dep      // ingest: results per file
	Pairs      []kv.Pair         // ingest: what a table of pairs was read with
	Table      *PairTable        // ingest: a table of pairs, of the user's
}

// PairTable is how the files of a table of pairs are read.
type PairTable struct {
	Files   []campaign.TableFile
	Options campaign.TableOptions
}

// ID is the ID of a task of the experiment. Variants of a sweep share the tasks of the
// stages before the first setting in which they differ.
func (b *Builder) ID(parts ...string) string {
	stage := parts[0]
	switch stage {
	case "recordings":
		stage = "ingest"
	case "triplets":
		stage = "dsp"
	}
	return strings.Join(append([]string{b.Exp.Owner(stage)}, parts...), "/")
}

// Add appends a task to the plan, unless another variant has added it, and returns it.
func (b *Builder) Add(t *engine.Task) *engine.Task {
	t.Experiment = b.Exp.Owner(t.Stage)
	if strings.HasPrefix(t.ID, b.Exp.Name+"/") { // of this variant alone, whatever its stage
		t.Experiment = b.Exp.Name
	}
	if b.Exp.Variant != nil {
		if o := b.Shared[t.ID]; o != nil && sameTask(o, t) {
			o.Shared = append(o.Shared, b.Exp.Name)
			return t
		}
		b.Shared[t.ID], t.Shared = t, []string{b.Exp.Name}
	}
	b.Plan.Tasks = append(b.Plan.Tasks, t)
	return t
}

// sameTask reports whether two tasks of one name read the same. Others are a fault of
// the program, which the plan's check reports.
func sameTask(a, b *engine.Task) bool {
	return a.Stage == b.Stage && a.Version == b.Version && slices.Equal(a.Config, b.Config) &&
		slices.Equal(a.Local, b.Local) && slices.Equal(a.Files, b.Files) && slices.Equal(a.Deps, b.Deps)
}

// Owns reports whether a task is the experiment's, perhaps with other variants.
func (b *Builder) Owns(t *engine.Task) bool {
	return t.Experiment == b.Exp.Name || slices.Contains(t.Shared, b.Exp.Name)
}

// Settings flattens a section of the configuration to the keys and values that
// become part of a task's key; prefix is the section's own key.
func Settings(prefix string, section any) []kv.Pair {
	return config.Flatten(prefix, section)
}

// Without removes the settings of the given keys and everything below them: a
// task's key holds only what the task reads. It changes kvs in place.
func Without(kvs []kv.Pair, keys ...string) []kv.Pair {
	return slices.DeleteFunc(kvs, func(kv kv.Pair) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return kv.Key == k || strings.HasPrefix(kv.Key, k+".") })
	})
}

// Only keeps the settings of a section whose keys are among keys, with
// everything below them. It changes kvs in place.
func Only(section string, kvs []kv.Pair, keys ...string) []kv.Pair {
	return slices.DeleteFunc(kvs, func(kv kv.Pair) bool {
		key, _, _ := strings.Cut(strings.TrimPrefix(kv.Key, section+"."), ".")
		return !slices.Contains(keys, key)
	})
}

// Meta is the provenance of a table: program, experiment, kind of data and the
// settings in sections with their digest. Settings the table does not depend on
// are left out.
func (b *Builder) Meta(sections ...[]kv.Pair) []kv.Pair {
	m := []kv.Pair{
		{Key: "program", Value: "doubletake " + b.Program.Version},
		{Key: "experiment", Value: b.Exp.Family()}, // equal trainings of variants are one
		{Key: "data", Value: b.Exp.Ingest.Data},
		{Key: "config_digest", Value: Digest(sections...)},
	}
	seen := map[string]bool{} // sections overlap; readers keep metadata in maps
	for _, s := range sections {
		for _, p := range s {
			if !seen[p.Key] {
				seen[p.Key] = true
				m = append(m, kv.Pair{Key: "config:" + p.Key, Value: p.Value})
			}
		}
	}
	return m
}

// PairKind returns the kind of the experiment's pairs: same-run, repeat-run or
// synthetic (docs/method.md#units-of-data).
func (b *Builder) PairKind() string {
	switch {
	case b.Exp.Ingest.Table != nil:
		return b.Exp.Ingest.Table.Pairs
	case b.Construction == nil:
		return "synthetic"
	case b.Construction.Describe().Repeats:
		return "repeat-run"
	}
	return "same-run"
}

// Published is the path below workdir at which a result of the stage that is being
// planned appears.
func (b *Builder) Published(parts ...string) string {
	return filepath.Join(append([]string{b.Exp.Owner(b.Stage)}, parts...)...)
}
