package pipeline

import (
	"fmt"
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

// An unknown executor is refused, and does not run the tasks in this process. local does.
func TestUnknownExecutor(t *testing.T) {
	for name, hint := range map[string]string{
		"slrum": `; did you mean "slurm"?`, "Local": `; did you mean "local"?`, "": "",
	} {
		_, err := (&Project{}).Executor(name, "p.yaml", nil, nil)

		var usage *UsageError
		require.ErrorAs(t, err, &usage, name)
		want := "is unknown, expected one of local, slurm, sge, pbs, htcondor, command" + hint
		assert.Equal(t, fmt.Sprintf("--executor %q %s", name, want), usage.Text)
	}

	executor, err := (&Project{}).Executor("local", "p.yaml", nil, nil)
	require.NoError(t, err)
	assert.Nil(t, executor)
}
