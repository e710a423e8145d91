package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/units"
	"doubletake/pipeline/predict"
	"doubletake/pipeline/suggest"
	"doubletake/report"
	"doubletake/train/numbers"
)

func newSuggestCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "suggest", Usage: "where the next measurement pays most, and whether to measure longer or elsewhere",
		ArgsUsage: "MODEL",
		Description: "MODEL is a split's folder, or one model.json. Candidates are ranked by gain: by which share one " +
			"measurement there would lower the mean expected squared error over all candidates, by the split's calibrated " +
			"process (docs/honest.md); without one, by the expected error there. Inputs that are not in the grid are " +
			"averaged over the values they were trained on. --batch N plans N measurements, each after the gain of those " +
			"before, with the half width that is expected after each; --cost and --budget plan what a budget pays for, in " +
			"an order with few expensive changes. docs/study.md compares these choices with random ones.\n\n" +
			"Example: pipeline suggest runs/drone/splits/3-blades --grid blades=2:5:1,rpm=2000:9000:500\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "grid", Usage: "candidates: input=value or input=from:to:step, joined by commas"},
			&cli.StringFlag{Name: "by", Usage: "what counts as ignorance: gain, honest (variance of the split's calibrated " +
				"model), or of the networks cov (C), spread (the seeds' disagreement) or both"},
			&cli.IntFlag{Name: "count", Value: 10, Usage: "how many to show (0: all)"},
			&cli.IntFlag{Name: "batch", Usage: "pick so many to measure together, each after the gain of the others"},
			&cli.StringFlag{Name: "cost", Usage: "what a change of an input costs, and every measurement, such as " +
				"blades=60min,rpm=1min,repeat=2min, or all without unit; instead of the configuration's"},
			&cli.StringFlag{Name: "budget", Usage: "plan what this pays for, such as 4h; instead of the configuration's"},
			&cli.StringFlag{Name: "config", Usage: "configuration with costs and a budget instead of pipeline.yaml"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
			&cli.BoolFlag{Name: "csv", Usage: "as CSV"},
		},
		Action: func(c *cli.Context) error { return runSuggest(c, stdout, stderr) },
	}
}

func runSuggest(c *cli.Context, stdout, stderr io.Writer) error {
	grid, by, count, batch := c.String("grid"), c.String("by"), c.Int("count"), c.Int("batch")
	asked := c.IsSet("cost") || c.IsSet("budget")
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
	case asked && batch > 0:
		return usage("pipeline suggest: --cost and --budget go without --batch")
	case asked && by != "" && by != suggest.ByGain:
		return usage("pipeline suggest: --cost and --budget plan by gain, found --by %s", by)
	}

	m, err := predict.Open(c.Args().First())
	if err != nil {
		return err
	}

	axes, err := suggest.ParseGrid(m, grid)
	if err != nil {
		return usage("--grid: %v", err)
	}

	configured, err := suggest.Configured(c.String("config"), c.Args().First(), m.Card.Experiment)
	if err != nil {
		return err
	}

	by = cmp.Or(by, suggest.DefaultBy(m))

	// The configuration's costs and budget make a plan unless options ask for something else.
	other := batch > 0 || c.IsSet("by") || c.IsSet("count")
	priced := asked || !other && len(configured.Cost) > 0 && configured.Budget != ""
	if priced && by != suggest.ByGain {
		if asked {
			return usage("pipeline suggest: costs want a split with a calibrated process, found none in %s", c.Args().First())
		}

		priced = false
		m.Warnings = append(m.Warnings, "no plan by the configuration's costs: the split has no calibrated process")
	}

	list, err := suggest.Rank(c.Context, m, axes, by)
	if err != nil {
		if c.Err() != nil {
			return err
		}
		return usage("pipeline suggest: %v", err)
	}

	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = m.Card.Inputs[a.Input].Name
	}

	costs, budget := suggest.Costs{Change: make([]float64, len(axes)), Repeat: 1}, float64(batch)
	if priced {
		costs, budget, err = suggest.ReadCosts(names, c.String("cost"), c.String("budget"), configured)
		if err != nil {
			return usage("pipeline suggest: %v", err)
		}
	}

	if by == suggest.ByGain && budget > 0 {
		printNotes(stderr, m.Warnings)
		return planSuggested(c, stdout, m, axes, names, list, costs, budget, priced)
	}

	total, order := len(list), "most expected error first"
	if by == suggest.ByGain {
		order = "the share first by which one measurement lowers the mean expected error over all"
	}

	if batch > 0 {
		list = suggest.Batch(list, batch, suggest.Measured(m, axes))
		order = "to be measured together, most expected error that the ones before leave first"
	} else if count > 0 && count < total {
		list = list[:count]
	}

	printNotes(stderr, m.Warnings)

	switch {
	case c.Bool("json"):
		records := suggestRecords(names, list)
		for i, s := range list {
			records[i] = append(records[i], "extrapolation", append([]string{}, s.Outside...))
		}

		return printJSON(stdout, numbers.Object{
			"models", m.Paths, "experiment", m.Card.Experiment, "data", m.Card.Data, "by", by, "candidates", total,
			"notes", append([]string{}, m.Warnings...), "suggestions", records,
		})
	case c.Bool("csv"):
		return report.CSV(stdout, suggestRecords(names, list))
	}

	fmt.Fprintf(stdout, "%d of %d candidates by %s, %s; variances in units of the outcomes' training variance\n",
		len(list), total, by, order)

	if err := suggestListing(names, list).Write(stdout, width(stdout)); err != nil {
		return err
	}

	if f := suggest.Forecast(m); f != "" {
		fmt.Fprintln(stdout, f)
	}

	return nil
}

// suggestRecords are suggestions in CSV, and in JSON with what is outside of the training range.
func suggestRecords(names []string, list []suggest.Suggestion) []numbers.Object {
	out := make([]numbers.Object, len(list))
	for i, s := range list {
		out[i] = numbers.Object{
			"at", numbers.Named(names, s.At), "gain", s.Gain, "epistemic", s.Epistemic, "aleatoric", s.Aleatoric,
			"epistemic_share", s.Share, "measured", s.Measured, "advice", s.Advice,
		}
	}

	return out
}

func suggestListing(names []string, list []suggest.Suggestion) report.Listing {
	l := report.Listing{Heads: slices.Concat([]string{"rank"}, names, []string{
		"gain", "epistemic", "aleatoric", "advice",
	})}
	for i, s := range list {
		advice := s.Advice
		if len(s.Outside) > 0 {
			advice += " (extrapolation: " + strings.Join(s.Outside, ", ") + ")"
		}

		gain := "" // ranked otherwise
		if s.Gain > 0 {
			gain = fmt.Sprintf("%.2g %%", 100*s.Gain)
		}

		l.Add(slices.Concat(condition(i, s), []string{
			gain, fmt.Sprintf("%.4g", s.Epistemic), fmt.Sprintf("%.4g", s.Aleatoric), advice,
		})...)
	}

	return l
}

// condition is the number of a suggestion, and where it is.
func condition(i int, s suggest.Suggestion) []string {
	cells := []string{strconv.Itoa(i + 1)}
	for _, v := range s.At {
		cells = append(cells, fmt.Sprintf("%.10g", v))
	}

	return cells
}

// planSuggested prints the measurements that a budget pays for, with what they promise.
func planSuggested(c *cli.Context, w io.Writer, m *predict.Models, axes []suggest.Axis, names []string,
	list []suggest.Suggestion, costs suggest.Costs, budget float64, priced bool,
) error {
	steps, now, err := suggest.Plan(c.Context, m, axes, list, costs, budget)
	if err != nil {
		return err
	}

	if len(steps) == 0 {
		return usage("a budget of %s pays for none of the %d candidates: setting up the first one costs more",
			costs.Format(budget), len(list))
	}

	var outcomes, widths []string
	for _, o := range m.Card.Outcomes {
		outcomes, widths = append(outcomes, o.Name), append(widths, o.Name+"_half_width")
	}

	records := make([]numbers.Object, len(steps))
	for i, s := range steps {
		records[i] = numbers.Object{
			"at", numbers.Named(names, s.At), "cost", s.Cost, "cost_in_all", s.Sum, "measured", s.Measured,
		}
		if c.Bool("csv") {
			records[i] = append(records[i], numbers.Named(widths, s.Half)...)
		} else {
			records[i] = append(records[i], "half_width", numbers.Named(outcomes, s.Half))
		}
	}

	switch {
	case c.Bool("json"):
		return printJSON(w, numbers.Object{
			"half_width_now", numbers.Named(outcomes, now), "cost_unit", costs.Unit, "budget", budget, "steps", records,
		})
	case c.Bool("csv"):
		return report.CSV(w, records)
	}

	spent := ""
	if priced {
		spent = fmt.Sprintf(" for %s of %s", costs.Format(steps[len(steps)-1].Sum), costs.Format(budget))
	}

	fmt.Fprintf(w, "%d measurements%s; half width of an interval at the candidates, on average: %s now\n", len(steps),
		spent, halfWidths(m, now))

	l := report.Listing{Heads: append([]string{""}, names...)}
	if priced {
		l.Heads = append(l.Heads, "cost", "in all")
	}

	l.Heads = append(l.Heads, "half width after it (forecast)", "advice")
	for i, s := range steps {
		cells := condition(i, s.Suggestion)
		if priced {
			cells = append(cells, costs.Format(s.Cost), costs.Format(s.Sum))
		}

		l.Add(append(cells, halfWidths(m, s.Half), s.Advice)...)
	}

	return l.Write(w, width(w))
}

// halfWidths are half widths by unit, from the narrowest to the widest outcome of it.
func halfWidths(m *predict.Models, half []float64) string {
	var kinds, texts []string
	of := map[string][]float64{}
	for k, o := range m.Card.Outcomes {
		unit := units.Difference(o.Unit)
		if of[unit] == nil {
			kinds = append(kinds, unit)
		}
		of[unit] = append(of[unit], half[k])
	}

	for _, u := range kinds {
		low, high := fmt.Sprintf("%.2g", slices.Min(of[u])), fmt.Sprintf("%.2g", slices.Max(of[u]))
		if low != high {
			low += " to " + high
		}
		texts = append(texts, strings.TrimSpace("± "+low+" "+u))
	}

	return strings.Join(texts, ", ")
}
