package app

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/report"
	"doubletake/report/answer/predict"
	"doubletake/report/answer/suggest"
	"doubletake/train/numbers"
)

// suggestion is one use of pipeline suggest.
type suggestion struct {
	models     *predict.Models
	candidates *suggest.Candidates
	names      []string // of the sources and the inputs of candidates
	ranked     []suggest.Suggestion
	ranking    string // a value of suggest.Ranking
}

// runSuggest prints the candidates where the next measurement pays most or, with --batch or a budget, a plan of
// measurements.
func runSuggest(c *call) error {
	priced := c.IsSet("cost") || c.IsSet("budget")
	batch := c.Int("batch")
	if err := checkSuggest(c, priced); err != nil {
		return err
	}

	models, err := c.shared().open(c.arg(0))
	if err != nil {
		return err
	}

	candidates, err := readCandidates(c, models)
	if err != nil {
		return err
	}

	ranking := suggest.Ranking(models)
	planned := priced || batch > 0
	if planned && ranking != suggest.ByGain {
		return usage("pipeline suggest: a plan wants a split with a calibrated process, found none in %s", c.arg(0))
	}

	s := &suggestion{models: models, candidates: candidates, ranking: ranking, names: slices.Clone(candidates.Sources)}
	for _, input := range candidates.Inputs {
		s.names = append(s.names, models.Card.Inputs[input].Name)
	}

	s.ranked, err = suggest.Rank(c.ctx, models, candidates)
	if err != nil && c.Err() != nil { // interrupted
		return err
	}

	if err != nil {
		return usage("pipeline suggest: %v", err)
	}

	costs := suggest.Costs{Repeat: 1}
	budget := float64(batch)
	if priced {
		costs, budget, err = s.readCosts(c)
		if err != nil {
			return err
		}
	}

	printNotes(c.stderr, models.Warnings)

	if ranking == suggest.ByGain && budget > 0 {
		return s.printPlan(c, costs, budget, priced)
	}

	return s.printRanking(c)
}

// readCosts returns the costs of measurements and the budget that the flags state.
func (s *suggestion) readCosts(c *call) (costs suggest.Costs, budget float64, err error) {
	axes := slices.Concat(s.names, s.candidates.Labels)
	for _, source := range s.models.Sources() {
		isPriced := slices.Contains(pricedNames(c.String("cost")), source)
		if isPriced && !slices.Contains(axes, source) {
			return suggest.Costs{}, 0, usage("--cost: the candidates have no %s; name it in --grid or in the table of "+
				"--candidates", source)
		}
	}

	costs, budget, err = suggest.ReadCosts(axes, c.String("cost"), c.String("budget"))
	if err != nil {
		return suggest.Costs{}, 0, usage("%v", err)
	}

	costs.Labels = s.candidates.Labels

	return costs, budget, nil
}

// pricedNames returns the names that costs such as "blades=60min,repeat=2min" state.
func pricedNames(costs string) []string {
	var names []string
	for term := range strings.SplitSeq(costs, ",") {
		name, _, _ := strings.Cut(term, "=")
		names = append(names, strings.TrimSpace(name))
	}

	return names
}

// readCandidates returns the candidates of the grid or the file that the flags name, or those between and around what
// was measured.
func readCandidates(c *call, models *predict.Models) (*suggest.Candidates, error) {
	if path := c.String("candidates"); path != "" {
		return suggest.Read(models, path)
	}

	if c.String("grid") == "" {
		return suggest.Default(models), nil
	}

	candidates, err := suggest.ParseGrid(models, c.String("grid"))
	if err != nil {
		return nil, usage("--grid: %v", err)
	}

	return candidates, nil
}

// checkSuggest reports flags of pipeline suggest that are missing, wrong or exclude each other.
func checkSuggest(c *call, priced bool) error {
	count := c.Int("count")
	batch := c.Int("batch")
	switch {
	case c.String("grid") != "" && c.String("candidates") != "":
		return usage("pipeline suggest wants --grid or --candidates, not both")
	case batch < 0:
		return usage("--batch wants a number of conditions, found %d", batch)
	case count < 0:
		return usage("--count wants a number of conditions, found %d", count)
	case c.IsSet("count") && (priced || batch > 0):
		return usage("--count belongs to a ranking; --batch and --budget decide how many measurements a plan has")
	case priced && batch > 0:
		return usage("pipeline suggest: --cost and --budget go without --batch")
	}

	return nil
}

// printRanking prints the best candidates, each by itself.
func (s *suggestion) printRanking(c *call) error {
	listed := s.ranked
	if count := c.Int("count"); count > 0 && count < len(listed) {
		listed = listed[:count]
	}

	switch {
	case c.Bool("json"):
		records := s.records(listed, false)
		for i, candidate := range listed {
			records[i] = append(records[i], "extrapolation", append([]string{}, candidate.Outside...))
		}

		return printJSON(c.stdout, numbers.Object{
			"models", s.models.Paths, "experiment", s.models.Card.Experiment, "data", s.models.Card.Data, "by", s.ranking,
			"candidates", len(s.ranked), "notes", append([]string{}, s.models.Warnings...), "suggestions", records,
		})
	case c.Bool("csv"):
		return report.CSV(c.stdout, s.records(listed, true))
	}

	order := "largest expected squared error first, in units of the outcomes' training variance"
	if s.ranking == suggest.ByGain {
		order = "the share by which one measurement lowers the mean expected squared error over all, largest first"
	}

	if s.candidates.MissingFirst && len(s.ranked) > 0 && s.ranked[0].IsMissing() {
		order += "; combinations that are missing come before all others"
	}

	fmt.Fprintf(c.stdout, "%d of %s by %s, %s\n", len(listed), fault.Plural(int64(len(s.ranked)), "candidate"),
		s.ranking, order)

	if err := s.listing(listed).Write(c.stdout, width(c.stdout)); err != nil {
		return err
	}

	for _, line := range suggest.Forecast(s.models) {
		fmt.Fprintln(c.stdout, line)
	}

	return nil
}

// condition returns the inputs of a candidate by name, and its names by label.
func (s *suggestion) condition(candidate suggest.Candidate) numbers.Object {
	object := numbers.Named(s.names, slices.Concat(candidate.Stated, candidate.At))
	for _, label := range s.candidates.Labels {
		object = append(object, label, candidate.Things[label])
	}

	return object
}

// records returns suggestions for CSV, and for JSON, which adds their extrapolations. If flat, the half widths are
// columns rather than an object.
func (s *suggestion) records(list []suggest.Suggestion, flat bool) []numbers.Object {
	return numbers.Objects(list, func(candidate suggest.Suggestion) numbers.Object {
		record := numbers.Object{
			"at", s.condition(candidate.Candidate), "class", string(candidate.Class), "gain", candidate.Gain,
			"epistemic", candidate.Epistemic, "aleatoric", candidate.Aleatoric, "epistemic_share", candidate.Share,
			"measured", candidate.Measured, "advice", candidate.Advice,
		}

		return s.withHalf(record, candidate.Half, flat)
	})
}

// withHalf returns a record with half widths by outcome. If flat, they are columns rather than an object. Without a
// calibrated model there are none.
func (s *suggestion) withHalf(record numbers.Object, half []float64, flat bool) numbers.Object {
	switch {
	case half == nil:
		return record
	case flat:
		return append(record, numbers.Named(s.outcomes("_half_width"), half)...)
	}

	return append(record, "half_width", numbers.Named(s.outcomes(""), half))
}

// listing returns the table of suggestions for people.
func (s *suggestion) listing(list []suggest.Suggestion) report.Listing {
	listing := report.Listing{Heads: slices.Concat([]string{"rank"}, s.names, s.candidates.Labels)}
	isCalibrated := s.ranking != suggest.ByBoth
	if isCalibrated {
		listing.Heads = append(listing.Heads, "class", "half width ("+s.level()+")")
	} else {
		listing.Heads = append(listing.Heads, "epistemic", "aleatoric")
	}

	isByGain := s.ranking == suggest.ByGain
	if isByGain {
		listing.Heads = append(listing.Heads, "gain")
	}

	listing.Heads = append(listing.Heads, "advice")
	for i, candidate := range list {
		cells := s.conditionCells(i, candidate.Candidate)
		if isCalibrated {
			cells = append(cells, string(candidate.Class), halfWidths(s.models, candidate.Half))
		} else {
			cells = append(cells, fault.Digits(candidate.Epistemic, 4), fault.Digits(candidate.Aleatoric, 4))
		}

		if isByGain {
			cells = append(cells, fault.Digits(100*candidate.Gain, 2)+" %")
		}

		advice := candidate.Advice
		if len(candidate.Outside) > 0 {
			advice += " (extrapolation: " + strings.Join(candidate.Outside, ", ") + ")"
		}

		listing.Add(append(cells, advice)...)
	}

	return listing
}

// conditionCells returns the rank of a candidate, the values of its sources and inputs, and its names, or "new" without
// a name.
func (s *suggestion) conditionCells(i int, candidate suggest.Candidate) []string {
	cells := []string{strconv.Itoa(i + 1)}
	for _, value := range slices.Concat(candidate.Stated, candidate.At) {
		cells = append(cells, fmt.Sprintf("%.10g", value))
	}

	for _, label := range s.candidates.Labels {
		cells = append(cells, cmp.Or(candidate.Things[label], "new"))
	}

	return cells
}

// printPlan prints the measurements that a budget pays for, with the half widths that they are expected to bring.
func (s *suggestion) printPlan(c *call, costs suggest.Costs, budget float64, priced bool) error {
	session, err := suggest.Plan(c.ctx, s.models, s.candidates, s.ranked, costs, budget)
	if err != nil {
		return err
	}

	steps := session.Steps
	if len(steps) == suggest.MaxSteps {
		printNotes(c.stderr, []string{fmt.Sprintf("a plan has %d measurements at most", suggest.MaxSteps)})
	}

	if len(steps) == 0 {
		return usage("a budget of %s pays for no candidate: setting up the first one costs more", costs.Format(budget))
	}

	switch {
	case c.Bool("json"):
		return printJSON(c.stdout, numbers.Object{
			"half_width_now", numbers.Named(s.outcomes(""), session.Before), "cost_unit", costs.Unit, "budget", budget,
			"steps", s.planRecords(steps, false),
		})
	case c.Bool("csv"):
		return report.CSV(c.stdout, s.planRecords(steps, true))
	}

	spent := ""
	if priced {
		spent = fmt.Sprintf(" for %s of %s", costs.Format(steps[len(steps)-1].Sum), costs.Format(budget))
	}

	fmt.Fprintf(c.stdout, "%s%s; half width of a %s interval at the candidates, on average: %s now\n",
		fault.Plural(int64(len(steps)), "measurement"), spent, s.level(), halfWidths(s.models, session.Before))

	if err := s.planListing(steps, costs, priced).Write(c.stdout, width(c.stdout)); err != nil {
		return err
	}

	if session.Split != nil {
		fmt.Fprintf(c.stdout, "all of them in %s; half of them in %s: %s instead of %s (forecast)\n", session.Opened,
			session.Another, halfWidths(s.models, session.Split), halfWidths(s.models, steps[len(steps)-1].Half))
	}

	return nil
}

// level returns the level of the half widths, such as "95 %": the level of the calibration. The models must have a
// calibration.
func (s *suggestion) level() string {
	return fault.Digits(100*s.models.Honest.Calibration.Level, 4) + " %"
}

// outcomes returns the names of the outcomes, each with a suffix.
func (s *suggestion) outcomes(suffix string) []string {
	var names []string
	for _, outcome := range s.models.Card.Outcomes {
		names = append(names, outcome.Name+suffix)
	}

	return names
}

// planRecords returns the steps of a plan. If flat, the half widths are columns rather than an object.
func (s *suggestion) planRecords(steps []suggest.Step, flat bool) []numbers.Object {
	return numbers.Objects(steps, func(step suggest.Step) numbers.Object {
		record := numbers.Object{
			"at", s.condition(step.Candidate), "class", string(step.Class), "cost", step.Cost, "cost_in_all", step.Sum,
			"measured", step.Measured,
		}

		return s.withHalf(record, step.Half, flat)
	})
}

// planListing returns the table of a plan's steps for people. It has the costs if measurements are priced.
func (s *suggestion) planListing(steps []suggest.Step, costs suggest.Costs, priced bool) report.Listing {
	listing := report.Listing{Heads: slices.Concat([]string{""}, s.names, s.candidates.Labels, []string{"class"})}
	if priced {
		listing.Heads = append(listing.Heads, "cost", "in all")
	}

	listing.Heads = append(listing.Heads, "half width after it (forecast)", "advice")
	for i, step := range steps {
		cells := append(s.conditionCells(i, step.Candidate), string(step.Class))
		if priced {
			cells = append(cells, costs.Format(step.Cost), costs.Format(step.Sum))
		}

		listing.Add(append(cells, halfWidths(s.models, step.Half), step.Advice)...)
	}

	return listing
}

// halfWidths writes half widths by unit, from the narrowest to the widest outcome with the unit, or "none" if there is
// no interval.
func halfWidths(models *predict.Models, half []float64) string {
	if slices.ContainsFunc(half, math.IsNaN) {
		return "none"
	}

	var kinds []string
	for i := range half {
		kinds = append(kinds, units.Difference(models.Card.Outcomes[i].Unit))
	}

	var texts []string
	for _, alike := range lists.Alike(kinds) {
		widths := lists.Pick(half, alike)
		low := fault.Digits(slices.Min(widths), 2)
		high := fault.Digits(slices.Max(widths), 2)
		if low != high {
			low += " to " + high
		}

		texts = append(texts, strings.TrimSpace("± "+low+" "+kinds[alike[0]]))
	}

	return strings.Join(texts, ", ")
}
