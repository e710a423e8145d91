package slurm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline/engine"
)

// Close ends the executor. Of a run that was interrupted the jobs stay in the
// queue, for the next run to find, unless Cancel is called within a moment. Of
// others nothing stays but what another selection of an earlier run asked for.
func (e *Executor) Close() error {
	defer e.j.f.Close()
	inHand := make(chan int, 1)
	e.post(func() {
		n := 0
		for _, b := range e.batches {
			n += b.left()
		}

		inHand <- n
	})

	n := <-inHand
	interrupted := e.Ctx.Err() != nil

	cancelled := false
	if interrupted && n > 0 {
		e.o.Notify(fmt.Sprintf("interrupted; %d jobs stay in the queue or go on, and the next run waits for them; "+
			"interrupt again within %s, or run pipeline cancel, to cancel them", n, e.o.Linger))

		select {
		case <-e.cancel:
			cancelled = true
		case <-time.After(e.o.Linger):
		}
	}

	// An sbatch that is under way has an end; its job is then known.
	for end := time.Now().Add(commandTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		busy := make(chan bool, 1)
		e.post(func() { busy <- e.calling })

		if !<-busy {
			break
		}
	}

	close(e.quit)
	<-e.gone

	if e.probe != nil {
		_, _ = call(context.Background(), "", "scancel", "--name="+e.probe.name)
		e.forget(e.probe)
	}

	if cancelled {
		_, err := cancelOpen(e.S.Cache())
		e.batches = nil
		return err
	}

	if interrupted {
		return nil
	}

	var kept bool

	var vain []string
	for _, b := range slices.Clone(e.batches) {
		stays := false
		for _, el := range b.elements {
			if el.closed || el.stopped {
				continue
			}

			// Asked for by an earlier run, still right, and not this run's business.
			stays = stays || slices.ContainsFunc(el.specs, func(s engine.Spec) bool {
				_, mine := e.handled[s.Key]
				return !mine && e.S.Current[s.Task] == s.Key && !e.S.Sealed(s.Key)
			})
		}

		if stays {
			kept = true
			continue
		}

		if slices.ContainsFunc(b.elements, func(el *element) bool { return !el.closed && el.over.IsZero() }) && b.job != "" {
			vain = append(vain, b.job)
		}

		e.forget(b)
	}

	if len(vain) > 0 {
		_, _ = call(context.Background(), "", "scancel", append([]string{"--state=PENDING"}, vain...)...)
	}

	if kept {
		return nil
	}

	// Nothing is in hand: attempts are counted anew, and what killed workers left goes.
	if err := os.Remove(e.Root("journal")); err != nil {
		return fmt.Errorf("end journal: %w", err)
	}

	for _, n := range list(e.S.Cache("work")) {
		key, _, _ := strings.Cut(n, "-")
		if _, mine := e.handled[key]; mine {
			os.RemoveAll(e.S.Cache("work", n))
		}
	}

	os.Remove(e.S.Cache("work"))

	return nil
}

// Cancel cancels every job that a run in this work directory has submitted and
// that is not ended, whether its driver lives or not; it returns how many there
// were. A living driver sees them cancelled and ends; a later run starts anew.
func Cancel(workdir string) (int, error) { return cancelOpen(filepath.Join(workdir, ".cache")) }

func cancelOpen(cache string) (int, error) {
	dir, err := filepath.Abs(filepath.Join(cache, "slurm"))
	if err != nil {
		return 0, fmt.Errorf("find journal: %w", err)
	}

	m, err := readJournal(filepath.Join(dir, "journal"))
	if err != nil || len(m.open) == 0 {
		return 0, err
	}

	names := make([]string, len(m.open))
	for i, o := range m.open {
		names[i] = o.name
	}

	rows, err := squeue(context.Background(), names)
	if err != nil {
		return 0, fmt.Errorf("cancel jobs: %w", err)
	}

	n := 0

	var jobs []string
	for _, r := range rows {
		if !ended(r.state) && r.state != "COMPLETING" {
			n++
			if !slices.Contains(jobs, r.job) {
				jobs = append(jobs, r.job)
			}
		}
	}

	if n > 0 {
		if _, err := call(context.Background(), "", "scancel", jobs...); err != nil {
			return 0, fmt.Errorf("cancel jobs: %w", err)
		}
	}

	return n, nil
}
