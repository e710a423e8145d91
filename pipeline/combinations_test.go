package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each combination of two columns of a table that was measured is held out in turn, with an interval that the other
// combinations teach. The table is simulated: two speeds and three flaps without one combination, six angles each.
func TestCombinationsOfATable(t *testing.T) {
	dir := t.TempDir()
	rows := "alpha,u,flap,cl_1,cl_2\n"
	for _, u := range []float64{10, 20} {
		for _, flap := range []float64{0, 10, 20} {
			if u == 20 && flap == 20 {
				continue
			}

			for alpha := range 6 {
				lift := 0.1*float64(alpha) + 0.02*flap + 0.001*u
				rows += fmt.Sprintf("%d,%g,%g,%.4f,%.4f\n", alpha, u, flap, lift+0.002, lift-0.001*float64(alpha%3))
			}
		}
	}

	write(t, dir, "t.csv", rows)
	write(t, dir, "pipeline.yaml", `version: 1
workdir: runs
experiments:
  wing:
    ingest: {table: {file: t.csv, inputs: [alpha, u, flap]}}
    train: {inputs: [alpha, u, flap], seeds: 1, optimizer: {epochs: 1}, splits: {each: [u, flap]}}
`)

	wing := runIn(t, dir)["wing"]
	require.Len(t, wing.Splits, 5)

	var held []string
	for _, s := range wing.Splits {
		held = append(held, s.HeldOut)
		require.NotNil(t, s.Honest, s.Name)
		assert.NotNil(t, s.Honest.Record, s.Name)
	}

	assert.Equal(t, "u = 10 and flap = 0; u = 10 and flap = 10; u = 10 and flap = 20; u = 20 and flap = 0; "+
		"u = 20 and flap = 10", strings.Join(held, "; "))
}
