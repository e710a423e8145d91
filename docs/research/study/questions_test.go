package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
)

// questionClasses are the classes of docs/honest.md in the order of the page.
var questionClasses = []string{"between", "combination", "new value", "new thing", "measured", "outside"}

// questionLevels are the levels of the intervals that questions.py asks for, as in the names of its columns.
var questionLevels = []string{"0.68", "0.9", "0.95", "0.99"}

// coverage returns the share of the values inside the intervals of a level, and its standard error between units. A
// condition has two values. The units are the rows.
func (r rows) coverage(who, level string) (share, se float64) {
	values := 0.0
	inside := 0.0
	for _, row := range r.list {
		values += 2 * number(row, "conditions")
		inside += number(row, who+"_"+level)
	}

	share = inside / values

	squares := 0.0
	for _, row := range r.list {
		excess := number(row, who+"_"+level) - 2*number(row, "conditions")*share
		squares += excess * excess
	}

	return share, math.Sqrt(squares) / values
}

// errorRatio returns the program's root mean square error over all conditions, relative to scikit-learn's.
func (r rows) errorRatio() float64 {
	squares := map[string]float64{}
	for _, row := range r.list {
		for _, who := range []string{"program", "scikit"} {
			e := number(row, who+"_error")
			squares[who] += number(row, "conditions") * e * e
		}
	}

	return math.Sqrt(squares["program"] / squares["scikit"])
}

// lnScores returns ln of the ratio of the program's interval score to scikit-learn's for each unit.
func (r rows) lnScores() []float64 {
	var out []float64
	for _, row := range r.list {
		out = append(out, math.Log(number(row, "program_score")/number(row, "scikit_score")))
	}

	return out
}

// meanAndError returns the mean and its standard error, which is NaN for a single value.
func meanAndError(v []float64) (mean, se float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}

	squares := 0.0
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}

	return mean, math.Sqrt(squares / (n - 1) / n)
}

// setNames returns the names of the sets, in the order of the table.
func (r rows) setNames() []string {
	var out []string
	for _, row := range r.list {
		if !slices.Contains(out, row["set"]) {
			out = append(out, row["set"])
		}
	}

	return out
}

// conditions returns the number of the conditions of all units.
func (r rows) conditions() int {
	n := 0.0
	for _, row := range r.list {
		n += number(row, "conditions")
	}

	return int(n)
}

// questionRows returns the page's rows of a class: a row for each set, and a row of all sets with standard errors.
func questionRows(class string, units rows) (out []string) {
	var setErrors, setScores []float64
	for _, name := range units.setNames() {
		set := units.where("set", name)
		line := fmt.Sprintf("| %s | %s | %d | %d |", class, name, len(set.list), set.conditions())
		for _, level := range questionLevels {
			ours, _ := set.coverage("program", level)
			theirs, _ := set.coverage("scikit", level)
			line += fmt.Sprintf(" %.2f / %.2f |", ours, theirs)
		}

		score, _ := meanAndError(set.lnScores())
		setScores = append(setScores, score)
		setErrors = append(setErrors, math.Log(set.errorRatio()))
		out = append(out, fmt.Sprintf("%s × %.2f | %+.2f |", line, set.errorRatio(), score))
	}

	if len(setScores) == 1 {
		return out
	}

	line := fmt.Sprintf("| **%s** | **all %d** | %d | %d |", class, len(setScores), len(units.list), units.conditions())
	for _, level := range questionLevels {
		ours, oursSE := units.coverage("program", level)
		theirs, theirsSE := units.coverage("scikit", level)
		line += fmt.Sprintf(" %.2f ± %.2f / %.2f ± %.2f |", ours, oursSE, theirs, theirsSE)
	}

	ratio, _ := meanAndError(setErrors)
	score, se := meanAndError(setScores)

	return append(out, fmt.Sprintf("%s × %.2f | **%+.2f ± %.2f** |", line, math.Exp(ratio), score, se))
}

// comparison returns the sentence that says in how many sets of a class the program is better.
func comparison(class string, units rows) string {
	names := units.setNames()
	betterScores := 0
	betterErrors := 0
	for _, name := range names {
		set := units.where("set", name)
		if score, _ := meanAndError(set.lnScores()); score < 0 {
			betterScores++
		}

		if set.errorRatio() < 1 {
			betterErrors++
		}
	}

	return fmt.Sprintf("%s: better score in %d of %d sets, smaller error of the mean in %d",
		class, betterScores, len(names), betterErrors)
}

// By hand: of two units with 1 and 2 conditions, 1 of 2 and 4 of 4 values are inside; 5 of 6 in all, and the units
// deviate by 1 - 2·5/6 and 4 - 4·5/6. The squares of the errors are 1·4 + 2·1 against 1·16 + 2·4.
func TestQuestionFigures(t *testing.T) {
	units := rows{list: []map[string]string{
		{"conditions": "1", "program_0.95": "1", "program_error": "2", "scikit_error": "4"},
		{"conditions": "2", "program_0.95": "4", "program_error": "1", "scikit_error": "2"},
	}}

	share, se := units.coverage("program", "0.95")
	assert.InDelta(t, 5.0/6, share, 1e-12)
	assert.InDelta(t, math.Sqrt(2*4.0/9)/6, se, 1e-12)
	assert.InDelta(t, 0.5, units.errorRatio(), 1e-12)

	mean, se := meanAndError([]float64{1, 3})
	assert.InDelta(t, 2.0, mean, 1e-12)
	assert.InDelta(t, 1.0, se, 1e-12)
}

// docs/research/intervals.md has the table of the usual questions that questions.py wrote the lines of.
func TestQuestions(t *testing.T) {
	all := tableOf(t, "questions")
	var out []string
	for _, class := range questionClasses {
		if units := all.where("class", class); len(units.list) > 0 {
			out = append(out, questionRows(class, units)...)
			out = append(out, comparison(class, units))
		}
	}

	refused := all.where("class", "no interval")
	answered := all.filter(func(row map[string]string) bool { return row["class"] != "no interval" })
	inside, _ := refused.coverage("scikit", "0.95")
	total := refused.conditions() + answered.conditions()
	out = append(out,
		fmt.Sprintf("no interval for %d of the %d conditions", refused.conditions(), total),
		fmt.Sprintf("scikit-learn's %s intervals contain %.2f of the values there", "95 %", inside),
		"68 %", "99 %")

	for _, line := range out {
		t.Log(line) // for the page
	}

	quotes(t, "../intervals.md", "<!-- tables/questions.csv -->", "<!-- end -->", out)
}

// docs/honest.md states the levels of the two classes that the law λ is for.
func TestHonestQuotesQuestions(t *testing.T) {
	all := tableOf(t, "questions")
	combination := all.where("class", "combination")
	between := all.where("class", "between")
	share := func(units rows, level string) float64 {
		part, _ := units.coverage("program", level)

		return 100 * part
	}

	combinations := fmt.Sprintf("On %d measured sets of four campaigns 68 %% intervals of a left-out combination "+
		"contained %.0f %% of the values, and 95 %% intervals contained %.0f %%;",
		len(combination.setNames()), share(combination, "0.68"), share(combination, "0.95"))
	betweens := fmt.Sprintf("on %d sets of two campaigns intervals of a condition between measured ones "+
		"contained %.0f %% and %.0f %%",
		len(between.setNames()), share(between, "0.68"), share(between, "0.95"))
	sentence := combinations + " " + betweens
	t.Log(sentence)

	page := string(testfile.Read(t, "../../honest.md"))
	assert.Contains(t, strings.Join(strings.Fields(page), " "), sentence)
}
