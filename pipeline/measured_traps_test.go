package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeForces writes a recording of 20 samples of lift and drag below dir/data. Its velocity never changes.
func writeForces(t *testing.T, dir, name string, lift float64) {
	t.Helper()

	var text strings.Builder
	text.WriteString("Lift Drag Velocity\n")
	for i := range 20 {
		fmt.Fprintf(&text, "%.3f %.3f 48\n", lift+0.1*float64(i*7%5), lift/10+0.01*float64(i*3%7))
	}

	path := filepath.Join(dir, "data", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
}

// writeTraps writes a campaign with the traps of measured ones below dir/data: two speeds with six angles each, a name
// without its dot, and a folder of 12 recordings at another speed, which people leave out.
func writeTraps(t *testing.T, dir string) {
	t.Helper()

	for _, speed := range []int{4, 5} {
		for i := range 6 {
			name := fmt.Sprintf("u%d/angle%d.txt", speed, 2*i)
			writeForces(t, dir, name, float64(speed*speed*i)+0.01*float64(speed))
		}
	}

	writeForces(t, dir, "u5/angle12txt", 1)

	for i := range 12 {
		writeForces(t, dir, fmt.Sprintf("u9/angle%d.txt", 50+i), 9+0.01*float64(i))
	}
}

// trapsYAML returns the configuration of the campaign of writeTraps with these files left out, inputs and splits.
func trapsYAML(exclude, inputs, splits string) string {
	return fmt.Sprintf(`version: 1
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
`, exclude, inputs, splits)
}

// trapsExcluded is the warning about the 12 files of the folder u9. A message names the first 11.
const trapsExcluded = "data/u9/angle50.txt: left out by exclude, also data/u9/angle51.txt, data/u9/angle52.txt, " +
	"data/u9/angle53.txt, data/u9/angle54.txt, data/u9/angle55.txt, " +
	"data/u9/angle56.txt, data/u9/angle57.txt, data/u9/angle58.txt, data/u9/angle59.txt, " +
	"data/u9/angle60.txt, … and 1 more"

// traps are configurations of the campaign, with the warnings that follow from the files that they leave out.
var traps = []struct {
	name                    string
	exclude, inputs, splits string
	present                 []string // in the warnings, once each
	absent                  []string
}{
	{
		"speed not seen", "data/u9/*", "alpha_deg", "fast: {test: {u: 5}}",
		[]string{
			trapsExcluded, `data/u5/angle12txt: is not matched by "data/u*/angle*.txt": a dot missing? it is left out`,
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
}

// The report warns of the traps of measured campaigns, which are repeated here on made-up files: recordings that are
// left out are named once, as is a name without its dot, a stuck column and few conditions. A warning says that the
// network does not see a held-out condition, unless the inputs differ all the same.
func TestTrapsAreNamed(t *testing.T) {
	dir := t.TempDir()
	writeTraps(t, dir)

	for _, c := range traps {
		t.Run(c.name, func(t *testing.T) {
			write(t, dir, "pipeline.yaml", trapsYAML(c.exclude, c.inputs, c.splits))

			warnings := strings.Join(runIn(t, dir)["both"].Warnings, "\n")
			for _, text := range c.present {
				assert.Equal(t, 1, strings.Count(warnings, text), "times of %q in\n%s", text, warnings)
			}

			for _, text := range c.absent {
				assert.NotContains(t, warnings, text)
			}
		})
	}
}
