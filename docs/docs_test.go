package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every row of the glossary is a term without markup; the rows are counted here in the file itself.
func TestGlossary(t *testing.T) {
	rows := strings.Count(glossary, "\n| ") - strings.Count(glossary, "\n|---|") // each table has a head and a rule

	list := Glossary()
	require.Len(t, list, rows, "%d terms of %d rows", len(list), rows)
	assert.GreaterOrEqual(t, len(list), 50, "%d terms of %d rows", len(list), rows)

	for _, term := range list {
		if term.Section == "" || term.Name == "" || term.Meaning == "" ||
			strings.ContainsAny(term.Name+term.Meaning, "`*[]\\") || strings.Contains(term.Meaning, ".md") {
			t.Errorf("%+v", term)
		}
	}
}

// By a name, by one of several names, by a word of a meaning.
func TestFind(t *testing.T) {
	for word, want := range map[string]string{
		"C": "C", "κ": "κ", "dBFS": "dBFS", "bpf": "BPF", "tonal": "broadband, tonal",
		"ZigZag": "u, ZigZag", "u": "u, ZigZag", "runs": "run", "C ×10⁻²": "C",
		"R² test":      "R² test, score",
		"honest.prior": "honest.prior", "duration_s": "duration_s", "lift_n_2": "_1, _2",
		"lift_n_sd":   "_sd, _sd_epistemic, _sd_noise, _sd_claimed",
		"halton-1024": "exact-1d, tensor-15, halton-1024", "bpf3_db": "bpf1_db", "far runs": "far run",
	} {
		got := Find(word)
		require.Len(t, got, 1, "%s: %+v, expected %s", word, got, want)
		assert.Equal(t, want, got[0].Name, "%s: %+v, expected %s", word, got, want)
	}

	// The beginning of a column is explained, and the longest ending that it has.
	if got := Find("network_y_between_seeds_var"); len(got) != 2 || got[0].Name != "network_" ||
		got[1].Name != "_var, _between_seeds_var" {
		t.Errorf("a column of the networks: %+v", got)
	}

	if got := Find("its own", Term{"Metrics", "a, its own", "more"}); len(got) != 1 || got[0].Meaning != "more" {
		t.Errorf("a name of more: %+v", got)
	}

	require.Len(t, Find("Gauss–Hermite"), 1, "a word of a meaning, none, and nothing")
	require.Empty(t, Find("no such word"), "a word of a meaning, none, and nothing")
	assert.Empty(t, Find(""), "a word of a meaning, none, and nothing")
}

func ExampleFind() {
	for _, t := range Find("couples") {
		fmt.Println(t.Name + ": " + t.Meaning)
	}
	// Output: couples: y2 := y1, one outcome used twice, to check the method: C then estimates the total variance
}
