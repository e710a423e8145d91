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
	Name, Data, Version string    // of the experiment, as in Experiment
	Paths               []string  // paths of the settings that vary
	Variants            []Variant // the fields Variant below are indices of this list
	Splits              []SweptSplit
	Criterion           string // key of the criterion by which a variant is selected; "" if none is selected
	LeftOut             string // condition whose groups are left out for the selection
	Other               bool   // variants have triplets of their own, so their errors are of different data
}

// Variant is one variant of a sweep.
type Variant struct {
	Name     string // name of the experiment, "/", and the label of the variant
	Settings []Fact // the settings that vary, with the variant's values
}

// label returns the variant's name without the name of its experiment.
func (v Variant) label() string { return v.Name[strings.LastIndexByte(v.Name, '/')+1:] }

// SweptSplit compares the variants on one split.
type SweptSplit struct {
	Name, HeldOut string
	Seeds, Groups int        // numbers of seeds, and of groups of the training set that are left out in turn
	Held          Comparison // on the held-out part
	Inner         Comparison // on the left-out groups; it has no Criteria if no such groups exist
}

// Comparison ranks variants by each criterion.
type Comparison struct {
	Pairing  string  // how rows of two variants are paired, in words
	Runs     int     // number of runs of the paired rows
	Unpaired string  // why nothing can be paired; "" if rows can be paired
	Apart    []Apart // variants that are not compared
	Criteria []ByCriterion
}

// Apart is a variant that is not compared.
type Apart struct {
	Variant int
	Why     string // the reason in words
}

// ByCriterion ranks variants by a criterion, the best first. Variants without a value are missing.
type ByCriterion struct {
	Key, Name string // of score.Criteria
	Ranks     []VariantRank
}

// VariantRank is the place of a variant by one criterion.
type VariantRank struct {
	Variant int
	Value   score.Value // the number that tables show: for errors its root, for the ratio Σe/Σv̂ itself
	Score   float64     // the criterion; lower is better
	Above   float64     // Score less the score of the best variant, by paired rows
	SE      float64     // standard error of Above
	Margin  float64     // half width of the 95 % interval of Above: SE times Student's 97.5 % quantile
	P       float64     // p-value of Above
	Holm    float64     // P corrected for the number of variants by Holm's method
	Worse   bool        // Holm is below 5 %
}

// by returns the ranks by the criterion with the given key, or no ranks if there is none.
func (c Comparison) by(key string) ByCriterion {
	for _, criterion := range c.Criteria {
		if criterion.Key == key {
			return criterion
		}
	}

	return ByCriterion{}
}

// shownAs has the headings of the criteria's values, by key.
var shownAs = map[string]string{"nll": "NLL", "crps": "CRPS (sd)", "rmse": "RMSE (sd)", "ratio": "Σe/Σv̂"}

// primary returns the key of the criterion by which the tables are sorted.
func (s Sweep) primary() string { return cmp.Or(s.Criterion, "nll") }

// tables returns the tables of the comparison that have rows, split by split.
func (s Sweep) tables() []table {
	var tables []table
	for _, split := range s.Splits {
		tables = append(tables, s.comparisonTable("Variants on what "+clean(split.Name)+" holds out", split.Held))
		if len(split.Inner.Criteria) > 0 {
			title := fmt.Sprintf("Variants on %d groups of %s left out of the training set of %s", split.Groups,
				clean(s.LeftOut), clean(split.Name))
			tables = append(tables, s.comparisonTable(title, split.Inner))
		}
	}

	return notEmptyTables(tables)
}

// comparisonTable returns the table of a comparison. Its rows are the variants in the order of the primary criterion;
// variants that this criterion does not rank follow in the order of the other criteria.
func (s Sweep) comparisonTable(title string, comparison Comparison) table {
	t := table{Title: title, Corner: "variant"}
	settings := s.settings()
	t.addWordColumns(settings...)

	for _, criterion := range comparison.Criteria {
		t.addNumberColumns(criterion.Name, shownAs[criterion.Key], "above the best", "SE", "p (Holm)")
		t.Heads = append(t.Heads, columnHead{Group: criterion.Name, Name: "is", Words: true})
	}

	var variants []int
	for _, criterion := range append([]ByCriterion{comparison.by(s.primary())}, comparison.Criteria...) {
		for _, rank := range criterion.Ranks {
			variants = append(variants, rank.Variant)
		}
	}

	_, order := lists.Index(variants)
	for _, variant := range order {
		var cells []number
		for _, name := range settings {
			cells = append(cells, wordsCell(cmp.Or(s.Variants[variant].setting(name), undefinedText)))
		}

		for _, criterion := range comparison.Criteria {
			cells = append(cells, criterion.cells(variant)...)
		}

		t.addRow(strconv.Itoa(variant+1), cells...)
	}

	return t
}

// cells returns the cells of a variant for a criterion. They are dashes if the criterion does not rank the variant.
func (b ByCriterion) cells(variant int) []number {
	for place, rank := range b.Ranks {
		if rank.Variant != variant {
			continue
		}

		standing := "best"
		if place > 0 {
			standing = score.Standing(b.Key, b.Ranks[0].Score, rank.Above, rank.Margin, rank.Worse)
		}

		return []number{
			round(rank.Value, 1), singleCell(rank.Above), singleCell(rank.SE), singleCell(rank.Holm), wordsCell(standing),
		}
	}

	return slices.Repeat([]number{{text: undefinedText}}, 5)
}

// setting returns the value of a setting of the variant, or "" if the variant does not set it.
func (v Variant) setting(name string) string {
	for _, setting := range v.Settings {
		if setting.Name == name {
			return setting.Value
		}
	}

	return ""
}

// settings lists the names of the settings that vary.
func (s Sweep) settings() []string {
	var g gathered
	for _, variant := range s.Variants {
		for _, setting := range variant.Settings {
			g.add(setting.Name, variant.Name)
		}
	}

	return g.texts
}

// title names the comparison.
func (s Sweep) title() string { return phrase("sweep-title", s) }

// verdicts returns for each split a sentence that names the selected variant, or the best variant by each score.
func (s Sweep) verdicts() []string { return paragraphs("sweep-verdicts", s) }

// shortName returns the name of a criterion without its unit.
func shortName(key string) string { return strings.TrimSuffix(shownAs[key], " (sd)") }

// warnings returns remarks that limit the trust in the comparison.
func (s Sweep) warnings() []string { return paragraphs("sweep-warnings", s) }

// words returns paragraphs that explain the comparison. There are none if nothing is compared.
func (s Sweep) words() []string { return paragraphs("sweep", s) }

// list names the variants with the numbers by which the tables refer to them.
func (s Sweep) list() string { return phrase("sweep-list", s) }

// document returns the comparison in the order of reading.
func (s Sweep) document() document {
	doc := document{
		title: s.title(), what: s.list(), verdicts: s.verdicts(), tables: s.tables(), words: s.words(),
	}
	if warnings := s.warnings(); len(warnings) > 0 {
		doc.findings = []findingList{{kind: "warning", title: "Warnings", items: warnings, severe: true}}
	}

	return doc
}

// sweepView is the part of the page about a comparison, for page.html.tmpl.
type sweepView struct {
	ID, Name, Data, DataClass       string
	List                            string
	Verdicts, Warnings, Words, More []string
	Tables                          []table
}

// newSweepView returns the view of comparison i of the page, counted from 0.
func newSweepView(i int, sweep Sweep) sweepView {
	view := sweepView{
		ID: "v" + strconv.Itoa(i+1), Name: nameOf(sweep.Name), Data: clean(sweep.Data), DataClass: dataClass(sweep.Data),
		List: sweep.list(), Verdicts: sweep.verdicts(), Warnings: sweep.warnings(), Words: sweep.words(),
		Tables: pageTables(sweep.tables()...),
	}
	for _, variant := range sweep.Variants {
		view.More = append(view.More, variant.Name)
	}

	return view
}

// Document returns the comparison for programs, to be written as JSON. Undefined numbers are null.
func (s Sweep) Document() numbers.Object {
	splits := []object{}
	for _, split := range s.Splits {
		members := object{
			"split", split.Name, "held_out", split.HeldOut, "seeds", split.Seeds, "test", s.comparison(split.Held),
		}
		if ranks := split.Inner.by(s.Criterion).Ranks; len(ranks) > 0 {
			members = append(members, "inner", s.comparison(split.Inner), "selected", s.Variants[ranks[0].Variant].Name)
		}

		splits = append(splits, members)
	}

	return object{"experiment", s.Name, "data", s.Data, "splits", splits, "warnings", s.warnings()}
}

// comparison returns a comparison as an object for JSON, with the names of variants.
func (s Sweep) comparison(c Comparison) object {
	criteria := object{}
	for _, criterion := range c.Criteria {
		ranks := []object{}
		for _, rank := range criterion.Ranks {
			ranks = append(ranks, object{
				"variant", s.Variants[rank.Variant].Name, "value", rank.Value.Mean, "std", rank.Value.Std,
				"above_best", rank.Above, "se", rank.SE, "p", rank.P, "p_holm", rank.Holm, "worse", rank.Worse,
			})
		}

		criteria = append(criteria, criterion.Key, ranks)
	}

	return object{"pairing", c.Pairing, "unpaired", c.Unpaired, "runs", c.Runs, "by", criteria}
}
