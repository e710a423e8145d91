package predict

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// Table prints each condition with the mean and interval to be used and, beside every
// line, how such intervals did on held-out conditions. An interval without that record
// is not printed.
func (a *Answer) Table(w io.Writer) error {
	var b strings.Builder
	a.head(&b)

	both := a.Recommended != nil && a.options.Network
	for i := range a.Network.N {
		fmt.Fprintf(&b, "\nat %s\n", a.conditionText(a.at(i)))

		if a.Recommended != nil {
			a.recommendedRows(&b, i)
		}

		if both {
			b.WriteString("\nthe network alone\n")
		}

		if a.Recommended == nil || both {
			a.networkRows(&b, i)
		}

		if rise := a.rise(i); !math.IsNaN(rise) {
			fmt.Fprintf(&b, "E|cov|: × %s of the training conditions\n", twoDigits(rise))
		}

		for _, s := range a.Outside(a.at(i)) {
			fmt.Fprintln(&b, "extrapolation: "+s)
		}
	}

	a.legend(&b)

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}

	return nil
}

// head names the models, and what their intervals were learned from.
func (a *Answer) head(b *strings.Builder) {
	if c := a.Card; c.Experiment != "" {
		held, seeds := "", "one model"
		if c.HeldOut != "" {
			held = "; held out: " + c.HeldOut
		}

		if len(c.Record) > 0 {
			held += " (its record is that of " + strings.Join(c.Record, ", ") + ")"
		}

		if n := a.Network.Seeds; n > 1 {
			seeds = fmt.Sprintf("%d models together", n)
		}

		fmt.Fprintf(b, "%s, %s data, split %s%s; %s\n", c.Experiment, c.Data, c.Split, held, seeds)
	}

	switch h := a.Honest; {
	case h == nil:
		b.WriteString("no calibrated model: the intervals are the network's own\n")
	case h.Calibration == nil:
		fmt.Fprintf(b, "no calibrated model, the intervals are the network's own: %s\n", a.Uncalibrated())

	default:
		a.calibration(b, h.Calibration)
	}
}

// calibration describes the calibrated model and its limits.
func (a *Answer) calibration(b *strings.Builder, c *interval.Calibration) {
	fmt.Fprintf(b, "calibrated: %s, %s\n", c.Base, c.Learned())

	fmt.Fprintf(b, "before measuring: %s\n", c.BeforeWords(a.outcomeUnits(), amounts))

	if r := a.Honest.Record; r != nil && r.WidthOverSpread >= score.WideSpread {
		fmt.Fprintf(b, "note: the intervals there are %.2g times as wide as the training outcomes' own spread\n",
			r.WidthOverSpread)
	}

	for _, n := range c.Notes() {
		b.WriteString("note: " + n + "\n")
	}
}

// recommendedRows prints the calibrated prediction at condition i.
func (a *Answer) recommendedRows(b *strings.Builder, i int) {
	r := a.Recommended
	if r.Position[i] != "" {
		fmt.Fprintln(b, r.Position[i])
	}

	c, unheld := a.Honest.Calibration, "none"
	if c.K > 0 {
		unheld = fmt.Sprintf("%d of %d left-out groups covered", c.LeftOutInside(), c.K)
	}

	l := report.Listing{Heads: []string{
		"outcome", "unit", "mean", intervalHead(r.Level), "σ", "before measuring", "record",
	}}
	for j, out := range a.Card.Outcomes {
		k := i*r.Out + j
		cells := outcomeRow(out, r.Mu[k], r.Half[k], r.Total[k])
		l.Add(append(cells, digits(out.Unit, math.Sqrt(r.Total[k]))(math.Sqrt(r.Total[k])), a.cell(i, j).grade(),
			cmp.Or(a.recordIn(a.Intervals, j), unheld))...)
	}

	l.Write(b, a.options.Width) // a Builder takes everything

	for _, s := range r.Refused[i] {
		fmt.Fprintln(b, "no interval: "+s+" (--extrapolate gives the interval)")
	}
}

// networkRows prints the networks' prediction at condition i.
func (a *Answer) networkRows(b *strings.Builder, i int) {
	p := a.Network
	l := report.Listing{Heads: []string{"outcome", "unit", "mean", intervalHead(1 - a.options.Alpha), "√C", "record"}}

	unchecked := false
	for j, out := range a.Card.Outcomes {
		k, record, sd := i*p.Out+j, a.recordIn(a.Record, j), "none: C ≤ 0"
		if p.Cov[k] > 0 {
			sd = digits(out.Unit, math.Sqrt(p.Cov[k]))(math.Sqrt(p.Cov[k]))
		}

		unchecked = unchecked || record == "" && !a.silent(i)
		lo, hi := a.cell(i, j).interval()
		cells := outcomeRow(out, p.Mu[k], (hi-lo)/2, p.Var[k])
		if number := digits(out.Unit, (hi-lo)/2); !math.IsNaN(lo) {
			cells[3] = number(lo) + " … " + number(hi)
		}

		l.Add(append(cells, sd, cmp.Or(record, "none"))...)
	}

	l.Write(b, a.options.Width) // a Builder takes everything

	if unchecked && !a.options.Extrapolate {
		b.WriteString("no interval: it was checked on no held-out value (--extrapolate gives the interval)\n")
	}
}

// legend explains the columns that were printed.
func (a *Answer) legend(b *strings.Builder) {
	b.WriteString("\nThe interval is that of one new measurement. Record: the error of the mean (rms) and the share of " +
		"values inside the intervals, on conditions that were held out.\n")

	if a.Recommended != nil {
		b.WriteString("σ: standard uncertainty of one measurement. Before measuring: the grade by the left-out groups, and " +
			"the width of the interval over the spread of the training outcomes.\n")
		b.WriteString(a.Honest.Calibration.Scale.Prior.RisesRecord().Words() + "\n")
	}

	if a.Recommended == nil || a.options.Network {
		b.WriteString("√C: the network's claim of the error of its mean.\n")
	}
}

func intervalHead(level float64) string { return "interval (" + short(100*level) + " %)" }

// conditionText names the inputs of a condition with their values.
func (a *Answer) conditionText(x []float64) string {
	return strings.Join(lists.Make(len(x), func(i int) string {
		in := a.Card.Inputs[i]
		return strings.TrimSpace(in.Name + " = " + strconv.FormatFloat(x[i], 'g', 10, 64) + " " + in.Unit)
	}), ", ")
}

// outcomeRow is an outcome's name, unit, mean and interval.
func outcomeRow(out Outcome, mean, half, variance float64) []string {
	if math.IsNaN(half) {
		number := digits(out.Unit, math.Sqrt(variance))
		return []string{out.Name, out.Unit, number(mean), "none"}
	}

	number := digits(out.Unit, half)

	return []string{out.Name, out.Unit, number(mean), number(mean-half) + " … " + number(mean+half)}
}

// recordText is an error and a coverage on what was held out.
func recordText(held, unit string, rmse, coverage float64) string {
	size := "below the noise"
	if rmse > 0 {
		size = amount(unit, rmse)
	}

	return fmt.Sprintf("%s: error %s, %.0f %% inside", held, size, 100*coverage)
}

// amount writes a difference in a unit.
func amount(unit string, v float64) string {
	return strings.TrimSpace(digits(unit, v)(v) + " " + units.Difference(unit))
}

// amounts writes a range of differences in a unit.
func amounts(unit string, low, high float64) string {
	from, to := digits(unit, low)(low), amount(unit, high)
	if amount(unit, low) == to {
		return to
	}

	return from + " to " + to
}

// digits writes numbers of a unit: levels with one decimal, others to the second digit of
// the deviation.
func digits(unit string, deviation float64) func(float64) string {
	decimals := 1
	if !units.IsLevel(unit) {
		if !(deviation > 0) || math.IsInf(deviation, 0) {
			return short
		}
		decimals = min(12, numbers.Decimals(deviation, 2))
	}

	return func(v float64) string { return numbers.Fixed(v, decimals) }
}

// twoDigits writes a number with two digits, and whole ones below a million.
func twoDigits(v float64) string {
	if v >= 100 && v < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// short writes a number with four digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
