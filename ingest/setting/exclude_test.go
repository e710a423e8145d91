package setting

import (
	"slices"
	"testing"

	"doubletake/ingest/condition"
	"github.com/stretchr/testify/assert"
)

// runsNamed selects the rows whose condition "run" is one of the names.
type runsNamed []string

func (r runsNamed) Conditions() []string            { return []string{"run"} }
func (r runsNamed) Labels() []string                { return []string{"run"} }
func (r runsNamed) Holds(string, float64) bool      { return true }
func (r runsNamed) HoldsLabel(_, label string) bool { return slices.Contains(r, label) }
func (r runsNamed) String() string                  { return "run" }

// A table may have runs as numbers. Expected: each equals the name that the user writes, without an exponent.
func TestExclusionOfNumberedRuns(t *testing.T) {
	names := map[float64]string{3: "3", 2.5: "2.5", 20240115: "20240115", 1e6: "1000000", 0.00001: "0.00001"}
	for number, name := range names {
		row := condition.Values{Numbers: map[string]float64{"run": number}}
		assert.True(t, Exclusion{Where: runsNamed{name}}.Holds(row), "run %s is left out", name)
		assert.False(t, Exclusion{Where: runsNamed{"4"}}.Holds(row), "run %s is kept", name)
	}
}
