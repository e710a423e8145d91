package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/predict"
	"doubletake/pipeline/suggest"
)

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
		Action: func(c *cli.Context) error { return runSuggest(c, stdout, stderr) },
	}
}

func runSuggest(c *cli.Context, stdout, stderr io.Writer) error {
	grid, by, count, batch := c.String("grid"), c.String("by"), c.Int("count"), c.Int("batch")
	switch {
	case c.NArg() != 1:
		return usage("pipeline suggest takes one MODEL, found %q", c.Args().Slice())
	case grid == "":
		return usage("pipeline suggest wants --grid, e.g. --grid blades=2:5:1,rpm=2000:9000:500")
	case c.Bool("json") && c.Bool("csv"):
		return usage("pipeline suggest: --json and --csv exclude each other")
	case batch < 0:
		return usage("--batch wants a number of conditions, found %d", batch)
	case count < 0:
		return usage("--count wants a number of conditions, found %d", count)
	}

	m, err := predict.Open(c.Args().First())
	if err != nil {
		return err
	}

	axes, err := suggest.ParseGrid(m, grid)
	if err != nil {
		return usage("--grid: %v", err)
	}

	by = cmp.Or(by, suggest.DefaultBy(m))
	list, err := suggest.Rank(c.Context, m, axes, by)
	if err != nil {
		if c.Err() != nil {
			return err
		}
		return usage("pipeline suggest: %v", err)
	}

	total, order := len(list), "most expected error first"
	if batch > 0 {
		list = suggest.Batch(list, batch, suggest.Measured(m, axes))
		order = "to be measured together, most expected error that the ones before leave first"
	} else if count > 0 && count < total {
		list = list[:count]
	}

	printNotes(stderr, m.Warnings)

	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = m.Card.Inputs[a.Input].Name
	}

	switch {
	case c.Bool("json"):
		return suggestJSON(stdout, m, names, list, by, total)
	case c.Bool("csv"):
		return suggestCSV(stdout, names, list)
	}

	fmt.Fprintf(stdout, "%d of %d candidates by %s, %s; variances in units of the outcomes' training variance\n",
		len(list), total, by, order)

	if err := suggestTable(stdout, names, list); err != nil {
		return err
	}

	if f := suggest.Forecast(m); f != "" {
		fmt.Fprintln(stdout, f)
	}

	return nil
}

func suggestTable(w io.Writer, names []string, list []suggest.Suggestion) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "rank\t%s\tepistemic\taleatoric\tadvice\n", strings.Join(names, "\t"))

	for i, s := range list {
		fmt.Fprintf(tw, "%d", i+1)

		for _, v := range s.At {
			fmt.Fprintf(tw, "\t%.10g", v)
		}

		advice := s.Advice
		if len(s.Outside) > 0 {
			advice += " (extrapolation: " + strings.Join(s.Outside, ", ") + ")"
		}

		fmt.Fprintf(tw, "\t%.4g\t%.4g\t%s\n", s.Epistemic, s.Aleatoric, advice)
	}

	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print suggestions: %w", err)
	}

	return nil
}

func suggestJSON(
	w io.Writer, m *predict.Models, names []string, list []suggest.Suggestion, by string, total int,
) error {
	type suggestion struct {
		At            map[string]float64 `json:"at"`
		Epistemic     float64            `json:"epistemic"`
		Aleatoric     float64            `json:"aleatoric"`
		Share         float64            `json:"epistemic_share"`
		Measured      bool               `json:"measured"`
		Extrapolation []string           `json:"extrapolation"`
		Advice        string             `json:"advice"`
	}

	out := make([]suggestion, len(list))
	for i, s := range list {
		out[i] = suggestion{
			At: map[string]float64{}, Epistemic: s.Epistemic, Aleatoric: s.Aleatoric, Share: s.Share,
			Measured: s.Measured, Extrapolation: append([]string{}, s.Outside...), Advice: s.Advice,
		}

		for k, n := range names {
			out[i].At[n] = s.At[k]
		}
	}

	return printJSON(w, struct {
		Models      []string     `json:"models"`
		Experiment  string       `json:"experiment"`
		Data        string       `json:"data"`
		By          string       `json:"by"`
		Candidates  int          `json:"candidates"`
		Notes       []string     `json:"notes"`
		Suggestions []suggestion `json:"suggestions"`
	}{m.Paths, m.Card.Experiment, m.Card.Data, by, total, append([]string{}, m.Warnings...), out})
}

func suggestCSV(w io.Writer, names []string, list []suggest.Suggestion) error {
	rows := [][]string{append(slices.Clone(names), "epistemic", "aleatoric", "epistemic_share", "measured", "advice")}
	for _, s := range list {
		var r []string
		for _, v := range append(slices.Clone(s.At), s.Epistemic, s.Aleatoric, s.Share) {
			r = append(r, strconv.FormatFloat(v, 'g', -1, 64))
		}

		rows = append(rows, append(r, strconv.FormatBool(s.Measured), s.Advice))
	}

	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("print suggestions: %w", err)
	}

	return nil
}
