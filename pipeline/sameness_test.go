package pipeline_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever the edits of keys, files and names, and whatever the harms (kills of runs, damage of the cache, links), a
// run gives byte for byte what a run in a fresh work directory gives, or the same error. The edits are the same in each
// run of the test, so that a change of the program is the only cause of a failure. DOUBLETAKE_LONG=1 takes more steps,
// DOUBLETAKE_STEPS the number of steps that it gives. To search for faults, give other seeds by DOUBLETAKE_SEED.
func TestSameness(t *testing.T) {
	steps, seed := samenessSettings(t)
	t.Logf("DOUBLETAKE_SEED=%d, %d steps", seed, steps)

	const mostFaults, mostEdits = 8, 25
	rng := rand.New(rand.NewPCG(seed, 54))
	done := map[string]int{} // edits by kind, and configurations that were refused or failed
	faults := 0

	var p *editedProject
	for step := 0; step < steps && faults < mostFaults; step++ {
		if p == nil || len(p.log) > mostEdits {
			p = newEditedProject(t, rng, slices.Sorted(maps.Keys(projects))[rng.IntN(len(projects))])
		}

		before := p.saveConfig(t)
		what := p.edit(t)
		p.saveConfig(t)
		if harm := p.harm(t); harm != "" {
			what += "; " + harm
		}

		p.log = append(p.log, what)
		kind, _, _ := strings.Cut(what, " ")

		cached, fresh := p.runTwice(t)
		switch {
		case cached.refused:
			done["refused"]++
			p.readConfig(t, before)

		case !cached.equal(fresh):
			done[kind]++
			faults++
			assert.Fail(t, "the run differs from a fresh one", "step %d: %s\nafter %s", step, cached.difference(fresh),
				strings.Join(p.log, "\n      "))
			p = nil

		default:
			done[kind]++

			// Edits of a project that fails show little, so that most are taken back.
			if cached.failure != "" && rng.IntN(4) > 0 {
				done["failed"]++
				p.readConfig(t, before)
			}
		}
	}

	t.Logf("%v", done)
}

// samenessSettings returns the number of steps and the seed of TestSameness.
func samenessSettings(t *testing.T) (steps int, seed uint64) {
	t.Helper()

	steps = longtest.Count(15, 2000)
	seed = 54

	var err error
	if s := os.Getenv("DOUBLETAKE_STEPS"); s != "" {
		steps, err = strconv.Atoi(s)
		require.NoError(t, err)
	}

	if s := os.Getenv("DOUBLETAKE_SEED"); s != "" {
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}

	return steps, seed
}

// editsInTurn are edits of one key, as people make them, by kind of project. If there is a |, one edit of the key
// follows the other.
var editsInTurn = map[string][]string{
	"table": {
		"ingest.within {b: 0.25}", "ingest.table.file data/t*.csv", "ingest.uncertainty {p: u 0.2}",
		"ingest.derive {c: a*2} | ingest.derive {c: 2*a} | ingest.derive {c: a + a}",
		"ingest.exclude [data/t3.csv] | ingest.exclude [data/t3.csv, data/t4.csv] | ingest.exclude [data/t3*, data/t4*]",
		"ingest.text.columns [a, b, p1, p2, q1, q2, thing]", "ingest.table.units {p: N} | ingest.table.units {p: kN}",
		"train.splits {t: {test: {a: 1}}}", "about {description: words} | about {description: other words}",
	},
	"force": {
		"ingest.files data/force*.csv", "ingest.truncated use", "ingest.format text", "ingest.units {drag_n: N}",
		"ingest.columns {lift_n: Fx, drag_n: Fz}",
		"ingest.uncertainty {chord_m: u 0.001} | ingest.uncertainty {chord_m: u 0.002}",
		"ingest.derive {c: n*2} | ingest.derive {c: 2*n}", "train.splits {t: {test: {alpha_deg: 2}}}",
		"ingest.within {alpha_deg: 0.2} | ingest.within {alpha_deg: 0.25}", "ingest.exclude data/*a4_n1*",
	},
	"sound": {
		"ingest.files data/r*.wav", "ingest.truncated use", "ingest.format wav", "ingest.channels [1]",
		"ingest.exclude data/r5.wav | ingest.exclude [data/r5*]", "train.splits {t: {test: {rpm: 4000}}}",
		"ingest.derive {c: rpm/60} | ingest.derive {c: rpm / 60}", "dsp.within {rpm: 10} | dsp.within {rpm: 20}",
	},
}

// newCachedProject returns a new project whose run succeeds and has filled its cache, and its configuration. stream is
// the stream of its random numbers.
func newCachedProject(t *testing.T, kind string, stream uint64) (p *editedProject, config []byte) {
	t.Helper()

	p = newEditedProject(t, rand.New(rand.NewPCG(54, stream)), kind)
	if kind == "force" {
		p.setKey("e", "ingest.constants", map[string]any{"u_inf_m_s": 10})
	}

	config = p.saveConfig(t)
	cached, fresh := p.runTwice(t)
	require.Empty(t, cached.failure, "%s as it is", kind)
	require.Empty(t, cached.difference(fresh), "%s as it is", kind)

	return p, config
}

// runEdited sets a key, and runs the project with its cache and in a fresh work directory. Both must give the same.
func (p *editedProject) runEdited(t *testing.T, edit string) projectRun {
	t.Helper()

	path, value := parseEdit(t, edit)
	p.setKey("e", path, value)
	p.saveConfig(t)

	cached, fresh := p.runTwice(t)
	assert.Empty(t, cached.difference(fresh), "%s, %s", p.kind, edit)

	return fresh
}

// After each of these edits a run succeeds and gives byte for byte what a run in a fresh work directory gives.
func TestEdits(t *testing.T) {
	longtest.Skip(t, "runs three projects 100 times")

	for kind, list := range editsInTurn {
		p, original := newCachedProject(t, kind, 1)
		for _, sequence := range list {
			for _, edit := range strings.Split(sequence, " | ") {
				assert.Empty(t, p.runEdited(t, edit).failure, "%s, %s", kind, edit)
			}

			p.readConfig(t, original)
		}
	}
}

// failingEdits are edits after which a run fails, by kind of project.
var failingEdits = map[string][]string{
	"toy":   {"ingest.run A"},
	"table": {"ingest.run nothing", "ingest.table.run nothing", "ingest.table.repeats [nothing]"},
	"force": {"ingest.run A", "ingest.columns {lift_n: A}", "ingest.within {A: 0.2}"},
	"sound": {"ingest.run A", "ingest.conditions nothing.csv"},
}

// After each of these edits a run that has a cache fails with the error of a run in a fresh work directory.
func TestFailingEdits(t *testing.T) {
	for kind, edits := range failingEdits {
		p, original := newCachedProject(t, kind, 2)
		for _, edit := range edits {
			assert.NotEmpty(t, p.runEdited(t, edit).failure, "%s, %s", kind, edit)
			p.readConfig(t, original)
		}
	}
}

// projectRun is the outcome of a run.
type projectRun struct {
	results map[string]string // content of the files of results, by name
	failure string            // the error; "" if there is none
	refused bool              // the configuration was refused, and nothing ran
}

// run runs the project.
func (p *editedProject) run(t *testing.T) projectRun {
	t.Helper()

	project, err := pipeline.Load(filepath.Join(p.dir, "pipeline.yaml"))
	if err != nil {
		return projectRun{failure: err.Error(), refused: true}
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	result, err := project.Run(ctx, pipeline.Options{Jobs: 2, KeepGoing: true})
	if err != nil {
		return projectRun{failure: err.Error()}
	}

	for experiment := range p.experiments() {
		require.DirExists(t, filepath.Join(p.work(), experiment))
		delete(p.unlisted, experiment) // the run has listed its files
	}

	return projectRun{results: p.results(t, result.Foreign)}
}

// results returns the content of all files in the work directory, by name, except the cache and its lock. It leaves out
// the folders of former experiments: those that the run has named, and those of which the list was lost.
func (p *editedProject) results(t *testing.T, former []string) map[string]string {
	t.Helper()

	work, err := filepath.EvalSymlinks(p.work())
	require.NoError(t, err)

	results := map[string]string{}
	for _, path := range filesBelow(work) {
		name, err := filepath.Rel(work, path)
		require.NoError(t, err)

		top, _, below := strings.Cut(filepath.ToSlash(name), "/")
		_, isPresent := p.experiments()[top]
		isLost := below && p.unlisted[top] && !isPresent
		if top != ".cache" && top != ".lock" && !isLost && !slices.Contains(former, top) {
			results[name] = string(testfile.Read(t, path))
		}
	}

	return results
}

// runTwice runs the project in its work directory and in a fresh one, which is removed afterwards. If the configuration
// is refused, it does so once.
func (p *editedProject) runTwice(t *testing.T) (cached, fresh projectRun) {
	t.Helper()

	cached = p.run(t)
	if cached.refused {
		return cached, cached
	}

	work := filepath.Join(p.dir, "runs")
	aside := filepath.Join(p.dir, "aside")
	require.NoError(t, os.Rename(work, aside))

	fresh = p.run(t)

	require.NoError(t, os.RemoveAll(work))
	require.NoError(t, os.Rename(aside, work))

	return cached, fresh
}

// equal reports whether two runs have the same results, or fail with the same error.
func (r projectRun) equal(other projectRun) bool {
	return r.failure == other.failure && maps.Equal(r.results, other.results)
}

// difference describes how a run differs from the expected one; "" if it does not. It names up to six files.
func (r projectRun) difference(want projectRun) string {
	if r.equal(want) {
		return ""
	}

	if r.failure != want.failure {
		return fmt.Sprintf("error %q, expected %q", r.failure, want.failure)
	}

	var lines []string
	for name, content := range want.results {
		found, ok := r.results[name]
		switch {
		case !ok:
			lines = append(lines, name+" is missing")
		case found != content:
			lines = append(lines, name+": "+firstDifference(found, content))
		}
	}

	for name := range r.results {
		if _, ok := want.results[name]; !ok {
			lines = append(lines, name+" stays")
		}
	}

	slices.Sort(lines)

	return strings.Join(lines[:min(len(lines), 6)], "\n   ")
}

// firstDifference returns two texts about the place where they begin to differ.
func firstDifference(found, want string) string {
	place := 0
	for place < min(len(found), len(want)) && found[place] == want[place] {
		place++
	}

	around := func(text string) string {
		part := text[max(place-60, 0):min(place+60, len(text))]
		return strings.ToValidUTF8(part, "")
	}

	return fmt.Sprintf("%q, expected %q", around(found), around(want))
}
