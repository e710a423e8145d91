// Package plan holds what the stages share while they plan an experiment: the
// Experiment, the Columns that its tables will have, and the settings, digests and
// provenance of tasks and tables. What one stage leaves to the next is the Result of
// that stage's package.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/train/holdout"
)

// Program identifies the running program; it is recorded, never keyed.
type Program struct {
	Version string
	Kernels string // the numeric kernel set in use
}

// Experiment is the experiment that is planned. Every stage is given a copy, and
// changes it for no other stage.
type Experiment struct {
	config.Experiment              // its settings
	File              *config.File // that they were read from
	At                string       // dotted key of the experiment in the file
	Program           Program
	Tasks             *Tasks         // to which its stages add theirs
	Asked             []config.Split // in addition to its own: those of the command line

	index int // in the file
}

// Mentions reports whether a setting of the experiment has the name of a condition as a word.
func (e Experiment) Mentions(condition string) bool {
	const other = `[^_\pL\p{Nd}]`
	word := regexp.MustCompile(`(?:^|` + other + `)` + regexp.QuoteMeta(condition) + `(?:$|` + other + `)`)

	return slices.ContainsFunc(config.Flatten("", e.Experiment), func(kv kv.Pair) bool {
		return word.MatchString(kv.Key + " " + kv.Value)
	})
}

// NewExperiment returns experiment k of a file, to be planned.
func NewExperiment(f *config.File, k int, p Program, tasks *Tasks) Experiment {
	e := f.Experiments[k]
	return Experiment{Experiment: e, File: f, At: "experiments." + e.Name, Program: p, Tasks: tasks, index: k}
}

// Tasks are those of all experiments of a file.
type Tasks struct {
	Plan   *engine.Plan
	shared map[string]*engine.Task // tasks of several variants, by ID
}

// NewTasks returns the tasks of a plan that experiments are added to.
func NewTasks(p *engine.Plan) *Tasks { return &Tasks{Plan: p, shared: map[string]*engine.Task{}} }

// ID is the ID of a task of the experiment. Variants of a sweep share the tasks of the
// stages before the first setting in which they differ.
func (e *Experiment) ID(parts ...string) string {
	of := map[string]string{"recordings": "ingest", "triplets": "dsp"}

	return strings.Join(append([]string{e.Owner(cmp.Or(of[parts[0]], parts[0]))}, parts...), "/")
}

// Published is the path below workdir at which a result of a stage appears.
func (e *Experiment) Published(stage string, parts ...string) string {
	return filepath.Join(append([]string{e.Owner(stage)}, parts...)...)
}

// Add appends a task to the plan, unless another variant has added it, and returns it.
func (e *Experiment) Add(t *engine.Task) *engine.Task {
	t.Experiment = e.Owner(t.Stage)
	if strings.HasPrefix(t.ID, e.Name+"/") { // of this variant alone, whatever its stage
		t.Experiment = e.Name
	}

	if e.Variant != nil {
		if o := e.Tasks.shared[t.ID]; o != nil && sameTask(o, t) {
			o.Shared = append(o.Shared, e.Name)
			return t
		}

		e.Tasks.shared[t.ID], t.Shared = t, []string{e.Name}
	}

	e.Tasks.Plan.Tasks = append(e.Tasks.Plan.Tasks, t)

	return t
}

// sameTask reports whether two tasks of one name read the same. Others are a fault of
// the program, which the plan's check reports.
func sameTask(a, b *engine.Task) bool {
	return a.Stage == b.Stage && a.Version == b.Version && slices.Equal(a.Config, b.Config) &&
		slices.Equal(a.Local, b.Local) && slices.Equal(a.Files, b.Files) && slices.Equal(a.Deps, b.Deps)
}

// Errorf is an error about a key of the experiment, such as "ingest.files".
func (e *Experiment) Errorf(key, format string, args ...any) *config.Error {
	return e.File.Errorf(e.At+"."+key, format, args...)
}

// Refuse raises an error about a key of the experiment, if it is one.
func (e *Experiment) Refuse(is bool, key, format string, args ...any) {
	if is {
		fault.Raise(e.Errorf(key, format, args...))
	}
}

// OneOf raises an error about a name that a key of the experiment gives, unless it is one of those that there are.
func (e *Experiment) OneOf(have []string, name, key, what string) {
	e.Refuse(!slices.Contains(have, name), key, "%q "+what+" %v%s", name, have, spelling.DidYouMean(name, have))
}

// Roles are the columns that the experiment names for what they are: also what its splits, those asked
// for and its variants' hold out, their groups and inputs, and what expressions name.
func (e *Experiment) Roles() condition.Roles {
	r := condition.Roles{Run: e.Ingest.Run, Things: e.Ingest.Things, Occasions: e.Ingest.Occasions}
	if across, _ := e.Across(); across != "" {
		r.Occasions = append(slices.Clone(r.Occasions), across)
	}

	splits := slices.Clone(e.Asked)
	family := e.File.Experiments // or itself: files may have thousands of experiments
	if e.Variant == nil {
		family = family[e.index : e.index+1]
	}

	for i := range family {
		if o := &family[i]; o.Family() == e.Family() {
			splits, r.Groups = append(splits, o.Train.Splits...), append(r.Groups, o.Train.Honest.Groups)
			r.Groups = append(r.Groups, o.Train.Inputs...)
			if o.Ingest.Table != nil {
				r.Groups = append(r.Groups, o.Ingest.Table.Inputs...)
			}
		}
	}

	for _, s := range splits {
		r.Groups = slices.Concat(r.Groups, s.Each, cmp.Or(s.Test, holdout.Nothing).Conditions())
	}

	for _, d := range e.Ingest.Derive {
		r.Groups = append(r.Groups, derive.Mentioned(d.Value)...)
	}

	return r
}

// Meta is the provenance of a table: program, experiment, kind of data and the
// settings in sections with their digest. Settings the table does not depend on
// are left out.
func (e *Experiment) Meta(sections ...[]kv.Pair) []kv.Pair {
	m := []kv.Pair{
		{Key: "program", Value: "doubletake " + e.Program.Version},
		{Key: "experiment", Value: e.Family()}, // equal trainings of variants are one
		{Key: "data", Value: e.Ingest.Data},
		{Key: "config_digest", Value: Digest(sections...)},
	}

	seen := map[string]bool{} // sections overlap; readers keep metadata in maps
	for _, p := range slices.Concat(sections...) {
		if !seen[p.Key] {
			seen[p.Key] = true
			m = append(m, kv.Pair{Key: "config:" + p.Key, Value: p.Value})
		}
	}

	return m
}

// Stated are the facts of a table's metadata, for the key of the task that writes it. The program's version is
// recorded and never keyed; the digest is that of the settings.
func Stated(meta []kv.Pair) []kv.Pair {
	keyed := lists.Keep(meta, func(p kv.Pair) bool { return p.Key != "program" && p.Key != "config_digest" })
	return lists.Each(keyed, func(p kv.Pair) kv.Pair {
		return kv.Pair{Key: strings.TrimPrefix(p.Key, "config:"), Value: p.Value}
	})
}

// Settings flattens a section of the configuration to the keys and values that
// become part of a task's key; prefix is the section's own key.
func Settings(prefix string, section any) []kv.Pair {
	return config.Flatten(prefix, section)
}

// Only keeps the settings of a section whose keys are among keys, with
// everything below them. It changes kvs in place.
func Only(section string, kvs []kv.Pair, keys ...string) []kv.Pair {
	return slices.DeleteFunc(kvs, func(kv kv.Pair) bool {
		key, _, _ := strings.Cut(strings.TrimPrefix(kv.Key, section+"."), ".")
		return !slices.Contains(keys, key)
	})
}

// Digest is the SHA-256, as hex, of the settings in order.
func Digest(sections ...[]kv.Pair) string {
	h := sha256.New()
	for _, kv := range slices.Concat(sections...) {
		fmt.Fprintf(h, "%d:%s%d:%s", len(kv.Key), kv.Key, len(kv.Value), kv.Value)
	}

	return hex.EncodeToString(h.Sum(nil))
}

// SeedOf derives a seed from the experiment's seed and a run's name.
func SeedOf(seed uint64, purpose, run string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatUint(seed, 10) + "\x00" + purpose + "\x00" + run))
	return h.Sum64()
}

// manyFiles is the number of files from which joins are made in shards.
const manyFiles = 512

// Shards cuts many files into runs of consecutive ones, of about √n files: tasks of their own
// join these, so that a file more changes one small join, and the whole one reads few parts. A name
// alone decides whether a shard begins with it: the others stay when files come or go. Few
// files are no shards: nil.
func Shards(names []string) (ranges [][2]int) {
	if len(names) < manyFiles {
		return nil
	}

	mean := uint32(1) // a power of two: the same over a wide range of n
	for mean*mean < uint32(len(names)) {
		mean *= 2
	}

	from := 0
	for i, name := range names {
		sum := sha256.Sum256([]byte(name))
		if begins := binary.LittleEndian.Uint32(sum[:])%mean == 0; begins && i > 0 {
			ranges = append(ranges, [2]int{from, i})
			from = i
		}
	}

	return append(ranges, [2]int{from, len(names)})
}

// RawFile is one raw file of an experiment. Exactly one of File (on disk) and Dep
// (made by a task) is set.
type RawFile struct {
	Name string // as in the conditions table and in IDs
	File *engine.File
	Dep  *engine.Dep
}

// OnDisk is a file of the experiment's folder.
func (e Experiment) OnDisk(name string) RawFile {
	slash := filepath.ToSlash(name)
	return RawFile{Name: slash, File: &engine.File{Path: slash, Open: e.File.Resolve(name)}}
}

// Named is a file that the configuration names, or raises the error of one that is not there.
func (e Experiment) Named(name string) RawFile {
	f := e.OnDisk(name)
	if _, err := fault.Regular(f.File.Open); err != nil {
		fault.Raise(ingest.PathError(f.File.Open, err))
	}

	return f
}

// Needs adds the file to what a task depends on.
func (r RawFile) Needs(t *engine.Task) {
	if r.File != nil {
		t.Files = append(t.Files, *r.File)
	} else {
		t.Deps = append(t.Deps, *r.Dep)
	}
}

// Path is where a running task opens the file.
func (r RawFile) Path(j *engine.Job) string {
	if r.File != nil {
		return r.File.Open
	}
	return j.Input(r.Dep.Task, r.Dep.Output)
}

// Held returns the contents if they are in memory, or nil: see engine.Job.Held.
func (r RawFile) Held(j *engine.Job) []byte {
	if r.File != nil {
		return j.Held(r.File.Path)
	}
	return nil
}

// SHA256 is the hex digest of the contents.
func (r RawFile) SHA256(j *engine.Job) string {
	if r.File != nil {
		return j.FileDigest(r.File.Path)
	}
	return j.InputDigest(r.Dep.Task, r.Dep.Output)
}

// Source states how the recordings of an experiment are read, and which pairs are made of them.
type Source struct {
	Columns                                      // of the tables
	In           config.Ingest                   // the settings, with what the campaign states
	Roles        condition.Roles                 // of its columns
	DSP          config.DSP                      // the settings of the construction
	Construction dsp.Construction                // how pairs are made
	Table        *campaign.Conditions            // the table of conditions; nil without one
	Pattern      *campaign.Pattern               // of the files' names; nil without one
	Chains       map[string][]config.NamedNumber // gains and sensitivities of channels, by name
	Grouping     campaign.Grouping               //
	Options      ingest.Options                  //
	Reader       []kv.Pair                       // the program that reads the files: part of the keys of their tasks
	Settings     []kv.Pair                       // settings that are part of the key of a file's task
	Calibrator   *engine.Dep                     // the sensitivities by a calibrator; nil without one
	Convert      map[string]units.Named          // of conditions that no table holds, to the units of their names
	Forces       bool                            // the balance's columns are forces, not voltages
	Matrix       *dsp.LoadMatrix                 // of the balance; nil without one
}
