package slurm

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// patience is how long the first batch waits for the probe. On a full cluster
// the probe waits in the queue like any job; then every worker still compares
// for itself.
const patience = 20 * time.Second

// skewed is how far clocks may lie apart without a word.
const skewed = 5 * time.Second

// startProbe submits a job that only reports on its node, before the first real
// one.
func (e *Executor) startProbe(now time.Time) {
	if e.probe != nil {
		return
	}

	name := fmt.Sprintf("dt-probe-%s-%d", e.run, len(e.excluded))
	b := &batch{
		name: name, dir: e.Root("batches", name), stage: e.pending[0].W.Task.Stage, read: map[string]bool{},
		reported: map[string]bool{}, ready: true,
	}

	b.elements = []*element{{}}
	if err := e.write(b, true); err != nil {
		e.fatal, e.probed = err, true
		return
	}

	e.probe, e.probeFrom = b, now
	e.sbatch(b)
}

// answer looks for the probe's answer.
func (e *Executor) answer(now time.Time) {
	b := e.probe
	if b.ready {
		if !e.calling && !now.Before(b.retryAt) {
			e.sbatch(b)
		}
		return
	}

	js, err := os.ReadFile(filepath.Join(b.dir, "probe.json"))

	el := b.elements[0]
	switch {
	case err == nil:
		var a Answer
		if json.Unmarshal(js, &a) != nil {
			return
		}

		e.least = 5 * a.Seconds // a start is at most a sixth of a job
		switch {
		case a.Error != "":
			e.fatal = fmt.Errorf("probe the nodes: on node %s: %s", a.Node, a.Error)
		default:
			if err := disagree(e.o.Facts, a.Facts, a.Node); err != nil {
				e.fatal = fmt.Errorf("probe the nodes: %w", err)
			}
		}

		early, late := b.submitted.Add(-skewed), now.Add(skewed)
		if a.Now.Before(early) || a.Now.After(late) {
			e.o.Notify(fmt.Sprintf("the clock of node %s differs: it was %s there when it was %s here; results do not depend "+
				"on it, times in manifests do", a.Node, a.Now.UTC().Format(time.TimeOnly), now.UTC().Format(time.TimeOnly)))
		}

		e.endProbe()

	case !el.over.IsZero() && now.Sub(el.over) > e.o.Settle:
		log := filepath.Join(b.dir, "log", "0.log")
		if _, end := verdict(el.state, el.reason, "", Tail(log, 8)); end.launch && el.node != "" &&
			len(e.excluded) < mostLaunches && !slices.Contains(e.excluded, el.node) {
			e.exclude(el.node)
			e.endProbe()
			e.probed = false // by another node

			return
		}

		e.fatal = fmt.Errorf("probe the nodes: the probe job %s ended %s on %s and left no answer; can the nodes run %s, "+
			"and do they see %s? its log ends with:\n    %s", b.job, el.state, el.node, e.Root("bin"), b.dir, Tail(log, 8))
		e.endProbe()

	case now.Sub(e.probeFrom) > patience && !e.probed:
		e.probed = true // go on; a late report still counts
	}
}

func (e *Executor) endProbe() {
	e.probed = true
	if e.probe != nil {
		b := e.probe
		e.probe = nil
		e.forget(b)
	}
}
