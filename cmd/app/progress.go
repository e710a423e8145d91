package app

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"doubletake/cmd/app/watch"
	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/report"
)

// progress reports a run on standard error.
type progress struct {
	w        io.Writer
	mode     progressMode
	stages   []string
	keep     bool             // the run goes on after failures
	clock    func() time.Time // returns the present time; tests replace it
	start    time.Time
	mu       sync.Mutex           // for the fields below
	total    map[string]int       // tasks to make, by stage
	done     map[string]int       // tasks that ended, by stage
	started  map[string]time.Time // when the running tasks began, by ID
	estimate *pipeline.Estimate   // of the time that is left
	printed  time.Time            // when the state was last printed
}

// progressMode is the form of a progress.
type progressMode string

const (
	modeLine  progressMode = "line"  // one line, which is rewritten on a terminal
	modePlain progressMode = "plain" // a line now and then
	modeJSON  progressMode = "json"  // a line of JSON for each event
	modeNone  progressMode = "none"  // nothing
)

const (
	// lineEvery is the least time between two states of the line on a terminal.
	lineEvery = 100 * time.Millisecond
	// plainEvery is the least time between two lines of modePlain.
	plainEvery = 10 * time.Second
	// longTask is the time after which the state of the run names a running task.
	longTask = 10 * time.Second
	// tickEvery is the time between two looks at the clock while no event happens.
	tickEvery = time.Second
)

// newProgress returns the progress of a run that makes jobs tasks at a time. jobs is 0 if a cluster decides. mode is
// plain, json, none, or auto, which chooses between modeLine and modePlain.
func newProgress(mode string, keep bool, jobs int, project *pipeline.Project, w io.Writer) *progress {
	p := &progress{
		w: w, mode: progressMode(mode), stages: project.Plan.Stages, keep: keep, clock: time.Now, start: time.Now(),
		total: map[string]int{}, done: map[string]int{}, started: map[string]time.Time{},
		estimate: pipeline.NewEstimate(jobs),
	}

	if mode == "auto" {
		p.mode = modePlain
		if isTerminal(file(w)) {
			p.mode = modeLine
		}
	}

	return p
}

// observe counts and reports an event of the run.
func (p *progress) observe(event pipeline.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.estimate.Observe(event, p.clock())

	switch event.Kind {
	case "plan":
		for _, task := range event.Todo {
			p.total[task.Stage]++
		}
	case "start":
		p.started[event.Task.ID] = p.clock()
	case "failed", "skipped":
		delete(p.started, event.Task.ID)
	case "done":
		p.done[event.Task.Stage]++
		delete(p.started, event.Task.ID)
	}

	switch {
	case p.mode == modeJSON:
		p.printJSON(p.describe(event))
	case p.mode == modeNone, event.Kind == "plan":
	default:
		p.printEvent(event)
	}
}

// printEvent prints the note of an event for people, and the state of the run if it was not printed for some time.
func (p *progress) printEvent(event pipeline.Event) {
	if event.Kind == "note" {
		p.clear()
		fmt.Fprintf(p.w, "%s: %s\n", event.Task.ID, event.Note)
	}

	p.printState()
}

// printState prints the state of the run if it was not printed for some time.
func (p *progress) printState() {
	every := plainEvery
	if p.mode == modeLine {
		every = lineEvery
	}

	now := p.clock()
	if now.Sub(p.printed) <= every {
		return
	}

	isFirst := p.printed.IsZero()
	p.printed = now

	switch {
	case p.mode == modeLine:
		p.clear()
		fmt.Fprint(p.w, p.line())
	case !isFirst: // a short run prints no line
		fmt.Fprintln(p.w, p.line())
	}
}

// watch prints the state of the run while a task takes so long that no event happens, until the returned function is
// called.
func (p *progress) watch() (stop func()) {
	ticker := time.NewTicker(tickEvery)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)

		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				p.tick()
			}
		}
	}()

	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

// tick prints the state of the run if a task has run for a long time.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()

	isForPeople := p.mode == modeLine || p.mode == modePlain
	if id, _ := p.longest(); isForPeople && id != "" {
		p.printState()
	}
}

// longest returns the task that has run longest, and for how long. It returns "" if no task has run for longTask.
func (p *progress) longest() (id string, ran time.Duration) {
	now := p.clock()
	for task, began := range p.started {
		since := now.Sub(began)
		isLonger := since > ran || since == ran && task < id
		if since >= longTask && isLonger {
			id = task
			ran = since
		}
	}

	return id, ran
}

// describe returns an event as a JSON object. It contains the seconds that the task took once it has ended, and an
// estimate of the seconds that are left.
func (p *progress) describe(event pipeline.Event) map[string]any {
	if event.Kind == "plan" {
		return map[string]any{"event": "plan", "to_run": p.total, "t": p.seconds()}
	}

	fields := map[string]any{
		"event": event.Kind, "task": event.Task.ID, "stage": event.Task.Stage, "t": p.seconds(),
	}
	switch event.Kind {
	case "start", "skipped":
	case "note":
		fields["note"] = event.Note
	default:
		fields["seconds"] = event.Seconds

		if !p.estimate.Idle() {
			fields["left"] = p.estimate.Left(p.clock()).Seconds()
		}
	}

	if event.Err != nil {
		fields["error"] = event.Err.Error()
	}

	return fields
}

// clear clears the line that is rewritten on a terminal.
func (p *progress) clear() {
	if p.mode != modeLine {
		return
	}

	w := p.w
	if stream := file(w); stream != nil {
		w = stream // the printer would escape the control characters
	}

	fmt.Fprint(w, "\r\x1b[K")
}

// seconds returns the time since the run began.
func (p *progress) seconds() float64 { return p.clock().Sub(p.start).Seconds() }

// note prints a message that does not concern a single task.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch p.mode {
	case modeNone:
	case modeJSON:
		p.printJSON(map[string]any{"event": "message", "text": text, "t": p.seconds()})
	default:
		p.clear()
		fmt.Fprintln(p.w, text)
	}
}

// printJSON prints an object on one line. An object that has no JSON, such as infinite seconds, is not printed:
// progress must not end a run.
func (p *progress) printJSON(object map[string]any) {
	if line, err := json.Marshal(object); err == nil {
		fmt.Fprintf(p.w, "%s\n", line)
	}
}

// line returns the state of the run on one line: the tasks of each stage, the rate at which tasks end, an estimate of
// the time that is left, and the task that has run longest if it takes long.
func (p *progress) line() string {
	elapsed := p.seconds()
	parts := []string{fmt.Sprintf("%5.1f s", elapsed)}

	done := 0
	for _, stage := range p.stages {
		if p.total[stage] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d/%d", stage, p.done[stage], p.total[stage]))
			done += p.done[stage]
		}
	}

	id, ran := p.longest()
	if done > 0 && elapsed > 1 {
		parts = append(parts, watch.Rate(done, p.clock().Sub(p.start)))
	}

	isLong := done > 0 || id != ""
	if isLong && elapsed > 1 && !p.estimate.Idle() {
		parts = append(parts, watch.About(watch.Words(p.estimate.Left(p.clock())))+" left")
	}

	if id != "" {
		parts = append(parts, id+" for "+watch.Words(ran))
	}

	return strings.Join(parts, "  ")
}

// end prints the summary of a run: the tasks of each stage, and the time they took. If the run failed, people read only
// the error message, unless the run went on after failures. result is nil if the run did not begin.
func (p *progress) end(result *pipeline.Result, failure error) {
	p.clear()

	if result == nil || p.mode == modeNone {
		return
	}

	if p.mode == modeJSON {
		p.printJSON(map[string]any{"event": "end", "result": result})
		return
	}

	failed := 0
	for _, stage := range result.Stages {
		failed += stage.Failed
	}

	if failure != nil && (!p.keep || failed == 0) {
		return
	}

	if result.Ran == 0 && failure == nil {
		fmt.Fprintf(p.w, "everything is up to date: %s, %.2f s\n", fault.Plural(int64(result.Cached), "task"), result.Wall)
		return
	}

	listing := report.Listing{Heads: []string{"stage", "tasks", "ran", "up to date", "failed", "task s", "wall s"}}
	for _, stage := range result.Stages {
		listing.Add(stage.Stage, strconv.Itoa(stage.Tasks), strconv.Itoa(stage.Ran), strconv.Itoa(stage.Cached),
			strconv.Itoa(stage.Failed), fmt.Sprintf("%.2f", stage.Seconds), fmt.Sprintf("%.2f", stage.Wall))
	}

	_ = listing.Write(p.w, width(p.w)) // an error is dropped: progress must not fail a run

	if result.Slowest == "" {
		return
	}

	fmt.Fprintf(p.w, "total %.2f s; slowest task %s, %.2f s\n", result.Wall, result.Slowest, result.SlowestSeconds)
}
