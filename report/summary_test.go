package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/score"
)

func summaryOf(t *testing.T, list ...Experiment) []string {
	t.Helper()

	var b bytes.Buffer
	require.NoError(t, Summary(&b, list, 100, false))

	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// manySplits is a rotor whose n speeds were held out in turn; the third failed.
func manySplits(n int) *Detail {
	d := campaign(1, n, 3, 0, 1)
	for i := range n {
		rpm := 2000 + 500*float64(i)
		s := SplitDetail{Name: fmt.Sprintf("rpm=%g", rpm), HeldOut: fmt.Sprintf("rpm = %g", rpm)}
		c := &Intervals{Level: 0.95}
		seed := SeedDetail{}
		for k := range d.conditionCount() {
			s.Test = append(s.Test, d.x(k, 1) == rpm)
			for j := range d.outcomeCount() {
				mu := d.Mean[k*d.outcomeCount()+j] + 1
				c.Mu = append(c.Mu, mu)
				c.Half = append(c.Half, 3)
				c.Half68 = append(c.Half68, 1.5)
				seed.Mu = append(seed.Mu, mu)
				seed.Var = append(seed.Var, 1)
				seed.Cov = append(seed.Cov, 0.2)
			}
		}

		s.Seeds = []SeedDetail{seed}
		s.Calibrated = c
		d.Splits = append(d.Splits, s)

		e := judged(rotor()).Splits[0]
		e.Name = s.Name
		e.HeldOut = s.HeldOut
		e.Honest.Calibration.Condition = "rpm"
		if i == 2 {
			e.Honest.Record.Outcomes[0].Inside = 0.1
		}

		d.Experiment.Splits = append(d.Experiment.Splits, e)
	}

	return d
}

// A summary has a line for each outcome of each split, up to mostRows; it has the data, every verdict or the worst with
// its action, a line about the network on each split, one finding, and the violated checks of all networks.
func TestSummaryIsShort(t *testing.T) {
	two := outputExperiments()[0]
	many := manySplits(31).Experiment
	units := outputExperiments()[2] // of two units
	units.Splits = append(units.Splits, units.Splits...)
	for _, c := range []struct {
		most int
		list []Experiment
	}{
		{21, []Experiment{two}},
		{33, []Experiment{many}},
		{25, []Experiment{units}},
		{45, []Experiment{two, propeller(), outputExperiments()[2]}},
	} {
		lines := summaryOf(t, c.list...)
		assert.LessOrEqual(t, len(lines), c.most, "%d lines, at most %d:\n%s", len(lines), c.most, strings.Join(lines, "\n"))

		for _, l := range lines {
			if textWidth(l) > 100 {
				t.Errorf("a line of %d columns: %s", textWidth(l), l)
			}
		}
	}

	text := strings.Join(summaryOf(t, two), "\n")
	assert.Contains(t, text, "drone: simulated data; 780 recordings, 60 runs, 780 triplets; 3 inputs, 2 outcomes")
	assert.Contains(t, text, "2-blades (blades = 2 held out, 15 runs), calibrated model: wide for bpf1_db: ")
	assert.Contains(t, text, "\n3-blades bpf1_db network        7.2     1.8      7 %     13 %  0.45     –       –  fails")
	assert.Contains(t, text, "\n2-blades bpf1_db                2.5    24.8     75 %     96 %  0.94     –       –  wide\n")
	assert.Contains(t, text,
		"paper's network, 2-blades: R² 0.99, held out 0.69; E|cov| held out/trained × 2.7; inside 95 %: 13 %")
	assert.Contains(t, text, "warning: a level is clipped (3 more on the page)")
	assert.NotContains(t, text, "…", "a reason is cut")

	worst := strings.Join(summaryOf(t, many), "\n")
	joined := strings.ReplaceAll(worst, "\n", " ")
	assert.Contains(t, joined, "calibrated model: fails for bpf1_db: ")
	assert.Contains(t, joined, "Do not use the intervals of bpf1_db there. Train on a run with rpm = 3000, and hold out "+
		"the others as a test.")
	assert.Contains(t, joined, "28 splits are graded no worse.")
	assert.Contains(t, joined, "50 rows are graded no worse; they are on the page.")
	assert.Contains(t, worst, "\nrpm=3000 bpf1_db ")
	assert.NotContains(t, worst, "rpm=15000")

	none := strings.Join(summaryOf(t, Experiment{Name: "empty", Data: "measured"}), "\n")
	assert.Equal(t, "empty: measured data\n\nNo split was trained.", none)
}

// The remedy for a network's σ is the calibrated interval only where the split has one.
func TestCoverageRemedy(t *testing.T) {
	e := judged(rotor())
	for i := range e.Splits {
		e.Splits[i].Flags = []Violation{{Flag: score.Flag{Code: "coverage", Do: "measure", Value: 0.2}, Part: "test"}}
	}

	a := e.Splits[0].flags()[0].Do
	b := e.Splits[1].flags()[0].Do
	require.Equal(t, "use the calibrated interval there, or measure", a, "%q, %q", a, b)
	assert.Equal(t, "measure", b, "%q, %q", a, b)

	e.Splits[0].Flags[0].Value = 1 // σ is too large
	assert.Equal(t, "measure", e.Splits[0].flags()[0].Do)
}

// heldOutRotor holds out two blades at two speeds and two angles; the interval of the first
// outcome is widest at the lower speed.
func heldOutRotor() *Detail {
	d := &Detail{
		Experiment: judged(rotor()),
		Inputs:     []Quantity{{Name: "blades"}, {Name: "rpm", Unit: "1/min"}, {Name: "theta_deg", Unit: "deg"}},
		Outcomes:   []Quantity{{Name: "bpf1_db", Unit: "dB re 20 µPa"}, {Name: "bpf2_db", Unit: "dB re 20 µPa"}},
		Runs:       []string{"a", "b", "c"},
	}
	nan := math.NaN()
	s := SplitDetail{Name: "2-blades", HeldOut: "blades = 2", Calibrated: &Intervals{Level: 0.95}}
	c := s.Calibrated
	seed := SeedDetail{}
	for i, x := range [][3]float64{{2, 2000, 0}, {2, 2000, 30}, {2, 3000, 0}, {2, 3000, 30}, {3, 2000, 0}} {
		d.X = append(d.X, x[:]...)
		d.Mean = append(d.Mean, 60, 50)
		d.Y1 = append(d.Y1, 60, 50)
		d.Y2 = append(d.Y2, 61, 51)
		d.Cond = append(d.Cond, i)
		d.Run = append(d.Run, i/2)
		seed.Mu = append(seed.Mu, 60, 50)
		seed.Var = append(seed.Var, 1, 1)
		seed.Cov = append(seed.Cov, 0.1, 0.1)
		s.Test = append(s.Test, i < 4)

		half := []float64{20, 24, 9, 11, nan}[i]
		c.Mu = append(c.Mu, 60, 50)
		c.Half = append(c.Half, half, 5)
		c.Half68 = append(c.Half68, half/2, 2)
	}

	c.Mu[8] = nan
	s.Seeds = []SeedDetail{seed}
	d.Splits = []SplitDetail{s}
	d.AllRows = 5
	d.AllConditions = 5

	return d
}

// What next: the forecast that gains most, 24.8 → 11.2 dB of the first outcome; the epistemic share is
// 4.6²/7² = 43 %, and 24.8·√((1 + 0.43)/2) = 21.0.
func TestWhatNext(t *testing.T) {
	d := heldOutRotor()
	undefinedErrors := HeldOutcome{Outcome: "bpf1_db", MeanError: undefined, LinearError: undefined}
	d.Experiment.Splits[0].Held = []HeldOutcome{undefinedErrors}
	want := "Largest gain: train on a run with blades = 2: ±\u00a011.2 instead of " +
		"±\u00a024.8 dB (forecast); twice the recording time, to ±\u00a021.0 dB."
	code := "pipeline suggest drone/2-blades --grid blades=2:3:1,rpm=2000:3000:1000"
	assert.Equal(t, []step{{Row: "2-blades bpf1_db", Grade: "wide", Words: want, Code: code}}, d.next())
	assert.Contains(t, shown(string(Page([]*Detail{d}))),
		stripped("What next 2-blades bpf1_db wide "+want+" Rank runs: "+code))

	r := d.Experiment.Splits[0].Honest.Record
	r.Forecast[1].Half = []float64{24, 7}
	want = "No training run of a held-out group would narrow its interval by more than 10\u00a0% (forecast); twice " +
		"the recording time, to ±\u00a021.0 dB."
	assert.Equal(t, []step{{Words: want, Code: code}}, d.next())

	r.Forecast = nil
	assert.Empty(t, d.next())
}

// The page has a next step for each of mostSteps undecided rows, and counts the others.
func TestWhatNextOfManyRows(t *testing.T) {
	d := &Detail{Experiment: manySplits(31).Experiment}
	for i := range d.Experiment.Splits {
		d.Experiment.Splits[i].Honest = calibratedBy(undecidedBy("y", missesAt68))
	}

	steps := d.next()
	assert.Len(t, steps, mostSteps+1)
	assert.Equal(t, "rpm=2000 y", steps[0].Row)
	assert.Equal(t, "27 more rows have their next step in report.md.", steps[mostSteps].Words)
}

// The first figure is the outcome with the widest interval, of the split where it is widest,
// and every outcome has a panel with its own interval.
func TestWidestFirst(t *testing.T) {
	d := heldOutRotor()
	outcomes := d.Experiment.Splits[0].Honest.Record.Outcomes
	outcomes[0].WidthOverSpread = 0.3
	outcomes[1].WidthOverSpread = 0.9

	list := plots(d, filePoints, "")
	lead := list[leadOf(list)]
	require.Equal(t, "2-blades-honest-outcomes", lead.file, "%s: %s, %v", lead.file, lead.heading, lead.spread)
	assert.Equal(t, 0.9, lead.spread, "%s: %s, %v", lead.file, lead.heading, lead.spread)

	wider := append(list, captionedFigure{kind: "honest-outcomes", spread: 1})
	assert.Equal(t, len(list), leadOf(wider), "the last figure leads")

	both := slices.IndexFunc(list, func(p captionedFigure) bool { return p.file == "2-blades-honest-outcomes" })
	require.GreaterOrEqual(t, both, 0, "no figure of both outcomes")
	require.Len(t, list[both].fig.Panels, 2, "no figure of both outcomes")

	rows, err := csv.NewReader(bytes.NewReader(list[both].fig.CSV())).ReadAll()
	require.NoError(t, err)

	// At the upper of the two speeds: 60 ± 9 and ± 11 dB, 50 ± 5 dB.
	text := fmt.Sprint(rows)
	assert.Contains(t, text, "51 69")
	assert.Contains(t, text, "49 71")
	assert.Contains(t, text, "45 55")
}

// A page of 31 held-out sets is no larger than one of two, shows the figures of twelve.
func TestPageOfManySplits(t *testing.T) {
	d := manySplits(31)
	page := string(Page([]*Detail{d}))
	assert.LessOrEqual(t, len(page), pageBytes, "%d bytes", len(page))
	assert.Equal(t, pageSplits, strings.Count(page, "<h3>Calibrated model on <bdi>"), "figures of splits")
	assert.Contains(t, page, "Here are the figures of 12 of 31 splits, evenly selected")
}

// Each split and outcome has a row, the worst first: by grade, then by R². Errors of plain predictions and errors
// without upper bounds are those of the split's held-out values; rows of another program come last. Written by hand.
func TestResults(t *testing.T) {
	failing := holding("side_n", "N", 2, 4, 0.2)
	failing.Inside = 0.1
	loose := holding("drag_n", "N", 2.5, 4.04, 0.9)
	good := holding("lift_n", "N", 1.5, 4, 0.3)
	worse := holding("l1", "dB re 1 V", 2, 5, 0.3)
	worse.R2 = 0.5
	measured := holding("lift_n", "N", 1.25, 4, 0.3)
	e := Experiment{Splits: []Split{{
		Name: "s", Honest: calibratedBy(good, worse, loose, failing), Rivals: []score.OutcomeTrust{good},
		Held: []HeldOutcome{
			{Outcome: "lift_n", Values: 10, Bounds: 3, Measured: &measured, MeanError: 9, LinearError: 4.5},
			{Outcome: "drag_n", Values: 10, MeanError: 8, LinearError: undefined},
		},
	}}}
	want := []string{
		"s side_n N 2.0 4.0 70 % 10 % 0.94 – – – – fails", "s drag_n N 2.5 4.0 70 % 97 % 0.94 0 % – 8.0 – wide",
		"s l1 dB 2.0 5.0 70 % 97 % 0.50 – – – – holds", "s lift_n N 1.5 4.0 70 % 97 % 0.94 30 % 1.2 9.0 4.5 holds",
		"s lift_n N 1.5 4.0 70 % 97 % 0.94 – – – – reference",
	}

	list := resultsTable(e.results())
	title := "Calibrated model on held-out values, worst first"
	assert.Equal(t, title, list.Title)

	var got []string
	for _, row := range list.Rows {
		line := row.Label
		for _, cell := range row.Cells {
			line += " " + cell.plain()
		}

		got = append(got, strings.ReplaceAll(line, "\u00a0", " "))
	}

	assert.Equal(t, want, got)
}

// Rows of one grade are sorted by R². An undecided row whose 95 % interval holds comes after the other undecided rows,
// whatever its R² is.
func TestOrderOfUndecidedRows(t *testing.T) {
	onlyAt95 := holding("only", "N", 2, 5, 0.3)
	onlyAt95.At[0] = 0.4
	onlyAt95.R2 = 0.5
	doubtful := holding("doubtful", "N", 2, 5, 0.3)
	doubtful.Inside = 0.85
	doubtful.R2 = 0.9
	require.Equal(t, score.Undecided, onlyAt95.Grade())
	require.Equal(t, score.Undecided, doubtful.Grade())

	rows := Experiment{Splits: []Split{{Name: "s", Honest: calibratedBy(onlyAt95, doubtful)}}}.results()
	assert.Equal(t, "doubtful", rows[0].trust.Outcome)
	assert.Equal(t, "only", rows[1].trust.Outcome)
}

// The predictions of another program are not our model's, also if some splits have a calibrated model and others the
// network alone.
func TestModelOfReference(t *testing.T) {
	trust := holding("lift_n", "N", 1.5, 4, 0.3)
	list := []score.OutcomeTrust{trust}
	e := Experiment{Splits: []Split{
		{Name: "calibrated", Honest: calibratedBy(trust), Rivals: list}, {Name: "plain", Network: list, Rivals: list},
	}}

	rows := e.results()
	var models []string
	for k, row := range resultsTable(rows).Rows {
		if rows[k].reference {
			models = append(models, row.Cells[1].plain())
		}
	}

	assert.Equal(t, []string{"–", "–"}, models)
	for k, row := range briefResults(rows).Rows {
		isNetwork := !rows[k].reference && rows[k].split.Name == "plain"
		assert.Equal(t, isNetwork, strings.HasSuffix(row.Label, " network"), row.Label)
	}
}

// A long finding is cut where a clause ends, but not behind the name that it is about: a name alone says nothing.
func TestFirstClauses(t *testing.T) {
	for _, c := range []struct {
		text, want string
		columns    int
	}{
		{"a level is clipped", "a level is clipped", 20},
		{`1 of 60 runs are flagged "speed-shift": its halves differ`, `1 of 60 runs are flagged "speed-shift".`, 50},
		{"2 runs differ in rpm; look at them", "2 runs differ in rpm.", 30},
		{"run 7: cd is 0.04 from the others; look at it", "run 7: cd is 0.04 from the others.", 40},
		{"run 7: cd is 0.04 from the others; look at it", "run 7: cd is 0.04 from the others; look at it", 20},
	} {
		assert.Equal(t, c.want, firstClauses(c.text, c.columns), "%d columns", c.columns)
	}
}
