package predict

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// Table prints each condition with the means and the intervals of its outcomes. Beside each interval it prints the
// record: how such intervals did on held-out conditions. It does not print intervals without a record, unless the
// options ask for extrapolation.
func (a *Answer) Table(w io.Writer) error {
	var b strings.Builder
	a.head(&b)

	both := a.Recommended != nil && a.options.Network
	for i := range a.Network.N {
		fmt.Fprintf(&b, "\nat %s\n", a.conditionText(a.inputsAt(i)))

		if a.Recommended != nil {
			a.recommendedRows(&b, i)
		}

		if both {
			b.WriteString("\nthe network alone\n")
		}

		if a.Recommended == nil || both {
			a.networkRows(&b, i)
		}

		if a.warnsByRise(i) {
			fmt.Fprintf(&b, "E|cov|: × %s of the training conditions\n", twoDigits(a.rise(i)))
		}

		for _, s := range a.Outside(a.inputsAt(i)) {
			fmt.Fprintln(&b, "extrapolation: "+s)
		}
	}

	a.legend(&b)

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}

	return nil
}

// warnsByRise reports whether the rise of E|cov| at condition i is known and is printed. It is printed beside an
// interval only, because it says how likely the interval is to be wrong.
func (a *Answer) warnsByRise(i int) bool {
	if math.IsNaN(a.rise(i)) {
		return false
	}

	for j := range a.Card.Outcomes {
		half := math.NaN()
		if a.Recommended != nil {
			half = a.Recommended.Half[a.cell(i, j).k]
		} else if low, high := a.cell(i, j).interval(); !math.IsNaN(low) {
			half = (high - low) / 2
		}

		if !math.IsNaN(half) {
			return true
		}
	}

	return false
}

// asksForGroups reports whether the intervals at some condition come from the left-out groups. If none does, the record
// of the left-out groups says nothing about the answer, and is not printed.
func (a *Answer) asksForGroups() bool {
	for i := range a.Recommended.N {
		if a.Recommended.Query(i).Scale == nil {
			return true
		}
	}

	return false
}

// head prints the names of the models, and where their intervals come from.
func (a *Answer) head(text *strings.Builder) {
	if a.Card.Experiment != "" {
		a.names(text)
	}

	switch {
	case a.Honest == nil:
		text.WriteString("no calibrated model: the intervals are the network's own\n")
	case a.Honest.Calibration == nil:
		fmt.Fprintf(text, "no calibrated model, the intervals are the network's own: %s\n", a.Uncalibrated())
	default:
		a.calibration(text, a.Honest.Calibration)
	}
}

// names prints the experiment and the split, and how many networks predict together.
func (a *Answer) names(text *strings.Builder) {
	held := ""
	if a.Card.HeldOut != "" {
		held = "; held out: " + a.Card.HeldOut
	}

	if len(a.Card.Record) > 0 {
		held += " (its tests are the held-out splits: " + strings.Join(a.Card.Record, ", ") + ")"
	}

	seeds := "one model"
	if n := a.Network.Seeds; n > 1 {
		seeds = fmt.Sprintf("%d models together", n)
	}

	fmt.Fprintf(text, "%s, %s data, split %s%s; %s\n", a.Card.Experiment, a.Card.Data, a.Card.Split, held, seeds)
}

// calibration prints the base of the calibrated model, the groups that it learned from, and its limits.
func (a *Answer) calibration(text *strings.Builder, calibration *interval.Calibration) {
	fmt.Fprintf(text, "calibrated: %s, %s\n", calibration.Base, calibration.Learned())

	asksForGroups := a.asksForGroups()
	if asksForGroups {
		fmt.Fprintf(text, "before measuring: %s\n", calibration.BeforeWords(a.outcomeUnits(), amounts))
	}

	if r := a.Honest.Record; asksForGroups && r != nil && r.WidthOverSpread >= score.WideSpread {
		fmt.Fprintf(text, "note: ± there is %s times the spread, the ± without a model\n",
			fault.Digits(r.WidthOverSpread, 2))
	}

	for _, n := range calibration.Notes() {
		text.WriteString("note: " + n + "\n")
	}
}

// recommendedRows prints the calibrated prediction at condition i.
func (a *Answer) recommendedRows(text *strings.Builder, i int) {
	recommended := a.Recommended
	if recommended.Position[i] != "" {
		fmt.Fprintln(text, recommended.Position[i])
	}

	asked := a.places[i]
	leftOut := cmp.Or(leftOutAt(a.Honest.Calibration, asked), noRecord)
	isWithoutRecord := false
	const beforeMeasuring = "before measuring"
	listing := report.Listing{Graded: beforeMeasuring, Colour: a.options.Colour, Heads: []string{
		"outcome", "unit", "mean", intervalHead(recommended.Level), "σ", beforeMeasuring, "record",
	}}
	for j, outcome := range a.Card.Outcomes {
		k := i*recommended.Out + j
		sigma := math.Sqrt(recommended.Total[k])
		record := cmp.Or(recommended.record(i), a.recordAt(a.inputsAt(i), asked, j), leftOut)
		if recommended.Refused[i] != nil {
			record = noRecord // there is no interval here, so that the record of other intervals says nothing
		} else if record == noRecord {
			isWithoutRecord = true
		}

		cells := outcomeRow(outcome, recommended.Mu[k], recommended.Half[k], recommended.Total[k])
		listing.Add(append(cells, digits(outcome.Unit, sigma)(sigma), a.cell(i, j).gradeText(), record)...)
		grade, _ := a.cell(i, j).gradeBefore()
		listing.Grades = append(listing.Grades, grade)
	}

	listing.Write(text, a.options.Width) // a strings.Builder returns no errors

	for _, s := range recommended.Refused[i] {
		fmt.Fprintln(text, "no interval: "+s+" (--extrapolate gives the interval)")
	}

	if isWithoutRecord {
		fmt.Fprintln(text, "no record: no held-out value and no left-out group is of this class and as far from the "+
			"training conditions")
	}
}

// noRecord stands in the column of records if there is no record.
const noRecord = "none"

// networkRows prints the networks' prediction at condition i.
func (a *Answer) networkRows(text *strings.Builder, i int) {
	p := a.Network
	heads := []string{"outcome", "unit", "mean", intervalHead(1 - a.options.alpha()), "√C", "record"}
	listing := report.Listing{Heads: heads}

	isUnchecked := false
	for j, outcome := range a.Card.Outcomes {
		k := i*p.Out + j
		record := a.recordIn(a.Record, j)
		if record == "" && !a.silent(i) {
			isUnchecked = true
		}

		deviation := "none: C ≤ 0"
		if p.Cov[k] > 0 {
			deviation = digits(outcome.Unit, math.Sqrt(p.Cov[k]))(math.Sqrt(p.Cov[k]))
		}

		low, high := a.cell(i, j).interval()
		half := (high - low) / 2
		cells := outcomeRow(outcome, p.Mu[k], half, p.Var[k])
		if !math.IsNaN(low) { // the ends as they are, not the mean ± half with its rounding
			number := digits(outcome.Unit, half)
			cells[3] = number(low) + " … " + number(high)
		}

		listing.Add(append(cells, deviation, cmp.Or(record, "none"))...)
	}

	listing.Write(text, a.options.Width) // a strings.Builder returns no errors

	if isUnchecked && !a.options.Extrapolate {
		text.WriteString("no interval: it was checked on no held-out value (--extrapolate gives the interval)\n")
	}
}

// legend prints an explanation of the printed columns.
func (a *Answer) legend(text *strings.Builder) {
	text.WriteString("\nThe interval is for one new measurement. Record: the share of measured values, both of each " +
		"pair, inside the ")

	if a.Recommended == nil {
		text.WriteString("network's intervals. A split holds these values out; the error (rms) of the mean is from them too.")
	} else {
		text.WriteString("calibrated model's intervals; the model was not trained on these values. \"left out\": the " +
			"values are from conditions, or from values of an input, that were left out of the training in turn, all " +
			"outcomes together. Without \"left out\": the values of this outcome that a split holds out, with the error " +
			"(rms) of the mean there.\n" +
			"σ: standard uncertainty of one measurement. Before measuring: the grade found by leaving out training " +
			"groups or conditions of the same class, and ± over the spread: the ± without a model, at 95 % 1.96 standard " +
			"deviations of the training outcomes.")
		if a.printsDistances() {
			text.WriteString(" Distance: 0 at a measured value; in the middle of two, gap to the next measured value ÷ " +
				"measured range; beyond the ends, twice that.")
		}
	}

	text.WriteString("\n")

	warns := false
	for i := range a.Network.N {
		warns = warns || a.warnsByRise(i)
	}

	if a.Recommended != nil && warns {
		text.WriteString(a.Honest.Calibration.Scale.Prior.RisesRecord().Words() + "\n")
	}

	if a.Recommended == nil || a.options.Network {
		text.WriteString("√C: the network's claim of the error of its mean.\n")
	}
}

// printsDistances reports whether the words of the position of a condition state a distance.
func (a *Answer) printsDistances() bool {
	for i, where := range a.Recommended.Where {
		isOfGroups := a.Recommended.Query(i).Scale == nil // otherwise the words are those of Query.Words
		if isOfGroups && isApart(a.Honest.Calibration, where) {
			return true
		}
	}

	return false
}

// intervalHead returns the head of the column of intervals with the given level.
func intervalHead(level float64) string { return "interval (" + short(100*level) + " %)" }

// conditionText writes the inputs of a condition with their values and units.
func (a *Answer) conditionText(x []float64) string {
	parts := make([]string, len(x))
	for i, v := range x {
		input := a.Card.Inputs[i]
		parts[i] = strings.TrimSpace(input.Name + " = " + strconv.FormatFloat(v, 'g', 10, 64) + " " + input.Unit)
	}

	return strings.Join(parts, ", ")
}

// outcomeRow returns the cells of a row for an outcome: its name, unit, mean and interval. The interval is "none" if
// half, its half width, is NaN: the variance of one measurement then sets the digits of the mean.
func outcomeRow(o Outcome, mean, half, variance float64) []string {
	if math.IsNaN(half) {
		number := digits(o.Unit, math.Sqrt(variance))
		return []string{o.Name, o.Unit, number(mean), "none"}
	}

	number := digits(o.Unit, half)

	return []string{o.Name, o.Unit, number(mean), number(mean-half) + " … " + number(mean+half)}
}

// recordText writes the error of the mean and the coverage on held-out values, and which values were held out.
func recordText(o score.OutcomeTrust) string {
	size := "below the noise"
	if o.RMSE > 0 {
		size = amount(o.Unit, o.RMSE)
	}

	return fmt.Sprintf("%s: error %s, %.0f %% inside %.4g %%", o.HeldOut, size, 100*o.Inside, 100*o.Level)
}

// amount writes a difference of two values in a unit.
func amount(unit string, v float64) string {
	return strings.TrimSpace(digits(unit, v)(v) + " " + units.Difference(unit))
}

// amounts writes a range of differences in a unit, or a single one if both ends look the same.
func amounts(unit string, low, high float64) string {
	largest := amount(unit, high)
	if amount(unit, low) == largest {
		return largest
	}

	return digits(unit, low)(low) + " to " + largest
}

// mostDecimals is the largest number of decimals that are printed.
const mostDecimals = 12

// digits returns a function that writes numbers of a unit: levels with one decimal, others to the second digit of the
// deviation. Without a positive and finite deviation it writes them with four digits.
func digits(unit string, deviation float64) func(float64) string {
	if units.IsLevel(unit) {
		return func(v float64) string { return numbers.Fixed(v, 1) }
	}

	if !(deviation > 0) || math.IsInf(deviation, 0) {
		return short
	}

	decimals := min(mostDecimals, numbers.Decimals(deviation, 2))

	return func(v float64) string { return numbers.Fixed(v, decimals) }
}

// twoDigits writes a number with two digits, or all digits of its whole part.
func twoDigits(v float64) string { return fault.Digits(v, 2) }

// short writes a number with four digits, or all digits of its whole part.
func short(v float64) string { return fault.Digits(v, 4) }
