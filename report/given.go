package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/score"
)

// Of a split whose predictions are another program's: the name of the one method, and the key of its mean interval
// score.
const (
	AsStated      = "as stated"
	IntervalScore = "interval_score"
)

// given reports whether the predictions are another program's. Network is then what they state.
func (s Split) given() bool { return len(s.Methods) == 1 && s.Methods[0].Method == AsStated }

// states reports whether there are intervals without a calibration.
func (s Split) states() bool { return len(s.Network) > 0 && !math.IsNaN(s.Network[0].Half) }

// claims reports whether Network tells more than the calibration.
func (s Split) claims() bool { return s.states() || !s.given() || !s.calibrated() }

// stated is the grade of stated intervals in words, with the reason why there is no calibration.
func (s Split) stated(grade, why string) string {
	text := "the stated interval " + grade
	if !s.states() {
		text = "no interval was stated"
	}

	if s.Honest != nil {
		text = fmt.Sprintf("no calibrated interval (%s), and %s", why, text)
	}

	return text
}

// Judgement writes how the predictions of another program did, for a terminal of so many columns.
func Judgement(w io.Writer, e Experiment, width int, color bool) error {
	d := document{
		title: e.title(), what: e.what(), verdicts: e.verdicts(), tables: []table{e.claimed(), e.given()},
		findings: []findings{{kind: "note", items: e.Warnings}},
	}

	if len(e.Splits) > 1 { // the tables have their numbers
		d.verdicts = slices.Concat(lists.Each(e.pooledVerdicts(), verdict.String),
			lists.Each(e.Splits, func(s Split) string { return s.verdict().Head() }))
	}

	return newTerminal(width, color).write(w, d)
}

// given is the table of the predictions of another program: means, and intervals as stated and
// as learned.
func (e Experiment) given() table {
	t := table{Title: "Means, intervals and laws, in deviations of the outcomes learned from", Corner: "split"}
	t.words("prediction")
	t.numbers("", "R²", "ceiling", "e ×10⁻²", "SE")
	t.numbers("inside", "68 %", "90 %", "95 %", "98 %")
	t.numbers("", "score", "CRPS")

	for _, s := range e.Splits {
		mean := []number{
			round(s.Test.Get("r2"), 1), round(s.Test.Get("noise_ceiling"), 1), round(s.Test.Get("e"), 100),
			twoDigits(s.Test.Get("e_se"), 100),
		}
		add := func(prediction string, at [4]float64, values ...score.Value) {
			t.add(s.Name, slices.Concat([]number{words(prediction)}, mean, lists.Each(at[:], shareCell),
				lists.Each(values, func(v score.Value) number { return twoDigits(v, 1) }))...)
		}

		if s.calibrated() {
			r := s.Honest.Record
			add("calibrated", r.At, score.Mean([]float64{r.After.Score}), score.Mean([]float64{r.CRPS}))
		}

		var at [4]float64
		for _, o := range s.Network {
			for l := range at {
				at[l] += o.At[l] / float64(len(s.Network))
			}
		}

		if s.claims() {
			add(AsStated, at, s.Methods[0].Get(IntervalScore), s.Methods[0].Get("crps"))
		}
	}

	return t
}
