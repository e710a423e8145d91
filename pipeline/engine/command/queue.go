package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline/engine/job"
)

const (
	// firstAsk is the time between two looks at the queue after something has happened, and the longest time until the
	// first of them.
	firstAsk = 2 * time.Second
	// lastAsk is the longest time between two looks at the queue.
	lastAsk = 15 * time.Second
	// maxQueueTime is how long a command that lists the queue may take.
	maxQueueTime = time.Minute
	// maxSilentAsks is the number of lists of the queue that may fail one after the other before the user is told.
	maxSilentAsks = 3
	// maxStatusTime is how long a command that prints why jobs wait may take.
	maxStatusTime = 5 * time.Second
	// maxStatusBytes bounds the output of the command that prints why jobs wait: messages show its beginning.
	maxStatusBytes = 2000
	// missedBeats is the number of signs of life that a part may miss before the driver lists the queue for it.
	missedBeats = 3
	// acceptMargin is the least age of a submission for which the queue is read: a younger one may not be listed yet.
	acceptMargin = time.Second
)

// ask lists the queue in a goroutine if a part has not begun or is silent.
func (e *Executor) ask(now time.Time) {
	if e.options.Scheduler == nil || e.asking || now.Before(e.nextAsk) {
		return
	}

	// The lastSign of a part that has not begun is the zero time, which is long ago too.
	isSilent := func(p *part) bool { return p.submission.id != "" && now.Sub(p.lastSign) > missedBeats*beat }
	if !slices.ContainsFunc(e.parts, isSilent) {
		return
	}

	e.asking = true
	go func() {
		output, err := e.listQueue()
		e.post(func() { e.answer(now, output, err) })
	}()
}

// listQueue calls the scheduler's command that lists the queue and returns its standard output.
func (e *Executor) listQueue() (output string, err error) {
	words, err := e.options.Scheduler.Queue()
	if err != nil {
		return "", err
	}

	printed, err := callWithin(e.ctx, maxQueueTime, e.root, words)

	return printed.stdout, err
}

// answer takes the output of the command that lists the queue, which was called at the time asked. After an error
// nothing is known about the queue, and the driver asks again later. It tells the user once if errors go on.
func (e *Executor) answer(asked time.Time, output string, err error) {
	e.asking = false
	e.nextAsk = time.Now().Add(e.askEvery)
	e.askEvery = min(e.askEvery*3/2, lastAsk)

	if err == nil {
		e.failedAsks = 0
		e.takeQueue(asked, e.options.Scheduler.Read(output))

		return
	}

	e.failedAsks++
	if e.failedAsks == maxSilentAsks {
		e.options.Notify("the queue cannot be listed, tried again until it can: " + err.Error())
	}
}

// takeQueue notes for each part whether its job is in the queue, as it was at the time asked. A job that is missing has
// left it. If no job of this run was ever seen there, the program may not understand the scheduler's output, and a
// missing job means nothing.
func (e *Executor) takeQueue(asked time.Time, queue map[job.Part]job.State) {
	var missing []*part
	for _, part := range e.parts {
		state, isListed := queue[job.Part{ID: part.submission.id, N: part.number}]
		if !isListed {
			missing = append(missing, part)
			continue
		}

		e.understood = true
		part.state = state
		part.leftQueue = time.Time{}
		if !state.Running {
			part.running = time.Time{} // the scheduler may put a job that ran back into the queue
		} else if part.running.IsZero() {
			part.running = asked
		}
	}

	for _, part := range missing {
		s := part.submission
		mustBeListed := s.id != "" && s.accepted.Before(asked.Add(-acceptMargin)) && e.understood
		if mustBeListed && part.leftQueue.IsZero() {
			part.leftQueue = asked
			e.stir()
		}
	}
}

// sayWaiting tells the user that no part has begun, if all parts were submitted longer than Options.Grace ago. It says
// so once, and again only after a part has given a sign of life. It asks why the jobs wait in a goroutine, because the
// command may take seconds.
func (e *Executor) sayWaiting(now time.Time) {
	if e.saidWaiting || len(e.parts) == 0 {
		return
	}

	for _, part := range e.parts {
		accepted := part.submission.accepted
		isRecent := accepted.IsZero() || now.Sub(accepted) < e.options.Grace
		if part.hasBegun() || !part.running.IsZero() || isRecent {
			return
		}
	}

	e.saidWaiting = true
	oldest := e.parts[0].submission
	asked := *oldest // the goroutine must not read what the loop writes
	waiting := fmt.Sprintf("nothing runs: %s submitted by %q %.0f s ago, and none has begun. ",
		count(len(e.parts), "part"), strings.Join(oldest.command, " "), now.Sub(oldest.accepted).Seconds())
	advice := fmt.Sprintf("If they ended, see whether the nodes can run %s and write to %s. To submit them again, "+
		"interrupt and run again", filepath.Join(e.root, "bin"), e.partsDir())

	go func() {
		reason := e.reason(&asked)
		e.post(func() {
			if e.saidWaiting { // no part has begun meanwhile
				e.options.Notify(waiting + reason + advice)
			}
		})
	}()
}

// count returns a number with its noun: "1 part", "2 parts".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// reason returns the words of the scheduler about why a submission waits, or advice to ask the scheduler. The text ends
// with a space or a line end.
func (e *Executor) reason(s *submission) string {
	words := e.options.Status
	var err error
	if len(words) == 0 && e.options.Scheduler != nil {
		words, err = e.options.Scheduler.Why(job.Job{ID: s.id, Parts: s.parts})
	}

	if err != nil || len(words) == 0 {
		return "Ask the scheduler why they wait, or set executor.status to a command that prints the reason. "
	}

	printed, err := callWithin(e.ctx, maxStatusTime, e.root, words)
	text := printed.all()
	if err != nil {
		text = err.Error()
	}

	text = strings.ToValidUTF8(text[:min(len(text), maxStatusBytes)], "?")

	return fmt.Sprintf("%q says:\n    %s\n", strings.Join(words, " "), strings.ReplaceAll(text, "\n", "\n    "))
}
