package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/units"
	"doubletake/pipeline/predict"
	"doubletake/pipeline/suggest"
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

	plan := suggestedPlan{Now: map[string]float64{}, Unit: costs.Unit, Budget: budget, Steps: []plannedStep{}}
	for k, o := range m.Card.Outcomes {
		plan.Now[o.Name] = now[k]
	}

	for _, s := range steps {
		p := plannedStep{At: map[string]float64{}, Cost: s.Cost, Sum: s.Sum, Half: map[string]float64{}, Measured: s.Measured}
		for k, n := range names {
			p.At[n] = s.At[k]
		}
		for k, o := range m.Card.Outcomes {
			p.Half[o.Name] = s.Half[k]
		}
		plan.Steps = append(plan.Steps, p)
	}

	switch {
	case c.Bool("json"):
		return printJSON(w, plan)
	case c.Bool("csv"):
		return plan.csv(w, names, m.Card.Outcomes)
	}

	spent := ""
	if priced {
		spent = fmt.Sprintf(" for %s of %s", costs.Format(steps[len(steps)-1].Sum), costs.Format(budget))
	}

	fmt.Fprintf(w, "%d measurements%s; half width of an interval at the candidates, on average: %s now\n", len(steps),
		spent, halfWidths(m, now))

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	columns := "half width after it (forecast)\tadvice"
	if priced {
		columns = "cost\tin all\t" + columns
	}

	fmt.Fprintf(tw, "\t%s\t%s\n", strings.Join(names, "\t"), columns)
	for i, s := range steps {
		fmt.Fprintf(tw, "%d", i+1)
		for _, v := range s.At {
			fmt.Fprintf(tw, "\t%.10g", v)
		}

		if priced {
			fmt.Fprintf(tw, "\t%s\t%s", costs.Format(s.Cost), costs.Format(s.Sum))
		}

		fmt.Fprintf(tw, "\t%s\t%s\n", halfWidths(m, s.Half), s.Advice)
	}

	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}

	return nil
}

// suggestedPlan is the document of suggest --cost --json.
type suggestedPlan struct {
	Now    map[string]float64 `json:"half_width_now"` // by outcome
	Unit   string             `json:"cost_unit"`
	Budget float64            `json:"budget"`
	Steps  []plannedStep      `json:"steps"`
}

type plannedStep struct {
	At       map[string]float64 `json:"at"`
	Cost     float64            `json:"cost"`
	Sum      float64            `json:"cost_in_all"`
	Half     map[string]float64 `json:"half_width"` // after it, by outcome
	Measured bool               `json:"measured"`
}

func (p suggestedPlan) csv(w io.Writer, names []string, outcomes []predict.Outcome) error {
	head := append(slices.Clone(names), "cost", "cost_in_all", "measured")
	for _, o := range outcomes {
		head = append(head, o.Name+"_half_width")
	}

	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][]string{head}
	for _, s := range p.Steps {
		var r []string
		for _, n := range names {
			r = append(r, number(s.At[n]))
		}

		r = append(r, number(s.Cost), number(s.Sum), strconv.FormatBool(s.Measured))
		for _, o := range outcomes {
			r = append(r, number(s.Half[o.Name]))
		}

		rows = append(rows, r)
	}

	return printCSV(w, "the plan", rows)
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

func suggestTable(w io.Writer, names []string, list []suggest.Suggestion) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "rank\t%s\tgain\tepistemic\taleatoric\tadvice\n", strings.Join(names, "\t"))

	for i, s := range list {
		fmt.Fprintf(tw, "%d", i+1)

		for _, v := range s.At {
			fmt.Fprintf(tw, "\t%.10g", v)
		}

		advice := s.Advice
		if len(s.Outside) > 0 {
			advice += " (extrapolation: " + strings.Join(s.Outside, ", ") + ")"
		}

		gain := "" // ranked otherwise
		if s.Gain > 0 {
			gain = fmt.Sprintf("%.2g %%", 100*s.Gain)
		}

		fmt.Fprintf(tw, "\t%s\t%.4g\t%.4g\t%s\n", gain, s.Epistemic, s.Aleatoric, advice)
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
		Gain          float64            `json:"gain"`
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
			At: map[string]float64{}, Gain: s.Gain, Epistemic: s.Epistemic, Aleatoric: s.Aleatoric, Share: s.Share,
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
	head := append(slices.Clone(names), "gain", "epistemic", "aleatoric", "epistemic_share", "measured", "advice")
	rows := [][]string{head}
	for _, s := range list {
		var r []string
		for _, v := range append(slices.Clone(s.At), s.Gain, s.Epistemic, s.Aleatoric, s.Share) {
			r = append(r, strconv.FormatFloat(v, 'g', -1, 64))
		}

		rows = append(rows, append(r, strconv.FormatBool(s.Measured), s.Advice))
	}

	return printCSV(w, "suggestions", rows)
}
