package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

func judgedSplit() Split {
	return Split{
		Name: "2-blades", HeldOut: "blades = 2",
		Network: []score.OutcomeTrust{{Outcome: "bpf1_db", Unit: "dB re 20 µPa", Trust: score.Trust{
			RMSE: 7.23, ClaimedSigma: 0.91, R2: 0.45, Ceiling: 0.98, Level: 0.95, Inside: 0.134, InsideSE: 0.02, Ratio: 8,
			RatioSE: 0.1, Runs: 15, Effective: 30, Values: 390, EpistemicRatio: math.NaN(), Claimed: true,
		}}},
	}
}

// holding is the trust of an interval that holds in 15 runs.
func holding(outcome, unit string, rms, half, width float64) score.OutcomeTrust {
	return score.OutcomeTrust{Outcome: outcome, Unit: unit, Trust: score.Trust{
		RMSE: rms, Half: half, R2: 0.94, Ceiling: 0.99, Level: 0.95, Inside: 0.97, At: [4]float64{0.7}, Runs: 15,
		Effective: 60, WidthOverSpread: width,
	}}
}

func calibratedBy(list ...score.OutcomeTrust) *interval.Result {
	return &interval.Result{Record: &interval.Record{Outcomes: list}}
}

// The sentence has the error, the claim and the coverage in the data's unit. Without a
// calibrated interval it first says that and why. Written by hand from the numbers: of 30 values
// 13.4 % inside are at most 28 %.
func TestSentence(t *testing.T) {
	s := judgedSplit()
	s.Honest = &interval.Result{Absent: "one group alone"}

	want := "blades = 2 held out (15 runs), paper's network: no calibrated interval (one group alone), and the " +
		"network's own claim does not hold. Use the means, not the intervals. Error 7.2 dB, claimed 0.9 dB, 13\u00a0% " +
		"inside its own 95\u00a0% intervals, R² of the mean 0.45 (noise ceiling 0.98)."
	assert.Equal(t, want, s.Sentence())

	// The network's own claim is never called good.
	s.Network[0].Inside = 0.96
	s.Network[0].At[0] = 0.7
	want = "blades = 2 held out (15 runs), paper's network: no calibrated interval (none was asked for), and the " +
		"network's own claim is undecided. Treat the intervals as unproven. "
	s.Honest = nil
	got := s.Sentence()
	assert.True(t, strings.HasPrefix(got, want), "%s\nexpected %s", got, want)
	assert.Equal(t, score.Undecided, s.Verdict(), "%s\nexpected %s", got, want)

	s = judgedSplit()
	s.Honest = calibratedBy(holding("bpf1_db", "dB re 20 µPa", 5, 15, 0.5))
	want = "blades = 2 held out (15 runs), calibrated model: holds. Use the intervals. Error 5.0 dB, " +
		"95\u00a0% intervals ± 15.0 dB. 97\u00a0% of the held-out values inside 95\u00a0% intervals, R² of the mean 0.94 " +
		"(noise ceiling 0.99). The network alone: error 7.2 dB, claimed 0.9 dB, 13\u00a0% inside its " +
		"own 95\u00a0% intervals (does not hold)."
	assert.Equal(t, want, s.Sentence())

	s.Network[0].RMSE = 0 // where the products of the residuals sum to less than zero
	assert.Contains(t, s.Sentence(), "error below the noise, claimed 0.9 dB")
	assert.Empty(t, (Split{}).Sentence(), "a sentence about nothing")
}

// Cases that were called good. Expected words: by the rules of docs/honest.md.
func TestSentenceOfWeakEvidence(t *testing.T) {
	// Two runs of which three quarters of the values are inside. 19 runs: scipy, as in score.TestGrade.
	lift := holding("lift_n", "N", 94, 15, 0.3)
	lift.Inside = 0.75
	lift.InsideSE = 0.25
	lift.At[0] = 0.25
	lift.Runs = 2
	lift.Effective = 2
	s := Split{HeldOut: "u = 4.7", Honest: calibratedBy(lift)}
	want := "u = 4.7 held out (2 runs), calibrated model: undecided: 95\u00a0% intervals contain 10 to 100\u00a0% of " +
		"the values. Rely on the error of lift_n, not on the interval, until 19 runs settle it. Error 94 N, " +
		"95\u00a0% intervals ± 15 N. 75\u00a0% of"
	if got := s.Sentence(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nexpected %s", got, want)
	}

	// Harmonics of the default campaign: the first interval is as wide as the data.
	var list []score.OutcomeTrust
	for k, half := range []float64{24.8, 13.7, 9, 10.3, 10.9} {
		list = append(list, holding("bpf"+string(rune('1'+k))+"_db", "dB re 20 µPa", 3, half, half/24.9))
	}

	s = Split{HeldOut: "blades = 2", Honest: calibratedBy(list...)}
	s.Honest.Record.Forecast = []interval.Forecast{
		{Half: []float64{24.8, 13.7, 9, 10.3, 10.9}}, {Runs: 1, Half: []float64{8, 5, 4, 4, 4}},
	}

	want = "blades = 2 held out (15 runs), calibrated model: holds, but wide for bpf1_db: the interval is 100\u00a0% as " +
		"wide as the data's own spread. Measure one run there: bpf1_db ± 8.0 dB instead of " +
		"± 24.8 dB (forecast). Error 3.0 dB, 95\u00a0% intervals ± 9.0 to 24.8 dB. 97\u00a0% of the held-out values " +
		"inside 95\u00a0% intervals, R² of the mean 0.94 (noise ceiling 0.99). One run of the new group would " +
		"make the interval ± 4.0 to 8.0 dB instead of ± 9.0 to 24.8 dB (forecast)."
	assert.Equal(t, want, s.Sentence())
	assert.Equal(t, score.Wide, s.Verdict(), "verdict")

	// Intervals of 95 % contain enough values; those of 68 % contain 46 %. No number of runs would decide.
	s = Split{HeldOut: "blades = 3", Honest: calibratedBy(holding("bpf1_db", "dB", 3, 9, 0.4))}
	s.Honest.Record.Outcomes[0].At[0] = 0.46
	assert.Contains(t, s.Sentence(), "undecided: 68\u00a0% intervals contain only 46\u00a0% of the values. Use only its")
	assert.Equal(t, score.Undecided, s.Verdict())

	// An interval more than three times as wide as the mean ± 1.96 deviations of the outcomes never holds.
	s = Split{HeldOut: "blades = 3", Honest: calibratedBy(holding("bpf1_db", "dB", 3, 9, 3.4))}
	assert.Contains(t, s.Sentence(), "undecided: the interval is 340\u00a0% as wide as the data's own spread. Measure")

	// A wide interval that does not hold does not hold.
	s = Split{HeldOut: "blades = 2", Honest: calibratedBy(list...)}
	s.Honest.Record.Outcomes[0].Inside = 0.5
	want = "does not hold for bpf1_db: 95\u00a0% intervals contain at most 61\u00a0% of the values. Do not use"
	got := s.Sentence()
	assert.Equal(t, score.Fails, s.Verdict())
	assert.Contains(t, got, want)
}

// Outcomes of different units are named and not averaged.
func TestSentenceUnits(t *testing.T) {
	s := judgedSplit()
	s.Network = append(s.Network, score.OutcomeTrust{
		Outcome: "lift_n", Unit: "N",
		Trust: score.Trust{RMSE: 12.6, ClaimedSigma: 3, Level: 0.95, Inside: 0.5, Claimed: true},
	})

	got := s.Sentence()
	assert.Contains(t, got, " bpf1_db: error 7.2 dB")
	assert.Contains(t, got, ". lift_n: error 13 N, claimed 3.0 N, 50\u00a0% inside")
}

// The verdict names a simple method that does as well on the left-out groups, by its error in
// the outcomes' unit, or else by its interval score. By hand: mean squares of 0.09 and 0.04
// deviations of 4 dB are 1.2 and 0.8 dB.
func TestSentenceOfRivals(t *testing.T) {
	same := interval.Against{Ratio: 1.1, More: 0.01, SE: 0.02}
	worse := interval.Against{Ratio: 1.3, More: 0, SE: 1}
	linear := interval.Rival{Method: "linear", EBy: []float64{0.09}, Error: same}
	constant := interval.Rival{Method: "conformal", Width: interval.Against{Ratio: 0.87, More: -0.2, SE: 0.1}}
	for want, rivals := range map[string][]interval.Rival{
		". Least squares does as well on the left-out groups of blades: error 1.2 dB against 0.8 dB. ": {constant, linear},
		". An interval of constant width from left-out errors does better on the left-out groups of blades: " +
			"interval score 0.87 times that of the calibrated interval. ": {constant},
		"(noise ceiling 0.99). ": {{Method: "linear", EBy: linear.EBy, Error: worse, Width: worse}},
	} {
		s := judgedSplit()
		s.Honest = calibratedBy(holding("bpf1_db", "dB re 20 µPa", 5, 15, 0.5))
		s.Honest.Calibration = &interval.Calibration{
			K: 4, Condition: "blades", Deviation: []float64{4}, Rivals: rivals,
			Groups: []interval.GroupResult{{EBy: []float64{0.05}}, {EBy: []float64{0.03}}},
		}
		if got := s.Sentence(); !strings.Contains(got, want) || len(rivals) == 1 && rivals[0].EBy != nil &&
			strings.Contains(got, "left-out") {
			t.Errorf("%s\nexpected %s", got, want)
		}
	}
}

// The groups of a condition are graded together, last, with the mean shares and their errors
// between groups. By hand: shares 0.9 and 1 have the mean 0.95 and the error 0.05. By scipy: the
// lower bound of 95 % of two values, beta.ppf(.05, 1.9, 1.1), is 19 %.
func TestPooled(t *testing.T) {
	e := Experiment{Name: "x"}
	for i, at := range [][4]float64{{0.6, 0.8, 0.9, 1}, {0.8, 1, 1, 1}, {0.8, 1, 1, 1}} {
		h := calibratedBy(holding("y", "N", 1, 3, 0.5))
		h.Calibration = &interval.Calibration{Condition: "blades", K: 3, Level: 0.95, Scale: &scale.Scale{}}
		h.Record.At = at
		e.Splits = append(e.Splits, Split{Name: "s", HeldOut: "blades = " + string(rune('2'+min(i, 1))), Honest: h})
	}

	got := e.verdicts()
	want := "blades, 2 groups held out in turn: undecided: "
	rest := "Of the values of a group 70 ± 10\u00a0%, 90 ± 10\u00a0% and 95 ± 5\u00a0% lie inside"
	require.Len(t, got, 4, "%q\nexpected %s… %s", got, want, rest)
	require.True(t, strings.HasPrefix(got[3], want), "%q\nexpected %s… %s", got, want, rest)
	assert.Contains(t, got[3], rest, "%q\nexpected %s… %s", got, want, rest)

	if one := (Experiment{Splits: e.Splits[:1]}).groupPools(); one != nil {
		t.Errorf("%+v of one group", one)
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
		Record: &interval.Record{
			RatioAfter: 0.7, RatioSE: math.NaN(), Outcomes: []score.OutcomeTrust{holding("bpf1_db", "dB re 20 µPa", 5, 15, 0.5)},
		},
	}

	e := Experiment{Name: "x", Splits: []Split{s, {Name: "b", Honest: &interval.Result{Absent: "too few groups"}}}}
	b, err := e.MetricsJSON()
	require.NoError(t, err)

	var got struct {
		Splits []struct {
			Verdict, Sentence string
			Network           []struct{ RMSE float64 }
			Honest            *struct {
				Outcomes   []struct{ Outcome, Verdict string }
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

	require.NoError(t, json.Unmarshal(b, &got))

	a := got.Splits[0]
	c := got.Splits[1]
	require.Equal(t, "holds", a.Verdict, "%+v", a)
	require.NotEmpty(t, a.Sentence, "%+v", a)
	assert.Equal(t, 7.23, a.Network[0].RMSE, "%+v", a)

	h := a.Honest
	require.NotNil(t, h)
	assert.Equal(t, 3, h.K)
	assert.Equal(t, 0.7, *h.RatioAfter)
	assert.Nil(t, h.RatioSE)
	require.Len(t, h.LeftOut, 1)
	assert.Nil(t, h.LeftOut[0].ESE)
	assert.Equal(t, "bpf1_db", h.Outcomes[0].Outcome)
	assert.Equal(t, "holds", h.Outcomes[0].Verdict)

	require.Equal(t, "too few groups", c.Absent, "%+v", c)
	require.Nil(t, c.Honest, "%+v", c)
	assert.Empty(t, c.Sentence, "%+v", c)
}

// The table has a row for each calibrated split; its words name the groups, and
// give the reason where there is no calibration.
func TestIntervals(t *testing.T) {
	s := judgedSplit()
	se := 0.034
	s.Honest = &interval.Result{
		Calibration: &interval.Calibration{
			Base: "additive GP", K: 3, Level: 0.95, Condition: "blades",
			Scale: &scale.Scale{M: math.Log(1.5), Tau: 2, Factor: 1, Noise: scale.Noise{Scale: 1.4}},
			Groups: []interval.GroupResult{
				{Name: "3", E: 0.241, ESE: &se, Inside: 1, Half: 1.2}, {Name: "4", Claim: 0.3, Inside: 0.49, Half: 1.2},
			},
			Deviation: []float64{6},
		},
		Record: &interval.Record{},
	}

	e := Experiment{
		Outcomes: []string{"bpf1_db"}, OutcomeUnits: []string{"dB re 20 µPa"},
		Splits: []Split{s, {Name: "b", Honest: &interval.Result{Absent: "too few groups."}}, {Name: "c"}},
	}

	list := e.intervalsTable()
	require.Len(t, list.Rows, 1, "%+v", list)
	require.Equal(t, "2-blades", list.Rows[0].Label, "%+v", list)

	words := strings.Join(e.intervalWords(), "\n")
	assert.Contains(t, words,
		"checked on 3 groups of blades left out. Before measuring: undecided: 1 of 3 groups of blades, each "+
			"left out in turn, were covered; expected half-width ± 4.8 dB, 0.41 of the spread")
	assert.Contains(t, words, "3 0.24 ± 0.03")
	assert.Contains(t, words, "4 0 (claimed 0.3, 49\u00a0% inside ± 1.2)")
	assert.Contains(t, words, "by a factor about 1.5, between groups by factors about 7.4")
	assert.Contains(t, words, "promises nothing")
	assert.Contains(t, words, "1.4 times the noise")
	assert.Contains(t, words, "b: no calibrated interval: too few groups.")
}

// The table of errors and claims: a calibrated split has two rows for each outcome, the numbers are in
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
	tab := e.claimsTable()
	title := "Error and claim on the held-out sets, by model, in dB"
	require.Equal(t, title, tab.Title, "%q, %d rows", tab.Title, len(tab.Rows))
	require.Len(t, tab.Rows, 6, "%q, %d rows", tab.Title, len(tab.Rows))

	for i, want := range []string{
		"2-blades|calibrated|bpf1_db|2.5 ± 0.1|7.0|4.6|75 %|96 ± 1 %|24.8",
		"2-blades|calibrated|bpf2_db|2.5 ± 0.1|7.0|4.6|75 %|96 ± 1 %|7.1",
		"2-blades|network alone|bpf1_db|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
		"2-blades|network alone|bpf2_db|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
		"3-blades|network|bpf1_db|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
	} {
		assert.Equal(t, want, row(tab, i))
	}

	// Each outcome has its own unit.
	e.Splits = e.Splits[1:]
	lift := score.OutcomeTrust{Outcome: "lift_n", Unit: "N", Trust: score.Trust{
		RMSE: 0.98934, RMSESE: 0.00123, ClaimedSigma: 12.34, ClaimedEpistemic: math.NaN(), At: [4]float64{math.NaN()},
		Level: 0.95, Inside: 0.5, InsideSE: math.NaN(), Half: 24.185,
	}}

	e.Splits[0].Network = append(e.Splits[0].Network, lift)
	tab = e.claimsTable()
	if got, want := row(tab, 2), "3-blades|network|lift_n|N|0.9893 ± 0.0012|12|–|–|50 %|24"; got != want {
		t.Errorf("%s\nexpected %s", got, want)
	}

	assert.Equal(t, "Error and claim on the held-out sets, by model", tab.Title, "title %q of two units", tab.Title)
}
