package report

import (
	"fmt"
	"io"
	"math"

	"doubletake/train/score"
)

// This file reports predictions that another program made ("given" predictions).

// Names in the file of metrics.
const (
	AsStated      = "as stated"      // the only method of a split whose predictions come from another program
	IntervalScore = "interval_score" // key of the mean interval score of that method
)

// isExternal reports whether the predictions come from another program. Network then has the trust in these
// predictions.
func (s Split) isExternal() bool { return len(s.Methods) == 1 && s.Methods[0].Method == AsStated }

// hasIntervals reports whether the network, or another program, states intervals.
func (s Split) hasIntervals() bool { return len(s.Network) > 0 && !math.IsNaN(s.Network[0].Half) }

// showsNetwork reports whether Network is shown. It is not shown if another program stated no intervals and the split
// has a calibration, which then has all there is to compare.
func (s Split) showsNetwork() bool { return s.hasIntervals() || !s.isExternal() || !s.isCalibrated() }

// statedGrade writes the grade of the intervals that another program states, with the reason why there is no
// calibration.
func (s Split) statedGrade(grade, reason string) string {
	text := "the stated interval " + grade
	if !s.hasIntervals() {
		text = "no interval was stated"
	}

	if s.Honest != nil {
		text = fmt.Sprintf("no calibrated interval (%s), and %s", reason, text)
	}

	return text
}

// Judgement writes how good the predictions of another program are, for a terminal with the given number of columns.
func Judgement(w io.Writer, experiment Experiment, width int, color bool) error {
	doc := document{
		title: experiment.title(), what: experiment.what(), verdicts: experiment.verdicts(),
		tables:   []table{experiment.claimsTable(), experiment.externalTable()},
		findings: []findingList{{kind: "note", items: experiment.Warnings}},
	}

	if len(experiment.Splits) > 1 { // the sentences leave out the numbers that the tables have
		doc.verdicts = nil
		for _, verdict := range experiment.pooledVerdicts() {
			doc.verdicts = append(doc.verdicts, verdict.String())
		}

		for _, verdict := range experiment.splitVerdicts() {
			doc.verdicts = append(doc.verdicts, verdict.Head())
		}
	}

	return newTerminal(width, color).write(w, doc)
}

// JudgementJSON returns MetricsJSON with what a user asks first: the grade and the sentence, and a row for each split,
// outcome and prediction. The grade is that of the groups together where there are several, else of the first split.
func (e Experiment) JudgementJSON() ([]byte, error) {
	words := append(e.pooledVerdicts(), e.splitVerdicts()...)
	if len(words) == 0 {
		return e.MetricsJSON()
	}

	rows := []object{}
	for _, split := range e.Splits {
		if split.isCalibrated() {
			record := split.Honest.Record
			rows = append(rows, split.judgedRows("calibrated", record.Outcomes, record.After.Score, record.CRPS)...)
		}

		method := split.Methods[0]
		rows = append(rows, split.judgedRows(AsStated, split.Network, method.Get(IntervalScore).Mean,
			method.Get("crps").Mean)...)
	}

	return e.metricsJSON(object{"verdict", words[0].Grade, "sentence", words[0].String(), "rows", rows})
}

// judgedRows returns a row for each outcome of a prediction of the split.
func (s Split) judgedRows(prediction string, outcomes []score.OutcomeTrust, interval, crps float64) []object {
	var rows []object
	for _, outcome := range outcomes {
		row := append(object{"split", s.Name, "prediction", prediction}, outcome.Document()...)
		for _, measured := range s.Test.Outcomes {
			if measured.Name == outcome.Outcome {
				row = append(row, "e", measured.Get("e").Mean)
			}
		}

		rows = append(rows, append(row, "interval_score", interval, "crps", crps))
	}

	return rows
}

// externalTable returns the table of the predictions of another program: the fit of the means, and the intervals as
// stated and as learned by the calibration.
func (e Experiment) externalTable() table {
	t := table{Title: "Means, intervals and laws, in deviations of the outcomes learned from", Corner: "split"}
	t.addWordColumns("prediction")
	t.addNumberColumns("", "R²", "ceiling", "e ×10⁻²", "SE")
	t.addNumberColumns("inside", "68 %", "90 %", "95 %", "98 %")
	t.addNumberColumns("", "score", "CRPS")

	for _, split := range e.Splits {
		if split.isCalibrated() {
			record := split.Honest.Record
			t.addExternal(split, "calibrated", record.At, score.Mean([]float64{record.After.Score}),
				score.Mean([]float64{record.CRPS}))
		}

		if split.showsNetwork() {
			method := split.Methods[0]
			t.addExternal(split, AsStated, split.meanShares(), method.Get(IntervalScore), method.Get("crps"))
		}
	}

	return t
}

// meanShares returns the share of values inside the network's intervals, as a mean over the outcomes, for each level of
// score.Levels.
func (s Split) meanShares() [4]float64 {
	var shares [4]float64
	for _, outcome := range s.Network {
		for level := range shares {
			shares[level] += outcome.At[level] / float64(len(s.Network))
		}
	}

	return shares
}

// addExternal adds a row: the fit of the mean, the shares inside the intervals of each level, and two scores.
func (t *table) addExternal(split Split, prediction string, shares [4]float64, interval, crps score.Value) {
	cells := []number{
		wordsCell(prediction),
		round(split.Test.Get("r2"), 1),
		round(split.Test.Get("noise_ceiling"), 1),
		round(split.Test.Get("e"), 100),
		twoDigits(split.Test.Get("e_se"), 100),
	}
	for _, share := range shares {
		cells = append(cells, shareCell(share))
	}

	cells = append(cells, twoDigits(interval, 1), twoDigits(crps, 1))
	t.addRow(split.Name, cells...)
}
