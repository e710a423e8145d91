package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The traps of the measured campaigns on made-up files, so that they are met
// without measured data: recordings left out are named, once; a held-out condition
// that the network does not see gives a warning, but not where the inputs differ
// all the same; few conditions give a warning.
func TestTrapsAreNamed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()

		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}

	record := func(level float64) string {
		var b strings.Builder
		b.WriteString("Lift Drag Velocity\n")

		for i := range 20 {
			fmt.Fprintf(&b, "%.3f %.3f 48\n", level+0.1*float64(i*7%5), level/10+0.01*float64(i*3%7))
		}

		return b.String()
	}

	for _, u := range []int{4, 5} {
		for a := range 6 {
			write(fmt.Sprintf("data/u%d/angle%d.txt", u, 2*a), record(float64(u*u*a)+0.01*float64(u)))
		}
	}

	write("data/u5/angle12txt", record(1))

	for i := range 12 {
		write(fmt.Sprintf("data/u9/angle%d.txt", 50+i), record(9+0.01*float64(i)))
	}

	const yaml = `version: 1
experiments:
  both:
    ingest:
      files: data/u*/angle*.txt
      exclude: %s
      pattern: u{u}/angle{alpha_deg}.txt
      columns: {lift: Lift, drag: Drag}
    dsp: {triplets: random-samples, samples: 10}
    train:
      inputs: [%s]
      optimizer: {epochs: 2}
      seeds: 1
      splits: {%s}
`

	// The names of u9, the first 11 of them, by hand.
	const many = "data/u9/angle50.txt: left out by exclude, also data/u9/angle51.txt, data/u9/angle52.txt, " +
		"data/u9/angle53.txt, data/u9/angle54.txt, data/u9/angle55.txt, " +
		"data/u9/angle56.txt, data/u9/angle57.txt, data/u9/angle58.txt, data/u9/angle59.txt, " +
		"data/u9/angle60.txt, … and 1 more"
	for _, c := range []struct {
		name                 string
		exclude, input, test string
		want, not            []string
	}{
		{
			"speed not seen", "data/u9/*", "alpha_deg", "fast: {test: {u: 5}}",
			[]string{
				many, `data/u5/angle12txt: is not matched by "data/u*/angle*.txt": a dot missing? it is left out`,
				"column Velocity is stuck at 48",
				"split fast holds out u, which is not among the inputs (alpha_deg): 6 of the 6 held-out conditions have the same " +
					"inputs as training conditions",
				"the whole experiment: six distinct conditions are too few for R²",
			},
			nil,
		},
		{
			"some speeds not seen", "[data/u9/*, data/u5/angle0.txt, data/u4/angle10.txt]", "alpha_deg", "fast: {test: {u: 5}}",
			[]string{"4 of the 5 held-out conditions have the same inputs as"},
			nil,
		},
		{
			"speed seen", "[data/u9/*, data/u5/angle1*]", "alpha_deg, u", "fast: {test: {u: 5, alpha_deg: {min: 4}}}",
			nil,
			[]string{"not among the inputs", "the whole experiment"},
		},
		{
			"held out by speed, other angles", "[data/u9/*, data/u4/angle0.txt, data/u4/angle2.txt, data/u4/angle4.txt, " +
				"data/u5/angle6.txt, data/u5/angle8.txt, data/u5/angle10.txt]",
			"alpha_deg", "fast: {test: {u: 5}}",
			nil,
			[]string{"not among the inputs"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			write("pipeline.yaml", fmt.Sprintf(yaml, c.exclude, c.input, c.test))
			w := runIn(t, dir)["both"].Warnings
			all := strings.Join(w, "\n")
			for _, want := range c.want {
				if strings.Count(all, want) != 1 {
					t.Errorf("%q occurs %d times:\n%s", want, strings.Count(all, want), all)
				}
			}

			for _, not := range c.not {
				if strings.Contains(all, not) {
					t.Errorf("%q is there:\n%s", not, all)
				}
			}
		})
	}
}
