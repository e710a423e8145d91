package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/train/score"
)

// Sweep is the comparison of the variants of one experiment.
type Sweep struct {
	Name, Data, Version string
	Paths               []string // of the settings that vary
	Variants            []Variant
	Splits              []SweptSplit
	By, On              string // how a variant is selected; "" where none is
	Other               bool   // variants have triplets of their own
}

// Variant is one variant of a sweep.
type Variant struct {
	Name     string
	Settings []Fact
}

// label is the variant's name without its experiment's.
func (v Variant) label() string { return v.Name[strings.LastIndexByte(v.Name, '/')+1:] }

// SweptSplit compares the variants on one split.
type SweptSplit struct {
	Name, HeldOut string
	Seeds, Groups int        // Groups: of the training set, left out in turn
	Held          Comparison // on what the split holds out
	Inner         Comparison // on the left-out groups; without Criteria where none are
}

// Comparison ranks variants by each criterion.
type Comparison struct {
	Pairing  string // how rows are paired
	Runs     int
	Unpaired string // why nothing can be paired; "" where it can
	Apart    []Apart
	Criteria []ByCriterion
}

// Apart is a variant that is not compared.
type Apart struct {
	Variant int
	Why     string
}

// ByCriterion ranks variants, best first; those without a value are missing.
type ByCriterion struct {
	Key, Name string // of score.Criteria
	Ranks     []VariantRank
}

// VariantRank is the place of a variant by one criterion.
type VariantRank struct {
	Variant   int
	Value     score.Value // for people; the root of the error, Σe/Σv̂ itself
	Score     float64     // the criterion
	Above, SE float64     // the criterion above the best one's, paired
	Margin    float64     // of Above: Student's 97.5 % of SE
	P, Holm   float64     // of the difference; corrected for the number of variants
	Worse     bool        // Holm is below 5 %
}

func (c Comparison) by(key string) ByCriterion {
	i := slices.IndexFunc(c.Criteria, func(b ByCriterion) bool { return b.Key == key })
	if i < 0 {
		return ByCriterion{}
	}

	return c.Criteria[i]
}

// shownAs are the headings of the criteria's values.
var shownAs = map[string]string{"nll": "NLL", "crps": "CRPS (sd)", "rmse": "RMSE (sd)", "ratio": "Σe/Σv̂"}

// primary is the criterion that the tables are sorted by.
func (s Sweep) primary() string { return cmp.Or(s.By, "nll") }

// tables returns the tables of the comparison, split by split.
func (s Sweep) tables() []table {
	var out []table
	for _, sp := range s.Splits {
		out = append(out, s.table("Variants on what "+clean(sp.Name)+" holds out", sp.Held))
		if len(sp.Inner.Criteria) > 0 {
			out = append(out, s.table(fmt.Sprintf("Variants on %d groups of %s left out of the training set of %s", sp.Groups,
				clean(s.On), clean(sp.Name)), sp.Inner))
		}
	}

	return slices.DeleteFunc(out, table.empty)
}

func (s Sweep) table(title string, c Comparison) table {
	t := table{Title: title, Corner: "variant"}

	var order []int
	for _, b := range append([]ByCriterion{c.by(s.primary())}, c.Criteria...) {
		for _, r := range b.Ranks {
			if !slices.Contains(order, r.Variant) {
				order = append(order, r.Variant)
			}
		}
	}

	settings := s.settings()
	t.words(settings...)

	for _, b := range c.Criteria {
		t.numbers(b.Name, shownAs[b.Key], "above the best", "SE", "p (Holm)")
		t.Heads = append(t.Heads, head{Group: b.Name, Name: "is", Words: true})
	}

	for _, v := range order {
		var cells []number
		for _, name := range settings {
			cells = append(cells, words(cmp.Or(s.Variants[v].setting(name), undefinedText)))
		}

		for _, b := range c.Criteria {
			cells = append(cells, b.cells(v)...)
		}

		t.add(strconv.Itoa(v+1), cells...)
	}

	return t
}

// cells are the numbers of a variant by a criterion.
func (b ByCriterion) cells(variant int) []number {
	i := slices.IndexFunc(b.Ranks, func(r VariantRank) bool { return r.Variant == variant })
	if i < 0 {
		return slices.Repeat([]number{{text: undefinedText}}, 5)
	}

	r := b.Ranks[i]
	is := "best"
	if i > 0 {
		is = score.Standing(b.Key, b.Ranks[0].Score, r.Above, r.Margin, r.Worse)
	}

	return []number{round(r.Value, 1), single(r.Above), single(r.SE), single(r.Holm), words(is)}
}

// setting is the value of a setting of the variant, "" where it does not vary there.
func (v Variant) setting(name string) string {
	for _, f := range v.Settings {
		if f.Name == name {
			return f.Value
		}
	}

	return ""
}

// settings lists the names of the settings that vary.
func (s Sweep) settings() []string {
	var out []string
	for _, v := range s.Variants {
		for _, f := range v.Settings {
			if !slices.Contains(out, f.Name) {
				out = append(out, f.Name)
			}
		}
	}

	return out
}

// title names the comparison.
func (s Sweep) title() string {
	t := fmt.Sprintf("%s: %d variants compared", clean(s.Name), len(s.Variants))
	if s.Data == "simulated" {
		t += " (simulated data)"
	}

	return t
}

// verdicts name, per split, the selected variant, or the best by each score.
func (s Sweep) verdicts() []string {
	if len(s.Splits) == 0 {
		return []string{"Not compared, because no split holds anything out."}
	}

	var out []string
	for _, sp := range s.Splits {
		switch ranks := sp.Inner.by(s.By).Ranks; {
		case sp.Held.Unpaired != "":
			out = append(out, clean(sp.Name)+": not compared, because "+sp.Held.Unpaired+".")
		case len(ranks) > 0:
			out = append(out, s.selected(sp, ranks[0].Variant))
		case s.By != "":
			out = append(out, fmt.Sprintf("%s: none is selected, because %s.", clean(sp.Name), cmp.Or(sp.Inner.Unpaired,
				"no variant has "+shortName(s.By)+" on the groups of "+clean(s.On)+" in the training set")))
		default:
			out = append(out, clean(sp.Name)+": "+s.best(sp.Held)+".")
		}
	}

	return out
}

// best names the best variant by each score.
func (s Sweep) best(c Comparison) string {
	var best []string
	for _, b := range c.Criteria {
		if len(b.Ranks) < 2 {
			continue
		}

		worse := 0
		for _, r := range b.Ranks {
			if r.Worse {
				worse++
			}
		}

		best = append(best, fmt.Sprintf("by %s %s, better than %d of the %d others", shortName(b.Key),
			s.Variants[b.Ranks[0].Variant].label(), worse, len(b.Ranks)-1))
	}

	if best == nil {
		return "not compared, because no score is defined for two variants"
	}

	return "best " + strings.Join(best, "; ")
}

func shortName(key string) string { return strings.TrimSuffix(shownAs[key], " (sd)") }

// selected describes the variant that was selected for a split, with its scores on what
// the split holds out.
func (s Sweep) selected(sp SweptSplit, v int) string {
	var held []string
	for _, b := range sp.Held.Criteria {
		for i, r := range b.Ranks {
			if r.Variant == v {
				held = append(held, fmt.Sprintf("%s %s (place %d of %d)", shortName(b.Key), Cell(r.Value, 1), i+1, len(b.Ranks)))
			}
		}
	}

	return fmt.Sprintf("%s: %s is selected by %s on %d groups of %s in the training set. On what was held out, which the "+
		"selection did not use: %s.", clean(sp.Name), s.Variants[v].label(), shortName(s.By), sp.Groups, clean(s.On),
		strings.Join(held, ", "))
}

// warnings lists what limits the trust in the comparison.
func (s Sweep) warnings() []string {
	var out []string
	if s.On == "" && len(s.Splits) > 0 {
		out = append(out, text("sweep-unselected", nil))
	}

	if s.Other {
		out = append(out, text("sweep-other", strings.Join(s.Paths, ", ")))
	}

	if len(s.Splits) > 0 && s.Splits[0].Seeds == 1 {
		out = append(out, text("sweep-one-seed", nil))
	}

	for _, sp := range s.Splits {
		for _, a := range sp.Held.Apart {
			out = append(out, fmt.Sprintf("%s is not compared: %s", s.Variants[a.Variant].label(), a.Why))
		}

		if ranked := len(sp.Inner.by(s.By).Ranks); ranked > 0 && ranked+len(sp.Inner.Apart) < len(s.Variants) {
			out = append(out, fmt.Sprintf("%s: the selection leaves out %d of %d variants, whose %s on the groups of %s is not "+
				"defined (a dash in the table); select: {by: nll} ranks them too", clean(sp.Name),
				len(s.Variants)-len(sp.Inner.Apart)-ranked, len(s.Variants), shortName(s.By), clean(s.On)))
		}

		if sp.Held.Unpaired == "" && sp.Held.Runs < 2 {
			out = append(out, fmt.Sprintf("%s holds out one run: no difference has a standard error", clean(sp.Name)))
		}
	}

	return out
}

// words explain the comparison; there are none where nothing is compared.
func (s Sweep) words() []string {
	var how []string
	for _, sp := range s.Splits {
		if sp.Held.Unpaired == "" {
			how = append(how, fmt.Sprintf("%s %s in %d runs", clean(sp.Name), sp.Held.Pairing, sp.Held.Runs))
		}
	}

	if how == nil {
		return nil
	}

	return []string{text("sweep", strings.Join(how, "; "))}
}

// list names the variants with their numbers.
func (s Sweep) list() string {
	var out []string
	for i, v := range s.Variants {
		out = append(out, fmt.Sprintf("%d %s", i+1, v.label()))
	}

	return "Variants: " + strings.Join(out, ", ") + "."
}

func (s Sweep) document() document {
	d := document{
		title: s.title(), what: s.list(), verdicts: s.verdicts(), tables: s.tables(), words: s.words(),
	}
	if w := s.warnings(); len(w) > 0 {
		d.findings = []findings{{kind: "warning", title: "Warnings", items: w, severe: true}}
	}

	return d
}

// sweepView is what the page shows of a comparison.
type sweepView struct {
	ID, Name, Data, DataClass       string
	List                            string
	Verdicts, Warnings, Words, More []string
	Tables                          []table
}

func newSweepView(i int, s Sweep) sweepView {
	v := sweepView{
		ID: "v" + strconv.Itoa(i+1), Name: nameOf(s.Name), Data: clean(s.Data), DataClass: dataClass(s.Data), List: s.list(),
		Verdicts: s.verdicts(), Warnings: s.warnings(), Words: s.words(), Tables: pageTables(s.tables()...),
	}

	for _, x := range s.Variants {
		v.More = append(v.More, x.Name)
	}

	return v
}

// Document is the comparison for programs, to be written as JSON. An undefined number
// is null.
func (s Sweep) Document() json.Marshaler {
	part := func(c Comparison) object {
		by := object{}
		for _, b := range c.Criteria {
			ranks := array{}
			for _, r := range b.Ranks {
				ranks = append(ranks, object{
					"variant", s.Variants[r.Variant].Name,
					"value", r.Value.Mean,
					"std", r.Value.Std,
					"above_best", r.Above,
					"se", r.SE,
					"p", r.P,
					"p_holm", r.Holm,
					"worse", r.Worse,
				})
			}

			by = append(by, b.Key, ranks)
		}

		return object{"pairing", c.Pairing, "unpaired", c.Unpaired, "runs", c.Runs, "by", by}
	}

	splits := array{}
	for _, sp := range s.Splits {
		o := object{"split", sp.Name, "held_out", sp.HeldOut, "seeds", sp.Seeds, "test", part(sp.Held)}
		if ranks := sp.Inner.by(s.By).Ranks; len(ranks) > 0 {
			o = append(o, "inner", part(sp.Inner), "selected", s.Variants[ranks[0].Variant].Name)
		}

		splits = append(splits, o)
	}

	return object{"experiment", s.Name, "data", s.Data, "splits", splits, "warnings", s.warnings()}
}
