// Command scale measures what large campaigns cost: the processor time and the largest memory of the trainings and of
// the report, and how the program's own estimate compares with them. It writes each campaign into a folder of its own
// and runs the program there. docs/performance.md has the results.
//
//	go build -o /tmp/doubletake ../../cmd/pipeline
//	go run ./bench/scale [-only 504x18,orders] [-jobs 2] [-short] /tmp/doubletake
//
// It measures processor time (user and system, all threads), because the elapsed time of a machine that others use
// too measures the others as well. A figure above its bound is marked and fails nothing.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "names of campaigns, with commas between them; default: all")
	jobs := flag.Int("jobs", 2, "tasks at a time")
	short := flag.Bool("short", false, "little work, to see that it runs")
	folder := flag.String("write", "", "only write the campaigns into this folder")
	flag.Parse()

	var selected []campaign
	for _, c := range campaigns() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), c.name) {
			continue
		}

		if *short {
			c.shorten()
		}

		selected = append(selected, c)
	}

	err := run(selected, *folder, flag.Arg(0), *jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// run measures the campaigns and prints a row of the table for each. If folder is not empty, it only writes the
// campaigns into the folder.
func run(selected []campaign, folder, program string, jobs int) error {
	if folder != "" {
		for _, c := range selected {
			if err := c.write(filepath.Join(folder, c.name)); err != nil {
				return err
			}
		}

		return nil
	}

	if program == "" {
		return fmt.Errorf("expected the path of the program")
	}

	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}

	fmt.Println("| campaign | to train, s | report, s | together, s (bound) | " +
		"elapsed, s | peak, MB (bound) | estimate/taken |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, c := range selected {
		if err := measure(program, c, jobs); err != nil {
			return fmt.Errorf("campaign %s: %w", c.name, err)
		}
	}

	return nil
}

// cost is what a process used.
type cost struct {
	processor time.Duration
	elapsed   time.Duration
	peak      int64 // largest resident memory, bytes
}

// measure runs a campaign up to its trainings, then its report, and prints its row.
func measure(program string, c campaign, jobs int) error {
	dir, err := os.MkdirTemp("", "scale-")
	if err != nil {
		return err
	}

	defer os.RemoveAll(dir)

	if err := c.write(dir); err != nil {
		return err
	}

	expected, err := estimate(program, dir)
	if err != nil {
		return err
	}

	trained, err := execute(program, dir, "run", "--to", "train", "--progress", "none", "--jobs", strconv.Itoa(jobs))
	if err != nil {
		return err
	}

	reported, err := execute(program, dir, "run", "--progress", "none", "--jobs", strconv.Itoa(jobs))
	if err != nil {
		return err
	}

	together := trained.processor + reported.processor
	peak := max(trained.peak, reported.peak)
	fmt.Printf("| %s | %.1f | %.1f | %s | %.0f | %s | %.2f |\n", c.title, trained.processor.Seconds(),
		reported.processor.Seconds(), bounded(together.Seconds(), c.seconds),
		(trained.elapsed + reported.elapsed).Seconds(), bounded(float64(peak)/1e6, c.megabytes),
		expected/together.Seconds())

	return nil
}

// bounded returns a figure and its bound, and marks a figure above it. A bound of 0 is none.
func bounded(v, bound float64) string {
	switch {
	case bound == 0:
		return fmt.Sprintf("%.1f", v)
	case v > bound:
		return fmt.Sprintf("**%.1f** (%g)", v, bound)
	default:
		return fmt.Sprintf("%.1f (%g)", v, bound)
	}
}

// estimate returns the seconds on one processor that the program expects of the campaign in a folder.
func estimate(program, dir string) (float64, error) {
	cmd := exec.Command(program, "tasks", "--format", "json")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("list the tasks: %w", err)
	}

	var plan struct {
		Tasks []struct {
			Weight float64 `json:"weight"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		return 0, fmt.Errorf("read the tasks: %w", err)
	}

	seconds := 0.0
	for _, task := range plan.Tasks {
		seconds += task.Weight
	}

	return seconds, nil
}

// execute runs the program in a folder and returns what it used.
func execute(program, dir string, args ...string) (cost, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	var messages strings.Builder
	cmd.Stderr = &messages
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, messages.String())
	}

	used, known := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !known {
		return cost{}, fmt.Errorf("this system does not tell the memory of a process")
	}

	processor := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()

	return cost{processor: processor, elapsed: time.Since(began), peak: used.Maxrss * 1024}, nil
}
