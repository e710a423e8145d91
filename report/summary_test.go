package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/train/form"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

func summaryOf(t *testing.T, list ...Experiment) []string {
	t.Helper()

	var b bytes.Buffer
	if err := Summary(&b, list, 100, false); err != nil {
		t.Fatal(err)
	}

	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// manySplits is a rotor whose n speeds were held out in turn; the third failed.
func manySplits(n int) *Detail {
	d := campaign(1, n, 3, 0, 1)
	for i := range n {
		rpm := 2000 + 500*float64(i)
		s := SplitDetail{Name: fmt.Sprintf("rpm=%g", rpm), HeldOut: fmt.Sprintf("rpm = %g", rpm)}
		c, seed := &Intervals{Level: 0.95}, SeedDetail{Loss: []float64{1, 0.5}}
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
// and 58 of three, which the page's name completes to 25 and 60; it has the data, every verdict or the worst, R² and
// E|cov| of the paper's table, and no more than three findings.
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
		{58, []Experiment{two, propeller(), outputExperiments()[2]}},
	} {
		lines := summaryOf(t, c.list...)
		if len(lines) > c.most {
			t.Errorf("%d lines, at most %d:\n%s", len(lines), c.most, strings.Join(lines, "\n"))
		}

		for _, l := range lines {
			if width(l) > 100 {
				t.Errorf("a line of %d columns: %s", width(l), l)
			}
		}
	}

	text := strings.Join(summaryOf(t, two), "\n")
	for _, want := range []string{
		"drone: simulated data; 780 recordings, 60 runs, 780 triplets; 3 inputs, 2 outcomes",
		"blades = 2 held out: holds, but wide for bpf1_db", "blades = 3 held out: no calibrated interval",
		"2-blades  0.9913  0.694 ± 0.054   2.85  7.65 ± 0.81    2.5  96 %  7.1–24.8     13 %",
		"3-blades  0.9913  0.576 ± 0.054   2.85  5.35 ± 0.81      –     –         –     13 %",
		"skipped: x.wav: too short", "warning: a level is clipped", "check: ",
		"more: 3 notes, checks and warnings on the page",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}

	worst := strings.Join(summaryOf(t, many), "\n")
	if !strings.Contains(worst, "\nrpm = 3000 held out: does not hold for bpf1_db.") ||
		!strings.Contains(worst, "26 splits are graded no worse.") || strings.Contains(worst, "rpm=15000") {
		t.Error(worst)
	}

	none := strings.Join(summaryOf(t, Experiment{Name: "empty", Data: "measured"}), "\n")
	if none != "empty: measured data\n\nNo split was trained." {
		t.Errorf("%q", none)
	}
}

// The remedy for a network's σ is the calibrated interval only where the split has one.
func TestCoverageRemedy(t *testing.T) {
	e := judged(rotor())
	for i := range e.Splits {
		e.Splits[i].Flags = []Violation{{Flag: score.Flag{Code: "coverage", Do: "measure", Value: 0.2}, Part: "test"}}
	}

	a, b := e.Splits[0].flags()[0].Do, e.Splits[1].flags()[0].Do
	if a != "use the calibrated interval there, or measure" || b != "measure" {
		t.Errorf("%q, %q", a, b)
	}

	e.Splits[0].Flags[0].Value = 1 // σ is too large
	if do := e.Splits[0].flags()[0].Do; do != "measure" {
		t.Errorf("%q", do)
	}
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
	c, seed := s.Calibrated, SeedDetail{Loss: []float64{1}}
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

	if !strings.Contains(shown(string(Page([]*Detail{d}))), stripped("What next. "+want)) {
		t.Error("the page does not have it")
	}

	r := d.Experiment.Splits[0].Honest.Record
	r.Forecast[1].Half = []float64{24, 7}
	want = "No run of a held-out group would narrow its interval by more than 10\u00a0% (forecast); noise is 57\u00a0% " +
		"of the uncertainty. Twice the recording time would make it ± 21.0 dB instead of ± 24.8 dB, as half of the " +
		"noise goes."
	if got := d.next(); got != want {
		t.Error(got)
	}

	if r.Forecast = nil; d.next() != "" {
		t.Error(d.next())
	}

	// A form that would predict better is a setting to try.
	d.Experiment.Splits[0].Honest.Calibration.Hint = &form.Hint{Score: form.Score{Error: 0.07, Evidence: 24}}
	want = "The setting train: {form: auto} would lower the error on left-out groups, to × 0.07 in one split " +
		"(by a screen)."
	if got := d.next(); got != want {
		t.Error(got)
	}
}

// The first figure is the outcome with the widest interval, of the split where it is widest,
// and every outcome has a panel with its own interval.
func TestWidestFirst(t *testing.T) {
	d := heldOutRotor()
	outcomes := d.Experiment.Splits[0].Honest.Record.Outcomes
	outcomes[0].WidthOverSpread, outcomes[1].WidthOverSpread = 0.3, 0.9

	list := plots(d, inFiles)
	lead := list[leadOf(list)]
	if lead.file != "2-blades-honest-levels" || !strings.Contains(lead.heading, "BPF harmonic 2") || lead.spread != 0.9 {
		t.Errorf("%s: %s, %v", lead.file, lead.heading, lead.spread)
	}

	if i := leadOf(append(list, plot{kind: "honest-levels", spread: 1})); i != len(list) {
		t.Errorf("figure %d of %d", i, len(list))
	}

	at := slices.IndexFunc(list, func(p plot) bool { return p.file == "2-blades-honest-outcomes" })
	if at < 0 || len(list[at].fig.Panels) != 2 {
		t.Fatal("no figure of both outcomes")
	}

	rows, err := csv.NewReader(bytes.NewReader(list[at].fig.CSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	// At the upper of the two speeds: 60 ± 9 and ± 11 dB, 50 ± 5 dB.
	text := fmt.Sprint(rows)
	for _, want := range []string{"51 69", "49 71", "45 55"} {
		if !strings.Contains(text, want) {
			t.Errorf("no interval %s in %s", want, text)
		}
	}
}

// A page of 31 held-out sets is no larger than one of two, shows the figures of twelve, and
// names the sets once.
func TestPageOfManySplits(t *testing.T) {
	d := manySplits(31)
	page := string(Page([]*Detail{d}))
	if len(page) > pageBytes {
		t.Errorf("%d bytes", len(page))
	}

	if n := strings.Count(page, "Figures of split "); n != pageSplits {
		t.Errorf("figures of %d splits", n)
	}

	if !strings.Contains(page, "Here are the figures of 12 of 31 splits, evenly selected") {
		t.Error("the page does not state its selection")
	}

	m := &maker{d: d, limit: 50, every: 1}
	m.coverage(d.Experiment.Splits)
	marks := m.out[0].fig.Panels[0].Marks
	if len(marks) != 2 || marks[1].Name != "held-out sets" || len(marks[1].X) != 31*len(interval.Levels) {
		t.Errorf("%d series, the second %q of %d marks", len(marks), marks[1].Name, len(marks[1].X))
	}
}

// A range is of the outcomes of one unit; equal ends are one number.
func TestSpans(t *testing.T) {
	of := func(unit string, rmse, inside, half float64) score.OutcomeTrust {
		return score.OutcomeTrust{Unit: unit, Trust: score.Trust{RMSE: rmse, Inside: inside, Half: half}}
	}
	list := []score.OutcomeTrust{of("N", 1.5, 0.9, 4), of("dB re 1 V", 2, 0.8, 5), of("N", 2.5, 0.9, 4.04)}
	rms, inside, half := spans(list, "N")
	if rms.text != "1.5–2.5" || inside.text != "90\u00a0%" || half.text != "4.0" {
		t.Errorf("%q, %q, %q", rms.text, inside.text, half.text)
	}

	if rms, _, _ := spans(list, "Pa"); rms.text != undefinedText {
		t.Errorf("%q of a unit without outcomes", rms.text)
	}
}
