package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

func judgedSplit() Split {
	return Split{
		Name: "2-blades", HeldOut: "blades = 2",
		Network: []score.UnitTrust{{Unit: "dB re 20 µPa", Outcomes: []string{"bpf1_db"}, Trust: score.Trust{
			RMSE: 7.23, ClaimedSigma: 0.91, Level: 0.95, Inside: 0.134, InsideSE: 0.02, Ratio: 8, RatioSE: 0.1,
			Grade: score.No, Values: 10, EpistemicRatio: math.NaN(),
		}}},
	}
}

// The sentence has the error, the claim and the coverage in the data's unit. Written
// by hand from the numbers.
func TestSentence(t *testing.T) {
	s := judgedSplit()

	want := "blades = 2 held out: do not use the intervals there. Error 7.2 dB, claimed 0.9 dB, 13\u00a0% inside its " +
		"own 95\u00a0% intervals."
	if got := s.Sentence(); got != want {
		t.Errorf("%s\nexpected %s", got, want)
	}

	s.Honest = &interval.Result{Record: &interval.Record{Outcomes: []score.UnitTrust{{
		Unit: "dB re 20 µPa", Outcomes: []string{"bpf1_db"},
		Trust: score.Trust{RMSE: 5, Half: 22, Level: 0.95, Inside: 0.97, Grade: score.Good},
	}}}}

	want = "blades = 2 held out: the intervals hold. Error 5.0 dB (rms), calibrated interval ± 22.0 dB (95\u00a0%), " +
		"97\u00a0% of the held-out values inside; " +
		"the network alone: error 7.2 dB, claimed 0.9 dB, 13\u00a0% inside its own 95\u00a0% intervals (do not use them)."
	if got := s.Sentence(); got != want {
		t.Errorf("%s\nexpected %s", got, want)
	}

	// An interval that holds is of little use where it is as wide as the data.
	for width, words := range map[float64]string{
		0.79: "the intervals hold",
		0.8:  "use with care: the interval is nearly as wide as the data's own spread",
		1:    "use with care: the interval is no narrower than the data's own spread",
	} {
		s.Honest.Record.WidthOverSpread = width
		if got := s.Sentence(); !strings.HasPrefix(got, "blades = 2 held out: "+words+". Error") {
			t.Errorf("width over spread %g: %s", width, got)
		}

		if (s.Verdict() == score.Care) != (width >= 0.8) {
			t.Errorf("width over spread %g: verdict %s", width, s.Verdict())
		}
	}

	s.Honest.Record.Outcomes[0].Grade = score.No
	if s.Verdict() != score.No {
		t.Errorf("verdict %s of a wide interval that does not hold", s.Verdict())
	}

	s.Honest = &interval.Result{Absent: "too few"}
	if s.Verdict() != score.No {
		t.Errorf("%s without a calibration, expected the network's %s", s.Verdict(), score.No)
	}

	s.Network[0].RMSE = 0 // where the products of the residuals sum to less than zero
	if got := s.Sentence(); !strings.Contains(got, "Error below the noise, claimed 0.9 dB") {
		t.Error(got)
	}

	if (Split{}).Sentence() != "" {
		t.Error("a sentence about nothing")
	}
}

// Outcomes of different units are named and not averaged.
func TestSentenceUnits(t *testing.T) {
	s := judgedSplit()
	s.Network = append(s.Network, score.UnitTrust{
		Unit: "N", Outcomes: []string{"lift_n"},
		Trust: score.Trust{RMSE: 12.6, ClaimedSigma: 3, Level: 0.95, Inside: 0.5, Grade: score.Care},
	})

	got := s.Sentence()
	for _, part := range []string{"Bpf1_db: error 7.2 dB", "lift_n: error 13 N, claimed 3.0 N, 50\u00a0% inside"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s\nhas no %q", got, part)
		}
	}
}

// metrics.json has the verdict, the calibration with undefined numbers as null, or
// the reason why there is none.
func TestVerdictJSON(t *testing.T) {
	s := judgedSplit()
	s.Honest = &interval.Result{
		Calibration: &interval.Calibration{
			Base: "gp", K: 3, Level: 0.95, Groups: []interval.GroupResult{{Name: "3", Distance: 0.5, E: 0.24, Inside: 0.9}},
			Scale: &scale.Scale{Tau: 0.8},
		},
		Record: &interval.Record{RatioAfter: 0.7, RatioSE: math.NaN()},
	}

	e := Experiment{Name: "x", Splits: []Split{s, {Name: "b", Honest: &interval.Result{Absent: "too few groups"}}}}
	b, err := e.MetricsJSON()
	if err != nil {
		t.Fatal(err)
	}

	var got struct {
		Splits []struct {
			Verdict, Sentence string
			Network           []struct{ RMSE float64 }
			Honest            *struct {
				K          int      `json:"k"`
				RatioAfter *float64 `json:"ratio_after"`
				RatioSE    *float64 `json:"ratio_se"`
				LeftOut    []struct {
					Group string
					ESE   *float64 `json:"e_se"`
				} `json:"left_out"`
			}
			Absent string `json:"honest_absent"`
		}
	}

	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}

	a, c := got.Splits[0], got.Splits[1]
	if a.Verdict != "care" && a.Verdict != "good" || a.Sentence == "" || a.Network[0].RMSE != 7.23 {
		t.Errorf("%+v", a)
	}

	h := a.Honest
	if h == nil || h.K != 3 || *h.RatioAfter != 0.7 || h.RatioSE != nil || len(h.LeftOut) != 1 || h.LeftOut[0].ESE != nil {
		t.Errorf("%+v", h)
	}

	if c.Absent != "too few groups" || c.Honest != nil || c.Sentence != "" {
		t.Errorf("%+v", c)
	}
}

// The table has a row for each calibrated split; its words name the groups, and
// give the reason where there is no calibration.
func TestIntervals(t *testing.T) {
	s := judgedSplit()
	se := 0.034
	s.Honest = &interval.Result{
		Calibration: &interval.Calibration{
			Base: "additive GP", K: 3, Level: 0.95, Condition: "blades",
			Scale:  &scale.Scale{M: math.Log(1.5), Tau: 2, Factor: 1, Noise: scale.Noise{Scale: 1.4}},
			Groups: []interval.GroupResult{{Name: "3", E: 0.241, ESE: &se}, {Name: "4", Claim: 0.3, Inside: 0.49, Half: 1.2}},
		},
		Record: &interval.Record{},
	}

	e := Experiment{
		Outcomes: []string{"bpf1_db"},
		Splits:   []Split{s, {Name: "b", Honest: &interval.Result{Absent: "too few groups."}}, {Name: "c"}},
	}

	list := e.intervals()
	if len(list.Rows) != 1 || list.Rows[0].Label != "2-blades" {
		t.Fatalf("%+v", list)
	}

	words := strings.Join(e.intervalWords(), "\n")
	for _, w := range []string{
		"checked on 3 groups of blades left out", "3 0.24 ± 0.03", "4 0 (claimed 0.3, 49\u00a0% inside ± 1.2)",
		"by a factor about 1.5, between groups by factors about 7.4", "promises nothing", "1.4 times the noise",
		"b: no calibrated interval: too few groups.",
	} {
		if !strings.Contains(words, w) {
			t.Errorf("no %q in\n%s", w, words)
		}
	}
}

// The table of errors and claims: a calibrated split has two rows, the numbers are in
// the outcomes' unit, a level has one decimal and two digits of the deviation decide
// elsewhere. Written by hand.
func TestClaimed(t *testing.T) {
	row := func(tab table, i int) string {
		out := []string{tab.Rows[i].Label}
		for _, c := range tab.Rows[i].Cells {
			out = append(out, strings.ReplaceAll(c.plain(), "\u00a0", " "))
		}

		return strings.Join(out, "|")
	}

	e := judged(rotor())
	tab := e.claimed()
	if tab.Title != "Error and claim on the held-out sets, in dB" || len(tab.Rows) != 3 {
		t.Fatalf("%q, %d rows", tab.Title, len(tab.Rows))
	}

	for i, want := range []string{
		"2-blades|calibrated|2.5 ± 0.1|7.0|4.6|75 %|96 ± 1 %|7.1",
		"2-blades|network alone|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
		"3-blades|network|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
	} {
		if got := row(tab, i); got != want {
			t.Errorf("%s\nexpected %s", got, want)
		}
	}

	// Two units are two rows, each in its own.
	e.Splits = e.Splits[1:]
	lift := score.UnitTrust{Unit: "N", Outcomes: []string{"lift_n"}, Trust: score.Trust{
		RMSE: 0.98934, RMSESE: 0.00123, ClaimedSigma: 12.34, ClaimedEpistemic: math.NaN(), Coverage68: math.NaN(),
		Level: 0.95, Inside: 0.5, InsideSE: math.NaN(), Half: 24.185,
	}}

	e.Splits[0].Network = append(e.Splits[0].Network, lift)
	tab = e.claimed()
	if got, want := row(tab, 1), "3-blades|network|lift_n|N|0.9893 ± 0.0012|12|–|–|50 %|24"; got != want {
		t.Errorf("%s\nexpected %s", got, want)
	}

	if tab.Title != "Error and claim on the held-out sets" {
		t.Errorf("title %q of two units", tab.Title)
	}
}
