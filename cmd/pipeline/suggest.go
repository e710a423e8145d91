package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/predict"
	"doubletake/pipeline/suggest"
)

// suggestOptions are the arguments of suggest.
type suggestOptions struct {
	model, grid, by string
	count, batch    int
	json, csv       bool
}

func newSuggestCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "suggest", Usage: "where the next measurement pays most, and whether to measure longer or elsewhere",
		ArgsUsage: "MODEL",
		Description: "MODEL is a split's folder, or one model.json. Candidates are ranked by the expected squared error " +
			"of the mean, that of the split's calibrated model where there is one (docs/honest.md), in units of each " +
			"outcome's training variance; inputs that are not in the grid are averaged over the values they were trained " +
			"on. Neighbouring candidates give nearly the same information, which the ranking ignores; --batch N picks N " +
			"to measure together, far from each other. docs/study.md compares rankings by the networks with random " +
			"choice.\n\n" +
			"Example: pipeline suggest runs/drone/splits/3-blades --grid blades=2:5:1,rpm=2000:9000:500\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "grid", Usage: "candidates: input=value or input=from:to:step, joined by commas"},
			&cli.StringFlag{Name: "by", Usage: "what counts as ignorance: honest (variance of the split's calibrated " +
				"model; the default where there is one), or of the networks cov (C), spread (the seeds' disagreement) or both"},
			&cli.IntFlag{Name: "count", Value: 10, Usage: "how many to show (0: all)"},
			&cli.IntFlag{Name: "batch", Usage: "pick so many to measure together, each after the gain of the others"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
			&cli.BoolFlag{Name: "csv", Usage: "as CSV"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("pipeline suggest takes one MODEL, found %q", c.Args().Slice())
			}
			o := suggestOptions{
				model: c.Args().First(), grid: c.String("grid"), by: c.String("by"), count: c.Int("count"),
				batch: c.Int("batch"), json: c.Bool("json"), csv: c.Bool("csv"),
			}
			return runSuggest(c.Context, o, stdout, stderr)
		},
	}
}

func runSuggest(ctx context.Context, o suggestOptions, stdout, stderr io.Writer) error {
	switch {
	case o.grid == "":
		return usage("pipeline suggest wants --grid, e.g. --grid blades=2:5:1,rpm=2000:9000:500")
	case o.json && o.csv:
		return usage("pipeline suggest: --json and --csv exclude each other")
	case o.batch < 0:
		return usage("--batch wants a number of conditions, found %d", o.batch)
	case o.count < 0:
		return usage("--count wants a number of conditions, found %d", o.count)
	}
	m, err := predict.Open(o.model)
	if err != nil {
		return err
	}
	axes, err := suggest.ParseGrid(m, o.grid)
	if err != nil {
		return usage("--grid: %v", err)
	}
	if o.by == "" {
		o.by = suggest.DefaultBy(m)
	}
	list, err := suggest.Rank(ctx, m, axes, o.by)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return usage("pipeline suggest: %v", err)
	}
	total := len(list)
	if o.batch > 0 {
		list = suggest.Batch(list, o.batch, suggest.Measured(m, axes))
	} else if o.count > 0 && o.count < len(list) {
		list = list[:o.count]
	}
	for _, w := range m.Warnings {
		fmt.Fprintln(stderr, "note: "+w)
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = m.Card.Inputs[a.Input].Name
	}
	switch {
	case o.json:
		return printJSON(stdout, suggestJSON(m, names, list, o, total))
	case o.csv:
		return suggestCSV(stdout, names, list)
	}
	return suggestTable(stdout, names, list, o, total)
}

func suggestTable(w io.Writer, names []string, list []suggest.Suggestion, o suggestOptions, total int) error {
	order := "most expected error first"
	if o.batch > 0 {
		order = "to be measured together, most expected error that the ones before leave first"
	}
	fmt.Fprintf(w, "%d of %d candidates by %s, %s; variances in units of the outcomes' training variance\n", len(list),
		total, o.by, order)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "rank\t%s\tepistemic\taleatoric\tadvice\n", strings.Join(names, "\t"))
	for i, s := range list {
		at := make([]string, len(s.At))
		for k, v := range s.At {
			at[k] = strconv.FormatFloat(v, 'g', 10, 64)
		}
		advice := s.Advice
		if len(s.Outside) > 0 {
			advice += " (extrapolation: " + strings.Join(s.Outside, ", ") + ")"
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", i+1, strings.Join(at, "\t"), short(s.Epistemic), short(s.Aleatoric), advice)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print suggestions: %w", err)
	}
	return nil
}

type suggestionJSON struct {
	At            map[string]float64 `json:"at"`
	Epistemic     float64            `json:"epistemic"`
	Aleatoric     float64            `json:"aleatoric"`
	Share         float64            `json:"epistemic_share"`
	Measured      bool               `json:"measured"`
	Extrapolation []string           `json:"extrapolation"`
	Advice        string             `json:"advice"`
}

func suggestJSON(m *predict.Models, names []string, list []suggest.Suggestion, o suggestOptions, total int) any {
	out := make([]suggestionJSON, len(list))
	for i, s := range list {
		j := suggestionJSON{
			At: map[string]float64{}, Epistemic: s.Epistemic, Aleatoric: s.Aleatoric, Share: s.Share,
			Measured: s.Measured, Extrapolation: append([]string{}, s.Outside...), Advice: s.Advice,
		}
		for k, n := range names {
			j.At[n] = s.At[k]
		}
		out[i] = j
	}
	return struct {
		Models      []string         `json:"models"`
		Experiment  string           `json:"experiment"`
		Data        string           `json:"data"`
		By          string           `json:"by"`
		Candidates  int              `json:"candidates"`
		Notes       []string         `json:"notes"`
		Suggestions []suggestionJSON `json:"suggestions"`
	}{m.Paths, m.Card.Experiment, m.Card.Data, o.by, total, append([]string{}, m.Warnings...), out}
}

func suggestCSV(w io.Writer, names []string, list []suggest.Suggestion) error {
	rows := [][]string{append(append([]string{}, names...), "epistemic", "aleatoric", "epistemic_share", "measured",
		"advice")}
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, s := range list {
		var r []string
		for _, v := range s.At {
			r = append(r, g(v))
		}
		rows = append(rows, append(r, g(s.Epistemic), g(s.Aleatoric), g(s.Share), strconv.FormatBool(s.Measured), s.Advice))
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("print suggestions: %w", err)
	}
	return nil
}
