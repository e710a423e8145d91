package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/docs"
	"doubletake/train/score"
)

// The glossary has every heading and every group of headings of every table, but for those
// that are names of the user's own: settings of a sweep.
func TestHeadingsAreExplained(t *testing.T) {
	var metrics []docs.Term
	for _, m := range score.Metrics {
		metrics = append(metrics, docs.Term{Name: m.Key + ", " + m.Symbol})
	}

	s := Sweep{Name: "toy", Paths: []string{"train.gamma"}, Variants: []Variant{
		{Name: "toy/a", Settings: []Fact{{"train.gamma", "1"}}}, {Name: "toy/b", Settings: []Fact{{"train.gamma", "2"}}},
	}}
	held := Comparison{Runs: 9}
	for key, name := range shownAs {
		held.Criteria = append(held.Criteria, ByCriterion{Key: key, Name: name, Ranks: []VariantRank{
			{Value: score.Mean([]float64{1})}, {Variant: 1, Value: score.Mean([]float64{2}), Above: 1, SE: 0.5},
		}})
	}

	s.Splits = []SweptSplit{{Name: "gap", Held: held, Inner: held, Groups: 3}}
	tables := s.tables()
	for _, e := range outputExperiments() {
		tables = append(tables, briefResults(e.results()))
		tables = append(tables, e.tables()...)
	}

	seen := map[string]bool{"": true}
	for _, tab := range tables {
		heads := []string{tab.Corner}
		for _, h := range tab.Heads {
			if !slices.Contains(s.settings(), h.Name) {
				heads = append(heads, h.Name, h.Group)
			}
		}

		for _, h := range heads {
			if !seen[h] && docs.Named(h, metrics...) == nil {
				t.Errorf("table %q: the glossary has no %q", tab.Title, h)
			}

			seen[h] = true
		}
	}

	assert.GreaterOrEqual(t, len(seen), 60, "%d headings", len(seen))
}

// At most 20 words must be known, and each has its meaning once on the page, which headings open.
func TestReadersWords(t *testing.T) {
	list := wordList()
	require.Len(t, list, len(readersWords))
	assert.LessOrEqual(t, len(list), 20)
	for _, word := range list {
		assert.NotEmpty(t, word.Meaning, word.Name)
	}

	assert.Equal(t, `<button type="button" class="term" popovertarget="g-6">upper bounds</button>`,
		string(term("upper bounds")))
	assert.Equal(t, "a &lt; b", string(term("a < b")))
}

// No sentence of words.tmpl has more than 30 words, nor a part of one up to a colon or semicolon. What a template
// puts in counts as a word.
func TestShortSentences(t *testing.T) {
	text := regexp.MustCompile(`\{\{-? ?else.*?\}\}`).ReplaceAllString(wordsText, ". ")
	text = regexp.MustCompile(`(?s)\{\{-? ?(if|end|range|with|define|template|/\*).*?\}\}`).ReplaceAllString(text, " ")
	text = regexp.MustCompile(`(?s)\{\{.*?\}\}`).ReplaceAllString(text, "x")
	for _, s := range regexp.MustCompile(`[.:;?](\s|$)|\n\n`).Split(text, -1) {
		if n := len(strings.Fields(s)); n > 30 {
			t.Errorf("%d words: %s", n, strings.Join(strings.Fields(s), " "))
		}
	}
}
