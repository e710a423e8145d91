package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"doubletake/train/score"
)

// The words and the table state what the values do; the cells are rounded by hand.
func TestEventWords(t *testing.T) {
	v := func(mean, std float64) score.Value { return score.Value{Mean: mean, Std: std, N: 2} }
	e := Experiment{Name: "rotor", Splits: []Split{{
		Name: "two", HeldOut: "blades = 2", Events: []Event{{
			Name: "loud", Text: "bpf1_db > 70", Values: values("claimed", v(0.2312, 0.021), "happened", v(0.31, 0),
				"happened_se", v(0.0234, 0), "e", v(0.02, 0.001), "e_se", v(0.004, 0), "v", v(0.01, 0.002),
				"sum_e_ratio", v(2.1, 0.3), "sum_e_ratio_se", v(math.NaN(), 0)),
		}},
	}}}

	words := strings.Join(e.comparisonWords(), "\n")
	if want := "blades = 2 held out: loud (bpf1_db > 70) is claimed with probability 0.231 ± 0.021 and happened in " +
		"0.31 ± 0.023 of the values."; !strings.Contains(words, want) {
		t.Errorf("%s\nwant %s", words, want)
	}

	var b bytes.Buffer
	for _, t := range e.comparisons() {
		b.WriteString(t.Title + "\n")
		mdTable(&b, t)
	}

	table := b.String()
	for _, want := range []string{
		"Events on what two holds out (experimental)", "0.231 ± 0.021", "0.023", "2.10 ± 0.30", "–",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}
