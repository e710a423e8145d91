package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/watch"
)

// ProgressFile is the page of a run's progress, in the work directory.
const ProgressFile = "progress.html"

// progressEvery is the time between two writings of the page at least. A variable for
// tests.
var progressEvery = 10 * time.Second

// Words writes a duration as a reader needs it: 14 s, 3 min, 2 h 10 min.
func Words(d time.Duration) string { return watch.Words(d) }

// Serve shows the work directory of the configuration at path, or the work directory
// path itself, to browsers until ctx ends. It listens on address, like "127.0.0.1:0"
// for any free port, and calls ready when it does, with the page's address and those by
// which other machines reach it.
func Serve(ctx context.Context, path, address string, ready func(url string, others []string, port int)) error {
	dir, err := runs.Workdir(path)
	if err != nil {
		return err
	}

	s, err := watch.Listen(dir, address)
	if err != nil {
		return err
	}

	ready(s.URL(), s.Others(), s.Port())

	return s.Serve(ctx)
}

// keepPage writes the page of the progress while a run is at work: for the first time
// when it has lasted a while, and once more at the end where there is a page. What
// goes wrong with it is of no consequence for the run.
func (p *Project) keepPage() (stop func(made bool)) {
	quit, done := make(chan struct{}), make(chan struct{})
	w := watch.New(p.Plan.Dir)
	at := filepath.Join(p.Plan.Dir, ProgressFile)
	write := func() (pause time.Duration) {
		now := time.Now()
		w.Refresh(now)

		// Aside in the cache, so that a kill leaves nothing among the results.
		tmp := filepath.Join(p.Plan.Dir, engine.JournalDir, ProgressFile)
		if engine.WriteFile(tmp, w.Page(now, progressEvery)) == nil {
			_ = os.Rename(tmp, at)
		}

		return max(progressEvery, watch.ShareOfTime*time.Since(now))
	}

	go func() {
		defer close(done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()

		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				tick.Reset(write())
			}
		}
	}()

	return func(made bool) {
		close(quit)
		<-done

		if _, err := os.Stat(at); err == nil && made {
			write()
		}
	}
}
