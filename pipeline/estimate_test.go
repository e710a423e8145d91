package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
)

// simulatedTable is a table of simulated pairs, whose groups are held out in turn.
type simulatedTable struct {
	rows, outcomes int
	byName         bool // the groups are named things; otherwise they are numbers and an input
}

// files returns the table and a configuration that holds out each group in turn.
func (s simulatedTable) files() map[string]string {
	const groups = 5
	rng := rand.New(rand.NewPCG(1, 2))

	var y1, y2 []string
	for j := range s.outcomes {
		y1 = append(y1, fmt.Sprintf("y%d_1", j))
		y2 = append(y2, fmt.Sprintf("y%d_2", j))
	}

	head := slices.Concat([]string{"run", "thing", "a", "b"}, y1, y2)
	var table strings.Builder
	fmt.Fprintln(&table, strings.Join(head, ","))
	for i := range s.rows {
		group := i % groups
		a := rng.Float64()
		b := rng.Float64()
		name := fmt.Sprint(group)
		if s.byName {
			name = fmt.Sprintf("thing%d", group)
		}

		fmt.Fprintf(&table, "r%d,%s,%g,%g", i, name, a, b)
		for k := range 2 * s.outcomes {
			phase := float64(k%s.outcomes) + 0.3*float64(group)
			fmt.Fprintf(&table, ",%g", math.Sin(3*a+phase)+b*b+0.1*rng.NormFloat64())
		}

		fmt.Fprintln(&table)
	}

	inputs := "thing, a, b"
	if s.byName {
		inputs = "a, b"
	}

	configuration := fmt.Sprintf(`version: 1
experiments:
  e:
    ingest:
      table: {file: pairs.csv, inputs: [thing, a, b], y1: [%s], y2: [%s], run: run, pairs: repeat-run}
    train: {inputs: [%s], splits: {each: thing}}
`, strings.Join(y1, ", "), strings.Join(y2, ", "), inputs)

	return map[string]string{"pairs.csv": table.String(), "pipeline.yaml": configuration}
}

// BenchmarkEstimates compares the estimated seconds of campaigns with the processor time that they take. The ratio
// should lie between 0.5 and 2 on a quiet machine: the constants of stage train's costs are chosen for that.
func BenchmarkEstimates(b *testing.B) {
	for name, campaign := range map[string]simulatedTable{
		"200x1": {rows: 200, outcomes: 1}, "400x2": {rows: 400, outcomes: 2}, "500x18": {rows: 500, outcomes: 18},
		"700x2 by name": {rows: 700, outcomes: 2, byName: true}, "1500x4": {rows: 1500, outcomes: 4},
		"6000x1 by name": {rows: 6000, outcomes: 1, byName: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				expected := 0.0
				before := ingesttest.CPU()
				err := pipelinetest.Run(b.TempDir(), campaign.files(), pipeline.Options{Jobs: 1, Observe: func(e pipeline.Event) {
					for _, task := range e.Todo {
						expected += task.Weight
					}
				}})
				require.NoError(b, err)
				b.ReportMetric(expected/(ingesttest.CPU()-before).Seconds(), "estimate/taken")
			}
		})
	}
}

// The planner counts the rows of a table before a task reads them, and estimates the cost of trainings from this
// number. Expected: four times the rows, or ten times the outcomes, cost more than twice as much. The factor of two
// leaves room for the part of the cost that does not grow.
func TestEstimatesGrow(t *testing.T) {
	// expected returns the sum of the estimated costs of all tasks.
	expected := func(campaign simulatedTable) float64 {
		dir := t.TempDir()
		for name, text := range campaign.files() {
			write(t, dir, name, text)
		}

		p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
		require.NoError(t, err)

		states, err := p.Status()
		require.NoError(t, err)

		sum := 0.0
		for _, s := range states {
			sum += s.Task.Weight
		}

		return sum
	}

	small := expected(simulatedTable{rows: 300, outcomes: 1})
	assert.Greater(t, expected(simulatedTable{rows: 1200, outcomes: 1}), 2*small, "cost of four times the rows")
	assert.Greater(t, expected(simulatedTable{rows: 300, outcomes: 10}), 2*small, "cost of ten times the outcomes")
}
