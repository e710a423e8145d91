package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/predict"
	"doubletake/pipeline/suggest"
	"doubletake/report"
	"doubletake/train/numbers"
)

func runSuggest(c *call) error {
	grid, count, batch := c.String("grid"), c.Int("count"), c.Int("batch")
	asked := c.IsSet("cost") || c.IsSet("budget")
	switch {
	case grid == "":
		return usage("pipeline suggest wants --grid, e.g. --grid blades=2:5:1,rpm=2000:9000:500")
	case batch < 0:
		return usage("--batch wants a number of conditions, found %d", batch)
	case count < 0:
		return usage("--count wants a number of conditions, found %d", count)
	case asked && batch > 0:
		return usage("pipeline suggest: --cost and --budget go without --batch")
	}

	m := fault.Get(predict.Open(c.arg(0)))
	axes, err := suggest.ParseGrid(m, grid)
	if err != nil {
		return usage("--grid: %v", err)
	}

	by := suggest.By(m)
	if (asked || batch > 0) && by != suggest.ByGain {
		return usage("pipeline suggest: a plan wants a split with a calibrated process, found none in %s", c.arg(0))
	}

	list, err := suggest.Rank(c.ctx, m, axes)
	if err != nil {
		if c.Err() != nil {
			return err
		}
		return usage("pipeline suggest: %v", err)
	}

	names := lists.Each(axes, func(a suggest.Axis) string { return m.Card.Inputs[a.Input].Name })
	costs, budget := suggest.Costs{Change: make([]float64, len(axes)), Repeat: 1}, float64(batch)
	if asked {
		costs, budget, err = suggest.ReadCosts(names, c.String("cost"), c.String("budget"))
		if err != nil {
			return usage("pipeline suggest: %v", err)
		}
	}

	if by == suggest.ByGain && budget > 0 {
		printNotes(c.stderr, m.Warnings)
		return planSuggested(c, m, axes, names, list, costs, budget, asked)
	}

	total, order := len(list), "most expected error first"
	if by == suggest.ByGain {
		order = "the share first by which one measurement lowers the mean expected error over all"
	}

	if count > 0 && count < total {
		list = list[:count]
	}

	printNotes(c.stderr, m.Warnings)

	switch {
	case c.Bool("json"):
		records := suggestRecords(names, list)
		for i, s := range list {
			records[i] = append(records[i], "extrapolation", append([]string{}, s.Outside...))
		}

		return printJSON(c.stdout, numbers.Object{
			"models", m.Paths, "experiment", m.Card.Experiment, "data", m.Card.Data, "by", by, "candidates", total,
			"notes", append([]string{}, m.Warnings...), "suggestions", records,
		})
	case c.Bool("csv"):
		return report.CSV(c.stdout, suggestRecords(names, list))
	}

	fmt.Fprintf(c.stdout, "%d of %d candidates by %s, %s; variances in units of the outcomes' training variance\n",
		len(list), total, by, order)

	fault.Raise(suggestListing(names, list).Write(c.stdout, width(c.stdout)))
	for _, line := range suggest.Forecast(m) {
		fmt.Fprintln(c.stdout, line)
	}

	return nil
}

// suggestRecords are suggestions in CSV, and in JSON with what is outside of the training range.
func suggestRecords(names []string, list []suggest.Suggestion) []numbers.Object {
	return numbers.Objects(list, func(s suggest.Suggestion) numbers.Object {
		return numbers.Object{
			"at", numbers.Named(names, s.At), "gain", s.Gain, "epistemic", s.Epistemic, "aleatoric", s.Aleatoric,
			"epistemic_share", s.Share, "measured", s.Measured, "advice", s.Advice,
		}
	})
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
	at := lists.Each(s.At, func(v float64) string { return fmt.Sprintf("%.10g", v) })
	return append([]string{strconv.Itoa(i + 1)}, at...)
}

// planSuggested prints the measurements that a budget pays for, with what they promise.
func planSuggested(c *call, m *predict.Models, axes []suggest.Axis, names []string,
	list []suggest.Suggestion, costs suggest.Costs, budget float64, priced bool,
) error {
	steps, now, err := suggest.Plan(c.ctx, m, axes, list, costs, budget)
	if err != nil {
		return err
	}

	if len(steps) == suggest.MaxSteps {
		printNotes(c.stderr, []string{fmt.Sprintf("a plan has %d measurements at most", suggest.MaxSteps)})
	}

	if len(steps) == 0 {
		return usage("a budget of %s pays for none of the %d candidates: setting up the first one costs more",
			costs.Format(budget), len(list))
	}

	var outcomes, widths []string
	for _, o := range m.Card.Outcomes {
		outcomes, widths = append(outcomes, o.Name), append(widths, o.Name+"_half_width")
	}

	records := numbers.Objects(steps, func(s suggest.Step) numbers.Object {
		o := numbers.Object{
			"at", numbers.Named(names, s.At), "cost", s.Cost, "cost_in_all", s.Sum, "measured", s.Measured,
		}
		if c.Bool("csv") {
			return append(o, numbers.Named(widths, s.Half)...)
		}

		return append(o, "half_width", numbers.Named(outcomes, s.Half))
	})

	switch {
	case c.Bool("json"):
		return printJSON(c.stdout, numbers.Object{
			"half_width_now", numbers.Named(outcomes, now), "cost_unit", costs.Unit, "budget", budget, "steps", records,
		})
	case c.Bool("csv"):
		return report.CSV(c.stdout, records)
	}

	spent := ""
	if priced {
		spent = fmt.Sprintf(" for %s of %s", costs.Format(steps[len(steps)-1].Sum), costs.Format(budget))
	}

	fmt.Fprintf(c.stdout, "%s%s; half width of an interval at the candidates, on average: %s now\n",
		fault.Plural(int64(len(steps)), "measurement"), spent, halfWidths(m, now))

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

	return l.Write(c.stdout, width(c.stdout))
}

// halfWidths are half widths by unit, from the narrowest to the widest outcome of it.
func halfWidths(m *predict.Models, half []float64) string {
	kinds := lists.Make(len(half), func(k int) string { return units.Difference(m.Card.Outcomes[k].Unit) })
	texts := lists.Each(lists.Alike(kinds), func(at []int) string {
		of := lists.Rows(half, 1, at)
		low, high := fmt.Sprintf("%.2g", slices.Min(of)), fmt.Sprintf("%.2g", slices.Max(of))
		if low != high {
			low += " to " + high
		}

		return strings.TrimSpace("± " + low + " " + kinds[at[0]])
	})

	return strings.Join(texts, ", ")
}
