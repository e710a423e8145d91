package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All variants of a sweep over the occasions across which rows are paired have the same roles: stage ingest carries
// each occasion, so that the variants share its results.
func TestRolesOfSweptOccasions(t *testing.T) {
	f, err := Parse("pipeline.yaml", []byte(`version: 1
experiments:
  x:
    ingest: {files: "*.npy", conditions: log.csv, rate_hz: 1000}
    dsp: {triplets: repeats}
    train: {inputs: [rpm], splits: {s: {test: {rpm: 3000}}}}
    sweep: {dsp.across: [day, session]}
`))
	require.NoError(t, err)
	require.Len(t, f.Experiments, 2)

	for k := range f.Experiments {
		roles := f.Variants(k).Roles(&f.Experiments[k], nil)
		assert.Equal(t, []string{"day", "session"}, roles.Occasions, f.Experiments[k].Name)
	}
}
