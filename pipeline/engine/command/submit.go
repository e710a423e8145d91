package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/job"
)

const (
	// holdSeconds is how long a job that does not find the work directory keeps its place. Meanwhile the queue shows its
	// node, and no other job is sent there.
	holdSeconds = 20
	// maxLaunches is the number of times that a command is called if it fails to submit.
	maxLaunches = 3
	// maxSubmitTime is how long a scheduler's command may take to submit.
	maxSubmitTime = 90 * time.Second
)

var (
	// passing matches the messages of errors that pass: the scheduler is away or busy, or has as many jobs as it takes.
	passing = regexp.MustCompile(`(?i)unable to contact|\bconnect|timed out|\btemporar|\bcommunication|` +
		`\btry again\b|\bretry|submit limit|deadline exceeded|signal: killed`)
	// number matches a number, such as the identifier of a job.
	number = regexp.MustCompile(`\d+`)
	// leadingNumber matches a number at the beginning of a line, where all schedulers print the identifier of a job.
	leadingNumber = regexp.MustCompile(`(?m)^\d+`)
)

// submission is the work of one call of a command that submits: all parts of an array job, or one part.
type submission struct {
	command  []string  // the words of the command
	path     string    // the script, or the file that describes it: the last word
	group    string    // group of the settings of its jobs, see Executor.settings
	parts    int       // number of parts
	open     int       // number of parts that may be in the queue
	id       string    // identifier of the job; "" if it is not known
	accepted time.Time // when the command submitted it; zero before

	// cancel returns the words of the command that cancels the job with an identifier.
	cancel func(id string) ([]string, error)
}

// settings returns the settings of a stage's jobs. Stages that share their settings have the same group.
func (e *Executor) settings(stage string) (set job.Settings, group string) {
	if set, ok := e.options.Stages[stage]; ok {
		return set, stage
	}

	return e.options.Settings, ""
}

// submit divides the pending tasks into parts and submits them, up to the number of parts at a time. It waits until no
// task has come for a moment, so that tasks that become ready together are divided evenly.
func (e *Executor) submit(now time.Time) {
	if e.draining || e.fatal != nil {
		e.endPending(cmp.Or(e.fatal, engine.ErrNotStarted))
	}

	if len(e.pending) == 0 || e.ctx.Err() != nil || now.Sub(e.pending[len(e.pending)-1].came) < gather {
		return
	}

	groups := map[string][]*task{}
	for _, task := range e.pending {
		_, group := e.settings(task.work.Task.Stage)
		groups[group] = append(groups[group], task)
	}

	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if e.fatal == nil { // tasks that stay pending end with the error
			e.submitGroup(group, groups[group])
		}
	}
}

// endPending resolves all pending tasks with an error.
func (e *Executor) endPending(err error) {
	for _, task := range e.pending {
		e.resolve(task, err)
	}

	e.pending = nil
}

// submitGroup divides tasks whose jobs have the same settings into parts, and submits as many parts as are allowed now.
func (e *Executor) submitGroup(group string, pending []*task) {
	set, _ := e.settings(pending[0].work.Task.Stage)

	seconds := 0.0
	var tasks []*engine.Task
	inHand := map[*engine.Task]*task{}
	for _, task := range pending {
		seconds += task.work.Expect
		tasks = append(tasks, task.work.Task)
		inHand[task.work.Task] = task
	}

	count := min(e.limit(set), len(tasks), int(seconds/partSeconds)+1)

	var parts [][]*task
	for i := range min(count, e.room(group, set)) {
		var part []*task
		for _, task := range engine.Part(tasks, i+1, count) {
			part = append(part, inHand[task])
		}
		parts = append(parts, part)
	}

	if len(parts) > 0 {
		e.start(group, set, parts)
	}
}

// limit returns how many parts may wait or run at a time if their jobs have the given settings.
func (e *Executor) limit(set job.Settings) int { return cmp.Or(set.MaxRunning, e.options.Parts) }

// room returns how many more parts of a group may be submitted now. The limit of the group's settings counts the parts
// of the group alone. The limit of the settings of all jobs counts all parts; a greater limit of a group replaces it.
func (e *Executor) room(group string, set job.Settings) int {
	ofGroup := 0
	for _, p := range e.parts {
		if p.submission.group == group {
			ofGroup++
		}
	}

	limit := e.limit(set)
	total := max(limit, e.limit(e.options.Settings))

	return min(limit-ofGroup, total-len(e.parts))
}

// start removes the tasks of parts from the pending tasks, and submits the parts: to a scheduler as one array job, with
// a user's command one by one.
func (e *Executor) start(group string, set job.Settings, parts [][]*task) {
	taken := map[*task]bool{}
	for _, task := range slices.Concat(parts...) {
		taken[task] = true
	}

	e.pending = slices.DeleteFunc(e.pending, func(t *task) bool { return taken[t] })

	if e.options.Scheduler != nil {
		e.startSubmission(group, set, parts)
		return
	}

	for i, tasks := range parts {
		if e.fatal != nil {
			e.pending = append(e.pending, tasks...) // they end with the error
			continue
		}

		e.startSubmission(group, set, parts[i:i+1])
	}
}

// startSubmission writes the plans and the script of a submission, and launches it in a goroutine.
func (e *Executor) startSubmission(group string, set job.Settings, parts [][]*task) {
	e.submitted++
	array := job.Array{
		Settings: set, Name: fmt.Sprintf("dt-%s-%d", e.run, e.submitted), Parts: len(parts), Dir: e.partsDir(),
		Words: []string{e.program, "exec", "--plan", planFile},
		Avoid: slices.DeleteFunc(slices.Clone(e.blind), func(node string) bool { return node == "" }),
	}
	s := &submission{group: group, parts: len(parts), open: len(parts)}
	e.submissions = append(e.submissions, s)

	var planned []*part
	for i, tasks := range parts {
		planned = append(planned, &part{
			dir: partDir(array, i+1), submission: s, number: i + 1, tasks: tasks, read: map[string]bool{},
		})
	}

	// The loop must know all parts even after an error, because their tasks end with the error.
	e.parts = append(e.parts, planned...)
	for _, p := range planned {
		if err := e.writePlan(p); err != nil {
			e.refuse(err)
			return
		}
	}

	if err := e.prepare(s, array); err != nil {
		e.refuse(err)
		return
	}

	e.launching.Add(1)
	go e.launch(s, array)
}

// partDir returns the folder of a part of an array; number counts from 1. The script of the array finds it by this
// name.
func partDir(array job.Array, number int) string {
	return filepath.Join(array.Dir, fmt.Sprintf("%s-%d", array.Name, number))
}

// writePlan makes the folder of a part and writes its plan.
func (e *Executor) writePlan(p *part) error {
	batch := Batch{
		Format: batchFormat, Config: []byte(e.options.Config), Added: e.options.Added, Dir: []byte(e.options.Dir),
		Facts: e.options.Facts,
	}

	for _, task := range p.tasks {
		if err := task.work.Clear(); err != nil {
			return err
		}

		batch.Tasks = append(batch.Tasks, task.work.Spec())
	}

	data, err := json.Marshal(batch)
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Join(p.dir, "failed"), 0o755); err != nil {
		return err
	}

	return engine.WriteFile(filepath.Join(p.dir, planFile), data)
}

// prepare writes the script of a submission, and sets the commands that submit and cancel it.
func (e *Executor) prepare(s *submission, array job.Array) error {
	if e.options.Scheduler == nil {
		return e.prepareForCommand(s, array)
	}

	return prepareForScheduler(s, array, e.options.Scheduler)
}

// prepareForCommand prepares a submission by the user's command. Its script makes part 1, the only one.
func (e *Executor) prepareForCommand(s *submission, array job.Array) error {
	path, err := writeScript(&job.Scheduler{Index: "1"}, array, 0)
	if err != nil {
		return err
	}

	s.command = e.options.Command
	s.path = path
	s.cancel = func(id string) ([]string, error) { return append(slices.Clip(e.options.Cancel), id), nil }
	s.accepted = time.Now() // the command may return only when the part has ended

	return nil
}

// prepareForScheduler prepares a submission of an array to a scheduler.
func prepareForScheduler(s *submission, array job.Array, scheduler *job.Scheduler) error {
	script, err := writeScript(scheduler, array, holdSeconds)
	if err != nil {
		return err
	}

	s.command, err = scheduler.Submit(array)
	if err != nil {
		return err
	}

	s.path = script
	s.cancel = func(id string) ([]string, error) { return scheduler.Cancel(job.Job{ID: id, Parts: array.Parts}) }

	description, err := scheduler.Describe(array, script)
	if err != nil || description == "" {
		return err
	}

	s.path = filepath.Join(array.Dir, array.Name+".sub")

	return engine.WriteFile(s.path, []byte(description))
}

// writeScript writes the script of an array and returns its path. A part that does not find the work directory fails
// after hold seconds.
func writeScript(scheduler *job.Scheduler, array job.Array, hold int) (path string, err error) {
	text, err := scheduler.Script(array, hold)
	if err != nil {
		return "", err
	}

	path = filepath.Join(array.Dir, array.Name+".sh")
	if err := engine.WriteFile(path, []byte(text)); err != nil {
		return "", err
	}

	return path, os.Chmod(path, 0o755)
}

// launch calls the command that submits parts, and posts the identifier of the job to the loop. After an error it calls
// the command again: as long as the error may pass, and otherwise up to maxLaunches times, after which the run ends.
// Such an error does not count as an attempt of the tasks. After an error of another submission that ends the run,
// launch does not call the command again.
func (e *Executor) launch(s *submission, array job.Array) {
	defer e.launching.Add(-1)

	for try := 1; e.ctx.Err() == nil; try++ {
		id, err := e.callSubmit(s, array)
		if err == nil {
			e.post(func() { e.accept(s, id) })

			return
		}

		// A user's command may make the part itself, and then fail as the part does. The loop then finds in the part's
		// folder how the part ended.
		if _, began := readLife(partDir(array, 1)); began {
			return
		}

		passes := e.options.Scheduler != nil && passing.MatchString(err.Error())
		err = fmt.Errorf("submit by %q: %w", strings.Join(s.command, " "), err)

		if try >= maxLaunches && !passes {
			e.post(func() { e.refuse(err) })
			return
		}

		if try == 2 && passes {
			e.post(func() {
				e.options.Notify("jobs cannot be submitted now, tried again until they can: " + err.Error())
			})
		}

		if !e.pauseAfter(try) {
			return
		}
	}
}

// pauseAfter waits after a failed submission, the longer the more have failed: 1 s, 2 s, 4 s, up to lastAsk. It returns
// false if the loop ends or nothing is submitted any more.
func (e *Executor) pauseAfter(try int) bool {
	const maxDoublings = 5 // more would overflow in the end
	pause := min(time.Second<<min(try-1, maxDoublings), lastAsk)

	select {
	case <-time.After(pause):
		return true
	case <-e.refused:
		return false
	case <-e.ended:
		return false
	}
}

// callSubmit calls the command that submits parts and returns the identifier of the job, or "" if the command printed
// none. A user's command may take as long as the part. An interrupt ends it, but not a scheduler's command: the job
// could not be cancelled without its identifier.
func (e *Executor) callSubmit(s *submission, array job.Array) (id string, err error) {
	words := append(slices.Clip(s.command), s.path)
	if e.options.Scheduler == nil {
		printed, err := call(e.ctx, partDir(array, 1), words)
		return number.FindString(printed.all()), err
	}

	printed, err := callWithin(context.WithoutCancel(e.ctx), maxSubmitTime, array.Dir, words)

	return leadingNumber.FindString(printed.stdout), err
}

// accept notes the job of a submission, if there is a command that cancels it. id is "" if the command that submitted
// it printed no identifier.
func (e *Executor) accept(s *submission, id string) {
	s.accepted = time.Now()
	canCancel := e.options.Scheduler != nil || len(e.options.Cancel) > 0
	if id == "" || !canCancel {
		return
	}

	s.id = id
	if err := e.noteSubmission(s); err != nil {
		e.options.Notify("note a job: " + err.Error())
	}
}

// noteSubmission appends the command that cancels a submission to the file of jobs. If the file is gone, because
// pipeline cancel removed it meanwhile, noteSubmission cancels the job at once.
func (e *Executor) noteSubmission(s *submission) error {
	cancel, err := s.cancel(s.id)
	if err != nil {
		return err
	}

	err = e.noteJob(cancel)
	if errors.Is(err, os.ErrNotExist) {
		_, err = callWithin(e.ctx, maxCancelTime, e.root, cancel)
	}

	return err
}

// noteJob appends the words of a command that cancels a job to the file of jobs.
func (e *Executor) noteJob(words []string) error {
	line, err := json.Marshal(words)
	if err != nil {
		return err
	}

	file, err := os.OpenFile(jobsFile(e.root), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}

	_, err = file.Write(append(line, '\n'))

	return errors.Join(err, file.Close())
}
