package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

func summaryOf(t *testing.T, list ...Experiment) []string {
	t.Helper()

	var b bytes.Buffer
	must.Do(t, Summary(&b, list, 100, false))

	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// manySplits is a rotor whose n speeds were held out in turn; the third failed.
func manySplits(n int) *Detail {
	d := campaign(1, n, 3, 0, 1)
	for i := range n {
		rpm := 2000 + 500*float64(i)
		s := SplitDetail{Name: fmt.Sprintf("rpm=%g", rpm), HeldOut: fmt.Sprintf("rpm = %g", rpm)}
		c, seed := &Intervals{Level: 0.95}, SeedDetail{}
		for k := range d.conditions() {
			s.Test = append(s.Test, d.x(k, 1) == rpm)
			for j := range d.dim() {
				mu := d.Mean[k*d.dim()+j] + 1
				c.Mu, c.Half, c.Half68 = append(c.Mu, mu), append(c.Half, 3), append(c.Half68, 1.5)
				seed.Mu, seed.Var, seed.Cov = append(seed.Mu, mu), append(seed.Var, 1), append(seed.Cov, 0.2)
			}
		}

		s.Seeds, s.Calibrated = []SeedDetail{seed}, c
		d.Splits = append(d.Splits, s)

		e := judged(rotor()).Splits[0]
		e.Name, e.HeldOut = s.Name, s.HeldOut
		e.Honest.Calibration.Condition = "rpm"
		if i == 2 {
			e.Honest.Record.Outcomes[0].Inside = 0.1
		}

		d.Experiment.Splits = append(d.Experiment.Splits, e)
	}

	return d
}

// A summary has at most 23 lines of one experiment, of two splits, of 31 and of several units,
// and 47 of three; it has the data, every verdict or the worst, a row of
// each outcome, R² and E|cov| of the paper's table, and no more than two findings.
func TestSummaryIsShort(t *testing.T) {
	two := outputExperiments()[0]
	many := manySplits(31).Experiment
	units := outputExperiments()[2] // of two units
	units.Splits = append(units.Splits, units.Splits...)
	for _, c := range []struct {
		most int
		list []Experiment
	}{
		{23, []Experiment{two}},
		{23, []Experiment{many}},
		{23, []Experiment{units}},
		{47, []Experiment{two, propeller(), outputExperiments()[2]}},
	} {
		lines := summaryOf(t, c.list...)
		must.Not(t, len(lines) > c.most, "%d lines, at most %d:\n%s", len(lines), c.most, strings.Join(lines, "\n"))

		for _, l := range lines {
			must.Not(t, width(l) > 100, "a line of %d columns: %s", width(l), l)
		}
	}

	text := strings.Join(summaryOf(t, two), "\n")
	must.Contain(t, text,
		"drone: simulated data; 780 recordings, 60 runs, 780 triplets; 3 inputs, 2 outcomes",
		"blades = 2 held out: bpf1_db: ± 24.8 dB, error 2.5 dB; bpf2_db: ± 7.1 dB, error 2.5 dB on 15 runs\nnever shown. "+
			"Holds, but wide for bpf1_db: ",
		"2-blades  bpf1_db                  2.5 ± 0.1         24.8    96 %  0.94  wide\n",
		"3-blades  bpf2_db (network alone)  7.2 ± 0.5          1.8    13 %  0.45  fails\n",
		"2-blades         0.9913  0.694 ± 0.054                2.85  7.65 ± 0.81  × 2.7         13 %\n",
		"skipped: x.wav: too short", "warning: a level is clipped", "more: 3 notes, checks and warnings on the page",
	)

	worst := strings.Join(summaryOf(t, many), "\n")
	if !strings.Contains(strings.ReplaceAll(worst, "\n", " "), " Does not hold for bpf1_db.") ||
		!strings.Contains(worst, "28 splits are graded no worse.") || strings.Contains(worst, "rpm=15000") {
		t.Error(worst)
	}

	none := strings.Join(summaryOf(t, Experiment{Name: "empty", Data: "measured"}), "\n")
	must.Equal(t, none, "empty: measured data\n\nNo split was trained.", "got")
}

// The remedy for a network's σ is the calibrated interval only where the split has one.
func TestCoverageRemedy(t *testing.T) {
	e := judged(rotor())
	for i := range e.Splits {
		e.Splits[i].Flags = []Violation{{Flag: score.Flag{Code: "coverage", Do: "measure", Value: 0.2}, Part: "test"}}
	}

	a, b := e.Splits[0].flags()[0].Do, e.Splits[1].flags()[0].Do
	must.Not(t, a != "use the calibrated interval there, or measure" || b != "measure", "%q, %q", a, b)

	e.Splits[0].Flags[0].Value = 1 // σ is too large
	must.Equal(t, e.Splits[0].flags()[0].Do, "measure", "got")
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
	c, seed := s.Calibrated, SeedDetail{}
	for i, x := range [][3]float64{{2, 2000, 0}, {2, 2000, 30}, {2, 3000, 0}, {2, 3000, 30}, {3, 2000, 0}} {
		d.X = append(d.X, x[:]...)
		d.Mean, d.Y1, d.Y2 = append(d.Mean, 60, 50), append(d.Y1, 60, 50), append(d.Y2, 61, 51)
		d.Cond, d.Run = append(d.Cond, i), append(d.Run, i/2)
		seed.Mu, seed.Var, seed.Cov = append(seed.Mu, 60, 50), append(seed.Var, 1, 1), append(seed.Cov, 0.1, 0.1)
		s.Test = append(s.Test, i < 4)

		half := []float64{20, 24, 9, 11, nan}[i]
		c.Mu, c.Half, c.Half68 = append(c.Mu, 60, 50), append(c.Half, half, 5), append(c.Half68, half/2, 2)
	}

	c.Mu[8] = nan
	s.Seeds = []SeedDetail{seed}
	d.Splits = []SplitDetail{s}
	d.AllRows, d.AllConditions = 5, 5

	return d
}

// What next: the forecast that gains most, 24.8 → 11.2 dB of the first outcome, at the speed
// whose mean half width, (20 + 24)/2 dB, is largest; the epistemic share is 4.6²/7² = 43 %, and
// 24.8·√((1 + 0.43)/2) = 21.0.
func TestWhatNext(t *testing.T) {
	d := heldOutRotor()
	want := "With blades = 2, the interval of BPF harmonic 1 is widest at shaft speed 2000 1/min (± 22.0 dB); measure " +
		"there, and long: noise is 57 % of the uncertainty. One run of the new group would make the interval ± 11.2 dB " +
		"instead of ± 24.8 dB, three ± 7.9 dB (forecast). Twice the recording time would make it ± 21.0 dB instead of " +
		"± 24.8 dB, as half of the noise goes."
	if got := d.next(); got != want {
		t.Errorf("%s\nexpected\n%s", got, want)
	}

	must.Contain(t, shown(string(Page([]*Detail{d}))), stripped("What next. "+want))

	r := d.Experiment.Splits[0].Honest.Record
	r.Forecast[1].Half = []float64{24, 7}
	want = "No run of a held-out group would narrow its interval by more than 10\u00a0% (forecast); noise is 57\u00a0% " +
		"of the uncertainty. Twice the recording time would make it ± 21.0 dB instead of ± 24.8 dB, as half of the " +
		"noise goes."
	must.Equal(t, d.next(), want, "got")

	if r.Forecast = nil; d.next() != "" {
		t.Error(d.next())
	}
}

// The first figure is the outcome with the widest interval, of the split where it is widest,
// and every outcome has a panel with its own interval.
func TestWidestFirst(t *testing.T) {
	d := heldOutRotor()
	outcomes := d.Experiment.Splits[0].Honest.Record.Outcomes
	outcomes[0].WidthOverSpread, outcomes[1].WidthOverSpread = 0.3, 0.9

	list := plots(d, filePoints, "")
	lead := list[leadOf(list)]
	must.Not(t, lead.file != "2-blades-honest-outcomes" || lead.spread != 0.9, "%s: %s, %v", lead.file, lead.heading,
		lead.spread)

	if i := leadOf(append(list, plot{kind: "honest-outcomes", spread: 1})); i != len(list) {
		t.Errorf("figure %d of %d", i, len(list))
	}

	at := slices.IndexFunc(list, func(p plot) bool { return p.file == "2-blades-honest-outcomes" })
	must.Never(t, at < 0 || len(list[at].fig.Panels) != 2, "no figure of both outcomes")

	rows := must.Get(csv.NewReader(bytes.NewReader(list[at].fig.CSV())).ReadAll())(t)

	// At the upper of the two speeds: 60 ± 9 and ± 11 dB, 50 ± 5 dB.
	text := fmt.Sprint(rows)
	must.Contain(t, text, "51 69", "49 71", "45 55")
}

// A page of 31 held-out sets is no larger than one of two, shows the figures of twelve.
func TestPageOfManySplits(t *testing.T) {
	d := manySplits(31)
	page := string(Page([]*Detail{d}))
	must.Not(t, len(page) > pageBytes, "%d bytes", len(page))
	must.Equal(t, strings.Count(page, "Figures of split "), pageSplits, "figures of splits")
	must.Contain(t, page, "Here are the figures of 12 of 31 splits, evenly selected")
}

// Each outcome has a row up to so many of a unit, more are ranges; equal ends are one number, and the worst grade names
// its outcomes. Written by hand.
func TestResults(t *testing.T) {
	e := Experiment{Splits: []Split{{Name: "s", Honest: calibratedBy(
		holding("lift_n", "N", 1.5, 4, 0.3), holding("l1", "dB re 1 V", 2, 5, 0.3), holding("drag_n", "N", 2.5, 4.04, 0.9),
		holding("side_n", "N", 2, 4, 0.2),
	)}}}
	rise := 1.9
	e.Splits[0].Honest.Calibration = &interval.Calibration{
		Level: 0.95, Scale: &scale.Scale{}, Rivals: []interval.Rival{{Method: "plain", Width: interval.Against{Ratio: 1.25}}},
		Groups: []interval.GroupResult{{Name: "4", Inside: 0.875, Rise: &rise}, {Name: "5"}},
	}
	for most, want := range map[int][]string{
		2: {"s lift_n … side_n N 1.5–2.5 4.0 97 % 0.94 wide: drag_n", "s l1 dB 2.0 5.0 97 % 0.94 holds"},
		3: {
			"s lift_n N 1.5 4.0 97 % 0.94 holds", "s l1 dB 2.0 5.0 97 % 0.94 holds",
			"s drag_n N 2.5 4.0 97 % 0.94 wide", "s side_n N 2.0 4.0 97 % 0.94 holds",
		},
	} {
		var got []string
		for _, r := range e.results(most).Rows {
			line := r.Label
			for _, c := range r.Cells {
				line += " " + c.plain()
			}

			got = append(got, line)
		}

		must.Not(t, !slices.Equal(got, want), "%q\nexpected\n%q", got, want)
	}

	must.Contain(t, e.results(1).Below, "of 63 measured sets). Here", "score on left-out groups is × 0.80 to 0.80")
}
