package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline/engine"
)

// A registered executor is listed and opened under its name. An executor whose name is taken or that cannot be opened
// is refused.
func TestRegisterExecutors(t *testing.T) {
	builtIn := slices.Clone(executors)
	defer func() { executors = builtIn }()

	var opened string
	far := Executor{Name: "far", Open: func(_ *Project, path string, _ []string, _ func(string)) (engine.Executor, error) {
		opened = path
		return nil, nil
	}}

	require.NoError(t, RegisterExecutors(far))
	assert.Contains(t, Executors(), "far")

	_, err := (&Project{}).Executor("far", "p.yaml", nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "p.yaml", opened)

	const refusal = "register executor"
	assert.ErrorContains(t, RegisterExecutors(far), refusal, "registered twice")
	assert.ErrorContains(t, RegisterExecutors(Executor{Name: "local", Open: far.Open}), refusal, "the name of another")
	assert.ErrorContains(t, RegisterExecutors(Executor{Name: "near"}), refusal, "no function that opens it")
}
