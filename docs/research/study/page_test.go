package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"doubletake/report"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"github.com/stretchr/testify/assert"
)

// rows is a table with named cells.
type rows struct {
	name string
	list []map[string]string
}

func tableOf(t *testing.T, name string) rows {
	t.Helper()

	s, err := readSheet("../tables", name)
	if err != nil || len(s.rows) == 0 {
		t.Fatalf("tables/%s.csv: %d rows, %v", name, len(s.rows), err)
	}

	r := rows{name: name}
	for _, cells := range s.rows {
		row := map[string]string{}
		for i, c := range cells {
			row[s.head[i]] = c
		}

		r.list = append(r.list, row)
	}

	return r
}

// where are the rows with those cells, given as "column", "cell" in turn. A cell that ends
// in * is compared to there.
func (r rows) where(cells ...string) rows {
	return r.filter(func(row map[string]string) bool {
		for i := 0; i < len(cells); i += 2 {
			begin, open := strings.CutSuffix(cells[i+1], "*")
			if v := row[cells[i]]; v != cells[i+1] && (!open || !strings.HasPrefix(v, begin)) {
				return false
			}
		}

		return true
	})
}

func (r rows) filter(f func(row map[string]string) bool) rows {
	return rows{r.name, slices.DeleteFunc(slices.Clone(r.list), func(row map[string]string) bool { return !f(row) })}
}

// count is the number of rows.
func (r rows) count() int { return len(r.list) }

// one is the only row.
func (r rows) one(t *testing.T) map[string]string {
	t.Helper()

	if len(r.list) != 1 {
		t.Fatalf("%s: expected one row, found %d", r.name, len(r.list))
	}

	return r.list[0]
}

// number is the value of a cell, NaN of an empty one.
func number(row map[string]string, column string) float64 {
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		return math.NaN()
	}

	return v
}

// values are the numbers of a column, sorted, without empty cells.
func (r rows) values(column string) []float64 {
	var v []float64
	for _, row := range r.list {
		if x := number(row, column); !math.IsNaN(x) {
			v = append(v, x)
		}
	}

	slices.Sort(v)

	return v
}

// mean is that of a column, without empty cells.
func (r rows) mean(column string) (m float64) {
	v := r.values(column)
	for _, x := range v {
		m += x / float64(len(v))
	}

	return m
}

// span is the least and the greatest of a column, as a range with two digits.
func (r rows) span(column string) string {
	v := r.values(column)
	return twoDigits(v[0]) + " to " + twoDigits(v[len(v)-1])
}

// twoDigits writes 1711 as 1700.
func twoDigits(v float64) string {
	rounded, err := strconv.ParseFloat(fmt.Sprintf("%.1e", v), 64)
	if err != nil {
		return err.Error()
	}

	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// falls are the held-out sets where R² is below that of the training part.
func (r rows) falls() rows {
	return r.filter(func(row map[string]string) bool { return gain(row, "r2") < 0 })
}

// rises are those where a mean over the conditions is above that of the training part.
func (r rows) rises(column string) rows {
	return r.filter(func(row map[string]string) bool { return gain(row, column) > 0 })
}

// overconfident are those whose error is above the mean of C by two standard errors.
func (r rows) overconfident() rows {
	return r.filter(func(row map[string]string) bool {
		return number(row, "e_test")-2*number(row, "e_se_test") > number(row, "c_test")
	})
}

func gain(row map[string]string, column string) float64 {
	return number(row, column+"_test") - number(row, column+"_train")
}

// change is the growth from the training to the test part in per cent, to two digits.
func change(row map[string]string, column string) string {
	a, b := first(row[column+"_train"]), first(row[column+"_test"])
	percent := twoDigits(100 * (b - a) / math.Abs(a))
	if b > a {
		percent = "+" + percent
	}

	return percent + " %"
}

// first is the mean of a cell "0.83 ± 0.04".
func first(cell string) float64 {
	mean, _, _ := strings.Cut(cell, " ")
	v, err := strconv.ParseFloat(mean, 64)
	if err != nil {
		return math.NaN()
	}

	return v
}

// spread writes a mean with its standard deviation, as the program's tables do.
func spread(row map[string]string, column string) string {
	return both(number(row, column), number(row, column+"_sd"))
}

func both(mean, std float64) string {
	return report.Cell(score.Value{Mean: mean, Std: std, N: 5}, 1)
}

// short is the mean of a cell as the program's tables write it with its spread.
func short(row map[string]string, column string) string {
	mean, _, _ := strings.Cut(spread(row, column), " ")
	return mean
}

// shares writes a column of shares of several rows in per cent.
func (r rows) shares(column string) string {
	v := r.values(column)
	return fmt.Sprintf("%.0f to %.0f %%", 100*v[0], 100*v[len(v)-1])
}

// quotes checks that a page has all those sentences, and no figure elsewhere but those of
// known words.
func quotes(t *testing.T, page, from, to string, sentences []string) {
	t.Helper()

	b := testfile.Read(t, page)

	text := string(b)
	if from != "" {
		_, rest, ok := strings.Cut(text, from)
		part, _, end := strings.Cut(rest, to)
		if !ok || !end {
			t.Fatalf("%s has no part from %q to %q", page, from, to)
		}

		text = part
	}

	text = strings.Join(strings.Fields(text), " ")

	for _, s := range sentences {
		assert.Contains(t, text, s)
		text = strings.ReplaceAll(text, s, "")
	}

	text = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|95 %|90 %|x ≥ 5|2 ≤ x ≤ 4|R²|v̂²").ReplaceAllString(text, "")
	for _, m := range regexp.MustCompile(`.{0,40}\d.{0,40}`).FindAllString(text, -1) {
		t.Errorf("%s has a figure that no table is compared with: %s", page, m)
	}
}

// What docs/study.md says of the simulated campaigns.
func simulatedSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	all := tableOf(t, "simulated")
	pairs := all.filter(func(row map[string]string) bool { return !strings.HasPrefix(row["experiment"], "couples") })

	falls := pairs.falls()
	rises := falls.rises("abs_cov")
	shift := rises.filter(func(row map[string]string) bool {
		return gain(row, "abs_mu_delta") > math.Abs(gain(row, "c"))
	})
	say("R² falls in %d of %d held-out sets, and E|cov| rises in %d of these", falls.count(), pairs.count(), rises.count())
	say("C rises in %d of these %d", falls.rises("c").count(), falls.count())
	say("in %d of the %d rises E|μδ| grows by more than C changes", shift.count(), rises.count())

	for _, way := range []string{"extrapolation", "interpolation"} {
		list := pairs.where("reach", way+"*")
		list = list.filter(func(row map[string]string) bool { return row["sum_e_ratio_test"] != "" })
		v := list.values("sum_e_ratio_test")
		over := list.filter(func(row map[string]string) bool {
			return number(row, "sum_e_ratio_test")-2*number(row, "sum_e_ratio_se_test") > 1
		})
		say("in %d sets of %s it is %s, median %.0f, and above 1 by more than two standard errors in %d", len(v), way,
			list.span("sum_e_ratio_test"), v[len(v)/2], over.count())
	}

	toys := tableOf(t, "simulated-toy")
	test := toys.where("experiment", "toy-1.5", "part", "test").one(t)
	say("e is %s, the true squared error is %s, and C is %s", spread(test, "e"), spread(test, "true_squared_error"),
		spread(test, "c"))
	ratio := func(name string) string {
		return spread(toys.where("experiment", name, "part", "train").one(t), "sum_c_ratio")
	}
	say("ΣC/Σσ² is %s with couples and %s with triplets", ratio("couples-1.5"), ratio("toy-1.5"))

	for _, quoted := range tableOf(t, "others").where("source", "paper").list {
		here := all.where("experiment", quoted["experiment"], "split", quoted["split"]).one(t)
		held := map[string]string{"low-speed": "airfoil", "blades=2": "two blades", "blades=3": "three blades"}
		say("%s %s (paper %s), C %s", held[quoted["split"]], change(here, "abs_cov"), change(quoted, "abs_cov"),
			change(here, "c"))
	}

	methods := tableOf(t, "simulated-methods")
	say("NLL, CRPS, Σe/Σv̂, v̂²−2v̂e and QLIKE prefer `gp` in %s of 8 held-out sets", preferred(methods, "gp"))
	say("C of the pair network in %s", preferred(methods, "pair, C"))

	assert.Len(t, methods.sets(), 8, "held-out sets with methods")

	return out
}

// sets are the rows of each held-out set.
func (r rows) sets() map[string]rows {
	out := map[string]rows{}
	for _, row := range r.list {
		out[row["experiment"]+" "+row["split"]] = r.where("experiment", row["experiment"], "split", row["split"])
	}

	return out
}

// preferred is the number of held-out sets in which each score is best for a method.
func preferred(all rows, method string) string {
	var won []string
	for _, column := range []string{"nll", "crps", "sum_e_ratio", "square", "qlike"} {
		n := 0
		for _, set := range all.sets() {
			best, least := "", math.Inf(1)
			for _, row := range set.list {
				cost := number(row, column)
				if column == "sum_e_ratio" { // nearest to 1
					cost = math.Abs(math.Log(cost))
				}

				if cost < least {
					best, least = row["method"], cost
				}
			}

			if best == method {
				n++
			}
		}

		won = append(won, strconv.Itoa(n))
	}

	return strings.Join(won[:4], ", ") + " and " + won[4]
}

// What it says of choosing measurements.
func choiceSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	all := tableOf(t, "suggest")
	of := func(experiment, name string) map[string]string {
		return all.where("experiment", experiment, "chosen_by", name).one(t)
	}
	difference := func(name string) string {
		var text []string
		for _, experiment := range []string{"drone", "airfoil"} {
			row := of(experiment, name)
			text = append(text, both(number(row, "difference_to_random"), number(row, "difference_se"))+" on the "+experiment)
		}

		return strings.Join(text, " and ")
	}

	say("an e of %.3f on the drone and %.3f on the airfoil", number(of("drone", "random"), "error"),
		number(of("airfoil", "random"), "error"))
	say("worse than chance: by %s", difference("cov"))

	if all.where("chosen_by", "cov", "verdict", "worse").count() != 2 {
		t.Error("the page says that C alone is worse")
	}

	first := all.filter(func(row map[string]string) bool {
		return slices.Contains([]string{"both", "spread", "honest"}, row["chosen_by"])
	})
	batch := all.filter(func(row map[string]string) bool { return strings.HasSuffix(row["chosen_by"], ", batch") })
	say("better than chance in %d of %d comparisons", first.where("verdict", "better").count(), first.count())
	say("better in %d of %d; `honest` by %s", batch.where("verdict", "better").count(), batch.count(),
		difference("honest, batch"))

	return out
}

// The rows of its table of replays: log ratios to random choice, of the three criteria in turn.
func replaySentences(t *testing.T) (out []string) {
	all := tableOf(t, "replays")
	about := func(column string) float64 { return all.mean(column) }
	out = append(out,
		fmt.Sprintf("%.0f are known, %.0f are added in two rounds", about("start"), about("rounds")*about("each")),
		fmt.Sprintf("is judged on held-out runs, %.0f times", about("repeats")))
	for _, c := range [][2]string{{"turbine", "turbine"}, {"blades", "propeller stand"}, {"cyclone", "tail-sitter"}} {
		of := all.where("experiment", c[0])
		text := fmt.Sprintf("| %s, %s runs |", c[1], of.list[0]["runs"])
		for _, by := range []string{"maximin", "variance", "integrated variance"} {
			row := of.where("chosen_by", by).one(t)
			text += fmt.Sprintf(" %.2f ± %.2f |", number(row, "log_ratio"), number(row, "log_ratio_se"))
		}

		out = append(out, text)

		// The default is the one that is best in each.
		gain := number(of.where("chosen_by", "integrated variance").one(t), "log_ratio")
		if of.values("log_ratio")[0] != gain {
			t.Errorf("%s: another criterion is better than the default", c[1])
		}
	}

	return out
}

// What it says of widths.
func widthSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	widths, methods := tableOf(t, "widths"), tableOf(t, "widths-ensemble")

	var agree []string
	for _, c := range [][2]string{{"2-blades", "two blades"}, {"3-blades", "three blades"}} {
		of := func(r rows, column string, cells ...string) (narrow, wide map[string]string) {
			at := append([]string{"split", c[0]}, cells...)
			return r.where(append(at, "experiment", "drone/hidden=8-8")...).one(t),
				r.where(append(at, "experiment", "drone/hidden=128-128")...).one(t)
		}

		narrow, wide := of(widths, "sum_e_ratio_test")
		say("%s held out, Σe/ΣC grows from %s to %s", c[1], short(narrow, "sum_e_ratio_test"),
			short(wide, "sum_e_ratio_test"))
		narrow, wide = of(methods, "in_95", "method", "pair, C")
		say("and the share inside the 95 %% intervals falls from %.0f to %.0f %%", 100*number(narrow, "in_95"),
			100*number(wide, "in_95"))
		narrow, wide = of(methods, "deviation_test", "method", "ensemble")
		agree = append(agree, fmt.Sprintf("from %.2f to %.2f dB with %s", number(narrow, "deviation_test"),
			number(wide, "deviation_test"), c[1]))
	}

	say("%s held out and %s", agree[0], strings.TrimSuffix(agree[1], " blades"))
	say("From eight to 128 units a layer")

	return out
}

// What it says of calibrated intervals.
func intervalSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	sum, each := tableOf(t, "intervals-summary"), tableOf(t, "intervals")
	studied := each.filter(func(row map[string]string) bool { return row["absent"] == "" && number(row, "k") > 2 })

	say("| 68 %% | 90 %% | 95 %% | 98 %% |")

	for _, base := range []string{"gp", "orders", "ensemble", "pair"} {
		set := studied.where("base", base)

		var cells []string
		for _, column := range []string{"coverage_before", "coverage_68", "coverage_90", "coverage_95", "coverage_98"} {
			cells = append(cells, fmt.Sprintf("%.3f", set.mean(column)))
		}

		covered := set.filter(func(row map[string]string) bool { return number(row, "coverage_95") >= 0.9 })
		say("| %s | %s | %d of %d |", base, strings.Join(cells, " | "), covered.count(), set.count())
	}

	for data, words := range map[string]string{"drone": "on rotors", "turbine": "on a **measured** turbine"} {
		process, team := sum.where("data", data, "base", "gp").one(t), sum.where("data", data, "base", "ensemble").one(t)
		say("%s the process %.2f → %.2f, the ensemble %.2f → %.2f, without a model %.2f", words,
			number(process, "score_before"), number(process, "score_after"), number(team, "score_before"),
			number(team, "score_after"), number(process, "score_model_free"))
	}

	below := studied.filter(func(row map[string]string) bool { return number(row, "coverage_95") < 0.8 })
	toy, four := below.where("data", "toy*"), below.where("data", "propellers*", "held_out", "propeller = 5")
	say("%d intervals of the toy for x ≥ 5 (%s)", toy.count(), toy.shares("coverage_95"))
	say("%d of the only **measured** propeller with four blades (%s)", four.count(), four.shares("coverage_95"))

	assert.Equal(t, toy.count()+four.count(), below.count(),
		"sets are covered to less than 80 %%: the page does not name all")

	refit := tableOf(t, "intervals-refit-summary")
	of := func(data string) string {
		row := refit.where("data", data, "base", "gp-refit").one(t)
		return row["covered_to_90"] + " of " + row["sets"]
	}

	say("covers %s on the turbine, %s on the propellers, %s on a tail-sitter", of("turbine"), of("propellers"),
		of("angles"))
	networks := refit.where("data", "angles").filter(func(row map[string]string) bool {
		return !strings.HasPrefix(row["base"], "gp")
	})
	say("Networks cover %s of these %s", networks.span("covered_to_90"), networks.list[0]["sets"])

	return out
}

// risingSentences are the study's sentences on E|cov| as a warning and as a scale.
func risingSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	r, all := scale.BuiltInRises(), tableOf(t, "ecov")
	say("in %s, 95 %% intervals contained %.0f %% of the values if E|cov| rose by more than half, and %.0f %% if it did "+
		"not", r.Source, 100*r.Rose.Inside, 100*r.Steady.Inside)

	share := func(of func(rho float64) bool) (m, se float64, text string) {
		list := all.where("measured", "true").filter(func(row map[string]string) bool { return of(number(row, "rho")) })
		m, sd := score.MeanStd(list.values("coverage_95"))
		se = sd / math.Sqrt(float64(list.count()))

		return m, se, fmt.Sprintf("%.3f ± %.3f in %d", m, se, list.count())
	}
	rose, seRose, words := share(func(rho float64) bool { return rho > r.Rose.Above })
	steady, seSteady, more := share(func(rho float64) bool { return rho < r.Steady.Below })
	say("Here, with the present default, the two shares are %s and %s **measured** groups", words, more)

	if math.Abs(rose-steady) > 2*math.Hypot(seRose, seSteady) {
		t.Error("the page says that there is no difference")
	}

	say("| groups | 68 %% | 95 %% |")
	out = append(out, slices.DeleteFunc(thirdRows(t, "68", "95"), func(row string) bool {
		return strings.Contains(row, "simulated") && !strings.Contains(row, "all")
	})...)

	var others []float64 // measured sets but the propellers by blade count
	for _, row := range tableOf(t, "ecov-trainings").list {
		v := lnScore(all, row["data"])
		if v > lnScore(all, "blades") {
			t.Errorf("%s: %+.2f is worse than the propellers by blade count", row["data"], v)
		}

		if row["data"] != "blades" && all.where("data", row["data"], "measured", "true").count() > 0 {
			others = append(others, v)
		}
	}

	m, sd := score.MeanStd(others)
	say("by blade count, %+.2f; the other measured sets: %+.2f ± %.2f", lnScore(all, "blades"), m,
		sd/math.Sqrt(float64(len(others))))

	propellers := tableOf(t, "measured").filter(func(row map[string]string) bool { return row["experiment"] != "turbine" })
	below := propellers.filter(func(row map[string]string) bool { return number(row, "r2_test") < 0 })
	say("below zero in all %d held-out sets; in %d of them E|cov| does not rise", propellers.count(),
		below.count()-below.rises("abs_cov").count())

	return out
}

// lnScore is the mean of ln of the ratio of interval scores over a set's groups.
func lnScore(all rows, data string) (sum float64) {
	of := all.where("data", data)
	for _, row := range of.list {
		sum += math.Log(number(row, "score_ecov")/number(row, "score")) / float64(of.count())
	}

	return sum
}

// thirdRows are the rows of tables of groups by the rise of E|cov|, with the shares inside intervals of some levels.
func thirdRows(t *testing.T, levels ...string) (out []string) {
	for _, kind := range [][2]string{{"true", "measured"}, {"false", "simulated"}} {
		for _, row := range tableOf(t, "ecov-thirds").where("measured", kind[0]).list {
			line := fmt.Sprintf("| %s, %s | %s |", kind[1], row["third"], row["groups"])
			for _, level := range levels {
				line += fmt.Sprintf(" %.2f→%.2f |", number(row, "coverage_"+level), number(row, "coverage_"+level+"_ecov"))
			}

			line += fmt.Sprintf(" %+.2f", number(row, "ln_score"))
			if row["ln_score_se"] != "" {
				line += fmt.Sprintf(" ± %.2f", number(row, "ln_score_se"))
			}

			out = append(out, line+" |")
		}
	}

	return out
}

// docs/research/intervals.md has the same table with all levels, and what each set's trainings took.
func TestRisesTable(t *testing.T) {
	out := append(thirdRows(t, "68", "90", "95", "98"), "68 %", "98 %")
	for _, row := range tableOf(t, "ecov-trainings").list {
		out = append(out, fmt.Sprintf("| %s | %s | %s | %s | %+.2f |", row["data"], row["groups"], row["trainings"],
			row["seconds"], lnScore(tableOf(t, "ecov"), row["data"])))
	}

	quotes(t, "../intervals.md", "<!-- tables/ecov.csv -->", "<!-- end -->", out)
}

// What it says of the measured examples.
func measuredSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }

	all := tableOf(t, "measured")
	if all.falls().count() != all.count() {
		t.Error("the page says that R² falls in every held-out set")
	}

	var rise []string
	for _, name := range []string{"turbine", "blades", "blades-8000", "propellers"} {
		s := all.where("experiment", name)
		rise = append(rise, fmt.Sprintf("%d of %d of `%s`", s.rises("abs_cov").count(), s.count(), name))
	}

	say("E|cov| rises in %s", strings.Join(rise, ", "))

	propellers := all.filter(func(row map[string]string) bool { return row["experiment"] != "turbine" })
	below := propellers.filter(func(row map[string]string) bool { return number(row, "r2_test") < 0 })
	if below.count() != propellers.count() {
		t.Errorf("R² is below 0 in %d of %d sets of propellers", below.count(), propellers.count())
	}

	say("below zero in all %d sets of propellers", below.count())
	say("In %d of them E|cov| does not rise", below.count()-below.rises("abs_cov").count())
	say("in %d of %d sets", all.overconfident().count(), all.count())

	var here, noted []string
	for _, n := range tableOf(t, "others").where("experiment", "turbine").list {
		noted = append(noted, n["r2_test"])
		here = append(here, spread(all.where("experiment", "turbine", "split", n["split"]).one(t), "r2_test"))
	}

	say("R² of %s, %s and %s", noted[0], noted[1], noted[2])
	say("here %s, %s and %s", here[0], here[1], here[2])

	return out
}

// docs/study.md says what the tables do.
func TestStudyPage(t *testing.T) {
	widths := widthSentences(t)
	quotes(t, "../../study.md", "", "", slices.Concat(
		simulatedSentences(t), choiceSentences(t), replaySentences(t), widths[:2], widths[len(widths)-1:],
		intervalSentences(t), risingSentences(t)))
	quotes(t, "../intervals.md", "<!-- tables/widths.csv -->", "<!-- end -->", widths)
	quotes(t, "../intervals.md", "<!-- tables/measured.csv -->", "<!-- end -->", measuredSentences(t))
}

// So does docs/research/methods.md on what the methods claim.
func TestMethodPage(t *testing.T) {
	all := tableOf(t, "methods")
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	for _, c := range [][2]string{
		{"turbine", "turbine, **measured**, slowest speed"},
		{"drone", "rotor, three blades"},
		{"airfoil", "airfoil, lowest speed"},
		{"toy", "toy, 2 ≤ x ≤ 4"},
	} {
		s := all.where("experiment", c[0]).filter(func(row map[string]string) bool {
			return row["method"] != "constant" && row["crps_above_best"] != ""
		})
		say("| %s | %s | %s | %s | %s |", c[1], s.shares("in_95"), s.span("sum_e_ratio"),
			s.shares("in_95_scaled"), s.span("sum_e_ratio_scaled"))
	}

	slow := all.where("experiment", "turbine-slow")
	of := func(name string) map[string]string { return slow.where("method", name).one(t) }
	say("CRPS of `hmc` is %.3f (`gp` %.3f), Σe/Σv̂ %.2f, and %.0f %% of the values are in its 95 %% intervals",
		number(of("hmc"), "crps"), number(of("gp"), "crps"), number(of("hmc"), "sum_e_ratio"), 100*number(of("hmc"), "in_95"))
	say("`laplace-full` and `laplace-natural` contain %.0f %% with Σe/Σv̂ of %.2f and %.2f",
		100*min(number(of("laplace-full"), "in_95"), number(of("laplace-natural"), "in_95")),
		number(of("laplace-full"), "sum_e_ratio"), number(of("laplace-natural"), "sum_e_ratio"))

	if of("hmc")["converged"] != "no" {
		t.Error("the page says that hmc has not converged")
	}

	quotes(t, "../methods.md", "<!-- tables/methods.csv -->", "<!-- end -->", out)
}

// So does its table of simple methods, by means over the held-out groups.
func TestRivalsTable(t *testing.T) {
	var out []string
	all := tableOf(t, "rivals")
	for _, m := range []string{"gp", "linear", "nearest-group", "conformal", "conformal-relative", "constant"} {
		line := "| `" + m + "` |"
		for _, name := range []string{"turbine", "propellers"} {
			var mean [4]float64
			rows := all.where("experiment", name, "method", m).list
			for _, row := range rows {
				for k, column := range []string{"e", "in_95", "width_95", "crps"} {
					mean[k] += number(row, column) / float64(len(rows))
				}
			}

			line += fmt.Sprintf(" %.2f, %.0f %%, %.2f, %.3f |", math.Sqrt(mean[0]), 100*mean[1], mean[2], mean[3])
		}

		out = append(out, line)
	}

	quotes(t, "../methods.md", "<!-- tables/rivals.csv -->", "<!-- end -->", out)
}
