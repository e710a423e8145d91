package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
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
	b, _ := lists.Find(c.Criteria, func(b ByCriterion) bool { return b.Key == key })
	return b
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

	var variants []int
	for _, b := range append([]ByCriterion{c.by(s.primary())}, c.Criteria...) {
		variants = append(variants, lists.Each(b.Ranks, func(r VariantRank) int { return r.Variant })...)
	}

	_, order := lists.Index(variants)
	settings := s.settings()
	t.words(settings...)

	for _, b := range c.Criteria {
		t.numbers(b.Name, shownAs[b.Key], "above the best", "SE", "p (Holm)")
		t.Heads = append(t.Heads, head{Group: b.Name, Name: "is", Words: true})
	}

	for _, v := range order {
		cells := lists.Each(settings, func(name string) number {
			return words(cmp.Or(s.Variants[v].setting(name), undefinedText))
		})
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
	f, _ := lists.Find(v.Settings, func(f Fact) bool { return f.Name == name })
	return f.Value
}

// settings lists the names of the settings that vary.
func (s Sweep) settings() []string {
	var g gathered
	for _, v := range s.Variants {
		for _, f := range v.Settings {
			g.add(f.Name, v.Name)
		}
	}

	return g.texts
}

// title names the comparison.
func (s Sweep) title() string { return text("sweep-title", s) }

// verdicts name, per split, the selected variant, or the best by each score.
func (s Sweep) verdicts() []string { return paragraphs("sweep-verdicts", s) }

func shortName(key string) string { return strings.TrimSuffix(shownAs[key], " (sd)") }

// warnings lists what limits the trust in the comparison.
func (s Sweep) warnings() []string { return paragraphs("sweep-warnings", s) }

// words explain the comparison; there are none where nothing is compared.
func (s Sweep) words() []string { return paragraphs("sweep", s) }

// list names the variants with their numbers.
func (s Sweep) list() string { return text("sweep-list", s) }

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
	return sweepView{
		ID: "v" + strconv.Itoa(i+1), Name: nameOf(s.Name), Data: clean(s.Data), DataClass: dataClass(s.Data), List: s.list(),
		Verdicts: s.verdicts(), Warnings: s.warnings(), Words: s.words(), Tables: pageTables(s.tables()...),
		More: lists.Each(s.Variants, func(x Variant) string { return x.Name }),
	}
}

// Document is the comparison for programs, to be written as JSON. An undefined number
// is null.
func (s Sweep) Document() numbers.Object {
	part := func(c Comparison) object {
		by := object{}
		for _, b := range c.Criteria {
			by = append(by, b.Key, numbers.Objects(b.Ranks, func(r VariantRank) object {
				return object{
					"variant", s.Variants[r.Variant].Name, "value", r.Value.Mean, "std", r.Value.Std, "above_best", r.Above,
					"se", r.SE, "p", r.P, "p_holm", r.Holm, "worse", r.Worse,
				}
			}))
		}

		return object{"pairing", c.Pairing, "unpaired", c.Unpaired, "runs", c.Runs, "by", by}
	}

	splits := numbers.Objects(s.Splits, func(sp SweptSplit) object {
		o := object{"split", sp.Name, "held_out", sp.HeldOut, "seeds", sp.Seeds, "test", part(sp.Held)}
		if ranks := sp.Inner.by(s.By).Ranks; len(ranks) > 0 {
			o = append(o, "inner", part(sp.Inner), "selected", s.Variants[ranks[0].Variant].Name)
		}

		return o
	})

	return object{"experiment", s.Name, "data", s.Data, "splits", splits, "warnings", s.warnings()}
}
