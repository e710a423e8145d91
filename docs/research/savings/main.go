// Command savings asks how many runs `pipeline suggest` saves: from the module's folder,
//
//	go run ./savings > tables/savings.csv
//
// Each set is a list of candidates. Eight are measured at first, at random. Then batches of six are added: the plan of
// `suggest`, an even filling of space (each time the candidate farthest from those measured), or random ones. After
// each batch the process is learned anew, and its mean is compared at all candidates with the law, or with the measured
// means. All was fixed before the first number was seen: the laws, the sizes, five seeds, and the error that is asked
// for, which is the one that random choice reaches with 32 runs.
package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
)

// Sizes of the study.
const (
	start   = 8
	batch   = 6
	batches = 6
	asked   = 4 // batches after which the error of random choice is the one that is asked for
	seeds   = 5
)

// strategies are the ways to choose; the first is the one that the others are compared with.
var strategies = []strategy{
	{"random", (*campaign).random},
	{"even", (*campaign).even},
	{"suggest", (*campaign).suggest},
}

// strategy returns the next runs of a campaign.
type strategy struct {
	name string
	next func(c *campaign, ctx context.Context) ([]int, error)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := study(ctx, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "savings: "+err.Error())
		stop()
		os.Exit(1)
	}
}

// study writes the table of all sets.
func study(ctx context.Context, out, progress io.Writer) error {
	sets := laws()
	for _, measured := range tables {
		s, err := measured.read("../../examples")
		if err != nil {
			return err
		}

		sets = append(sets, s)
	}

	w := csv.NewWriter(out)
	if err := w.Write([]string{"set", "data", "candidates", "chosen_by", "runs", "error", "runs_needed"}); err != nil {
		return fmt.Errorf("write the head: %w", err)
	}

	for _, s := range sets {
		curves, err := s.curves(ctx, seeds, batches)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}

		fmt.Fprintf(progress, "%s: %v\n", s.name, curves)

		if err := w.WriteAll(s.records(curves, asked)); err != nil {
			return fmt.Errorf("write the rows of %s: %w", s.name, err)
		}
	}

	return nil
}

// records returns the rows of a set: the error of each strategy after each batch, and the runs that it needs.
func (s set) records(curves [][]float64, asked int) [][]string {
	var rows [][]string
	for k, strategy := range strategies {
		needed := runsNeeded(curves[k], curves[0][asked])
		for b, e := range curves[k] {
			rows = append(rows, []string{
				s.name, s.data, strconv.Itoa(len(s.x)), strategy.name, strconv.Itoa(start + b*batch),
				strconv.FormatFloat(e, 'g', 4, 64), strconv.FormatFloat(needed, 'f', 1, 64),
			})
		}
	}

	return rows
}
