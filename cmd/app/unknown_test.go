package app

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every command that takes a RESULT lists what there is if nothing has the name, the nearest name first, and ends with
// the status of wrong input. The folders have the splits that the run made; the names are misspelt by one letter.
func TestUnknownResults(t *testing.T) {
	whole, _ := undisturbedRun(t)
	t.Chdir(whole)

	for form, want := range map[string]string{
		"toi":                       "the experiments of pipeline.yaml are toy, rotor",
		"rotor/3-blades":            `expected a split of rotor, found none of the name "3-blades" (its splits are 2-blades)`,
		"runs/toi":                  "the folders there are toy, rotor",
		"runs/rotor/splits/3-blade": "the splits there are 2-blades",
	} {
		for name, line := range resultLines {
			if name == "judge" { // reads the predictions first
				line = []string{"judge", "pipeline.yaml", "--against", "%s"}
			}

			words := strings.Split(strings.ReplaceAll(strings.Join(line, "\n"), "%s", form), "\n")
			var stderr strings.Builder
			assert.Equal(t, 3, run(words, io.Discard, &stderr), "status of %s %s", name, form)
			assert.Contains(t, stderr.String(), want, "%s %s", name, form)
		}
	}
}

// Commands that take an outcome list the outcomes, with the nearest name.
func TestUnknownOutcomes(t *testing.T) {
	whole, _ := undisturbedRun(t)
	t.Chdir(whole)

	for _, line := range []string{
		"budget rotor --outcome bpf1_d",
		"contrast rotor --a blades=2 --b blades=3 --outcome bpf1_d",
	} {
		var stderr strings.Builder
		assert.NotZero(t, run(strings.Fields(line), io.Discard, &stderr), "status of %s", line)
		assert.Contains(t, stderr.String(), `did you mean "bpf1_db"?`, line)
	}
}
