package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: the arguments by hand. A first argument that is not a file is named in the error.
func TestCompareArguments(t *testing.T) {
	file, experiment, err := compareArguments([]string{"a.yaml", "drone"})
	require.NoError(t, err)
	assert.Equal(t, "a.yaml", file)
	assert.Equal(t, "drone", experiment)

	file, experiment, err = compareArguments([]string{"A.YAML"})
	require.NoError(t, err)
	assert.Equal(t, "A.YAML", file)
	assert.Empty(t, experiment)

	_, _, err = compareArguments([]string{"nothere", "drone"})
	assert.EqualError(t, err, `pipeline compare takes a FILE and an EXPERIMENT, and "nothere" is not a file`)

	_, _, err = compareArguments([]string{"a.yaml", "drone", "rotor"})
	assert.EqualError(t, err, `pipeline compare takes a FILE and an EXPERIMENT, found ["a.yaml" "drone" "rotor"]`)
}
