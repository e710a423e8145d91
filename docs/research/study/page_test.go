package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
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

// span is the least and the greatest of a column, as a range.
func (r rows) span(column, format string, factor float64) string {
	v := r.values(column)
	return fmt.Sprintf(format+" to "+format, factor*v[0], factor*v[len(v)-1])
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
	percent, err := strconv.ParseFloat(fmt.Sprintf("%.1e", 100*(b-a)/math.Abs(a)), 64)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+.0f %%", percent)
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

// spread writes a mean with its standard deviation.
func spread(row map[string]string, column string) string {
	return row[column] + " ± " + row[column+"_sd"]
}

// shares writes a column of shares of several rows in per cent.
func (r rows) shares(column string) string { return r.span(column, "%.0f", 100) + " %" }

// quotes checks that a page has all those sentences, and no figure elsewhere but those of
// known words.
func quotes(t *testing.T, page, from, to string, sentences []string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
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
		if !strings.Contains(text, s) {
			t.Errorf("%s does not say what the tables do: %s", page, s)
		}
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
	both := falls.rises("abs_cov")
	shift := both.filter(func(row map[string]string) bool {
		return gain(row, "abs_mu_delta") > math.Abs(gain(row, "c"))
	})
	say("R² falls in %d of %d held-out sets, and E|cov| rises in %d of these", falls.count(), pairs.count(), both.count())
	say("C rises in %d of these %d", falls.rises("c").count(), falls.count())
	say("in %d of the %d rises E|μδ| grows by more than C changes", shift.count(), both.count())

	for _, way := range []string{"extrapolation", "interpolation"} {
		list := pairs.where("reach", way+"*").filter(func(row map[string]string) bool { return row["sum_e_ratio_test"] != "" })
		v := list.values("sum_e_ratio_test")
		over := list.filter(func(row map[string]string) bool {
			return number(row, "sum_e_ratio_test")-2*number(row, "sum_e_ratio_se_test") > 1
		})
		say("in %d sets of %s it is %s, median %.0f, and above 1 by more than two standard errors in %d", len(v), way,
			list.span("sum_e_ratio_test", "%.2g", 1), v[len(v)/2], over.count())
	}

	toys := tableOf(t, "simulated-toy")
	test := toys.where("experiment", "toy-1.5", "part", "test").one(t)
	say("e is %s where the true squared error is %s, and C %s", spread(test, "e"), spread(test, "true_squared_error"),
		spread(test, "c"))
	ratio := func(name string) string {
		return spread(toys.where("experiment", name, "part", "train").one(t), "sum_c_ratio")
	}
	say("ΣC/Σσ² is %s with couples and %s with triplets", ratio("couples-1.5"), ratio("toy-1.5"))

	for _, quoted := range tableOf(t, "others").where("source", "paper").list {
		here := all.where("experiment", quoted["experiment"], "split", quoted["split"]).one(t)
		held := map[string]string{"low-speed": "airfoil, lowest speed", "blades=2": "two blades", "blades=3": "three blades"}
		say("| %s | %s | %s | %s | %s | %s | %s |", held[quoted["split"]], quoted["r2_test"], spread(here, "r2_test"),
			change(quoted, "abs_cov"), change(here, "abs_cov"), change(here, "c"), change(here, "abs_mu_delta"))
	}
	return append(out, methodSentences(t)...)
}

// methodSentences are the rows of the table that counts which method each score prefers.
func methodSentences(t *testing.T) (out []string) {
	all := tableOf(t, "simulated-methods")
	costs := map[string]func(v float64) float64{
		"nll":         func(v float64) float64 { return v },
		"crps":        func(v float64) float64 { return v },
		"sum_e_ratio": func(v float64) float64 { return math.Abs(math.Log(v)) },
		"square":      func(v float64) float64 { return v },
		"qlike":       func(v float64) float64 { return v },
	}
	columns := []string{"nll", "crps", "sum_e_ratio", "square", "qlike"}

	var names []string
	sets := map[string]rows{}
	won := map[string]map[string]int{}
	for _, row := range all.list {
		key := row["experiment"] + " " + row["split"]
		sets[key] = all.where("experiment", row["experiment"], "split", row["split"])
		if won[row["method"]] == nil {
			names, won[row["method"]] = append(names, row["method"]), map[string]int{}
		}
	}
	for _, set := range sets {
		for _, column := range columns {
			best, least := "", math.Inf(1)
			for _, row := range set.list {
				if v := costs[column](number(row, column)); v < least {
					best, least = row["method"], v
				}
			}
			won[best][column]++
		}
	}

	out = append(out, fmt.Sprintf("the %d held-out sets", len(sets)))
	for _, name := range names {
		line := "| " + strings.ReplaceAll(name, "|", `\|`)
		for _, column := range columns {
			line += fmt.Sprintf(" | %d", won[name][column])
		}
		out = append(out, line+" |")
	}
	return out
}

// What it says of choosing measurements and of widths.
func choiceSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	all := tableOf(t, "suggest")
	for _, name := range []string{"cov", "both", "spread", "honest", "both, batch", "spread, batch", "honest, batch"} {
		line := "| " + name
		for _, experiment := range []string{"drone", "airfoil"} {
			row := all.where("experiment", experiment, "chosen_by", name).one(t)
			line += fmt.Sprintf(" | %s ± %s | %s of %s, %s", row["difference_to_random"], row["difference_se"],
				row["better_in"], row["repeats"], strings.Replace(row["verdict"], "no significant difference", "not significant", 1))
		}
		out = append(out, line+" |")
	}
	for _, experiment := range []string{"drone", "airfoil"} {
		row := all.where("experiment", experiment, "chosen_by", "random").one(t)
		say("%s on the %s", row["error"], experiment)
	}

	widths, ensembles := tableOf(t, "widths"), tableOf(t, "widths-ensemble")
	at := func(split, hidden string) (pair, claims, ensemble map[string]string) {
		name := "drone/hidden=" + hidden
		return widths.where("experiment", name, "split", split).one(t),
			ensembles.where("experiment", name, "split", split, "method", "pair, C").one(t),
			ensembles.where("experiment", name, "split", split, "method", "ensemble").one(t)
	}
	for split, blades := range map[string]string{"2-blades": "two", "3-blades": "three"} {
		narrow, narrowClaims, narrowTeam := at(split, "8-8")
		wide, wideClaims, wideTeam := at(split, "128-128")
		say("with %s blades held out Σe/ΣC grows from %s to %s, and the share inside the 95 %% intervals falls from %.0f to %.0f %%",
			blades, narrow["sum_e_ratio_test"], wide["sum_e_ratio_test"], 100*number(narrowClaims, "in_95"),
			100*number(wideClaims, "in_95"))
		say("from %s to %s dB with %s blades held out", narrowTeam["deviation_test"], wideTeam["deviation_test"], blades)
	}
	return out
}

// What it says of calibrated intervals.
func intervalSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	sum, each := tableOf(t, "intervals-summary"), tableOf(t, "intervals")
	for _, c := range [][2]string{
		{"drone", "rotors, simulated"}, {"airfoil", "wings, simulated"}, {"toy", "toy, simulated"},
		{"turbine", "turbine, **measured**"}, {"propellers", "propellers, **measured**"},
	} {
		process := sum.where("data", c[0], "base", "gp").one(t)
		line := fmt.Sprintf("| %s | %s", c[1], process["sets"])
		for _, base := range []string{"gp", "ensemble", "prior-ensemble", "pair"} {
			line += " | " + sum.where("data", c[0], "base", base).one(t)["covered_to_90"]
		}
		team := sum.where("data", c[0], "base", "ensemble").one(t)
		say("%s | %s → %s | %s → %s | %s |", line, process["score_before"], process["score_after"], team["score_before"],
			team["score_after"], process["score_model_free"])
	}

	below := each.filter(func(row map[string]string) bool { return number(row, "coverage_after") < 0.895 })
	toy, four := below.where("data", "toy"), below.where("data", "propellers", "split", "propeller=5")
	say("%d intervals cover less than 90 %% of their set", below.count())
	say("%d of the toy beyond x = 5", toy.count())
	say("%d of the only propeller with four blades (%s)", four.count(), four.shares("coverage_after"))

	refit := tableOf(t, "intervals-refit-summary")
	for _, c := range [][2]string{{"turbine", "the turbine"}, {"propellers", "the propellers"}, {"angles", "the tail-sitter"}} {
		row := refit.where("data", c[0], "base", "gp-refit").one(t)
		say("%s of %s on %s", row["covered_to_90"], row["sets"], c[1])
	}
	v := refit.where("data", "angles").filter(func(row map[string]string) bool { return !strings.HasPrefix(row["base"], "gp") })
	say("networks cover %s of them", v.span("covered_to_90", "%.0f", 1))
	return out
}

// What it says of the measured examples.
func measuredSentences(t *testing.T) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	all := tableOf(t, "measured")
	for _, name := range []string{"turbine", "blades", "blades-8000", "propellers"} {
		s := all.where("experiment", name)
		below := s.filter(func(row map[string]string) bool { return number(row, "r2_test") < 0 })
		silent := below.count() - below.rises("abs_cov").count()
		say("| `%s` | %d | %d | %d | %d | %d | %d |", name, s.count(), s.falls().count(), s.falls().rises("abs_cov").count(),
			below.count(), silent, s.overconfident().count())
	}
	var r2, noted []string
	for _, n := range tableOf(t, "others").where("source", "another program").list {
		r2 = append(r2, spread(all.where("experiment", n["experiment"], "split", n["split"]).one(t), "r2_test"))
		noted = append(noted, n["r2_test"])
	}
	say("R² of %s, here %s", strings.Join(noted, ", "), strings.Join(r2, ", "))
	return out
}

// docs/study.md says what the tables do.
func TestStudyPage(t *testing.T) {
	quotes(t, "../../study.md", "", "", slices.Concat(
		simulatedSentences(t), choiceSentences(t), intervalSentences(t), measuredSentences(t)))
}

// So does the section of docs/method.md on what the methods claim.
func TestMethodPage(t *testing.T) {
	all := tableOf(t, "methods")
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	for _, c := range [][2]string{
		{"turbine", "turbine, **measured**, slowest speed"}, {"drone", "rotor, three blades"},
		{"airfoil", "airfoil, lowest speed"}, {"toy", "toy, 2 ≤ x ≤ 4"},
	} {
		s := all.where("experiment", c[0]).filter(func(row map[string]string) bool {
			return row["method"] != "constant" && row["crps_above_best"] != ""
		})
		say("| %s | %s | %s | %s | %s |", c[1], s.shares("in_95"), s.span("sum_e_ratio", "%.2g", 1),
			s.shares("in_95_with_cx"), s.span("sum_e_ratio_with_cx", "%.2g", 1))
	}

	slow := all.where("experiment", "turbine-slow")
	of := func(name string) map[string]string { return slow.where("method", name).one(t) }
	say("CRPS of `hmc` is %s (`gp` %s), Σe/Σv̂ %s, and %.0f %% of the values are in its 95 %% intervals",
		of("hmc")["crps"], of("gp")["crps"], of("hmc")["sum_e_ratio"], 100*number(of("hmc"), "in_95"))
	say("`laplace-full` and `laplace-natural` contain %.0f %% with Σe/Σv̂ of %s and %s",
		100*min(number(of("laplace-full"), "in_95"), number(of("laplace-natural"), "in_95")),
		of("laplace-full")["sum_e_ratio"], of("laplace-natural")["sum_e_ratio"])
	if of("hmc")["converged"] != "no" {
		t.Error("the page says that hmc has not converged")
	}
	quotes(t, "../../method.md", "<!-- tables/methods.csv -->", "<!-- end -->", out)
}
