package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The texts that a report must contain, in every rendering.
func TestWords(t *testing.T) {
	bars := strings.NewReplacer(`\|`, "|", `\textbar{}`, "|") // how Markdown and LaTeX escape the bars of E|cov|
	render := func(e Experiment) map[string]string {
		var b bytes.Buffer
		require.NoError(t, Terminal(&b, e, 100, false))

		texts := map[string]string{"terminal": b.String(), "Markdown": string(Markdown(e)), "LaTeX": string(LaTeX(e))}
		for name, text := range texts {
			texts[name] = bars.Replace(strings.Join(strings.Fields(text), " "))
		}

		return texts
	}

	for _, c := range []struct {
		name string
		set  func(*Experiment)
		want []string
		not  []string
	}{
		{
			"same-run", func(*Experiment) {},
			[]string{"Same-run pairs: both", "simulated data"},
			[]string{"Repeat-run pairs: the", "Couples:"},
		},
		{
			"repeat-run", func(e *Experiment) { e.Pairs = "repeat-run" },
			[]string{"Repeat-run pairs: the"},
			[]string{"Same-run pairs: both"},
		},
		{
			"synthetic", func(e *Experiment) { e.Pairs = "synthetic" },
			[]string{"Synthetic pairs: both"},
			[]string{"Same-run pairs: both"},
		},
		{
			"couples", func(e *Experiment) { e.Couples = true },
			[]string{"Couples: y2 is y1"},
			[]string{"Same-run pairs: both", "e is the measured error"},
		},
		{"measured", func(e *Experiment) { e.Data = "measured" }, []string{"measured data"}, []string{"simulated"}},
		{
			"methods differ", func(e *Experiment) { e.Splits[1].CovMethod = "exact" },
			[]string{"2-blades: E|cov| from 1000", "3-blades: E|cov| from 1000"},
			nil,
		},
	} {
		e := rotor()
		c.set(&e)

		for format, text := range render(e) {
			for _, part := range c.want {
				assert.Contains(t, text, part, "%s: %s", c.name, format)
			}

			for _, part := range c.not {
				assert.NotContains(t, text, part, "%s: %s", c.name, format)
			}
		}
	}
}
