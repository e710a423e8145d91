package pipeline

import (
	"context"
	"time"

	"doubletake/ingest/fault"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/watch"
)

// Words writes a duration as a reader needs it: 14 s, 3 min, 2 h 10 min.
func Words(d time.Duration) string { return watch.Words(d) }

// Serve shows the work directory of the configuration at path, or the work directory
// path itself, to browsers until ctx ends. It listens on address, like "127.0.0.1:0"
// for any free port, and calls ready when it does, with the page's address.
func Serve(ctx context.Context, path, address string, ready func(url string, port int)) (err error) {
	defer fault.Catch(&err)
	dir := fault.Get(runs.Workdir(path))
	s := fault.Get(watch.Listen(dir, address))
	ready(s.URL(), s.Port())

	return s.Serve(ctx)
}
