package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

const contrasted = "contrast runs/blades --a propeller=1 --b propeller=2 --unit /^[a-m]/ --limit 0.2"

const ranked = "suggest runs/turbine/splits/tow_speed_m_s=0.8 --grid tow_speed_m_s=0.4:1.2:0.2,tsr=1:5:0.25"

// Documents show what the program prints of measured examples: every line of the commands is there. What is refused
// names its reason.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	for _, c := range []struct {
		page, example string
		run           string
		commands      []string
		lines         []int             // of each
		refused       map[string]string // words of the message or its exit status
		check         func(t *testing.T, dir string)
	}{
		{
			page: "budget", example: "turbine-forces", run: "--experiment raw --to dsp", lines: []int{12},
			commands: []string{"budget raw --at tow_speed_m_s=0.8,tsr=3 --outcome power_w --pool tow_speed_m_s"},
			refused: map[string]string{
				"budget":                       "takes RESULT, found",
				"budget runs/raw --level 2":    "--level of pipeline budget wants a number",
				"budget runs/raw --pool speed": "--pool: runs/raw has no condition",
				"budget runs/none":             "the folders there are raw",
			},
		},
		{
			page: "suggest", example: "rm2-turbine", run: "--to train --split tow_speed_m_s=0.8", lines: []int{6, 12},
			commands: []string{
				ranked + " --count 3", ranked + " --cost tow_speed_m_s=20min,tsr=2min,repeat=10min --budget 3h",
			},
		},
		{
			page: "contrast", example: "propeller-stand", run: "--experiment blades --to dsp", lines: []int{19},
			check:    checkContrast,
			commands: []string{contrasted + " --figure contrast.svg"},
			refused: map[string]string{
				"contrast":                             "exit status 2: ",
				"contrast runs/blades --a propeller=1": "exit status 2: ",
				contrasted + " --level 1":              "exit status 2: ",
			},
		},
	} {
		t.Run(c.page, func(t *testing.T) {
			root, page := t.TempDir(), document(t, "docs/"+c.page+".md")
			for _, name := range slices.Compact([]string{"rm2-turbine", c.example}) { // whose files others read
				require.NoError(t, os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join(repository, "examples", name))))
			}

			dir := filepath.Join(root, c.example)
			config := string(testfile.Read(t, filepath.Join(dir, "pipeline.yaml")))
			put(t, dir, "pipeline.yaml", strings.Replace(config, "optimizer:", "seeds: 1\n      optimizer:", 1)) // of networks
			printed(t, dir, "run pipeline.yaml --progress none "+c.run)

			for i, line := range c.commands {
				out := printed(t, dir, line)
				assert.Equal(t, c.lines[i], strings.Count(out, "\n"), "lines of %s", line)

				for l := range strings.Lines(out) {
					assert.Contains(t, page, l)
				}
			}

			for line, why := range c.refused {
				out, err := command(dir, strings.Fields(line)...).CombinedOutput()
				assert.Contains(t, fmt.Sprintf("%v: %s", err, out), "exit status ")
				assert.Contains(t, fmt.Sprintf("%v: %s", err, out), why)
			}

			if c.check != nil {
				c.check(t, dir)
			}
		})
	}
}

// printed returns what a line prints, which must succeed.
func printed(t *testing.T, dir, line string) string {
	t.Helper()

	out, err := command(dir, strings.Fields(line)...).CombinedOutput()
	require.NoError(t, err, "%s: %v\n%s", line, err, out)

	return string(out)
}

// checkContrast compares the figure with the page's, and looks at numbers for machines.
func checkContrast(t *testing.T, dir string) {
	drawn := testfile.Read(t, filepath.Join(repository, "docs", "contrast-measured.svg"))
	assert.Equal(t, string(drawn), string(testfile.Read(t, filepath.Join(dir, "contrast.svg"))),
		"docs/contrast-measured.svg is not what the program draws")

	one := printed(t, dir, contrasted+" --figure x.svg --a propeller=1,run=/^a/ --b propeller=2,run=/^b/")
	assert.Contains(t, one, "no test is possible with one ")
	assert.Contains(t, one, "with a band that holds all of them with 95 %")
	testfile.Read(t, filepath.Join(dir, "x.svg"))

	var result struct {
		Outcomes []struct {
			Low    float64
			UnitsA int `json:"units_a"`
			Curves []struct{ Points []struct{ Low float64 } }
		}
	}

	output, err := command(dir, strings.Fields(contrasted+" --json")...).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(output, &result))
	require.NotEmpty(t, result.Outcomes)

	outcome := result.Outcomes[0]
	assert.Equal(t, 12, outcome.UnitsA, "units of side A")
	assert.GreaterOrEqual(t, outcome.Low, 0.19, "lower end of the difference")
	require.NotEmpty(t, outcome.Curves)
	assert.GreaterOrEqual(t, len(outcome.Curves[0].Points), 5, "points of the curve")
}
