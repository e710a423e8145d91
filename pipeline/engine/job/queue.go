package job

import (
	"errors"
	"strconv"
	"strings"
)

// Part identifies a part of a job.
type Part struct {
	ID string // of the job
	N  int    // number of the part, from 1
}

// State describes a part in the queue.
type State struct {
	Running bool
	Node    string // "" if the scheduler does not list it
}

// Read returns the parts that the output of the command Queue lists. It skips lines of another form, such as headings.
func (s *Scheduler) Read(queue string) map[Part]State {
	states := map[Part]State{}
	for line := range strings.Lines(queue) {
		match := s.line.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if match == nil {
			continue
		}

		id := s.group(match, "job")
		state := State{Running: s.group(match, "state") == s.running, Node: s.group(match, "node")}
		for _, number := range s.numbers(s.group(match, "parts")) {
			states[Part{ID: id, N: number}] = state
		}
	}

	return states
}

// group returns the text of a named group in a match of s.line, or "" if the expression has no such group.
func (s *Scheduler) group(match []string, name string) string {
	i := s.line.SubexpIndex(name)
	if i < 0 {
		return ""
	}

	return match[i]
}

// numbers returns the numbers, from 1, of the parts in a list of numbers and ranges, such as "3,5-6:1". The 1 after the
// colon is the step. The job without a list is one part.
func (s *Scheduler) numbers(list string) []int {
	var numbers []int
	for _, item := range strings.Split(list, ",") {
		item, _, _ = strings.Cut(item, ":")
		low, high, isRange := strings.Cut(item, "-")

		first := s.partNumber(low)
		last := first
		if isRange {
			last = max(first, s.partNumber(high))
		}

		for number := first; number <= last; number++ {
			numbers = append(numbers, number)
		}
	}

	return numbers
}

// partNumber returns the number of a part, from 1, that the scheduler's queue shows as text. Without a number the job
// is not an array, and has the part 1 alone. partNumber returns at most maxRunning: no submission has more parts.
func (s *Scheduler) partNumber(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, number is the greatest int
		return 1
	}

	number = min(number, maxRunning) // the next line then has no overflow

	return min(number-s.first+1, maxRunning)
}
