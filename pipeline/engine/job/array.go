package job

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Array is an array job: the parts of a stage. The templates of scripts.tmpl call its methods.
type Array struct {
	Settings
	Name  string   // dsp, or dsp-2 for the same parts once more
	Parts int      // at least 1
	Logs  string   // folder of the files with what the jobs print; "": they are not kept
	Dir   string   // folder with the folders of the parts, for Scheduler.Script
	Avoid []string // nodes that should not get the jobs; schedulers without words for this ignore it
	Words []string // the program and its arguments, which the part follows
}

// Line returns the program with its arguments, quoted for a shell.
func (a Array) Line() string { return quoteAll(a.Words) }

// quoteAll returns words quoted for a shell, with spaces in between.
func quoteAll(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, Quote(word))
	}

	return strings.Join(quoted, " ")
}

// quoteCommands returns commands with their words quoted for a shell.
func quoteCommands(commands []string) ([]string, error) {
	var quoted []string
	for _, command := range commands {
		words, err := Words(command)
		if err != nil {
			return nil, err
		}

		quoted = append(quoted, quoteAll(words))
	}

	return quoted, nil
}

// Commands returns the commands before the program, quoted for a shell.
func (a Array) Commands() ([]string, error) { return quoteCommands(a.Setup) }

// Options returns the options of qsub in Extra, quoted for a shell.
func (a Array) Options() ([]string, error) { return quoteCommands(a.Extra) }

// excludeOption matches the option --exclude of sbatch, or its only abbreviation: --exclu may be --exclusive, too. The
// group contains the nodes.
var excludeOption = regexp.MustCompile(`^--exclude?=(.*)$`)

// Excluded returns the argument of an option --exclude of sbatch with the nodes to avoid, or "" if there are none. It
// includes the nodes of such options in Extra, because sbatch takes only the last option.
func (a Array) Excluded() string {
	if len(a.Avoid) == 0 {
		return ""
	}

	nodes := slices.Clone(a.Avoid)
	for _, option := range a.Extra {
		if match := excludeOption.FindStringSubmatch(option); match != nil {
			nodes = append(nodes, match[1])
		}
	}

	return strings.Join(nodes, ",")
}

// requirementsLine matches a line of a description for HTCondor with a condition on the node, which the group contains.
var requirementsLine = regexp.MustCompile(`(?i)^\s*requirements\s*=\s*(.*\S)`)

// Requirements returns the condition on the node in a description for HTCondor, or "" if there are no nodes to avoid.
// It includes the condition in Extra, because HTCondor takes only the last of such lines.
func (a Array) Requirements() string {
	if len(a.Avoid) == 0 {
		return ""
	}

	stated := ""
	for _, line := range a.Extra {
		if match := requirementsLine.FindStringSubmatch(line); match != nil {
			stated = "(" + match[1] + ") && "
		}
	}

	var conditions []string
	for _, node := range a.Avoid {
		conditions = append(conditions, "TARGET.Machine =!= "+strconv.Quote(node))
	}

	return stated + strings.Join(conditions, " && ")
}

// Output returns the path to which the scheduler writes what the jobs print.
func (a Array) Output() string { return cmp.Or(a.Logs, "/dev/null") }

// Shell returns the shell that runs the script. Commands of the setup, such as source, need bash.
func (a Array) Shell() string {
	if len(a.Setup) > 0 {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// MB returns the memory of a job in MiB, rounded up, or 0 without a limit.
func (a Array) MB() int64 {
	const kibPerMiB = 1024

	return int64(kibibytes(a.Mem)+kibPerMiB-1) / kibPerMiB
}

// Seconds returns the time limit in seconds, or 0 without one.
func (a Array) Seconds() int {
	return int(timeLimit(a.Time)) // Check has refused times that no int holds
}

// timeLimit returns a time limit in seconds. It reads the forms of sbatch: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds. It returns +Inf if a number is too
// large, and 0 for another text: "", UNLIMITED and INFINITE mean no limit.
func timeLimit(text string) float64 {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days = "0"
		clock = text
	}

	fields := strings.Split(clock, ":")
	if !hasDays && len(fields) < 3 { // minutes come first
		fields = append([]string{"0"}, fields...)
	}

	if len(fields) > 3 {
		return 0
	}

	for len(fields) < 3 {
		fields = append(fields, "0")
	}

	const secondsPerMinute, secondsPerHour, secondsPerDay = 60, 3600, 86_400
	seconds := 0.0
	for _, part := range []struct {
		text string
		unit float64 // in seconds
	}{{days, secondsPerDay}, {fields[0], secondsPerHour}, {fields[1], secondsPerMinute}, {fields[2], 1}} {
		number, err := strconv.ParseUint(part.text, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return math.Inf(1)
		}

		if err != nil {
			return 0
		}

		seconds += float64(float64(number) * part.unit)
	}

	return seconds
}

// Numbers returns the numbers of the parts, from 1.
func (a Array) Numbers() []int {
	var numbers []int
	for i := range a.Parts {
		numbers = append(numbers, i+1)
	}

	return numbers
}
